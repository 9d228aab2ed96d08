"""``unhub diagnose``: how uneven retrieval is before any correction."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.progress import working

ENDINGS = (".json",)
SOURCES = ("scores", "queries", "targets", "target_ids", "ignore_self", "metric", "normalize", "memory")


def command(
    context: typer.Context,
    queries: options.Queries = None,
    targets: options.Targets = None,
    scores: options.Scores = None,
    target_ids: options.TargetIds = None,
    hubs: Annotated[int, typer.Option("--hubs", metavar="N", help="How many hubs to list.")] = 10,
    ignore_self: options.IgnoreSelf = False,
    metric: options.Metric = "cosine",
    normalize: options.Normalize = False,
    memory: options.Memory = None,
    json: options.Json = False,
    out: Annotated[str | None, output.option("Also write the numbers: .json.")] = None,
) -> None:
    """Show how uneven retrieval is before any correction: hubs, and targets that are never found.

    \b
    Examples:
      unhub diagnose --queries queries.npy --targets targets.npy
      unhub diagnose --scores scores.npy --hubs 3 --json
    """
    import unhub
    from unhub.core.parameters import count

    hubs = count("hubs", hubs)
    replaced = output.check(out, ENDINGS, (queries, targets, scores, target_ids))
    with working("diagnosing") as progress:
        found = unhub.diagnose(**options.given(context, SOURCES), progress=progress)
    plain = found.to_dict() | {
        "hubs": [{"row": hub.row, "id": hub.id, "count": hub.count} for hub in found.hubs(hubs)],
    }
    if out is not None:
        output.write_text(out, console.as_json(plain))
    if json:
        console.data(plain)
        return
    _show(found, hubs)
    if out is not None:
        output.tell(out, "the diagnosis", replaced=replaced)


def _show(found: Any, most: int) -> None:
    console.say(found.sentence, style="bold")
    console.say()
    families = dict.fromkeys(name.partition("@")[0] for name in found.values)
    rows = [[name, *(f"{found[f'{name}@{k}']:.2f}" for k in (1, 5, 10))] for name in families]
    console.table(("hubness", "k = 1", "k = 5", "k = 10"), rows)
    console.say()
    console.say(f"Most frequent among the first 10 of {found.queries:,} queries:")
    console.table(
        ("target", "times", "queries"),
        [[hub.id, f"{hub.count:,}", f"{hub.count / found.queries:.1%}"] for hub in found.hubs(most)],
    )
    console.say()
    console.say(
        f"Scores run from {found.low:.3f} to {found.high:.3f} (standard deviation {found.spread:.4f}); "
        f"--tau auto is {found.tau:.3g} here."
    )
