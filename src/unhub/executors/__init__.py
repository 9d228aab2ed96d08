"""Where work runs: one thread or several, and the memory and processors that this machine has for them."""

from unhub.executors.free_memory import processors
from unhub.executors.local import Inline, Threads, default_memory, local, memory_bytes

__all__ = ["Inline", "Threads", "default_memory", "local", "memory_bytes", "processors"]
