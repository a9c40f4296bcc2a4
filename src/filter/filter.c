/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table, and what all kinds share: bytes that are not UTF-8 are refused, and a text that did
 * not change gives the bytes that were read. */
#include "filter/filter.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter_int.h"
#include "markup/markup.h"
#include "office/office.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    TEXT_MAX = DG_OFFICE_PARTS_MAX,
    NOTE_MAX = 1 << 20,
    OUT_MAX = 1 << 30,
    DECLARED_WITHIN = 1024
};

static const char office_word[] = "office";
static const char *const csv_endings[] = {"csv", "tsv", "tab", NULL};
static const char *const yaml_endings[] = {"yml", "yaml", NULL};
static const char *const markdown_endings[] = {"md", "markdown", NULL};

static const char *const latex_endings[] = {"tex", "ltx", "latex", NULL};

static const char *const strings_endings[] = {"strings", NULL};
static const char *const properties_endings[] = {"properties", NULL};
static const char *const xml_endings[] = {"xml", NULL};
static const char *const resx_endings[] = {"resx", "resw", NULL};
static const char *const stringsdict_endings[] = {"stringsdict", NULL};
static const char *const pdf_endings[] = {"pdf", NULL};
static const char *const mail_endings[] = {"eml", NULL};
static const char *const text_endings[] = {"txt", NULL};
static const char *const subrip_endings[] = {"srt", NULL};
static const char *const webvtt_endings[] = {"vtt", NULL};
static const char *const html_endings[] = {"html", "htm", NULL};

size_t dg_filter_mark_len(struct dg_span text)
{
    return dg_span_starts(text, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0;
}

/* True for text in an encoding that the readers of formats do not accept as it is. */
static bool is_encoded(struct dg_span bytes)
{
    return dg_filter_mark_len(bytes) > 0 || !dg_utf8_valid(bytes, NULL);
}

static bool takes_markdown(struct dg_span bytes)
{
    return is_encoded(bytes) || dg_filter_has_front_matter(bytes);
}

/* The text is the file itself, converted to UTF-8. */
static enum dg_err open_encoded(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                struct dg_error *error)
{
    (void)opts;
    (void)error;
    for (int i = 0; dg_doc_format_words[i]; i++)
        if (strcmp(filter->row->word, dg_doc_format_words[i]) == 0)
            filter->format = (enum dg_doc_format)i;
    filter->blocks.rest = dg_filter_mark_len(filter->bytes);
    return DG_OK;
}

static const struct dg_filter_row rows[] = {
    {"csv", csv_endings, "text/csv; charset=utf-8", NULL, dg_filter_open_csv, dg_filter_put_csv},
    {"yaml", yaml_endings, "application/yaml", NULL, dg_filter_open_yaml, dg_filter_put_yaml},
    {"latex", latex_endings, "text/x-tex; charset=utf-8", NULL, dg_filter_open_latex,
     dg_filter_put_latex},
    {"strings", strings_endings, "text/plain; charset=utf-8", NULL, dg_filter_open_strings,
     dg_filter_put_strings},
    {"properties", properties_endings, "text/plain; charset=utf-8", NULL, dg_filter_open_properties,
     dg_filter_put_strings},
    {"android", xml_endings, "application/xml", dg_filter_is_android, dg_filter_open_android,
     dg_filter_put_resources},
    {"resx", resx_endings, "application/xml", NULL, dg_filter_open_resx, dg_filter_put_resources},
    {"stringsdict", stringsdict_endings, "application/xml", NULL, dg_filter_open_stringsdict,
     dg_filter_put_resources},
    {"markdown", markdown_endings, "text/markdown; charset=utf-8", takes_markdown,
     dg_filter_open_markdown, dg_filter_put_yaml},
    {"mail", mail_endings, "message/rfc822", NULL, dg_filter_open_mail, NULL},
    {"pdf", pdf_endings, "application/pdf", NULL, dg_filter_open_pdf, NULL},
    {"text", text_endings, "text/plain", is_encoded, open_encoded, NULL},
    {"subrip", subrip_endings, "application/x-subrip", is_encoded, open_encoded, NULL},
    {"webvtt", webvtt_endings, "text/vtt", is_encoded, open_encoded, NULL},
    {"html", html_endings, "text/html", is_encoded, open_encoded, NULL},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static const struct dg_filter_row *row_of_name(struct dg_span name)
{
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.')
        dot--;
    const struct dg_span ending = dg_span_sub(name, dot, name.len);
    for (size_t i = 0; i < N_ROWS; i++)
        for (size_t k = 0; rows[i].endings[k]; k++)
            if (dg_markup_is(DG_MARKUP_HTML, ending, dg_span_cstr(rows[i].endings[k])))
                return &rows[i];
    return NULL;
}

static const struct dg_filter_row *row_of_word(struct dg_span word)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (dg_span_eq(word, dg_span_cstr(rows[i].word)))
            return &rows[i];
    return NULL;
}

bool dg_filter_is_named(struct dg_span name)
{
    const struct dg_filter_row *row = row_of_name(name);
    return row ? !row->takes : dg_office_is_named(name);
}

bool dg_filter_takes(struct dg_span name, struct dg_span bytes)
{
    const struct dg_filter_row *row = row_of_name(name);
    return row && row->takes ? row->takes(bytes) : dg_filter_is_named(name);
}

bool dg_filter_is_kind(struct dg_span word, struct dg_span bytes)
{
    const struct dg_filter_row *row = row_of_word(word);
    return row ? !row->takes || row->takes(bytes) : dg_span_eq(word, dg_span_cstr(office_word));
}

const char *dg_filter_type(struct dg_span name)
{
    const struct dg_filter_row *row = row_of_name(name);
    return row ? row->type : dg_office_type(name);
}

bool dg_filter_output(struct dg_span name, struct dg_span wanted, const char **ending)
{
    const struct dg_filter_row *row = row_of_name(name);
    enum dg_rendition rendition;
    *ending = NULL;
    if (!row || row->endings != pdf_endings) {
        const size_t dot = name.len > wanted.len ? name.len - wanted.len : 0;
        return wanted.len == 0 || (dot > 0 && name.ptr[dot - 1] == '.' &&
                                   strncasecmp(name.ptr + dot, wanted.ptr, wanted.len) == 0);
    }
    if (!dg_rendition_of(wanted, &rendition))
        return false;
    *ending = dg_rendition_words[rendition];
    return true;
}

size_t dg_filter_line(const struct dg_filter *filter, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at && i < filter->bytes.len; i++)
        line += filter->bytes.ptr[i] == '\n';
    return line;
}

