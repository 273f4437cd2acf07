"""The adjoints of calls of NumPy's functions, by rules/."""

from __future__ import annotations

import dis
import functools
import inspect
import math
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from pycompile import _C, _calls, _steps
from pycompile.derivatives import _views, rules
from pycompile.derivatives._activity import is_real_valued
from pycompile.derivatives._adjoint import Adjoint
from pycompile.derivatives._adjoint_ops import Ops
from pycompile.derivatives._called import Called, called, function_of, has_others, holes_in
from pycompile.derivatives._elementwise import MATH, ROWS
from pycompile.derivatives._text import Names, Node, Text, no_rule
from pycompile.derivatives._writer import Writer, dtype_text

Places = Sequence[tuple[int, tuple[int, ...]]]  # holes of a list, and where they stand
_ARRAYLIKE = (list, tuple, bool, int, float, complex)  # what rules get as arrays
_ORDERED = {np.ravel: 1, np.reshape: 2}  # where `order` stands
_STACKED = (np.stack, np.array, np.asarray)  # of arrays of one shape, or numbers, in a list
_JOINED = (*_STACKED, np.concatenate, _steps.concatenate)
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# Python's operators on objects: of complex numbers, say.
_NAMES = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "pow": np.power,
    "mod": np.remainder,
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
}
# Arguments by name of ufuncs that leave the derivative's form as it is.
_TYPES = {"dtype", "casting", "order", "subok", "signature"}
OPERATORS = (
    {getattr(operator, name): ufunc for name, ufunc in _NAMES.items()}
    | {getattr(operator, f"i{n}"): u for n, u in _NAMES.items() if hasattr(operator, f"i{n}")}
    | {abs: np.absolute, pow: np.power}
)


