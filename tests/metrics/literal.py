"""The metrics written out as slowly and literally as possible, in Python floats: the fast ones must match."""

import itertools
import math
import statistics


def ordinary_rank(row, target, ties, left_out=None):
    """The 1-based rank of one target among all targets of its query, by looking at each of them."""
    others = [j for j in range(len(row)) if j not in (target, left_out)]
    greater = sum(row[j] > row[target] for j in others)
    equal = sum(row[j] == row[target] for j in others)
    before = sum(row[j] == row[target] and j < target for j in others)
    return {
        "average": 1 + greater + equal / 2,
        "optimistic": 1 + greater,
        "pessimistic": 1 + greater + equal,
        "index": 1 + greater + before,
    }[ties]


def sorted_places(row, relevant, ties, left_out=None):
    """The places of the relevant targets, ascending, over every order that could break the ties."""
    targets = [j for j in range(len(row)) if j != left_out]
    if ties == "index":
        order = sorted(targets, key=lambda j: (-row[j], j))
        return sorted(order.index(j) + 1 for j in relevant)
    outcomes = []
    for luck in itertools.permutations(range(len(targets))):
        order = [j for _, _, j in sorted((-row[j], luck[n], j) for n, j in enumerate(targets))]
        outcomes.append(sorted(order.index(j) + 1 for j in relevant))
    choose = {"average": statistics.mean, "optimistic": min, "pessimistic": max}[ties]
    return [float(choose(nth)) for nth in zip(*outcomes, strict=True)]


def hit_rate(places, k):
    return 1.0 if any(place <= k for place in places) else 0.0


def recall(places, k):
    return sum(place <= k for place in places) / len(places)


def reciprocal_rank(places):
    return 1 / min(places)


def average_precision(places):
    return sum(sum(other <= place for other in places) / place for place in places) / len(places)


def ndcg(places, gains, k):
    """``gains`` in the order of the places."""
    reached = sum(gain / math.log2(1 + place) for place, gain in zip(places, gains, strict=True) if place <= k)
    best = sorted(gains, reverse=True)[:k]
    return reached / sum(gain / math.log2(1 + position) for position, gain in enumerate(best, start=1))


def k_occurrence(scores, k, left_out=False):
    counts = [0] * len(scores[0])
    for i, row in enumerate(scores):
        targets = [j for j in range(len(row)) if not (left_out and i == j)]
        for j in sorted(targets, key=lambda j: (-row[j], j))[:k]:
            counts[j] += 1
    return counts


def skewness(counts):
    mean = sum(counts) / len(counts)
    second = sum((n - mean) ** 2 for n in counts) / len(counts)
    third = sum((n - mean) ** 3 for n in counts) / len(counts)
    return third / second**1.5 if second else 0.0


def robin_hood(counts):
    mean = sum(counts) / len(counts)
    return sum(n - mean for n in counts if n > mean) / sum(counts)


def gini(counts):
    differences = sum(abs(a - b) for a in counts for b in counts)
    return differences / (2 * len(counts) * sum(counts))
