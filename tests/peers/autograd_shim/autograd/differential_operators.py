"""autograd's transforms by morula's."""

import inspect

import numpy as np

import morula as mo

from .core import conjugate, make_jvp as _make_jvp, make_vjp as _make_vjp, vspace
from .wrap_util import unary_to_nary

make_vjp = unary_to_nary(_make_vjp)
make_jvp = unary_to_nary(_make_jvp)


def _scalar(fun, x):
    """The loss: a number, or an array that holds only one."""
    y = fun(x)
    return np.reshape(y, ())[()] if isinstance(y, np.ndarray) and np.size(y) == 1 else y


@unary_to_nary
def grad(fun, x):
    return conjugate(mo.grad(lambda x: _scalar(fun, x))(x))


@unary_to_nary
def value_and_grad(fun, x):
    y, g = mo.value_and_grad(lambda x: _scalar(fun, x))(x)
    return y, conjugate(g)


@unary_to_nary
def elementwise_grad(fun, x):
    back, y = _make_vjp(fun, x)
    return back(vspace(y).ones())


@unary_to_nary
def deriv(fun, x):
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun, x):
    if not np.iscomplexobj(x) and not np.iscomplexobj(fun(x)):
        return mo.jacobian(fun)(x)
    back, y = _make_vjp(fun, x)
    return np.reshape(np.stack([back(e) for e in vspace(y).standard_basis()]), np.shape(y) + np.shape(x))


@unary_to_nary
def hessian(fun, x):
    return mo.jacobian(mo.jacobian(fun))(x)


@unary_to_nary
def holomorphic_grad(fun, x):
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun, argname):
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


@unary_to_nary
def make_hvp(fun, x):
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun, argnum=0):
    gradient = grad(fun, argnum)

    def product(*args, **kwargs):
        *args, tensor = args
        return np.tensordot(gradient(*args, **kwargs), tensor, np.ndim(tensor))

    return grad(product, argnum)


def tensor_jacobian_product(fun, argnum=0):
    def product(*args, **kwargs):
        *args, tensor = args
        return np.tensordot(tensor, fun(*args, **kwargs), axes=np.ndim(tensor))

    return jacobian(product, argnum)


hessian_vector_product, vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product


def half_square(x):
    return np.sum(x**2, axis=-1) / 2.0


def make_ggnvp(f, g=half_square, f_argnum=0):
    @unary_to_nary
    def of(f, x):
        back, y = _make_vjp(f, x)
        product, slope = _make_vjp(grad(g), y)
        forward, _ = _make_vjp(back, vspace(slope).zeros())
        return lambda v: back(product(forward(v)))

    return of(f, f_argnum)


@unary_to_nary
def grad_and_aux(fun, x):
    back, (y, aux) = _make_vjp(lambda x: tuple(fun(x)), x)
    return back((vspace(y).ones(), vspace(aux).zeros())), aux


def checkpoint(fun):
    return lambda *args, **kwargs: mo.checkpoint(fun, *args, **kwargs)
