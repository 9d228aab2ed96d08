"""How time and memory of ``fit("sn")`` grow when the bank, the gallery and the dimension are doubled one by one.

    python benchmarks/growth.py            # from 10,000 x 5,000 x 512
    python benchmarks/growth.py --small

Linear growth is a ratio of about two for time. The memory of the bounded fit should not grow. A row is marked ~ when
other processes were busy meanwhile.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from problems import Shape
from running import Row, Settings, contend, versions, write_json
from tables import megabytes

KEYS = ("unhub:sn", "unhub:sn:64MB")
STEPS = ("bank", "gallery", "dim")


def doubled(shape: Shape, side: str) -> Shape:
    """The shape with one side twice as long."""
    return replace(shape, **{side: 2 * getattr(shape, side)})


def print_growth(base: Row, grown: dict[str, Row]) -> None:
    """One fit: each doubling against the base."""
    print(f"\n{base.title}\n")
    print(f"{'':38}{'seconds':>9}{'x base':>8}{'x product':>11}{'memory':>12}{'x base':>8}")
    for name, row in (("base", base), *grown.items()):
        title = f"{row.shape}" + ("" if name == "base" else f", {name} doubled")
        if row.measured is None or base.measured is None:
            print(f"{title:38}   {row.failure or base.failure}")
            continue
        seen, before = row.measured, base.measured
        time, memory = seen.seconds / before.seconds, seen.extra_bytes / max(1, before.extra_bytes)
        ratio = row.ratio or 0.0
        mark = "~" if row.disturbed else " "
        print(
            f"{title:38}{seen.seconds:9.3f}{time:8.2f}{ratio:10.2f}{mark}{megabytes(seen.extra_bytes):>12}{memory:8.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=Shape.parse, default="10000x5000x512")
    parser.add_argument("--small", action="store_true", help="from 1,000 x 500 x 32, to see that it works")
    parser.add_argument("--runs", type=int, default=7, help="best of so many")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds until a fit is stopped")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/growth.json"))
    options = parser.parse_args()
    base = Shape.parse("1000x500x32") if options.small else options.shape
    settings = Settings(runs=options.runs, limit=options.limit)
    rows: list[Row] = []
    for key in KEYS:
        first = contend(key, base, settings)
        grown = {side: contend(key, doubled(base, side), settings) for side in STEPS}
        print_growth(first, grown)
        rows += [first, *grown.values()]
    write_json(options.output, {"versions": versions(), "rows": [row.as_json() for row in rows]})


if __name__ == "__main__":
    main()
