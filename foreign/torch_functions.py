"""PyTorch: ``torch`` brings a module into morula, ``to_torch`` a function of morula into PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morula.core import BadInput, pullback

from .calls import Foreign, foreign, of_inexact, pulled
from .structures import join, split


def torch(module: Any) -> Foreign:
    """Return a PyTorch module or function as a function of NumPy's arrays, for models of morula.

    Args:
        module: a ``torch.nn.Module``, or a function of tensors.  Arguments and results may be nested lists, tuples and dicts.

    Returns:
        A callable object.  Its ``parameters`` are those of the module as a dict of arrays, copied; a gradient with respect to the
        object, or to a model that holds it, has theirs.  PyTorch differentiates the module, to any order.  Compiled programs
        call Python; there the results' shapes may only depend on the arguments' shapes.

    Raises:
        BadInput: PyTorch is not installed, or ``module`` is not callable.

    >>> import torch as pytorch  # doctest: +SKIP
    >>> from morula.core import grad
    >>> f = torch(lambda x: (x**2).sum())  # doctest: +SKIP
    >>> grad(f)(np.array([1.0, 2.0])).tolist()  # doctest: +SKIP
    [2.0, 4.0]
    """
    library = _required()
    if not callable(module):
        raise BadInput(f"foreign.torch: expected a torch.nn.Module or a function of tensors, not {module!r}")
    is_module = isinstance(module, library.nn.Module)
    layers: Any = module
    parameters = {k: to_numpy(p) for k, p in layers.named_parameters()} if is_module else None

    def of_module(given: Any, *args: Any) -> Any:
        before = [b._version for b in layers.buffers()]
        y = library.func.functional_call(module, given, args)
        if before != [b._version for b in layers.buffers()]:
            raise BadInput(
                f"foreign.torch: {name} changes its buffers when it is called, as BatchNorm does while it is trained, and it is "
                "called again for each derivative; call module.eval() first"
            )
        return y

    def of_function(_: Any, *args: Any) -> Any:
        return module(*args)

    name = type(module).__name__ if is_module else getattr(module, "__name__", "function")
    return foreign(_Torch(library, name), of_module if is_module else of_function, parameters, name)


def to_numpy(x: Any) -> Any:
    """Return a tensor as an array of its own, or as a number of NumPy if it has no axes."""
    return np.array(x.detach().cpu().resolve_conj().numpy())[()]


class _Torch:
    def __init__(self, library: Any, name: str) -> None:
        self.torch, self.name = library, name

    def run(self, flat: Any, leaves: Sequence[Any]) -> list[Any]:
        torch = self.torch
        before = torch.get_rng_state()
        with torch.no_grad():
            found = [to_numpy(torch.as_tensor(y)) for y in flat(*[torch.from_numpy(np.array(x)) for x in leaves])]
        if not torch.equal(before, torch.get_rng_state()):
            raise BadInput(
                f"foreign.torch: {self.name} draws random numbers, as dropout does while it is trained, and would draw others in "
                "the run for its derivative; call module.eval(), or pass the random numbers as an argument"
            )
        return found

    def pullback(self, flat: Any, inexact: tuple[bool, ...], kept: tuple[int, ...]) -> Any:
        def pull(*given: Any) -> tuple[Any, ...]:
            with self.torch.enable_grad():
                y, operands = self.tracked(flat, given[len(kept) :], inexact, kept)
                return self.pulled(y, operands, given[: len(kept)])

        return pull

    def pushforward(self, flat: Any, inexact: tuple[bool, ...], kept: tuple[int, ...]) -> Any:
        """Transpose the pullback, which is linear in the cotangents: all modules have that."""
        n = sum(inexact)

        def push(*given: Any) -> tuple[Any, ...]:
            with self.torch.enable_grad():
                y, operands = self.tracked(flat, given[n:], inexact, kept)
                dys = [self.torch.zeros_like(x).requires_grad_() for x in y]
                return self.pulled(self.pulled(y, operands, dys), dys, given[:n])

        return push

    def tracked(
        self, flat: Any, leaves: Sequence[Any], inexact: tuple[bool, ...], kept: tuple[int, ...]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Run a flat function under autograd; return the results ``kept``, and the inexact operands."""
        f, operands = of_inexact(flat, leaves, inexact, kept)
        operands = tuple([x if x.requires_grad else x.detach().requires_grad_() for x in operands])
        return f(*operands), operands

    def pulled(self, y: Sequence[Any], operands: Sequence[Any], dys: Sequence[Any]) -> tuple[Any, ...]:
        """Return the cotangents of operands, which can be differentiated again."""
        torch = self.torch
        pairs = [(a, dy) for a, dy in zip(y, dys) if a.requires_grad]
        if not pairs or not operands:
            return tuple(map(torch.zeros_like, operands))
        results, cotangents = zip(*pairs)
        found = torch.autograd.grad(results, operands, cotangents, create_graph=True, allow_unused=True)
        return tuple([torch.zeros_like(x) if g is None else g for g, x in zip(found, operands)])


