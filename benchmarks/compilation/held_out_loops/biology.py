"""Molecular biology: the partition function of an RNA's secondary structures, the likelihood of a phylogenetic tree.

Sources: J. S. McCaskill, The equilibrium partition function and base pair binding probabilities for RNA secondary
structure, Biopolymers 29 (1990) 1105-1119, with an energy for each pair; J. Felsenstein, Evolutionary trees from DNA
sequences, J. Mol. Evol. 17 (1981) 368-376; M. Kimura, J. Mol. Evol. 16 (1980) 111-120.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

# ---- RNA folding

LOOP = 3  # the fewest unpaired bases in a hairpin


def rna_folding(energy, kT):
    """The free energy of the ensemble of structures; its gradient is the probability of each pair."""
    n = len(energy)
    boltzmann = np.exp(-energy / kT)
    Z = np.ones((n + 1, n + 1))  # Z[i, j]: of the bases i to j - 1
    for j in range(LOOP + 2, n + 1):
        for i in range(j - LOOP - 2, -1, -1):
            total = Z[i, j - 1]  # the last base is unpaired
            for k in range(i, j - 1 - LOOP):
                total += Z[i, k] * boltzmann[k, j - 1] * Z[k + 1, j - 1]
            Z[i, j] = total
    return -kT * np.log(Z[0, n])


def rna_folding_inputs(n):
    """Energies in kcal/mol: pairs of a random sequence, the others with a high energy."""
    rng = np.random.default_rng(33)
    bases = rng.integers(0, 4, n)  # A, C, G, U
    pair = np.full((4, 4), 6.0)
    for a, b, e in ((0, 3, -1.0), (1, 2, -2.0), (2, 3, 0.5)):
        pair[a, b] = pair[b, a] = e
    return pair[bases[:, None], bases] + 0.2 * rng.normal(size=(n, n)), 0.616


# For an end j, the totals are a product of a triangle of Z with a vector.  On the way back, what a column of Z is due
# from later ends is gathered when its turn comes, so that all inner loops read rows and none writes a matrix.
RNA = f"""
#include <stdlib.h>
#define LOOP {LOOP}
/* y[i] = sum over k in [i, end) of M[i][k] q[k], for rows i < rows; M is zero below its diagonal */
static void product(long rows, long stride, long start, long end, const double *restrict M, const double *restrict q,
                    double *restrict y) {{
    long i = 0;
    for (; i + 4 <= rows; i += 4) {{
        const double *a = M + i * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        double p = 0, r = 0, s = 0, t = 0;
        for (long k = start > i ? start : i & ~3L; k < end; k++) {{
            p += a[k] * q[k]; r += b[k] * q[k]; s += c[k] * q[k]; t += d[k] * q[k];
        }}
        y[i] = p; y[i + 1] = r; y[i + 2] = s; y[i + 3] = t;
    }}
    for (; i < rows; i++) {{
        double p = 0;
        for (long k = start > i ? start : i; k < end; k++) p += M[i * stride + k] * q[k];
        y[i] = p;
    }}
}}
/* Z: zero, with room for rows of N; returns Z[0, n]; d: the cotangent of log Z[0, n] for each Boltzmann factor */
double rna(long n, long N, const double *restrict boltzmann, double *restrict Z, double *restrict Q,
           double *restrict G, double *restrict d) {{
    double q[N], y[N], next[N], due[N];
    for (long i = 0; i <= n; i++)
        for (long j = i; j <= n && j < i + LOOP + 2; j++) Z[i * N + j] = 1;
    for (long j = LOOP + 2; j <= n; j++) {{
        long K = j - 1 - LOOP;
        for (long k = 0; k < K; k++) q[k] = Q[k * N + j] = boltzmann[k * n + j - 1] * Z[(k + 1) * N + j - 1];
        product(K, N, 0, K, Z, q, y);
        for (long i = 0; i < K; i++) Z[i * N + j] = Z[i * N + j - 1] + y[i];
    }}
    for (long i = 0; i <= n; i++) next[i] = 0;
    next[0] = 1 / Z[n];
    for (long j = n; j >= LOOP + 2; j--) {{
        long K = j - 1 - LOOP;
        product(K, N, j + LOOP + 2, n + 1, G, Q + j * N, due);
        for (long k = 0; k < K; k++) y[k] = G[k * N + j] = next[k] + due[k];
        for (long k = 0; k < K; k++) q[k] = 0;
        long i = 0;
        for (; i + 4 <= K; i += 4) {{
            const double *a = Z + i * N, *b = a + N, *c = b + N, *e = c + N;
            double p = y[i], r = y[i + 1], s = y[i + 2], t = y[i + 3];
            for (long k = i; k < K; k++) q[k] += p * a[k] + r * b[k] + s * c[k] + t * e[k];
        }}
        for (; i < K; i++) for (long k = i; k < K; k++) q[k] += y[i] * Z[i * N + k];
        for (long k = 0; k < K; k++) next[k] = y[k];
        for (long k = K; k <= n; k++) next[k] = 0;
        for (long k = 0; k < K; k++) {{
            d[k * n + j - 1] = q[k] * Z[(k + 1) * N + j - 1];
            next[k + 1] += q[k] * boltzmann[k * n + j - 1];
        }}
    }}
    return Z[n];
}}
"""
_rna = c_function(RNA, "rna", ctypes.c_double)


def rna_folding_hand(energy, kT):
    n = len(energy)
    boltzmann = np.exp(energy * (-1.0 / kT))
    stride = (n + 4) // 4 * 4
    Z, Q, G = (np.zeros((n + 4, stride)) for _ in range(3))
    d = np.zeros((n, n))
    logarithm = np.log(_rna(n, stride, boltzmann, Z, Q, G, d))
    d *= boltzmann  # the probability of each pair
    return -kT * logarithm, (d, -logarithm - np.vdot(d, energy) / kT)


def rna_folding_jax(energy, kT, width=32):
    """An end at a time, in blocks of ends, so that a step saves the columns of its block and not all of Z."""
    import jax.numpy as jnp
    from jax import lax

    n = len(energy)
    boltzmann = jnp.exp(-energy / kT)
    index = jnp.arange(n + 1)
    done, last = jnp.zeros((n + 1, 0)), jnp.zeros(n + 1)
    for start in range(0, n + 1, width):
        ends = start + jnp.arange(min(width, n + 1 - start))

        def step(carry, j, done=done, start=start):
            block, last = carry
            # q[k] pairs the bases k and j - 1, around those from k + 1
            q = jnp.append(jnp.where(index[:-1] < j - 1 - LOOP, boltzmann[:, j - 1] * last[1:], 0.0), 0.0)
            total = done @ q[:start] + block @ lax.dynamic_slice(q, (start,), (block.shape[1],))
            column = jnp.where(index < j - 1 - LOOP, last + total, block[:, j - start])
            return (block.at[:, j - start].set(column), column), None

        first = (index[:, None] <= ends).astype(float)
        (block, last), _ = lax.scan(step, (first, last), ends)
        done = jnp.concatenate([done, block], axis=1)
    return -kT * jnp.log(last[0])


# ---- phylogenetic tree


def transition(t, kappa):
    """The probabilities of changes among A, C, G, T in time t, where A-G and C-T are kappa times as frequent."""
    beta = 1.0 / (kappa + 2.0)
    slow, fast = np.exp(-4.0 * beta * t), np.exp(-2.0 * (kappa + 1.0) * beta * t)
    same = 0.25 + 0.25 * slow + 0.5 * fast
    near = 0.25 + 0.25 * slow - 0.5 * fast
    far = 0.25 - 0.25 * slow
    return np.array([[same, far, near, far], [far, same, far, near], [near, far, same, far], [far, near, far, same]])


def phylogeny(children, tips, counts, lengths, kappa):
    """The negative logarithm of the likelihood of patterns of sites; children come before their parents."""
    taxa = len(tips)
    partial = np.empty((taxa + len(children), *tips.shape[1:]))
    partial[:taxa] = tips
    for node, (left, right) in enumerate(children):
        from_left = partial[left] @ transition(lengths[left], kappa)
        from_right = partial[right] @ transition(lengths[right], kappa)
        partial[taxa + node] = from_left * from_right
    return -np.sum(counts * np.log(0.25 * np.sum(partial[-1], axis=1)))


def phylogeny_inputs(size):
    """Taxa and patterns; sequences evolve along a random tree."""
    taxa, patterns = size
    rng = np.random.default_rng(34)
    alive, children = list(range(taxa)), []
    for node in range(taxa, 2 * taxa - 1):
        left, right = (alive.pop(rng.integers(len(alive))) for _ in range(2))
        children.append((left, right))
        alive.append(node)
    lengths = rng.exponential(0.1, 2 * taxa - 2)
    states = np.empty((2 * taxa - 1, patterns), int)
    states[-1] = rng.integers(0, 4, patterns)
    for node in range(taxa - 2, -1, -1):
        for child in children[node]:
            stays = rng.random(patterns) < np.exp(-lengths[child])
            states[child] = np.where(stays, states[taxa + node], rng.integers(0, 4, patterns))
    tips = np.eye(4)[states[:taxa]]
    return np.array(children), tips, rng.integers(1, 20, patterns).astype(float), lengths, 2.5


# A site's four states are one vector.  With y = far * sum(x) + (same - far) x + (near - far) x', x' with A-G and C-T
# exchanged, a change along a branch needs no matrix.  Blocks of patterns stay in the cache, from tips to root and back.
TREE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define BLOCK 32
typedef double vector __attribute__((vector_size(32), aligned(8)));
typedef long order __attribute__((vector_size(32)));
static vector exchanged(vector x) { return __builtin_shuffle(x, (order){2, 3, 0, 1}); }
static vector total(vector x) {
    vector y = x + exchanged(x);
    return y + __builtin_shuffle(y, (order){1, 0, 3, 2});
}
static vector changed(const double *p, vector x) { return p[0] * total(x) + p[1] * x + p[2] * exchanged(x); }
/* p: far, same - far, near - far for each branch; dp: their cotangents, as vectors to be summed */
double tree(long taxa, long patterns, const long *children, const vector *tips, const double *counts, const double *p,
            vector *dp) {
    long nodes = 2 * taxa - 1;
    vector *x = aligned_alloc(32, nodes * BLOCK * sizeof(vector)), *g = aligned_alloc(32, nodes * BLOCK * sizeof(vector));
    double value = 0;
    for (long o = 0; o < patterns; o += BLOCK) {
        long m = patterns - o < BLOCK ? patterns - o : BLOCK;
        for (long k = 0; k < taxa; k++) memcpy(x + k * BLOCK, tips + k * patterns + o, m * sizeof(vector));
        for (long k = taxa; k < nodes; k++) {
            long left = children[2 * (k - taxa)], right = children[2 * (k - taxa) + 1];
            const vector *a = x + left * BLOCK, *b = x + right * BLOCK;
            vector *y = x + k * BLOCK;
            for (long i = 0; i < m; i++) y[i] = changed(p + 3 * left, a[i]) * changed(p + 3 * right, b[i]);
        }
        double sums[BLOCK];
        for (long i = 0; i < m; i++) sums[i] = total(x[(nodes - 1) * BLOCK + i])[0];
        for (long i = 0; i < m; i++) value -= counts[o + i] * log(0.25 * sums[i]);
        for (long i = 0; i < m; i++) g[(nodes - 1) * BLOCK + i] = (vector){} - counts[o + i] / sums[i];
        for (long k = nodes - 1; k >= taxa; k--) {
            long left = children[2 * (k - taxa)], right = children[2 * (k - taxa) + 1];
            const vector *a = x + left * BLOCK, *b = x + right * BLOCK, *d = g + k * BLOCK;
            vector *da = g + left * BLOCK, *db = g + right * BLOCK, s[6] = {};
            for (long i = 0; i < m; i++) {
                vector ga = d[i] * changed(p + 3 * right, b[i]), gb = d[i] * changed(p + 3 * left, a[i]);
                vector ta = total(ga), tb = total(gb), ea = exchanged(a[i]), eb = exchanged(b[i]);
                s[0] += ta * a[i]; s[1] += ga * a[i]; s[2] += ga * ea;
                s[3] += tb * b[i]; s[4] += gb * b[i]; s[5] += gb * eb;
                if (left >= taxa) da[i] = p[3 * left] * ta + p[3 * left + 1] * ga + p[3 * left + 2] * exchanged(ga);
                if (right >= taxa) db[i] = p[3 * right] * tb + p[3 * right + 1] * gb + p[3 * right + 2] * exchanged(gb);
            }
            for (int c = 0; c < 3; c++) { dp[3 * left + c] += s[c]; dp[3 * right + c] += s[3 + c]; }
        }
    }
    free(x); free(g);
    return value;
}
"""
_tree = c_function(TREE, "tree", ctypes.c_double)


