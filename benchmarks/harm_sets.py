"""The real sets of harm.py, each split at random into a pool for banks, recent, judged and test queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from unhub.demo import emoji

JUDGED, MOST_RECENT, WIDEST = 50, 200, 1000
KNOWN, UNKNOWN = ("de", "ja", "es", "ar", "th"), ("cs", "el", "fi")
WITH_COPIES = (
    "coco t2i",
    "unsplash i2t",
    "multi30k cs-en",
    "openclipart t2i",
    "flickr8k dual t2i",
    "emoji de",
    "emoji fi",
)
"""sets that are also measured with near copies of some targets in the gallery"""
SHOWN_AGAIN = 0.3
"""length of the noise on a unit query that is asked in other words; the cosine with the first is about .96"""


@dataclass(frozen=True, eq=False)
class Split:
    """One draw of a set. Queries are vectors (query, dim), or (query, gallery) scores where gallery is None.

    right: the answers, as lists. weight: of each test query, its share of the traffic. likes: targets like the gallery.
    others: queries of another domain or another model. log: the bank is this log of the gallery's own traffic.
    """

    pool: np.ndarray
    recent: np.ndarray
    judged: np.ndarray
    judged_right: list[list[int]]
    test: np.ndarray
    right: list[list[int]]
    gallery: np.ndarray | None = None
    weight: np.ndarray | None = None
    likes: np.ndarray | None = None
    others: dict[str, np.ndarray] = field(default_factory=dict)
    log: np.ndarray | None = None
    clicks: list[tuple[int, int]] | None = None

    def scores(self, queries: np.ndarray) -> np.ndarray:
        return queries if self.gallery is None else queries @ self.gallery.T


@dataclass(frozen=True)
class RealSet:
    """name, family, what splits it by a seed, and what stands in the way of one answer for each target."""

    name: str
    family: str
    split: Callable[[np.random.Generator], Split]
    popularity: str = ""


def unit(rows: np.ndarray) -> np.ndarray:
    wide = rows.astype(np.float32)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def one_each(rows: int) -> list[list[int]]:
    return [[row] for row in range(rows)]


def pairs(queries: np.ndarray, targets: np.ndarray | None, others: dict[str, np.ndarray], rng: np.random.Generator):
    """Aligned pairs without a bank of their own: two fifths are pool, a fifth is recent, the rest is the gallery."""
    order = rng.permutation(len(queries))
    pool, recent, rest = np.split(order, [2 * len(order) // 5, 2 * len(order) // 5 + min(MOST_RECENT, len(order) // 5)])
    if targets is None:
        of, gallery, likes = lambda rows: queries[np.ix_(rows, rest)], None, None
    else:
        of, gallery, likes = lambda rows: queries[rows], targets[rest], targets[pool]
    answers = one_each(len(rest))
    judged, test = np.split(rng.permutation(len(rest)), [JUDGED])
    return Split(
        of(pool), of(recent), of(rest[judged]), [answers[row] for row in judged],
        of(rest[test]), [answers[row] for row in test], gallery, likes=likes, others=others,
    )  # fmt: skip


def banked(
    test: np.ndarray, gallery: np.ndarray, right: list[list[int]], pool: np.ndarray, likes: np.ndarray,
    others: dict[str, np.ndarray], rng: np.random.Generator,
) -> Split:  # fmt: skip
    """A test set with queries of its own, and a pool of others whose answers are not in the gallery."""
    order, asked = rng.permutation(len(pool)), rng.permutation(len(test))
    judged, rest = asked[:JUDGED], asked[JUDGED:]
    return Split(
        pool[order[MOST_RECENT:]], pool[order[:MOST_RECENT]], test[judged], [right[row] for row in judged],
        test[rest], [right[row] for row in rest], gallery, likes=likes, others=others,
    )  # fmt: skip


def two_kinds(own: dict[str, np.ndarray], rng: np.random.Generator) -> Split:
    """Captions that look for another caption of the same picture, in a gallery of captions and pictures."""
    test = own["test_text"][np.argsort(own["test_text_target"], kind="stable")].reshape(1000, 5, -1)
    gallery, pool = (
        np.concatenate((test[:, 1], own["test_image"])),
        np.concatenate((own["dev_text"], own["train_text"])),
    )
    likes = np.concatenate((own["train_text"], own["train_image"]))
    return banked(test[:, 0], gallery, one_each(1000), pool, likes, {}, rng)


def traffic(captions: np.ndarray, gallery: np.ndarray, popularity: str, rng: np.random.Generator) -> Split:
    """A log of the gallery's own traffic, Zipf .8 where targets are popular; R@1 is weighted by traffic.

    captions: (5, target, dim) queries of each target: two kinds are asked in the log, one recently, one is judged, and
    one is the test. Each request is in words of its own.
    """
    captions = captions[rng.permutation(len(captions))]
    count = len(gallery)
    hubs = np.bincount((captions[0] @ gallery.T).argmax(axis=1), minlength=count) + rng.random(count) / 2
    rank = {"on hubs": np.argsort(-hubs), "on antihubs": np.argsort(hubs)}.get(popularity, rng.permutation(count))
    share = np.empty(count)
    share[rank] = np.ones(count) if popularity == "even" else 1.0 / np.arange(1, count + 1) ** 0.8
    share /= share.sum()

    def requests(kinds: list[int], many: int) -> tuple[np.ndarray, np.ndarray]:
        wanted, kind = rng.choice(count, many, p=share), rng.choice(kinds, many)
        noise = rng.normal(size=(many, gallery.shape[1])) * (SHOWN_AGAIN / np.sqrt(gallery.shape[1]))
        return unit(captions[kind, wanted] + noise), wanted

    log, wanted = requests([0, 1], 2000)
    recent, _ = requests([2], MOST_RECENT)
    judged, answers = requests([3], JUDGED)
    top = (log @ gallery.T).argsort(axis=1)[:, ::-1][:, :10]
    shown = np.flatnonzero((top == wanted[:, None]).any(axis=1))  # people click what they want if it is shown
    clicks = [(int(row), int(wanted[row])) for row in shown]
    return Split(
        log, recent, judged, [[int(row)] for row in answers], captions[4], one_each(count), gallery,
        weight=share, log=log, clicks=clicks,
    )  # fmt: skip


def near_copies(split: Callable[[np.random.Generator], Split], rng: np.random.Generator) -> Split:
    """The same split where a tenth of the targets are in the gallery four times, nearly alike; each copy is right."""
    first = split(rng)
    assert first.gallery is not None
    count = len(first.gallery)
    copied = rng.choice(count, count // 10, replace=False)
    rows = np.concatenate((np.arange(count), np.repeat(copied, 3)))
    noise = rng.normal(size=(len(rows) - count, first.gallery.shape[1])) * (0.1 / np.sqrt(first.gallery.shape[1]))
    gallery = unit(np.concatenate((first.gallery, first.gallery[rows[count:]] + noise)))

    def all_copies(right: list[list[int]]) -> list[list[int]]:
        return [np.flatnonzero(np.isin(rows, targets)).tolist() for targets in right]

    return replace(first, gallery=gallery, judged_right=all_copies(first.judged_right), right=all_copies(first.right))


@cache
def emoji_names(language: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """All emoji, and their names in one language, NaN where there is none."""
    data = emoji.load(language, cache=folder)
    parts = (data.test, data.dev, data.bank)
    targets = np.concatenate([part.targets for part in parts])
    names = np.full_like(targets, np.nan)
    starts = np.cumsum([0, *(len(part.targets) for part in parts)])
    for start, part in zip(starts, parts, strict=False):
        names[start + part.relevant] = part.queries
    return targets, names


def emoji_split(language: str, other: str, folder: Path, rng: np.random.Generator) -> Split:
    """900 emoji are the gallery; the names of the rest are the pool, and those in another language another domain."""
    targets, names = emoji_names(language, folder)
    foreign = emoji_names(other, folder)[1]
    order = rng.permutation(len(targets))
    here, rest = order[:900], order[900:]
    named = np.flatnonzero(~np.isnan(names[here, 0]))
    others = {f"names in {other}": foreign[rest[~np.isnan(foreign[rest, 0])]]}
    pool = names[rest[~np.isnan(names[rest, 0])]]
    return banked(names[here[named]], targets[here], [[int(row)] for row in named], pool, targets[rest], others, rng)


def emoji_traffic(languages: tuple[str, ...], folder: Path, popularity: str, rng: np.random.Generator) -> Split:
    """The names of 700 emoji in five languages, each emoji's in an order of its own."""
    targets = emoji_names(languages[0], folder)[0]
    names = np.stack([emoji_names(language, folder)[1] for language in languages])
    named = rng.permutation(np.flatnonzero(~np.isnan(names).any(axis=(0, 2))))[:700]
    order = rng.permuted(np.tile(np.arange(len(names)), (len(named), 1)), axis=1).T
    return traffic(names[order, named], targets[named], popularity, rng)


