"""Fails when a file of csrc/ uses a function of a layer above its own.

    python csrc/check_layers.py BUILD_FOLDER

Reads the symbol tables of the object files below BUILD_FOLDER with `nm`: what one file leaves
undefined and another defines is a use.  A use that climbs is printed with both files.  What a layer
of capture needs of those above it goes through tables: Interp.kinds and Interp.above.
"""

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
    "runtime",
]
ENTRY = "module"  # csrc/module.c starts all of them


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


def climbs(build: Path, sources: Path) -> tuple[int, list[str]]:
    """How many uses go from one layer to another, and a sentence for each that goes up."""
    defined, used = symbols(newest_objects(build, sources))
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


def main() -> int:
    across, climbing = climbs(Path(sys.argv[1]), Path(__file__).parent)
    for sentence in climbing:
        print(sentence)
    print(f"layers: {across} uses of lower ones, {len(climbing)} that climb")
    return not across or bool(climbing)


if __name__ == "__main__":
    sys.exit(main())
