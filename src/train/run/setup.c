/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files are copied and written whole or not at all; the caller writes the recipe last, so that a
 * directory with a recipe is a complete one. */
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "model/config.h"
#include "model/labels.h"
#include "train/data/aligner.h"
#include "train/data/texts.h"
#include "train/run/setup_int.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_MAX = 1 << 16, SPM_MAX = 64 << 20, VOCAB_LINES_MAX = 2000000, LIST_MAX = 1 << 20 };

struct make {
    const char *dir;
    const struct dg_setup_opts *opts;
    dg_setup_say_fn say;
    void *ctx;
    struct dg_pairs train, dev, mix;
    struct dg_buf list;  /* the list of files, for the card */
    struct dg_pair *all; /* owned; the pairs to learn from when old pairs are mixed in */
    size_t n_held;       /* the first n_held pairs of `train` are held out */
    struct dg_blueprint bp;
    struct dg_tokenizer *tokenizer;
    struct dg_labels labels; /* the labels of a classifier */
};

void dg_setup_say(dg_setup_say_fn say, void *ctx, const char *fmt, ...)
{
    char line[512];
    va_list args;
    if (!say)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    say(ctx, line);
}

/* Whether a language model is to be trained. */
static bool is_lm(const struct make *make)
{
    return dg_blueprint_family(&make->opts->bp)->has_prompt;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

void dg_setup_say_drops(dg_setup_say_fn say, void *ctx, const uint64_t dropped[DG_N_DROPS])
{
    for (int i = 0; i < DG_N_DROPS; i++)
        if (dropped[i])
            dg_setup_say(say, ctx, "  %" PRIu64 " left out: %s", dropped[i],
                         dg_drop_text((enum dg_drop)i));
}

enum dg_err dg_setup_list_file(struct dg_buf *list, const char *path, uint64_t n_lines,
                               size_t n_kept, const char *what, uint32_t repeat)
{
    const char *slash = strrchr(path, '/');
    char times[32] = "";
    if (repeat > 1)
        snprintf(times, sizeof times, ", each %" PRIu32 " times", repeat);
    return dg_buf_printf(list, "- %s: %" PRIu64 " lines, %zu %s of them kept%s\n",
                         slash ? slash + 1 : path, n_lines, n_kept, what, times);
}

static enum dg_err select_pairs(struct make *make, struct dg_error *error)
{
    const struct dg_select_opts *opts = &make->opts->select;
    size_t n_dropped;
    if (!opts->words_max && !opts->n_begins)
        return DG_OK;
    const enum dg_err err = dg_select(&make->train, opts, &n_dropped, error);
    if (!err)
        dg_setup_say(make->say, make->ctx,
                     "%zu pairs were left out by --words-max or --target-begins; %zu stay",
                     n_dropped, make->train.n);
    return err;
}

static enum dg_err read_pairs(struct make *make, const char *const *files, size_t n_files,
                              struct dg_error *error)
{
    const struct dg_setup_opts *opts = make->opts;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n_files && !err; i++) {
        const uint64_t lines = make->train.n_lines;
        const size_t kept = make->train.n;
        make->train.repeat = opts->repeat ? opts->repeat[i] : 1;
        err = dg_pairs_read(&make->train, files[i], error);
        if (!err)
            err = dg_setup_list_file(&make->list, files[i], make->train.n_lines - lines,
                                     make->train.n - kept, "pairs", make->train.repeat);
    }
    make->train.repeat = 1;
    if (!err && dg_setup_is_given(opts->source_file)) {
        const uint64_t lines = make->train.n_lines;
        const size_t kept = make->train.n;
        err = dg_pairs_read_two(&make->train, opts->source_file, opts->target_file, error);
        if (!err)
            err = dg_setup_list_file(&make->list, opts->source_file, make->train.n_lines - lines,
                                     make->train.n - kept, "pairs", 1);
    }
    if (!err)
        err = select_pairs(make, error);
    if (!err && dg_setup_is_given(opts->dev)) {
        err = dg_pairs_read(&make->dev, opts->dev, error);
        if (!err)
            err = dg_pairs_forbid(&make->train, make->dev.list, make->dev.n);
    } else if (!err) {
        err = dg_pairs_hold_out(&make->train, opts->n_dev, opts->seed, &make->n_held);
    }
    if (err)
        return err;
    dg_setup_say(make->say, make->ctx,
                 "%" PRIu64 " lines read, %zu pairs to learn from, %zu held out",
                 make->train.n_lines, make->train.n - make->n_held, make->n_held + make->dev.n);
    dg_setup_say_drops(make->say, make->ctx, make->train.dropped);
    if (make->train.n == make->n_held)
        return dg_error_set(error, DG_ERR_INVALID, "no pairs are left to learn from");
    return DG_OK;
}

