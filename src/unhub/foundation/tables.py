"""A table as a value, and its renderers: aligned text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """The text of one cell, whether it is the best of its column, and a mark that follows it."""

    text: str
    best: bool = False
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.mark}".rstrip()


@dataclass(frozen=True)
class Table:
    """A title, column headings, rows of cells and notes; the columns in ``left`` hold words, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    left: tuple[int, ...] = (0, 1)


def text(table: Table) -> str:
    """Aligned columns under the title, with the notes below."""
    heading, *rows = aligned([table.columns, *([str(cell) for cell in row] for row in table.rows)], table.left)
    title = [table.title] if table.title else []
    return "\n".join([*title, heading, "-" * len(heading), *rows, *(f"  {note}" for note in table.notes)])


def markdown(table: Table) -> str:
    """A Markdown table; the best of each column is bold."""
    ends = ["---" if at in table.left else "---:" for at in range(len(table.columns))]
    rows = [[f"**{cell.text}** {cell.mark}".rstrip() if cell.best else str(cell) for cell in row] for row in table.rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in (table.columns, ends, *rows))
    return "\n".join([table.title, "", body, "", *(f"*{note}*  " for note in table.notes)]).rstrip()


def latex(table: Table) -> str:
    """A tabular for booktabs; the best of each column is bold, and title and notes are comments on top."""
    rows = [
        [rf"\textbf{{{escape(cell.text)}}}" if cell.best else escape(str(cell)) for cell in row] for row in table.rows
    ]
    lines = [map(escape, table.columns), r"\midrule", *rows]
    places = "".join("l" if at in table.left else "r" for at in range(len(table.columns)))
    return "\n".join([*(f"% {line}" for line in (table.title, *table.notes)), tabular(places, lines)])


def tabular(places: str, lines: Iterable[Iterable[object] | str], *, top: Sequence[str] = (r"\toprule",)) -> str:
    """A LaTeX tabular of lines that are cells, already escaped, or a rule between cells."""
    body = (line if isinstance(line, str) else " & ".join(map(str, line)) + r" \\" for line in lines)
    return "\n".join([rf"\begin{{tabular}}{{{places}}}", *top, *body, r"\bottomrule", r"\end{tabular}"])


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV with a heading."""
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows([columns, *rows])
    return sink.getvalue()


def percent(share: float) -> str:
    """A share as text.

    >>> percent(0.088), percent(0.3), percent(0.01)
    ('8.8%', '30%', '1%')
    """
    return f"{100 * share:.0f}%" if share >= 0.095 else f"{100 * share:.1f}".removesuffix(".0") + "%"


def aligned(lines: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Lines of equal columns: words to the left, numbers to the right.

    >>> aligned([["a", "n"], ["bb", "10"]], left=(0,))
    ['a    n', 'bb  10']
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            each.ljust(width) if at in left else each.rjust(width)
            for at, (each, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_COMMANDS = {
    "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "[": "{[}",  # after a line break it would be an option
    "–": r"\textendash{}", "—": r"\textemdash{}", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}",
    "×": r"$\times$", "±": r"$\pm$", "→": r"$\rightarrow$", "←": r"$\leftarrow$", "↔": r"$\leftrightarrow$",
    "≤": r"$\leq$", "≥": r"$\geq$", "∞": r"$\infty$", "°": r"$^\circ$", "·": r"$\cdot$", "−": "$-$",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}",
    "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th",
    **{letter: rf"$\{name}$" for letter, name in _GREEK.items()},
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip
"""marks that the OT1 font encoding has; others are left out"""
_BELOW = "dcb"


def escape(text: str) -> str:
    r"""Text for LaTeX: special signs and accents as commands, letters without a command by their code points.

    >>> escape("50 % of R_1"), escape("Zürich"), escape("数据")
    ('50 \\% of R\\_1', 'Z\\"{u}rich', '{[}U+6570 U+636E]')
    """
    letters = re.findall(r".[\u0300-\u036f]*", unicodedata.normalize("NFC", " ".join(text.split())))
    visible = [each for each in letters if unicodedata.category(each[0]) not in ("Cc", "Cf")]
    escaped = ""
    for known, run in itertools.groupby(visible, key=_known):
        if known:
            escaped += "".join(_command(each) for each in run)
        else:
            escaped += "{[}" + " ".join(f"U+{ord(sign):04X}" for each in run for sign in each) + "]"
    return re.sub("-(?=-)", "-{}", escaped)  # two in a row would be a longer dash


def _parts(letter: str) -> tuple[str, str]:
    """A letter apart from its marks; one of many shapes, such as the wide A, as the plain ones."""
    if letter in _COMMANDS:
        return letter, ""
    apart = unicodedata.normalize("NFKD", letter)
    marks = "".join(sign for sign in apart if unicodedata.combining(sign))
    return "".join(sign for sign in apart if not unicodedata.combining(sign)), marks


def _known(letter: str) -> bool:
    base, _ = _parts(letter)
    return bool(base) and all(" " <= sign <= "~" or sign in _COMMANDS for sign in base)


def _command(letter: str) -> str:
    base, marks = _parts(letter)
    command = "".join(_COMMANDS.get(sign, sign) for sign in base)
    for accent in (_ACCENTS[mark] for mark in marks if mark in _ACCENTS):
        command = r"\i" if command == "i" and accent not in _BELOW else command
        command = rf"\{accent}{{{command}}}"
    return command