class Calls(Ops):
    """Of calls of NumPy's functions."""

    def pull_extern(self, node: Node, g: str | None) -> None:
        call = called(node)
        call.function = function_of(call)
        if takes_operands(call):
            call.args = tuple(self.gathered(call, item) for item in call.args)
        self.pull_call(node, call, g)
        gathered: Sequence[Any] = call.nodes[len(node.args) :]
        for made in gathered:
            if made.id in self.ct:
                self.pull_places(node, call, made.places, self.ct[made.id], made)

    def gathered(self, call: Called, item: Any) -> Any:
        """An argument that is a list or tuple with something active in it: a hole for the array that NumPy
        makes of it."""
        if not isinstance(item, (list, tuple)):
            return item
        places = list(places_in(item))
        if not any(call.nodes[number] in self.active for number, _ in places):
            return item
        name = self.local(f"np.array({self.template(item, _Holes(self, call))})")
        made: Any = _Gathered(name, places)
        self.alias[made.id] = name
        self.active.ids.add(made.id)
        self.top.have.add(made.id)
        call.nodes = [*call.nodes, made]
        return _calls.Hole(len(call.nodes) - 1)

    def pull_call(self, node: Node, call: Called, g: str | None) -> None:
        function = call.function
        if function in (np.ndarray.tolist, np.generic.tolist):
            self.pull_list(node, g)
        elif isinstance(node.object, _calls.Call) and not call.changed and has_others(node.object):
            raise no_rule(node, f"{self.function(function)}, of which some results are views")
        elif isinstance(function, operator.attrgetter):
            self.pull_attribute(node, function.__reduce__()[1][0], str(g))
        elif function is _C._pick:  # a number as one of two classes
            a, b, test = node.args
            self.add(a, f"np.where({self.ref(test)}, 0.0, {g})[()]", node)
            self.add(b, f"np.where({self.ref(test)}, {g}, 0.0)[()]", node)
        elif function is float or (function is np.ndarray.item and len(node.args) == 1):
            self.add(node.args[0], str(g), node)
        elif function is complex and not call.kwargs:
            for arg, factor in zip(node.args, ("", " * 1j")):
                self.add(arg, self.typed(f"({g}{factor})", arg, node), node)
        elif function is np.ndarray.item:
            self.pull_item(node, call, str(g))
        elif function in (np.real, np.imag):
            self.pull_part(node, function.__name__, str(g))
        elif function in (np.matmul, operator.matmul):
            self.pull_matmul(node, g or "", self.operands(call))
        elif call.function is _steps.build:
            self.pull_build(node, g)
        elif function is operator.setitem:
            self.pull_setitem(node, call, g)
        elif (
            isinstance(function, Hashable)
            and function in OPERATORS
            and call.changed in ((), (0,))
            and len(call.args) <= 2
        ):
            self.pull_ufunc_of(node, OPERATORS[function], g or "", self.operands(call))
        elif (
            isinstance(function, np.ufunc)
            and function not in rules.RULES
            and not call.changed
            and not {*call.kwargs} - _TYPES
        ):
            self.pull_ufunc_of(node, function, g or "", self.operands(call))
        elif isinstance(function, Hashable) and (function, len(call.args)) in MATH:
            self.pull_row(node, g or "", MATH[function, len(call.args)], self.operands(call))
        elif isinstance(getattr(function, "__self__", None), np.ufunc):
            self.pull_ufunc_method(node, call, g)
        elif function is np.where and len(call.args) == 3:
            self.pull_where_call(node, call, g or "")
        elif function in _JOINED and (parts := self.joined(node, call, g)):
            for arg, text in parts:
                self.add(arg, self.typed(text, arg, node), node)
        elif function in _ORDERED and self.order_of(call) == "C" and node.args[0].form == "array":
            self.add(node.args[0], f"{g}.reshape({self.extent(node.args[0])})", node)
        elif function in rules.MOVES_SET:
            self.pull_move(node, call, g)
        elif function is np.einsum:
            self.pull_einsum(node, call, g)
        elif function is np.select:
            self.pull_select(node, call, g)
        elif function in (_steps.sum_of, _steps.exact_sum_of):
            for arg in node.args:
                self.add(arg, str(g), node)
        elif function in (_steps.max_of, _steps.min_of, max, min) and not call.kwargs:
            self.pull_extreme(node, g)
        elif function in (_steps.sorted_up, _steps.sorted_down):
            self.pull_sorted(node, function is _steps.sorted_down)
        elif function in rules.FILLS_SET and len(call.changed) == 1:
            self.pull_move(node, call, g)
        elif is_written_by_ufunc(call):
            self.pull_ufunc_out(node, call, str(g))
        elif call.changed:
            raise no_rule(
                node, f"{getattr(function, '__name__', function)}, which writes its argument"
            )
        else:
            self.pull_function(node, call, g)

    def pull_ufunc_out(self, node: Node, call: Called, g: str) -> None:
        """Of f(x, out=y, where=test): what y was stays where nothing is written."""
        test = ""
        if not is_const(call, call.kwargs.get("where", True), True):
            test = self.local(self.template(call.kwargs["where"], _Holes(self, call)))
            old = call.nodes[call.changed[0]]
            self.add(old, self.typed(f"np.where({test}, 0.0, {g})", old, node), node)
        self.pull_ufunc_of(node, call.function, g, self.operands(call), test)

    def pull_attribute(self, node: Node, name: str, g: str) -> None:
        (x,) = node.args
        if name in ("real", "imag"):
            self.pull_part(node, name, g)
        elif name in ("T", "mT"):
            self.add(x, f"{g}.{name}", node)
        else:
            raise no_rule(node, f"the attribute {name}")

    def operands(self, call: Called) -> list[Node | str]:
        """The arguments: nodes, and the texts of others."""
        holes = _Holes(self, call)

        def operand(item: Any) -> Node | str:
            if type(item) is _calls.Hole:
                node = call.nodes[item.number]
                if node.op != "const" or not isinstance(node.object, (list, tuple)):
                    return node
                item = node.object
            text = self.template(item, holes)
            return self.local(f"np.array({text})") if isinstance(item, (list, tuple)) else text

        return list(map(operand, call.args))

    pull_compress = pull_extern
    pull_store = pull_extern
    pull_take = pull_extern
    pull_pick = pull_extern

    def pull_function(self, node: Node, call: Called, g: str | None) -> None:
        name = getattr(call.function, "__qualname__", repr(call.function))
        module = getattr(call.function, "__module__", "")
        backs = rules.RULES.get(call.function) if isinstance(call.function, Hashable) else None
        code = rules.own_code(call.function)
        if g is None:
            parts = self.multi[node.id]
            count = max(len(call_results(node)), max(parts) + 1)
            g = f"({', '.join(parts.get(i, 'None') for i in range(count))},)"
        bound = {}
        if backs is not None:
            first = signature(next(iter(backs.values())))
            if is_const(call, call.kwargs.get("out"), None):
                call.kwargs = {name: x for name, x in call.kwargs.items() if name != "out"}
            try:
                bound = first.bind_partial(None, None, *call.args, **call.kwargs).arguments
            except TypeError as error:
                if code is None:
                    raise no_rule(node, f"{module}.{name} ({error})") from None
                backs = None
            bound |= bound.get("kwargs", {})
        named = [bound[name] for name in backs or () if name in bound]
        has_rule = {number for number, _ in places_in(named)}
        missing = [
            i for i, arg in enumerate(call.nodes) if arg in self.active and i not in has_rule
        ]
        if missing and code is not None:
            self.pull_code(node, call, code, g)
            return
        if missing:
            what = f"{module}.{name}" if module else name
            raise no_rule(node, what + (" by this argument" if backs is not None else ""))
        for parameter, back in (backs or {}).items():
            template = bound.get(parameter)
            if isinstance(template, (list, tuple)):
                places = list(places_in(template))
                if any(call.nodes[number] in self.active for number, _ in places):
                    text = self.local(self.by_rule(node, call, g, back, bound))
                    self.pull_places(node, call, places, text)
            elif type(template) is _calls.Hole and call.nodes[template.number] in self.active:
                arg = call.nodes[template.number]
                text = self.by_rule(node, call, g, back, bound)
                self.add(arg, self.typed(text, arg, node), node)

    def pull_code(self, node: Node, call: Called, code: Any, g: str) -> None:
        """Of a function of NumPy's that is Python code: that code is differentiated, too."""
        active = [i for i, arg in enumerate(call.nodes) if arg in self.active]
        others = [i for i in {*holes_in(call.args), *holes_in(call.kwargs)} if i not in active]
        call.function = code
        params = {i: f"a{i}" for i in (*active, *others)}
        namespace: dict[str, Any] = {}
        names = Names()
        text = Writer(names, {}, Text()).call(call, params)
        source = f"def {code.__name__}({', '.join(params.values())}):\n    return {text}\n"
        exec(source, names.objects | {"np": np, "math": math}, namespace)
        back = self.names.bind(rules.code_back(namespace[code.__name__], len(active)), "code_back")
        args = "".join(f", {self.ref(call.nodes[i])}" for i in params)
        parts = self.local(f"{back}({g}{args})")
        for k, i in enumerate(active):
            arg = call.nodes[i]
            self.add(arg, self.typed(f"{parts}[{k}]", arg, node), node)

    def by_rule(
        self,
        node: Node,
        call: Called,
        g: str,
        back: Callable[..., Any],
        bound: dict[str, Any],
    ) -> str:
        """The call of a rule.  Of an argument with a derivative it gets the array that NumPy makes of it."""
        reads = read_names(back)
        args = [g, self.ref(node) if "o" in reads else "None"]
        holes, parameters = _Holes(self, call), signature(back).parameters
        arrays = rules.RULES[call.function]
        for key, item in list(bound.items())[2:]:
            if key not in parameters:  # named in **kwargs, too
                continue
            kind = parameters[key].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                args += [self.template(x, holes) for x in item]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                args += [f"{k}={self.template(x, holes)}" for k, x in item.items()]
            else:
                text = self.template(item, holes) if key in reads else "None"
                if (
                    key in reads
                    and key in arrays
                    and isinstance(self.given(call, item), _ARRAYLIKE)
                ):
                    text = f"np.array({text})"
                by_place = (
                    kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                    and not any("=" in a and a.split("=")[0].isidentifier() for a in args)
                    and list(bound)[: len(args) + 1] == list(parameters)[: len(args) + 1]
                )
                args.append(text if by_place else f"{key}={text}")
        return f"{self.names.bind(back, back.__name__)}({', '.join(args)})"

    def given(self, call: Called, item: Any) -> Any:
        """What stands for an argument: a node's constant, where it is one."""
        if type(item) is _calls.Hole and call.nodes[item.number].op == "const":
            return call.nodes[item.number].object
        return item

    def pull_places(
        self, node: Node, call: Called, places: Places, g: str, of: Node | None = None
    ) -> None:
        """Of an array that NumPy made of a list: what stands at each place of it."""
        for number, place in places:
            arg = call.nodes[number]
            if arg in self.active:
                self.add(arg, self.typed(f"{g}[{', '.join(map(str, place))}]", arg, of), node)

    def pull_build(self, node: Node, g: str | None) -> None:
        places = list(rules.holes_of(node.args[0].object))
        for place, arg in zip(places, node.args[2:], strict=True):
            if arg in self.active:
                self.add(arg, self.typed(f"{g}[{', '.join(map(str, place))}]", arg, node), node)

    def pull_setitem(self, node: Node, call: Called, g: str | None) -> None:
        """A copy of an array after array[key] = value; of one place that is written twice, the last
        value is what stays."""
        old = call.nodes[call.args[0].number]
        key = self.template(call.args[1], _Holes(self, call))
        value = call.args[2]
        if type(value) is _calls.Hole and call.nodes[value.number] in self.active:
            to = call.nodes[value.number]
            part = f"np.array({g}[{key}])"
            if not is_slice(call, call.args[1]):
                part = f"{self.names.bind(rules.last_writes, 'last_writes')}({g}, {key})"
            part = self.unspread(self.local(part), to)
            self.add(to, self.typed(part, to, node), node)
        if old in self.active:
            name = self.taken(str(g))
            self.text.put(f"{name}[{key}] = 0.0", node)
            self.give(old, name, node)

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
                expr = self.unspread(f"{sign}{g}[{key}]", to)
                self.add(to, self.typed(expr, to, node), node)
            return
        table = {"reduce": rules.REDUCE, "accumulate": rules.ACCUMULATE}.get(method, {})
        rule = table.get(ufunc)
        if rule and type(call.args[0]) is _calls.Hole and not {"where", "initial"} & {*call.kwargs}:
            x = call.nodes[call.args[0].number]
            axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis", 0)
            name = self.names.bind(rule, rule.__name__)
            expr = f"{name}({g}, {self.ref(node)}, {self.ref(x)}, {self.template(axis, holes)})"
            self.add(x, self.typed(expr, x, node), node)
            return
        if method == "outer" and ufunc.__name__ in ROWS:
            both = self.operands(call)
            first, second = map(self.text_of, both)
            wide = self.local(f"np.reshape({first}, np.shape({first}) + (1,) * np.ndim({second}))")
            texts = {"x": wide, "y": second, "o": self.ref(node), "g": str(g)}
            for i, (arg, row) in enumerate(zip(both, ROWS[ufunc.__name__], strict=True)):
                if not isinstance(arg, str) and arg in self.active and row is not None:
                    shape = f"np.shape({wide if i == 0 else second})"
                    expr = f"unspread({row.format(**texts)}, {shape})"
                    expr = f"np.reshape({expr}, {self.extent(arg)})"
                    self.add(arg, self.typed(expr, arg, node), node)
            return
        raise no_rule(node, f"np.{ufunc.__name__}.{method}")

    def pull_einsum(self, node: Node, call: Called, g: str | None) -> None:
        spec, operands = subscripts_of(call)
        found = [call.nodes[x.number] if type(x) is _calls.Hole else None for x in operands]
        if "..." in spec and any(isinstance(arg, _Gathered) for arg in found):
            raise no_rule(node, "numpy.einsum of a list, with an ellipsis")
        ranks = [np.ndim(x) if n is None else len(n.shape) for x, n in zip(operands, found)]
        spec = explicit(spec, ranks)
        texts = ", ".join(
            f"np.array({self.names.literal(x)})" if arg is None else self.ref(arg)
            for x, arg in zip(operands, found, strict=True)
        )
        back = self.names.bind(rules.einsum_back, "einsum_back")
        for i, arg in enumerate(found):
            if arg is not None and arg in self.active:
                expr = f"{back}({g}, None, {spec!r}, ({texts},), {i})"
                self.add(arg, self.typed(expr, arg, node), node)

    def joined(self, node: Node, call: Called, g: str | None) -> list[tuple[Node, str]]:
        """Of np.stack, np.concatenate and np.array, the part of the cotangent of each array and number;
        nothing for a call of another form."""
        is_stacked = call.function in _STACKED
        if call.function is _steps.concatenate:
            axis, items = call.args[0], call.args[1:]
        else:
            items = call.args[0]
            axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis", 0)
        if type(axis) is _calls.Hole:
            axis = call.nodes[axis.number].object
        if (
            {*call.kwargs} - {"axis"}
            or type(axis) is not int
            or not isinstance(items, (list, tuple))
        ):
            return []
        if is_stacked and call.function is not np.stack and (len(call.args) > 1 or call.kwargs):
            return []
        args = [call.nodes[item.number] for item in items if type(item) is _calls.Hole]
        if len(args) < len(items) or node.form != "array":
            return []
        forms = ("array", "scalar", "python") if is_stacked else ("array",)
        if any(arg.form not in forms for arg in args):
            return []
        axis %= len(node.shape)
        start, parts = 0, []
        for arg in args:
            stop = start + 1 if is_stacked else start + self.shape(arg)[axis]
            place = str(start) if is_stacked else f"{start}:{stop}"
            if arg in self.active:
                parts.append((arg, f"{g}[{':, ' * axis}{place}]"))
            start = stop
        return parts

    def pull_move(self, node: Node, call: Called, g: str | None) -> None:
        """Of a function that moves elements: it moves numbers from 1 on, and what lies where number i
        has come to is the cotangent of element i."""
        texts: dict[int, str] = {}
        places: dict[int, str] = {}
        total: int | str = 1
        without_dtype(call)
        moved_ones = data_of(call)
        for number, arg in enumerate(call.nodes):
            if arg in self.active and number in moved_ones:
                start, total = total, self.plus(total, self.count(arg))
                places[number] = f"{start}:{total}"
                numbers = f"np.arange({start}, {total}).reshape({self.extent(arg)})"
                texts[number] = self.local(numbers + self.laid_as(call, arg))
            elif number in {*holes_in(call.args), *holes_in(call.kwargs)}:
                is_data = number in moved_ones and is_real_valued(arg) and arg.form == "array"
                texts[number] = (
                    self.local(f"np.zeros({self.extent(arg)}, np.int64)")
                    if is_data
                    else self.ref(arg)
                )
        moved = self.moved(node, call, texts)
        if call.changed or (call.function in rules.JOINS and has_numbers(call)):
            # Those that come with the elements: what does not grow when all elements' numbers do.
            again = self.moved(node, call, texts | {n: f"({texts[n]} + {total})" for n in places})
            moved = self.local(
                f"np.where({again} - {moved} == {total}, {moved}, 0).astype(np.int64)"
            )
        back = self.local(f"np.zeros({total}, np.result_type({g}))")
        self.text.put(f"np.add.at({back}, {moved}, {g})", node)
        for number, place in places.items():
            arg = call.nodes[number]
            expr = f"{back}[{place}].reshape({self.extent(arg)})"
            expr = expr if arg.form in ("array", "object") else f"{expr}[()]"
            self.add(arg, self.typed(expr, arg, node), node)

    def order_of(self, call: Called) -> Any:
        """The argument `order`; "C" where it is left out and stands for that."""
        order = call.kwargs.get("order", "C" if call.function in _ORDERED else None)
        if call.function in _ORDERED and len(call.args) > _ORDERED[call.function]:
            order = call.args[_ORDERED[call.function]]
        return call.nodes[order.number].object if type(order) is _calls.Hole else order

    def laid_as(self, call: Called, arg: Node) -> str:
        """What lays numbers as the argument lies, for a call whose result depends on that."""
        order = self.order_of(call)
        if arg.form not in ("array", "object") or str(order) not in "kKaA":
            return ""
        if arg.form == "object" or _views.has_lengths(self.place(arg)):
            raise no_rule(arg, f"order={order!r} of an array whose layout only the run tells")
        axes = tuple(range(len(arg.shape)))
        strides = self.strides(arg)
        if str(order) in "aA":
            is_fortran = strides == _views.packed(self.shape(arg), arg.dtype, "F")
            order_of = axes[::-1] if is_fortran else axes
        else:
            order_of = _views.as_it_lies(strides)
        if order_of == axes:
            return ""
        back = tuple(sorted(axes, key=order_of.__getitem__))
        return f".transpose({order_of!r}).copy().transpose({back!r})"

    def moved(self, node: Node, call: Called, texts: dict[int, str]) -> str:
        """Where the numbers come to.  What else the function writes may be no integer."""
        if not call.changed:
            return self.local(self.call(call, texts))
        (target,) = call.changed
        out = self.local(f"{texts[target]}.astype(np.float64)")
        self.text.put(self.call(call, texts | {target: out}), node)
        return out

    def plus(self, one: int | str, other: int | str) -> int | str:
        if isinstance(one, int) and isinstance(other, int):
            return one + other
        return self.local(f"{one} + {other}")

    def extent(self, node: Node) -> str:
        """The shape, as a text."""
        return f"np.shape({self.ref(node)})" if node.form == "object" else repr(self.shape(node))

    def count(self, node: Node) -> int | str:
        if node.form == "object":
            return f"np.size({self.ref(node)})"
        return math.prod(self.shape(node))

    def pull_item(self, node: Node, call: Called, g: str) -> None:
        """Of array.item(i) and array.item(i, j)."""
        x, shape = node.args[0], self.shape(node.args[0])
        index = [self.template(item, _Holes(self, call)) for item in call.args[1:]]
        back = self.local(f"np.zeros({shape!r}, {dtype_text(x.dtype)})")
        place = f"np.unravel_index({index[0]}, {shape!r})" if len(index) == 1 else ", ".join(index)
        self.text.put(f"{back}[{place}] = {g}", node)
        self.add(x, back, node)

    def pull_where_call(self, node: Node, call: Called, g: str) -> None:
        holes = _Holes(self, call)
        for template, row in zip(call.args[1:], ROWS["where"][1:], strict=True):
            if type(template) is _calls.Hole and call.nodes[template.number] in self.active:
                arg = call.nodes[template.number]
                text = str(row).format(x=self.template(call.args[0], holes), g=g)
                self.add(arg, self.typed(self.shaped(text, node, arg), arg, node), node)

    def pull_select(self, node: Node, call: Called, g: str | None) -> None:
        holes = _Holes(self, call)
        conditions = call.args[0]
        choices = [self.gathered(call, each) for each in call.args[1]]
        default = call.args[2] if len(call.args) > 2 else call.kwargs.get("default", 0)
        default = self.gathered(call, default)
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

    def pull_extreme(self, node: Node, g: str | None) -> None:
        """Of Python's min and max: the first of equal items is what they give."""
        free = "True"
        for arg in node.args:
            test = f"({self.ref(arg)} == {self.ref(node)})"
            self.add(arg, self.typed(f"np.where({test} & {free}, {g}, 0.0)[()]", arg, node), node)
            free = self.local(f"np.logical_not{test} & {free}")

    def parts(self, node: Node, count: int) -> str:
        """The cotangents of a call's numbers as an array."""
        given = self.multi[node.id]
        return self.local(f"np.array([{', '.join(given.get(i, '0.0') for i in range(count))}])")

    def pull_sorted(self, node: Node, is_down: bool) -> None:
        items = self.local(f"np.array([{', '.join(map(self.ref, node.args))}])")
        order = f"np.argsort({'-' if is_down else ''}{items}, kind='stable')"
        back = self.local(f"{self.parts(node, len(node.args))}[np.argsort({order})]")
        for i, arg in enumerate(node.args):
            self.add(arg, self.typed(f"{back}[{i}]", arg), node)

    def pull_list(self, node: Node, g: str | None) -> None:
        """Of array.tolist(): the cotangents of its numbers; of no axis it is one number."""
        (array,) = node.args
        parts = (
            f"np.array({g})" if g is not None else self.parts(node, math.prod(self.shape(array)))
        )
        self.add(array, self.typed(f"np.reshape({parts}, {self.shape(array)!r})", array), node)