/* Returns the held-out pairs, wherever they come from. */
static const struct dg_pair *held(const struct make *make, size_t *n)
{
    *n = make->n_held ? make->n_held : make->dev.n;
    return make->n_held ? make->train.list : make->dev.list;
}

static enum dg_err write_dev(const struct make *make, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_file_out *out;
    size_t n;
    const struct dg_pair *pairs = held(make, &n);
    enum dg_err err = dg_folder_path(make->dir, "training/dev.tsv", path, error);
    if (!err)
        err = dg_file_out_open(&out, path, 0644, error);
    if (err)
        return err;
    for (size_t i = 0; i < n && !err; i++) {
        if (!dg_setup_learns_lines(&make->opts->bp))
            err = dg_file_out_write(out, pairs[i].source.ptr, pairs[i].source.len, error);
        if (!err && !dg_setup_learns_lines(&make->opts->bp))
            err = dg_file_out_write(out, "\t", 1, error);
        if (!err)
            err = dg_file_out_write(out, pairs[i].target.ptr, pairs[i].target.len, error);
        if (!err)
            err = dg_file_out_write(out, "\n", 1, error);
    }
    return dg_file_out_close(out, err, error);
}

/* Adds old pairs, a given number for each new pair, none of which resembles a held-out one. */
static enum dg_err read_mix(struct make *make, struct dg_error *error)
{
    const struct dg_setup_opts *opts = make->opts;
    size_t n_new = 0, n_held;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < opts->n_mix && !err; i++)
        err = dg_pairs_read(&make->mix, opts->mix[i], error);
    if (err || opts->n_mix == 0)
        return err;
    for (size_t i = make->n_held; i < make->train.n; i++)
        n_new += make->train.list[i].repeat;
    const struct dg_pair *others = held(make, &n_held);
    err = dg_pairs_forbid(&make->mix, others, n_held);
    const size_t n_old = make->mix.n;
    if (!err)
        err = dg_pairs_sample(&make->mix, (size_t)(opts->mix_ratio * (double)n_new + 0.5),
                              opts->seed);
    if (err)
        return err;
    dg_setup_say(make->say, make->ctx, "%zu pairs mixed in, of %zu old ones, to %zu new ones",
                 make->mix.n, n_old, n_new);
    return dg_buf_printf(&make->list, "- mixed in: %zu of %zu old pairs\n", make->mix.n, n_old);
}

/* Reads the minimum-risk candidates of sources that are not held out. */
static enum dg_err write_rivals(struct make *make, struct dg_error *error)
{
    const struct dg_setup_opts *opts = make->opts;
    struct dg_risk_candidates_opts candidates = {
        .tokenizer = make->tokenizer, .len_max = opts->len_max, .len_chars = opts->pairs.len_max};
    struct dg_risk_candidates_stats stats;
    if (opts->n_candidates == 0)
        return DG_OK;
    if (!dg_blueprint_family(&make->bp)->has_cross_heads)
        return dg_error_set(error, DG_ERR_USAGE, "--rivals is for a Transformer that translates");
    candidates.held = held(make, &candidates.n_held);
    const enum dg_err err = dg_risk_candidates_write(
        make->dir, opts->candidates, opts->n_candidates, &candidates, &stats, error);
    if (err)
        return err;
    dg_setup_say(make->say, make->ctx,
                 "training/rivals.bin: %zu answers to %zu sources, risk %.3f on average; %zu "
                 "sources without a choice, %zu answers too long",
                 stats.n_answers, stats.n_sources, stats.cost, stats.n_alone, stats.n_long);
    dg_setup_say_drops(make->say, make->ctx, stats.dropped);
    return dg_buf_printf(&make->list, "- rivals: %zu answers to %zu sources\n", stats.n_answers,
                         stats.n_sources);
}

