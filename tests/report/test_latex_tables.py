"""LaTeX tables in the paper's layouts: of one experiment and of several, as text, and set by a real pdflatex."""

import math
import re
import shutil
import subprocess
import unicodedata
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from unhub import InputError
from unhub.dataset import Dataset
from unhub.experiments import reproduce
from unhub.experiments.result import better
from unhub.foundation import tables as rendering
from unhub.reports import result_tables
from unhub.reports.latex_cells import direction
from unhub.reports.latex_tables import LAYOUTS, latex

COUNT, DIM = 100, 24
pytestmark = pytest.mark.xdist_group("latex")  # the tables are made once
RETRIEVAL = ("query-aware", "banks", "skewness", "variants")
NASTY = r"A_b & 50% of #1 {x} ~ ^ \ <|> $2 [k] – é数据集😀"


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Made:
    """Experiment files with hubs in their data, and their tables."""

    def __init__(self, home):
        self.home = home
        rng = np.random.default_rng(5)
        common = rng.standard_normal(DIM)
        for part in ("test", "val", "train"):
            targets = rng.standard_normal((COUNT, DIM)) + rng.gamma(1, 0.7, (COUNT, 1)) * common
            asked = targets + 1.1 * rng.standard_normal((COUNT, DIM)) + 0.6 * common
            np.save(home / f"{part}_queries.npy", unit(asked))
            np.save(home / f"{part}_targets.npy", unit(targets))
        np.save(home / "classes.npy", unit(targets)[:20])
        np.save(home / "labels.npy", np.arange(COUNT) % 20)

    def tables(self, name, model, *kinds, about="", test=None, banks=("val", "train")):
        queries, targets = 'queries = "test_queries.npy"', 'targets = "test_targets.npy"'
        lines = ["[dataset]", f"name = '{name}'", f"model = '{model}'", about, "[test]"]
        lines.append(test or f"{queries}\n{targets}")
        for bank in banks:
            part = bank if bank in ("val", "train") else "val"
            lines += [f"[banks.'{bank}']", queries.replace("test", part), targets.replace("test", part)]
        path = self.home / "experiment.toml"
        path.write_text("\n".join([*lines, "[settings]", "tau = 0.1", "resamples = 20"]), encoding="utf-8")
        return {each.name: each for each in reproduce(Dataset.open(path), kinds, protocol="paper").tables}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("latex"))


@pytest.fixture(scope="module")
def every(made):
    """For each kind of table three experiments, or two: one model on two datasets, another on the first of them."""
    video, picture = 'directions = ["t2v", "v2t"]', 'directions = ["T2I"]'
    among = 'targets = "test_targets.npy"\nlabels = "labels.npy"'
    classes = 'queries = "test_queries.npy"\ntargets = "classes.npy"\nrelevant = "labels.npy"'
    itself, found = 'task = "self-retrieval"', {}
    for each in (
        made.tables("MSR-VTT", "CLIP4Clip", *RETRIEVAL, about=video),
        made.tables("Flickr30k", "CLIP4Clip", *RETRIEVAL, about=picture, banks=("val",)),
        made.tables("MSR-VTT", "X-Pool", *RETRIEVAL[:3], about=video),
        made.tables("CUB", "DINO", "A5", about=itself, test=among, banks=()),
        made.tables("SOP", "DINO", "A5", about=f'{itself}\nmetrics = ["R@1", "R@10"]', test=among, banks=()),
        made.tables("ImageNet", "ResNet-50", "A6", about='task = "classification"', test=classes, banks=()),
        made.tables("ImageNet", "zs CLIP", "A6", about='task = "classification"', test=classes, banks=()),
    ):
        for name, table in each.items():
            found.setdefault(name, []).append(table)
    # another model on the same data, and better, so that bold moves from the first to it
    found["query-aware"][2] = shifted(found["query-aware"][2], 3.0)
    return found


