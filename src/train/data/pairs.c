/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Pairs are spans into the files' text, so that a corpus needs only 32 bytes per pair in addition
 * to its mapping. A duplicate line is found by its bytes, from the first to the last of the two
 * sides. */
#include "train/data/pairs.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "train/data/pairs_json.h"
#include "train/data/random.h"

#include <string.h>

#define ENTRIES_MAX ((size_t)1 << 32)

void dg_pairs_init(struct dg_pairs *pairs, const struct dg_pairs_opts *opts)
{
    *pairs = (struct dg_pairs){.opts = *opts, .repeat = 1};
    dg_map_init(&pairs->seen, ENTRIES_MAX);
}

void dg_pairs_deinit(struct dg_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n_files; i++)
        dg_text_in_close(&pairs->files[i]);
    dg_map_deinit(&pairs->seen);
    dg_free(pairs->list);
    *pairs = (struct dg_pairs){0};
}

/* ---- Cleaning -------------------------------------------------------------------------------- */

/* Whether the text has a letter of any script. Past ASCII every character counts as a letter,
 * except Latin-1's punctuation and general punctuation. */
static bool has_letter(struct dg_span text)
{
    uint32_t cp;
    for (size_t at = 0, len; (len = dg_utf8_decode(text, at, &cp)) > 0; at += len)
        if ((cp | 32) - 'a' < 26 ||
            (cp >= 0xc0 && !(cp >= 0x2000 && cp < 0x2c00) && !(cp >= 0x3000 && cp < 0x3040)))
            return true;
    return false;
}

static bool differ_too_much(const struct dg_pairs *pairs, size_t a, size_t b)
{
    const double longer = (double)(a > b ? a : b) + 10.0, shorter = (double)(a > b ? b : a) + 10.0;
    return pairs->opts.ratio_max > 0.0 && longer > pairs->opts.ratio_max * shorter;
}

/* Returns the reason to drop a line, or DG_N_DROPS; *pair becomes its two sides. The third column
 * and those after it (remarks, sources) are ignored. */
static enum dg_drop judge_pair(const struct dg_pairs *pairs, struct dg_span line,
                               struct dg_pair *pair)
{
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    if (!tab)
        return DG_DROP_NO_TAB;
    const struct dg_span left = dg_span_make(line.ptr, (size_t)(tab - line.ptr));
    struct dg_span right = dg_span_sub(line, left.len + 1, line.len);
    const char *end = right.len ? memchr(right.ptr, '\t', right.len) : NULL;
    if (end)
        right.len = (size_t)(end - right.ptr);
    *pair = pairs->opts.swap ? (struct dg_pair){dg_chars_trim(right, " \r\f\v"),
                                                dg_chars_trim(left, " \r\f\v"), pairs->repeat}
                             : (struct dg_pair){dg_chars_trim(left, " \r\f\v"),
                                                dg_chars_trim(right, " \r\f\v"), pairs->repeat};
    if (pair->source.len == 0 || pair->target.len == 0)
        return DG_DROP_EMPTY_SIDE;
    if (!dg_utf8_valid(pair->source, NULL) || !dg_utf8_valid(pair->target, NULL))
        return DG_DROP_NOT_UTF8;
    const size_t n_source = dg_utf8_count(pair->source), n_target = dg_utf8_count(pair->target);
    if (n_source > pairs->opts.len_max || n_target > pairs->opts.len_max)
        return DG_DROP_LONG;
    if (pairs->opts.labels)
        return DG_N_DROPS;
    if (!has_letter(pair->source) || !has_letter(pair->target))
        return DG_DROP_NO_LETTERS;
    if (differ_too_much(pairs, n_source, n_target))
        return DG_DROP_RATIO;
    if (!dg_script_is_mostly(pair->source, pairs->opts.source_script) ||
        !dg_script_is_mostly(pair->target, pairs->opts.target_script))
        return DG_DROP_SCRIPT;
    return DG_N_DROPS;
}

/* Does the same for a text without a translation. */
static enum dg_drop judge(const struct dg_pairs *pairs, struct dg_span line, struct dg_pair *pair)
{
    if (!pairs->opts.lines)
        return judge_pair(pairs, line, pair);
    const struct dg_span text = dg_chars_trim(line, " \r\f\v");
    *pair = (struct dg_pair){
        .source = dg_span_make(text.ptr, 0), .target = text, .repeat = pairs->repeat};
    if (text.len == 0)
        return DG_DROP_EMPTY_SIDE;
    if (!dg_utf8_valid(text, NULL))
        return DG_DROP_NOT_UTF8;
    if (dg_utf8_count(text) > pairs->opts.len_max)
        return DG_DROP_LONG;
    if (!has_letter(text))
        return DG_DROP_NO_LETTERS;
    return dg_script_is_mostly(text, pairs->opts.target_script) ? DG_N_DROPS : DG_DROP_SCRIPT;
}

