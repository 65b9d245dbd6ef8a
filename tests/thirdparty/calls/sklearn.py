"""Machine learning: estimators in NumPy and SciPy behind parameter validation; some kernels are compiled."""

from __future__ import annotations

import numpy as np
from sklearn import decomposition, kernel_ridge, linear_model, metrics, preprocessing
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.metrics import pairwise
from sklearn.pipeline import make_pipeline

from thirdparty.harness import Call, Refused

DISTRIBUTION = "scikit-learn"
FIELD = "machine learning"

RANDOM = np.random.default_rng(5)
X, Y, AT = RANDOM.normal(size=(8, 3)), RANDOM.normal(size=8), RANDOM.normal(size=(4, 3))
CLASSES = np.array([0, 1, 0, 1, 1, 0, 1, 0])


def gaussian_process(length: float, y: np.ndarray) -> tuple[np.ndarray, float]:
    model = GaussianProcessRegressor(kernels.RBF(length), optimizer=None, alpha=0.1).fit(X, y)
    return model.predict(AT, return_std=True)[1], model.log_marginal_likelihood()


def kernel(length: float, x: np.ndarray) -> np.ndarray:
    return (kernels.ConstantKernel(2.0) * kernels.Matern(length, nu=2.5) + kernels.WhiteKernel(0.1))(x)


def ridge_pipeline(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge(alpha=0.5)).fit(x, y).predict(AT)


def components(x: np.ndarray) -> np.ndarray:
    return decomposition.PCA(2, svd_solver="full").fit_transform(x) ** 2


def spectral_kernel_ridge(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return kernel_ridge.KernelRidge(kernel="rbf", gamma=0.5).fit(x, y).predict(AT)


CALLS = {
    "gaussian_process": Call(gaussian_process, 1.3, Y),
    "kernel": Call(kernel, 1.3, X),
    "ridge_pipeline": Call(ridge_pipeline, X, Y),
    "components": Call(components, X),
    "kernel_ridge": Call(spectral_kernel_ridge, X, Y),
    "scores": Call(lambda p: [metrics.r2_score(Y, p), metrics.mean_absolute_error(Y, p)], Y + 0.3 * X[:, 0]),
    "log_loss": Call(lambda p: metrics.log_loss(CLASSES, p), np.linspace(0.2, 0.8, 8)),
    "distances": Call(lambda x: pairwise.rbf_kernel(x, AT, gamma=0.7) + pairwise.cosine_similarity(x, AT), X),
    "features": Call(lambda x: preprocessing.PolynomialFeatures(2).fit_transform(preprocessing.normalize(x)), X),
    "class_probabilities": Call(lambda x: linear_model.LogisticRegression().fit(X, CLASSES).predict_proba(x), AT),
}
REFUSED = {
    "lasso": Refused(
        "coordinate descent is an extension module of the package",
        "enet_coordinate_descent",
        lambda y: np.sum(linear_model.Lasso(alpha=0.1).fit(X, y).coef_),
        Y,
    ),
}
