"""The API as a program sees it: its OpenAPI is true, and its numbers are those of ``unhub evaluate``."""

import json
import shlex
import time

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

import unhub
from unhub.cli import main

from .conftest import HOSTILE, serving

OPERATIONS = (
    "GET /api/about", "GET /api/history", "GET /api/view", "GET /api/targets", "GET /api/hub/{target}",
    "GET /api/changes", "GET /api/queries", "GET /api/compare/{query}", "POST /api/compare", "GET /api/map",
    "GET /api/media/{side}/{row}",
)  # fmt: skip


@pytest.fixture(scope="module")
def described(server):
    found = schemathesis.openapi.from_url(f"{server}/openapi.json")
    return {each.ok().label: each.ok() for each in found.get_all_operations()}


def test_every_address_is_described(described):
    assert sorted(described) == sorted(OPERATIONS)


FITTING, WRONG = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE


@pytest.mark.parametrize(
    ("operation", "mode"),
    [(each, FITTING) for each in OPERATIONS] + [(each, WRONG) for each in OPERATIONS[2:]],  # the first two take nothing
)
def test_every_answer_is_as_described(described, operation, mode):
    """Requests that fit the description and requests that do not: each answer has a status and a form it names.

    A text may fit and yet name a bank that is not there, which is answered with 400 and a sentence.
    """

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=described[operation].as_strategy(generation_mode=mode))
    def tried(case):
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    tried()


def ask(server, path, **values):
    answer = httpx.get(f"{server}{path}", params={name: value for name, value in values.items() if value is not None})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_there_is(server):
    about = ask(server, "/api/about")
    assert about["title"] == "Made up, model"
    assert [each["name"] for each in about["directions"]] == ["t2i", "i2t"]
    assert [each["name"] for each in about["directions"][0]["banks"]] == ["val", "test queries"]
    assert about["opening"]["method"] == "dbsn"
    labels = [each["label"] for each in about["directions"][0]["banks"][0]["methods"]]
    assert labels[:2] == ["none", "is"]
    assert "dbsn" not in [each["label"] for each in about["directions"][0]["banks"][1]["methods"]]
    assert not about["encoder"]


@pytest.mark.parametrize("method", ["is", "sn", "dbsn", "nnn", "dis"])
@pytest.mark.parametrize("direction", ["t2i", "i2t"])
def test_numbers_are_those_of_evaluate(server, experiment, method, direction):
    here = experiment.parent
    view = ask(server, "/api/view", method=method, direction=direction, k=10)
    found = unhub.evaluate(
        queries=here / "queries.npy", targets=here / "targets.npy", relevant=np.load(here / "relevant.npy"),
        query_bank=here / "bank_queries.npy", target_bank=here / "bank_targets.npy", methods=["none", method],
        direction="forward" if direction == "t2i" else "reverse", ties="optimistic", allow_empty=True,
        **({"tau": 0.1} if method != "nnn" else {}),
    )  # fmt: skip
    for line, row in zip(view["lines"], found.rows.values(), strict=True):
        for name in ("R@1", "R@5", "R@10", "MdR", "MnR", "skew@10", "antihub@10"):
            assert line["values"][name] == pytest.approx(row[name], abs=1e-4), name
    counts = np.bincount(found["none"].top[:, :10].ravel(), minlength=len(view["counts_before"]))
    assert view["counts_before"] == counts.tolist()


