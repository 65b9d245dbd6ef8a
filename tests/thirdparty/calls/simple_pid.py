"""A controller as a callable object that remembers its last input, in a loop with the plant."""

from __future__ import annotations

from simple_pid import PID

from thirdparty.harness import Call

DISTRIBUTION = "simple-pid"
FIELD = "control"
HELD_OUT = True


def boiler(kp: float, ki: float, kd: float) -> float:
    pid, water = PID(kp, ki, kd, setpoint=40.0, sample_time=None), 20.0
    for _ in range(25):
        water += 0.1 * pid(water, dt=0.1) - 0.02 * (water - 20.0)
    return water


def limited(kp: float, ki: float) -> float:
    pid, water = PID(kp, ki, 0.05, setpoint=30.0, output_limits=(0.0, 12.0), sample_time=None), 20.0
    for _ in range(25):
        water += 0.1 * pid(water, dt=0.1) - 0.01 * (water - 20.0)
    return water


def retuned(setpoint: float, kp: float) -> list[float]:
    pid = PID(1.0, 0.1, 0.05, setpoint=setpoint, sample_time=None)
    outputs = [pid(0.2 * i, dt=0.5) for i in range(4)]
    pid.tunings = (kp, 0.2, 0.1)
    outputs += [pid(0.3 * i, dt=0.5) for i in range(4)]
    return outputs + list(pid.components)


def on_measurement(kp: float, setpoint: float) -> float:
    pid = PID(kp, 0.3, 0.05, setpoint=setpoint, sample_time=None, proportional_on_measurement=True)
    pid.error_map = lambda error: error / (1.0 + error * error)
    return sum(pid(0.2 * i, dt=0.5) for i in range(6))


CALLS = {
    "boiler": Call(boiler, 1.0, 0.1, 0.05),
    "limited": Call(limited, 1.0, 0.1),
    "retuned": Call(retuned, 3.0, 1.5),
    "on_measurement": Call(on_measurement, 1.2, 3.0),
}
