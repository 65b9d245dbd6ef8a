"""Every public name is documented in one form, and tab completion shows public names only."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import morula as mo
from morula.core.compilation.explain import Lowered
from morula.core.compilation.jitted import Jitted
from morula.core.compilation.sparse.functions import SparseDerivative

MODULES = {name: getattr(mo, name) for name in mo.__all__ if isinstance(getattr(mo, name), ModuleType)}


def public() -> Iterator[tuple[str, Any]]:
    """The public functions, the public methods of public classes, and these classes."""
    yield from ((name, getattr(mo, name)) for name in mo.__all__ if callable(getattr(mo, name)))
    for place, module in MODULES.items():
        yield from ((f"{place}.{n}", getattr(module, n)) for n in module.__all__ if callable(getattr(module, n)))
    yield from (("Jitted.explain", Jitted.explain), ("Jitted.lower", Jitted.lower))
    yield from (
        ("SparseDerivative.explain", SparseDerivative.explain),
        ("SparseDerivative.pattern", SparseDerivative.pattern),
    )
    yield from (("Lowered.as_text", Lowered.as_text), ("Lowered.compile", Lowered.compile))


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods that a class defines, without those that take their docstring from a base class."""
    for name, method in vars(cls).items():
        if not name.startswith("_") and inspect.isfunction(method):
            if method.__doc__ or not any(hasattr(base, name) for base in cls.__mro__[1:]):
                yield name, method


NAMES = dict(public())
CLASSES = {name: x for name, x in NAMES.items() if inspect.isclass(x)}
FUNCTIONS = {name: x for name, x in NAMES.items() if inspect.isfunction(x)}
FUNCTIONS |= {f"{name}.{method}": f for name, cls in CLASSES.items() for method, f in methods(cls)}
SECTION = r"^{}:\n((?:    .*\n|\n)*)"


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_opens_with_a_sentence(name):
    text = inspect.getdoc(NAMES[name]) or ""
    assert text.partition("\n\n")[0].endswith((".", ":")), name
    assert not re.search(r"^(-{3,}|:param|:return|Parameters:|Arguments:)", text, re.MULTILINE), "another dialect"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_lists_arguments_results_and_errors_and_has_an_example(name):
    function = FUNCTIONS[name]
    text = (inspect.getdoc(function) or "") + "\n"
    signature = inspect.signature(function)
    section = re.search(SECTION.format("Args"), text, re.MULTILINE)
    listed = " ".join(re.findall(r"^    ([\w*, ]+):", section[1], re.MULTILINE)) if section else ""
    assert set(re.findall(r"\w+", listed)) == set(signature.parameters) - {"self", "cls"}
    returns_nothing = signature.return_annotation in (None, "None")
    assert (
        returns_nothing
        or text.startswith("Return")
        or re.search(SECTION.format("Returns"), text, re.MULTILINE)
        or (text.startswith("Make"))
    ), "the result is not described"
    if re.search(r"^\s+raise \w", inspect.getsource(function), re.MULTILINE):
        assert re.search(SECTION.format("Raises"), text, re.MULTILINE), "the errors are not described"
    assert ">>> " in text, "no example"


@pytest.mark.parametrize("module", [mo, mo.core, *MODULES.values()], ids=lambda module: module.__name__)
def test_tab_completion_shows_the_public_names_of_a_module(module):
    assert dir(module) == sorted(module.__all__)


def square(x):
    return np.sum(x * x)


X = np.ones(2)
MADE = {
    "grad": (mo.grad(square), {"explain"}),
    "jacobian": (mo.jacobian(square), {"explain"}),
    "jit": (mo.jit(square), {"explain", "lower"}),
    "sparse_jacobian": (mo.sparse_jacobian(square), {"explain", "pattern"}),
    "partial": (mo.jit(square, partial=True), {"explain", "lower"}),
    "lowered": (mo.jit(square).lower(X), {"as_text", "compile", "target"}),
    "pullback": (mo.pullback(square, X)[1], set()),
    "pullback of jit": (mo.pullback(mo.jit(square), X)[1], set()),
}


@pytest.mark.parametrize("made, names", MADE.values(), ids=MADE)
def test_tab_completion_shows_the_public_names_of_an_object(made, names):
    shown = {name for name in dir(made) if not name.startswith("__")}
    assert shown == names and all(hasattr(made, name) for name in names)
    assert not [name for name in dir(made) if "morula" in name]


@pytest.mark.parametrize(
    "made, text",
    [
        (mo.grad(square), "grad(square)"),
        (mo.value_and_grad(square, (0,)), "value_and_grad(square, (0,))"),
        (mo.hessian(square), "jacobian(grad(square))"),
        (mo.jit(square), "<jit of square"),
        (mo.pullback(square, X)[1], "<pullback of one run>"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_text_of_a_function_names_what_it_was_made_of(made, text):
    assert repr(made).startswith(text)
