/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's glossaries, version 2: one dictionary each, private to a key, stored as our own are
 * (glossaries.h); and what version 3 (deepl_glossary_v3.c) shares with it.
 *
 *     POST /v2/glossaries               name, source_lang, target_lang, entries, entries_format
 *     GET /v2/glossaries                {"glossaries": [...]}
 *     GET, DELETE /v2/glossaries/ID
 *     GET /v2/glossaries/ID/entries     as text/tab-separated-values
 *     GET /v2/glossary-language-pairs */
#include "api/compat/deepl.h"
#include "api/http/api_int.h"
#include "base/memory/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { ANSWER_MAX = 64 << 20, COLUMNS = DG_DEEPL_COLUMNS };

/* ---- Answers --------------------------------------------------------------------------------- */

/* DeepL's errors about glossaries may have a second sentence. */
void dg_deepl_glossary_fail(struct dg_call *call, int status, const char *message,
                            const char *detail)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, 16 * 1024);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "message", message);
    if (detail)
        dg_json_out_put_cstr(&out, "detail", detail);
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_json(call, status, dg_buf_span(&buf));
    else
        dg_call_fail_without_memory(call);
    dg_buf_deinit(&buf);
}

void dg_deepl_glossary_fail_unknown(struct dg_call *call)
{
    const struct dg_failure unknown = {.status = 404, .message = "Glossary not found"};
    const struct dg_failure failure = dg_glossaries_unknown(&call->api->glossaries, unknown);
    if (failure.status == unknown.status)
        dg_deepl_glossary_fail(call, unknown.status, unknown.message, NULL);
    else
        dg_call_fail(call, failure);
}

void dg_deepl_put_glossary_code(struct dg_json_out *out, const char *key, const char *code)
{
    char lower[DG_LANGTAG_TEXT] = "";
    for (size_t i = 0; code[i] && i + 1 < sizeof lower; i++)
        lower[i] = code[i] >= 'A' && code[i] <= 'Z' ? (char)(code[i] + 32) : code[i];
    dg_json_out_put_cstr(out, key, lower);
}

/* Returns true for a glossary that DeepL's version 2 can show: one for a single pair of
 * languages. */
static bool is_single(const struct dg_glossaries_entry *entry)
{
    size_t n;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(entry->glossary, &n);
    return n == 1 && *dictionaries[0].source.text && *dictionaries[0].target.text;
}

static void put_entry(struct dg_json_out *out, const struct dg_glossaries_entry *entry)
{
    size_t n;
    const struct dg_dictionary *dictionary = dg_glossary_dictionaries(entry->glossary, &n);
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "glossary_id", entry->id);
    dg_json_out_put_cstr(out, "name", entry->name);
    dg_json_out_put_bool(out, "ready", true);
    dg_deepl_put_glossary_code(out, "source_lang", dictionary->source.text);
    dg_deepl_put_glossary_code(out, "target_lang", dictionary->target.text);
    dg_json_out_put_cstr(out, "creation_time", entry->created);
    dg_json_out_put_uint(out, "entry_count", dictionary->n);
    dg_json_out_close(out, '}');
}

static void answer_entry(struct dg_call *call, int status, const struct dg_glossaries_entry *entry)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, 16 * 1024);
    dg_json_out_init(&out, &buf);
    put_entry(&out, entry);
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_json(call, status, dg_buf_span(&buf));
    else
        dg_deepl_glossary_fail(call, 503, "The server is out of memory.", NULL);
    dg_buf_deinit(&buf);
}

/* ---- Using ----------------------------------------------------------------------------------- */

enum { IDS_MAX = 5 };

bool dg_deepl_read_glossaries(struct dg_compat *compat, struct dg_error *error)
{
    const struct dg_field *id = dg_fields_get(&compat->fields, "glossary_id");
    struct dg_translate_options *options = &compat->job->options;
    if (!id)
        id = dg_fields_get(&compat->fields, "glossary_ids");
    if (!id || id->kind == DG_FIELD_EMPTY || (id->kind == DG_FIELD_TEXT && id->value.len == 0))
        return true;
    if (!compat->from) {
        dg_error_set(error, DG_ERR_INVALID,
                     "Use of a glossary requires the source_lang parameter to be specified");
        return false;
    }
    struct dg_span *ids = dg_arena_calloc(compat->arena, IDS_MAX, sizeof *ids);
    for (; id && ids && options->n_glossary_ids < IDS_MAX && id->kind == DG_FIELD_TEXT;
         id = dg_fields_next(&compat->fields, id))
        ids[options->n_glossary_ids++] = id->value;
    if (id || !ids) {
        dg_error_set(error, DG_ERR_INVALID, "Value for 'glossary_id' not supported.");
        return false;
    }
    options->glossary_ids = ids;
    options->has_glossary = true;
    return true;
}

