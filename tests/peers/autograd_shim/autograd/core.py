"""Pullbacks, pushforwards and vector spaces, as autograd's tests ask for them.

The gradient by a complex number is dL/dx + i dL/dy in morula and its conjugate in autograd: cotangents are conjugated on the
way in and out.
"""

import numpy as np

import morula as mo

primitive_vjps = {}
"""The functions that have been given a pullback; autograd keeps its whole table here."""


def make_vjp(fun, x):
    y, back = mo.pullback(fun, x)
    return (lambda dy: conjugate(back(conjugate(dy))[0])), y


def make_jvp(fun, x):
    """The pushforward by two pullbacks: the pullback of a pullback, which is linear in its cotangent."""
    y, _ = mo.pullback(fun, x)

    def transposed(dy):
        return mo.pullback(fun, x)[1](dy)[0]

    def pushforward(v):
        return y, mo.pullback(transposed, vspace(y).zeros())[1](v)[0]

    return pushforward


def map_structure(f, *xs):
    """``f`` on the leaves of containers of one structure."""
    x = xs[0]
    if isinstance(x, (list, tuple)):
        items = [map_structure(f, *e) for e in zip(*xs)]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {k: map_structure(f, *(d[k] for d in xs)) for k in x}
    return f(*xs)


def leaves(x):
    if isinstance(x, (list, tuple)):
        return [leaf for e in x for leaf in leaves(e)]
    return [leaf for k in sorted(x) for leaf in leaves(x[k])] if isinstance(x, dict) else [x]


def conjugate(x):
    return map_structure(lambda leaf: np.conj(leaf) if np.iscomplexobj(leaf) else leaf, x)


class VSpace:
    """The real vector space of values with the structure, shapes and kinds of one value."""

    def __init__(self, value):
        self.value = value
        self.iscomplex = any(np.iscomplexobj(leaf) for leaf in leaves(value))
        self.shape = np.shape(value) if not isinstance(value, (list, tuple, dict)) else None

    def __eq__(self, other):
        return self.signature() == other.signature()

    def __repr__(self):
        return f"VSpace({self.signature()})"

    def signature(self):
        kinds = map_structure(lambda x: (np.shape(x), "c" if np.iscomplexobj(x) else "f"), self.value)
        return repr(kinds)

    @property
    def size(self):
        return sum(np.size(x) * (2 if np.iscomplexobj(x) else 1) for x in leaves(self.value))

    def fill(self, draw):
        """A member whose leaves are drawn: real and imaginary part apart."""

        def leaf(x):
            dtype = np.asarray(x).dtype if np.asarray(x).dtype.kind in "fc" else np.dtype(float)
            made = draw(np.shape(x)) + (1j * draw(np.shape(x)) if np.iscomplexobj(x) else 0.0)
            return np.asarray(made).astype(dtype) if isinstance(x, np.ndarray) else np.asarray(made).astype(dtype)[()]

        return map_structure(leaf, self.value)

    def zeros(self):
        return self.fill(np.zeros)

    def ones(self):
        return self.fill(np.ones)

    def randn(self):
        return self.fill(lambda shape: np.random.randn(*shape))

    def standard_basis(self):
        for i in range(self.size):
            numbers = iter(np.eye(self.size)[i])
            yield self.fill(lambda shape: np.array([next(numbers) for _ in range(int(np.prod(shape)))]).reshape(shape))  # noqa: B023

    def covector(self, x):
        return conjugate(x)

    def add(self, x, y):
        return map_structure(lambda a, b: a + b, x, y)

    def scalar_mul(self, x, a):
        return map_structure(lambda leaf: leaf * a, x)

    def inner_prod(self, x, y):
        return sum(np.real(np.dot(np.conj(np.ravel(a)), np.ravel(b))) for a, b in zip(leaves(x), leaves(y)))


def vspace(value):
    return VSpace(value)