def takes_operands(call: Called) -> bool:
    """Are a call's arguments, each of them, arrays for NumPy, or what it makes arrays of?"""
    function = call.function
    if isinstance(function, np.ufunc):
        return function not in rules.RULES
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return True
    if not isinstance(function, Hashable):
        return False
    return (
        function in OPERATORS
        or function in (operator.matmul, operator.setitem, np.where, np.einsum)
        or (function, len(call.args)) in MATH
    )


def is_const(call: Called, item: Any, value: Any) -> bool:
    if type(item) is not _calls.Hole:
        return item is value
    node = call.nodes[item.number]
    return node.op == "const" and node.object is value


def is_written_by_ufunc(call: Called) -> bool:
    """Is it a ufunc's call whose result goes to one array that is given?"""
    function, out = call.function, call.kwargs.get("out")
    out = out[0] if type(out) is tuple and len(out) == 1 else out
    return (
        isinstance(function, np.ufunc)
        and function not in rules.RULES
        and type(out) is _calls.Hole
        and call.changed == (out.number,)
        and not {*call.kwargs} - _TYPES - {"out", "where"}
    )


def is_slice(call: Called, key: Any) -> bool:
    """Does a key name each place once: ints and slices of them?"""
    if type(key) is tuple:
        return all(is_slice(call, item) for item in key)
    if type(key) is _calls.Hole:
        node = call.nodes[key.number]
        return node.form in ("python", "scalar") and np.dtype(node.dtype).kind in "iu"
    return type(key) in (int, slice, type(None), type(Ellipsis))


