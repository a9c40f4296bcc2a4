/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Texts become tokens as in engine/read/reading.c, and tokens become [cls] text [sep] pair [sep] as
 * there; the labels follow their tokens. */
#include "train/data/examples.h"
#include "base/memory/mem.h"
#include "tokenize/pair_truncate.h"
#include "train/data/corpus.h"

#include <stdio.h>
#include <string.h>

enum { OVERLAP_PARTS = 4 }; /* as in engine/read/reading.c */

enum dg_labelled_text_kind dg_examples_kind(const struct dg_blueprint *bp)
{
    switch (bp->enc.head) {
    case DG_HEAD_POOLED:
        return bp->enc.rule == DG_LABELS_NUMBER ? DG_LESSON_NUMBER
               : bp->enc.rule == DG_LABELS_EACH ? DG_LESSON_LABELS
                                                : DG_LESSON_LABEL;
    case DG_HEAD_TOKENS:
        return DG_LESSON_TAGS;
    case DG_HEAD_SPANS:
        return DG_LESSON_ANSWER;
    case DG_HEAD_WORDS:
    case DG_HEAD_REPLACED: /* this head is not trained here */
    case DG_HEAD_NONE:
        break;
    }
    return DG_LESSON_WORDS;
}

/* Tokens of one text, kept while the other is read. */
struct tokens {
    struct dg_subword_token *list; /* owned */
    size_t n, cap;
};

struct making {
    const struct dg_examples_making *opts;
    struct dg_subword_work *work;
    struct tokens text, pair;
    int32_t *source, *target; /* owned; [len_max], [len_max + DG_LABELS_MAX + 3] */
    size_t n_source;
    int32_t cls, sep, unknown;
    struct dg_corpus_out out;
    struct dg_examples_stats stats;
};

/* ---- Tokens ---------------------------------------------------------------------------------- */

static enum dg_err tokenise(struct making *m, struct tokens *to, struct dg_span text,
                            struct dg_error *error)
{
    const struct dg_subword_token *tokens;
    size_t n, bytes;
    enum dg_err err = dg_subword_encode(m->opts->subword, m->work, text, 0, error, &tokens, &n);
    if (err)
        return err;
    if (n > to->cap) {
        struct dg_subword_token *list =
            dg_mul(n, sizeof *list, &bytes) ? dg_try_realloc(to->list, bytes) : NULL;
        if (!list)
            return DG_ERR_NOMEM;
        to->list = list;
        to->cap = n;
    }
    to->n = n;
    if (n)
        memcpy(to->list, tokens, n * sizeof *tokens);
    return DG_OK;
}

static bool begins_word(const struct tokens *tokens, size_t i)
{
    return i == 0 || tokens->list[i].word != tokens->list[i - 1].word ||
           tokens->list[i].word == DG_SUBWORD_NO_WORD;
}

static void put(struct making *m, int32_t id)
{
    m->source[m->n_source++] = id;
    m->stats.n_unknown += id == m->unknown;
}

static void put_all(struct making *m, const struct tokens *tokens, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(m, tokens->list[first + i].id);
}

static size_t n_around(const struct making *m, bool has_pair)
{
    return 2 + (has_pair ? m->opts->bp->enc.separators : 0);
}

/* Lays out [cls] text [sep], or [cls] text [sep]... pair [sep]. Returns where the pair begins, or
 * 0; sets target[0] to where its segment begins. */
static size_t lay_out(struct making *m, size_t first_text, size_t n_text, bool has_pair,
                      size_t first_pair, size_t n_pair)
{
    m->n_source = 0;
    m->target[0] = 0;
    put(m, m->cls);
    put_all(m, &m->text, first_text, n_text);
    put(m, m->sep);
    if (!has_pair)
        return 0;
    m->target[0] = (int32_t)m->n_source;
    for (size_t i = 1; i < m->opts->bp->enc.separators; i++)
        put(m, m->sep);
    const size_t at = m->n_source;
    put_all(m, &m->pair, first_pair, n_pair);
    put(m, m->sep);
    return at;
}

static enum dg_err finish(struct making *m, size_t n_target)
{
    return dg_corpus_out_put(&m->out, m->source, m->n_source, m->target, n_target);
}

/* ---- The kinds of labelled text -------------------------------------------------------------- */

static int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Puts a label's number after the `n` others in the target. */
static enum dg_err put_label(struct making *m, struct dg_span label, size_t n,
                             struct dg_error *error)
{
    size_t number;
    if (!dg_labels_find(m->opts->labels, label, &number))
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "the label \"%.*s\" is none of those that are learned",
                            DG_SPAN_FMT(label));
    size_t at = 1 + n;
    for (; at > 1 && m->target[at - 1] > (int32_t)number; at--)
        m->target[at] = m->target[at - 1];
    m->target[at] = (int32_t)number;
    return DG_OK;
}