/* ---- Making, off the loop -----------------------------------------------------------------
 */

static bool is_pair(const struct dg_dictionary *dictionary, const struct dg_glossaries_part *part)
{
    return strcmp(dictionary->source.language, part->source) == 0 &&
           strcmp(dictionary->target.language, part->target) == 0;
}

static int by_bytes(const void *a, const void *b)
{
    const struct dg_span *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = len ? memcmp(x->ptr, y->ptr, len) : 0;
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Adds terms to the dictionary begun last, except those whose source is among the sorted `but`. */
static enum dg_err copy_terms(struct dg_glossary *into, const struct dg_dictionary *from,
                              const struct dg_span *but, size_t n_but, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < from->n; i++) {
        const struct dg_glossary_term *term = &from->terms[i];
        if (n_but == 0 || !bsearch(&term->source, but, n_but, sizeof *but, by_bytes))
            err = dg_glossary_add(into, term->source, term->targets, term->n_targets, term->exact,
                                  error);
    }
    return err;
}

static enum dg_err read_part(struct dg_glossaries_change *change,
                             const struct dg_glossaries_part *part, struct dg_glossary *into)
{
    struct dg_span text = dg_buf_span(&change->text);
    size_t n_before = dg_glossary_n_terms(into);
    enum dg_err err = dg_glossary_read(into, part->format, COLUMNS,
                                       dg_span_sub(text, part->at, part->len), &change->error);
    if (!err && dg_glossary_n_terms(into) == n_before)
        err = dg_error_set(&change->error, DG_ERR_INVALID, "read no terms, expected one or more");
    return err;
}

/* Terms of the part replace those with the same source. */
static enum dg_err merge(struct dg_glossaries_change *change, const struct dg_glossaries_part *part,
                         const struct dg_dictionary *base, struct dg_glossary *into)
{
    struct dg_glossary *news = dg_glossary_new(NULL);
    const struct dg_dictionary *dictionary = NULL;
    struct dg_span *sources = NULL;
    size_t n;
    enum dg_err err =
        news ? dg_glossary_begin(news, part->source, part->target, &change->error) : DG_ERR_NOMEM;
    if (!err)
        err = read_part(change, part, news);
    if (!err)
        err = dg_glossary_seal(news, &change->error);
    if (!err) {
        dictionary = dg_glossary_dictionaries(news, &n);
        sources = dg_try_calloc(dictionary->n, sizeof *sources);
        err = sources ? DG_OK : DG_ERR_NOMEM;
    }
    for (size_t i = 0; !err && i < dictionary->n; i++)
        sources[i] = dictionary->terms[i].source;
    if (!err) {
        qsort(sources, dictionary->n, sizeof *sources, by_bytes);
        err = copy_terms(into, base, sources, dictionary->n, &change->error);
    }
    if (!err)
        err = copy_terms(into, dictionary, NULL, 0, &change->error);
    dg_free(sources);
    dg_glossary_unref(news);
    return err;
}

static const struct dg_glossaries_part *part_of(const struct dg_glossaries_change *change,
                                                const struct dg_dictionary *dictionary)
{
    for (size_t i = 0; i < change->n_parts; i++)
        if (is_pair(dictionary, &change->parts[i]))
            return &change->parts[i];
    return NULL;
}

/* Copies a dictionary of the base, as the change leaves it. */
static enum dg_err keep(struct dg_glossaries_change *change, const struct dg_dictionary *base,
                        struct dg_glossary *into)
{
    const struct dg_glossaries_part *part = part_of(change, base);
    if (part && part->how == DG_GLOSSARIES_DROP)
        return DG_OK;
    enum dg_err err = dg_glossary_begin(into, base->source.text, base->target.text, &change->error);
    if (err || !part)
        return err ? err : copy_terms(into, base, NULL, 0, &change->error);
    return part->how == DG_GLOSSARIES_MERGE ? merge(change, part, base, into)
                                            : read_part(change, part, into);
}

enum dg_err dg_deepl_read_parts(struct dg_glossaries_change *change)
{
    struct dg_glossary *into = change->entry->glossary = dg_glossary_new(NULL);
    size_t n_base = 0;
    const struct dg_dictionary *base =
        change->base ? dg_glossary_dictionaries(change->base, &n_base) : NULL;
    enum dg_err err = into ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < n_base; i++)
        err = keep(change, &base[i], into);
    for (size_t k = 0; !err && k < change->n_parts; k++) {
        const struct dg_glossaries_part *part = &change->parts[k];
        size_t i = 0;
        while (i < n_base && !is_pair(&base[i], part))
            i++;
        if (i < n_base)
            continue;
        if (part->how == DG_GLOSSARIES_DROP)
            return dg_error_set(&change->error, DG_ERR_NOT_FOUND,
                                "there is no dictionary of these languages");
        err = dg_glossary_begin(into, part->source, part->target, &change->error);
        if (!err)
            err = read_part(change, part, into);
    }
    return err ? err : dg_glossary_seal(into, &change->error);
}

