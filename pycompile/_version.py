"""The version: read by pyproject.toml, part of every cache key."""

__version__ = "0.1.0"
