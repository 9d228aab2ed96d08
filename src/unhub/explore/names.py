"""What methods are called where people read."""

from __future__ import annotations

from unhub.explore.material import SAVED

NAMES = {
    "none": "no correction", SAVED: "as saved", "is": "IS", "dis": "DIS", "dis_paper": "DIS (paper)",
    "dualis": "DualIS", "dualdis": "DualDIS", "sn": "SN", "dbsn": "DBSN", "nnn": "NNN", "csls": "CSLS", "gc": "GC",
    "dsl": "DSL", "dn": "DN", "single_sinkhorn": "single-step Sinkhorn", "local_scaling": "local scaling",
    "nicdm": "NICDM", "mutual_proximity": "mutual proximity", "centering": "centering", "otn": "OTN", "l2n": "L2N",
    "hn": "HN", "sparse_k": "sparse-k",
}  # fmt: skip


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
    return NAMES.get(method, method)
