/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes the card section by section. Lengths of sentences are counted in ids, because these show
 * best which lengths the network has never seen. */
#include "train/report/card.h"
#include "base/file/file_out.h"
#include "base/memory/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { PATH_CAP = 4096, CARD_MAX = 1 << 20, LENGTHS = 512 };

/* ---- Figures --------------------------------------------------------------------------------- */

struct lengths {
    double mean;
    size_t most; /* 99 of 100 sources are at most this long */
};

static struct lengths lengths_of(const struct dg_corpus *corpus)
{
    uint64_t counts[LENGTHS] = {0}, seen = 0;
    struct lengths lengths = {0};
    for (size_t i = 0; i < corpus->n; i++) {
        const size_t n = dg_corpus_get(corpus, i).n_source;
        counts[n < LENGTHS ? n : LENGTHS - 1]++;
    }
    if (corpus->n)
        lengths.mean = (double)corpus->n_source_tokens / (double)corpus->n;
    while (lengths.most + 1 < LENGTHS && (seen += counts[lengths.most]) * 100 < corpus->n * 99)
        lengths.most++;
    return lengths;
}

/* Returns the last part of a path, without slashes at its end. */
static struct dg_span name_of(const char *dir)
{
    struct dg_span name = dg_span_cstr(dir);
    while (name.len > 1 && name.ptr[name.len - 1] == '/')
        name.len--;
    size_t from = name.len;
    while (from > 0 && name.ptr[from - 1] != '/')
        from--;
    return dg_span_sub(name, from, name.len - from);
}

/* ---- Sections -------------------------------------------------------------------------------- */

static bool is_lm(const struct dg_card *card)
{
    return dg_blueprint_family(&card->params->bp)->has_prompt;
}

/* A language model that has learned from lines of text only. */
static bool has_lines(const struct dg_card *card)
{
    return is_lm(card) && !*card->params->bp.lm.ask.form;
}

static enum dg_err put_translator(const struct dg_blueprint *bp, struct dg_buf *out)
{
    return dg_buf_printf(out,
                         "| network | Transformer encoder-decoder, %s-norm; width %zu, "
                         "feed-forward %zu, %zu heads, %zu encoder "
                         "and %zu decoder layers |\n| vocabulary | %zu pieces for the source, %zu "
                         "for the target%s |\n",
                         bp->norm_place == DG_NORM_POST ? "post" : "pre", bp->D, bp->decoder.F,
                         bp->decoder.H, bp->encoder.n_layers, bp->decoder.n_layers, bp->encoder.V,
                         bp->decoder.V, bp->tie_source_target ? ", shared" : "");
}

static enum dg_err put_recurrent(const struct dg_blueprint *bp, struct dg_buf *out)
{
    enum dg_err err =
        dg_buf_printf(out, "| network | recurrent %s of %s cells%s; width %zu, %zu layers to read",
                      bp->seq.is_classifier ? "classifier" : "encoder-decoder",
                      dg_decoder_kind_name(bp->decoder_kind),
                      bp->seq.is_bidirectional ? ", both ways" : "", bp->D, bp->encoder.n_layers);
    if (!err && bp->seq.is_classifier)
        return dg_buf_printf(out, " |\n| vocabulary | %zu pieces |\n| labels | %zu |\n",
                             bp->encoder.V, bp->decoder.V);
    return err ? err
               : dg_buf_printf(out,
                               " and %zu to write, attention: %s |\n| vocabulary | %zu pieces for "
                               "the source, %zu for the "
                               "target%s |\n",
                               bp->decoder.n_layers, dg_seq_attention_name(bp->seq.attention),
                               bp->encoder.V, bp->decoder.V,
                               bp->tie_source_target ? ", shared" : "");
}

/* The purpose of an encoder-only model, by its head. */
static const char *purpose(const struct dg_blueprint *bp)
{
    switch (bp->enc.head) {
    case DG_HEAD_WORDS:
        return "masked words";
    case DG_HEAD_POOLED:
        return bp->enc.rule == DG_LABELS_NUMBER ? "a number"
               : bp->enc.rule == DG_LABELS_EACH ? "labels of texts, any number of them"
                                                : "labels of texts";
    case DG_HEAD_TOKENS:
        return "labels of words";
    case DG_HEAD_SPANS:
        return "answers to questions";
    case DG_HEAD_REPLACED:
        return "replaced words";
    case DG_HEAD_NONE:
        break;
    }
    return "nothing";
}

static enum dg_err put_encoder(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const bool has_labels = bp->enc.head == DG_HEAD_TOKENS ||
                            (bp->enc.head == DG_HEAD_POOLED && bp->enc.rule != DG_LABELS_NUMBER);
    enum dg_err err = dg_buf_printf(
        out,
        "| network | encoder-only Transformer, %s-norm; width %zu, feed-forward %zu, %zu heads, "
        "%zu layers |\n| task | %s |\n| vocabulary | %zu pieces; reads %zu at most |\n",
        bp->norm_place == DG_NORM_POST ? "post" : "pre", bp->D, bp->encoder.F, bp->encoder.H,
        bp->encoder.n_layers, purpose(bp), bp->encoder.V, bp->source_len_max);
    return err || !has_labels ? err : dg_buf_printf(out, "| labels | %zu |\n", bp->decoder.V);
}

