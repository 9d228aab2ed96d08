"""Who may read a file that replaces another: those who could read the other one, and nobody else."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
NEW_FILE, NEW_FOLDER = 0o666, 0o777
"""before the umask"""

_ACL = "system.posix_acl_access"


def take_permissions(path: Path, target: Path) -> None:
    """Gives a private file the mode, the owner, the group and the access list of the target that it will replace.

    Only the administrator may give a file away: for anybody else it is their own afterwards. Where the group or the
    list cannot be kept, the group may do no more than everybody: the bits would mean other people.
    """
    before = target.stat()
    mode = stat.S_IMODE(before.st_mode) & 0o777
    with suppress(OSError, AttributeError):
        os.chown(path, before.st_uid, -1)
    same = _group_kept(path, before.st_gid) and _list_kept(path, target)
    os.chmod(path, mode if same else (mode & 0o707) | (mode & 0o070 & ((mode & 0o007) << 3)))


def _group_kept(path: Path, group: int) -> bool:
    if path.stat().st_gid == group:
        return True
    try:
        os.chown(path, -1, group)
    except (OSError, AttributeError):
        return False
    return True


def _list_kept(path: Path, target: Path) -> bool:
    """Whether the access list is the same now; most files have none, but a folder may give one to new files."""
    if not hasattr(os, "getxattr"):
        return True
    try:
        wanted = os.getxattr(target, _ACL)
    except OSError:
        with suppress(OSError):
            os.removexattr(path, _ACL)
        return True
    try:
        os.setxattr(path, _ACL, wanted)
    except OSError:
        return False
    return True
