"""HIPS/autograd's interface on morula, for its own tests: NumPy and SciPy are themselves, derivatives are morula's.

Modules that are not here (``test_util``, ``wrap_util``, ``util``) are autograd's own, from the folder that the variable
``AUTOGRAD_SOURCE`` names: its tests compare with its differences, and loop over its combinations of arguments.
"""

import importlib.util
import os
import sys
import types

import numpy
import scipy.integrate
import scipy.linalg
import scipy.special
import scipy.stats

__path__.append(os.path.join(os.environ["AUTOGRAD_SOURCE"], "autograd"))

sys.modules["autograd.numpy"] = numpy
for name in ("random", "linalg", "fft"):
    sys.modules[f"autograd.numpy.{name}"] = getattr(numpy, name)
stand_in = sys.modules["autograd.scipy"] = types.ModuleType("autograd.scipy")
for name in ("linalg", "special", "stats", "integrate"):
    sys.modules[f"autograd.scipy.{name}"] = getattr(scipy, name)
    setattr(stand_in, name, getattr(scipy, name))
sys.modules["autograd.scipy.stats.multivariate_normal"] = scipy.stats.multivariate_normal

from . import extend, graphs  # noqa: E402
from .builtins import dict, isinstance, list, tuple, type  # noqa: E402
from .differential_operators import (  # noqa: E402
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)

# autograd's convolution of several axes is a program of its own; its rules are left out, so that it is differentiated.
given, extend.defvjp = extend.defvjp, lambda *args, **kwargs: None
source = os.path.join(__path__[-1], "scipy", "signal.py")
spec = importlib.util.spec_from_file_location("autograd.scipy.signal", source)
convolution = importlib.util.module_from_spec(spec)
spec.loader.exec_module(convolution)
sys.modules["autograd.scipy.signal"] = stand_in.signal = convolution
extend.defvjp, scipy = given, stand_in
graphs.install(sys.modules[__name__])

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "numpy",
    "scipy",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
