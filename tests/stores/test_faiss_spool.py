"""A spool that came with an index from somebody else: nothing is written or read through it, and no wait."""

import json
import os

import faiss
import numpy as np
import pytest

import unhub
from stores.problem import Problem
from unhub.foundation.errors import InputError
from unhub.stores.faiss.index import Spec
from unhub.stores.faiss.spool import Spool

SPEC = {"factory": "IDMap2,Flat", "dim": 25, "metric": "ip", "made_by": "unhub"}


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=60, dim=24, queries=20)


@pytest.fixture
def forged(problem, tmp_path):
    """The correction, the address, and the folder of the spool that an export would use, with a spec in it."""
    index = faiss.index_factory(24, "IDMap2,Flat", faiss.METRIC_INNER_PRODUCT)
    index.add_with_ids(problem.vectors, np.array(problem.ids, dtype=np.int64))
    faiss.write_index(index, str(tmp_path / "photos.faiss"))
    url, file = f"faiss://{tmp_path}/photos.faiss", tmp_path / "photos.unhub"
    unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1).save(file)
    spool = tmp_path / f"{unhub.plan_export(file, url).destination}.part"
    spool.mkdir()
    (spool / "spec.json").write_text(json.dumps(SPEC))
    return file, url, spool


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["ids", "vectors", "spec.json"])
def test_nothing_is_written_through_a_link(forged, tmp_path, link, name):
    file, url, spool = forged
    thesis = tmp_path / "thesis.docx"
    thesis.write_text(json.dumps(SPEC) if name == "spec.json" else "years of work")
    before = thesis.read_bytes()
    (spool / name).unlink(missing_ok=True)
    link(thesis, spool / name)
    with pytest.raises(InputError, match=f"{name} is a link, a pipe or a folder and not part of an export"):
        unhub.export(file, url)
    assert thesis.read_bytes() == before


def test_a_pipe_is_not_waited_for(forged):
    file, url, spool = forged
    os.mkfifo(spool / "ids")
    with pytest.raises(InputError, match="ids is a link, a pipe or a folder and not part of an export"):
        unhub.export(file, url)


def test_a_folder_that_is_a_link_is_refused(forged, tmp_path):
    file, url, spool = forged
    spool.rename(tmp_path / "elsewhere")
    spool.symlink_to("elsewhere")
    with pytest.raises(InputError, match="has other things in it; move them elsewhere"):
        unhub.export(file, url)
    assert sorted(each.name for each in spool.iterdir()) == ["spec.json"]


@pytest.mark.parametrize(
    "text",
    ["[1]", "{", "[" * 100_000, "7", '{"dim": 25}', *(json.dumps({**SPEC, **each}) for each in (
        {"more": 1}, {"dim": "x"}, {"dim": 0}, {"metric": "cos"}, {"factory": 3}, {"ranges": [None]}, {"nprobe": -1},
    ))],
)  # fmt: skip
def test_a_damaged_spec_is_one_sentence(forged, text):
    file, url, spool = forged
    (spool / "spec.json").write_text(text)
    with pytest.raises(InputError, match=r"spec.json is damaged; remove .*\.part and export again"):
        unhub.export(file, url)


def test_a_spool_of_another_kind_of_index_is_refused(forged):
    file, url, spool = forged
    (spool / "spec.json").write_text(json.dumps({**SPEC, "factory": "IVF1000000,Flat"}))
    with pytest.raises(InputError, match="was begun for another kind of index; remove it"):
        unhub.export(file, url)


def test_a_spool_of_ours_is_gone_on_with(forged):
    file, url, spool = forged
    assert unhub.export(file, url).record.state == "serving"
    assert not spool.exists()


def test_a_spec_is_read_as_it_was_written(tmp_path):
    spec = Spec("IDMap2,SQ8", 3, "l2", nprobe=4, ranges=[0.1, float("inf"), -3e-9])
    spool = Spool(tmp_path / "a.part")
    spool.create(spec, marked=True)
    assert (spool.spec(), spool.marked) == (spec, True)
