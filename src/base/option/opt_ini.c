/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The line reader for configuration files. Each line is first checked as bytes (length, control
 * characters, UTF-8), so that the parser after it deals only with text. */
#include "base/option/opt_ini.h"

#include "base/memory/chars.h"
#include "base/memory/utf8.h"

static struct dg_span trim_start(struct dg_span text)
{
    while (text.len > 0 && dg_chars_is_blank(text.ptr[0]))
        text = dg_span_sub(text, 1, text.len);
    return text;
}

/* Quoting at most this much of a bad line keeps the error message readable. */
static struct dg_span head(struct dg_span text)
{
    return dg_utf8_clip(text, 80);
}

bool dg_opt_ini_is_name(struct dg_span text)
{
    if (text.len == 0 || text.len > DG_OPT_INI_NAME_MAX || text.ptr[0] < 'a' || text.ptr[0] > 'z')
        return false;
    for (size_t i = 1; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return true;
}

static bool is_section_name(struct dg_span text)
{
    if (text.len == 0 || text.len > DG_OPT_INI_NAME_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return true;
}

void dg_opt_ini_init(struct dg_opt_ini *ini, const char *origin, struct dg_span text)
{
    ini->origin = origin;
    ini->line = 0;
    ini->rest =
        dg_span_starts(text, DG_SPAN("\xef\xbb\xbf")) ? dg_span_sub(text, 3, text.len) : text;
}

/* Cuts the next line off the text and checks its bytes. */
static enum dg_err next_line(struct dg_opt_ini *ini, struct dg_span *line, struct dg_error *error)
{
    ini->line++;
    const char *lf = memchr(ini->rest.ptr, '\n', ini->rest.len);
    struct dg_span text =
        dg_span_sub(ini->rest, 0, lf ? (size_t)(lf - ini->rest.ptr) : ini->rest.len);
    ini->rest = dg_span_sub(ini->rest, text.len + 1, ini->rest.len);
    if (text.len > 0 && text.ptr[text.len - 1] == '\r')
        text.len--;
    if (text.len > DG_OPT_INI_LINE_MAX)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%s:%u: read a line of %zu bytes, expected at most %d", ini->origin,
                            ini->line, text.len, DG_OPT_INI_LINE_MAX);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return dg_error_set(
                error, DG_ERR_FORMAT, "%s:%u: read %s 0x%02x at byte %zu, expected plain text",
                ini->origin, ini->line, c ? "the control character" : "the NUL byte", c, i + 1);
    }
    size_t bad_at = 0;
    if (!dg_utf8_valid(text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8,
                            "%s:%u: read the byte 0x%02x at byte %zu, expected UTF-8 text",
                            ini->origin, ini->line, (unsigned char)text.ptr[bad_at], bad_at + 1);
    *line = text;
    return DG_OK;
}

/* Checks that nothing but a comment follows a value or a section. */
static bool is_tail(struct dg_span text)
{
    struct dg_span rest = trim_start(text);
    return rest.len == 0 || (rest.ptr[0] == '#' && rest.len < text.len);
}

static enum dg_err parse_section(struct dg_opt_ini *ini, struct dg_span line,
                                 struct dg_opt_ini_item *item, struct dg_error *error)
{
    const char *close = memchr(line.ptr, ']', line.len);
    size_t inside = close ? (size_t)(close - line.ptr) : line.len;
    struct dg_span text = dg_chars_trim(dg_span_sub(line, 1, inside - 1), " \t");
    size_t kind_len = 0;
    while (kind_len < text.len && !dg_chars_is_blank(text.ptr[kind_len]))
        kind_len++;
    struct dg_span kind = dg_span_sub(text, 0, kind_len);
    struct dg_span name = trim_start(dg_span_sub(text, kind_len, text.len));
    if (!close || !is_tail(dg_span_sub(line, inside + 1, line.len)) || !dg_opt_ini_is_name(kind) ||
        !is_section_name(name))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s:%u: read \"%.*s\", expected a section such as [model fr-en] (names "
                            "of letters, digits, '.', '_' and '-')",
                            ini->origin, ini->line, DG_SPAN_FMT(head(line)));
    *item = (struct dg_opt_ini_item){DG_OPT_INI_SECTION, ini->line, kind, name};
    return DG_OK;
}

/* The text between quotes, unescaped into ini->value. `text` starts after the opening quote. */
static enum dg_err unquote(struct dg_opt_ini *ini, struct dg_span text, struct dg_span *value,
                           struct dg_error *error)
{
    size_t len = 0, i = 0;
    for (; i < text.len && text.ptr[i] != '"'; i++) {
        if (text.ptr[i] == '\\') {
            i++;
            if (i == text.len || (text.ptr[i] != '"' && text.ptr[i] != '\\'))
                return dg_error_set(error, DG_ERR_FORMAT,
                                    "%s:%u: read a \\ before something else, expected \\\" or \\\\ "
                                    "between quotes",
                                    ini->origin, ini->line);
        }
        ini->value[len++] = text.ptr[i];
    }
    if (i == text.len)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s:%u: read an opening quote, expected a closing one", ini->origin,
                            ini->line);
    struct dg_span tail = dg_span_sub(text, i + 1, text.len);
    if (!is_tail(tail))
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "%s:%u: read \"%.*s\" after the closing quote, expected the end of the line",
            ini->origin, ini->line, DG_SPAN_FMT(head(tail)));
    *value = dg_span_make(ini->value, len);
    return DG_OK;
}

/* Without quotes the value ends at the line's end or before a blank and '#'. */
static struct dg_span plain_value(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '#' && i > 0 && dg_chars_is_blank(text.ptr[i - 1]))
            return dg_chars_trim(dg_span_sub(text, 0, i), " \t");
    return dg_chars_trim(text, " \t");
}

static enum dg_err parse_pair(struct dg_opt_ini *ini, struct dg_span line,
                              struct dg_opt_ini_item *item, struct dg_error *error)
{
    const char *equals = memchr(line.ptr, '=', line.len);
    size_t at = equals ? (size_t)(equals - line.ptr) : line.len;
    struct dg_span name = dg_chars_trim(dg_span_sub(line, 0, at), " \t");
    struct dg_span raw = dg_span_sub(line, at + 1, line.len);
    if (!equals || !dg_opt_ini_is_name(name))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s:%u: read \"%.*s\", expected NAME = VALUE, [KIND NAME] or # comment",
                            ini->origin, ini->line, DG_SPAN_FMT(head(line)));
    struct dg_span text = trim_start(raw), value = plain_value(raw);
    if (text.len > 0 && text.ptr[0] == '"') {
        enum dg_err err = unquote(ini, dg_span_sub(text, 1, text.len), &value, error);
        if (err)
            return err;
    }
    *item = (struct dg_opt_ini_item){DG_OPT_INI_PAIR, ini->line, name, value};
    return DG_OK;
}

enum dg_err dg_opt_ini_next(struct dg_opt_ini *ini, struct dg_opt_ini_item *item,
                            struct dg_error *error)
{
    while (ini->rest.len > 0) {
        struct dg_span line;
        enum dg_err err = next_line(ini, &line, error);
        if (err)
            return err;
        line = dg_chars_trim(line, " \t");
        if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == ';')
            continue;
        return line.ptr[0] == '[' ? parse_section(ini, line, item, error)
                                  : parse_pair(ini, line, item, error);
    }
    *item = (struct dg_opt_ini_item){.kind = DG_OPT_INI_END, .line = ini->line};
    return DG_OK;
}
