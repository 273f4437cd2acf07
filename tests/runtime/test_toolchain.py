"""No compiler, a broken one, an odd one, one that refuses the source: each in a child process."""

import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

GOOD = "int k0(const void *args, long begin, long end) { return 41; }\n"
RUN = f"print(_C.test_code_run({GOOD!r}))"


def child(code, **variables):
    """Runs code in a child process with the warnings shown; (stdout, stderr)."""
    env = {k: v for k, v in os.environ.items() if k != "CC"} | variables
    code = "from pycompile import _C\n" + textwrap.dedent(code)
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.replace("\n  ", " ")  # the lines of a warning


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_no_compiler(tmp_path):
    out, err = child(RUN + "\n" + RUN, PATH=str(tmp_path), PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == "None\nNone\n"
    assert err.count("PycompileWarning: pycompile found no working C compiler") == 1


def test_no_compiler_with_warnings_as_errors(tmp_path):
    code = f"""
        import warnings
        warnings.simplefilter("error")
        print(_C.test_code_run({GOOD!r}))
    """
    assert child(code, PATH=str(tmp_path))[0] == "None\n"


def test_broken_compiler(tmp_path):
    cc = script(
        tmp_path / "cc",
        'test "$1" = --version && echo broken 1.0 && exit 0\necho sorry >&2\nexit 1\n',
    )
    variables = {"CC": cc, "PYCOMPILE_CACHE_DIR": str(tmp_path / "c"), "PYCOMPILE_LOGS": "cache"}
    out, err = child(RUN + "\n" + RUN, **variables)
    assert out == "None\nNone\n"
    assert err.count("Warning") == 1
    assert f"PycompileWarning: CC={cc} cannot compile: sorry (correct or unset CC; " in err


def test_a_compiler_that_is_named_later(tmp_path):
    broken = script(tmp_path / "broken", 'test "$1" = --version && echo broken 1.0\n')
    logged = script(tmp_path / "cc", f'echo >>{tmp_path}/calls\nexec cc "$@"\n')
    code = f"""
        import os
        {RUN}
        os.environ["CC"] = "{logged}"
        {RUN}
        del os.environ["CC"]
        {RUN}
    """
    out, _ = child(code, CC=broken, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == "None\n41\n41\n" and (tmp_path / "calls").exists()


def test_compiler_that_gives_no_output(tmp_path):
    cc = script(tmp_path / "cc", "exit 0\n")
    out, err = child(RUN, CC=cc, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == "None\n"
    assert f"CC={cc} cannot compile, and does not say why" in err


HANGS = 'test "$1" = --version && exit 0\necho $$ >>"$0.started"\nexec sleep 1000\n'


@pytest.mark.parametrize("mode", ["wait", "background"])
def test_a_compiler_that_hangs_is_ended(tmp_path, mode):
    """And is no compiler from then on: the second function does not wait for it."""
    cc = script(tmp_path / "cc", HANGS)
    code = f"""
import numpy as np, pycompile, time
f = pycompile.compile(lambda x: np.sqrt(x) * 2 + 1, mode={mode!r})
g = pycompile.compile(lambda x: np.sqrt(x) * 3 + 1, mode={mode!r})
began = time.perf_counter()
while time.perf_counter() - began < 3:
    assert f(np.ones(3))[0] == 3 and g(np.ones(3))[0] == 4
print(f.stats()["plan_runs"], g.stats()["plan_runs"])
"""
    out, err = child(
        code, CC=cc, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"), PYCOMPILE_COMPILE_TIMEOUT="1"
    )
    assert out == "0 0\n"
    assert err.count("Warning") == 1
    assert f"CC={cc} was ended after 1 s (PYCOMPILE_COMPILE_TIMEOUT) (correct or unset CC; " in err
    started = (tmp_path / "cc.started").read_text().split()
    assert started
    assert not [number for number in started if os.path.exists(f"/proc/{number}")]


FUNCTION = """
import numpy as np, pycompile
@pycompile.compile
def f(x):
    return np.sqrt(x) * 2 + 1
for n in (3, 3, 4):
    print(f(np.ones(n)))
"""
RESULTS = "[3. 3. 3.]\n" * 2 + "[3. 3. 3. 3.]\n"


def test_option_that_the_compiler_refuses(tmp_path):
    cc = f"{shutil.which('cc')} --no-such-option"
    out, err = child(FUNCTION, CC=cc, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"), LC_ALL="C")
    assert out == RESULTS
    assert err.count("Warning") == 1
    assert f"PycompileWarning: CC={cc} cannot compile: " in err
    assert "--no-such-option" in err.partition("cannot compile: ")[2].partition(" (correct")[0]
    assert "functions run in plain Python" in err


def test_compiler_of_path_that_is_broken_is_named(tmp_path):
    cc = script(tmp_path / "cc", "test $1 = --version && exit 0\necho sorry >&2\nexit 1\n")
    out, err = child(FUNCTION, PATH=str(tmp_path), PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == RESULTS and err.count("Warning") == 1
    assert f"the C compiler {cc} cannot compile: sorry (PYCOMPILE_LOGS=cache" in err


def test_words_of_a_compiler_that_are_no_utf8(tmp_path):
    long = "\\303\\274" * 400  # two bytes each
    cc = script(
        tmp_path / "cc",
        f"test $1 = --version && exit 0\nprintf '\\377x{long}' >&2\nexit 1\n",
    )
    out, err = child(FUNCTION, CC=cc, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == RESULTS and err.count("Warning") == 1
    assert f"CC={cc} cannot compile: \ufffdx\u00fc\u00fc" in err and "\u00fc (correct" in err


def info(**variables):
    """What `python -m pycompile info` prints, by the row's name; and its stderr."""
    env = {k: v for k, v in os.environ.items() if k != "CC"} | variables
    command = [sys.executable, "-m", "pycompile", "info"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    rows = (line.partition("  ") for line in done.stdout.splitlines())
    return {name: value.strip() for name, _, value in rows if name}, done.stderr


@pytest.mark.slow
def test_info_tries_the_compiler(tmp_path):
    folder = str(tmp_path / "c")
    good, _ = info(PYCOMPILE_CACHE_DIR=folder)
    assert good["compiles"].startswith("yes")
    cc = f"{shutil.which('cc')} --no-such-option"
    bad, _ = info(CC=cc, PYCOMPILE_CACHE_DIR=folder, LC_ALL="C")
    assert bad["compiler"] == shutil.which("cc")
    assert bad["version"] == good["version"]  # no complaint in its place
    assert bad["compiles"].startswith(f"no: CC={cc} cannot compile: ")
    assert "--no-such-option" in bad["compiles"].partition("cannot compile")[2]
    missing, err = info(CC="/nonexistent/cc -O2", PYCOMPILE_CACHE_DIR=folder)
    assert missing["compiles"].startswith("yes")
    assert "CC=/nonexistent/cc -O2 is no C compiler that works (there is no such program)" in err
    none, _ = info(PATH=str(tmp_path), PYCOMPILE_CACHE_DIR=folder)
    assert none["compiler"].startswith("none was found")
    assert none["compiles"] == "no: no C compiler was found that works"


def test_refused_source(tmp_path):
    code = f"""
        print(_C.test_code_run("this is not C"))
        {RUN}
        print(_C.test_code_run("nor is this"))
    """
    out, err = child(code, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == "None\n41\nNone\n"
    assert err.count("PycompileWarning: the C compiler refused a kernel") == 1


def test_symbol_that_is_missing(tmp_path):
    code = 'print(_C.test_code_run("int nobody(void); int k0(void) { return nobody(); }"))\n' + RUN
    out, _ = child(code, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == "None\n41\n"


def test_cc_with_arguments(tmp_path):
    cc = shutil.which("cc")
    code = RUN + "\nprint(_C.toolchain_info()['compiler'])"
    out, _ = child(code, CC=f"{cc}  -DUNUSED=1", PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == f"41\n{cc}\n"


@pytest.mark.slow
def test_quotes_in_cc_are_characters(tmp_path):
    cc = shutil.which("cc")
    folder = str(tmp_path / "c")
    out, err = child(RUN, CC=f"{cc} -DUNUSED='a", PYCOMPILE_CACHE_DIR=folder)
    assert out == "41\n" and "Warning" not in err
    out, err = child(RUN, CC=f"'{cc}'", PYCOMPILE_CACHE_DIR=folder)
    assert out == "41\n" and f"CC='{cc}' is no C compiler that works" in err


def test_cc_that_fails_with_version_falls_back(tmp_path):
    cc = script(tmp_path / "cc", "exit 1\n")
    out, err = child(RUN, CC=cc, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == "41\n" and f"CC={cc} is no C compiler that works (it fails with --version)" in err


def test_cc_that_is_missing_falls_back(tmp_path):
    assert child(RUN, CC="/nowhere/cc", PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))[0] == "41\n"


@pytest.mark.slow
def test_version_is_asked_once(tmp_path):
    log = tmp_path / "log"
    cc = script(tmp_path / "cc", f'echo "$1" >> {log}\nexec {shutil.which("cc")} "$@"\n')
    variables = {"CC": cc, "PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    assert child(RUN, **variables)[0] == "41\n"
    assert len(log.read_text().splitlines()) == 2
    assert child(RUN, **variables)[0] == "41\n"
    assert len(log.read_text().splitlines()) == 2


@pytest.mark.slow
def test_other_compiler_is_another_entry(tmp_path):
    variables = {"PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    child(RUN, **variables)
    cc = script(tmp_path / "cc", f'exec {shutil.which("cc")} "$@"\n')
    child(RUN, CC=cc, **variables)
    assert len(list((tmp_path / "c").glob("*.so"))) == 2


def test_ignored_sigchld(tmp_path):
    code = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + RUN
    assert child(code, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))[0] == "41\n"


def test_closed_standard_streams(tmp_path):
    code = f"""
        import os
        result = open({str(tmp_path / "result")!r}, "w")
        for fd in range(3): os.close(fd)
        result.write(str(_C.test_code_run({GOOD!r})))
        result.close()
        os._exit(0)
    """
    child(code, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert (tmp_path / "result").read_text() == "41"


def test_threads_compile_at_once(tmp_path):
    code = f"""
        import threading
        results = []
        threads = [threading.Thread(target=lambda: results.append(_C.test_code_run({GOOD!r}))) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(results, _C.code_info()["held"])
    """
    assert child(code, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))[0] == "[41, 41, 41, 41] 0\n"


STRAIGHT = f"print(_C.test_code_run({GOOD!r}, True))"
OPTIMISED = f"print(_C.test_code_run({GOOD!r}, False))"


def logged_cc(tmp_path, before=""):
    """The system's compiler, which writes its command lines to the file `calls`."""
    return script(tmp_path / "cc", f'echo "$*" >>{tmp_path}/calls\n{before}exec cc "$@"\n')


def compiles(tmp_path):
    """The command lines but that for the version: whether each asks for what straight code gets."""
    lines = (tmp_path / "calls").read_text().splitlines()
    return ["-Og" in line.split() for line in lines if line != "--version"]


X86_LINUX = platform.machine() == "x86_64" and sys.platform == "linux"
LINKED = [] if X86_LINUX and shutil.which("ld") else [None]  # what the compiler itself links
X86_GCC = platform.machine() == "x86_64" and "clang" not in os.popen("cc --version").read()


@pytest.mark.slow
def test_straight_code_gets_flags_of_its_own(tmp_path):
    variables = {"CC": logged_cc(tmp_path), "PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    assert child(f"{STRAIGHT}\n{OPTIMISED}", **variables) == ("41\n41\n", "")
    assert compiles(tmp_path) == [X86_GCC, False]  # two entries: the flags are in the key
    assert child(f"{OPTIMISED}\n{STRAIGHT}", **variables) == ("41\n41\n", "")
    assert len(compiles(tmp_path)) == 2


def test_compiler_that_knows_no_flags_for_straight_code(tmp_path):
    refusal = 'for a in "$@"; do test "$a" = -Og && exit 1; done\n'
    variables = {"CC": logged_cc(tmp_path, refusal), "PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    assert child(STRAIGHT, **variables) == ("41\n", "")
    refused = [True] if LINKED else [True, True]  # by itself, and with the linker
    assert compiles(tmp_path) == ([*refused, False] if X86_GCC else [False])


def test_clang_is_not_asked_for_gccs_flags(tmp_path):
    says = 'test "$1" = --version && echo "clang version 14" && exit 0\n'
    variables = {"CC": logged_cc(tmp_path, says), "PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    assert child(STRAIGHT, **variables) == ("41\n", "")
    assert compiles(tmp_path) == [False]


@pytest.mark.slow
def test_quick_code_is_compiled_as_straight_code(tmp_path):
    """mode="O1": also a loop of scalars, with the same bits; "O2" and "O3" change nothing here."""
    code = """
        import numpy as np
        import pycompile

        def recurrence(x):
            for i in range(1, len(x)):
                x[i] = x[i - 1] * 0.3 + x[i]
            return x

        x = np.arange(900.0)
        wanted = recurrence(x.copy()).tobytes()
        for mode in ("O1", "O2", "O3"):
            f = pycompile.compile(recurrence, mode=mode, options={"wait": True})
            assert f(x.copy()).tobytes() == wanted
        print(f.stats()["plan_runs"])
    """
    variables = {"CC": logged_cc(tmp_path), "PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    assert child(code, **variables) == ("1\n", "")
    assert compiles(tmp_path) == [X86_GCC, False]


@pytest.mark.slow
def test_which_programs_are_straight(tmp_path):
    """Loops over vectors are; scalars, and what goes through lanes one by one, are the optimiser's."""
    code = """
        import numpy as np
        import pycompile

        def recurrence(x):
            for i in range(1, len(x)):
                x[i] = x[i - 1] * 0.5 + x[i]
            return x

        x = np.arange(90000.0).reshape(300, 300) - 40000
        functions = [
            lambda x: np.where(x > 0, x * 2, np.sqrt(abs(x))) + x[0],
            lambda x: np.exp(x / 1e5) * 2 - x,  # a block call between two loops
            lambda x: (x + 1j) * (x - 2j),  # block calls only
            lambda x: (x * 2).sum(axis=1) + 1,
            lambda x: (x * x + 1).sum(axis=0),
            lambda x: x + x.T * 2,
            lambda x: x[:, ::2] * 2 - x[:, 1::2],
            lambda x: x.max(axis=1) + x.min() + (x > 3).any(),
            lambda x: (x > 1) & (x < 2) | np.isnan(x),
            lambda x: np.sign(x) * x.astype("i1"),
            lambda x: x.astype("i8") % np.arange(1, 301),
            recurrence,
        ]
        for f in functions:
            g = pycompile.compile(f)
            a = x.ravel() if f is recurrence else x
            with np.errstate(all="ignore"):
                assert f(a.copy()).tobytes() == g(a.copy()).tobytes() == g(a.copy()).tobytes()
            assert g.stats()["plans"], f
    """
    variables = {"CC": logged_cc(tmp_path), "PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    child(code, PYCOMPILE_PLAN_ALWAYS="1", PYCOMPILE_THREADS="1", **variables)
    assert compiles(tmp_path) == [X86_GCC] * 10 + [False, False]


SEVERAL_KERNELS = """
    import numpy as np
    import pycompile

    def several(x, y):
        a = np.sort(np.exp(x) * y + x.sum(axis=1)[:, None] - y.mean(axis=0), axis=1)
        b = np.sort(np.exp(a) / y + a.max(axis=1)[:, None] - x.min(axis=0), axis=0)
        return np.cumsum(np.exp(-b * b) + a, axis=1) * np.sqrt(abs(x)) + y.T.sum(axis=0)

    x = np.linspace(-1, 1, 90000).reshape(300, 300)
    y = np.linspace(2, 3, 90000).reshape(300, 300)
    compiled = pycompile.compile(several)
    print([compiled(x, y).tobytes() == several(x, y).tobytes() for _ in range(2)])
    print(compiled.stats()["plans"])
"""


def parts(tmp_path):
    """Which part of how many each compiler took; None: the whole, or what it links."""
    lines = (tmp_path / "calls").read_text().splitlines()
    found = [
        re.search(r"-DPARTS=(\d+) -DPART=(\d+)", line) for line in lines if line != "--version"
    ]
    return sorted((match and (int(match[1]), int(match[2])) for match in found), key=str)


@pytest.mark.slow
def test_a_file_of_several_kernels_is_compiled_in_parts(tmp_path):
    variables = {"CC": logged_cc(tmp_path), "PYCOMPILE_PLAN_ALWAYS": "1"}
    one, three = LINKED or [(1, 0)], [(3, 0), (3, 1), (3, 2), *LINKED]
    for threads, expected in ("1", one), ("3", three):
        cache = {"PYCOMPILE_CACHE_DIR": str(tmp_path / threads), "PYCOMPILE_THREADS": threads}
        assert child(SEVERAL_KERNELS, **variables, **cache) == ("[True, True]\n1\n", "")
        assert parts(tmp_path) == expected
        (tmp_path / "calls").unlink()


@pytest.mark.slow
@pytest.mark.skipif(LINKED != [], reason="the compiler links here")
def test_parts_that_the_linker_refuses_are_linked_by_the_compiler(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    # The compiler names a plugin, which shows who asks.
    script(
        folder / "ld", f'case "$*" in *-plugin*) exec {shutil.which("ld")} "$@";; esac\nexit 1\n'
    )
    variables = {"CC": logged_cc(tmp_path), "PYCOMPILE_PLAN_ALWAYS": "1"}
    variables["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    cache = {"PYCOMPILE_CACHE_DIR": str(tmp_path / "cache"), "PYCOMPILE_THREADS": "2"}
    assert child(SEVERAL_KERNELS, **variables, **cache) == ("[True, True]\n1\n", "")
    assert parts(tmp_path) == [(2, 0), (2, 1), None]


@pytest.mark.slow
@pytest.mark.parametrize("ignored", [False, True])
def test_a_file_whose_parts_fail_is_compiled_as_a_whole(tmp_path, ignored):
    before = "    import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)" if ignored else ""
    refusal = 'for a in "$@"; do test "$a" = -DPART=1 && exit 1; done\n'
    variables = {"CC": logged_cc(tmp_path, refusal), "PYCOMPILE_PLAN_ALWAYS": "1"}
    cache = {"PYCOMPILE_CACHE_DIR": str(tmp_path / "cache"), "PYCOMPILE_THREADS": "2"}
    assert child(before + SEVERAL_KERNELS, **variables, **cache) == ("[True, True]\n1\n", "")
    whole = [None, None] if ignored else [None]  # the linker was tried, since no status told
    assert parts(tmp_path) == [(2, 0), (2, 1), *whole]
