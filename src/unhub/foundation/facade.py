"""What every public function has in common: a mistyped argument is answered, and notes become warnings."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from unhub.foundation.errors import InputError, UnhubWarning

P = ParamSpec("P")
T = TypeVar("T")


def facade(function: Callable[P, T], more: Callable[[], list[str]] = list, usual: Iterable[str] = ()) -> Callable[P, T]:
    """The function; a keyword that it does not have is an error with the name that was probably meant.

    So are more positional arguments than it takes: arrays go by name.

    more: the names that a ``**keyword`` parameter of the function takes. usual: most of them, known without a call.
    """
    signature = dict(inspect.signature(function).parameters)
    title = function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")
    takes_more = any(each.kind is each.VAR_KEYWORD for each in signature.values())
    arguments = [name for name, each in signature.items() if each.kind is not each.VAR_KEYWORD]
    by_position = [name for name in arguments if signature[name].kind is not inspect.Parameter.KEYWORD_ONLY]
    owner = by_position[0] if by_position[:1] in (["self"], ["cls"]) else None
    common = {*arguments, *(usual if takes_more else ())}

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        if len(args) > len(by_position):
            takes = " and ".join(name for name in by_position if name != owner) or "nothing"
            named = next((name for name in ("targets", "scores", *arguments) if name in arguments), "")
            raise InputError(f"{title} takes {takes} by position; give the rest by name, such as {named}=...")
        for name in kwargs.keys() - common:
            known = [each for each in arguments if each != owner] + (more() if takes_more else [])
            if name not in known:
                plural = re.sub("ys?$", "ies", name)  # query_ids is nearer to querys than queries is
                near = [plural] if plural in known else difflib.get_close_matches(name, known, 1, cutoff=0.5)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}."
                raise InputError(f"{title} has no argument {name}; {hint}")
        return function(*args, **kwargs)

    return checked


def warn(notes: Iterable[str], *, stacklevel: int = 4) -> None:
    """Shows each note once, as a warning at the line that called the function decorated by ``facade``."""
    for note in dict.fromkeys(notes):
        warnings.warn(UnhubWarning(note), stacklevel=stacklevel)
