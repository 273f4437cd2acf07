"""Benchmarks: `python -m benchmarks [--peers numpy,numba,jax,torch,numexpr] [--json FILE] [--quick]`."""
