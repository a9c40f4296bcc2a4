/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Prepares a sentence for the model: line ends inside it become spaces, spans that must come
 * through unchanged become words that the model knows (placeholders.h), and ALL CAPS and Title Case
 * become ordinary case (Title Case only for a model that learned nothing from it).
 *
 *     struct dg_prepared prepared;
 *     err = dg_prepare(&prepared, text, &opts);
 *     ... tokenise prepared.text; prepared.casing goes to dg_casing_restore with the answer ...
 *     dg_prepared_deinit(&prepared);                    also after a failure */
#ifndef DG_ENGINE_WORDS_PREPARE_H
#define DG_ENGINE_WORDS_PREPARE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "engine/words/placeholders.h"
#include "text/terms/casing.h"

#include <stdbool.h>

struct dg_prepare_opts {
    const char *language; /* the language of the text */
    bool joined;          /* the text runs on over line ends */
    bool keep_case;
    bool keeps_titles;                   /* Title Case is kept */
    const struct dg_casing_names *names; /* words of a title that keep their capitals; or NULL */
    /* Filled in with the protected spans, if there are any; or NULL. */
    struct dg_placeholders *placeholders;
    bool leaves_numbers; /* plain numbers are not protected spans (placeholders.h) */
    const struct dg_placeholders_words *words;
    const struct dg_phrase_set *extra; /* [n_extra] besides what text/terms/protect.h finds */
    size_t n_extra;
    struct dg_protect_list *list; /* scratch memory */
};

struct dg_prepared {
    struct dg_span text; /* points into the original, or into one of the buffers */
    enum dg_casing casing;
    bool in_place; /* Offsets into `text` are also offsets into the original (with placeholders:
                      after dg_placeholders_origin). */
    struct dg_buf flat, lowered, dressed;
};

/* Prepares a sentence. May return DG_ERR_NOMEM. */
enum dg_err dg_prepare(struct dg_prepared *prepared, struct dg_span text,
                       const struct dg_prepare_opts *opts) DG_MUST_CHECK;
void dg_prepared_deinit(struct dg_prepared *prepared);

#endif
