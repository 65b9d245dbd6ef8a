"""A block of a transformer that reads a sequence: causal attention with several heads, then two layers with GELU.

Sources: A. Vaswani et al., Attention is all you need, NeurIPS 2017; J. L. Ba et al., Layer normalization,
arXiv:1607.06450; D. Hendrycks, K. Gimpel, Gaussian error linear units, arXiv:1606.08415 (the form with tanh).
"""

from __future__ import annotations

import numpy as np

from ..c_code import c_function
from ..program import Program

HEADS = 4


def layer_norm(x, scale, shift):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return scale * centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) + shift


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def causal_attention(x, Wq, Wk, Wv, Wo):
    length, width = x.shape

    def heads(W):
        return np.transpose(np.reshape(x @ W, (length, HEADS, width // HEADS)), (1, 0, 2))

    q, k, v = heads(Wq), heads(Wk), heads(Wv)
    scores = q @ np.swapaxes(k, 1, 2) * (width // HEADS) ** -0.5
    scores = np.where(np.tril(np.ones((length, length), dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.reshape(np.transpose(weights @ v, (1, 0, 2)), (length, width)) @ Wo


def transformer(x, g1, c1, Wq, Wk, Wv, Wo, g2, c2, W1, b1, W2, b2, w):
    """A weighted sum of the block's output."""
    x = x + causal_attention(layer_norm(x, g1, c1), Wq, Wk, Wv, Wo)
    x = x + gelu(layer_norm(x, g2, c2) @ W1 + b1) @ W2 + b2
    return np.sum(x * w)


def transformer_inputs(size):
    """Length and width; the second layer is four times as wide; single precision."""
    length, width = size
    rng = np.random.default_rng(62)

    def norm():
        return [1.0 + 0.1 * rng.normal(size=width), 0.1 * rng.normal(size=width)]

    def layer(n, m):
        return rng.normal(size=(n, m)) / np.sqrt(n)

    arrays = [rng.normal(size=(length, width)), *norm(), *(layer(width, width) for _ in range(4)), *norm()]
    arrays += [layer(width, 4 * width), 0.1 * rng.normal(size=4 * width)]
    arrays += [layer(4 * width, width), 0.1 * rng.normal(size=width), rng.normal(size=(length, width))]
    return tuple(a.astype(np.float32) for a in arrays)


# What lies between the products of matrices, which BLAS does.
TRANSFORMER = r"""
#include <math.h>
#include <string.h>
typedef const float *restrict in;
typedef float *restrict out;
/* unit: the normalised rows; inverse: of their deviations */
void normalise(long rows, long n, in x, in scale, in shift, out unit, out inverse, out y) {
    for (long r = 0; r < rows; r++) {
        const float *a = x + r * n;
        float *u = unit + r * n, *z = y + r * n, sum = 0, square = 0;
        for (long i = 0; i < n; i++) sum += a[i];
        float mean = sum / n;
        for (long i = 0; i < n; i++) { u[i] = a[i] - mean; square += u[i] * u[i]; }
        float s = inverse[r] = 1 / sqrtf(square / n + 1e-5f);
        for (long i = 0; i < n; i++) { u[i] *= s; z[i] = scale[i] * u[i] + shift[i]; }
    }
}
/* adds what x is due to dx */
void normalise_back(long rows, long n, in scale, in unit, in inverse, in dy, out dx, out dscale, out dshift) {
    memset(dscale, 0, n * sizeof(float)); memset(dshift, 0, n * sizeof(float));
    for (long r = 0; r < rows; r++) {
        const float *u = unit + r * n, *g = dy + r * n;
        float *d = dx + r * n, sum = 0, along = 0;
        for (long i = 0; i < n; i++) {
            float h = g[i] * scale[i];
            sum += h; along += h * u[i];
            dscale[i] += g[i] * u[i]; dshift[i] += g[i];
        }
        sum /= n; along /= n;
        for (long i = 0; i < n; i++) d[i] += inverse[r] * (g[i] * scale[i] - sum - u[i] * along);
    }
}
/* In place, each row up to the diagonal, zeros after it. */
void soften(long rows, long n, double factor, float *restrict scores) {
    float f = factor;
    for (long r = 0; r < rows; r++) {
        float *s = scores + r * n, top = s[0], sum = 0;
        long m = r % n + 1;
        for (long i = 1; i < m; i++) top = s[i] > top ? s[i] : top;
        for (long i = 0; i < m; i++) { s[i] = expf(f * (s[i] - top)); sum += s[i]; }
        float inverse = 1 / sum;
        for (long i = 0; i < m; i++) s[i] *= inverse;
        for (long i = m; i < n; i++) s[i] = 0;
    }
}
/* The cotangents of the weights in d become those of the scores. */
void soften_back(long rows, long n, double factor, in weights, float *restrict d) {
    float f = factor;
    for (long r = 0; r < rows; r++) {
        const float *s = weights + r * n;
        float *g = d + r * n, mean = 0;
        long m = r % n + 1;
        for (long i = 0; i < m; i++) mean += s[i] * g[i];
        for (long i = 0; i < m; i++) g[i] = f * s[i] * (g[i] - mean);
        for (long i = m; i < n; i++) g[i] = 0;
    }
}
/* x, to which the bias is added, becomes the derivative; tanh by an exponential */
void gelu(long rows, long n, in bias, float *restrict x, out y) {
    const float a = 0.7978845608f, b = 0.044715f;
    for (long r = 0; r < rows; r++) {
        float *p = x + r * n, *q = y + r * n;
        for (long i = 0; i < n; i++) {
            float v = p[i] + bias[i], square = v * v, e = expf(-2 * a * v * (1 + b * square)), s = 1 / (1 + e);
            q[i] = v * s;
            p[i] = s + 2 * a * v * s * (1 - s) * (1 + 3 * b * square);
        }
    }
}
"""
_normalise, _normalise_back, _soften, _soften_back, _gelu = (
    c_function(TRANSFORMER, name) for name in ("normalise", "normalise_back", "soften", "soften_back", "gelu")
)


def transformer_hand(x, g1, c1, Wq, Wk, Wv, Wo, g2, c2, W1, b1, W2, b2, w):
    length, width = x.shape
    part = width // HEADS
    factor = part**-0.5

    def normalised(x, scale, shift):
        unit, inverse, y = np.empty_like(x), np.empty(len(x), np.float32), np.empty_like(x)
        _normalise(*x.shape, x, scale, shift, unit, inverse, y)
        return y, (unit, inverse)

    def back(dy, scale, kept, dx):
        d = np.empty_like(scale), np.empty_like(scale)
        _normalise_back(*dy.shape, scale, *kept, dy, dx, *d)
        return d

    W = np.concatenate([Wq, Wk, Wv], axis=1)
    n1, kept1 = normalised(x, g1, c1)
    qkv = n1 @ W
    q, k, v = qkv.reshape(length, 3, HEADS, part).transpose(1, 2, 0, 3)
    weights = q @ k.transpose(0, 2, 1)
    _soften(HEADS * length, length, factor, weights)
    mixed = np.empty_like(x)
    np.matmul(weights, v, out=mixed.reshape(length, HEADS, part).transpose(1, 0, 2))
    middle = mixed @ Wo
    middle += x
    n2, kept2 = normalised(middle, g2, c2)
    slopes = n2 @ W1
    hidden = np.empty_like(slopes)
    _gelu(length, 4 * width, b1, slopes, hidden)
    y = hidden @ W2
    y += middle
    y += b2
    value = np.vdot(y, w)

    dhidden = w @ W2.T
    dhidden *= slopes
    dmiddle = w.copy()
    dg2, dc2 = back(dhidden @ W1.T, g2, kept2, dmiddle)
    dmixed = (dmiddle @ Wo.T).reshape(length, HEADS, part).transpose(1, 0, 2)
    dscores = dmixed @ v.transpose(0, 2, 1)
    _soften_back(HEADS * length, length, factor, weights, dscores)
    dqkv = np.empty_like(qkv)
    dq, dk, dv = dqkv.reshape(length, 3, HEADS, part).transpose(1, 2, 0, 3)
    np.matmul(dscores, k, out=dq)
    np.matmul(dscores.transpose(0, 2, 1), q, out=dk)
    np.matmul(weights.transpose(0, 2, 1), dmixed, out=dv)
    dx = dmiddle.copy()
    dg1, dc1 = back(dqkv @ W.T, g1, kept1, dx)
    dW = n1.T @ dqkv
    return value, (
        dx, dg1, dc1, *np.split(dW, 3, axis=1), mixed.T @ dmiddle,
        dg2, dc2, n2.T @ dhidden, dhidden.sum(0), hidden.T @ w, w.sum(0),
    )  # fmt: skip


def transformer_jax(x, g1, c1, Wq, Wk, Wv, Wo, g2, c2, W1, b1, W2, b2, w):
    import jax
    import jax.numpy as jnp

    length, width = x.shape

    def norm(x, scale, shift):
        return scale * jax.nn.standardize(x, axis=-1, epsilon=1e-5) + shift

    qkv = norm(x, g1, c1) @ jnp.concatenate([Wq, Wk, Wv], axis=1)
    q, k, v = (t.reshape(length, HEADS, -1) for t in jnp.split(qkv, 3, axis=1))
    mixed = jax.nn.dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
    x = x + mixed.reshape(length, width) @ Wo
    x = x + jax.nn.gelu(norm(x, g2, c2) @ W1 + b1) @ W2 + b2
    return jnp.sum(x * w)


PROGRAMS = (
    Program(
        "transformer",
        transformer,
        transformer_inputs,
        (192, 128),
        (6, 8),
        tuple(range(13)),
        transformer_hand,
        transformer_jax,
        rtol=2e-4,
    ),
)
