"""Unmodified NumPy code as fused native kernels."""
