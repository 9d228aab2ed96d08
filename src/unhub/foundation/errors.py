"""The errors that unhub raises on purpose: values with the facts, from which each door makes one sentence."""

from __future__ import annotations

from unhub.foundation.safe_text import printable
from unhub.foundation.wording import Door, argument, in_python, spoken


class _Sentence:
    """A message that is one sentence; what is not printable in it is escaped."""

    def sentence(self, door: Door = in_python) -> str:
        """What happened and what to do, in the words of a door: Python, the command line, an experiment file."""
        return printable(spoken(super().__str__(), door))

    def __str__(self) -> str:
        return self.sentence()


class UnhubError(_Sentence, Exception):
    """Any error that unhub raises on purpose."""


class InputError(UnhubError, ValueError):
    """Input that cannot be used.

    ``InputError(argument, came, advice)``: the argument's Python name, what came (it follows the name, "is 0.5, ..."),
    and what to do. Where no argument is at fault, as with the contents of a file, one sentence alone:
    ``InputError(sentence)``. Other arguments are named by ``wording.argument`` and ``wording.setting``.

    >>> error = InputError("tau", "is -1", "give a positive number")
    >>> print(error)
    tau is -1; give a positive number.
    >>> error.argument, error.came, error.advice
    ('tau', 'is -1', 'give a positive number')
    """

    def __init__(self, first: str | None, came: str | None = None, advice: str = "") -> None:
        self.argument = None if came is None else first
        self.came = str(first) if came is None else came
        self.advice = advice
        subject = "" if self.argument is None else f"{argument(self.argument)} "
        end = "" if came is None else f"; {advice}{'' if advice.endswith('?') else '.'}" if advice else "."
        super().__init__(f"{subject}{self.came}{end}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str | None, ...]]:
        parts = (self.came,) if self.argument is None else (self.argument, self.came, self.advice)
        return type(self), parts


class MissingDependencyError(UnhubError, ImportError):
    """An optional package is not installed; the message has the pip command."""


class StoreError(UnhubError):
    """A vector store that does not answer, or not as it should: the message names it, what it said and what to do."""


class UnhubWarning(_Sentence, UserWarning):
    """Something that works but is probably not what was meant."""