def shifted(table, by):
    """The table with every rate larger and every rank smaller."""

    def row(each):
        values = {w: {n: v + by * better(n) for n, v in those.items()} for w, those in each.values.items()}
        return replace(each, values=values)

    return replace(table, blocks=tuple(replace(b, rows=tuple(map(row, b.rows))) for b in table.blocks))


def cells(line):
    """The cells of a line, one for each column: a cell over several columns is followed by None."""
    found = []
    for each in re.split(r"(?<!\\)&", line.removesuffix(r"\\")):
        text = each.strip()
        wide = re.fullmatch(r"\\multicolumn\{(\d+)\}\{[lc]\}\{(.*)\}", text)
        found += [wide[2], *[None] * (int(wide[1]) - 1)] if wide else [text]
    return found


def grids(text):
    """The columns and the lines of each tabular."""
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        yield columns, [cells(line) for line in body.splitlines() if line.endswith(r"\\")]


def lines(text):
    (_, found), *others = grids(text)
    assert not others
    return found


def printed(way, name, row):
    value = row.values[way][name]
    return ("0" if not value else f"{value / 100:.5f}") if name == "sparsity" else result_tables.number(name, value)


def bare(cell):
    return re.sub(r"\\textsuperscript\{\w*\}|\\textbf\{([^}]*)\}", r"\1", cell).replace("$-$", "-")


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_line_has_every_column(every, kind, several):
    text = latex(every[kind] if several else every[kind][:1])
    for columns, found in grids(text):
        assert {len(line) for line in found} == {len(columns)}
    assert text.startswith(r"% \usepackage{booktabs,multirow")
    assert text.count("{") == text.count("}")
    for command in (r"\centering", r"\caption{", r"\label{", r"\toprule", r"\bottomrule", r"\footnotesize"):
        assert command in text


def test_datasets_stand_side_by_side_and_models_below_each_other(every):
    found = lines(latex(every["query-aware"]))
    names = ["R@1", "R@5", "R@10", r"MdR$\downarrow$", r"MnR$\downarrow$"]
    assert found[0] == [r"\multirow{3}{*}{Method}", r"\multirow{3}{*}{Norm}", "MSR-VTT", *[None] * 9, "Flickr30k",
                        *[None] * 4]  # fmt: skip
    assert [each for each in found[1] if each] == [
        r"Text$\rightarrow$Video", r"Video$\rightarrow$Text", r"Text$\rightarrow$Image"
    ]  # fmt: skip
    assert found[2] == ["", "", *names * 3]
    methods = [r"+ IS$^\dagger$", r"+ DIS$^\dagger$", r"+ SN$^\dagger$"]
    assert [line[:2] for line in found[3:]] == [
        [model, None] if at == 0 else ["", methods[at - 1]] for model in ("CLIP4Clip", "X-Pool") for at in range(4)
    ]
    assert all(line[12:] == ["-"] * 5 for line in found[7:])
    for line, row in zip(found[3:7], every["query-aware"][0].rows, strict=True):
        wanted = [printed(way, name, row) for way in ("t2v", "v2t") for name in row.values[way]]
        assert [bare(cell) for cell in line[2:12]] == wanted


def test_the_best_of_a_dataset_over_all_models_is_bold(every):
    first, other, second = every["query-aware"]
    found = lines(latex([first, other, second]))[3:]
    columns = [(way, name) for way in ("t2v", "v2t") for name in first.metrics]
    for at, (way, name) in enumerate(columns, start=2):
        values = [better(name) * row.values[way][name] for row in (*first.rows, *second.rows)]
        wanted = [value == max(values) for value in values]
        assert [line[at].startswith(r"\textbf") for line in found] == (wanted if not all(wanted) else [False] * 8)
    alone = lines(latex([other]))[3:]
    best = max(row.values["T2I"]["R@1"] for row in other.rows)
    assert [rf"\textbf{{{best:.1f}}}" in line[2] for line in alone] == [
        row.values["T2I"]["R@1"] == best for row in other.rows
    ]


