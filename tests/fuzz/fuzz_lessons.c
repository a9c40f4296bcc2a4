/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a file that an encoder alone is to learn from. The first byte says what it teaches, and whether it is lines of
 * JSON or columns. Of what is accepted every text is valid and every place within its text; what is refused comes with a
 * sentence. */
#include "base/utf8.h"
#include "train/lessons.h"

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

static void check(const struct dg_lesson *lesson, enum dg_lesson_kind kind)
{
    require(dg_utf8_valid(lesson->text, NULL) && (!lesson->has_pair || dg_utf8_valid(lesson->pair, NULL)));
    require(lesson->repeat > 0);
    if (kind == DG_LESSON_NUMBER)
        require(lesson->number >= 0.0f && lesson->number <= 1.0f);
    if (kind == DG_LESSON_ANSWER && lesson->has_answer)
        require(lesson->answer_at <= lesson->pair.len && lesson->answer_len <= lesson->pair.len - lesson->answer_at);
    for (size_t i = 0; kind == DG_LESSON_TAGS && i < lesson->n_words; i++) {
        require(lesson->words[i].ptr >= lesson->text.ptr);
        require(lesson->words[i].ptr + lesson->words[i].len <= lesson->text.ptr + lesson->text.len);
        require(dg_utf8_valid(lesson->tags[i], NULL));
    }
}

static void try_file(const char *path, enum dg_lesson_kind kind)
{
    const struct dg_lessons_opts opts = {.kind = kind, .len_max = 1000};
    struct dg_lessons lessons;
    struct dg_why why = DG_WHY_NONE;
    size_t n_held = 0;
    dg_lessons_init(&lessons, &opts);
    if (dg_lessons_read(&lessons, path, &why) != DG_OK) {
        require(why.text[0] != '\0');
    } else {
        for (size_t i = 0; i < lessons.n; i++)
            check(&lessons.list[i], kind);
        require(dg_lessons_hold_out(&lessons, 3, 1, &n_held) == DG_OK && n_held <= lessons.n);
    }
    dg_lessons_deinit(&lessons);
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
            try_file(path, (enum dg_lesson_kind)(bytes[0] % KINDS));
        unlink(path);
    }
    rmdir(dir);
    return 0;
}
