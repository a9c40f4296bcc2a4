/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The names and sentences of the error list, generated from its rows, and sentences about failures.
 * These quote bytes from files and sockets, so they are made safe for terminals, logs and JSON:
 * control characters and bytes that are not UTF-8 become '?', and a cut never splits a character.
 */
#include "base/memory/error.h"
#include "base/memory/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *dg_err_name(enum dg_err err)
{
    switch (err) {
    case DG_OK:
        return "ok";
#define DG_ERR_NAME(code, number, name, sentence)                                                  \
    case code:                                                                                     \
        return name;
        DG_ERR_LIST(DG_ERR_NAME)
#undef DG_ERR_NAME
    }
    return "unknown";
}

const char *dg_err_sentence(enum dg_err err)
{
    switch (err) {
    case DG_OK:
        return "success";
#define DG_ERR_SENTENCE(code, number, name, sentence)                                              \
    case code:                                                                                     \
        return sentence;
        DG_ERR_LIST(DG_ERR_SENTENCE)
#undef DG_ERR_SENTENCE
    }
    return "unknown error";
}

enum dg_err dg_err_from_errno(int errno_value)
{
    switch (errno_value) {
    case 0:
        return DG_OK;
    case ENOMEM:
        return DG_ERR_NOMEM;
    case ENOENT:
    case ENOTDIR:
        return DG_ERR_NOT_FOUND;
    case EEXIST:
        return DG_ERR_EXISTS;
    case EACCES:
    case EPERM:
        return DG_ERR_DENIED;
    case EINVAL:
        return DG_ERR_INVALID;
    case ETIMEDOUT:
        return DG_ERR_TIMEOUT;
    case EMFILE:
    case ENFILE:
        return DG_ERR_NO_FILES;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return DG_ERR_NO_SPACE;
    default:
        return DG_ERR_IO;
    }
}

static bool is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0);
}

/* Makes `text` presentable in place; `was_cut` says that its end may be half a character. */
static void clean(char *text, bool was_cut)
{
    struct dg_span all = dg_span_cstr(text);
    for (size_t at = 0; at < all.len;) {
        uint32_t cp = 0;
        size_t len = dg_utf8_decode(all, at, &cp);
        if (len == 0 && was_cut && all.len - at < DG_UTF8_MAX_LEN &&
            (unsigned char)text[at] >= 0xC0) {
            text[at] = '\0';
            return;
        }
        if (len == 0 || is_control(cp))
            memset(text + at, '?', len ? len : 1);
        at += len ? len : 1;
    }
}

enum dg_err dg_error_set(struct dg_error *error, enum dg_err err, const char *fmt, ...)
{
    if (!error)
        return err;
    va_list args;
    va_start(args, fmt);
    int wanted = vsnprintf(error->text, sizeof error->text, fmt, args);
    va_end(args);
    clean(error->text, wanted >= (int)sizeof error->text);
    return err;
}

enum dg_err dg_error_errno(struct dg_error *error, const char *fmt, ...)
{
    const int number = errno;
    const enum dg_err err = dg_err_from_errno(number);
    va_list args;
    if (!error)
        return err;
    dg_error_set(error, err, "%s", strerror(number));
    char what[DG_ERROR_CAP];
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return dg_error_wrap(error, err, "%s", what);
}

enum dg_err dg_error_wrap(struct dg_error *error, enum dg_err err, const char *fmt, ...)
{
    if (!error)
        return err;
    char before[DG_ERROR_CAP];
    memcpy(before, error->text, sizeof before);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(error->text, sizeof error->text, fmt, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof error->text) {
        int more = snprintf(error->text + used, sizeof error->text - used, ": %s",
                            before[0] ? before : dg_err_sentence(err));
        used += more < 0 ? 0 : (size_t)more;
    }
    clean(error->text, used >= sizeof error->text);
    return err;
}

const char *dg_error_text(const struct dg_error *error, enum dg_err err)
{
    return error && error->text[0] ? error->text : dg_err_sentence(err);
}
