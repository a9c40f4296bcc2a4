/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Identification: one pass over the words of the text, adding rows of signed bytes; one softmax per
 * script; a weighted mean over the scripts.
 *
 * To avoid false certainty on mixed text, sums are also kept for pieces of some fifty letters: the
 * winner's confidence is multiplied by the share of pieces in which it is plausible. */
#include "text/language/langid.h"

#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "text/language/langid_model.h"
#include "text/language/langid_words.h"
#include "text/language/langtag.h"

#include <math.h>
#include <string.h>

#include <unicode/uscript.h>

enum {
    MODEL_MAX = 16 << 20, /* bytes of the file */
    GROUPS_MAX = 64,
    SCRIPTS_MAX = 256,
    SCRIPTS_IN_TEXT = 8, /* further scripts of one text count as unknown */
    PIECE_LETTERS = 48,
    PIECES_MAX = DG_LANGID_LETTERS_MAX / PIECE_LETTERS + 2,
};

/* How likely a language outside the candidates is before anything is read, relative to one
 * inside. */
static const float OUTSIDE_PRIOR = 0.05f;

/* Below this probability a piece of the text does not count for a language. */
static const float PLAUSIBLE = 0.2f;

struct group {
    unsigned n_langs;
    uint32_t n_rows;
    uint32_t bits;
    const uint8_t *table; /* 2^bits slots of four bytes */
    const int8_t *rows;   /* [n_rows][n_langs], DG_LANGID_LANES readable bytes after */
    float scale;
    uint8_t langs[DG_LANGID_GROUP_LANGS];
    float bias[DG_LANGID_GROUP_LANGS];
    float sharpness[DG_LANGID_SHARPNESS];
};

struct dg_langid {
    struct dg_map_file file; /* its bytes are NULL if the caller owns them */
    size_t n_langs, n_groups;
    char tags[DG_LANGID_LANGS][DG_LANGID_TAG];
    int8_t group_of_script[SCRIPTS_MAX]; /* -1: no language uses the script */
    struct group groups[GROUPS_MAX];
};

/* ---- The file -------------------------------------------------------------------------------- */

static uint32_t u32_at(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static float f32_at(const uint8_t *at)
{
    uint32_t bits = u32_at(at);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool all_finite(const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]) || fabsf(v[i]) > 1e6f)
            return false;
    return true;
}

static bool inside(uint64_t at, uint64_t len, uint64_t file_len)
{
    return at >= DG_LANGID_HEADER && at <= file_len && len <= file_len - at;
}

/* The data of a group of two or more languages. */
static enum dg_err read_weights(struct group *group, const uint8_t *desc, const uint8_t *bytes,
                                size_t len, size_t i, struct dg_error *error)
{
    group->n_rows = u32_at(desc + DG_LANGID_AT_N_ROWS);
    group->bits = u32_at(desc + DG_LANGID_AT_BITS);
    uint64_t table = u32_at(desc + DG_LANGID_AT_TABLE), rows = u32_at(desc + DG_LANGID_AT_ROWS);
    if (group->bits < 4 || group->bits > 20 || group->n_rows >= UINT16_MAX ||
        group->n_rows >= (uint64_t)1 << group->bits)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "language model: group %zu has %u rows in 2^%u slots, expected fewer rows "
            "than slots, 2^4 to 2^20 slots",
            i, (unsigned)group->n_rows, (unsigned)group->bits);
    uint64_t n_bytes = (uint64_t)group->n_rows * group->n_langs + DG_LANGID_LANES;
    if (!inside(table, (uint64_t)4 << group->bits, len) || !inside(rows, n_bytes, len))
        return dg_error_set(
            error, DG_ERR_TRUNCATED,
            "language model: the table or the rows of group %zu lie outside the file of "
            "%zu bytes",
            i, len);
    group->table = bytes + table;
    group->rows = (const int8_t *)(bytes + rows);
    group->scale = f32_at(desc + DG_LANGID_AT_SCALE);
    for (size_t k = 0; k < DG_LANGID_GROUP_LANGS; k++)
        group->bias[k] = f32_at(desc + DG_LANGID_AT_BIAS + 4 * k);
    for (size_t k = 0; k < DG_LANGID_SHARPNESS; k++)
        group->sharpness[k] = f32_at(desc + DG_LANGID_AT_SHARPNESS + 4 * k);
    if (!all_finite(&group->scale, 1) || !all_finite(group->bias, DG_LANGID_GROUP_LANGS) ||
        !all_finite(group->sharpness, DG_LANGID_SHARPNESS))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "language model: group %zu has numbers that are not "
                            "finite or are beyond a million",
                            i);
    size_t n_empty = 0;
    for (size_t slot = 0; slot < (size_t)1 << group->bits; slot++) {
        uint32_t row = u32_at(group->table + 4 * slot) >> 16;
        n_empty += row == 0;
        if (row > group->n_rows)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "language model: slot %zu of group %zu names row "
                                "%u of %u",
                                slot, i, (unsigned)row, (unsigned)group->n_rows);
    }
    if (n_empty == 0) /* without an empty slot, a search for an unknown n-gram would never end */
        return dg_error_set(error, DG_ERR_FORMAT,
                            "language model: the table of group %zu has no empty "
                            "slot",
                            i);
    return DG_OK;
}

