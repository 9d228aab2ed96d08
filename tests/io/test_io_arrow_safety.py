"""Extension types in parquet and Arrow files are read as what they store; none of them runs code."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from unhub.io import open_rows

pa = pytest.importorskip("pyarrow")


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark) -> None:
        self.mark = str(mark)

    def __reduce__(self):
        return open, (self.mark, "w")


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ipc"])
def test_a_pickled_extension_type_is_not_unpickled(tmp_path, ending):
    """Under this name pyarrow up to 14.0.0 unpickled what the file says (CVE-2023-47248)."""
    storage = pa.list_(pa.float32(), 2)
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Trap(tmp_path / "ran")),
    }
    schema = pa.schema([pa.field("v", storage, metadata=metadata)])
    table = pa.table([pa.array([[1, 2], [3, 4]], storage)], schema=schema)
    path = tmp_path / f"x.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with (pa.ipc.new_file if ending == "arrow" else pa.ipc.new_stream)(path, schema) as file:
            file.write_table(table)
    np.testing.assert_array_equal(open_rows(path, name="targets")[:], [[1, 2], [3, 4]])
    assert not (tmp_path / "ran").exists()
