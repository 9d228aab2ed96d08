"""What a store serves follows the verdict: nothing of a refused correction unless forced, and no earlier strength."""

from contextlib import closing

import faiss
import numpy as np
import pytest

import unhub
from stores.problem import Problem
from unhub.api.verdict import given_verdict
from unhub.foundation.errors import InputError
from unhub.stores import open_store

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=200, dim=16, queries=60)


@pytest.fixture(params=["faiss", "qdrant"])
def url(request, problem, tmp_path):
    """The address of a raw collection: an index file, or a folder of Qdrant's."""
    if request.param == "faiss":
        index = faiss.index_factory(16, "IDMap2,Flat", faiss.METRIC_INNER_PRODUCT)
        index.add_with_ids(problem.vectors, np.arange(200))
        faiss.write_index(index, str(tmp_path / "photos.faiss"))
        return f"faiss://{tmp_path}/photos.faiss"
    qdrant = pytest.importorskip("qdrant_client")
    with closing(qdrant.QdrantClient(path=str(tmp_path / "qdrant"))) as client:
        parameters = qdrant.models.VectorParams(size=16, distance=qdrant.models.Distance.COSINE)
        client.create_collection("photos", vectors_config=parameters)
        points = [qdrant.models.PointStruct(id=at, vector=row.tolist()) for at, row in enumerate(problem.vectors)]
        client.upsert("photos", points)
    return f"qdrant://{tmp_path}/qdrant/photos"


@pytest.fixture
def refused(url, problem, tmp_path):
    """The file of a correction whose bank is unlike the recent queries."""
    file = tmp_path / "photos.unhub"
    correction = unhub.fit("sn", targets=url, query_bank=-problem.queries, recent=problem.queries)
    assert correction.verdict.decision == "refuse"
    correction.save(file)
    return file


def served(url, file, problem, **more):
    with unhub.connect(url, file, **more) as retriever:
        return retriever.strategy, retriever.search(problem.queries, 5)


def test_a_refused_correction_is_served_only_if_forced(url, refused, problem, tmp_path):
    verdict = unhub.load(refused).verdict
    for attempt in (unhub.export, unhub.refresh, lambda file, to: unhub.connect(to, file)):
        with pytest.raises(InputError) as stopped:
            attempt(refused, url)
        assert str(stopped.value) == (
            f"the verdict on this correction is against serving it. {verdict.sentence} To serve it at full strength "
            "all the same, pass force=True."
        )
    assert "collect a bank from current traffic" in verdict.sentence
    assert unhub.plan_export(refused, url).notes[0].startswith("an export stops here, unless you pass ")
    assert unhub.load(refused).exports == ()

    done = unhub.export(refused, url, force=True)
    assert (done.record.state, done.self_test.passed) == ("serving", True)
    kept = unhub.load(refused)
    assert kept.verdict == verdict
    strategy, found = served(url, refused, problem, force=True)
    assert strategy == done.plan.strategy
    exact = unhub.load(refused, targets=url).at(1.0).search(problem.queries, 5)
    np.testing.assert_allclose(found.scores, exact.scores, atol=1e-5)
    assert unhub.refresh(refused, url, force=True).unchanged
    with pytest.raises(InputError, match=r"What was exported before serves on until it is rolled back\."):
        unhub.export(refused, url)
    assert [each.destination for each in unhub.rollback(refused, to=url).exports] == [done.record.destination]
    with closing(open_store(url)) as store:
        assert not store.sibling(store.derived(done.record.tag)).exists()


def test_another_strength_is_another_export(url, problem, tmp_path):
    file = tmp_path / "photos.unhub"
    correction = unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1)
    correction.save(file)
    first = unhub.export(file, url).record
    unhub.load(file).with_verdict(given_verdict(0.5)).save(file)
    assert served(url, file, problem)[0] == "rerank", "the export is of another strength"
    late = unhub.refresh(file, url)
    assert late.unchanged
    assert "has another bias or strength than this correction has now; export it again" in late.notes[0]
    second = unhub.export(file, url).record
    assert second.destination != first.destination
    assert unhub.refresh(file, url).notes == ()
    strategy, found = served(url, file, problem)
    exact = problem.inner() + 0.5 * unhub.load(file).bias
    assert strategy == second.encoding.strategy
    np.testing.assert_allclose(found.scores, -np.sort(-exact, axis=1)[:, :5], atol=1e-5)
    assert len(unhub.rollback(file, to=url).exports) == 2


@pytest.mark.parametrize("prior", [None, "steep"])
def test_a_refreshed_correction_is_judged_as_an_extended_one(prior, problem, tmp_path):
    """New items count as average ones in the dual; with a steep prior too, and the file of each loads."""
    url, file = f"faiss://{tmp_path}/photos.faiss", tmp_path / "photos.unhub"

    def write(rows):
        index = faiss.index_factory(16, "IDMap2,Flat", faiss.METRIC_INNER_PRODUCT)
        index.add_with_ids(problem.vectors[rows], rows)
        faiss.write_index(index, str(tmp_path / "photos.faiss"))

    write(np.arange(150))
    weights = None if prior is None else 1 / np.arange(1.0, 151) ** 2
    fitted = unhub.fit("sn", targets=url, query_bank=problem.queries[:30], target_prior=weights)
    fitted.save(file)
    longer = fitted.extended(problem.vectors[150:])
    longer.save(tmp_path / "longer.unhub")
    b = np.full(200, 1.0) if prior is None else np.concatenate((150 * weights / weights.sum(), np.ones(50)))
    assert longer._linear == pytest.approx(b @ longer.bias / 200, abs=1e-6)
    write(np.arange(200))
    unhub.refresh(file, url, force=True)
    recent = problem.queries[30:]
    recent = np.concatenate((recent, recent + 0.05 * np.random.default_rng(0).normal(size=recent.shape)))
    recent /= np.linalg.norm(recent, axis=1, keepdims=True)
    known = {"recent": recent.astype(np.float32)}
    extended = unhub.guard(tmp_path / "longer.unhub", targets=problem.vectors, **known)
    refreshed = unhub.guard(file, targets=url, **known)
    assert refreshed.evidence[-1].strength == extended.evidence[-1].strength
    assert refreshed.evidence[-1].gain == pytest.approx(extended.evidence[-1].gain, abs=1e-4)
    write(np.arange(1, 200))  # the target that was expected most is gone
    unhub.refresh(file, url, force=True)
    assert unhub.load(file).bias.size == 199
