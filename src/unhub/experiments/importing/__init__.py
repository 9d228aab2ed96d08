"""What others have published, as the folder of an experiment: pickles, padding, logits, numbers that start at 1."""

from unhub.experiments.importing.reading import Dump
from unhub.experiments.importing.run import Imported, import_published

__all__ = ["Dump", "Imported", "import_published"]
