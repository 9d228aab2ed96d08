"""``unhub guard``, and what the other commands do with the verdict on a correction."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import pytest

import unhub
from unhub.cli.failures import REFUSED, WEAKER

from .conftest import RECENT, TARGETS, Run, environment, plain, script, unit

URL = "faiss://photos.faiss"
OLD = Path(__file__).parents[1] / "api" / "files"
FIT = split("fit --targets targets.npy --query-bank bank.npy")
GUARD = split("guard c.unhub --recent recent.npy")
AGAINST = split("guard c.unhub --recent elsewhere.npy")


@pytest.fixture
def fitted(run: Run) -> None:
    assert run(*FIT, "-o", "c.unhub").code == 0


@pytest.fixture
def refused(run: Run, fitted: None) -> str:
    """The sentence of a correction that was refused."""
    assert run(*AGAINST, "-o", "c.unhub").code == REFUSED
    return unhub.load("c.unhub").verdict.sentence


# -- the command


def test_the_verdict_is_that_of_the_library_and_decides_the_exit_code(run: Run, fitted: None) -> None:
    correction = unhub.load("c.unhub")
    for words, evidence, code in (
        (GUARD, {"recent": "recent.npy"}, 0),
        (AGAINST, {"recent": "elsewhere.npy"}, REFUSED),
        ([*GUARD, "--judged", "judged.tsv"], {"recent": "recent.npy", "judged": "judged.tsv"}, 0),
    ):
        verdict = unhub.guard(correction, **evidence)
        ended = run(*words)
        assert (ended.code, ended.err) == (code, "")
        assert ended.out.startswith("\n".join(verdict.sentences) + "\n")
        assert plain(ended.out)
        found = json.loads(run(*words, "--json").out)
        assert found["verdict"] == verdict.to_dict()
        assert found["strength"] == verdict.strength
        assert found["previous"] == {"decision": "apply weaker", "strength": 0.84}
    assert unhub.load("c.unhub").verdict == correction.verdict, "nothing is saved without -o"


def test_a_weak_bank_is_exit_code_three(run: Run, folder: Path) -> None:
    np.save("few.npy", np.load("bank.npy")[:24])
    run(*split("fit --targets targets.npy --query-bank few.npy --strength 1 -o c.unhub"))
    ended = run(*GUARD)
    assert ended.code == WEAKER
    assert ended.out.startswith("APPLY WEAKER at strength 0.")
    assert "Until now it was: APPLY at strength 1." in ended.out
    assert "run the same with -o c.unhub to save this verdict; nothing was saved" in ended.out


def test_the_verdict_is_saved_in_place_or_elsewhere(run: Run, fitted: None, folder: Path) -> None:
    before = unhub.load("c.unhub")
    ended = run(*GUARD, "-o", "judged.unhub")
    after = unhub.load("judged.unhub")
    assert f"wrote judged.unhub: the same bias, served at strength {after.strength:.2g}" in ended.out
    assert after.strength > before.strength
    assert unhub.load("c.unhub").verdict == before.verdict
    assert run(*AGAINST, "-o", "c.unhub").out.endswith("replaced c.unhub: the same bias, not served\n")
    now = unhub.load("c.unhub")
    assert (now.verdict.decision, now.strength) == ("refuse", 0)
    np.testing.assert_array_equal(now.bias, before.bias)
    assert not list(folder.glob("c.unhub?*")) or [path.name for path in folder.glob("c.unhub?*")] == ["c.unhub.lock"]
    assert run(*GUARD, "-o", "c.unhub").code == 0
    assert unhub.load("c.unhub").verdict == after.verdict


def test_a_file_of_the_earlier_version_is_judged(run: Run, folder: Path) -> None:
    arrays = np.load(OLD / "before_dataset.npz")
    np.save("old_targets.npy", arrays["targets"])
    rng = np.random.default_rng(0)
    asked = arrays["queries"][rng.integers(0, 3, 60)]
    np.save("old_recent.npy", unit(asked + 0.1 * rng.normal(size=asked.shape)))
    for name in ("is", "sn", "dbsn", "dualis"):
        (folder / "c.unhub").write_bytes((OLD / f"before_dataset_{name}.unhub").read_bytes())
        words = split("guard c.unhub --recent old_recent.npy --targets old_targets.npy")
        ended = run(*words, "-o", "c.unhub", "--json")
        found = json.loads(ended.out)
        assert found["previous"] == {"decision": "apply", "strength": 1}
        assert ended.code == {"apply": 0, "apply weaker": WEAKER, "refuse": REFUSED}[found["verdict"]["decision"]]
        assert [each["source"] for each in found["verdict"]["evidence"]] == ["recent"]
        assert unhub.load("c.unhub").verdict.to_dict() == found["verdict"]


def test_a_correction_of_scores_is_judged_by_scores(run: Run, folder: Path) -> None:
    np.save("recent_scores.npy", np.load("recent.npy") @ np.load("targets.npy").T)
    run(*split("fit --scores bank_scores.npy -o m.unhub"))
    run(*FIT, "-o", "c.unhub")
    by_scores, by_vectors = run(*split("guard m.unhub --recent recent_scores.npy --json")), run(*GUARD, "--json")
    found, expected = (json.loads(each.out)["verdict"] for each in (by_scores, by_vectors))
    assert found["strength"] == pytest.approx(expected["strength"], abs=0.011)
    assert run(*split("guard m.unhub --recent recent.npy")).err == (
        "unhub: --recent has 16 columns, but there are 40 targets; give the scores of these queries with the gallery.\n"
    )


def test_a_gallery_in_a_store_is_named(run: Run, folder: Path) -> None:
    run("fit", "--targets", URL, "--query-bank", "bank.npy", "-o", "c.unhub")
    unnamed = run(*GUARD)
    assert unnamed.code == 2
    assert f"--targets faiss://{folder}/photos.faiss" in unnamed.err
    named = run(*GUARD, "--targets", URL, "--json")
    assert named.code == 0
    run(*FIT, "-o", "c.unhub")
    assert json.loads(named.out)["verdict"] == json.loads(run(*GUARD, "--json").out)["verdict"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "--recent is missing; give queries that are asked now, to judge the correction by."),
        (
            "--recent few.npy",
            "--recent has 49 queries, and fewer than 50 say nothing; give about 200.",
        ),
        (
            "--recent same.npy",
            "--recent has 1 different query that is not in the bank, and fewer than 50 say nothing; give about 200.",
        ),
        (
            "--recent again.npy",
            "--recent is the gallery itself: 80 of 80 vectors are targets, up to rounding; give queries that people "
            "ask now.",
        ),
        (
            "--recent recent.npy --judged halves.npy",
            "--judged must hold whole numbers, rows counted from 0, but came as float64 (first value: 0.5); convert it "
            "with .astype(int) if they are whole.",
        ),
        (
            "--recent recent.npy --judged nobody.npy",
            "--judged has 0 different judged queries that are not in the bank, and fewer than 20 say nothing; judge "
            "about 50.",
        ),
        ("--judged judged.tsv --recent bank.npy", None),
        ("--judged-queries recent.npy", "--judged-queries came without their right targets; give --judged too."),
        ("--recent nothing.npy", "--recent: there is no file 'nothing.npy'"),
        ("--recent ids.txt", "ids.txt"),
        ("--recent recent.npy -o c.npy", "-o c.npy has the ending '.npy'; this command writes .unhub."),
        ("--recent recent.npy -o recent.npy", "-o recent.npy has the ending '.npy'; this command writes .unhub."),
        ("--recent recent.npy --targets photos.faiss", "write it as faiss://photos.faiss"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    words: str, sentence: str | None, run: Run, fitted: None, folder: Path
) -> None:
    recent, targets = np.load("recent.npy"), np.load("targets.npy")
    np.save("few.npy", recent[:49])
    np.save("same.npy", np.repeat(recent[:1], 60, axis=0))
    np.save("again.npy", np.concatenate((targets, targets.astype(np.float16))).astype(np.float32))
    np.save("halves.npy", np.arange(RECENT) / 2 + 0.5)
    np.save("nobody.npy", np.full(RECENT, -1))
    before = (folder / "c.unhub").read_bytes()
    ended = run("guard", "c.unhub", *split(words))
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert (sentence or "raw clicks are not judgements") in ended.err
    assert (folder / "c.unhub").read_bytes() == before


def test_cron_has_no_terminal_and_no_input(fitted: None, folder: Path) -> None:
    for words, code in ((GUARD, 0), ([*AGAINST, "-o", "c.unhub"], REFUSED), (["guard", "c.unhub"], 2)):
        command = [*script(), *words]
        environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": environment().get("PYTHONPATH", ""), "HOME": str(folder)}
        ended = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command], cwd=folder, env=environ, capture_output=True, timeout=60
        )
        assert ended.returncode == code
        assert plain(ended.stdout.decode())
        assert (ended.stderr == b"") == (code != 2)


def test_a_broken_file_is_exit_code_two(run: Run, fitted: None, folder: Path) -> None:
    (folder / "c.unhub").write_bytes((folder / "c.unhub").read_bytes()[:-9])
    ended = run(*GUARD, "-o", "c.unhub")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)


# -- fit and evaluate


def test_fit_prints_the_verdict_and_what_to_do(run: Run, folder: Path) -> None:
    evidence: dict[str, Any] = {"recent": "recent.npy", "judged": "judged.tsv"}
    correction = unhub.fit("sn", targets="targets.npy", query_bank="bank.npy", **evidence)
    words = [*FIT, *split("--recent recent.npy --judged judged.tsv -o c.unhub")]
    assert "\n".join(correction.verdict.sentences) in run(*words).out
    found = json.loads(run(*words, "--json").out)
    assert found["verdict"] == correction.verdict.to_dict()
    assert found["strength"] == correction.strength == unhub.load("c.unhub").strength
    asked = [*FIT, *split("--judged judged.tsv --judged-queries recent.npy -o c.unhub --json")]
    assert [each["source"] for each in json.loads(run(*asked).out)["verdict"]["evidence"]] == ["bank", "judged"]


def test_a_refused_fit_is_written_and_says_what_to_collect(run: Run, folder: Path) -> None:
    words = split("fit --targets targets.npy --query-bank elsewhere.npy --recent recent.npy -o r.unhub")
    ended = run(*words)
    assert (ended.code, ended.err) == (0, "")
    assert "REFUSE: recent queries support a strength of 0.00, below 0.25; no correction is served.\n" in ended.out
    assert "The bank is unlike the queries that are asked now; collect a bank from current traffic. If" in ended.out
    assert "unhub guard r.unhub --recent RECENT.npy -o r.unhub" in ended.out
    assert "export" not in ended.out
    correction = unhub.load("r.unhub")
    assert correction.strength == 0
    assert np.ptp(correction.bias) > 0
    told = run(*words, "--json")
    assert json.loads(told.out)["verdict"]["decision"] == "refuse"
    assert told.err == f"unhub: note: {correction.verdict.sentence}\n"


def test_a_given_strength_is_served(run: Run, folder: Path) -> None:
    assert (
        "APPLY at strength 0.5, as given; nothing was checked." in run(*FIT, "--strength", "0.5", "-o", "c.unhub").out
    )
    run(*FIT, "--strength", "auto", "-o", "c.unhub")
    assert unhub.load("c.unhub").verdict.reason == "judged"
    assert run(*FIT, "--strength", "much", "-o", "c.unhub").err == (
        "unhub: --strength is 'much'; give 'auto' or a number from 0 (no correction) to 4 (1 is the bias as it is).\n"
    )


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("--popularity even", {}),
        ("--popularity own_log", {"own_log": True}),
        ("--own-log", {"own_log": True}),
        ("--popularity own_log --own-log", {"own_log": True}),
        (
            "--popularity clicks --clicks clicks.tsv",
            {"own_log": True, "target_prior": "clicks", "clicks": "clicks.tsv"},
        ),
        ("--target-prior clicks --clicks clicks.tsv", {"target_prior": "clicks", "clicks": "clicks.tsv"}),
        ("--duplicates weigh", {"duplicates": "weigh"}),
    ],
)
def test_the_situation_in_words_is_that_of_the_library(
    words: str, given: dict[str, Any], run: Run, folder: Path
) -> None:
    bank = np.load("bank.npy")
    np.save("bank.npy", np.concatenate((bank, bank[:30])))
    Path("clicks.tsv").write_text("".join(f"{row}\t{row % TARGETS}\n" for row in range(150)))
    more: dict[str, Any] = {"recent": "recent.npy", "judged": "judged.tsv"}
    expected = unhub.fit("sn", targets="targets.npy", query_bank="bank.npy", **more, **given)
    evidence = split("--recent recent.npy --judged judged.tsv --json")
    found = json.loads(run(*FIT, *split(words), *evidence, "-o", "c.unhub").out)
    assert (found["method"], found["verdict"]) == (expected.method.name, expected.verdict.to_dict())
    np.testing.assert_array_equal(unhub.load("c.unhub").bias, expected.bias)
    judged = split("evaluate --queries queries.npy --targets targets.npy --relevant diagonal --query-bank bank.npy")
    row = json.loads(run(*judged, *split(words), *evidence).out)["details"][expected.method.name]
    assert row["settings"]["strength"] == expected.strength


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--popularity evn", "--popularity is 'evn'; did you mean even?"),
        ("--popularity clicks", "--popularity is clicks, but there are none; give --clicks too."),
        ("--popularity even --own-log", "--popularity is even, but --own-log came too; leave one of them out."),
        ("--popularity even --clicks ids.txt", "--popularity is even, but --clicks came too; leave one of them out."),
        ("--popularity own_log --target-prior w.npy",
         "--popularity is own_log, but --target-prior came too; leave one of them out."),
        ("--popularity clicks --clicks ids.txt --target-prior w.npy",
         "--popularity is clicks, but --target-prior came too; leave one of them out."),
        ("--clicks ids.txt", "--clicks would not be used; pass --popularity clicks, or leave them out."),
        ("--target-prior clicks", "--target-prior is 'clicks', but there are none; give --clicks too."),
        ("--duplicates keep", "--duplicates is 'keep'; use 'drop' or 'weigh'."),
        ("--judged judged.tsv",
         "--judged says which targets are right, but not for which queries; give --recent, whose rows it names, or "
         "--judged-queries."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_conflicts_are_one_sentence(command: str, words: str, sentence: str, run: Run, folder: Path) -> None:
    first = [*FIT, "-o", "c.unhub"]
    if command == "evaluate":
        first = split("evaluate --queries queries.npy --targets targets.npy --relevant diagonal --query-bank bank.npy")
    ended = run(*first, *split(words))
    assert (ended.code, ended.out, ended.err) == (2, "", f"unhub: {sentence}\n")


def test_test_queries_do_not_choose_the_strength(run: Run, folder: Path) -> None:
    np.save("recent.npy", np.concatenate((np.load("recent.npy"), np.load("queries.npy")[:3])))
    words = split("evaluate --queries queries.npy --targets targets.npy --relevant diagonal --query-bank bank.npy")
    ended = run(*words, "--recent", "recent.npy")
    assert (ended.code, ended.err) == (
        2,
        "unhub: --recent holds 3 of the 40 test queries; take them out: what chooses the strength cannot also measure "
        "it.\n",
    )


def test_evaluate_serves_what_fit_serves(run: Run, folder: Path) -> None:
    words = split("--query-bank bank.npy --recent recent.npy --judged judged.tsv --json")
    run("fit", "--targets", "targets.npy", *words, "-o", "c.unhub")
    correction = unhub.load("c.unhub")
    asked = split(
        "evaluate --queries queries.npy --targets targets.npy --relevant diagonal --methods none,sn,capped_sn"
    )
    found = json.loads(run(*asked, *words).out)
    assert found["details"]["sn"]["settings"]["strength"] == correction.strength
    assert found["details"]["sn"]["verdict"]["decision"] == correction.verdict.decision
    saved = split(
        "evaluate --queries queries.npy --targets targets.npy --relevant diagonal --correction c.unhub --json"
    )
    assert json.loads(run(*saved).out)["methods"]["sn"] == found["methods"]["sn"]
    own = json.loads(run(*asked, *words, "--own-log").out)
    assert list(own["methods"]) == ["none", "capped_sn"]
    assert run(*saved, "--recent", "recent.npy").err == (
        "unhub: --recent belongs to a fit; a correction has its own; leave it out.\n"
    )


# -- search and extend


def test_search_says_once_that_the_scores_are_as_they_are(run: Run, refused: str) -> None:
    words = split("search c.unhub --queries queries.npy --k 3 --raw")
    ended = run(*words)
    assert ended.code == 0
    assert ended.err == f"unhub: note: the scores are as they are, without the correction. {refused}\n"
    rows = [line.split("\t") for line in ended.out.splitlines()[1:]]
    assert [row[2:4] for row in rows] == [row[4:6] for row in rows]
    forced = run(*words, "--force")
    assert forced.err == ""
    hits = unhub.load("c.unhub").at(1.0).search("queries.npy", 3)
    assert [line.split("\t")[2] for line in forced.out.splitlines()[1:]] == [str(each) for each in hits.ids.ravel()]
    assert forced.out != ended.out


def test_extend_gives_the_bias_and_says_what_to_do_with_it(run: Run, refused: str, folder: Path) -> None:
    words = split("extend c.unhub --targets new_targets.npy")
    ended = run(*words, "-o", "bias.csv")
    assert ended.err == f"unhub: note: these are at strength 1. Add nothing to the scores: {refused}\n"
    assert json.loads(run(*words, "--json").out)["strength"] == 0
    run(*GUARD, "-o", "c.unhub")
    strength = unhub.load("c.unhub").strength
    assert run(*words, "-o", "bias.csv").err == (
        f"unhub: note: these are at strength 1. Rank by score + {strength:.2g} * bias, as the verdict on this "
        "correction says.\n"
    )
    assert run(*words, "-o", "longer.unhub").err == ""
    assert unhub.load("longer.unhub").strength == strength


# -- stores


def test_a_refused_correction_is_not_exported_unless_forced(run: Run, folder: Path) -> None:
    run("fit", "--targets", URL, *split("--query-bank elsewhere.npy --recent recent.npy -o r.unhub"))
    verdict = unhub.load("r.unhub").verdict.sentence
    refusal = (
        f"unhub: the verdict on this correction is against serving it. {verdict} To serve it at full strength all the "
        "same, pass --force.\n"
    )
    before = {path.name for path in folder.iterdir()}
    for words in (
        ["export", "r.unhub", "--to", URL],
        ["extend", "r.unhub", "--store", URL],
        ["search", "r.unhub", "--queries", "queries.npy", "--store", URL],
    ):
        ended = run(*words)
        assert (ended.code, ended.out, ended.err) == (2, "", refusal)
    assert {path.name for path in folder.iterdir() if not path.name.endswith(".lock")} == before
    planned = run("export", "r.unhub", "--to", URL, "--dry-run")
    assert planned.code == 0
    assert f"note: an export stops here, unless you pass --force: {verdict}\n" in planned.out
    planned = run("export", "r.unhub", "--to", URL, "--dry-run", "--force")
    assert f"note: this export serves the bias at full strength all the same: {verdict}\n" in planned.out

    done = run("export", "r.unhub", "--to", URL, "--force")
    assert done.code == 0
    assert "self-test: " in done.out
    assert unhub.load("r.unhub").verdict.sentence == verdict
    found = run(*split(f"search r.unhub --queries queries.npy --k 3 --store {URL} --force"))
    assert found.err == ""
    exact = unhub.load("r.unhub", targets=URL).at(1.0).search("queries.npy", 3)
    assert [line.split("\t")[2] for line in found.out.splitlines()[1:]] == exact.ids.ravel().tolist()
    assert run("extend", "r.unhub", "--store", URL, "--force").out == (
        "0 new, 0 changed, 0 deleted\n"
        f"updated the exports too: {unhub.load('r.unhub').exports[-1].destination}\nr.unhub is up to date\n"
    )
    assert run("rollback", "r.unhub", "--to", URL).code == 0, "rollback needs no --force"
    assert sorted(path.name for path in folder.glob("*.faiss")) == ["photos.faiss"]


def test_a_verdict_that_changes_after_an_export_is_noticed(run: Run, folder: Path) -> None:
    run("fit", "--targets", URL, *split("--query-bank bank.npy -o c.unhub"))
    run("export", "c.unhub", "--to", URL)
    first = unhub.load("c.unhub").exports[-1]
    ended = run(*GUARD, "--targets", URL, "-o", "c.unhub")
    assert f"unhub export c.unhub --to faiss://{folder}/photos.faiss   (it serves the earlier strength)" in ended.out
    refreshed = run("extend", "c.unhub", "--store", URL)
    assert f"{first.destination} has another bias or strength than this correction has now" in refreshed.err
    assert run("export", "c.unhub", "--to", URL).code == 0
    assert unhub.load("c.unhub").exports[-1].destination != first.destination
    assert run("extend", "c.unhub", "--store", URL).err == ""
    with unhub.connect(URL, "c.unhub") as retriever:
        hits = retriever.search(np.load("queries.npy"), 3)
    exact = unhub.load("c.unhub", targets=URL).search("queries.npy", 3)
    assert hits.ids.astype(str).tolist() == exact.ids.tolist()
    np.testing.assert_allclose(hits.scores, exact.scores, atol=1e-5)

    ended = run(*AGAINST, "--targets", URL, "-o", "c.unhub")
    assert f"unhub rollback c.unhub --to faiss://{folder}/photos.faiss" in ended.out
    assert "What was exported before serves on until it is rolled back." in run("export", "c.unhub", "--to", URL).err
    assert run("rollback", "c.unhub", "--to", URL).code == 0
    assert sorted(path.name for path in folder.glob("*.faiss")) == ["photos.faiss"]


def test_recent_queries_are_counted(run: Run, fitted: None) -> None:
    assert f"{RECENT} recent queries" in run(*GUARD).out
