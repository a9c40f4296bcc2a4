/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reading tokenizer.json, part by part in the order in which encoding uses them: added tokens, normalizer, pre-tokenizer,
 * model, template, decoder. What is not known is refused with its name. */
#include "base/json.h"
#include "base/map_file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/bpe_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, VALUES_MAX = 4 << 20, ARENA_MAX = 256 << 20, DEPTH_MAX = 32, PATH_CAP = 4096, TEXT_CAP = 64 };

static const struct {
    const char *regex;
    struct dg_bpe_cutting cutting;
} patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", {.kind = DG_BPE_CUT_GPT2}},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
     "|\\s+(?!\\S)|\\s+",
     {.kind = DG_BPE_CUT_LLAMA3, .digits = 3}},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
     "|\\s+(?!\\S)|\\s+",
     {.kind = DG_BPE_CUT_LLAMA3, .digits = 1}},
};

static enum dg_err unknown(struct dg_why *why, const char *what, struct dg_span name)
{
    return dg_why_set(why, DG_ERR_UNSUPPORTED, "%s '%.*s' is not known here", what,
                      name.len > 120 ? 120 : DG_SPAN_FMT(name));
}

/* The field's text; "" when it is absent or null. */
static enum dg_err text_of(const struct dg_json *object, const char *name, struct dg_why *why, struct dg_span *text)
{
    *text = (struct dg_span){.ptr = "", .len = 0};
    return dg_json_get_string(object, name, DG_JSON_OPTIONAL, why, text);
}

static enum dg_err keep(struct dg_bpe *bpe, struct dg_span text, struct dg_span *kept)
{
    *kept = dg_arena_copy(&bpe->arena, text);
    return kept->ptr ? DG_OK : DG_ERR_NOMEM;
}

/* A short text that becomes part of what is read. */
static enum dg_err keep_short(struct dg_bpe *bpe, const struct dg_json *object, const char *name, bool may_be_empty,
                              struct dg_why *why, struct dg_span *kept)
{
    struct dg_span text = {.ptr = "", .len = 0};
    enum dg_err err = dg_json_get_string(object, name, DG_JSON_REQUIRED, why, &text);
    if (!err && (text.len > TEXT_CAP || (!text.len && !may_be_empty)))
        err = dg_why_set(why, DG_ERR_RANGE, "field '%s' has %zu bytes, expected %d to %d", name, text.len, !may_be_empty,
                         TEXT_CAP);
    return err ? err : keep(bpe, text, kept);
}

/* ---- Vocabulary ------------------------------------------------------------------------------------ */

/* The kind of a token that the vocabulary has: <0x0A> is a byte where characters fall apart. */
static enum dg_bpe_kind kind_of(struct dg_bpe *bpe, struct dg_span piece, int32_t id)
{
    unsigned byte;
    char text[7];
    if (!bpe->falls_apart || piece.len != 6 || memcmp(piece.ptr, "<0x", 3) != 0 || piece.ptr[5] != '>')
        return DG_BPE_TEXT;
    memcpy(text, piece.ptr, 6);
    text[6] = '\0';
    if (strspn(text + 3, "0123456789ABCDEF") != 2 || sscanf(text + 3, "%2X", &byte) != 1)
        return DG_BPE_TEXT;
    bpe->byte_ids[byte] = id;
    return DG_BPE_BYTE;
}

static enum dg_err put_piece(struct dg_bpe *bpe, struct dg_span piece, int64_t id, struct dg_why *why)
{
    struct dg_span kept;
    if (piece.len == 0 || piece.len > DG_BPE_PIECE_MAX)
        return dg_why_set(why, DG_ERR_RANGE, "the token with id %lld has %zu bytes, expected 1 to %d", (long long)id,
                          piece.len, DG_BPE_PIECE_MAX);
    if (bpe->kinds[id] != DG_BPE_NOBODY)
        return dg_why_set(why, DG_ERR_FORMAT, "two tokens have the id %lld", (long long)id);
    enum dg_err err = keep(bpe, piece, &kept);
    if (!err)
        err = dg_map_put(&bpe->ids, kept, (uint64_t)id);
    if (err)
        return err;
    bpe->pieces[id] = kept;
    bpe->kinds[id] = (uint8_t)kind_of(bpe, kept, (int32_t)id);
    return DG_OK;
}

