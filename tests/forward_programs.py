"""Programs with every kind of control flow and data, and arguments, for the tests of forward and Taylor mode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Oscillator:
    k: float
    x: np.ndarray
    name: str = "spring"

    def step(self, dt: float) -> None:
        self.x = self.x - dt * self.k * np.sin(self.x)


def root_by_newton(a):
    x, n = a, 0
    while abs(x * x - a) > 1e-12 and n < 50:
        x, n = (x + a / x) / 2, n + 1
    return x


def products(x, s):
    y = np.ones(len(x) + 1)
    for i in range(len(x)):
        y[i + 1] = y[i] * x[i] * s
    y[1:3] *= 2.0
    view = y[::2]
    view += x[0]
    return np.sum(y * y) + np.max(y)


def of_object(p, w):
    for _ in range(3):
        p.step(0.1 * w["rate"])
    return np.sum(p.x * w["scale"]) * p.k


def of_containers(pairs):
    total, seen = 0.0, []
    for a, b in pairs:
        seen.append(a * b)
        total += seen[-1] ** 2
    return total + sum(seen)


def branches(x, y):
    if x > y:
        z = math.exp(x - y) if y > 0 else x
    else:
        z = math.log(y) * x
    return z * np.where(x > 0, np.sqrt(abs(x)), 0.0)


def factorial(x, n):
    return x if n == 0 else x * factorial(x + 1.0, n - 1)


def linear_algebra(a, b):
    m = a @ a.T + np.eye(3)
    x = np.linalg.solve(m, b)
    return np.sum(np.linalg.cholesky(m)) + np.linalg.slogdet(m)[1] + np.sum(np.sort(x) ** 2) + np.std(x)


def of_complex_numbers(z, x):
    w = np.fft.fft(z * np.exp(1j * x))
    return np.sum(np.abs(w) ** 2 * np.arange(1, 5)) + np.real(np.sum(np.conj(w) * z**2))


def with_exception(x):
    try:
        if x > 1.0:
            raise ValueError
        return x * x
    except ValueError:
        return math.sin(x) * x


def of_generators(x):
    def terms():
        t = 1.0
        for n in range(4):
            t = t * x / (n + 1)
            yield t

    return sum(t * t for t in terms())


def of_shared_array(pair):
    return np.sum(pair[0] * pair[1] ** 2)


A = np.array([[1.0, 0.3, -0.2], [0.1, 1.5, 0.4], [0.7, -0.5, 2.0]])
SHARED = np.array([0.5, 1.5])
PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (root_by_newton, (2.0,)),
    (products, (np.array([0.7, 1.3, 0.4, 1.1]), 1.2)),
    (of_object, (Oscillator(1.3, np.array([0.4, 1.0])), {"rate": 0.7, "scale": np.array([1.0, 2.0])})),
    (of_containers, ([(0.3, 1.2), (1.5, 0.4)],)),
    (branches, (1.4, 0.6)),
    (branches, (0.4, 1.6)),
    (lambda x: factorial(x, 4), (0.7,)),
    (linear_algebra, (A, np.array([1.0, 2.0, 0.5]))),
    (of_complex_numbers, (np.array([1 + 1j, 0.5, -1j, 2 - 0.3j]), np.array([0.1, 0.7, 1.1, -0.4]))),
    (with_exception, (0.6,)),
    (with_exception, (1.6,)),
    (of_generators, (0.8,)),
    (of_shared_array, ([SHARED, SHARED],)),
    (lambda x: np.sum(x.astype(np.float32) ** 2), (np.array([0.3, 1.1], np.float32),)),
    (lambda x: np.sum(np.zeros((0, 3)) @ x) + np.sum(x[3:] ** 2), (np.array([0.3, 1.1, 2.0]),)),
]
