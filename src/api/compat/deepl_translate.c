/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v2/translate:
 *     {"text":["Bonjour"],"target_lang":"EN","source_lang":"FR", ...}    or a form, text= repeated
 *     {"translations":[{"detected_source_language":"FR","text":"Hello","billed_characters":7}]}
 *
 * The official library for Python always asks for billed_characters and fails without them.
 * `context` is accepted and has no effect: it is only advice. */
#include "api/compat/deepl.h"
#include "api/http/api_int.h"
#include "net/proto/target.h"

/* What the answer repeats from the request. */
struct wishes {
    bool billed, has_version;
    const char *model; /* NULL: not asked for */
    struct dg_span version;
};

/* Returns the language reported for a text whose language is unknown, because clients want one. */
static const struct dg_language *likely_source(const struct dg_compat *compat)
{
    const struct dg_languages *langs = &compat->langs;
    for (size_t i = 0; i < langs->n; i++)
        if ((langs->items[i].sides & DG_LANGUAGE_SOURCE) &&
            dg_languages_lead(langs, &langs->items[i], compat->to) &&
            strcmp(langs->items[i].tag.language, compat->to->tag.language) != 0)
            return &langs->items[i];
    return compat->to;
}

static void put_translation(struct dg_json_out *out, struct dg_compat *compat, size_t i,
                            const struct wishes *wishes)
{
    const struct dg_compat_item *item = &compat->items[i];
    char code[DG_DEEPL_CODE];
    if (!item->from && item->detected && *item->detected)
        dg_deepl_tag_code(item->detected, code);
    else
        dg_deepl_code(item->from ? item->from : likely_source(compat), true, code);
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "detected_source_language", code);
    dg_json_out_put_string(out, "text", dg_compat_result(compat, i));
    if (wishes->billed)
        dg_json_out_put_uint(out, "billed_characters", item->n_characters);
    if (wishes->model)
        dg_json_out_put_cstr(out, "model_type_used", wishes->model);
    if (wishes->has_version)
        dg_json_out_put_string(out, "tag_handling_version", wishes->version);
    dg_compat_put_notes(out, compat, item);
    dg_json_out_close(out, '}');
}

static void on_whole(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < compat->n; i++)
        put_translation(out, compat, i, compat->user);
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

/* ---- The request ----------------------------------------------------------------------------- */

static bool read_texts(struct dg_compat *compat, struct dg_error *error)
{
    const struct dg_field *text = dg_fields_get(&compat->fields, "text");
    size_t n_max = compat->work.call->api->opts.texts_max;
    if (!text || text->kind == DG_FIELD_EMPTY) {
        dg_error_set(error, DG_ERR_INVALID, "Parameter 'text' not specified");
        return false;
    }
    enum dg_err err = dg_compat_texts_of(compat, text);
    if (err)
        dg_error_set(error, err,
                     err == DG_ERR_NOMEM ? "The server is out of memory."
                                         : "Value for 'text' not supported.");
    else if (compat->n > n_max)
        err = dg_error_set(error, DG_ERR_LIMIT,
                           "Too many texts in parameter 'text': read %zu, expected at most %zu.",
                           compat->n, n_max);
    return !err;
}

/* Joins all values of a field in one list, separated by commas; the field comes as an array, or as
 * such a list. */
static enum dg_err join(const struct dg_compat *compat, const char *name, struct dg_span *out)
{
    struct dg_buf list;
    const struct dg_field *field = dg_fields_get(&compat->fields, name);
    enum dg_err err = DG_OK;
    dg_buf_init(&list, compat->work.call->req->body.len + compat->work.call->req->query.len + 1);
    for (; field && !err; field = dg_fields_next(&compat->fields, field)) {
        err =
            field->kind == DG_FIELD_TEXT || field->kind == DG_FIELD_EMPTY ? DG_OK : DG_ERR_INVALID;
        if (!err && list.len)
            err = dg_buf_append_byte(&list, ',');
        if (!err)
            err = dg_buf_append_span(&list, field->value);
    }
    if (!err)
        *out = dg_arena_copy(compat->arena, dg_buf_span(&list));
    dg_buf_deinit(&list);
    return err ? err : out->ptr ? DG_OK : DG_ERR_NOMEM;
}

