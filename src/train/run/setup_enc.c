/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The directory of an encoder's run. Besides the files that setup.h lists it has vocab.txt and
 * tokenizer_config.json, or the tokenizer of --init, and labels.txt if there are labels. Held-out
 * texts are kept only as examples. */
#include "base/file/folder.h"
#include "base/memory/mem.h"
#include "model/config.h"
#include "train/data/examples.h"
#include "train/run/setup_int.h"
#include "vocabulary/wordpiece_train.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { VOCAB_MAX = 64 << 20, LIST_MAX = 1 << 20 };

struct make {
    const char *dir;
    const struct dg_setup_opts *opts;
    dg_setup_say_fn say;
    void *ctx;
    struct dg_labelled_data train, dev;
    size_t n_held; /* the first n_held examples of `train` are held out */
    struct dg_buf list;
    struct dg_tokenizer *tokenizer;
    struct dg_labels labels;
    struct dg_blueprint bp;
};

void dg_setup_blueprint_enc(struct dg_blueprint *bp)
{
    dg_setup_blueprint(bp);
    bp->family = DG_FAMILY_ENC;
    bp->decoder = (struct dg_stack){0, bp->encoder.H, bp->encoder.F, 0};
    bp->enc = (struct dg_enc){.head_activation = DG_ACT_GELU_ERF, .n_types = 2, .separators = 1};
    bp->activation = DG_ACT_GELU_ERF;
    bp->norm_epsilon = 1e-6f;
    bp->embedding_norm = true;
    bp->positions = DG_POS_LEARNED;
    bp->embedding_scale = 1.0f;
    bp->tie_source_target = bp->tie_output = bp->output_bias = false;
    bp->eos_id = DG_ID_NONE;
    bp->target_len_max = 2;
    bp->n_beams = 1;
}

/* ---- Labelled texts -------------------------------------------------------------------------- */

static enum dg_err read_file(struct make *make, const char *path, uint32_t repeat,
                             struct dg_error *error)
{
    const uint64_t lines = make->train.n_lines;
    const size_t kept = make->train.n;
    make->train.repeat = repeat;
    const enum dg_err err = dg_labelled_data_read(&make->train, path, error);
    return err ? err
               : dg_setup_list_file(&make->list, path, make->train.n_lines - lines,
                                    make->train.n - kept, "lessons", repeat);
}

static enum dg_err read_lessons(struct make *make, const char *const *files, size_t n_files,
                                struct dg_error *error)
{
    const struct dg_setup_opts *opts = make->opts;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n_files && !err; i++)
        err = read_file(make, files[i], opts->repeat ? opts->repeat[i] : 1, error);
    if (!err && dg_setup_is_given(opts->dev)) {
        err = dg_labelled_data_read(&make->dev, opts->dev, error);
        if (!err)
            err = dg_labelled_data_forbid(&make->train, make->dev.list, make->dev.n);
    } else if (!err) {
        err = dg_labelled_data_hold_out(&make->train, opts->n_dev, opts->seed, &make->n_held);
    }
    if (err)
        return err;
    dg_setup_say(make->say, make->ctx,
                 "%" PRIu64 " lines read, %zu examples to learn from, %zu held out",
                 make->train.n_lines, make->train.n - make->n_held, make->n_held + make->dev.n);
    dg_setup_say_drops(make->say, make->ctx, make->train.dropped);
    return make->train.n > make->n_held
               ? DG_OK
               : dg_error_set(error, DG_ERR_INVALID, "nothing is left to learn from");
}

static const struct dg_labelled_text *held(const struct make *make, size_t *n)
{
    *n = make->n_held ? make->n_held : make->dev.n;
    return make->n_held ? make->train.list : make->dev.list;
}

/* ---- Vocabulary ------------------------------------------------------------------------------ */

static enum dg_err learn_vocab(struct make *make, const struct dg_wordpiece_train_opts *opts,
                               struct dg_buf *vocab, struct dg_error *error)
{
    struct dg_wordpiece_train *train = NULL;
    enum dg_err err = dg_wordpiece_train_new(&train, opts, error);
    for (size_t i = make->n_held; i < make->train.n && !err; i++) {
        err = dg_wordpiece_train_add(train, make->train.list[i].text, error);
        if (!err && make->train.list[i].has_pair)
            err = dg_wordpiece_train_add(train, make->train.list[i].pair, error);
    }
    if (!err)
        err = dg_wordpiece_train_finish(train, vocab, error);
    dg_wordpiece_train_free(train);
    return err;
}

