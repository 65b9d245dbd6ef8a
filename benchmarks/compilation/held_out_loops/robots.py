"""The torques at the joints of an arm along a trajectory, fitted to measured ones: recursive Newton-Euler dynamics.

Source: J. J. Craig, Introduction to Robotics: Mechanics and Control, 3rd ed. (2005), section 6.5.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

JOINTS = 6
TWISTS = np.pi / 2 * np.array([0.0, -1.0, 0.0, -1.0, 1.0, -1.0])
OFFSETS = np.array([[0, 0, 0.4], [0.05, 0, 0], [0.43, 0, 0], [0.02, 0.43, 0], [0, 0, 0], [0, 0.1, 0]])
AXIS = np.array([0.0, 0.0, 1.0])
GRAVITY = 9.81


def rotation(angle, twist):
    """From the frame of a link to that of the link before."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array([[c, -s, 0.0], [s * ct, c * ct, -st], [s * st, c * st, ct]])


def torques(q, dq, ddq, mass, centre, inertia):
    """The torques at one time, each link in its own frame."""
    w, dw, a = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, GRAVITY])
    rotations, forces, moments = [], [], []
    for i in range(JOINTS):
        R = rotation(q[i], TWISTS[i])
        a = R.T @ (a + np.cross(dw, OFFSETS[i]) + np.cross(w, np.cross(w, OFFSETS[i])))
        dw = R.T @ dw + np.cross(R.T @ w, dq[i] * AXIS) + ddq[i] * AXIS
        w = R.T @ w + dq[i] * AXIS
        at_centre = a + np.cross(dw, centre[i]) + np.cross(w, np.cross(w, centre[i]))
        rotations.append(R)
        forces.append(mass[i] * at_centre)
        moments.append(inertia[i] * dw + np.cross(w, inertia[i] * w))
    f, m = np.zeros(3), np.zeros(3)
    found = np.zeros(JOINTS)
    for i in reversed(range(JOINTS)):
        f = forces[i] + f
        m = moments[i] + m + np.cross(centre[i], forces[i])
        found[i] = m @ AXIS
        f, m = rotations[i] @ f, rotations[i] @ m
        m = m + np.cross(OFFSETS[i], f)
    return found


def arm(measured, q, dq, ddq, mass, centre, inertia):
    """The mean squared error over all times and joints."""
    total = 0.0
    for t in range(len(q)):
        total += np.sum((torques(q[t], dq[t], ddq[t], mass, centre, inertia) - measured[t]) ** 2)
    return total / measured.size


def arm_inputs(samples):
    rng = np.random.default_rng(43)
    shape = samples, JOINTS
    mass = np.array([5.0, 17.4, 4.8, 0.8, 0.3, 0.1])
    centre = 0.1 * rng.normal(size=(JOINTS, 3))
    inertia = rng.uniform(0.5, 1.0, (JOINTS, 3)) * mass[:, None] * 0.02
    angles = rng.uniform(-np.pi, np.pi, shape)
    return 10.0 * rng.normal(size=shape), angles, rng.normal(size=shape), rng.normal(size=shape), mass, centre, inertia


