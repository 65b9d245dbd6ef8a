"""Typed programs compiled by XLA give the results of ``evaluate`` and raise its errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from random_typed import programs
from sample_sizes import drawn

jax = pytest.importorskip("jax")

from morula.core.emit.xla import compile_function, overwriting  # noqa: E402
from morula.core.errors import BadInput  # noqa: E402
from morula.core.ir.builder import Builder  # noqa: E402
from morula.core.ir.dynamic import Function, Value, verify  # noqa: E402
from morula.core.ir.evaluate import evaluate  # noqa: E402
from morula.core.ir.typed import FLOAT64, INT64, STACK, ArrayType, Dim, callback, debug_print, stack_new  # noqa: E402

SETTINGS = settings(max_examples=drawn(15), suppress_health_check=list(HealthCheck))
F8 = np.dtype(np.float64)


def function(types: Sequence[ArrayType], body: Callable[..., Sequence[Value]]) -> Function:
    """A typed function: ``body(builder, *parameters)`` gives its results."""
    builder = Builder()
    parameters = [Value(f"x{i}", t) for i, t in enumerate(types)]
    with builder.block() as block:
        block.results = list(body(builder, *parameters))
    return verify(Function("f", parameters, block, "program.py"))


def agrees(f: Function, arguments: Sequence[Any]) -> list[Any]:
    """XLA's results, which are those of ``evaluate``, dtypes and shapes included."""
    wanted, found = evaluate(f, arguments), compile_function(f)(arguments)
    for x, y in zip(found, wanted, strict=True):
        assert x.dtype == y.dtype and np.shape(x) == np.shape(y)
        if y.dtype.kind in "fc":
            rtol = 1e-4 if np.finfo(y.dtype).eps > 1e-9 else 1e-9
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(x, y)
    return found


def integer(builder: Builder, n: int) -> Value:
    return builder.constant(n, np.int64)


@SETTINGS
@given(programs())
def test_random_programs(program):
    agrees(*program)


@SETTINGS
@given(programs(dynamic=True))
def test_random_programs_with_lengths_known_at_run_time(program):
    agrees(*program)


@pytest.fixture
def every_array_is_large(monkeypatch):
    """What is done so that large arrays are not copied, done for small ones."""
    monkeypatch.setattr(overwriting, "LARGE", 1)


@SETTINGS
@given(programs())
def test_random_programs_without_copies(every_array_is_large, program):
    agrees(*program)


@pytest.mark.parametrize(
    "shape, spec", [((8,), ("i",)), ((4, 6), ("i", "i")), ((5, 3), ("i", ":")), ((2, 7), (":", "i"))]
)
@SETTINGS
@given(data=st.data())
def test_reads_and_writes_in_any_order(every_array_is_large, shape, spec, data):
    """Of elements and rows that are neighbours, that may be the same, and that are known."""
    indexed = [n for n, entry in zip(shape, spec) if entry == "i"]

    def body(builder, x, i, j):
        total = None
        for _ in range(data.draw(st.integers(2, 6))):
            index = []
            for n in indexed:
                offset = integer(builder, data.draw(st.integers(0, 1)))
                base = data.draw(st.sampled_from([i, j, integer(builder, 0), integer(builder, n - 2)]))
                index.append(builder.ufunc(np.add, base, offset))
            part = builder.getitem(x, index, spec, [])
            total = (
                part
                if total is None
                else builder.ufunc(np.add, builder.ufunc(np.multiply, total, builder.constant(0.5)), part)
            )
            x = data.draw(st.sampled_from([builder.setitem, builder.add_at]))(x, index, total, spec)
        return [total, x, builder.getitem(x, [i] * len(indexed), spec, [])]

    f = function([ArrayType(F8, shape), INT64, INT64], body)
    program = compile_function(f)
    most = min(indexed) - 2
    for i, j in ((0, 0), (0, most), (1, 0), (most, min(1, most))):
        arguments = [np.random.default_rng(i).normal(size=shape), np.int64(i), np.int64(j)]
        for found, wanted in zip(program(arguments), evaluate(f, arguments), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


# ---- control flow


@pytest.mark.parametrize("ends", [(0, 5, 1), (7, -2, -3), (3, 3, 1), (4, 0, 1), (-3, 8, 4)])
def test_a_range_runs_as_pythons_does(ends):
    def body(builder, start, stop, step, x):
        def add(i, total):
            return [builder.ufunc(np.add, builder.ufunc(np.multiply, total, x), i)]

        known = builder.range_(*(integer(builder, n) for n in ends), add, [builder.constant(0.0, F8)])
        step_known = builder.range_(start, stop, integer(builder, ends[2]), add, [builder.constant(0.0, F8)])
        return [*builder.range_(start, stop, step, add, [builder.constant(0.0, F8)]), *known, *step_known]

    f = function([INT64, INT64, INT64, FLOAT64], body)
    agrees(f, [*map(np.int64, ends), np.float64(0.5)])


def test_a_loop_of_unknown_length_is_one_executable(monkeypatch):
    compiled = []
    compile_ = jax.stages.Lowered.compile
    monkeypatch.setattr(jax.stages.Lowered, "compile", lambda self: compiled.append(self) or compile_(self))

    def body(builder, n):
        def step(i, x):
            return [builder.ufunc(np.sin, builder.ufunc(np.add, x, builder.constant(1.0)))]

        return builder.range_(integer(builder, 0), n, integer(builder, 1), step, [builder.constant(0.0, F8)])

    f = function([INT64], body)
    program = compile_function(f)
    for n in (0, 1, 10, 1000):
        (found,) = program([np.int64(n)])
        assert found == pytest.approx(float(evaluate(f, [np.int64(n)])[0]), rel=1e-12)
    assert len(compiled) == 1
    assert program.hlo_text.count("ENTRY") == 1 and "stablehlo.while" in program.stablehlo_text
    assert list(program.seconds) == ["trace", "lower", "compile"]


# ---- errors


def checked(builder: Builder, x: Value, text: str = "{} is not positive") -> None:
    builder.raise_if(builder.ufunc(np.less_equal, x, builder.constant(0, x.type.dtype)), ValueError, text, x)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "c16"])
