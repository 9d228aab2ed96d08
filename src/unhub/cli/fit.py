"""``unhub fit``: a correction file from a gallery and past queries."""

from __future__ import annotations

import os
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.console import working
from unhub.cli.failures import INTERRUPTED
from unhub.cli.guard import show_verdict
from unhub.cli.options import flag, value
from unhub.foundation.errors import InputError, UnhubWarning

if TYPE_CHECKING:
    from unhub.api.correction import Correction
    from unhub.stores import Export

SHOWN_HUBS = 5
SOURCES = (
    "targets", "query_bank", "target_bank", "scores", "cross_bank_scores", "target_bank_scores", "query_weight",
    "target_prior", *options.EVIDENCE,
)  # fmt: skip
SETTINGS = ("ignore_self", "metric", "normalize", "memory", *options.OF_BANK)


def command(
    context: typer.Context,
    out: Annotated[str, output.option("The correction file to write; ends in .unhub.")],
    targets: options.Targets = None,
    query_bank: options.QueryBank = None,
    target_bank: options.TargetBank = None,
    scores: options.BankScores = None,
    cross_bank_scores: options.CrossBankScores = None,
    target_bank_scores: options.TargetBankScores = None,
    target_ids: options.TargetIds = None,
    query_weight: options.QueryWeight = None,
    target_prior: options.TargetPrior = None,
    recent: options.Recent = None,
    judged: options.Judged = None,
    judged_queries: options.JudgedQueries = None,
    clicks: options.Clicks = None,
    own_log: options.OwnLog = False,
    popularity: options.Popularity = None,
    duplicates: options.Duplicates = "drop",
    method: Annotated[
        str | None,
        value(
            "NAME",
            "none, is, dualis, sn, capped_sn, dbsn, nnn, csls or dn; by default dbsn with a target bank, else sn.",
        ),
    ] = None,
    tau: options.Tau = None,
    tau1: options.Tau1 = None,
    tau2: options.Tau2 = None,
    iterations: options.Iterations = None,
    tol: options.Tol = None,
    strength: options.Strength = None,
    k: options.K = None,
    alpha: options.Alpha = None,
    w: options.W = None,
    protocol: options.Protocol = None,
    ignore_self: options.IgnoreSelf = False,
    metric: options.Similarity = "cosine",
    normalize: options.Normalize = False,
    memory: options.Memory = None,
    resume: Annotated[bool, flag("--resume", "Continue an interrupted fit from its last finished iteration.")] = False,
    json: options.Json = False,
) -> None:
    """Estimate one number per target from past queries, and save it for search, extend and export.

    The targets are a file, or a collection in a vector store (qdrant://localhost/photos). Temperatures follow the
    spread of the scores; --protocol paper uses the constants of the method's paper. A long fit saves its last finished
    iteration next to the output (OUT.part) until it is done; --resume continues from there.

    The fit ends with a verdict: apply, apply weaker, or refuse, from queries that were not fitted on. Part of the bank
    shows whether it is too small; --recent queries whether it suits today's traffic; --judged ones whether targets are
    popular. A refused correction is saved for a look, but not served.

    \b
    Examples:
      unhub fit --targets targets.npy --query-bank bank.npy -o gallery.unhub
      unhub fit --targets targets.npy --query-bank bank.npy --target-bank other_targets.npy -o dual.unhub
      unhub fit --targets targets.npy --query-bank bank.npy --recent recent.npy -o gallery.unhub
      unhub fit --targets targets.npy --query-bank log.npy --popularity own_log -o gallery.unhub
      unhub fit --scores bank_scores.npy --method is --tau 0.02 -o matrix.unhub --json
      unhub fit --targets targets.npy --query-bank bank.npy --memory 64MB -o gallery.unhub --resume
      unhub fit --targets faiss://photos.faiss --query-bank bank.npy -o photos.unhub
    """
    import unhub

    sources, settings = options.given(context, SOURCES), options.given(context, SETTINGS)
    situation = options.traffic(popularity, sources | settings)
    replaced = output.check(out, (".unhub",), (*sources.values(), target_ids))
    name = method or ("dbsn" if target_bank is not None or cross_bank_scores is not None else "sn")
    hyper = options.given(context, options.HYPER_PARAMETERS)
    paper = options.paper_methods([name], protocol, hyper)
    hyper = {} if paper is not None else hyper
    part = os.path.expanduser(f"{out}.part")
    try:
        with working(f"fitting {name}") as progress, warnings.catch_warnings():
            if not json:  # the verdict is printed below
                warnings.filterwarnings("ignore", "REFUSE", UnhubWarning)
            correction = unhub.fit(
                name if paper is None else paper[0],
                **{**sources, **settings, **situation},
                target_ids=target_ids,
                checkpoint=part,
                resume=resume,
                keep_checkpoint=True,
                progress=progress,
                **hyper,
            )
            _save(correction, out, part)
    except KeyboardInterrupt:
        if not os.path.exists(part):
            raise
        console.complain(
            f"interrupted; finished iterations are in {part}: run the same command with --resume to continue."
        )
        raise typer.Exit(INTERRUPTED) from None
    plain = _plain(correction, out, replaced)
    if json:
        console.data(plain)
    else:
        _show(plain, correction, out, replaced)