void dg_deepl_glossary_failed(struct dg_call *call, const struct dg_glossaries_change *change)
{
    if (change->err == DG_ERR_NOT_FOUND)
        dg_deepl_glossary_fail(call, 404, "Glossary not found",
                               dg_error_text(&change->error, change->err));
    else if (change->err == DG_ERR_DENIED)
        dg_deepl_glossary_fail(call, 403, "Forbidden", dg_error_text(&change->error, change->err));
    else if (change->is_full)
        dg_deepl_glossary_fail(call, 456, "Quota Exceeded",
                               dg_error_text(&change->error, change->err));
    else if (change->is_bad)
        dg_deepl_glossary_fail(call, 400, "Invalid glossary entries provided",
                               dg_error_text(&change->error, change->err));
    else {
        dg_http_reply_header(call->req, "Retry-After", DG_SPAN("1"));
        dg_deepl_glossary_fail(
            call, 503, "The glossary cannot be stored at the moment; try again later.", NULL);
    }
}

static void answer_change(struct dg_call *call, struct dg_glossaries_change *change)
{
    if (change->err)
        dg_deepl_glossary_failed(call, change);
    else
        answer_entry(call, 201, change->entry);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* Returns the text of a field, by its name after a prefix. */
static struct dg_span text_of(const struct dg_compat *compat, const char *prefix, const char *field)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, field);
    return dg_fields_text(&compat->fields, name);
}

const char *dg_deepl_read_name(const struct dg_compat *compat, struct dg_span *name)
{
    *name = dg_fields_text(&compat->fields, "name");
    if (name->len == 0 || name->len > DG_GLOSSARIES_NAME || memchr(name->ptr, '\0', name->len))
        return "Missing or invalid argument: name";
    return NULL;
}

const char *dg_deepl_read_part(const struct dg_compat *compat, const char *prefix,
                               struct dg_glossaries_part *part, struct dg_span *entries)
{
    struct dg_span kind = text_of(compat, prefix, "entries_format");
    const struct dg_languages *langs = &compat->langs;
    *entries = text_of(compat, prefix, "entries");
    if (!entries->ptr)
        return "Parameter 'entries' not specified";
    if (!dg_span_eq(kind, DG_SPAN("tsv")) && !dg_span_eq(kind, DG_SPAN("csv")))
        return "Value for 'entries_format' not supported.";
    part->format = dg_span_eq(kind, DG_SPAN("csv")) ? DG_GLOSSARY_CSV : DG_GLOSSARY_TSV;
    const struct dg_language *from =
        dg_languages_find(langs, text_of(compat, prefix, "source_lang"), DG_LANGUAGE_ANY);
    const struct dg_language *to =
        dg_languages_find(langs, text_of(compat, prefix, "target_lang"), DG_LANGUAGE_ANY);
    if (!from || !to || from == to || !dg_languages_lead(langs, from, to))
        return "Unsupported glossary source and target language pair";
    snprintf(part->source, sizeof part->source, "%s", from->tag.language);
    snprintf(part->target, sizeof part->target, "%s", to->tag.language);
    part->len = entries->len;
    return NULL;
}

static void add(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_glossaries_part *part = dg_try_calloc(1, sizeof *part);
    struct dg_span name, entries;
    struct dg_failure failure;
    bool may = dg_glossaries_may(call, &failure);
    const char *wrong = dg_deepl_read_name(compat, &name);
    if (part && !wrong)
        wrong = dg_deepl_read_part(compat, "", part, &entries);
    struct dg_glossaries_change *change =
        part && !wrong && may ? dg_glossaries_change_new(call, NULL, entries) : NULL;
    if (!change) {
        dg_deepl_glossary_fail(call,
                               !may    ? 403
                               : wrong ? 400
                                       : 503,
                               !may    ? failure.message
                               : wrong ? wrong
                                       : "The server is out of memory.",
                               NULL);
        dg_free(part);
        dg_compat_drop(compat);
        return;
    }
    change->parts = part;
    change->n_parts = 1;
    change->read = dg_deepl_read_parts;
    change->answer = answer_change;
    memcpy(change->entry->name, name.ptr, name.len);
    dg_compat_drop(compat);
    dg_glossaries_change(change);
}

/* Called after the gate. */
static enum dg_err go_on(struct dg_compat *compat, struct dg_failure *failure)
{
    const struct dg_deepl_step *next = compat->user;
    (void)failure; /* the step answers by itself */
    next->go_on(dg_work_detach(&compat->work), compat);
    return DG_OK;
}

