"""Replays the patches of docs/recipes: all of them on one copy of the sources, which is built and tested.

python docs/replay_recipes.py [NAME...]    NAME: op, numpy-function, pass; all when none is named

The tests that are run are those that the patches add, and the golden file of a pass.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT / "docs" / "recipes"
COPY = ROOT / "build" / "recipes"


def sources() -> list[str]:
    """What git knows, or what lies there where git is not."""
    listed = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def copy_sources() -> None:
    """Sources keep their times, so that the copy's objects are built again only where they must."""
    wanted = sources()
    for name in wanted:
        target = COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    for path in COPY.glob("csrc/**/*.[ch]"):  # a patch of the last time added it
        if str(path.relative_to(COPY)) not in wanted:
            path.unlink()


def apply(patch: Path) -> None:
    """git would take the copy for a part of the project that it lies in."""
    env = os.environ | {"GIT_CEILING_DIRECTORIES": str(COPY.parent)}
    command = ["git", "apply", "-C1", "--recount", str(patch)]
    if subprocess.run(command, cwd=COPY, env=env).returncode:
        raise SystemExit(f"{patch.relative_to(ROOT)} does not apply")


def tests_of(patch: Path) -> list[str]:
    return re.findall(r"^\+\+\+ b/(tests/.*test_\w+\.py)$", patch.read_text(), re.M)


def main() -> int:
    named = sys.argv[1:]
    patches = [p for p in sorted(RECIPES.glob("*.patch")) if not named or p.stem in named]
    copy_sources()
    tests = []
    for patch in patches:
        apply(patch)
        tests += tests_of(patch)
        print(f"{patch.name}: applied", flush=True)
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    if subprocess.run(build, cwd=COPY).returncode:
        raise SystemExit("a patch does not build")
    env = os.environ | {"PYTHONPATH": str(COPY)}
    run = [sys.executable, "-P", "-m", "pytest", "-q", *tests, "tests/test_golden.py"]
    return subprocess.run(run, cwd=COPY, env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
