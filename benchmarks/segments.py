"""Does a bias for each language or topic beat one bias for all? Real sets, and a mixed log of queries as the bank.

    python benchmarks/segments.py                                   # emoji in eight languages
    python benchmarks/segments.py --languages other                 # twelve other languages
    python benchmarks/segments.py --set flickr8k --data ../shared/data   # topics of captions, by k-means

Every seed draws a bank, recent queries (a quarter as many) and, for the emoji, the gallery anew; the names of its emoji
are the test queries, and no emoji of the gallery is asked for in the log. The strength l of a bias g is nearly that of
the guard: the least of the l with the highest dual on 5 folds of the bank and the smallest l within SE/2 of the highest
on the recent queries, and none below .25. Here SE is the standard error of the gain at the highest, where the guard
takes that of the difference, and no recent query is left out. "global" is one bias of the pooled bank; differences are
against it:

    strength    the global bias, with a strength for each segment
    always      a bias and a strength for each segment
    fallback    the same where its dual on held-out queries of the segment is higher by --margin SE, else global
    loose       the global bias at the l (up to 2) with the highest dual on the segment's held-out queries, with the
                same fallback: what of the next column is due to a bolder strength only
    blend       l1 global + l2 own, chosen like loose
    half        the mean of the global and the own bias, at the global strength, with no look at duals. It was added
                after a look at four seeds of the default languages; --languages other is the check on fresh ones

Each language asks for every emoji equally often, which suits a bias of its own. --favour 3 makes each ask three times
as often for one eighth of the emoji, another for each language, in the log and in the test. The own topics of flickr8k
are the extreme of that.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.cluster.vq import kmeans2

from unhub.demo import emoji

LANGUAGES = ("ar", "de", "ja", "th", "cs", "el", "fi", "uk")
"""four that the encoder knows, four that it does not"""
OTHER = ("es", "fr", "it", "ko", "nl", "pl", "pt", "tr", "zh", "zh-Hant", "hu", "sv")
VARIANTS = ("none", "full", "global", "strength", "always", "fallback", "loose", "blend", "half")
GRID = np.linspace(0, 1, 21)
PAIRS = np.stack(np.meshgrid(GRID[::2], GRID[::2], indexing="ij"), axis=-1).reshape(-1, 2)
FLOOR, FOLDS, ROUNDS, GALLERY, DRAWS = 0.25, 5, 10, 900, 2000


@dataclass(frozen=True)
class Queries:
    """Scores against the gallery (query, gallery), and the segment of each query."""

    scores: np.ndarray
    segment: np.ndarray

    def of(self, segment: int) -> np.ndarray:
        return self.segment == segment


@dataclass(frozen=True)
class Trial:
    """One draw; ``right`` is the row of the gallery that each test query asks for, ``item`` what it is in all draws."""

    names: Sequence[str]
    bank: Queries
    recent: Queries
    test: Queries
    right: np.ndarray
    item: np.ndarray


@dataclass(frozen=True)
class Fitted:
    """A centred bias at strength 1, and that of the fit without each fold."""

    bias: np.ndarray
    without: tuple[np.ndarray, ...]


def sinkhorn(kernel: np.ndarray) -> np.ndarray:
    """log beta (gallery,), centred, after the rounds of SN with even marginals."""
    beta = np.ones(kernel.shape[1])
    for _ in range(ROUNDS):
        beta = 1 / (kernel.T @ (1 / (kernel @ beta)))
    return np.log(beta) - np.log(beta).mean()


def fitted(kernel: np.ndarray, fold: np.ndarray) -> Fitted:
    return Fitted(sinkhorn(kernel), tuple(sinkhorn(kernel[fold != each]) for each in range(FOLDS)))


def gains(kernel: np.ndarray, potentials: np.ndarray) -> np.ndarray:
    """The dual of each query at each potential (query, potential), above that of none, in nats."""
    return np.log(kernel.sum(axis=1))[:, None] - np.log(kernel @ np.exp(potentials).T)


def held_out(kernel: np.ndarray, fold: np.ndarray, biases: Sequence[Fitted], weights: np.ndarray) -> np.ndarray:
    """``gains`` of bank queries at weighted sums of the biases that were fitted without their fold."""
    result = np.empty((len(kernel), len(weights)))
    for each in range(FOLDS):
        rows = fold == each
        result[rows] = gains(kernel[rows], weights @ np.stack([bias.without[each] for bias in biases]))
    return result


def guarded(bank: np.ndarray, recent: np.ndarray) -> int:
    """The place in GRID of the strength, from the gains of held-out bank queries and of recent queries."""
    if len(recent) < 2:
        return 0
    mean = recent.mean(axis=0)
    top = int(mean.argmax())
    enough = mean[top] - standard_error(recent[:, top]) / 2
    least = min(int(bank.mean(axis=0).argmax()), int(np.flatnonzero(mean >= enough)[0]))
    return least if GRID[least] >= FLOOR else 0


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def better(own: np.ndarray, common: np.ndarray, margin: float) -> bool:
    """Whether the dual of the same queries is higher by so many standard errors of the difference."""
    gap = own - common
    return bool(gap.mean() > margin * standard_error(gap))


def biases(trial: Trial, rng: np.random.Generator, margin: float, smallest: int, own_tau: bool) -> dict[str, list]:
    """The bias of each variant for each segment, in the unit of the scores, and which segments left the global one."""
    bank, recent, segments = trial.bank, trial.recent, range(len(trial.names))
    fold = np.empty(len(bank.segment), dtype=int)
    for k in segments:
        fold[bank.of(k)] = rng.permutation(np.arange(bank.of(k).sum()) % FOLDS)
    tau = bank.scores.std() / 3
    one = GRID[:, None]
    kernel, fresh = kernel_of(bank.scores, tau), kernel_of(recent.scores, tau)
    pooled = fitted(kernel, fold)
    in_bank, in_recent = held_out(kernel, fold, [pooled], one), gains(fresh, one * pooled.bias)
    common = guarded(in_bank, in_recent)
    found: dict[str, list] = {name: [] for name in (*VARIANTS, "left", "blended")}
    for k in segments:
        mine, new = bank.of(k), recent.of(k)
        own_strength = guarded(in_bank[mine], in_recent[new])
        # everything about a segment is compared at one temperature: the pooled one, or the segment's
        warm = bank.scores[mine].std() / 3 if own_tau else tau
        mine_kernel, new_kernel = kernel_of(bank.scores[mine], warm), kernel_of(recent.scores[new], warm)
        shared = Fitted(pooled.bias * tau / warm, tuple(each * tau / warm for each in pooled.without))
        own = fitted(mine_kernel, fold[mine])
        own_bank, own_recent = held_out(mine_kernel, fold[mine], [own], one), gains(new_kernel, one * own.bias)
        place = guarded(own_bank, own_recent)
        everywhere = np.concatenate((own_bank[:, place], own_recent[:, place]))
        at_common = one[common : common + 1]
        reference = np.concatenate((
            held_out(mine_kernel, fold[mine], [shared], at_common), gains(new_kernel, at_common * shared.bias)
        ))[:, 0]  # fmt: skip
        leaves = mine.sum() >= smallest and better(everywhere, reference, margin)
        pair = np.stack([shared.bias, own.bias])
        both = np.concatenate(
            (held_out(mine_kernel, fold[mine], [shared, own], PAIRS), gains(new_kernel, PAIRS @ pair))
        )
        best = int(both.mean(axis=0).argmax())
        blends = mine.sum() >= smallest and better(both[:, best], reference, margin)
        bold = np.concatenate((
            held_out(mine_kernel, fold[mine], [shared], 2 * one), gains(new_kernel, 2 * one * shared.bias)
        ))  # fmt: skip
        boldest = int(bold.mean(axis=0).argmax())
        bolder = mine.sum() >= smallest and better(bold[:, boldest], reference, margin)
        for_all, for_one = tau * GRID[common] * pooled.bias, warm * GRID[place] * own.bias
        found["none"].append(np.zeros_like(for_all))
        found["full"].append(tau * pooled.bias)
        found["global"].append(for_all)
        found["strength"].append(tau * GRID[own_strength] * pooled.bias)
        found["always"].append(for_one)
        found["fallback"].append(for_one if leaves else for_all)
        found["loose"].append(tau * 2 * GRID[boldest] * pooled.bias if bolder else for_all)
        found["blend"].append(warm * PAIRS[best] @ pair if blends else for_all)
        found["half"].append((for_all + warm * GRID[common] * own.bias) / 2 if mine.sum() >= smallest else for_all)
        found["left"].append(leaves)
        found["blended"].append(blends)
    return found


def kernel_of(scores: np.ndarray, tau: float) -> np.ndarray:
    """exp(S / tau) with every row divided by its largest, which changes neither beta nor the gains."""
    return np.exp((scores - scores.max(axis=1, keepdims=True)) / tau)


def unit(rows: np.ndarray) -> np.ndarray:
    wide = rows.astype(np.float64)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def read_emoji(languages: Sequence[str], cache: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """All emoji (emoji, dim), and the vectors of their names by language, NaN where there is none."""
    targets, names = np.empty((0, 0)), {}
    for language in languages:
        data = emoji.load(language, cache=cache)
        parts = (data.test, data.dev, data.bank)
        targets = unit(np.concatenate([part.targets for part in parts]))
        starts = np.cumsum([0, *(len(part.targets) for part in parts)])
        names[language] = np.full_like(targets, np.nan)
        for start, part in zip(starts, parts, strict=False):
            names[language][start + part.relevant] = unit(part.queries)
    return targets, names


def emoji_trial(
    targets: np.ndarray,
    names: dict[str, np.ndarray],
    demand: np.ndarray,
    sizes: Sequence[int],
    labels: Sequence[str] | None,
    seed: int,
) -> tuple[Trial, np.random.Generator]:
    """A gallery of 900 emoji, its names as tests, and logs of so many names of other emoji in each language.

    ``demand`` (language, emoji) is how often each is asked for; where it is uneven, a third of the names are tests. The
    sizes go round the languages with the seed, and rows of the table are the sizes, if there are ``labels``.
    """
    rng = np.random.default_rng([seed, *sizes])
    order = np.random.default_rng(seed).permutation(len(targets))
    gallery, rest = order[:GALLERY], order[GALLERY:]
    asked: dict[str, list[np.ndarray]] = {"bank": [], "recent": [], "test": []}
    right = []
    turned = list(np.roll(list(names), -seed)) if labels else list(names)
    for language, size in zip(turned, sizes, strict=True):
        there, wanted = ~np.isnan(names[language][:, 0]), demand[list(names).index(language)]
        log, new = rest[there[rest]], recent_count(size)
        if len(log) < size + new:
            raise SystemExit(f"{language} has {len(log)} names outside the gallery, fewer than {size} + {new}")
        log = draw(log, size + new, wanted, rng)
        tests = np.flatnonzero(there[gallery])
        if np.ptp(wanted) > 0:
            tests = draw(tests, len(tests) // 3, wanted[gallery], rng)
        right.append(tests)
        asked["bank"].append(names[language][log[:size]])
        asked["recent"].append(names[language][log[size:]])
        asked["test"].append(names[language][gallery[tests]])
    parts = {
        part: Queries(np.concatenate(rows) @ targets[gallery].T, np.repeat(np.arange(len(rows)), [*map(len, rows)]))
        for part, rows in asked.items()
    }
    answer = np.concatenate(right)
    return Trial(labels or turned, **parts, right=answer, item=gallery[answer]), rng


def draw(rows: np.ndarray, count: int, wanted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """So many of the rows, none twice, in an order of chance."""
    return rng.permutation(rng.choice(rows, count, replace=False, p=wanted[rows] / wanted[rows].sum()))


def favoured(targets: np.ndarray, languages: int, favour: float) -> np.ndarray:
    """Demand (language, emoji): each language wants one of eight groups of like emoji so many times as much."""
    group = kmeans2(targets, 8, minit="++", seed=0)[1]
    return np.where(group == np.arange(languages)[:, None] % 8, favour, 1.0)


def flickr_trial(
    archive: dict[str, np.ndarray], log: np.ndarray, topics: np.ndarray, size: int, seed: int
) -> tuple[Trial, np.random.Generator]:
    """The test images and captions; captions of dev and train as the log, with topics as frequent as they are."""
    rng = np.random.default_rng([seed, size])
    drawn = rng.permutation(len(log))
    many, new = len(topics) * size, len(topics) * recent_count(size)
    gallery, right = unit(archive["test_image"]), archive["test_text_target"].astype(int)

    def queries(rows: np.ndarray) -> Queries:
        return Queries(rows @ gallery.T, (rows @ topics.T).argmax(axis=1))

    parts = (queries(log[drawn[:many]]), queries(log[drawn[many : many + new]]), queries(unit(archive["test_text"])))
    return Trial([f"topic {k + 1}" for k in range(len(topics))], *parts, right=right, item=right), rng


def recent_count(size: int) -> int:
    return max(8, size // 4)


class Tally:
    """Hits by row of the table, seed and item, and intervals that draw seeds and items anew."""

    def __init__(self, seeds: int, items: int) -> None:
        self.seeds, self.items = seeds, items
        self.hits: dict[str, np.ndarray] = {}
        self.left: dict[str, list[tuple[bool, bool]]] = {}
        rng = np.random.default_rng(0)
        self.by_seed = rng.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS).astype(float)
        self.by_item = rng.multinomial(items, np.full(items, 1 / items), DRAWS).astype(float)

    def add(self, trial: Trial, found: dict[str, list], seed: int) -> None:
        for k, name in enumerate(trial.names):
            rows = trial.test.of(k)
            item, right = trial.item[rows], trial.right[rows]
            for row in (name, "mean"):
                counts = self.hits.setdefault(row, np.zeros((len(VARIANTS) + 1, self.seeds, self.items)))
                self.left.setdefault(row, []).append((found["left"][k], found["blended"][k]))
                np.add.at(counts[-1], (seed, item), 1)
                for place, variant in enumerate(VARIANTS):
                    hit = (trial.test.scores[rows] + found[variant][k]).argmax(axis=1) == right
                    np.add.at(counts[place], (seed, item), hit)

    def lines(self, title: str, against: str) -> Iterator[str]:
        for row in sorted(self.hits, key=lambda name: name == "mean"):
            counts = self.hits[row]
            total = counts[-1].sum()
            recall = 100 * counts[:-1].sum(axis=(1, 2)) / total
            drawn = self._drawn(counts[-1])
            common, plain = VARIANTS.index(against), VARIANTS.index("global") + 1
            cells = [f"{value:7.1f}" for value in recall[:plain]]
            for place in range(plain, len(VARIANTS)):
                low, high = np.percentile(100 * self._drawn(counts[place] - counts[common]) / drawn, [2.5, 97.5])
                cells.append(f"{recall[place] - recall[common]:+8.2f} [{low:+5.1f},{high:+5.1f}]")
            shares = 100 * np.mean(self.left[row], axis=0)
            yield f"{title:>12} {row:>9}{''.join(cells)}{shares[0]:6.0f}{shares[1]:6.0f}"

    def _drawn(self, counts: np.ndarray) -> np.ndarray:
        return ((self.by_seed @ counts) * self.by_item).sum(axis=1)


def header() -> str:
    wide = "".join(f"{name:>{7 if place < 3 else 22}}" for place, name in enumerate(VARIANTS))
    return f"{'bank':>12} {'segment':>9}{wide}{'own%':>6}{'bl.%':>6}"


def cases(options: argparse.Namespace) -> Iterator[tuple[str, int, Callable[[int], tuple[Trial, np.random.Generator]]]]:
    """A title, the number of items, and the trial of a seed."""
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.set == "flickr8k":
        archive = dict(np.load(options.data / "flickr8k" / f"flickr8k_{options.model}.npz"))
        log = unit(np.concatenate((archive["dev_text"], archive["train_text"])))
        topics = unit(kmeans2(log, options.topics, minit="++", seed=0)[0])
        for size in sizes:
            if options.topics * (size + recent_count(size)) <= len(log):
                yield f"~{size} each", len(archive["test_image"]), partial(flickr_trial, archive, log, topics, size)
        return
    languages = OTHER if options.languages == "other" else options.languages.split(",")
    targets, names = read_emoji(languages, options.cache)
    many = len(languages)
    trial = partial(emoji_trial, targets, names, favoured(targets, many, options.favour))
    for size in sizes:
        yield f"{size} each", len(targets), partial(trial, [size] * many, None)
    if options.favour != 1:
        return
    for title, uneven in (
        ("800/rank", [800 // (rank + 1) for rank in range(many)]),
        ("800, 50...", [800] + [50] * (many - 1)),
    ):
        labels = [f"{size} asked" for size in uneven]
        yield title, len(targets), partial(trial, uneven, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=("emoji", "flickr8k"), default="emoji")
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="codes with commas between, or other")
    parser.add_argument("--favour", type=float, default=1.0, help="how much more a language asks for its own emoji")
    parser.add_argument("--against", choices=VARIANTS, default="global", help="what the changes are measured against")
    parser.add_argument("--sizes", default="50,100,200,400,800", help="bank queries of each segment")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--margin", type=float, default=1.0, help="standard errors by which a segment must be better")
    parser.add_argument("--smallest", type=int, default=50, help="bank queries a segment needs for a bias of its own")
    parser.add_argument("--own-tau", action="store_true", help="tau from each segment's scores, not from all")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", choices=("dual", "ridge_t2i"), default="dual", help="of flickr8k")
    parser.add_argument("--topics", type=int, default=8, help="of flickr8k")
    parser.add_argument("--cache", type=Path, default=Path("build/emoji"), help="where encoded names are kept")
    options = parser.parse_args()
    print(f"R@1, then the change against {options.against} with 95 % intervals, and % of segments that left global\n")
    print(header())
    for title, items, trial_of in cases(options):
        tally = Tally(options.seeds, items)
        for seed in range(options.seeds):
            trial, rng = trial_of(seed)
            tally.add(trial, biases(trial, rng, options.margin, options.smallest, options.own_tau), seed)
        print(*tally.lines(title, options.against), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