def test_an_error_is_raised_after_the_call_with_the_values_that_it_had(dtype):
    kind = ArrayType(np.dtype(dtype))

    def body(builder, x):
        failed = builder.ufunc(np.not_equal, x, builder.constant(2, kind.dtype))
        builder.raise_if(failed, ArithmeticError, "x is {}, not {}", x, builder.constant(2, kind.dtype))
        return [builder.ufunc(np.multiply, x, x)]

    program = compile_function(function([kind], body))
    assert program([kind.dtype.type(2)]) == [4]
    with pytest.raises(ArithmeticError) as caught:
        program([kind.dtype.type(3)])
    assert str(caught.value) == "x is {}, not {}".format(kind.dtype.type(3), kind.dtype.type(2))


def test_the_first_error_is_the_one_that_is_raised():
    def body(builder, x, y):
        checked(builder, x, "x is {}")
        checked(builder, y, "y is {}")
        return [x]

    program = compile_function(function([INT64, INT64], body))
    for x, y, text in ((-1, -2, "x is -1"), (1, -2, "y is -2"), (-1, 2, "x is -1")):
        with pytest.raises(ValueError, match=text):
            program([x, y])
    assert program([1, 2]) == [1]


def test_an_error_ends_the_loops_that_it_is_raised_in():
    def body(builder, x):
        def forever(i, x):
            less = builder.ufunc(np.less, i, integer(builder, 10**15))
            return less

        def step(i, x):
            x = builder.ufunc(np.subtract, x, builder.constant(1.0))
            builder.if_(
                builder.ufunc(np.less, x, builder.constant(5.0)), lambda: checked(builder, x) or [x], lambda: [x]
            )
            return [builder.ufunc(np.add, i, integer(builder, 1)), x]

        def spin(x):
            return builder.ufunc(np.less_equal, x, builder.constant(0.0))

        _, x = builder.while_(forever, step, [Value(type=INT64, constant=np.int64(0)), x])
        return builder.while_(spin, lambda x: [x], [x])

    program = compile_function(function([FLOAT64], body))
    with pytest.raises(ValueError, match="^0.0 is not positive$"):
        program([7.0])


def test_a_condition_that_raises_ends_its_loop():
    def body(builder, x):
        def condition(x):
            checked(builder, x)
            return builder.ufunc(np.not_equal, x, integer(builder, 1))

        return builder.while_(condition, lambda x: [builder.ufunc(np.subtract, x, integer(builder, 2))], [x])

    program = compile_function(function([INT64], body))
    assert program([9]) == [1]
    with pytest.raises(ValueError, match="0 is not positive"):
        program([8])


