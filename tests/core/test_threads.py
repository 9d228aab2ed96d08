"""Work on parts of a range: every row once, the same rows for the same part in every run."""

import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import unhub
from unhub.core import threads
from unhub.core.execution import Execution
from unhub.core.threads import PARTS, parts_for, share
from unhub.executors import processors

TWO = Execution(compiled=True, threads=2)


def shared(size, number=2, **how):
    """The parts that were worked on by so many threads, in order."""
    seen = []
    share(size, lambda *part: seen.append(part), threads=number, **how)
    return sorted(seen)


@pytest.mark.parametrize("size", [0, 1, 2, 5, 6, 7, 63, 64, 65, 1000])
@pytest.mark.parametrize("parts", [1, 2, 6])
@pytest.mark.parametrize("step", [1, 3, 64])
def test_every_row_belongs_to_one_part(size, parts, step):
    seen = shared(size, parts=parts, step=step)
    assert [row for _, start, stop in seen for row in range(start, stop)] == list(range(size))
    assert [part for part, _, _ in seen] == list(range(len(seen)))
    assert len(seen) <= parts
    assert all((stop - start) % step == 0 for _, start, stop in seen[:-1])


def test_parts_are_of_one_size_but_for_the_last():
    assert shared(10, parts=3) == [(0, 0, 4), (1, 4, 8), (2, 8, 10)]
    assert shared(10, parts=3, step=3) == [(0, 0, 6), (1, 6, 10)]


def test_the_parts_are_the_same_on_any_number_of_threads():
    found = [shared(100, number, parts=6) for number in (1, 2, 5)]
    assert found[0] == found[1] == found[2]


def test_what_goes_wrong_in_a_part_is_raised():
    def work(part, start, stop):
        if part == 1:
            raise ZeroDivisionError("in part one")

    with pytest.raises(ZeroDivisionError, match="in part one"):
        share(10, work, parts=3, threads=2)


@pytest.mark.parametrize("wrong", ["in the caller's thread", "in another"])
def test_nothing_runs_on_after_a_part_went_wrong(wrong):
    """Neither parts that were begun, which are waited for, nor parts that were not."""
    begun, ended, failed = [], [], []
    caller = threading.get_ident()

    def work(part, start, stop):
        here = (threading.get_ident() == caller) == (wrong == "in the caller's thread")
        if here and not failed:
            failed.append(part)
            while not begun:
                time.sleep(0.001)
            raise ZeroDivisionError
        begun.append(part)
        time.sleep(0.05)
        ended.append(part)

    with pytest.raises(ZeroDivisionError):
        share(60, work, parts=60, threads=2)
    assert sorted(begun) == sorted(ended)
    assert len(begun) < 59
    time.sleep(0.1)
    assert sorted(begun) == sorted(ended)


def test_the_caller_works_too():
    """With every other thread busy elsewhere the work is done all the same."""
    free = threading.Event()
    share(2, lambda *part: None, parts=2, threads=2)
    busy = [threads._pool(os.getpid(), 2 * PARTS).submit(free.wait) for _ in range(2 * PARTS)]
    try:
        assert len(shared(100, parts=6)) == 6
    finally:
        free.set()
    assert all(each.result() for each in busy)


def test_threads_that_come_too_late_hold_no_memory():
    free = threading.Event()
    busy = [threads._pool(os.getpid(), 2 * PARTS).submit(free.wait) for _ in range(2 * PARTS)]
    block = np.zeros(10)
    gone = weakref.ref(block)

    def work(part, start, stop, block=block):
        block[start:stop] += 1

    try:
        share(10, work, parts=6, threads=2)
        assert block.tolist() == [1] * 10
        del work, block
        assert gone() is None
    finally:
        free.set()
    assert all(each.result() for each in busy)


def test_work_goes_on_after_a_part_went_wrong():
    with pytest.raises(ZeroDivisionError):
        share(10, lambda *part: 1 / 0, parts=3, threads=2)
    assert len(shared(10, parts=3)) == 3


@pytest.mark.parametrize(("wish", "expected"), [("1", 1), (" 1 ", 1), ("1,2", 1), ("1000000", None)])
def test_the_wish_of_omp_is_obeyed(wish, expected, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    number = processors()
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert processors() == (number if expected is None else expected)


@pytest.mark.parametrize("wish", ["", "0", "-1", "many", "1.5", "\u00b2"])
def test_other_wishes_change_nothing(wish, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    number = processors()
    assert number >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert processors() == number


def test_parts_fit_in_their_memory():
    assert parts_for(100, 1 << 20, 2) == 2 * PARTS
    assert parts_for(100, 350, 2) == 3
    assert parts_for(100, 1, 2) == 1
    assert parts_for(0, 1 << 20, 2) == 2 * PARTS


def test_one_processor_works_in_one_part():
    assert parts_for(1, 1 << 30, 1) == 1


def test_the_same_fit_twice_is_the_same_to_the_last_bit(unit_rows):
    given = {"targets": unit_rows(300, 16), "query_bank": unit_rows(500, 16), "tau": 0.05, "executor": TWO}
    for name in ("is", "sn"):
        first = unhub.fit(name, **given).bias
        for _ in range(5):
            np.testing.assert_array_equal(unhub.fit(name, **given).bias, first)


def test_two_fits_at_the_same_time_do_not_meet(unit_rows):
    problems = [
        {"targets": unit_rows(300, 16), "query_bank": unit_rows(400, 16), "tau": 0.05, "executor": TWO}
        for _ in range(4)
    ]
    alone = [unhub.fit("sn", **each).bias for each in problems]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda each: unhub.fit("sn", **each).bias, problems))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own():
    program = """
import os
from unhub.core import threads
def total():
    seen = []
    threads.share(10, lambda part, start, stop: seen.append(stop - start), parts=3, threads=2)
    return sum(seen)
assert total() == 10
child = os.fork()
if child == 0:
    os._exit(0 if total() == 10 else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ran = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


WITHOUT_THREADS = """
import resource
from unhub.core import threads
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 2**20,) * 2)  # not enough for the stack of a thread
done = []
for _ in range(2):
    threads.share(12, lambda part, start, stop: done.append((start, stop)), parts=6, threads=4)
assert sorted(done) == sorted([(n, n + 2) for n in range(0, 12, 2)] * 2), done
"""


def test_a_limit_that_allows_no_thread_is_no_hindrance():
    if not Path("/proc/self/statm").exists():
        pytest.skip("how large a process is can be seen on Linux only")
    subprocess.run([sys.executable, "-c", WITHOUT_THREADS], check=True)
