"""Rosenbrock methods: implicit methods whose stages are linear systems with one matrix, 1 / (h gamma) - J.

Stage i solves, with J and the time derivative f_t at the start of the step (Hairer, Wanner, Solving Ordinary Differential
Equations II, IV.7),

    (1 / (h gamma) - J) U_i = f(t + c_i h, y + sum_j a_ij U_j) + sum_j (C_ij / h) U_j + h d_i f_t,

and the step is y + sum_i m_i U_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True, eq=False)
class RosenbrockTableau:
    """A Rosenbrock method of s stages; ``rosenbrock`` makes it."""

    name: str
    order: int
    error_order: int
    """The power of h to which the error estimate is proportional."""
    gamma: float
    a: NDArray[np.float64]
    """(s, s): strictly lower triangular."""
    C: NDArray[np.float64]
    """(s, s): strictly lower triangular."""
    c: NDArray[np.float64]
    d: NDArray[np.float64]
    m: NDArray[np.float64]
    error: NDArray[np.float64]
    """(s,): the weights of U in the error estimate."""
    interpolant: NDArray[np.float64]
    """(degree, s + 2): the dense output in U and h times f at both ends, from theta^1 upwards."""
    is_last_stage_at_end: bool
    """Whether the last stage takes f at the end of the step."""
    has_own_dense_output: bool
    """Whether the dense output is in U alone; else it takes f, which is y' only without a mass matrix."""


def rosenbrock(
    name: str,
    order: int,
    gamma: float,
    a: Rows,
    C: Rows,
    d: Sequence[float],
    c: Sequence[float],
    m: Sequence[float],
    error: Sequence[float],
    error_order: int = 0,
    H: Rows | None = None,
) -> RosenbrockTableau:
    """Make a ``RosenbrockTableau``.

    Args:
        name, order, gamma: of the method.
        a, C: rows of the second and later stages, (1 and more entries each).
        d, c, m, error: (s,) each.
        error_order: the power of h to which the error estimate is proportional; ``order`` by default.
        H: rows h_r of the dense output (1 - x) y + x y_new + x (1 - x) sum_r x^r (h_r . U), if the method has one of its
            own; the cubic Hermite polynomial by default.

    Returns:
        A method for ``odesolve``.

    Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), IV.7.

    >>> rosenbrock("euler", 1, 1.0, a=[], C=[], d=[1.0], c=[0.0], m=[1.0], error=[1.0]).a.tolist()
    [[0.0]]
    """
    s = len(m)
    weights = np.append(np.array(m, dtype=float), [0.0, 0.0])
    f0, f1 = np.eye(s + 2)[s], np.eye(s + 2)[s + 1]
    if H is None:
        dense = np.stack([f0, 3 * weights - 2 * f0 - f1, f0 + f1 - 2 * weights])
    else:
        rows = [np.append(np.array(row, dtype=float), [0.0, 0.0]) for row in H]
        dense = np.stack([weights + rows[0], *(after - row for row, after in zip(rows, rows[1:])), -rows[-1]])
    matrix = _strictly_lower(a, s)
    return RosenbrockTableau(
        name=name,
        order=order,
        error_order=error_order or order,
        gamma=gamma,
        a=matrix,
        C=_strictly_lower(C, s),
        c=np.array(c, dtype=float),
        d=np.array(d, dtype=float),
        m=np.array(m, dtype=float),
        error=np.array(error, dtype=float),
        interpolant=dense,
        is_last_stage_at_end=bool(np.array_equal(matrix[-1], m) and c[-1] == 1),
        has_own_dense_output=H is not None,
    )


def _strictly_lower(rows: Rows, s: int) -> NDArray[np.float64]:
    matrix = np.zeros((s, s))
    for i, row in enumerate(rows):
        matrix[i + 1, : len(row)] = row
    return matrix


def transformed(alpha: Rows, gammas: Rows, gamma: float, weights: Rows) -> dict[str, Any]:
    """Return a, C, c, d and the transformed ``weights`` of a method that is printed with alpha_ij and gamma_ij.

    >>> transformed([[1.0]], [[0.0]], 0.5, [[0.5, 0.5]])["a"]
    [[2.0]]
    """
    s = len(alpha) + 1
    al, g = _strictly_lower(alpha, s), _strictly_lower(gammas, s) + gamma * np.eye(s)
    inverse = np.linalg.inv(g)
    a, C = al @ inverse, np.eye(s) / gamma - inverse
    return {
        "a": [a[i, :i].tolist() for i in range(1, s)],
        "C": [C[i, :i].tolist() for i in range(1, s)],
        "c": al.sum(axis=1).tolist(),
        "d": g.sum(axis=1).tolist(),
        "weights": [(np.array(w) @ inverse).tolist() for w in weights],
    }