def test_letters_above_name_the_rows_that_are_beaten(every):
    table = every["query-aware"][0]
    text = latex([table])
    beats = [row.tests["t2v"].beats for row in table.rows]
    assert any(beats)
    assert [re.findall(r"\\textsuperscript\{(\w+)\}", line[2]) for line in lines(text)[3:]] == [
        [each] if each else [] for each in beats
    ]
    assert "a~no correction" in text
    silent = {way: replace(each, beats="") for way, each in table.rows[0].tests.items()}
    rows = tuple(replace(row, tests=silent) for row in table.rows)
    quiet = latex([replace(table, blocks=(replace(table.blocks[0], rows=rows),))])
    assert "No row beats another of the same model and dataset at R@1 (exact McNemar" in quiet


def test_banks_are_sections_with_no_correction_once(every):
    table = every["banks"][0]
    text = latex([table])
    found = lines(text)
    head = [r"$B_q$ \& $B_t$", "Normalization", r"R@1$\uparrow$", r"R@5$\uparrow$", r"R@10$\uparrow$"]
    assert found[0] == [*head, r"MdR$\downarrow$", r"MnR$\downarrow$"]
    assert [line[0] for line in found if line[1] is None] == [
        rf"\textbf{{CLIP4Clip on MSR-VTT, {way}}}" for way in (r"Text$\rightarrow$Video", r"Video$\rightarrow$Text")
    ]
    section = [line[:2] for line in found[2:15]]
    banks = [r"val \& -", r"val \& val", r"train \& -", r"train \& train"]
    assert section[0] == ["-", "-"]
    assert [line[0] for line in section[1:]] == [
        each for bank in banks for each in (rf"\multirow{{3}}{{*}}{{{bank}}}", "", "")
    ]
    assert [line[1] for line in section[1:]] == ["+ IS", "+ DIS", "+ SN", "+ DualIS", "+ DualDIS", "+ DBSN"] * 2
    assert text.count(r"\midrule") == 2 * (2 + len(banks))
    assert r"\dagger" not in text
    rows = [table.rows[0], *(row for row in table.rows if row.method != "none")]
    for way, part in (("t2v", found[2:15]), ("v2t", found[16:])):
        for line, row in zip(part, rows, strict=True):
            assert [bare(cell) for cell in line[2:]] == [printed(way, name, row) for name in table.metrics]


