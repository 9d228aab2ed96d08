"""What an export, a refresh, a rollback and a search must not do wrong, each on the smallest store that can show it."""

import threading
from contextlib import closing

import faiss
import numpy as np
import pytest

import unhub
from stores.problem import Problem, best, identical, overlap
from unhub.api.correction import Correction
from unhub.deploy.destinations import OWN_ALIAS
from unhub.deploy.journal import Journal
from unhub.deploy.self_test import ExactTop
from unhub.foundation.errors import InputError, StoreError, UnhubError
from unhub.stores import Description, SearchResults, open_store, parse
from unhub.stores.adapter import guarded

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=800, dim=24, queries=40)


@pytest.fixture
def index(tmp_path):
    """A function that writes an index file and gives back its address."""

    def write(vectors, *, ids=None, factory="IDMap2,Flat", metric=faiss.METRIC_INNER_PRODUCT, name="photos"):
        made = faiss.index_factory(vectors.shape[1], factory, metric)
        made.train(vectors)
        made.add_with_ids(vectors, np.arange(len(vectors)) if ids is None else np.asarray(ids))
        faiss.write_index(made, str(tmp_path / f"{name}.faiss"))
        return f"faiss://{tmp_path}/{name}.faiss"

    return write


def _fit(url, problem, file, **more):
    fitted = unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1, **more)
    fitted.save(file)
    return fitted


def _rows(found):
    return np.vectorize(int)(found.ids)


# --- what is ranked by -------------------------------------------------------------------------------------------


def test_vectors_of_any_length_count_by_their_direction_wherever_they_stand(index, problem, tmp_path):
    vectors = np.concatenate([problem.vectors] * 6)
    vectors += 1e-3 * np.random.default_rng(0).standard_normal(vectors.shape).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    long = vectors.copy()
    long[-300:] *= 5  # behind the first block, which is all that a description looks at
    for factory in ("IDMap2,Flat", "IDMap2,HNSW16"):
        url, file = index(long, factory=factory), tmp_path / "photos.unhub"
        fitted = _fit(url, problem, file, normalize=True)
        done = unhub.export(file, url)
        assert done.record.state == "serving"
        with unhub.connect(url, file) as retriever:
            rows = _rows(retriever.search(problem.queries, 10))
        exact = problem.queries @ vectors.T + fitted.bias
        assert overlap(rows, best(exact, 10)) > done.self_test.recall - 0.1
        assert done.self_test.recall == 1 or "HNSW" in factory
        unhub.rollback(file, to=url)


def test_queries_of_any_length_count_by_their_direction(index, problem, tmp_path):
    url, file = index(problem.vectors), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    for exported in (False, True):
        if exported:
            unhub.export(file, url)
        with unhub.connect(url, file) as retriever:
            once, five = retriever.search(problem.queries, 10), retriever.search(5 * problem.queries, 10)
        assert once.ids.tolist() == five.ids.tolist()
        np.testing.assert_allclose(once.scores, five.scores, atol=1e-6)


def test_an_export_that_writes_nothing_ranks_as_a_connection_without_one(index, problem, tmp_path):
    url, file = index(problem.vectors[:150], metric=faiss.METRIC_L2), tmp_path / "photos.unhub"
    fitted = _fit(url, problem, file)
    exact = problem.queries @ problem.vectors[:150].T + fitted.bias
    for exported in (False, True):
        if exported:
            assert unhub.export(file, url, strategy="rerank").record.destination is None
        with unhub.connect(url, file) as retriever:
            found = retriever.search(problem.queries, 10)
        identical(found.ids, [str(row) for row in range(150)], exact, 10, 1e-5)
        np.testing.assert_allclose(found.scores, np.take_along_axis(exact, _rows(found), 1), atol=1e-5)


def test_a_row_that_is_not_full_misses_nothing(index, problem, tmp_path):
    url, file = index(problem.vectors), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    unhub.export(file, url)
    with unhub.connect(url, file) as retriever:
        found = retriever.search(problem.queries, 5, filter=[3, 4])
        assert found.missing == 0
        assert [sum(each is not None for each in line) for line in found.ids] == [2] * 40
        with pytest.raises(InputError, match="queries are str"):
            retriever.search("hello")
        one, many = retriever.search(problem.queries[0], 5), retriever.search(problem.queries[:1], 5)
        assert isinstance(one, unhub.Hits)
        assert one.ids.shape == one.scores.shape == one.rows.shape == one.raw_scores.shape == (5,)
        assert one.ids.tolist() == many.ids[0].tolist()


