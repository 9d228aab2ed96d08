"""Which tasks a run asks of a dataset."""

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
