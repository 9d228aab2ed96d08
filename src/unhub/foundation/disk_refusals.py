"""Why a disk does not take a file, and what to do about it."""

from __future__ import annotations

import errno

DISK_REFUSALS = {
    errno.ENOSPC: "the disk is full; free some space or choose another place",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
    errno.EFBIG: "the file is larger than this process may write; choose another place",
    errno.EIO: "the disk reports an error; choose another place",
    errno.EROFS: "the disk is read-only; choose another place",
    errno.EACCES: "permission denied; change its mode or its owner",
    errno.EPERM: "permission denied; change its mode or its owner",
}
"""the end of a sentence, by the number of the system's error"""
