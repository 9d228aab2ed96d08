"""Vector stores, each behind one adapter that follows one protocol."""

from unhub.stores.adapter import Collection, open_store
from unhub.stores.address import is_address, parse
from unhub.stores.corrected_index import NativeStrategies, NewCollection, corrected_index
from unhub.stores.export_plan import Export, ExportPlan, make_plan
from unhub.stores.interface import Block, CorrectedIndex, Description, Metric, SearchResults, Strategy
from unhub.stores.vector_encoding import VectorEncoding, make_encoding

__all__ = [
    "Block",
    "Collection",
    "CorrectedIndex",
    "Description",
    "Export",
    "ExportPlan",
    "Metric",
    "NativeStrategies",
    "NewCollection",
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
