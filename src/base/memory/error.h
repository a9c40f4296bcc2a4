/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The project's single list of errors, and the sentence that a human reads about a failure.
 *
 * Zero is success; every failure is negative. Functions return `enum dg_err`, and callers keep it
 * in a variable called `err`. Results go to out-parameters, which come last and stay untouched on
 * failure. To add an error, add one row here; code, short name and sentence follow.
 *
 * Where a human will read the outcome, the caller passes a struct dg_error (usually on the stack):
 * the function that fails writes what was read, what was expected, what to do next. There is no
 * global last-error buffer, so threads cannot overwrite each other's errors. Every function accepts
 * NULL from a caller that will not show the sentence.
 *
 *     struct dg_error error = DG_ERROR_NONE;
 *     enum dg_err err = dg_spm_open(&spm, path, &error);
 *     if (err)
 *         fprintf(stderr, "dragoman: %s\n", dg_error_text(&error, err)); */
#ifndef DG_BASE_MEMORY_ERROR_H
#define DG_BASE_MEMORY_ERROR_H

/*      code             number  short name       sentence */
#define DG_ERR_LIST(X)                                                                             \
    X(DG_ERR_NOMEM, -1, "nomem", "not enough memory")                                              \
    X(DG_ERR_INVALID, -2, "invalid", "the value is not acceptable")                                \
    X(DG_ERR_RANGE, -3, "range", "the number is outside its permitted range")                      \
    X(DG_ERR_LIMIT, -4, "limit", "a configured limit was reached")                                 \
    X(DG_ERR_NOT_FOUND, -5, "not-found", "there is no such thing")                                 \
    X(DG_ERR_EXISTS, -6, "exists", "it exists already")                                            \
    X(DG_ERR_IO, -7, "io", "reading or writing failed")                                            \
    X(DG_ERR_TRUNCATED, -8, "truncated", "the data ends too early")                                \
    X(DG_ERR_FORMAT, -9, "format", "the data is not in the expected format")                       \
    X(DG_ERR_UNSUPPORTED, -10, "unsupported", "this is understood but not supported")              \
    X(DG_ERR_UTF8, -11, "utf8", "the text is not valid UTF-8")                                     \
    X(DG_ERR_BUSY, -12, "busy", "no capacity at the moment")                                       \
    X(DG_ERR_CANCELLED, -13, "cancelled", "it was cancelled")                                      \
    X(DG_ERR_TIMEOUT, -14, "timeout", "the time allowed ran out")                                  \
    X(DG_ERR_DENIED, -15, "denied", "permission was denied")                                       \
    X(DG_ERR_INTEGRITY, -16, "integrity", "a checksum or signature does not match")                \
    X(DG_ERR_CLOSED, -17, "closed", "it is closed or shutting down")                               \
    X(DG_ERR_USAGE, -18, "usage", "the command was used wrongly")                                  \
    X(DG_ERR_INTERNAL, -19, "internal", "an internal check failed; please report this")            \
    X(DG_ERR_MODEL, -20, "model", "the model could not be loaded")                                 \
    X(DG_ERR_NO_SPACE, -21, "no-space", "there is no room left on the disk")                       \
    X(DG_ERR_NOT_YET, -22, "not-yet", "what it waits for is not there yet")                        \
    X(DG_ERR_NO_FILES, -23, "no-files", "too many files are open at the moment")

enum dg_err {
    DG_OK = 0,
#define DG_ERR_ENUM(code, number, name, sentence) code = number,
    DG_ERR_LIST(DG_ERR_ENUM)
#undef DG_ERR_ENUM
};

/* Marks functions whose result must not be ignored. */
#if defined(__GNUC__)
#define DG_MUST_CHECK              __attribute__((warn_unused_result))
#define DG_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#else
#define DG_MUST_CHECK
#define DG_PRINTF(fmt_at, args_at)
#endif

/* The short, stable name ("nomem"), fit for logs and JSON. Never NULL. */
const char *dg_err_name(enum dg_err err);

/* The sentence for people ("not enough memory"). Never NULL. */
const char *dg_err_sentence(enum dg_err err);

/* Maps a positive errno value to the nearest error; anything unknown is DG_ERR_IO. */
enum dg_err dg_err_from_errno(int errno_value);

enum { DG_ERROR_CAP = 1024 };

struct dg_error {
    char text[DG_ERROR_CAP]; /* NUL-terminated; "" when there is no sentence */
};

#define DG_ERROR_NONE                                                                              \
    {                                                                                              \
        ""                                                                                         \
    }

/* Writes the sentence (cut at DG_ERROR_CAP, on a character boundary; control characters and bytes
 * that are not UTF-8 become '?') and returns `err`, so that a refusal is one line:
 *
 *     return dg_error_set(error, DG_ERR_RANGE, "%s: layers is %ld, expected 1 to 64", path, n); */
enum dg_err dg_error_set(struct dg_error *error, enum dg_err err, const char *fmt, ...)
    DG_PRINTF(3, 4);

/* Puts the formatted context and ": " before the present sentence; returns `err`. */
enum dg_err dg_error_wrap(struct dg_error *error, enum dg_err err, const char *fmt, ...)
    DG_PRINTF(3, 4);

/* Writes the sentence, ": " and what errno says, and returns the error that errno stands for:
 *
 *     return dg_error_errno(error, "cannot open %s", path); */
enum dg_err dg_error_errno(struct dg_error *error, const char *fmt, ...) DG_PRINTF(2, 3);

/* The sentence, or the general sentence of `err` when there is none. */
const char *dg_error_text(const struct dg_error *error, enum dg_err err);

#endif