/* ---- Vocabulary ------------------------------------------------------------------------------ */

/* Learns from a pair's source as the network will read it. */
static enum dg_err learn_source(struct make *make, struct dg_spm_train *train,
                                const struct dg_texts_form *form, struct dg_span source,
                                struct dg_error *error)
{
    struct dg_buf prompt;
    size_t at = 0;
    if (dg_setup_learns_lines(&make->opts->bp))
        return DG_OK;
    if (!is_lm(make))
        return dg_spm_train_add(train, source);
    dg_buf_init(&prompt, SPM_MAX);
    enum dg_err err = dg_texts_prompt(form, source, &prompt, &at);
    for (size_t i = 0; i < prompt.len && !err; i++)
        if (prompt.ptr[i] == '\n')
            prompt.ptr[i] = ' ';
    if (!err)
        err = dg_spm_train_add(train, dg_buf_span(&prompt));
    dg_buf_deinit(&prompt);
    return err ? dg_error_wrap(error, err, "learning a vocabulary") : DG_OK;
}

/* Learns a vocabulary of the named sides. */
static enum dg_err learn_vocab(struct make *make, bool source, bool target, struct dg_buf *model,
                               struct dg_error *error)
{
    struct dg_spm_train *train = NULL;
    struct dg_texts_form form; /* for a language model */
    enum dg_err err = dg_texts_form_init(&form, &make->opts->bp, error);
    if (!err)
        err = dg_spm_train_new(&train, &make->opts->spm, error);
    const size_t n = make->train.n - make->n_held, step = n / VOCAB_LINES_MAX + 1;
    for (size_t i = make->n_held; i < make->train.n && !err; i += step) {
        if (source)
            err = learn_source(make, train, &form, make->train.list[i].source, error);
        if (!err && target)
            err = dg_spm_train_add(train, make->train.list[i].target);
    }
    if (!err)
        err = dg_spm_train_finish(train, model, error);
    dg_spm_train_free(train);
    return err;
}

static enum dg_err save_vocab(struct make *make, const char *name, bool source, bool target,
                              struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf model;
    struct dg_spm *spm = NULL;
    dg_buf_init(&model, SPM_MAX);
    enum dg_err err = dg_folder_path(make->dir, name, path, error);
    if (!err)
        err = learn_vocab(make, source, target, &model, error);
    if (!err)
        err = dg_file_out_save(path, 0644, model.ptr, model.len, error);
    if (!err)
        err = dg_spm_open(path, error, &spm);
    if (!err)
        dg_setup_say(make->say, make->ctx, "%s: a vocabulary of %u pieces was learned", name,
                     dg_spm_size(spm));
    dg_spm_close(spm);
    dg_buf_deinit(&model);
    return err;
}

enum dg_err dg_setup_copy_file(const char *from, const char *to, struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_open(&file, from, SPM_MAX, error);
    if (err)
        return err;
    err = dg_file_out_save(to, 0644, file.bytes, file.len, error);
    dg_map_file_close(&file);
    return err;
}

static enum dg_err make_vocab(struct make *make, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    const bool is_shared =
        make->opts->bp.tie_source_target || make->opts->bp.seq.is_classifier || is_lm(make);
    enum dg_err err = dg_folder_path(make->dir, "source.spm", path, error);
    if (!err && dg_setup_is_given(make->opts->vocab))
        return dg_setup_copy_file(make->opts->vocab, path, error);
    if (!err)
        err = save_vocab(make, "source.spm", true, is_shared && !make->opts->bp.seq.is_classifier,
                         error);
    if (!err && !is_shared)
        err = save_vocab(make, "target.spm", false, true, error);
    return err;
}