def test_what_cannot_be_ranked_again_is_refused(index, problem, tmp_path):
    lengths = np.linspace(0.5, 2, 800, dtype=np.float32)[:, None]
    url, file = index(problem.vectors * lengths), tmp_path / "photos.unhub"
    _fit(url, problem, file, normalize=True)
    with pytest.raises(InputError, match="export the correction there first"):
        unhub.connect(url, file)
    unhub.export(file, url)
    with unhub.connect(url, file) as retriever:
        rows = _rows(retriever.search(problem.queries, 10))
    exact = problem.inner() + unhub.load(file).bias
    assert overlap(rows, best(exact, 10)) == 1
    euclidean = index(problem.vectors * lengths, metric=faiss.METRIC_L2, name="far")
    with pytest.raises(InputError, match="Euclidean distance"):
        unhub.fit("sn", targets=euclidean, query_bank=problem.queries)
    late = problem.vectors.repeat(6, axis=0)
    late[-5:] *= 3
    far = index(late, metric=faiss.METRIC_L2, name="late")
    unhub.fit("sn", targets=late, query_bank=problem.queries, strength=1, normalize=True).save(file)
    with pytest.raises(InputError, match="Euclidean distance"):
        unhub.export(file, far)


# --- the self-test -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [True, False])
def test_the_self_test_notices_wrong_answers(every):
    rng = np.random.default_rng(0)
    vectors, probes = rng.standard_normal((300, 8)).astype("f"), rng.standard_normal((20, 8)).astype("f")
    bias = rng.standard_normal(300).astype("f")
    exact = ExactTop(probes, unit=False)
    for start in range(0, 300, 100):
        rows = slice(start, start + 100)
        exact.look([str(row) for row in range(300)[rows]], vectors[rows], bias[rows])
    scores = probes @ vectors.T + bias
    rows = best(scores, 10)
    right = SearchResults(rows.astype(object), np.take_along_axis(scores, rows, 1))
    raw = SearchResults(best(probes @ vectors.T, 10).astype(object), right.scores)
    half = SearchResults(np.where(np.arange(10) < 4, raw.ids, None), raw.scores)
    seen = Description("faiss://x", "ip", 8, 300, "flat", every)
    assert exact.compare(right, raw, seen, every=every).passed
    nothing = SearchResults(np.full((20, 10), None, dtype=object), np.full((20, 10), -np.inf, dtype=np.float32))
    wrong = {
        "no hits": nothing,
        "not a number": SearchResults(right.ids, np.full((20, 10), np.nan, dtype=np.float32)),
        "raw lists": raw,
        "scores of something else": SearchResults(right.ids, right.scores + 0.01),
    }
    for why, found in wrong.items():
        for before in (raw, half):
            assert not exact.compare(found, before, seen, every=every).passed, why


def test_reranking_of_an_exact_index_is_judged_by_what_it_finds(index, tmp_path):
    problem = Problem.make(count=3000, dim=24, queries=60)
    url, file = index(problem.vectors), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    done = unhub.export(file, url, strategy="rerank")
    assert done.self_test.identical < done.self_test.probes  # what is not among the 200 fetched cannot be found
    assert (done.self_test.recall >= 0.98) is done.self_test.passed is (done.record.state == "serving")
    few, other = index(problem.vectors[:300], name="few"), tmp_path / "few.unhub"
    _fit(few, problem, other)
    assert unhub.export(other, few, strategy="rerank").record.state == "serving"


def test_looking_at_more_does_not_grow_with_every_export(index, problem, tmp_path):
    url, file = index(problem.vectors, factory="IVF32,Flat"), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    first = unhub.export(file, url)
    again = unhub.export(file, url)
    assert again.self_test.effort == first.self_test.effort <= 3
    assert again.self_test.recall == first.self_test.recall


# --- galleries that change ---------------------------------------------------------------------------------------