def test_an_error_shows_arrays_up_to_their_length():
    def body(builder, n, x):
        part = builder.getitem(x, [integer(builder, 0)], (("s", 1),), [Dim(n, 3)])
        builder.raise_if(builder.ufunc(np.greater, n, integer(builder, 1)), IndexError, "{} of {}", part, x)
        return [n]

    program = compile_function(function([INT64, ArrayType(F8, (3,))], body))
    assert program([1, np.arange(3.0)]) == [1]
    with pytest.raises(IndexError, match=r"^\[0. 1.\] of \[0. 1. 2.\]$"):
        program([2, np.arange(3.0)])


def test_recursion_is_refused_with_the_remedy():
    callee = Function("depth", [Value("n", INT64)], function([INT64], lambda builder, n: [n]).block)
    f = function([INT64], lambda builder, n: builder.call(callee, [n], [INT64]))
    with pytest.raises(BadInput, match=r"program.py:0: depth calls itself.*target='native'"):
        compile_function(f)


def test_a_growing_stack_is_an_internal_error():
    f = function([], lambda builder: [builder.call(stack_new, [], [STACK])[0]][:0])
    with pytest.raises(TypeError, match="target='xla' uses arrays"):
        compile_function(f)


# ---- Python while the program runs


def test_what_a_program_prints_comes_in_order_and_before_the_call_returns(capsys):
    def body(builder, n):
        def step(i, x):
            builder.call(debug_print, [i, x], [], text="{} {}")
            return [builder.ufunc(np.multiply, x, builder.constant(0.5))]

        return builder.range_(integer(builder, 0), n, integer(builder, 1), step, [builder.constant(8.0, F8)])

    assert compile_function(function([INT64], body))([3]) == [1.0]
    assert capsys.readouterr().out == "0 8.0\n1 4.0\n2 2.0\n"


def test_a_callback_gets_numpy_arrays_and_its_exception_is_raised():
    kind = ArrayType(F8, (3,))
    seen = []

    def median(x):
        seen.append(type(x))
        if x[0] < 0:
            raise KeyError("negative")
        return np.sort(x)

    def body(builder, x):
        (y,) = builder.call(callback, [x], [kind], function=median)
        return [builder.ufunc(np.add, y, builder.constant(1.0))]

    program = compile_function(function([kind], body))
    np.testing.assert_array_equal(program([np.array([3.0, 1.0, 2.0])])[0], [2.0, 3.0, 4.0])
    with pytest.raises(KeyError, match="negative"):
        program([np.array([-3.0, 1.0, 2.0])])
    np.testing.assert_array_equal(program([np.array([3.0, 1.0, 2.0])])[0], [2.0, 3.0, 4.0])
    assert seen == [np.ndarray] * 3


def test_nothing_is_printed_and_called_after_an_error(capsys):
    def body(builder, x):
        checked(builder, x)
        builder.call(debug_print, [x], [], text="{}")
        return [x]

    with pytest.raises(ValueError):
        compile_function(function([INT64], body))([0])
    assert capsys.readouterr().out == ""


def test_a_function_that_xla_lacks_runs_in_python():
    kind = ArrayType(F8, (5,))
    f = function([kind], lambda builder, x: builder.call(np.nan_to_num, [x], [kind], nan=7.0))
    agrees(f, [np.array([1.0, np.nan, 2.0, np.nan, 0.0])])


# ---- results


def test_results_can_be_written_to_and_share_no_memory():
    kind = ArrayType(F8, (100, 100))
    f = function([kind], lambda builder, x: [x, x, builder.ufunc(np.negative, x)])
    x = np.ones((100, 100))
    found = compile_function(f)([x])
    for i, y in enumerate(found):
        y += i + 1.0
    assert [y[0, 0] for y in found] == [2.0, 3.0, 2.0] and x[0, 0] == 1.0
    results = compile_function(f)([x], as_jax=True)
    assert all(isinstance(y, jax.Array) for y in results)


def test_results_have_their_length():
    def body(builder, n, x):
        part = builder.getitem(x, [integer(builder, 0)], (("s", 2),), [Dim(n, 3)])
        return [part, n]

    f = function([INT64, ArrayType(F8, (6,))], body)
    for n in range(4):
        agrees(f, [np.int64(n), np.arange(6.0)])


def test_a_dtype_stays_what_it_is_whatever_the_users_setting_of_jax():
    f = function(
        [FLOAT64, ArrayType(np.dtype(np.float32))], lambda builder, x, y: [builder.ufunc(np.sin, v) for v in (x, y)]
    )
    assert not jax.config.jax_enable_x64
    found = agrees(f, [np.float64(1e-9), np.float32(0.5)])
    assert [x.dtype for x in found] == [np.float64, np.float32]
    assert not jax.config.jax_enable_x64


# ---- parts of arrays


