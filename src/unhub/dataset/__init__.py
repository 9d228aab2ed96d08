"""The user's data: opened lazily, checked once, sampled, sharded."""

from unhub.dataset.dataset import TEST_QUERIES, Dataset
from unhub.dataset.items import Items, Media
from unhub.dataset.reader import Reader
from unhub.dataset.sources import Bank
from unhub.dataset.task import Task

__all__ = ["TEST_QUERIES", "Bank", "Dataset", "Items", "Media", "Reader", "Task"]
