"""Compiled block kernels: what NumPy would do in several passes over a block, done in one while a row is in cache.

All work on contiguous float32 rows. They hold no lock, so several threads may run them on different rows, and they are
compiled once and kept on disk. `unhub.core.execution` decides when they are worth loading.

They are in one file because numba checks the date of a function's own file, and not those of the functions it calls, to
see whether its copy on disk is still valid.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_FLAGS = {"reassoc", "nnan", "nsz", "arcp", "contract"}
"""what the compiler may assume of floating point; infinities stay infinities, since a masked score is one"""

_FLOOR = np.float32(-126.0)
"""the smallest power of two that a normal float32 has"""

_LOWEST = np.float32(-3e38)
"""a row whose largest score is not above this is masked altogether"""

_POWER = tuple(np.float32(c) for c in (0.99999993, 0.69315307, 0.24015362, 0.05582632, 0.00898934, 0.00187758))
"""2^x on [0, 1), to 1e-7: fitted so that the relative error is the same at all its extremes"""

HALF_SHIFT = 13
"""bits of a float32 that are dropped to keep it in 16: no sign, 6 bits of exponent, 10 of fraction"""

HALF_BASE = np.int32((127 - 63) << 23)
"""float32 bits of 2^-63, below which a 16-bit kernel holds zero"""


_intrinsic: Any = intrinsic
"""an operation in the compiler's own terms"""


def _compiled(function: Any) -> Any:
    """The function compiled on its first call, from disk if it was compiled before."""
    compiled = njit(nogil=True, fastmath=_FLAGS, error_model="numpy")(function)
    with suppress(Exception):  # no folder for it, or a numba with other classes: it is compiled in each process
        from unhub.foundation.kernel_cache import KernelCache

        compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    return compiled


