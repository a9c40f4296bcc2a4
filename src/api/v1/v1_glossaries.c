/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Our own routes for stored glossaries.
 *
 *     POST /v1/glossaries          {"name", "source", "target", "terms": [...]}, or a table with
 *                                  Content-Type text/tab-separated-values or text/csv, and the
 *                                  other members in the query
 *     GET /v1/glossaries           {"glossaries": [{"id", "name", ...}]}
 *     GET /v1/glossaries/ID        the same with "terms", or a table, by Accept
 *     PUT /v1/glossaries/ID        replaces it
 *     DELETE /v1/glossaries/ID     204 */
#include "api/http/api_int.h"
#include "api/v1/glossary_json.h"
#include "api/v1/translate_options.h"
#include "engine/request/terms_json.h"
#include "net/proto/target.h"

#include <strings.h>

enum { JSON_VALUES = 1000 * 1000, ANSWER_MAX = 128 << 20 };

/* ---- Answers --------------------------------------------------------------------------------- */

/* For a glossary made through DeepL's API, which may have several dictionaries, or none. */
static void put_dictionaries(struct dg_json_out *out, const struct dg_dictionary *dictionaries,
                             size_t n, bool with_terms)
{
    dg_json_out_put_open(out, "dictionaries", '[');
    for (size_t i = 0; i < n; i++) {
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, "source", dictionaries[i].source.text);
        dg_json_out_put_cstr(out, "target", dictionaries[i].target.text);
        dg_json_out_put_uint(out, "count", dictionaries[i].n);
        if (with_terms) {
            dg_json_out_key(out, "terms");
            dg_engine_put_glossary(out, &dictionaries[i]);
        }
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void put_entry(struct dg_json_out *out, const struct dg_call *call,
                      const struct dg_glossaries_entry *entry, bool with_terms)
{
    size_t n;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(entry->glossary, &n);
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "id", entry->id);
    dg_json_out_put_cstr(out, "name", entry->name);
    dg_json_out_put_cstr(out, "source", n == 1 ? dictionaries[0].source.text : "");
    dg_json_out_put_cstr(out, "target", n == 1 ? dictionaries[0].target.text : "");
    dg_json_out_put_cstr(out, "created", entry->created);
    dg_json_out_put_bool(out, "shared", entry->is_shared);
    dg_json_out_put_bool(out, "own", strcmp(entry->owner, dg_gate_name(call)) == 0);
    dg_json_out_put_uint(out, "count", dg_glossary_n_terms(entry->glossary));
    if (n == 1 && with_terms) {
        dg_json_out_key(out, "terms");
        dg_engine_put_glossary(out, &dictionaries[0]);
    }
    if (n != 1)
        put_dictionaries(out, dictionaries, n, with_terms);
    dg_json_out_close(out, '}');
}

static void answer_entry(struct dg_call *call, int status, const struct dg_glossaries_entry *entry,
                         bool with_terms)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    put_entry(&out, call, entry, with_terms);
    dg_call_json_out(call, status, &out);
}

static void answer_change(struct dg_call *call, struct dg_glossaries_change *change)
{
    if (!change->err) {
        answer_entry(call, change->is_new ? 201 : 200, change->entry, false);
        return;
    }
    struct dg_failure failure =
        dg_translate_options_failure(call->req->arena, change->err, &change->error, NULL);
    if (change->is_bad && (failure.status == 404 || failure.status >= 500))
        failure.status = 400;
    if (change->is_bad && change->err == DG_ERR_EXISTS)
        failure.code = "invalid_value";
    if (change->err == DG_ERR_DENIED)
        failure = (struct dg_failure){
            .status = 403,
            .code = "glossaries_not_allowed",
            .field = "shared",
            .message = "Only administrators may share a glossary with everybody."};
    else if (!change->is_bad && failure.status < 500)
        failure.status = 503;
    if (failure.status == 503)
        failure = dg_glossaries_unknown(&call->api->glossaries, failure);
    if (failure.status == 503 && !failure.retry_after_s)
        failure.retry_after_s = 1;
    dg_call_fail(call, failure);
}

/* ---- Reading, off the loop ----------------------------------------------------------------
 */

static enum dg_err copy_text(const struct dg_json *json, const char *name, char *out, size_t cap,
                             struct dg_error *error)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, name, DG_JSON_OPTIONAL, error, &text);
    if (err || !text.ptr)
        return err;
    if (text.len >= cap || memchr(text.ptr, '\0', text.len))
        return dg_error_set(error, DG_ERR_INVALID,
                            "field '%s': read %zu bytes, expected less than %zu", name, text.len,
                            cap);
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return DG_OK;
}

