"""The pullback's text: the adjoint of each node, in reverse order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycompile.derivatives._activity import free_nodes
from pycompile.derivatives._adjoint import Scope, Turns
from pycompile.derivatives._adjoint_calls import Calls
from pycompile.derivatives._finals import final_loads, is_free
from pycompile.derivatives._text import Node, Text, no_rule
from pycompile.derivatives._writer import Writer, dtype_text, vectors_of


class Backward(Calls):
    """Of a whole graph: branches and loops, and what is in them."""

    # ---- the walk ----

    def run(self, nodes: Sequence[Node], outputs: dict[int, str]) -> None:
        """Writes the pullback of a graph, of the cotangents `outputs` by node."""
        self.top = self.scope = Scope(nodes, "graph", None, None)
        self.top_nodes = nodes
        self.top.have |= set(self.kept)
        for node in nodes:
            if node.id in outputs:
                self.ct[node.id] = outputs[node.id]
        self.pull_all(nodes)
        self.text.lines[:0] = self.top.front.lines
        self.text.places[:0] = self.top.front.places

    def pull_all(self, nodes: Sequence[Node]) -> None:
        for node in reversed(nodes):
            is_undone = node.op == "element_store" and self.root(node) in self.undone
            if node.id in self.active.ids or node.regions or node.id in self.multi or is_undone:
                self.pull(node)

    def pull(self, node: Node) -> None:
        if node.op in ("input", "const"):
            return
        if node.form == "array" and not node.regions and 0 in self.shape(node):
            return  # of no elements
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
        """Does a region in a loop store into an active array, or one whose stores are undone?"""
        return any(
            (each.op == "element_store" and (each in self.active or self.root(each) in self.undone))
            or self.touches(each)
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
        elif node.op == "loop_sum":
            self.pull_fold(node)
        elif node.op == "extern":
            self.pull_extern(node, None)
        else:
            raise no_rule(node, node.op)

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
        ends = [(f"g{p.id}", self.ct.get(p.id, self.zero(p))) for p in carried]
        ends = [(name, text) for name, text in ends if name != text]
        if ends:
            self.text.put(", ".join(a for a, _ in ends) + " = " + ", ".join(b for _, b in ends))
        inner, self.text = self.text, text
        self.text.lines += scope.front.lines + inner.lines
        self.text.places += scope.front.places + inner.places
        self.scope, self.ct, self.owned = outer_scope, before, owned
        for param, arg in zip(params[1:], node.args[3:], strict=True):
            if param in self.active:
                self.add(arg, f"g{param.id}", node)

    # ---- loops over elements ----

    def pull_fold(self, node: Node) -> None:
        """Of a sum of a row: that of each of its elements, which are computed again."""
        ct, (body,), outer = self.multi.pop(node.id)[0], node.regions, self.scope
        for arg in self.outer_nodes(node):
            if arg.form != "array" or self.root(arg) not in self.ct:
                self.defined(arg)
        self.text.put(f"for v{body.params[0].id} in range({self.bounds(node)}):", node)
        before, owned, text = dict(self.ct), set(self.owned), self.text
        self.scope, self.text = Scope((*body.params, *body.nodes), "sum", outer, outer.loop), Text()
        self.text.depth = self.scope.front.depth = text.depth + 1
        self.scope.have.add(body.params[0].id)
        self.add(body.results[0], ct, node)
        self.pull_all(body.nodes)
        text.lines += self.scope.front.lines + self.text.lines or ["    " * text.depth + "    pass"]
        text.places += self.scope.front.places + self.text.places
        self.scope, self.text, self.ct, self.owned = outer, text, before, owned

    def pull_element_dot(self, node: Node, g: str) -> None:
        x, y = vectors_of(node)
        for one, other in ((x, y), (y, x)):
            if one.array not in self.active:
                continue
            name, key = self.ct[self.root(one.array)], one.key(self.ref)
            row = other.turned(f"{self.array(other.array)}[{other.key(self.ref)}]")
            self.text.put(f"{name}[{key}] += {one.turned(f'({g} * {row})')}", node)

    def pull_loop(self, node: Node) -> None:
        """A second run saves what the turns need, and the turns are gone through in reverse.

        Stacks have an item for each turn of their loop in the whole nest: by the loops' variables, or `p`
        counts them, up in the second run and down in the reverse one.  What a turn can compute again from
        what is saved, and from arrays that still have what it read there, is not saved.
        """
        if self.scope.kind == "turns":
            self.reverse(node)
            return
        self.find_roots(node)
        self.find_finals(node)
        self.undone = undone_in(node, self.roots)
        self.saves = {}
        text, self.text = self.text, Text()
        self.text.depth = text.depth
        self.loops = loops_in(node)
        self.turns = turns_in(node)
        self.reverse(node)
        reverse, self.text = self.text, text
        counted = [loop for loop in self.loops if not self.turns[loop.id].path]
        runs_again = any(turns.saved for turns in self.turns.values())
        for arg in (*node.args, *free_nodes(node)) if runs_again or counted else ():
            if arg.op != "const":
                self.ref(arg)
        for loop in self.loops:
            if loop not in counted:
                self.text.put(f"n{loop.id} = {self.count_of(loop)}", loop)
        if counted:
            self.count_turns(node)
        for turns in self.turns.values():
            for name, dtype in turns.saved.items():
                self.text.put(f"s_{name} = np.empty(({turns.length}), {dtype_text(dtype)})", node)
        if runs_again:
            second = _Second(self, self.turns)
            second.text.depth = self.text.depth
            for loop in counted:
                second.text.put(f"p{loop.id} = 0")
            second.write(node)
            self.text.lines += second.text.lines
            self.text.places += second.text.places
        for loop in counted:
            self.text.put(f"p{loop.id} = T{loop.id}")
        self.text.lines += reverse.lines
        self.text.places += reverse.places

    def count_turns(self, node: Node) -> None:
        if len(self.loops) == 1 and not node.ints:
            self.text.put(f"T{node.id} = {self.count_of(node)}", node)
            return
        known = known_turns(node, 1)
        if known is not None:
            for loop in self.loops:
                self.text.put(f"T{loop.id} = {known[loop.id]}", node)
            return
        counting = _Counting(self)
        counting.text.depth = self.text.depth
        for loop in self.loops:
            counting.text.put(f"T{loop.id} = 0")
        counting.write(node)
        self.text.lines += counting.text.lines
        self.text.places += counting.text.places

    def find_finals(self, node: Node) -> None:
        """Which loads of a nest of the graph the reverse run makes from the arrays that the nest leaves."""
        self.finals = {}
        if self.scope.kind == "graph":
            (body,) = node.regions
            index = {self.roots.get(param.id): i for i, param in enumerate(body.params[1:])}
            left = {x.index: x for x in self.top_nodes if x.op == "result" and x.args[0] is node}
            for load, root in final_loads(node, self.roots).items():
                if index[root] in left:
                    self.finals[load] = left[index[root]]
        self.is_free = is_free(node, self.roots, self.finals)

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
        start, _, step = node.args[:3]
        if node.ints:
            if outer.kind == "turns":
                outer.loop.saved[f"n{number}"] = "int64"
                self.saves[f"n{number}"] = outer.loop
                self.text.put(f"n{number} = s_n{number}[{outer.loop.at}]")
            else:
                self.text.put(f"n{number} = T{number}")
        elif not self.turns[number].path:
            self.text.put(f"n{number} = {self.count_of(node)}")
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
                ct = cts.get(i, self.zero(param))
                if outer.kind != "turns" and i in cts:  # or else an array of no axis may be given
                    ct = f"{dtype_text(param.dtype)}({ct})"
                self.text.put(f"c{param.id} = {ct}")
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
        if not self.turns[number].path:
            scope.front.put(f"p{number} -= 1")
        if not first:
            inside, self.scope = self.scope, outer
            unit = step.object if step.op == "const" and step.object in (1, -1) else 0
            turns = {1: f"+ k{number}", -1: f"- k{number}"}.get(
                unit, f"+ k{number} * {self.ref(step)}"
            )
            head = f"{index} = {self.ref(start)} {turns}"
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
        before = self.undone.get(self.root(array))
        if before is not None:
            loop, saved = self.scope.loop, f"o{node.id}"
            loop.saved[saved], self.saves[saved] = node.dtype, loop
            key = ", ".join(map(self.ref, index))
            self.text.put(f"{before}[{key}] = s_{saved}[{loop.at}]", node)
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


def undone_in(nest: Node, roots: dict[int, int]) -> dict[int, str]:
    """The arrays that a nest carries and reads rows of, by root, with their names in the second run."""
    read: set[int | None] = set()

    def walk(nodes: Sequence[Node], is_sum: bool) -> None:
        for node in nodes:
            if node.op == "element_dot":
                read.update(roots.get(vector.array.id) for vector in vectors_of(node))
            elif node.op == "element_load" and is_sum:
                read.add(roots.get(node.args[0].id))
            for region in node.regions:
                walk(region.nodes, is_sum or node.op == "loop_sum")

    walk((nest,), False)
    params = nest.regions[0].params[1:]
    return {
        roots[param.id]: f"v{nest.id}_{i}"
        for i, param in enumerate(params)
        if param.id in roots and roots[param.id] in read
    }


def turns_in(node: Node) -> dict[int, Turns]:
    """Of the loops of a nest."""
    inside: set[int] = set()
    out: dict[int, Turns] = {}

    def walk(each: Node, path: tuple[Node, ...] | None) -> None:
        if each.op == "loop":
            path = (*path, each) if path is not None and is_range(each) else None
            out[each.id] = Turns(each, path)
        for region in each.regions:
            inside.update(one.id for one in (*region.params, *region.nodes))
            for one in region.nodes:
                walk(one, path)

    def is_range(loop: Node) -> bool:
        start, stop, step = loop.args[:3]
        is_plain = start.op == step.op == "const" and step.object in (1, -1) and start.object >= 0
        return is_plain and not loop.ints and (stop.op == "const" or stop.id not in inside)

    walk(node, ())
    return out


def known_turns(node: Node, outer: int) -> dict[int, int] | None:
    """How many turns the loops of a nest make in all, where constants alone say it."""
    if node.ints or any(bound.op != "const" for bound in node.args[:3]):
        return None
    out = {node.id: outer * len(range(*(int(bound.object) for bound in node.args[:3])))}
    for each in node.regions[0].nodes:
        inner = known_turns(each, out[node.id]) if each.op == "loop" else {}
        if inner is None or (each.op != "loop" and loops_in(each)):
            return None
        out |= inner
    return out


LONG_WORK = 500_000  # operations of Python: some tenths of a second


def is_long(nodes: Sequence[Node]) -> bool:
    """Do loops over elements make so many turns that Python would take longer than the compiler?"""
    work = 0
    for node in nodes:
        if node.op == "loop":
            turns = known_turns(node, 1) or {}
            bodies = {loop.id: len(loop.regions[0].nodes) for loop in loops_in(node)}
            work += sum(bodies[key] * count for key, count in turns.items())
    return work > LONG_WORK


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
            self.text.put(f"s_{name}[{loop.at}] = {value}")

    def write(self, node: Node) -> None:
        if node.op == "element_store":
            array, *index = map(self.ref, node.args[:-1])
            self.save(f"o{node.id}", f"{array}[{', '.join(index)}]")
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
        if not self.turns[node.id].path:
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
