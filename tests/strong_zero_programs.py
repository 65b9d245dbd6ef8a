"""Programs that meet Inf or NaN where no cotangent arrives, each with an equivalent that uses finite numbers only."""

import math

import numpy as np

INF, NAN = np.inf, np.nan
WEIGHTS = np.array([1.0, NAN, 3.0])
DEPTHS = np.array([1.0, INF, 2.0])
DATA = np.array([[0.3, NAN], [NAN, 0.8], [0.5, 0.9]])
ROWS = np.array([[1.0, 2.0], [NAN, 1.0], [INF, -1.0], [0.5, 3.0]])
ALLOWED = np.array([[True, False, False], [True, True, False], [True, True, True]])
SYSTEMS = np.array([[[2.0, 0.3], [0.1, 1.0]], [[NAN, 1.0], [1.0, 2.0]]])
STACK = np.array([[[2.0, 0.3], [0.1, 1.0]], [[NAN, 0.0], [1.0, INF]]])


def sum_without_nan(y):
    return np.nansum(WEIGHTS * y) ** 2


def sum_of_two(y):
    return (y[0] + 3 * y[2]) ** 2


def infinite_layer(d):
    return np.exp(-d * INF) + d**2


def no_layer(d):
    return d**2


def layers(d):
    return np.sum(np.exp(-d * DEPTHS))


def finite_layers(d):
    return np.exp(-d[0]) + np.exp(-2 * d[2])


def guarded_division(x):
    return np.sum(np.where(x > 0, np.log(x) / x, 0.0) * x[1])


def division(x):
    return (np.log(x[1]) / x[1] + np.log(x[2]) / x[2]) * x[1]


def guarded_root(x):
    return np.sum(np.where(x > 0, np.sqrt(x) * np.log(x), 0.0))


def root(x):
    return np.sqrt(x[1]) * np.log(x[1]) + np.sqrt(x[2]) * np.log(x[2])


def guarded_norm(x):
    squares = np.sum(x * x, axis=1)
    return np.sum(np.where(squares > 0, x[:, 0] / np.sqrt(squares), 0.0))


def norm_of_second(x):
    return x[1, 0] / np.sqrt(x[1, 0] ** 2 + x[1, 1] ** 2)


def softmax_with_mask(x):
    logits = np.where(np.array([True, False, True]), x, -INF)
    e = np.exp(logits - np.max(logits))
    p = e / np.sum(e)
    return -np.sum(np.where(p > 0, p * np.log(p), 0.0))


def softmax_of_two(x):
    p = 1 / (1 + np.exp(x[2] - x[0]))
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


def attention(x):
    scores = np.where(ALLOWED, x @ x.T, -INF)
    e = np.exp(scores)
    return np.sum((e / np.sum(e, axis=1, keepdims=True) @ x) ** 2)


def attention_by_rows(x):
    total = 0.0
    for i in range(3):
        e = np.exp(x[: i + 1] @ x[i])
        total = total + np.sum((e / np.sum(e) @ x[: i + 1]) ** 2)
    return total


def masked_loss(w):
    error = (w * np.array([[0.1], [0.5], [0.7]]) - DATA) ** 2
    return np.sum(np.where(np.isnan(DATA), 0.0, error))


def loss_of_finite_data(w):
    error = (w * np.array([[0.1], [0.5], [0.7]]) - np.where(np.isnan(DATA), 0.0, DATA)) ** 2
    return np.sum(error[np.array([0, 2, 1, 2]), np.array([0, 0, 1, 1])])


def rows_of_a_product(x):
    y = ROWS @ x
    return np.sum(np.where(np.isfinite(y), y, 0.0) ** 3)


def finite_rows_of_a_product(x):
    return np.sum((ROWS[np.array([0, 3])] @ x) ** 3)


def entries_of_a_product(x):
    y = STACK @ x
    return np.sum(np.where(np.isfinite(y), y, 0.0) ** 2)


def finite_entries_of_a_product(x):
    return np.sum((STACK[0] @ x) ** 2)


def systems(x):
    y = np.linalg.solve(SYSTEMS * x, np.ones((2, 2, 1)))
    return np.sum(np.where(np.array([True, False])[:, None, None], y * x[0], 0.0) ** 2)


def first_system(x):
    return np.sum((np.linalg.solve(SYSTEMS[0] * x, np.ones(2)) * x[0]) ** 2)


def convolution(x):
    y = np.convolve(x, np.array([1.0, INF, 2.0, 0.5]))
    return np.sum(np.where(np.isfinite(y), y, 0.0) ** 2)


def ends_of_a_convolution(x):
    return x[0] ** 2 + (2 * x[1] + 0.5 * x[0]) ** 2 + 0.25 * x[1] ** 2


def limit_of_a_loop(x):
    """Each term is infinite or taken; the sum of those taken, with the powers of x until they are small."""
    total, power, n = 0.0, 1.0, 0
    while power > 1e-3:
        distance = np.abs(np.array([1.0, 0.0, 2.0]) * power)
        total = total + np.sum(np.where(distance > 0, np.log(distance), 0.0))
        power = power * x
        n = n + 1
    return total


def loop_of_logarithms(x):
    total, power = 0.0, 1.0
    while power > 1e-3:
        total = total + np.log(power) + np.log(2.0 * power)
        power = power * x
    return total


def logarithm_at_its_zero(y):
    """Nothing here is infinite: a cotangent is zero by chance, and its derivative is not."""
    return np.sum(np.log(y) ** 2)


def logarithm_of_a_ratio(y):
    return np.sum((math.log(2.0) - np.log(2.0 * y)) ** 2)


def squares_of_logarithms(y):
    """One slope is infinite, and another cotangent is zero by chance."""
    return np.sum(np.where(y > 0, np.log(y) ** 2, 0.0))


def squares_of_finite_logarithms(y):
    return np.log(y[1]) ** 2 + np.log(y[2]) ** 2


V = np.array([0.0, 0.7, 1.9])
M = np.array([[0.0, 0.0], [3.0, 4.0]])
X = np.array([[0.3, -0.2], [0.9, 0.4], [-0.5, 0.8]])
PROGRAMS = {
    "sum without NaN": (sum_without_nan, sum_of_two, np.array([1.0, 2.0, 3.0])),
    "infinite layer": (infinite_layer, no_layer, 2.0),
    "layers": (layers, finite_layers, np.array([0.5, 0.2, 0.1])),
    "guarded division": (guarded_division, division, V),
    "guarded root": (guarded_root, root, V),
    "guarded norm": (guarded_norm, norm_of_second, M),
    "softmax with a mask": (softmax_with_mask, softmax_of_two, np.array([0.1, 0.5, -0.4])),
    "attention with a mask": (attention, attention_by_rows, X),
    "masked loss": (masked_loss, loss_of_finite_data, np.array([0.4, 0.6])),
    "rows of a product": (rows_of_a_product, finite_rows_of_a_product, np.array([0.4, 0.6])),
    "entries of a product": (entries_of_a_product, finite_entries_of_a_product, np.array([[0.4, 0.6], [0.1, 0.2]])),
    "systems": (systems, first_system, np.array([0.8, 1.3])),
    "convolution": (convolution, ends_of_a_convolution, np.array([0.4, 0.6])),
    "loop": (limit_of_a_loop, loop_of_logarithms, 0.4),
    "zero by chance beside infinity": (
        squares_of_logarithms,
        squares_of_finite_logarithms,
        np.array([0.0, 1.0, 2.0]),
    ),
    "zero by chance": (logarithm_at_its_zero, logarithm_of_a_ratio, np.array([1.0, 2.0])),
}
