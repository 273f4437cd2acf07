"""What a capture costs is bounded, whatever the program: by counts of what it followed."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import pycompile
from pycompile import _C


@dataclass
class Particle:
    place: np.ndarray
    speed: np.ndarray
    alive: bool = True
    hits: int = 0

    def move(self, dt):
        self.place = self.place + self.speed * dt
        for i in range(2):
            if self.place[i] < 0 or self.place[i] > 1:
                self.speed[i] = -self.speed[i]
                self.hits += 1
        if self.hits > 3:
            self.alive = False


def swarm(particles, dt, steps):
    for _ in range(steps):
        for particle in particles:
            if particle.alive:
                particle.move(dt)
    return [p.place for p in particles], [p.hits for p in particles]


def particles(count):
    rng = np.random.default_rng(0)
    return [Particle(rng.random(2), rng.standard_normal(2)) for _ in range(count)]


@pytest.mark.slow
def test_branches_on_values_in_all_that_is_unrolled():
    """At each branch all values are saved that there are."""
    count, steps = 60, 30
    compiled = pycompile.compile(swarm, options={"plan_always": False})
    before = _C.compile_counts()["instructions"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        places, hits = compiled(particles(count), 0.1, steps)
    followed = _C.compile_counts()["instructions"] - before
    wanted, counts = swarm(particles(count), 0.1, steps)
    assert hits == counts
    assert all(np.array_equal(a, b) for a, b in zip(places, wanted, strict=True))
    assert followed < 200_000
