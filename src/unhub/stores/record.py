"""What an export did, in a form that a correction file keeps: enough to search there, to go on, and to take it back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from unhub.stores.layout import Layout

State = Literal["writing", "serving", "stale", "refused"]
"""being written or cut short; tested and in use; behind its gallery; written, but the self-test found it wrong"""


@dataclass(frozen=True)
class Export:
    """One export: of which bias (tag), from which collection, to which place beside it."""

    origin: str
    """the address of the raw collection, without secrets"""
    place: str | None
    """the new collection, column or field; None if nothing is written"""
    layout: Layout
    tag: str
    bias: str
    """the fingerprint of the bias that was written, to know a later fit from this one"""
    state: State = "writing"
    alias: str | None = None
    alias_before: str | None = None
    """what the alias pointed to before the first export"""
    items: int = 0
    tested: dict[str, Any] = field(default_factory=dict)
    """what the self-test found"""

    def plain(self) -> dict[str, Any]:
        """The record as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, fields: dict[str, Any]) -> Export:
        """The record that ``plain`` wrote."""
        known = {name: fields[name] for name in cls.__dataclass_fields__ if name in fields}
        return cls(**{**known, "layout": Layout(**fields["layout"])})