# Four times at once, one in each lane.  The way back reverses both recursions: forces from base to tip, then motions
# from tip to base.
ARM = f"""
#include <math.h>
#include <string.h>
#define N {JOINTS}
#define EACH for (int i = 0; i < N; i++)
typedef double lanes __attribute__((vector_size(32), aligned(8)));
typedef struct {{ lanes x, y, z; }} vec;
typedef double point[3];
static vec add(vec a, vec b) {{ return (vec){{a.x + b.x, a.y + b.y, a.z + b.z}}; }}
static vec times(lanes s, vec a) {{ return (vec){{s * a.x, s * a.y, s * a.z}}; }}
static vec scaled(const double *s, vec a) {{ return (vec){{s[0] * a.x, s[1] * a.y, s[2] * a.z}}; }}
static lanes dot(vec a, vec b) {{ return a.x * b.x + a.y * b.y + a.z * b.z; }}
static vec cross(vec a, vec b) {{
    return (vec){{a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}};
}}
static vec cross_right(vec a, const double *b) {{
    return (vec){{a.y * b[2] - a.z * b[1], a.z * b[0] - a.x * b[2], a.x * b[1] - a.y * b[0]}};
}}
static vec cross_left(const double *a, vec b) {{
    return (vec){{a[1] * b.z - a[2] * b.y, a[2] * b.x - a[0] * b.z, a[0] * b.y - a[1] * b.x}};
}}
typedef struct {{ lanes c, s; double ct, st; }} Turn;
static vec out(Turn r, vec a) {{ /* to the frame before */
    lanes y = r.s * a.x + r.c * a.y;
    return (vec){{r.c * a.x - r.s * a.y, r.ct * y - r.st * a.z, r.st * y + r.ct * a.z}};
}}
static vec in(Turn r, vec a) {{
    lanes y = r.ct * a.y + r.st * a.z;
    return (vec){{r.c * a.x + r.s * y, r.c * y - r.s * a.x, r.ct * a.z - r.st * a.y}};
}}
/* what an angle is due where ``in`` gave a, which has cotangent g; with the other sign: where ``out`` took a */
static lanes turned(vec a, vec g) {{ return g.x * a.y - g.y * a.x; }}
static void gather(vec sum, double *d) {{
    lanes all[3] = {{sum.x, sum.y, sum.z}};
    for (int k = 0; k < 3; k++) for (int l = 0; l < 4; l++) d[k] += all[k][l];
}}
double arm(long samples, const double *twists, const point *offsets, const double *measured, const double *q,
           const double *dq, const double *ddq, const double *mass, const point *centre, const point *inertia,
           double *gq, double *gdq, double *gddq, double *gmass, point *gcentre, point *ginertia) {{
    vec sc[N], si[N], zero = {{}};
    lanes sm[N] = {{}}, value = {{}};
    double scale = 2.0 / (samples * N), ct[N], st[N], total = 0;
    EACH {{ sc[i] = si[i] = zero; ct[i] = cos(twists[i]); st[i] = sin(twists[i]); }}
    for (long t = 0; t < samples; t += 4) {{
        lanes live, v[N], dv[N], goal[N], tau[N];
        double angle[4 * N], c[4 * N], s[4 * N];
        for (int l = 0; l < 4; l++) {{
            long at = (t + l < samples ? t + l : samples - 1) * N;
            live[l] = t + l < samples;
            EACH {{ angle[4 * i + l] = q[at + i]; v[i][l] = dq[at + i]; dv[i][l] = ddq[at + i]; goal[i][l] = measured[at + i]; }}
        }}
        for (int k = 0; k < 4 * N; k++) c[k] = cos(angle[k]);
        for (int k = 0; k < 4 * N; k++) s[k] = sin(angle[k]);
        Turn r[N];
        vec w[N + 1], dw[N + 1], a[N + 1], b[N], ac[N], f[N], m[N], F[N], M[N];
        w[0] = dw[0] = a[0] = zero;
        a[0].z += {GRAVITY};
        EACH {{
            r[i] = (Turn){{*(lanes *)(c + 4 * i), *(lanes *)(s + 4 * i), ct[i], st[i]}};
            vec e = add(add(a[i], cross_right(dw[i], offsets[i])), cross(w[i], cross_right(w[i], offsets[i])));
            a[i + 1] = in(r[i], e);
            b[i] = in(r[i], w[i]);
            vec x = in(r[i], dw[i]);
            x.x += v[i] * b[i].y; x.y -= v[i] * b[i].x; x.z += dv[i];
            dw[i + 1] = x;
            w[i + 1] = b[i]; w[i + 1].z += v[i];
            ac[i] = add(add(a[i + 1], cross_right(x, centre[i])), cross(w[i + 1], cross_right(w[i + 1], centre[i])));
            F[i] = times((lanes){{}} + mass[i], ac[i]);
            M[i] = add(scaled(inertia[i], x), cross(w[i + 1], scaled(inertia[i], w[i + 1])));
        }}
        vec fc = zero, mc = zero;
        for (int i = N - 1; i >= 0; i--) {{
            f[i] = add(F[i], fc);
            m[i] = add(add(M[i], mc), cross_left(centre[i], F[i]));
            lanes error = (m[i].z - goal[i]) * live;
            value += error * error;
            tau[i] = scale * error;
            fc = out(r[i], f[i]);
            mc = add(out(r[i], m[i]), cross_left(offsets[i], fc));
        }}
        vec gf = zero, gm = zero, gF[N], gM[N];
        lanes ga[N];
        EACH {{
            vec x = in(r[i], add(gf, cross_right(gm, offsets[i]))), y = in(r[i], gm);
            ga[i] = (lanes){{}} - turned(f[i], x) - turned(m[i], y);
            gf = x;
            gm = y; gm.z += tau[i];
            gM[i] = gm;
            gF[i] = add(gf, cross_right(gm, centre[i]));
            sc[i] = add(sc[i], cross(F[i], gm));
        }}
        vec gw = zero, gdw = zero, gacc = zero;
        lanes gv[N], gdv[N];
        for (int i = N - 1; i >= 0; i--) {{
            vec W = w[i + 1], D = dw[i + 1], h = scaled(inertia[i], W), gh = cross(gM[i], W);
            gdw = add(gdw, scaled(inertia[i], gM[i]));
            gw = add(gw, add(cross(h, gM[i]), scaled(inertia[i], gh)));
            si[i].x += gM[i].x * D.x + gh.x * W.x; si[i].y += gM[i].y * D.y + gh.y * W.y; si[i].z += gM[i].z * D.z + gh.z * W.z;
            sm[i] += dot(gF[i], ac[i]);
            vec g = times((lanes){{}} + mass[i], gF[i]), y = cross_right(W, centre[i]), gy = cross(g, W);
            gacc = add(gacc, g);
            gdw = add(gdw, cross_left(centre[i], g));
            gw = add(gw, add(cross(y, g), cross_left(centre[i], gy)));
            sc[i] = add(sc[i], add(cross(g, D), cross(gy, W)));
            gdv[i] = gdw.z;
            gv[i] = gw.z + gdw.x * b[i].y - gdw.y * b[i].x;
            vec gb = gw, before = D; /* ``before``: what ``in`` gave for dw */
            gb.y += v[i] * gdw.x; gb.x -= v[i] * gdw.y;
            before.x -= v[i] * b[i].y; before.y += v[i] * b[i].x;
            ga[i] += turned(a[i + 1], gacc) + turned(b[i], gb) + turned(before, gdw);
            vec ge = out(r[i], gacc), z = cross_right(w[i], offsets[i]), gz = cross(ge, w[i]);
            gdw = add(out(r[i], gdw), cross_left(offsets[i], ge));
            gw = add(out(r[i], gb), add(cross(z, ge), cross_left(offsets[i], gz)));
            gacc = ge;
        }}
        for (int l = 0; l < 4 && t + l < samples; l++)
            EACH {{ long at = (t + l) * N + i; gq[at] = ga[i][l]; gdq[at] = gv[i][l]; gddq[at] = gdv[i][l]; }}
    }}
    memset(gmass, 0, N * sizeof(double)); memset(gcentre, 0, N * sizeof(point)); memset(ginertia, 0, N * sizeof(point));
    EACH {{
        for (int l = 0; l < 4; l++) gmass[i] += sm[i][l];
        gather(sc[i], gcentre[i]);
        gather(si[i], ginertia[i]);
    }}
    for (int l = 0; l < 4; l++) total += value[l];
    return total / (samples * N);
}}
"""
_arm = c_function(ARM, "arm", ctypes.c_double)


