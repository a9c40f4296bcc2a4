/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Records of one model are those with the same languages, architecture, version and filter. They
 * are printed as a catalogue file, which is then read: so they pass all checks that a catalogue
 * passes. */
#include "fetch/source_firefox.h"

#include "base/json/json.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES_MAX = 100, RECORDS_MAX = 20000 };

static const struct dg_json_limits limits = {
    .max_bytes = DG_CATALOGUE_BYTES_MAX, .max_depth = 16, .max_values = 1000 * 1000};

/* One file; spans are borrowed from its page. */
struct record {
    struct dg_span source, target, kind, version, filter, name, type;
    struct dg_span place, sha256, raw_sha256;
    int64_t size, raw_size, changed;
    size_t at; /* its number among all records, so that the order is stable */
};

/* ---- Reading --------------------------------------------------------------------------------- */

static enum dg_err read_record(const struct dg_json *json, struct record *record,
                               struct dg_error *error)
{
    const struct dg_json *file = NULL;
    const struct {
        const char *name;
        enum dg_json_need need;
        struct dg_span *to;
    } texts[] = {
        {"sourceLanguage", DG_JSON_REQUIRED, &record->source},
        {"targetLanguage", DG_JSON_REQUIRED, &record->target},
        {"architecture", DG_JSON_OPTIONAL, &record->kind},
        {"version", DG_JSON_REQUIRED, &record->version},
        {"filter_expression", DG_JSON_OPTIONAL, &record->filter},
        {"name", DG_JSON_REQUIRED, &record->name},
        {"decompressedHash", DG_JSON_OPTIONAL, &record->raw_sha256},
    };
    enum dg_err err = dg_json_get_object(json, "attachment", DG_JSON_REQUIRED, error, &file);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !err; i++)
        err = dg_json_get_string(json, texts[i].name, texts[i].need, error, texts[i].to);
    if (!err)
        err = dg_json_get_int(json, "decompressedSize", DG_JSON_OPTIONAL, 0,
                              (int64_t)DG_CATALOGUE_FILE_MAX, error, &record->raw_size);
    if (!err)
        err = dg_json_get_int(json, "last_modified", DG_JSON_OPTIONAL, 0, INT64_C(1) << 50, error,
                              &record->changed);
    if (!err)
        err = dg_json_get_string(file, "location", DG_JSON_REQUIRED, error, &record->place);
    if (!err)
        err = dg_json_get_string(file, "hash", DG_JSON_REQUIRED, error, &record->sha256);
    if (!err)
        err = dg_json_get_int(file, "size", DG_JSON_REQUIRED, 1, (int64_t)DG_CATALOGUE_FILE_MAX,
                              error, &record->size);
    if (!err && record->kind.len == 0)
        record->kind = DG_SPAN("base");
    return err;
}

static enum dg_err read_page(const struct dg_json *page, struct record *records, size_t *n,
                             struct dg_error *error)
{
    const struct dg_json *list = NULL;
    enum dg_err err = dg_json_get_array(page, "data", DG_JSON_REQUIRED, error, &list);
    for (size_t i = 0; !err && i < dg_json_len(list); i++) {
        if (*n == RECORDS_MAX)
            return dg_error_set(error, DG_ERR_LIMIT, "the list has more than %d records",
                                RECORDS_MAX);
        records[*n] = (struct record){.at = *n};
        err = read_record(dg_json_at(list, i), &records[*n], error);
        if (err)
            return dg_error_wrap(error, err, "record %zu", i);
        (*n)++;
    }
    return err;
}

/* ---- Models ---------------------------------------------------------------------------------- */

static int compare_spans(struct dg_span a, struct dg_span b)
{
    const size_t n = a.len < b.len ? a.len : b.len;
    const int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_models(const struct record *a, const struct record *b)
{
    int order = compare_spans(a->source, b->source);
    if (!order)
        order = compare_spans(a->target, b->target);
    if (!order)
        order = compare_spans(a->kind, b->kind);
    if (!order)
        order = compare_spans(a->version, b->version);
    return order ? order : compare_spans(a->filter, b->filter);
}

static int compare_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    const int order = compare_models(a, b);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static void put_file(struct dg_json_out *out, const struct record *record)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_string(out, "name", record->name);
    dg_json_out_put_string(out, "place", record->place);
    dg_json_out_put_int(out, "size", record->size);
    dg_json_out_put_string(out, "sha256", record->sha256);
    if (record->raw_size)
        dg_json_out_put_int(out, "raw_size", record->raw_size);
    if (record->raw_sha256.len)
        dg_json_out_put_string(out, "raw_sha256", record->raw_sha256);
    dg_json_out_close(out, '}');
}

static enum dg_err put_model(const struct record *records, size_t n, struct dg_buf *buf)
{
    struct dg_json_out out;
    int64_t changed = 0;
    for (size_t i = 0; i < n; i++)
        if (records[i].changed / 1000 > changed)
            changed = records[i].changed / 1000;
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "source", records->source);
    dg_json_out_put_string(&out, "target", records->target);
    dg_json_out_put_cstr(&out, "from", "firefox");
    dg_json_out_put_string(&out, "kind", records->kind);
    dg_json_out_put_string(&out, "version", records->version);
    dg_json_out_put_int(&out, "changed", changed);
    if (records->filter.len)
        dg_json_out_put_string(&out, "filter", records->filter);
    dg_json_out_put_open(&out, "files", '[');
    for (size_t i = 0; i < n; i++)
        put_file(&out, &records[i]);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static enum dg_err put_models(struct record *records, size_t n, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    if (n)
        qsort(records, n, sizeof *records, compare_records);
    for (size_t i = 0, end; i < n && !err; i = end) {
        end = i + 1;
        while (end < n && compare_models(&records[i], &records[end]) == 0)
            end++;
        if (i)
            err = dg_buf_append_cstr(out, ",\n");
        if (!err)
            err = put_model(&records[i], end - i, out);
    }
    return err;
}

