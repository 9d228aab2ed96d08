"""A short, unique label for each method of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unhub.methods import Method, settings


def labels(chosen: Sequence[Method]) -> list[str]:
    """The name; where a name comes twice, with the hyper-parameters that differ: "sn(tau=0.02)"."""
    times = Counter(each.name for each in chosen)
    found = []
    for each in chosen:
        if times[each.name] == 1:
            found.append(each.name)
            continue
        family = [settings(other) for other in chosen if other.name == each.name]
        mine = settings(each)
        differing = [key for key in mine if len({repr(other[key]) for other in family}) > 1]
        told = ", ".join(f"{key}={_short(mine[key])}" for key in differing)
        found.append(f"{each.name}({told})" if told else each.name)
    return _unique(found)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _unique(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique
