"""What Python sees of the extension module, test hooks left out."""

from collections.abc import Callable, Sequence
from typing import Any

class CompiledFunction:
    def __new__(
        cls, function: Callable[..., Any], options: dict[str, Any], /
    ) -> CompiledFunction: ...
    __wrapped__: Callable[..., Any]
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def stats(self) -> dict[str, int]: ...

class Region:
    params: tuple[Node, ...]
    nodes: tuple[Node, ...]
    results: tuple[Node, ...]

class Node:
    id: int
    op: str
    kind: str
    args: tuple[Node, ...]
    shape: tuple[int | str, ...]
    dtype: str
    form: str
    line: int
    file: str
    strides: tuple[int | str, ...]
    offset: int | str
    storage: int
    ints: tuple[int, ...]
    index: int
    number: float
    keepdims: bool
    object: Any
    kwnames: tuple[str, ...] | None
    view: tuple[tuple[int | str, ...], tuple[int | str, ...], int | str] | None
    regions: tuple[Region, ...]
    type: str
    text: str

class Graph:
    nodes: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    symbols: dict[str, int]
    objects: tuple[Any, ...]
    text: str
    @classmethod
    def parse(cls, text: str, objects: Sequence[Any] = ...) -> Graph: ...
    def print_tabular(self) -> None: ...
    def to_dot(self) -> str: ...

def op_table() -> list[dict[str, Any]]: ...
def reset() -> None: ...
def report_begin() -> None: ...
def report_end() -> list[dict[str, Any]]: ...
def cache_info() -> dict[str, Any]: ...
def cache_clear() -> None: ...
def toolchain_info() -> dict[str, Any]: ...
def config_describe() -> list[tuple[str, Any, str | None, str]]: ...
def log_configure(spec: str, /) -> None: ...
def threads_count() -> int: ...
def threads_set_count(count: int, /) -> None: ...
def program_start(options: dict[str, Any]) -> None: ...
def program_counts() -> list[tuple[str, str, int, int, int, int, str | None]]: ...
def program_is_running() -> bool: ...