def arm_hand(measured, *motion_and_links):
    d = tuple(map(np.empty_like, motion_and_links))
    return _arm(len(measured), TWISTS, OFFSETS, measured, *motion_and_links, *d), d


def arm_jax(measured, q, dq, ddq, mass, centre, inertia):
    """All times at once, each component of a vector an array over the times; scans over the links."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def cross(a, b):
        return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]

    def add(*vectors):
        return tuple(sum(parts) for parts in zip(*vectors))

    def scale(s, a):
        return tuple(x * y for x, y in zip(s, a))

    @jax.checkpoint
    def outwards(motion, link):
        w, dw, a = motion
        (c, s, ct, st), dq, ddq, mass, centre, inertia, offset = link

        def turn(v):
            y = ct * v[1] + st * v[2]
            return c * v[0] + s * y, c * y - s * v[0], ct * v[2] - st * v[1]

        a = turn(add(a, cross(dw, offset), cross(w, cross(w, offset))))
        b, dw = turn(w), turn(dw)
        dw = dw[0] + dq * b[1], dw[1] - dq * b[0], dw[2] + ddq
        w = b[0], b[1], b[2] + dq
        force = scale((mass,) * 3, add(a, cross(dw, centre), cross(w, cross(w, centre))))
        moment = add(scale(inertia, dw), cross(w, scale(inertia, w)), cross(centre, force))
        return (w, dw, a), (force, moment)

    @jax.checkpoint
    def inwards(load, link):
        (c, s, ct, st), offset, force, moment = link

        def turn(v):
            y = s * v[0] + c * v[1]
            return c * v[0] - s * v[1], ct * y - st * v[2], st * y + ct * v[2]

        f, m = add(force, load[0]), add(moment, load[1])
        torque = m[2]
        f, m = turn(f), turn(m)
        return (f, add(m, cross(offset, f))), torque

    turns = jnp.cos(q.T), jnp.sin(q.T), jnp.cos(TWISTS), jnp.sin(TWISTS)
    zero = (jnp.zeros(len(q)),) * 3
    up = (*zero[:2], jnp.full(len(q), GRAVITY))
    _, loads = lax.scan(outwards, (zero, zero, up), (turns, dq.T, ddq.T, mass, centre, inertia, OFFSETS))
    _, torque = lax.scan(inwards, (zero, zero), (turns, OFFSETS, *loads), reverse=True)
    return jnp.mean((torque.T - measured) ** 2)


PROGRAMS = (Program("arm", arm, arm_inputs, 6000, 5, (1, 2, 3, 4, 5, 6), arm_hand, arm_jax),)