@_intrinsic
def _float_of(context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@_intrinsic
def _bits_of(context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@_intrinsic
def _number(context: Any, kept: Any) -> Any:
    """A number of a kernel as a float, from the float or the 16 bits that it was kept in; zero bits are zero."""

    def as_it_is(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arguments[0]

    def decoded(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer, number = ir.IntType(32), ir.FloatType()
        bits = builder.zext(arguments[0], integer)
        whole = builder.add(builder.shl(bits, integer(HALF_SHIFT)), integer(int(HALF_BASE)))
        return builder.select(
            builder.icmp_unsigned("==", bits, integer(0)), number(0.0), builder.bitcast(whole, number)
        )

    return (types.float32(kept), decoded) if kept == types.uint16 else (types.float32(types.float32), as_it_is)


def _the_one(sign: str) -> Any:
    """How to generate the one of two numbers that is < or > the other, in a form that the compiler can vectorise."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.fcmp_ordered(sign, *arguments, flags=["nnan", "nsz"])
        return builder.select(first, *arguments, flags=["nnan", "nsz"])

    return types.float32(types.float32, types.float32), generate


@_intrinsic
def _larger(context: Any, left: Any, right: Any) -> Any:
    return _the_one(">")


@_intrinsic
def _smaller(context: Any, left: Any, right: Any) -> Any:
    return _the_one("<")


@_compiled
def _exp2(x: Any) -> Any:
    """2^x for x up to 127; 2^-126 for anything smaller."""
    x = _larger(x, _FLOOR)
    whole = np.floor(x)
    part = x - whole
    power = _POWER[5]
    power = power * part + _POWER[4]
    power = power * part + _POWER[3]
    power = power * part + _POWER[2]
    power = power * part + _POWER[1]
    power = power * part + _POWER[0]
    return _float_of(_bits_of(power) + (np.int32(whole) << np.int32(23)))


@_compiled
def _largest(scores: Any, p: Any) -> Any:
    top = _LOWEST
    for j in range(scores.shape[0]):
        top = _larger(scores[j] + p[j], top)
    return top


@_compiled
def _copy(row: Any, out: Any) -> None:
    for j in range(row.shape[0]):
        out[j] = row[j]


@_compiled
def _shift(row: Any, p: Any) -> Any:
    """Adds p to a row in place, and gives the largest sum."""
    top = _LOWEST
    for j in range(row.shape[0]):
        shifted = row[j] + p[j]
        row[j] = shifted
        top = _larger(shifted, top)
    return top


@_compiled
def _shifted(scores: Any, p: Any, row: Any) -> Any:
    """As _shift, from the scores to a row elsewhere.

    Two arrays that might be the same memory keep the compiler from vectorising, so that both have a loop of their own.
    """
    top = _LOWEST
    for j in range(row.shape[0]):
        shifted = scores[j] + p[j]
        row[j] = shifted
        top = _larger(shifted, top)
    return top


@_compiled
def _exponentials(row: Any, top: Any, scale: Any, v: Any) -> Any:
    """Turns a row of shifted scores into its kernel 2^((s_j - top) scale), zero throughout for a masked row.

    Gives the kernel's sum with the columns scaled by v.
    """
    total = np.float32(0)
    if top <= _LOWEST:
        for j in range(row.shape[0]):
            row[j] = np.float32(0)
    else:
        for j in range(row.shape[0]):
            power = _exp2((row[j] - top) * scale)
            row[j] = power
            total += power * v[j]
    return total


@_compiled
def _balance(row: Any, z: Any, a: Any, mass: Any) -> None:
    """Adds a row of the sum z to the mass, scaled to the sum a."""
    share = a / z if z > 0 else np.float32(0)
    for j in range(row.shape[0]):
        mass[j] += share * row[j]


@_compiled
def pass_scores(scores: Any, p: Any, scale: Any, v: Any, a: Any, top: Any, z: Any, mass: Any, row: Any) -> None:
    """Both half-steps of a block of rows; `row` is scratch of one row."""
    for u in range(scores.shape[0]):
        top[u] = _shifted(scores[u], p, row)
        z[u] = _exponentials(row, top[u], scale, v)
        _balance(row, z[u], a[u], mass)


@_compiled
def keep_floats(scores: Any, p: Any, scale: Any, v: Any, a: Any, top: Any, z: Any, mass: Any, out: Any) -> None:
    """As pass_scores, with the kernel kept as float32; `out` may be the scores themselves."""
    apart = scores.ctypes.data != out.ctypes.data
    for u in range(scores.shape[0]):
        row = out[u]
        top[u] = _shifted(scores[u], p, row) if apart else _shift(row, p)
        z[u] = _exponentials(row, top[u], scale, v)
        _balance(row, z[u], a[u], mass)


@_compiled
def pass_kept(kernel: Any, v: Any, a: Any, z: Any, mass: Any) -> None:
    """Both half-steps from a kernel that was kept, two rows at a time: v and the mass are half as often read."""
    rows = kernel.shape[0]
    for u in range(0, rows, 2):
        row, other = kernel[u], kernel[min(u + 1, rows - 1)]
        total, total_of_other = np.float32(0), np.float32(0)
        for j in range(row.shape[0]):
            total += _number(row[j]) * v[j]
            total_of_other += _number(other[j]) * v[j]
        z[u] = total
        share = a[u] / total if total > 0 else np.float32(0)
        share_of_other = np.float32(0)  # the last of an odd number of rows is its own neighbour
        if u + 1 < rows:
            z[u + 1] = total_of_other
            share_of_other = a[u + 1] / total_of_other if total_of_other > 0 else np.float32(0)
        for j in range(row.shape[0]):
            mass[j] += share * _number(row[j]) + share_of_other * _number(other[j])


@_compiled
def keep_halves(
    scores: Any, p: Any, scale: Any, v: Any, a: Any, top: Any, z: Any, mass: Any, row: Any, out: Any
) -> None:
    """As pass_scores, with the kernel kept in 16 bits."""
    for u in range(scores.shape[0]):
        top[u] = _shifted(scores[u], p, row)
        z[u] = _exponentials(row, top[u], scale, v)
        _balance(row, z[u], a[u], mass)
        kept = out[u]
        for j in range(row.shape[0]):
            bits = _bits_of(row[j]) - HALF_BASE + np.int32(1 << (HALF_SHIFT - 1))
            kept[j] = np.uint16(max(bits, np.int32(0)) >> np.int32(HALF_SHIFT))


@_compiled
def row_sums(scores: Any, p: Any, scale: Any, ones: Any, top: Any, z: Any, row: Any) -> None:
    """Largest s_uj + p_j of each row, and the sum of 2^((s_uj + p_j - top_u) scale)."""
    for u in range(scores.shape[0]):
        top[u] = _shifted(scores[u], p, row)
        z[u] = _exponentials(row, top[u], scale, ones)


_FAR = np.float32(60.0)
"""powers of two by which a term may be ahead of the largest one before it, and the sum still be moved along"""


_NOTHING = np.float32(-np.inf)
"""the potential of a row that counts for nothing"""


@_compiled
def _power(term: Any, shift: Any, scale: Any) -> Any:
    return _exp2(_smaller((term - shift) * scale, _FAR))


@_compiled
def _add_four(rows: Any, f: Any, scale: Any, shift: Any, sums: Any, top: Any) -> None:
    """Adds 2^((s_j + f - shift_j) scale) of four rows to the sums, and follows the largest term.

    Terms too far ahead are added as something; the caller sees from the top that they were.
    """
    a, b, c, d = rows
    f_a, f_b, f_c, f_d = f
    for j in range(a.shape[0]):
        first, second, third, fourth = a[j] + f_a, b[j] + f_b, c[j] + f_c, d[j] + f_d
        top[j] = _larger(_larger(_larger(first, second), _larger(third, fourth)), top[j])
        half = _power(first, shift[j], scale) + _power(second, shift[j], scale)
        sums[j] += half + (_power(third, shift[j], scale) + _power(fourth, shift[j], scale))


@_compiled
def _add_block(scores: Any, f: Any, scale: Any, shift: Any, sums: Any, top: Any) -> None:
    """The rows of a block, four at a time: sums, shift and top are read a quarter as often."""
    rows = scores.shape[0]
    whole = rows - rows % 4
    for u in range(0, whole, 4):
        potentials = f[u], f[u + 1], f[u + 2], f[u + 3]
        _add_four((scores[u], scores[u + 1], scores[u + 2], scores[u + 3]), potentials, scale, shift, sums, top)
    for u in range(whole, rows):  # beside three that count for nothing
        row = scores[u]
        _add_four((row, row, row, row), (f[u], _NOTHING, _NOTHING, _NOTHING), scale, shift, sums, top)


@_compiled
def _move(shift: Any, top: Any, scale: Any, sums: Any) -> None:
    """Sums relative to the shift become sums relative to the top."""
    for j in range(shift.shape[0]):
        sums[j] *= _exp2((shift[j] - top[j]) * scale)
        shift[j] = top[j]


@_compiled
def column_sums(scores: Any, f: Any, scale: Any, shift: Any, sums: Any, scratch: Any, step: Any) -> None:
    """Adds 2^((s_uj + f_u - shift_j) scale) of every row to the sums; the shift follows the largest term seen.

    One read of the scores, unless a term is far ahead of all before it: then the last `step` rows are added again,
    around the new largest terms. `scratch` is two rows.
    """
    top, before = scratch[0], scratch[1]
    for start in range(0, scores.shape[0], step):
        chunk, potentials = scores[start : start + step], f[start : start + step]
        _copy(shift, top)
        _copy(sums, before)
        _add_block(chunk, potentials, scale, shift, sums, top)
        ahead = np.float32(0)
        for j in range(shift.shape[0]):
            ahead = _larger((top[j] - shift[j]) * scale, ahead)
        if ahead < _FAR:
            _move(shift, top, scale, sums)
        else:
            _copy(before, sums)
            _move(shift, top, scale, sums)
            _add_block(chunk, potentials, scale, shift, sums, top)


_LANES = 8
"""float32 numbers that one instruction compares"""

_CHUNK = 64
"""scores of a row that are compared with the k-th best at once"""


@_compiled
def top_rows(scores: Any, bias: Any, values: Any, columns: Any) -> None:
    """The k largest s_uj + bias_j of each row, best first, equal ones by column; values and columns are (rows, k)."""
    n, k = scores.shape[1], values.shape[1]
    for u in range(scores.shape[0]):
        row, best, where = scores[u], values[u], columns[u]
        found = 0
        for left in range(0, n, _CHUNK):
            right = min(left + _CHUNK, n)
            if found == k and _largest(row[left:right], bias[left:right]) <= best[k - 1]:
                continue
            for j in range(left, right):
                score = row[j] + bias[j]
                if found == k and score <= best[k - 1]:
                    continue
                place = found if found < k else k - 1
                found = min(found + 1, k)
                while place > 0 and best[place - 1] < score:
                    best[place] = best[place - 1]
                    where[place] = where[place - 1]
                    place -= 1
                best[place] = score
                where[place] = j


_PLACES = np.array([(*(i for i in range(8) if bits >> i & 1), *(0,) * 8)[:8] for bits in range(256)], dtype=np.int32)
"""for every eight bits the places of those that are set, in front"""


@_intrinsic
def _list_above(context: Any, row: Any, edge: Any, start: Any, places: Any, found: Any, count: Any) -> Any:
    """Lists which of row[start..start + 8] are above the edge at the same place, and gives the new count of the list.

    Eight places are written whether they hold anything or not: a branch that cannot be predicted costs more.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer, long = ir.IntType(32), ir.IntType(64)
        floats, integers = ir.VectorType(ir.FloatType(), _LANES), ir.VectorType(integer, _LANES)

        def place(argument: int, offset: Any, kind: Any) -> Any:
            data = context.make_array(signature.args[argument])(context, builder, arguments[argument]).data
            return builder.bitcast(builder.gep(data, [offset]), kind.as_pointer())

        def load(argument: int, offset: Any, kind: Any) -> Any:
            return builder.load(place(argument, offset, kind), align=4, typ=kind)

        start, count = arguments[2], arguments[5]
        above = builder.fcmp_ordered(">", load(0, start, floats), load(1, start, floats))
        bits = builder.zext(builder.bitcast(above, ir.IntType(_LANES)), long)
        first = builder.insert_element(integers(ir.Undefined), builder.trunc(start, integer), integer(0))
        all_starts = builder.shuffle_vector(first, integers(ir.Undefined), integers([0] * _LANES))
        listed = builder.add(load(3, builder.mul(bits, long(_LANES)), integers), all_starts)
        builder.store(listed, place(4, count, integers), align=4)
        return builder.add(count, builder.ctpop(bits))

    return types.int64(row, edge, types.int64, places, found, types.int64), generate


@_intrinsic
def _fetch(context: Any, row: Any, start: Any) -> Any:
    """Asks for the line of the cache that holds row[start], which will be needed soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        integer, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        builder.call(prefetch, [place, integer(0), integer(3), integer(1)])  # to read, keep it near, data
        return context.get_dummy_value()

    return types.void(row, types.int64), generate


@_compiled
def _gather(scores: Any, left: Any, right: Any, edge: Any, count: Any, pool: Any) -> None:
    """Adds every score above the edge of its column to the column's pool."""
    found = np.empty(right - left + _LANES, dtype=np.int32)
    rows, line = scores.shape[0], 2 * _LANES
    even = left + (right - left) // line * line
    for u in range(rows):
        row, next_row = scores[u], scores[min(u + 1, rows - 1)]
        hits = 0
        for start in range(left, even, line):
            _fetch(next_row, start)
            hits = _list_above(row, edge, start, _PLACES, found, hits)
            hits = _list_above(row, edge, start + _LANES, _PLACES, found, hits)
        for j in range(even, right):
            if row[j] > edge[j]:
                found[hits] = j
                hits += 1
        for i in range(hits):
            j = found[i]
            pool[j, count[j]] = row[j]
            count[j] += 1


@_compiled
def gather_columns(scores: Any, left: Any, right: Any, step: Any, edge: Any, count: Any, pool: Any) -> Any:
    """Scores above the edge of their column go to its pool; columns left..right, pool (columns, room).

    Gives the number of rows that were read: fewer than there are when a pool has no room for `step` more.
    """
    for start in range(0, scores.shape[0], step):
        fullest = 0
        for j in range(left, right):
            fullest = max(fullest, count[j])
        if fullest + step > pool.shape[1]:
            return start
        _gather(scores[start : start + step], left, right, edge, count, pool)
    return scores.shape[0]


@_compiled
def group_tops(scores: Any, left: Any, right: Any, tops: Any) -> None:
    """The largest score of each group of rows in the columns left..right; tops is (groups, columns)."""
    height = scores.shape[0] // tops.shape[0]
    for group in range(tops.shape[0]):
        top = tops[group]
        _copy(scores[group * height, left:right], top)
        for u in range(group * height + 1, (group + 1) * height):
            row = scores[u, left:right]
            for j in range(row.shape[0]):
                top[j] = _larger(row[j], top[j])
