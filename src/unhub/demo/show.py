"""What the demonstration prints, and only that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from unhub.api.diagnose import Diagnosis
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.api.hits import Hits
from unhub.demo.demo_data import DemoData, Part
from unhub.foundation.types import IntArray
from unhub.methods import title_of

SHOWN_METRICS = ("R@5", "R@10", "MnR", "skew@10", "antihub@10")
LEGEND = (
    "strength: what the guard supports, for methods that are a bias. R@k: right answer in the top k, in percent. MnR: "
    "mean rank. skew@10: 0 would be fair. antihub@10: targets never in the top 10, in percent. transductive: an upper "
    "bound, learned from the test queries themselves."
)
NATS = (
    "Nats say that fresh queries agree with the correction, not how many more of them find their answer. Where recall "
    "is low, as in a language that the encoder does not know, many nats may be few points."
)


def say(console: Console, text: str) -> None:
    """A paragraph, indented by two columns."""
    console.print(Padding(text, (0, 0, 0, 2), expand=False))


def heading(console: Console, number: int, text: str) -> None:
    """A numbered step."""
    console.print()
    console.print(f"[bold]{number}. {escape(text)}[/bold]")


def introduction(console: Console, data: DemoData) -> None:
    """What the set is and where it comes from."""
    console.print(f"[bold]{escape(data.title)}[/bold]")
    for note in data.notes:
        say(console, f"[dim]{escape(note)}[/dim]")
    test = f"{len(data.test.queries):,} test queries over {len(data.test.targets):,} targets"
    other = f"{len(data.past.queries):,} other queries are the bank"
    say(console, f"{test}; {other}, and {len(data.recent):,} more, kept apart, the recent queries.")


def hubs(console: Console, part: Part, diagnosis: Diagnosis, top: IntArray, most: int = 5) -> None:
    """The worst hubs with queries that they answer wrongly."""
    say(console, diagnosis.sentence)
    table = _table("hub", ">first for", ">wrong for", "examples of wrong queries", padding=2)
    for hub in diagnosis.hubs(most, k=1):
        queries = np.flatnonzero(top[:, 0] == hub.row)
        wrong = queries[part.relevant[queries] != hub.row]
        texts = " · ".join(_short(part.query_texts[i]) for i in wrong[:4])
        table.add_row(escape(_short(part.target_labels[hub.row])), f"{hub.count}", f"{wrong.size}", escape(texts))
    console.print(table)


def results(console: Console, result: Evaluation, upper: Evaluation) -> None:
    """Every method on the test part, with intervals and the change against no correction."""
    table = _table("method", *(f">{each}" for each in ("strength", "R@1", "95% interval", "change", *SHOWN_METRICS)))
    base, best = result["none"]["R@1"], max(result[label]["R@1"] for label in result)
    for label in result:
        row = result[label]
        change = row["R@1"] - base
        colour = "green" if change > 0 else "red" if change < 0 else "dim"
        first = f"[bold]{row['R@1']:.1f}[/bold]" if row["R@1"] == best else f"{row['R@1']:.1f}"
        shown = "" if label == "none" else f"[{colour}]{change:+.1f}[/{colour}]"
        table.add_row(*_cells(title_of(row.method), _strength(row), first, shown, row))
    ceiling = upper["sn"]
    gain = f"{ceiling['R@1'] - base:+.1f}"
    table.add_row(*_cells("SN, transductive", "1", f"{ceiling['R@1']:.1f}", gain, ceiling), style="dim")
    console.print(table)
    say(console, f"[dim]{LEGEND}[/dim]")
    losing = [title_of(result[label].method) for label in result if result[label]["R@1"] < base]
    if losing:
        say(console, f"[red]Worse than no correction on this test: {', '.join(losing)}.[/red]")


def before_after(
    console: Console, texts: Sequence[str], labels: Sequence[str], raw: Hits, fixed: Hits, right: Sequence[int | None]
) -> None:
    """The first three answers with no correction and corrected, the right one marked with a tick."""
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for title in ("query", "no correction", "corrected"):
        table.add_column(title, overflow="fold")
    for i, text in enumerate(texts):
        table.add_row(escape(_short(text)), *(_answers(hits.rows[i, :3], labels, right[i]) for hits in (raw, fixed)))
        table.add_row("", "", "")
    console.print(table)


def _table(*titles: str, padding: int = 1) -> Table:
    """An empty table; a title that begins with > is over a column of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, padding))
    for title in titles:
        table.add_column(title.removeprefix(">"), justify="right" if title.startswith(">") else "left")
    return table


def _strength(row: MethodResult) -> str:
    """The strength that the guard gave; nothing for a method that is no bias."""
    if row.verdict is None or row.method == "none":
        return ""
    return f"{row.verdict.strength:.2g}" if row.verdict.served else "refused"


def _cells(name: str, strength: str, first: str, change: str, row: MethodResult) -> list[str]:
    low, high = row.intervals["R@1"]
    metrics = [f"{row[each]:.1f}" for each in SHOWN_METRICS]
    return [name, strength, first, f"{low:.1f} - {high:.1f}", change, *metrics]


def _answers(rows: IntArray, labels: Sequence[str], right: int | None) -> str:
    """One answer in each line, the right one with a tick."""
    lines = []
    for row in rows:
        text = escape(_short(labels[row]))
        lines.append(f"[green]✓ {text}[/green]" if row == right else f"  {text}")
    return "\n".join(lines)


def _short(text: str, most: int = 44) -> str:
    """The text, cut at a word where it is long."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(",.( ") + " …"
