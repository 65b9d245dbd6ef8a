"""Structured arrays and records: fields are views, and copies of whole records copy their derivatives."""

from __future__ import annotations

import numpy as np
import numpy.lib.recfunctions
import pytest

import morula as mo

V = np.random.default_rng(3).uniform(0.5, 1.5, 5)
POINT = np.dtype([("x", float), ("y", float, (2,)), ("n", int)])
PAIR = np.dtype([("x", float), ("n", int)])
NESTED = np.dtype([("p", PAIR), ("w", float)])


def points(v, dtype=PAIR):
    s = np.zeros(len(v), dtype)
    s["x"] = v
    s["n"] = range(len(v))
    return s


def fields(v):
    s = points(v, POINT)
    s["y"][:, 0] = v**2
    s[1] = (v[0], [v[1], v[2]], 4)
    return s["x"] * 2, s["y"].sum(1), s[0]["x"], s[1]["y"], s[["x", "n"]]["x"] ** 2


def one_record(v):
    s = points(v)
    r = s[2]
    r["x"] = v[0] ** 2
    r[1] = 7
    x, n = s[1]
    return s["x"], x * n, r["x"] * s[2][1], sum(q["x"] * q["n"] for q in s)


def copied(v):
    s = points(v)
    t = s.copy()
    t["x"] *= 2
    u = s[[3, 1, 1]]
    s["x"] *= 5
    return t["x"] * s["x"], u["x"] ** 2, np.concatenate([s, t])["x"] ** 2, np.take(t, [1, 1])["x"], s[s["n"] > 2]["x"]


def in_order(v):
    s = points(v[::-1])
    t = s.copy()
    t.sort(order="x")
    return np.sort(s, order="x")["x"] * v, t["x"] * v


def made_of_tuples(v):
    return np.array([(v[0], 1), (v[1] * 2, 2)], dtype=PAIR)["x"] ** 2


def assigned(v):
    s = points(v)
    t = np.zeros(4, PAIR)
    t[:2] = s[1:3]
    t[2] = s[4]
    t[3:] = [(v[0] ** 2, 1)]
    return t["x"] ** 2, t.astype([("a", float), ("b", float)])["a"] * 3


def nested(v):
    s = np.zeros(3, NESTED)
    s["p"]["x"] = v[:3]
    s["w"] = v[2:]
    s[0] = ((v[4], 3), v[1] ** 2)
    t = s.copy()
    return t["p"]["x"] * t["w"], t[1]["p"]["x"] ** 2


def record_array(v):
    s = np.rec.array(np.zeros(3, PAIR))
    s.x = v[:3]
    s.x[1] = v[4] ** 2
    s[0].x = v[3]
    return s.x * s["x"], s[2].x, np.rec.fromarrays([v, v * 2], names="u,v").v ** 2, points(v).view(np.recarray).x


def columns(v):
    return np.lib.recfunctions.structured_to_unstructured(points(v, [("x", float), ("n", float)])) ** 2


PROGRAMS = [fields, one_record, copied, in_order, made_of_tuples, assigned, nested, record_array, columns]


@pytest.mark.parametrize("program", PROGRAMS)
def test_records(program):
    mo.testing.check_gradients(program, V)


def test_what_is_not_known_to_move_records_is_refused():
    with pytest.raises(mo.NoDerivative, match="tobytes"):
        mo.grad(lambda v: np.frombuffer(points(v).tobytes(), PAIR)["x"].sum())(V)
