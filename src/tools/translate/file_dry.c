/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman file --dry-run: takes the document apart and puts it together as for a translation, but
 * leaves each sentence as it is. A sentence's text is written by the format's rules; a sentence
 * with markup in it is copied. */
#include "text/sentence/segment.h"
#include "tools/translate/file.h"

static enum dg_err say_again(const struct dg_doc *doc, const struct dg_doc_part *part,
                             struct dg_buf *out)
{
    if (part->has_markup)
        return dg_doc_copy(doc, part, false, out);
    enum dg_err err = dg_doc_copy(doc, part, true, out);
    return err ? err : dg_doc_escape(doc, dg_span_sub(dg_doc_plain(doc), part->at, part->len), out);
}

enum dg_err file_dry(struct file_work *work, struct dg_error *error)
{
    const struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    struct dg_segmenter *segmenter = NULL;
    struct dg_segments segments;
    struct dg_doc *doc = NULL;
    struct dg_doc_cursor cursor = {0};
    if (work->format == DG_DOC_JSON)
        work->opts.target = DG_SPAN(""); /* none, so that no plurals of another language are made */
    if (work->format == DG_DOC_TEXT)
        return dg_buf_append_span(&work->result, work->text);
    enum dg_err err = dg_doc_new(work->text, work->format, &work->opts, &doc, error);
    if (!err)
        err = dg_segmenter_new(&segmenter, error);
    if (!err)
        err = dg_segmenter_run(segmenter, dg_doc_plain(doc), &opts, &segments, error);
    for (size_t i = 0; !err && i < segments.n; i++) {
        bool is_sentence = segments.items[i].kind == DG_SEGMENT_SENTENCE;
        struct dg_doc_part part =
            dg_doc_next(doc, &cursor, segments.items[i].at, segments.items[i].len, is_sentence);
        err = is_sentence ? say_again(doc, &part, &work->result)
                          : dg_doc_copy(doc, &part, false, &work->result);
        work->n_sentences += is_sentence;
        dg_progress_show(&work->progress, dg_doc_origin(doc, segments.items[i].at));
    }
    if (!err)
        err = dg_doc_rest(doc, &cursor, &work->result);
    dg_segmenter_free(segmenter);
    dg_doc_free(doc);
    return err;
}
