"""The lightest truss of ten bars that carries its loads, and what each of its limits costs.

The bars' areas are chosen so that no stress exceeds 25 ksi and no joint moves by more than 2 inches: the benchmark of V.B. Venkayya,
"Design of optimum structures", Comput. Struct. 1 (1971) 265-309, whose optimum weighs 5060.85 pounds (R.T. Haftka and Z. Gurdal, Elements of Structural
Optimization, 1992, section 6). The displacements come from the stiffness matrix, the derivatives of all constraints from the source
of this file, the minimum from sequential quadratic programming. The multipliers of the constraints are the weight that
would be saved for each unit by which a limit is relaxed; they agree with the derivative of the whole design by the limit.

    python examples/ten_bar_truss.py [picture.png]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import morula as mo
from morula.optim import Constraint, minimize

JOINTS = 360.0 * np.array([[2, 1], [2, 0], [1, 1], [1, 0], [0, 1], [0, 0]])  # inches; the last two are held by the wall
BARS = np.array([[4, 2], [2, 0], [5, 3], [3, 1], [2, 3], [0, 1], [4, 3], [5, 2], [2, 1], [3, 0]])
FREE = 8  # displacements of the four joints that move
MODULUS, DENSITY, LEAST = 1e4, 0.1, 0.1  # ksi, pounds per cubic inch, square inches
LOADS = np.array([0.0, 0.0, 0.0, -100.0, 0.0, 0.0, 0.0, -100.0])  # thousands of pounds
PUBLISHED = 5060.85

AWAY = JOINTS[BARS[:, 1]] - JOINTS[BARS[:, 0]]
LENGTHS = np.linalg.norm(AWAY, axis=1)
STRETCH = np.zeros((len(BARS), 12))
for bar, (first, second) in enumerate(BARS):
    STRETCH[bar, 2 * second : 2 * second + 2] = AWAY[bar] / LENGTHS[bar]
    STRETCH[bar, 2 * first : 2 * first + 2] = -AWAY[bar] / LENGTHS[bar]
STRETCH = STRETCH[:, :FREE]  # (10, 8): by how much each displacement lengthens each bar


def displacements(areas):
    stiffness = STRETCH.T @ ((areas * MODULUS / LENGTHS)[:, None] * STRETCH)
    return np.linalg.solve(stiffness, LOADS)


def stresses(areas):
    return MODULUS / LENGTHS * (STRETCH @ displacements(areas))


def weight(areas):
    return DENSITY * np.sum(LENGTHS * areas)


def design(stress_limit=25.0, displacement_limit=2.0) -> Any:
    """Return the lightest design; its multipliers are those of the stresses and of the displacements."""
    return minimize(
        weight,
        np.full(len(BARS), 20.0),
        constraints=[
            Constraint(stresses, lower=-stress_limit, upper=stress_limit),
            Constraint(displacements, lower=-displacement_limit, upper=displacement_limit),
        ],
        bounds=(LEAST, 100.0),
        method="sqp",
    )


def saved_by_displacement(displacement_limit=2.0):
    """Return the pounds that are saved for each inch by which the limit of the displacements is relaxed."""
    return -mo.grad(lambda limit: design(displacement_limit=limit).value)(displacement_limit)


def main(picture: str | None = None) -> None:
    found = design()
    print(f"{found.value:.2f} pounds after {found.iterations} steps; published {PUBLISHED}")
    print("areas", *(f"{a:.3f}" for a in found.x))
    moved, stressed = displacements(found.x), stresses(found.x)
    print(f"largest displacement {np.max(np.abs(moved)):.6f} inches, largest stress {np.max(np.abs(stressed)):.3f} ksi")
    prices = np.abs(found.multipliers[1])
    print("an inch of displacement costs", f"{np.sum(prices):.1f} pounds by the multipliers,", end=" ")
    print(f"{saved_by_displacement():.1f} by the derivative of the design")
    if picture is not None:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
        there = JOINTS.copy()
        there[:4] += 20.0 * moved.reshape(4, 2)
        colours = plt.get_cmap("coolwarm")(0.5 + stressed / 50.0)
        for bar, ends in enumerate(BARS):
            axes.plot(*JOINTS[ends].T, "--", color="0.8", linewidth=1, zorder=0)
            thickness = 0.5 + 2.0 * found.x[bar] ** 0.5
            axes.plot(*there[ends].T, color=colours[bar], linewidth=thickness, solid_capstyle="round")
        for joint in (1, 3):
            axes.annotate("", there[joint] + [0, -70], there[joint], arrowprops={"arrowstyle": "->", "linewidth": 2})
        axes.plot(*there.T, "o", color="black", markersize=4)
        axes.set(aspect="equal", xlabel="inches", ylabel="inches", ylim=(-130, 400))
        axes.set_title(f"{found.value:.0f} pounds: red in tension, blue in compression, displacements 20 times")
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
