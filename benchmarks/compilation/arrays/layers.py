"""Products and layers: 2mm, convolution over windows and a multi-layer perceptron, as in NPBench (Ziogas et al., ICS 2021)."""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program
from .elementwise import softmax_kernel

# ---- 2mm


def two_mm_kernel(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D


def two_mm(alpha, beta, A, B, C, D, w):
    D = D.copy()
    two_mm_kernel(alpha, beta, A, B, C, D)
    return np.sum(D * w)


def two_mm_inputs(size):
    """Matrices of about ``size`` by ``size``, none of them square."""
    random = np.random.default_rng(0)
    i, j, k, m = size, size + size // 8, size - size // 8, size + size // 4
    shapes = (i, k), (k, j), (j, m), (i, m), (i, m)
    return 1.5, 1.2, *(random.standard_normal(shape) for shape in shapes)


def two_mm_hand(alpha, beta, A, B, C, D, w):
    T = A @ B
    out = T @ C
    out *= alpha
    out += beta * D
    value = np.vdot(out, w)
    v = alpha * w
    dT = v @ C.T
    return value, (dT @ B.T, A.T @ dT, T.T @ v, beta * w)


def two_mm_jax(alpha, beta, A, B, C, D, w):
    import jax.numpy as jnp

    return jnp.sum((alpha * (A @ B) @ C + beta * D) * w)


# ---- convolution


def conv2d(input, weights):
    K = weights.shape[0]  # Assuming square kernel
    N = input.shape[0]
    H_out = input.shape[1] - K + 1
    W_out = input.shape[2] - K + 1
    C_out = weights.shape[3]
    output = np.empty((N, H_out, W_out, C_out), dtype=np.float32)

    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )

    return output


def conv2d_bias(input, weights, bias):
    return conv2d(input, weights) + bias


def conv(input, weights, bias, w):
    return np.sum(conv2d_bias(input, weights, bias) * w)


def conv_inputs(size):
    """8 images of ``size`` by ``size`` pixels, 3 channels to 16, windows of 5 by 5, single precision."""
    random = np.random.default_rng(0)
    N, K, channels, C_out = 8, 5, 3, 16
    out = size - K + 1
    shapes = (N, size, size, channels), (K, K, channels, C_out), (C_out,), (N, out, out, C_out)
    return tuple(random.random(shape, dtype=np.float32) for shape in shapes)


# A pixel's 16 results are one vector; four pixels of a row are in flight, so that each weight that is loaded serves four.
CONV = r"""
#define C 16
#define P 4
typedef float vector __attribute__((vector_size(C * sizeof(float)), aligned(4)));
static float total(vector v) { float s = 0; for (int c = 0; c < C; c++) s += v[c]; return s; }
double conv(long N, long H, long W, long I, long K, const float *restrict x, const float *restrict weights,
            const float *restrict bias, const float *restrict w, float *restrict dx, float *restrict dweights,
            float *restrict dbias) {
    long h = H - K + 1, m = W - K + 1;
    const vector *f = (const vector *)weights, *b = (const vector *)bias, *v = (const vector *)w;
    vector *df = (vector *)dweights, db = {0};
    double value = 0;
    for (long n = 0; n < N; n++)
        for (long i = 0; i < h; i++) {
            vector dot = {0};
            for (long j = 0; j < m; j += P) {
                int count = m - j < P ? m - j : P;
                vector y[P];
                for (int p = 0; p < P; p++) y[p] = *b;
                for (long k = 0; k < K; k++) {
                    const float *row = x + ((n * H + i + k) * W + j) * I;
                    if (count == P)
                        for (long l = 0; l < K * I; l++)
                            for (int p = 0; p < P; p++) y[p] += row[l + p * I] * f[k * K * I + l];
                    else
                        for (long l = 0; l < K * I; l++)
                            for (int p = 0; p < count; p++) y[p] += row[l + p * I] * f[k * K * I + l];
                }
                for (int p = 0; p < count; p++) {
                    vector g = v[(n * h + i) * m + j + p];
                    dot += y[p] * g;
                    db += g;
                }
            }
            value += total(dot);
        }
    *(vector *)dbias = db;
    for (long k = 0; k < K; k++)
        for (long l = 0; l < K * I; l++) df[k * K * I + l] = (vector){0};
    for (long n = 0; n < N; n++)
        for (long i = 0; i < h; i++)
            for (long k = 0; k < K; k++) {
                const float *row = x + (n * H + i + k) * W * I;
                const vector *g = v + (n * h + i) * m;
                for (long l = 0; l + 5 <= K * I; l += 5) {
                    vector s[5] = {0};
                    for (long j = 0; j < m; j++)
                        for (int q = 0; q < 5; q++) s[q] += row[j * I + l + q] * g[j];
                    for (int q = 0; q < 5; q++) df[k * K * I + l + q] += s[q];
                }
                for (long l = K * I / 5 * 5; l < K * I; l++)
                    for (long j = 0; j < m; j++) df[k * K * I + l] += row[j * I + l] * g[j];
            }
    for (long n = 0; n < N; n++)
        for (long i = 0; i < H; i++)
            for (long j = 0; j < W; j++)
                for (long q = 0; q < I; q++) {
                    vector s = {0};
                    long k0 = i - h + 1 > 0 ? i - h + 1 : 0, k1 = i < K - 1 ? i : K - 1;
                    long l0 = j - m + 1 > 0 ? j - m + 1 : 0, l1 = j < K - 1 ? j : K - 1;
                    for (long k = k0; k <= k1; k++)
                        for (long l = l0; l <= l1; l++)
                            s += f[(k * K + l) * I + q] * v[(n * h + i - k) * m + j - l];
                    dx[((n * H + i) * W + j) * I + q] = total(s);
                }
    return value;
}
"""
_conv = c_function(CONV, "conv", ctypes.c_double)


