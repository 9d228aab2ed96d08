"""Every method, one small file for each family; ``METHODS`` lists their names."""

from unhub.methods.global_correction import GC
from unhub.methods.interface import (
    AdditiveMethod,
    ClosedForm,
    Corrected,
    MatrixMethod,
    Method,
    OneTemperature,
    RowMethod,
    TwoTemperatures,
    is_additive,
    is_matrix_only,
)  # fmt: skip
from unhub.methods.inverted_softmax import DIS, DSL, IS, DISPaper, DualDIS, DualIS
from unhub.methods.local_scaling import NICDM, LocalScaling, MutualProximity
from unhub.methods.nearest_neighbours import CSLS, DN, NNN, Centering
from unhub.methods.none import NoCorrection
from unhub.methods.registry import (
    ADDITIVE,
    METHODS,
    HyperParameters,
    UnknownMethodError,
    additive,
    configure,
    hyper_parameters,
    method,
    method_class,
    method_classes,
    method_names,
    methods,
    register_method,
    settings,
    stored_method,
    title_of,
)  # fmt: skip
from unhub.methods.single_sinkhorn import SingleSinkhorn
from unhub.methods.sn_dbsn import DBSN, SN, CappedSN
from unhub.methods.temperature import COSINE_LIMIT, ResolvedMethod, auto_temperature, fill_auto, resolve
from unhub.methods.transport_plans import HN, L2N, OTN, SparseK

__all__ = [
    "ADDITIVE", "COSINE_LIMIT", "CSLS", "DBSN", "DIS", "DN", "DSL", "GC", "HN", "IS", "L2N", "METHODS", "NICDM", "NNN",
    "OTN", "SN", "AdditiveMethod", "CappedSN", "Centering", "ClosedForm", "Corrected", "DISPaper", "DualDIS", "DualIS",
    "HyperParameters", "LocalScaling", "MatrixMethod", "Method", "MutualProximity", "NoCorrection", "OneTemperature",
    "ResolvedMethod", "RowMethod", "SingleSinkhorn", "SparseK", "TwoTemperatures", "UnknownMethodError", "additive",
    "auto_temperature", "configure", "fill_auto", "hyper_parameters", "is_additive", "is_matrix_only", "method",
    "method_class", "method_classes", "method_names", "methods", "register_method", "resolve", "settings",
    "stored_method", "title_of",
]  # fmt: skip
