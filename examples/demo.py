"""Runs all the examples, prints one explain() and writes the pictures to out/."""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))


def main() -> int:
    import network
    import numpy as np
    import options
    import photo
    import terrain
    import volatility

    import pycompile

    out = ROOT.parent / "out"
    out.mkdir(exist_ok=True)
    print(
        f"pycompile {pycompile.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}"
    )
    print("first: the first call; steady: median of 15, once the C compiler has ended\n")
    agree = [example.main(out) for example in (photo, terrain, options, network, volatility)]
    print("\nexplain(sharpen):\n")
    print(pycompile.explain(photo.sharpen)(photo.load(), 1.5))
    print(f"\npictures: {', '.join(sorted(p.name for p in out.glob('*.png')))} in {out}")
    if not all(agree):
        print("bits DIFFER somewhere above")
        return 1
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pycompile-demo-") as folder:
        os.environ["PYCOMPILE_CACHE_DIR"] = folder  # read when pycompile is imported
        status = main()
    sys.exit(status)
