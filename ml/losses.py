"""Loss functions: the distance of predictions from targets as one number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import BadInput


def mean_squared_error(prediction: Any, target: Any) -> Any:
    """Return the mean of ``|prediction - target|^2`` over all elements.

    Args:
        prediction, target: arrays of one shape. They are not broadcast: different shapes are nearly always a mistake.

    Returns:
        A real scalar.

    Raises:
        BadInput: the shapes differ.

    >>> float(mean_squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    if np.shape(prediction) != np.shape(target):
        raise BadInput(
            f"mean_squared_error: the prediction has shape {np.shape(prediction)} and the target {np.shape(target)};"
            " expected one shape"
        )
    return np.mean(np.abs(prediction - target) ** 2)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the mean of -log p(label), where p is the softmax of ``logits`` over the last axis; it does not overflow.

    Args:
        logits: (..., classes) unnormalised log-probabilities.
        labels: (...) integers, the index of the correct class.

    Returns:
        A real scalar.

    Raises:
        BadInput: the labels are not integers from 0 to classes - 1, or have another shape.

    Source: I. Goodfellow, Y. Bengio, A. Courville, Deep Learning (2016), section 6.2.2.3.

    >>> round(float(cross_entropy(np.zeros((2, 4)), np.array([0, 3]))), 6)  # log 4
    1.386294
    """
    classes = np.shape(logits)[-1]
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu" or labels.shape != np.shape(logits)[:-1]:
        raise BadInput(
            f"cross_entropy: labels of shape {labels.shape} and dtype {labels.dtype};"
            f" expected integers of shape {np.shape(logits)[:-1]}, one class index for each row of logits"
        )
    if labels.size and not (0 <= labels.min() and labels.max() < classes):
        raise BadInput(f"cross_entropy: labels run from {labels.min()} to {labels.max()}; expected 0 to {classes - 1}")
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    right = np.take_along_axis(shifted, labels[..., None], axis=-1)[..., 0]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=-1)) - right)