def phylogeny_hand(children, tips, counts, lengths, kappa):
    beta = 1.0 / (kappa + 2.0)
    slow, fast = np.exp(-4.0 * beta * lengths), np.exp(-2.0 * (kappa + 1.0) * beta * lengths)
    p = np.stack([0.25 - 0.25 * slow, 0.5 * slow + 0.5 * fast, 0.5 * slow - 0.5 * fast], axis=1)
    sums = np.zeros((len(lengths), 3, 4))
    value = _tree(len(tips), tips.shape[1], children, tips, counts, p, sums)
    far, same, near = sums.sum(2).T
    # the exponents: 4 beta t, and 2 (kappa + 1) beta t
    dslow, dfast = -slow * (0.5 * (same + near) - 0.25 * far), -0.5 * fast * (same - near)
    dlengths = beta * (4.0 * dslow + 2.0 * (kappa + 1.0) * dfast)
    dkappa = beta * beta * (-4.0 * (dslow @ lengths) + 2.0 * (dfast @ lengths))
    return value, (dlengths, dkappa)


def phylogeny_jax(children, tips, counts, lengths, kappa, width=100):
    """The tree is data; patterns in blocks that stay in the cache, since XLA copies the partial likelihoods each step."""
    import jax.numpy as jnp
    from jax import lax

    beta = 1.0 / (kappa + 2.0)
    slow, fast = jnp.exp(-4.0 * beta * lengths), jnp.exp(-2.0 * (kappa + 1.0) * beta * lengths)
    same, near, far = 0.25 + 0.25 * slow + 0.5 * fast, 0.25 + 0.25 * slow - 0.5 * fast, 0.25 - 0.25 * slow
    rows = (same, far, near, far), (far, same, far, near), (near, far, same, far), (far, near, far, same)
    matrices = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)[children]
    taxa, patterns, _ = tips.shape

    def step(partial, at):
        node, pair, P = at
        changed = jnp.sum(P[:, :, :, None] * partial[pair][:, :, None, :], axis=1)
        return partial.at[node].set(changed[0] * changed[1]), None

    def root(tips):
        partial = jnp.concatenate([tips, jnp.zeros((len(children), *tips.shape[1:]))])
        partial, _ = lax.scan(step, partial, (taxa + jnp.arange(len(children)), children, matrices))
        return jnp.sum(partial[-1], axis=0)

    padding = -patterns % width
    tips = jnp.pad(tips, ((0, 0), (0, padding), (0, 0)), constant_values=1.0)
    blocks = tips.reshape(taxa, -1, width, 4).transpose(1, 0, 3, 2)
    likelihoods = lax.map(root, blocks).reshape(-1)[:patterns]
    return -jnp.sum(counts * jnp.log(0.25 * likelihoods))


PROGRAMS = (
    Program("rna_folding", rna_folding, rna_folding_inputs, 250, 12, (0, 1), rna_folding_hand, rna_folding_jax),
    Program("phylogeny", phylogeny, phylogeny_inputs, (64, 2000), (5, 6), (3, 4), phylogeny_hand, phylogeny_jax),
)