enum dg_err dg_firefox_models(const struct dg_span *pages, size_t n_pages, struct dg_buf *out,
                              struct dg_error *error)
{
    struct dg_json *parsed[PAGES_MAX] = {NULL};
    struct record *records = dg_try_calloc(RECORDS_MAX, sizeof *records);
    size_t n = 0;
    enum dg_err err = !records ? DG_ERR_NOMEM : n_pages > PAGES_MAX ? DG_ERR_LIMIT : DG_OK;
    for (size_t i = 0; i < n_pages && !err; i++) {
        err = dg_json_parse(pages[i], &limits, error, &parsed[i]);
        if (!err)
            err = read_page(parsed[i], records, &n, error);
    }
    if (!err)
        err = put_models(records, n, out);
    for (size_t i = 0; i < PAGES_MAX; i++)
        dg_json_free(parsed[i]);
    dg_free(records);
    return err;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Prints the catalogue without the source's models, and leaves the list of models open for more. */
static enum dg_err print_others(const struct dg_catalogue *catalogue, const char *date,
                                struct dg_buf *out)
{
    struct dg_catalogue others = *catalogue;
    struct dg_catalogue_model *models =
        dg_try_calloc(catalogue->n_models + 1, sizeof *catalogue->models);
    static const char end[] = "\n]}\n";
    if (!models)
        return DG_ERR_NOMEM;
    others.models = models;
    others.n_models = 0;
    others.date = date;
    for (size_t i = 0; i < catalogue->n_models; i++)
        if (strcmp(catalogue->models[i].from->name, "firefox") != 0)
            models[others.n_models++] = catalogue->models[i];
    enum dg_err err = dg_catalogue_print(&others, out);
    dg_free(models);
    if (err)
        return err;
    dg_buf_truncate(out, out->len - (sizeof end - 1));
    return others.n_models ? dg_buf_append_cstr(out, ",\n") : DG_OK;
}

/* Requests all pages, and puts them one after the other into `text`; `ends` gets their ends. */
static enum dg_err ask(struct dg_transfer *transfer, const char *list, struct dg_buf *text,
                       size_t ends[PAGES_MAX], size_t *n_pages, struct dg_error *error)
{
    char url[DG_TRANSFER_URL_MAX], next[DG_TRANSFER_URL_MAX];
    struct dg_buf page;
    enum dg_err err = DG_OK;
    dg_buf_init(&page, DG_CATALOGUE_BYTES_MAX);
    snprintf(url, sizeof url, "%s", list);
    while (*url && !err) {
        if (*n_pages == PAGES_MAX) {
            err = dg_error_set(error, DG_ERR_LIMIT, "%s: more than %d pages", list, PAGES_MAX);
            break;
        }
        dg_buf_clear(&page);
        err = dg_transfer_text(transfer, url, &page, next, error);
        if (!err && *next && !dg_catalogue_is_url(dg_span_cstr(next)))
            err = dg_error_set(error, DG_ERR_FORMAT,
                               "%s: the next page does not have an https address", list);
        if (!err)
            err = dg_buf_append_span(text, dg_buf_span(&page));
        if (!err)
            ends[(*n_pages)++] = text->len;
        memcpy(url, next, sizeof url);
    }
    dg_buf_deinit(&page);
    return err;
}

enum dg_err dg_firefox_list(struct dg_transfer *transfer, const struct dg_catalogue *catalogue,
                            const char *date, struct dg_catalogue *fresh, struct dg_error *error)
{
    const struct dg_catalogue_source *source = dg_catalogue_source(catalogue, "firefox");
    struct dg_span pages[PAGES_MAX];
    size_t ends[PAGES_MAX], n_pages = 0;
    struct dg_buf text, file;
    if (!source || !*source->list)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "this catalogue does not say where Mozilla's list is");
    dg_buf_init(&text, 2 * (size_t)DG_CATALOGUE_BYTES_MAX);
    dg_buf_init(&file, 2 * (size_t)DG_CATALOGUE_BYTES_MAX);
    enum dg_err err = ask(transfer, source->list, &text, ends, &n_pages, error);
    for (size_t i = 0; i < n_pages; i++)
        pages[i] =
            dg_span_sub(dg_buf_span(&text), i ? ends[i - 1] : 0, ends[i] - (i ? ends[i - 1] : 0));
    if (!err)
        err = print_others(catalogue, date, &file);
    if (!err) {
        err = dg_firefox_models(pages, n_pages, &file, error);
        if (err)
            dg_error_wrap(error, err, "%s", source->list);
    }
    if (!err)
        err = dg_buf_append_cstr(&file, "\n]}\n");
    if (!err)
        err = dg_catalogue_parse(fresh, dg_buf_span(&file), error);
    dg_buf_deinit(&text);
    dg_buf_deinit(&file);
    return err;
}