static enum dg_err make_vocab(struct make *make, struct dg_error *error)
{
    struct dg_wordpiece_train_opts opts = DG_WORDPIECE_TRAIN_OPTS_DEFAULT;
    char path[DG_PATH_CAP];
    struct dg_buf vocab, config;
    opts.size = make->opts->spm.size;
    opts.coverage = make->opts->spm.coverage;
    opts.lowers = make->opts->lowers;
    dg_buf_init(&vocab, VOCAB_MAX);
    dg_buf_init(&config, 4096);
    enum dg_err err = dg_wordpiece_train_config(&opts, &config);
    if (!err)
        err = dg_setup_save(make->dir, "tokenizer_config.json", &config, error);
    if (!err && dg_setup_is_given(make->opts->vocab)) {
        err = dg_folder_path(make->dir, "vocab.txt", path, error);
        if (!err)
            err = dg_setup_copy_file(make->opts->vocab, path, error);
    } else if (!err) {
        err = learn_vocab(make, &opts, &vocab, error);
        if (!err)
            err = dg_setup_save(make->dir, "vocab.txt", &vocab, error);
    }
    dg_buf_deinit(&vocab);
    dg_buf_deinit(&config);
    return err;
}

static enum dg_err find_vocab(struct make *make, struct dg_error *error)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json", "vocab.json",
                                        "merges.txt", "vocab.txt"};
    const char *init = make->opts->init;
    enum dg_err err = dg_setup_is_given(init) ? dg_setup_copy(init, make->dir, names,
                                                              sizeof names / sizeof *names, error)
                                              : make_vocab(make, error);
    if (!err)
        err = dg_tokenizer_open(make->dir, error, &make->tokenizer);
    if (!err && !dg_tokenizer_subword(make->tokenizer))
        err =
            dg_error_set(error, DG_ERR_UNSUPPORTED,
                         "%s: expected a tokenizer.json or a vocab.txt, which encoders have", init);
    if (!err && !dg_setup_is_given(init))
        dg_setup_say(make->say, make->ctx, "vocab.txt: %u tokens",
                     dg_subword_size(dg_tokenizer_subword(make->tokenizer)));
    return err;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static enum dg_err add_label(struct make *make, struct dg_span label)
{
    char kind, room[DG_LABELS_LEN_MAX + 1];
    enum dg_err err = dg_labels_add(&make->labels, label);
    const struct dg_span type = err ? label : dg_labels_entity(label, &kind);
    if (err || type.len == label.len || kind != 'B' ||
        dg_examples_kind(&make->bp) != DG_LESSON_TAGS)
        return err;
    /* The label of a continued entity: one word of the data may be several words of the
     * tokenizer. */
    snprintf(room, sizeof room, "I%.*s", (int)(label.len - 1), label.ptr + 1);
    return dg_labels_add(&make->labels, dg_span_cstr(room));
}

static enum dg_err add_labels_of(struct make *make, const struct dg_labelled_text *labelled_data,
                                 size_t n)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        if (labelled_data[i].label.len)
            err = add_label(make, labelled_data[i].label);
        for (size_t j = 0; j < labelled_data[i].n_tags && !err; j++)
            err = add_label(make, labelled_data[i].tags[j]);
    }
    return err;
}

/* Takes the labels of the model that training begins with, if they include all labels of these
 * texts. */
static enum dg_err take_labels_of(struct make *make, const struct dg_labels *before)
{
    for (size_t i = 0; i < make->labels.n; i++)
        if (!dg_labels_find(before, make->labels.list[i], NULL))
            return DG_OK;
    enum dg_err err = DG_OK;
    dg_labels_close(&make->labels);
    dg_labels_init(&make->labels);
    for (size_t i = 0; i < before->n && !err; i++)
        err = dg_labels_add(&make->labels, before->list[i]);
    return err;
}

/* Does the same, if the model's head outputs the same kind of labels. */
static enum dg_err keep_labels(struct make *make, enum dg_head head, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(make->opts->init, "labels.txt", path, error);
    if (err || make->bp.enc.head != head || access(path, F_OK) != 0)
        return err;
    struct dg_labels *before = dg_try_malloc(sizeof *before);
    if (!before)
        return DG_ERR_NOMEM;
    err = dg_labels_open(before, make->opts->init, error);
    if (!err) {
        err = take_labels_of(make, before);
        dg_labels_close(before);
    }
    dg_free(before);
    return err;
}