/* One more than the largest id of the vocabulary and the added tokens. */
static enum dg_err find_size(const struct dg_json *vocab, const struct dg_json *added, struct dg_why *why, size_t *size)
{
    const size_t n = dg_json_len(vocab) + dg_json_len(added);
    struct dg_json_iter iter = dg_json_iter(vocab);
    const struct dg_json *value;
    struct dg_span key;
    int64_t id = 0;
    enum dg_err err = DG_OK;
    if (dg_json_len(vocab) == 0 || n > DG_BPE_TOKENS_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "the vocabulary has %zu tokens, expected 1 to %d", n, DG_BPE_TOKENS_MAX);
    *size = 0;
    while (!err && dg_json_next(&iter, &key, &value)) {
        err = dg_json_int(value, key, 0, (int64_t)n + DG_BPE_HOLES_MAX - 1, why, &id);
        if (!err && (size_t)id >= *size)
            *size = (size_t)id + 1;
    }
    for (size_t i = 0; !err && i < dg_json_len(added); i++) {
        err = dg_json_get_int(dg_json_at(added, i), "id", DG_JSON_REQUIRED, 0, (int64_t)n + DG_BPE_HOLES_MAX - 1, why, &id);
        if (!err && (size_t)id >= *size)
            *size = (size_t)id + 1;
    }
    return err;
}

/* At byte level every byte has a token, so that every text can be said. */
static enum dg_err find_bytes(struct dg_bpe *bpe, struct dg_why *why)
{
    for (unsigned byte = 0; bpe->is_byte_level && byte < 256; byte++) {
        char letter[DG_UTF8_MAX_LEN];
        const size_t len = dg_utf8_encode(dg_bpe_letter((uint8_t)byte), letter);
        bpe->byte_ids[byte] = dg_bpe_find(bpe, dg_span_make(letter, len));
        if (bpe->byte_ids[byte] < 0)
            return dg_why_set(why, DG_ERR_FORMAT, "the vocabulary has no token for the byte 0x%02X", byte);
    }
    return DG_OK;
}

static enum dg_err read_vocab(struct dg_bpe *bpe, const struct dg_json *vocab, const struct dg_json *added,
                              struct dg_why *why)
{
    size_t size = 0;
    struct dg_json_iter iter = dg_json_iter(vocab);
    const struct dg_json *value;
    struct dg_span key;
    enum dg_err err = find_size(vocab, added, why, &size);
    if (err)
        return err;
    bpe->size = (uint32_t)size;
    bpe->pieces = dg_try_calloc(size, sizeof *bpe->pieces);
    bpe->kinds = dg_try_calloc(size, sizeof *bpe->kinds);
    if (!bpe->pieces || !bpe->kinds)
        return DG_ERR_NOMEM;
    dg_map_init(&bpe->ids, size);
    err = dg_map_reserve(&bpe->ids, size);
    while (!err && dg_json_next(&iter, &key, &value)) {
        int64_t id = 0;
        err = dg_json_int(value, key, 0, (int64_t)size - 1, why, &id);
        if (!err)
            err = put_piece(bpe, key, id, why);
    }
    return err ? err : find_bytes(bpe, why);
}

/* ---- Merges ---------------------------------------------------------------------------------------- */

static enum dg_err make_merges(struct dg_bpe *bpe, size_t n)
{
    for (bpe->n_places = 16; bpe->n_places < 2 * n;)
        bpe->n_places *= 2;
    bpe->merges = dg_try_calloc(bpe->n_places, sizeof *bpe->merges);
    for (size_t i = 0; bpe->merges && i < bpe->n_places; i++)
        bpe->merges[i].pair = UINT64_MAX;
    return bpe->merges ? DG_OK : DG_ERR_NOMEM;
}

/* The later of two equal merges counts, as elsewhere. */
static enum dg_err put_merge(struct dg_bpe *bpe, struct dg_span left, struct dg_span right, size_t rank, struct dg_why *why)
{
    char whole[2 * DG_BPE_PIECE_MAX];
    const int32_t l = dg_bpe_find(bpe, left), r = dg_bpe_find(bpe, right);
    if (l < 0 || r < 0)
        return dg_why_set(why, DG_ERR_FORMAT, "merge %zu: '%.*s' is no token of the vocabulary", rank,
                          DG_SPAN_FMT(dg_utf8_clip(l < 0 ? left : right, 80)));
    memcpy(whole, left.ptr, left.len);
    memcpy(whole + left.len, right.ptr, right.len);
    const int32_t id = dg_bpe_find(bpe, dg_span_make(whole, left.len + right.len));
    if (id < 0)
        return dg_why_set(why, DG_ERR_FORMAT, "merge %zu: what it makes, '%.*s', is no token of the vocabulary", rank,
                          DG_SPAN_FMT(dg_utf8_clip(dg_span_make(whole, left.len + right.len), 80)));
    const struct dg_bpe_merge made = {(uint64_t)(uint32_t)l << 32 | (uint32_t)r, (uint32_t)rank, (uint32_t)id};
    uint64_t hash = made.pair * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    size_t at = hash & (bpe->n_places - 1);
    while (bpe->merges[at].pair != UINT64_MAX && bpe->merges[at].pair != made.pair)
        at = (at + 1) & (bpe->n_places - 1);
    bpe->merges[at] = made;
    return DG_OK;
}