enum dg_err dg_setup_copy(const char *from_dir, const char *to_dir, const char *const *names,
                          size_t n, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        char from[DG_PATH_CAP], to[DG_PATH_CAP];
        err = dg_folder_path(from_dir, names[i], from, error);
        if (!err)
            err = dg_folder_path(to_dir, names[i], to, error);
        if (!err && access(from, F_OK) == 0)
            err = dg_setup_copy_file(from, to, error);
    }
    return err;
}

/* Copies the tokenizer files that a model directory may have. */
static enum dg_err take_vocab(const struct make *make, struct dg_error *error)
{
    static const char *const names[] = {"source.spm",
                                        "target.spm",
                                        "vocab.json",
                                        "target_vocab.json",
                                        "tokenizer_config.json",
                                        "spiece.model",
                                        "sentencepiece.model",
                                        "sentencepiece.bpe.model",
                                        "tokenizer.model",
                                        "vocab.spm",
                                        "tokenizer.json",
                                        "merges.txt",
                                        "vocab.txt",
                                        "special_tokens_map.json"};
    return dg_setup_copy(make->opts->init, make->dir, names, sizeof names / sizeof *names, error);
}

/* A network with a vocabulary of words should never output the unknown word. */
static void complete_seq(struct dg_blueprint *bp)
{
    if (bp->start == DG_START_TOKEN)
        bp->start_id = bp->eos_id;
    if (bp->unk_id != DG_ID_NONE && !bp->seq.is_classifier)
        bp->suppress[bp->n_suppress++] = bp->unk_id;
    if (bp->seq.places)
        bp->source_len_max = bp->seq.places;
}

/* Texts begin with the end token, as in GPT-2; the unknown token is never generated; the context is
 * the length that the network learns with. */
static void complete_lm(struct dg_blueprint *bp, size_t len_max)
{
    bp->bos_id = bp->eos_id;
    if (bp->unk_id != DG_ID_NONE)
        bp->suppress[bp->n_suppress++] = bp->unk_id;
    bp->lm.context = bp->source_len_max = bp->target_len_max = len_max;
    bp->n_positions = bp->positions == DG_POS_LEARNED ? len_max : 0;
    bp->encoder.V = bp->decoder.V;
}

/* A model that is trained further gets the prompts of this run. */
static enum dg_err take_lm_of(struct make *make, struct dg_error *error)
{
    struct dg_blueprint *bp = &make->bp;
    if (dg_blueprint_family(bp)->has_prompt != is_lm(make))
        return dg_error_set(
            error, DG_ERR_USAGE,
            "%s is %s language model; expected --task next-word for those, and for nothing else",
            make->opts->init, is_lm(make) ? "no" : "a");
    if (!is_lm(make))
        return DG_OK;
    if (make->opts->len_max > bp->lm.context)
        return dg_error_set(error, DG_ERR_USAGE,
                            "--len-max is %zu, but %s reads at most %zu tokens",
                            make->opts->len_max, make->opts->init, bp->lm.context);
    bp->lm.ask = make->opts->bp.lm.ask;
    return DG_OK;
}

/* Takes the labels of all pairs, in the order in which they occur. */
static enum dg_err take_labels(struct make *make, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    size_t n_held;
    const struct dg_pair *others = held(make, &n_held);
    for (size_t i = 0; i < make->train.n && !err; i++)
        err = dg_labels_add(&make->labels, make->train.list[i].target);
    for (size_t i = 0; i < n_held && !err; i++)
        err = dg_labels_add(&make->labels, others[i].target);
    if (!err && make->labels.n < 2)
        err = DG_ERR_INVALID;
    if (err)
        return dg_error_set(
            error, err,
            "%zu labels were found, expected 2 to %d different ones of at most %d bytes: lines are "
            "label<TAB>text",
            make->labels.n, (int)DG_LABELS_MAX, (int)DG_LABELS_LEN_MAX);
    make->bp.decoder.V = make->labels.n;
    dg_setup_say(make->say, make->ctx, "%zu labels", make->labels.n);
    return dg_labels_save(&make->labels, make->dir, error);
}