/* The encoding that a page declares: charset=..., in its first bytes. */
static void find_declared(struct dg_span text, char name[DG_CHARSET_NAME])
{
    static const char word[] = "charset=";
    for (size_t at = 0; at + sizeof word < text.len && at < DECLARED_WITHIN; at++) {
        if (strncasecmp(text.ptr + at, word, sizeof word - 1) != 0)
            continue;
        size_t from = at + sizeof word - 1, n = 0;
        from += text.ptr[from] == '"' || text.ptr[from] == '\'';
        while (from + n < text.len && n < DG_CHARSET_NAME - 1 &&
               !strchr("\"' />;", text.ptr[from + n]))
            n++;
        snprintf(name, DG_CHARSET_NAME, "%.*s", (int)n, text.ptr + from);
        return;
    }
}

/* Tries to read the file in an encoding; false when it would not give the same bytes again. */
static enum dg_err decode_as(struct dg_filter *filter, const char *name, bool *is_exact)
{
    dg_buf_clear(&filter->decoded);
    *is_exact = false;
    const enum dg_err err = dg_charset_decode(name, filter->raw, &filter->decoded, is_exact);
    if (*is_exact && name != filter->charset)
        snprintf(filter->charset, sizeof filter->charset, "%s", name);
    return err == DG_ERR_UNSUPPORTED ? DG_OK : err;
}

static enum dg_err decode(struct dg_filter *filter, struct dg_error *error)
{
    char declared[DG_CHARSET_NAME] = "", found[DG_CHARSET_NAME] = "";
    bool is_exact = false;
    enum dg_err err = DG_OK;
    size_t bad_at = 0;
    if (dg_utf8_valid(filter->raw, &bad_at))
        return DG_OK;
    if (filter->row->endings == html_endings)
        find_declared(filter->raw, declared);
    if (*declared)
        err = decode_as(filter, declared, &is_exact);
    if (!err && !is_exact && dg_charset_detect(filter->raw, found))
        err = decode_as(filter, found, &is_exact);
    if (!err && !is_exact && !memchr(filter->raw.ptr, '\0', filter->raw.len))
        err = decode_as(filter, "windows-1252", &is_exact);
    if (!err && !is_exact)
        return dg_error_set(error, DG_ERR_UTF8,
                            "the file is not UTF-8 (at byte %zu), nor text in another encoding "
                            "that can be recognised",
                            bad_at);
    filter->bytes = dg_buf_span(&filter->decoded);
    return err ? err : dg_buf_printf(&filter->note, "the file is read as %s", filter->charset);
}

static enum dg_err open_text(struct dg_filter *filter, const struct dg_filter_opts *opts,
                             struct dg_error *error)
{
    /* Messages have several encodings, and properties files have rules of their own. */
    const bool is_bytes = filter->row->open == dg_filter_open_mail ||
                          filter->row->open == dg_filter_open_pdf ||
                          filter->row->open == dg_filter_open_properties;
    enum dg_err err = is_bytes ? DG_OK : decode(filter, error);
    if (!err && filter->note.len && filter->row->open == dg_filter_open_csv)
        err = dg_buf_append_cstr(&filter->note, "; ");
    if (!err)
        err = filter->row->open(filter, opts, error);
    return err ? err : filter->blocks.err;
}

