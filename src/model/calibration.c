/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the file, applies the curve, and fits it by Newton's method. The likelihood of a logistic
 * curve is concave, so the only danger is a step that is too long; such a step is halved. */
#include "model/calibration.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/json/json_file.h"
#include "base/json/json_out.h"
#include "base/memory/buf.h"

#include <math.h>
#include <string.h>

enum { FILE_MAX = 1 << 16, N = 3, STEPS = 100, HALVINGS = 40, ROWS_MIN = 10, NAMES_MAX = 100 };

static const double WEIGHT_MAX = 1e6;

/* Regularisation, as a number of rows: if the numbers separate good from bad translations
 * perfectly, the weights that maximise the likelihood would be infinite. */
static const double PULL = 1e-6;

/* ---- The list of names ----------------------------------------------------------------------- */

struct dg_span dg_judges_next(const char **list)
{
    static const char between[] = ", \t";
    const char *name = *list + strspn(*list, between);
    const size_t len = strcspn(name, between);
    *list = name + len;
    return dg_span_make(name, len);
}

bool dg_judges_has(const char *list, const char *name)
{
    const struct dg_span wanted = dg_span_cstr(name);
    for (struct dg_span found; (found = dg_judges_next(&list)).len > 0;)
        if (dg_span_eq(found, wanted))
            return true;
    return false;
}

static enum dg_err read_judges(const struct dg_json *json, struct dg_calibration *calibration,
                               struct dg_error *error)
{
    const struct dg_json *names = NULL;
    size_t len = 0;
    enum dg_err err = dg_json_get_array(json, "judges", DG_JSON_OPTIONAL, error, &names);
    for (size_t i = 0; !err && i < dg_json_len(names); i++) {
        struct dg_span name;
        err = dg_json_at_string(names, "judges", i, error, &name);
        for (size_t k = 0; !err && k < name.len; k++)
            if ((unsigned char)name.ptr[k] <= ' ' || name.ptr[k] == ',')
                err = dg_error_set(
                    error, DG_ERR_INVALID,
                    "field 'judges': name %zu has a comma, a blank or a control character", i);
        if (!err && (name.len == 0 || len + name.len + 1 > DG_JUDGES_MAX))
            err = dg_error_set(error, DG_ERR_LIMIT,
                               "field 'judges': read an empty name, or more than %d bytes of names",
                               DG_JUDGES_MAX);
        if (err)
            break;
        if (len > 0)
            calibration->judges[len++] = ',';
        memcpy(calibration->judges + len, name.ptr, name.len);
        len += name.len;
        calibration->judges[len] = '\0';
    }
    return err;
}

/* ---- The file -------------------------------------------------------------------------------- */

static enum dg_err read_fields(const struct dg_json *json, struct dg_calibration *calibration,
                               struct dg_error *error)
{
    static const char *const known[] = {"scale", "bias", "probability", "judges", NULL};
    struct dg_calibration found = {.scale = 0};
    enum dg_err err = dg_json_check_fields(json, known, error, NULL);
    if (!err)
        err = dg_json_get_real(json, "scale", DG_JSON_REQUIRED, 0, WEIGHT_MAX, error, &found.scale);
    if (!err)
        err = dg_json_get_real(json, "bias", DG_JSON_REQUIRED, -WEIGHT_MAX, WEIGHT_MAX, error,
                               &found.bias);
    if (!err)
        err = dg_json_get_real(json, "probability", DG_JSON_OPTIONAL, 0, WEIGHT_MAX, error,
                               &found.probability);
    if (!err)
        err = read_judges(json, &found, error);
    if (!err)
        *calibration = found;
    return err;
}

