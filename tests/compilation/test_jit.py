"""``jit`` itself: signatures, dispatch of calls, write-back of arguments, texts, warnings, errors."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import re
import warnings
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special

import morula as mo
from morula.core.compilation import targets
from morula.core.errors import BadInput
from morula.core.values.layout import scan

TARGETS = ("native", "xla")
Pair = namedtuple("Pair", "a b")
SCALE = 2.0
TABLE = np.arange(3.0)


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


def programs(f):
    """How many programs a compiled function has."""
    return sum(len(form.programs) for form in f.forms.values())


def horner(x, n):
    s = 0.0
    while n > 0:
        n -= 1
        s = s * x + np.sin(x)
    return s


def test_one_program_serves_all_values_of_a_type(target):
    f = mo.jit(horner, target=target)
    for x, n in ((2.0, 3), (0.5, 0), (-1.0, 7)):
        assert f(x, n) == pytest.approx(horner(x, n))
    assert programs(f) == 1
    f(2, 3)
    assert programs(f) == 2


def test_results_have_the_types_of_python(target):
    @mo.jit(target=target)
    def f(x, n, a):
        return x + 1, n + 1, x > 0, a[0], a, {"pair": Pair(a + x, [n, "text"])}

    a = np.arange(2, dtype=np.float32)
    found = f(1.5, 2, a)
    assert [type(x) for x in found[:4]] == [float, int, bool, np.float32]
    assert found[4] is a
    pair = found[5]["pair"]
    assert pair.a.dtype == np.float32 and pair.b == [2, "text"] and isinstance(pair, Pair)


@dataclass
class Model:
    w: Any
    steps: int = 0

    def step(self, x):
        self.w = self.w - 0.5 * x
        self.steps += 1
        return self

    @mo.jit(target="native")
    def compiled_step(self, x):
        self.w = self.w - 0.5 * x
        return x


def test_what_is_changed_in_arguments_is_changed_for_the_caller(target):
    def f(x, d, items):
        x[1:] *= 2.0
        d["w"] = d["w"] + x
        d["new"] = d.pop("old")
        items.append(x[0])
        return d

    compiled = mo.jit(f, target=target)
    for _ in range(2):
        x, w = np.arange(3.0), np.ones(3)
        d, items = {"w": w, "old": 7}, []
        assert compiled(x, d, items) is d
        assert x.tolist() == [0.0, 2.0, 4.0] and w.tolist() == [1.0, 1.0, 1.0]
        assert d["w"].tolist() == [1.0, 3.0, 5.0] and d["new"] == 7 and items == [0.0] and "old" not in d
    assert programs(compiled) == 1


def test_what_a_program_that_raises_has_changed_is_not_changed(target):
    def f(x, d):
        x[0] = 9.0
        d["k"] = x[1]
        if x[1] > 0:
            raise ValueError("positive")

    x, d = np.ones(2), {}
    with pytest.raises(ValueError, match="positive"):
        mo.jit(f, target=target)(x, d)
    assert x.tolist() == [1.0, 1.0] and d == {}


def test_methods_objects_and_partials(target):
    model = Model(np.ones(2))
    step = mo.jit(model.step, target=target)
    assert step(np.ones(2)) is model and model.w.tolist() == [0.5, 0.5] and model.steps == 1
    step(np.ones(2))
    assert model.w.tolist() == [0.0, 0.0] and model.steps == 2
    model.compiled_step(np.ones(2))
    assert model.w.tolist() == [-0.5, -0.5]
    assert mo.jit(functools.partial(horner, 2.0), target=target)(3) == pytest.approx(horner(2.0, 3))

    class Callable:
        def __init__(self):
            self.k = 3.0

        def __call__(self, x):
            return self.k * x

    assert mo.jit(Callable(), target=target)(2.0) == 6.0


def test_a_number_that_has_to_be_known_makes_its_argument_static(target):
    @mo.jit(target=target)
    def f(x, k):
        return np.zeros(k + 1) + {2: x, 3: -x}[k]

    assert f(1.0, 2).tolist() == [1.0] * 3 and f(2.0, 2).tolist() == [2.0] * 3
    assert programs(f) == 1
    assert f(1.0, 3).tolist() == [-1.0] * 4
    assert programs(f) == 2


def test_a_number_computed_from_an_array_cannot_be_known():
    def f(x):
        return np.zeros(int(np.sum(x)))

    with pytest.raises(BadInput, match="depends on the array x"):
        mo.jit(f, target="native")(np.ones(3))


def test_a_number_computed_from_a_float_is_static_on_request_only(target):
    def f(x, k):
        return np.zeros(int(k)) + x

    with pytest.raises(BadInput, match="depends on k, which is not an integer; .* static_argnames"):
        mo.jit(f, target=target)(1.0, 2.0)
    assert mo.jit(f, target=target, static_argnames="k")(1.0, 3.0).tolist() == [1.0] * 3


def test_what_is_compiled_can_be_shown_as_it_is_recorded():
    assert str(mo.ir(mo.jit(horner))) == str(mo.ir(horner)) == str(mo.ir(mo.grad(horner)))


def test_static_arguments_are_declared_by_position_or_name(target):
    def f(x, mode, n=1):
        return x * n if mode == "times" else x + n

    compiled = mo.jit(f, target=target, static_argnums=1, static_argnames="n")
    assert compiled(2.0, "times", n=3) == 6.0 and compiled(2.0, "plus", n=3) == 5.0 and compiled(2.0, "times", 3) == 6.0
    with pytest.raises(BadInput, match="not hashable; pass a tuple"):
        compiled(2.0, ["times"], n=3)


def test_options_are_checked():
    with pytest.raises(BadInput, match="target must be one of 'auto', 'native', 'xla', not 'gpu'"):
        mo.jit(horner, target="gpu")
    with pytest.raises(BadInput, match="static_argnums 2 is out of range"):
        mo.jit(horner, static_argnums=2)
    with pytest.raises(BadInput, match="static_argnames 'y' is not an argument of horner.*: it has x, n"):
        mo.jit(horner, static_argnames="y")
    with pytest.raises(BadInput, match="expected a function"):
        mo.jit(3.0)


@pytest.mark.parametrize("missing", TARGETS)
def test_a_missing_library_names_what_to_install(missing, monkeypatch):
    monkeypatch.setattr(targets, "is_installed", lambda t: t != missing)
    library = targets.LIBRARIES[missing]
    remedy = re.escape(targets.INSTALLED_WITH[missing])
    with pytest.raises(BadInput, match=f"compiling needs {library}, which is not installed: pip install {remedy}"):
        mo.jit(horner, target=missing)
    other = next(t for t in TARGETS if t != missing)
    assert mo.jit(horner).lower(2.0, 3).target == other
    monkeypatch.setattr(targets, "is_installed", lambda t: False)
    with pytest.raises(BadInput, match="compiling needs llvmlite or jax"):
        mo.jit(horner)


def test_what_is_read_from_outside_is_what_is_there_at_the_call(target, monkeypatch):
    monkeypatch.setitem(globals(), "TABLE", np.arange(3.0))

    @mo.jit(target=target)
    def f(x):
        return SCALE * x + TABLE[1]

    assert f(1.0) == 3.0
    TABLE[1] = 5.0
    assert f(1.0) == 7.0 and programs(f) == 1
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert f(1.0) == 8.0
    monkeypatch.setitem(globals(), "TABLE", np.array([0.0, 2.0, 0.0, 0.0]))
    assert f(1.0) == 5.0


def test_an_array_given_twice_is_one_array(target):
    def f(x, y):
        x[0] = 5.0
        return y[0] + 1

    compiled = mo.jit(f, target=target)
    a, b = np.zeros(2), np.zeros(2)
    assert compiled(a, b) == 1.0
    assert compiled(a, a) == 6.0
    with pytest.raises(BadInput, match="shares memory with another argument"):
        compiled(a, a[:])


def test_an_array_that_is_read_only_is_not_written_to(target):
    def f(x):
        x[0] = 1.0

    a = np.zeros(2)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        mo.jit(f, target=target)(a)


def test_nothing_is_shared_between_results_of_calls(target):
    f = mo.jit(lambda x: (x + 1, [x * 2]), target=target)
    first, second = f(np.ones(2)), f(np.zeros(2))
    assert first[0].tolist() == [2.0, 2.0] and second[0].tolist() == [1.0, 1.0]
    assert first[1] is not second[1]
    first[0][0] = 9.0
    assert f(np.ones(2))[0].tolist() == [2.0, 2.0]


def test_layouts_of_arrays_do_not_matter(target):
    f = mo.jit(lambda x: x[:, 0] * 2, target=target)
    x = np.arange(12.0).reshape(3, 4)
    for a in (x, np.asfortranarray(x), x[::-1], np.arange(24.0).reshape(3, 8)[:, ::2]):
        assert f(a).tolist() == (a[:, 0] * 2).tolist()


def test_a_function_compiled_again_and_again_is_warned_of_once():
    f = mo.jit(lambda x, y: x + y, target="native")
    with pytest.warns(
        RuntimeWarning, match=r"compiled 8 times: the argument y was float64\[1\], float64\[2\]"
    ) as caught:
        for n in range(1, 11):
            f(1.0, np.ones(n))
    assert len(caught) == 1


def test_a_warning_names_a_value_that_is_part_of_the_program():
    f = mo.jit(lambda x, name: x, target="native")
    with pytest.warns(RuntimeWarning, match="the argument name was 'a0', 'a1'"):
        for i in range(8):
            f(1.0, f"a{i}")


def test_nothing_is_warned_of_in_ordinary_use(target):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = mo.jit(horner, target=target)
        for n in range(20):
            f(2.0, n)


def test_the_program_as_text():
    lowered = mo.jit(lambda x, y: np.sum(x * y), target="native").lower(np.ones(3), 2.0)
    assert lowered.as_text() == str(lowered.compilation.function) and "numpy.multiply(%x, " in lowered.as_text("ir")
    assert "np.sum(" in lowered.as_text("python")
    assert "define " in lowered.as_text("llvm")
    with pytest.raises(BadInput, match="has no hlo text; use jit.f, target='xla'"):
        lowered.as_text("hlo")
    with pytest.raises(BadInput, match="as_text: the language must be one of 'ir', 'python'"):
        lowered.as_text("fortran")
    other = mo.jit(lambda x, y: np.sum(x * y), target="xla").lower(np.ones(3), 2.0)
    assert "stablehlo.multiply" in other.as_text("stablehlo") and "HloModule" in other.as_text("hlo")


def test_explain_tells_the_story(capsys):
    def f(x, k):
        return {1: x, 2: np.sum(x * SCALE)}[k]

    text = mo.jit(f, target="native").explain(np.ones(3), 2)
    assert capsys.readouterr().out == text + "\n"
    assert text.startswith("f for the target native: as asked\nstatic: k, needed for an index into a dict")
    assert "read from outside while compiling: np, SCALE" in text or "SCALE" in text
    for part in ("after trace: ", "after simplify: ", "operations"):
        assert part in text
    lines = text.splitlines()
    assert lines[1].endswith("another value, shape or dtype compiles again")
    assert lines[2] == "stored for the backward sweep: nothing that grows with a loop"
    assert lines[3].startswith("seconds: 0.") and "(trace 0." in lines[3] and "compile 0." in lines[3]


def test_explain_tells_what_is_stored_for_the_backward_sweep():
    text = mo.jit(mo.grad(horner), target="native").explain(2.0, 3)
    assert "stored for the backward sweep: " in text and "bytes in each iteration of the loop at line" in text
    assert "static: no argument; another shape or dtype compiles again" in text


def test_auto_takes_native_for_loops_and_says_why(monkeypatch):
    f = mo.jit(horner)
    lowered = f.lower(2.0, 3)
    assert lowered.target == "native" and lowered.compilation.reason == "a program for the CPU with loops"
    large = np.zeros(1 << 22, np.int8)
    for cores, expected in ((2, "native"), (8, "xla")):
        monkeypatch.setattr(targets.os, "cpu_count", lambda cores=cores: cores)
        lowered = mo.jit(lambda x: x + 1).lower(large)
        assert lowered.target == expected and "4,194,304 elements" in lowered.compilation.reason


def test_names_and_documentation_are_kept():
    assert mo.jit(horner).__name__ == "horner" and mo.jit(horner).__wrapped__ is horner
    assert repr(mo.jit(horner)).startswith("<jit of horner (")


def test_an_error_shows_one_frame_of_the_engine(target, monkeypatch):
    monkeypatch.delenv("MORULA_TRACEBACK", raising=False)

    def f(x):
        if x > 1:
            raise KeyError("too large")
        return x

    compiled = mo.jit(f, target=target)
    assert compiled(0.5) == 0.5
    with pytest.raises(KeyError, match="too large") as caught:
        compiled(2.0)
    files = [e.frame.code.raw.co_filename for e in caught.traceback]
    assert [os.path.basename(f) for f in files] == [
        "test_jit.py",
        "jitted.py",
        "test_jit.py",
    ]  # the caller, us, and ``f``


def test_compiled_functions_call_each_other(target):
    inner = mo.jit(lambda x: x * 2, target=target)
    outer = mo.jit(lambda x: inner(x) + inner(x + 1), target=target)
    assert outer(3.0) == 14.0 and programs(inner) == 0


@mo.jit(target="native")
def module_level(x):
    return x + 1


def plain_module_level(x):
    return x + 2


def test_compiled_functions_are_copied_and_pickled_as_functions_are():
    assert copy.deepcopy({"f": module_level})["f"] is module_level
    again = pickle.loads(pickle.dumps(mo.jit(plain_module_level, target="native")))
    assert again(1.0) == 3.0


def test_threads_compile_and_call():
    f = mo.jit(lambda x: np.sum(x * 2), target="native")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: f(np.ones(n % 5 + 1)), range(40)))
    assert found == [2.0 * (n % 5 + 1) for n in range(40)]


def test_functions_sets_and_iterators_as_results(target):
    def f(x):
        def double(y):
            return 2 * y

        return double, {x, x + 1}

    double, numbers = mo.jit(f, target=target)(1.5)
    assert double(4) == 8 and numbers == {1.5, 2.5}
    with pytest.raises(BadInput, match="reads x, which is not known while compiling"):
        mo.jit(lambda x: lambda y: x + y, target=target)(1.0)
    with pytest.raises(BadInput, match="returns an iterator; return a list of its items"):
        mo.jit(lambda x: iter([x]), target=target)(1.0)


def shared(kind):
    a = np.ones(2)
    return kind((a, a))


def nan():
    return float("nan")


ARGUMENTS = [
    lambda: 1.0,
    lambda: 1,
    lambda: 1 << 70,
    lambda: np.float64(1.0),
    lambda: np.float32(1.0),
    lambda: np.ones(()),
    lambda: np.ones(2),
    lambda: np.ones(3),
    lambda: np.ones(2, np.float32),
    lambda: np.ones(2, int),
    lambda: True,
    lambda: None,
    lambda: "a",
    lambda: "b",
    lambda: [1.0],
    lambda: [1.0, 2.0],
    lambda: (1.0,),
    lambda: [np.ones(2), np.ones(2)],
    lambda: shared(list),
    lambda: {"a": 1.0, "b": 2.0},
    lambda: {"b": 2.0, "a": 1.0},
    lambda: {"a": 1.0},
    lambda: {1: 1.0},
    lambda: {1.0: 1.0},
    lambda: Pair(1.0, 2.0),
    lambda: Model(1.0),
    lambda: Model(1.0, True),
    lambda: Model(np.ones(2)),
    lambda: slice(1, 2),
    lambda: frozenset({1}),
    lambda: np.sin,
    lambda: 1j,
    nan,
]


def echo(x, y):
    return [x, y + 1], {"x": x}


compiled_echo = mo.jit(echo, target="native")


@pytest.mark.filterwarnings("ignore:.* was compiled 8 times")
@pytest.mark.parametrize("k", range(len(ARGUMENTS)))
def test_a_call_after_any_other_is_right(k):
    for make in ARGUMENTS:
        compiled_echo(ARGUMENTS[k](), 1.0)
        given = make()
        found = compiled_echo(given, 2.0)
        leaves, key = scan(found)
        expected, wanted = scan(echo(given, 2.0))
        assert key == wanted and all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(leaves, expected, strict=True)
        )


def test_a_call_with_other_static_numbers_is_right():
    f = mo.jit(lambda x, k: {0: x, 1: -x, 2: 2 * x}.get(k, x) + np.zeros(abs(k)).sum(), target="native")
    for k in (0, 1, 2, 1, 0, 2, 2, -1):
        assert f(3.0, k) == {0: 3.0, 1: -3.0, 2: 6.0}.get(k, 3.0)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_what_decides_has_the_same_digits_in_every_loop_that_computes_it(target, rng):
    """The smallest of some absolute values is found among them again by its gradient, in a loop of its own."""
    smallest = mo.jit(mo.grad(lambda z: np.sum(np.min(np.exp(abs(z)), axis=-1))), target=target)
    z = rng.normal(size=(40, 3)) + 1j * rng.normal(size=(40, 3))
    where = abs(z) == np.min(abs(z), axis=-1, keepdims=True)
    np.testing.assert_allclose(smallest(z), where * np.exp(abs(z)) * z / abs(z), rtol=1e-12)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_what_a_variance_leaves_out_has_gradient_zero(target):
    x = np.array([[1.0, np.nan, 2.0], [0.5, -1.0, 3.0]])
    for f in (np.nanvar, np.nanstd, lambda x: np.std(x, where=np.isfinite(x))):
        spread = mo.value_and_grad(lambda x, f=f: f(x))
        for found, expected in zip(mo.jit(spread, target=target)(x), spread(x)):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_special_functions_of_several_kinds_of_numbers(target):
    x, z = np.array([0.15, 0.42, 0.83]), np.array([0.4 + 0.3j, -1.2 + 0.8j])
    np.testing.assert_allclose(mo.jit(lambda z: special.jve(1.7, z), target=target)(z), special.jve(1.7, z), rtol=1e-12)
    np.testing.assert_allclose(mo.jit(lambda p: special.bdtr(2.0, 5, p), target=target)(x), special.bdtr(2.0, 5, x))


@pytest.mark.parametrize("target", ["native", "xla"])
def test_what_a_mask_chooses_meets_an_array_of_known_length(target):
    x, w = np.array([1.0, 3.0, 2.0, 0.5]), np.array([5.0, 7.0])
    chosen = mo.grad(lambda x: np.sum(np.extract(x > 1, x) * w))
    np.testing.assert_array_equal(mo.jit(chosen, target=target)(x), chosen(x))


def test_slopes_of_special_functions_in_their_shapes_by_rules_with_tables_of_their_own():
    x = np.array([0.15, 0.42, 0.83])
    for f in (special.gammainc, special.stdtr):
        slope = mo.grad(lambda a, f=f: np.sum(f(a, x)))
        np.testing.assert_allclose(mo.jit(slope, target="native")(1.3), slope(1.3), rtol=1e-10)


WEIGHTS = {"a": 2.0, "b": 3.0}


def test_explain_of_a_program_that_reads_a_container_and_misses_an_entry():
    def f(x):
        return sum(w * x for w in WEIGHTS.values()) * (1.0 if "c" in WEIGHTS else 2.0)

    compiled = mo.jit(f, target="native")
    assert compiled(1.5) == 15.0
    assert "read from outside while compiling: " in compiled.explain(1.5)


SHARED = np.array([2.0])
STATE = {"weights": SHARED}


class Settings:
    scale = 2.0


SETTINGS = {"settings": Settings()}


def reads_one_array_from_two_places(x):
    return x * STATE["weights"][0] * SHARED[0] / 2.0


def asks_for_a_key(x):
    return x * 2.0 if "weights" in STATE and hasattr(SETTINGS["settings"], "scale") else x


def replaces_an_object(x):
    scale = SETTINGS["settings"].scale
    SETTINGS["settings"] = Settings()
    return x * scale


@pytest.mark.parametrize("f", [reads_one_array_from_two_places, asks_for_a_key, replaces_an_object])
def test_later_calls_take_the_quick_way_whatever_is_guarded(f):
    compiled, slow = mo.jit(f), []
    general = compiled.general
    compiled.enter = compiled.general = lambda *args: (slow.append(args), general(*args))[1]
    assert [compiled(x) for x in (1.0, 2.0, 3.0, 4.0)] == [2.0, 4.0, 6.0, 8.0]
    assert len(slow) == 1


@pytest.mark.parametrize("static", [{"static_argnums": 1}, {"static_argnames": "n"}])
def test_later_calls_with_static_arguments_take_the_quick_way(static):
    compiled, slow = mo.jit(lambda x, n: x * n, **static), []
    general = compiled.general
    compiled.enter = compiled.general = lambda *args, **named: (slow.append(args), general(*args, **named))[1]
    call = (lambda x, n: compiled(x, n)) if "static_argnums" in static else (lambda x, n: compiled(x, n=n))
    assert [call(x, 3) for x in (1.0, 2.0, 4.0)] == [3.0, 6.0, 12.0]
    assert len(slow) == 1
    assert [call(2.0, 4), call(2.0, 4), call(2.0, 4.0)] == [8.0, 8.0, 8.0]
    assert len(slow) == 3