void dg_deepl_pass(struct dg_compat *compat, const struct dg_deepl_step *next)
{
    compat->user = (void *)next;
    dg_compat_pass(compat, dg_fields_text(&compat->fields, "auth_key"), go_on);
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    static const struct dg_deepl_step step = {add};
    (void)call;
    dg_deepl_pass(compat, &step);
}

void dg_deepl_glossaries_add(struct dg_call *call)
{
    dg_compat_open(call, on_open);
}

/* ---- Looking and deleting -------------------------------------------------------------------- */

/* Returns the glossary of the path; NULL when the call was answered. */
static struct dg_glossaries_entry *open_entry(struct dg_call *call)
{
    struct dg_glossaries_entry *entry = dg_glossaries_find(
        &call->api->glossaries, call->arg, dg_call_owner(call), dg_gate_is_admin(call));
    if (entry && is_single(entry))
        return entry;
    dg_deepl_glossary_fail_unknown(call);
    return NULL;
}

static void fill_list(struct dg_call *call, struct dg_json_out *out)
{
    const struct dg_glossaries *store = &call->api->glossaries;
    for (struct dg_list *at = store->all.next; at != &store->all; at = at->next) {
        const struct dg_glossaries_entry *entry =
            DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        if (is_single(entry) &&
            (entry->is_shared || dg_call_lists(call, entry->owner, entry->client)))
            put_entry(out, entry);
    }
}

void dg_deepl_glossaries(struct dg_call *call)
{
    dg_call_json_list(call, "glossaries", fill_list);
}

void dg_deepl_glossary(struct dg_call *call)
{
    const struct dg_glossaries_entry *entry = open_entry(call);
    if (entry)
        answer_entry(call, 200, entry);
}

void dg_deepl_glossary_remove(struct dg_call *call)
{
    struct dg_failure failure;
    struct dg_glossaries_entry *entry = open_entry(call);
    if (!entry)
        return;
    if (!dg_glossaries_may(call, &failure) || !dg_glossaries_owns(call, entry)) {
        dg_deepl_glossary_fail(
            call, 403, "Only whoever made a glossary, and administrators, may delete it.", NULL);
        return;
    }
    dg_glossaries_remove(call, entry);
}

static bool has(struct dg_span text, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= text.len; at++)
        if (strncasecmp(text.ptr + at, word, len) == 0)
            return true;
    return false;
}

void dg_deepl_glossary_entries(struct dg_call *call)
{
    struct dg_span accept = dg_http_header(call->req, "accept");
    struct dg_buf buf;
    size_t n;
    const struct dg_glossaries_entry *entry = open_entry(call);
    if (!entry)
        return;
    if (accept.len && !has(accept, "text/tab-separated-values") && !has(accept, "*/*") &&
        !has(accept, "text/*")) {
        dg_deepl_glossary_fail(call, 415, "No supported media type specified in Accept header",
                               NULL);
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    if (dg_glossary_write(dg_glossary_dictionaries(entry->glossary, &n), DG_GLOSSARY_TSV, COLUMNS,
                          &buf) == DG_OK)
        dg_call_reply(call, 200, "text/tab-separated-values; charset=utf-8", dg_buf_span(&buf));
    else
        dg_deepl_glossary_fail(call, 503, "The server is out of memory.", NULL);
    dg_buf_deinit(&buf);
}

static void on_pair(struct dg_json_out *out, const struct dg_language *from,
                    const struct dg_language *to)
{
    dg_json_out_open(out, '{');
    dg_deepl_put_glossary_code(out, "source_lang", from->tag.language);
    dg_deepl_put_glossary_code(out, "target_lang", to->tag.language);
    dg_json_out_close(out, '}');
}

/* Returns true when a language before `i` differs only in region and script. */
static bool is_repeated(const struct dg_languages *langs, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(langs->items[j].tag.language, langs->items[i].tag.language) == 0)
            return true;
    return false;
}

void dg_deepl_glossary_pairs(struct dg_call *call)
{
    struct dg_buf buf;
    struct dg_json_out out;
    struct dg_compat *compat = dg_compat_new(call);
    if (!compat)
        return;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "supported_languages", '[');
    for (size_t i = 0; i < compat->langs.n; i++)
        for (size_t j = 0; j < compat->langs.n && !is_repeated(&compat->langs, i); j++)
            if (i != j && !is_repeated(&compat->langs, j) &&
                dg_languages_lead(&compat->langs, &compat->langs.items[i], &compat->langs.items[j]))
                on_pair(&out, &compat->langs.items[i], &compat->langs.items[j]);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_json(call, 200, dg_buf_span(&buf));
    else
        dg_deepl_glossary_fail(call, 503, "The server is out of memory.", NULL);
    dg_buf_deinit(&buf);
    dg_compat_drop(compat);
}
