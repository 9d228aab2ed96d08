"""DBSN at the size of Flickr30k: 145,000 bank queries x (1,000 targets + a target bank of 29,000) x 512.

    python benchmarks/flickr30k_scale.py                 # minutes, and 11 GB of memory
    python benchmarks/flickr30k_scale.py --memory 2GB
    python benchmarks/flickr30k_scale.py --small

The matrix would take 17 GB, so the product it is compared with is timed on some of its rows and scaled up.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from problems import Shape
from running import Settings, contend, versions, write_json
from tables import megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", default="11GB", help="what the fit may use for scores")
    parser.add_argument("--shape", type=Shape.parse, default="145000x1000x512+29000")
    parser.add_argument("--small", action="store_true", help="a hundredth of it, to see that it works")
    parser.add_argument("--runs", type=int, default=1, help="best of so many")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds until it is stopped")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/flickr30k_scale.json"))
    options = parser.parse_args()
    shape = Shape.parse("1450x100x64+290") if options.small else options.shape
    settings = Settings(runs=options.runs, limit=options.limit)
    row = contend(f"unhub:dbsn:{options.memory}", shape, settings)
    joined = shape.gallery + shape.target_bank
    print(f"{row.title}: {shape.bank:,} x ({shape.gallery:,} + {shape.target_bank:,}) x {shape.dim}\n")
    if row.measured is None:
        print(row.failure)
    else:
        seen = row.measured
        print(f"time         {seen.seconds:.1f} s")
        print(f"ratio        {row.ratio:.2f} products of {shape.bank:,} x {joined:,}, {seen.product:.1f} s each")
        print(f"peak memory  {megabytes(seen.peak_bytes)}, of it {megabytes(seen.extra_bytes)} by the fit")
        print(f"the matrix   {megabytes(4 * shape.bank * joined)} in float32")
        print(f"others       {(seen.others or 0.0):.0%} of the machine meanwhile")
        print(f"plan         {row.note or '-'}")
    write_json(options.output, {"versions": versions(), "row": row.as_json()})


if __name__ == "__main__":
    main()
