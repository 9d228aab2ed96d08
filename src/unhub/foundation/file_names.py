"""Names of data as parts of file names."""

import re


def slug(name: str) -> str:
    """A name as a part of a file's: letters, digits and lines, in any script.

    >>> slug("val & val"), slug("sparse_k(k=1)"), slug("train & -"), slug("文 → 图")
    ('val_val', 'sparse_k_k_1', 'train', '文_图')
    """
    return re.sub(r"[^\w-]+", "_", name).strip("_-") or "unnamed"


def on_another_machine(path: str) -> bool:
    """Whether a path names its machine, which Windows would log in to.

    >>> [on_another_machine(path) for path in (r"\\\\host\\share", "//host/share", "/data/a.npy", "a.npy")]
    [True, True, False, False]
    """
    return path.replace("\\", "/").startswith("//")