def test_items_that_come_while_an_export_runs_are_not_served_without_a_bias(index, problem, tmp_path):
    url, file = index(problem.vectors[:700]), tmp_path / "photos.unhub"
    _fit(url, problem, file)

    def grow(work, done, total):
        if work == "checking" and done == total:
            index(problem.vectors[:705])

    with pytest.raises(InputError, match="5 of its 705 items are not in the correction"):
        unhub.export(file, url, progress=grow)
    assert unhub.load(file).exports == ()
    unhub.refresh(file, url)
    assert unhub.export(file, url).record.state == "serving"


def test_what_was_deleted_is_no_longer_found_whoever_knew_it(index, problem, tmp_path):
    url, file = index(problem.vectors[:700]), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    index(problem.vectors[:705])
    unhub.export(file, url, allow_missing=True)
    index(problem.vectors[:700])
    assert unhub.refresh(file, url).to_dict() == {"new": 0, "changed": 0, "gone": 0}
    with unhub.connect(url, file) as retriever:
        assert retriever.strategy == "augment"
        assert _rows(retriever.search(problem.vectors[700:705], 10)).max() < 700


def test_a_refresh_that_was_cut_short_is_made_good(index, problem, tmp_path, monkeypatch):
    url, file = index(problem.vectors[:700]), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    unhub.export(file, url)
    changed = problem.vectors[:700].copy()
    changed[3] = problem.vectors[750]
    index(changed)
    with monkeypatch.context() as broken:
        broken.setattr(Correction, "save", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            unhub.refresh(file, url)
    assert Journal(file).path.exists()
    index(problem.vectors[:700])  # and it is changed back
    unhub.refresh(file, url)
    assert not Journal(file).path.exists()
    exact = problem.queries @ problem.vectors[:700].T + unhub.load(file).bias
    with unhub.connect(url, file) as retriever:
        assert retriever.strategy == "augment"
        identical(retriever.search(problem.queries, 10).ids, [str(row) for row in range(700)], exact, 10, 1e-5)


def _interrupted(*_):
    raise KeyboardInterrupt


def test_an_item_that_there_is_no_room_for_ends_the_export_with_a_way_on(index, problem, tmp_path):
    url, file = index(problem.vectors, factory="IDMap2,HNSW16"), tmp_path / "photos.unhub"
    _fit(url, problem, file, metric="ip")
    unhub.export(file, url, strategy="constant_norm")
    index(np.concatenate((problem.vectors, 3 * problem.vectors[:1])), factory="IDMap2,HNSW16")
    refreshed = unhub.refresh(file, url)
    assert (refreshed.new, refreshed.stale) == (("800",), True)
    with unhub.connect(url, file) as retriever:
        assert retriever.strategy == "rerank"
    assert unhub.export(file, url).record.state == "serving"
    assert len(unhub.rollback(file, to=url).exports) == 2
    assert sorted(path.name for path in tmp_path.glob("*.faiss*")) == ["photos.faiss"]


def test_of_two_stores_the_one_that_was_not_followed_is_behind(index, problem, tmp_path):
    first, second = index(problem.vectors[:700]), index(problem.vectors[:700], name="replica")
    file = tmp_path / "photos.unhub"
    _fit(first, problem, file)
    for url in (first, second):
        assert unhub.export(file, url).record.state == "serving"
    index(problem.vectors[:702])
    index(problem.vectors[:702], name="replica")
    unhub.refresh(file, first)
    with unhub.connect(first, file) as one, unhub.connect(second, file) as two:
        assert (one.strategy, two.strategy) == ("augment", "rerank")
    assert unhub.export(file, second).record.state == "serving"
    assert len(unhub.rollback(file, to=first).exports) == 1
    assert len(unhub.rollback(file, to=second).exports) == 2


def test_a_longer_correction_of_its_own_knows_of_no_export(index, problem, tmp_path):
    url, file = index(problem.vectors[:700]), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    done = unhub.export(file, url)
    assert done.correction.extended(problem.vectors[700:], ids=[str(row) for row in range(700, 800)]).exports == ()
    index(problem.vectors)
    unhub.refresh(file, url, out=tmp_path / "newer.unhub")
    assert unhub.load(tmp_path / "newer.unhub").exports == ()
    assert unhub.load(tmp_path / "newer.unhub").bias.size == 800
    with unhub.connect(url, file) as retriever:
        assert retriever.strategy == "augment"


# --- more than one at a time -------------------------------------------------------------------------------------


def test_two_exports_of_one_file_do_not_run_at_once(index, problem, tmp_path):
    url, file = index(problem.vectors), tmp_path / "photos.unhub"
    _fit(url, problem, file)

    def another(work, done, total):
        if work == "writing":
            with pytest.raises(InputError, match="another process works on the exports"):
                unhub.export(file, url)

    unhub.export(file, url, progress=another)
    assert not list(tmp_path.glob("*.lock"))


def test_threads_share_a_retriever(index, problem, tmp_path):
    url, file = index(problem.vectors, factory="IVF8,Flat"), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    unhub.export(file, url)
    few = list(range(0, 800, 7))
    with unhub.connect(url, file) as retriever:
        expected = retriever.search(problem.queries, 5, filter=few).ids.tolist()
        retriever.close()
        wrong = []

        def ask():
            try:
                if retriever.search(problem.queries, 5, filter=few).ids.tolist() != expected:
                    wrong.append("another list")
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert wrong == []


# --- aliases -----------------------------------------------------------------------------------------------------


class Aliased:
    """A Qdrant folder with the collection ``photos`` and the alias ``live`` pointing to it."""

    def __init__(self, folder, problem):
        from qdrant_client import QdrantClient, models

        client = QdrantClient(path=str(folder / "qdrant"))
        client.create_collection("photos", models.VectorParams(size=24, distance=models.Distance.COSINE))
        client.upload_collection("photos", problem.vectors[:200], ids=range(200))
        to_photos = models.CreateAlias(collection_name="photos", alias_name="live")
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=to_photos)])
        client.close()
        self.url, self.problem, self.folder = f"qdrant://{folder}/qdrant/photos", problem, folder

    def fit(self, name, tau=0.05):
        file = self.folder / name
        unhub.fit("sn", targets=self.url, query_bank=self.problem.queries, tau=tau, strength=1).save(file)
        return file

    def points_to(self, alias):
        with closing(open_store(self.url)) as store:
            return store.alias(alias)


