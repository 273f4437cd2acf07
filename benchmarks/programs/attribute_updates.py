"""Bouncing balls as objects: each step updates attributes, and nothing is an array."""

from benchmarks.programs import compiled

SIZES = (1, 60)
CALLS = 1000


class Ball:
    def __init__(self, height, speed):
        self.height = height
        self.speed = speed
        self.bounces = 0

    @compiled
    def move(self, dt):
        self.speed -= 9.81 * dt
        self.height += self.speed * dt
        if self.height < 0:
            self.height = -self.height
            self.speed *= -0.9
            self.bounces += 1


@compiled
def total_energy(balls):
    return sum(9.81 * ball.height + 0.5 * ball.speed**2 for ball in balls)


def main(rng, size):
    balls = [Ball(h, 0.0) for h in rng.uniform(1, 5, size).tolist()]
    for _ in range(60):
        for ball in balls:
            ball.move(0.01)
    return total_energy(balls), sum(ball.bounces for ball in balls)
