"""Every figure, really drawn: the data on the paper, the files, and the sentences where nothing can be drawn."""

import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import scipy.stats

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib.colors import to_hex
from matplotlib.text import Text
from PIL import Image

from unhub.foundation.errors import InputError, MissingDependencyError
from unhub.methods import METHODS, title_of
from unhub.metrics import k_occurrence
from unhub.reports import figures, palette
from unhub.reports.figures import captions, style
from unhub.reports.figures.axes import count_edges
from unhub.reports.figures.hub_map import greatest, perplexity
from unhub.reports.figures.items import thumbnail
from unhub.reports.figures.radar import round_scale
from unhub.reports.figures.similarity import BARS, SHOWN
from unhub.reports.figures.sweeps import share

NAN = float("nan")
NASTY = "cost_of $x_1$ and $5 \\alpha \\textbf{50%} #1 &\n{new} ^line~"
LONG = "A very long caption about nothing at all. " * 8
TAUS = [0.005, 0.01, 0.02, 0.05]


def texts(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def said(figure):
    return "\n".join(texts(figure))


def lines_with(axes, marker):
    return [line for line in axes.get_lines() if line.get_marker() == marker and line.get_linestyle() != "None"]


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "picture.png"
    Image.fromarray(np.full((60, 120, 3), (10, 200, 30), dtype=np.uint8)).save(path)
    return path


@pytest.fixture
def matrices(unit_rows):
    queries, targets = unit_rows(80, 16), unit_rows(60, 16)
    before = queries @ targets.T
    before[:, 0] += 0.4  # a hub
    after = before - before.mean(axis=0)
    counts = [k_occurrence(np.argsort(-scores, axis=1)[:, :5], 60) for scores in (before, after)]
    return before, after, *counts


def sweep(**more):
    values = {"IS": [48.0, 52.7, NAN, 45.0], "SN": [53.0, 53.8, 50.0, 46.0]}
    return figures.tau_sweep(TAUS, values, {"SN": [[51, 55], [52, 56], [48, 52], [44, 48]]}, 48.0, **more)


def sizes(panels=figures.PANELS, methods=("IS", "SN")):
    ratios = [1 / 8, 1 / 4, 1 / 2, 1]
    curve = {name: ([1.0 + at, 2, 3, 4 + at], [0.1, 0.2, 0.1, 0.0]) for at, name in enumerate(methods)}
    return figures.bank_size(ratios, dict.fromkeys(panels, curve))


def sources(names="abcdef", **more):
    return figures.bank_source([(name, 0.3 + 0.001 * at, 20.0 - at) for at, name in enumerate(names)], **more)


def hubs(rng, **more):
    points = rng.standard_normal((30, 2))
    counts = np.r_[np.full(10, NAN), np.arange(20)]
    return points, figures.hub_map(points, ["query"] * 10 + ["target"] * 20, counts, **more)


def comparison(picture=None, query="a dog", methods=("none", "SN"), caption="a cat"):
    found = [figures.Item(caption, at == 2, picture) for at in range(5)]
    return figures.QueryResults(query, dict.fromkeys(methods, found))


def hub_with(count=20, picture=None, caption="a query"):
    asked = [figures.Item(f"{caption} {at}", at in (3, 7), picture) for at in range(count)]
    return figures.hub_queries(figures.Item("the hub", False, picture), asked, k=5, shown=6)


def test_radar_draws_each_axis_on_its_own_scale():
    axes = ["MSR-VTT", "COCO", figures.RadarAxis("skewness", larger_is_better=False)]
    figure = figures.radar(axes, {"none": [46.0, 0.1, 4.0], "SN": [54.0, 0.5, 1.0]})
    sheet = figure.axes[0]
    (none,), (sn,) = lines_with(sheet, "X"), lines_with(sheet, "^")
    assert none.get_xydata().shape == sn.get_xydata().shape == (4, 2)
    corners = sheet.patches[4].get_xy()[:3]
    centre = corners.mean(axis=0)
    far = {name: np.linalg.norm(line.get_xydata()[:3] - centre, axis=1) for name, line in (("none", none), ("SN", sn))}
    assert (far["SN"] > far["none"]).all(), "farther out is better, for the skewness too"
    radius = np.linalg.norm(corners[0] - centre)
    low, step = round_scale(np.array([46.0, 54.0]))
    assert far["SN"][0] == pytest.approx(radius * (0.2 + 0.8 * (54 - low) / (4 * step)))
    assert {"MSR-VTT", "COCO", "skewness", "none", "SN", "54"} <= set(texts(figure))


def test_radar_series_differ_in_colour_marker_and_line():
    figure = figures.radar("abcde", {f"m{at}": np.arange(5) + at for at in range(8)})
    drawn = [line for line in figure.axes[0].get_lines() if line.get_marker() != "None"]
    assert len(drawn) == 8
    assert len({line.get_color() for line in drawn}) == len({line.get_marker() for line in drawn}) == 8
    assert len({(line.get_color(), line.get_linestyle()) for line in drawn}) == 8
    assert drawn[0].get_linestyle() != drawn[1].get_linestyle()


@pytest.mark.parametrize("count", [3, 8, 9, 16])
def test_radar_labels_do_not_collide(count):
    names = [f"{name} CLIP4Clip ViT-B/32 recall" for name in np.resize(["MSR-VTT", "ActivityNet", "MSVD"], count)]
    figure = figures.radar(names, {"SN": np.arange(count) + 1.0})
    renderer = figure.canvas.get_renderer()
    labels = [t for t in figure.axes[0].texts if "CLIP" in t.get_text().replace("\n", "")]
    boxes = [label.get_window_extent(renderer) for label in labels]
    assert len(boxes) == count
    for at, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[at + 1 :])


