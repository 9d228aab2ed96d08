"""Which export of a correction serves a collection."""

from __future__ import annotations

from collections.abc import Iterable

from unhub.api.correction import Correction
from unhub.core.fingerprint import fingerprint
from unhub.foundation.errors import InputError
from unhub.stores import Collection, Description, Export


def bias_name(correction: Correction) -> str:
    """A short name for the bias of a correction, by which an export of it is known from those of earlier fits."""
    return fingerprint(correction.bias.view("<u4").astype("<u8"))[:16]


def serving_export(correction: Correction, origin: str) -> Export | None:
    """The newest export of just this bias that serves the collection at this address."""
    mine = bias_name(correction) if correction.exports else ""
    serving = [
        each for each in correction.exports if each.origin == origin and each.state == "serving" and each.bias == mine
    ]
    return serving[-1] if serving else None


def alias_before(collection: Collection, alias: str | None, known: Iterable[Export]) -> str | None:
    """What an alias pointed to before any export of ours; None if it was not there."""
    if alias is None:
        return None
    ours = {each.place: each for each in known if each.origin == collection.url and each.alias == alias}
    now, seen = collection.alias(alias), set[str | None]()
    while now in ours and now not in seen:
        seen.add(now)
        now = ours[now].alias_before
    return None if now in ours else now


def refuse_other_kind(known: Correction, origin: Description) -> None:
    """Refuses a store whose similarity is not the one that was fitted on."""
    dim = None if known.query_bank is None else known.query_bank.shape[1]
    if dim is not None and dim != origin.dim:
        raise InputError(
            f"the correction was fitted on vectors of dimension {dim} but {origin.url} has {origin.dim}; fit again "
            f"on it."
        )
    if origin.count == 0:
        raise InputError(f"{origin.url} is empty; fill it first.")
    if origin.metric == "l2" and origin.unit is False:
        raise InputError(not_unit(origin.url))
    if known.reader.metric == "ip" and origin.metric == "cosine" and origin.unit is False:
        raise InputError(
            f"the correction was fitted on inner products but {origin.url} ranks by cosine and its vectors are not of "
            f"unit length; fit again with metric='cosine', normalize=True."
        )


def not_unit(url: str) -> str:
    """The sentence for Euclidean distances of vectors of any length."""
    return (
        f"{url} ranks by Euclidean distance and its vectors are not of unit length, so that a bias cannot be added to "
        f"what it ranks by; store unit vectors."
    )
