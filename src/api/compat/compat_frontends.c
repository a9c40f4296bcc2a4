/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The APIs of web front ends to translation services, as far as they are plain requests: Lingva,
 * SimplyTranslate and Mozhi. The last two take the same request at /api/translate, so one answer
 * serves both; their lists of languages differ, and SimplyTranslate's has a path of its own
 * here. */
#include "api/compat/compat_routes.h"
#include "api/http/api_int.h"

enum { ANSWER_MAX = 4 << 20 };

static const char *source_of(const struct dg_compat *compat)
{
    const struct dg_compat_item *item = &compat->items[0];
    return item->from ? item->from->code : item->detected ? item->detected : "auto";
}

/* ---- Lists of languages ---------------------------------------------------------------------- */

/* The languages of some sides, in brackets of one kind, each written by `put`. */
static void put_languages(struct dg_call *call, struct dg_json_out *out, unsigned sides,
                          void (*put)(struct dg_json_out *out, const char *code, const char *name))
{
    struct dg_engine *engine = call->api->engine;
    const struct dg_languages *langs =
        engine ? dg_languages_now(&call->api->languages, engine) : NULL;
    if (engine && !langs)
        out->err = DG_ERR_NOMEM;
    for (size_t i = 0; langs && i < langs->n; i++)
        if (langs->items[i].sides & sides)
            put(out, langs->items[i].code, langs->items[i].name);
}

static void put_lingva(struct dg_json_out *out, const char *code, const char *name)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "code", code);
    dg_json_out_put_cstr(out, "name", name);
    dg_json_out_close(out, '}');
}

static void put_mozhi(struct dg_json_out *out, const char *code, const char *name)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "Id", code);
    dg_json_out_put_cstr(out, "Name", name);
    dg_json_out_close(out, '}');
}

static void put_simply(struct dg_json_out *out, const char *code, const char *name)
{
    dg_json_out_put_cstr(out, code, name);
}

/* Returns the sides that the path asks for: ".../source", ".../target_languages/"; else both. */
static unsigned sides_of(const struct dg_call *call)
{
    const struct dg_span path = call->req->path;
    const struct dg_span last =
        dg_span_ends(path, DG_SPAN("/")) ? dg_span_sub(path, 0, path.len - 1) : path;
    return dg_span_ends(last, DG_SPAN("/source")) || dg_span_ends(last, DG_SPAN("source_languages"))
               ? DG_LANGUAGE_SOURCE
           : dg_span_ends(last, DG_SPAN("/target")) ||
                   dg_span_ends(last, DG_SPAN("target_languages"))
               ? DG_LANGUAGE_TARGET
               : DG_LANGUAGE_ANY;
}

void dg_compat_lingva_languages(struct dg_call *call)
{
    const unsigned sides = sides_of(call);
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "languages", '[');
    if (sides & DG_LANGUAGE_SOURCE)
        put_lingva(&out, "auto", "Detect");
    put_languages(call, &out, sides, put_lingva);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

static void list(struct dg_call *call, char open, char close,
                 void (*put)(struct dg_json_out *out, const char *code, const char *name))
{
    const unsigned sides = sides_of(call);
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, open);
    if (sides == DG_LANGUAGE_SOURCE)
        put(&out, "auto", "Detect language");
    put_languages(call, &out, sides, put);
    dg_json_out_close(&out, close);
    dg_call_json_out(call, 200, &out);
}

void dg_compat_mozhi_languages(struct dg_call *call)
{
    list(call, '[', ']', put_mozhi);
}

void dg_compat_simply_languages(struct dg_call *call)
{
    list(call, '{', '}', put_simply);
}

/* ---- Lingva ---------------------------------------------------------------------------------- */

static void answer_lingva(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_string(out, "translation", dg_compat_result(compat, 0));
    dg_json_out_put_open(out, "info", '{');
    if (!compat->from)
        dg_json_out_put_cstr(out, "detectedSource", source_of(compat));
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
}

/* /api/v1/SOURCE/TARGET/TEXT, and the text may have slashes: its parts become fields. */
static void on_lingva(struct dg_call *call, struct dg_compat *compat)
{
    static const char *const names[] = {"source", "target", "text"};
    struct dg_field *fields = dg_arena_calloc(compat->arena, 3, sizeof *fields);
    struct dg_span rest = dg_span_sub(call->req->path, sizeof "/api/v1/" - 1, call->req->path.len);
    if (!fields) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const char *slash = i < 2 ? memchr(rest.ptr, '/', rest.len) : NULL;
        const size_t len = slash ? (size_t)(slash - rest.ptr) : rest.len;
        fields[i] =
            (struct dg_field){.name = dg_span_cstr(names[i]),
                              .value = dg_arena_copy(compat->arena, dg_span_sub(rest, 0, len)),
                              .kind = DG_FIELD_TEXT};
        rest = dg_span_sub(rest, len + 1, rest.len);
        if (!fields[i].value.ptr) {
            dg_compat_fail_with(compat, DG_ERR_NOMEM);
            return;
        }
    }
    compat->fields.items = fields;
    compat->fields.n = 3;
    dg_compat_go(compat, "text", "source", "target", answer_lingva);
}

void dg_compat_lingva(struct dg_call *call)
{
    dg_compat_open(call, on_lingva);
}

/* ---- SimplyTranslate and Mozhi --------------------------------------------------------------- */

/* One answer for the clients of both APIs: each reads the members that it knows. */
static void answer_frontend(struct dg_compat *compat, struct dg_json_out *out)
{
    const char *source = source_of(compat);
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "engine", "dragoman");
    dg_json_out_put_string(out, "translated-text", dg_compat_result(compat, 0));
    dg_json_out_put_string(out, "translated_text", dg_compat_result(compat, 0));
    dg_json_out_put_cstr(out, "detected", compat->from ? "" : source);
    dg_json_out_put_cstr(out, "source_language", source);
    dg_json_out_put_cstr(out, "target_language", compat->to->code);
    dg_json_out_close(out, '}');
}

void dg_compat_frontend(struct dg_call *call, struct dg_compat *compat)
{
    const struct dg_field *text = dg_fields_get(&compat->fields, "text");
    call->dialect = &dg_plain_dialect;
    if (text && text->kind == DG_FIELD_TEXT && !text->in_array)
        dg_compat_go(compat, "text", "from", "to", answer_frontend);
    else
        dg_compat_fail(compat, 400, "invalid_value", "text: expected a text");
}

void dg_compat_frontend_get(struct dg_call *call)
{
    dg_compat_open(call, dg_compat_frontend);
}