def test_radar_has_a_gap_for_a_missing_value_and_survives_equal_ones():
    figure = figures.radar("abc", {"one": [1, NAN, 3], "two": [1, 1, 1]})
    (line,) = lines_with(figure.axes[0], "o")
    assert np.isnan(line.get_xydata()[:, 0]).tolist() == [False, True, False, False]
    assert len([p for p in figure.axes[0].patches if p.get_alpha()]) == 1, "a polygon with a gap is not filled"


@pytest.mark.parametrize(
    "values", [[46.0, 53.8], [1.0, 1.0], [0.0, 0.0], [-0.001, -0.001], [-3.0, 900.0], [0.31, 0.32]]
)
def test_a_scale_is_round_and_holds_its_values(values):
    low, step = round_scale(np.array(values))
    assert low <= min(values) <= max(values) <= low + 4 * step * (1 + 1e-9)
    assert float(f"{step:.2g}") == pytest.approx(step)
    if values[0] == values[1]:
        assert low < values[0] < low + 4 * step, "a value that all share stands inside its scale"


def test_similarity_shares_colours_and_counts_every_target(matrices):
    figure = figures.similarity(*matrices, ("none", "mean"), k=5)
    first, second, left, right, _ = figure.axes
    images = [axes.get_images()[0] for axes in (first, second)]
    np.testing.assert_array_equal(images[0].get_array(), matrices[0].astype(float))
    assert images[0].get_clim() == images[1].get_clim()
    for axes, counts in ((left, matrices[2]), (right, matrices[3])):
        assert sum(bar.get_height() for bar in axes.patches) == 60
        edges = count_edges(int(max(matrices[2].max(), matrices[3].max())), BARS)
        assert axes.patches[0].get_height() == np.histogram(counts, edges)[0][0]
        assert axes.get_yscale() == "log"
        assert axes.get_title() == "k-occurrence, k = 5"
        assert f"skewness {scipy.stats.skew(counts):.2f}" in said(figure)
    assert left.get_ylim() == right.get_ylim()
    assert "$" not in said(figure)


