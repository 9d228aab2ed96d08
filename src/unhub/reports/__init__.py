"""Tables, figures and the one-file HTML report: draws values, runs nothing."""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """``unhub.report`` is a function to users; once a module below is imported, that name is this package."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from unhub.reports.report import report

        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
