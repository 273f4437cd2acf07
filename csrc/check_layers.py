"""Fails when a file of csrc/ uses a function of a layer above its own, when a header declares one, and
when more files of a layer than before need one another.

    python csrc/check_layers.py BUILD_FOLDER

Reads the symbol tables of the object files below BUILD_FOLDER with `nm`: what one file leaves
undefined and another defines is a use.  A use that climbs is printed with both files.  What a layer
of capture needs of those above it goes through tables: Interp.kinds and Interp.above.

A circle is a set of files each of which uses all others, by way of others: none can be read alone.
"""

import itertools
import re
import subprocess
import sys
from pathlib import Path

# Each uses only itself and those before it.
LAYERS = [
    "",  # csrc/*.c: arenas, text, options
    "python",
    "graph",
    "arrays",
    "capture/core",
    "capture/numpy",
    "capture/numbers",
    "capture/containers",
    "capture/objects",
    "capture/control",
    "passes",
    "lower",
    "codegen",
    "export",
    "runtime",
]
ENTRY = "module"  # csrc/module.c starts all of them

# How many files the largest circle of a layer has.  A number here only becomes smaller.
CIRCLES = {
    "python": 5,
    "graph": 4,
    "arrays": 3,
    "capture/core": 16,
    "capture/numpy": 27,
    "capture/containers": 3,
    "capture/objects": 24,
    "capture/control": 29,
    "passes": 2,
    "lower": 19,
    "codegen": 11,
    "runtime": 33,
}


def newest_objects(build: Path, sources: Path) -> dict[str, Path]:
    """By source file, without `.c`: of several builds the last; what has no source any more is left out."""
    found: dict[str, Path] = {}
    for path in build.rglob("csrc/**/*.o"):
        name = str(path.with_suffix("")).rpartition("csrc/")[2]
        older = found.get(name)
        if (sources / f"{name}.c").exists() and (
            older is None or older.stat().st_mtime < path.stat().st_mtime
        ):
            found[name] = path
    return found


def symbols(objects: dict[str, Path]) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Which file defines a symbol, and which symbols each file uses without defining them."""
    defined: dict[str, str] = {}
    used: dict[str, set[str]] = {}
    for name, path in objects.items():
        used[name] = set()
        listing = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            *_, kind, symbol = line.split()
            if kind == "U":
                used[name].add(symbol)
            elif kind in "TDBRV":
                defined[symbol] = name
    return defined, used


def layer(name: str) -> int:
    return LAYERS.index(name.rpartition("/")[0])


def climbs(defined: dict[str, str], used: dict[str, set[str]]) -> tuple[int, list[str]]:
    """How many uses go from one layer to another, and a sentence for each that goes up."""
    across, climbing = 0, []
    for user in sorted(used):
        for symbol in sorted(used[user]):
            owner = defined.get(symbol, user)
            if ENTRY in (user, owner) or layer(owner) == layer(user):
                continue
            across += 1
            if layer(owner) > layer(user):
                climbing.append(f"{user}.c uses {symbol} of {owner}.c, a layer above its own")
    return across, climbing


def foreign(defined: dict[str, str], sources: Path) -> list[str]:
    """A sentence for each function of a higher layer that a header names."""
    found = []
    for path in sorted(sources.rglob("*.h")):
        header = str(path.relative_to(sources))
        if header == "capture/capture.h":  # what others may use of all layers of capture
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for symbol in sorted(set(re.findall(r"\b(\w+)\(", text))):
            owner = defined.get(symbol, ENTRY)
            if owner != ENTRY and layer(owner) > layer(header):
                found.append(f"{header} declares {symbol} of {owner}.c, a layer above its own")
    return found


def components(uses: dict[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components: of each circle, and of each other file, the names."""
    order: dict[str, int] = {}
    least: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    number = itertools.count()

    def visit(name: str) -> None:
        order[name] = least[name] = next(number)
        stack.append(name)
        for other in sorted(uses[name]):
            if other not in order:
                visit(other)
            if other in stack:
                least[name] = min(least[name], least[other])
        if least[name] == order[name]:
            at = stack.index(name)
            found.append(stack[at:])
            del stack[at:]

    for name in sorted(uses):
        if name not in order:
            visit(name)
    return found


def circles(defined: dict[str, str], used: dict[str, set[str]]) -> list[str]:
    """A sentence for each layer whose largest circle is not as CIRCLES says."""
    owners = {name: {defined[symbol] for symbol in used[name] & defined.keys()} for name in used}
    uses = {
        name: {owner for owner in owners[name] if layer(owner) == layer(name)} for name in owners
    }
    largest: dict[str, list[str]] = {}
    for circle in components(uses):
        folder = circle[0].rpartition("/")[0]
        largest[folder] = max(largest.get(folder, []), circle, key=len)
    told = []
    for folder, circle in sorted(largest.items()):
        most = CIRCLES.get(folder, 1)
        if len(circle) > most:
            names = " ".join(sorted(name.rpartition("/")[2] for name in circle))
            told.append(f"{folder}: {len(circle)} files need one another, {most} before: {names}")
        elif len(circle) < most:
            told.append(f"{folder}: {len(circle)} files need one another: CIRCLES may say so")
    return told


def main() -> int:
    sources = Path(__file__).parent
    defined, used = symbols(newest_objects(Path(sys.argv[1]), sources))
    across, wrong = climbs(defined, used)
    wrong += foreign(defined, sources) + circles(defined, used)
    for sentence in wrong:
        print(sentence)
    print(f"layers: {across} uses of lower ones, {len(wrong)} faults")
    return not across or bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
