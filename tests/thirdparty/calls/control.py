"""Control systems: polynomials and state spaces with operators, responses, Riccati equations, margins."""

from __future__ import annotations

import control as ct
import numpy as np

from thirdparty.harness import Call

DISTRIBUTION = "control"
FIELD = "control"

TIMES = np.linspace(0, 3, 12)
INPUT = np.array([[0.0], [1.0]])


def oscillator(stiffness: float, damping: float) -> ct.StateSpace:
    return ct.ss(np.array([[0.0, 1.0], [-stiffness, -damping]]), INPUT, np.array([[1.0, 0.0]]), np.array([[0.0]]))


def step_response(stiffness: float, damping: float) -> np.ndarray:
    return ct.step_response(oscillator(stiffness, damping), TIMES).outputs


def forced_response(stiffness: float, force: np.ndarray) -> np.ndarray:
    return ct.forced_response(oscillator(stiffness, 0.5), TIMES, force).outputs


def closed_loop(gain: float, pole: float) -> float:
    s = ct.tf("s")
    plant = gain / (s**2 + pole * s + 1)
    return abs(ct.feedback(plant, 1)(0.3j)) + plant.dcgain()


def margins(gain: float, damping: float) -> tuple[float, ...]:
    return ct.margin(ct.tf([gain], [1.0, 3.0, 3.0, damping]))


def regulator(weight: float, dynamics: np.ndarray) -> np.ndarray:
    return ct.lqr(dynamics, INPUT, np.diag([weight, 1.0]), np.array([[1.0]]))[0]


def discrete_regulator(weight: float, dynamics: np.ndarray) -> np.ndarray:
    return ct.dlqr(dynamics, INPUT, np.diag([weight, 1.0]), np.array([[1.0]]))[0]


def placed_poles(pole: float) -> np.ndarray:
    return ct.place(np.array([[0.0, 1.0], [-2.0, -0.6]]), INPUT, np.array([pole, -2.0]))


def sampled(stiffness: float) -> np.ndarray:
    return ct.c2d(oscillator(stiffness, 0.6), 0.1, "zoh").A


def energy(stiffness: float) -> float:
    return ct.system_norm(oscillator(stiffness, 0.6), 2)


def pendulum(stiffness: float) -> np.ndarray:
    system = ct.nlsys(
        lambda t, x, u, p: np.array([x[1], -stiffness * np.sin(x[0]) - 0.5 * x[1] + u[0]]),
        lambda t, x, u, p: x[0],
        inputs=1,
        outputs=1,
        states=2,
    )
    return ct.input_output_response(system, np.linspace(0, 1, 5), np.zeros(5), [1.0, 0.0]).outputs


CALLS = {
    "step_response": Call(step_response, 2.0, 0.6),
    "forced_response": Call(forced_response, 2.0, np.sin(TIMES)),
    "closed_loop": Call(closed_loop, 2.0, 0.6),
    "margins": Call(margins, 2.0, 0.6),
    "regulator": Call(regulator, 2.0, np.array([[0.0, 1.0], [-2.0, -0.6]])),
    "discrete_regulator": Call(discrete_regulator, 2.0, np.array([[1.0, 0.1], [-0.2, 0.9]])),
    "placed_poles": Call(placed_poles, -1.0),
    "sampled": Call(sampled, 2.0),
    "energy": Call(energy, 2.0),
    "pendulum": Call(pendulum, 2.0),
}
