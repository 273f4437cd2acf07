"""CPython's own tests, run plain and under pycompile: `python -m conformance`."""
