"""A look at the orders of a pickle before any is carried out: a few bytes can ask for all the memory there is.

An order may say that so many bytes follow, or that a value is to be noted under so large a number; the reader makes
room for either at once. Here the first is held against the bytes that are left, the second against the orders so far.
"""

from __future__ import annotations

import os
import pickletools
from typing import BinaryIO

_COUNTED = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
"""by how the length of an order's bytes is given: the bytes of that number"""

_SIZES = {ord(each.code): 0 if each.arg is None else each.arg.n for each in pickletools.opcodes}
_PAIRS = {ord(each.code) for each in pickletools.opcodes if each.arg is pickletools.stringnl_noescape_pair}
_BY_NAME = {each.name: ord(each.code) for each in pickletools.opcodes}
_LINE_NOTE, _NOTES = _BY_NAME["PUT"], {_BY_NAME["BINPUT"], _BY_NAME["LONG_BINPUT"]}
_FRAME, _STOP = _BY_NAME["FRAME"], _BY_NAME["STOP"]


def scan(file: BinaryIO) -> None:
    """A ``ValueError`` if the pickle asks for more room than its own bytes could fill; the file is left in place."""
    start = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(start)
    read, orders, code = file.read, 0, -1
    while code != _STOP:
        orders += 1
        byte = read(1)
        code = byte[0] if byte else -1
        size = _SIZES.get(code)
        if size is None:
            raise ValueError(f"its order {orders:,} is none that a pickle has")
        if size > 0:
            given = read(size)
            if code in _NOTES:
                _note(int.from_bytes(given, "little"), orders)
            elif code == _FRAME:
                _follow(int.from_bytes(given, "little"), end - file.tell())
        elif size in _COUNTED:
            length = int.from_bytes(read(_COUNTED[size]), "little")
            _follow(length, end - file.tell())
            file.seek(length, os.SEEK_CUR)
        elif size < 0:
            line = file.readline()
            if code == _LINE_NOTE:
                _note(int(line), orders)
            elif code in _PAIRS:
                file.readline()
    file.seek(start)


def _note(number: int, orders: int) -> None:
    if number > orders:
        raise ValueError(f"it notes a value under the number {number:,} after {orders:,} orders")


def _follow(length: int, left: int) -> None:
    if length > left:
        raise ValueError(f"it promises {length:,} bytes where {left:,} are left")
