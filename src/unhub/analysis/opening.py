"""What a person names to look at: an experiment file, a folder of results, or a correction."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from pathlib import Path

from unhub.analysis.beside import Beside
from unhub.analysis.correction_subject import CorrectionSubject
from unhub.analysis.experiment_subject import ExperimentSubject
from unhub.analysis.samples import BANK_CELLS, TEST_CELLS
from unhub.api.artefact import load
from unhub.experiments import preset, read_experiment
from unhub.experiments.experiment import CAPTIONS, SEPARATOR, Experiment
from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.regular_files import is_network_path, read_json

EXPERIMENTS = (".toml", ".yaml", ".yml")
SHOWN = ("captions", "target_captions", "query_ids", "target_ids", "labels", "target_labels", "media")
"""parts of an experiment's test set whose words or pictures are seen"""
RUN = "run.json"
"""what ``unhub reproduce`` leaves in a folder: which file it ran, and how"""
LONGEST_RUN = 1 << 24
"""bytes of it"""


def open_subject(
    path: str,
    beside: Beside | None = None,
    *,
    protocol: str | None = None,
    cells: tuple[int, int] = (TEST_CELLS, BANK_CELLS),
) -> ExperimentSubject | CorrectionSubject:
    """The subject of a path; what belongs to a correction is refused beside an experiment, which names its own."""
    given = beside or Beside()
    place = Path(path).expanduser()
    if place.is_dir():
        run = run_of(place)
        place, protocol = run.experiment, protocol or run.protocol
    if place.suffix.lower() in EXPERIMENTS:
        extra = [field.name for field in fields(given) if getattr(given, field.name) is not None]
        if extra:
            flag = f"--{extra[0].removesuffix('_flag').replace('_', '-')}"
            raise InputError(f"{flag} goes with a correction; an experiment file names its parts itself: {place}.")
        experiment = read_experiment(place)
        outside = shown_from_outside(experiment)
        if outside:
            warnings.warn(
                f"{place} takes what is shown from outside of its folder: {', '.join(outside)}; look at it before you "
                f"let others see it.",
                UnhubWarning,
                stacklevel=2,
            )
        return ExperimentSubject(experiment, preset(protocol or "paper"), cells)
    if protocol is not None:
        raise InputError("--protocol goes with an experiment; a correction was fitted with settings of its own.")
    return CorrectionSubject(load(place), str(place), given, cells)


def shown_from_outside(experiment: Experiment) -> list[str]:
    """Texts and media that an experiment file names outside of its own folder, once links are followed.

    An experiment may be somebody else's, and a page or a report shows its captions and pictures to others.
    """
    home = experiment.path.parent.resolve()
    named = [(f"test.{part}", experiment.test[part]) for part in SHOWN if part in experiment.test]
    named += [
        (f"banks.{name}.{CAPTIONS}", each[CAPTIONS]) for name, each in experiment.banks.items() if CAPTIONS in each
    ]
    places = [(part, Path(source.partition(SEPARATOR)[0]).resolve()) for part, source in named]
    return [f"{part} ({place})" for part, place in places if not place.is_relative_to(home)]


@dataclass(frozen=True)
class NotedRun:
    """What ``unhub reproduce`` ran into a folder: the experiment file, the protocol, and the bank of its figures."""

    experiment: Path
    protocol: str
    bank: str | None = None


def run_of(folder: Path) -> NotedRun:
    """What was run into a folder that ``unhub reproduce -o`` wrote."""
    file = folder / RUN
    try:
        told = read_json(file, longest=LONGEST_RUN)
        bank, experiment, protocol = told.get("bank"), str(told["experiment"]), str(told["protocol"])
    except FileNotFoundError:
        raise InputError(
            f"{folder} is a folder without {RUN}, so it is not known what was run there; name the experiment file, a "
            f"correction (.unhub), or a folder that unhub reproduce -o wrote."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{file} is damaged; run unhub reproduce again, or name the experiment file.") from None
    if is_network_path(experiment) or not experiment.lower().endswith(EXPERIMENTS):
        raise InputError(f"{file} names {experiment}, which is no experiment file of this machine; name it yourself.")
    return NotedRun(Path(experiment), protocol, None if bank is None else str(bank))