static enum dg_err read_group(struct dg_langid *langid, const uint8_t *desc, const uint8_t *bytes,
                              size_t len, size_t i, struct dg_error *error)
{
    struct group *group = &langid->groups[i];
    uint32_t script = u32_at(desc + DG_LANGID_AT_SCRIPT);
    group->n_langs = u32_at(desc + DG_LANGID_AT_N_LANGS);
    if (script >= SCRIPTS_MAX || group->n_langs == 0 || group->n_langs > DG_LANGID_GROUP_LANGS)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "language model: group %zu has script %u and %u languages, expected less "
            "than %d and 1 to %d",
            i, (unsigned)script, group->n_langs, SCRIPTS_MAX, DG_LANGID_GROUP_LANGS);
    memcpy(group->langs, desc + DG_LANGID_AT_LANGS, group->n_langs);
    for (unsigned k = 0; k < group->n_langs; k++)
        if (group->langs[k] >= langid->n_langs)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "language model: group %zu names language %u of %zu", i,
                                group->langs[k], langid->n_langs);
    langid->group_of_script[script] = (int8_t)i;
    return group->n_langs > 1 ? read_weights(group, desc, bytes, len, i, error) : DG_OK;
}

static enum dg_err read_model(struct dg_langid *langid, const uint8_t *bytes, size_t len,
                              struct dg_error *error)
{
    if (len < DG_LANGID_HEADER || memcmp(bytes, DG_LANGID_MAGIC, 16) != 0)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "language model: %zu bytes that do not begin with "
                            "\"%s\"; make one with dragoman langid-train",
                            len, DG_LANGID_MAGIC);
    langid->n_langs = u32_at(bytes + 16);
    langid->n_groups = u32_at(bytes + 20);
    if (u32_at(bytes + 24) != len)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "language model: %zu bytes, its header says %u", len,
                            (unsigned)u32_at(bytes + 24));
    if (u32_at(bytes + 28) != dg_langid_checksum(bytes + DG_LANGID_HEADER, len - DG_LANGID_HEADER))
        return dg_error_set(error, DG_ERR_INTEGRITY, "language model: the checksum does not match");
    if (langid->n_langs == 0 || langid->n_langs > DG_LANGID_LANGS || langid->n_groups > GROUPS_MAX)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "language model: %zu languages in %zu scripts, expected "
                            "1 to %d and at most %d",
                            langid->n_langs, langid->n_groups, DG_LANGID_LANGS, GROUPS_MAX);
    size_t groups = (DG_LANGID_HEADER + langid->n_langs * DG_LANGID_TAG + 3) & ~(size_t)3;
    if (!inside(groups, langid->n_groups * DG_LANGID_GROUP_BYTES, len))
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "language model: its tables end past its %zu bytes", len);
    for (size_t i = 0; i < langid->n_langs; i++) {
        memcpy(langid->tags[i], bytes + DG_LANGID_HEADER + i * DG_LANGID_TAG, DG_LANGID_TAG);
        langid->tags[i][DG_LANGID_TAG - 1] = '\0';
    }
    for (size_t i = 0; i < langid->n_groups; i++) {
        enum dg_err err =
            read_group(langid, bytes + groups + i * DG_LANGID_GROUP_BYTES, bytes, len, i, error);
        if (err)
            return err;
    }
    return DG_OK;
}