/* "left right", with one space. */
static enum dg_err put_merge_line(struct dg_bpe *bpe, struct dg_span line, size_t rank, struct dg_why *why)
{
    const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
    const size_t at = space ? (size_t)(space - line.ptr) : line.len;
    if (!space || memchr(space + 1, ' ', line.len - at - 1))
        return dg_why_set(why, DG_ERR_FORMAT, "merge %zu is '%.*s', expected two tokens with a space between", rank,
                          DG_SPAN_FMT(dg_utf8_clip(line, 80)));
    return put_merge(bpe, dg_span_sub(line, 0, at), dg_span_sub(line, at + 1, line.len), rank, why);
}

static enum dg_err read_merges(struct dg_bpe *bpe, const struct dg_json *merges, struct dg_why *why)
{
    const size_t n = dg_json_len(merges);
    enum dg_err err = make_merges(bpe, n);
    for (size_t i = 0; i < n && !err; i++) {
        const struct dg_json *merge = dg_json_at(merges, i);
        struct dg_span left, right;
        if (dg_json_type(merge) != DG_JSON_ARRAY) {
            err = dg_json_at_string(merges, "merges", i, why, &left);
            if (!err)
                err = put_merge_line(bpe, left, i, why);
            continue;
        }
        if (dg_json_len(merge) != 2)
            return dg_why_set(why, DG_ERR_FORMAT, "merge %zu has %zu tokens, expected 2", i, dg_json_len(merge));
        err = dg_json_at_string(merge, "merges", 0, why, &left);
        if (!err)
            err = dg_json_at_string(merge, "merges", 1, why, &right);
        if (!err)
            err = put_merge(bpe, left, right, i, why);
    }
    return err;
}

static enum dg_err read_merges_text(struct dg_bpe *bpe, struct dg_span text, struct dg_why *why)
{
    size_t n = 0, rank = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    enum dg_err err = make_merges(bpe, n + 1);
    for (size_t at = 0, end; at < text.len && !err; at = end + 1) {
        const char *line_end = memchr(text.ptr + at, '\n', text.len - at);
        end = line_end ? (size_t)(line_end - text.ptr) : text.len;
        struct dg_span line = dg_span_sub(text, at, end - at);
        if (line.len && line.ptr[line.len - 1] == '\r')
            line.len--;
        if (line.len && !(at == 0 && dg_span_starts(line, DG_SPAN("#version"))))
            err = put_merge_line(bpe, line, rank++, why);
    }
    return err;
}

/* ---- Model ----------------------------------------------------------------------------------------- */

static enum dg_err refuse_unless_empty(const struct dg_json *model, const char *name, struct dg_why *why)
{
    struct dg_span text;
    enum dg_err err = text_of(model, name, why, &text);
    if (!err && text.len)
        err = dg_why_set(why, DG_ERR_UNSUPPORTED, "field '%s' is '%.*s', expected none", name,
                         DG_SPAN_FMT(dg_utf8_clip(text, 80)));
    return err;
}

static enum dg_err read_habits(struct dg_bpe *bpe, const struct dg_json *model, struct dg_why *why)
{
    struct dg_span type;
    double dropout = 0;
    enum dg_err err = text_of(model, "type", why, &type);
    if (!err && type.len && !dg_span_eq(type, DG_SPAN("BPE")))
        err = unknown(why, "a model of the type", type);
    if (!err)
        err = refuse_unless_empty(model, "continuing_subword_prefix", why);
    if (!err)
        err = refuse_unless_empty(model, "end_of_word_suffix", why);
    if (!err)
        err = dg_json_get_bool(model, "byte_fallback", DG_JSON_OPTIONAL, why, &bpe->falls_apart);
    if (!err)
        err = dg_json_get_bool(model, "fuse_unk", DG_JSON_OPTIONAL, why, &bpe->fuses_unk);
    if (!err)
        err = dg_json_get_bool(model, "ignore_merges", DG_JSON_OPTIONAL, why, &bpe->takes_whole);
    if (!err)
        err = dg_json_get_real(model, "dropout", DG_JSON_OPTIONAL, 0, 0, why, &dropout);
    return err;
}

