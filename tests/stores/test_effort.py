"""Searches that are told to look at more, in every store where that can be said: they find more, and it is kept."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import unhub
from stores.problem import Problem, best, overlap
from unhub.stores import corrected_index, open_store

K = 10
NARROW = [
    ("pgvector", "hnsw", "ef_search=10"),
    ("pgvector", "ivfflat", "probes=1"),
    ("qdrant_edge", "hnsw", "ef=10"),
    ("lancedb", "ivf_flat", "nprobes=1"),
    ("lancedb", "ivf_hnsw_sq", "nprobes=1"),
    ("milvus", "ivf_flat", "nprobe=1"),
    ("milvus_server", "hnsw", "ef=10"),
]
CASES = [pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.xdist_group(case[0])) for case in NARROW]


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=3000, dim=32, queries=60)


@pytest.mark.parametrize(("store", "index", "narrow"), CASES)
def test_a_search_that_looks_at_more_finds_more_and_the_correction_keeps_that(
    engines, problem, tmp_path, store, index, narrow
):
    name, file = f"effort_{index}", tmp_path / "items.unhub"
    url = engines(store).fill(name, problem.ids, problem.vectors, problem.groups, metric="cosine", index=index)
    url += ("&" if "?" in url else "?") + narrow
    if store == "milvus_server":  # until it has loaded its own index, it answers by others
        with closing(open_store(url)) as opened:
            opened.finish()
    unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1).save(file)
    done = unhub.export(file, url)
    assert done.record.encoding.effort == done.self_test.effort >= 1
    exact = best(problem.inner() + _bias(file, problem), K)

    def share(ids: np.ndarray) -> float:
        return overlap(np.vectorize(lambda each: problem.row[str(each)])(ids), exact)

    def recall(effort: float) -> float:
        with closing(open_store(url)) as opened:
            place = corrected_index(opened, done.record.destination, replace(done.record.encoding, effort=effort))
            return share(place.search(problem.queries, K).ids)

    assert recall(20) > recall(1)
    with unhub.connect(url, file) as retriever:
        found = share(retriever.search(problem.queries, K).ids)
    assert found == pytest.approx(recall(done.self_test.effort))
    again = unhub.export(file, url)
    assert again.self_test.effort == done.self_test.effort
    unhub.rollback(file, to=url)
    with closing(open_store(url)) as opened:
        opened.drop()


def _bias(file, problem) -> np.ndarray:
    known = unhub.load(file)
    row = {each: at for at, each in enumerate(known.ids)}
    return known.bias[[row[each] for each in problem.ids]]
