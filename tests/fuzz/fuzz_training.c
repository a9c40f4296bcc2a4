/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as the working files of a training: prepared pairs, their links, a checkpoint. The
 * first byte says which. Everything in an accepted file can be read and is in range; a refusal has
 * a sentence. */
#include "train/data/corpus.h"
#include "train/run/checkpoint.h"
#include "train/run/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 20, LEN_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct dg_blueprint blueprint(void)
{
    struct dg_blueprint bp;
    dg_setup_blueprint(&bp);
    bp.D = 8;
    bp.encoder = bp.decoder = (struct dg_stack){1, 2, 8, WORDS};
    bp.eos_id = 0;
    bp.unk_id = 1;
    return bp;
}

static void try_corpus(const char *path)
{
    const struct dg_blueprint bp = blueprint();
    struct dg_corpus corpus;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_corpus_open(&corpus, path, &bp, &error) != DG_OK) {
        require(error.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < corpus.n; i++) {
        const struct dg_example e = dg_corpus_get(&corpus, i);
        require(e.n_source > 0 && e.n_target > 0);
        for (uint32_t j = 0; j < e.n_source; j++)
            require(e.source[j] >= 0 && e.source[j] < WORDS);
        for (uint32_t j = 0; j < e.n_target; j++)
            require(e.target[j] >= 0 && e.target[j] < WORDS);
    }
    dg_corpus_close(&corpus);
}

/* Two pairs of three and two words. */
static void try_links(const char *path)
{
    static const uint64_t offsets[] = {0, 3, 5, 8, 10};
    static const int32_t ids[10] = {0};
    struct dg_corpus corpus = {.offsets = offsets, .ids = ids, .n = 2};
    struct dg_error error = DG_ERROR_NONE;
    if (dg_corpus_open_links(&corpus, path, &error) != DG_OK) {
        require(error.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < corpus.n; i++) {
        const struct dg_example e = dg_corpus_get(&corpus, i);
        for (uint32_t j = 0; j < e.n_links; j++)
            require(e.links[j].source < e.n_source && e.links[j].target < e.n_target);
    }
    dg_corpus_close(&corpus);
}

static void try_checkpoint(const char *path)
{
    const struct dg_blueprint bp = blueprint();
    const struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    struct dg_params params;
    struct dg_team *team;
    struct dg_optimiser *optimiser;
    uint64_t numbers[3] = {7, 7, 7};
    struct dg_error error = DG_ERROR_NONE;
    require(dg_params_init(&params, &bp, NULL) == DG_OK);
    require(dg_team_new(&team, 1, NULL) == DG_OK);
    require(dg_optimiser_new(&optimiser, &params, &opts, team, NULL) == DG_OK);
    const struct dg_checkpoint point = {.params = &params,
                                        .state = dg_optimiser_state(optimiser),
                                        .numbers = numbers,
                                        .n_numbers = 3};
    if (dg_checkpoint_load(&point, path, &error) != DG_OK) {
        require(error.text[0] != '\0');
        require(numbers[0] == 7 && numbers[2] == 7 && *point.state.step == 0); /* untouched */
    }
    dg_optimiser_free(optimiser);
    dg_team_free(team);
    dg_params_deinit(&params);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char path[] = "/tmp/dg-fuzz-training.XXXXXX";
    if (len < 1 || len > LEN_MAX)
        return 0;
    const int fd = mkstemp(path);
    if (fd < 0)
        return 0;
    if (write(fd, bytes + 1, len - 1) == (ssize_t)(len - 1)) {
        if (bytes[0] % 3 == 0)
            try_corpus(path);
        else if (bytes[0] % 3 == 1)
            try_links(path);
        else
            try_checkpoint(path);
    }
    close(fd);
    unlink(path);
    return 0;
}