enum dg_err dg_langid_open_bytes(struct dg_langid **out, const uint8_t *bytes, size_t len,
                                 struct dg_error *error)
{
    struct dg_langid *langid = dg_try_calloc(1, sizeof *langid);
    if (!langid)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for the language model");
    memset(langid->group_of_script, -1, sizeof langid->group_of_script);
    enum dg_err err = read_model(langid, bytes, len, error);
    if (err)
        dg_free(langid);
    else
        *out = langid;
    return err;
}

enum dg_err dg_langid_open(struct dg_langid **out, const char *path, struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_read(&file, path, MODEL_MAX, error);
    if (err)
        return err;
    err = dg_langid_open_bytes(out, file.bytes, file.len, error);
    if (err) {
        dg_map_file_close(&file);
        return dg_error_wrap(error, err, "%s", path);
    }
    (*out)->file = file;
    return DG_OK;
}

void dg_langid_close(struct dg_langid *langid)
{
    if (!langid)
        return;
    if (langid->file.bytes)
        dg_map_file_close(&langid->file);
    dg_free(langid);
}

size_t dg_langid_count(const struct dg_langid *langid)
{
    return langid->n_langs;
}

const char *dg_langid_tag(const struct dg_langid *langid, size_t i)
{
    return i < langid->n_langs ? langid->tags[i] : "";
}

/* ---- Candidates ------------------------------------------------------------------------------ */

static bool set_has(const struct dg_langid_set *set, size_t i)
{
    return !set || (set->bits[i / 64] >> (i % 64) & 1);
}

/* The index of the language of `tag` in the model; n_langs: it has none. */
static size_t find_language(const struct dg_langid *langid, const char *tag)
{
    char language[DG_LANGTAG_LANGUAGE];
    size_t i = 0;
    if (dg_langtag_language(dg_span_cstr(tag), language))
        return langid->n_langs;
    while (i < langid->n_langs && strcmp(langid->tags[i], language) != 0)
        i++;
    return i;
}

bool dg_langid_set_add(const struct dg_langid *langid, struct dg_langid_set *set, const char *tag)
{
    const size_t i = find_language(langid, tag);
    if (i < langid->n_langs)
        set->bits[i / 64] |= (uint64_t)1 << (i % 64);
    return i < langid->n_langs;
}

bool dg_langid_set_has(const struct dg_langid *langid, const struct dg_langid_set *set,
                       const char *tag)
{
    const size_t i = find_language(langid, tag);
    return i < langid->n_langs && set_has(set, i);
}

/* ---- One text -------------------------------------------------------------------------------- */

/* The sums of one script. Lanes past n_langs hold the next row's bytes and are never read. */
struct sums {
    const struct group *group; /* NULL: no language uses the script */
    int script;
    float weight; /* the number of letters, where those of dense scripts count for more */
    uint32_t n_found;
    int32_t total[DG_LANGID_GROUP_LANGS + DG_LANGID_LANES];
    /* The piece being read. */
    uint32_t piece_letters, piece_found;
    int32_t piece[DG_LANGID_GROUP_LANGS + DG_LANGID_LANES];
};

struct piece {
    uint8_t sums;
    uint32_t letters;
    float p[DG_LANGID_GROUP_LANGS];
};

static float letter_weight(int script)
{
    return script == USCRIPT_HAN ? 3.0f : script == USCRIPT_HANGUL ? 2.0f : 1.0f;
}

static const int8_t *find_row(const struct group *group, uint32_t hash)
{
    uint32_t mask = ((uint32_t)1 << group->bits) - 1;
    uint32_t at = dg_langid_slot(hash, group->bits);
    for (;;) {
        uint32_t slot = u32_at(group->table + 4 * (size_t)at);
        if (slot >> 16 == 0)
            return NULL;
        if ((slot & 0xFFFF) == dg_langid_fingerprint(hash))
            return group->rows + (size_t)((slot >> 16) - 1) * group->n_langs;
        at = (at + 1) & mask;
    }
}

