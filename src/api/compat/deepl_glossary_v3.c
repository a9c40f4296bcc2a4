/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's glossaries, version 3: several dictionaries each, which can be changed. They are the same
 * glossaries as those of version 2 and of our own API; one that has a dictionary for any language
 * is not shown here.
 *
 *     POST /v3/glossaries                           name, dictionaries: [{source_lang, target_lang,
 *                                                   entries, entries_format}]
 *     GET /v3/glossaries                            {"glossaries": [...]}
 *     GET, PATCH, DELETE /v3/glossaries/ID          PATCH: another name, more entries, more
 *                                                   dictionaries
 *     GET /v3/glossaries/ID/entries                 source_lang, target_lang: TSV inside JSON
 *     PUT, DELETE /v3/glossaries/ID/dictionaries    one whole dictionary
 *
 * In forms the members of a dictionary are named "dictionaries[0].source_lang" and so on, which is
 * how fields.h names those of JSON, too. */
#include "api/compat/deepl.h"
#include "api/http/api_int.h"
#include "base/memory/mem.h"

#include <stdio.h>

enum { ANSWER_MAX = 64 << 20, PREFIX = 32 };

/* ---- Answers --------------------------------------------------------------------------------- */

static bool is_shown(const struct dg_glossaries_entry *entry)
{
    size_t n;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(entry->glossary, &n);
    for (size_t i = 0; i < n; i++)
        if (!*dictionaries[i].source.text || !*dictionaries[i].target.text)
            return false;
    return true;
}

/* Returns the dictionary for a pair of languages, without regions; NULL: none. */
static const struct dg_dictionary *find_dictionary(const struct dg_glossaries_entry *entry,
                                                   const char *source, const char *target)
{
    size_t n;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(entry->glossary, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(dictionaries[i].source.language, source) == 0 &&
            strcmp(dictionaries[i].target.language, target) == 0)
            return &dictionaries[i];
    return NULL;
}

static void put_pair(struct dg_json_out *out, const struct dg_dictionary *dictionary)
{
    dg_deepl_put_glossary_code(out, "source_lang", dictionary->source.text);
    dg_deepl_put_glossary_code(out, "target_lang", dictionary->target.text);
}

static void put_dictionary(struct dg_json_out *out, const struct dg_dictionary *dictionary)
{
    dg_json_out_open(out, '{');
    put_pair(out, dictionary);
    dg_json_out_put_uint(out, "entry_count", dictionary->n);
    dg_json_out_close(out, '}');
}

static void put_entry(struct dg_json_out *out, const struct dg_glossaries_entry *entry)
{
    size_t n;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(entry->glossary, &n);
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "glossary_id", entry->id);
    dg_json_out_put_cstr(out, "name", entry->name);
    dg_json_out_put_open(out, "dictionaries", '[');
    for (size_t i = 0; i < n; i++)
        put_dictionary(out, &dictionaries[i]);
    dg_json_out_close(out, ']');
    dg_json_out_put_cstr(out, "creation_time", entry->created);
    dg_json_out_close(out, '}');
}

static void answer_entry(struct dg_call *call, int status, const struct dg_glossaries_entry *entry)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    put_entry(&out, entry);
    dg_call_json_out(call, status, &out);
}

static void answer_change(struct dg_call *call, struct dg_glossaries_change *change)
{
    if (change->err)
        dg_deepl_glossary_failed(call, change);
    else
        answer_entry(call, change->is_new ? 201 : 200, change->entry);
}

