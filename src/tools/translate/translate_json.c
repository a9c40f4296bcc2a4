/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes answers as JSON, with the members in the order of the header. Members that were not
 * requested, or do not exist, are left out. */
#include "tools/translate/translate_json.h"

size_t translate_aligned(const float *alignment, size_t t, size_t n_source)
{
    const float *row = alignment + t * n_source;
    size_t best = 0;
    for (size_t s = 1; s < n_source; s++)
        if (row[s] > row[best])
            best = s;
    return best;
}

enum dg_err translate_soft_alignment(struct dg_buf *out, const float *alignment, size_t n_ids,
                                     size_t n_source)
{
    enum dg_err err = DG_OK;
    for (size_t t = 0; !err && alignment && t < n_ids; t++) {
        if (out->len > 0 && out->ptr[out->len - 1] != ' ')
            err = dg_buf_append_byte(out, ' ');
        for (size_t s = 0; !err && s < n_source; s++)
            err = dg_buf_printf(out, "%s%.6g", s ? "," : "", (double)alignment[t * n_source + s]);
    }
    return err;
}

static void put_answer(struct dg_json_out *out, const struct dg_engine_answer *answer,
                       size_t n_source)
{
    dg_json_out_open(out, '{');
    if (answer->text.ptr)
        dg_json_out_put_string(out, "text", answer->text);
    dg_json_out_put_cstr(out, "finish", dg_finish_name(answer->finish));
    dg_json_out_put_bool(out, "repaired", answer->repaired);
    dg_json_out_put_real(out, "logprob", answer->logprob, 9);
    dg_json_out_put_real(out, "score", answer->score, 9);
    dg_json_out_put_open(out, "ids", '[');
    for (size_t t = 0; t < answer->n_ids; t++)
        dg_json_out_int(out, answer->ids[t]);
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "token_logprobs", '[');
    for (size_t t = 0; t < answer->n_ids; t++)
        dg_json_out_real(out, (double)answer->logprobs[t], 9);
    dg_json_out_close(out, ']');
    if (answer->alignment) {
        dg_json_out_put_open(out, "alignment", '[');
        for (size_t t = 0; t < answer->n_ids; t++) {
            dg_json_out_open(out, '[');
            dg_json_out_uint(out, translate_aligned(answer->alignment, t, n_source));
            dg_json_out_uint(out, t);
            dg_json_out_close(out, ']');
        }
        dg_json_out_close(out, ']');
    }
    dg_json_out_close(out, '}');
}

void translate_json_answers(struct dg_json_out *out, const struct dg_engine_answer *answers,
                            size_t n, size_t n_source)
{
    dg_json_out_put_open(out, "answers", '[');
    for (size_t i = 0; i < n; i++)
        put_answer(out, &answers[i], n_source);
    dg_json_out_close(out, ']');
}

enum dg_err translate_json_error(struct dg_buf *text, size_t line, const char *sentence)
{
    struct dg_json_out out;
    dg_json_out_init(&out, text);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "line", line);
    dg_json_out_put_cstr(&out, "error", sentence);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}
