"""Text that pdflatex prints as it is, with the fonts that every installation has."""

from __future__ import annotations

import itertools
import re
import unicodedata

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
    "[": "{[}",  # behind a line's end it would be the space to leave
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
"""marks that the oldest font encoding has; others are left out"""
_BELOW = "dcb"


def escape(text: str) -> str:
    r"""Text for LaTeX: special signs and accents as commands, letters without a command by their code points.

    >>> escape("50 % of R_1"), escape("Zürich"), escape("数据")
    ('50 \\% of R\\_1', 'Z\\"{u}rich', '{[}U+6570 U+636E]')
    """
    letters = re.findall(r".[\u0300-\u036f]*", unicodedata.normalize("NFC", " ".join(text.split())))
    seen = [each for each in letters if unicodedata.category(each[0]) not in ("Cc", "Cf")]
    made = ""
    for known, run in itertools.groupby(seen, key=_known):
        if known:
            made += "".join(_set(each) for each in run)
        else:
            made += "{[}" + " ".join(f"U+{ord(sign):04X}" for each in run for sign in each) + "]"
    return re.sub("-(?=-)", "-{}", made)  # two in a row would be a longer dash


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


def _set(letter: str) -> str:
    base, marks = _parts(letter)
    made = "".join(_COMMANDS.get(sign, sign) for sign in base)
    for accent in (_ACCENTS[mark] for mark in marks if mark in _ACCENTS):
        made = r"\i" if made == "i" and accent not in _BELOW else made
        made = rf"\{accent}{{{made}}}"
    return made