static void answer_put(struct dg_call *call, struct dg_glossaries_change *change)
{
    struct dg_buf buf;
    struct dg_json_out out;
    if (change->err) {
        dg_deepl_glossary_failed(call, change);
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    put_dictionary(
        &out, find_dictionary(change->entry, change->parts[0].source, change->parts[0].target));
    dg_call_json_out(call, 200, &out);
}

static void answer_dropped(struct dg_call *call, struct dg_glossaries_change *change)
{
    if (change->err)
        dg_deepl_glossary_failed(call, change);
    else
        dg_call_reply(call, 204, NULL, (struct dg_span){NULL, 0});
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Returns the glossary of the path; NULL when the call was answered. */
static struct dg_glossaries_entry *open_entry(struct dg_call *call, bool to_change)
{
    struct dg_failure failure;
    bool is_admin = dg_gate_is_admin(call);
    struct dg_glossaries_entry *entry =
        dg_glossaries_find(&call->api->glossaries, call->arg, dg_call_owner(call), is_admin);
    if (!entry || !is_shown(entry)) {
        dg_deepl_glossary_fail_unknown(call);
        return NULL;
    }
    if (!to_change || (dg_glossaries_may(call, &failure) && dg_glossaries_owns(call, entry)))
        return entry;
    dg_deepl_glossary_fail(
        call, 403, "Only whoever made a glossary, and administrators, may change it.", NULL);
    return NULL;
}

/* Reads source_lang and target_lang of the query, which need not be languages of a model any more;
 * false when the call was answered. */
static bool read_pair(struct dg_call *call, char source[DG_LANGTAG_LANGUAGE],
                      char target[DG_LANGTAG_LANGUAGE])
{
    struct dg_fields fields;
    const struct dg_fields_source from = dg_fields_source(call->req);
    if (dg_fields_read(&from, call->req->arena, &fields, NULL) != DG_OK)
        dg_deepl_glossary_fail(call, 400, "The request is not readable.", NULL);
    else if (dg_langtag_language(dg_fields_text(&fields, "source_lang"), source) != DG_OK)
        dg_deepl_glossary_fail(call, 400, "Value for 'source_lang' not supported.", NULL);
    else if (dg_langtag_language(dg_fields_text(&fields, "target_lang"), target) != DG_OK)
        dg_deepl_glossary_fail(call, 400, "Value for 'target_lang' not supported.", NULL);
    else
        return true;
    return false;
}

/* ---- Making and changing --------------------------------------------------------------------- */

/* The dictionaries of a request on their way to a change. */
struct draft {
    struct dg_glossaries_part *parts;
    size_t n;
    struct dg_buf text; /* all tables */
    const char *wrong;  /* NULL: nothing is wrong, but `err` may be DG_ERR_NOMEM */
    enum dg_err err;
};

static bool has_field(const struct dg_compat *compat, const char *prefix)
{
    struct dg_span want = dg_span_cstr(prefix);
    for (size_t i = 0; i < compat->fields.n; i++)
        if (dg_span_starts(compat->fields.items[i].name, want))
            return true;
    return false;
}

/* Each element of a JSON list must be one of the `n` dictionaries that were found; forms have no
 * list. */
static bool is_list_of(const struct dg_compat *compat, size_t n)
{
    const struct dg_field *list = dg_fields_get(&compat->fields, "dictionaries");
    return !list || (list->in_array && dg_fields_count(&compat->fields, list) == n);
}

static bool is_twice(const struct draft *draft)
{
    const struct dg_glossaries_part *last = &draft->parts[draft->n];
    for (size_t i = 0; i < draft->n; i++)
        if (strcmp(draft->parts[i].source, last->source) == 0 &&
            strcmp(draft->parts[i].target, last->target) == 0)
            return true;
    return false;
}

static void read_dictionary(const struct dg_compat *compat, struct draft *draft, const char *prefix,
                            enum dg_glossaries_how how)
{
    struct dg_span entries = {NULL, 0};
    if (draft->n == DG_GLOSSARY_DICTIONARIES) {
        draft->wrong = "Too many dictionaries";
        return;
    }
    draft->wrong = dg_deepl_read_part(compat, prefix, &draft->parts[draft->n], &entries);
    if (!draft->wrong && is_twice(draft))
        draft->wrong = "Duplicate dictionaries for a source and target language pair";
    if (draft->wrong)
        return;
    draft->parts[draft->n].how = how;
    draft->parts[draft->n].at = draft->text.len;
    draft->n++;
    draft->err = dg_buf_append_span(&draft->text, entries);
}

static void draft_init(struct draft *draft, const struct dg_compat *compat)
{
    *draft = (struct draft){.parts = dg_try_calloc(DG_GLOSSARY_DICTIONARIES, sizeof *draft->parts)};
    dg_buf_init(&draft->text,
                compat->work.call->req->body.len * 2 + compat->work.call->req->query.len + 1);
    draft->err = draft->parts ? DG_OK : DG_ERR_NOMEM;
}

/* Reads all dictionaries of a list, which may be empty or absent. */
static void read_dictionaries(const struct dg_compat *compat, struct draft *draft)
{
    char prefix[PREFIX] = "dictionaries[0].";
    size_t n = 0;
    while (!draft->wrong && !draft->err && has_field(compat, prefix)) {
        read_dictionary(compat, draft, prefix, DG_GLOSSARIES_MERGE);
        snprintf(prefix, sizeof prefix, "dictionaries[%zu].", ++n);
    }
    if (!draft->wrong && !is_list_of(compat, n))
        draft->wrong = "Value for 'dictionaries' not supported.";
}

/* Takes the draft and the compat request, and starts the change; `name` "": unchanged. */
static void change(struct dg_compat *compat, struct draft *draft,
                   const struct dg_glossaries_entry *amended, struct dg_span name,
                   void (*answer)(struct dg_call *call, struct dg_glossaries_change *change))
{
    struct dg_call *call = compat->work.call;
    struct dg_glossaries_change *change =
        draft->wrong || draft->err
            ? NULL
            : dg_glossaries_change_new(call, amended, dg_buf_span(&draft->text));
    dg_buf_deinit(&draft->text);
    if (!change) {
        dg_deepl_glossary_fail(call, draft->wrong ? 400 : 503,
                               draft->wrong ? draft->wrong : "The server is out of memory.", NULL);
        dg_free(draft->parts);
        dg_compat_drop(compat);
        return;
    }
    change->parts = draft->parts;
    change->n_parts = draft->n;
    change->amends = amended != NULL;
    change->may_be_empty = true;
    change->read = dg_deepl_read_parts;
    change->answer = answer;
    change->renames = name.len > 0;
    if (name.len) {
        memcpy(change->entry->name, name.ptr, name.len);
        change->entry->name[name.len] = '\0';
    }
    dg_compat_drop(compat);
    dg_glossaries_change(change);
}

static void add(struct dg_call *call, struct dg_compat *compat)
{
    struct draft draft;
    struct dg_failure failure;
    struct dg_span name;
    if (!dg_glossaries_may(call, &failure)) {
        dg_deepl_glossary_fail(call, 403, failure.message, NULL);
        dg_compat_drop(compat);
        return;
    }
    draft_init(&draft, compat);
    draft.wrong = dg_deepl_read_name(compat, &name);
    if (!draft.wrong && !draft.err)
        read_dictionaries(compat, &draft);
    change(compat, &draft, NULL, name, answer_change);
}

static void patch(struct dg_call *call, struct dg_compat *compat)
{
    struct draft draft;
    struct dg_span name = {NULL, 0};
    const struct dg_glossaries_entry *entry = open_entry(call, true);
    if (!entry) {
        dg_compat_drop(compat);
        return;
    }
    draft_init(&draft, compat);
    if (dg_fields_get(&compat->fields, "name"))
        draft.wrong = dg_deepl_read_name(compat, &name);
    if (!draft.wrong && !draft.err)
        read_dictionaries(compat, &draft);
    change(compat, &draft, entry, name, answer_change);
}

static void put(struct dg_call *call, struct dg_compat *compat)
{
    struct draft draft;
    const struct dg_glossaries_entry *entry = open_entry(call, true);
    if (!entry) {
        dg_compat_drop(compat);
        return;
    }
    draft_init(&draft, compat);
    if (!draft.err)
        read_dictionary(compat, &draft, "", DG_GLOSSARIES_REPLACE);
    change(compat, &draft, entry, (struct dg_span){NULL, 0}, answer_put);
}

static void on_add(struct dg_call *call, struct dg_compat *compat)
{
    static const struct dg_deepl_step step = {add};
    (void)call;
    dg_deepl_pass(compat, &step);
}

static void on_patch(struct dg_call *call, struct dg_compat *compat)
{
    static const struct dg_deepl_step step = {patch};
    (void)call;
    dg_deepl_pass(compat, &step);
}

static void on_put(struct dg_call *call, struct dg_compat *compat)
{
    static const struct dg_deepl_step step = {put};
    (void)call;
    dg_deepl_pass(compat, &step);
}

void dg_deepl_v3_glossaries_add(struct dg_call *call)
{
    dg_compat_open(call, on_add);
}

void dg_deepl_v3_glossary_patch(struct dg_call *call)
{
    dg_compat_open(call, on_patch);
}

void dg_deepl_v3_dictionary_put(struct dg_call *call)
{
    dg_compat_open(call, on_put);
}

void dg_deepl_v3_dictionary_remove(struct dg_call *call)
{
    char source[DG_LANGTAG_LANGUAGE], target[DG_LANGTAG_LANGUAGE];
    const struct dg_glossaries_entry *entry = open_entry(call, true);
    if (!entry || !read_pair(call, source, target))
        return;
    struct dg_glossaries_part *part = dg_try_calloc(1, sizeof *part);
    struct dg_glossaries_change *change =
        part ? dg_glossaries_change_new(call, entry, DG_SPAN("")) : NULL;
    if (!change) {
        dg_free(part);
        dg_deepl_glossary_fail(call, 503, "The server is out of memory.", NULL);
        return;
    }
    part->how = DG_GLOSSARIES_DROP;
    snprintf(part->source, sizeof part->source, "%s", source);
    snprintf(part->target, sizeof part->target, "%s", target);
    change->parts = part;
    change->n_parts = 1;
    change->amends = change->may_be_empty = true;
    change->read = dg_deepl_read_parts;
    change->answer = answer_dropped;
    dg_glossaries_change(change);
}

void dg_deepl_v3_glossary_remove(struct dg_call *call)
{
    struct dg_glossaries_entry *entry = open_entry(call, true);
    if (entry)
        dg_glossaries_remove(call, entry);
}

/* ---- Looking --------------------------------------------------------------------------------- */

static void fill_list(struct dg_call *call, struct dg_json_out *out)
{
    const struct dg_glossaries *store = &call->api->glossaries;
    for (struct dg_list *at = store->all.next; at != &store->all; at = at->next) {
        const struct dg_glossaries_entry *entry =
            DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        if (is_shown(entry) &&
            (entry->is_shared || dg_call_lists(call, entry->owner, entry->client)))
            put_entry(out, entry);
    }
}

void dg_deepl_v3_glossaries(struct dg_call *call)
{
    dg_call_json_list(call, "glossaries", fill_list);
}

void dg_deepl_v3_glossary(struct dg_call *call)
{
    const struct dg_glossaries_entry *entry = open_entry(call, false);
    if (entry)
        answer_entry(call, 200, entry);
}

void dg_deepl_v3_glossary_entries(struct dg_call *call)
{
    char source[DG_LANGTAG_LANGUAGE], target[DG_LANGTAG_LANGUAGE];
    struct dg_buf buf, table;
    struct dg_json_out out;
    const struct dg_glossaries_entry *entry = open_entry(call, false);
    if (!entry || !read_pair(call, source, target))
        return;
    const struct dg_dictionary *dictionary = find_dictionary(entry, source, target);
    if (!dictionary) {
        dg_deepl_glossary_fail(call, 404, "Dictionary not found", NULL);
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    dg_buf_init(&table, ANSWER_MAX);
    enum dg_err err = dg_glossary_write(dictionary, DG_GLOSSARY_TSV, DG_DEEPL_COLUMNS, &table);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "dictionaries", '[');
    dg_json_out_open(&out, '{');
    put_pair(&out, dictionary);
    dg_json_out_put_string(&out, "entries", dg_buf_span(&table));
    dg_json_out_put_cstr(&out, "entries_format", "tsv");
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    if (!err)
        err = dg_json_out_end(&out);
    if (!err)
        dg_call_json(call, 200, dg_buf_span(&buf));
    else
        dg_deepl_glossary_fail(call, 503, "The server is out of memory.", NULL);
    dg_buf_deinit(&table);
    dg_buf_deinit(&buf);
}
