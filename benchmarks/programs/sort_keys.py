"""Records sorted by small compiled key functions, and a league table."""

from benchmarks.programs import compiled

SIZES = (5, 800)
CALLS = 300


@compiled
def by_points(row):
    return -row[1], row[2], row[0]


@compiled
def by_name_length(row):
    return len(row[0]), row[0]


@compiled
def goal_difference(row):
    return row[2] - row[3]


def table(rows):
    best = sorted(rows, key=by_points)
    named = sorted(rows, key=by_name_length)
    return best[:10], named[:10], max(rows, key=goal_difference)


def main(rng, size):
    points = rng.integers(0, 90, size).tolist()
    scored = rng.integers(10, 99, size).tolist()
    conceded = rng.integers(10, 99, size).tolist()
    names = ["team" * (1 + i % 3) + str(i) for i in range(size)]
    return table(list(zip(names, points, scored, conceded)))