/* Takes the blueprint of the model that training begins with. A head that is guided becomes the
 * head for alignments. */
static enum dg_err take_blueprint_of(struct make *make, struct dg_error *error)
{
    enum dg_err err = dg_config_read(&make->bp, make->opts->init, error);
    if (!err)
        err = take_lm_of(make, error);
    if (err || !make->opts->aligns)
        return err;
    const size_t head = make->opts->bp.alignment_head;
    if (!dg_blueprint_family(&make->bp)->has_cross_heads || head > make->bp.decoder.H)
        return dg_error_set(error, DG_ERR_USAGE,
                            "%s: head %zu cannot be guided, expected a Transformer's, 1 to %zu",
                            make->opts->init, head, make->bp.decoder.H);
    make->bp.alignment_layer = make->bp.decoder.n_layers;
    make->bp.alignment_head = head;
    return DG_OK;
}

static enum dg_err take_blueprint(struct make *make, struct dg_error *error)
{
    if (dg_setup_is_given(make->opts->init))
        return take_blueprint_of(make, error);
    const struct dg_tokenizer_side source = dg_tokenizer_source(make->tokenizer);
    const struct dg_tokenizer_side target = dg_tokenizer_target(make->tokenizer);
    make->bp = make->opts->bp;
    make->bp.encoder.V = source.size;
    make->bp.decoder.V = target.size;
    make->bp.eos_id = target.eos;
    make->bp.unk_id = target.unk;
    if (source.eos < 0 || target.eos < 0)
        return dg_error_set(error, DG_ERR_INVALID,
                            "%s: the vocabulary has no end token (eos_id), which a network needs",
                            make->opts->vocab);
    if (make->bp.embedding_scale > 1.0f)
        make->bp.embedding_scale = sqrtf((float)make->bp.D);
    if (dg_blueprint_family(&make->bp)->is_recurrent)
        complete_seq(&make->bp);
    if (is_lm(make))
        complete_lm(&make->bp, make->opts->len_max);
    if (make->bp.seq.is_classifier) {
        make->bp.source_len_max = make->opts->len_max;
        const enum dg_err err = take_labels(make, error);
        if (err)
            return err;
    }
    return dg_blueprint_check(&make->bp, error);
}

enum dg_err dg_setup_save(const char *dir, const char *name, const struct dg_buf *text,
                          struct dg_error *error)
{
    char path[DG_PATH_CAP];
    const enum dg_err err = dg_folder_path(dir, name, path, error);
    return err ? err : dg_file_out_save(path, 0644, text->ptr ? text->ptr : "", text->len, error);
}

enum dg_err dg_setup_save_config(const struct dg_blueprint *bp, const char *dir,
                                 struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, CONFIG_MAX);
    enum dg_err err = dg_config_print(bp, &text);
    if (!err)
        err = dg_setup_save(dir, "config.json", &text, error);
    dg_buf_deinit(&text);
    return err;
}

/* ---- Making ---------------------------------------------------------------------------------- */

enum dg_err dg_setup_write_set(const char *path, const struct dg_tokenizer *tokenizer,
                               const struct dg_blueprint *bp, const struct dg_labels *labels,
                               bool is_packed, bool is_dev, const struct dg_pair *pairs, size_t n,
                               size_t len_max, struct dg_corpus_stats *stats,
                               struct dg_error *error)
{
    const struct dg_texts_opts texts = {.tokenizer = tokenizer,
                                        .bp = bp,
                                        .len_max = len_max,
                                        .is_packed = is_packed,
                                        .is_one_each = is_dev};
    if (dg_blueprint_family(bp)->has_prompt)
        return dg_texts_write(path, &texts, pairs, n, stats, error);
    return dg_corpus_write(path, tokenizer, labels, pairs, n, len_max, stats, error);
}