static enum dg_err put_network_lm(const struct dg_blueprint *bp, struct dg_buf *out)
{
    enum dg_err err = dg_buf_printf(
        out,
        "| network | language model (decoder-only Transformer); %s positions, %s norms, %s%s; "
        "width %zu, feed-forward %zu, %zu layers of %zu heads, %zu of keys |\n| vocabulary | %zu "
        "pieces |\n| context | %zu tokens |\n",
        dg_positions_name(bp->positions), bp->norm_kind == DG_NORM_RMS ? "RMS" : "layer",
        bp->lm.gated ? "gated " : "", dg_activation_name(bp->activation), bp->D, bp->decoder.F,
        bp->decoder.n_layers, bp->decoder.H, bp->lm.kv_heads, bp->decoder.V, bp->lm.context);
    if (!err && *bp->lm.ask.form)
        err = dg_buf_printf(out, "| asked to translate by | `%s` |\n", bp->lm.ask.form);
    return err;
}

/* Says nothing of the weights' type and bytes, which import and quantize change, copying the card.
 */
static enum dg_err put_head(const struct dg_card *card, struct dg_buf *out)
{
    const struct dg_blueprint *bp = &card->params->bp;
    enum dg_err err = dg_buf_printf(out, "# %.*s\n\n", DG_SPAN_FMT(name_of(card->dir)));
    if (!err && card->note.len)
        err = dg_buf_printf(out, "%.*s\n\n", DG_SPAN_FMT(card->note));
    if (!err)
        err = dg_buf_append_cstr(out, "| | |\n|---|---|\n");
    if (!err)
        err = is_lm(card)                             ? put_network_lm(bp, out)
              : dg_blueprint_family(bp)->has_head     ? put_encoder(bp, out)
              : dg_blueprint_family(bp)->is_recurrent ? put_recurrent(bp, out)
                                                      : put_translator(bp, out);
    return err ? err : dg_buf_printf(out, "| parameters | %zu |\n", card->params->n);
}

static enum dg_err put_data(const struct dg_card *card, struct dg_buf *out)
{
    const struct dg_corpus *train = card->train;
    const bool is_enc = dg_blueprint_family(&card->params->bp)->has_head;
    enum dg_err err =
        is_enc ? dg_buf_printf(out,
                               "\n## Data\n\n%zu examples of %" PRIu64
                               " tokens to learn from (repeated ones counted as "
                               "often), %zu held out.\n\n",
                               train->n, train->n_source_tokens, card->n_dev)
        : has_lines(card)
            ? dg_buf_printf(out,
                            "\n## Data\n\n%zu stretches of text of %" PRIu64
                            " tokens to learn from (repeated ones "
                            "counted as often), %zu lines held out.\n\n",
                            train->n, train->n_target_tokens, card->n_dev)
            : dg_buf_printf(out,
                            "\n## Data\n\n%zu pairs of %" PRIu64 " source and %" PRIu64
                            " target tokens to learn from (repeated ones counted as often), %zu "
                            "held out.\n\n",
                            train->n, train->n_source_tokens, train->n_target_tokens, card->n_dev);
    if (!err && card->files.len)
        err = dg_buf_printf(out, "%.*s\n\n", DG_SPAN_FMT(card->files));
    if (err)
        return err;
    return card->attribution.len
               ? dg_buf_printf(out, "%.*s\n", DG_SPAN_FMT(card->attribution))
               : dg_buf_append_cstr(
                     out, "Where the data come from, and under which licence, was not stated "
                          "(--attribution). Find out before you pass the model on.\n");
}

/* Prints the options. For files it prints only the names, because their folders are private. */
static enum dg_err put_recipe(struct dg_span recipe, struct dg_buf *out)
{
    size_t word = out->len; /* where the current value or list item begins */
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < recipe.len && !err; i++) {
        const char c = recipe.ptr[i];
        if (c == '/')
            dg_buf_truncate(out, word);
        else
            err = dg_buf_append_byte(out, c);
        if (c == ' ' || c == ',' || c == '\n')
            word = out->len;
    }
    return err;
}

static enum dg_err put_training(const struct dg_card *card, struct dg_buf *out)
{
    const struct dg_trainer_now *now = card->now;
    const bool is_long = now->seconds >= 3600.0;
    enum dg_err err = dg_buf_printf(
        out,
        "\n## Training\n\nBy `dragoman train`: %" PRIu64
        " steps in %.1f %s on %zu thread%s, %.2f passes over the pairs; "
        "%s. The weights are the average at step %" PRIu64 "%s.\n",
        now->step, now->seconds / (is_long ? 3600.0 : 60.0), is_long ? "hours" : "minutes",
        card->threads, card->threads == 1 ? "" : "s",
        (double)now->epoch - 1.0 + (now->n ? (double)now->position / (double)now->n : 0.0),
        card->end, now->best_step ? now->best_step : now->step,
        now->best_step ? ", the best on the held-out pairs" : "");
    if (!err && now->n_skipped)
        err = dg_buf_printf(
            out, "%" PRIu64 " steps were left out because their gradient was not finite.\n",
            now->n_skipped);
    if (!err && card->recipe.len) {
        err = dg_buf_append_cstr(out, "\n```ini\n");
        if (!err)
            err = put_recipe(card->recipe, out);
        if (!err)
            err = dg_buf_append_cstr(out, dg_span_ends(card->recipe, DG_SPAN("\n")) ? "```\n"
                                                                                    : "\n```\n");
    }
    if (!err && card->history.len)
        err = dg_buf_printf(out, "\nChanged on the way:\n\n```\n%.*s```\n",
                            DG_SPAN_FMT(card->history));
    return err;
}

