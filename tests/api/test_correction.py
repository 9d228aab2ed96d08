"""A Correction: searched, extended, augmented, saved and loaded, and refused where it does not belong."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import unhub
from unhub import InputError
from unhub.core.fingerprint import fingerprint, row_digests

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture
def gallery(unit_rows):
    return unit_rows(50, 24)


@pytest.fixture
def correction(gallery, unit_rows):
    ids = [f"item-{i}" for i in range(50)]
    return unhub.fit("sn", targets=gallery, query_bank=unit_rows(80, 24), target_ids=ids, strength=0.75)


def test_search_is_the_ranking_by_score_plus_strength_times_bias(correction, gallery, unit_rows):
    queries = unit_rows(9, 24)
    corrected = queries @ gallery.T + np.float32(0.75) * correction.bias
    hits = correction.search(queries, k=7)
    order = np.argsort(-corrected, axis=1, kind="stable")[:, :7]
    assert hits.rows.tolist() == order.tolist()
    assert np.allclose(hits.scores, np.take_along_axis(corrected, order, axis=1), atol=1e-6)
    assert hits.ids[0, 0] == f"item-{order[0, 0]}"
    raw = correction.search(queries, k=1, corrected=False)
    assert raw.rows[:, 0].tolist() == (queries @ gallery.T).argmax(axis=1).tolist()


def test_k_is_clipped_to_the_gallery_and_must_be_positive(correction, unit_rows):
    assert correction.search(unit_rows(2, 24), k=500).rows.shape == (2, 50)
    with pytest.raises(InputError, match="k is 0; give a whole number of at least 1"):
        correction.search(unit_rows(2, 24), k=0)


def test_augmented_vectors_give_score_plus_bias(correction, gallery, unit_rows):
    queries = unit_rows(6, 24)
    product = correction.augment_queries(queries) @ correction.augment(gallery).T
    assert np.allclose(product, queries @ gallery.T + 0.75 * correction.bias, atol=1e-6)


def test_normalised_on_the_way_means_normalised_everywhere(gallery, unit_rows):
    bank, queries = unit_rows(80, 24), unit_rows(5, 24)
    plain = unhub.fit("sn", targets=gallery, query_bank=bank, strength=1)
    scaled = unhub.fit("sn", targets=3 * gallery, query_bank=0.2 * bank, normalize=True, strength=1)
    assert np.abs(plain.bias - scaled.bias).max() < 1e-6
    assert scaled.search(7 * queries, k=5).rows.tolist() == plain.search(queries, k=5).rows.tolist()
    product = scaled.augment_queries(7 * queries) @ scaled.augment(3 * gallery).T
    assert np.allclose(product, queries @ gallery.T + plain.bias, atol=1e-5)
    assert np.allclose(scaled.extend(5 * gallery[:3]), plain.bias[:3], atol=1e-6)


@pytest.mark.parametrize("name", unhub.ADDITIVE)
def test_saved_and_loaded_it_is_the_same(name, gallery, unit_rows, tmp_path):
    fitted = unhub.fit(
        name, targets=gallery, query_bank=unit_rows(80, 24), target_bank=unit_rows(30, 24), strength=0.9,
        query_weight=np.linspace(1, 2, 80),
    )  # fmt: skip
    fitted.save(tmp_path / "a.unhub")
    loaded = unhub.load(tmp_path / "a.unhub", targets=gallery)
    new, queries = unit_rows(4, 24), unit_rows(3, 24)
    assert (loaded.bias == fitted.bias).all()
    assert loaded.settings == fitted.settings
    assert (loaded.status, loaded.iterations, loaded.marginal_error) == (
        fitted.status, fitted.iterations, fitted.marginal_error,
    )  # fmt: skip
    assert (loaded.extend(new) == fitted.extend(new)).all()
    assert loaded.search(queries, k=5).rows.tolist() == fitted.search(queries, k=5).rows.tolist()


def test_a_wrong_memory_is_not_blamed_on_the_file(tmp_path, unit_rows):
    unhub.fit("is", targets=unit_rows(5, 8), query_bank=unit_rows(9, 8), tau=0.1).save(tmp_path / "a.unhub")
    with pytest.raises(unhub.InputError, match=r"^memory is 'lots'; give a size such as '64MB'"):
        unhub.load(tmp_path / "a.unhub", memory="lots")


def test_a_gallery_from_a_file_is_found_again(gallery, unit_rows, tmp_path):
    np.save(tmp_path / "targets.npy", gallery)
    unhub.fit("is", targets=tmp_path / "targets.npy", query_bank=unit_rows(80, 24)).save(tmp_path / "a.unhub")
    assert unhub.load(tmp_path / "a.unhub").search(unit_rows(2, 24), k=3).rows.shape == (2, 3)
    np.save(tmp_path / "targets.npy", gallery[::-1])
    with pytest.raises(InputError, match=r"the gallery is not where it was .*another gallery: 50 of 50 vectors"):
        unhub.load(tmp_path / "a.unhub").search(unit_rows(2, 24), k=3)


def test_search_and_extend_tell_their_progress(correction, unit_rows):
    told = []

    def note(*told_now):
        told.append(told_now)

    correction.search(unit_rows(9, 24), k=3, progress=note)
    correction.extend(unit_rows(4, 24), progress=note)
    assert ("search", 9, 9) in told
    assert ("extend", 80, 80) in told


def test_another_gallery_is_refused_with_the_counts(correction, gallery, unit_rows):
    changed = gallery.copy()
    changed[[4, 9]] = unit_rows(2, 24)
    with pytest.raises(InputError, match=r"another gallery: 2 of 50 vectors differ \(first rows: 4, 9\)"):
        correction.search(unit_rows(1, 24), targets=changed)
    with pytest.raises(InputError, match="is of 50 targets but targets has 20"):
        correction.augment(gallery[:20])


def test_extended_keeps_what_was_there(correction, gallery, unit_rows):
    new = unit_rows(6, 24)
    grown = correction.extended(new, ids=[f"new-{i}" for i in range(6)])
    assert (grown.bias[:50] == correction.bias).all()
    assert (grown.bias[50:] == correction.extend(new)).all()
    hits = grown.search(new, k=1, targets=np.concatenate((gallery, new)))
    assert hits.ids[:, 0].tolist() == [f"new-{i}" for i in range(6)]
    with pytest.raises(InputError, match="1 ids of new_targets are in the gallery already"):
        correction.extended(new[:1], ids=["item-3"])


def test_the_file_is_plain_safetensors_with_json(correction, tmp_path):
    correction.save(tmp_path / "a.unhub")
    with safe_open(tmp_path / "a.unhub", framework="numpy") as opened:
        metadata = json.loads(opened.metadata()["unhub"])
        assert set(opened.keys()) == {"bias", "potentials", "digests", "ids", "query_bank"}
    assert metadata["schema_version"] == 2
    assert metadata["verdict"]["decision"] == "apply"
    assert metadata["verdict"]["strength"] == 0.75
    assert metadata["fingerprint"] == correction.fingerprint
    assert set(metadata["checksums"]) == {"bias", "potentials", "digests", "ids", "query_bank"}


def test_damage_is_noticed_wherever_it_is(correction, unit_rows, tmp_path):
    path = tmp_path / "a.unhub"
    correction.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    for place in rng.integers(0, len(whole), 60):
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        path.write_bytes(bytes(broken))
        try:
            loaded = unhub.load(path)
        except InputError:
            continue
        assert (loaded.bias == correction.bias).all()
    new = unit_rows(3, 24)
    for place in rng.integers(8, 2000, 300):
        broken = bytearray(whole)
        broken[place] ^= 1
        path.write_bytes(bytes(broken))
        try:
            loaded = unhub.load(path)
        except InputError:
            continue
        assert (loaded.extend(new) == correction.extend(new)).all()
        assert loaded.settings == correction.settings
    for length in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="not a whole correction file"):
            unhub.load(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*missing.unhub"):
        unhub.load(tmp_path / "missing.unhub")
    save_file({"x": np.ones(3)}, tmp_path / "other.unhub")
    with pytest.raises(InputError, match="is a safetensors file but not a correction"):
        unhub.load(tmp_path / "other.unhub")
    save_file({"x": np.ones(3)}, tmp_path / "new.unhub", metadata={"unhub": '{"schema_version": 99}'})
    with pytest.raises(InputError, match="has schema version 99, this unhub reads 1 to 2; update unhub"):
        unhub.load(tmp_path / "new.unhub")


def test_saving_over_a_file_either_replaces_it_or_leaves_it(correction, tmp_path):
    path = tmp_path / "a.unhub"
    path.write_text("precious")
    with pytest.raises(InputError, match="there is no folder"):
        correction.save(tmp_path / "nowhere" / "a.unhub")
    program = textwrap.dedent(
        f"""
        import numpy as np, os, unhub
        def half(file):
            os.ftruncate(file, os.fstat(file).st_size // 2); os._exit(9)
        os.fsync = half
        unhub.fit("is", scores=np.eye(3, dtype="f"), tau=.5).save({str(path)!r})
        """
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False).returncode == 9
    assert path.read_text() == "precious"
    correction.save(path)
    assert (unhub.load(path).bias == correction.bias).all()
    assert os.listdir(tmp_path) == ["a.unhub"]


def test_fitted_on_scores_it_says_what_it_cannot_do(unit_rows, gallery):
    bank = unit_rows(30, 24)
    correction = unhub.fit("sn", scores=bank @ gallery.T, strength=1)
    with pytest.raises(InputError, match=r"fitted on scores, so it has no vectors to search; evaluate takes scores"):
        correction.search(bank)
    with pytest.raises(InputError, match="holds no bank embeddings; pass scores"):
        correction.extend(gallery)
    with pytest.raises(InputError, match="scores has 5 rows but the bank has 30 items"):
        correction.extend(scores=np.zeros((5, 2), dtype=np.float32))
    scores = unit_rows(4, 24) @ gallery.T
    assert np.allclose(correction.apply(scores), scores + correction.bias)
    with pytest.raises(InputError, match="scores has 3 columns but this correction is of 50 targets"):
        correction.apply(scores[:, :3])


MADE_UP = {
    "a key is missing": lambda data, parts: data.pop("offset"),
    "another kind of method": lambda data, parts: data.update(method="otn", settings={}),
    "a method without a name": lambda data, parts: data.update(method="Magic!"),
    "settings are a list": lambda data, parts: data.update(settings=[1]),
    "tau was never settled": lambda data, parts: data["settings"].update(tau="auto"),
    "a number is infinite": lambda data, parts: data.update(offset=float("inf")),
    "a prior of zero": lambda data, parts: data.update(prior_mean=0),
    "an unknown status": lambda data, parts: data.update(status="fine"),
    "another number of targets": lambda data, parts: data.update(gallery=3),
    "another fingerprint": lambda data, parts: data.update(fingerprint="0" * 32),
    "no bias": lambda data, parts: parts.pop("bias"),
    "a flat bank": lambda data, parts: parts.update(query_bank=np.ones(80, dtype=np.float32)),
    "no potentials": lambda data, parts: parts.pop("potentials"),
    "a bias without a number": lambda data, parts: parts["bias"].__setitem__(0, np.nan),
    "ids that are no list": lambda data, parts: parts.update(ids=np.frombuffer(b"5", dtype=np.uint8)),
}


@pytest.mark.parametrize("case", MADE_UP)
def test_made_up_files_are_refused_in_a_sentence(case, correction, tmp_path):
    path = tmp_path / "a.unhub"
    correction.save(path)
    with safe_open(path, framework="numpy") as opened:
        data = json.loads(opened.metadata()["unhub"])
        parts = {name: opened.get_tensor(name).copy() for name in opened.keys()}  # noqa: SIM118
    MADE_UP[case](data, parts)
    data["checksums"] = {name: hashlib.sha256(part.tobytes()).hexdigest() for name, part in parts.items()}
    text = json.dumps(data)
    save_file(parts, path, metadata={"unhub": text, "unhub_sha256": hashlib.sha256(text.encode()).hexdigest()})
    with pytest.raises(InputError, match="is damaged or was not written by unhub"):
        unhub.load(path)


def test_a_method_that_is_not_here_is_named(correction, tmp_path):
    path = tmp_path / "a.unhub"
    correction.save(path)
    with safe_open(path, framework="numpy") as opened:
        data = json.loads(opened.metadata()["unhub"]) | {"method": "magic"}
        parts = {name: opened.get_tensor(name).copy() for name in opened.keys()}  # noqa: SIM118
    text = json.dumps(data)
    save_file(parts, path, metadata={"unhub": text, "unhub_sha256": hashlib.sha256(text.encode()).hexdigest()})
    with pytest.raises(InputError, match=r"a.unhub was fitted with the method 'magic', which is not here; install the"):
        unhub.load(path)


def test_files_that_cannot_be_read_say_why(correction, gallery, tmp_path):
    np.save(tmp_path / "targets.npy", gallery)
    with pytest.raises(InputError, match=r"is not a correction; give a file that unhub fit wrote"):
        unhub.load(tmp_path / "targets.npy")
    (tmp_path / "folder.unhub").mkdir()
    with pytest.raises(InputError, match="is a folder, not a file"):
        unhub.load(tmp_path / "folder.unhub")


def test_a_new_file_gets_what_the_umask_allows(correction, tmp_path):
    before = os.umask(0o022)
    try:
        correction.save(tmp_path / "a.unhub")
    finally:
        os.umask(before)
    assert (tmp_path / "a.unhub").stat().st_mode & 0o777 == 0o644


def test_the_gallery_is_known_for_all_time():
    """Digests are in saved files, so their values must never change."""
    digests = row_digests(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert digests.tolist() == [8583386106881482669, 14677287180006136219, 12112580839218705358]
    assert fingerprint(digests) == "32844468b8746f428938058438c36bc0"
