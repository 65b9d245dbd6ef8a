"""Models with small matrices or small states: chains of hinges, a stiff reaction, a neuron, Felsenstein's pruning."""

from __future__ import annotations

import numpy as np

from . import Program


def hinges(angles, lengths, goals):
    """The squared errors of the end points of chains of hinges, by products of 4 x 4 matrices."""
    error = 0.0
    for m in range(len(angles)):
        T = np.eye(4)
        for j in range(len(lengths)):
            c, s, a = np.cos(angles[m, j]), np.sin(angles[m, j]), lengths[j]
            if j % 2 == 0:
                A = np.array([[c, -s, 0.0, a * c], [s, c, 0.0, a * s], [0.0, 0.0, 1.0, 0.1], [0.0, 0.0, 0.0, 1.0]])
            else:
                A = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, c, -s, a], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, 1.0]])
            T = T @ A
        tip = T[:3, 3] - goals[m]
        error += tip @ tip
    return error


def _hinges_inputs(size):
    chains, joints = size
    rng = np.random.default_rng(4)
    return rng.normal(size=(chains, joints)), rng.uniform(0.5, 1, joints), rng.normal(size=(chains, 3))


def _oregonator_rate(y, q, f, eps):
    first = (q * y[1] - y[0] * y[1] + y[0] * (1 - y[0])) / eps
    return np.array([first, 50.0 * (-q * y[1] - y[0] * y[1] + f * y[2]), y[0] - y[2]])


def oregonator(steps, h, y0, q, f, eps):
    """The backward Euler method, with Newton's method in each step."""
    y = y0.copy()
    total = 0.0
    for _ in range(steps):
        new = y.copy()
        for _ in range(20):
            residual = new - y - h * _oregonator_rate(new, q, f, eps)
            slope = [(-new[1] + 1 - 2 * new[0]) / eps, (q - new[0]) / eps, 0.0]
            J = np.array([slope, [-50.0 * new[1], 50.0 * (-q - new[0]), 50.0 * f], [1.0, 0.0, -1.0]])
            delta = np.linalg.solve(np.eye(3) - h * J, -residual)
            new = new + delta
            if np.max(np.abs(delta)) < 1e-10:
                break
        y = new
        total += h * y[2]
    return total + np.sum(y**2)


def _oregonator_inputs(steps):
    return steps, 0.002, np.array([0.5, 0.2, 0.3]), 0.002, 1.2, 0.04


def hodgkin_huxley(current, dt, g_na, g_k, g_leak, target):
    v, m, h, n = -65.0, 0.05, 0.6, 0.32
    error = 0.0
    for t in range(len(current)):
        am = 0.1 * (v + 40.0) / (1.0 - np.exp(-(v + 40.0) / 10.0))
        bm = 4.0 * np.exp(-(v + 65.0) / 18.0)
        ah = 0.07 * np.exp(-(v + 65.0) / 20.0)
        bh = 1.0 / (1.0 + np.exp(-(v + 35.0) / 10.0))
        an = 0.01 * (v + 55.0) / (1.0 - np.exp(-(v + 55.0) / 10.0))
        bn = 0.125 * np.exp(-(v + 65.0) / 80.0)
        i_na = g_na * m**3 * h * (v - 50.0)
        i_k = g_k * n**4 * (v + 77.0)
        v += dt * (current[t] - i_na - i_k - g_leak * (v + 54.4))
        m += dt * (am * (1 - m) - bm * m)
        h += dt * (ah * (1 - h) - bh * h)
        n += dt * (an * (1 - n) - bn * n)
        error += (v - target[t]) ** 2
    return error / len(current)


def _neuron_inputs(n):
    rng = np.random.default_rng(6)
    return 10 + rng.normal(size=n), 0.01, 120.0, 36.0, 0.3, rng.normal(size=n) - 60


def pruning(children, lengths, tips, freqs, rate):
    """The likelihood of a tree under Felsenstein's model of 1981, for all sites at once."""
    count, sites = tips.shape
    partials = np.zeros((count + len(children), 4, sites))
    for t in range(count):
        for s in range(sites):
            partials[t, tips[t, s], s] = 1.0
    for k in range(len(children)):
        left, right = children[k]
        stay_l, stay_r = np.exp(-rate * lengths[left]), np.exp(-rate * lengths[right])
        P_l = stay_l * np.eye(4) + (1 - stay_l) * np.outer(np.ones(4), freqs)
        P_r = stay_r * np.eye(4) + (1 - stay_r) * np.outer(np.ones(4), freqs)
        partials[count + k] = (P_l @ partials[left]) * (P_r @ partials[right])
    return np.sum(np.log(freqs @ partials[-1]))


def _pruning_inputs(size):
    tips, sites = size
    rng = np.random.default_rng(1)
    free, children = list(range(tips)), []
    for k in range(tips - 1):
        i, j = sorted(rng.choice(len(free), 2, replace=False))
        children.append((free[i], free.pop(j)))
        free[i] = tips + k
    lengths = rng.uniform(0.05, 0.3, 2 * tips - 1)
    return np.array(children), lengths, rng.integers(0, 4, (tips, sites)), np.array([0.1, 0.2, 0.3, 0.4]), 1.1


PROGRAMS = (
    Program("hinges", hinges, _hinges_inputs, (1000, 6), (3, 4), (0, 1)),
    Program("oregonator", oregonator, _oregonator_inputs, 1000, 20, (2, 3, 4, 5)),
    Program("hodgkin_huxley", hodgkin_huxley, _neuron_inputs, 20000, 50, (0, 2, 3, 4)),
    Program("pruning", pruning, _pruning_inputs, (16, 300), (4, 3), (1, 3, 4)),
)
