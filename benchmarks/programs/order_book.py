"""An order book: buys and sells matched by price in sorted lists of objects."""

from bisect import insort

from benchmarks.programs import compiled

SIZES = (10, 800)


class Order:
    __slots__ = ("price", "amount", "number")

    def __init__(self, price, amount, number):
        self.price, self.amount, self.number = price, amount, number


@compiled
def match(book, order, sign, trades):
    while order.amount > 0 and book and sign * book[0].price <= sign * order.price:
        best = book[0]
        filled = min(order.amount, best.amount)
        order.amount -= filled
        best.amount -= filled
        trades.append((best.price, filled))
        if best.amount == 0:
            del book[0]


@compiled
def keep(book, order, sign):
    if order.amount > 0:
        insort(book, order, key=lambda o: (sign * o.price, o.number))


@compiled
def average(trades):
    volume = sum(amount for _, amount in trades)
    return sum(price * amount for price, amount in trades) / volume if volume else 0.0


def main(rng, size):
    prices = (100 + rng.normal(scale=2, size=size)).round(1).tolist()
    amounts = rng.integers(1, 50, size).tolist()
    sides = rng.integers(0, 2, size).tolist()
    buys, sells, trades = [], [], []
    for number, (price, amount, side) in enumerate(zip(prices, amounts, sides)):
        order = Order(price, amount, number)
        match(sells if side else buys, order, 1 if side else -1, trades)
        keep(buys if side else sells, order, -1 if side else 1)
    return len(trades), average(trades), len(buys), len(sells)
