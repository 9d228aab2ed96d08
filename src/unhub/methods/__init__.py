"""Every method, one small file each; ``METHODS`` lists their names."""

from unhub.methods.centering import Centering
from unhub.methods.csls import CSLS
from unhub.methods.dbsn import DBSN
from unhub.methods.dis import DIS
from unhub.methods.dis_paper import DISPaper
from unhub.methods.dn import DN
from unhub.methods.dsl import DSL
from unhub.methods.dualdis import DualDIS
from unhub.methods.dualis import DualIS
from unhub.methods.gc import GC
from unhub.methods.hn import HN
from unhub.methods.inverted_softmax import IS
from unhub.methods.l2n import L2N
from unhub.methods.local_scaling import LocalScaling
from unhub.methods.mutual_proximity import MutualProximity
from unhub.methods.nicdm import NICDM
from unhub.methods.nnn import NNN
from unhub.methods.none import NoCorrection
from unhub.methods.otn import OTN
from unhub.methods.protocol import (
    AdditiveMethod,
    MatrixMethod,
    Method,
    RowMethod,
    is_additive,
    is_matrix_only,
)
from unhub.methods.registry import (
    ADDITIVE,
    METHODS,
    REGISTRY,
    HyperParameters,
    additive,
    method,
    methods,
    settings,
    settle,
)
from unhub.methods.single_sinkhorn import SingleSinkhorn
from unhub.methods.sn import SN
from unhub.methods.sparse_k import SparseK

__all__ = [
    "ADDITIVE",
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
    "REGISTRY",
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
    "MutualProximity",
    "NoCorrection",
    "RowMethod",
    "SingleSinkhorn",
    "SparseK",
    "additive",
    "is_additive",
    "is_matrix_only",
    "method",
    "methods",
    "settings",
    "settle",
]