static enum dg_err write_ids(const struct make *make, const char *name, const struct dg_pair *pairs,
                             size_t n, size_t len_max, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_corpus_stats stats;
    enum dg_err err = dg_folder_path(make->dir, name, path, error);
    if (!err)
        err = dg_setup_write_set(path, make->tokenizer, &make->bp,
                                 make->bp.seq.is_classifier ? &make->labels : NULL,
                                 make->opts->is_packed, false, pairs, n, len_max, &stats, error);
    if (err)
        return err;
    if (dg_setup_learns_lines(&make->opts->bp)) {
        dg_setup_say(make->say, make->ctx,
                     "%s: %zu stretches of text, %" PRIu64 " tokens, %" PRIu64 " of them unknown",
                     name, stats.n_written, stats.n_target_tokens, stats.n_unknown);
        return stats.n_written
                   ? DG_OK
                   : dg_error_set(error, DG_ERR_INVALID, "no text is left to learn from");
    }
    dg_setup_say(make->say, make->ctx,
                 "%s: %zu pairs, %" PRIu64 " + %" PRIu64 " tokens, %" PRIu64
                 " of them unknown; %zu pairs too long",
                 name, stats.n_written, stats.n_source_tokens, stats.n_target_tokens,
                 stats.n_unknown, stats.n_long);
    return DG_OK;
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* The example without its end tokens, which the aligner need not learn. */
static struct dg_example without_ends(const void *corpus, size_t i)
{
    struct dg_example example = dg_corpus_get(corpus, i);
    example.n_source--;
    example.n_target--;
    return example;
}

static enum dg_err link_pair(void *aligner, const struct dg_example *example,
                             struct dg_word_links *links)
{
    struct dg_example bare = *example;
    bare.n_source--;
    bare.n_target--;
    return dg_aligner_links(aligner, &bare, DG_SYMMETRISE_GROW_DIAG_FINAL_AND, links);
}

static enum dg_err write_links(const struct make *make, struct dg_aligner *aligner,
                               const struct dg_corpus *corpus, const char *name,
                               struct dg_error *error)
{
    char path[DG_PATH_CAP];
    const enum dg_err err = dg_folder_path(make->dir, name, path, error);
    return err ? err : dg_corpus_write_links(path, corpus, link_pair, aligner, error);
}

/* Aligns all pairs. The aligner learns only from the pairs to train on, and then links the held-out
 * pairs too. */
static enum dg_err align(const struct make *make, struct dg_error *error)
{
    char pairs_path[DG_PATH_CAP], dev_path[DG_PATH_CAP];
    struct dg_corpus train = {.n = 0}, dev = {.n = 0};
    struct dg_aligner *aligner = NULL;
    const struct dg_aligner_opts opts = DG_ALIGNER_OPTS_DEFAULT;
    struct dg_corpus_stats stats;
    size_t n_dev;
    const struct dg_pair *dev_pairs = held(make, &n_dev);
    enum dg_err err = dg_folder_path(make->dir, "training/pairs.bin", pairs_path, error);
    if (!err)
        err = dg_folder_path(make->dir, "training/dev.bin", dev_path, error);
    if (!err)
        err = dg_corpus_open(&train, pairs_path, &make->bp, error);
    if (!err)
        err = dg_corpus_write(dev_path, make->tokenizer, NULL, dev_pairs, n_dev,
                              make->bp.source_len_max, &stats, error);
    if (!err)
        err = dg_corpus_open(&dev, dev_path, &make->bp, error);
    const struct dg_aligner_pairs pairs = {without_ends, &train, train.n, make->bp.encoder.V,
                                           make->bp.decoder.V};
    if (!err)
        err = dg_aligner_new(&aligner, &pairs, &opts, error);
    if (!err)
        err = write_links(make, aligner, &train, "training/links.bin", error);
    if (!err)
        err = write_links(make, aligner, &dev, "training/dev-links.bin", error);
    if (!err)
        dg_setup_say(make->say, make->ctx, "words are aligned; perplexity %.2f and %.2f",
                     dg_aligner_report(aligner, 0).perplexity,
                     dg_aligner_report(aligner, 1).perplexity);
    dg_aligner_free(aligner);
    dg_corpus_close(&train);
    dg_corpus_close(&dev);
    return err;
}

static enum dg_err write_train(struct make *make, struct dg_error *error)
{
    const struct dg_pair *pairs = make->train.list + make->n_held;
    size_t n = make->train.n - make->n_held;
    if (make->mix.n) {
        make->all = dg_try_calloc(n + make->mix.n, sizeof *make->all);
        if (!make->all)
            return DG_ERR_NOMEM;
        memcpy(make->all, pairs, n * sizeof *pairs);
        memcpy(make->all + n, make->mix.list, make->mix.n * sizeof *pairs);
        pairs = make->all;
        n += make->mix.n;
    }
    return write_ids(make, "training/pairs.bin", pairs, n, make->opts->len_max, error);
}

enum dg_err dg_setup_make_dirs(const char *dir, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, "training", path, error);
    if (err)
        return err;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return dg_error_errno(error, "cannot make the folder %s", dir);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return dg_error_errno(error, "cannot make the folder %s", path);
    return DG_OK;
}