static bool read_tags(struct dg_compat *compat, struct wishes *wishes, struct dg_error *error)
{
    static const char *const lists[] = {"ignore_tags", "splitting_tags", "non_splitting_tags"};
    struct dg_engine_request *request = &compat->job->options.request;
    struct dg_span *const into[] = {&request->doc.ignore_tags, &request->doc.splitting_tags,
                                    &request->doc.non_splitting_tags};
    const struct dg_field *given = dg_fields_get(&compat->fields, "tag_handling");
    const struct dg_field *outline = dg_fields_get(&compat->fields, "outline_detection");
    struct dg_span kind = dg_fields_text(&compat->fields, "tag_handling");
    bool has_outline = true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (join(compat, lists[i], into[i]) != DG_OK) {
            dg_error_set(error, DG_ERR_INVALID, "Value for '%s' not supported.", lists[i]);
            return false;
        }
    }
    if (!given || (given->kind == DG_FIELD_TEXT && kind.len == 0))
        return true;
    if (dg_span_eq(kind, DG_SPAN("html"))) {
        request->format = DG_DOC_HTML;
    } else if (dg_span_eq(kind, DG_SPAN("xml"))) {
        request->format = DG_DOC_XML;
    } else {
        dg_error_set(error, DG_ERR_INVALID, "Value for 'tag_handling' not supported.");
        return false;
    }
    if (outline && dg_field_bool(outline, &has_outline))
        request->doc.no_outline = !has_outline;
    wishes->has_version = true;
    wishes->version = dg_fields_text(&compat->fields, "tag_handling_version");
    if (wishes->version.len == 0)
        wishes->version = DG_SPAN("v2");
    return true;
}

static void read_splits(struct dg_compat *compat)
{
    struct dg_engine_request *request = &compat->job->options.request;
    const struct dg_field *field = dg_fields_get(&compat->fields, "split_sentences");
    bool splits = true;
    if (!field)
        return;
    if (dg_span_eq(field->value, DG_SPAN("nonewlines")))
        request->join_lines = request->doc.join_lines = true;
    else if (dg_field_bool(field, &splits) && !splits)
        request->keep_lines_whole = true;
}

static const char *model_of(const struct dg_compat *compat)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, "model_type");
    if (!field || field->value.len == 0)
        return NULL;
    return dg_span_eq(field->value, DG_SPAN("latency_optimized")) ? "latency_optimized"
                                                                  : "quality_optimized";
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_error error = DG_ERROR_NONE;
    struct wishes *wishes = dg_arena_calloc(compat->arena, 1, sizeof *wishes);
    if (!wishes) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    if (!read_texts(compat, &error) || !dg_deepl_pair(compat, &error) ||
        !dg_deepl_check_words(compat, &error) || !read_tags(compat, wishes, &error) ||
        !dg_deepl_read_glossaries(compat, &error)) {
        dg_compat_fail(compat, 400, "invalid_value", error.text);
        return;
    }
    const struct dg_field *billed = dg_fields_get(&compat->fields, "show_billed_characters");
    if (billed && !dg_field_bool(billed, &wishes->billed))
        wishes->billed = false;
    wishes->model = model_of(compat);
    read_splits(compat);
    compat->user = wishes;
    compat->tally = &call->api->deepl_characters;
    dg_compat_start(compat, on_whole);
}

void dg_deepl_translate(struct dg_call *call)
{
    dg_compat_open(call, on_open);
}

/* DeepL's version 1 uses the path of our own API: a request without DeepL's parameters is told
 * that the path takes POST. */
void dg_deepl_v1_translate(struct dg_call *call)
{
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_span name, value;
    bool more = true, is_theirs = false;
    while (!is_theirs && dg_query_next(&query, call->req->arena, &name, &value, &more) == DG_OK &&
           more)
        is_theirs = dg_span_eq(name, DG_SPAN("target_lang"));
    if (is_theirs) {
        call->dialect = &dg_deepl_dialect;
        dg_deepl_translate(call);
        return;
    }
    dg_http_reply_header(call->req, "Allow", DG_SPAN("POST, OPTIONS"));
    dg_call_fail(call, (struct dg_failure){.status = 405,
                                           .code = "method_not_allowed",
                                           .message = "This path does not allow that method."});
}
