"""The processors and the memory that this process may use: what the machine, its control groups and limits leave.

All of it is read from the system's text files through one function, so that tests can supply the files of any machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from unhub.core.arrays import is_numpy
from unhub.core.threads import PARTS

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

Read = Callable[[str], str | None]
"""from a path to its text; None if there is no such file"""

UNKNOWN_MEMORY = 4 << 30
"""bytes assumed to be free where the system does not say"""

COMPILER = 256 << 20
"""bytes that the compiler and its output take; without them it ends the process"""

STACK, HEAP = 8 << 20, 64 << 20
"""bytes per thread: its stack, and the address space that the C library reserves for its allocations"""

_GROUP_FILES = {
    "cgroup2": (("memory.max", "memory.high"), "memory.current", "inactive_file"),
    "cgroup": (("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"),
}
"""of each version of control groups: files of limits, the file of usage, and the name of inactive cache"""


def processors() -> int:
    """How many threads to use: one per processor that this process may run on, at most OMP_NUM_THREADS."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(available, int(wish)) if wish.isascii() and wish.isdigit() and int(wish) > 0 else available


def free_memory() -> int:
    """Bytes that this process can still allocate for numbers."""
    return least_left(_text, _limits_for_numbers(), physical_memory())


def device_memory(array: Any) -> int | None:
    """Bytes that are free on the device of a tensor; None for the processor's own memory."""
    if is_numpy(array) or array.device.type != "cuda":
        return None
    import torch

    return int(torch.cuda.mem_get_info(array.device)[0])


def room_for_compiler() -> bool:
    """Whether the limits of this process leave room for the compiler besides our threads."""
    return least_left(_text, _limits_for_numbers(), 1) > 0


def _limits_for_numbers() -> dict[str, int]:
    """The limits of the process (ulimit -v and -d), less what the compiler and threads will take."""
    if resource is None:
        return {}
    threads = processors() * PARTS
    reserved = {"VmSize": COMPILER + threads * (STACK + HEAP), "VmData": COMPILER + threads * STACK}
    soft = {"VmSize": resource.getrlimit(resource.RLIMIT_AS)[0], "VmData": resource.getrlimit(resource.RLIMIT_DATA)[0]}
    return {name: limit - reserved[name] for name, limit in soft.items() if limit != resource.RLIM_INFINITY}


def least_left(read: Read, limits: Mapping[str, int], physical: int) -> int:
    """The smallest remainder of the machine, its control groups and the limits of the process.

    limits: by the name that /proc/self/status gives to what they count. physical: all memory of the machine.
    """
    status = read("/proc/self/status")
    free = _kilobytes(read("/proc/meminfo"), "MemAvailable")
    own = [limit - (_kilobytes(status, name) or 0) for name, limit in limits.items()]
    return max(0, min(physical if free is None else free, *own, *_left_in_groups(read), physical))


def physical_memory() -> int:
    """Bytes of memory of the machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN_MEMORY


def _left_in_groups(read: Read) -> Iterator[int]:
    """What each control group of this process and its parents leave, for cgroup versions 1 and 2."""
    mounts = read("/proc/self/mountinfo") or ""
    for line in (read("/proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        kind = "cgroup2" if number == "0" and not controllers else "cgroup"
        if kind == "cgroup" and "memory" not in controllers.split(","):
            continue
        remainders = (_left(read, folder, kind) for folder in _folders(mounts, kind, group))
        yield from (each for each in remainders if each is not None)


def _folders(mounts: str, kind: str, group: str) -> Iterator[str]:
    """The folders of a group and its parents, as far as they are visible.

    A container may see only its own group, mounted as if it were the root.
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


def _left(read: Read, folder: str, kind: str) -> int | None:
    """The smallest limit of a group less what it uses, not counting inactive file cache, which the system can drop.

    Above memory.high the system slows a process down until it is useless. A limit of version 1 is a huge number if
    there is none.
    """
    names, usage, cache = _GROUP_FILES[kind]
    stat = read(f"{folder}/memory.stat")
    limits = [_number(read(f"{folder}/{name}")) for name in names]
    limits.append(_field(stat, r"^hierarchical_memory_limit (\d+)$"))
    known = [limit for limit in limits if limit is not None]
    used = (_number(read(f"{folder}/{usage}")) or 0) - (_field(stat, rf"^{cache} (\d+)$") or 0)
    return min(known) - max(0, used) if known else None


def _field(text: str | None, pattern: str) -> int | None:
    match = re.search(pattern, text or "", re.MULTILINE)
    return None if match is None else int(match[1])


def _kilobytes(text: str | None, name: str) -> int | None:
    size = _field(text, rf"^{name}:\s+(\d+) kB")
    return None if size is None else size << 10


def _number(text: str | None) -> int | None:
    """The number that is the whole text; "max" is None."""
    return int(text) if text is not None and text.strip().isdecimal() else None


def _unescaped(path: str) -> str:
    """A path of mountinfo, whose spaces and backslashes are octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
