"""What a file asks for, compared with a limit before any memory is taken for it.

A small file can ask for a lot: an archive that unpacks to a thousand times its size, a header with a long shape, a
pickle that promises a terabyte of bytes.
"""

from __future__ import annotations

import os
import pickletools
from typing import BinaryIO

from unhub.core.plan import in_words
from unhub.executors import default_memory
from unhub.foundation.errors import InputError
from unhub.io.address import SEPARATOR, Address

DEFLATE_RATIO = 1032
"""how many times its size gzip data can become at most: one bit stands for at most 129 bytes"""


def largest() -> int:
    """Bytes that a file may become when it is read whole: the memory that was free, of which the default is half."""
    return 2 * default_memory()


def check_size(address: Address, size: int, *, part: str = "") -> None:
    """An error if a file that is read whole, or a part of it, would take more memory than is free."""
    limit = largest()
    if size > limit:
        raise InputError(
            f"{address.subject(part)} would take {in_words(size)} of memory, from a file of {in_words(address.size)}, "
            f"and {in_words(limit)} are free; if that is right, convert it to .npy, which is read in blocks."
        )


def check_stored(address: Address, key: str, size: int, *, stored: int, ratio: int) -> None:
    """An error if an array is larger than its bytes on disk could ever become, and too large for memory as well.

    What fits in memory may be empty on disk: formats with chunks leave out what was never written.
    """
    if size > max(default_memory(), stored * ratio):
        raise address.problem(
            f"declares {in_words(size)}{_of(key)} but holds {in_words(stored)}: it was never filled, or is damaged; "
            "write it again."
        )


def check_loaded_whole(address: Address, key: str, size: int, *, what: str = "read whole, it") -> None:
    """An error if a piece of an array that is otherwise read in blocks does not fit in memory."""
    if size > default_memory():
        raise address.problem(
            f"cannot be read{_of(key)}: {what} takes {in_words(size)} of memory, and unhub uses at most "
            f"{in_words(default_memory())} here; write it in smaller pieces."
        )


def _of(key: str) -> str:
    return f" for {SEPARATOR}{key}" if key else ""


_LENGTH_BYTES = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
"""bytes of the number that says how many bytes follow, by how an opcode gives it"""

_SIZES = {ord(each.code): 0 if each.arg is None else each.arg.n for each in pickletools.opcodes}
_PAIRS = {ord(each.code) for each in pickletools.opcodes if each.arg is pickletools.stringnl_noescape_pair}
_CODES = {each.name: ord(each.code) for each in pickletools.opcodes}
_MEMO, _MEMO_LINE = {_CODES["BINPUT"], _CODES["LONG_BINPUT"]}, _CODES["PUT"]
_FRAME, _STOP = _CODES["FRAME"], _CODES["STOP"]


def check_opcodes(file: BinaryIO) -> None:
    """A ``ValueError`` if the pickle asks for more room than its own bytes could fill; the file stays at its place.

    An opcode may say that so many bytes follow, or store a value in the memo under a large number, and the unpickler
    allocates for either at once. Here the first is compared with the bytes that are left, the second with the number of
    opcodes so far. Nothing is executed.
    """
    start = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(start)
    read, count, code = file.read, 0, -1
    while code != _STOP:
        count += 1
        byte = read(1)
        code = byte[0] if byte else -1
        size = _SIZES.get(code)
        if size is None:
            raise ValueError(f"its opcode {count:,} is none that a pickle has")
        if size > 0:
            operand = read(size)
            if code in _MEMO:
                _check_memo(int.from_bytes(operand, "little"), count)
            elif code == _FRAME:
                _check_promise(int.from_bytes(operand, "little"), end - file.tell())
        elif size in _LENGTH_BYTES:
            length = int.from_bytes(read(_LENGTH_BYTES[size]), "little")
            _check_promise(length, end - file.tell())
            file.seek(length, os.SEEK_CUR)
        elif size < 0:
            line = file.readline()
            if code == _MEMO_LINE:
                _check_memo(int(line), count)
            elif code in _PAIRS:
                file.readline()
    file.seek(start)


def _check_memo(number: int, count: int) -> None:
    if number > count:
        raise ValueError(f"it stores a value under the number {number:,} after {count:,} opcodes")


def _check_promise(length: int, left: int) -> None:
    if length > left:
        raise ValueError(f"it promises {length:,} bytes where {left:,} are left")
