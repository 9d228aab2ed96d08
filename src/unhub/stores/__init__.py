"""Vector stores, each behind one adapter that follows one protocol."""

from unhub.stores.adapter import STORES, Collection, open_store
from unhub.stores.address import Address, is_address, parse
from unhub.stores.corrected_index import NativeStrategies, NewCollection, corrected_index
from unhub.stores.export_plan import ExportPlan, make_plan
from unhub.stores.export_record import Export
from unhub.stores.protocol import (
    Abilities,
    Block,
    CorrectedIndex,
    Description,
    Metric,
    Quantiser,
    SearchResults,
    Strategy,
)
from unhub.stores.vector_encoding import VectorEncoding, make_encoding

__all__ = [
    "STORES",
    "Abilities",
    "Address",
    "Block",
    "Collection",
    "CorrectedIndex",
    "Description",
    "Export",
    "ExportPlan",
    "Metric",
    "NativeStrategies",
    "NewCollection",
    "Quantiser",
    "SearchResults",
    "Strategy",
    "VectorEncoding",
    "corrected_index",
    "is_address",
    "make_encoding",
    "make_plan",
    "open_store",
    "parse",
]