static enum dg_err append(struct dg_pairs *pairs, struct dg_pair pair)
{
    if (DG_GROW(pairs->list, pairs->n, pairs->cap, 4096))
        return DG_ERR_NOMEM;
    pairs->list[pairs->n++] = pair;
    return DG_OK;
}

static enum dg_err take_line(struct dg_pairs *pairs, struct dg_span line)
{
    struct dg_pair pair;
    enum dg_drop drop = judge(pairs, line, &pair);
    pairs->n_lines++;
    if (drop == DG_N_DROPS && !pairs->opts.duplicates) {
        /* From the first byte of one side to the last byte of the other: both lie in the same
         * line. */
        const bool is_swapped = pair.source.ptr > pair.target.ptr;
        const char *first = is_swapped ? pair.target.ptr : pair.source.ptr;
        const struct dg_span last = is_swapped ? pair.source : pair.target;
        const struct dg_span key = dg_span_make(first, (size_t)(last.ptr + last.len - first));
        if (dg_map_get(&pairs->seen, key, NULL))
            drop = DG_DROP_DUPLICATE;
        else if (dg_map_put(&pairs->seen, key, 1) != DG_OK)
            return DG_ERR_NOMEM;
    }
    if (drop != DG_N_DROPS) {
        pairs->dropped[drop]++;
        return DG_OK;
    }
    return append(pairs, pair);
}

static enum dg_err check_room(const struct dg_pairs *pairs, const char *path,
                              struct dg_error *error)
{
    return pairs->n_files < DG_PAIRS_FILES_MAX
               ? DG_OK
               : dg_error_set(error, DG_ERR_LIMIT, "%s: more than %d files of pairs", path,
                              (int)DG_PAIRS_FILES_MAX);
}

static enum dg_err append_side(struct dg_buf *out, struct dg_span line)
{
    const size_t from = out->len;
    const enum dg_err err = dg_buf_append_span(out, line);
    for (size_t i = from; i < out->len && !err; i++)
        if (out->ptr[i] == '\t')
            out->ptr[i] = ' ';
    return err;
}

static enum dg_err join(struct dg_buf *out, struct dg_text_in *sources, struct dg_text_in *targets,
                        const char *source_path, const char *target_path, struct dg_error *error)
{
    struct dg_span source, target;
    enum dg_err err = DG_OK;
    for (uint64_t n = 0; !err; n++) {
        const bool has_source = dg_text_in_line(sources, &source),
                   has_target = dg_text_in_line(targets, &target);
        if (has_source != has_target)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "%s ends after %llu lines, but %s goes on; expected line for line",
                                has_source ? target_path : source_path, (unsigned long long)n,
                                has_source ? source_path : target_path);
        if (!has_source)
            break;
        err = append_side(out, source);
        if (!err)
            err = dg_buf_append_byte(out, '\t');
        if (!err)
            err = append_side(out, target);
        if (!err)
            err = dg_buf_append_byte(out, '\n');
    }
    return err;
}

enum dg_err dg_pairs_read_two(struct dg_pairs *pairs, const char *source_path,
                              const char *target_path, struct dg_error *error)
{
    struct dg_text_in sources, targets;
    enum dg_err err = check_room(pairs, source_path, error);
    if (!err)
        err = dg_text_in_open(&sources, source_path, error);
    if (err)
        return err;
    err = dg_text_in_open(&targets, target_path, error);
    if (err) {
        dg_text_in_close(&sources);
        return err;
    }
    struct dg_text_in *in = &pairs->files[pairs->n_files++];
    *in = (struct dg_text_in){.at = 0};
    dg_buf_init(&in->inflated, DG_TEXT_IN_MAX);
    err = join(&in->inflated, &sources, &targets, source_path, target_path, error);
    dg_text_in_close(&sources);
    dg_text_in_close(&targets);
    in->text = dg_buf_span(&in->inflated);
    const bool swap = pairs->opts.swap;
    pairs->opts.swap = false;
    struct dg_span line;
    while (!err && dg_text_in_line(in, &line))
        err = take_line(pairs, line);
    pairs->opts.swap = swap;
    return err;
}