def real_sets(data: Path, folder: Path) -> Iterator[RealSet]:
    """Every set in both directions where that makes sense, some of them again with near copies of targets."""
    for one in sets_as_they_are(data, folder):
        yield one
        if one.name in WITH_COPIES:
            split = partial(near_copies, one.split)
            yield RealSet(f"{one.name}, near copies", one.family, split, "near copies")


def sets_as_they_are(data: Path, folder: Path) -> Iterator[RealSet]:
    """Every set in both directions where that makes sense."""
    coco = [unit(rows) for rows in np.load(data / "coco500" / "features_clip.npy")]
    unsplash = [unit(np.load(data / "unsplash500" / f"{kind}_embeddings.npy")) for kind in ("image", "text")]
    for name, own, other in (("coco", coco, unsplash), ("unsplash", unsplash, coco)):
        yield RealSet(f"{name} t2i", name, partial(pairs, own[1], own[0], {"texts of another CLIP": other[1]}))
        yield RealSet(f"{name} i2t", name, partial(pairs, own[0], own[1], {"images of another CLIP": other[0]}))
    matrix = np.load(data / "msrvtt_1ka" / "msrvtt_video_matrix.npy")
    yield RealSet("msrvtt t2v", "msrvtt", partial(pairs, matrix, None, {}))
    yield RealSet("msrvtt v2t", "msrvtt", partial(pairs, np.ascontiguousarray(matrix.T), None, {}))
    yield from flickr_sets(data)
    multi30k = {key: unit(rows) for key, rows in np.load(data / "multi30k_cs_en" / "cs-en.npz").items()}
    tatoeba = {
        language: {key: unit(rows) for key, rows in np.load(data / "tatoeba" / f"{language}.npz").items()}
        for language in ("jpn", "fra")
    }
    for name, q, t, sentences in (
        ("multi30k cs-en", "q", "t", tatoeba["fra"]["Q"]), ("multi30k en-cs", "t", "q", tatoeba["fra"]["T"]),
    ):  # fmt: skip
        parts = [multi30k[key] for key in (f"test_{q}", f"test_{t}", f"bank_{q}", f"bank_{t}")]
        other = {"sentences of another set": sentences}
        yield RealSet(name, "multi30k", partial(banked, parts[0], parts[1], one_each(1000), *parts[2:], other))
    for language, second in (("jpn", "fra"), ("fra", "jpn")):
        own = tatoeba[language]
        to, back = {f"sentences in {second}": tatoeba[second]["Q"]}, {"captions": multi30k["bank_t"][:1000]}
        yield RealSet(f"tatoeba {language}-eng", "tatoeba", partial(pairs, own["Q"], own["T"], to))
        yield RealSet(f"tatoeba eng-{language}", "tatoeba", partial(pairs, own["T"], own["Q"], back))
    clipart = {
        key: unit(rows)
        for key, rows in np.load(data / "openclipart" / "openclipart_mapped.npz").items()
        if rows.ndim == 2
    }
    for name, q, t in (("openclipart t2i", "text", "image"), ("openclipart i2t", "image", "text")):
        parts = [clipart[key] for key in (f"test_{q}", f"test_{t}", f"train_{q}", f"train_{t}")]
        yield RealSet(name, "openclipart", partial(banked, parts[0], parts[1], one_each(700), *parts[2:], {}))
    yield from wikipedia(data / "wikipedia_negative")
    for languages, family in ((KNOWN, "emoji, known"), (UNKNOWN, "emoji, unknown")):
        for place, language in enumerate(languages):
            other = languages[(place + 1) % len(languages)]
            yield RealSet(f"emoji {language}", family, partial(emoji_split, language, other, folder))
    for popularity in ("even", "Zipf", "on hubs", "on antihubs"):
        split = partial(emoji_traffic, KNOWN, folder, popularity)
        yield RealSet(f"traffic emoji, {popularity}", "traffic, emoji", split, popularity)


