"""The long attack: ``make attack``, or ``python -m attack`` in ``tests``. Prints every failure, then the counts."""

from __future__ import annotations

import argparse
import importlib
import sys
import time

from attack import warm
from attack.child import run
from attack.ledger import Budget, Ledger, from_json, table

PARTS = ("kills", "forgeries", "readers", "threads", "web")
"""modules of this package, each with a function ``attack``"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--scale", type=int, default=100, help="cases for each one of the quick attack (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="which cases")
    parser.add_argument("--only", help="one command of kills, or one format of readers")
    given = parser.parse_args()
    budget, ledgers = Budget(given.scale, given.seed), []
    for part in given.parts:
        began = time.monotonic()
        ledger = attack(part, budget, given.only)
        ledgers.append(ledger)
        print(f"{part}: {ledger.tried} tried in {time.monotonic() - began:.0f} s", flush=True)
        for line in ledger.failures:
            print(f"  {line}", flush=True)
    print(f"\nseed {given.seed}, scale {given.scale}\n{table(ledgers)}")
    failures = sum(len(each.failures) for each in ledgers)
    print(f"{failures} attacks succeeded" if failures else "no attack succeeded")
    return 1 if failures else 0


def attack(part: str, budget: Budget, only: str | None = None) -> Ledger:
    """The ledger of one part, run in a process of its own, since each part imports what it needs."""

    def work() -> int:
        warm.one_thread()  # before anything that would start threads is imported
        sys.stdout.write(importlib.import_module(f"attack.{part}").attack(budget, only).as_json())
        return 0

    ended = run(work, seconds=24 * 3600, memory=None)
    if ended.code != 0:
        raise SystemExit(f"the attack itself failed in {part}: {ended.err}")
    return from_json(ended.out)


if __name__ == "__main__":
    sys.exit(main())