def test_a_large_matrix_is_sampled_and_its_diagonal_stays():
    large = np.eye(1000)
    figure = figures.similarity(large, large, np.ones(1000), np.ones(1000), ("a", "b"))
    shown = figure.axes[0].get_images()[0].get_array()
    assert shown.shape == (SHOWN, SHOWN)
    assert np.trace(shown) == SHOWN


@pytest.mark.parametrize("most", [0, 1, 29, 30, 31, 1000])
def test_bins_are_whole_and_hold_all(most):
    edges = count_edges(most, BARS)
    assert len(edges) - 1 <= 31
    assert np.histogram([0, most], edges)[0].sum() == 2
    assert np.allclose(np.diff(edges) % 1, 0)


def test_tau_sweep_draws_lines_bands_baseline_and_the_best():
    figure = sweep()
    axes = figure.axes[0]
    (inverted,), (sinkhorn,) = lines_with(axes, "s"), lines_with(axes, "^")
    np.testing.assert_array_equal(inverted.get_xdata(), TAUS)
    np.testing.assert_array_equal(sinkhorn.get_ydata(), [53.0, 53.8, 50.0, 46.0])
    rings = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    assert [(ring.get_xdata()[0], ring.get_ydata()[0]) for ring in rings] == [(0.01, 52.7), (0.01, 53.8)]
    (band,) = axes.collections
    assert band.get_paths()[0].vertices[:, 1].max() == 56
    assert list(axes.get_lines()[-1].get_ydata()) == [48.0, 48.0]
    assert {"IS: best 52.7 at τ = 0.01", "SN: best 53.8 at τ = 0.01", "no correction: 48.0"} <= set(texts(figure))
    assert axes.get_xscale() == "log"


def test_tau_sweep_sorts_and_knows_which_end_is_better():
    figure = figures.tau_sweep([0.1, 0.01], {"SN": [3.0, 1.0]}, metric="skew@1", larger_is_better=False)
    axes = figure.axes[0]
    assert list(lines_with(axes, "^")[0].get_ydata()) == [1.0, 3.0]
    assert "SN: best 1.000 at τ = 0.01" in texts(figure)
    assert axes.get_ylabel() == "skew@1"


def test_bank_size_has_four_panels_on_one_scale():
    figure = sizes()
    assert [axes.get_title() for axes in figure.axes] == list(figures.PANELS)
    for axes in figure.axes:
        np.testing.assert_array_equal(lines_with(axes, "^")[0].get_ydata(), [2, 2, 3, 5])
        assert axes.get_xscale() == "log"
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1/8", "1/4", "1/2", "1"]
        assert axes.collections[0].get_paths()[0].vertices[:, 1].max() == pytest.approx(4.0)
    assert texts(figure).count("IS") == 1, "one key for all panels"
    assert figure.get_figwidth() == figures.PAGE


def test_a_share_is_a_fraction_or_a_number():
    assert [share(value) for value in (1 / 64, 0.2, 0.37, 1.0, 2.0)] == ["1/64", "1/5", "0.37", "1", "2"]


def test_spearman_is_scipys_and_its_interval_holds_it(rng):
    x = rng.integers(0, 6, 25).astype(float)
    y = x + rng.standard_normal(25)
    found = figures.spearman(x, y, seed=3)
    assert found.rho == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert -1 <= found.low < found.rho < found.high <= 1
    assert found == figures.spearman(x, y, seed=3)
    assert found.low != figures.spearman(x, y, seed=4).low
    assert figures.spearman([*x, 1.0], [*y, NAN], seed=3).pairs == 25


def test_spearman_of_something_constant_is_nan():
    assert np.isnan(figures.spearman([1, 1, 1], [1, 2, 3]).rho)


def test_bank_source_draws_points_and_says_the_correlation():
    figure = sources(baseline=15.0)
    axes = figure.axes[0]
    assert len(axes.get_lines()[0].get_xdata()) == 6
    assert list(axes.get_lines()[0].get_ydata()) == [20, 19, 18, 17, 16, 15]
    assert axes.get_title() == "Spearman's ρ = −1.00 (6 banks)\n95% bootstrap interval [−1.00, −1.00]"
    assert "no correction: 15.0" in texts(figure)


