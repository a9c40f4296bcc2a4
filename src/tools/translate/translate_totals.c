/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The counts of `dragoman translate`, and the line with them that it prints at its end. */
#include "tools/translate/translate.h"

#include <stdio.h>

void translate_count(struct translate_totals *totals, size_t n_sentences, size_t n_tokens_in,
                     size_t n_tokens_out, enum dg_finish finish, bool repaired)
{
    totals->n_sentences += n_sentences;
    totals->n_tokens_in += n_tokens_in;
    totals->n_tokens_out += n_tokens_out;
    totals->n_cut_short += finish == DG_FINISH_LENGTH;
    totals->n_loops += finish == DG_FINISH_LOOP;
    totals->n_repaired += repaired;
}

void translate_summary(const struct translate_totals *totals, uint64_t now_ns)
{
    double seconds = (double)(now_ns - totals->began_ns) / (double)DG_CLOCK_S;
    char terms[80] = "";
    if (totals->has_glossary)
        snprintf(terms, sizeof terms, " terms=%zu terms_missed=%zu", totals->n_terms,
                 totals->n_missed);
    fprintf(
        stderr,
        "translate: lines=%zu sentences=%zu tokens_in=%zu tokens_out=%zu cut_short=%zu loops=%zu "
        "repaired=%zu failed=%zu seconds=%.3f tokens_per_second=%.0f%s\n",
        totals->n_lines, totals->n_sentences, totals->n_tokens_in, totals->n_tokens_out,
        totals->n_cut_short, totals->n_loops, totals->n_repaired, totals->n_failed, seconds,
        seconds > 0 ? (double)totals->n_tokens_out / seconds : 0.0, terms);
}
