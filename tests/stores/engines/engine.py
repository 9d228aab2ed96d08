"""What a real store under test can be asked for; one file per store beside this one."""

from dataclasses import dataclass, field
from typing import Any, Protocol


class Engine(Protocol):
    """A store that runs: started once for a test session, on loopback or in a folder, and ended by who started it."""

    def fill(self, name, ids, vectors, groups, *, metric, index):
        """Makes a collection with the store's own client, not with unhub; gives back the address that unhub takes.

        ids: strings of digits; vectors (item, dim) float32; groups: one int per item, kept in a field ``group``.
        """

    def filter(self, group) -> Any:
        """The store's own way to say: only items whose group is this."""

    def stop(self):
        """Ends it."""


@dataclass(frozen=True)
class Variant:
    """One store with one kind of index, as the conformance suite meets it."""

    store: str
    """the key of ENGINES"""
    index: str
    exact: bool
    """whether a search there looks at every vector, so that lists must be identical"""
    metrics: tuple[str, ...] = ("ip", "cosine", "l2")
    """what its collections can rank by"""
    strategies: tuple[str, ...] = ("augment",)
    """the corrected strategies to be tried, each against the list of exact corrected search"""
    tolerance: float = 1e-5
    """how far a similarity may be from float32's; more where vectors are kept in fewer bits"""
    notes: dict[str, str] = field(default_factory=dict)

    def __str__(self):
        return f"{self.store}-{self.index}"