@pytest.mark.parametrize("step", [1, -1, 2, -2, 3])
@pytest.mark.parametrize("dtype", ["f8", "?", "i4", "c8"])
def test_parts_are_read_written_and_added_to(step, dtype):
    """Of every length, from every start, in a dimension beside another one, with the length known early and late."""
    kind, part = ArrayType(np.dtype(dtype), (3, 7)), lambda n: ArrayType(np.dtype(dtype), (3, n))
    most = 6 // abs(step) + 1
    spec = (":", ("s", step))

    def body(builder, x, v, start, n, start_of_all):
        results = []
        for s, length in ((start, Dim(n, most)), (start_of_all, most)):
            got = builder.getitem(x, [s], spec, [length])
            given = builder.getitem(v, [integer(builder, 0)], (":", ("s", 1)), [length])
            results += [got, builder.setitem(x, [s], given, spec), builder.add_at(x, [s], given, spec)]
        return [builder.reduce(np.sum, results[0], (0,)), *results]

    f = function([kind, part(most), INT64, INT64, INT64], body)
    program = compile_function(f)
    x, v = np.arange(21).reshape(3, 7).astype(dtype), (30 + np.arange(3 * most)).reshape(3, most).astype(dtype)
    start_of_all = 0 if step > 0 else (most - 1) * -step
    for start in range(7):
        room = (6 - start) // step if step > 0 else start // -step
        for n in range(room + 2):
            arguments = [x, v, *map(np.int64, (start, n, start_of_all))]
            for found, wanted in zip(program(arguments), evaluate(f, arguments), strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "spec",
    [
        ("a", ":", ":"),
        (":", "a", ":"),
        ("a", ":", "a"),
        ("a", "a", ":"),
        ("i", ":", "a"),
        ("a", ("s", 2), "i"),
        ("a", "a", "a"),
    ],
    ids=str,
)
def test_index_arrays_stand_where_numpy_has_them(spec):
    shape, places = (3, 4, 5), np.array([[0, 2], [1, 2], [1, 1]])

    def body(builder, x, index, n):
        operands, lengths = [], []
        for entry in spec:
            if entry != ":":
                operands.append(index if entry == "a" else integer(builder, 1))
            if isinstance(entry, tuple):
                lengths.append(2)
        got = builder.getitem(x, operands, spec, lengths)
        short = builder.getitem(index, [integer(builder, 0)], (("s", 1), ":"), [Dim(n, 3)])
        operands = [short if e == "a" else o for e, o in zip([e for e in spec if e != ":"], operands)]
        part = builder.getitem(x, operands, spec, lengths)
        return [got, builder.add_at(x, operands, part, spec), part]

    f = function([ArrayType(F8, shape), ArrayType(np.dtype(np.int64), (3, 2)), INT64], body)
    program = compile_function(f)
    x = np.random.default_rng(0).normal(size=shape)
    for n in range(4):
        for found, wanted in zip(program([x, places, n]), evaluate(f, [x, places, np.int64(n)]), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("is_conditional", [False, True])
def test_several_writes_to_one_array_in_a_loop_copy_nothing(is_conditional):
    kind = ArrayType(F8, (5000,))

    def writes(builder, i, x):
        here = builder.getitem(x, [i], ("i",), [])
        x = builder.setitem(x, [i], builder.constant(0.0, F8), ("i",))
        part = builder.ufunc(np.multiply, here, builder.constant(0.3))
        for offset in (-1, 0, 1):
            x = builder.add_at(x, [builder.ufunc(np.add, i, integer(builder, offset))], part, ("i",))
        return here, x

    def body(builder, x, y):
        def step(i, x, total):
            if is_conditional:
                before = builder.getitem(x, [i], ("i",), [])
                positive = builder.ufunc(np.greater, before, builder.constant(0.0))
                (x,) = builder.if_(positive, lambda: [writes(builder, i, x)[1]], lambda: [x])
            else:
                before, x = writes(builder, i, x)
            return [x, builder.ufunc(np.add, total, before)]

        ends = integer(builder, 1), integer(builder, 4999), integer(builder, 1)
        return builder.range_(*ends, step, [x, y])

    f = function([kind, FLOAT64], body)
    agrees(f, [np.random.default_rng(3).normal(size=5000), np.float64(0)])
    # The argument is copied, which belongs to the caller, and nothing else.
    copies = [line for line in compile_function(f).hlo_text.splitlines() if " copy(" in line and "f64[5000]" in line]
    assert len(copies) == 1


def test_what_is_computed_early_in_a_block_is_of_that_block():
    """Here the index of the outer loop, which the inner loops write at."""

    def body(builder, x):
        def inner(i):
            def step(j, x):
                old = builder.getitem(x, [i], ("i",), [])
                x = builder.setitem(x, [i], builder.constant(0.5, F8), ("i",))
                return [builder.add_at(x, [j], builder.ufunc(np.multiply, old, builder.constant(0.25)), ("i",))]

            return step

        def outer(i, x):
            ends = integer(builder, 0), i, integer(builder, 1)
            (x,) = builder.range_(*ends, inner(i), [x])
            return builder.range_(*ends, inner(i), [x])

        return builder.range_(integer(builder, 0), integer(builder, 9), integer(builder, 1), outer, [x])

    agrees(function([ArrayType(F8, (500,))], body), [np.random.default_rng(4).normal(size=500)])


# ---- many elements at a time


@pytest.mark.parametrize("char", "?bhilBHILfdFD")
def test_reductions_in_every_dtype(char):
    dtype = np.dtype(char)
    functions = [np.sum, np.prod, np.min, np.max, np.any, np.all]

    def body(builder, x):
        results = [builder.reduce(f, x, axes) for f in functions for axes in ((0,), (0, 1))]
        for f in (np.argmax, np.argmin):
            results += builder.call(f, [x], [ArrayType(np.dtype(np.int64), (5,))], axis=0)
        for f in (np.sort, np.argsort):
            results += builder.call(f, [x], [ArrayType(f(np.zeros(1, dtype)).dtype, (4, 5))], axis=1)
        kind = ArrayType(np.cumsum(np.zeros(1, dtype)).dtype, (4, 5))
        wide = builder.cast(x, kind.dtype)
        return [*results, *(builder.call(f, [wide], [kind], axis=0)[0] for f in (np.cumsum, np.cumprod))]

    x = np.random.default_rng(1).permutation(20).reshape(4, 5) % 11
    if dtype.kind == "c":
        x = x + 1j * (x % 3)
    agrees(function([ArrayType(dtype, (4, 5))], body), [x.astype(dtype)])


def test_reductions_pass_on_nans_and_stop_at_the_length():
    def body(builder, n, x):
        part = builder.getitem(x, [integer(builder, 0)], (("s", 1),), [Dim(n, 4)])
        both = []
        for v in (x, part):
            both += [builder.reduce(f, v, (0,)) for f in (np.sum, np.prod, np.max, np.min)]
            both += [builder.call(f, [v], [INT64], axis=0)[0] for f in (np.argmax, np.argmin)]
            both += [
                builder.call(f, [v], [ArrayType(d, v.type.shape)], axis=0)[0]
                for f, d in ((np.sort, F8), (np.argsort, INT64.dtype), (np.cumsum, F8))
            ]
            both.append(builder.matmul(v, v))
        return both

    f = function([INT64, ArrayType(F8, (4,))], body)
    for n in range(1, 5):
        agrees(f, [np.int64(n), np.array([2.0, -1.0, 5.0, np.nan])])
        agrees(f, [np.int64(n), np.array([2.0, np.inf, -np.inf, 3.0])])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "u1", "?"])