static enum dg_err read_model(struct dg_bpe *bpe, const struct dg_json *model, const struct dg_json *added,
                              struct dg_why *why)
{
    const struct dg_json *vocab = NULL, *merges = NULL;
    struct dg_span unk;
    enum dg_err err = read_habits(bpe, model, why);
    if (!err)
        err = dg_json_get_object(model, "vocab", DG_JSON_REQUIRED, why, &vocab);
    if (!err)
        err = dg_json_get_array(model, "merges", DG_JSON_REQUIRED, why, &merges);
    if (!err)
        err = read_vocab(bpe, vocab, added, why);
    if (!err)
        err = read_merges(bpe, merges, why);
    if (!err)
        err = text_of(model, "unk_token", why, &unk);
    if (err || !unk.len)
        return err;
    bpe->unk = dg_bpe_find(bpe, unk);
    return bpe->unk >= 0 ? DG_OK
                         : dg_why_set(why, DG_ERR_FORMAT, "the unknown token '%.*s' is not in the vocabulary",
                                      DG_SPAN_FMT(dg_utf8_clip(unk, 80)));
}

/* ---- Added tokens ---------------------------------------------------------------------------------- */

static enum dg_err add_token(struct dg_bpe *bpe, struct dg_bpe_added *added, int64_t id, struct dg_why *why)
{
    enum dg_err err = DG_OK;
    if (added->text.len == 0 || added->text.len > DG_BPE_PIECE_MAX)
        return dg_why_set(why, DG_ERR_RANGE, "the added token with id %lld has %zu bytes, expected 1 to %d", (long long)id,
                          added->text.len, DG_BPE_PIECE_MAX);
    if (bpe->kinds[id] == DG_BPE_NOBODY)
        err = put_piece(bpe, added->text, id, why);
    else if (!dg_span_eq(bpe->pieces[id], added->text))
        err = dg_why_set(why, DG_ERR_FORMAT, "the added token '%.*s' has the id %lld of another one",
                         DG_SPAN_FMT(dg_utf8_clip(added->text, 80)), (long long)id);
    if (err)
        return err;
    bpe->kinds[id] = added->is_special ? DG_BPE_SPECIAL_KIND : DG_BPE_ADDED;
    added->text = bpe->pieces[id];
    added->id = (int32_t)id;
    bpe->begins_added[added->is_normalized][(uint8_t)added->text.ptr[0]] = true;
    bpe->added[bpe->n_added++] = *added;
    return DG_OK;
}

static enum dg_err read_added(struct dg_bpe *bpe, const struct dg_json *item, struct dg_why *why)
{
    struct dg_bpe_added added = {.id = -1};
    int64_t id = 0;
    enum dg_err err = dg_json_get_int(item, "id", DG_JSON_REQUIRED, 0, (int64_t)bpe->size - 1, why, &id);
    if (!err)
        err = dg_json_get_string(item, "content", DG_JSON_REQUIRED, why, &added.text);
    if (!err)
        err = dg_json_get_bool(item, "special", DG_JSON_OPTIONAL, why, &added.is_special);
    added.is_normalized = !added.is_special;
    if (!err)
        err = dg_json_get_bool(item, "normalized", DG_JSON_OPTIONAL, why, &added.is_normalized);
    if (!err)
        err = dg_json_get_bool(item, "single_word", DG_JSON_OPTIONAL, why, &added.is_word);
    if (!err)
        err = dg_json_get_bool(item, "lstrip", DG_JSON_OPTIONAL, why, &added.takes_left);
    if (!err)
        err = dg_json_get_bool(item, "rstrip", DG_JSON_OPTIONAL, why, &added.takes_right);
    return err ? err : add_token(bpe, &added, id, why);
}

