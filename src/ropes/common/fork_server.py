"""Makes the fork server, which preloads this module, ignore SIGTERM and import without collecting garbage.

A SIGTERM often goes to a whole process group.  The server must survive it to report how its jobs ended; it ends with
its caller.  Collecting garbage takes a quarter of the time of importing torch and Lightning.  Jobs collect theirs.
"""

import gc
import signal

gc.disable()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
