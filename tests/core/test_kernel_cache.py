"""Compiled functions on disk: what is damaged is made anew, and no file of the cache ends a run."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

numba = pytest.importorskip("numba", reason="numba does not know this interpreter")

from unhub.foundation import kernel_cache  # noqa: E402
from unhub.foundation.kernel_cache import KernelCache  # noqa: E402

SOURCE = "def twice(x):\n    return 2 * x\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where compiled functions are kept."""
    place = tmp_path / "cache"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(place))
    (tmp_path / "small.py").write_text(SOURCE)
    return place


def started_anew(folder: Path) -> Any:
    """The function as a new process has it: not compiled, perhaps on disk."""
    source = folder.parent / "small.py"
    module = ModuleType("small")
    exec(compile(source.read_text(), str(source), "exec"), module.__dict__)
    function = numba.njit(module.twice)
    function._cache = KernelCache(module.twice)
    return function


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def files(folder: Path, ending: str) -> list[Path]:
    return sorted(folder.rglob(f"*.{ending}"))


@pytest.fixture
def compiled(folder: Path) -> Path:
    """The folder once the function was compiled."""
    function = started_anew(folder)
    assert (function(3), hits(function)) == (6, 0)
    assert [len(files(folder, ending)) for ending in ("nbi", "nbc")] == [1, 1]
    return folder


def test_it_comes_from_the_disk_the_second_time(compiled: Path) -> None:
    function = started_anew(compiled)
    assert (function(3), hits(function)) == (6, 1)


def test_another_source_is_compiled_again(compiled: Path) -> None:
    (compiled.parent / "small.py").write_text("def twice(x):\n    return 2 * x + 1\n")
    function = started_anew(compiled)
    assert (function(3), hits(function)) == (7, 0)


def flip(contents: bytes) -> bytes:
    middle = len(contents) // 2
    return contents[:middle] + bytes([contents[middle] ^ 1]) + contents[middle + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda contents: b"",
    "cut": lambda contents: contents[: len(contents) // 2],
    "one bit": flip,
    "something else": lambda contents: b"not a cache at all",
    "as numba writes it": lambda contents: contents[32:],
}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_anew(damage: str, ending: str, compiled: Path) -> None:
    (file,) = files(compiled, ending)
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    function = started_anew(compiled)
    assert (function(3), hits(function)) == (6, 0)
    again = started_anew(compiled)
    assert (again(3), hits(again)) == (6, 1)


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_folder_in_its_place(ending: str, compiled: Path) -> None:
    (file,) = files(compiled, ending)
    file.unlink()
    file.mkdir()
    assert started_anew(compiled)(3) == 6


def test_a_folder_that_is_gone(compiled: Path) -> None:
    function = started_anew(compiled)
    shutil.rmtree(compiled)
    compiled.write_text("a file where the folder was")
    assert function(3) == 6


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.environ["UNHUB_EVIL"],)


def test_a_pickle_of_somebody_else_is_not_opened(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealed as it should be, but of a user who may not change what runs here."""
    monkeypatch.setenv("UNHUB_EVIL", str(tmp_path / "was here"))
    for file in [*files(compiled, "nbi"), *files(compiled, "nbc")]:
        kernel_cache._seal(file, pickle.dumps(Evil()))
    monkeypatch.setattr(kernel_cache, "_may_run_code", lambda: (os.geteuid() + 1,))
    assert started_anew(compiled)(3) == 6
    assert not (tmp_path / "was here").exists()


FIT = """
import numpy as np, unhub
from unhub.core.execution import Execution
rng = np.random.default_rng(0)
vectors = rng.normal(size=(50, 4)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
given = {"targets": vectors[:30], "query_bank": vectors[30:], "executor": Execution(compiled=True)}
print(unhub.fit("is", **given, tau=0.2).bias.tobytes().hex())
"""


def test_a_fit_whose_cache_was_emptied_under_two_processes(tmp_path: Path) -> None:
    """Truncated, as by a full disk: both find the same answer, and neither calls it a bug."""
    command, there = [sys.executable, "-c", FIT], os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = subprocess.run(command, env=there, capture_output=True, text=True, check=True).stdout
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(b"")
    started = [subprocess.Popen(command, env=there, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in started] == [first] * 2
    assert [process.returncode for process in started] == [0, 0]
    assert all(path.stat().st_size > 0 for path in kept)


@pytest.mark.parametrize("gone", ["FunctionCache", "IndexDataCacheFile"])
def test_a_numba_without_its_private_classes_has_no_cache(gone: str) -> None:
    """They are not part of its interface, and a newer numba may call them otherwise."""
    code = f"""
import numba.core.ccallback, numba.core.caching
import numpy as np
del numba.core.caching.{gone}
from unhub.core import compiled
assert type(compiled._exp2._cache).__name__ == "NullCache"
print(compiled._exp2(np.float32(3.0)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert abs(float(done.stdout) - 8) < 1e-4


def test_a_cache_that_cannot_be_made_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    from unhub.core import compiled

    monkeypatch.setattr(KernelCache, "_impl_class", None)  # as if numba had renamed it
    function = compiled._compiled(lambda x: 2 * x)
    assert type(function._cache).__name__ == "NullCache"


def test_questions_of_another_numba_are_answered_with_nothing(folder: Path) -> None:
    cache = started_anew(folder)._cache
    assert cache.load_overload("signature", "target", "something new", named=1) is None
    assert cache.save_overload("signature", "data", "something new", named=1) is None
