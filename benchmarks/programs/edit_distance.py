"""Edit distances between words, in rows of lists, and the nearest word of a dictionary."""

from benchmarks.programs import compiled

SIZES = (3, 60)
LETTERS = "etaoinshrdlu"


@compiled
def distance(a, b):
    row = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        before, row[0] = row[0], i
        for j in range(1, len(b) + 1):
            best = min(row[j] + 1, row[j - 1] + 1, before + (a[i - 1] != b[j - 1]))
            before, row[j] = row[j], best
    return row[-1]


@compiled
def nearest(word, words):
    best, where = len(word) + 99, None
    for other in words:
        if abs(len(other) - len(word)) >= best:
            continue
        d = distance(word, other)
        if d < best:
            best, where = d, other
    return where, best


def word(rng):
    return "".join(LETTERS[k] for k in rng.integers(0, len(LETTERS), int(rng.integers(3, 11))))


def main(rng, size):
    words = [word(rng) for _ in range(size)]
    return [nearest(word(rng), words) for _ in range(3)]
