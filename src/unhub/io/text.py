"""Text files: lines, tables and JSON, with errors that name the line."""

from __future__ import annotations

import csv
import json
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import decode_text, text_lines
from unhub.io.address import Address
from unhub.io.limits import check_size

_TEXT_BYTES = 4  # bytes of memory per byte of text, at least: itself, its character, and the line
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_text(address: Address) -> str:
    """The file as UTF-8 text."""
    with address.open() as file:
        check_size(address, _TEXT_BYTES * address.size)
        data = file.read()
    return decode_text(data, address.subject())


def read_lines(address: Address) -> list[str]:
    """The lines of the file; an empty one is an error unless only empty ones follow."""
    return text_lines(read_text(address), address.subject(), content="value")


def read_table(address: Address) -> list[tuple[int, list[str]]]:
    """The cells of each line with the line's number: commas in .csv, tabs in .tsv, else spaces."""
    text, delimiter = read_text(address), _DELIMITERS.get(address.suffix)
    if "\0" in text:
        raise address.problem("holds zero bytes and is not a text table; write or copy it again.")
    if delimiter is None:
        table = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1)]
    else:
        reader = csv.reader(text.splitlines(), delimiter=delimiter)
        table = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    return [(number, cells) for number, cells in table if any(cells)]


def read_json(address: Address) -> Any:
    """The value of a JSON file; a key that occurs twice in an object is an error, since one would be lost."""

    def unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, each in items:
            if key in value:
                raise address.problem(f"has the key {key!r} twice; join the two.")
            value[key] = each
        return value

    text = read_text(address)
    try:
        return json.loads(text, object_pairs_hook=unique)
    except InputError:
        raise
    except RecursionError as error:
        raise address.problem("is nested too deeply; write a plain list or object.") from error
    except ValueError as error:
        raise address.problem(f"is not valid JSON: {error}; write or copy it again.") from error