def test_bank_labels_do_not_overlap_each_other():
    figure = sources([f"bank number {at}" for at in range(9)])
    boxes = [note.get_window_extent(figure.canvas.get_renderer()) for note in figure.axes[0].texts]
    assert len(boxes) == 9
    frame = figure.axes[0].get_window_extent()
    assert all(frame.x0 < box.x0 < box.x1 < frame.x1 and frame.y0 < box.y0 < box.y1 < frame.y1 for box in boxes)
    assert not any(one.overlaps(two) for at, one in enumerate(boxes) for two in boxes[at + 1 :])


def test_a_bank_without_a_value_is_left_out():
    figure = figures.bank_source([("a", 1, 1), ("b", 2, 2), ("c", 3, 3), ("gone", NAN, 4)])
    assert "gone" not in texts(figure)
    assert "(3 banks)" in figure.axes[0].get_title()


def test_hub_map_draws_kinds_apart_and_labels_the_greatest(rng):
    points, figure = hubs(rng, names=[f"t{at}" for at in range(30)], hubs=3)
    drawn = [collection for collection in figure.axes[0].collections if len(collection.get_offsets())]
    assert [len(collection.get_offsets()) for collection in drawn] == [10, 17, 3]
    assert [to_hex(collection.get_facecolor()[0]).upper() for collection in drawn] == [
        palette.BLUE,
        palette.VERMILION,
        palette.VERMILION,
    ]
    np.testing.assert_allclose(drawn[2].get_offsets(), points[27:])
    assert drawn[2].get_sizes().min() > 3 * drawn[1].get_sizes().max()
    assert [note.get_text() for note in figure.axes[0].texts] == ["t29 (19)", "t28 (18)", "t27 (17)"]
    assert {"query (10)", "target (20)"} <= set(texts(figure))


def test_no_hub_is_a_point_that_is_never_retrieved():
    assert greatest(np.zeros(4), 2).size == 0
    assert figures.hub_map(np.zeros((3, 2)), "qqt", [0, 0, 0]).axes[0].texts[:] == []


def test_projection_keeps_neighbours_and_repeats_itself(unit_rows):
    here, there = unit_rows(1, 60), unit_rows(1, 60)
    vectors = np.vstack([here + 0.01 * unit_rows(12, 60), there + 0.01 * unit_rows(12, 60)])
    places = figures.project(vectors, seed=1)
    assert places.shape == (24, 2)
    middles = places[:12].mean(axis=0), places[12:].mean(axis=0)
    near = np.linalg.norm(places - middles[0], axis=1) < np.linalg.norm(places - middles[1], axis=1)
    assert near.tolist() == [True] * 12 + [False] * 12
    np.testing.assert_array_equal(places, figures.project(vectors, seed=1))


def test_small_sets_have_small_neighbourhoods(unit_rows):
    assert perplexity(4) < 4
    assert np.isfinite(figures.project(unit_rows(4, 8))).all()


def test_umap_is_asked_for_by_its_name(unit_rows, monkeypatch):
    monkeypatch.setattr(sys.modules["unhub.reports.figures.hub_map"], "installed", lambda module: False)
    with pytest.raises(MissingDependencyError, match="pip install umap-learn, or choose method 'tsne'"):
        figures.project(unit_rows(9, 4), method="umap")
    with pytest.raises(InputError, match="method is 'pca'; choose one of tsne, umap"):
        figures.project(unit_rows(9, 4), method="pca")