def test_what_no_correction_beats_holds_for_every_bank(every):
    table = every["banks"][0]
    blocks = []
    for at, block in enumerate(table.blocks):
        beats = {way: replace(each, beats="bc"[at // 2 :]) for way, each in block.rows[0].tests.items()}
        first = replace(block.rows[0], tests=beats) if block.rows[0].method == "none" else block.rows[0]
        blocks.append(replace(block, rows=(first, *block.rows[1:])))
    text = latex([replace(table, blocks=tuple(blocks))])
    assert r"\textsuperscript{c}" in lines(text)[2][2]
    assert "Those of no correction hold for every bank." in text


def test_a_bank_that_serves_one_direction_is_in_its_section_only(every):
    table = every["banks"][0]
    blocks = list(table.blocks)
    for at in (0, 1):
        rows = tuple(replace(row, values={"t2v": row.values["t2v"]}) for row in blocks[at].rows)
        blocks[at] = replace(blocks[at], rows=rows, evaluations={"t2v": blocks[at].evaluations["t2v"]})
    found = lines(latex([replace(table, blocks=tuple(blocks))]))
    assert len(found) == 1 + 14 + 8


def test_skewness_has_methods_across_and_a_row_for_each_metric(every):
    found = lines(latex(every["skewness"]))
    methods = [r"+ IS$^\dagger$", r"+ SN$^\dagger$"]
    assert found[0] == ["", "MSR-VTT", *[None] * 5, "Flickr30k", None, None]
    assert found[1] == ["", "CLIP4Clip", *methods, "X-Pool", *methods, "CLIP4Clip", *methods]
    assert found[2] == ["", r"Text$\rightarrow$Video", *[None] * 5, r"Text$\rightarrow$Image", None, None]
    assert found[7] == ["", r"Video$\rightarrow$Text", *[None] * 5, "", None, None]
    names = ["Skewness, $k=1$", "Skewness, $k=5$", "Skewness, $k=10$", "R@1"]
    assert [line[0] for line in found[2:]] == ["", *names] * 2
    assert found[8][7:] == ["-"] * 3
    first = every["skewness"][0]
    for line, name in zip(found[3:7], first.metrics, strict=True):
        assert [bare(cell) for cell in line[1:4]] == [printed("t2v", name, row) for row in first.rows]
        assert (r"\textbf" in "".join(map(str, line))) == (name == "R@1")


def test_variants_have_the_share_of_zeros_with_five_digits(every):
    found = lines(latex(every["variants"][:1]))
    assert found[0][-1] == "sparsity"
    assert found[1][0] == r"\textbf{CLIP4Clip on MSR-VTT, Text$\rightarrow$Video}"
    assert [line[0].removesuffix(r"$^\dagger$") for line in found[2:]] == [
        "-", "IS", "SN", "OTN", "L2N", "HN", "M1N", "M5N",
    ]  # fmt: skip
    assert [line[-1] for line in found[2:5]] == ["0"] * 3
    assert all(re.fullmatch(r"0\.9\d{4}", line[-1]) for line in found[5:])


def test_self_retrieval_has_each_datasets_own_metrics(every):
    found = lines(latex(every["self-retrieval"]))
    assert found[0] == [r"\multirow{2}{*}{Method}", r"\multirow{2}{*}{Norm}", "CUB", None, None, None, "SOP", None]
    assert found[1] == ["", "", "R@1", "R@2", "R@4", "R@8", "R@1", "R@10"]
    assert len(found) == 6


def test_classification_says_accuracy(every):
    tables = every["classification"]
    text = latex(tables)
    found = lines(text)
    assert found[0] == ["Method", "Normalization", r"acc@1(\%)", r"acc@5(\%)", r"acc@10(\%)"]
    assert [line[0] for line in found[1:]] == ["ResNet-50", "", "", "", "zs CLIP", "", "", ""]
    assert "R@" not in text
    for form in (rendering.text, rendering.markdown):
        assert "acc@10" in form(result_tables.result_table(tables[0]))
        assert "R@" not in form(result_tables.result_table(tables[0]))
    assert ",R@10," in result_tables.result_csv(tables[0])


def test_what_no_page_holds_comes_in_parts(every):
    first = every["query-aware"][0]
    names = [f"Data {at}" for at in range(5)]
    text = latex([replace(first, dataset=name) for name in names])
    assert text.count(r"\begin{table*}") == 3
    assert [text.count(rf"{{{name}}}") for name in names] == [1] * 5
    assert ", part 3 of 3." in text
    assert len(set(re.findall(r"\\label\{(.*)\}", text))) == 3
    every_bank = latex([replace(every["banks"][0], model=name) for name in names])
    assert max(len(found) for _, found in grids(every_bank)) <= 40
    assert every_bank.count(" on MSR-VTT, Text") == 5
    many = replace(first, metrics=tuple(f"R@{k}" for k in range(1, 40)))
    assert r"\resizebox{\textwidth}" in latex([many])
    assert latex([many]).startswith(r"% \usepackage{booktabs,multirow,graphicx}")


def test_a_model_that_was_run_twice_comes_twice(every):
    first = every["query-aware"][0]
    found = lines(latex([first, replace(first, protocol="authors")]))
    assert [line[0] for line in found].count("CLIP4Clip") == 2


def test_no_value_is_a_dash(every):
    first = every["query-aware"][0]
    rows = tuple(replace(row, values={"t2v": {**row.values["t2v"], "R@5": math.nan}}) for row in first.rows)
    found = lines(latex([replace(first, blocks=(replace(first.blocks[0], rows=rows),))]))
    assert [line[3] for line in found[3:]] == ["-"] * 4


def test_comments_are_lines_of_their_own(every):
    table = replace(every["skewness"][0], dataset="two\nlines", notes=("what was\nsaid",))
    assert latex([table]).splitlines()[1:3] == [
        "% Skewness of the k-occurrence: two lines, CLIP4Clip (protocol: paper)", "% what was said",
    ]  # fmt: skip


def test_tables_are_of_one_kind(every):
    with pytest.raises(InputError, match="tables are of the kinds banks, skewness; give one or more, all of one kind"):
        latex([every["banks"][0], every["skewness"][0]])
    with pytest.raises(InputError, match="tables are of the kinds none; give one or more"):
        latex([])


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a2t", r"Audio$\rightarrow$Text"), ("I2T", r"Image$\rightarrow$Text"), ("q_2", r"q\_2"), ("x2t", "x2t")],
)
def test_directions_in_words(name, shown):
    assert direction(name) == shown


@pytest.fixture
def compiled(tmp_path):
    """A function that sets a document with a real pdflatex; it gives back the log and the text of the PDF."""
    lacking = [each for each in ("pdflatex", "kpsewhich", "pdftotext") if shutil.which(each) is None]
    if lacking:
        pytest.skip(f"{lacking[0]} is not installed (Debian: texlive-latex-extra, poppler-utils)")
    if subprocess.run(["kpsewhich", "multirow.sty"], capture_output=True, check=False).returncode:
        pytest.skip("LaTeX is without multirow.sty (Debian: texlive-latex-extra)")

    def run(*tables, options="a4paper,twocolumn"):
        packages = dict.fromkeys(each for text in tables for each in re.findall(r"% (\\usepackage.*)", text))
        body = "\n".join([*packages, r"\begin{document}", "A line.", *tables, r"\end{document}"])
        (tmp_path / "it.tex").write_text(rf"\documentclass[{options}]{{article}}" + "\n" + body, encoding="utf-8")
        command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "it.tex"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
        log = ended.stdout.decode("utf-8", "replace")
        assert ended.returncode == 0, log
        pages = subprocess.run(["pdftotext", "-layout", "it.pdf", "-"], cwd=tmp_path, capture_output=True, check=True)
        return log, unicodedata.normalize("NFC", pages.stdout.decode("utf-8"))

    return run


def too_wide(log):
    """By how many points boxes stick out, where a reader could see it."""
    return [float(each) for each in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log) if float(each) > 2]


def numbers(text):
    return Counter(re.findall(r"\d+\.\d+", text))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_pdflatex_sets_it_within_the_page(every, compiled, kind, several):
    text = latex(every[kind] if several else every[kind][:1])
    log, page = compiled(text)
    assert not too_wide(log)
    assert "too large" not in log
    body = "\n".join(re.findall(r"\\midrule.*?\\bottomrule", text, re.DOTALL))
    assert sum(numbers(body).values()) > 10
    assert not numbers(body) - numbers(page)
    assert every[kind][0].dataset in page


def test_pdflatex_sets_all_in_one_column_too(every, compiled):
    _, page = compiled(*(latex(every[kind]) for kind in LAYOUTS), options="a4paper")
    assert all(f"Table {at}" in page for at in range(1, 7))


@pytest.mark.parametrize("options", ["a4paper,twocolumn", "a4paper"])
def test_pdflatex_sets_any_name(made, compiled, options):
    about = f"directions = ['{NASTY}', '→ back']"
    found = made.tables(NASTY, NASTY, "query-aware", "banks", "skewness", about=about, banks=(NASTY,))
    _, page = compiled(*(latex([table]) for table in found.values()), options=options)
    # the line of a_b is drawn, not a letter
    assert "A b & 50% of #1 {x} ˜ ˆ \\ <|> $2 [k] – é[U+6570 U+636E U+96C6 U+1F600]" in " ".join(page.split())