static int longest_first(const void *a, const void *b)
{
    const struct dg_bpe_added *x = a, *y = b;
    if (x->text.len != y->text.len)
        return x->text.len < y->text.len ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static enum dg_err make_added(struct dg_bpe *bpe, size_t n, struct dg_why *why)
{
    if (n > DG_BPE_ADDED_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "%zu added tokens, expected at most %d", n, DG_BPE_ADDED_MAX);
    bpe->added = dg_try_calloc(n + 1, sizeof *bpe->added);
    return bpe->added ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_all_added(struct dg_bpe *bpe, const struct dg_json *list, struct dg_why *why)
{
    enum dg_err err = make_added(bpe, dg_json_len(list), why);
    for (size_t i = 0; i < dg_json_len(list) && !err; i++)
        err = read_added(bpe, dg_json_at(list, i), why);
    if (!err)
        qsort(bpe->added, bpe->n_added, sizeof *bpe->added, longest_first);
    return err;
}

/* ---- Normalizer ------------------------------------------------------------------------------------ */

static enum dg_err add_change(struct dg_bpe *bpe, struct dg_bpe_changing change, struct dg_why *why)
{
    if (bpe->n_changes == DG_BPE_STEPS_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "more than %d steps of normalisation", DG_BPE_STEPS_MAX);
    bpe->changes[bpe->n_changes++] = change;
    return DG_OK;
}

static enum dg_err read_replace(struct dg_bpe *bpe, const struct dg_json *step, struct dg_why *why)
{
    struct dg_bpe_changing change = {.kind = DG_BPE_REPLACE};
    const struct dg_json *pattern = NULL;
    enum dg_err err = dg_json_get_object(step, "pattern", DG_JSON_REQUIRED, why, &pattern);
    if (!err && !dg_json_get(pattern, "String"))
        err = dg_why_set(why, DG_ERR_UNSUPPORTED, "a replacement by pattern is not known here, only of a String");
    if (!err)
        err = keep_short(bpe, pattern, "String", false, why, &change.from);
    if (!err)
        err = keep_short(bpe, step, "content", true, why, &change.to);
    return err ? err : add_change(bpe, change, why);
}

static enum dg_err read_normalizer(struct dg_bpe *bpe, const struct dg_json *step, unsigned depth, struct dg_why *why)
{
    static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};
    struct dg_bpe_changing change = {.kind = DG_BPE_PREPEND};
    struct dg_span type;
    if (!step || dg_json_type(step) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_json_get_string(step, "type", DG_JSON_REQUIRED, why, &type);
    if (err)
        return err;
    if (dg_span_eq(type, DG_SPAN("Sequence")) && depth == 0) {
        const struct dg_json *list = NULL;
        err = dg_json_get_array(step, "normalizers", DG_JSON_REQUIRED, why, &list);
        for (size_t i = 0; i < dg_json_len(list) && !err; i++)
            err = read_normalizer(bpe, dg_json_at(list, i), 1, why);
        return err;
    }
    if (dg_span_eq(type, DG_SPAN("Replace")))
        return read_replace(bpe, step, why);
    if (dg_span_eq(type, DG_SPAN("Prepend"))) {
        err = keep_short(bpe, step, "prepend", false, why, &change.from);
        return err ? err : add_change(bpe, change, why);
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (dg_span_eq(type, dg_span_cstr(forms[i])))
            return add_change(bpe, (struct dg_bpe_changing){.kind = (enum dg_bpe_change)(DG_BPE_NFC + (int)i)}, why);
    return unknown(why, "the normalizer", type);
}

/* ---- Pre-tokenizer --------------------------------------------------------------------------------- */

static enum dg_err add_cut(struct dg_bpe *bpe, struct dg_bpe_cutting cutting, struct dg_why *why)
{
    if (bpe->n_cuts == DG_BPE_STEPS_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "more than %d steps of cutting", DG_BPE_STEPS_MAX);
    bpe->cuts[bpe->n_cuts++] = cutting;
    return DG_OK;
}

static enum dg_err read_byte_level(struct dg_bpe *bpe, const struct dg_json *step, struct dg_why *why)
{
    bool adds_space = true, cuts = true;
    enum dg_err err = dg_json_get_bool(step, "add_prefix_space", DG_JSON_OPTIONAL, why, &adds_space);
    if (!err)
        err = dg_json_get_bool(step, "use_regex", DG_JSON_OPTIONAL, why, &cuts);
    if (!err && adds_space && bpe->n_cuts)
        err = dg_why_set(why, DG_ERR_UNSUPPORTED, "a space before every piece of a text that is cut already is not known here");
    if (!err && adds_space)
        err = add_change(bpe, (struct dg_bpe_changing){.kind = DG_BPE_PREPEND_NEW, .from = DG_SPAN(" ")}, why);
    if (!err && cuts)
        err = add_cut(bpe, patterns[0].cutting, why);
    bpe->is_byte_level = true;
    return err;
}

static enum dg_err read_split(struct dg_bpe *bpe, const struct dg_json *step, struct dg_why *why)
{
    const struct dg_json *pattern = NULL;
    struct dg_span regex, behavior;
    bool inverts = false;
    enum dg_err err = dg_json_get_object(step, "pattern", DG_JSON_REQUIRED, why, &pattern);
    if (!err)
        err = dg_json_get_string(pattern, "Regex", DG_JSON_REQUIRED, why, &regex);
    if (!err)
        err = text_of(step, "behavior", why, &behavior);
    if (!err)
        err = dg_json_get_bool(step, "invert", DG_JSON_OPTIONAL, why, &inverts);
    if (err)
        return err;
    /* These patterns leave nothing out, so that to keep matches or to keep what is between them is the same. */
    if (!dg_span_eq(behavior, DG_SPAN("Isolated")) && !(inverts && dg_span_eq(behavior, DG_SPAN("Removed"))))
        return unknown(why, "splitting with the behavior", behavior);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (dg_span_eq(regex, dg_span_cstr(patterns[i].regex)))
            return add_cut(bpe, patterns[i].cutting, why);
    return unknown(why, "splitting by the pattern", regex);
}

static enum dg_err read_metaspace(struct dg_bpe *bpe, const struct dg_json *step, struct dg_why *why)
{
    static const char *const schemes[] = {"always", "first", "never", NULL};
    struct dg_bpe_changing change = {.kind = DG_BPE_REPLACE, .from = DG_SPAN(" ")};
    int scheme = 0;
    bool cuts = true, adds_space = true;
    enum dg_err err = keep_short(bpe, step, "replacement", false, why, &change.to);
    if (!err)
        err = dg_json_get_bool(step, "add_prefix_space", DG_JSON_OPTIONAL, why, &adds_space);
    scheme = adds_space ? 0 : 2;
    if (!err)
        err = dg_json_get_choice(step, "prepend_scheme", DG_JSON_OPTIONAL, schemes, why, &scheme);
    if (!err)
        err = dg_json_get_bool(step, "split", DG_JSON_OPTIONAL, why, &cuts);
    if (!err)
        err = add_change(bpe, change, why);
    if (!err && scheme != 2)
        err = add_change(bpe,
                         (struct dg_bpe_changing){.kind = scheme == 0 ? DG_BPE_PREPEND_NEW : DG_BPE_PREPEND_FIRST,
                                                  .from = change.to},
                         why);
    if (!err && cuts)
        err = add_cut(bpe, (struct dg_bpe_cutting){.kind = DG_BPE_CUT_BEFORE, .mark = change.to}, why);
    return err;
}

static enum dg_err read_pre_tokenizer(struct dg_bpe *bpe, const struct dg_json *step, unsigned depth, struct dg_why *why)
{
    struct dg_span type;
    if (!step || dg_json_type(step) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_json_get_string(step, "type", DG_JSON_REQUIRED, why, &type);
    if (err)
        return err;
    if (dg_span_eq(type, DG_SPAN("Sequence")) && depth == 0) {
        const struct dg_json *list = NULL;
        err = dg_json_get_array(step, "pretokenizers", DG_JSON_REQUIRED, why, &list);
        for (size_t i = 0; i < dg_json_len(list) && !err; i++)
            err = bpe->is_byte_level
                      ? dg_why_set(why, DG_ERR_UNSUPPORTED, "steps of the pre-tokenizer behind ByteLevel are not known here")
                      : read_pre_tokenizer(bpe, dg_json_at(list, i), 1, why);
        return err;
    }
    if (dg_span_eq(type, DG_SPAN("ByteLevel")))
        return read_byte_level(bpe, step, why);
    if (dg_span_eq(type, DG_SPAN("Split")))
        return read_split(bpe, step, why);
    if (dg_span_eq(type, DG_SPAN("Metaspace")))
        return read_metaspace(bpe, step, why);
    if (dg_span_eq(type, DG_SPAN("Digits"))) {
        bool apart = false;
        err = dg_json_get_bool(step, "individual_digits", DG_JSON_OPTIONAL, why, &apart);
        return err ? err
                   : add_cut(bpe, (struct dg_bpe_cutting){.kind = DG_BPE_CUT_DIGITS, .digits = apart ? 1 : SIZE_MAX}, why);
    }
    return unknown(why, "the pre-tokenizer", type);
}

/* ---- Template -------------------------------------------------------------------------------------- */

static enum dg_err put_frame(struct dg_bpe *bpe, struct dg_span text, bool is_behind, struct dg_why *why)
{
    const int32_t id = dg_bpe_find(bpe, text);
    int32_t *list = is_behind ? bpe->behind : bpe->before;
    size_t *n = is_behind ? &bpe->n_behind : &bpe->n_before;
    if (id < 0)
        return unknown(why, "in the template, the token", text);
    if (*n == DG_BPE_FRAME_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "the template has more than %d tokens on a side", DG_BPE_FRAME_MAX);
    list[(*n)++] = id;
    return DG_OK;
}

static enum dg_err read_template(struct dg_bpe *bpe, const struct dg_json *step, struct dg_why *why)
{
    const struct dg_json *single = NULL;
    bool is_behind = false;
    enum dg_err err = dg_json_get_array(step, "single", DG_JSON_REQUIRED, why, &single);
    for (size_t i = 0; i < dg_json_len(single) && !err; i++) {
        const struct dg_json *part = dg_json_get(dg_json_at(single, i), "SpecialToken");
        struct dg_span text;
        if (!part) {
            is_behind = true;
            continue;
        }
        err = dg_json_get_string(part, "id", DG_JSON_REQUIRED, why, &text);
        if (!err)
            err = put_frame(bpe, text, is_behind, why);
    }
    return err;
}

/* RoBERTa's: ["</s>", 2] behind, ["<s>", 0] before. */
static enum dg_err read_roberta(struct dg_bpe *bpe, const struct dg_json *step, struct dg_why *why)
{
    static const char *const names[] = {"cls", "sep"};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < 2 && !err; i++) {
        const struct dg_json *pair = NULL;
        struct dg_span text;
        err = dg_json_get_array(step, names[i], DG_JSON_REQUIRED, why, &pair);
        if (!err)
            err = dg_json_at_string(pair, names[i], 0, why, &text);
        if (!err)
            err = put_frame(bpe, text, i == 1, why);
    }
    return err;
}

static enum dg_err read_post_processor(struct dg_bpe *bpe, const struct dg_json *step, unsigned depth, struct dg_why *why)
{
    struct dg_span type;
    if (!step || dg_json_type(step) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_json_get_string(step, "type", DG_JSON_REQUIRED, why, &type);
    if (err || dg_span_eq(type, DG_SPAN("ByteLevel"))) /* that one moves offsets only */
        return err;
    if (dg_span_eq(type, DG_SPAN("Sequence")) && depth == 0) {
        const struct dg_json *list = NULL;
        err = dg_json_get_array(step, "processors", DG_JSON_REQUIRED, why, &list);
        for (size_t i = 0; i < dg_json_len(list) && !err; i++)
            err = read_post_processor(bpe, dg_json_at(list, i), 1, why);
        return err;
    }
    if (dg_span_eq(type, DG_SPAN("TemplateProcessing")))
        return read_template(bpe, step, why);
    if (dg_span_eq(type, DG_SPAN("RobertaProcessing")))
        return read_roberta(bpe, step, why);
    return unknown(why, "the post-processor", type);
}

/* ---- Decoder --------------------------------------------------------------------------------------- */

/* Decoders are known as a whole: bytes, or marks that are spaces, of which the first may be dropped. */
static enum dg_err read_decoder(struct dg_bpe *bpe, const struct dg_json *step, unsigned depth, struct dg_why *why)
{
    static const char *const schemes[] = {"always", "first", "never", NULL};
    struct dg_span type;
    int scheme = 0;
    int64_t n = 0;
    bool adds_space = true;
    if (!step || dg_json_type(step) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_json_get_string(step, "type", DG_JSON_REQUIRED, why, &type);
    if (err)
        return err;
    if (dg_span_eq(type, DG_SPAN("Sequence")) && depth == 0) {
        const struct dg_json *list = NULL;
        err = dg_json_get_array(step, "decoders", DG_JSON_REQUIRED, why, &list);
        for (size_t i = 0; i < dg_json_len(list) && !err; i++)
            err = read_decoder(bpe, dg_json_at(list, i), 1, why);
        return err;
    }
    if (dg_span_eq(type, DG_SPAN("ByteLevel")) && bpe->is_byte_level)
        return DG_OK;
    if (dg_span_eq(type, DG_SPAN("ByteFallback")) || dg_span_eq(type, DG_SPAN("Fuse")))
        return DG_OK;
    if (dg_span_eq(type, DG_SPAN("Replace"))) {
        bpe->marks_space = true;
        return DG_OK;
    }
    if (dg_span_eq(type, DG_SPAN("Metaspace"))) {
        bpe->marks_space = true;
        err = dg_json_get_bool(step, "add_prefix_space", DG_JSON_OPTIONAL, why, &adds_space);
        scheme = adds_space ? 0 : 2;
        if (!err)
            err = dg_json_get_choice(step, "prepend_scheme", DG_JSON_OPTIONAL, schemes, why, &scheme);
        bpe->drops_space = scheme != 2;
        return err;
    }
    if (dg_span_eq(type, DG_SPAN("Strip"))) {
        err = dg_json_get_int(step, "start", DG_JSON_OPTIONAL, 0, 1, why, &n);
        bpe->drops_space = n == 1;
        return err;
    }
    return unknown(why, "the decoder", type);
}

/* ---- All ---------------------------------------------------------------------------------------------- */

static enum dg_err read_tokenizer(struct dg_bpe *bpe, const struct dg_json *root, struct dg_why *why)
{
    const struct dg_json *model = NULL, *added = NULL;
    enum dg_err err = dg_json_get_object(root, "model", DG_JSON_REQUIRED, why, &model);
    if (!err)
        err = dg_json_get_array(root, "added_tokens", DG_JSON_OPTIONAL, why, &added);
    if (!err)
        err = read_normalizer(bpe, dg_json_get(root, "normalizer"), 0, why);
    if (!err)
        err = read_pre_tokenizer(bpe, dg_json_get(root, "pre_tokenizer"), 0, why);
    if (!err)
        err = read_model(bpe, model, added, why);
    if (!err)
        err = read_all_added(bpe, added, why);
    if (!err)
        err = read_post_processor(bpe, dg_json_get(root, "post_processor"), 0, why);
    return err ? err : read_decoder(bpe, dg_json_get(root, "decoder"), 0, why);
}

/* GPT-2 and RoBERTa without a tokenizer.json: their signs are among the words. */
static enum dg_err read_pair(struct dg_bpe *bpe, const struct dg_json *vocab, struct dg_span merges, struct dg_why *why)
{
    static const char *const signs[] = {"<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>"};
    bpe->is_byte_level = true;
    enum dg_err err = add_cut(bpe, patterns[0].cutting, why);
    if (!err)
        err = read_vocab(bpe, vocab, NULL, why);
    if (!err)
        err = read_merges_text(bpe, merges, why);
    if (!err)
        err = make_added(bpe, sizeof signs / sizeof *signs, why);
    for (size_t i = 0; i < sizeof signs / sizeof *signs && !err; i++) {
        struct dg_bpe_added added = {.text = dg_span_cstr(signs[i]), .is_special = true};
        const int32_t id = dg_bpe_find(bpe, added.text);
        if (id >= 0)
            err = add_token(bpe, &added, id, why);
    }
    if (!err)
        qsort(bpe->added, bpe->n_added, sizeof *bpe->added, longest_first);
    return err;
}

enum dg_err dg_bpe_parse(struct dg_bpe **out, struct dg_span json, struct dg_span merges, struct dg_why *why)
{
    const struct dg_json_limits limits = {.max_bytes = FILE_MAX, .max_depth = DEPTH_MAX, .max_values = VALUES_MAX};
    struct dg_json *root = NULL;
    struct dg_bpe *bpe = dg_xcalloc(1, sizeof *bpe);
    bpe->unk = -1;
    dg_arena_init(&bpe->arena, ARENA_MAX);
    memset(bpe->byte_ids, -1, sizeof bpe->byte_ids);
    enum dg_err err = dg_json_parse(json, &limits, why, &root);
    if (!err && merges.len)
        err = read_pair(bpe, root, merges, why);
    else if (!err)
        err = read_tokenizer(bpe, root, why);
    dg_json_free(root);
    if (err) {
        dg_bpe_close(bpe);
        return err == DG_ERR_NOMEM ? dg_why_set(why, err, "no memory for the vocabulary") : err;
    }
    *out = bpe;
    return DG_OK;
}

static enum dg_err map(struct dg_map_file *file, const char *dir, const char *name, char path[PATH_CAP], struct dg_why *why)
{
    if ((size_t)snprintf(path, PATH_CAP, "%s/%s", dir, name) >= PATH_CAP)
        return dg_why_set(why, DG_ERR_LIMIT, "the path of %s is too long", name);
    return dg_map_file_open(file, path, FILE_MAX, why);
}

static bool has(const char *dir, const char *name)
{
    char path[PATH_CAP];
    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path && access(path, F_OK) == 0;
}

bool dg_bpe_is_there(const char *dir)
{
    return has(dir, "tokenizer.json") || (has(dir, "vocab.json") && has(dir, "merges.txt"));
}

enum dg_err dg_bpe_open(struct dg_bpe **bpe, const char *dir, struct dg_why *why)
{
    const bool is_pair = !has(dir, "tokenizer.json");
    struct dg_map_file json, merges = {.bytes = NULL};
    char path[PATH_CAP], other[PATH_CAP];
    enum dg_err err = map(&json, dir, is_pair ? "vocab.json" : "tokenizer.json", path, why);
    if (err)
        return err;
    if (is_pair)
        err = map(&merges, dir, "merges.txt", other, why);
    if (!err && is_pair && merges.len == 0)
        err = dg_why_set(why, DG_ERR_TRUNCATED, "%s: the file is empty", other);
    if (!err) {
        err = dg_bpe_parse(bpe, dg_span_make((const char *)json.bytes, json.len),
                           dg_span_make(is_pair ? (const char *)merges.bytes : "", merges.len), why);
        err = err ? dg_why_wrap(why, err, "%s", path) : DG_OK;
    }
    dg_map_file_close(&json);
    if (merges.bytes)
        dg_map_file_close(&merges);
    return err;
}

void dg_bpe_close(struct dg_bpe *bpe)
{
    if (!bpe)
        return;
    dg_map_deinit(&bpe->ids);
    dg_arena_deinit(&bpe->arena);
    dg_free(bpe->pieces);
    dg_free(bpe->kinds);
    dg_free(bpe->merges);
    dg_free(bpe->added);
    dg_free(bpe);
}
