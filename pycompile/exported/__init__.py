"""What exported libraries are made of beside their tables and kernels: C sources, and the wrapper
in Python.  `pycompile._export` copies them into a library."""
