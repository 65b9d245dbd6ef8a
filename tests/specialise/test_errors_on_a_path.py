"""A statement that raises in Python raises in a compiled program when it is reached, and only then."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


def of_a_slice(n):
    v = [1, 2, 3]
    v[::2] = [1]


def of_an_array(n):
    np.ones(3)[7] = 1


def too_many_values(n):
    np.ones(3)[:2] = np.ones(3)


def unpacked(n):
    a, b = [1]


def imported(n):
    pass


def imported_module(n):
    pass


def set_on_none(n):
    x = None
    x.y = n


def set_on_a_list(n):
    [1].nope = 3


def set_on_an_object(n):
    object().x = 3


def set_on_a_number(n):
    n.nope = 3


def item_of_an_int(n):
    x = 1
    x[0] = 3


def item_of_a_string(n):
    x = "a"
    x[0] = "b"


def deleted_from_a_tuple(n):
    x = (1,)
    del x[0]


def of_a_generator(n):
    def g():
        yield 1

    return g()[0]


def deleted_name(n):
    del n
    return n  # noqa: F821


def deleted_item(n):
    v = [1]
    del v[4]


def deleted_key(n):
    d = {}
    del d["a"]


def wrong_call(n):
    def f(a, b):
        return a

    return f(n)


def wrong_keyword(n):
    return (lambda a: a)(q=n)


def not_callable(n):
    f = None
    return f(n)


def super_outside(n):
    return super().x


def raised_number(n):
    raise n


def only_annotated(n):
    a: int
    return a  # noqa: F821


def missing_key(n):
    d = {}
    d["a"] += n


RAISING = [
    lambda n: (1, 2)[7], lambda n: [1].remove(3), lambda n: {}.pop("a"), lambda n: [].pop(), lambda n: {1}.remove(2), lambda n: [3].index(4),
    lambda n: int("x"), lambda n: "a".foo, lambda n: dict([1]), lambda n: max([]), lambda n: 1 // 0, lambda n: isinstance(n, 3),
    lambda n: {**3}, lambda n: n.real(), lambda n: np.zeros(2)[5], lambda n: np.zeros((2, 2)).reshape(3), lambda n: np.zeros(6).reshape(4, -1),
    lambda n: np.concatenate([]), lambda n: np.concatenate([np.ones(2), np.ones((2, 2))]), lambda n: np.eye(2) @ np.ones(3),
    lambda n: np.stack([np.ones(2), np.ones(3)]), lambda n: np.vstack([np.ones(2), np.ones(3)]), lambda n: np.foo(n), lambda n: np.ones(-1),
    lambda n: np.zeros((2, -3)), lambda n: np.ones(3).sum(axis=4), lambda n: np.squeeze(np.ones((2, 3)), 0), lambda n: np.full((2,), [1, 2, 3]),
    lambda n: np.linalg.inv(np.zeros((2, 3))), lambda n: np.ones(2) + np.ones(3), lambda n: getattr(n, "zz"), lambda n: [n][n:][0],
    of_a_slice, of_an_array, too_many_values, unpacked, imported, imported_module, set_on_none, set_on_a_list, set_on_an_object, set_on_a_number,
    item_of_an_int, item_of_a_string, deleted_from_a_tuple, of_a_generator, deleted_name, deleted_item, deleted_key, wrong_call,
    wrong_keyword, not_callable, super_outside, raised_number, only_annotated, missing_key,
]  # fmt: skip


def on_a_path(f):
    def g(n, x):
        if x > 0:
            f(n)
        return x

    return g


def caught(f):
    def g(n, x):
        try:
            if x > 0:
                f(n)
        except Exception:
            return 1.0
        return 2.0

    return g


def outcome(f, *args):
    try:
        return repr(f(*args))
    except mo.BadInput as refusal:
        return f"refused: {refusal}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("f", RAISING)
def test_as_python(f):
    for wrapped in (on_a_path(f), caught(f)):
        compiled = mo.jit(wrapped, target="native")
        for x in (1.0, -1.0):
            assert outcome(compiled, 2, x) == outcome(wrapped, 2, x)


def test_always():
    """Where no path does not raise, an error of shapes is a refusal with NumPy's words."""
    for f in RAISING:
        found, expected = outcome(mo.jit(f, target="native"), 2), outcome(f, 2)
        assert found == expected or found.startswith("refused") and "fault" not in found
