"""The training loop: compute the loss and its gradient, update the model, repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import repeat
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from ..core import BadInput, MorulaError, jit as compiled, value_and_grad
from ..optim.stochastic import Optimiser

Model = TypeVar("Model")


class Diverged(MorulaError):
    """Raised by ``train`` when the loss becomes NaN or infinite.

    ``model`` is the model that gave this loss, ``losses`` the list of the losses before it.

    >>> from morula.ml import sgd
    >>> try:
    ...     train(lambda x: x * x, 1.0, 1000, sgd(2.0), progress=False)
    ... except Diverged as error:
    ...     print(len(error.losses) > 0)
    True
    """

    def __init__(self, message: str, model: Any, losses: list[float]) -> None:
        super().__init__(message)
        self.model = model
        self.losses = losses


def train(
    loss: Callable[..., Any],
    model: Model,
    data: int | Iterable[Any],
    optimiser: Optimiser,
    *,
    jit: bool = True,
    progress: bool = True,
    callback: Callable[[int, Model, float], Any] | None = None,
) -> tuple[Model, list[float]]:
    """Train a model: minimise ``loss`` with one optimiser step per batch.

    Args:
        loss: ``loss(model, *batch)`` returns a real number; it is differentiated with respect to the model.
        model: a number, an array, or dicts, lists, tuples and objects of them; it is not changed.
        data: the number of steps, if the loss takes only the model; or an iterable of batches, one for each step. A
            tuple is passed to the loss as several arguments, anything else as one. For several epochs see
            ``minibatches``.
        optimiser: such as ``adam(0.01)``.
        jit: compile the loss and its gradient, for each shape of the batches; a loss that cannot be compiled runs eagerly.
            For a few quick steps compiling, some tenths of a second, is not worth while.
        progress: show a progress bar with the loss, which says whether the loss is compiled, and if not, why.
        callback: called as ``callback(step, model, loss)`` after every step, with the step number (from 1), the model
            after the step and the loss before it; training stops when it returns a true value.

    Returns:
        The trained model, and the list of the losses before each step.

    Raises:
        BadInput: ``loss``, ``optimiser``, ``callback`` or ``data`` has the wrong type, ``data`` is negative, or the
            model holds no parameter.
        Diverged: the loss is NaN or infinite; the exception holds the model and the losses.

    >>> from morula.ml import adam
    >>> model, losses = train(lambda x: (x - 3.0) ** 2, 0.0, 100, adam(0.1), progress=False)
    >>> round(model, 1), len(losses)
    (3.0, 100)
    """
    if not callable(loss):
        raise BadInput(f"train: loss is a {type(loss).__name__}; expected a function of the model")
    if not isinstance(optimiser, Optimiser):
        raise BadInput(f"train: optimiser is a {type(optimiser).__name__}; expected an Optimiser, such as adam(0.01)")
    if callback is not None and not callable(callback):
        raise BadInput(f"train: callback is a {type(callback).__name__}; expected callback(step, model, loss) or None")
    from tqdm import tqdm  # here, so that importing the package does not wait for it

    batches, steps = _batches(data)
    state = optimiser.init(model)
    gradient_of = _Gradient(loss, jit)
    losses: list[float] = []
    with tqdm(batches, desc="train", total=steps, disable=not progress) as bar:
        for batch in bar:
            value, gradient = gradient_of(model, *batch)
            value = float(value)
            if progress and not losses:
                bar.set_description_str(
                    f"train, {'eager' if gradient_of.compiled is None else 'compiled'}", refresh=False
                )
            if gradient_of.refusal and progress:
                bar.write(f"train runs eagerly, since the loss cannot be compiled: {gradient_of.refusal}")
                gradient_of.refusal = ""
            if not isfinite(value):
                raise Diverged(
                    f"train: the loss is {value} in step {len(losses) + 1}; try a smaller learning rate, and check the"
                    " data and the loss for logarithms, roots and quotients of zero",
                    model,
                    losses,
                )
            losses.append(value)
            model, state = optimiser.update(model, gradient, state)
            bar.set_postfix_str(f"loss {value:.4g}", refresh=False)
            if callback is not None and callback(len(losses), model, value):
                break
    return model, losses


class _Gradient:
    """The loss and its gradient, compiled unless ``jit`` is false or the loss is refused; ``refusal`` says why."""

    def __init__(self, loss: Callable[..., Any], jit: bool) -> None:
        self.eager = value_and_grad(loss)
        self.compiled = compiled(self.eager) if jit else None
        if isinstance(loss, type(compiled(loss))):  # it has compiled derivatives of its own
            self.compiled = self.eager
        self.refusal = ""

    def __call__(self, *args: Any) -> Any:
        if self.compiled is not None:
            try:
                return self.compiled(*args)
            except BadInput as error:
                found = self.eager(*args)  # raises what is wrong with the program itself
                self.compiled, self.refusal = None, str(error)
                return found
        return self.eager(*args)


def minibatches(
    *arrays: Any, size: int, epochs: int = 1, rng: np.random.Generator | None = None
) -> Iterator[tuple[Any, ...]]:
    """Iterate over batches of ``size`` rows of ``arrays``.

    Args:
        arrays: arrays whose first axes, the samples, have one length.
        size: the number of samples in a batch; the last batch of an epoch may be smaller.
        epochs: how many times to go through all samples.
        rng: draws a new order for every epoch; None keeps the given order.

    Returns:
        An iterator of tuples with one array for each of ``arrays``.

    Raises:
        BadInput: there are no arrays, their lengths differ, or ``size`` or ``epochs`` is below 1.

    >>> [x.tolist() for x, in minibatches(np.arange(5), size=2)]
    [[0, 1], [2, 3], [4]]
    """
    columns = [np.asarray(array) for array in arrays]
    if not columns or any(column.ndim == 0 or len(column) != len(columns[0]) for column in columns):
        shapes = ", ".join(str(column.shape) for column in columns) or "no arrays"
        raise BadInput(f"minibatches: given {shapes}; expected arrays whose first axes have one length")
    if size < 1 or epochs < 1:
        raise BadInput(f"minibatches: size is {size} and epochs {epochs}; expected 1 or more of both")

    def batches() -> Iterator[tuple[Any, ...]]:
        count = len(columns[0])
        for _ in range(epochs):
            order = np.arange(count) if rng is None else rng.permutation(count)
            for start in range(0, count, size):
                rows = order[start : start + size]
                yield tuple(column[rows] for column in columns)

    return batches()


def _batches(data: Any) -> tuple[Iterable[tuple[Any, ...]], int | None]:
    """Return an iterable of the arguments that follow the model, and the number of steps if it is known."""
    if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
        if data < 0:
            raise BadInput(f"train: {data} steps; expected 0 or more")
        return repeat((), int(data)), int(data)
    if not isinstance(data, Iterable):
        raise BadInput(f"train: data is a {type(data).__name__}; expected a number of steps or an iterable of batches")
    batches = (batch if isinstance(batch, tuple) else (batch,) for batch in data)
    return batches, len(data) if isinstance(data, Sized) else None