# L. F. Shampine, M. W. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997) 1: ode23s. It has order 2 for any J.
_D, _E = 1 / (2 + sqrt(2)), 6 + sqrt(2)
_ROS23 = transformed([[0.5], [0, 1]], [[-_D], [_D * (_E - 2), -_D * _E]], _D, [[0, 1, 0], [1 / 6, -1 / 3, 1 / 6]])
ROSENBROCK23 = rosenbrock(
    "rosenbrock23", 2, _D, _ROS23["a"], _ROS23["C"], _ROS23["d"], _ROS23["c"], *_ROS23["weights"], error_order=3
)

# J. Lang, J. Verwer, ROS3P: an accurate third-order Rosenbrock solver designed for parabolic problems, BIT 41 (2001) 731.
_G = 1 / 2 + sqrt(3) / 6
_ROS3P = transformed(
    [[1], [1, 0]],
    [[-1], [-_G, 1 / 2 - 2 * _G]],
    _G,
    [[2 / 3, 0, 1 / 3], [2 / 3 - 1 / 3, 0 - 1 / 3, 1 / 3 - 1 / 3]],
)
ROS3P = rosenbrock("ros3p", 3, _G, _ROS3P["a"], _ROS3P["C"], _ROS3P["d"], _ROS3P["c"], *_ROS3P["weights"])

# J. Rang, L. Angermann, New Rosenbrock W-methods of order 3 for partial differential algebraic equations of index 1, BIT 45
# (2005) 761: ROS34PW2. It has order 3 for any matrix in place of J, so an approximate Jacobian does.
_W3 = [2.4212380706095346e-01, -1.2232505839045147, 1.5452602553351020, 4.3586652150845900e-01]
_W2 = [3.7810903145819369e-01, -9.6042292212423178e-02, 0.5, 2.1793326075422950e-01]
_ROS34PW2 = transformed(
    [[8.7173304301691801e-01], [8.4457060015369423e-01, -1.1299064236484185e-01], [0, 0, 1]],
    [
        [-8.7173304301691801e-01],
        [-9.0338057013044082e-01, 5.4180672388095326e-02],
        [2.4212380706095346e-01, -1.2232505839045147, 5.4526025533510214e-01],
    ],
    _W3[3],
    [_W3, [b - other for b, other in zip(_W3, _W2)]],
)
ROS34PW2 = rosenbrock(
    "ros34pw2", 3, _W3[3], _ROS34PW2["a"], _ROS34PW2["C"], _ROS34PW2["d"], _ROS34PW2["c"], *_ROS34PW2["weights"]
)

# Hairer, Wanner II, IV.7 and the code RODAS.
_A4 = [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950]
RODAS4 = rosenbrock(
    "rodas4", 4, 0.25,
    a=[[1.544],
       [0.9466785280815826, 0.2557011698983284],
       [3.314825187068521, 2.896124015972201, 0.9986419139977817],
       _A4,
       [*_A4, 1]],
    C=[[-5.6688],
       [-2.430093356833875, -0.2063599157091915],
       [-0.1073529058151375, -9.594562251023355, -20.47028614809616],
       [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160],
       [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054]],
    d=[0.25, -0.1043, 0.1035, -0.0362, 0, 0],
    c=[0, 0.386, 0.21, 0.63, 1, 1],
    m=[*_A4, 1, 1],
    error=[0, 0, 0, 0, 0, 1],
    H=[[10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662, 0],
       [-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872, 0]],
)  # fmt: skip

# G. Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential
# Equations package, BIT 63 (2023) 27.
_A5 = [-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946]
RODAS5P = rosenbrock(
    "rodas5p", 5, 0.21193756319429014,
    a=[[3.0],
       [2.849394379747939, 0.45842242204463923],
       [-6.954028509809101, 2.489845061869568, -10.358996098473584],
       [2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641],
       _A5,
       [*_A5, 1],
       [*_A5, 1, 1]],
    C=[[-14.155112264123755],
       [-17.97296035885952, -2.859693295451294],
       [147.12150275711716, -1.41221402718213, 71.68940251302358],
       [165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306],
       [24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471],
       [30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
        -28.087943162872662],
       [37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
        -54.66780262877968, -9.48861652309627]],
    d=[0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069, 0, 0, 0],
    c=[0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1, 1, 1],
    m=[*_A5, 1, 1, 1],
    error=[0, 0, 0, 0, 0, 0, 0, 1],
    H=[[25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
        1.1241088310450404, 0.4272876194431874, -0.17202221070155493],
       [-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
        15.98066361424651, -6.789040303419874, -6.710236069923372],
       [11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
        -59.78993625266729, -0.15582684282751913, 4.883087185713722]],
)  # fmt: skip