@pytest.fixture
def aliased(tmp_path, problem):
    return Aliased(tmp_path, problem)


@pytest.mark.xdist_group("qdrant")
def test_an_alias_of_the_user_comes_back_however_often_it_was_taken(aliased):
    file = aliased.fit("a.unhub")
    first = unhub.export(file, aliased.url, alias="live")
    assert aliased.points_to("live") == first.record.destination
    second = unhub.export(file, aliased.url, alias="live")
    third = unhub.export(file, aliased.url, alias="live", strategy="constant_norm")
    assert first.record.destination == second.record.destination != third.record.destination
    unhub.rollback(file, to=aliased.url)
    assert aliased.points_to("live") == "photos"
    unhub.rollback(file, to=aliased.url)
    assert aliased.points_to("live") == "photos"


@pytest.mark.xdist_group("qdrant")
def test_an_export_cut_short_after_the_switch_still_knows_where_the_alias_was(aliased, monkeypatch):
    file = aliased.fit("a.unhub")
    with monkeypatch.context() as broken:
        broken.setattr(Correction, "save", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            unhub.export(file, aliased.url, alias="live")
    assert aliased.points_to("live") != "photos"
    unhub.export(file, aliased.url, alias="live")
    unhub.rollback(file, to=aliased.url)
    assert aliased.points_to("live") == "photos"


@pytest.mark.xdist_group("qdrant")
def test_two_corrections_of_one_collection_come_back_in_any_order(aliased):
    one, two = aliased.fit("a.unhub"), aliased.fit("b.unhub", tau=0.1)
    unhub.export(one, aliased.url)
    unhub.export(two, aliased.url)
    unhub.rollback(one, to=aliased.url)
    unhub.rollback(two, to=aliased.url)
    assert aliased.points_to("photos_corrected") is None
    with closing(open_store(aliased.url)) as store:
        assert store.describe().count == 200


@pytest.mark.xdist_group("qdrant")
def test_an_alias_that_is_a_collection_is_refused_before_anything_is_written(aliased):
    file = aliased.fit("a.unhub")
    with pytest.raises(InputError, match="alias is 'photos', which is a collection"):
        unhub.export(file, aliased.url, alias="photos")
    assert not Journal(file).path.exists()


def test_a_store_without_aliases_says_so(index, problem, tmp_path):
    url, file = index(problem.vectors), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    with pytest.raises(InputError, match="faiss has no aliases"):
        unhub.export(file, url, alias="live")
    unhub.export(file, url)
    with pytest.raises(InputError, match="this file knows of faiss://"):
        unhub.rollback(file, to=index(problem.vectors, name="other"))


# --- secrets -----------------------------------------------------------------------------------------------------

SECRET = "s3cr-e/t"


@pytest.mark.parametrize(
    "url",
    [
        "pgvector://me:s3cr-e%2Ft@localhost/shop?table=items",
        "PGVECTOR://me:s3cr-e%2Ft@localhost/shop?table=items&nonsense=1",
        "pgvector://me:s3cr-e/t@localhost/shop?table=items",
        "pgvector://me:1234/s3cr-e@localhost/shop?table=items",
        "pgvector:/me:s3cr-e@localhost/shop",
        "qdrant://localhost:1/photos?api_key=s3cr-e%2Ft",
        "qdrant://localhost:1/photos?api-key=s3cr-e%2Ft",
        "qdrant://localhost:1/photos?access_token=s3cr-e%2Ft&x=1",
        "milvus://me:s3cr-e%2Ft@localhost:1/photos?timeout=1",
        "chroma://localhost:1/photos?token=s3cr-e%2Ft",
        "nonsense://me:s3cr-e@localhost/x",
    ],
)
def test_a_secret_is_in_no_sentence(url, tmp_path, capsys):
    from unhub.cli import main

    for words in (
        ["fit", "--targets", url, "--query-bank", "bank.npy", "-o", str(tmp_path / "x.unhub")],
        ["check", "--targets", url],
        ["extend", "x.unhub", "--targets", url],
        ["search", "x.unhub", "--queries", url],
        ["search", url, "--queries", "q.npy"],
        ["rollback", url],
        ["evaluate", "--targets", url, "--queries", url, "--relevant", "diagonal"],
        ["diagnose", "--targets", url, "--queries", url],
    ):
        assert main(words) == 2
        said = "".join(capsys.readouterr())
        assert "s3cr" not in said, (words, said)
        assert said.count("\n") == (2 if words[0] == "check" else 1)


def test_a_clients_words_are_shown_without_what_is_secret():
    address = parse("qdrant://localhost/photos?api_key=s3cr-e%2Ft")
    assert "s3cr" not in repr(address) + str(address)
    for text in (f"bad key {SECRET}", "bad key s3cr-e%2Ft", "x" * 234 + SECRET):
        with pytest.raises(StoreError) as caught, guarded(address, "cannot be read"):
            raise RuntimeError(text)
        assert "s3cr" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_nothing_else_is_hidden():
    with pytest.raises(StoreError, match="the moon is full") as caught, guarded(parse("faiss://a.faiss"), "is odd"):
        raise RuntimeError("the moon is full")
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert isinstance(caught.value, UnhubError)
    assert OWN_ALIAS.format("photos") == "photos_corrected"


# --- what a first user met ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("factory", ["IVF8,Flat", "IVF8,SQ8", "IVF4,PQ12x4", "IDMap2,Flat", "IDMap2,HNSW16"])
def test_deletes_and_changes_reach_the_copy_of_every_index(index, problem, tmp_path, factory):
    """Ids that are no row numbers, which inverted lists find by a table of their own."""
    ids = 7 * np.arange(700) + 100_000
    url, file = index(problem.vectors[:700], ids=ids, factory=factory), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    unhub.export(file, url)
    changed = problem.vectors[20:700].copy()
    changed[:15] = problem.vectors[700:715]
    if factory.startswith("IVF"):  # in its place: the codes of an index that is trained again are others
        path = parse(url).path
        made = faiss.read_index(path)
        made.remove_ids(ids[:35])
        made.add_with_ids(problem.vectors[700:720], np.concatenate((ids[20:35], np.arange(5))))
        faiss.write_index(made, path)
    else:
        index(np.concatenate((changed, problem.vectors[715:720])), ids=[*ids[20:], *range(5)], factory=factory)
    assert unhub.refresh(file, url).to_dict() == {"new": 5, "changed": 15, "gone": 20}
    with unhub.connect(url, file) as retriever:
        found = _rows(retriever.search(np.concatenate((problem.vectors[:20], problem.vectors[700:720])), 10))
        assert retriever.strategy != "rerank"
    assert not np.isin(ids[:20], found).any()
    if "PQ" not in factory:
        wanted = np.concatenate((ids[20:35], np.arange(5)))
        assert (found[20:] == wanted[:, None]).any(axis=1).mean() > 0.7


def test_a_dry_run_tells_what_would_be_refused(index, problem, tmp_path):
    url, file = index(problem.vectors), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    assert unhub.plan_export(file, url).notes[-1].startswith("items are compared with the correction when it is exp")
    index(problem.vectors[:790])
    said = unhub.plan_export(file, url).notes[-1]
    assert said.startswith("the collection has 790 items and the correction 800, which an export refuses")


def test_only_what_was_there_is_called_removed(index, problem, tmp_path):
    url, file = index(problem.vectors), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    place = unhub.export(file, url).record.destination
    copy = tmp_path / "copy.unhub"
    copy.write_bytes(file.read_bytes())
    assert unhub.rollback(file, to=url).to_dict()[0]["removed"] == place
    assert unhub.rollback(copy, to=url).to_dict()[0]["removed"] is None


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("connection to server failed: fe_sendauth: no password supplied", "give the user and the password"),
        ("FATAL: password authentication failed for user app", "give the user and the password"),
        ('connection to server on socket "/x" failed: No such file; Is the server running locally?', "store runs"),
        ("401 Unauthorized", "give the user and the password"),
        ("relation items does not exist", "the address, the name and your rights"),
    ],
)
def test_advice_fits_what_the_store_said(said, advice):
    with pytest.raises(StoreError, match=advice), guarded(parse("faiss:///photos.faiss"), "cannot be read"):
        raise RuntimeError(said)


