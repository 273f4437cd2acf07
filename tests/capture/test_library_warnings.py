"""Warnings of NumPy's own code, given within a step: right line, once per place, as the filters say."""

import warnings

import numpy as np
from differential import check

import pycompile

NAN = np.full((2, 3), np.nan)
X = np.arange(6.0).reshape(2, 3)


def means(x):
    y = x * 2
    z = np.nanmean(y, axis=0)
    return z + 1


def test_the_warning_names_the_program_s_line():
    seen = check(means, NAN, captured=False, also=((X,), (NAN,)))
    assert "Mean of empty slice" in seen.warned[0][1]


def test_once_per_place():
    def counted(function):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            function(X)
            for _ in range(4):
                function(NAN)
        return [(str(w.message), w.lineno) for w in caught]

    assert counted(means) == counted(pycompile.compile(means))


def test_as_errors():
    def raises(function):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return function(NAN).tolist()
            except RuntimeWarning as error:
                return str(error)

    compiled = pycompile.compile(means)
    compiled(X)
    assert raises(means) == raises(compiled)


def test_compiling_forgets_no_warning():
    """catch_warnings would make every module forget which warnings it has given."""

    def warn():
        warnings.warn("here", UserWarning, stacklevel=1)

    def some(x):
        return np.sort(x)[:2] * np.float64(2.0) * np.sqrt(np.float64(4.0)) + np.unique(x).sum()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for i in range(4):
            warn()
            pycompile.compile(some)(X[0] + i)
    assert len(caught) == 1


def test_filters_stay_as_they_are():
    before, version = warnings.filters, list(warnings.filters)
    pycompile.compile(means)(X)
    assert warnings.filters is before and warnings.filters == version


def inverted(x, flags):
    return x + ~flags[0], x * 2


def test_python_warns_of_an_inverted_bool_as_often_as_in_plain():
    """From 3.12 on."""
    check(
        inverted,
        np.ones(5),
        [True, 2],
        also=((np.ones(5), [False, 2]), (np.ones(5), [3, 2])),
        captured=False,
    )
