"""Models that are validated by compiled code: parameter containers whose fields keep their values."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, field_validator

from thirdparty.harness import Call, Refused

DISTRIBUTION = "pydantic"
FIELD = "classes"


class Spring(BaseModel):
    stiffness: float
    mass: float = 2.0
    loads: list[float] = []

    @property
    def frequency(self) -> float:
        return (self.stiffness / self.mass) ** 0.5 + sum(self.loads)


class Weights(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    w: np.ndarray
    scale: float

    def total(self) -> float:
        return float(self.w.sum() * self.scale)


class Doubled(BaseModel):
    value: float

    @field_validator("value")
    @classmethod
    def double(cls, value: float) -> float:
        return 2 * value


CALLS = {
    "as_an_argument": Call(lambda spring: spring.frequency, Spring(stiffness=1.5, loads=[1.0, 2.0])),
    "made_inside": Call(lambda k: Spring(stiffness=k, loads=[k, 3.0]).frequency, 1.5),
    "copied": Call(lambda k: Spring(stiffness=1.0).model_copy(update={"stiffness": k}).frequency, 1.5),
    "constructed": Call(lambda k: Spring.model_construct(stiffness=k, mass=2 * k + 1).frequency, 1.5),
    "of_arrays": Call(lambda w, s: Weights(w=w, scale=s).total(), np.array([1.0, 2.0]), 3.0),
}
REFUSED = {
    "validator": Refused(
        "compiled code calls the validator and stores its result",
        "SchemaValidator.validate_python",
        lambda x: Doubled(value=x).value,
        1.5,
    ),
    "dump": Refused(
        "compiled code creates new numbers from the fields",
        "SchemaSerializer.to_python",
        lambda k: Spring(stiffness=k).model_dump()["stiffness"],
        1.5,
    ),
}
