"""set_stance: what becomes of calls for which there is no plan."""

import threading

import numpy as np
import pytest

import pycompile
from pycompile import RecompileError, set_stance


@pytest.fixture(autouse=True)
def _default():
    yield
    set_stance("default")


def double(x, k=2.0):
    return x * k + 1


def counted(function=double, **settings):
    compiled = pycompile.compile(function, **settings)
    compiled(np.ones(4))
    return compiled


def test_force_eager_uses_no_plan():
    f = counted()
    before = f.stats()
    with set_stance("force_eager"):
        assert f(np.ones(4)).tolist() == [3.0] * 4
        assert f(np.ones(5)).tolist() == [3.0] * 5
    assert f.stats() == before
    f(np.ones(4))
    assert f.stats()["plan_runs"] == before["plan_runs"] + 1


def test_eager_on_recompile_uses_plans_and_makes_none():
    f = counted()
    before = f.stats()
    with set_stance("eager_on_recompile"):
        f(np.ones(4))
        assert f(np.ones((2, 2)), 3.0).tolist() == [[4.0] * 2] * 2
        assert pycompile.compile(lambda x: x - 1)(np.ones(3)).tolist() == [0.0] * 3
    assert f.stats()["plan_runs"] == before["plan_runs"] + 1
    assert f.stats()["compiles"] == before["compiles"]


def test_fail_on_recompile_names_all():
    f = counted()
    with set_stance("fail_on_recompile"):
        f(np.ones(4))
        with pytest.raises(RecompileError) as caught:
            f(np.ones(4, np.float32))
    error = caught.value
    line = double.__code__.co_firstlineno
    assert (error.function, error.file, error.line) == ("double", __file__, line)
    assert (error.guard, error.old, error.new) == ("x.dtype == float64", "float64", "float32")
    assert "f.precompile(...)" in error.remedy
    for part in ("double (", f"{__file__}:{line})", "float64", "float32", error.remedy):
        assert part in str(error)
    assert isinstance(error, pycompile.PycompileError)
    assert f(np.ones(4, np.float32)).dtype == np.float32  # compiled, now that it may be


def test_fail_on_recompile_without_a_plan():
    f = pycompile.compile(double)
    with (
        set_stance("fail_on_recompile"),
        pytest.raises(RecompileError, match="no plan was made") as e,
    ):
        f(np.ones(4))
    assert e.value.guard is None


def test_fail_on_recompile_leaves_to_python_what_has_not_earned_a_plan():
    f = pycompile.compile(double, options={"wait": False, "plan_always": False, "sample": True})
    with set_stance("fail_on_recompile"):
        for n in range(50):
            assert f(np.ones(n)).sum() == 3 * n
    assert f.stats()["compiles"] == 0


def test_the_error_passes_the_functions_own_handlers():
    seen = []

    @pycompile.compile
    def f(x):
        seen.append(1)
        pycompile.graph_break()
        try:
            return x * 2
        except Exception:
            return None

    f(np.ones(4))
    with set_stance("fail_on_recompile"), pytest.raises(RecompileError):
        f(np.ones((4, 1)))


def test_eager_then_compile():
    f = pycompile.compile(double)
    with set_stance("eager_then_compile"):
        f(np.ones(4))
        assert f.stats()["compiles"] == 0
        f(np.ones(5))
        assert f.stats()["compiles"] == 1


def test_call_block_and_decorator():
    assert set_stance("force_eager").previous == "default"
    with pytest.raises(ZeroDivisionError), set_stance("eager_on_recompile"):
        1 / 0  # noqa: B018
    f = pycompile.compile(double)

    @set_stance("default")
    def compiles(n):
        return f(np.ones(n))

    f(np.ones(4))
    assert f.stats()["compiles"] == 0
    assert compiles(4).tolist() == [3.0] * 4 and compiles.__name__ == "compiles"
    assert f.stats()["compiles"] == 1
    assert set_stance("default").previous == "force_eager"


def test_all_threads_share_it():
    f = pycompile.compile(double)
    with set_stance("eager_on_recompile"):
        thread = threading.Thread(target=f, args=(np.ones(4),))
        thread.start()
        thread.join()
    assert f.stats()["compiles"] == 0


def test_changed_inside_a_compiled_function():
    @pycompile.compile
    def f(x):
        y = x * 2
        with set_stance("force_eager"):
            z = g(y)
        return z + 1

    g = pycompile.compile(double)
    assert f(np.ones(3)).tolist() == [6.0] * 3
    assert g.stats()["compiles"] == 0 and set_stance("default").previous == "default"


@pytest.mark.parametrize("wrong", ["eager", "", None, 3])
def test_other_names(wrong):
    with pytest.raises(ValueError if isinstance(wrong, str) else TypeError, match="stance"):
        set_stance(wrong)
    assert set_stance("default").previous == "default"
