"""What methods are called where people read."""

from __future__ import annotations

from unhub.analysis.material import SAVED
from unhub.methods import title_of


def listed_name(label: str, method: str) -> str:
    """The name in a list, where a correction stands beside its own method fitted anew.

    >>> listed_name("saved", "dbsn"), listed_name("sn", "sn")
    ('DBSN as saved', 'SN')
    """
    return f"{shown_name(method)} as saved" if label == SAVED else shown_name(label)


def shown_name(method: str) -> str:
    """The name as people write it.

    >>> shown_name("dbsn"), shown_name("none")
    ('DBSN', 'no correction')
    """
    return "as saved" if method == SAVED else title_of(method)
