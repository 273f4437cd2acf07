"""docs/graph-breaks.md is what its command makes, and its examples break as it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pycompile
from pycompile import _C

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import break_examples  # noqa: E402
import make_graph_breaks  # noqa: E402

EXAMPLES = {c: e for c, e in break_examples.EXAMPLES.items() if not isinstance(e, str)}


def test_the_page_is_up_to_date():
    command = [sys.executable, str(ROOT / "docs" / "make_graph_breaks.py"), "--check"]
    assert subprocess.run(command).returncode == 0, "run python docs/make_graph_breaks.py"


def test_every_code_is_in_the_table_once():
    codes = [row[0] for row in make_graph_breaks.rows()]
    assert codes == sorted(set(codes))
    assert set(codes) == set(break_examples.EXAMPLES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_breaks_with_its_code(code, capsys):
    function, arguments = EXAMPLES[code]
    pycompile.reset()
    compiled = pycompile.compile(function)
    _C.report_begin()
    try:
        compiled(*arguments())
    except Exception:
        pass
    finally:
        records = _C.report_end()
    codes = [item["code"] for record in records for item in record.get("breaks") or ()]
    assert code in codes, records


def test_the_readme_tour_runs(tmp_path):
    """The Python blocks of README.md run one after another."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    script = tmp_path / "tour.py"
    script.write_text("\n".join(blocks))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
