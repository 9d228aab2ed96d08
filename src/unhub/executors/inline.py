"""Inline: shards one after the other, in the caller's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unhub.core.execution import LocalWorkers, Workers


@dataclass(frozen=True)
class Inline:
    """Runs shards one after the other. One shard is the default way; several show that the cut does not matter."""

    shards: int = 1

    def start(self, shards: Sequence[Any]) -> Workers:
        """The shards as they are."""
        return LocalWorkers(shards)
