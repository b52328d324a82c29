"""Makes the fork server, which preloads this module, ignore SIGTERM.

A SIGTERM often goes to a whole process group.  The server must survive it to report how its jobs ended; it ends with
its caller.
"""

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
