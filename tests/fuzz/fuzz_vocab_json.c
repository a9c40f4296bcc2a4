/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as vocab.json beside a small SentencePiece model: what is accepted finds every id by
 * its string and every string by its id. The parser opens files by name: all inputs are written to
 * one file, in memory. */
#include "base/memory/mem.h"
#include "tokenize/marian_vocab.h"

#include "spm_maker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* The name of a file that holds the bytes. */
static const char *write_file(const uint8_t *data, size_t size)
{
    static char path[32];
    static int fd = -1;
    if (fd < 0) { /* in memory, without a name: files on a slow file system took too long */
        snprintf(path, sizeof path, "/dragoman-fuzz-%ld", (long)getpid());
        fd = shm_open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
        check(fd >= 0 && shm_unlink(path) == 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    check(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

static const struct dg_spm *small_model(void)
{
    static const char *const pieces[] = {"\xE2\x96\x81",    "a",       "b", "ab",
                                         "\xE2\x96\x81the", "\xC3\xA9"};
    static struct maker maker;
    static struct dg_spm *spm;
    if (!spm) {
        maker_init(&maker);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
            maker_piece(&maker, pieces[i], -(float)i, DG_PIECE_NORMAL);
        spm = maker_open(&maker); /* for all inputs; reachable until the end */
    }
    return spm;
}

static void check_vocabulary(const struct dg_marian_vocab *vocab)
{
    check(vocab->eos >= 0 && vocab->unk >= 0 && vocab->size > 0);
    for (int32_t id = -2; id < (int32_t)vocab->size + 2 && id < 5000; id++) {
        const struct dg_marian_piece piece = dg_marian_vocab_piece(vocab, id);
        if (piece.model >= 0)
            check(dg_marian_vocab_find(vocab, piece.text) == id);
    }
    for (uint32_t piece = 0; piece < dg_spm_size(vocab->models[0]); piece++) {
        const int32_t id = dg_marian_vocab_from_piece(vocab, piece);
        check(id >= 0 && (uint32_t)id < vocab->size);
    }
    check(dg_marian_vocab_memory(vocab) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct dg_spm *spm = small_model();
    struct dg_marian_vocab vocab;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_marian_vocab_init(&vocab, write_file(data, size), spm, size % 2 ? spm : NULL, &error) ==
        DG_OK) {
        check_vocabulary(&vocab);
        dg_marian_vocab_deinit(&vocab);
    } else {
        check(error.text[0] != '\0');
    }
    return 0;
}
