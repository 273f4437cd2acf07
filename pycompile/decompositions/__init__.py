"""NumPy functions written in NumPy, and functions of Python's library that are C, written in Python:
followed by capture as though the program had called them.

Each has its original's signature and gives its very bits, shapes, dtypes and errors.  Those of NumPy's
are named by rows of csrc/capture/numpy/numpy_functions.def; for the others a module's `TABLE` maps the
original to it, and csrc/capture/control/decompositions.c says which module that is.  What an original
accepts and its decomposition does not follow ends in a graph break, so the original runs.
"""