def _save(correction: Correction, out: str, part: str) -> None:
    """Write the correction, then remove its checkpoint."""
    try:
        replace(correction, exports=_exports_of(out)).save(out)
    except (InputError, OSError):
        if os.path.exists(part):
            console.complain(f"finished iterations are in {part}: make room, then run the same command with --resume.")
        raise
    try:
        Path(part).unlink(missing_ok=True)
    except OSError as error:
        console.complain(f"note: {part} is no longer needed but could not be removed: {error.strerror}.")


def _exports_of(out: str) -> tuple[Export, ...]:
    """The exports recorded in a file that is about to be replaced, so that rollback still works."""
    from unhub.api.artefact import load

    try:
        return load(out).exports if Path(out).expanduser().exists() else ()
    except InputError:
        return ()


def _plain(correction: Correction, out: str, replaced: bool) -> dict[str, Any]:
    hubness = correction.hubness
    worst = (-hubness).argsort(kind="stable")[:SHOWN_HUBS].tolist()
    ids = correction.ids
    hubs = [{"row": row, "id": str(row) if ids is None else ids[row], "hubness": float(hubness[row])} for row in worst]
    return {
        "method": correction.method.name, "settings": correction.settings,
        "strength": correction.strength, "verdict": correction.verdict.to_dict(),
        "status": correction.status, "iterations": correction.iterations,
        "marginal_error": correction.marginal_error, "error_bound": correction.error_bound, "plan": correction.plan,
        "targets": int(hubness.size), "bank": None if correction.query_bank is None else len(correction.query_bank),
        "hubs": hubs, "fingerprint": correction.fingerprint,
        "warnings": [console.in_flags(note) for note in correction.notes], "output": out, "replaced": replaced,
    }  # fmt: skip


def _show(plain: dict[str, Any], correction: Correction, out: str, replaced: bool) -> None:
    given = {name: value for name, value in plain["settings"].items() if value is not None and name != "strength"}
    used = ", ".join(f"{name} {value:.4g}" for name, value in given.items())
    console.say(f"{plain['method']}{f' ({used})' if used else ''}", style="bold")
    ended = f"{plain['status']}, {plain['iterations']} iterations" if plain["iterations"] else plain["status"]
    if plain["marginal_error"] is not None:
        ended += f", marginal error {plain['marginal_error']:.2g}"
    console.say(ended)
    if plain["plan"] is not None:
        console.say(plain["plan"])
    show_verdict(correction.verdict)
    console.say()
    console.table(("biggest hubs", "hubness"), [[hub["id"], f"{hub['hubness']:+.4f}"] for hub in plain["hubs"]])
    console.say()
    output.tell(out, f"the bias of {plain['targets']:,} targets", replaced=replaced)
    console.say("next:")
    for line in _next(correction, out):
        console.say(f"  {line}")


def _next(correction: Correction, out: str) -> list[str]:
    """Commands to run next, quoted for the shell."""
    file = shlex.quote(out)
    verdict = correction.verdict
    source = None if correction.targets is None else correction.targets.source
    in_store = source is not None and "://" in source
    fresh = "--recent RECENT.npy" if correction.fingerprint else "--recent RECENT_SCORES.npy"
    if in_store:
        fresh += f" --targets {shlex.quote(str(source))}"
    if "popularity" in verdict.checked:
        fresh += " --judged JUDGED.tsv --judged-queries JUDGED.npy"
    if not verdict.served:
        binding = verdict.binding
        again = [f"unhub guard {file} {fresh} -o {file}   (judges this one by other queries)"]
        return [
            f"unhub fit ... -o {file}   (again, with another bank)",
            *([] if binding is not None and binding.source == "bank" else again),
        ]
    check = f"unhub guard {file} {fresh} -o {file}   (does the bank fit what is asked now?)"
    ask = [check] if verdict.reason == "judged" and "mismatch" in verdict.unchecked else []
    return [*ask, *_serve(correction, out, source if in_store else None)]


def _serve(correction: Correction, out: str, store: str | None) -> list[str]:
    """Commands that use the correction; store: where its gallery is."""
    file = shlex.quote(out)
    if correction.query_bank is None:
        target_bank = (
            " --target-bank-scores NEW_TARGET_BANK_SCORES.npy" if "targets" in correction.method.requires else ""
        )
        return [
            f"unhub extend {file} --scores NEW_SCORES.npy{target_bank} -o bias.csv   (bank x new targets)",
            f"in Python: unhub.load({out!r}).apply(scores)",
        ]
    if store is not None:
        return [
            f"unhub export {file} --to {shlex.quote(store)} --dry-run",
            f"unhub search {file} --store {shlex.quote(store)} --queries QUERIES.npy --raw",
        ]
    return [
        f"unhub search {file} --queries QUERIES.npy --raw",
        f"unhub extend {file} --targets NEW_TARGETS.npy -o {file}",
    ]
