"""Classes whose methods are generated: slots, defaults, converters, frozen instances."""

from __future__ import annotations

import math

import attrs
from attrs import define, field, frozen, validators

from thirdparty.harness import Call

DISTRIBUTION = "attrs"
FIELD = "classes"


@define
class Vector:
    x: float
    y: float = field(default=2.0, validator=validators.instance_of(float))
    tags: list[str] = field(factory=list)
    area: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.area = self.x * self.y

    def norm(self) -> float:
        return math.hypot(self.x, self.y)


@frozen
class Scaled:
    x: float = field(converter=float)
    twice: float = attrs.Factory(lambda self: self.x * 2, takes_self=True)


@define(order=True)
class Ranked:
    value: float


CALLS = {
    "method": Call(lambda x, y: Vector(x, y).norm() * Vector(x, y).area, 1.5, 2.5),
    "as_an_argument": Call(lambda v: v.norm() * v.area, Vector(1.5, 2.5)),
    "evolved": Call(lambda x: attrs.evolve(Vector(x), y=x * x).norm(), 1.5),
    "as_a_dict": Call(lambda x: attrs.asdict(Vector(x, 2.0 * x), filter=lambda a, v: a.name != "tags"), 1.5),
    "frozen": Call(lambda x: Scaled(x).twice * Scaled(x).x, 1.5),
    "ordered": Call(lambda x: max(Ranked(x), Ranked(x * 2)).value, 1.5),
}