/* Adds a row in vectors of DG_LANGID_LANES; the last may reach into the row after it. */
static void add_row(int32_t *sums, const int8_t *row, unsigned n_langs)
{
    for (unsigned k = 0; k < n_langs; k += DG_LANGID_LANES)
        for (unsigned i = 0; i < DG_LANGID_LANES; i++)
            sums[k + i] += row[k + i];
}

/* Probabilities of the group's languages from sums over `n_found` n-grams. */
static void probabilities(const struct group *group, const int32_t *sums, uint32_t n_found,
                          float *p)
{
    unsigned n = group->n_langs, step = 0;
    if (n == 1 || n_found == 0) {
        for (unsigned k = 0; k < n; k++)
            p[k] = 1.0f / (float)n;
        return;
    }
    for (uint32_t left = n_found; left >>= 1;)
        step++;
    float sharp = group->sharpness[step < DG_LANGID_SHARPNESS ? step : DG_LANGID_SHARPNESS - 1];
    float factor = group->scale / sqrtf((float)n_found), top = -INFINITY, sum = 0;
    for (unsigned k = 0; k < n; k++) {
        p[k] = sharp * (group->bias[k] + factor * (float)sums[k]);
        top = p[k] > top ? p[k] : top;
    }
    for (unsigned k = 0; k < n; k++)
        sum += p[k] = expf(p[k] - top);
    for (unsigned k = 0; k < n; k++)
        p[k] /= sum;
}

struct reading {
    struct sums sums[SCRIPTS_IN_TEXT];
    unsigned n_sums;
    float unknown; /* the weight of letters in unknown scripts */
    struct piece pieces[PIECES_MAX];
    unsigned n_pieces;
};

static void end_piece(struct reading *reading, unsigned s)
{
    struct sums *sums = &reading->sums[s];
    if (reading->n_pieces < PIECES_MAX) {
        struct piece *piece = &reading->pieces[reading->n_pieces++];
        piece->sums = (uint8_t)s;
        piece->letters = sums->piece_letters;
        probabilities(sums->group, sums->piece, sums->piece_found, piece->p);
    }
    for (unsigned k = 0; k < sums->group->n_langs; k++)
        sums->total[k] += sums->piece[k];
    sums->n_found += sums->piece_found;
    memset(sums->piece, 0, sizeof sums->piece);
    sums->piece_found = sums->piece_letters = 0;
}

static struct sums *sums_for(const struct dg_langid *langid, struct reading *reading, int script)
{
    for (unsigned i = 0; i < reading->n_sums; i++)
        if (reading->sums[i].script == script)
            return &reading->sums[i];
    int group = script < SCRIPTS_MAX ? langid->group_of_script[script] : -1;
    if (group < 0 || reading->n_sums == SCRIPTS_IN_TEXT)
        return NULL;
    struct sums *sums = &reading->sums[reading->n_sums++];
    memset(sums, 0, sizeof *sums);
    sums->group = &langid->groups[group];
    sums->script = script;
    return sums;
}

/* Adds the rows of a word's n-grams. They lie anywhere in two megabytes, so all are asked for
 * before the first is needed. */
static void add_word(struct sums *sums, const struct dg_langid_words *word)
{
    const struct group *group = sums->group;
    const int8_t *rows[(DG_LANGID_WORD_MAX + 2) * DG_LANGID_GRAM_MAX + 2];
    unsigned n = 0;
    DG_LANGID_GRAMS(word, hash, {
        __builtin_prefetch(group->table + 4 * (size_t)dg_langid_slot(hash, group->bits));
    });
    DG_LANGID_GRAMS(word, hash, {
        const int8_t *row = find_row(group, hash);
        if (row)
            __builtin_prefetch(rows[n++] = row);
    });
    for (unsigned i = 0; i < n; i++)
        add_row(sums->piece, rows[i], group->n_langs);
    sums->piece_found += n;
}

static void read_text(const struct dg_langid *langid, struct dg_span text, struct reading *reading)
{
    reading->n_sums = reading->n_pieces = 0;
    reading->unknown = 0;
    struct dg_langid_words words;
    dg_langid_words_start(&words, text);
    while (dg_langid_words_next(&words)) {
        struct sums *sums = sums_for(langid, reading, words.script);
        float weight = (float)words.len * letter_weight(words.script);
        if (!sums) {
            reading->unknown += weight;
            continue;
        }
        sums->weight += weight;
        sums->piece_letters += (uint32_t)words.len;
        if (sums->group->n_langs > 1)
            add_word(sums, &words);
        if (sums->piece_letters >= PIECE_LETTERS)
            end_piece(reading, (unsigned)(sums - reading->sums));
    }
    for (unsigned i = 0; i < reading->n_sums; i++)
        if (reading->sums[i].piece_letters > 0)
            end_piece(reading, i);
}

