"""Global searches by populations within a box: differential evolution, CMA-ES, and particle swarms.

A population is evaluated point by point; a generation is complete when all of its points have been evaluated. Points are in
units of the box, so that all unknowns lie in [0, 1].
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import random
from ..flatten import Vector
from ..results import CONVERGED, RUNNING
from .method import GlobalMethod, ValueSearch


def latin_hypercube(generator: random.Generator, size: int, n: int) -> np.ndarray:
    """Return (size, n) points of the unit cube: one in each of ``size`` slices of every axis."""
    columns = [generator.permutation(np.arange(size)) for _ in range(n)]
    return (np.stack(columns, axis=1) + generator.random((size, n))) / size


class PopulationSearch(ValueSearch):
    """Rows of ``ahead`` are evaluated in turn; then ``advance`` makes the next generation."""

    def __init__(self, size: int, lower: Vector, upper: Vector, tol: float, seed: int) -> None:
        self.lower, self.width, self.tol = lower, upper - lower, tol
        self.generator = random.Generator(seed)
        self.ahead = latin_hypercube(self.generator, size, len(lower))
        self.results = np.full(size, np.inf)
        self.at = 0
        self.best, self.trial = self.ahead[0].copy(), self.lower + self.width * self.ahead[0]
        self.point = self.trial.copy()
        self.value = self.measure = math.inf
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: float) -> None:
        value = evaluation if math.isfinite(evaluation) else math.inf
        self.results[self.at] = value
        if value < self.value:
            self.best, self.value = self.ahead[self.at].copy(), value
            self.point = self.trial.copy()
        self.at += 1
        self.moved = self.at == len(self.results)
        if self.moved:
            self.at = 0
            self.advance()
            if self.measure <= self.tol:
                self.code = CONVERGED
        self.trial = self.lower + self.width * self.ahead[self.at]

    @abstractmethod
    def advance(self) -> None:
        """Make the next generation of the results of this one, and set ``measure``, the size of the population."""


@dataclass(frozen=True)
class DifferentialEvolution(GlobalMethod):
    """Trial points from differences of members: DE/rand-to-best/1/bin, with dithered weights.

    ``members`` is the size of the population for each unknown, ``crossover`` the probability of an entry to come from the trial.

    Source: R. Storn and K. Price, J. Glob. Optim. 11 (1997) 341-359; S. Das and P.N. Suganthan, IEEE Trans. Evol. Comput. 15
    (2011) 4-31 (dither, rand-to-best).
    """

    members: int = 10
    crossover: float = 0.9

    def start(self, lower: Vector, upper: Vector, tol: float, seed: int) -> ValueSearch:
        size = max(8, self.members * len(lower))
        return EvolutionSearch(self.crossover, size, lower, upper, tol, seed)


class EvolutionSearch(PopulationSearch):
    """``population`` and ``values`` are the survivors."""

    def __init__(self, crossover: float, size: int, lower: Vector, upper: Vector, tol: float, seed: int) -> None:
        super().__init__(size, lower, upper, tol, seed)
        self.crossover = crossover
        self.population, self.values = self.ahead.copy(), np.full(size, np.inf)

    def advance(self) -> None:
        better = self.results <= self.values
        self.population = np.where(better[:, None], self.ahead, self.population)
        self.values = np.where(better, self.results, self.values)
        self.measure = float(np.max(np.max(self.population, axis=0) - np.min(self.population, axis=0)))
        size, n = self.population.shape
        # Two shifts of one random order give three distinct members for each.
        order = self.generator.permutation(np.arange(size))
        place = np.argsort(order)
        first, second = self.population[order[(place + 1) % size]], self.population[order[(place + 2) % size]]
        weights = self.generator.uniform(0.4, 0.9, (size, 1))
        pull = self.generator.random((size, 1)) * weights
        mutants = self.population + pull * (self.best - self.population) + weights * (first - second)
        crossed = self.generator.random((size, n)) < self.crossover
        crossed = crossed | (np.arange(n) == self.generator.integers(0, n, (size, 1)))
        trials = np.where(crossed, mutants, self.population)
        self.ahead = np.where((trials < 0.0) | (trials > 1.0), self.generator.random((size, n)), trials)


@dataclass(frozen=True)
class CMAES(GlobalMethod):
    """Samples of a normal distribution whose mean, covariance and size adapt to the best of them.

    ``members`` is the number of samples of a generation, 0 for ``4 + 3 log n``; more of them search more globally.

    Source: N. Hansen, The CMA evolution strategy: a tutorial (2016), table 1 and figure 6.
    """

    members: int = 0
    size: float = 0.3

    def start(self, lower: Vector, upper: Vector, tol: float, seed: int) -> ValueSearch:
        members = self.members if self.members > 0 else 4 + int(3.0 * math.log(len(lower)))
        return CovarianceSearch(members, self.size, lower, upper, tol, seed)


class CovarianceSearch(PopulationSearch):
    """The distribution: mean, step size, covariance, and the evolution paths of the last two."""

    def __init__(self, members: int, size: float, lower: Vector, upper: Vector, tol: float, seed: int) -> None:
        super().__init__(members, lower, upper, tol, seed)
        n = len(lower)
        weights = math.log(0.5 * (members + 1)) - np.log(np.arange(1.0, members + 1.0))
        weights = np.where(weights > 0.0, weights, 0.0)
        self.weights = weights / np.sum(weights)
        self.effective = 1.0 / float(np.sum(self.weights**2))
        self.expected = math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n))
        self.mean, self.step = np.full(n, 0.5), size
        self.axes, self.lengths, self.covariance = np.eye(n), np.ones(n), np.eye(n)
        self.path, self.size_path = np.zeros(n), np.zeros(n)
        self.samples = np.zeros((members, n))
        self._sample()

    def _sample(self) -> None:
        members, n = self.samples.shape
        self.samples = (self.generator.standard_normal((members, n)) * self.lengths) @ self.axes.T
        # Points outside of the box are moved onto it; the distribution learns from where they were evaluated.
        self.ahead = np.minimum(np.maximum(self.mean + self.step * self.samples, 0.0), 1.0)
        self.samples = (self.ahead - self.mean) / self.step

    def advance(self) -> None:
        n, mu = len(self.mean), self.effective
        order = np.argsort(self.results, kind="stable")
        chosen = self.samples[order]
        move = self.weights @ chosen
        self.mean = self.mean + self.step * move
        size_rate = (mu + 2.0) / (n + mu + 5.0)
        damping = 1.0 + 2.0 * max(0.0, math.sqrt((mu - 1.0) / (n + 1.0)) - 1.0) + size_rate
        path_rate = (4.0 + mu / n) / (n + 4.0 + 2.0 * mu / n)
        one_rate = 2.0 / ((n + 1.3) ** 2 + mu)
        mu_rate = min(1.0 - one_rate, 2.0 * (mu - 2.0 + 1.0 / mu) / ((n + 2.0) ** 2 + mu))
        white = self.axes @ ((self.axes.T @ move) / self.lengths)
        self.size_path = (1.0 - size_rate) * self.size_path + math.sqrt(size_rate * (2.0 - size_rate) * mu) * white
        length = float(np.linalg.norm(self.size_path))
        settled = 1.0 - (1.0 - size_rate) ** (2.0 * (self.iterations + 1.0))
        is_short = length / math.sqrt(settled) < (1.4 + 2.0 / (n + 1.0)) * self.expected
        self.path = (1.0 - path_rate) * self.path
        if is_short:
            self.path = self.path + math.sqrt(path_rate * (2.0 - path_rate) * mu) * move
        lost = 0.0 if is_short else one_rate * path_rate * (2.0 - path_rate)
        self.covariance = (
            (1.0 - one_rate - mu_rate + lost) * self.covariance
            + one_rate * np.outer(self.path, self.path)
            + mu_rate * (chosen.T * self.weights) @ chosen
        )
        self.step = self.step * math.exp(min(1.0, (size_rate / damping) * (length / self.expected - 1.0)))
        values, self.axes = np.linalg.eigh(0.5 * (self.covariance + self.covariance.T))
        self.lengths = np.sqrt(np.maximum(values, 1e-20))
        self.measure = self.step * float(np.max(self.lengths))
        self._sample()


@dataclass(frozen=True)
class ParticleSwarm(GlobalMethod):
    """Particles drawn to their own best point and to the best of all, with constriction.

    Source: M. Clerc and J. Kennedy, IEEE Trans. Evol. Comput. 6 (2002) 58-73: χ = 0.7298, φ = 2.05 each.
    """

    members: int = 10

    def start(self, lower: Vector, upper: Vector, tol: float, seed: int) -> ValueSearch:
        return SwarmSearch(max(10, self.members * len(lower)), lower, upper, tol, seed)


class SwarmSearch(PopulationSearch):
    """``places`` and ``values`` are each particle's best."""

    def __init__(self, size: int, lower: Vector, upper: Vector, tol: float, seed: int) -> None:
        super().__init__(size, lower, upper, tol, seed)
        n = len(lower)
        self.places, self.values = self.ahead.copy(), np.full(size, np.inf)
        self.velocities = 0.2 * (self.generator.random((size, n)) - 0.5)

    def advance(self) -> None:
        better = self.results < self.values
        self.places = np.where(better[:, None], self.ahead, self.places)
        self.values = np.where(better, self.results, self.values)
        self.measure = float(np.max(np.max(self.places, axis=0) - np.min(self.places, axis=0)))
        shape = self.places.shape
        own, common = 2.05 * self.generator.random(shape), 2.05 * self.generator.random(shape)
        pulled = self.velocities + own * (self.places - self.ahead) + common * (self.best - self.ahead)
        self.velocities = 0.7298 * pulled
        ahead = self.ahead + self.velocities
        outside = (ahead < 0.0) | (ahead > 1.0)
        self.velocities = np.where(outside, -0.5 * self.velocities, self.velocities)
        self.ahead = np.minimum(np.maximum(ahead, 0.0), 1.0)
