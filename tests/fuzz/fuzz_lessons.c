/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as training data for an encoder without a decoder. The first byte says what the file
 * teaches, and whether it consists of lines of JSON or of columns. In what is accepted, every text
 * is valid and every place lies within its text; a refusal has a sentence. */
#include "base/memory/utf8.h"
#include "train/data/labelled_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEN_MAX = 1 << 16, KINDS = DG_LESSON_ANSWER + 1 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check(const struct dg_labelled_text *labelled_text, enum dg_labelled_text_kind kind)
{
    require(dg_utf8_valid(labelled_text->text, NULL) &&
            (!labelled_text->has_pair || dg_utf8_valid(labelled_text->pair, NULL)));
    require(labelled_text->repeat > 0);
    if (kind == DG_LESSON_NUMBER)
        require(labelled_text->number >= 0.0f && labelled_text->number <= 1.0f);
    if (kind == DG_LESSON_ANSWER && labelled_text->has_answer)
        require(labelled_text->answer_at <= labelled_text->pair.len &&
                labelled_text->answer_len <= labelled_text->pair.len - labelled_text->answer_at);
    for (size_t i = 0; kind == DG_LESSON_TAGS && i < labelled_text->n_words; i++) {
        require(labelled_text->words[i].ptr >= labelled_text->text.ptr);
        require(labelled_text->words[i].ptr + labelled_text->words[i].len <=
                labelled_text->text.ptr + labelled_text->text.len);
        require(dg_utf8_valid(labelled_text->tags[i], NULL));
    }
}

static void try_file(const char *path, enum dg_labelled_text_kind kind)
{
    const struct dg_labelled_data_opts opts = {.kind = kind, .len_max = 1000};
    struct dg_labelled_data labelled_data;
    struct dg_error error = DG_ERROR_NONE;
    size_t n_held = 0;
    dg_labelled_data_init(&labelled_data, &opts);
    if (dg_labelled_data_read(&labelled_data, path, &error) != DG_OK) {
        require(error.text[0] != '\0');
    } else {
        for (size_t i = 0; i < labelled_data.n; i++)
            check(&labelled_data.list[i], kind);
        require(dg_labelled_data_hold_out(&labelled_data, 3, 1, &n_held) == DG_OK &&
                n_held <= labelled_data.n);
    }
    dg_labelled_data_deinit(&labelled_data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char dir[] = "/tmp/dg-fuzz-lessons.XXXXXX", path[64];
    if (len < 1 || len > LEN_MAX || !mkdtemp(dir))
        return 0;
    snprintf(path, sizeof path, "%s/%s", dir, bytes[0] / KINDS % 2 ? "file.jsonl" : "file.tsv");
    FILE *file = fopen(path, "wb");
    if (file) {
        const bool is_written = fwrite(bytes + 1, 1, len - 1, file) == len - 1;
        if (fclose(file) == 0 && is_written)
            try_file(path, (enum dg_labelled_text_kind)(bytes[0] % KINDS));
        unlink(path);
    }
    rmdir(dir);
    return 0;
}
