"""Preloaded by the fork server: makes it ignore SIGTERM, so that it can report how its jobs ended.

A SIGTERM often goes to a whole group of processes.  The server has to live on to tell how its jobs ended, and ends when
its caller does.
"""

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
