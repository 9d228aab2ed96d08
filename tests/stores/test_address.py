"""The address of a store: what is secret in it goes to the client and to nobody else."""

import pytest

from unhub.foundation.errors import InputError
from unhub.io.address import find
from unhub.stores import parse
from unhub.stores.adapter import sentence
from unhub.stores.address import without_secrets

HOLDS = {
    "user and password": ("uri", "s3://KEYID:S3CRET@bucket"),
    "a slash in the password": ("uri", "s3://KEYID:S3/CR+ET@bucket/path"),
    "percent signs": ("uri", "s3%3A%2F%2FKEYID%3AS3CRET%40bucket"),
    "percent signs twice": ("uri", "s3%253A%252F%252FKEYID%253AS3CRET%2540bucket"),
    "signs of a query in the password": ("uri", "s3://KEYID:S3CRET%23x%3Fy@bucket"),
    "a parameter of its own": ("uri", "az://box?account_key=S3CRET%26region=eu"),
    "a token": ("uri", "gs://box%3Fsession_token%3DS3CRET"),
    "a signature": ("uri", "az://box%3Fsv%3D2020%26sig%3DS3CRET"),
    "a URL in a parameter of a URL": ("uri", "https://h/p%3Fnext%3Dhttps%3A%2F%2Fme%3AS3CRET%40h"),
    "another parameter": ("host", "me:S3CRET@db.example"),
    "settings in JSON": ("options", '{"aws_secret_access_key": "S3CRET", "region": "eu"}'),
    "settings in a list": ("options", "region:eu,secret_key:S3CRET"),
}


@pytest.mark.parametrize("case", HOLDS)
def test_a_secret_inside_a_parameter_is_masked_and_still_given_to_the_client(case):
    name, value = HOLDS[case]
    address = parse(f"lancedb:///t?metric=ip&{name}={value}")
    assert address.value("metric") == "ip"
    assert address.has_secrets
    given = address.value(name)
    assert given is not None
    assert "S3" in given
    shown = (str(address), repr(address), str(address.absolute()), sentence(address, "cannot be read", OSError(given)))
    for text in (*shown, without_secrets(f"lancedb:///t?{name}={value}")):
        for part in ("S3CRET", "S3/CR", "S3%2FCR", "KEYID"):
            assert part not in text
        assert "***" in text
    assert str(parse(str(address))) == str(address)  # so that a note of it can be compared


def test_what_is_not_secret_stays():
    for url in (
        "faiss:///home/me@work/photos.faiss",
        "pgvector:///shop?column=embedding&table=a%40b",
        "lancedb:///t?uri=s3%3A//bucket/100%25",
        "qdrant://localhost:6333/photos?vector=text:image",
    ):
        assert not parse(url).has_secrets
        assert without_secrets(url) == url


def test_a_secret_where_none_can_be_is_refused_and_not_shown():
    for url in ("lancedb:///s3://KEYID:S3CRET@b/t", "lancedb:///s3%3A%2F%2FKEYID:S3CRET%40b/t"):
        with pytest.raises(InputError, match="another address with a secret in its path; give it as an option") as told:
            parse(url)
        assert "S3CRET" not in str(told.value)
    with pytest.raises(InputError, match=r"'qdrant:/host/photos\?api_key=\*\*\*' is not the address of a store"):
        parse("qdrant:/host/photos?api_key=S3CRET")


def test_an_endless_address_is_refused_and_shown_in_part() -> None:
    endless = "qdrant://host/photos?uri=" + "a%2525" * 50_000
    with pytest.raises(InputError, match="has 300,025 characters; at most 4,096 are allowed"):
        parse(endless)
    assert len(without_secrets(endless)) < 5000


def test_a_name_alone_before_the_host_is_a_key_unless_the_store_has_users():
    for scheme in ("qdrant", "milvus", "chroma"):
        address = parse(f"{scheme}://S3CRET@host/photos")
        assert (str(address), address.user, address.password) == (f"{scheme}://host/photos", None, "S3CRET")
    assert str(parse("pgvector://me@host/shop")) == "pgvector://me@host/shop"


@pytest.mark.parametrize("path", ["photos;api_key=S3CRET", "photos%3Bapi_key=S3CRET", "photos;a=1;token=S3CRET"])
def test_a_secret_behind_a_semicolon_is_not_shown(path):
    with pytest.raises(InputError, match="has a secret behind a ';'; write '\\?' instead"):
        parse(f"qdrant://host/{path}")
    assert "S3CRET" not in without_secrets(f"qdrant://host/{path}")


@pytest.mark.parametrize(
    "text", ["qdrant//u:S3CRET@host/photos", "qdrant//S3CRET@host", "qdrant:u:S3CRET@host", "host/p?api_key=S3CRET"]
)
def test_an_address_that_is_taken_for_a_path_is_not_shown(text):
    with pytest.raises(InputError, match="targets is no file, and looks like the address of a store") as caught:
        find(text, name="targets")
    assert "S3CRET" not in str(caught.value)