/* Opens a file. If it is JSON, the lines that are then read are the ones made from its objects. */
static enum dg_err open_lines(const struct dg_pairs *pairs, struct dg_text_in *in, const char *path,
                              struct dg_error *error)
{
    struct dg_text_in objects;
    if (!dg_pairs_is_json(path))
        return dg_text_in_open(in, path, error);
    enum dg_err err = dg_text_in_open(&objects, path, error);
    if (err)
        return err;
    *in = (struct dg_text_in){.at = 0};
    dg_buf_init(&in->inflated, DG_TEXT_IN_MAX);
    err = dg_pairs_read_json(&objects, path, pairs->opts.lines, &in->inflated, error);
    dg_text_in_close(&objects);
    in->text = dg_buf_span(&in->inflated);
    if (err)
        dg_text_in_close(in);
    return err;
}

enum dg_err dg_pairs_read(struct dg_pairs *pairs, const char *path, struct dg_error *error)
{
    struct dg_text_in *in = &pairs->files[pairs->n_files];
    enum dg_err err = check_room(pairs, path, error);
    if (!err)
        err = open_lines(pairs, in, path, error);
    if (err)
        return err;
    pairs->n_files++;
    const uint64_t lines = pairs->n_lines, without = pairs->dropped[DG_DROP_NO_TAB];
    struct dg_span line;
    while (!err && dg_text_in_line(in, &line))
        err = take_line(pairs, line);
    if (!err && pairs->n_lines > lines &&
        pairs->dropped[DG_DROP_NO_TAB] - without == pairs->n_lines - lines)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: none of its %llu lines has a tab, expected source<TAB>target",
                            path, (unsigned long long)(pairs->n_lines - lines));
    return err;
}

/* ---- Holding out ----------------------------------------------------------------------------- */

enum dg_err dg_pairs_forbid(struct dg_pairs *pairs, const struct dg_pair *others, size_t n)
{
    struct dg_map sides[2];
    enum dg_err err = DG_OK;
    dg_map_init(&sides[0], n);
    dg_map_init(&sides[1], n);
    for (size_t i = 0; i < n && !err; i++) {
        err = pairs->opts.lines ? DG_OK : dg_map_put(&sides[0], others[i].source, 1);
        if (!err)
            err = dg_map_put(&sides[1], others[i].target, 1);
    }
    /* `others` may be the first n pairs of the list itself, which are kept. */
    size_t kept = others == pairs->list ? n : 0;
    for (size_t i = kept; i < pairs->n && !err; i++) {
        if ((!pairs->opts.lines && dg_map_get(&sides[0], pairs->list[i].source, NULL)) ||
            (!pairs->opts.labels && dg_map_get(&sides[1], pairs->list[i].target, NULL)))
            pairs->dropped[DG_DROP_LEAK]++;
        else
            pairs->list[kept++] = pairs->list[i];
    }
    if (!err)
        pairs->n = kept;
    dg_map_deinit(&sides[0]);
    dg_map_deinit(&sides[1]);
    return err;
}

/* Takes the first n of a shuffled list, and starts again at its beginning when the list is used
 * up. */
enum dg_err dg_pairs_sample(struct dg_pairs *pairs, size_t n, uint64_t seed)
{
    struct dg_random random = dg_random_make(seed, UINT64_MAX - 1);
    const size_t n_before = pairs->n;
    if (n_before == 0)
        return DG_OK;
    for (size_t i = 0; i < n_before && i < n; i++) {
        const size_t j = i + dg_random_below(&random, n_before - i);
        const struct dg_pair pair = pairs->list[i];
        pairs->list[i] = pairs->list[j];
        pairs->list[j] = pair;
    }
    enum dg_err err = DG_OK;
    for (size_t i = n_before; i < n && !err; i++)
        err = append(pairs, pairs->list[i - n_before]);
    if (!err)
        pairs->n = n;
    return err;
}

enum dg_err dg_pairs_hold_out(struct dg_pairs *pairs, size_t n, uint64_t seed, size_t *n_held)
{
    struct dg_random random = dg_random_make(seed, UINT64_MAX);
    if (n > pairs->n / 10)
        n = pairs->n / 10;
    for (size_t i = 0; i < n; i++) {
        const size_t j = i + dg_random_below(&random, pairs->n - i);
        const struct dg_pair pair = pairs->list[i];
        pairs->list[i] = pairs->list[j];
        pairs->list[j] = pair;
    }
    *n_held = n;
    return dg_pairs_forbid(pairs, pairs->list, n);
}
