"""Child process: first calls of the examples' functions, or of those that are named, with the disk
cache as it is.  Prints JSON.

A first call's own time is what it takes beyond the fastest of those that follow it.  With --records it is
told what was compiled, too: then the calls take longer, since the records, which show graphs and code, are
made in them.
"""

import copy
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import network  # noqa: E402
import options  # noqa: E402
import photo  # noqa: E402
import terrain  # noqa: E402

from pycompile import _C  # noqa: E402


def main() -> None:
    recorded = "--records" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--records"]
    found = {}
    for module in (photo, terrain, options, network):
        for name, (function, arguments) in module.FUNCTIONS.items():
            if names and name not in names:
                continue
            args = copy.deepcopy(arguments())
            _C.reset()
            if recorded:
                _C.report_begin()
            times = []
            for _ in range(6):
                began = time.perf_counter()
                function(*args)
                times.append(time.perf_counter() - began)
            records = _C.report_end() if recorded else []
            found[name] = {
                "seconds": times[0] - min(times[1:]),
                "plans": sum(record["kind"] == "plan" for record in records),
                "instructions": sum(record.get("instructions") or 0 for record in records),
                "capture": sum((r.get("seconds") or {}).get("capture", 0.0) for r in records),
            }
    print(json.dumps(found))


main()