/* A source, its translation and the reference come from files, so characters that would end the
 * block are left out. */
static enum dg_err put_samples(const struct dg_card *card, struct dg_buf *out)
{
    static const char *const marks[] = {"", "  -> ", "   = "};
    enum dg_err err = dg_buf_append_cstr(
        out, has_lines(card)
                 ? "\nBeginnings of held-out lines, how the model continues them, and how they "
                   "really continue:\n\n"
                 : "\nHeld-out sentences, what the model makes of them, and their references:\n\n");
    for (size_t i = 0; i < card->samples->n_samples && !err; i++)
        for (size_t j = 0; j < 3 && !err; j++)
            err = dg_buf_printf(out, "    %s%s\n", marks[j], card->samples->samples[i][j]);
    return err;
}

static enum dg_err put_scores(const struct dg_card *card, struct dg_buf *out)
{
    enum dg_err err = dg_buf_append_cstr(out, "\n## Scores\n\n");
    if (!err && card->scores->n == 0)
        return dg_buf_append_cstr(out, "None: no pairs were held out.\n");
    if (!err)
        err = dg_scores_table(card->scores, out);
    if (!err && dg_blueprint_family(&card->params->bp)->has_head)
        return dg_buf_append_cstr(
            out, "\nThe loss is -log p for each answer, or for numbers the mean square of the "
                 "difference. Accuracy, F1 (of whole entities) and exact (answers with both ends "
                 "right) are in per cent; the correlation is Pearson's.\n");
    if (!err)
        err = dg_buf_append_cstr(
            out, "\nThe loss is -log p for each token under teacher forcing and depends on the "
                 "vocabulary; BLEU and chrF are as sacreBLEU computes them.\n");
    return err || !card->samples || card->samples->n_samples == 0 ? err : put_samples(card, out);
}

static enum dg_err put_limits_of_lines(const struct dg_card *card, struct dg_buf *out)
{
    return dg_buf_printf(
        out,
        "\n## What it cannot do\n\n- Know anything: it continues a text as the texts it learned "
        "from continued, in fluent words that need not be true.\n- Read more than %zu tokens of "
        "prompt and answer together.\n- Other languages and kinds of text than its data's.\n- Tell "
        "when it is wrong. Check what matters.\n",
        card->params->bp.lm.context);
}

static enum dg_err put_limits(const struct dg_card *card, struct dg_buf *out)
{
    const struct lengths lengths = lengths_of(card->train);
    if (dg_blueprint_family(&card->params->bp)->has_head)
        return dg_buf_printf(out,
                             "\n## What it cannot do\n\n"
                             "- Anything unlike its %zu examples: of other texts it says something "
                             "just as surely, and wrong.\n"
                             "- Long texts: those it learned from have %.1f tokens on average, 99 "
                             "of 100 no more than %zu.\n"
                             "- Be sure because its score is high. Check what matters.\n",
                             card->train->n, lengths.mean, lengths.most);
    return dg_buf_printf(out,
                         "\n## What it cannot do\n\n"
                         "- Anything unlike its %zu pairs: names, numbers and terms that are not "
                         "there come out wrong, in fluent words "
                         "that say something else.\n"
                         "- Long sentences: those it learned from have %.1f tokens on average, 99 "
                         "of 100 no more than %zu.\n"
                         "- The opposite direction, and other languages than its data's.\n"
                         "- Tell when it is wrong. Check what matters.\n",
                         card->train->n, lengths.mean, lengths.most);
}

enum dg_err dg_card_print(const struct dg_card *card, struct dg_buf *out, struct dg_error *error)
{
    enum dg_err err = put_head(card, out);
    if (!err)
        err = put_data(card, out);
    if (!err)
        err = put_scores(card, out);
    if (!err)
        err = has_lines(card) ? put_limits_of_lines(card, out) : put_limits(card, out);
    return err ? err : put_training(card, out);
}

enum dg_err dg_card_write(const struct dg_card *card, struct dg_error *error)
{
    char path[PATH_CAP];
    struct dg_buf text;
    dg_buf_init(&text, CARD_MAX);
    enum dg_err err = dg_card_print(card, &text, error);
    const int n = snprintf(path, sizeof path, "%s/card.md", card->dir);
    if (!err && (n < 0 || n >= (int)sizeof path))
        err = dg_error_set(error, DG_ERR_LIMIT, "the path %.80s... is too long", card->dir);
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}