enum dg_err dg_filter_new(struct dg_span bytes, const char *name, const struct dg_filter_opts *opts,
                          struct dg_filter **out, struct dg_error *error)
{
    struct dg_filter *filter = dg_try_calloc(1, sizeof *filter);
    const size_t text_max = opts->text_max ? opts->text_max : TEXT_MAX;
    if (!filter)
        return DG_ERR_NOMEM;
    filter->name = name;
    filter->format = DG_DOC_HTML;
    filter->stop = opts->stop;
    filter->bytes = filter->raw = bytes;
    dg_buf_init(&filter->decoded, text_max > INT32_MAX / 4 ? INT32_MAX : 4 * text_max);
    dg_buf_init(&filter->note, NOTE_MAX);
    dg_blocks_init(&filter->blocks, text_max);
    filter->row = opts->kind.len ? row_of_word(opts->kind) : row_of_name(dg_span_cstr(name));
    const enum dg_err err = filter->row && !dg_office_is(bytes)
                                ? open_text(filter, opts, error)
                                : dg_office_new(bytes, name, text_max, &filter->office, error);
    if (err)
        dg_filter_free(filter);
    else
        *out = filter;
    return err;
}

void dg_filter_free(struct dg_filter *filter)
{
    if (!filter)
        return;
    dg_office_free(filter->office);
    dg_blocks_deinit(&filter->blocks);
    dg_mail_free(filter->mail);
    dg_buf_deinit(&filter->decoded);
    dg_buf_deinit(&filter->note);
    dg_free(filter);
}

const char *dg_filter_kind(const struct dg_filter *filter)
{
    return filter->office ? office_word : filter->row->word;
}

bool dg_filter_has_blocks(const struct dg_filter *filter)
{
    return filter->format == DG_DOC_HTML && filter->blocks.rest == SIZE_MAX;
}

enum dg_doc_format dg_filter_format(const struct dg_filter *filter)
{
    return filter->format;
}

struct dg_span dg_filter_note(const struct dg_filter *filter)
{
    return dg_buf_span(&filter->note);
}

static bool is_pdf(const struct dg_filter *filter)
{
    return filter->row && filter->row->open == dg_filter_open_pdf;
}

enum dg_err dg_filter_text(const struct dg_filter *filter, struct dg_buf *text,
                           struct dg_error *error)
{
    if (filter->office)
        return dg_office_text(filter->office, text, error);
    if (filter->mail)
        return dg_filter_text_mail(filter, text);
    if (is_pdf(filter))
        return dg_filter_text_pdf(filter, text, error);
    return dg_blocks_text(&filter->blocks, filter->bytes, text);
}

/* Writes text in the encoding of the file. */
static enum dg_err write_encoded(struct dg_filter *filter, struct dg_span text,
                                 enum dg_err (*write)(void *ctx, struct dg_span bytes,
                                                      struct dg_error *error),
                                 void *ctx, struct dg_error *error)
{
    struct dg_buf bytes;
    bool fits = false;
    dg_buf_init(&bytes, OUT_MAX);
    enum dg_err err = dg_charset_encode(filter->charset, text, filter->row->endings == html_endings,
                                        &bytes, &fits);
    if (!err && !fits)
        err = dg_buf_printf(
            &filter->note,
            ", and written as UTF-8, because that encoding lacks letters of the translation");
    if (!err)
        err = write(ctx, fits ? dg_buf_span(&bytes) : text, error);
    dg_buf_deinit(&bytes);
    return err;
}

enum dg_err dg_filter_write(struct dg_filter *filter, struct dg_span source, struct dg_span target,
                            struct dg_span language,
                            enum dg_err (*write)(void *ctx, struct dg_span bytes,
                                                 struct dg_error *error),
                            void *ctx, struct dg_error *error)
{
    struct dg_buf out;
    if (filter->office)
        return dg_office_write(filter->office, source, target, language, write, ctx, error);
    if (dg_span_eq(source, target) && !is_pdf(filter))
        return write(ctx, filter->raw, error);
    filter->language = language;
    dg_buf_init(&out, OUT_MAX);
    enum dg_err err = filter->mail     ? dg_filter_write_mail(filter, target, &out, error)
                      : is_pdf(filter) ? dg_filter_write_pdf(filter, target, &out, error)
                                       : dg_blocks_write(&filter->blocks, filter->bytes, target,
                                                         filter->row->put, filter, &out, error);
    if (!err && language.len && filter->row->put == dg_filter_put_strings)
        err = dg_filter_add_plurals(filter, &out, error);
    if (!err)
        err = *filter->charset ? write_encoded(filter, dg_buf_span(&out), write, ctx, error)
                               : write(ctx, dg_buf_span(&out), error);
    dg_buf_deinit(&out);
    return err;
}
