"""Where work runs: one thread or several, and the memory and processors that this machine has for them."""

from unhub.executors.free_memory import device_memory, processors
from unhub.executors.local import Inline, Threads, default_memory, local, memory_bytes

EXECUTORS = {"inline": Inline, "threads": Threads}
"""executors by name"""

__all__ = ["EXECUTORS", "Inline", "Threads", "default_memory", "device_memory", "local", "memory_bytes", "processors"]