class _Gathered:
    """Stands for a node: the array that NumPy makes of a list or tuple."""

    op, kind, form, dtype, type = "gathered", "gathered", "object", "object", "object"
    regions = args = shape = ()

    def __init__(self, id: str, places: Places) -> None:
        self.id, self.places = id, places


def places_in(template: Any, at: tuple[int, ...] = ()) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The holes in nested lists, and where they stand."""
    if type(template) is _calls.Hole:
        yield template.number, at
    elif isinstance(template, (list, tuple)):
        for i, item in enumerate(template):
            yield from places_in(item, (*at, i))


def data_of(call: Called) -> set[int]:
    """The arguments whose elements are moved; of one that fills an array with others those two."""
    if call.function not in rules.FILLS_SET:
        return {*holes_in(call.args), *holes_in(call.kwargs)}
    at, name = rules.FILLS[call.function]
    values = call.args[at] if len(call.args) > at else call.kwargs.get(name)
    return {*call.changed, *holes_in(values)}


def without_dtype(call: Called) -> None:
    """Numbers that are moved stay integers."""
    call.kwargs = {name: item for name, item in call.kwargs.items() if name != "dtype"}
    if call.function in (np.array, np.asarray, np.ascontiguousarray, np.asfortranarray):
        call.args = call.args[:1]


def has_numbers(call: Called) -> bool:
    """Does a call that moves elements place numbers among them, of which no derivative is asked?"""

    def any_in(template: Any) -> bool:
        if type(template) is _calls.Hole:
            node = call.nodes[template.number]
            return node.form != "array" or not is_real_valued(node)
        if isinstance(template, (tuple, list)):
            return any(map(any_in, template))
        return isinstance(template, (int, float, complex, np.ndarray, np.generic, slice))

    return any(map(any_in, call.args))


class _Holes:
    """The texts of a call's holes: only those that are asked for are read."""

    def __init__(self, adjoint: Adjoint, call: Called) -> None:
        self.adjoint, self.call = adjoint, call

    def __getitem__(self, number: int) -> str:
        node = self.call.nodes[number]
        text = self.adjoint.ref(node)
        if node.form in ("python", "scalar") and is_real_valued(node):
            return f"np.array({text})"  # rules ask for ranks and shapes
        return text


