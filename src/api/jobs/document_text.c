/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The text of a file that a filter reads (filter/filter.h) is blocks of HTML; the text of any other
 * file is the file itself. */
#include "api/jobs/document_text.h"
#include "api/jobs/bulk_int.h"
#include "base/file/map_file.h"
#include "base/json/json.h"
#include "base/memory/utf8.h"
#include "filter/filter.h"
#include "text/language/langid.h"

#include <stdio.h>
#include <string.h>

enum {
    /* bytes of a document's text, and of an office document's parts with text */
    TEXT_MAX = 32 << 20,
    LINES_MAX = 256 << 20,
    SAMPLE = 16 * 1024, /* bytes of the text from which its language is detected */
    LINE_VALUES_MAX = 10 * 1000,
};

/* ---- From a file to lines -------------------------------------------------------------------- */

static enum dg_err put_line(struct dg_buf *lines, struct dg_span text)
{
    struct dg_json_out out;
    dg_json_out_init(&out, lines);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "text", text);
    dg_json_out_close(&out, '}');
    const enum dg_err err = dg_json_out_end(&out);
    return err ? err : dg_buf_append_byte(lines, '\n');
}

/* Returns where the part of the text that begins at `at` ends: for a filter, after its block
 * <p>...</p>; in plain text, at an empty line; in other formats, at the end of the text. */
static size_t end_of_part(struct dg_span text, size_t at, bool is_blocks, enum dg_doc_format format)
{
    const struct dg_span border = is_blocks ? DG_SPAN("\n<p>") : DG_SPAN("\n\n");
    if (!is_blocks && format != DG_DOC_TEXT)
        return text.len;
    for (size_t i = at; i < text.len;) {
        const char *newline = memchr(text.ptr + i, '\n', text.len - i);
        if (!newline)
            break;
        i = (size_t)(newline - text.ptr);
        if (dg_span_starts(dg_span_sub(text, i, text.len), border)) {
            i += is_blocks ? 1 : border.len;
            while (!is_blocks && i < text.len && text.ptr[i] == '\n')
                i++;
            return i;
        }
        i++;
    }
    return text.len;
}

static enum dg_err put_lines(struct dg_document_text *text, struct dg_span shown, bool is_blocks)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < shown.len && !err;) {
        const size_t end = end_of_part(shown, at, is_blocks, text->format);
        err = put_line(&text->lines, dg_span_sub(shown, at, end - at));
        at = end;
    }
    return err;
}

/* Puts the beginning of the text, without what looks like tags. */
static enum dg_err put_sample(struct dg_buf *sample, struct dg_span text, enum dg_doc_format format)
{
    bool in_tag = false;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && sample->len < SAMPLE && !err; i++) {
        const char c = text.ptr[i];
        if (format != DG_DOC_TEXT && (c == '<' || c == '>')) {
            in_tag = c == '<';
            err = dg_buf_append_byte(sample, ' ');
        } else if (!in_tag) {
            err = dg_buf_append_byte(sample, c);
        }
    }
    sample->len = dg_utf8_clip(dg_buf_span(sample), sample->len).len;
    return err;
}

/* Paragraphs are translated one by one, but their language is that of the whole text. */
static enum dg_err detect(struct dg_document_text *text, struct dg_span shown,
                          const struct dg_engine *engine, const struct dg_languages *langs,
                          struct dg_arena *arena)
{
    const char **tags = dg_arena_calloc(arena, langs->n + 1, sizeof *tags);
    struct dg_langid_guess guess = {.tag = NULL};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf sample;
    size_t n = 0;
    if (!tags)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < langs->n; i++)
        tags[i] = langs->items[i].tag.text;
    const struct dg_engine_languages among = {tags, langs->n};
    dg_buf_init(&sample, SAMPLE + 16);
    enum dg_err err = put_sample(&sample, shown, text->format);
    if (!err &&
        dg_engine_detect(engine, dg_buf_span(&sample), &among, &guess, 1, &error, &n) == DG_OK &&
        n > 0)
        snprintf(text->source, sizeof text->source, "%s", guess.tag);
    dg_buf_deinit(&sample);
    return err;
}

/* Counts the text without its markup. A file whose markup is wrong is refused now rather than when
 * its line is translated. */
static enum dg_err read_markup(struct dg_document_text *text, struct dg_span shown,
                               struct dg_error *error)
{
    const struct dg_doc_opts opts = {.stop = text->stop};
    struct dg_doc *doc = NULL;
    text->n_characters = text->n_plain = dg_utf8_count(shown);
    if (text->format == DG_DOC_TEXT)
        return DG_OK;
    const enum dg_err err = dg_doc_new(shown, text->format, &opts, &doc, error);
    if (!err)
        text->n_plain = dg_utf8_count(dg_doc_plain(doc));
    dg_doc_free(doc);
    return err;
}

static enum dg_err read_shown(struct dg_document_text *text, struct dg_buf *buf,
                              struct dg_span *shown, bool *is_blocks, struct dg_error *error)
{
    const struct dg_span name = dg_span_cstr(text->name);
    const struct dg_filter_opts opts = {.text_max = TEXT_MAX,
                                        .columns = dg_span_cstr(text->columns),
                                        .output = dg_span_cstr(text->output),
                                        .stop = text->stop};
    struct dg_filter *filter = NULL;
    size_t bad_at;
    *is_blocks = dg_filter_takes(name, text->bytes);
    if (!*is_blocks) {
        *shown = text->bytes;
        if (!dg_utf8_valid(text->bytes, &bad_at))
            return dg_error_set(error, DG_ERR_UTF8, "the file is not UTF-8 at byte %zu", bad_at);
        return DG_OK;
    }
    enum dg_err err = dg_filter_new(text->bytes, text->name, &opts, &filter, error);
    if (!err) {
        text->format = dg_filter_format(filter);
        *is_blocks = dg_filter_has_blocks(filter);
        err = dg_filter_text(filter, buf, error);
    }
    dg_filter_free(filter);
    *shown = dg_buf_span(buf);
    return err;
}

