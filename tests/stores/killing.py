"""Exports that are killed at random points, again and again: ``python killing.py FILE URL KILLS SEED``.

Half of the kills come at a random call of unhub's own functions, half at a random moment, which may be inside the
store's client. After every fourth, what is there is taken back. Each attempt is a process of its own. The last one is
left alone. Prints how often one was killed.
"""

import json
import os
import random
import signal
import sys
import time


def attempt(file, url, *, calls=None, seconds=None):
    """The exit status of a process that exports, and what it said: (calls, seconds) if it came to its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        seen = 0

        def count(frame, event, argument):
            nonlocal seen
            if event == "call" and "/unhub/" in frame.f_code.co_filename:
                seen += 1
                if calls is not None and seen >= calls:
                    os.kill(os.getpid(), signal.SIGKILL)

        import unhub

        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process on the spot, whatever it is doing
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        began = time.monotonic()
        sys.setprofile(count)
        try:
            unhub.export(file, url, batch=256)
            sys.setprofile(None)
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.write(writing, json.dumps([seen, time.monotonic() - began]).encode())
        except BaseException as error:
            sys.setprofile(None)
            os.write(writing, json.dumps(f"{type(error).__name__}: {error}").encode())
            os._exit(3)
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    os.set_blocking(reading, False)  # whatever the child has started may still hold the other end
    with os.fdopen(reading, "rb") as said:
        text = said.read()
    return status, json.loads(text) if text else None


def main(file, url, kills, seed):
    import importlib

    from unhub.stores.adapter import STORES
    from unhub.stores.address import parse

    importlib.import_module(f"unhub.stores.{STORES[parse(url).scheme]}")
    rng = random.Random(int(seed))
    status, first = attempt(file, url)
    if status != 0:
        raise SystemExit(f"the first export failed: {first}")
    rolled_back(file, url)
    calls, seconds = first
    killed = 0
    while killed < int(kills):
        if killed % 2:
            status, said = attempt(file, url, calls=rng.randrange(1, calls))
        else:
            status, said = attempt(file, url, seconds=max(0.001, rng.random() * seconds))
        if os.WIFSIGNALED(status):
            killed += 1
            if killed % 4 == 0:
                rolled_back(file, url)
        elif status == 0:
            rolled_back(file, url)
        else:
            raise SystemExit(f"an export after {killed} kills failed: {said}")
    status, last = attempt(file, url)
    if status != 0:
        raise SystemExit(f"the last export failed: {last}")
    print(json.dumps({"killed": killed, "calls": calls, "seconds": seconds}))


def rolled_back(file, url):
    """Takes an export back, whole or not, in a process of its own, so that this one never opens the store."""
    child = os.fork()
    if child == 0:
        from contextlib import closing

        import unhub
        from unhub.stores import corrected_index, open_store

        try:
            done = unhub.rollback(file, to=url)
            with closing(open_store(url)) as store:
                left = [
                    each.destination
                    for each in done.exports
                    if corrected_index(store, each.destination, each.encoding).exists()
                ]
            if left:
                raise RuntimeError(f"{left} is still there")
        except BaseException as error:
            print(f"rollback failed: {error}", file=sys.stderr)
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit("rollback failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
