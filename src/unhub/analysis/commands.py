"""The command that gives the numbers of a view again, over all of the data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from unhub.analysis.beside import Beside
from unhub.analysis.material import TEST
from unhub.api.correction import Correction
from unhub.experiments.experiment import Experiment
from unhub.experiments.presets import Preset
from unhub.experiments.sources import bank_files
from unhub.foundation.safe_text import printable
from unhub.methods import Method, settings
from unhub.stores.address import is_address, without_secrets


def experiment_command(
    its: Experiment, preset: Preset, bank: str, method: Method, *, back: bool, overlap: bool, empty: bool
) -> str:
    """The evaluation of a method and of none; back: targets ask. overlap: test queries are in the bank. empty: some
    queries have no answer.
    """
    words = []
    for name in ("queries", "targets", "scores", "query_ids", "target_ids"):
        words += [_flag(name), its.test[name]] if name in its.test else []
    if its.vectors and "queries" not in its.test:
        words += ["--queries", its.test["targets"]]
    if bank != TEST:
        words += [word for name, path in bank_files(its, bank).items() for word in (_flag(name), path)]
    words += ["--direction", "reverse"] if back else []
    words += ["--ties", its.settings.get("ties", preset.ties)]
    words += ["--ignore-self"] if its.task == "self-retrieval" else []
    words += ["--metric", its.settings["metric"]] if "metric" in its.settings else []
    words += ["--normalize"] if its.settings.get("normalize") else []
    words += (["--allow-overlap"] if overlap else []) + (["--allow-empty"] if empty else [])
    return _evaluation(words, _relevant(its), method)


def correction_command(
    its: Correction, path: str, beside: Beside, bank: str, method: Method, *, saved: bool, overlap: bool, empty: bool
) -> str:
    """The evaluation of a method where it is known what is right, otherwise a diagnosis.

    A correction that cannot be fitted again from what is here is measured as it is.
    """
    asked = ["--scores", beside.scores] if beside.scores else ["--queries", beside.queries or f"{path}::query_bank"]
    gallery = None if beside.scores else _shown(beside.targets or its.source)
    learnt = [] if gallery is None else ["--targets", gallery]
    reading = ["--normalize"] if its.normalize else []
    reading += ["--metric", "ip"] if its.metric == "ip" else []
    if beside.relevant_flag is None:
        return _joined(["unhub", "diagnose", *asked, *learnt, *reading])
    lacking = bool(method.requires) and beside.target_bank is None
    lacking |= its.query_bank is None or its.weights is not None or its._prior_mean != 1.0
    if saved and (lacking or beside.scores is not None):
        here = ["--targets", gallery] if beside.targets and gallery else []
        return _joined(["unhub", "report", path, *asked, *here, "--relevant", beside.relevant_flag, "--json"])
    if bank != TEST and its.query_bank is not None:
        learnt += ["--query-bank", f"{path}::query_bank"]
    learnt += ["--target-bank", beside.target_bank] if beside.target_bank else []
    reading += (["--allow-overlap"] if overlap else []) + (["--allow-empty"] if empty else [])
    return _evaluation([*asked, *learnt, *reading], beside.relevant_flag, method)


def _evaluation(words: Sequence[str], relevant: str, method: Method) -> str:
    names = ",".join(dict.fromkeys(("none", method.name)))
    said = [(name, value) for name, value in settings(method).items() if value is not None]
    chosen = [word for name, value in said for word in (_flag(name), _number(value))]
    return _joined(["unhub", "evaluate", *words, "--relevant", relevant, "--methods", names, *chosen])


def _joined(words: Sequence[str]) -> str:
    """The words as a shell takes them; what is not printable in a file's name is shown as an escape."""
    return printable(shlex.join(words))


def _relevant(experiment: Experiment) -> str:
    test = experiment.test
    if "labels" in test:
        return f"labels:{test['labels']},{test.get('target_labels', test['labels'])}"
    said = test.get("relevant", "aligned")
    return "diagonal" if said == "aligned" else said


def _shown(source: str | None) -> str | None:
    return without_secrets(source) if source is not None and is_address(source) else source


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
