/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Request targets (RFC 9112, section 3.2) and form pairs (WHATWG URL, section 5). Decoding never
 * makes text longer, so one allocation of the raw length is enough. Escapes must be whole and the
 * result UTF-8: a path that two programs can read in two ways is refused. */
#include "net/proto/target.h"
#include "base/memory/chars.h"
#include "base/memory/utf8.h"

static enum dg_err decode(struct dg_arena *arena, struct dg_span raw, bool plus_is_space,
                          struct dg_span *out, struct dg_error *error)
{
    char *text = dg_arena_alloc(arena, raw.len + 1);
    if (!text)
        return DG_ERR_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];
        if (c == '+' && plus_is_space) {
            c = ' ';
        } else if (c == '%') {
            int high = raw.len - i > 2 ? dg_chars_hex(raw.ptr[i + 1]) : -1;
            int low = raw.len - i > 2 ? dg_chars_hex(raw.ptr[i + 2]) : -1;
            if (high < 0 || low < 0)
                return dg_error_set(error, DG_ERR_FORMAT,
                                    "'%%' at byte %zu is not followed by two hexadecimal digits",
                                    i);
            c = (char)(high << 4 | low);
            i += 2;
        }
        text[n++] = c;
    }
    text[n] = '\0';
    size_t bad_at = 0;
    if (!dg_utf8_valid(dg_span_make(text, n), &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the decoded text is not valid UTF-8 at byte %zu",
                            bad_at);
    *out = dg_span_make(text, n);
    return DG_OK;
}

/* Cuts "http://authority" off; false when the target has no such beginning. */
static bool cut_authority(struct dg_span *rest, struct dg_span *authority)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t len = strlen(schemes[i]);
        if (rest->len < len || strncasecmp(rest->ptr, schemes[i], len) != 0)
            continue;
        *rest = dg_span_sub(*rest, len, rest->len);
        size_t end = 0;
        while (end < rest->len && rest->ptr[end] != '/' && rest->ptr[end] != '?')
            end++;
        *authority = dg_span_sub(*rest, 0, end);
        *rest = dg_span_sub(*rest, end, rest->len);
        return true;
    }
    return false;
}

enum dg_err dg_target_parse(struct dg_arena *arena, struct dg_span raw, struct dg_target *target,
                            struct dg_error *error)
{
    struct dg_target found = {.path = DG_SPAN("*")};
    if (dg_span_eq(raw, DG_SPAN("*"))) {
        *target = found;
        return DG_OK;
    }
    struct dg_span rest = raw;
    bool absolute = cut_authority(&rest, &found.authority);
    if (absolute && found.authority.len == 0)
        return dg_error_set(error, DG_ERR_FORMAT, "the request target names no host");
    if (memchr(rest.ptr ? rest.ptr : "", '#', rest.len))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "the request target holds a '#': fragments are not sent");
    const char *mark = rest.len ? memchr(rest.ptr, '?', rest.len) : NULL;
    struct dg_span path = mark ? dg_span_make(rest.ptr, (size_t)(mark - rest.ptr)) : rest;
    if (mark)
        found.query = dg_span_sub(rest, path.len + 1, rest.len);
    if (absolute && path.len == 0)
        path = DG_SPAN("/");
    if (path.len == 0 || path.ptr[0] != '/')
        return dg_error_set(error, DG_ERR_FORMAT, "the request target does not begin with '/'");
    enum dg_err err = decode(arena, path, false, &found.path, error);
    if (err)
        return err;
    if (memchr(found.path.ptr, '\0', found.path.len))
        return dg_error_set(error, DG_ERR_UTF8, "the path holds an encoded NUL");
    *target = found;
    return DG_OK;
}

enum dg_err dg_query_next(struct dg_query *query, struct dg_arena *arena, struct dg_span *name,
                          struct dg_span *value, bool *more)
{
    while (query->rest.len && query->rest.ptr[0] == '&')
        query->rest = dg_span_sub(query->rest, 1, query->rest.len);
    if (query->rest.len == 0) {
        *more = false;
        return DG_OK;
    }
    const char *end = memchr(query->rest.ptr, '&', query->rest.len);
    struct dg_span pair =
        end ? dg_span_make(query->rest.ptr, (size_t)(end - query->rest.ptr)) : query->rest;
    const char *equals = memchr(pair.ptr, '=', pair.len);
    size_t name_len = equals ? (size_t)(equals - pair.ptr) : pair.len;
    struct dg_span name_text, value_text;
    enum dg_err err = decode(arena, dg_span_sub(pair, 0, name_len), true, &name_text, NULL);
    if (!err)
        err = decode(arena, dg_span_sub(pair, name_len + 1, pair.len), true, &value_text, NULL);
    if (err)
        return err;
    *name = name_text;
    *value = value_text;
    *more = true;
    query->rest = dg_span_sub(query->rest, pair.len, query->rest.len);
    return DG_OK;
}
