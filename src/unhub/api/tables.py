"""An Evaluation as text: plain, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from unhub.api.latex_text import escape
from unhub.metrics import metric

if TYPE_CHECKING:
    from unhub.api.evaluation import Evaluation, MethodResult

TRANSDUCTIVE = "transductive"
PLANS = ("otn", "l2n", "hn", "sparse_k")


def both(result: Evaluation, form: Callable[[Evaluation], str]) -> str:
    """The table of one direction, or of both under their headings."""
    if result.reverse is None:
        return form(result)
    return f"{form(result)}\n\n{form(result.reverse)}"


def header(result: Evaluation) -> list[str]:
    """Column titles: method, bank, then the metrics."""
    return ["method", "bank", *result.metrics]


def cells(result: Evaluation, row: MethodResult) -> list[str]:
    """One row of text: the label, where its knowledge came from, and the metrics."""
    return [row.label, bank_word(row), *(value_text(row, name) for name in result.metrics)]


def bank_word(row: MethodResult) -> str:
    """ "transductive" when the test queries were the bank, "bank" when others were, "-" when none was needed."""
    if row.method == "none":
        return "-"
    return TRANSDUCTIVE if row.transductive else "bank"


def value_text(row: MethodResult, name: str) -> str:
    """A number with as many digits as it deserves."""
    value = row.values[name]
    return f"{value:.1f}" if metric(name).percent or name in ("MdR", "MnR") else f"{value:.2f}"


def caption(result: Evaluation) -> str:
    """One line that says what was asked of what."""
    s = result.settings
    line = f"{s['queries']:,} queries, {s['gallery']:,} targets"
    line += f", bank of {s['bank']:,} queries" if s["bank"] else ""
    line += f" and {s['target_bank']:,} targets" if s["target_bank"] else ""
    line += f", {s['direction']}" if s["direction"] != "forward" else ""
    line += ", targets grouped by their query (largest score)" if s["group_targets"] else ""
    line += ", self-pairs left out" if s["ignore_self"] else ""
    return line


def notes(result: Evaluation) -> list[str]:
    """What a reader must know beside the numbers."""
    said = []
    if result.transductive:
        shared = result.settings["test_queries_in_bank"]
        who = f"{shared:,} test queries are also in" if shared else "the test queries themselves are"
        said.append(f"transductive: {who} the bank; no deployed system has them in advance")
    first = next(iter(result.rows.values()))
    if "R@1" in first.intervals:
        widths = (row.intervals["R@1"] for row in result.rows.values())
        half = max((high - low) / 2 for low, high in widths)
        said.append(f"95 % intervals of R@1 reach up to {half:.1f} points to either side (clustered bootstrap)")
    plans = [row.label for row in result.rows.values() if row.method in PLANS]
    if plans:
        said.append(
            f"{', '.join(plans)}: most of a plan is zero; what it leaves out is tied (ties: {result.settings['ties']})"
        )
    said += [f"{name}: {why}" for name, why in result.skipped.items()]
    return said


def plain(result: Evaluation) -> str:
    """Aligned columns."""
    lines = [header(result), *(cells(result, row) for row in result.rows.values())]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [_aligned(line, widths) for line in lines]
    rule = "-" * len(text[0])
    return "\n".join([caption(result), text[0], rule, *text[1:], *(f"  {note}" for note in notes(result))])


def markdown(result: Evaluation) -> str:
    """A Markdown table, the best value of each column bold."""
    best = best_rows(result)
    lines = [header(result), ["---", "---", *("---:" for _ in result.metrics)]]
    for label, row in result.rows.items():
        texts = cells(result, row)
        numbers = [
            f"**{text}**" if label in best[name] else text for text, name in zip(texts[2:], result.metrics, strict=True)
        ]
        lines.append([*texts[:2], *numbers])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([f"{caption(result)}", "", table, "", *(f"*{note}*  " for note in notes(result))]).rstrip()


def latex(result: Evaluation) -> str:
    """A booktabs table, the best value of each column bold."""
    best = best_rows(result)
    lines = [r"\begin{tabular}{ll" + "r" * len(result.metrics) + "}", r"\toprule"]
    lines.append(" & ".join(escape(title) for title in header(result)) + r" \\")
    lines.append(r"\midrule")
    for label, row in result.rows.items():
        texts = [escape(text) for text in cells(result, row)]
        for at, name in enumerate(result.metrics, start=2):
            if label in best[name]:
                texts[at] = rf"\textbf{{{texts[at]}}}"
        lines.append(" & ".join(texts) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    said = [f"% {note}" for note in (caption(result), *notes(result))]
    return "\n".join([*said, *lines])


def csv_lines(result: Evaluation) -> str:
    """CSV: direction, method, bank, every metric and its interval where it has one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    ends = [name for name in result.metrics if name in next(iter(result.rows.values())).intervals]
    titles = [f"{name} {end}" for name in ends for end in ("low", "high")]
    writer.writerow(["direction", "method", "bank", *result.metrics, *titles])
    for one in (result, result.reverse):
        for row in one.rows.values() if one is not None else ():
            direction = one.settings["direction"] if one is not None else ""
            intervals = [end for name in ends for end in row.intervals[name]]
            numbers = [row.values[name] for name in result.metrics]
            writer.writerow([direction, row.label, bank_word(row), *numbers, *intervals])
    return out.getvalue()


def best_rows(result: Evaluation) -> dict[str, set[str]]:
    """The methods with the best printed value of each metric; none where no end of the scale is the better one."""
    best: dict[str, set[str]] = {}
    for name in result.metrics:
        larger = metric(name).larger_is_better
        shown = {label: float(value_text(row, name)) for label, row in result.rows.items()}
        if larger is None or len(set(shown.values())) == 1:
            best[name] = set()
            continue
        top = max(shown.values()) if larger else min(shown.values())
        best[name] = {label for label, value in shown.items() if value == top}
    return best


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    left = [text.ljust(width) for text, width in zip(line[:2], widths[:2], strict=True)]
    right = [text.rjust(width) for text, width in zip(line[2:], widths[2:], strict=True)]
    return "  ".join([*left, *right]).rstrip()