def test_top5_marks_right_and_wrong_by_sign_and_colour(picture):
    figure = figures.top5([comparison(picture), comparison(picture, "two cats")])
    sheet = figure.axes[0]
    assert len(sheet.get_images()) == 20
    assert texts(figure).count("\N{CHECK MARK}") == 4
    assert texts(figure).count("\N{BALLOT X}") == 16
    frames = [patch for patch in sheet.patches if not patch.get_fill()]
    right = [patch for patch in frames if to_hex(patch.get_edgecolor()).upper() == palette.GREEN]
    wrong = [patch for patch in frames if to_hex(patch.get_edgecolor()).upper() == palette.VERMILION]
    assert (len(right), len(wrong)) == (4, 16)
    assert {str(patch.get_linestyle()) for patch in right}.isdisjoint(str(patch.get_linestyle()) for patch in wrong)
    assert {"Query: a dog", "Query: two cats", "none", "SN"} <= set(texts(figure))
    left, right_edge, bottom, top = sheet.get_images()[0].get_extent()
    assert (right_edge - left) / (bottom - top) == pytest.approx(2.0), "the picture keeps its shape"


def test_top5_shows_texts_in_boxes_and_cuts_what_is_more_than_five():
    more = figures.QueryResults("q", {"SN": [figures.Item(f"text {at}", False) for at in range(9)], "none": []})
    figure = figures.top5([more])
    assert {f"text {at}" for at in range(5)} <= set(texts(figure))
    assert "text 5" not in texts(figure)
    assert "no results" in texts(figure)
    assert not figure.axes[0].get_images()


def test_text_stays_in_its_box():
    figure = figures.top5([comparison(caption=LONG, methods=("SN",))])
    renderer = figure.canvas.get_renderer()
    frames = [p.get_window_extent(renderer) for p in figure.axes[0].patches if not p.get_fill()]
    boxes = [t.get_window_extent(renderer) for t in figure.axes[0].texts if "caption" in t.get_text()]
    assert len(boxes) == len(frames) == 5
    for box, edge in zip(boxes, frames, strict=True):
        assert edge.x0 < box.x0 < box.x1 < edge.x1
        assert edge.y0 < box.y0 < box.y1 < edge.y1


def test_hub_queries_puts_the_truth_first_in_green():
    figure = hub_with()
    assert "In the top 5 of 20 queries, right for 2 (10%)" in texts(figure)
    assert "and 14 queries more, right for 0" in texts(figure)
    rows = [t for t in figure.axes[0].texts if t.get_text().startswith("a query")]
    assert [row.get_text() for row in rows] == [f"a query {at}" for at in (3, 7, 0, 1, 2, 4)]
    assert [row.get_color() == palette.GREEN for row in rows] == [True, True, False, False, False, False]
    assert texts(figure).count("\N{CHECK MARK}") == 2
    assert texts(figure).count("\N{BALLOT X}") == 4


def test_hub_queries_with_pictures(picture):
    assert len(hub_with(picture=picture).axes[0].get_images()) == 7


