/* A Rosenbrock method for autonomous equations with a PI controller, and its discrete adjoint.

Included after N, P, S, GAMMA, A[S][S], G[S][S] (its table C), M[S], E[S], ORDER and
    void rhs(t, y, p, dy)                           dy = f(y, p)
    void vjp(t, y, p, w, by, bp)                    adds w^T df/dy to by and w^T df/dp to bp
    void jacobian(y, p, J)                          fills J[N][WIDTH]: J[r][c - r + LOWER] = df_r/dy_c
    void second(y, p, w, u, by, bp)                 adds the derivatives of w^T J u by y and p to by and bp
with LOWER = UPPER = N - 1 and WIDTH = 2 N - 1 for a full matrix. Elimination is without pivots: 1 / (h gamma) stands on
the diagonal. Step sizes are constants of the adjoint. */

typedef struct {
  double h, y[N], u[S][N];
} Step;

static Step *tape;
static long room;

static inline int last(int r) { return r + UPPER < N - 1 ? r + UPPER : N - 1; }
static inline int below(int r) { return r + LOWER < N - 1 ? r + LOWER : N - 1; }

static void factors(double shift, const double *y, const double *p, double W[N][WIDTH]) {
  jacobian(y, p, W);
  for (int r = 0; r < N; r++) {
    for (int c = 0; c < WIDTH; c++)
      W[r][c] = -W[r][c];
    W[r][LOWER] += shift;
  }
  for (int i = 0; i < N; i++) {
    double pivot = 1 / W[i][LOWER];
    for (int r = i + 1; r <= below(i); r++) {
      double factor = W[r][i - r + LOWER] *= pivot;
      for (int c = i + 1; c <= last(i); c++)
        W[r][c - r + LOWER] -= factor * W[i][c - i + LOWER];
    }
  }
}

static void solved(double W[N][WIDTH], double *b) {
  for (int i = 0; i < N; i++)
    for (int r = i + 1; r <= below(i); r++)
      b[r] -= W[r][i - r + LOWER] * b[i];
  for (int i = N - 1; i >= 0; i--) {
    for (int c = i + 1; c <= last(i); c++)
      b[i] -= W[i][c - i + LOWER] * b[c];
    b[i] /= W[i][LOWER];
  }
}

static void solved_transposed(double W[N][WIDTH], double *b) {
  for (int i = 0; i < N; i++) {
    b[i] /= W[i][LOWER];
    for (int c = i + 1; c <= last(i); c++)
      b[c] -= W[i][c - i + LOWER] * b[i];
  }
  for (int i = N - 1; i >= 0; i--)
    for (int r = i + 1; r <= below(i); r++)
      b[i] -= W[r][i - r + LOWER] * b[r];
}

static double norm(const double *x, const double *scale) {
  double sum = 0;
  for (int n = 0; n < N; n++)
    sum += (x[n] / scale[n]) * (x[n] / scale[n]);
  return sqrt(sum / N);
}

static void stage(int i, const double *y, double u[S][N], double *point) {
  for (int n = 0; n < N; n++) {
    double sum = y[n];
    for (int j = 0; j < i; j++)
      sum += A[i][j] * u[j][n];
    point[n] = sum;
  }
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
  rhs(t, point, p, next);
  for (int n = 0; n < N; n++)
    next[n] -= slope[n];
  double steepest = fmax(steep, norm(next, scale) / h);
  double best = steepest <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / steepest, 1.0 / ORDER);
  return fmin(fmin(100 * h, best), span);
}

static long run(const double *y0, const double *p, double t, double end, double rtol, double atol, int is_kept, double *y) {
  static double W[N][WIDTH];
  double u[S][N], slope[N], point[N], next[N], error[N], scale[N], before = 1;
  long count = 0;
  int is_after_rejection = 0;
  memcpy(y, y0, N * sizeof(double));
  rhs(t, y, p, slope);
  double h = first_step(t, y, slope, p, end - t, rtol, atol);
  while (t < end) {
    int is_last = 1.01 * h >= end - t;
    if (is_last)
      h = end - t;
    factors(1 / (h * GAMMA), y, p, W);
    for (int i = 0; i < S; i++) {
      if (i) {
        stage(i, y, u, point);
        rhs(t, point, p, u[i]);
        for (int n = 0; n < N; n++)
          for (int j = 0; j < i; j++)
            u[i][n] += G[i][j] / h * u[j][n];
      } else
        memcpy(u[0], slope, sizeof slope);
      solved(W, u[i]);
    }
    for (int n = 0; n < N; n++) {
      next[n] = y[n];
      error[n] = 0;
      for (int j = 0; j < S; j++) {
        next[n] += M[j] * u[j][n];
        error[n] += E[j] * u[j][n];
      }
      scale[n] = atol + rtol * fmax(fabs(y[n]), fabs(next[n]));
    }
    double e = norm(error, scale);
    if (!(e <= 1)) {
      h *= fmax(0.2, 0.9 * pow(e, -1.0 / ORDER));
      is_after_rejection = 1;
      continue;
    }
    if (is_kept) {
      if (count == room) {
        room = room ? 2 * room : 64;
        tape = realloc(tape, room * sizeof(Step));
      }
      tape[count].h = h;
      memcpy(tape[count].y, y, sizeof next);
      memcpy(tape[count].u, u, sizeof u);
    }
    count++;
    t = is_last ? end : t + h;
    memcpy(y, next, sizeof next);
    rhs(t, y, p, slope);
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
  static double W[N][WIDTH];
  double y[N], bu[S][N], point[N], w[N], value = 0;
  long count = run(y0, p, t, end, rtol, atol, 1, y);
  memset(bp, 0, P * sizeof(double));
  for (int n = 0; n < N; n++) {
    value += y[n] * y[n];
    by[n] = 2 * y[n];
  }
  for (long c = count - 1; c >= 0; c--) {
    Step *s = tape + c;
    double h = s->h;
    factors(1 / (h * GAMMA), s->y, p, W);
    for (int j = 0; j < S; j++)
      for (int n = 0; n < N; n++)
        bu[j][n] = M[j] * by[n];
    for (int i = S - 1; i >= 0; i--) {
      solved_transposed(W, bu[i]);
      second(s->y, p, bu[i], s->u[i], by, bp);
      stage(i, s->y, s->u, point);
      memset(w, 0, sizeof w);
      vjp(0.0, point, p, bu[i], w, bp);
      for (int n = 0; n < N; n++) {
        by[n] += w[n];
        for (int j = 0; j < i; j++)
          bu[j][n] += A[i][j] * w[n] + G[i][j] / h * bu[i][n];
      }
    }
  }
  return value;
}
