"""What the demonstration prints, and only that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from unhub.api.diagnose import Diagnosis
from unhub.api.evaluation import Evaluation
from unhub.api.hits import Hits
from unhub.demo.choice import Choice
from unhub.demo.demo_data import DemoData, Part
from unhub.foundation.types import IntArray

SHOWN_METRICS = ("R@5", "R@10", "MnR", "skew@10", "antihub@10")


def say(console: Console, text: str) -> None:
    """A paragraph, set in by two columns, also where it wraps."""
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
    say(
        console,
        f"{len(data.test.queries):,} test queries over {len(data.test.targets):,} targets; "
        f"{len(data.dev.queries):,} dev queries to choose on; {len(data.bank.queries):,} bank queries to learn from.",
    )


def hubs(console: Console, part: Part, diagnosis: Diagnosis, top: IntArray, most: int = 5) -> None:
    """The worst hubs with queries that hit them wrongly."""
    say(console, diagnosis.sentence)
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for title in ("hub", "first place", "of these wrong", "for instance, it answered"):
        table.add_column(title, justify="left" if title[0] in "hf" and "place" not in title else "right")
    table.columns[-1].justify = "left"
    for hub in diagnosis.hubs(most, k=1):
        asked = np.flatnonzero(top[:, 0] == hub.row)
        wrong = asked[part.relevant[asked] != hub.row]
        texts = " · ".join(_short(part.query_texts[i]) for i in wrong[:4])
        table.add_row(escape(_short(part.target_labels[hub.row])), f"{hub.count}x", f"{wrong.size}x", escape(texts))
    console.print(table)


def results(console: Console, result: Evaluation, choices: Mapping[str, Choice], upper: Evaluation) -> None:
    """Every method on the test part, with intervals and the change against doing nothing."""
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("method")
    for title in ("tau", "R@1", "95% interval", "change", *SHOWN_METRICS):
        table.add_column(title, justify="right")
    base = result["none"]["R@1"]
    best = max(result[label]["R@1"] for label in result)
    for label in result:
        row = result[label]
        choice = choices.get(row.method)
        tau = "" if choice is None or choice.tau is None else f"{choice.tau:g}"
        low, high = row.intervals["R@1"]
        change = row["R@1"] - base
        colour = "green" if change > 0 else "red" if change < 0 else "dim"
        first = f"[bold]{row['R@1']:.1f}[/bold]" if row["R@1"] == best else f"{row['R@1']:.1f}"
        table.add_row(
            row.method,
            tau,
            first,
            f"{low:.1f} - {high:.1f}",
            "" if label == "none" else f"[{colour}]{change:+.1f}[/{colour}]",
            *(f"{row[name]:.1f}" for name in SHOWN_METRICS),
        )
    ceiling = upper["sn"]
    table.add_row(
        "sn, transductive",
        f"{ceiling.settings['tau']:g}",
        f"{ceiling['R@1']:.1f}",
        f"{ceiling.intervals['R@1'][0]:.1f} - {ceiling.intervals['R@1'][1]:.1f}",
        f"{ceiling['R@1'] - base:+.1f}",
        *(f"{ceiling[name]:.1f}" for name in SHOWN_METRICS),
        style="dim",
    )
    console.print(table)
    say(
        console,
        "[dim]R@k: right answer among the first k, in percent. MnR: mean rank. skew@10: 0 would be fair. antihub@10: "
        "targets never among the first 10, in percent. transductive: an upper bound, learned from the test "
        "queries themselves.[/dim]",
    )
    losing = [result[label].method for label in result if result[label]["R@1"] < base]
    if losing:
        say(console, f"[red]Below doing nothing on this test: {', '.join(losing)}.[/red]")


def before_after(
    console: Console, texts: Sequence[str], labels: Sequence[str], raw: Hits, fixed: Hits, right: Sequence[int | None]
) -> None:
    """The first three answers before and after, the right one marked with a tick."""
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for title in ("query", "before", "after"):
        table.add_column(title, overflow="fold")
    for i, text in enumerate(texts):
        table.add_row(escape(_short(text)), *(_answers(hits.rows[i, :3], labels, right[i]) for hits in (raw, fixed)))
        table.add_row("", "", "")
    console.print(table)


def _answers(rows: IntArray, labels: Sequence[str], right: int | None) -> str:
    """One answer in each line, the right one with a tick."""
    texts = [escape(_short(labels[row])) for row in rows]
    return "\n".join(
        f"[green]✓ {text}[/green]" if row == right else f"  {text}" for row, text in zip(rows, texts, strict=True)
    )


def _short(text: str, most: int = 44) -> str:
    """The text, cut at a word where it is long."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(",.( ") + " …"
