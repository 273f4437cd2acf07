"""What trials have found is remembered, for calls that types and constants decide."""

import gc
import sys
import types
import weakref

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _trials


@pytest.fixture
def tried(monkeypatch):
    """The functions that are tried, in order."""
    names, made = [], _trials._trial_made

    def noted(asked):
        names.append(getattr(asked.function, "__name__", ""))
        return made(asked)

    monkeypatch.setattr(_trials, "_trial_made", noted)
    monkeypatch.setattr(_trials, "_found", {})
    return names


def singular(x):
    return np.linalg.svd(x)[1] * 2


def test_captures_of_one_call_try_it_once(tried):
    for scale in (1.0, 2.0):

        def scaled(x):
            return np.linalg.svd(x)[1] * scale  # noqa: B023

        assert np.array_equal(pycompile.compile(scaled)(np.eye(4)), scaled(np.eye(4)))
    assert tried.count("svd") == 1
    pycompile.compile(singular)(np.eye(5))
    assert tried.count("svd") == 2
    pycompile.reset()
    assert not _trials._found


def test_a_trial_calls_the_function_once(monkeypatch):
    calls = []

    def counted(x):
        calls.append(x.flags.writeable)
        return np.sort(x)

    value = _trials._called(asked(counted), [np.ones(3)])
    assert (value.tolist(), calls) == ([1, 1, 1], [False])


def asked(function):
    holes = (_trials.Hole(0),)
    return types.SimpleNamespace(function=function, args=holes, kwargs={}, changed=(), traits=0)


def test_a_function_that_writes_is_found_out():
    def writes(x):
        x[0] = 2
        return x + 1

    with pytest.raises(_trials.Unexpected, match="changes an argument"):
        _trials._called(asked(writes), [np.ones(3)])
    with pytest.raises(ZeroDivisionError):  # not for what it would raise in any case
        _trials._called(asked(lambda x: 1 // 0), [np.ones(3)])


def test_what_is_shown_is_the_argument_s():
    hole = np.ones((3, 2))
    assert _trials._called(asked(np.transpose), [hole]).flags.writeable


def test_constants_that_are_equal_are_not_the_same():
    keys = {_trials._template_key(x) for x in (0, 0.0, -0.0, False, None, (0,), slice(0), "0")}
    assert len(keys) == 8
    assert _trials._template_key(np.dtype("l")) != _trials._template_key(np.dtype("q"))
    with pytest.raises(TypeError):
        _trials._template_key(np.ones(1))


@pytest.mark.parametrize("writeable", [True, False])
def test_what_minds_flags(writeable):
    def required(x):
        return np.require(x, requirements="W") * 2, np.require(x, requirements="W") is x

    def by_keyword(x):
        return np.require(a=x, requirements="W") is x, x * 2

    x = np.arange(6.0)
    x.flags.writeable = writeable
    check(required, x)
    check(by_keyword, x)
    compiled = pycompile.compile(required)
    compiled(np.arange(6.0))
    assert not compiled(x)[1] or writeable


def test_a_trial_that_raises_keeps_nothing():
    class Owner:
        pass

    def step(owner):
        owner.x = owner.x - owner.rate * owner.x

    def caller(held):
        with pytest.raises(TypeError):
            compiled(held)

    compiled = pycompile.compile(step, options={"plan_always": True})
    gc.disable()
    try:
        owner, dead = Owner(), []
        weakref.finalize(owner, dead.append, 1)
        owner.x, owner.rate = np.ones(3), "a"
        caller(owner)
        del owner
        assert dead
    finally:
        gc.enable()


@pytest.mark.parametrize("by", [("A", "C", "O"), ["owndata"], "CO"])
def test_whether_it_copies_depends_on_who_owns_the_memory(by):
    def required(x):
        y = np.require(x, None, by)
        return y is x, y * 2, np.require(x, requirements=by) is x

    check(required, np.arange(6.0))
    compiled = pycompile.compile(required, options={"capture_all": True})
    memory = np.arange(6.0)
    for x in (memory, memory[:], memory):
        assert compiled(x)[::2] == required(x)[::2]


@pytest.mark.parametrize("text", ["b'abcd'", "bytearray(b'abcd')"])
def test_a_new_array_that_may_not_be_written(text):
    scope = {"np": np}
    exec(  # of a constant, the call is part of the plan
        f"""def changed(part):
            x = np.frombuffer({text}, np.uint8)
            x[part] += 1
            return x * 2

def read(part):
            x = np.frombuffer({text}, np.uint8)
            return x[part] * 2, x.flags.writeable, x, x[part]
""",
        scope,
    )
    for function in (scope["changed"], scope["read"]):
        check(function, slice(1, 3))
        check(function, 1, captured=False)


def test_integers_in_a_fit(capfd):
    def fitted(y):
        return np.polyfit(np.arange(len(y)), y, 2) + 1

    check(fitted, np.arange(9.0) ** 2)
    compiled = pycompile.compile(fitted)
    compiled(np.arange(9.0))
    assert compiled.stats()["plans"] == 1
    assert capfd.readouterr().out == ""  # LAPACK says there what it does not like


def test_a_method_that_is_another_object_each_time_keeps_its_keywords():
    def sums(x):
        return np.add.accumulate(x, axis=1) + 1

    def more_sums(x):
        return np.add.accumulate(x, axis=1) + 2

    x = np.arange(12.0).reshape(3, 4)
    check(sums, x)
    check(more_sums, x)  # of what the first trial found


def test_long_lists_are_described_at_the_speed_of_c():
    """What `x.tolist()` gives: Python is asked nothing for each of its items."""
    numbers, rows = [1.0] * 10_000, [[1, 2.5, "a", None]] * 10
    calls = []
    sys.setprofile(lambda frame, event, arg: calls.append(event))
    try:
        assert _trials.is_tame(numbers) and _trials.is_tame(rows)
        assert _trials._arrays_of(numbers) == [] == _trials._arrays_of(rows)
        assert _trials._is_new(numbers, [np.ones(3)])
    finally:
        sys.setprofile(None)
    assert len(calls) < 1000
    assert not _trials._is_new([1.0, numbers[0]], [numbers[0]])
    assert not _trials.is_tame([*numbers, object()])


def test_lengths_of_trials_do_not_grow_with_the_graph(monkeypatch):
    """Of symbols that the call has nothing to do with, none makes its lengths larger."""
    largest = []
    made = _trials._trial_made

    def note(asked):
        if asked.function.__name__ == "inner":
            largest.append(max(length for value in asked.values for length in value.shape))
        return made(asked)

    @pycompile.compile(dynamic=True)
    def f(*arrays):
        return [a + 1 for a in arrays], np.inner(arrays[-1], arrays[-1])

    monkeypatch.setattr(_trials, "_trial_made", note)
    monkeypatch.setattr(_trials, "_found", {})
    arrays = [np.ones((4, 4)) for _ in range(20)]
    assert np.array_equal(f(*arrays)[1], np.full((4, 4), 4.0))
    assert len(set(largest)) > 1 and max(largest) < 50
