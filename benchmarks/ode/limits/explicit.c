/* An explicit Runge-Kutta method with a PI controller, and its discrete adjoint.

Included after N, P, S (stages), A[S][S], C[S], E[S + 1], ORDER and
    void rhs(t, y, p, dy)                           dy = f(t, y, p)
    void vjp(t, y, p, w, by, bp)                    adds w^T df/dy to by and w^T df/dp to bp
The last row of A is the step itself. Step sizes are constants of the adjoint; it runs the stages of each step again. */

typedef struct {
  double t, h, y[N];
} Step;

static Step *tape;
static long room;

static void keep(long i, double t, double h, const double *y) {
  if (i == room) {
    room = room ? 2 * room : 1024;
    tape = realloc(tape, room * sizeof(Step));
  }
  tape[i].t = t;
  tape[i].h = h;
  memcpy(tape[i].y, y, N * sizeof(double));
}

static inline void stage(int i, double h, const double *y, double k[S + 1][N], double *point) {
  for (int n = 0; n < N; n++) {
    double sum = 0;
    for (int j = 0; j <= i; j++)
      sum += A[i][j] * k[j][n];
    point[n] = y[n] + h * sum;
  }
}

static double norm(const double *x, const double *scale) {
  double sum = 0;
  for (int n = 0; n < N; n++)
    sum += (x[n] / scale[n]) * (x[n] / scale[n]);
  return sqrt(sum / N);
}

static double first_step(double t, const double *y, const double *slope, const double *p, double span, double rtol, double atol) {
  double scale[N], point[N], next[N];
  for (int n = 0; n < N; n++)
    scale[n] = atol + rtol * fabs(y[n]);
  double size = norm(y, scale), steep = norm(slope, scale);
  double h = size < 1e-5 || steep < 1e-5 ? 1e-6 : 0.01 * size / steep;
  h = fmin(h, span);
  for (int n = 0; n < N; n++)
    point[n] = y[n] + h * slope[n];
  rhs(t + h, point, p, next);
  for (int n = 0; n < N; n++)
    next[n] -= slope[n];
  double steepest = fmax(steep, norm(next, scale) / h);
  double best = steepest <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / steepest, 1.0 / ORDER);
  return fmin(fmin(100 * h, best), span);
}

static long run(const double *y0, const double *p, double t, double end, double rtol, double atol, int is_kept, double *y) {
  double k[S + 1][N], next[N], error[N], scale[N], before = 1;
  long count = 0;
  int is_after_rejection = 0;
  memcpy(y, y0, N * sizeof(double));
  rhs(t, y, p, k[0]);
  double h = first_step(t, y, k[0], p, end - t, rtol, atol);
  while (t < end) {
    int is_last = 1.01 * h >= end - t;
    if (is_last)
      h = end - t;
    for (int i = 0; i < S; i++) {
      stage(i, h, y, k, next);
      rhs(t + C[i] * h, next, p, k[i + 1]);
    }
    for (int n = 0; n < N; n++) {
      double sum = 0;
      for (int j = 0; j <= S; j++)
        sum += E[j] * k[j][n];
      error[n] = h * sum;
      scale[n] = atol + rtol * fmax(fabs(y[n]), fabs(next[n]));
    }
    double e = norm(error, scale);
    if (e > 1) {
      h *= fmax(0.2, 0.9 * pow(e, -1.0 / ORDER));
      is_after_rejection = 1;
      continue;
    }
    if (is_kept)
      keep(count, t, h, y);
    count++;
    t = is_last ? end : t + h;
    memcpy(y, next, sizeof next);
    memcpy(k[0], k[S], sizeof k[0]);
    double factor = 0.9 * pow(fmax(e, 1e-10), -0.85 / ORDER) * pow(before, 0.2 / ORDER);
    h *= fmin(is_after_rejection ? 1.0 : 10.0, fmax(0.2, factor));
    before = fmax(e, 1e-4);
    is_after_rejection = 0;
  }
  return count;
}

long solve(const double *y0, const double *p, double t, double end, double rtol, double atol, double *y) {
  return run(y0, p, t, end, rtol, atol, 0, y);
}

double gradient(const double *y0, const double *p, double t, double end, double rtol, double atol, double *by, double *bp) {
  double y[N], k[S + 1][N], points[S][N], bk[S][N], w[N], value = 0;
  long count = run(y0, p, t, end, rtol, atol, 1, y);
  memset(bp, 0, P * sizeof(double));
  for (int n = 0; n < N; n++) {
    value += y[n] * y[n];
    by[n] = 2 * y[n];
  }
  for (long c = count - 1; c >= 0; c--) {
    Step *s = tape + c;
    double h = s->h;
    rhs(s->t, s->y, p, k[0]);
    for (int i = 0; i < S - 1; i++) {
      stage(i, h, s->y, k, points[i]);
      rhs(s->t + C[i] * h, points[i], p, k[i + 1]);
    }
    for (int j = 0; j < S; j++)
      for (int n = 0; n < N; n++)
        bk[j][n] = h * A[S - 1][j] * by[n];
    for (int i = S - 2; i >= 0; i--) {
      memset(w, 0, sizeof w);
      vjp(s->t + C[i] * h, points[i], p, bk[i + 1], w, bp);
      for (int n = 0; n < N; n++) {
        by[n] += w[n];
        for (int j = 0; j <= i; j++)
          bk[j][n] += h * A[i][j] * w[n];
      }
    }
    vjp(s->t, s->y, p, bk[0], by, bp);
  }
  return value;
}

/* A solve with steps of its own for each of many y0 (distance dy apart, 0 for one) and p (dp apart). */
void solve_many(long count, const double *y0, long dy, const double *p, long dp, double t, double end, double rtol, double atol, double *y) {
  for (long i = 0; i < count; i++)
    solve(y0 + i * dy, p + i * dp, t, end, rtol, atol, y + i * N);
}

double gradient_many(long count, const double *y0, long dy, const double *p, long dp, double t, double end, double rtol, double atol, double *by, double *bp) {
  double value = 0, part[P];
  memset(bp, 0, (dp ? count : 1) * P * sizeof(double));
  for (long i = 0; i < count; i++) {
    value += gradient(y0 + i * dy, p + i * dp, t, end, rtol, atol, by + i * N, part);
    for (int j = 0; j < P; j++)
      bp[i * dp + j] += part[j];
  }
  return value;
}
