"""Random programs that use two devices: elementwise operations, reductions, writes and copies, in blocks that
may be in one another.  All numbers are ints, so that a sum is exact in any order."""

import numpy as np

ROWS, COLUMNS = 6, 40


class Program:
    """`source` defines function(x0, x1, y0, y1): the first two are arrays of device 0, the others of device 1."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines, self.count = ["def function(x0, x1, y0, y1):"], 0
        self.names = [["x0", "x1"], ["y0", "y1"]]
        self.block(0, 1, self.rng.integers(3, 7))
        left = ", ".join([*self.names[0][2:], *self.names[1][2:]])
        self.source = "\n".join([*self.lines, f"    return ({left},)", ""])

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def pick(self, of):
        return of[self.rng.integers(len(of))]

    def block(self, device, depth, statements):
        for _ in range(statements):
            if depth < 4 and self.rng.random() < 0.45:
                other = device if self.rng.random() < 0.1 else 1 - device
                named = self.pick(self.names[other])
                self.put(
                    depth, f"with {self.pick([f'cp.cuda.Device({other})', f'{named}.device'])}:"
                )
                self.block(other, depth + 1, self.rng.integers(1, 4))
            else:
                self.statement(device, depth)

    def statement(self, device, depth):
        own, others = self.names[device], self.names[1 - device]
        a, b, number = self.pick(own), self.pick(own), self.rng.integers(-3, 4)
        made = [name for name in own if name[0] == "v"]
        kind = self.pick(["op", "op", "reduce", "copy", "copy", "write", "store"])
        if kind == "write" and made:
            self.put(depth, f"{self.pick(made)} += {a}")
            return
        if kind == "store" and made:
            self.put(depth, f"{self.pick(made)}[...] = {self.pick(others)}")
            return
        new = f"v{self.count}"
        self.count += 1
        text = {
            "op": f"cp.{self.pick(['minimum', 'maximum', 'add', 'subtract'])}({a}, {b}) * {number}",
            "reduce": f"{a} - {b}.{self.pick(['sum', 'max'])}(axis={self.pick([0, 1])}, keepdims=True)",
            "copy": f"cp.asarray({self.pick(others)})",
        }
        self.put(depth, f"{new} = {text.get(kind, f'{a} + {number}')}")
        own.append(new)

    def inputs(self):
        """Of host arrays, with the device of each."""
        rng = np.random.default_rng(1)
        return [(k, rng.integers(-9, 9, (ROWS, COLUMNS))) for k in (0, 0, 1, 1)]

    def function(self, cp):
        names = {"cp": cp}
        exec(compile(self.source, "<pair>", "exec"), names)
        return names["function"]

    def devices(self):
        """Of the results."""
        return [0] * len(self.names[0][2:]) + [1] * len(self.names[1][2:])
