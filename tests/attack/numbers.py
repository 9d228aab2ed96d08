"""Numbers inside binary files, where lengths, counts and offsets stand, replaced by other numbers."""

from __future__ import annotations

import random

INTERESTING = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1)


def changed(data: bytes, rng: random.Random, *, ends: int = 1024) -> tuple[str, bytes]:
    """One to three numbers replaced, near the beginning or the end, where headers and footers are."""
    made, told = bytearray(data), []
    for _ in range(rng.choice((1, 1, 2, 3))):
        width = rng.choice((1, 2, 4, 4, 8, 8))
        if len(made) <= width:
            break
        near = rng.randrange(min(ends, len(made) - width))
        place = near if rng.random() < 0.6 else len(made) - width - near
        place -= place % rng.choice((1, width))
        order = rng.choice(("little", "little", "big"))
        old = int.from_bytes(made[place : place + width], order)
        new = rng.choice((*INTERESTING, old + 1, old - 1, old * 2, old ^ (1 << rng.randrange(8 * width))))
        new %= 1 << (8 * width)
        made[place : place + width] = new.to_bytes(width, order)
        told.append(f"{width} bytes at {place} from {old} to {new}")
    return "; ".join(told), bytes(made)


def cut(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A file cut short, or with more behind its end."""
    if rng.random() < 0.2:
        return "with bytes behind its end", data + rng.randbytes(rng.randrange(1, 5000))
    length = rng.randrange(len(data))
    return f"cut at {length} of {len(data)}", data[:length]
