"""Interpolators of scattered points, which keep their data inside C objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import LinearNDInterpolator

from ...rules.registry import CALLERS, handles
from ...rules.scipy_interpolate import linear_in_simplex
from ...rules.table import Model
from ...values.numbers import NO_KEYWORDS, call_on
from ..arrays.models import call_model
from ..recorded.call import call
from ..recorded.tape import Tape
from ..unrecorded.opaque_calls import call_opaque

LINEAR = Model(lambda interpolator, points, values, x, fill, options: interpolator(x, **options), linear_in_simplex)


@handles(LinearNDInterpolator)
def make_linear(tape: Tape, points: Any, values: Any, *more: Any, **options: Any) -> Any:
    """Make the interpolator, and keep copies of its points and values on the tape."""
    given = isinstance(points, np.ndarray) and points.ndim == 2 and isinstance(values, np.ndarray)
    if not given or more or options.get("rescale"):
        return call_opaque(tape, LinearNDInterpolator, (points, values, *more), options)
    interpolator = call_on(tape.parent, LinearNDInterpolator, points, values, **options)
    tape.memory[interpolator] = (
        call(tape, np.copy, points),
        call(tape, np.copy, values),
        options.get("fill_value", np.nan),
    )
    return interpolator


def _call_linear(tape: Tape, interpolator: Any, *args: Any, **options: Any) -> Any:
    if interpolator not in tape.memory:
        return call_opaque(tape, interpolator, args, options)
    x = args[0] if len(args) == 1 else call(tape, np.stack, call(tape, np.broadcast_arrays, *args), axis=-1)
    x = call(tape, np.asarray, x)
    points, values, fill = tape.memory[interpolator]
    return call_model(tape, LINEAR, (interpolator, points, values, x, fill, options), NO_KEYWORDS)


CALLERS[LinearNDInterpolator] = _call_linear
