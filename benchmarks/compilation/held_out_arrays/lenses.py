"""Rays through a triplet of lenses, and their distances from where an ideal lens would send them.

Source: W. T. Welford, Aberrations of Optical Systems (1986), chapter 4.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

RADII = np.array([22.01359, -435.76044, -22.21328, 20.29192, 79.6836, -18.39533])
GAPS = np.array([10.0, 3.25896, 6.00755, 0.99997, 4.75041, 2.95208, 42.20778])
GLASSES = np.array([1.6204, 1.0, 1.62, 1.0, 1.6204, 1.0])
FOCAL_LENGTH = 50.0


def triplet(points, directions, curvatures, gaps, indices):
    """The mean squared distance in the image plane, in mm; directions are unit vectors, the axis is the third one."""
    x, d = points, directions
    before = 1.0
    for curvature, gap, index in zip(curvatures, gaps, indices):
        x = x - np.array([0.0, 0.0, 1.0]) * gap
        x = x - (x[:, 2] / d[:, 2])[:, None] * d  # to the plane at the vertex
        f = curvature * (x[:, 0] ** 2 + x[:, 1] ** 2)
        g = d[:, 2] - curvature * (x[:, 0] * d[:, 0] + x[:, 1] * d[:, 1])
        cosine = np.sqrt(g**2 - curvature * f)
        x = x + (f / (g + cosine))[:, None] * d
        normal = np.array([0.0, 0.0, 1.0]) - curvature * x
        ratio = before / index
        bent = np.sqrt(1.0 - ratio**2 * (1.0 - cosine**2))
        d = ratio * d + (bent - ratio * cosine)[:, None] * normal
        before = index
    x = x[:, :2] + ((gaps[-1] - x[:, 2]) / d[:, 2])[:, None] * d[:, :2]
    ideal = FOCAL_LENGTH * directions[:, :2] / directions[:, 2:]
    return np.mean(np.sum((x - ideal) ** 2, axis=1))


def triplet_inputs(n):
    """Rays through a disc before the first lens, up to about 6 degrees off the axis."""
    rng = np.random.default_rng(61)
    radius, angle = 4.0 * np.sqrt(rng.random(n)), 2.0 * np.pi * rng.random(n)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(n)], axis=1)
    slopes = np.concatenate([rng.uniform(-0.1, 0.1, (n, 2)), np.ones((n, 1))], axis=1)
    return points, slopes / np.linalg.norm(slopes, axis=1, keepdims=True), 1.0 / RADII, GAPS, GLASSES


# LANES rays at a time, from the first surface to the image and back, with what each surface needs in the cache.
LENSES = r"""
#include <math.h>
#include <string.h>
#define LANES 32
#define EACH for (int l = 0; l < LANES; l++)
typedef double lanes[LANES];
/* At a surface: the point in the vertex plane and the direction before it, the way to the plane, the point on it. */
typedef struct { lanes x, y, l, m, n, t, u, cosine, bent, px, py, pz; } Surface;
double triplet(long rays, long surfaces, double focal, const double *points, const double *directions, const double *curvatures,
               const double *gaps, const double *indices, double *dcurvatures, double *dgaps, double *dindices) {
    Surface kept[surfaces];
    lanes x, y, z, a, b, n, ix, iy, live, gx, gy, gz, ga, gb, gn, errors;
    double value = 0, bends[surfaces + 1]; /* the cotangents of the ratios of indices */
    memset(dcurvatures, 0, surfaces * sizeof(double)); memset(dgaps, 0, (surfaces + 1) * sizeof(double));
    memset(bends, 0, sizeof bends);
    EACH errors[l] = 0;
    for (long o = 0; o < rays; o += LANES) {
        EACH {
            long at = 3 * (o + l < rays ? o + l : rays - 1);
            live[l] = o + l < rays;
            x[l] = points[at]; y[l] = points[at + 1]; z[l] = points[at + 2];
            a[l] = directions[at]; b[l] = directions[at + 1]; n[l] = directions[at + 2];
        }
        EACH { double scale = focal / n[l]; ix[l] = scale * a[l]; iy[l] = scale * b[l]; }
        for (long k = 0; k < surfaces; k++) {
            double c = curvatures[k], gap = gaps[k], mu = (k ? indices[k - 1] : 1) / indices[k];
            Surface *s = kept + k;
            EACH {
                double t = (gap - z[l]) / n[l], px = x[l] + t * a[l], py = y[l] + t * b[l];
                double f = c * (px * px + py * py), g = n[l] - c * (a[l] * px + b[l] * py), cosine = sqrt(g * g - c * f);
                double u = f / (g + cosine), bent = sqrt(1 - mu * mu * (1 - cosine * cosine)), k = bent - mu * cosine;
                s->x[l] = px; s->y[l] = py; s->l[l] = a[l]; s->m[l] = b[l]; s->n[l] = n[l]; s->t[l] = t; s->u[l] = u;
                s->cosine[l] = cosine; s->bent[l] = bent;
                s->px[l] = x[l] = px + u * a[l]; s->py[l] = y[l] = py + u * b[l]; s->pz[l] = z[l] = u * n[l];
                a[l] = mu * a[l] - k * c * x[l]; b[l] = mu * b[l] - k * c * y[l]; n[l] = mu * n[l] + k * (1 - c * z[l]);
            }
        }
        double last = gaps[surfaces], sum = 0;
        EACH {
            double inverse = 1 / n[l], t = (last - z[l]) * inverse;
            double ex = (x[l] + t * a[l] - ix[l]) * live[l], ey = (y[l] + t * b[l] - iy[l]) * live[l];
            errors[l] += ex * ex + ey * ey;
            double hx = 2 * ex / rays, hy = 2 * ey / rays, gt = (hx * a[l] + hy * b[l]) * inverse;
            gx[l] = hx; gy[l] = hy; gz[l] = -gt; ga[l] = t * hx; gb[l] = t * hy; gn[l] = -t * gt;
            sum += gt;
        }
        dgaps[surfaces] += sum;
        for (long k = surfaces - 1; k >= 0; k--) {
            double c = curvatures[k], mu = (k ? indices[k - 1] : 1) / indices[k], dc = 0, dmu = 0, dgap = 0;
            const Surface *s = kept + k;
            EACH {
                double x0 = s->x[l], y0 = s->y[l], A = s->l[l], B = s->m[l], C = s->n[l], t = s->t[l], u = s->u[l];
                double cosine = s->cosine[l], bent = s->bent[l], x1 = s->px[l], y1 = s->py[l], z1 = s->pz[l];
                double k = bent - mu * cosine, ib = 1 / bent, half = 0.5 / cosine, rest = 1 - cosine * cosine;
                double along = x1 * ga[l] + y1 * gb[l] + z1 * gn[l], gk = gn[l] - c * along;
                double hx = gx[l] - k * c * ga[l], hy = gy[l] - k * c * gb[l], hz = gz[l] - k * c * gn[l];
                double du = A * hx + B * hy + C * hz, g = C - c * (A * x0 + B * y0), w = 1 / (g + cosine);
                double gs = mu * gk * (mu * cosine * ib - 1) - du * u * w;
                double r2 = x0 * x0 + y0 * y0, gf = du * w - gs * half * c, gg = gs * 2 * half * g - du * u * w;
                dmu += A * ga[l] + B * gb[l] + C * gn[l] - gk * (cosine + mu * rest * ib);
                dc += gf * r2 - k * along - gs * half * c * r2 - gg * (A * x0 + B * y0);
                double ha = mu * ga[l] + u * hx - c * x0 * gg, hb = mu * gb[l] + u * hy - c * y0 * gg;
                hx += c * (2 * x0 * gf - A * gg); hy += c * (2 * y0 * gf - B * gg);
                double gt = (hx * A + hy * B) / C;
                gn[l] = mu * gn[l] + u * hz + gg - t * gt;
                ga[l] = ha + t * hx; gb[l] = hb + t * hy;
                gx[l] = hx; gy[l] = hy; gz[l] = -gt;
                dgap += gt;
            }
            dcurvatures[k] += dc; bends[k] += dmu; dgaps[k] += dgap;
        }
    }
    bends[surfaces] = 0;
    for (long k = 0; k < surfaces; k++) {
        double before = k ? indices[k - 1] : 1, after = k < surfaces - 1 ? bends[k + 1] / indices[k + 1] : 0;
        dindices[k] = after - bends[k] * before / (indices[k] * indices[k]);
    }
    EACH value += errors[l];
    return value / rays;
}
"""
_triplet = c_function(LENSES, "triplet", ctypes.c_double)


def triplet_hand(points, directions, curvatures, gaps, indices):
    d = tuple(map(np.empty_like, (curvatures, gaps, indices)))
    sizes = len(points), len(curvatures)
    return _triplet(*sizes, FOCAL_LENGTH, points, directions, curvatures, gaps, indices, *d), d


def triplet_jax(points, directions, curvatures, gaps, indices):
    """Coordinates apart; a scan over the surfaces."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    @jax.checkpoint
    def surface(ray, at):
        x, y, z, a, b, n = ray
        c, gap, mu = at
        t = (gap - z) / n
        x, y = x + t * a, y + t * b
        f = c * (x * x + y * y)
        g = n - c * (x * a + y * b)
        cosine = jnp.sqrt(g * g - c * f)
        u = f / (g + cosine)
        x, y, z = x + u * a, y + u * b, u * n
        k = jnp.sqrt(1.0 - mu**2 * (1.0 - cosine**2)) - mu * cosine
        return (x, y, z, mu * a - k * c * x, mu * b - k * c * y, mu * n + k * (1.0 - c * z)), None

    ratios = jnp.concatenate([jnp.ones(1), indices[:-1]]) / indices
    ray = (*points.T, *directions.T)
    (x, y, z, a, b, n), _ = lax.scan(surface, ray, (curvatures, gaps[:-1], ratios))
    t = (gaps[-1] - z) / n
    ideal = FOCAL_LENGTH * directions[:, :2].T / directions[:, 2]
    return jnp.mean((x + t * a - ideal[0]) ** 2 + (y + t * b - ideal[1]) ** 2)


PROGRAMS = (Program("triplet", triplet, triplet_inputs, 20_000, 6, (2, 3, 4), triplet_hand, triplet_jax),)
