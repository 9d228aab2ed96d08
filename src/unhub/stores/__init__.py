"""The stores people already run, each behind one small adapter that follows one protocol."""

from unhub.stores.address import Address, is_address, parse
from unhub.stores.beside import NewCollection
from unhub.stores.layout import Layout, OwnForms, layout
from unhub.stores.plan import Plan, corrected_place, make_plan
from unhub.stores.protocol import Abilities, Block, Collection, Corrected, Description, Form, Found, Metric
from unhub.stores.record import Export
from unhub.stores.registry import STORES, open_store

__all__ = [
    "STORES",
    "Abilities",
    "Address",
    "Block",
    "Collection",
    "Corrected",
    "Description",
    "Export",
    "Form",
    "Found",
    "Layout",
    "Metric",
    "NewCollection",
    "OwnForms",
    "Plan",
    "corrected_place",
    "is_address",
    "layout",
    "make_plan",
    "open_store",
    "parse",
]