def to_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of morula as a function of PyTorch's tensors, with a derivative of any order.

    Args:
        f: any function that morula differentiates, also a compiled one; it receives arrays and numbers of NumPy.

    Returns:
        A function of tensors, or nested lists, tuples and dicts of them; results are tensors on the device of the first.
        Other arguments are passed on.

    Raises:
        BadInput: PyTorch is not installed, or ``f`` is not callable.

    >>> import torch as pytorch  # doctest: +SKIP
    >>> f = to_torch(lambda x: np.sum(x**3))  # doctest: +SKIP
    >>> x = pytorch.tensor([1.0, 2.0], requires_grad=True)  # doctest: +SKIP
    >>> f(x).backward()  # doctest: +SKIP
    >>> x.grad.tolist()  # doctest: +SKIP
    [3.0, 12.0]
    """
    library = _required()
    if not callable(f):
        raise BadInput(f"to_torch: expected a function, not {f!r}")
    apply = _applied(library)

    def of_tensors(*args: Any) -> Any:
        leaves: list[Any] = []
        form = split(list(args), leaves)
        tensors = [x for x in leaves if isinstance(x, library.Tensor)]
        places = [i for i, x in enumerate(leaves) if isinstance(x, library.Tensor)]
        results: list[Any] = []

        def flat(*given: Any) -> tuple[Any, ...]:
            filled = list(leaves)
            for i, x in zip(places, given):
                filled[i] = x
            found: list[Any] = []
            results[:] = [split(f(*join(form, iter(filled))), found)]
            return tuple(found)

        y = apply(flat, *tensors)
        return join(results[0], iter(y))

    of_tensors.__name__ = getattr(f, "__name__", "function")
    of_tensors.__doc__ = f.__doc__
    return of_tensors


def _applied(torch: Any) -> Callable[..., Any]:
    """Return the function that calls a flat function of NumPy's arrays with tensors, as an operation of autograd."""

    def as_tensors(found: Sequence[Any], device: Any) -> tuple[Any, ...]:
        return tuple([torch.from_numpy(np.array(x)).to(device) for x in found])

    class Called(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, flat: Any, *tensors: Any) -> Any:
            context.flat = flat
            context.save_for_backward(*tensors)
            context.device = tensors[0].device if tensors else "cpu"
            given = [to_numpy(x) for x in tensors]
            if any(context.needs_input_grad[1:]):
                y, context.back = pullback(flat, *given)
            else:
                y = flat(*given)
            results = as_tensors(y, context.device)
            context.inexact = [x.is_floating_point() or x.is_complex() for x in results]
            context.mark_non_differentiable(*[x for x, is_one in zip(results, context.inexact) if not is_one])
            return results

        @staticmethod
        def backward(context: Any, *dys: Any) -> Any:
            tensors = context.saved_tensors
            kept = [dy for dy, is_one in zip(dys, context.inexact) if is_one]
            wanted = [x.is_floating_point() or x.is_complex() for x in tensors]
            if torch.is_grad_enabled() and any(x.requires_grad for x in (*kept, *tensors)):
                found = Called.apply(pulled(context.flat, context.inexact, wanted), *kept, *tensors)
            else:
                given = iter([to_numpy(dy) for dy in kept])
                gradients = context.back(tuple([next(given) if is_one else None for is_one in context.inexact]))
                found = as_tensors([g for g, is_one in zip(gradients, wanted) if is_one], context.device)
            each = iter(found)
            return (None, *[next(each) if is_one else None for is_one in wanted])

    return Called.apply


def _required() -> Any:
    try:
        import torch  # pyright: ignore[reportMissingImports]  it is optional
    except ImportError:
        raise BadInput("this needs PyTorch, which is not installed; run: pip install torch") from None
    return torch
