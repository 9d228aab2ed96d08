"""An index over vector and bias together, which ranks by score + bias: PostgreSQL's expression indexes.

(embedding || ARRAY[b, filler, 0 ...]::vector)::vector(width) with b = c (bias - middle), by inner product with
[q; 1/c; 0 ...]. Every function in it is immutable and none parses text. HNSW links a row to those with the largest
inner product. With rows of any length those would be the longest rows and those of the largest biases, not the nearest:
so the middle of the biases is taken off, and the filler, sqrt(M^2 - |embedding|^2 - b^2), makes all equally long. A row
that came later and has no room for one has none, and is ranked as rightly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.pgvector.session import Session
from unhub.stores.pgvector.table import Index, Table
from unhub.stores.vector_encoding import VectorEncoding

WIDEST = {"vector": 2000, "halfvec": 4000}
"""numbers that an index of pgvector takes"""
SUFFIX = "_index"
PATIENCE = 10
"""how many times the usual timeout an index that is being built waits for the transactions of others"""
_THERE = """
    SELECT obj_description(c.oid, 'pg_class') = %s AND i.indisvalid
    FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE i.indrelid = %s AND c.relname = %s"""


_OVER_COLUMN = """
    SELECT EXISTS (
        SELECT 1 FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.objid = c.oid AND d.refobjid = %s AND a.attname = %s)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""


@dataclass(frozen=True)
class Expression:
    """Vector and bias of one table in one expression, indexed as the vectors alone are."""

    session: Session
    table: Table
    index: Index
    column: str
    encoding: VectorEncoding
    unit: bool
    """whether vectors are scaled to unit length"""

    def __post_init__(self) -> None:
        if self.table.dim >= WIDEST[self.index.kind]:
            raise InputError(
                f"{self.session.address}: vectors of {self.table.dim} leave no room for a bias in an index, which has "
                f"{WIDEST[self.index.kind]} numbers at most; use the strategy column, or a column of halfvec."
            )

    @property
    def width(self) -> int:
        """Numbers in the index for a row: padded, if there is room for that."""
        return (
            self.encoding.width if self.encoding.width <= WIDEST[self.index.kind] else self.table.dim + 1 + self.filled
        )

    @property
    def filled(self) -> bool:
        """Whether rows are made equally long: if there is room for one more number."""
        return self.encoding.radius > 0 and self.table.dim + 2 <= WIDEST[self.index.kind]

    @property
    def middle(self) -> float:
        """What is taken off every bias, as a number that PostgreSQL's real holds."""
        return float(np.float32(self.encoding.middle))

    @property
    def distance(self) -> str:
        """Minus (score + bias - middle), with a place for the query [q; 1/c; 0 ...]."""
        return f"{self.whole} <#> %b::{self.index.kind}"

    @property
    def whole(self) -> str:
        """The expression itself."""
        kind = self.index.kind
        vector = self.session.quoted(self.table.column)
        if kind != self.table.kind:
            vector = f"{vector}::{kind}"
        if self.unit:
            vector = f"l2_normalize({vector})"
        behind = [self._bias, *([self._filler(vector)] if self.filled else [])]
        behind += ["0"] * (self.width - self.table.dim - len(behind))
        return f"(({vector} || ARRAY[{', '.join(behind)}]::real[]::{kind})::{kind}({self.width}))"

    @property
    def _bias(self) -> str:
        bias = f"COALESCE({self.session.quoted(self.column)}, 0) - '{self.middle!r}'::real"
        return bias if self.encoding.scale == 1 else f"({bias}) * '{self.encoding.scale!r}'::real"

    def _filler(self, vector: str) -> str:
        squares = "1" if self.unit else f"-({vector} <#> {vector})"
        rest = f"'{self.encoding.radius**2!r}'::float8 - {squares} - power(({self._bias})::float8, 2)"
        return f"sqrt(greatest({rest}, 0))"

    def queries(self, queries: FloatArray) -> FloatArray:
        """[q; 1/c; 0 ...] (query, width)"""
        return replace(self.encoding, width=self.width, unit=self.unit).queries(queries)

    @property
    def over(self) -> str:
        """The index as it should be: of the kind and with the options of the index over the vectors alone."""
        options = f" WITH ({', '.join(self.index.options)})" if self.index.options else ""
        return f"{self.index.method} ({self.whole} {self.index.kind}_ip_ops){options}"

    def built(self) -> bool:
        """Whether the index is there and as it should be."""
        there = self.session.rows(_THERE, (f"unhub: {self.over}", self.table.oid, f"{self.column}{SUFFIX}"))
        return bool(there and there[0][0])

    def clear(self) -> None:
        """Takes away an index of that name, which would only make writing slower; one over our column is ours."""
        name = f"{self.column}{SUFFIX}"
        there = self.session.rows(_OVER_COLUMN, (self.table.oid, self.column, self.table.schema, name))
        if there and not there[0][0]:
            raise InputError(f"{self.session.address}: there is a {name} that unhub did not make; rename it.")
        self._run(f"DROP INDEX {self._beside} IF EXISTS {self._named}")

    def build(self) -> None:
        """Builds the index, beside the running work where PostgreSQL can."""
        quoted = self.session.quoted
        name, of = quoted(f"{self.column}{SUFFIX}"), quoted(self.table.schema, self.table.name)
        self._run(
            f"CREATE INDEX {self._beside} {name} ON {of} USING {self.over}",
            f"COMMENT ON INDEX {self._named} IS {self.session.literal(f'unhub: {self.over}')}",
        )

    @property
    def _beside(self) -> str:
        return "" if self.table.partitioned else "CONCURRENTLY"

    @property
    def _named(self) -> str:
        return self.session.quoted(self.table.schema, f"{self.column}{SUFFIX}")

    def _run(self, *statements: str) -> None:
        seconds = round(PATIENCE * self.session.timeout)
        with self.session.patient(seconds), self.session.connect() as live:
            live.execute(f"SET lock_timeout = '{seconds}s'")
            for each in statements:
                live.execute(each, ())
