"""The pullback's text: the adjoint of each node, in reverse order.

Each region (the graph itself, an arm of a branch, the body of a loop) is a scope.  What a scope's
adjoint reads of its own nodes is written in front of it, once: kept by the forward text, computed
again, or, in loops over elements, read from the stacks that a second run of the loop fills
(`pull_loop`).
"""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _C, _calls, _steps
from pycompile.derivatives import _functions, _views
from pycompile.derivatives._elementwise import COMPLEX_ROWS, DISCRETE, ROWS
from pycompile.derivatives._program import (
    CHEAP,
    MOST_AGAIN,
    UFUNCS,
    Activity,
    Called,
    Names,
    Node,
    Text,
    Writer,
    called,
    dtype_text,
    holes_in,
    is_real_valued,
    no_rule,
    store_text,
)


class Scope:
    """A region whose adjoint is being written."""

    def __init__(self, nodes: Sequence[Node], kind: str, outer: Scope | None, loop: Any) -> None:
        self.ids = {node.id for node in nodes}
        self.kind = (
            kind  # "graph", "again" (all is computed again), "turns" (of a loop over elements)
        )
        self.outer, self.loop = outer, loop
        self.have: set[int] = set()
        self.front = Text()


class Turns:
    """A loop over elements in a nest: what the second run saves in each turn, on stacks `s_NAME`."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.saved: dict[str, str] = {}  # name: dtype


class Backward(Writer):
    def __init__(
        self, names: Names, sizes: dict[str, int], active: Activity, kept: dict[int, Node]
    ) -> None:
        super().__init__(names, sizes, Text())
        self.active = active
        self.kept = dict(kept)  # what is kept for more cotangents is there for fewer
        self.ct: dict[int, str] = {}  # node: the name of its cotangent
        self.owned: set[str] = set()  # cotangents that may be written in place
        self.multi: dict[int, dict[int, str]] = {}
        self.scope: Scope = Scope((), "graph", None, None)
        self.roots: dict[int, int] = {}  # versions of an array in a loop: the first
        self.again: dict[int, int] = {}  # what computing a node again costs
        self.unique = 0
        self.saves: dict[str, Turns] = {}
        self.turns: dict[int, Turns] = {}
        self.loops: list[Node] = []
        self.region_roots: dict[tuple[int, int], int] = {}

    # ---- values of the forward pass ----

    def home(self, node: Node) -> Scope:
        scope: Scope | None = self.scope
        while scope is not None and node.id not in scope.ids:
            scope = scope.outer
        return scope if scope is not None else self.top

    def run(self, nodes: Sequence[Node], outputs: dict[int, str]) -> None:
        """Writes the pullback of a graph, of the cotangents `outputs` by node."""
        self.top = self.scope = Scope(nodes, "graph", None, None)
        self.top.have |= set(self.kept)
        for node in nodes:
            if node.id in outputs:
                self.ct[node.id] = outputs[node.id]
        self.pull_all(nodes)
        self.text.lines[:0] = self.top.front.lines
        self.text.places[:0] = self.top.front.places

    def ref(self, node: Node) -> str:
        text = super().ref(node)
        if node.op == "const":
            return text
        scope = self.home(node)
        if node.id in scope.have:
            return text
        if scope.kind == "graph":
            if not self.is_cheap(node):
                scope.have.add(node.id)
                self.kept[node.id] = node
                return text
        elif scope.kind == "turns" and not self.is_again(node):
            scope.have.add(node.id)
            self.save(node, text, scope)
            return text
        scope.have.add(node.id)
        self.write_in_front(node, scope)
        return text

    def write_in_front(self, node: Node, scope: Scope) -> None:
        text, inside, self.text = self.text, self.scope, scope.front
        self.scope = scope
        if node.op == "result" and node.args[0].regions:
            self.again_region(node.args[0], scope)
        else:
            self.write(node)
        self.text, self.scope = text, inside

    def again_region(self, node: Node, scope: Scope) -> None:
        key = -1 - node.id
        if key in scope.have:
            return
        scope.have.add(key)
        for arg in node.args:
            self.ref(arg)
        for free in free_nodes(node):
            self.ref(free)
        Writer(self.names, self.sizes, self.text).write(node)

    def is_cheap(self, node: Node) -> bool:
        """Is a value of the graph computed again, from what is kept anyway?"""
        return self.cost(node) <= MOST_AGAIN

    def cost(self, node: Node) -> int:
        if node.id in self.kept or node.op == "const":
            return 0
        if node.op == "input":
            return 2 * MOST_AGAIN
        if node.id in self.again:
            return self.again[node.id]
        cost = 2 * MOST_AGAIN
        if node.kind == "view" or (node.op == "copy" and node.form != "array"):
            # A view is never kept: its array is.
            cost = 0 if node.kind == "view" else self.leaf(node.args[0])
        elif node.op in CHEAP and node.form != "object":
            cost = 1 + sum(map(self.leaf, node.args))
        elif node.op == "full":
            cost = 1 + self.leaf(node.args[0])
        self.again[node.id] = cost
        return cost

    def leaf(self, node: Node) -> int:
        """An input costs nothing: it is there anyway."""
        while node.kind == "view":
            node = node.args[0]
        return 0 if node.op == "input" else self.cost(node)

    def is_again(self, node: Node) -> bool:
        """Is a value of a turn computed again from others of the turn?"""
        if node.op == "element_load":
            return node.args[0].id not in self.roots
        if node.op in ("result", "element_dot", "element_store", "choose") or node.regions:
            return False
        return node.kind in ("pointwise", "ufunc", "python")

    def save(self, node: Node, text: str, scope: Scope) -> None:
        """Reads a value of a turn from the stack that the second run of the loop fills."""
        if node.form not in ("scalar", "python"):
            raise no_rule(node, f"{node.op} in a loop over elements")
        loop: Turns = scope.loop
        loop.saved[text] = node.dtype if node.dtype != "bool" else "bool"
        scope.front.put(f"{text} = s_{text}[p{loop.node.id}]")
        self.saves[text] = loop

    # ---- cotangents ----

    def zero(self, node: Node) -> str:
        if node.form == "array":
            return f"np.zeros({self.shape(node)!r}, {dtype_text(node.dtype)})"
        return f"{dtype_text(node.dtype)}(0.0)"

    def root(self, node: Node) -> int:
        key = node.id
        while key in self.roots and self.roots[key] != key:
            key = self.roots[key]
        return key

    def add(self, node: Node, expr: str, of: Node | None = None) -> None:
        """Adds to a node's cotangent."""
        if node not in self.active:
            return
        key = self.root(node)
        name = f"g{key}"
        if key not in self.ct and expr.isidentifier():
            self.ct[key] = expr  # another node's, which nobody changes any more
            return
        if key in self.ct:
            self.text.put(f"{name} = {self.ct[key]} + {expr}", of)
        else:
            self.text.put(f"{name} = {expr}", of)
        self.ct[key] = name
        self.owned.discard(name)

    def own(self, node: Node, of: Node | None = None) -> str:
        """The node's cotangent, as an array that may be written."""
        key = self.root(node)
        name = f"g{key}"
        if key not in self.ct:
            self.text.put(f"{name} = {self.zero(node)}", of)
        elif self.ct[key] != name or name not in self.owned:
            self.text.put(f"{name} = {self.ct[key]}.copy()", of)
        self.ct[key] = name
        self.owned.add(name)
        return name

    def defined(self, node: Node) -> None:
        """Sees to it that there is a cotangent to add to, before a scope inside."""
        if node not in self.active:
            return
        if node.form == "array":
            self.own(node)
        elif self.ct.get(self.root(node)) != f"g{self.root(node)}":
            name = f"g{self.root(node)}"
            self.text.put(f"{name} = {self.ct.get(self.root(node), self.zero(node))}")
            self.ct[self.root(node)] = name

    def local(self, expr: str) -> str:
        self.unique += 1
        self.text.put(f"t{self.unique} = {expr}")
        return f"t{self.unique}"

    def shaped(self, expr: str, of: Node, to: Node) -> str:
        """A cotangent of the shape of `of` as one of `to`, which was broadcast to it."""
        wide, thin = self.shape(of), self.shape(to)
        if wide != thin or (of.form == "array") != (to.form == "array"):
            extra = len(wide) - len(thin)
            ones = tuple(i + extra for i, n in enumerate(thin) if n == 1 and wide[i + extra] != 1)
            if extra == len(wide) and extra:
                expr = f"({expr}).sum()"
            else:
                if extra:
                    expr = f"({expr}).sum(axis={tuple(range(extra))!r})"
                    ones = tuple(i - extra for i in ones)
                if ones:
                    expr = f"({expr}).sum(axis={ones!r}, keepdims=True)"
        return expr

    def typed(self, expr: str, to: Node, of: Node | None = None) -> str:
        """An expression as a cotangent of `to`, whose dtype may be another than that of `of`."""
        dtype = np.dtype(to.dtype)
        was = np.dtype(of.dtype) if of is not None else dtype
        if was == dtype and dtype in (np.float64, np.complex128):
            return expr
        real = ".real" if dtype.kind == "f" and was.kind == "c" else ""
        if to.form == "array":
            return f"({expr}){real}.astype({dtype_text(to.dtype)})"
        return f"{dtype_text(to.dtype)}(({expr}){real})"

    # ---- the walk ----

    def pull_all(self, nodes: Sequence[Node]) -> None:
        for node in reversed(nodes):
            if node.id in self.active.ids or node.regions or node.id in self.multi:
                self.pull(node)

    def pull(self, node: Node) -> None:
        if node.op in ("input", "const"):
            return
        if node.op == "result":
            if node.id in self.roots and self.scope.kind == "turns":
                return
            if node.id in self.ct:
                arg = node.args[0]
                self.multi.setdefault(arg.id, {})[node.index] = self.ct[node.id]
            return
        if node.op == "element_store":
            self.pull_element_store(node)
            return
        if node.regions or node.id in self.multi:
            touched = self.scope.kind == "turns" and self.touches(node)
            if node.id in self.multi or touched:
                self.multi.setdefault(node.id, {})
                self.pull_multi(node)
            return
        if node.id not in self.ct:
            return
        g = self.ct[node.id]
        special = getattr(self, "pull_" + node.op, None) or getattr(
            self, "pull_kind_" + node.kind, None
        )
        if special is None:
            raise no_rule(node, node.op)
        special(node, g)

    def touches(self, node: Node) -> bool:
        """Does a region in a loop store into an active array?"""
        return any(
            (each.op == "element_store" and each in self.active) or self.touches(each)
            for region in node.regions
            for each in region.nodes
        )

    def pull_multi(self, node: Node) -> None:
        if node.op == "cond":
            self.pull_cond(node)
        elif node.op == "repeat":
            self.pull_repeat(node)
        elif node.op == "loop":
            self.pull_loop(node)
        elif node.op in ("loop_sum", "loop_max", "loop_min"):
            self.pull_fold(node)
        elif node.op == "extern":
            self.pull_extern(node, None)
        else:
            raise no_rule(node, node.op)

    def pull_row(self, node: Node, g: str, row: Sequence[str | None]) -> None:
        for text, arg in zip(row, node.args, strict=False):
            if arg not in self.active or text is None:
                continue
            names = _Lazy(self, node, g)
            if node.args[0].op != "const" and "**" in text and len(node.args) > 1:
                text = self.const_power(node, text)
            expr = self.shaped(text.format_map(names), node, arg)
            self.add(arg, self.typed(expr, arg, node), node)

    def const_power(self, node: Node, text: str) -> str:
        base, exponent = node.args
        if exponent.op != "const" or node.dtype[0:1] == "c" or "power_base" in text:
            return text
        y = float(np.asarray(exponent.object))
        if y == 2.0:
            return "{g} * (2.0 * {x})"
        if y == 3.0:
            return "{g} * (3.0 * ({x} * {x}))"
        if y == 0.0:
            return "0.0 * {g}"
        return f"{{g}} * ({y!r} * {{x}} ** ({y - 1.0!r}))"

    def pull_kind_pointwise(self, node: Node, g: str) -> None:
        name = node.op
        if name == "cast":
            (arg,) = node.args
            if arg in self.active:
                expr = self.typed(self.shaped(g, node, arg), arg, node)
                self.add(arg, expr, node)
            return
        if name in ("real", "imag"):
            self.pull_part(node, name, g)
            return
        row = None
        if np.dtype(node.args[0].dtype).kind == "c":
            row = COMPLEX_ROWS.get(name)
        row = row or ROWS.get(name)
        if row is None:
            raise no_rule(node, f"np.{UFUNCS.get(name, name)}")
        self.pull_row(node, g, row)

    def pull_part(self, node: Node, part: str, g: str) -> None:
        """Of x.real and x.imag."""
        (arg,) = node.args
        if part == "real":
            self.add(arg, self.typed(g, arg, node), node)
        elif np.dtype(arg.dtype).kind == "c":
            self.add(arg, self.typed(f"-1j * {g}", arg, node), node)

    def pull_kind_python(self, node: Node, g: str) -> None:
        if node.op == "py_complex":
            self.add(node.args[0], f"{g}.real", node)
            self.add(node.args[1], f"-{g}.imag", node)
            return
        if node.op in ("py_real", "py_imag"):
            self.add(node.args[0], g if node.op == "py_real" else f"-1j * {g}", node)
            return
        row = ROWS.get(node.op)
        if row is None:
            raise no_rule(node, node.op[3:])
        self.pull_row(node, g, row)

    def pull_kind_ufunc(self, node: Node, g: str) -> None:
        self.pull_ufunc_of(node, node.object, g)

    def pull_ufunc_of(self, node: Node, ufunc: Any, g: str) -> None:
        name = ufunc.__name__
        row = COMPLEX_ROWS.get(name) if np.dtype(node.args[0].dtype).kind == "c" else None
        row = row or ROWS.get(name)
        if row is None:
            if name in DISCRETE:
                return
            raise no_rule(node, f"np.{name}")
        self.pull_row(node, g, row)

    def pull_kind_reduction(self, node: Node, g: str) -> None:
        (x,) = node.args
        axes = tuple(node.ints)
        shape = self.shape(x)
        if node.op == "sum":
            if not node.keepdims and node.form == "array":
                thin = tuple(1 if i in axes else n for i, n in enumerate(shape))
                g = f"{g}.reshape({thin!r})"
            self.add(x, self.typed(f"np.broadcast_to({g}, {shape!r})", x, node), node)
            return
        if node.op == "prod":
            self.add(x, f"prod_back({g}, {self.ref(x)}, {axes!r})", node)
            return
        if node.op in ("max", "min"):
            text = f"most_back({g}, {self.ref(x)}, {self.ref(node)}, {axes!r})"
            self.add(x, self.typed(text, x), node)
            return
        raise no_rule(node, node.op)

    def pull_cumsum(self, node: Node, g: str) -> None:
        self.add(
            node.args[0], self.typed(f"cumsum_back({g}, {node.index})", node.args[0], node), node
        )

    def pull_cumprod(self, node: Node, g: str) -> None:
        x = node.args[0]
        self.add(x, self.typed(f"cumprod_back({g}, {self.ref(x)}, {node.index})", x, node), node)

    def kind_view(self, node: Node) -> str:
        places = self.places(node)
        if places is None:
            return super().kind_view(node)
        # What is computed again need not lie as it did.
        return f"{self.ref(node.args[0])}.reshape(-1)[{self.names.bind(places, 'places')}]"

    def pull_kind_view(self, node: Node, g: str) -> None:
        (x,) = node.args
        if x not in self.active:
            return
        places = self.places(node)
        if places is not None:
            back = self.local(f"np.zeros({int(np.prod(self.shape(x)))}, {dtype_text(x.dtype)})")
            self.text.put(f"np.add.at({back}, {self.names.bind(places, 'places')}, {g})", node)
            self.add(x, f"{back}.reshape({self.shape(x)!r})", node)
            return
        view = self.view(node)
        if view.part:
            g = self.local(f"({g} + 0j)" if view.part == "real" else f"(-1j * {g})")
            view = _views.View("", *list(vars(view).values())[1:])
        if view.reshape:
            self.add(x, f"{g}.reshape({self.shape(x)!r})", node)
        elif not view.index:
            self.add(x, view.back(g), node)
        else:
            name = self.own(x, node)
            self.text.put(f"{name}[{_views.index_text(view.index)}] += {view.back(g)}", node)

    def pull_copy(self, node: Node, g: str) -> None:
        self.add(node.args[0], g, node)

    def pull_concatenate(self, node: Node, g: str) -> None:
        start = 0
        for arg in node.args:
            length = self.shape(arg)[node.index]
            key = ":, " * node.index + f"{start}:{start + length}"
            self.add(arg, f"{g}[{key}]", node)
            start += length

    def pull_full(self, node: Node, g: str) -> None:
        self.add(node.args[0], self.typed(f"{g}.sum()", node.args[0]), node)

    def pull_arange(self, node: Node, g: str) -> None:
        start, step = node.args
        self.add(start, f"{g}.sum()", node)
        (n,) = self.shape(node)
        self.add(step, f"({g} * np.arange({n})).sum()", node)

    def written(self, node: Node) -> _views.View:
        view = _views.find(self.place(node), self.written_place(node))
        if view is None:
            raise no_rule(node, "a write to a part of an array that is no slice of it")
        return view

    def pull_scatter(self, node: Node, g: str) -> None:
        old, value = node.args
        view = self.written(node)
        if value in self.active:
            part = self.local(f"{view.text(g)}.copy()")
            expr = self.unspread(part, view.shape, value)
            self.add(value, self.typed(expr, value, node), node)
        if old in self.active:
            name = self.local(f"{g}.copy()")
            self.text.put(f"{store_text(name, view)} = 0.0", node)
            self.add(old, name, node)

    def unspread(self, expr: str, wide: tuple[int, ...], to: Node) -> str:
        thin = self.shape(to)
        if wide == thin:
            return expr
        if to.form != "array":
            return f"{expr}.sum()"
        return f"unspread({expr}, {thin!r})"

    def pull_commit(self, node: Node, g: str) -> None:
        value = node.args[1]
        shape = self.written_shape(node)
        self.add(value, self.typed(self.unspread(g, shape, value), value, node), node)

    def pull_choose(self, node: Node, g: str) -> None:
        c, a, b = node.args
        self.add(a, f"np.where({self.ref(c)}, {g}, 0.0)", node)
        self.add(b, f"np.where({self.ref(c)}, 0.0, {g})", node)

    def pull_matmul(self, node: Node, g: str) -> None:
        x, y = node.args
        two = len(self.shape(x)) == 2 and len(self.shape(y)) == 2
        if x in self.active:
            left = f"{g} @ {self.ref(y)}.T" if two else self.product("left", g, x, y)
            self.add(x, self.typed(left, x), node)
        if y in self.active:
            right = f"{self.ref(x)}.T @ {g}" if two else self.product("right", g, x, y)
            self.add(y, self.typed(right, y), node)

    def product(self, side: str, g: str, x: Node, y: Node) -> str:
        return f"matmul_{side}({g}, {self.ref(x)}, {self.ref(y)})"

    # ---- functions ----

    def pull_extern(self, node: Node, g: str | None) -> None:
        call = called(node)
        call.function = function = of_method(call.function)
        if isinstance(function, operator.attrgetter):
            part = function.__reduce__()[1][0]
            self.pull_part(node, part, str(g))
        elif function is _C._pick:  # a number as one of two classes
            a, b, test = node.args
            self.add(a, f"np.where({self.ref(test)}, 0.0, {g})[()]", node)
            self.add(b, f"np.where({self.ref(test)}, {g}, 0.0)[()]", node)
        elif function is float:
            self.add(node.args[0], str(g), node)
        elif function in (np.real, np.imag):
            self.pull_part(node, function.__name__, str(g))
        elif function is np.matmul:
            self.pull_matmul(node, g or "")
        elif call.function is _steps.build:
            self.pull_build(node, g)
        elif function is operator.setitem:
            self.pull_setitem(node, call, g)
        elif function is operator.pow:
            self.pull_row(node, g or "", ROWS["power"])
        elif isinstance(function, np.ufunc) and not call.changed:
            self.pull_ufunc_of(node, function, g or "")
        elif isinstance(getattr(function, "__self__", None), np.ufunc):
            self.pull_ufunc_method(node, call, g)
        elif function in _functions.MOVES_SET:
            self.pull_move(node, call, g)
        elif function is np.einsum:
            self.pull_einsum(node, call, g)
        elif function is np.select:
            self.pull_select(node, call, g)
        elif function in (_steps.max_of, _steps.min_of, _steps.sum_of, _steps.exact_sum_of):
            self.pull_number(node, call, g)
        elif call.changed:
            raise no_rule(
                node, f"{getattr(function, '__name__', function)}, which writes its argument"
            )
        else:
            self.pull_function(node, call, g)

    pull_compress = pull_extern
    pull_store = pull_extern

    def pull_function(self, node: Node, call: Called, g: str | None) -> None:
        name = getattr(call.function, "__qualname__", repr(call.function))
        module = getattr(call.function, "__module__", "")
        try:
            rules = _functions.RULES.get(call.function)
        except TypeError:
            rules = None
        if rules is None:
            raise no_rule(node, f"{module}.{name}" if module else name)
        if g is None:
            parts = self.multi[node.id]
            count = max(len(call_results(node)), max(parts) + 1)
            g = f"({', '.join(parts.get(i, 'None') for i in range(count))},)"
        first = next(iter(rules.values()))
        bound = (
            inspect.signature(first).bind_partial(None, None, *call.args, **call.kwargs).arguments
        )
        done = set()
        for parameter, back in rules.items():
            template = bound.get(parameter)
            if type(template) is not _calls.Hole:
                continue
            done.add(template.number)
            arg = call.nodes[template.number]
            if arg not in self.active:
                continue
            reads = read_names(back)
            args = [g, self.ref(node) if "o" in reads else "None"]
            for key, item in list(bound.items())[2:]:
                kind = inspect.signature(back).parameters[key].kind
                if kind is inspect.Parameter.VAR_POSITIONAL:
                    args += [self.template(x, _Holes(self, call)) for x in item]
                elif kind is inspect.Parameter.VAR_KEYWORD:
                    args += [f"{k}={self.template(x, _Holes(self, call))}" for k, x in item.items()]
                else:
                    text = self.template(item, _Holes(self, call)) if key in reads else "None"
                    by_place = (
                        kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                        and not any("=" in a and a.split("=")[0].isidentifier() for a in args)
                        and list(bound)[: len(args) + 1]
                        == list(inspect.signature(back).parameters)[: len(args) + 1]
                    )
                    args.append(text if by_place else f"{key}={text}")
            text = f"{self.names.bind(back, back.__name__)}({', '.join(args)})"
            self.add(arg, self.typed(text, arg, node if node.form != "object" else None), node)
        for number, arg in enumerate(call.nodes):
            if arg in self.active and number not in done:
                raise no_rule(node, f"{module}.{name} by this argument")

    def pull_build(self, node: Node, g: str | None) -> None:
        template = node.args[0].object
        back = self.names.bind(template, "template")
        for number, arg in enumerate(node.args[2:]):
            if arg in self.active:
                build = self.names.bind(_functions.build_back, "build_back")
                self.add(arg, self.typed(f"{build}({g}, {back}, {number})", arg), node)

    def pull_setitem(self, node: Node, call: Called, g: str | None) -> None:
        """A copy of an array after array[key] = value; of one place that is written twice, the last
        value is what stays."""
        old = call.nodes[call.args[0].number]
        key = self.template(call.args[1], _Holes(self, call))
        value = call.args[2]
        if type(value) is _calls.Hole and call.nodes[value.number] in self.active:
            to = call.nodes[value.number]
            once = self.names.bind(_functions.last_writes, "last_writes")
            part = self.local(f"{once}({g}, {key})")
            thin = self.shape(to)
            self.add(
                to,
                self.typed(
                    f"unspread({part}, {thin!r})" if to.form == "array" else f"{part}.sum()",
                    to,
                    node,
                ),
                node,
            )
        if old in self.active:
            name = self.local(f"{g}.copy()")
            self.text.put(f"{name}[{key}] = 0.0", node)
            self.add(old, name, node)

    def pull_ufunc_method(self, node: Node, call: Called, g: str | None) -> None:
        ufunc, method = call.function.__self__, call.function.__name__
        holes = _Holes(self, call)
        if method == "at" and ufunc in (np.add, np.subtract):
            array, value = call.nodes[call.args[0].number], call.args[2]
            key = self.template(call.args[1], holes, top=True)
            self.add(array, str(g), node)
            if type(value) is _calls.Hole and call.nodes[value.number] in self.active:
                to = call.nodes[value.number]
                sign = "-" if ufunc is np.subtract else ""
                expr = f"{g}[{key}]"
                expr = (
                    f"unspread({expr}, {self.shape(to)!r})"
                    if to.form == "array"
                    else f"{expr}.sum()"
                )
                self.add(to, self.typed(sign + expr, to, node), node)
            return
        if method in ("reduce", "accumulate") and type(call.args[0]) is _calls.Hole:
            x = call.nodes[call.args[0].number]
            rule = _functions.reduce_rule if method == "reduce" else _functions.accumulate_rule
            axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis", 0)
            axis_text = self.template(axis, holes)
            name = self.names.bind(rule, rule.__name__)
            expr = (
                f"{name}({self.function(ufunc)}, {g}, {self.ref(node)}, {self.ref(x)}, {axis_text})"
            )
            self.add(x, self.typed(expr, x, node), node)
            return
        if method == "outer" and ufunc.__name__ in ROWS:
            x, y = call.nodes
            extra = ", None" * len(self.shape(y))
            wide = f"{self.ref(x)}[...{extra}]" if extra else self.ref(x)
            texts = {"x": wide, "y": self.ref(y), "o": self.ref(node), "g": str(g)}
            for i, (arg, row) in enumerate(zip((x, y), ROWS[ufunc.__name__], strict=True)):
                if arg in self.active and row is not None:
                    nx, ny = len(self.shape(x)), len(self.shape(y))
                    axes = tuple(range(nx, nx + ny)) if i == 0 else tuple(range(nx))
                    self.add(arg, f"({row.format(**texts)}).sum(axis={axes!r})", node)
            return
        raise no_rule(node, f"np.{ufunc.__name__}.{method}")

    def pull_einsum(self, node: Node, call: Called, g: str | None) -> None:
        spec = call.args[0]
        if isinstance(spec, _calls.Hole):
            spec = call.nodes[spec.number].object
        if not isinstance(spec, str):
            raise no_rule(node, "np.einsum without a text of subscripts")
        operands = [call.nodes[hole.number] for hole in call.args[1:]]
        spec = explicit(spec, [len(x.shape) for x in operands])
        texts = ", ".join(map(self.ref, operands))
        back = self.names.bind(_functions.einsum_back, "einsum_back")
        for i, arg in enumerate(operands):
            if arg in self.active:
                expr = f"{back}({g}, None, {spec!r}, ({texts},), {i})"
                self.add(arg, self.typed(expr, arg, node), node)

    def pull_move(self, node: Node, call: Called, g: str | None) -> None:
        """Of a function that moves elements: it moves numbers from 1 on, and what lies where number i
        has come to is the cotangent of element i."""
        texts: dict[int, str] = {}
        places: dict[int, tuple[int, int]] = {}
        total = 1
        for number, arg in enumerate(call.nodes):
            if arg in self.active:
                size = int(np.prod(self.shape(arg)))
                places[number] = total, total + size
                shape = self.shape(arg)
                texts[number] = self.local(f"np.arange({total}, {total + size}).reshape({shape!r})")
                total += size
            elif number in {*holes_in(call.args), *holes_in(call.kwargs)}:
                is_data = is_real_valued(arg) and arg.form == "array"
                texts[number] = (
                    self.local(f"np.zeros({self.shape(arg)!r}, np.int64)")
                    if is_data
                    else self.ref(arg)
                )
        moved = self.local(self.call(call, texts))
        back = self.local(f"np.zeros({total}, np.result_type({g}))")
        self.text.put(f"np.add.at({back}, {moved}, {g})", node)
        for number, (start, stop) in places.items():
            arg = call.nodes[number]
            expr = f"{back}[{start}:{stop}].reshape({self.shape(arg)!r})"
            expr = expr if arg.form == "array" else f"{back}[{start}]"
            self.add(arg, self.typed(expr, arg, node), node)

    def pull_select(self, node: Node, call: Called, g: str | None) -> None:
        holes = _Holes(self, call)
        conditions, choices = call.args[0], call.args[1]
        default = call.args[2] if len(call.args) > 2 else call.kwargs.get("default", 0)
        free = "True"
        for condition, choice in zip(conditions, choices, strict=True):
            test = self.template(condition, holes)
            if type(choice) is _calls.Hole and call.nodes[choice.number] in self.active:
                arg = call.nodes[choice.number]
                expr = self.shaped(f"np.where(({test}) & {free}, {g}, 0.0)", node, arg)
                self.add(arg, self.typed(expr, arg, node), node)
            free = self.local(f"~({test}) & {free}")
        if type(default) is _calls.Hole and call.nodes[default.number] in self.active:
            arg = call.nodes[default.number]
            expr = self.shaped(f"np.where({free}, {g}, 0.0)", node, arg)
            self.add(arg, self.typed(expr, arg, node), node)

    def pull_number(self, node: Node, call: Called, g: str | None) -> None:
        if call.function in (_steps.sum_of, _steps.exact_sum_of):
            for arg in node.args:
                self.add(arg, str(g), node)
            return
        free = "True"
        for arg in node.args:
            test = f"({self.ref(arg)} == {self.ref(node)})"
            self.add(arg, f"np.where({test} & {free}, {g}, 0.0)[()]", node)
            free = self.local(f"np.logical_not{test} & {free}")

    # ---- branches ----

    def pull_cond(self, node: Node) -> None:
        cts = self.multi.pop(node.id)
        condition = self.ref(node.args[0])
        for outer in self.outer_nodes(node):
            self.defined(outer)
        for i, arm in enumerate(node.regions):
            self.text.put(f"if {condition}:" if i == 0 else "else:", node)
            self.arm(node, arm, cts)

    def arm(self, node: Node, arm: Any, cts: dict[int, str]) -> None:
        outer = self.scope
        kind = "turns" if outer.kind == "turns" else "again"
        scope = Scope((*arm.params, *arm.nodes), kind, outer, outer.loop)
        before, owned, text = dict(self.ct), set(self.owned), self.text
        self.scope, self.text = scope, Text()
        self.text.depth = scope.front.depth = text.depth + 1
        aliases = dict(zip((p.id for p in arm.params), node.args[1:], strict=False))
        for param in arm.params:
            scope.have.add(param.id)
            scope.front.put(f"v{param.id} = {self.outside(aliases[param.id], outer)}")
        for i, result in enumerate(arm.results):
            if i in cts and (node.id, i) in self.active.results:
                self.add(result, cts[i], node)
        self.pull_all(arm.nodes)
        for param in arm.params:
            if param.id in self.ct:
                self.add(aliases[param.id], self.ct[param.id], node)
        inner, self.text = self.text, text
        if not inner.lines:
            inner.put("pass")
        self.text.lines += scope.front.lines + inner.lines
        self.text.places += scope.front.places + inner.places
        self.scope, self.ct, self.owned = outer, before, owned

    def outside(self, node: Node, scope: Scope) -> str:
        inside, self.scope = self.scope, scope
        out = self.ref(node)
        self.scope = inside
        return out

    def outer_nodes(self, node: Node) -> list[Node]:
        """Active nodes outside of a region that it reads: their cotangents grow inside."""
        args = [arg for arg in node.args if arg in self.active]
        seen, out = set(), []
        for arg in (*args, *free_nodes(node)):
            if arg.op != "const" and arg in self.active and self.root(arg) not in seen:
                seen.add(self.root(arg))
                out.append(arg)
        return out

    # ---- loops over whole arrays ----

    def pull_repeat(self, node: Node) -> None:
        if self.scope.kind != "graph":
            raise no_rule(node, "a loop over arrays in a branch")
        cts = self.multi.pop(node.id)
        (body,) = node.regions
        params = body.params
        saved, turns = f"turns{node.id}", f"turn{node.id}"
        for arg in node.args:
            self.ref(arg)
        for free in free_nodes(node):
            if free.op != "const":
                self.ref(free)
        again = _Saving(self, node, saved)
        again.text.depth = self.text.depth
        again.write(node)
        self.text.put(f"{saved} = []", node)
        self.text.lines += again.text.lines
        self.text.places += again.text.places
        for outer in self.outer_nodes(node):
            self.defined(outer)
        for i, param in enumerate(params[1:]):
            if param in self.active:
                self.text.put(
                    f"g{param.id} = {cts[i]}" if i in cts else f"g{param.id} = {self.zero(param)}"
                )
        self.text.put(f"for {turns} in reversed({saved}):", node)
        outer_scope, before, owned, text = self.scope, dict(self.ct), set(self.owned), self.text
        scope = Scope((*params, *body.nodes), "again", outer_scope, None)
        self.scope, self.text = scope, Text()
        self.text.depth = scope.front.depth = text.depth + 1
        for i, param in enumerate(params):
            scope.have.add(param.id)
            scope.front.put(f"v{param.id} = {turns}[{i}]")
        carried = [param for param in params[1:] if param in self.active]
        for param in carried:
            self.text.put(f"c{param.id} = g{param.id}")
            self.ct.pop(param.id, None)
        for i, result in enumerate(body.results):
            if params[i + 1] in self.active:
                self.add(result, f"c{params[i + 1].id}", node)
        self.pull_all(body.nodes)
        for param in carried:
            if param.id not in self.ct:
                self.text.put(f"g{param.id} = {self.zero(param)}")
        inner, self.text = self.text, text
        self.text.lines += scope.front.lines + inner.lines
        self.text.places += scope.front.places + inner.places
        self.scope, self.ct, self.owned = outer_scope, before, owned
        for param, arg in zip(params[1:], node.args[3:], strict=True):
            if param in self.active:
                self.add(arg, f"g{param.id}", node)

    # ---- loops over elements ----

    def pull_fold(self, node: Node) -> None:
        raise no_rule(node, "a sum or maximum of a row in a loop over elements")

    def pull_loop(self, node: Node) -> None:
        """A second run saves what the turns need, and the turns are gone through in reverse.

        Stacks have an item for each turn of their loop in the whole nest; `p` counts them, up in the
        second run and down in the reverse one.  What a turn can compute again from what is saved, and
        from arrays that the loop does not write, is not saved.
        """
        if self.scope.kind == "turns":
            self.reverse(node)
            return
        self.find_roots(node)
        self.saves = {}
        text, self.text = self.text, Text()
        self.text.depth = text.depth
        self.loops = loops_in(node)
        self.turns = {loop.id: Turns(loop) for loop in self.loops}
        self.reverse(node)
        reverse, self.text = self.text, text
        for arg in (*node.args, *free_nodes(node)):
            if arg.op != "const":
                self.ref(arg)
        self.count_turns(node)
        for loop in self.loops:
            for name, dtype in self.turns[loop.id].saved.items():
                self.text.put(f"s_{name} = np.zeros(T{loop.id}, {dtype_text(dtype)})", node)
        if any(turns.saved for turns in self.turns.values()):
            second = _Second(self, self.turns)
            second.text.depth = self.text.depth
            for loop in self.loops:
                second.text.put(f"p{loop.id} = 0")
            second.write(node)
            self.text.lines += second.text.lines
            self.text.places += second.text.places
        for loop in self.loops:
            self.text.put(f"p{loop.id} = T{loop.id}")
        self.text.lines += reverse.lines
        self.text.places += reverse.places

    def count_turns(self, node: Node) -> None:
        if len(self.loops) == 1 and not node.ints:
            self.text.put(f"T{node.id} = len(range({self.bounds(node)}))", node)
            return
        counting = _Counting(self)
        counting.text.depth = self.text.depth
        for loop in self.loops:
            counting.text.put(f"T{loop.id} = 0")
        counting.write(node)
        self.text.lines += counting.text.lines
        self.text.places += counting.text.places

    def find_roots(self, node: Node) -> None:
        """All versions of an array that a loop writes are one to its cotangent."""
        (body,) = node.regions
        for i, (param, arg) in enumerate(zip(body.params[1:], node.args[3:], strict=True)):
            if param.form == "array":
                root = self.roots.get(arg.id, param.id)
                self.roots[param.id] = root
                self.region_roots[node.id, i] = root
        self.walk_roots(body.nodes)

    def walk_roots(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node.op == "element_store" and node.args[0].id in self.roots:
                self.roots[node.id] = self.roots[node.args[0].id]
            elif node.op == "loop":
                self.find_roots(node)
            elif node.op == "cond":
                for arm in node.regions:
                    self.walk_roots(arm.nodes)
                    for i, result in enumerate(arm.results):
                        if result.id in self.roots:
                            self.region_roots[node.id, i] = self.roots[result.id]
            elif node.op == "result" and (node.args[0].id, node.index) in self.region_roots:
                self.roots[node.id] = self.region_roots[node.args[0].id, node.index]

    def reverse(self, node: Node) -> None:
        """The reverse run of a loop, inner loops included."""
        cts = self.multi.pop(node.id, {})
        (body,) = node.regions
        outer, params, number = self.scope, body.params, node.id
        start, stop, step = node.args[:3]
        if node.ints:
            if outer.kind == "turns":
                outer.loop.saved[f"n{number}"] = "int64"
                self.saves[f"n{number}"] = outer.loop
                self.text.put(f"n{number} = s_n{number}[p{outer.loop.node.id}]")
            else:
                self.text.put(f"n{number} = T{number}")
        elif all(bound.op == "const" for bound in node.args[:3]):
            turns = len(range(*(int(bound.object) for bound in node.args[:3])))
            self.text.put(f"n{number} = {turns}")
        elif step.op == "const" and step.object == 1:
            self.text.put(f"n{number} = max({self.ref(stop)} - {self.ref(start)}, 0)")
        else:
            self.text.put(f"n{number} = len(range({self.bounds(node)}))")
        arrays: list[tuple[Node, Node]] = []
        for arg in self.outer_nodes(node):
            if arg.id not in self.roots or outer.kind == "turns":
                if arg.form != "array" or not self.is_carried(arg, node, outer):
                    self.defined(arg)
        numbers = []
        for i, (param, arg) in enumerate(zip(params[1:], node.args[3:], strict=True)):
            if param not in self.active:
                continue
            if param.form == "array":
                if outer.kind != "turns":
                    name = f"g{self.roots[param.id]}"
                    self.text.put(
                        f"{name} = {cts[i]}.copy()" if i in cts else f"{name} = {self.zero(param)}",
                        node,
                    )
                    self.ct[self.roots[param.id]] = name
                    self.owned.add(name)
                    arrays.append((param, arg))
            else:
                self.text.put(f"c{param.id} = {cts.get(i, self.zero(param))}")
                numbers.append((i, param, arg))
        first = (
            start.op == "const" and start.object == 0 and step.op == "const" and step.object == 1
        )
        index = f"v{params[0].id}"
        again = index if first else f"k{number}"
        self.text.put(f"for {again} in range(n{number} - 1, -1, -1):", node)
        before, owned, text = dict(self.ct), set(self.owned), self.text
        scope = Scope((*params, *body.nodes), "turns", outer, self.turns[number])
        for param in params[1:]:
            if param.form == "array":
                scope.have.add(param.id)
        self.scope, self.text = scope, Text()
        self.text.depth = scope.front.depth = text.depth + 1
        scope.have.add(params[0].id)
        scope.front.put(f"p{number} -= 1")
        if not first:
            inside, self.scope = self.scope, outer
            head = f"{index} = {self.ref(start)} + k{number} * {self.ref(step)}"
            self.scope = inside
            scope.front.put(head)
        for _, param, _ in numbers:
            self.ct.pop(param.id, None)
        for i, param, _ in numbers:
            self.add(body.results[i], f"c{param.id}", node)
        self.pull_all(body.nodes)
        pairs = [(f"c{p.id}", self.ct.get(p.id, self.zero(p))) for _, p, _ in numbers]
        if pairs:
            self.text.put(", ".join(a for a, _ in pairs) + " = " + ", ".join(b for _, b in pairs))
        inner, self.text = self.text, text
        self.text.lines += scope.front.lines + inner.lines
        self.text.places += scope.front.places + inner.places
        self.scope, self.ct, self.owned = outer, before, owned
        for _, param, arg in numbers:
            self.add(arg, f"c{param.id}", node)
        for param, arg in arrays:
            name = self.ct.pop(self.roots[param.id])
            self.owned.discard(name)
            self.add(arg, name, node)

    def is_carried(self, arg: Node, node: Node, outer: Scope) -> bool:
        """An array that the nest itself carries has its cotangent already."""
        if outer.kind == "turns":
            return arg.id in self.roots
        return any(arg is each for each in node.args[3:]) and arg.id not in {
            free.id for free in free_nodes(node)
        }

    def pull_element_load(self, node: Node, g: str) -> None:
        array, *index = node.args
        if array not in self.active:
            return
        name = self.ct[self.root(array)]
        self.text.put(f"{name}[{', '.join(map(self.ref, index))}] += {g}", node)

    def pull_element_store(self, node: Node) -> None:
        array, *index, value = node.args
        if node not in self.active:
            return
        name = self.ct.get(self.root(array))
        if name is None:
            return
        place = f"{name}[{', '.join(map(self.ref, index))}]"
        if value in self.active:
            self.add(value, self.typed(self.local(place), value, node), node)
        self.text.put(f"{place} = 0.0", node)


def loops_in(node: Node) -> list[Node]:
    """A loop and those in it."""
    out = [node] if node.op == "loop" else []
    for region in node.regions:
        for each in region.nodes:
            out += loops_in(each)
    return out


class _Counting(Writer):
    """A nest, with counts of each loop's turns."""

    def __init__(self, of: Backward) -> None:
        super().__init__(of.names, of.sizes, Text())

    def end_of_turn(self, node: Node) -> None:
        self.text.put(f"T{node.id} += 1")


class _Second(Writer):
    """The second run of a nest, which saves values on stacks."""

    def __init__(self, of: Backward, turns: dict[int, Turns]) -> None:
        super().__init__(of.names, of.sizes, Text())
        self.turns, self.saves, self.inside = turns, of.saves, []  # type: ignore[var-annotated]

    def save(self, name: str, value: str) -> None:
        loop = self.saves.get(name)
        if loop is not None:
            self.text.put(f"s_{name}[p{loop.node.id}] = {value}")

    def write(self, node: Node) -> None:
        super().write(node)
        if node.regions:
            for i in range(len(node.regions[0].results)):
                name = f"v{node.id}_{i}"
                self.save(name, self.alias.get((node.id, i), name))
            self.save(f"n{node.id}", f"n{node.id}")
        elif node.op not in ("result", "element_store"):
            self.save(f"v{node.id}", f"v{node.id}")

    def before_loop(self, node: Node) -> None:
        if f"n{node.id}" in self.saves:
            self.text.put(f"n{node.id} = 0")

    def start_of_turn(self, node: Node) -> None:
        for param in node.regions[0].params[1:]:
            self.save(f"v{param.id}", self.ref(param))

    def end_of_turn(self, node: Node) -> None:
        self.text.put(f"p{node.id} += 1")
        if f"n{node.id}" in self.saves:
            self.text.put(f"n{node.id} += 1")


class _Saving(Writer):
    """A repeat, with what each turn begins with put into a list."""

    def __init__(self, of: Backward, node: Node, saved: str) -> None:
        super().__init__(of.names, of.sizes, Text())
        self.node, self.saved = node, saved

    def nodes(self, nodes: Sequence[Node]) -> None:
        (body,) = self.node.regions
        if nodes is body.nodes:
            params = ", ".join(map(self.ref, body.params))
            self.text.put(f"{self.saved}.append(({params},))")
        super().nodes(nodes)


class _Lazy(dict[str, str]):
    """{x} {y} {z} {o} {g} of a row: only what the text names is read."""

    def __init__(self, backward: Backward, node: Node, g: str) -> None:
        super().__init__(g=g)
        self.backward, self.node = backward, node

    def __missing__(self, name: str) -> str:
        if name == "o":
            return self.backward.ref(self.node)
        return self.backward.operand(self.node.args["xyz".index(name)], self.node.args)


class _Holes:
    """The texts of a call's holes: only those that are asked for are read."""

    def __init__(self, backward: Backward, call: Called) -> None:
        self.backward, self.call = backward, call

    def __getitem__(self, number: int) -> str:
        return self.backward.ref(self.call.nodes[number])


def of_method(function: Any) -> Any:
    """NumPy's function that does what a method of arrays does."""
    if getattr(function, "__objclass__", None) is np.ndarray:
        return getattr(np, function.__name__, function)
    return function


def call_results(node: Node) -> Sequence[Any]:
    check = getattr(node.object, "check", None)
    return check.items if check is not None and check.items is not None else ()


def read_names(function: Callable[..., Any]) -> set[str]:
    """The parameters that a rule reads."""
    out: set[str] = set()
    for instruction in dis.get_instructions(function):
        if "LOAD" in instruction.opname:
            value = instruction.argval
            out.update(
                value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
            )
    return out


def free_nodes(node: Node) -> list[Node]:
    """What the regions of a node read from outside of them."""
    inside: set[int] = set()
    out: dict[int, Node] = {}

    def walk(region: Any) -> None:
        inside.update(param.id for param in region.params)
        inside.update(each.id for each in region.nodes)
        for each in region.nodes:
            for inner in each.regions:
                walk(inner)
        for each in region.nodes:
            out.update((arg.id, arg) for arg in each.args)
        out.update((result.id, result) for result in region.results)

    for region in node.regions:
        walk(region)
    return [each for key, each in out.items() if key not in inside]


def explicit(spec: str, ranks: Sequence[int]) -> str:
    """Subscripts with an arrow and without an ellipsis."""
    spec = spec.replace(" ", "")
    letters = [c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in spec]
    left, arrow, out = spec.partition("->")
    names = left.split(",")
    if "..." in spec:
        most = max(
            (
                rank - len(name.replace("...", ""))
                for name, rank in zip(names, ranks, strict=True)
                if "..." in name
            ),
            default=0,
        )
        dots = "".join(letters[:most])
        names = [
            name.replace(
                "...", dots[most - (rank - len(name.replace("...", ""))) :] if "..." in name else ""
            )
            for name, rank in zip(names, ranks, strict=True)
        ]
        out = out.replace("...", dots) if arrow else dots + implicit(left.replace("...", ""))
    elif not arrow:
        out = implicit(left)
    return f"{','.join(names)}->{out}"


def implicit(left: str) -> str:
    all_ = left.replace(",", "")
    return "".join(sorted(c for c in set(all_) if all_.count(c) == 1))
