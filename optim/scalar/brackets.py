"""Methods for one equation in one unknown from a bracket: an interval at whose ends f has opposite signs.

All shrink the bracket and cannot fail for a continuous f; they differ in the point that they try next.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from ...core import BadInput
from ..loop import Search
from ..results import CONVERGED, RUNNING


class Bracket(Search, ABC):
    """The state of a search; ``a`` and ``b`` are the ends, ``xtol + rtol |x|`` is the width at which it ends."""

    def __init__(self, a: float, b: float, xtol: float, rtol: float) -> None:
        self.xtol, self.rtol = xtol, rtol
        self.a, self.b, self.fa, self.fb = a, b, 0.0, 0.0
        self.point, self.trial, self.residual = a, a, 0.0
        self.value = self.measure = math.inf
        self.moved, self.code, self.iterations, self.evaluations = False, RUNNING, 0, 0

    def learn(self, problem: Any, evaluation: tuple[float, ...]) -> None:
        value = evaluation[0]
        if math.isnan(value):
            raise BadInput(
                f"root_scalar: f({self.trial}) is NaN; expected a function that is defined within the bracket"
            )
        self.moved = self.evaluations > 1
        if self.evaluations == 0:
            self.fa, self.trial = value, self.b
            self.point, self.residual, self.value = self.a, value, abs(value)
        else:
            if self.evaluations == 1:
                self.fb = value
                if value * self.fa > 0.0 or (value > 0.0) == (self.fa > 0.0) and value != 0.0 and self.fa != 0.0:
                    raise BadInput(
                        f"root_scalar: f has the same sign at both ends of the bracket: f({self.a}) is {self.fa} and"
                        f" f({self.b}) is {value}; choose ends at which the signs differ"
                    )
                self.begin()
            else:
                self.take(value)
            if abs(value) <= self.value:
                self.point, self.residual, self.value = self.trial, value, abs(value)
            self.measure = abs(self.b - self.a)
            if self.value == 0.0 or self.measure <= self.xtol + self.rtol * abs(self.point):
                self.code = CONVERGED
            else:
                self.trial = self.propose()

    def begin(self) -> None:
        """Prepare the state once both ends are known."""
        return None

    def take(self, value: float) -> None:
        """Replace the end at which f has the sign of ``value``, which is f at the trial."""
        if (value > 0.0) == (self.fa > 0.0):
            self.a, self.fa = self.trial, value
        else:
            self.b, self.fb = self.trial, value

    @abstractmethod
    def propose(self) -> float:
        """Return the next point to evaluate, inside of the bracket."""


class BisectionSearch(Bracket):
    """The middle."""

    def propose(self) -> float:
        return self.a + 0.5 * (self.b - self.a)


class ITPSearch(Bracket):
    """Interpolate, truncate, project: at most one step more than bisection, superlinear for smooth f."""

    def begin(self) -> None:
        self.first_width, self.turns = abs(self.b - self.a), 0
        tolerance = self.xtol + self.rtol * max(abs(self.a), abs(self.b))
        self.limit = math.ceil(math.log2(max(self.first_width / tolerance, 1.0))) + 1
        self.tolerance = 0.5 * tolerance

    def propose(self) -> float:
        a, b = self.a, self.b
        middle, width = a + 0.5 * (b - a), abs(b - a)
        regula_falsi = (self.fb * a - self.fa * b) / (self.fb - self.fa) if self.fb != self.fa else middle
        sign = 1.0 if middle >= regula_falsi else -1.0
        truncation = 0.2 * width * width / self.first_width
        near = regula_falsi + sign * truncation if truncation <= abs(middle - regula_falsi) else middle
        radius = max(self.tolerance * 2.0 ** (self.limit - self.turns) - 0.5 * width, 0.0)
        self.turns += 1
        projected = near if abs(near - middle) <= radius else middle - sign * radius
        return projected if min(a, b) < projected < max(a, b) else middle


class BrentSearch(Bracket):
    """Inverse quadratic interpolation and secants, with bisection where they shrink the bracket too slowly.

    ``b`` is the best end, ``c`` the one before it.
    """

    def begin(self) -> None:
        self.c, self.fc = self.a, self.fa
        self.last = self.before = self.b - self.a
        self._order()

    def take(self, value: float) -> None:
        self.c, self.fc = self.b, self.fb
        if (value > 0.0) == (self.fa > 0.0):
            # The new point replaces the other end: the bracket is now between it and the best end so far.
            self.a, self.fa = self.b, self.fb
        self.b, self.fb = self.trial, value
        self._order()

    def _order(self) -> None:
        if abs(self.fa) < abs(self.fb):
            self.c, self.fc = self.b, self.fb
            self.a, self.b, self.fa, self.fb = self.b, self.a, self.fb, self.fa

    def propose(self) -> float:
        half = 0.5 * (self.a - self.b)
        least = 0.5 * (self.xtol + self.rtol * abs(self.b))
        step, before = half, half
        if abs(self.before) >= least and abs(self.fc) > abs(self.fb):
            s = self.fb / self.fc
            if self.c == self.a or self.fa == self.fc:
                p, q = 2.0 * half * s, 1.0 - s
            else:
                u, r = self.fc / self.fa, self.fb / self.fa
                p = s * (2.0 * half * u * (u - r) - (self.b - self.c) * (r - 1.0))
                q = (u - 1.0) * (r - 1.0) * (s - 1.0)
            q = -q if p > 0.0 else q
            p = abs(p)
            if 2.0 * p < min(3.0 * half * q - abs(least * q), abs(self.before * q)):
                step, before = p / q, self.last
        self.before, self.last = before, step
        return self.b + (step if abs(step) > least else math.copysign(least, half))


class TOMS748Search(Bracket):
    """Inverse cubic interpolation, in cycles of at most four evaluations of which the last is a bisection."""

    def begin(self) -> None:
        self.d = self.e = self.fd = self.fe = 0.0
        self.phase, self.width = 0, abs(self.b - self.a)

    def take(self, value: float) -> None:
        self.e, self.fe = self.d, self.fd
        if (value > 0.0) == (self.fa > 0.0):
            self.d, self.fd = self.a, self.fa
            self.a, self.fa = self.trial, value
        else:
            self.d, self.fd = self.b, self.fb
            self.b, self.fb = self.trial, value
        self.phase += 1
        if self.phase == 4 and abs(self.b - self.a) <= 0.5 * self.width:
            self.phase = 5  # no bisection is needed
        if self.phase >= 5:
            self.phase = 1
        if self.phase == 1:
            self.width = abs(self.b - self.a)

    def propose(self) -> float:
        a, b, fa, fb = self.a, self.b, self.fa, self.fb
        middle = a + 0.5 * (b - a)
        slope = (fb - fa) / (b - a)
        point = middle
        if self.phase == 0:
            point = a - fa / slope if slope != 0.0 else middle
        elif self.phase < 3:
            point = self._cubic()
            if not min(a, b) < point < max(a, b):
                point = self._quadratic(self.phase + 1)
        elif self.phase == 3:
            u, fu = (a, fa) if abs(fa) < abs(fb) else (b, fb)
            point = u - 2.0 * fu / slope if slope != 0.0 else middle
            point = middle if abs(point - u) > 0.5 * abs(b - a) else point
        return point if min(a, b) < point < max(a, b) else middle

    def _cubic(self) -> float:
        """Return where the inverse cubic through a, b, d and e is zero; NaN where two values are equal."""
        a, b, d, e, fa, fb, fd, fe = self.a, self.b, self.d, self.e, self.fa, self.fb, self.fd, self.fe
        if fa == fb or fa == fd or fa == fe or fb == fd or fb == fe or fd == fe or fe == 0.0:
            return math.nan
        q11 = (d - e) * fd / (fe - fd)
        q21 = (b - d) * fb / (fd - fb)
        q31 = (a - b) * fa / (fb - fa)
        d21 = (b - d) * fd / (fd - fb)
        d31 = (a - b) * fb / (fb - fa)
        q22 = (d21 - q11) * fb / (fe - fb)
        q32 = (d31 - q21) * fa / (fd - fa)
        d32 = (d31 - q21) * fd / (fd - fa)
        q33 = (d32 - q22) * fa / (fe - fa)
        return a + q31 + q32 + q33

    def _quadratic(self, turns: int) -> float:
        """Return an approximate zero of the quadratic through a, b and d, by ``turns`` steps of Newton's method."""
        a, b, d = self.a, self.b, self.d
        first = (self.fb - self.fa) / (b - a)
        second = ((self.fd - self.fb) / (d - b) - first) / (d - a) if d != b and d != a else 0.0
        if second == 0.0:
            return a - self.fa / first if first != 0.0 else math.nan
        x = a if second * self.fa > 0.0 else b
        for _ in range(3):
            slope = first + second * (2.0 * x - a - b)
            if turns > 0 and slope != 0.0:
                x = x - (self.fa + (first + second * (x - b)) * (x - a)) / slope
            turns -= 1
        return x


@dataclass(frozen=True)
class BracketMethod:
    """A method that starts from a bracket."""

    search: type[Bracket]
    source: str


BRACKETS = {
    "bisection": BracketMethod(BisectionSearch, "folklore"),
    "brent": BracketMethod(
        BrentSearch, "R.P. Brent, Algorithms for Minimization without Derivatives (1973), chapter 4"
    ),
    "itp": BracketMethod(ITPSearch, "I.F.D. Oliveira and R.H.C. Takahashi, ACM Trans. Math. Software 47 (2020) 5"),
    "toms748": BracketMethod(
        TOMS748Search, "G.E. Alefeld, F.A. Potra and Y. Shi, ACM Trans. Math. Software 21 (1995) 327-344"
    ),
}
