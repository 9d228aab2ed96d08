"""Where work runs: one thread, several threads, and what this machine has for them."""

from unhub.executors.free_memory import device_memory
from unhub.executors.inline import Inline
from unhub.executors.local import default_memory, local, memory_bytes
from unhub.executors.threads import Threads, processors

EXECUTORS = {"inline": Inline, "threads": Threads}
"""executors by name"""

__all__ = ["EXECUTORS", "Inline", "Threads", "default_memory", "device_memory", "local", "memory_bytes", "processors"]
