"""The table of docs/choose.md is what benchmarks/choosing.py measures."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.filterwarnings("ignore::unhub.UnhubWarning"), pytest.mark.xdist_group("demo")]

ROOT = Path(__file__).parents[2]
FILES = {
    "multi30k": "multi30k_cs_en/cs-en.npz",
    "flickr8k-ridge": "flickr8k/flickr8k_ridge_t2i.npz",
    "flickr8k-dual": "flickr8k/flickr8k_dual.npz",
    "openclipart": "openclipart/openclipart_mapped.npz",
    "msrvtt": "msrvtt_1ka/msrvtt_video_matrix.npy",
}
ROUNDING = 0.25
"""points of R@1 by which another machine's rounding may move a row"""


@pytest.fixture(scope="module")
def choosing():
    spec = importlib.util.spec_from_file_location("choosing", ROOT / "benchmarks" / "choosing.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["choosing"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", FILES)
def test_the_page_says_what_is_measured(name, choosing, shared_data):
    data = shared_data(FILES[name]).parents[1]
    found = choosing.measure(name, data)
    page = (ROOT / "docs" / "choose.md").read_text(encoding="utf-8")
    first = page[page.index("## Which method") : page.index("**Other settings.**")]
    cells = re.search(rf"^\| {re.escape(choosing.SETS[name][0])} \|(.*)\|$", first, re.MULTILINE)[1].split("|")
    *methods, strengths, transductive = (cell.strip() for cell in cells)
    assert [float(each) for each in methods] == pytest.approx(found["auto"], abs=ROUNDING)
    assert float(transductive) == pytest.approx(found["transductive"][0], abs=ROUNDING)
    if name == "msrvtt":
        assert strengths == "refused"
        assert max(found["strengths"]) < 0.05
        assert min(found["auto"]) > max(found["strength 1"][1:]) + 1
    else:
        assert [float(each) for each in strengths.split(" / ")] == pytest.approx(found["strengths"], abs=0.03)