def flickr_sets(data: Path) -> Iterator[RealSet]:
    models = {
        model: {
            key: rows if rows.ndim == 1 else unit(rows)
            for key, rows in np.load(data / "flickr8k" / f"flickr8k_{model}.npz").items()
        }
        for model in ("dual", "ridge_t2i")
    }
    for model, second in (("dual", "ridge_t2i"), ("ridge_t2i", "dual")):
        own, family = models[model], f"flickr8k {model}"
        first = np.unique(own["test_text_target"], return_index=True)[1]
        right = [[int(row)] for row in own["test_text_target"]]
        log, images = np.concatenate((own["dev_text"], own["train_text"])), own["train_image"]
        sides = own["test_text"], own["test_image"], right, log, images, {"another model": models[second]["dev_text"]}
        yield RealSet(f"{family} t2i", family, partial(banked, *sides))
        texts, back = own["train_text"], {"another model": models[second]["dev_image"]}
        turned = own["test_image"], own["test_text"][first], one_each(len(first)), images, texts, back
        yield RealSet(f"{family} i2t", family, partial(banked, *turned))
        yield RealSet(f"{family}, two kinds", family, partial(two_kinds, own), "two kinds")
        for part in ("test", "dev"):
            captions = own[f"{part}_text"][np.argsort(own[f"{part}_text_target"], kind="stable")]
            five = captions.reshape(-1, 5, captions.shape[1]).transpose(1, 0, 2)
            for popularity in ("even", "Zipf", "on hubs", "on antihubs"):
                split = partial(traffic, five, own[f"{part}_image"], popularity)
                yield RealSet(f"traffic {family} {part}, {popularity}", f"traffic, {model}", split, popularity)