def conv_hand(input, weights, bias, w):
    assert weights.shape[3] == 16
    d = [np.empty_like(x) for x in (input, weights, bias)]
    value = _conv(*input.shape, weights.shape[0], input, weights, bias, w, *d)
    return np.float32(value), tuple(d)


def conv_jax(input, weights, bias, w):
    import jax.numpy as jnp
    from jax import lax

    y = lax.conv_general_dilated(input, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.sum((y + bias) * w)


# ---- multi-layer perceptron


def relu(x):
    return np.maximum(x, 0)


def mlp_kernel(input, w1, b1, w2, b2, w3, b3):
    x = relu(input @ w1 + b1)
    x = relu(x @ w2 + b2)
    x = softmax_kernel(x @ w3 + b3)  # Softmax call can be omitted if necessary
    return x


def mlp(input, w1, b1, w2, b2, w3, b3, w):
    return np.sum(mlp_kernel(input, w1, b1, w2, b2, w3, b3) * w)


def mlp_inputs(size):
    """A batch of ``size`` samples through layers 2 ``size`` wide, single precision."""
    random = np.random.default_rng(0)
    widths = size, 2 * size, 2 * size, size // 2
    layers = []
    for n, m in zip(widths, widths[1:]):
        layers += [random.standard_normal((n, m)) / np.sqrt(n), random.standard_normal(m)]
    arrays = random.standard_normal((size, size)), *layers, random.standard_normal((size, widths[-1]))
    return tuple(a.astype(np.float32) for a in arrays)


def mlp_hand(input, w1, b1, w2, b2, w3, b3, w):
    def layer(x, weights, bias):
        y = x @ weights
        y += bias
        return np.maximum(y, 0, out=y)

    x1 = layer(input, w1, b1)
    x2 = layer(x1, w2, b2)
    y = x2 @ w3
    y += b3
    y -= y.max(1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(1, keepdims=True)
    mean = np.einsum("ij,ij->i", y, w)
    y *= w - mean[:, None]
    d2 = y @ w3.T
    d2 *= x2 > 0
    d1 = d2 @ w2.T
    d1 *= x1 > 0
    return mean.sum(), (input.T @ d1, d1.sum(0), x1.T @ d2, d2.sum(0), x2.T @ y, y.sum(0))


def mlp_jax(input, w1, b1, w2, b2, w3, b3, w):
    import jax
    import jax.numpy as jnp

    x = jax.nn.relu(input @ w1 + b1)
    x = jax.nn.relu(x @ w2 + b2)
    return jnp.sum(jax.nn.softmax(x @ w3 + b3, axis=-1) * w)


PROGRAMS = (
    Program("2mm", two_mm, two_mm_inputs, 240, 12, (2, 3, 4, 5), two_mm_hand, two_mm_jax),
    Program("conv", conv, conv_inputs, 48, 9, (0, 1, 2), conv_hand, conv_jax, rtol=2e-4),
    Program("mlp", mlp, mlp_inputs, 160, 10, (1, 2, 3, 4, 5, 6), mlp_hand, mlp_jax, rtol=2e-4),
)