static enum dg_err find_labels(struct make *make, enum dg_head init_head, struct dg_error *error)
{
    const enum dg_labelled_text_kind kind = dg_examples_kind(&make->bp);
    size_t n_held;
    const struct dg_labelled_text *others = held(make, &n_held);
    if (kind == DG_LESSON_WORDS || kind == DG_LESSON_ANSWER)
        return DG_OK;
    enum dg_err err =
        kind == DG_LESSON_NUMBER ? dg_labels_add(&make->labels, DG_SPAN("score")) : DG_OK;
    if (!err && kind != DG_LESSON_NUMBER)
        err = add_labels_of(make, make->train.list, make->train.n);
    if (!err && kind != DG_LESSON_NUMBER)
        err = add_labels_of(make, others, n_held);
    const size_t least = kind == DG_LESSON_NUMBER || kind == DG_LESSON_LABELS ? 1 : 2;
    if (!err && make->labels.n < least)
        err = DG_ERR_INVALID;
    if (err)
        return dg_error_set(
            error, err,
            "%zu labels were found, expected %zu to %d different ones of at most %d bytes",
            make->labels.n, least, (int)DG_LABELS_MAX, (int)DG_LABELS_LEN_MAX);
    if (dg_setup_is_given(make->opts->init) && kind != DG_LESSON_NUMBER)
        err = keep_labels(make, init_head, error);
    if (err)
        return err;
    make->bp.decoder.V = make->labels.n;
    if (kind != DG_LESSON_NUMBER)
        dg_setup_say(make->say, make->ctx, "%zu labels", make->labels.n);
    return dg_labels_save(&make->labels, make->dir, error);
}

/* ---- The network ----------------------------------------------------------------------------- */

static enum dg_err take_blueprint(struct make *make, struct dg_error *error)
{
    const struct dg_blueprint *wanted = &make->opts->bp;
    const struct dg_subword *subword = dg_tokenizer_subword(make->tokenizer);
    enum dg_head before = DG_HEAD_NONE;
    enum dg_err err = DG_OK;
    make->bp = *wanted;
    if (dg_setup_is_given(make->opts->init)) {
        err = dg_config_read(&make->bp, make->opts->init, error);
        if (!err && !dg_blueprint_family(&make->bp)->has_head)
            err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                               "%s is not an encoder-only model, which this task starts from",
                               make->opts->init);
        before = err ? DG_HEAD_NONE : make->bp.enc.head;
        make->bp.enc.head = wanted->enc.head;
        make->bp.enc.rule = wanted->enc.rule;
        if (!err && before != wanted->enc.head)
            dg_setup_say(make->say, make->ctx,
                         "the head starts from scratch: that of %s is for another task",
                         make->opts->init);
        if (!err && make->opts->len_max > make->bp.source_len_max)
            err = dg_error_set(error, DG_ERR_RANGE,
                               "--len-max is %zu, but %s reads at most %zu tokens",
                               make->opts->len_max, make->opts->init, make->bp.source_len_max);
    } else {
        make->bp.encoder.V = dg_subword_size(subword);
        make->bp.pad_id = dg_subword_sign(subword, DG_SUBWORD_PAD);
        make->bp.unk_id = dg_subword_unk(subword);
        make->bp.source_len_max = make->bp.n_positions = make->opts->len_max;
    }
    if (err)
        return err;
    const bool is_words = make->bp.enc.head == DG_HEAD_WORDS;
    make->bp.tie_output = is_words && (make->bp.tie_output || before != DG_HEAD_WORDS);
    make->bp.output_bias = is_words;
    make->bp.decoder.V = is_words ? make->bp.encoder.V : make->bp.enc.head == DG_HEAD_SPANS ? 2 : 1;
    err = find_labels(make, before, error);
    return err ? err : dg_blueprint_check(&make->bp, error);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static enum dg_err write_examples(const struct make *make, const char *name,
                                  const struct dg_labelled_text *labelled_data, size_t n,
                                  struct dg_error *error)
{
    const struct dg_examples_making making = {dg_tokenizer_subword(make->tokenizer), &make->bp,
                                              &make->labels, make->opts->len_max};
    struct dg_examples_stats stats;
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(make->dir, name, path, error);
    if (!err)
        err = dg_examples_write(path, &making, labelled_data, n, &stats, error);
    if (err)
        return err;
    dg_setup_say(make->say, make->ctx,
                 "%s: %zu examples, %" PRIu64 " tokens, %" PRIu64
                 " of them unknown; %zu texts were cut, %zu gave no example",
                 name, stats.n_written, stats.n_tokens, stats.n_unknown, stats.n_cut, stats.n_lost);
    return DG_OK;
}

