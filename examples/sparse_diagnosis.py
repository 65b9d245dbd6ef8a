"""Diagnose tumours from few measurements: a sparse logistic regression whose penalty is learned by its gradient.

The data are 30 measurements of cell nuclei of 569 patients (W.N. Street, W.H. Wolberg and O.L. Mangasarian, 1993; in scikit-learn). The model
minimises the logistic loss plus ``weight`` times the sum of the absolute coefficients, so that many are exactly zero
(R. Tibshirani, J. R. Stat. Soc. B 58, 1996). The weight is not searched on a grid: the loss on patients that the fit has not seen is
a function of the weight, through the fitted model, and morula differentiates it by the optimality conditions of the fit
(Q. Bertrand et al., J. Mach. Learn. Res. 23, 2022). A third part of the patients is kept for the final test.

    python examples/sparse_diagnosis.py [picture.png]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import morula as mo
from morula.optim import proximal_gradient
from morula.optim.proximal import L1, Separable, Zero


def split():
    """Return three parts of the patients, each the scaled measurements and the diagnoses as -1 and 1."""
    data: Any = load_breast_cancer()
    X, y = data.data, 2.0 * data.target - 1.0
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 3)
    mean, deviation = X[parts[0]].mean(axis=0), X[parts[0]].std(axis=0)
    return [((X[part] - mean) / deviation, y[part]) for part in parts]


def logistic_loss(model, patients):
    X, y = patients
    return np.mean(np.logaddexp(0.0, -y * (X @ model["weights"] + model["bias"])))


def fitted(weight, patients):
    """Return the model that minimises loss and penalty."""
    start = {"weights": np.zeros(patients[0].shape[1]), "bias": 0.0}
    h = Separable({"weights": L1(weight), "bias": Zero()})
    return proximal_gradient(logistic_loss, h, start, patients, method="ista", tol=1e-7).x


def validation_loss(log_weight, train, validation):
    return logistic_loss(fitted(np.exp(log_weight), train), validation)


def learned(train, validation, start=0.1, steps=12):
    """Return the weight with the least validation loss near ``start``, by steps along the gradient, and its model."""
    slope = mo.jit(mo.value_and_grad(validation_loss))
    at, step = np.log(start), 20.0
    value, gradient = slope(at, train, validation)
    for _ in range(steps):
        ahead = at - np.clip(step * gradient, -1.0, 1.0)
        next_value, next_gradient = slope(ahead, train, validation)
        if next_value < value:
            at, value, gradient = ahead, next_value, next_gradient
        else:
            step = step / 4.0
    return np.exp(at), fitted(np.exp(at), train)


def accuracy(model, patients):
    X, y = patients
    return np.mean(np.sign(X @ model["weights"] + model["bias"]) == y)


def main(picture: str | None = None) -> None:
    train, validation, test = split()
    weight, model = learned(train, validation)
    data: Any = load_breast_cancer()
    names = data.feature_names
    order = np.argsort(-np.abs(model["weights"]))
    kept = [i for i in order if model["weights"][i] != 0.0]
    print(f"weight {weight:.4f}; {len(kept)} of {len(names)} measurements are used, most of all:")
    for i in kept[:6]:
        print(f"  {names[i]:24} {model['weights'][i]:7.3f}")
    print(f"accuracy {100 * accuracy(model, test):.1f} % on patients that neither the fit nor the weight has seen")
    if picture is not None:
        import matplotlib.pyplot as plt

        weights = np.geomspace(1e-3, 0.3, 25)
        models = [fitted(w, train) for w in weights]
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        left.semilogx(weights, [logistic_loss(m, train) for m in models], label="fitted patients")
        left.semilogx(weights, [logistic_loss(m, validation) for m in models], label="other patients")
        left.axvline(weight, color="0.5", linestyle="--", label="learned by the gradient")
        left.set(xlabel="weight of the penalty", ylabel="logistic loss")
        left.legend()
        right.semilogx(weights, [m["weights"] for m in models])
        right.axvline(weight, color="0.5", linestyle="--")
        right.set(xlabel="weight of the penalty", ylabel="coefficients")
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
