"""What Milvus does in its own time, and how to wait for it: indexes that are built, collections that are loaded."""

from __future__ import annotations

import time
from typing import Any

from unhub.foundation.errors import StoreError
from unhub.foundation.optional import require
from unhub.stores.milvus.shape import Shape, indexes
from unhub.stores.protocol import Metric

INDEXED = 1024
"""rows of a segment from which on Milvus gives it an index"""
ATTEMPT = 0.1
"""seconds between two looks"""
SETTLES = 3.0
"""seconds after which Milvus Lite has been seen to use what it built"""


def make(client: Any, name: str, like: Shape, dim: int, metric: Metric, timeout: float) -> None:
    """Makes what is not there yet of a collection, its indexes among it, and loads it."""
    if not client.has_collection(name, timeout=timeout):
        client.create_collection(name, schema=like.schema(dim), timeout=timeout, **like.settings(name))
    there = {each["index_name"] for each in indexes(client, name, timeout)}
    wanted = client.prepare_index_params()
    for each in like.index_settings(dim, metric):
        if each["index_name"] not in there:
            wanted.add_index(**each)
    if wanted:
        client.create_index(name, wanted, sync=False, timeout=timeout)
    load(client, name, timeout)


def load(client: Any, name: str, timeout: float) -> bool:
    """Loads a collection into the memory of the server, without which nothing can be read; whether that was needed."""
    loaded = require("pymilvus.client.types", extra="milvus").LoadState.Loaded
    if client.get_load_state(name, timeout=timeout)["state"] == loaded:
        return False
    client.load_collection(name, _async=True, timeout=timeout)
    while client.get_load_state(name, timeout=timeout)["state"] != loaded:
        time.sleep(ATTEMPT)
    return True


def flush(client: Any, name: str, timeout: float) -> None:
    """Makes Milvus write down what it was given, and waits until its indexes have taken it in."""
    client.flush(name, timeout=timeout)
    while unbuilt(indexes(client, name, timeout)):
        time.sleep(ATTEMPT)


def put_to_use(client: Any, name: str, timeout: float, *, anew: bool) -> None:
    """Waits until searches use the index: a server loads one that was built when it gets round to it, some 15 s later.

    Until then it answers by a makeshift one, which misses more. ``anew``: nobody uses the collection yet, so that it
    may be loaded again, which is faster.
    """
    began = time.monotonic()
    while not _in_use(client, name, timeout) and time.monotonic() - began < timeout:
        if anew:
            client.release_collection(name, timeout=timeout)
            load(client, name, timeout)
            anew = False
        else:
            time.sleep(ATTEMPT)


def put_to_use_in_file(client: Any, name: str, timeout: float, *, anew: bool) -> None:
    """The same in Milvus Lite, which cannot say what it uses: it looks at every row until it gets round to its index.

    A collection that is loaded again uses it at once; where somebody may be searching it, some seconds are waited.
    """
    if anew:
        client.release_collection(name, timeout=timeout)
        load(client, name, timeout)
    else:
        time.sleep(SETTLES)


def _in_use(client: Any, name: str, timeout: float) -> bool:
    """Whether every segment that is large enough for an index is loaded with one."""
    loaded = client.list_loaded_segments(name, timeout=timeout)
    rows = sum(each.num_rows for each in loaded)
    indexed = all(each.index_name or each.num_rows < INDEXED for each in loaded)
    return indexed and rows >= count(client, name, timeout)


def unbuilt(said: list[dict[str, Any]]) -> bool:
    """Whether any index still has rows to take in."""
    for each in said:
        if each.get("state") == "Failed":
            why = each.get("index_state_fail_reason") or "it does not say why"
            raise StoreError(f"Milvus could not build the index {each['index_name']} ({why}); see its logs.")
    return any(each.get("pending_index_rows") for each in said)


def count(client: Any, name: str, timeout: float) -> int:
    """How many rows there are after every write before this call; whoever reads next sees them too."""
    found = client.query(name, filter="", output_fields=["count(*)"], consistency_level="Strong", timeout=timeout)
    return int(found[0]["count(*)"])
