"""Gradient descent in JAX; see ``objectives/descent.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def by_forward_mode(f):
    """As ``jax.jacfwd``, which computes all directions at once: that costs more where f has loops and branches."""
    return lambda x: jnp.stack([jax.jvp(f, (x,), (along,))[1] for along in jnp.eye(len(x))])


MODES = {"f": by_forward_mode, "r": jax.grad}


def repeat(step, state, bound=None):
    """Repeat while the last of the state is true.

    With a bound for the number of steps this is a scan, since JAX has no reverse mode of a ``while`` loop.
    """
    if bound is None:
        return lax.while_loop(lambda state: state[-1], step, state)
    return lax.scan(lambda state, _: (lax.cond(state[-1], step, lambda s: s, state), None), state, length=bound)[0]


def length(v):
    return jnp.sqrt(jnp.sum(v * v))


def argmin(gradient, f, x, rate, bound=None):
    def halve_or_accept(state):
        x, fx, slope, rate, successes, _ = state
        new = x - rate * slope

        def accept(at_new):
            return new, at_new, gradient(f)(new), rate, successes + 1, True

        def try_new():
            at_new = f(new)
            rejected = (x, fx, slope, 0.5 * rate, 0, True)
            return lax.cond(at_new < fx, accept, lambda _: rejected, at_new)

        return lax.cond(length(x - new) <= 1e-5, lambda: (x, fx, slope, rate, successes, False), try_new)

    def step(state):
        x, fx, slope, rate, successes, _ = state
        doubled = (x, fx, slope, 2.0 * rate, 0, True)
        state = lax.cond(successes == 10, lambda _: doubled, halve_or_accept, state)
        return *state[:-1], state[-1] & (length(state[2]) > 1e-5)

    slope = gradient(f)(x)
    return repeat(step, (x, f(x), slope, rate, 0, length(slope) > 1e-5), bound)[0]


def argmax(gradient, f, x, rate, bound=None):
    return argmin(gradient, lambda x: -f(x), x, rate, bound)
