"""Classes derived from ``ndarray`` in compiled code: class, attributes and elements of every result are NumPy's."""

import math

import numpy as np
import pytest
from path_tester import assert_same, check_gradient, run_on

import morula as mo
from morula import BadInput

X = np.array([1.0, 2.5, -3.0])


class Info(np.ndarray):
    """The class of NumPy's documentation that carries an attribute along."""

    def __new__(cls, values, info=None):
        made = np.asarray(values).view(cls)
        made.info = info
        return made

    def __array_finalize__(self, origin):
        if origin is not None:
            self.info = getattr(origin, "info", "none")

    @property
    def doubled(self):
        return self * 2

    def first(self):
        return self[0]


class Allocated(np.ndarray):
    """Made by ``ndarray.__new__``, with a buffer or without, as in NumPy's documentation."""

    def __new__(cls, shape, dtype=float, buffer=None, info=None):
        made = super().__new__(cls, shape, dtype, buffer)
        made.info = info
        return made

    def __array_finalize__(self, origin):
        if origin is None:
            self.history = ["new"]
        else:
            self.info = getattr(origin, "info", None)
            self.history = [type(origin).__name__]


class Logged(np.ndarray):
    """Overrides ``__array_ufunc__`` as in NumPy's documentation: ``A``."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        args = [x.view(np.ndarray) if isinstance(x, Logged) else x for x in inputs]
        found = [i for i, x in enumerate(inputs) if isinstance(x, Logged)]
        outputs = out
        if outputs:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Logged) else x for x in outputs)
        else:
            outputs = (None,) * ufunc.nout
        results = super().__array_ufunc__(ufunc, method, *args, **kwargs)
        if results is NotImplemented:
            return NotImplemented
        if method == "at":
            return None
        if ufunc.nout == 1:
            results = (results,)
        results = tuple(
            np.asarray(result).view(Logged) if output is None else output for result, output in zip(results, outputs)
        )
        if results and isinstance(results[0], Logged):
            results[0].info = {"inputs": found, "ufunc": ufunc.__name__, "method": method}
        return results[0] if len(results) == 1 else results


class Wrapped(np.ndarray):
    """Overrides ``__array_wrap__``: numbers become numbers, and the ufunc is noted."""

    __array_priority__ = 12.0

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if return_scalar:
            return array[()]
        made = array.view(type(self))
        made.ufunc = None if context is None else (context[0].__name__, len(context[1]), context[2])
        return made


class WrappedAsBefore(np.ndarray):
    """With the signature of ``__array_wrap__`` that NumPy 1 had."""

    def __array_wrap__(self, array, context=None):
        return super().__array_wrap__(array, context)


class Unit(np.ndarray):
    """Values in a unit: operators, functions, subscripts and attributes are overridden."""

    def __new__(cls, values, size):
        made = np.array(values, dtype=float, copy=True, subok=False).view(cls)
        made.size_of_unit = size
        return made

    def __array_finalize__(self, origin):
        super().__array_finalize__(origin)
        self.size_of_unit = getattr(origin, "size_of_unit", 1.0)

    @property
    def plain(self):
        return self.view(np.ndarray) * self.size_of_unit

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        given = [x.plain if isinstance(x, Unit) else x for x in inputs]
        if out is not None:
            out[0].view(np.ndarray)[...] = (
                super().__array_ufunc__(ufunc, method, *given, **kwargs) / out[0].size_of_unit
            )
            return out[0]
        return Unit(super().__array_ufunc__(ufunc, method, *given, **kwargs), 1.0)

    def __array_function__(self, function, types, args, kwargs):
        if function in (np.concatenate, np.dot, np.where, np.clip):
            plain = [[e.plain for e in x] if isinstance(x, (list, tuple)) else getattr(x, "plain", x) for x in args]
            return Unit(function(*plain, **kwargs), len(types))
        return super().__array_function__(function, types, args, kwargs)

    def __getitem__(self, index):
        return Unit(super().__getitem__(index), self.size_of_unit)

    def __setitem__(self, index, value):
        super().__setitem__(index, getattr(value, "plain", value) / self.size_of_unit)

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def __imul__(self, other):
        return super().__imul__(other)


class Opaque:
    """Takes over every operator with an array."""

    __array_ufunc__ = None

    def __rmul__(self, other):
        return "opaque", other

    __radd__ = __rmul__


class Prior:
    __array_priority__ = 100.0

    def __rsub__(self, other):
        return "prior", other


OF_INFO = {
    "itself": lambda q, x: q,
    "a property and a method": lambda q, x: (q.doubled, q.first(), q.info),
    "ufuncs": lambda q, x: (np.sin(q), np.add(x, q), x * q, q * 2, 2 - q, -q, abs(q), q > 0, x < q, divmod(q, 2.0)),
    "the power": lambda q, x: (q**2, 2.0**q, q**x),
    "numbers as arrays": lambda q, x: (np.sqrt(q[1:2].reshape(())), q[...], q[()], q[0], q[...,0]),
    "slices": lambda q, x: (q[1:], q[::-1], q[None], q[[0, 2]], q[np.array([True, False, True])], q[:, None].T),
    "methods": lambda q, x: (q.copy(), q.reshape(3, 1), q.ravel(), q.flatten(), q.astype(np.float32), q.transpose()),
    "more methods": lambda q, x: (q.take([0, 1]), q.repeat(2), q.argsort(), q.cumsum(), q.clip(0.0, 1.0), q.round(1), q.conj()),
    "reductions": lambda q, x: (q.sum(), q.mean(), q.max(), q.argmax(), q.sum(axis=0, keepdims=True), q.prod(), q.any()),
    "functions": lambda q, x: (np.sum(q), np.mean(q), np.std(q), np.var(q), np.max(q), np.cumsum(q), np.diff(q), np.median(q)),
    "of the matrix": lambda q, x: (q @ x, q.dot(x), np.dot(x, q), np.outer(q, x), np.linalg.norm(q), np.cross(q, x)),
    "joining": lambda q, x: (np.concatenate([q, x]), np.stack([q, q]), np.where(q > 0, q, x), np.atleast_2d(q), np.tile(q, 2)),
    "as an array": lambda q, x: (np.asarray(q), np.array(q), np.asanyarray(q), np.array(q, subok=True), np.array([q, q])),
    "like": lambda q, x: (np.zeros_like(q), np.full_like(q, 2.0), np.ones_like(q, subok=False), np.copy(q), np.copy(q, subok=True)),
    "views": lambda q, x: (q.view(), q.view(np.ndarray), q.view(Wrapped), q.T, q.real, x.view(Info)),
    "reading it": lambda q, x: (len(q), q.shape, q.ndim, q.dtype, [2 * e for e in q], list(q), q.tolist(), q.item(1), 2.5 in q),
    "its class": lambda q, x: (type(q) is Info, isinstance(q, np.ndarray), isinstance(q, Info), isinstance(x, Info), q.__class__ is Info),
    "methods of ufuncs": lambda q, x: (np.add.reduce(q), np.multiply.accumulate(q), np.add.outer(q, x)),
    "out": lambda q, x: (np.add(q, x, out=q.copy()), np.add(q, 1.0, out=x.copy()), np.sin(x, out=q.copy())),
    "without subclasses": lambda q, x: np.add(q, x, subok=False),
    "an exception": lambda q, x: hasattr(q, "nothing"),
    "left to others": lambda q, x: (q * Opaque(), q - Prior()),
    "two classes": lambda q, x: (q + x.view(Wrapped), x.view(Wrapped) + q, q - x.view(WrappedAsBefore)),
}  # fmt: skip
OF_WRAPPED = {
    "ufuncs": lambda q, x: (np.sin(q), x + q, q * 2, np.sin(q)[0], np.modf(q)),
    "reductions": lambda q, x: (q.sum(), q.mean(), np.add.reduce(q), np.max(q), q.sum(keepdims=True), np.std(q)),
    "functions": lambda q, x: (np.cross(q, x), np.linalg.norm(q), np.clip(q, 0.0, 1.0), np.cumsum(q)),
    "a view of a number": lambda q, x: np.sqrt(abs(q[1:2].reshape(()))),
}
OF_LOGGED = {
    "ufuncs": lambda q, x: (np.sin(q), x + q, q * q, q > 0, np.modf(q), q**2, q**3, 1 / q),
    "reductions": lambda q, x: (q.sum(), np.add.reduce(q), np.mean(q), np.multiply.accumulate(q), q.max()),
    "out": lambda q, x: (np.add(q, x, out=q.copy()), np.add(x, x, out=q.copy())),
}
OF_UNIT = {
    "operators": lambda q, x: (q * x, x + q, 3.0 - q**2, -abs(q), q / Unit(x, 2.0)),
    "reductions": lambda q, x: (np.sum(q), q.sum(), q.mean(), np.var(q), q.max(), np.median(q), np.add.reduce(q)),
    "functions": lambda q, x: (np.concatenate([q, q]), np.dot(q, x.view(Info)), np.where(x > 0, q, q), np.diff(q)),
    "subscripts": lambda q, x: (q[1], q[1:], [2 * e for e in q], sum(e * e for e in q)),
    "shapes": lambda q, x: (q.reshape(3, 1).T, q.copy(), np.linalg.norm(q), np.trapezoid(q, dx=2.0)),
}
MAKERS = {
    Info: lambda x: Info(x, info=("metres", 2.0 * x[0])),
    Wrapped: lambda x: (2.0 * x).view(Wrapped),
    Logged: lambda x: (2.0 * x).view(Logged),
    Unit: lambda x: Unit(x, 3.0),
}


def described(x):
    """A result with the class and the attributes of each array beside its elements."""
    if isinstance(x, (tuple, list)):
        return [described(e) for e in x]
    if isinstance(x, dict):
        return {k: described(e) for k, e in x.items()}
    if isinstance(x, np.ndarray):
        return {"class": type(x).__name__, "held": described(getattr(x, "__dict__", {})), "array": np.asarray(x)}
    return x


def check(path, f, *args):
    found, expected = run_on(path)(f)(*args), f(*args)
    assert_same(described(found), described(expected), None, "the result")


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize(
    ("cls", "programs"), [(Info, OF_INFO), (Wrapped, OF_WRAPPED), (Logged, OF_LOGGED), (Unit, OF_UNIT)]
)
def test_results_have_the_class_and_the_attributes_that_numpy_gives_them(path, cls, programs):
    def every(x):
        return [f(MAKERS[cls](x), x) for f in programs.values()]

    for name, found, expected in zip(programs, run_on(path)(every)(X), every(X)):
        assert_same(described(found), described(expected), None, name)


def test_what_stays_an_array_of_objects_is_refused():
    with pytest.raises(BadInput, match="tobytes"):
        run_on("native")(lambda x: Info(x).tobytes())(X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_arrays_made_by_ndarray_new(path):
    def f(x):
        a = Allocated((2, 2), buffer=x * 2.0, info="of a buffer")
        b = Allocated(3, info=x[0])
        b[:] = x[:3]
        c = a[1]
        c[0] = 7.0
        return a, b, c, np.ndarray.__new__(Info, (2,), buffer=x), Allocated(3).history

    check(path, f, np.array([1.0, 2.0, 3.0, 4.0]))


@pytest.mark.parametrize("path", ["native", "xla"])
def test_objects_and_their_bases_share_memory(path):
    def f(x):
        base = x * 1.0
        q = Info(base, "here")
        q[0] = 5.0
        base[1] = 6.0
        part = q[1:]
        part += 1.0
        np.multiply(q, 2.0, out=q)
        q.shape = (3, 1)
        q.note = [q]
        q.note[0].info += "!"
        return base, q.shape, q.info, part, base.view(Info), part.info

    check(path, f, X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_an_object_as_an_argument_keeps_its_identity(path):
    def f(q, x):
        q[0] = x[1]
        q.info = q.info * 2.0
        r = q
        r *= 2.0
        return q, r is q, q + x

    for g in (f, run_on(path)(f)):
        q = Info(X.copy(), 2.0)
        found = g(q, X)
        assert found[0] is q and found[1] and q.info == 4.0 and found[2].info == 4.0
        assert q.tolist() == [5.0, 5.0, -6.0]


SCALE = Info(np.array([2.0, 3.0, 4.0]), 5.0)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_an_object_from_outside_is_read_at_each_call(path, monkeypatch):
    f = run_on(path)(lambda x: (x * SCALE, SCALE.info))
    assert_same(described(f(X)), described((X * SCALE, 5.0)), None, "the first")
    monkeypatch.setitem(globals(), "SCALE", Info(np.array([1.0, 1.0, 2.0]), 7.0))
    assert_same(described(f(X)), described((X * SCALE, 7.0)), None, "another object")
    SCALE[0] = 11.0
    assert_same(described(f(X)), described((X * SCALE, 7.0)), None, "other elements")
    SCALE.info = 8.0
    assert_same(described(f(X)), described((X * SCALE, 8.0)), None, "another attribute")


def of_a_loop(x):
    q = Info(x, x[0] * 1.0)
    for i in range(4):
        q = q * 1.5 + x
        if np.sum(q) > 12.0:
            q = q - 1.0
        else:
            q.info = q.info * 2.0
    return np.sum(q) * q.info


def of_writes(x):
    base = x * 1.0
    q = base.view(Info)
    q.info = base[1]
    q[0] = 5.0 * x[1]
    q[1:] *= 2.0
    part = q[1:]
    part += 1.0
    return base.sum() + (q * q).sum() * q.info


def of_units(x):
    q = Unit(x, 3.0) * 1.0
    q += x[::-1] * Unit(x, 2.0)
    q *= q
    q[0] = q[1] * x[2]
    return np.sum(q.plain) + np.asarray(np.mean(q)) + np.linalg.norm(q)


def of_logged(x):
    q = x.view(Logged)
    return np.sum(np.asarray(np.sin(q) * q**2)) + np.add.reduce(q)[()]


def of_an_argument(q, x):
    return (q * q * x).sum()


def of_a_second_derivative(x):
    return np.sum(mo.grad(lambda y: np.sum(Info(y, y[0]) ** 3))(x) ** 2)


def of_two_classes(x):
    """``Wrapped`` on one path, an array on the other."""
    y = np.sin(x.view(Wrapped)) if x[0] > 0.0 else np.cos(x)
    return np.sum(np.asarray(y * 2.0))


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
@pytest.mark.parametrize("f", [of_a_loop, of_writes, of_units, of_logged, of_a_second_derivative, of_two_classes])
def test_gradients(path, f):
    check_gradient(path, f, np.array([1.0, 2.5, 1.5]))


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_the_gradient_of_an_object_is_an_array(path):
    gradient = run_on(path)(mo.grad(of_an_argument, 0))(Info(X, 2.0), X)
    assert type(gradient) is np.ndarray
    assert_same(gradient, 2.0 * X * X, None, "the gradient")


def test_a_part_of_a_program_that_makes_objects():
    def f(x):
        q = Info(x, "here")
        for i in range(3):
            q = q * 2.0
        return q

    found = mo.jit(f, target="native", partial=True)
    for _ in range(4):
        assert_same(described(found(X)), described(f(X)), None, "the result")


@pytest.mark.parametrize("path", ["native", "xla"])
def test_zero_sizes_single_precision_and_complex_numbers(path):
    def f(a, b, c):
        return [(Info(x, "i") * 2 + x, Info(x).sum(), Info(x).T, np.abs(Info(x, 1)), Info(x).real) for x in (a, b, c)]

    check(path, f, np.zeros((0, 3)), np.ones((2, 2), np.float32), np.array([1.0 + 2.0j, 3.0]))


@pytest.mark.parametrize("path", ["native", "xla"])
def test_the_items_of_an_object(path):
    def f(x):
        q = x.view(Info)
        return (
            sorted(q),
            max(q),
            min(q),
            sum(q),
            sum(q, 1.0),
            [float(e) for e in q],
            list(zip(q, x)),
            math.exp(q[:1].sum()),
        )

    check(path, f, X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_objects_in_places_of_arrays(path):
    def f(x):
        a = np.zeros(3)
        a[:] = x.view(Info)
        a[x.view(Info) > 2.0] = 0.0
        a += x.view(Wrapped)
        return a, x[np.array([0, 2]).view(Info)]

    check(path, f, X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_masked_arrays_are_numpys_own_code(path):
    def f(x):
        m = np.ma.array(x, mask=[False, True, False])
        return (
            m * 2.0 + x,
            m.sum(),
            m.mean(),
            m[1:],
            m.filled(0.0),
            np.ma.log(m),
            m[1],
            m[1] is np.ma.masked,
            np.ma.asarray(x),
        )

    def written(x):
        m = np.ma.array(2.0 * x, mask=[False, True, False])
        m[2] = 4.0
        m[0] = np.ma.masked
        return m * x, m.sum(), m[0] is np.ma.masked, m[2] is np.ma.masked

    for program in (f, written):
        check(path, program, X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_matrices(path):
    def f(a):
        m = np.matrix(a)
        return m * m, m.T, m[0], m.sum(axis=0), m**2, m.I, m.A1, m @ np.matrix([[1.0], [2.0]])

    check(path, f, np.array([[1.0, 2.0], [3.0, 5.0]]))


def test_the_eager_gradient_of_a_compiled_function_of_an_object():
    gradient = mo.grad(run_on("native")(of_an_argument), 0)(Info(X, 2.0), X)
    assert_same(gradient, 2.0 * X * X, None, "the gradient")


class Addressed(np.ndarray):
    """Tells views of its origin from copies by their addresses, as ``MaskedArray`` does."""

    def __array_finalize__(self, origin):
        if isinstance(origin, np.ndarray):
            self.is_view = self.__array_interface__["data"][0] == origin.__array_interface__["data"][0]


@pytest.mark.parametrize("path", ["native", "xla"])
def test_addresses_can_be_compared(path):
    check(
        path, lambda x: (x.view(Addressed), x.view(Addressed)[1:], x.view(Addressed)[:1], x.view(Addressed).copy()), X
    )


@pytest.mark.parametrize("path", ["native", "xla"])
def test_the_shape_of_a_new_array_can_be_set(path):
    def f(x):
        y = 2.0 * x
        z = y
        y.shape = (3, 1)
        return y, z.shape

    check(path, f, X)
    with pytest.raises(BadInput, match="can only set the shape of an array that it has made"):
        run_on(path)(lambda x: setattr(x, "shape", (3, 1)))(X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_errors_are_numpys(path):
    for f, kind in (
        (lambda x: x.view(Info).nothing, AttributeError),
        (lambda x: x.view(Info) + Info(x[:2]), ValueError),
        (lambda x: np.add(x.view(Info), Opaque()), TypeError),
        (lambda x: bool(x.view(Info)), ValueError),
    ):
        with pytest.raises(kind):
            f(X)
        with pytest.raises(kind):
            run_on(path)(f)(X)