def call_results(node: Node) -> Sequence[Any]:
    check = getattr(node.object, "check", None)
    return check.items if check is not None and check.items is not None else ()


signature = functools.cache(inspect.signature)  # of rules, which are made once


@functools.cache
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


def explicit(spec: str, ranks: Sequence[int]) -> str:
    """Subscripts with an arrow and without an ellipsis."""
    spec = spec.replace(" ", "")
    letters = [c for c in _LETTERS if c not in spec]
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


def subscripts_of(call: Called) -> tuple[str, list[Any]]:
    """np.einsum's subscripts as a text, and its operands."""

    def given(item: Any) -> Any:
        return call.nodes[item.number].object if type(item) is _calls.Hole else item

    def names(item: Any) -> str:
        return "".join("..." if i is Ellipsis else _LETTERS[i] for i in given(item))

    spec = given(call.args[0])
    if isinstance(spec, str):
        return spec, list(call.args[1:])
    pairs, count = call.args, len(call.args) // 2 * 2
    out = f"->{names(pairs[-1])}" if len(pairs) % 2 else ""
    return ",".join(map(names, pairs[1::2])) + out, list(pairs[:count:2])


def implicit(left: str) -> str:
    all_ = left.replace(",", "")
    return "".join(sorted(c for c in set(all_) if all_.count(c) == 1))