enum dg_err dg_calibration_open(struct dg_calibration *calibration, const char *dir,
                                struct dg_error *error)
{
    static const struct dg_json_limits limits = {
        .max_bytes = FILE_MAX, .max_depth = 2, .max_values = NAMES_MAX};
    char path[DG_PATH_CAP];
    struct dg_json *json = NULL;
    enum dg_err err = dg_folder_path(dir, "quality.json", path, error);
    if (!err)
        err = dg_json_file_read(path, &limits, error, &json);
    if (err)
        return err;
    err = read_fields(json, calibration, error);
    dg_json_free(json);
    if (err == DG_ERR_NOT_FOUND) /* DG_ERR_NOT_FOUND means a missing field, since the file exists */
        err = DG_ERR_FORMAT;
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

static enum dg_err put_judges(struct dg_json_out *out, const char *list)
{
    dg_json_out_put_open(out, "judges", '[');
    for (struct dg_span name; (name = dg_judges_next(&list)).len > 0;)
        dg_json_out_string(out, name);
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    return dg_json_out_end(out);
}

enum dg_err dg_calibration_save(const struct dg_calibration *calibration, const char *dir,
                                struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf text;
    struct dg_json_out out;
    enum dg_err err = dg_folder_path(dir, "quality.json", path, error);
    if (err)
        return err;
    dg_buf_init(&text, FILE_MAX);
    dg_json_out_init(&out, &text);
    dg_json_out_open(&out, '{');
    dg_json_out_put_real(&out, "scale", calibration->scale, 9);
    dg_json_out_put_real(&out, "bias", calibration->bias, 9);
    dg_json_out_put_real(&out, "probability", calibration->probability, 9);
    err = put_judges(&out, calibration->judges);
    if (!err)
        err = dg_buf_append_byte(&text, '\n');
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}

/* ---- The curve ------------------------------------------------------------------------------- */

static double logistic(double z)
{
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

double dg_calibration_apply(const struct dg_calibration *calibration, double raw,
                            double mean_logprob)
{
    const double of_words =
        calibration->probability != 0 ? calibration->probability * exp(mean_logprob) : 0;
    return logistic(calibration->bias + calibration->scale * raw + of_words);
}

/* ---- Its fit --------------------------------------------------------------------------------- */

/* Writes a row's factors of bias, scale and probability. */
static void inputs_of(const struct dg_calibration_row *row, bool with_logprob, double x[N])
{
    x[0] = 1;
    x[1] = row->raw;
    x[2] = with_logprob ? exp(row->logprob) : 0;
}

static double dot(const double a[N], const double b[N])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Returns log(1 + exp(z)), also where exp(z) would be too large. */
static double soft_plus(double z)
{
    return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

/* Returns the mean of -log likelihood, plus the regularisation. */
static double loss_of(const double w[N], const struct dg_calibration_row *rows, size_t n,
                      bool with_logprob)
{
    double sum = 0, x[N];
    for (size_t i = 0; i < n; i++) {
        inputs_of(&rows[i], with_logprob, x);
        const double z = dot(w, x);
        sum += soft_plus(z) - rows[i].is * z;
    }
    return sum / (double)n + PULL / 2 * dot(w, w);
}

/* Computes the gradient and the second derivatives of loss_of. */
static void bend_of(const double w[N], const struct dg_calibration_row *rows, size_t n,
                    bool with_logprob, double slope[N], double bend[N][N])
{
    double x[N];
    for (size_t a = 0; a < N; a++) {
        slope[a] = PULL * w[a];
        for (size_t b = 0; b < N; b++)
            bend[a][b] = a == b ? PULL : 0;
    }
    for (size_t i = 0; i < n; i++) {
        inputs_of(&rows[i], with_logprob, x);
        const double p = logistic(dot(w, x));
        for (size_t a = 0; a < N; a++) {
            slope[a] += (p - rows[i].is) * x[a] / (double)n;
            for (size_t b = 0; b < N; b++)
                bend[a][b] += p * (1 - p) * x[a] * x[b] / (double)n;
        }
    }
}

/* Solves bend * step = slope; `bend` is symmetric and, by the regularisation, positive. */
static void solve(double bend[N][N], double slope[N], double step[N])
{
    for (size_t k = 0; k < N; k++)
        for (size_t r = k + 1; r < N; r++) {
            const double f = bend[r][k] / bend[k][k];
            for (size_t c = k; c < N; c++)
                bend[r][c] -= f * bend[k][c];
            slope[r] -= f * slope[k];
        }
    for (size_t k = N; k-- > 0;) {
        step[k] = slope[k];
        for (size_t c = k + 1; c < N; c++)
            step[k] -= bend[k][c] * step[c];
        step[k] /= bend[k][k];
    }
}

/* Makes one Newton step, halved until the value falls. Returns how much it fell. */
static double descend(double w[N], const struct dg_calibration_row *rows, size_t n,
                      bool with_logprob)
{
    double slope[N], bend[N][N], step[N], tried[N];
    const double before = loss_of(w, rows, n, with_logprob);
    bend_of(w, rows, n, with_logprob, slope, bend);
    solve(bend, slope, step);
    for (int h = 0; h < HALVINGS; h++) {
        for (size_t a = 0; a < N; a++)
            tried[a] = w[a] - ldexp(step[a], -h);
        const double after = loss_of(tried, rows, n, with_logprob);
        if (after < before) {
            memcpy(w, tried, sizeof tried);
            return before - after;
        }
    }
    return 0;
}

enum dg_err dg_calibration_fit(struct dg_calibration *calibration,
                               const struct dg_calibration_row *rows, size_t n, bool with_logprob,
                               struct dg_error *error)
{
    double w[N] = {0};
    if (n < ROWS_MIN)
        return dg_error_set(error, DG_ERR_RANGE,
                            "there are %zu rows to fit to, expected %d or more", n, ROWS_MIN);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(rows[i].raw) || (with_logprob && !isfinite(rows[i].logprob)) ||
            !(rows[i].is >= 0 && rows[i].is <= 1))
            return dg_error_set(error, DG_ERR_RANGE,
                                "row %zu: expected numbers, and a quality from 0 to 1", i + 1);
    for (int s = 0; s < STEPS && descend(w, rows, n, with_logprob) > 1e-15; s++)
        ;
    if (w[1] <= 0)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the estimator's number does not rise with the quality of these %zu "
                            "rows (weight %.3g): "
                            "train it longer, or on more rows",
                            n, w[1]);
    if (with_logprob && w[2] <= 0)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "the log-probability does not rise with the quality of these %zu rows (weight %.3g): "
            "fit without it",
            n, w[2]);
    calibration->bias = w[0];
    calibration->scale = w[1];
    calibration->probability = w[2];
    return DG_OK;
}