def test_products_of_stacks_of_matrices(dtype):
    kinds = [ArrayType(np.dtype(dtype), s) for s in ((2, 3, 4), (2, 4, 5), (4,), (4,))]
    rng = np.random.default_rng(2)
    f = function(kinds, lambda builder, a, b, x, y: [builder.matmul(a, b), builder.matmul(x, y)])
    agrees(f, [(rng.normal(size=k.shape) * 3 + (1j if k.dtype.kind == "c" else 0)).astype(dtype) for k in kinds])


def test_reshaping_what_has_a_length_known_at_run_time():
    def body(builder, n, x):
        rows = builder.getitem(x, [integer(builder, 0)], (("s", 1), ":"), [Dim(n, 4)])
        columns = builder.getitem(x, [integer(builder, 0)], (":", ("s", 1)), [Dim(n, 4)])
        all_ = Dim(builder.ufunc(np.multiply, n, integer(builder, 4)), 16)
        return [
            builder.reshape(rows, (all_,)),
            builder.reshape(columns, (all_,)),
            builder.reshape(columns, (2, 2, Dim(n, 4))),
            builder.reshape(columns, (2, Dim(builder.ufunc(np.multiply, n, integer(builder, 2)), 8))),
        ]

    f = function([INT64, ArrayType(F8, (4, 4))], body)
    for n in range(5):
        agrees(f, [np.int64(n), np.arange(16.0).reshape(4, 4)])
