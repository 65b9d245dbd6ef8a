"""A function is compiled again for new structures, dtypes, shapes and static values, and for nothing else."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import morula as mo


def compilations(f):
    return sum(len(form.programs) for form in f.forms.values())


def scaled(x, scale=1.0, mode="plain"):
    return x * scale if mode == "plain" else x + scale


def test_once_for_each_dtype_and_shape(target):
    f = mo.jit(scaled, target=target)
    for x in (np.ones(3), np.zeros(3), np.ones(4), np.ones(3, np.float32), np.ones(3), 2.0, 3.0, np.float64(3.0), 2):
        assert np.array_equal(f(x), x)
    assert compilations(f) == 6


def test_once_for_each_static_value(target):
    f = mo.jit(scaled, target=target)
    assert f(2.0, 3.0, mode="plus") == 5.0
    assert f(4.0, 5.0, mode="plus") == 9.0
    assert compilations(f) == 1
    assert f(2.0, 4.0, mode="plain") == 8.0
    assert f(2.0, 5.0, mode="plain") == 10.0
    assert compilations(f) == 2


def test_a_storm_of_compilations_warns_once_and_names_the_argument(target):
    def g(x, name):
        return x.sum()

    compiled = mo.jit(g, target=target)
    with pytest.warns(RuntimeWarning, match="(?s)g.*name"):
        for i in range(10):
            compiled(np.ones(2), f"name {i}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(np.ones(2), "another")


def repeated(x, n, *, k=2):
    return sum([x] * n) * k


def test_static_argnums_and_names(target):
    f = mo.jit(repeated, target=target, static_argnums=(1,), static_argnames=("k",))
    assert f(1.5, 2) == 6.0 and f(2.5, 2) == 10.0
    assert compilations(f) == 1
    assert f(1.5, 3, k=1) == 4.5
    assert compilations(f) == 2


def test_an_integer_that_has_to_be_known_is_static_by_itself(target):
    f = mo.jit(repeated, target=target)
    assert f(1.5, 2) == 6.0 and f(2.5, 2) == 10.0 and f(1.5, 3) == 9.0
    assert compilations(f) == 2


def test_an_unhashable_static_argument(target):
    compiled = mo.jit(lambda x, options: x, target=target, static_argnums=(1,))
    with pytest.raises(mo.BadInput, match="(?s)static.*hash"):
        compiled(1.5, {"a": np.ones(2)})


def test_explain_says_what_was_compiled_and_why(capsys):
    def f(x, n):
        for _ in range(n):
            x = x * 0.5 + 1.0
        return x

    text = mo.jit(f).explain(np.ones(3), 4)
    assert capsys.readouterr().out.strip()
    assert "native" in text or "xla" in text
    for word in ("range", "operations", "compile"):
        assert word in text.lower(), word


def test_lower_shows_every_stage(target):
    lowered = mo.jit(lambda x: np.sin(x) * 2.0, target=target).lower(np.ones(3))
    assert "sin" in lowered.as_text("ir") and "sin" in lowered.as_text("python")
    forms = {"native": ("llvm",), "xla": ("stablehlo", "hlo")}[target]
    for form in forms:
        assert "sin" in lowered.as_text(form)
