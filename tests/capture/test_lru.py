"""functools.lru_cache's wrappers from outside: what they keep is looked up, hits are counted."""

import functools

import numpy as np
import pytest

import pycompile

X = np.arange(6.0)


def pair(maxsize, typed=False):
    """A function of its own cache plain, and the same compiled."""
    made = []
    for wrap in (lambda f: f, pycompile.compile):
        calls = []

        @functools.lru_cache(maxsize=maxsize, typed=typed)
        def kept(n, scale=1.0, calls=calls):
            calls.append(n)
            return np.full(6, n * scale)

        def use(x, n, kept=kept):
            return x * kept(n) + kept(n, scale=2.0)

        made.append((wrap(use), kept, calls))
    return made


@pytest.mark.parametrize("maxsize", [None, 1, 2, 3, 16, 0])
@pytest.mark.parametrize("typed", [False, True])
def test_counters_and_order(maxsize, typed):
    (plain, kept, calls), (compiled, kept2, calls2) = pair(maxsize, typed)
    for n in (1, 1, 1, 2, 1, 2.0, 3, 3, True, 1, 2, 2, 2):
        np.testing.assert_array_equal(plain(X, n), compiled(X, n))
        assert kept.cache_info() == kept2.cache_info()
        assert calls == calls2


def test_cleared():
    (plain, kept, calls), (compiled, kept2, calls2) = pair(None)
    for n in range(6):
        if n % 3 == 2:
            kept.cache_clear()
            kept2.cache_clear()
        np.testing.assert_array_equal(plain(X, 4), compiled(X, 4))
        assert kept.cache_info() == kept2.cache_info()
        assert calls == calls2


def test_whole_once_kept():
    _, (compiled, kept, calls) = pair(None)
    for _ in range(8):
        compiled(X, 4)
    assert len(calls) == 2
    runs = compiled.stats()["plan_runs"]
    breaks = compiled.stats()["breaks"]
    compiled(X, 4)
    stats = compiled.stats()
    assert (stats["plan_runs"], stats["breaks"]) == (runs + 1, breaks)


def test_what_is_kept_is_written():
    (plain, kept, _), (compiled, kept2, _) = pair(None)

    def write(f, cache):
        f(X, 3)
        cache(3)[2] = -1.0
        return f(X, 3)

    np.testing.assert_array_equal(write(plain, kept), write(compiled, kept2))


def test_unhashable():
    _, (compiled, _, _) = pair(None)
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        compiled(X, [1])
