"""The training loop: value and gradient, a step of the optimiser, and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import repeat
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from ..core import BadInput, MorulaError, value_and_grad
from .optimisers import Optimiser

Model = TypeVar("Model")


class Diverged(MorulaError):
    """The loss became NaN or infinite; ``model`` is the model it did so at, ``losses`` those before."""

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
    progress: bool = True,
    callback: Callable[[int, Model, float], Any] | None = None,
) -> tuple[Model, list[float]]:
    """``model`` trained to make ``loss`` small, and the loss before every step.

    Args:
        loss: ``loss(model, *batch)``, a real number; differentiated with respect to the model.
        model: a number, an array, or dicts, lists, tuples and objects of them; it is not changed.
        data: the number of steps, for a loss of the model alone; or an iterable of batches, one step for each: a tuple
            is handed to the loss as its arguments, anything else as one argument.  For several epochs see ``minibatches``.
        optimiser: such as ``adam(0.01)``.
        progress: show a progress bar with the loss.
        callback: ``callback(step, model, loss)`` after every step, with the model after it and the loss before it, step
            counting from 1; a true value from it ends the training.

    Returns:
        The trained model and the list of losses, one for each step made.

    Raises:
        BadInput: something to call or to iterate over is neither, or there is nothing to train in the model.
        Diverged: the loss is NaN or infinite; holds the model and the losses.

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
    differentiated = value_and_grad(loss)
    losses: list[float] = []
    with tqdm(batches, desc="train", total=steps, disable=not progress) as bar:
        for batch in bar:
            value, gradient = differentiated(model, *batch)
            value = float(value)
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


def minibatches(
    *arrays: Any, size: int, epochs: int = 1, rng: np.random.Generator | None = None
) -> Iterator[tuple[Any, ...]]:
    """Slices of ``size`` rows of ``arrays`` (the last one of an epoch may be shorter), as tuples.

    Args:
        arrays: of one length; their first axis counts the samples.
        size: samples in a batch.
        epochs: how often to go through all samples.
        rng: draws a new order for every epoch; None keeps the order given.

    Raises:
        BadInput: no arrays, arrays of different lengths, or a size or number of epochs below 1.

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
    """The arguments that follow the model, step by step, and how many steps there are if that is known."""
    if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
        if data < 0:
            raise BadInput(f"train: {data} steps; expected 0 or more")
        return repeat((), int(data)), int(data)
    if not isinstance(data, Iterable):
        raise BadInput(f"train: data is a {type(data).__name__}; expected a number of steps or an iterable of batches")
    batches = (batch if isinstance(batch, tuple) else (batch,) for batch in data)
    return batches, len(data) if isinstance(data, Sized) else None
