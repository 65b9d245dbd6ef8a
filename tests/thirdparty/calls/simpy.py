"""Discrete-event simulation: processes are generators, time is a float in a heap of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import simpy

from thirdparty.harness import Call

DISTRIBUTION = "simpy"
FIELD = "simulation"


def clock(period: float) -> list[float]:
    env, times = simpy.Environment(), []

    def ticking() -> Iterator[Any]:
        while True:
            yield env.timeout(period)
            times.append(env.now * period)

    env.process(ticking())
    env.run(until=4.0)
    return times[:4]


def queue(arrival: float, service: float) -> list[float]:
    env, left = simpy.Environment(), []
    counter = simpy.Resource(env, capacity=1)

    def customer(number: int) -> Iterator[Any]:
        yield env.timeout(arrival * number)
        with counter.request() as turn:
            yield turn
            yield env.timeout(service)
            left.append(env.now)

    for number in range(3):
        env.process(customer(number))
    env.run()
    return left


def tank(rate: float) -> list[float]:
    env, seen = simpy.Environment(), []
    store = simpy.Container(env, 100.0, init=10.0)

    def filling() -> Iterator[Any]:
        for _ in range(3):
            yield env.timeout(rate)
            yield store.put(rate * 3)

    def emptying() -> Iterator[Any]:
        for _ in range(3):
            yield store.get(rate * 2)
            seen.append(env.now + store.level)

    env.process(filling())
    env.process(emptying())
    env.run()
    return seen


CALLS = {
    "clock": Call(clock, 0.7),
    "queue": Call(queue, 0.7, 1.3),
    "tank": Call(tank, 3.5),
}
