"""The demonstration from end to end, on its real data and with its real encoder."""

import dataclasses
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import unhub
import unhub.io
from unhub.api.verdict import given_verdict, judge
from unhub.demo import clipart, emoji, outputs
from unhub.demo import run as demo_run
from unhub.demo.evaluation import BANK_METHODS, advice
from unhub.demo.outputs import save_outputs
from unhub.demo.run import PAGE_FOLDER, page_hint, run
from unhub.foundation.errors import InputError
from unhub.metrics import Interval

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the emoji demonstration prints, gives back and leaves behind."""
    folder = tmp_path_factory.mktemp("demo")
    screen = io.StringIO()
    summary = run("emoji", output=folder / "out", console=Console(file=screen, width=200), words=["etwas zu essen"])
    return screen.getvalue(), summary, folder / "out"


def test_it_goes_through_every_step(shown):
    text, _, _ = shown
    for step in range(1, 7):
        assert f"\n{step}. " in text
    assert "etwas zu essen" in text


def test_every_bank_method_is_judged_with_an_interval(shown):
    _, summary, _ = shown
    assert set(summary["test"]["methods"]) == set(BANK_METHODS)
    for name in BANK_METHODS:
        low, high = summary["test"]["intervals"][name]["R@1"]
        assert low <= summary["test"]["methods"][name]["R@1"] <= high
        assert not summary["test"]["details"][name]["transductive"]


def test_retrieval_gets_better_and_fairer(shown):
    _, summary, _ = shown
    methods = summary["test"]["methods"]
    assert summary["verdict"]["decision"] in ("apply", "apply weaker")
    assert summary["verdict"]["test"]["low"] > 2
    chosen = methods[summary["verdict"]["method"]]
    assert chosen["R@1"] > methods["none"]["R@1"] + 3
    assert chosen["skew@10"] < methods["none"]["skew@10"] / 2
    assert summary["transductive"]["transductive"]


def test_the_readme_says_what_the_demo_shows(shown):
    """One method's temperature can tip over on another machine's rounding, so a stale table is one off by a point."""
    _, summary, _ = shown
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    rows = [summary["test"]["methods"][name] for name in ("none", "is", "sn", "dbsn")]
    rows.append(summary["transductive"]["methods"]["sn"])
    for title, metric in (("R@1", "R@1"), ("R@10", "R@10"), (r"skew@10 \(0 is fair\)", "skew@10")):
        written = re.search(rf"^\| {title} \|(.*)\|$", readme, flags=re.MULTILINE)
        numbers = [float(cell.strip(" *")) for cell in written[1].split("|")]
        assert [row[metric] for row in rows] == pytest.approx(numbers, abs=1.0)


def test_unseen_targets_are_served_by_the_saved_potentials(shown):
    _, summary, _ = shown
    assert summary["extension"]["largest_gap"] < 1e-5
    assert summary["extension"]["found_first"] >= summary["extension"]["queries"] / 2


def test_what_it_keeps_can_be_used(shown):
    _, summary, folder = shown
    assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == json.loads(json.dumps(summary))
    correction = unhub.load(folder / "emoji.unhub", targets=folder / "targets.npy")
    hits = correction.search(folder / "queries.npy", k=1)
    right = (hits.rows[:, 0] == np.load(folder / "relevant.npy")).mean()
    assert 100 * right == pytest.approx(summary["test"]["methods"][correction.method.name]["R@1"], abs=0.2)
    assert correction.verdict.to_dict().items() <= summary["verdict"].items()
    assert correction.strength == summary["strengths"][correction.method.name]
    recent = np.load(folder / "recent.npy")
    assert unhub.guard(correction, recent=recent).sentence == correction.verdict.sentence


def test_recent_queries_are_in_no_other_part(shown):
    _, summary, folder = shown
    recent, *others = (
        {row.tobytes() for row in np.load(folder / f"{name}.npy")} for name in ("recent", "query_bank", "queries")
    )
    assert len(recent) == 200
    assert not any(recent & each for each in others)
    assert summary["verdict"]["evidence"][1]["queries"] == 200


def test_the_verdict_is_printed_before_any_test_query_is_judged(shown):
    text, summary, _ = shown
    assert text.index("Supported strength:") < text.index("\n3. ")
    assert text.index("On the test queries, which the guard has not seen") > text.index("\n3. ")
    assert summary["verdict"]["checked"] == ["noise", "mismatch"]


def test_the_commands_it_offers_run_as_they_stand(shown, tmp_path):
    text, _, _ = shown
    commands = re.findall(r"^ {4}(\S*unhub .*)$", text, flags=re.MULTILINE)
    assert [shlex.split(command)[1] for command in commands] == ["serve", "check", "fit", "guard", "evaluate"]
    for command in commands[1:]:
        done = subprocess.run(
            [sys.executable, "-m", "unhub", *shlex.split(command)[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in ((0, 3) if " guard " in command else (0,)), done.stderr


def test_it_writes_a_report_with_its_texts(shown):
    text, summary, folder = shown
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"{folder}/report.html" in text
    assert len(page.encode()) < 5_000_000
    inside = json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])
    assert inside["verdict"]["kind"] == "use"
    assert f"{summary['verdict']['test']['R@1']:+.1f} points of R@1" in inside["verdict"]["sentence"]
    assert inside["noun"] == "emoji"
    shown_there = {
        line["label"]: line["values"]["R@1"] for line in inside["table"]["lines"] if not line["transductive"]
    }
    for name, value in shown_there.items():
        assert value == pytest.approx(summary["test"]["methods"][name]["R@1"], abs=0.2)
    assert inside["hubs"][0]["name"] in (folder / "targets.txt").read_text(encoding="utf-8")
    assert inside["card"]["command"] == f"unhub demo emoji --language de -o {folder}"


def test_the_page_that_it_offers_can_be_opened(shown):
    from unhub.analysis.session import Session

    text, _, folder = shown
    command = re.search(r"^ {4}\S*unhub serve (.*)$", text, flags=re.MULTILINE)[1]
    path, *flags = shlex.split(command)
    given = {flag[2:].replace("-", "_"): value for flag, value in zip(flags[::2], flags[1::2], strict=True)}
    sample = Session.open(path, **given).sample("search")
    assert sample.judged
    assert sample.queries.names[0] == (folder / "queries.txt").read_text(encoding="utf-8").splitlines()[0]
    assert sample.banks["query bank"].names is not None


def test_drawings_are_kept_as_files_called_by_their_ids(tmp_path):
    run("clipart", output=tmp_path / "out", console=Console(file=io.StringIO(), width=160))
    names = (tmp_path / "out" / "targets.ids.txt").read_text(encoding="utf-8").splitlines()
    assert {path.stem for path in (tmp_path / "out" / "media").iterdir()} == set(names)
    assert 'class="thumb"' in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_it_runs_where_the_packages_of_the_report_are_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr("unhub.demo.run.can_report", lambda: False)
    screen = io.StringIO()
    run("clipart", output=tmp_path / "out", console=Console(file=screen, width=160))
    assert "pip install 'unhub[report]'" in screen.getvalue()
    assert not (tmp_path / "out" / "report.html").exists()


def test_an_unknown_demo_lists_those_that_exist():
    with pytest.raises(InputError, match="there is no demo 'films'; there are emoji, clipart"):
        run("films", console=Console(file=io.StringIO()))


def interval(low, high):
    return Interval((low + high) / 2, low, high, 0.95, 1000, 0)


def test_the_test_queries_confirm_the_verdict_or_not():
    apply = given_verdict(1.0)
    assert "R@1 changes by +6.0 points (95% interval +4.0 to +8.0)" in advice(apply, interval(4, 8))
    assert advice(apply, interval(4, 8)).endswith("+8.0).")
    assert "the guard looks for harm and does not promise a gain" in advice(apply, interval(-1, 2))
    assert advice(apply, interval(-5, -1)).endswith("The guard was wrong here.")
    assert advice(judge(()), interval(0, 0)).startswith("Nothing is served")


def test_a_refused_correction_is_shown_at_full_strength_and_saved_refused(tmp_path, monkeypatch):
    """Recent queries of another kind: the guard refuses, and what is saved serves nothing."""
    data = clipart.load()
    turned = np.random.default_rng(0).permutation(data.dev.queries.shape[1])
    strangers = dataclasses.replace(data, dev=dataclasses.replace(data.dev, queries=data.dev.queries[:, turned]))
    monkeypatch.setitem(demo_run.SETS, "clipart", lambda language: strangers)
    screen = io.StringIO()
    with pytest.warns(unhub.UnhubWarning, match="REFUSE"):
        summary = run("clipart", output=tmp_path, console=Console(file=screen, width=160))
    assert summary["verdict"]["decision"] == "refuse"
    assert "use full strength all the same" in screen.getvalue()
    assert not unhub.load(tmp_path / "clipart.unhub").verdict.served
    assert summary["test"]["methods"]["dbsn"]["R@1"] == summary["test"]["methods"]["none"]["R@1"]


def test_clipart_runs_without_an_encoder_of_texts():
    screen = io.StringIO()
    summary = run("clipart", console=Console(file=screen, width=160))
    assert set(summary["test"]["methods"]) == set(BANK_METHODS)
    assert "Every method" in screen.getvalue()


def test_what_is_left_of_two_runs_is_not_taken_for_one(shown, tmp_path):
    output = tmp_path / "out"
    shutil.copytree(shown[2], output)
    correction = unhub.load(output / "emoji.unhub")
    (output / "queries.npy").unlink()
    (output / "queries.npy").mkdir()  # the second run ends here, with targets of its own
    with pytest.raises(InputError, match="it is a folder"):
        save_outputs(clipart.load(), correction, {}, output)
    assert not (output / "targets.ids.txt").exists()
    assert unhub.io.open_rows(output / "targets.npy", name="targets").ids is None
    with pytest.raises(InputError, match="it is a folder"):
        save_outputs(emoji.load(), correction, {}, output)
    with pytest.raises(InputError, match=r"there is no file .*emoji\.unhub"):
        unhub.load(output / "emoji.unhub")


def test_a_picture_is_replaced_whole(tmp_path):
    """Whoever reads the old one meanwhile has the old one: it is not written over."""
    old, held = tmp_path / "media" / "a.webp", tmp_path / "held.webp"
    old.parent.mkdir()
    old.write_bytes(b"the old picture")
    os.link(old, held)
    outputs._pictures(old.parent, ["a"])
    assert (held.read_bytes(), old.read_bytes()[:4]) == (b"the old picture", b"RIFF")


def test_make_page_is_named_where_it_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert page_hint(PAGE_FOLDER) == "pip install 'unhub[serve]'"
    (tmp_path / "Makefile").touch()
    assert page_hint(PAGE_FOLDER) == "make page runs this"
    assert page_hint(tmp_path / "elsewhere") == "pip install 'unhub[serve]'"
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert f"HERE = {PAGE_FOLDER}\n" in makefile
