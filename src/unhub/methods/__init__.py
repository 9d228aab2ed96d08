"""Every method, one small file for each family; ``METHODS`` lists their names."""

from unhub.methods.dbsn import DBSN
from unhub.methods.dis import DIS, DISPaper
from unhub.methods.dn import DN
from unhub.methods.dsl import DSL
from unhub.methods.dualis import DualDIS, DualIS
from unhub.methods.gc import GC
from unhub.methods.inverted_softmax import IS
from unhub.methods.local_scaling import NICDM, LocalScaling, MutualProximity
from unhub.methods.nearest_neighbours import CSLS, NNN, Centering
from unhub.methods.none import NoCorrection
from unhub.methods.protocol import (
    AdditiveMethod,
    MatrixMethod,
    Method,
    MethodDefaults,
    OneTemperature,
    RowMethod,
    TwoTemperatures,
    is_additive,
    is_matrix_only,
)
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
)
from unhub.methods.single_sinkhorn import SingleSinkhorn
from unhub.methods.sn import SN
from unhub.methods.temperature import COSINE_LIMIT, ResolvedMethod, automatic, filled, resolve
from unhub.methods.transport_plans import HN, L2N, OTN, SparseK

__all__ = [
    "ADDITIVE",
    "COSINE_LIMIT",
    "CSLS",
    "DBSN",
    "DIS",
    "DN",
    "DSL",
    "GC",
    "HN",
    "IS",
    "L2N",
    "METHODS",
    "NICDM",
    "NNN",
    "OTN",
    "SN",
    "AdditiveMethod",
    "Centering",
    "DISPaper",
    "DualDIS",
    "DualIS",
    "HyperParameters",
    "LocalScaling",
    "MatrixMethod",
    "Method",
    "MethodDefaults",
    "MutualProximity",
    "NoCorrection",
    "OneTemperature",
    "ResolvedMethod",
    "RowMethod",
    "SingleSinkhorn",
    "SparseK",
    "TwoTemperatures",
    "UnknownMethodError",
    "additive",
    "automatic",
    "configure",
    "filled",
    "hyper_parameters",
    "is_additive",
    "is_matrix_only",
    "method",
    "method_class",
    "method_classes",
    "method_names",
    "methods",
    "register_method",
    "resolve",
    "settings",
    "stored_method",
    "title_of",
]
