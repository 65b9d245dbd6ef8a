"""The published methods, as chains of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .matrices import Kronecker, Orthogonal, Rotated
from .modifiers import decay_weights, trust_ratio
from .moments import Adaptive, Momentum, RootMeanSquare, Sign
from .optimiser import Chain, Descend, Optimiser, Rate, Step, check, check_rate
from .sophia import Curved
from .wrappers import ScheduleFreeOptimiser

Mask = Callable[[str, Any], bool]


def sgd(learning_rate: Rate = 0.01, momentum: float = 0.0, nesterov: bool = False) -> Chain:
    """Make gradient descent with momentum: v <- momentum v + g, then x <- x - learning_rate v.

    Args:
        learning_rate: positive, or a schedule.
        momentum: in [0, 1); 0 is plain gradient descent.
        nesterov: use Nesterov's momentum, which looks ahead along the velocity.

    Returns:
        The optimiser.

    Raises:
        BadInput: a setting is outside its range.

    Source: I. Sutskever, J. Martens, G. Dahl, G. Hinton, On the importance of initialization and momentum in deep
    learning (2013); Nesterov's form after Y. Bengio, N. Boulanger-Lewandowski, R. Pascanu, Advances in optimizing recurrent
    networks (2013), equation 7.

    >>> sgd(0.1)
    Chain(steps=(Descend(rate=0.1),))
    """
    check("sgd", "momentum", momentum, "a number in [0, 1)", 0 <= momentum < 1)
    return _descending("sgd", learning_rate, *([Momentum(momentum, nesterov)] if momentum else []))


def adam(learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> Chain:
    """Make Adam, whose steps have about the size of the learning rate whatever the scale of the gradient.

    Args:
        learning_rate: positive, or a schedule; approximately the largest change of a parameter in one step.
        beta1, beta2: in [0, 1); the decay rates of the running means of the gradient and of its square.
        epsilon: positive; added to the denominator, so that it does not vanish with the gradient.

    Returns:
        The optimiser.

    Raises:
        BadInput: a setting is outside its range.

    Source: D. P. Kingma and J. L. Ba, Adam: a method for stochastic optimization (2015), algorithm 1.

    >>> method = adam(0.01)
    >>> round(method.update(1.0, 5.0, method.init(1.0))[0], 6)
    0.99
    """
    return _descending("adam", learning_rate, _adaptive("adam", beta1, beta2, epsilon))


def adamw(
    learning_rate: Rate = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    decay: float = 0.01,
    mask: Mask | None = None,
) -> Chain:
    """Make Adam with decoupled weight decay; ``mask`` as for ``decay_weights``.

    Source: I. Loshchilov and F. Hutter, Decoupled weight decay regularization (2019), algorithm 2.
    """
    return _descending("adamw", learning_rate, _adaptive("adamw", beta1, beta2, epsilon), decay_weights(decay, mask))


def nadam(learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> Chain:
    """Make Adam with Nesterov's momentum.

    Source: T. Dozat, Incorporating Nesterov momentum into Adam (2016), algorithm 2, with constant beta1.
    """
    return _descending("nadam", learning_rate, _adaptive("nadam", beta1, beta2, epsilon, nesterov=True))


def adabelief(learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-16) -> Chain:
    """Make AdaBelief, which divides by the deviation of the gradient from its mean.

    Source: J. Zhuang et al., AdaBelief optimizer (2020), algorithm 2.
    """
    return _descending("adabelief", learning_rate, _adaptive("adabelief", beta1, beta2, epsilon, centred=True))


def adagrad(learning_rate: Rate = 0.1, epsilon: float = 1e-7) -> Chain:
    """Make AdaGrad, which divides by the root of the sum of all squared gradients.

    Source: J. Duchi, E. Hazan and Y. Singer, J. Mach. Learn. Res. 12 (2011) 2121-2159.
    """
    check("adagrad", "epsilon", epsilon, "a positive number", 0 < epsilon < np.inf)
    return _descending("adagrad", learning_rate, RootMeanSquare(1.0, epsilon))


def rmsprop(learning_rate: Rate = 0.001, decay: float = 0.9, epsilon: float = 1e-8, momentum: float = 0.0) -> Chain:
    """Make RMSprop, which divides by the running root mean square of the gradient.

    Source: G. Hinton, Neural networks for machine learning, lecture 6e (2012).
    """
    check("rmsprop", "decay", decay, "a number in [0, 1)", 0 <= decay < 1)
    check("rmsprop", "epsilon", epsilon, "a positive number", 0 < epsilon < np.inf)
    check("rmsprop", "momentum", momentum, "a number in [0, 1)", 0 <= momentum < 1)
    steps: list[Step] = [RootMeanSquare(decay, epsilon)]
    return _descending("rmsprop", learning_rate, *steps, *([Momentum(momentum, False)] if momentum else []))


def lion(
    learning_rate: Rate = 1e-4, beta1: float = 0.9, beta2: float = 0.99, decay: float = 0.0, mask: Mask | None = None
) -> Chain:
    """Make Lion, which moves every parameter by the learning rate along the sign of an averaged gradient.

    Source: X. Chen et al., Symbolic discovery of optimization algorithms (2023), algorithm 2.
    """
    _check_betas("lion", beta1, beta2)
    return _descending("lion", learning_rate, Sign(beta1, beta2), decay_weights(decay, mask))


def lamb(
    learning_rate: Rate = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    decay: float = 0.0,
    mask: Mask | None = None,
) -> Chain:
    """Make LAMB, Adam with steps in proportion to the norm of each leaf, for large batches.

    Source: Y. You et al., Large batch optimization for deep learning (2020), algorithm 2.
    """
    steps = (_adaptive("lamb", beta1, beta2, epsilon), decay_weights(decay, mask), trust_ratio())
    return _descending("lamb", learning_rate, *steps)


def muon(learning_rate: Rate = 0.02, momentum: float = 0.95, decay: float = 0.0, mask: Mask | None = None) -> Chain:
    """Make Muon: orthogonalised momentum for matrices; Adam for numbers and vectors.

    Source: K. Jordan et al., Muon: an optimizer for hidden layers in neural networks (2024).
    """
    check("muon", "momentum", momentum, "a number in [0, 1)", 0 <= momentum < 1)
    return _descending(
        "muon", learning_rate, Orthogonal(momentum, Adaptive(0.9, 0.95, 1e-8)), decay_weights(decay, mask)
    )


def shampoo(learning_rate: Rate = 0.1, decay: float = 1.0, epsilon: float = 1e-6, momentum: float = 0.0) -> Chain:
    """Make Shampoo: preconditioners for rows and columns of matrices; O(rows³ + columns³) an update.

    Source: V. Gupta, T. Koren and Y. Singer, Shampoo: preconditioned stochastic tensor optimization (2018), algorithm 1.
    """
    check("shampoo", "decay", decay, "a number in (0, 1]", 0 < decay <= 1)
    check("shampoo", "epsilon", epsilon, "a positive number", 0 < epsilon < np.inf)
    steps: list[Step] = [Kronecker(decay, epsilon)]
    return _descending("shampoo", learning_rate, *steps, *([Momentum(momentum, False)] if momentum else []))


def soap(
    learning_rate: Rate = 0.003,
    beta1: float = 0.95,
    beta2: float = 0.95,
    epsilon: float = 1e-8,
    decay: float = 0.0,
    mask: Mask | None = None,
) -> Chain:
    """Make SOAP: Adam in the eigenvectors of Shampoo's preconditioners, which are renewed at each update.

    Source: N. Vyas et al., SOAP: improving and stabilizing Shampoo using Adam (2024), algorithm 3.
    """
    step = Rotated(_adaptive("soap", beta1, beta2, epsilon), beta2)
    return _descending("soap", learning_rate, step, decay_weights(decay, mask))


def sophia(
    learning_rate: Rate = 1e-3,
    beta1: float = 0.96,
    beta2: float = 0.99,
    gamma: float = 0.05,
    epsilon: float = 1e-12,
    decay: float = 0.0,
    mask: Mask | None = None,
) -> Chain:
    """Make Sophia; give ``update`` an estimate of the curvature every few steps: ``curvature=curvature_estimate(...)``.

    Source: H. Liu et al., Sophia: a scalable stochastic second-order optimizer (2024), algorithm 3.
    """
    _check_betas("sophia", beta1, beta2)
    check("sophia", "gamma", gamma, "a positive number", 0 < gamma < np.inf)
    return _descending("sophia", learning_rate, Curved(beta1, beta2, gamma, epsilon), decay_weights(decay, mask))


def schedule_free(
    learning_rate: float = 0.0025, beta: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Optimiser:
    """Make schedule-free Adam: gradients are taken between the iterates and their average, which needs no schedule.

    ``evaluated(parameters, state)`` returns the average, to be used outside of training.

    Source: A. Defazio et al., The road less scheduled (2024), equations 3 to 5.
    """
    check("schedule_free", "learning_rate", learning_rate, "a positive number", 0 < learning_rate < np.inf)
    check("schedule_free", "beta", beta, "a number in [0, 1)", 0 <= beta < 1)
    return ScheduleFreeOptimiser(learning_rate, beta, _adaptive("schedule_free", 0.0, beta2, epsilon))


def _descending(method: str, rate: Rate, *steps: Step) -> Chain:
    check_rate(method, rate)
    return Chain((*steps, Descend(rate)))


def _adaptive(
    method: str, beta1: float, beta2: float, epsilon: float, nesterov: bool = False, centred: bool = False
) -> Adaptive:
    _check_betas(method, beta1, beta2)
    check(method, "epsilon", epsilon, "a positive number", 0 < epsilon < np.inf)
    return Adaptive(beta1, beta2, epsilon, nesterov, centred)


def _check_betas(method: str, beta1: float, beta2: float) -> None:
    check(method, "beta1", beta1, "a number in [0, 1)", 0 <= beta1 < 1)
    check(method, "beta2", beta2, "a number in [0, 1)", 0 <= beta2 < 1)
