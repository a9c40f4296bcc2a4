/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: cuts a text into parts (sentences and separators), a stretch at a time, so
 * that no turn of the consumer's thread takes long, however long the text is:
 *
 *     err = dg_text_split_more(request, &tools, &error);        again, while !request->is_cut
 * A stretch ends at a line end (where lines are joined, at a blank line). Within a longer line, a
 * stretch ends before the last sentence, which is cut again together with what follows. So the
 * parts are the same as if the whole text were cut at once. */
#ifndef DG_ENGINE_REQUEST_TEXT_SPLIT_H
#define DG_ENGINE_REQUEST_TEXT_SPLIT_H

#include "engine/request/request.h"

struct dg_text_split_opts {
    const struct dg_lang_pair *pair; /* the model's languages */
    bool keep_lines_whole, join_lines, keep_case, keep_spaces;
    size_t reserve; /* Tokens that the text may need in addition to those measured; at most half of
                       the model's. */
};

/* Cuts any text for a model; the segments are borrowed from the tools until the next cut. */
enum dg_err dg_text_split(struct dg_request_tools *tools, const struct dg_served_model *model,
                          struct dg_span text, const struct dg_text_split_opts *opts,
                          struct dg_segments *segments, struct dg_error *error) DG_MUST_CHECK;

/* Adds the parts of the next stretch to the request. */
enum dg_err dg_text_split_more(struct dg_request *request, struct dg_request_tools *tools,
                               struct dg_error *error) DG_MUST_CHECK;

#endif
