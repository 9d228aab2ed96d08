"""Text for LaTeX: every special sign, letters with marks, and letters that it has no command for."""

import pytest

from unhub.foundation.tables import escape


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("R_1 & 50% #2 $x {y}", r"R\_1 \& 50\% \#2 \$x \{y\}"),
        ("a\\b~c^d", r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d"),
        ("<b>|[k]", r"\textless{}b\textgreater{}\textbar{}{[}k]"),
        ("Zürich, Ångström, Citroën", r"Z\"{u}rich, \r{A}ngstr\"{o}m, Citro\"{e}n"),
        ("naïve Łódź ǿ", r"na\"{\i}ve \L{}\'{o}d\'{z} \'{\o{}}"),
        ("ąę", "ae"),
        ("Spaß – “so” …", r"Spa\ss{} \textendash{} ``so'' \ldots{}"),
        ("a--b", "a-{}-b"),
        ("τ = 0.02, Δ, µ", r"$\tau$ = 0.02, $\Delta$, $\mu$"),
        ("t → v", r"t $\rightarrow$ v"),
        ("ＣＬＩＰ ﬁne²", "CLIP fine2"),
        ("数据集 v2", "{[}U+6570 U+636E U+96C6] v2"),
        ("ok 😀", "ok {[}U+1F600]"),
        ("two\nlines\tand  spaces\u00a0", "two lines and spaces"),
        ("no\x00thing\u200b\x1b", "nothing"),
        ("", ""),
    ],
)
def test_special_letters(text, wanted):
    assert escape(text) == wanted


def test_a_letter_and_its_mark_are_one():
    assert escape("e\u0301") == escape("é") == r"\'{e}"
