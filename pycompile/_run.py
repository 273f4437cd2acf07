"""`python -m pycompile run [options] SCRIPT | - | -m MODULE | -c CODE [arguments]`, and `explain`.

The program runs as the interpreter would run it: a fresh `__main__`, its own `sys.argv` and
`sys.path[0]`, its exit code, tracebacks without frames of ours.  Nothing of pycompile and NumPy is
imported until the program itself has imported NumPy: before that there are no arrays.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import BuiltinImporter, SourceFileLoader
from io import open_code
from types import CodeType, ModuleType, TracebackType

TYPE_CHECKING = False  # as in typing, which programs should not find imported
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

USAGE = """\
usage: python -m pycompile {command} [options] SCRIPT [arguments]
       python -m pycompile {command} [options] - [arguments]    (the program on standard input)
       python -m pycompile {command} [options] -m MODULE [arguments]
       python -m pycompile {command} [options] -c CODE [arguments]

{about}

options:
  --capture-all          capture every frame that can be, arrays or not, the library's too: a test
  --capture-report FILE  write the counts of frames captured whole, in part and left, as JSON
  --verbose              explain: everything about each plan, not a summary of one screen
  --at-once              begin at the start, not when the program has imported NumPy
"""
ABOUT = {
    "run": "Every function that the program calls is a candidate; code without array work is left "
    "to\nCPython.",
    "explain": "Runs the program as `run` does and tells at its exit, on standard error, what was "
    "made of it:\non one screen the functions, their plans and graph breaks with file, line and hint, "
    "and what was\nleft to CPython. Functions are compiled at their first call, so that each is told "
    "of: the program\nis slower than under `run`.",
}


class _Options:
    """What stands before the program on the command line."""

    def __init__(self, command: str, arguments: list[str]) -> None:
        self.command = command
        self.capture_all = self.at_once = self.verbose = False
        self.report: str | None = None
        self.kind = "script"
        rest = list(arguments)
        while rest and rest[0].startswith("-") and rest[0] != "-":
            word = rest.pop(0)
            if word == "--capture-all":
                self.capture_all = True
            elif word == "--at-once":
                self.at_once = True
            elif word == "--verbose":
                self.verbose = True
            elif word == "--capture-report" and rest:
                self.report = rest.pop(0)
            elif word.startswith("--capture-report="):
                self.report = word.partition("=")[2]
            elif word in ("-h", "--help"):
                print(self._usage(), end="")
                sys.exit(0)
            elif word in ("-m", "-c") and rest:
                self.kind = {"-m": "module", "-c": "code"}[word]
                break
            elif word == "--" and rest:
                break
            else:
                known = word in ("-m", "-c", "--", "--capture-report")
                self._refuse(f"nothing after {word}" if known else f"unknown option: {word}")
        if not rest:
            self._refuse("nothing to run")
        self.program, self.arguments = rest[0], rest[1:]
        if self.kind == "script" and self.program == "-":
            self.kind = "input"

    def _usage(self) -> str:
        return USAGE.format(command=self.command, about=ABOUT[self.command])

    def _refuse(self, message: str) -> NoReturn:
        print(self._usage(), file=sys.stderr, end="")
        print(f"error: {message}", file=sys.stderr)
        sys.exit(2)


# ---- when capture begins ----


def start(capture_all: bool = False, background: bool = False) -> None:
    """From now on every function is a candidate, those that exist included."""
    from pycompile import _C
    from pycompile._api import _settings, _switched_off

    if not _switched_off():
        options = {"capture_all": capture_all}
        if background and not os.environ.get("PYCOMPILE_BACKGROUND"):
            options["background"] = True
        _C.program_start(_settings(options=options))


class _WhenNumPyIsThere:
    """A finder that only waits: calls `action` when NumPy has been imported, and goes."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "numpy":
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                self._wait(spec.loader)
                return spec
        return None

    def _wait(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            self.action()

        loader.exec_module = exec_module


# ---- the program ----


def _script(path: str) -> tuple[CodeType, dict[str, Any]]:
    """Code and globals of a script, or of a folder or archive with a __main__ in it."""
    path = os.path.abspath(path)
    if os.path.isdir(path) or _is_archive(path):
        if sys.flags.safe_path:
            sys.path.insert(0, path)
        else:
            sys.path[0] = path
        return _module("__main__", whole_name=False, place=path)
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    try:
        with open_code(path) as file:
            source = file.read()
    except OSError as error:
        text = f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
        typed = sys.orig_argv[0] if sys.orig_argv else sys.executable
        print(f"{typed}: {text}", file=sys.stderr)
        sys.exit(2)
    if path.endswith(".pyc"):
        code = _compiled(source)
    else:
        code = compile(source, path, "exec", dont_inherit=True)
    loader = SourceFileLoader("__main__", path)
    return code, {"__file__": path, "__cached__": None, "__loader__": loader, "__package__": None}


def _is_archive(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def _compiled(content: bytes) -> CodeType:
    import marshal

    code: CodeType = marshal.loads(content[16:])
    return code


def _module(name: str, whole_name: bool = True, place: str = "") -> tuple[CodeType, dict[str, Any]]:
    """Code and globals of a module, found as `python -m` finds it, or of a folder's __main__."""
    import runpy

    details: Callable[[str], Any] = runpy._get_module_details  # type: ignore[attr-defined]
    here = sys.modules.pop("__main__")  # in whose place a folder's own one is looked for
    try:
        _, spec, code = details(name)
    except ImportError as error:
        text = f"can't find {name!r} module in {place!r}" if place else str(error)
        print(f"{sys.executable}: {text}", file=sys.stderr)
        sys.exit(1)
    finally:
        sys.modules["__main__"] = here
    if whole_name:
        sys.argv[0] = spec.origin
    return code, {
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }


def _text(source: str) -> tuple[CodeType, dict[str, Any]]:
    if not sys.flags.safe_path:
        sys.path[0] = ""
    code = compile(source + "\n", "<string>", "exec", dont_inherit=True)
    return code, {"__loader__": BuiltinImporter, "__package__": None}


def _standard_input() -> tuple[CodeType, dict[str, Any]]:
    if not sys.flags.safe_path:
        sys.path[0] = ""
    source = sys.stdin.buffer.read() if sys.stdin is not None else b""
    code = compile(source, "<stdin>", "exec", dont_inherit=True)
    names = {"__file__": "<stdin>", "__cached__": None, "__package__": None}
    return code, {**names, "__loader__": BuiltinImporter}


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on; all of it is ours for a SyntaxError."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def _tell_without_ours(error: BaseException) -> None:
    """Makes what sys.excepthook will be told free of our frames; the interpreter calls it."""
    bare, hook = _without_ours(error.__traceback__), sys.excepthook

    def tell(kind: type[BaseException], value: BaseException, _: TracebackType | None) -> None:
        sys.excepthook = hook
        hook(kind, value.with_traceback(bare), bare)

    sys.excepthook = tell


def run(arguments: list[str], explained: bool = False) -> None:
    """Runs the program; what ends it gets out as it is.  At exit it is told what was made of it."""
    options = _Options("explain" if explained else "run", arguments)
    sys.argv = [options.program, *options.arguments]
    if options.kind == "code":
        sys.argv[0] = "-c"
    if options.report is not None:
        _report_at_exit(options.report)
    try:
        main = ModuleType("__main__")
        sys.modules["__main__"] = main
        if options.kind == "script":
            code, names = _script(options.program)
        elif options.kind == "module":
            code, names = _module(options.program)
        elif options.kind == "input":
            code, names = _standard_input()
        else:
            code, names = _text(options.program)
        main.__dict__.update(names, __builtins__=sys.modules["builtins"], __annotations__={})
        if explained:
            title = "-c" if options.kind == "code" else options.program
            _explain_at_exit(title, options.verbose)
        background = not (options.capture_all or explained)  # they tell of all that was compiled

        def begin() -> None:
            start(options.capture_all, background)

        if options.capture_all or options.at_once or "numpy" in sys.modules:
            begin()
        else:
            sys.meta_path.insert(0, _WhenNumPyIsThere(begin))
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _tell_without_ours(error)
        raise


# ---- explain ----


def _explain_at_exit(program: str, verbose: bool) -> None:
    import atexit

    from pycompile import _C
    from pycompile._api import _switched_off
    from pycompile._explain import Explanation, _since, plans_forbidden

    def tell() -> None:
        aside = "PYCOMPILE_DISABLE is set" if _switched_off() else plans_forbidden({})
        counts = _since([], _C.hints())
        more = "more: python -m pycompile explain --verbose has all"
        found = Explanation(program, _C.report_end(), aside=aside, counts=counts, more=more)
        print(found.verbose() if verbose else found, file=sys.stderr)

    _C.report_begin()
    atexit.register(tell)


# ---- what capture-all counts ----


def _report_at_exit(path: str) -> None:
    """At a file that cannot be written the program is not begun."""
    import atexit

    path = os.path.abspath(path)  # the program may go to another folder
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        text = f"error: --capture-report: cannot write {path!r}: {error.strerror}"
        print(text, file=sys.stderr)
        sys.exit(2)
    atexit.register(write_report, path)


def write_report(path: str) -> None:
    """The counts of frames by function, as JSON."""
    import json

    from pycompile import _C

    keys = ("file", "function", "line", "whole", "part", "left", "why")
    rows = [dict(zip(keys, row)) for row in _C.program_counts()]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