enum dg_err dg_document_text_read(struct dg_document_text *text, const struct dg_engine *engine,
                                  const struct dg_languages *langs, struct dg_arena *arena,
                                  struct dg_error *error)
{
    struct dg_buf buf;
    struct dg_span shown = {NULL, 0};
    bool is_blocks;
    dg_buf_init(&text->lines, LINES_MAX);
    dg_buf_init(&buf, 2 * (size_t)TEXT_MAX);
    text->format = DG_DOC_TEXT;
    (void)dg_document_is_known(dg_span_cstr(text->name), &text->format);
    enum dg_err err = read_shown(text, &buf, &shown, &is_blocks, error);
    if (!err)
        err = read_markup(text, shown, error);
    if (!err)
        err = put_lines(text, shown, is_blocks);
    if (!err && langs)
        err = detect(text, shown, engine, langs, arena);
    dg_buf_deinit(&buf);
    return err;
}

void dg_document_text_deinit(struct dg_document_text *text)
{
    dg_buf_deinit(&text->lines);
}

/* ---- From lines to a file -------------------------------------------------------------------- */

/* Reads the text of a line; there is none if the line failed. */
static enum dg_err take_text(struct dg_span line, struct dg_buf *text, bool *has_text,
                             struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = line.len + 1, .max_depth = 16, .max_values = LINE_VALUES_MAX};
    struct dg_json *json = NULL;
    struct dg_span value = {NULL, 0};
    *has_text = false;
    if (line.len == 0)
        return DG_OK;
    enum dg_err err = dg_json_parse(line, &limits, error, &json);
    if (!err)
        err = dg_json_get_string(json, "text", DG_JSON_OPTIONAL, error, &value);
    *has_text = value.ptr != NULL;
    if (!err)
        err = dg_buf_append_span(text, value);
    dg_json_free(json);
    return err;
}

static struct dg_span take_line(struct dg_span *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    const size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    const struct dg_span line = dg_span_sub(*rest, 0, len);
    *rest = dg_span_sub(*rest, len + (end != NULL), rest->len);
    return line;
}

/* Writes both texts; for a paragraph that failed, or was not to be translated, the original stands
 * in place of its translation. */
static enum dg_err take_texts(struct dg_span in, struct dg_span out, struct dg_buf *source,
                              struct dg_buf *target, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    while (!err && in.len) {
        const size_t at = source->len;
        bool has_text;
        err = take_text(take_line(&in), source, &has_text, error);
        if (!err)
            err = take_text(take_line(&out), target, &has_text, error);
        if (!err && !has_text)
            err =
                dg_buf_append_span(target, dg_span_sub(dg_buf_span(source), at, source->len - at));
    }
    return err;
}

static struct dg_span span_of(const struct dg_map_file *file)
{
    return dg_span_make((const char *)file->bytes, file->len);
}

/* Opens the job's files. */
static enum dg_err open_files(const struct dg_bulk_job *job, bool has_output,
                              struct dg_map_file *file, struct dg_map_file *in,
                              struct dg_map_file *out, struct dg_error *error)
{
    enum dg_err err = dg_map_file_open(file, job->document_path, SIZE_MAX / 2, error);
    if (!err)
        err = dg_map_file_open(in, job->in_path, SIZE_MAX / 2, error);
    if (!err && has_output)
        err = dg_map_file_open(out, job->out_path, SIZE_MAX / 2, error);
    return err;
}

enum dg_err dg_document_text_write(const struct dg_bulk_job *job, bool has_output,
                                   const char *language,
                                   enum dg_err (*append)(void *ctx, struct dg_span bytes,
                                                         struct dg_error *error),
                                   void *ctx, struct dg_error *error)
{
    struct dg_map_file file = {0}, in = {0}, out = {0};
    struct dg_filter *filter = NULL;
    struct dg_buf source, target;
    const struct dg_span name = dg_span_cstr(job->document_name);
    const struct dg_filter_opts opts = {.text_max = TEXT_MAX,
                                        .columns = dg_span_cstr(job->document_columns),
                                        .output = dg_span_cstr(job->document_output)};
    dg_buf_init(&source, LINES_MAX);
    dg_buf_init(&target, LINES_MAX);
    enum dg_err err = open_files(job, has_output, &file, &in, &out, error);
    if (!err)
        err = take_texts(span_of(&in), span_of(&out), &source, &target, error);
    if (!err && dg_filter_takes(name, span_of(&file))) {
        err = dg_filter_new(span_of(&file), job->document_name, &opts, &filter, error);
        if (!err)
            err = dg_filter_write(filter, dg_buf_span(&source), dg_buf_span(&target),
                                  dg_span_cstr(language), append, ctx, error);
    } else if (!err) {
        err = append(ctx, dg_buf_span(&target), error);
    }
    dg_filter_free(filter);
    dg_buf_deinit(&source);
    dg_buf_deinit(&target);
    dg_map_file_close(&out);
    dg_map_file_close(&in);
    dg_map_file_close(&file);
    return err;
}
