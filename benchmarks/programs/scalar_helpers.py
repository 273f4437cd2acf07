"""Loan schedules out of small helpers of numbers, called one at a time."""

from benchmarks.programs import compiled

SIZES = (6, 360)
CALLS = 1000


@compiled
def clamp(x, low, high):
    return low if x < low else high if x > high else x


@compiled
def payment(principal, rate, months):
    if rate == 0:
        return principal / months
    return principal * rate / (1 - (1 + rate) ** -months)


@compiled
def interest(balance, rate):
    return balance * rate


@compiled
def rounded(x):
    return round(x, 2)


def schedule(principal, rate, months):
    balance, paid = principal, 0.0
    monthly = rounded(payment(principal, rate, months))
    for _ in range(months):
        due = rounded(interest(balance, rate))
        part = clamp(monthly - due, 0.0, balance)
        balance = rounded(balance - part)
        paid += due
    return monthly, rounded(paid), balance


def main(rng, size):
    principal = float(rng.integers(1000, 400_000))
    return schedule(principal, rng.uniform(0.0, 0.01), size)