static enum dg_err begin(struct dg_glossaries_change *change)
{
    change->entry->glossary = dg_glossary_new(NULL);
    return change->entry->glossary ? dg_glossary_begin(change->entry->glossary, change->source,
                                                       change->target, &change->error)
                                   : DG_ERR_NOMEM;
}

static enum dg_err read_fields(struct dg_glossaries_change *change, const struct dg_json *json)
{
    static const char *const fields[] = {"name", "source", "target", "terms", "shared", NULL};
    struct dg_glossaries_entry *entry = change->entry;
    bool is_shared = entry->is_shared;
    enum dg_err err = dg_json_check_fields(json, fields, &change->error, NULL);
    if (!err)
        err = copy_text(json, "name", entry->name, sizeof entry->name, &change->error);
    if (!err)
        err = copy_text(json, "source", change->source, sizeof change->source, &change->error);
    if (!err)
        err = copy_text(json, "target", change->target, sizeof change->target, &change->error);
    if (!err)
        err = dg_json_get_bool(json, "shared", DG_JSON_OPTIONAL, &change->error, &is_shared);
    if (!err && is_shared && !change->may_share)
        return DG_ERR_DENIED;
    entry->is_shared = is_shared;
    if (!err)
        err = begin(change);
    return err ? err
               : dg_glossary_json_add(entry->glossary, dg_json_get(json, "terms"), "terms",
                                      DG_GLOSSARY_TERMS, &change->error);
}

static enum dg_err read_json(struct dg_glossaries_change *change)
{
    const struct dg_json_limits limits = {
        .max_bytes = change->text.len + 1, .max_depth = 8, .max_values = JSON_VALUES};
    struct dg_json *json = NULL;
    enum dg_err err = dg_json_parse(dg_buf_span(&change->text), &limits, &change->error, &json);
    if (!err)
        err = read_fields(change, json);
    if (!err)
        err = dg_glossary_seal(change->entry->glossary, &change->error);
    dg_json_free(json);
    return err;
}

static enum dg_err read_table(struct dg_glossaries_change *change)
{
    if (change->entry->is_shared && !change->may_share)
        return DG_ERR_DENIED;
    enum dg_err err = begin(change);
    if (!err)
        err = dg_glossary_read(change->entry->glossary, (enum dg_glossary_format)change->format,
                               DG_GLOSSARY_FORMS + 1, dg_buf_span(&change->text), &change->error);
    return err ? err : dg_glossary_seal(change->entry->glossary, &change->error);
}

/* ---- Making and replacing -------------------------------------------------------------------- */

/* A media type without its parameters. */
static bool is_type(struct dg_span value, const char *type)
{
    size_t len = strlen(type);
    return value.len >= len && strncasecmp(value.ptr, type, len) == 0 &&
           (value.len == len || value.ptr[len] == ';' || value.ptr[len] == ' ' ||
            value.ptr[len] == ',');
}

/* Reads name, source and target of the query. */
static enum dg_err read_query(struct dg_call *call, struct dg_glossaries_change *change)
{
    const struct {
        const char *name;
        char *into;
        size_t cap;
    } rows[] = {{"name", change->entry->name, sizeof change->entry->name},
                {"source", change->source, sizeof change->source},
                {"target", change->target, sizeof change->target}};
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_span name, value;
    bool more = true, is_known;
    enum dg_err err = dg_query_next(&query, call->req->arena, &name, &value, &more);
    for (; !err && more; err = dg_query_next(&query, call->req->arena, &name, &value, &more)) {
        is_known = false;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (!dg_span_eq(name, dg_span_cstr(rows[i].name)) || value.len >= rows[i].cap ||
                memchr(value.ptr, '\0', value.len))
                continue;
            memcpy(rows[i].into, value.ptr, value.len);
            rows[i].into[value.len] = '\0';
            is_known = true;
        }
        if (!is_known)
            return DG_ERR_INVALID;
    }
    return err;
}

