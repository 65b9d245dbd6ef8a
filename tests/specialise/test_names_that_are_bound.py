"""Each statement and expression that binds a name binds it in the function, and nowhere else."""

import numpy as np
import pytest
from path_tester import check_gradient

name = 100.0
"""What a program would read and write that takes its own ``name`` for the global one."""


def by_a_mapping_pattern(x):
    match {"a": x * x, "b": 2.0}:
        case {"b": _, **name}:
            return name["a"]


def by_a_star(x):
    match [x, x * x, 3.0]:
        case [_, *name]:
            return name[0] * name[1]


def by_as(x):
    match (x, 2.0):
        case (_, 2.0) as name:
            return name[0] * name[1]


def by_a_walrus_in_a_default(x):
    def inner(y, factor=(name := x * x)):
        return y * factor

    return inner(x) * name


def by_a_walrus_in_a_default_of_a_lambda(x):
    inner = lambda y, *, factor=(name := x * x): y * factor  # noqa: E731
    return inner(x) * name


def by_a_walrus_in_a_comprehension(x):
    total = sum([(name := x * i) for i in range(3)])
    return total * name


def by_with(x):
    with np.errstate(all="ignore") as name:
        y = x * x
    return y if name is None else y * 2


def by_except(x):
    y = x
    try:
        {}["missing"]
    except KeyError as name:
        y = x * len(name.args)
    return y * y


def by_for(x):
    y = 1.0
    for (name, _), *rest in [((x, 1), 2), ((x * x, 1), 3)]:
        y = y * name * len(rest)
    return y + name


def by_del(x):
    name = x * 2
    y = name * x
    del name
    return y


def by_import(x):
    import math as name

    return name.sin(x)


def by_an_annotation(x):
    name: float = x * 2
    return name * x


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
@pytest.mark.parametrize(
    "f", [f for name, f in list(globals().items()) if name.startswith("by_")], ids=lambda f: f.__name__
)
def test_a_name(f, path):
    check_gradient(path, f, 1.5)
    assert name == 100.0