static enum dg_err make_all(struct make *make, const char *const *files, size_t n_files,
                            struct dg_error *error)
{
    size_t n_held;
    enum dg_err err = dg_setup_make_dirs(make->dir, error);
    if (!err)
        err = read_lessons(make, files, n_files, error);
    if (!err)
        err = find_vocab(make, error);
    if (!err)
        err = take_blueprint(make, error);
    if (!err)
        err = dg_setup_save_config(&make->bp, make->dir, error);
    const struct dg_labelled_text *others = held(make, &n_held);
    if (!err)
        err = write_examples(make, "training/dev.bin", others, n_held, error);
    if (!err)
        err = write_examples(make, "training/pairs.bin", make->train.list + make->n_held,
                             make->train.n - make->n_held, error);
    return err || make->list.len == 0
               ? err
               : dg_setup_save(make->dir, "training/data.txt", &make->list, error);
}

enum dg_err dg_setup_make_enc(const char *dir, const char *const *files, size_t n_files,
                              const struct dg_setup_opts *opts, dg_setup_say_fn say_fn, void *ctx,
                              struct dg_error *error)
{
    struct make *make = dg_try_calloc(1, sizeof *make);
    if (!make)
        return DG_ERR_NOMEM;
    *make = (struct make){.dir = dir, .opts = opts, .say = say_fn, .ctx = ctx, .bp = opts->bp};
    struct dg_labelled_data_opts labelled_data = {.kind = dg_examples_kind(&opts->bp),
                                                  .len_max = opts->pairs.len_max};
    dg_labelled_data_init(&make->train, &labelled_data);
    labelled_data.duplicates = true;
    dg_labelled_data_init(&make->dev, &labelled_data);
    dg_buf_init(&make->list, LIST_MAX);
    dg_labels_init(&make->labels);
    const enum dg_err err = make_all(make, files, n_files, error);
    dg_tokenizer_close(make->tokenizer);
    dg_labelled_data_deinit(&make->train);
    dg_labelled_data_deinit(&make->dev);
    dg_buf_deinit(&make->list);
    dg_labels_close(&make->labels);
    dg_free(make);
    return err;
}

/* ---- Opening --------------------------------------------------------------------------------- */

enum dg_err dg_setup_open_enc(struct dg_setup *setup, const char *dir, struct dg_error *error)
{
    const struct dg_subword *subword = dg_tokenizer_subword(setup->tokenizer);
    const bool has_labels =
        setup->bp.enc.head == DG_HEAD_POOLED || setup->bp.enc.head == DG_HEAD_TOKENS;
    enum dg_err err = subword ? DG_OK
                              : dg_error_set(error, DG_ERR_UNSUPPORTED,
                                             "%s: expected a tokenizer.json or a vocab.txt", dir);
    if (!err && has_labels)
        err = dg_setup_open_labels(setup, dir, error);
    if (!err)
        err = dg_setup_open_corpus(setup, dir, "training/pairs.bin", &setup->train, error);
    if (!err)
        err = dg_setup_open_corpus(setup, dir, "training/dev.bin", &setup->dev, error);
    setup->len_max = setup->bp.source_len_max;
    setup->mask_id = subword ? dg_subword_sign(subword, DG_SUBWORD_MASK) : DG_ID_NONE;
    if (!err && setup->bp.enc.head == DG_HEAD_WORDS && setup->mask_id < 0)
        err = dg_error_set(
            error, DG_ERR_FORMAT,
            "%s: the vocabulary has no token for masked words: expected [MASK] or <mask>", dir);
    return err;
}

enum dg_err dg_setup_open_set_enc(struct dg_setup_set *set, const struct dg_setup *setup,
                                  const char *path, const char *ids_path, struct dg_error *error)
{
    const struct dg_labelled_data_opts opts = {.kind = dg_examples_kind(&setup->bp),
                                               .duplicates = true};
    const struct dg_examples_making making = {dg_tokenizer_subword(setup->tokenizer), &setup->bp,
                                              setup->labels, setup->len_max};
    struct dg_labelled_data labelled_data;
    struct dg_examples_stats stats;
    dg_labelled_data_init(&labelled_data, &opts);
    enum dg_err err = dg_labelled_data_read(&labelled_data, path, error);
    if (!err)
        err = dg_examples_write(ids_path, &making, labelled_data.list, labelled_data.n, &stats,
                                error);
    if (!err)
        err = dg_corpus_open(&set->corpus, ids_path, &setup->bp, error);
    dg_labelled_data_deinit(&labelled_data);
    return err;
}
