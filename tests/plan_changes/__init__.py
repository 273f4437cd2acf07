"""Rows for tests/test_behind_plans.py: worlds, what a function asks of them, and how they change."""

from plan_changes import arrays, classes, containers, enumerations, functions, namespaces

CHANGES = [
    *containers.CHANGES,
    *arrays.CHANGES,
    *classes.CHANGES,
    *enumerations.CHANGES,
    *functions.CHANGES,
    *namespaces.CHANGES,
]
