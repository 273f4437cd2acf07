"""No compiler, a broken one, an odd one, one that refuses the source: each in a child process."""

import os
import shutil
import subprocess
import sys
import textwrap

GOOD = "int k0(const void *args, long begin, long end) { return 41; }\n"
RUN = f"print(_C.test_code_run({GOOD!r}))"


def child(code, **variables):
    """Runs code in a child process with the warnings shown; (stdout, stderr)."""
    env = {k: v for k, v in os.environ.items() if k != "CC"} | variables
    code = "from pycompile import _C\n" + textwrap.dedent(code)
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


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
    assert err.count("PycompileWarning: pycompile's C compiler does not work") == 1
    assert "sorry" in err


def test_compiler_that_gives_no_output(tmp_path):
    cc = script(tmp_path / "cc", "exit 0\n")
    out, err = child(RUN, CC=cc, PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == "None\n"
    assert "does not work" in err


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


def test_cc_that_is_missing_falls_back(tmp_path):
    assert child(RUN, CC="/nowhere/cc", PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))[0] == "41\n"


def test_version_is_asked_once(tmp_path):
    log = tmp_path / "log"
    cc = script(tmp_path / "cc", f'echo "$1" >> {log}\nexec {shutil.which("cc")} "$@"\n')
    variables = {"CC": cc, "PYCOMPILE_CACHE_DIR": str(tmp_path / "c")}
    assert child(RUN, **variables)[0] == "41\n"
    assert len(log.read_text().splitlines()) == 2
    assert child(RUN, **variables)[0] == "41\n"
    assert len(log.read_text().splitlines()) == 2


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
