"""What Python sees of the extension module; hooks for tests (test_…, _…) left out."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

class CompiledFunction:
    def __new__(
        cls, function: Callable[..., Any], options: dict[str, Any], plain: bool = ..., /
    ) -> CompiledFunction: ...
    __wrapped__: Callable[..., Any]
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def stats(self) -> dict[str, int]: ...

class DisabledFunction:
    def __new__(cls, function: Callable[..., Any], /) -> DisabledFunction: ...
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

class NumpyFunction(tuple[Any, ...]):
    """A row of csrc/capture/numpy/numpy_functions.def."""

    name: str
    kinds: str
    way: str
    signature: str
    data: str
    traits: int
    OPAQUE: ClassVar[int]
    UNTYPED: ClassVar[int]
    LOOSE: ClassVar[int]
    GENERIC: ClassVar[int]
    OF_TYPES: ClassVar[int]
    GIVES_ITSELF: ClassVar[int]
    CHANGES: ClassVar[int]
    MAY_CHANGE: ClassVar[int]
    FLAGS: ClassVar[int]
    BY_SHAPE: ClassVar[int]
    OF_DATA: ClassVar[int]
    MINDS_FLAGS: ClassVar[int]
    SHAPE_FIRST: ClassVar[int]
    INDEXES: ClassVar[int]
    LENGTHS: ClassVar[int]
    NAMED_OUT: ClassVar[int]
    OF_SCALARS: ClassVar[int]
    LEFT: ClassVar[int]
    DIVIDED: ClassVar[int]

class StepValue(tuple[Any, ...]):
    """See csrc/capture/numpy/step_values.def."""

    form: int
    dtype: Any
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    writeable: bool | None
    owns: bool | None
    aligned: bool | None
    hole: int | None
    offset: int | None
    maker: Any
    items: list[StepValue] | None
    type: type | None
    sample: Any
    views: list[int] | None
    ARRAY: ClassVar[int]
    DEVICE: ClassVar[int]
    SCALAR: ClassVar[int]
    PYTHON: ClassVar[int]
    OPAQUE: ClassVar[int]
    OBJECT: ClassVar[int]
    HOLE: ClassVar[int]
    VIEW: ClassVar[int]
    NONE: ClassVar[int]
    TUPLE: ClassVar[int]
    LIST: ClassVar[int]
    NAMED: ClassVar[int]
    CONSTANT: ClassVar[int]

class Trial(tuple[Any, ...]):
    """See csrc/capture/numpy/step_values.def."""

    function: Callable[..., Any]
    traits: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    values: list[StepValue]
    changed: tuple[int, ...]
    opaque: bool
    untyped: bool
    direct: bool
    fresh: bool

def gufunc_call(gufunc: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...
def numpy_functions() -> list[NumpyFunction]: ...
def op_table() -> list[dict[str, Any]]: ...
def op_ufuncs() -> dict[str, str]: ...
def reset() -> None: ...
def array_select(array: Any, by: Any, /) -> Any: ...
def array_store(array: Any, by: Any, value: Any, /) -> None: ...
def array_view(
    base: Any, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, /
) -> Any:
    """A view `offset` bytes into an array, with the base that NumPy's own view would have."""

def warnings_begin(mode: int, /) -> list[Any]: ...
def warnings_end(mode: int, filters: list[Any], /) -> None: ...
def warnings_active(mode: int, /) -> bool: ...
def _operand_fits(number: int, array: Any, other: Any, /) -> bool: ...
def report_begin() -> int: ...
def report_end() -> list[dict[str, Any]]: ...
def cache_info() -> dict[str, Any]: ...
def cache_clear() -> None: ...
def cache_entries() -> list[dict[str, Any]]: ...
def toolchain_info() -> dict[str, Any]: ...
def toolchain_try() -> str | None: ...
def config_describe() -> list[tuple[str, Any, str | None, str]]: ...
def log_configure(spec: str, /) -> None: ...
def log_spec() -> str: ...
def threads_count() -> int: ...
def threads_helpers(ns: float, /) -> int: ...
def threads_wake_ns() -> tuple[int, int] | None: ...
def threads_set_count(count: int, /) -> None: ...
def program_start(options: dict[str, Any]) -> None: ...
def spare_limits(bytes: int, seconds: int, /) -> int: ...
def compile_counts() -> dict[str, int]: ...
def program_counts() -> list[tuple[str, str, int, int, int, int, str | None]]: ...
def program_is_running() -> bool: ...
def hints() -> list[dict[str, Any]]: ...
def hints_tell(text: str, /) -> None: ...
def background_end() -> None: ...

# What tests and the documentation look at.
def log_channels() -> list[str]: ...
def code_info() -> dict[str, int]: ...
def cuda_info() -> dict[str, Any]: ...
def cublaslt_info() -> tuple[int, str]: ...
def pass_names(preparation: bool = False, /) -> list[str]: ...
def graph_pass(graph: Graph, name: str, /) -> Graph: ...
def graph_layout(rule: str, dtype: str, arrays: list[Any], /) -> Any: ...
def lower_graph(
    text: str, objects: list[Any] = ..., comments: bool = ..., bytes: int = ..., /
) -> tuple[str, str]: ...
def lower_cuda(text: str, comments: bool = ..., capability: int = ..., /) -> tuple[str, str]: ...
def cuda_compile(source: str, arch: str, /) -> tuple[bytes | None, str]: ...
def library_read(object: Any, /) -> Any: ...
def pool_set_limit(count: int, /) -> None: ...
def pool_held() -> int: ...
def pool_clear() -> None: ...
def pool_rests(seen: int, /) -> tuple[bool, int]: ...
