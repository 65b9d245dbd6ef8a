"""The objects of a run are freed with its gradient, without garbage collection."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import morula as mo


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    "argument",
    [[np.ones(2)], {"w": [np.ones(2)]}, Thing(layers=[Thing(w=np.ones(2)), (Thing(w=np.ones(2)),)])],
    ids=["list", "dict", "objects"],
)
def test_the_arrays_of_a_run_are_freed_with_it(argument):
    seen = []

    def first(x):
        while not isinstance(x, np.ndarray):
            x = (
                x[0]
                if isinstance(x, list)
                else x["w"]
                if isinstance(x, dict)
                else vars(x).get("layers", vars(x).get("w"))
            )
        return x

    def f(x):
        w = first(x)
        seen.append(weakref.ref(w))
        return np.sum(w * w)

    gc.collect()
    gc.disable()
    try:
        mo.grad(f)(argument)
        assert seen[0]() is None or seen[0]() is first(argument)
    finally:
        gc.enable()
