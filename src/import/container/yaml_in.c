/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Works on libyaml's events, so that nothing is built in memory. At depth 1 keys and values
 * alternate; depth 2, under a key that opened a list, has the list's items. */
#include "import/container/yaml_in.h"
#include "base/memory/buf.h"

#include <yaml.h>

enum { TEXT_MAX = 64 << 20, DEPTH_MAX = 16, KEY_MAX = 4096 };

struct visiting {
    const char *name;
    dg_yaml_fn fn;
    void *ctx;
    struct dg_error *error;
    struct dg_buf key;
    bool has_key;
    int depth;    /* of open mappings and lists */
    bool in_list; /* the list of `key` is open at depth 2 */
    long index;
};

static enum dg_err refuse(const struct visiting *v, enum dg_err err, const yaml_mark_t *mark,
                          const char *what)
{
    return dg_error_set(v->error, err, "%s: line %zu: offset %zu: %s", v->name, mark->line + 1,
                        mark->index, what);
}

static enum dg_err on_scalar(struct visiting *v, const yaml_event_t *event)
{
    struct dg_span text =
        dg_span_make((const char *)event->data.scalar.value, event->data.scalar.length);
    if (v->depth == 2 && v->in_list)
        return v->fn(v->ctx, dg_buf_span(&v->key), v->index++, text, v->error);
    if (v->depth != 1)
        return DG_OK;
    if (v->has_key) {
        v->has_key = false;
        return v->fn(v->ctx, dg_buf_span(&v->key), DG_YAML_SCALAR, text, v->error);
    }
    dg_buf_clear(&v->key);
    if (dg_buf_append_span(&v->key, text))
        return refuse(v, DG_ERR_LIMIT, &event->start_mark, "a key is too long");
    v->has_key = true;
    return DG_OK;
}

static enum dg_err on_open(struct visiting *v, const yaml_event_t *event, bool is_list)
{
    if (v->depth == 0 && is_list)
        return refuse(v, DG_ERR_FORMAT, &event->start_mark, "a list, expected a mapping");
    if (v->depth == 1 && !v->has_key)
        return refuse(v, DG_ERR_FORMAT, &event->start_mark, "a key that is not a text");
    if (v->depth == DEPTH_MAX)
        return refuse(v, DG_ERR_LIMIT, &event->start_mark, "nested too deeply");
    if (v->depth == 1) {
        v->in_list = is_list;
        v->index = 0;
    }
    v->depth++;
    return DG_OK;
}

static void on_close(struct visiting *v)
{
    v->depth--;
    if (v->depth == 1)
        v->has_key = v->in_list = false;
}

static enum dg_err on_event(struct visiting *v, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        if (v->depth == 0)
            return refuse(v, DG_ERR_FORMAT, &event->start_mark, "a text, expected a mapping");
        return on_scalar(v, event);
    case YAML_MAPPING_START_EVENT:
        return on_open(v, event, false);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(v, event, true);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        on_close(v);
        return DG_OK;
    case YAML_ALIAS_EVENT:
        return refuse(v, DG_ERR_UNSUPPORTED, &event->start_mark, "an alias; refused");
    default:
        return DG_OK;
    }
}

enum dg_err dg_yaml_visit(struct dg_span text, const char *name, dg_yaml_fn fn, void *ctx,
                          struct dg_error *error)
{
    struct visiting v = {.name = name, .fn = fn, .ctx = ctx, .error = error};
    yaml_parser_t parser;
    if (text.len > TEXT_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "%s has %zu bytes, expected at most %d", name,
                            text.len, TEXT_MAX);
    if (!yaml_parser_initialize(&parser))
        return DG_ERR_NOMEM;
    dg_buf_init(&v.key, KEY_MAX);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.ptr, text.len);
    enum dg_err err = DG_OK;
    for (bool done = false; !done && !err;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            err = refuse(&v, DG_ERR_FORMAT, &parser.problem_mark,
                         parser.problem ? parser.problem : "not YAML");
            break;
        }
        err = on_event(&v, &event);
        done = event.type == YAML_STREAM_END_EVENT || event.type == YAML_DOCUMENT_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    dg_buf_deinit(&v.key);
    return err;
}
