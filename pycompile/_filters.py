"""Warning filters of one thread: see csrc/arrays/warnings.c, which imports this at the first capture."""

from __future__ import annotations

from pycompile import _C


class _Asked(type):
    """The class of a warning's class to which every warning belongs in a thread that asks for it."""

    mode: int

    def __subclasscheck__(cls, other: type) -> bool:
        return _C.warnings_active(cls.mode)


class _Raised(Warning, metaclass=_Asked):
    mode = 0


class _Ignored(Warning, metaclass=_Asked):
    mode = 1


FILTERS = (("error", None, _Raised, None, 0), ("ignore", None, _Ignored, None, 0))


class warnings_as:  # noqa: N801
    """with: a warning given in this thread is raised (0), or not given (1)."""

    def __init__(self, mode: int) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.filters = _C.warnings_begin(self.mode)

    def __exit__(self, *_: object) -> None:
        _C.warnings_end(self.mode, self.filters)