/* For labels or a number: takes as many tokens of both texts as there is room for, and cuts the
 * longer text first. */
static enum dg_err put_whole(struct making *m, const struct dg_labelled_text *labelled_text,
                             struct dg_error *error)
{
    const enum dg_labelled_text_kind kind = dg_examples_kind(m->opts->bp);
    const size_t most = m->opts->len_max - n_around(m, labelled_text->has_pair);
    size_t n_text = m->text.n, n_pair = labelled_text->has_pair ? m->pair.n : 0, n = 0;
    enum dg_err err = DG_OK;
    m->stats.n_cut += dg_pair_truncate(most, &n_text, &n_pair);
    (void)lay_out(m, 0, n_text, labelled_text->has_pair, 0, n_pair);
    if (kind == DG_LESSON_NUMBER)
        m->target[1 + n++] = bits_of(labelled_text->number);
    else if (kind == DG_LESSON_LABEL)
        err = put_label(m, labelled_text->label, n++, error);
    for (; kind == DG_LESSON_LABELS && n < labelled_text->n_tags && !err; n++)
        err = put_label(m, labelled_text->tags[n], n, error);
    return err ? err : finish(m, 1 + n);
}

static enum dg_err put_words(struct making *m)
{
    const size_t most = m->opts->len_max - n_around(m, false);
    enum dg_err err = DG_OK;
    m->stats.n_cut += m->text.n > most;
    m->stats.n_lost += m->text.n == 0;
    for (size_t at = 0; at < m->text.n && !err; at += most) {
        (void)lay_out(m, at, m->text.n - at < most ? m->text.n - at : most, false, 0, 0);
        err = finish(m, 1);
    }
    return err;
}

bool dg_examples_goes_on(const struct dg_labels *labels, struct dg_span label, size_t *number)
{
    char kind, room[DG_LABELS_LEN_MAX + 1];
    const struct dg_span type = dg_labels_entity(label, &kind);
    if (kind != 'B' || type.len == label.len)
        return kind == 'I' && dg_labels_find(labels, label, number);
    snprintf(room, sizeof room, "I%.*s", (int)(label.len - 1), label.ptr + 1);
    return dg_labels_find(labels, dg_span_cstr(room), number);
}

/* Finds the label of the text's token `i`; `word` advances through the words of the labelled text.
 * A token that begins with a space, or is only a space, belongs to the word after the space, as it
 * does in the server. */
static enum dg_err tag_of(const struct making *m, const struct dg_labelled_text *labelled_text,
                          size_t i, size_t *word, size_t *last, int32_t *tag,
                          struct dg_error *error)
{
    const struct dg_subword_token *token = &m->text.list[i];
    size_t number = 0;
    *tag = DG_EXAMPLE_UNSAID;
    while (*word + 1 < labelled_text->n_words &&
           token->end >= (size_t)(labelled_text->words[*word + 1].ptr - labelled_text->text.ptr))
        ++*word;
    const bool is_first = *word != *last;
    if (!begins_word(&m->text, i) && !is_first)
        return DG_OK;
    *last = *word;
    if (is_first ? dg_labels_find(m->opts->labels, labelled_text->tags[*word], &number)
                 : dg_examples_goes_on(m->opts->labels, labelled_text->tags[*word], &number))
        *tag = (int32_t)number;
    else if (is_first)
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "the label \"%.*s\" is none of those that are learned",
                            DG_SPAN_FMT(labelled_text->tags[*word]));
    return DG_OK;
}

/* Returns the length of the next stretch. It ends before a word, unless a single word fills it. */
static size_t stretch(const struct tokens *tokens, size_t at, size_t most)
{
    size_t n = tokens->n - at < most ? tokens->n - at : most;
    const size_t whole = n;
    if (at + n == tokens->n)
        return n;
    while (n > 1 && !begins_word(tokens, at + n))
        n--;
    return n > 1 ? n : whole;
}

static enum dg_err put_tags(struct making *m, const struct dg_labelled_text *labelled_text,
                            struct dg_error *error)
{
    const size_t most = m->opts->len_max - n_around(m, false);
    size_t word = 0, last = SIZE_MAX;
    enum dg_err err = DG_OK;
    m->stats.n_cut += m->text.n > most;
    m->stats.n_lost += m->text.n == 0;
    for (size_t at = 0, n; at < m->text.n && !err; at += n) {
        n = stretch(&m->text, at, most);
        (void)lay_out(m, at, n, false, 0, 0);
        m->target[1] = m->target[n + 2] = DG_EXAMPLE_UNSAID;
        for (size_t i = 0; i < n && !err; i++)
            err = tag_of(m, labelled_text, at + i, &word, &last, &m->target[i + 2], error);
        if (!err)
            err = finish(m, n + 3);
    }
    return err;
}