/* The share of a script: cubes, so that a few foreign names do not shake a clear majority. */
static float cube(float v)
{
    return v * v * v;
}

/* The probability of every language. */
static void mix_scripts(const struct reading *reading, float *p)
{
    float all = cube(reading->unknown);
    for (unsigned i = 0; i < reading->n_sums; i++)
        all += cube(reading->sums[i].weight);
    for (unsigned i = 0; i < reading->n_sums; i++) {
        const struct sums *sums = &reading->sums[i];
        float in_script[DG_LANGID_GROUP_LANGS];
        probabilities(sums->group, sums->total, sums->n_found, in_script);
        for (unsigned k = 0; k < sums->group->n_langs; k++)
            p[sums->group->langs[k]] += cube(sums->weight) / all * in_script[k];
    }
}

/* The share of the text's pieces in which the language is plausible, among those in its own
 * scripts. */
static float agreement(const struct reading *reading, size_t lang)
{
    float all = 0, agreed = 0;
    if (reading->n_pieces == 1)
        return 1;
    for (unsigned i = 0; i < reading->n_pieces; i++) {
        const struct piece *piece = &reading->pieces[i];
        const struct group *group = reading->sums[piece->sums].group;
        for (unsigned k = 0; k < group->n_langs; k++) {
            if (group->langs[k] != lang)
                continue;
            float share = piece->p[k] / PLAUSIBLE;
            all += (float)piece->letters;
            agreed += (float)piece->letters * (share < 1.0f ? share : 1.0f);
        }
    }
    return all > 0 ? agreed / all : 0;
}

/* Keeps the `max` largest, best first. */
static size_t insert_guess(struct dg_langid_guess *guesses, size_t n, size_t max,
                           struct dg_langid_guess guess)
{
    size_t at = n;
    while (at > 0 && guesses[at - 1].confidence < guess.confidence)
        at--;
    if (at >= max)
        return n;
    size_t n_after = n < max ? n + 1 : max;
    for (size_t i = n_after - 1; i > at; i--)
        guesses[i] = guesses[i - 1];
    guesses[at] = guess;
    return n_after;
}

size_t dg_langid_detect_among(const struct dg_langid *langid, struct dg_span text,
                              const struct dg_langid_set *set, struct dg_langid_guess *guesses,
                              size_t max, struct dg_langid_guess *outside)
{
    struct reading reading;
    float p[DG_LANGID_LANGS] = {0}, all = 0;
    read_text(langid, text, &reading);
    mix_scripts(&reading, p);
    float known = 0;
    for (size_t i = 0; i < langid->n_langs; i++) {
        known += p[i];
        if (!set_has(set, i))
            p[i] *= OUTSIDE_PRIOR;
        all += p[i];
    }
    size_t n = 0, n_outside = 0;
    for (size_t i = 0; i < langid->n_langs; i++) {
        const bool is_inside = set_has(set, i);
        if (p[i] <= 1e-4f * all || (!is_inside && !outside))
            continue;
        /* The weight of letters in unknown scripts is left out when probabilities are
         * normalised. */
        float confidence = p[i] / all * (known < 1.0f ? known : 1.0f) * agreement(&reading, i);
        const struct dg_langid_guess guess = {langid->tags[i],
                                              confidence > 1.0f ? 1.0f : confidence};
        if (is_inside)
            n = insert_guess(guesses, n, max, guess);
        else
            n_outside = insert_guess(outside, n_outside, 1, guess);
    }
    if (outside && n_outside == 0)
        *outside = (struct dg_langid_guess){.tag = NULL};
    return n;
}

size_t dg_langid_detect(const struct dg_langid *langid, struct dg_span text,
                        const struct dg_langid_set *set, struct dg_langid_guess *guesses,
                        size_t max)
{
    return dg_langid_detect_among(langid, text, set, guesses, max, NULL);
}