static void change(struct dg_call *call, const struct dg_glossaries_entry *replaced)
{
    struct dg_span type = dg_http_header(call->req, "content-type");
    struct dg_glossaries_change *change = dg_glossaries_change_new(call, replaced, call->req->body);
    if (!change) {
        dg_call_fail(call,
                     dg_translate_options_failure(call->req->arena, DG_ERR_NOMEM, NULL, NULL));
        return;
    }
    bool is_tsv = is_type(type, "text/tab-separated-values"), is_csv = is_type(type, "text/csv");
    change->format = is_csv ? DG_GLOSSARY_CSV : DG_GLOSSARY_TSV;
    change->read = is_tsv || is_csv ? read_table : read_json;
    change->answer = answer_change;
    if (change->read == read_table && read_query(call, change) != DG_OK) {
        dg_glossaries_change_free(change);
        dg_call_fail(
            call, (struct dg_failure){
                      .status = 400,
                      .code = "invalid_value",
                      .message =
                          "The query may have the fields name, source and target, and no others."});
        return;
    }
    dg_glossaries_change(change);
}

/* Returns the glossary of the path, if the caller may change it; NULL when the call was
 * answered. */
static struct dg_glossaries_entry *open_entry(struct dg_call *call, bool to_change)
{
    struct dg_failure failure;
    bool is_admin = dg_gate_is_admin(call);
    struct dg_glossaries_entry *entry =
        dg_glossaries_find(&call->api->glossaries, call->arg, dg_call_owner(call), is_admin);
    if (!entry) {
        dg_call_fail(call, dg_glossaries_unknown(
                               &call->api->glossaries,
                               (struct dg_failure){.status = 404,
                                                   .code = "no_such_glossary",
                                                   .message = "There is no such glossary."}));
        return NULL;
    }
    if (!to_change)
        return entry;
    if (dg_glossaries_may(call, &failure) && dg_glossaries_owns(call, entry))
        return entry;
    dg_call_fail(
        call, (struct dg_failure){
                  .status = 403,
                  .code = "glossaries_not_allowed",
                  .message = "Only whoever made a glossary, and administrators, may change it."});
    return NULL;
}

void dg_api_v1_glossaries_add(struct dg_call *call)
{
    struct dg_failure failure;
    if (dg_glossaries_may(call, &failure))
        change(call, NULL);
    else
        dg_call_fail(call, failure);
}

void dg_api_v1_glossary_replace(struct dg_call *call)
{
    const struct dg_glossaries_entry *entry = open_entry(call, true);
    if (entry)
        change(call, entry);
}

void dg_api_v1_glossary_remove(struct dg_call *call)
{
    struct dg_glossaries_entry *entry = open_entry(call, true);
    if (!entry)
        return;
    dg_glossaries_remove(call, entry);
}

/* ---- Looking --------------------------------------------------------------------------------- */

static void fill_list(struct dg_call *call, struct dg_json_out *out)
{
    const struct dg_glossaries *store = &call->api->glossaries;
    bool is_admin = dg_gate_is_admin(call);
    for (struct dg_list *at = store->all.next; at != &store->all; at = at->next) {
        const struct dg_glossaries_entry *entry =
            DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        if (is_admin || entry->is_shared || dg_call_lists(call, entry->owner, entry->client))
            put_entry(out, call, entry, false);
    }
}

void dg_api_v1_glossaries(struct dg_call *call)
{
    dg_call_json_list(call, "glossaries", fill_list);
}

void dg_api_v1_glossary(struct dg_call *call)
{
    struct dg_glossaries_entry *entry = open_entry(call, false);
    struct dg_span accept = dg_http_header(call->req, "accept");
    bool is_tsv = is_type(accept, "text/tab-separated-values"),
         is_csv = is_type(accept, "text/csv");
    struct dg_buf buf;
    size_t n;
    if (!entry)
        return;
    if (!is_tsv && !is_csv) {
        answer_entry(call, 200, entry, true);
        return;
    }
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(entry->glossary, &n);
    if (n != 1) {
        dg_call_fail(
            call,
            (struct dg_failure){
                .status = 400,
                .code = "unsupported",
                .message = "A glossary for several language pairs is available as JSON only."});
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    if (dg_glossary_write(dictionaries, is_csv ? DG_GLOSSARY_CSV : DG_GLOSSARY_TSV,
                          DG_GLOSSARY_FORMS + 1, &buf) == DG_OK)
        dg_call_reply(call, 200,
                      is_csv ? "text/csv; charset=utf-8"
                             : "text/tab-separated-values; charset=utf-8",
                      dg_buf_span(&buf));
    else
        dg_call_fail(call,
                     dg_translate_options_failure(call->req->arena, DG_ERR_NOMEM, NULL, NULL));
    dg_buf_deinit(&buf);
}