@pytest.mark.parametrize("direction", ["t2i", "i2t"])
def test_the_command_gives_the_numbers_again(server, experiment, capsys, direction):
    view = ask(server, "/api/view", method="sn", tau=0.07, strength=0.8, direction=direction)
    words = shlex.split(view["command"])
    assert words[:2] == ["unhub", "evaluate"]
    assert main([*words[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["methods"]["sn"]
    assert told["R@1"] == pytest.approx(view["lines"][1]["values"]["R@1"])
    assert told["MnR"] == pytest.approx(view["lines"][1]["values"]["MnR"], abs=1e-6)


def test_strength_nought_changes_nothing_and_more_changes_more(server):
    nought, half, whole = (ask(server, "/api/view", method="sn", strength=each) for each in (0, 0.5, 1))
    assert nought["counts_before"] == nought["counts_after"]
    assert (nought["better"], nought["worse"]) == (0, 0)
    assert half["bias"] == pytest.approx([each / 2 for each in whole["bias"]], abs=2e-6)


def test_the_headline_is_of_the_counts(server):
    view = ask(server, "/api/view", method="sn", k=1)
    before, after = (np.sort(view[f"counts_{each}"])[::-1] for each in ("before", "after"))
    assert sum(before) == sum(after) == 240
    assert view["headline"]["share_before"] == pytest.approx(before[:1].sum() / 240)
    assert view["headline"]["share_after"] == pytest.approx(after[:1].sum() / 240)
    assert view["headline"]["sentence"].startswith("1 of 120 images takes ")


def test_a_hub_card_adds_up(server):
    view = ask(server, "/api/view", method="sn", k=5)
    hub = int(np.argmax(view["counts_before"]))
    card = ask(server, f"/api/hub/{hub}", method="sn", k=5)
    for when in ("before", "after"):
        among = [each for each in card["reached"] if each[when] is not None and each[when] <= 5]
        assert card[f"count_{when}"] == view[f"counts_{when}"][hub] == len(among)
        assert card[f"right_{when}"] == sum(each["right"] for each in among)
    assert any(each["after"] is not None and each["after"] > 5 for each in card["reached"]), "places beyond k are told"
    assert card["bias"] == pytest.approx(view["bias"][hub], abs=1e-5)
    shares = [each["share"] for each in card["contributions"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-9


def test_shares_are_the_terms_of_the_bias(server, experiment):
    """bias_j = -tau log sum_u exp(s_uj / tau) of is: the share of a bank query is its term."""
    here, tau = experiment.parent, 0.1
    scores = np.load(here / "bank_queries.npy").astype(float) @ np.load(here / "targets.npy").T.astype(float)
    card = ask(server, "/api/hub/17", method="is")
    weights = np.exp(scores[:, 17] / tau)
    wanted = np.sort(weights / weights.sum())[::-1][:50]
    assert [each["share"] for each in card["contributions"]] == pytest.approx(wanted.tolist(), rel=1e-4)
    first = int(np.argmax(weights))
    assert card["contributions"][0]["row"] == first
    assert card["contributions"][0]["name"] == (HOSTILE if first == 0 else f"earlier query {first}")


def test_better_and_worse_are_found_the_same_way(server):
    view = ask(server, "/api/view", method="sn")
    lists = {which: ask(server, "/api/changes", method="sn", which=which, limit=200) for which in ("better", "worse")}
    for which, found in lists.items():
        assert found["total"] == view[which] == len(found["changes"])
    assert all(each["rank_after"] < each["rank_before"] for each in lists["better"]["changes"])
    assert all(each["rank_after"] > each["rank_before"] for each in lists["worse"]["changes"])
    some = ask(server, "/api/changes", method="sn", which="all", words="QUERY 12 somebody")
    assert some["changes"]
    assert all("12" in each["name"] for each in some["changes"])


def test_columns_beside_each_other(server):
    found = ask(server, "/api/compare/7", method="sn", tau=0.05)
    assert [each["label"] for each in found["columns"]] == ["none", "is", "sn", "dbsn"]
    assert found["columns"][2]["tau"] == 0.05
    assert found["columns"][1]["tau"] == 0.1
    first = {each["target"]: place for place, each in enumerate(found["columns"][0]["answers"], 1)}
    for column in found["columns"]:
        scores = [each["score"] for each in column["answers"]]
        assert scores == sorted(scores, reverse=True)
        assert all(each["before"] == first.get(each["target"]) for each in column["answers"])
        right = [place for place, each in enumerate(column["answers"], 1) if each["right"]]
        assert not right or right[0] == column["rank"]


def test_words_of_ones_own(experiment, cache):
    (experiment.parent / "my_encoder.py").write_text(
        "import numpy as np\ndef encode(texts):\n"
        "    return 3 * np.load('targets.npy')[[int(t.split()[-1]) if t[-1].isdigit() else 0 for t in texts]]\n"
    )
    words = (experiment, "--port", 0, "--encoder", "my_encoder:encode")
    with serving(*words, cwd=experiment.parent, cache=cache) as address:
        answer = httpx.post(f"{address}api/compare", json={"text": "number 17", "method": "none"}, timeout=30).json()
        assert answer["columns"][0]["answers"][0]["target"] == 17
        assert answer["columns"][0]["answers"][0]["score"] == pytest.approx(1, abs=1e-5)
        assert (answer["query"], answer["text"], answer["right"]) == (None, "number 17", [])
        assert httpx.post(f"{address}api/compare", json={"text": "  "}).status_code == 400


def test_the_map_is_laid_out_once(server, cache):
    for _ in range(500):
        found = ask(server, "/api/map")
        if found["ready"]:
            break
        time.sleep(0.3)
    assert sorted(set(found["kind"])) == ["bank", "bank target", "query", "target"]
    assert len(found["x"]) == len(found["row"]) == 120 + 240 + 90 + 90
    assert min(found["x"]) == 0
    assert max(found["y"]) == 1
    assert list((cache / "unhub" / "maps").glob("*.npz"))


def test_the_page_about_the_api_needs_nothing_from_outside(server, browser):
    page = browser.new_page()
    elsewhere, errors = [], []
    page.on(
        "request", lambda request: elsewhere.append(request.url) if not request.url.startswith((server, "data:")) else 0
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{server}/docs")
    page.get_by_text("/api/view").first.wait_for()
    page.close()
    assert (elsewhere, errors) == ([], [])