def test_pictures_are_upright_on_white_and_small(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGBA", (400, 200), (0, 0, 0, 0)).save(path)
    assert thumbnail(path, 50).shape == (25, 50, 3)
    assert (thumbnail(path, 50) == 255).all()
    exif = Image.Exif()
    exif[0x0112] = 6  # turned
    Image.new("RGB", (40, 20)).save(tmp_path / "b.jpg", exif=exif)
    assert thumbnail(tmp_path / "b.jpg", 100).shape == (40, 20, 3)


def every_figure(rng, matrices, picture):
    return {
        "radar": figures.radar("abcd", {"SN": [1, 2, 3, 4]}),
        "similarity": figures.similarity(*matrices, ("a", "b")),
        "tau": sweep(),
        "size": sizes(),
        "source": sources(baseline=15.0),
        "map": hubs(rng)[1],
        "top5": figures.top5([comparison(picture)]),
        "hub": hub_with(picture=picture),
    }


RASTER = {"similarity", "top5", "hub"}
AGAIN = {"similarity", "map"}  # one with a colour bar to lay out, one with labels


def test_files_are_vector_sharp_and_the_same_every_time(rng, matrices, picture, tmp_path):
    drawn = every_figure(rng, matrices, picture)
    for name, figure in drawn.items():
        pdf, png = figures.save(figure, tmp_path / name)
        assert (pdf, png) == (tmp_path / f"{name}.pdf", tmp_path / f"{name}.png")
        content = pdf.read_bytes()
        assert content.startswith(b"%PDF-")
        assert content.rstrip().endswith(b"%%EOF")
        assert b"/FontFile2" in content, "fonts are embedded as type 42"
        assert b"/Type3" not in content
        assert b"CreationDate" not in content
        assert (b"/Subtype /Image" in content) == (name in RASTER)
        with Image.open(png) as image:
            width, height = figure.get_size_inches()
            assert image.size == (int(width * 200), int(height * 200))
            assert np.asarray(image.convert("L")).std() > 5, "something is drawn"
        if name in AGAIN:
            again = figures.save(figure, tmp_path / "again")
            assert [path.read_bytes() for path in again] == [content, png.read_bytes()]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_bytes_are_the_same_in_another_process(tmp_path):
    program = (
        "import sys; from unhub.reports import figures; "
        "figures.save(figures.radar('abc', {'SN': [1, 2, 3], 'IS': [3, 2, 1]}), sys.argv[1]); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PATH": ""}
        subprocess.run([sys.executable, "-c", program, tmp_path / seed], check=True, env=environment)
    for ending in (".pdf", ".png"):
        assert (tmp_path / f"1{ending}").read_bytes() == (tmp_path / f"2{ending}").read_bytes()


def test_naming_the_figures_loads_nothing_heavy():
    program = (
        "import sys; import unhub.reports.figures; print({'matplotlib', 'PIL', 'sklearn', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_settings_of_the_process_do_not_matter_and_are_left_alone(tmp_path):
    plain = [path.read_bytes() for path in figures.save(sweep(), tmp_path / "plain")]
    strange = {"text.usetex": True, "font.size": 30.0, "axes.facecolor": "black", "savefig.bbox": "tight"}
    with matplotlib.rc_context(strange):
        before = dict(matplotlib.rcParams)
        assert [path.read_bytes() for path in figures.save(sweep(), tmp_path / "strange")] == plain
        assert dict(matplotlib.rcParams) == before


def test_threads_draw_the_same(tmp_path):
    wanted = figures.save(sweep(), tmp_path / "alone")[1].read_bytes()
    failed = []

    def draw(number):
        if figures.save(sweep(), tmp_path / f"thread{number}")[1].read_bytes() != wanted:
            failed.append(number)

    threads = [threading.Thread(target=draw, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(list(tmp_path.glob("thread*.png"))) == 2


@pytest.mark.parametrize(
    "text", [f"_{NASTY}", LONG, "\x00\x1b[31m \ud800", ""], ids=["marks", "long", "controls", "empty"]
)
def test_any_caption_can_be_drawn(text, picture, rng, matrices, tmp_path):
    drawn = [
        figures.radar([text + "1", text + "2", text + "3"], {text: [1, 2, 3]}),
        figures.tau_sweep(TAUS, {text: [1, 2, 3, 4]}, metric=text),
        sizes(panels=(text,), methods=(text,)),
        sources([text, text, text, text]),
        hubs(rng, names=[text] * 30)[1],
        figures.similarity(*matrices, (text, text)),
        figures.top5([comparison(None, text, (text, "b"), text), comparison(picture, text, (text, "b"), text)]),
        hub_with(caption=text),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph would warn here
        with style.look():
            for figure in drawn:
                figure.canvas.draw()
        figures.save(drawn[-2], tmp_path / "any")
    if "$" in text:
        flat = [said(figure).replace("\n", " ") for figure in drawn]
        assert "_cost_of $x_1$ and $5 \\alpha \\textbf{50%} #1 & {new} ^line~" in flat[2], (
            "in a key, underscore and all"
        )
        assert "Query: _cost_of $x_1$ and $5 \\alpha \\textbf{50%} #1 & {new} ^line~" in flat[6]
        assert not any(t.get_parse_math() for figure in drawn for t in figure.findobj(Text) if "$" in t.get_text())
    if text == LONG:
        assert all(len(row) < 150 for figure in drawn for row in said(figure).split("\n") if "caption" in row)


def test_letters_of_the_world(tmp_path):
    text = "熊猫 مرحبا بالعالم 😀 👩\u200d🚀 नमस्ते"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = figures.top5([comparison(None, text, ("SN",), text)])
        figures.save(figure, tmp_path / "world")
    assert "مرحبا" in said(figure)


def test_a_letter_that_no_font_has_is_a_square_and_a_note():
    with style.look() as letters:
        assert captions.plain("a\ue123b\U000e0041") == "a□b"
    assert letters == {"\ue123"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure, other = (figures.top5([comparison(None, text, ("SN",), text)]) for text in ("a\ue123b", "a"))
    (note,) = figures.notes(figure)
    assert note.startswith("no installed font has 1 of the letters of a figure (U+E123); they are drawn as □")
    assert figures.notes(other) == ()


def test_a_method_looks_the_same_in_every_figure_and_on_the_page():
    alone, among = palette.series_styles(["SN"]), palette.series_styles(["none", "IS", "SN (transductive)", "other"])
    assert alone[0] is among[2]
    assert len({style.colour for style in among}) == len({style.page_colour for style in among}) == 4
    assert palette.with_variables(f"stroke: {alone[0].page_colour}") == "stroke: var(--green)"
    for theme in (palette.LIGHT, palette.DARK, palette.PRINT):
        assert {style.variable for style in palette.SERIES} <= set(theme)
        assert len({theme[style.variable] for style in palette.SERIES}) == len(palette.SERIES)
    sheet = palette.stylesheet("tokens.css")
    assert sheet.count("--blue:") == 4
    for name in METHODS:
        (mine,) = palette.series_styles([title_of(name)])
        assert palette.series_styles(["IS", f"{title_of(name)} as saved", "other"])[1] is mine
        assert (
            f"--method-{re.sub('[^a-z0-9]+', '-', title_of(name).lower()).strip('-')}: var(--{mine.variable});" in sheet
        )
    assert len({palette.METHOD_STYLES[name] for name in ("none", "is", "dis", "dualis", "dualdis", "sn", "dbsn")}) == 7


def test_no_correction_and_a_method_keep_their_colours_in_the_similarity_figure(matrices):
    _, _, *bars, _ = figures.similarity(*matrices, ("no correction", "SN"), k=5).axes
    drawn = [to_hex(axes.patches[0].get_facecolor()).upper() for axes in bars]
    assert drawn == [palette.METHOD_STYLES[name].colour for name in ("none", "sn")]


def test_the_style_sheet_has_its_scale():
    sheet = palette.stylesheet("tokens.css")
    assert "--small:" in sheet


def test_fitted_text_fits_and_loses_nothing_before_the_cut():
    wrapped = captions.fitted(LONG, 1.0, 8, lines=4)
    assert wrapped.count("\n") == 3
    assert wrapped.endswith("…")
    assert captions.extent(wrapped, 8)[0] <= 1.0
    assert LONG.startswith(wrapped[:-1].replace("\n", " "))
    assert captions.fitted("W" * 40, 0.5, 8, lines=99).replace("\n", "") == "W" * 40
    assert captions.fitted("short", 3.0) == "short"


SCORES = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: figures.radar(["a", "b"], {"SN": [1, 2]}), "axes has 2 entries; a radar can be read with 3 to 16"),
        (lambda: figures.radar("abc", {}), "series is empty; give at least one series to draw"),
        (lambda: figures.radar("abc", {"SN": [1, 2]}), r"series 'SN' has shape \(2,\) but \(3,\) was expected"),
        (lambda: figures.radar("abc", {"SN": [1, NAN, 2]}), "axis 'b' has no value in any series"),
        (lambda: figures.radar("abc", {"SN": [1, float("inf"), 2]}), "series 'SN' holds an infinite value"),
        (lambda: figures.radar("abc", {"SN": "xyz"}), "series 'SN' holds something that is not a number"),
        (lambda: figures.similarity(SCORES, SCORES.T, [], [], ("", "")), "give two matrices"),
        (lambda: figures.similarity(SCORES, SCORES, [1], [1], ("", "")), r"counts_before has shape \(1,\)"),
        (lambda: figures.similarity(SCORES, SCORES, [1, NAN, 2], [1, 1, 1], ("", "")), "counts_before holds a value"),
        (lambda: figures.similarity(SCORES * NAN, SCORES * NAN, [1] * 3, [1] * 3, ("", "")), "only missing values"),
        (lambda: figures.tau_sweep([], {}), r"taus has shape \(0,\); give a list of at least one number"),
        (lambda: figures.tau_sweep([0.0], {"SN": [1]}), "taus holds a value that is not above zero"),
        (lambda: figures.tau_sweep([0.1], {}), "values is empty; give at least one method"),
        (lambda: figures.tau_sweep([0.1], {"SN": [NAN]}), r"values has only missing values \(NaN\)"),
        (lambda: figures.tau_sweep([0.1], {"SN": [1]}, {"IS": [[1, 2]]}), "intervals has 'IS', which values does not"),
        (lambda: figures.bank_size([1], {}), "panels is empty; give at least one panel"),
        (lambda: figures.bank_size([1], {title: {} for title in "abcde"}), "at most 4 can be read side by side"),
        (lambda: figures.bank_size([1], {"R@1": {"SN": ([1],)}}), "'R@1' of 'SN' has 1 entries; give the mean and"),
        (lambda: figures.bank_source([]), "points is empty; give at least one bank"),
        (lambda: figures.bank_source([("a", 1, 2), ("b", 1, 2)]), "needs at least 3 pairs of numbers, but there are 2"),
        (lambda: figures.hub_map([], [], []), r"points has shape \(0,\); give at least one point"),
        (lambda: figures.hub_map([[0, 0]], [], [1]), "kinds has 0 entries but there are 1 points"),
        (lambda: figures.hub_map([[0, NAN]], "q", [1]), "points holds a place that is missing"),
        (lambda: figures.project(np.ones((3, 4))), r"vectors has shape \(3, 4\); give at least 4 rows"),
        (lambda: figures.project(np.zeros((5, 4))), "vectors has a row that is zero or not finite"),
        (lambda: figures.top5([]), "items is empty; give at least one query"),
        (lambda: figures.top5([comparison(), comparison(methods=("x",))]), "give every query the same methods"),
        (lambda: figures.top5([comparison("nowhere.png")]), "cannot read the picture 'nowhere.png'"),
        (lambda: figures.top5([comparison(__file__)]), "cannot read the picture .*give the path of a picture, or none"),
        (lambda: hub_with(count=0), "queries is empty; give at least one query"),
        (lambda: figures.save(sizes(), "/nowhere/at/all"), "there is no folder /nowhere/at; make it first"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said_in_a_sentence(draw, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        draw()
    assert "\n" not in str(caught.value)


def test_a_single_method_and_a_single_point():
    figure = figures.tau_sweep([0.01], {"SN": [50.0]})
    assert "SN: best 50.0 at τ = 0.01" in texts(figure)
    assert len(sizes(methods=("SN",)).axes) == 4
    assert figures.bank_size([1.0], {"R@1": {"SN": ([1.0], [NAN])}}).axes[0].get_title() == "R@1"


def test_real_scores(shared_data):
    """MSR-VTT: the corrected matrix is drawn with the hubness that the metrics measure."""
    import unhub

    scores = np.load(shared_data("msrvtt_1ka/msrvtt_video_matrix.npy"))
    after = scores + unhub.fit("sn", scores=scores, tau=0.01).bias
    counts = [k_occurrence(np.argsort(-s, axis=1, kind="stable")[:, :10], 1000) for s in (scores, after)]
    figure = figures.similarity(scores, after, *counts, ("none", "SN"), k=10)
    assert "skewness 0.72" in said(figure)
    assert "skewness 1.03" in said(figure)