def test_a_store_that_was_emptied_takes_nothing_from_a_correction(tmp_path):
    problem = Problem.make(count=40, dim=8, queries=20)
    index = faiss.IndexIDMap2(faiss.IndexFlatIP(8))
    index.add_with_ids(problem.vectors, np.arange(40, dtype=np.int64))
    faiss.write_index(index, str(tmp_path / "photos.faiss"))
    url, file = f"faiss://{tmp_path}/photos.faiss", tmp_path / "photos.unhub"
    unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1).save(file)
    before = file.read_bytes()
    index.reset()
    faiss.write_index(index, str(tmp_path / "photos.faiss"))
    with pytest.raises(InputError, match=r"photos\.faiss is empty; fill it first"):
        unhub.refresh(file, url)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: unhub.export("photos.unhub", ur="faiss://photos.faiss"), "export has no argument ur"),
        (lambda: unhub.export("photos.unhub", to="x", strateg="augment"), "did you mean strategy"),
        (lambda: unhub.plan_export("photos.unhub", to="x", aliass="live"), "did you mean alias"),
        (lambda: unhub.connect("x", "photos.unhub", fetc=3), "did you mean fetch"),
        (lambda: unhub.refresh("photos.unhub", stor="x"), "did you mean store"),
        (lambda: unhub.rollback("photos.unhub", too="x"), "did you mean to"),
    ],
)
def test_a_mistyped_argument_is_answered_with_the_right_name(call, name):
    with pytest.raises(InputError, match=name):
        call()


def test_a_stale_export_is_a_note_of_the_result_and_one_warning_where_the_user_called(index, problem, tmp_path):
    url, file = index(problem.vectors[:700]), tmp_path / "photos.unhub"
    _fit(url, problem, file)
    place = unhub.export(file, url).record.destination
    (tmp_path / place).unlink()
    with pytest.warns(unhub.UnhubWarning, match="no longer exists; export it again") as caught:
        result = unhub.refresh(file, url)
    assert [str(each.message) for each in caught] == list(result.notes)
    assert caught[0].filename == __file__
    assert result.stale
    with unhub.connect(url, file) as retriever, pytest.raises(InputError, match="did you mean filter"):
        retriever.search(problem.queries, filtr=[1])
