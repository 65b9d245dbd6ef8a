"""The derivatives in autograd, by module and name."""

from __future__ import annotations

import importlib
from typing import Any

# Its annotations do not fit how its functions are called: ``make_jvp(f)(x)(v)``, ``grad(f)(x, y)``.
autograd: Any = importlib.import_module("autograd")
grad, hessian, jacobian, make_jvp = autograd.grad, autograd.hessian, autograd.jacobian, autograd.make_jvp
