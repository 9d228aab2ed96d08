"""Names that moved to ``unhub.dataset``, for modules that still use them."""

from unhub.dataset.experiment_file import CAPTIONS as CAPTIONS
from unhub.dataset.experiment_file import CHOICES as CHOICES
from unhub.dataset.experiment_file import SEPARATOR as SEPARATOR
from unhub.dataset.experiment_file import Experiment as Experiment
from unhub.dataset.experiment_file import read_experiment as read_experiment
