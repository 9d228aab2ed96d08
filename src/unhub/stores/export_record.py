"""The record of an export in a correction file: enough to search there, to resume, and to roll back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from unhub.foundation import field_checks as checked
from unhub.stores.vector_encoding import MOST_EFFORT, VectorEncoding

State = Literal["writing", "serving", "stale", "refused"]
"""being written or interrupted; tested and in use; behind its gallery; written, but the self-test failed"""

SAVED_AS = {"destination": "place", "encoding": "layout", "self_test": "tested"}
"""fields whose key in a file is older than their name; files keep their keys"""
LONGEST_ADDRESS, LONGEST_NAME = 4096, 1024
MOST_ITEMS = 2**53
_TAG = re.compile(r"[0-9a-f]{8}")
_BIAS = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Export:
    """One export: of which bias (tag), from which collection, to which destination beside it."""

    origin: str
    """the address of the raw collection, without secrets"""
    destination: str | None
    """the new collection, column or field; None if nothing is written"""
    encoding: VectorEncoding
    tag: str
    bias: str
    """the fingerprint of the bias that was written, to know a later fit from this one"""
    state: State = "writing"
    alias: str | None = None
    alias_before: str | None = None
    """what the alias pointed to before the first export"""
    items: int = 0
    self_test: dict[str, Any] = field(default_factory=dict)
    """the result of the self-test"""

    @property
    def location(self) -> tuple[str, str | None]:
        """Where it is: no two exports have the same."""
        return self.origin, self.destination

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON can hold it."""
        fields = {SAVED_AS.get(name, name): value for name, value in vars(self).items()}
        return {**fields, "layout": self.encoding.to_dict(), "tested": dict(self.self_test)}

    @classmethod
    def from_dict(cls, fields: Any) -> Export:
        """The record that ``to_dict`` wrote; a ValueError unless every field is in range: files can be forged."""
        if not isinstance(fields, Mapping):
            raise ValueError("its record of an export is no table")
        tested = checked.table(fields, "tested", most=64, longest=LONGEST_NAME, otherwise={})
        checked.number(tested, "effort", least=1 / MOST_EFFORT, most=MOST_EFFORT, otherwise=1.0)
        return cls(
            origin=checked.text(fields, "origin", longest=LONGEST_ADDRESS),
            destination=checked.optional_text(fields, "place", longest=LONGEST_NAME),
            encoding=VectorEncoding.from_dict(fields["layout"]),
            tag=_like(_TAG, fields, "tag"),
            bias=_like(_BIAS, fields, "bias"),
            state=checked.one_of(fields, "state", get_args(State), "writing"),
            alias=_alias(fields, "alias"),
            alias_before=_alias(fields, "alias_before"),
            items=checked.whole(fields, "items", least=0, most=MOST_ITEMS, otherwise=0),
            self_test=tested,
        )


def _like(pattern: re.Pattern[str], fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"its {name} is not a fingerprint")
    return value


def _alias(fields: Mapping[str, Any], name: str) -> str | None:
    """An alias, which is not a path."""
    value = checked.optional_text(fields, name, longest=LONGEST_NAME)
    if value is not None and (not value or "/" in value or "\\" in value):
        raise ValueError(f"its {name} is not a name")
    return value
