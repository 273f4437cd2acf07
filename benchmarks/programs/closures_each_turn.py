"""A new closure, compiled in each turn, as callbacks are made in loops."""

from benchmarks.programs import compiled

SIZES = (10, 400)
CALLS = 1000


def make_penalty(weight, centre):
    @compiled
    def penalty(x):
        return weight * ((x - centre) ** 2).sum()

    return penalty


def make_step(rate):
    def step(x, slope):
        return x - rate * slope

    return compiled(step)


def main(rng, size):
    x = rng.normal(size=size)
    history = []
    for turn in range(8):
        centre = 0.1 * turn
        penalty = make_penalty(1.0 + turn, centre)
        step = make_step(0.01 * (turn + 1))
        x = step(x, 2 * (1.0 + turn) * (x - centre))
        history.append(penalty(x))
    return x, history