/* Finds the answer's first token and its last; false: the answer does not begin or end within
 * the tokens. */
static bool find_answer(const struct tokens *context, const struct dg_labelled_text *labelled_text,
                        size_t *first, size_t *last)
{
    const size_t begin = labelled_text->answer_at, end = begin + labelled_text->answer_len;
    *first = *last = context->n;
    for (size_t i = 0; i < context->n; i++)
        if (context->list[i].begin < end && context->list[i].end > begin) {
            *first = *first == context->n ? i : *first;
            *last = i;
        }
    return *first < context->n;
}

static enum dg_err put_answer(struct making *m, const struct dg_labelled_text *labelled_text)
{
    const size_t around = n_around(m, true), room = m->opts->len_max - around;
    size_t first = 0, last = 0;
    const bool is_there =
        labelled_text->has_answer && find_answer(&m->pair, labelled_text, &first, &last);
    enum dg_err err = DG_OK;
    if (m->text.n > room / 2 || m->pair.n == 0 || m->text.n == 0 ||
        (labelled_text->has_answer && !is_there)) {
        m->stats.n_lost++;
        return DG_OK;
    }
    const size_t most = room - m->text.n, step = most - most / OVERLAP_PARTS;
    m->stats.n_cut += m->pair.n > most;
    for (size_t from = 0; !err; from += step) {
        const bool is_last = m->pair.n - from <= most;
        const size_t n = is_last ? m->pair.n - from : most,
                     at = lay_out(m, 0, m->text.n, true, from, n);
        const bool has_it = is_there && first >= from && last < from + n;
        m->target[1] = has_it ? (int32_t)(at + first - from) : 0;
        m->target[2] = has_it ? (int32_t)(at + last - from) : 0;
        err = finish(m, 3);
        if (is_last)
            break;
    }
    return err;
}

static enum dg_err put_lesson(struct making *m, const struct dg_labelled_text *labelled_text,
                              struct dg_error *error)
{
    enum dg_err err = tokenise(m, &m->text, labelled_text->text, error);
    if (!err && labelled_text->has_pair)
        err = tokenise(m, &m->pair, labelled_text->pair, error);
    for (uint32_t i = 0; i < labelled_text->repeat && !err; i++)
        switch (dg_examples_kind(m->opts->bp)) {
        case DG_LESSON_WORDS:
            err = put_words(m);
            break;
        case DG_LESSON_LABEL:
        case DG_LESSON_LABELS:
        case DG_LESSON_NUMBER:
            err = put_whole(m, labelled_text, error);
            break;
        case DG_LESSON_TAGS:
            err = put_tags(m, labelled_text, error);
            break;
        case DG_LESSON_ANSWER:
            err = put_answer(m, labelled_text);
            break;
        }
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err find_signs(struct making *m, struct dg_error *error)
{
    const struct dg_subword *subword = m->opts->subword;
    m->cls = dg_subword_sign(subword, DG_SUBWORD_CLS);
    m->sep = dg_subword_sign(subword, DG_SUBWORD_SEP);
    m->unknown = dg_subword_unk(subword);
    if (m->cls < 0 || m->sep < 0)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "the vocabulary lacks the tokens around texts: expected [CLS] and [SEP], or <s> "
            "and </s>");
    if (m->opts->len_max < n_around(m, true) + 2)
        return dg_error_set(error, DG_ERR_RANGE,
                            "examples have %zu tokens, of which %zu stand around two texts: there "
                            "is no room for them",
                            m->opts->len_max, n_around(m, true));
    return DG_OK;
}

enum dg_err dg_examples_write(const char *path, const struct dg_examples_making *making,
                              const struct dg_labelled_text *labelled_data, size_t n,
                              struct dg_examples_stats *stats, struct dg_error *error)
{
    struct making m = {.opts = making, .work = dg_subword_work_new()};
    dg_corpus_out_init(&m.out);
    m.source = dg_try_calloc(making->len_max + 1, sizeof *m.source);
    m.target = dg_try_calloc(making->len_max + DG_LABELS_MAX + 4, sizeof *m.target);
    enum dg_err err = m.source && m.target ? find_signs(&m, error) : DG_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++)
        err = put_lesson(&m, &labelled_data[i], error);
    if (!err)
        err = dg_corpus_out_save(&m.out, path, error);
    if (!err) {
        *stats = m.stats;
        stats->n_written = m.out.stats.n_written;
        stats->n_tokens = m.out.stats.n_source_tokens;
    }
    dg_corpus_out_deinit(&m.out);
    dg_subword_work_free(m.work);
    dg_free(m.text.list);
    dg_free(m.pair.list);
    dg_free(m.source);
    dg_free(m.target);
    return err;
}
