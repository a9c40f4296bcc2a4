/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's glossaries, version 2: one dictionary each, private to a key, kept as our own are (glossaries.h).
 *
 *     POST /v2/glossaries               name, source_lang, target_lang, entries, entries_format     201
 *     GET /v2/glossaries                {"glossaries": [...]}
 *     GET, DELETE /v2/glossaries/ID
 *     GET /v2/glossaries/ID/entries     as text/tab-separated-values
 *     GET /v2/glossary-language-pairs */
#include "api/api_int.h"
#include "api/deepl.h"
#include "base/mem.h"

#include <stdio.h>
#include <strings.h>

enum { ANSWER_MAX = 64 << 20, COLUMNS = 2 };

/* ---- Answers ------------------------------------------------------------------------------------ */

/* Their errors of glossaries have a second sentence. */
static void fail(struct dg_call *call, int status, const char *message, const char *detail)
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
        dg_call_text(call, status, dg_span_cstr(message));
    dg_buf_deinit(&buf);
}

/* Lower case, as they print codes of glossaries. */
static void put_code(struct dg_json_out *out, const char *key, const char *code)
{
    char lower[DG_LANGTAG_TEXT] = "";
    for (size_t i = 0; code[i] && i + 1 < sizeof lower; i++)
        lower[i] = code[i] >= 'A' && code[i] <= 'Z' ? (char)(code[i] + 32) : code[i];
    dg_json_out_put_cstr(out, key, lower);
}

/* One that their version 2 can show: for a single pair of languages. */
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
    put_code(out, "source_lang", dictionary->source.text);
    put_code(out, "target_lang", dictionary->target.text);
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
        fail(call, 503, "There is no memory.", NULL);
    dg_buf_deinit(&buf);
}

/* ---- Using -------------------------------------------------------------------------------------- */

enum { IDS_MAX = 5 };

bool dg_deepl_read_glossaries(struct dg_relay *relay, struct dg_why *why)
{
    const struct dg_field *id = dg_fields_get(&relay->fields, "glossary_id");
    struct dg_ask *ask = &relay->job->ask;
    if (!id)
        id = dg_fields_get(&relay->fields, "glossary_ids");
    if (!id || id->kind == DG_FIELD_EMPTY || (id->kind == DG_FIELD_TEXT && id->value.len == 0))
        return true;
    if (!relay->from) {
        dg_why_set(why, DG_ERR_INVALID, "Use of a glossary requires the source_lang parameter to be specified");
        return false;
    }
    struct dg_span *ids = dg_arena_calloc(relay->arena, IDS_MAX, sizeof *ids);
    for (; id && ids && ask->n_glossary_ids < IDS_MAX && id->kind == DG_FIELD_TEXT; id = dg_fields_next(&relay->fields, id))
        ids[ask->n_glossary_ids++] = id->value;
    if (id || !ids) {
        dg_why_set(why, DG_ERR_INVALID, "Value for 'glossary_id' not supported.");
        return false;
    }
    ask->glossary_ids = ids;
    ask->has_glossary = true;
    return true;
}

/* ---- Making ------------------------------------------------------------------------------------- */

static enum dg_err read_entries(struct dg_glossaries_change *change)
{
    struct dg_glossaries_entry *entry = change->entry;
    entry->glossary = dg_glossary_new(NULL);
    enum dg_err err = entry->glossary ? dg_glossary_begin(entry->glossary, change->source, change->target, &change->why) : DG_ERR_NOMEM;
    if (!err)
        err = dg_glossary_read(entry->glossary, (enum dg_glossary_format)change->format, COLUMNS, dg_buf_span(&change->text),
                               &change->why);
    return err ? err : dg_glossary_seal(entry->glossary, &change->why);
}

static void answer_change(struct dg_call *call, struct dg_glossaries_change *change)
{
    if (!change->err)
        answer_entry(call, 201, change->entry);
    else if (change->is_bad && change->entry->glossary)
        fail(call, 400, "Invalid glossary entries provided", dg_why_text(&change->why, change->err));
    else if (change->is_bad)
        fail(call, 456, "Quota Exceeded", dg_why_text(&change->why, change->err));
    else
        fail(call, 503, "The glossary cannot be kept just now; try again later.", NULL);
}