/* The ids of held-out pairs must stay in step with their text, so pairs that are too long are
 * removed before the text is written. */
static enum dg_err make_all(struct make *make, const char *const *files, size_t n_files,
                            struct dg_error *error)
{
    enum dg_err err = is_lm(make) ? dg_texts_check(&make->opts->bp, error) : DG_OK;
    if (!err)
        err = dg_setup_make_dirs(make->dir, error);
    if (!err)
        err = read_pairs(make, files, n_files, error);
    if (!err)
        err = read_mix(make, error);
    if (!err)
        err =
            dg_setup_is_given(make->opts->init) ? take_vocab(make, error) : make_vocab(make, error);
    if (!err)
        err = dg_tokenizer_open(make->dir, error, &make->tokenizer);
    if (!err)
        err = take_blueprint(make, error);
    if (!err)
        err = dg_setup_save_config(&make->bp, make->dir, error);
    if (!err)
        err = write_dev(make, error);
    if (!err)
        err = write_train(make, error);
    if (!err)
        err = write_rivals(make, error);
    if (!err && make->list.len > 0)
        err = dg_setup_save(make->dir, "training/data.txt", &make->list, error);
    if (!err && make->opts->aligns)
        err = align(make, error);
    return err;
}

enum dg_err dg_setup_make(const char *dir, const char *const *files, size_t n_files,
                          const struct dg_setup_opts *opts, dg_setup_say_fn say_fn, void *ctx,
                          struct dg_error *error)
{
    if (dg_blueprint_family(&opts->bp)->has_head)
        return dg_setup_make_enc(dir, files, n_files, opts, say_fn, ctx, error);
    struct make make = {.dir = dir, .opts = opts, .say = say_fn, .ctx = ctx};
    struct dg_pairs_opts dev_opts = opts->pairs;
    dev_opts.duplicates = true;
    dg_pairs_init(&make.train, &opts->pairs);
    dg_pairs_init(&make.dev, &dev_opts);
    dg_pairs_init(&make.mix, &opts->pairs);
    dg_buf_init(&make.list, LIST_MAX);
    dg_labels_init(&make.labels);
    const enum dg_err err = make_all(&make, files, n_files, error);
    dg_tokenizer_close(make.tokenizer);
    dg_pairs_deinit(&make.train);
    dg_pairs_deinit(&make.dev);
    dg_pairs_deinit(&make.mix);
    dg_buf_deinit(&make.list);
    dg_labels_close(&make.labels);
    dg_free(make.all);
    return err;
}
