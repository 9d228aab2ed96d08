"""What a run asked of a dataset, and what was passed to functions, without replacing any of them."""

import inspect
import sys
from collections import defaultdict
from contextlib import contextmanager

from unhub.dataset import Dataset


class RecordedDataset(Dataset):
    """A dataset that records which tasks it is asked for."""

    tasks = ()

    @classmethod
    def open(cls, path):
        data = super().open(path)
        data.tasks = []  # shared with every copy, such as one with a part of a bank
        return data

    def task(self, direction="forward", bank=None, **more):
        self.tasks.append((bank, direction))
        return super().task(direction, bank, **more)


@contextmanager
def recorded_calls(*functions):
    """While this lasts, the arguments of every call of these functions in this thread, by the function's name."""
    calls, names = defaultdict(list), {inspect.unwrap(each).__code__: each.__name__ for each in functions}

    def record(frame, event, _):
        if event == "call" and frame.f_code in names:
            calls[names[frame.f_code]].append(dict(frame.f_locals))

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        yield calls
    finally:
        sys.setprofile(before)
