"""Native code against the interpreter on the same typed IR."""

from __future__ import annotations

import numpy as np
import pytest

from morula.core.emit.native import NativeProgram, compile_function
from morula.core.errors import BadInput
from morula.core.ir import typed
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Block, Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import STACK, ArrayType, Dim

F8, I8 = np.dtype(np.float64), np.dtype(np.int64)
REALS = [np.dtype(t) for t in "fd"]
INTEGERS = [np.dtype(t) for t in "bBhHiIqQ"]
COMPLEX = [np.dtype(t) for t in "FD"]


def program(kinds, body):
    """The function with parameters of these types that body(builder, *parameters) writes."""
    builder = Builder()
    parameters = [Value(f"x{k}", kind) for k, kind in enumerate(kinds)]
    with builder.block() as block:
        results = body(builder, *parameters)
        block.results = list(results) if isinstance(results, (list, tuple)) else [results]
    return verify(Function("f", parameters, block))


def of(*arrays):
    return [ArrayType(np.asarray(a).dtype, np.shape(a)) for a in arrays]


def same(function, arguments, rtol=1e-13, atol=0.0):
    """Compile, run, compare values, dtypes and shapes with ``evaluate``; the arguments must stay as they are."""
    kept = [np.array(a) for a in arguments]
    compiled = compile_function(function)
    found = compiled(arguments)
    for a, b in zip(arguments, kept):
        np.testing.assert_array_equal(a, b)
    expected = evaluate(function, arguments)
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        y = np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape
        assert isinstance(x, np.generic if not x.shape else np.ndarray)
        np.testing.assert_allclose(
            x, y, rtol=max(rtol, 4 * np.finfo(y.dtype).eps) if y.dtype.kind in "fc" else 0, atol=atol
        )
    return compiled


def samples(dtype, n, rng):
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = rng.integers(max(info.min, -9), 9, n).astype(dtype)
        x[:4] = [info.min, info.max, 0, 1]
        return x
    x = rng.normal(size=n) + (1j * rng.normal(size=n) if dtype.kind == "c" else 0)
    return x.astype(dtype)


BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.equal, np.not_equal, np.less, np.greater_equal]
BINARY_INTEGER = [np.floor_divide, np.remainder, np.fmod, np.bitwise_and, np.left_shift, np.right_shift, np.gcd, np.lcm]
BINARY_REAL = [
    np.divide,
    np.floor_divide,
    np.remainder,
    np.fmod,
    np.arctan2,
    np.hypot,
    np.copysign,
    np.fmax,
    np.heaviside,
]
UNARY_REAL = [
    np.sqrt,
    np.exp,
    np.log,
    np.sin,
    np.cbrt,
    np.expm1,
    np.log1p,
    np.tanh,
    np.floor,
    np.rint,
    np.trunc,
    np.sign,
]
UNARY_COMPLEX = [np.exp, np.sqrt, np.sin, np.tanh, np.absolute, np.conjugate, np.negative, np.reciprocal, np.square]


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, *COMPLEX], ids=str)
def test_arithmetic_is_that_of_numpy(dtype, rng):
    x, y = samples(dtype, 40, rng), samples(dtype, 40, rng)[::-1].copy()
    functions = [*BINARY]
    functions += BINARY_INTEGER if dtype.kind in "iu" else BINARY_REAL if dtype.kind == "f" else [np.divide]
    function = program(of(x, y), lambda b, x, y: [b.ufunc(u, x, y) for u in functions])
    same(function, [x, y], atol=1e-6 if dtype.itemsize == 4 or dtype.char == "F" else 1e-14)


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX], ids=str)
def test_functions_of_one_number(dtype, rng):
    x = samples(dtype, 33, rng)
    functions = UNARY_REAL if dtype.kind == "f" else UNARY_COMPLEX
    x = np.abs(x) if dtype.kind == "f" else x
    same(
        program(of(x), lambda b, x: [b.ufunc(u, x) for u in functions]), [x], rtol=1e-6 if dtype.char in "fF" else 1e-13
    )


@pytest.mark.parametrize(
    "u", [np.maximum, np.fmax, np.minimum, np.fmin, np.floor_divide, np.remainder, np.arctan2, np.sign]
)
def test_special_numbers(u):
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5])
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    operands = [x, y][: u.nin]
    function = program(of(*operands), lambda b, *v: b.ufunc(u, *v))
    np.testing.assert_array_equal(compile_function(function)(operands)[0], evaluate(function, operands)[0])


