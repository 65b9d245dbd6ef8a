"""A program that cannot be compiled is refused with the line, the construct and the remedy."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])


def line_of(f, text):
    """The number of the line of f that contains a text."""
    import inspect

    lines, first = inspect.getsourcelines(f)
    return first + next(i for i, line in enumerate(lines) if text in line)


def grows(a, n):
    for _ in range(n):
        a = np.concatenate([a, a[:1]])
    return a.sum()


def test_a_shape_that_changes_in_a_loop(target):
    with pytest.raises(mo.BadInput) as refused:
        mo.jit(grows, target=target)(A, 3)
    message = str(refused.value)
    assert "(4,)" in message and "(5,)" in message and re.search(rf"\b{line_of(grows, 'for _ in')}\b|grows", message)


def changes_kind(x, n):
    y = x
    for _ in range(n):
        y = (y, x)
    return x


def test_a_type_that_does_not_settle(target):
    with pytest.raises(mo.BadInput, match="(?s)y.*tuple"):
        mo.jit(changes_kind, target=target)(1.5, 3)


def kinds_of_branches(x):
    if x > 0:
        y = lambda: x  # noqa: E731
    else:
        y = x
    return y


def test_branches_that_make_different_things(target):
    with pytest.raises(mo.BadInput, match="(?s)y is the function <lambda> on one path"):
        mo.jit(kinds_of_branches, target=target)(1.5)


def appended_in_a_loop(x, n):
    values = []
    for i in range(n):
        values.append(lambda: x * i)  # noqa: B023
    return values


def test_a_list_that_grows_in_a_loop_of_unknown_length(target):
    with pytest.raises(mo.BadInput, match="(?s)values|list"):
        mo.jit(appended_in_a_loop, target=target)(1.5, 3)


def mismatched(a, b):
    return a + b


def test_operands_that_do_not_fit(target):
    with pytest.raises((mo.BadInput, ValueError), match=r"(?s)\(4,\).*\(3,\)"):
        mo.jit(mismatched, target=target)(A, np.ones(3))


def reads_a_file(x):
    with open("nowhere") as file:
        return x * float(file.read())


def test_the_error_names_the_users_line(target):
    with pytest.raises((mo.BadInput, FileNotFoundError)):
        mo.jit(reads_a_file, target=target)(1.5)


def test_what_is_no_function():
    with pytest.raises(mo.BadInput, match="expected a function, not an int"):
        mo.jit(3)


def test_an_unknown_target():
    with pytest.raises(mo.BadInput, match="(?s)native.*xla"):
        mo.jit(grows, target="fortran")


def non_scalar(x):
    return x * 2


def test_the_gradient_of_what_is_not_a_number():
    with pytest.raises(mo.BadInput, match="(?s)scalar|number"):
        mo.jit(mo.grad(non_scalar), target="native")(A)


@pytest.mark.parametrize(
    "target, module, remedy", [("native", "llvmlite", "llvmlite"), ("xla", "jax", "'morula[xla]'")]
)
def test_a_compiler_that_is_not_installed(target, module, remedy):
    program = f"""
import sys
sys.modules[{module!r}] = None
import morula as mo
try:
    mo.jit(lambda x: x * 2, target={target!r})(1.5)
except mo.BadInput as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert module in done.stdout and f"pip install {remedy}" in done.stdout, done.stdout + done.stderr
