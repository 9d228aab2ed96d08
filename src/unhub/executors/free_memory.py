"""How much memory this process may still take: what the machine, its control groups and its own limits leave.

All is read from texts that the system keeps, through one function, so that tests can put the texts of any machine in
their place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from unhub.core.arrays import is_numpy
from unhub.core.threads import PARTS
from unhub.executors.threads import processors

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

Read = Callable[[str], str | None]
"""from a path to its text; None where there is none"""

UNKNOWN_MEMORY = 4 << 30
"""bytes that are taken to be free where the system does not say"""

COMPILER = 256 << 20
"""bytes that the compiler and what it compiles take; it ends the process where it cannot have them"""

STACK, HEAP = 8 << 20, 64 << 20
"""bytes that a thread takes: its stack, and address space that the C library sets aside for what it allocates"""


def free_memory() -> int:
    """Bytes that this process can still have for numbers."""
    return least_left(_text, _limits_for_numbers(), physical_memory())


def device_memory(array: Any) -> int | None:
    """Bytes that are free on the device of a tensor; None for the processor's own memory."""
    if is_numpy(array) or array.device.type != "cuda":
        return None
    import torch

    return int(torch.cuda.mem_get_info(array.device)[0])


def room_for_compiler() -> bool:
    """Whether the limits of this process leave room for the compiler, beside our threads."""
    return least_left(_text, _limits_for_numbers(), 1) > 0


def _limits_for_numbers() -> dict[str, int]:
    """The limits of the process, less what compiler and threads will take."""
    threads = processors() * PARTS
    others = {"VmSize": COMPILER + threads * (STACK + HEAP), "VmData": COMPILER + threads * STACK}
    return {name: limit - others[name] for name, limit in process_limits().items()}


def least_left(read: Read, limits: Mapping[str, int], physical: int) -> int:
    """The least that the machine, a control group or a limit of the process leaves.

    limits: by the name that /proc/self/status gives to what they count. physical: all the memory that there is.
    """
    status = read("/proc/self/status") or ""
    free = _kilobytes(read("/proc/meminfo") or "", "MemAvailable")
    own = [limit - (_kilobytes(status, name) or 0) for name, limit in limits.items()]
    return max(0, min(physical if free is None else free, *own, *_left_in_groups(read), physical))


def process_limits() -> dict[str, int]:
    """The limits on a process that the system keeps to: its address space (ulimit -v) and its data (ulimit -d)."""
    if resource is None:
        return {}
    soft = {"VmSize": resource.getrlimit(resource.RLIMIT_AS)[0], "VmData": resource.getrlimit(resource.RLIMIT_DATA)[0]}
    return {name: limit for name, limit in soft.items() if limit != resource.RLIM_INFINITY}


def physical_memory() -> int:
    """All there is."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN_MEMORY


def _left_in_groups(read: Read) -> Iterator[int]:
    """What the control groups of this process leave, each with those that it lies in, of both versions."""
    mounts = read("/proc/self/mountinfo") or ""
    for line in (read("/proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            left, kind = _left_in_second, "cgroup2"
        elif "memory" in controllers.split(","):
            left, kind = _left_in_first, "cgroup"
        else:
            continue
        for folder in _folders(mounts, kind, group):
            found = left(read, folder)
            if found is not None:
                yield found


def _folders(mounts: str, kind: str, group: str) -> Iterator[str]:
    """Where a group and those above it are kept, as far as they can be seen from here.

    A container may see its own group alone, mounted as if it were the topmost.
    """
    for line in mounts.splitlines():
        first, _, second = line.partition(" - ")
        fields, options = first.split(" "), second.split(" ")
        if len(fields) < 5 or options[0] != kind:
            continue
        if kind == "cgroup" and "memory" not in options[-1].split(","):
            continue
        top, mounted, inside = PurePosixPath(_unescaped(fields[3])), _unescaped(fields[4]), PurePosixPath(group)
        below = inside.relative_to(top).parts if inside.is_relative_to(top) and ".." not in inside.parts else ()
        for depth in range(len(below), -1, -1):
            yield str(PurePosixPath(mounted, *below[:depth]))


def _left_in_second(read: Read, folder: str) -> int | None:
    """What a group of version 2 leaves; past memory.high the system slows a process down until it is of no use."""
    limits = [_number(read(f"{folder}/{name}")) for name in ("memory.max", "memory.high")]
    return _left(limits, read(f"{folder}/memory.current"), read(f"{folder}/memory.stat"), "inactive_file")


def _left_in_first(read: Read, folder: str) -> int | None:
    """What a group of version 1 leaves; its limit is a huge number where it has none."""
    stat = read(f"{folder}/memory.stat") or ""
    limits = [_number(read(f"{folder}/memory.limit_in_bytes")), _counted(stat, "hierarchical_memory_limit")]
    return _left(limits, read(f"{folder}/memory.usage_in_bytes"), stat, "total_inactive_file")


def _left(limits: list[int | None], used: str | None, stat: str | None, cache: str) -> int | None:
    """The least limit less what is used, without file contents that nobody has looked at lately: those can go."""
    known = [limit for limit in limits if limit is not None]
    if not known:
        return None
    return min(known) - max(0, (_number(used) or 0) - (_counted(stat or "", cache) or 0))


def _kilobytes(text: str, name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return None if found is None else int(found[1]) << 10


def _counted(text: str, name: str) -> int | None:
    found = re.search(rf"^{name} (\d+)$", text, re.MULTILINE)
    return None if found is None else int(found[1])


def _number(text: str | None) -> int | None:
    """A number in a file of its own; "max" is none."""
    return int(text) if text is not None and text.strip().isdecimal() else None


def _unescaped(path: str) -> str:
    """A path of mountinfo, whose spaces and backslashes are octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