@pytest.mark.parametrize("source", [*REALS, *INTEGERS, *COMPLEX, np.dtype(bool)], ids=str)
def test_conversions(source, rng):
    x = np.abs(samples(source, 20, rng)[4:]).astype(source) if source.kind != "b" else samples(source, 20, rng)
    targets = [*REALS, *INTEGERS, np.dtype(bool)] + COMPLEX
    same(program(of(x), lambda b, x: [b.cast(x, t) for t in targets]), [x])


@pytest.mark.parametrize("axis", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_reductions(axis, rng):
    x = rng.normal(size=(3, 5, 4))
    functions = [np.sum, np.prod, np.max, np.min]
    same(program(of(x), lambda b, x: [b.reduce(u, x, axis) for u in functions]), [x], rtol=1e-12, atol=1e-13)
    t = x > -0.5
    same(program(of(t), lambda b, x: [b.reduce(u, x, axis) for u in (np.any, np.all, np.sum)]), [t])


def test_accumulations_and_positions(rng):
    x = rng.normal(size=(6, 7))
    x[2, 3] = np.nan

    def body(b, x):
        found = []
        for axis in (0, 1):
            found += [
                b.call(np.cumsum, [x], [x.type], axis=axis)[0],
                b.call(np.maximum.accumulate, [x], [x.type], axis=axis)[0],
            ]
            kind = ArrayType(I8, (7 - axis,))
            found += [b.call(u, [x], [kind], axis=axis)[0] for u in (np.argmax, np.argmin)]
        return found

    same(program(of(x), body), [x])


def test_parts_transposes_and_shapes_are_read_in_place(rng):
    x, i = rng.normal(size=(6, 7)), np.array([3, 0, 5, 3])

    def body(b, x, i):
        one, five = b.constant(1, np.int64), b.constant(5, np.int64)
        return [
            b.getitem(x, [one], (("s", 2), ":"), [2]),
            b.getitem(x, [five, one], (("s", -1), ("s", 3)), [6, 2]),
            b.getitem(x, [one], (":", "i"), []),
            b.getitem(x, [i], ("a", ":"), []),
            b.getitem(x, [i, i], ("a", "a"), []),
            b.transpose(x, (1, 0)),
            b.reshape(b.transpose(x, (1, 0)), (6, 7)),
            b.reshape(x, (2, 3, 7)),
            b.broadcast_to(b.getitem(x, [one], ("i", ":"), []), (3, 7)),
            b.ufunc(np.add, b.getitem(x, [one], ("i", ":"), []), x),
            b.concatenate([x, b.ufunc(np.negative, x)], 1, 14),
            b.ufunc(np.multiply, b.iota(7), x),
            b.where(b.ufunc(np.less, x, b.constant(0.0)), x, b.constant(1.0)),
        ]

    same(program(of(x, i), body), [x, i])


def test_a_write_leaves_the_old_value_to_those_who_still_use_it(rng):
    x = rng.normal(size=50)

    def body(b, x):
        three, seven = b.constant(3, np.int64), b.constant(7.0, np.float64)
        y = b.ufunc(np.add, x, b.constant(1.0))
        z = b.call(typed.setitem, [y, three, seven], [y.type], spec=("i",))[0]
        w = b.call(typed.add_at, [z, three, b.getitem(y, [three], (("s", 1),), [20])], [y.type], spec=(("s", 1),))[0]
        return [b.ufunc(np.subtract, y, z), w]

    same(program(of(x), body), [x])


def test_a_part_written_from_what_it_overwrites(rng):
    x = rng.normal(size=50)

    def body(b, x):
        one, zero = b.constant(1, np.int64), b.constant(0, np.int64)
        y = b.ufunc(np.add, x, x)
        for _ in range(2):
            part = b.ufunc(np.multiply, b.getitem(y, [zero], (("s", 1),), [49]), b.constant(0.5))
            y = b.call(typed.setitem, [y, one, part], [y.type], spec=(("s", 1),))[0]
        return y

    same(program(of(x), body), [x])


def test_branches_and_loops(rng):
    x = rng.normal(size=30)

    def body(b, x, n):
        zero, one = b.constant(0, np.int64), b.constant(1, np.int64)

        def step(i, y, s):
            s = b.ufunc(np.add, s, b.getitem(y, [i], ("i",), []))
            even = b.ufunc(np.equal, b.ufunc(np.remainder, i, b.constant(2, np.int64)), zero)
            y = b.if_(even, lambda: [b.call(typed.setitem, [y, i, s], [y.type], spec=("i",))[0]], lambda: [y])[0]
            return [y, s]

        y, s = b.range_(zero, n, one, step, [x, b.constant(0.0, np.float64)])
        halve = lambda s, k: [b.ufunc(np.divide, s, b.constant(2.0)), b.ufunc(np.add, k, one)]
        s, k = b.while_(lambda s, k: b.ufunc(np.greater, s, b.constant(0.01)), halve, [b.ufunc(np.absolute, s), zero])
        return [y, s, k, b.range_(n, zero, b.constant(-3, np.int64), lambda i, a: [b.ufunc(np.add, a, i)], [zero])[0]]

    function = program([*of(x), ArrayType(I8)], body)
    compiled = same(function, [x, np.int64(17)])
    assert compiled([x, np.int64(0)])[2] == evaluate(function, [x, 0])[2]


def test_arrays_carried_by_a_loop_may_change_places(rng):
    x, y, z = rng.normal(size=(3, 80))

    def body(b, x, y, z):
        zero, n, one = (b.constant(k, np.int64) for k in (0, 7, 1))
        swap = lambda i, a, c, d: [c, d, a]
        first = b.range_(zero, n, one, swap, [x, y, z])
        wave = lambda i, u, v: [b.ufunc(np.subtract, b.ufunc(np.multiply, u, b.constant(1.5)), v), u]
        return [*first, *b.range_(zero, n, one, wave, [x, x])]

    same(program(of(x, y, z), body), [x, y, z], rtol=1e-12)


def test_a_result_may_be_an_argument_a_constant_or_another_result(rng):
    x = rng.normal(size=20)

    def body(b, x):
        y = b.ufunc(np.negative, x)
        return [x, y, y, b.constant(np.arange(5.0)), b.constant(np.arange(3000)), b.constant(2.5)]

    function = program(of(x), body)
    compiled = same(function, [x])
    a, b, c, *_ = compiled([x])
    assert not any(np.shares_memory(p, q) for p, q in [(a, x), (b, c)])


def test_lengths_known_at_run_time(rng):
    x = rng.normal(size=(9, 4))

    def body(b, x, n):
        dim = Dim(n, 9)
        part = b.getitem(x, [b.constant(0, np.int64)], (("s", 1), ":"), [dim])
        doubled = b.ufunc(np.add, part, part)
        return [
            doubled,
            b.reduce(np.sum, doubled, (0,)),
            b.reduce(np.sum, part, (0, 1)),
            b.full((dim,), b.constant(3.0)),
        ]

    function = program([*of(x), ArrayType(I8)], body)
    for n in (5, 0, 9):
        same(function, [x, np.int64(n)])


def test_a_stack_gives_back_what_was_pushed(rng):
    x = rng.normal(size=40)

    def body(b, x, n):
        zero, one = b.constant(0, np.int64), b.constant(1, np.int64)

        def push(i, y, stack):
            part = b.getitem(y, [zero], (("s", 1),), [20])
            stack = b.push(stack, [i, b.getitem(y, [i], ("i",), []), part])
            return [b.ufunc(np.multiply, y, b.constant(1.1)), stack]

        y, stack = b.range_(zero, n, one, push, [x, b.call(typed.stack_new, [], [STACK])[0]])

        def pop(i, total, stack):
            j, e, part, stack = b.pop(stack, [ArrayType(I8), ArrayType(F8), ArrayType(F8, (20,))])
            total = b.ufunc(np.subtract, b.ufunc(np.multiply, total, b.constant(0.5)), b.ufunc(np.multiply, part, e))
            return [b.ufunc(np.add, total, j), stack]

        total, _ = b.range_(zero, n, one, pop, [b.zeros((20,), F8), stack])
        return [y, total]

    function = program([*of(x), ArrayType(I8)], body)
    for n in (0, 1, 40):
        same(function, [x, np.int64(n)], rtol=1e-12)


def test_a_stack_can_leave_a_program_and_enter_another():
    forward = program([ArrayType(F8)], lambda b, x: [b.push(b.call(typed.stack_new, [], [STACK])[0], [x, x])])
    backward = program([STACK], lambda b, s: b.pop(s, [ArrayType(F8)] * 2)[:2])
    (stack,) = compile_function(forward)([2.5])
    run = compile_function(backward)
    assert run([stack]) == run([stack]) == [2.5, 2.5] and stack.nbytes == 16


def test_errors_are_raised_after_the_program():
    def body(b, x):
        b.raise_if(b.ufunc(np.less, x, b.constant(0.0)), ValueError, "negative: {}", x)
        return b.ufunc(np.sqrt, x)

    run = compile_function(program([ArrayType(F8)], body))
    assert run([4.0]) == [2.0]
    with pytest.raises(ValueError, match="negative: -1.0"):
        run([-1.0])


def test_recursion():
    function = Function("power", [Value("x", ArrayType(F8)), Value("n", ArrayType(I8))], Block())
    x, n = function.parameters
    b = Builder()

    def deeper():
        rest = b.call(function, [x, b.ufunc(np.subtract, n, b.constant(1, np.int64))], [ArrayType(F8)])[0]
        return [b.ufunc(np.multiply, rest, x)]

    with b.block() as block:
        last = b.ufunc(np.equal, n, b.constant(0, np.int64))
        block.results = b.if_(last, lambda: [b.constant(1.0, np.float64)], deeper)
    function.block = block
    run = same(verify(function), [1.5, 6])
    assert run([1.0, 10_000]) == [1.0]
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded in compiled code"):
        run([1.0, 10_000_000])


def test_functions_of_numpy_and_python_are_called(rng, capsys):
    a, y = rng.normal(size=(4, 4)), rng.normal(size=4)

    def body(b, a, y):
        b.call(typed.debug_print, [b.getitem(y, [b.constant(0, np.int64)], ("i",), [])], [], text="first {:.3f}")
        w = b.call(np.linalg.eigvalsh, [a], [ArrayType(F8, (4,))], UPLO="U")[0]
        q, r = b.call(np.linalg.qr, [a], [a.type, a.type])
        return [
            w,
            q,
            r,
            b.call(typed.callback, [y], [y.type], function=np.sort)[0],
            b.call(np.linalg.det, [a], [ArrayType(F8)])[0],
        ]

    same(program(of(a, y), body), [a, y])
    assert capsys.readouterr().out == f"first {y[0]:.3f}\n" * 2

    def fails(x):
        raise KeyError("from Python")

    run = compile_function(program(of(y), lambda b, y: b.call(typed.callback, [y], [y.type], function=fails)[0]))
    with pytest.raises(KeyError, match="from Python"):
        run([y])


@pytest.mark.parametrize(
    "shapes", [((3,), (3,)), ((2, 3), (3, 4)), ((20, 30), (30, 25)), ((5, 6, 7), (5, 7, 2)), ((3, 4), (4, 1))]
)
def test_products(shapes, rng):
    for dtype in (np.float64, np.complex128, np.float32):
        a, c = (rng.normal(size=s).astype(dtype) for s in shapes)
        same(
            program(of(a, c), lambda b, x, y: b.matmul(x, y)),
            [a, c],
            rtol=1e-4 if dtype == np.float32 else 1e-11,
            atol=1e-6,
        )


@pytest.mark.parametrize("axes", [((1, 0), (0, 1)), ((0, 1), (1, 0)), ((1, 0), (1, 0))])
def test_products_of_matrices_that_stand_transposed(axes, rng):
    a, c = rng.normal(size=(2, 40, 40))

    def body(b, x, y):
        first, second = b.transpose(x, axes[0]), b.transpose(y, axes[1])
        column = b.getitem(second, [b.constant(3, np.int64)], (":", ("s", 1)), [1])
        part = b.getitem(first, [b.constant(2, np.int64)] * 2, (("s", 1), ("s", 1)), [30, 36])
        return [b.matmul(first, second), b.matmul(first, column), b.matmul(part, b.transpose(part, (1, 0)))]

    same(program(of(a, c), body), [a, c], rtol=1e-11, atol=1e-11)


def test_products_with_vectors_read_expressions(rng):
    m, v = rng.normal(size=(20, 30)), rng.normal(size=30)

    def body(b, m, v):
        column, row = b.reshape(v, (30, 1)), b.reshape(v, (1, 30))
        squares = b.ufunc(np.square, m)
        turned = b.transpose(b.ufunc(np.exp, m), (1, 0))
        outer = b.matmul(column, b.getitem(m, [b.constant(3, np.int64)], (("s", 1), ":"), [1]))
        sines = b.ufunc(np.sin, column)
        return [
            b.matmul(squares, column),
            b.matmul(row, b.transpose(squares, (1, 0))),
            b.matmul(b.transpose(turned, (1, 0)), sines),
            b.matmul(turned, b.matmul(m, column)),
            b.ufunc(np.add, outer, b.matmul(sines, row)),
            b.matmul(b.ufunc(np.negative, v), v),
        ]

    same(program(of(m, v), body), [m, v], rtol=1e-12)
    x = rng.uniform(0.1, 2.0, 9)
    exponents = [-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 3.0, 7.5, 8.5, 0.3]
    same(program(of(x), lambda b, x: [b.ufunc(np.power, x, b.constant(e)) for e in exponents]), [x])


def test_functions_of_scipy(rng):
    import scipy.special as special

    x = np.append(rng.uniform(0.01, 0.99, 15), [0.0, 1.0])
    one = [getattr(special, n) for n in "erf erfc expit logit ndtr ndtri gammaln psi entr j0 i1e exp1 spence".split()]
    two = [getattr(special, n) for n in "xlogy xlog1py beta jv gammainc kv binom rel_entr".split()]
    write = lambda b, x: [b.ufunc(u, x) for u in one] + [b.ufunc(u, b.constant(0.0), x) for u in two]
    same(program(of(x), lambda b, x: [*write(b, x), *b.ufunc(special.sici, x)]), [x], rtol=1e-11)
    same(program(of(x.astype("f")), lambda b, x: b.ufunc(special.gammaln, x)), [x.astype("f")], rtol=1e-5)


def test_a_program_is_saved_and_loaded(rng):
    x, large = rng.normal(size=(30, 30)), np.arange(9000.0).reshape(10, 30, 30)
    product = lambda b, x: b.ufunc(np.add, b.matmul(x, x), b.constant(large))
    compiled = same(program(of(x), product), [x], rtol=1e-12)
    again = NativeProgram.from_bytes(compiled.to_bytes())
    np.testing.assert_array_equal(again([x])[0], compiled([x])[0])


def test_arguments_that_do_not_fit_are_refused():
    run = compile_function(program([ArrayType(F8, (3,))], lambda b, x: b.ufunc(np.negative, x)))
    with pytest.raises(
        BadInput, match=r"argument 0 of compiled code is float64\[4\], but it was compiled for float64\[3\]"
    ):
        run([np.zeros(4)])


@pytest.mark.parametrize("spec", [("i",), (("s", 2),), ("a",)], ids=str)
def test_an_index_out_of_range_is_an_error(spec):
    def body(b, x, i):
        index = b.full((2,), i) if spec == ("a",) else i
        part = b.getitem(x, [index], spec, [2] if isinstance(spec[0], tuple) else [])
        return [part, b.call(typed.add_at, [x, index, part], [x.type], spec=spec)[0]]

    function = program([ArrayType(F8, (5,)), ArrayType(I8)], body)
    same(function, [np.arange(5.0), 2])
    run = compile_function(function)
    for i in (-1, 5, 2**62):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
            run([np.arange(5.0), i])


def test_a_stack_that_is_used_twice_is_copied():
    """Values stay what they are, whoever pushes on what is made of them, in loops and branches too."""

    def body(b, x, n):
        zero, one = b.constant(0, np.int64), b.constant(1, np.int64)
        push = lambda s, v: b.push(s, [b.cast(v, F8)])
        pop = lambda s: b.pop(s, [ArrayType(F8)])
        base = push(push(b.call(typed.stack_new, [], [STACK])[0], x), b.constant(2.0))
        first = push(base, b.constant(3.0))
        second = push(base, b.constant(4.0))
        (looped,) = b.range_(zero, n, one, lambda i, s: [push(s, i)], [base])
        top, shorter = pop(base)
        again = push(shorter, b.constant(5.0))
        chosen = b.if_(b.ufunc(np.less, x, b.constant(0.0)), lambda: [base, base], lambda: [base, push(base, x)])
        pushed = [push(s, b.constant(6.0 + k)) for k, s in enumerate(chosen)]
        results = [top]
        for stack, count in [
            (first, 3),
            (second, 3),
            (base, 2),
            (again, 2),
            (pushed[0], 3),
            (pushed[1], 4),
            (looped, 3),
        ]:
            for _ in range(count):
                v, stack = pop(stack)
                results.append(v)
        return results

    function = program([ArrayType(F8), ArrayType(I8)], body)
    same(function, [1.5, np.int64(1)])


def test_what_decides_is_rounded_as_in_numpy():
    """x / 49 * 49 and x * y - z are not what they are with reciprocals and fused products."""
    x = np.arange(1.0, 400.0)

    def body(b, x):
        ratio = b.ufunc(np.divide, x, b.constant(49.0))
        whole = b.ufunc(np.floor, b.ufunc(np.multiply, ratio, b.constant(49.0)))
        third = b.ufunc(np.divide, b.constant(1.0), x)
        rest = b.ufunc(np.subtract, b.ufunc(np.multiply, third, x), b.constant(1.0))
        counted = b.reduce(np.sum, b.ufunc(np.less, rest, b.constant(0.0)), (0,))
        return [whole, counted]

    same(program(of(x), body), [x], rtol=0)