def wikipedia(folder: Path) -> Iterator[RealSet]:
    """Articles and their images, right where the class is the same; a ridge map from image to text on half of train."""
    from scipy.io import loadmat

    raw = loadmat(folder / "raw_features.mat")
    labels = [int(line.split()[-1]) for line in (folder / "testset_txt_img_cat.list").read_text().splitlines()]
    image = {part: np.sqrt(raw[f"I_{part}"].astype(np.float64)) for part in ("tr", "te")}
    text = {part: raw[f"T_{part}"].astype(np.float64) for part in ("tr", "te")}
    half = len(image["tr"]) // 2
    mean_i, mean_t = image["tr"][:half].mean(axis=0), text["tr"][:half].mean(axis=0)
    x, y = image["tr"][:half] - mean_i, text["tr"][:half] - mean_t
    ridge = np.linalg.solve(x.T @ x + 0.1 * np.eye(x.shape[1]), x.T @ y)
    images = {part: unit((rows - mean_i) @ ridge) for part, rows in image.items()}
    texts = {part: unit(rows - mean_t) for part, rows in text.items()}
    right = [np.flatnonzero(np.array(labels) == label).tolist() for label in labels]
    for name, q, t in (("wikipedia i2t", images, texts), ("wikipedia t2i", texts, images)):
        parts = q["te"], t["te"], right, q["tr"][half:], t["tr"][half:], {}
        yield RealSet(name, "classes", partial(banked, *parts), "classes")
