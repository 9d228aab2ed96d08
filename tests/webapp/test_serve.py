"""``unhub.serve``: the page from Python, in the background."""

import urllib.error
import urllib.request

import pytest

import unhub


def test_serve_in_the_background_answers_until_it_is_closed(experiment, cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    page = unhub.serve(experiment, port=0, block=False)
    assert page.url.startswith("http://127.0.0.1:")
    assert page.title == "Made up, model"
    with urllib.request.urlopen(page.url, timeout=10) as response:
        assert b"<title>unhub" in response.read()
    page.close()
    page.close()
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(page.url, timeout=2)


def test_serve_with_a_token_refuses_whoever_has_none(experiment, cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with unhub.serve(experiment, port=0, token="a-long-secret-word", block=False) as page:
        base, _, token = page.url.partition("?token=")
        assert token == "a-long-secret-word"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{base}api/about", timeout=10)
        asked = urllib.request.Request(f"{base}api/about", headers={"authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=10) as response:
            assert response.status == 200


def test_bad_arguments_are_named(experiment):
    with pytest.raises(unhub.InputError, match="token has 3 characters; use at least 12"):
        unhub.serve(experiment, token="abc", block=False)
    with pytest.raises(unhub.InputError, match=r"there is no file nothing\.unhub"):
        unhub.serve("nothing.unhub", block=False)


def test_the_page_names_settings_by_their_labels():
    from unhub.foundation.wording import argument, setting, spoken
    from unhub.webapp.errors import on_page

    text = f"{argument('tau')} is 0; pass {setting('strength', 1)} or {argument('relevant')}"
    expected = "Temperature τ is 0; pass Strength 1 or --relevant (an option of unhub serve)"
    assert spoken(text, on_page) == expected