/* What is wrong with the fields, or NULL. */
static const char *read_fields(struct dg_relay *relay, struct dg_span *name, struct dg_span *entries, int *format)
{
    struct dg_span kind = dg_fields_text(&relay->fields, "entries_format");
    *name = dg_fields_text(&relay->fields, "name");
    *entries = dg_fields_text(&relay->fields, "entries");
    if (name->len == 0)
        return "Parameter 'name' not specified";
    if (name->len > DG_GLOSSARIES_NAME || memchr(name->ptr, '\0', name->len))
        return "Value for 'name' not supported.";
    if (!entries->ptr)
        return "Parameter 'entries' not specified";
    if (!dg_span_eq(kind, DG_SPAN("tsv")) && !dg_span_eq(kind, DG_SPAN("csv")))
        return "Value for 'entries_format' not supported.";
    *format = dg_span_eq(kind, DG_SPAN("csv")) ? DG_GLOSSARY_CSV : DG_GLOSSARY_TSV;
    relay->from = dg_languages_find(&relay->langs, dg_fields_text(&relay->fields, "source_lang"), DG_LANGUAGE_ANY);
    relay->to = dg_languages_find(&relay->langs, dg_fields_text(&relay->fields, "target_lang"), DG_LANGUAGE_ANY);
    if (!relay->from || !relay->to || relay->from == relay->to || !dg_languages_lead(&relay->langs, relay->from, relay->to))
        return "Unsupported glossary source and target language pair";
    return NULL;
}

static void on_open(struct dg_call *call, struct dg_relay *relay)
{
    struct dg_span name, entries;
    struct dg_failure failure;
    int format = 0;
    const char *wrong = read_fields(relay, &name, &entries, &format);
    bool may = dg_glossaries_may(call, &failure);
    struct dg_glossaries_change *change = !wrong && may ? dg_glossaries_change_new(call, NULL, entries) : NULL;
    if (!change) {
        fail(call, !may ? 403 : wrong ? 400 : 503, !may ? failure.message : wrong ? wrong : "There is no memory.", NULL);
        dg_relay_drop(relay);
        return;
    }
    change->format = format;
    change->read = read_entries;
    change->answer = answer_change;
    memcpy(change->entry->name, name.ptr, name.len);
    snprintf(change->source, sizeof change->source, "%s", relay->from->tag.language);
    snprintf(change->target, sizeof change->target, "%s", relay->to->tag.language);
    dg_relay_drop(relay);
    dg_glossaries_change(change);
}

void dg_deepl_glossaries_add(struct dg_call *call)
{
    dg_relay_open(call, on_open);
}

/* ---- Looking and deleting ----------------------------------------------------------------------- */

/* The glossary of the path; NULL when the call was answered. */
static struct dg_glossaries_entry *open_entry(struct dg_call *call)
{
    struct dg_glossaries_entry *entry =
        dg_glossaries_find(&call->api->glossaries, call->arg, dg_call_owner(call), dg_glossaries_is_admin(call));
    if (entry && is_single(entry))
        return entry;
    fail(call, 404, "Glossary not found", NULL);
    return NULL;
}

static void fill_list(struct dg_call *call, struct dg_json_out *out)
{
    const struct dg_glossaries *store = &call->api->glossaries;
    for (struct dg_list *at = store->all.next; at != &store->all; at = at->next) {
        const struct dg_glossaries_entry *entry = DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        if (is_single(entry) && (entry->is_shared || strcmp(entry->owner, dg_gate_name(call)) == 0))
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
    if (!dg_glossaries_may(call, &failure) || (strcmp(entry->owner, dg_gate_name(call)) != 0 && !dg_glossaries_is_admin(call))) {
        fail(call, 403, "Only whoever made a glossary, and administrators, may delete it.", NULL);
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
    if (accept.len && !has(accept, "text/tab-separated-values") && !has(accept, "*/*") && !has(accept, "text/*")) {
        fail(call, 415, "No supported media type specified in Accept header", NULL);
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    if (dg_glossary_write(dg_glossary_dictionaries(entry->glossary, &n), DG_GLOSSARY_TSV, COLUMNS, &buf) == DG_OK)
        dg_call_reply(call, 200, "text/tab-separated-values; charset=utf-8", dg_buf_span(&buf));
    else
        fail(call, 503, "There is no memory.", NULL);
    dg_buf_deinit(&buf);
}

static void on_pair(struct dg_json_out *out, const struct dg_language *from, const struct dg_language *to)
{
    dg_json_out_open(out, '{');
    put_code(out, "source_lang", from->tag.language);
    put_code(out, "target_lang", to->tag.language);
    dg_json_out_close(out, '}');
}

/* True when a language before `i` is the same without region and script. */
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
    struct dg_relay *relay = dg_relay_new(call);
    if (!relay)
        return;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "supported_languages", '[');
    for (size_t i = 0; i < relay->langs.n; i++)
        for (size_t j = 0; j < relay->langs.n && !is_repeated(&relay->langs, i); j++)
            if (i != j && !is_repeated(&relay->langs, j) &&
                dg_languages_lead(&relay->langs, &relay->langs.items[i], &relay->langs.items[j]))
                on_pair(&out, &relay->langs.items[i], &relay->langs.items[j]);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_json(call, 200, dg_buf_span(&buf));
    else
        fail(call, 503, "There is no memory.", NULL);
    dg_buf_deinit(&buf);
    dg_relay_drop(relay);
}
