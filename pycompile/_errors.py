"""What pycompile raises and warns with by itself.  All else that comes out of a compiled function is
the program's own.

Tracebacks and pickles name these classes by the module that users import them from."""


class PycompileError(Exception):
    """Base of all errors of pycompile's own."""

    __module__ = "pycompile"


class GraphBreakError(PycompileError):
    """A graph break under `fullgraph=True`.

    `code` is the stable code ("PC0002"), `file` and `line` the user's own; None when unknown.
    """

    __module__ = "pycompile"

    def __init__(
        self,
        message: str,
        code: str | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.file = file
        self.line = line


class DimensionError(PycompileError):
    """The code decides by a length that is declared to vary: `dynamic={...}`, `mark_dynamic`.

    The text says which length, at which line, and what the code needs of it.
    """

    __module__ = "pycompile"


class ExportError(PycompileError):
    """What `pycompile.export` cannot make a library of.

    `reasons` has all of them: (file, line, text).
    """

    __module__ = "pycompile"

    def __init__(self, message: str, reasons: list[tuple[str, int, str]]) -> None:
        super().__init__(message)
        self.reasons = reasons

    def __reduce__(self) -> tuple[type, tuple[str, list[tuple[str, int, str]]]]:
        return type(self), (str(self), self.reasons)


class RecompileError(PycompileError):
    """A call would have to be compiled while `set_stance("fail_on_recompile")` holds.

    `function`, `file` and `line` say where; `guard` is what the plan relies on ("x.shape[0] == 64"),
    `old` and `new` are the values wanted and found, as text, `remedy` is what the program may change.
    None when unknown, or where no plan was made yet.
    """

    __module__ = "pycompile"

    def __init__(
        self,
        message: str,
        function: str | None = None,
        file: str | None = None,
        line: int | None = None,
        guard: str | None = None,
        old: str | None = None,
        new: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.function = function
        self.file = file
        self.line = line
        self.guard = guard
        self.old = old
        self.new = new
        self.remedy = remedy


class JobError(PycompileError):
    """A worker compiles a function otherwise than the process that has made its image.

    `worker`, `function` and `difference`, the first one, are what the text says.
    """

    __module__ = "pycompile"

    def __init__(self, worker: str, function: str, other: str, difference: str) -> None:
        super().__init__(f"{worker} compiles {function} otherwise than {other}: {difference}")
        self.worker = worker
        self.function = function
        self.other = other
        self.difference = difference

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        return type(self), (self.worker, self.function, self.other, self.difference)


class BackendError(PycompileError):
    """A backend that is not registered, or that returned what cannot be called."""

    __module__ = "pycompile"


class PycompileWarning(UserWarning):
    """Warned once where pycompile stops helping: no compiler, a backend that fails, too many
    recompiles; and of variables of the environment that it does not understand.

    `details` is all that there is to say, where the message itself, of three lines at most, is short
    for it.
    """

    __module__ = "pycompile"

    def __init__(self, message: str = "", details: str | None = None) -> None:
        super().__init__(message)
        self.details = details or message


class DerivativeError(PycompileError):
    """A derivative that is not there: of a function without a rule, of a value that was computed
    where no graph follows it, of an argument that is no array of real or complex numbers."""

    __module__ = "pycompile"
