/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A deep copy of the request. A new pointer in struct dg_engine_request must be copied here, unless
 * what it points to lives until on_done. */
#include "engine/request/model_wait.h"
#include "base/memory/mem.h"

enum { ROOM = 1 << 16 }; /* for names and the table of phrases, besides the texts */

static bool copy_name(struct dg_arena *arena, const char **name)
{
    if (!*name)
        return true;
    *name = dg_arena_copy(arena, dg_span_cstr(*name)).ptr;
    return *name != NULL;
}

static bool copy_text(struct dg_arena *arena, struct dg_span *text)
{
    *text = dg_arena_copy(arena, *text);
    return text->ptr != NULL;
}

static bool copy_phrases(struct dg_arena *arena, struct dg_engine_request *asked)
{
    if (asked->n_must == 0)
        return true;
    struct dg_span *must = dg_arena_calloc(arena, asked->n_must, sizeof *must);
    for (size_t i = 0; must && i < asked->n_must; i++) {
        must[i] = asked->must[i];
        if (!copy_text(arena, &must[i]))
            return false;
    }
    asked->must = must;
    return must != NULL;
}

static bool copy_doc(struct dg_arena *arena, struct dg_doc_opts *doc)
{
    return copy_text(arena, &doc->ignore_tags) && copy_text(arena, &doc->splitting_tags) &&
           copy_text(arena, &doc->non_splitting_tags) && copy_text(arena, &doc->target);
}

static size_t bytes_of(const struct dg_engine_request *asked)
{
    const struct dg_doc_opts *doc = &asked->doc;
    size_t bytes = ROOM + asked->text.len + asked->prefix.len + doc->ignore_tags.len +
                   doc->splitting_tags.len + doc->non_splitting_tags.len + doc->target.len;
    for (size_t i = 0; i < asked->n_must; i++)
        bytes += asked->must[i].len + sizeof asked->must[i] + 32;
    return bytes;
}

enum dg_err dg_model_wait_new(struct dg_model_wait **out, struct dg_engine_request *asked,
                              struct dg_error *error)
{
    struct dg_model_wait *waiting = dg_try_calloc(1, sizeof *waiting);
    struct dg_engine_request copy = *asked;
    if (!waiting)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a request");
    struct dg_arena *arena = &waiting->arena;
    dg_arena_init(arena, bytes_of(asked));
    if (!copy_text(arena, &copy.text) || !copy_text(arena, &copy.prefix) ||
        !copy_name(arena, &copy.model) || !copy_name(arena, &copy.source) ||
        !copy_name(arena, &copy.target) || !copy_phrases(arena, &copy) ||
        !copy_doc(arena, &copy.doc)) {
        dg_model_wait_free(waiting);
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a text of %zu bytes",
                            asked->text.len);
    }
    *asked = copy;
    *out = waiting;
    return DG_OK;
}

void dg_model_wait_free(struct dg_model_wait *waiting)
{
    if (!waiting)
        return;
    dg_served_model_unref(waiting->held);
    dg_arena_deinit(&waiting->arena);
    dg_free(waiting);
}
