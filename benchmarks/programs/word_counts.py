"""Words of a text counted in a dict, their most frequent pairs, and a cipher."""

from benchmarks.programs import compiled

SIZES = (10, 1500)
CALLS = 1000
WORDS = "the of and a to in is you that it he was for on are as with his they I at be".split()


@compiled
def count(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


@compiled
def pairs(words):
    counts = {}
    for i in range(len(words) - 1):
        key = words[i] + " " + words[i + 1]
        counts[key] = counts.get(key, 0) + 1
    return counts


@compiled
def shifted(text, key):
    out = []
    for character in text:
        code = ord(character)
        if 97 <= code <= 122:
            out.append(chr((code - 97 + key) % 26 + 97))
        else:
            out.append(character)
    return "".join(out)


def main(rng, size):
    words = [WORDS[k % len(WORDS)] for k in rng.geometric(0.2, size).tolist()]
    common = sorted(count(words).items(), key=lambda item: (-item[1], item[0]))[:5]
    best = max(pairs(words).items(), key=lambda item: (item[1], item[0]))
    return common, best, shifted(" ".join(words[:60]), 3)
