"""Installs Debian packages that tests use: ``python scripts/system_packages.py NAME ...``.

Exit code 0 once all of them are there. 1, and their names, if some could not be installed: the caller then tries again
next time. Without root or without apt-get nothing is tried. A lock that another program holds is waited for.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

LOCKS = ("/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock", "/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock")
WAIT = 600.0
"""seconds to wait for another program that installs: as long as an unattended upgrade may take"""


def main(packages: list[str]) -> int:
    """Installs what is lacking and says what could not be installed."""
    lacking = [each for each in packages if not installed(each)]
    if not lacking:
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"not installed, and only root can with apt-get: {' '.join(lacking)}; tests that need them are skipped")
        return 1
    _apt("update")
    for each in lacking:
        _apt("install", "-y", "--no-install-recommends", each)
    lacking = [each for each in lacking if not installed(each)]
    if lacking:
        print(
            f"could not be installed: {' '.join(lacking)}; tests that need them are skipped; the next run tries again"
        )
    return 1 if lacking else 0


def installed(package: str) -> bool:
    """Whether dpkg has it whole, not only its settings."""
    if shutil.which("dpkg-query") is None:
        return False
    asked = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout == "installed"


def wait_until_free(locks: Iterable[str], seconds: float = WAIT) -> bool:
    """Waits until nobody holds one of these files; False if somebody still does when the time is over.

    apt waits for dpkg's locks itself (DPkg::Lock::Timeout) but not for the ones of its lists and its archives.
    """
    end, told = time.monotonic() + seconds, False
    while held := [each for each in locks if _held(each)]:
        if not told:
            print(f"waiting for another program, which holds {held[0]}", flush=True)
            told = True
        if time.monotonic() > end:
            return False
        time.sleep(1)
    return True


def _held(path: str) -> bool:
    if not Path(path).exists():
        return False
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "r+b"))
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False  # closing the file lets it go


def _apt(*words: str) -> None:
    wait_until_free(LOCKS)
    command = ["apt-get", "-qq", "-o", f"DPkg::Lock::Timeout={WAIT:.0f}", *words]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
