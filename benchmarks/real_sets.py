"""The paper's tables on the real sets beside the project, as they come out, also where a correction does not help.

    python benchmarks/real_sets.py --data ../shared/data
    python benchmarks/real_sets.py --data ../shared/data --only multi30k --table skewness

The protocol is the paper's, at strength 1. Temperatures follow the spread of each bank's scores (tau = "auto"), except
on MSR-VTT, whose cosines the paper's suit.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

from unhub.dataset import Dataset
from unhub.experiments import reproduce
from unhub.foundation.tables import text
from unhub.reports.result_tables import result_table

FLICKR8K = """
[dataset]
name = "Flickr8k"
model = "{model}"
directions = ["t2i", "i2t"]
modality = "image"

[test]
queries = "{data}/flickr8k/flickr8k_{model}.npz::test_text"
targets = "{data}/flickr8k/flickr8k_{model}.npz::test_image"
relevant = "{data}/flickr8k/flickr8k_{model}.npz::test_text_target"

[banks.val]
queries = "{data}/flickr8k/flickr8k_{model}.npz::dev_text"
targets = "{data}/flickr8k/flickr8k_{model}.npz::dev_image"

[banks.train]
queries = "{data}/flickr8k/flickr8k_{model}.npz::train_text"
targets = "{data}/flickr8k/flickr8k_{model}.npz::train_image"

[settings]
tau = "auto"
normalize = true
allow_overlap = true
"""
SETS = {
    "msrvtt": """
[dataset]
name = "MSR-VTT"
model = "Cap4Video"
directions = ["t2v", "v2t"]

[test]
scores = "{data}/msrvtt_1ka/msrvtt_video_matrix.npy"
""",
    "multi30k": """
[dataset]
name = "Multi30k"
model = "an encoder without Czech"
directions = ["cs-en", "en-cs"]

[test]
queries = "{data}/multi30k_cs_en/cs-en.npz::test_q"
targets = "{data}/multi30k_cs_en/cs-en.npz::test_t"

[banks.val]
queries = "{data}/multi30k_cs_en/cs-en.npz::val_q"
targets = "{data}/multi30k_cs_en/cs-en.npz::val_t"

[banks.train]
queries = "{data}/multi30k_cs_en/cs-en.npz::bank_q"
targets = "{data}/multi30k_cs_en/cs-en.npz::bank_t"

[settings]
tau = "auto"
normalize = true
allow_overlap = true
""",
    "flickr8k-dual": FLICKR8K.replace("{model}", "dual"),
    "flickr8k-ridge": FLICKR8K.replace("{model}", "ridge_t2i"),
    "openclipart": """
[dataset]
name = "OpenClipart"
model = "ridge map"
directions = ["t2i", "i2t"]

[test]
queries = "{data}/openclipart/openclipart_mapped.npz::test_text"
targets = "{data}/openclipart/openclipart_mapped.npz::test_image"

[banks.train]
queries = "{data}/openclipart/openclipart_mapped.npz::train_text"
targets = "{data}/openclipart/openclipart_mapped.npz::train_image"

[settings]
tau = "auto"
normalize = true
allow_overlap = true
""",
}
"""experiment files; {data} stands for the folder of the data"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder that holds the sets")
    parser.add_argument("--only", choices=SETS, help="one of the sets")
    parser.add_argument("--table", help="instead of query-aware for matrices and banks for the others")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name in [options.only] if options.only else SETS:
            path = Path(folder) / f"{name}.toml"
            path.write_text(SETS[name].replace("{data}", str(options.data.resolve())))
            data = Dataset.open(path)
            table = options.table or ("banks" if data.banks else "query-aware")
            print(text(result_table(reproduce(data, [table], protocol="paper").tables[0])), "\n")


if __name__ == "__main__":
    main()
