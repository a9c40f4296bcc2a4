/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reading tokenizer.json, part by part in the order in which encoding uses them: normalizer,
 * pre-tokenizer, model with its vocabulary and added tokens (subword_vocab.c), template, decoder.
 * Anything unknown is refused by its name. */
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "tokenize/hf/subword_int.h"
#include "tokenize/spm/utf8_char.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_MAX = 64 << 20,
    VALUES_MAX = 4 << 20,
    ARENA_MAX = 256 << 20,
    DEPTH_MAX = 32,
    PATH_CAP = 4096,
    TEXT_CAP = 64
};

static const struct {
    const char *regex;
    struct dg_subword_cutting cutting;
} patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     {.kind = DG_SUBWORD_CUT_GPT2}},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
     "|\\s+(?!\\S)|\\s+",
     {.kind = DG_SUBWORD_CUT_LLAMA3, .digits = 3}},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
     "|\\s+(?!\\S)|\\s+",
     {.kind = DG_SUBWORD_CUT_LLAMA3, .digits = 1}},
};

/* ---- Helpers --------------------------------------------------------------------------------- */

enum dg_err dg_subword_refuse(struct dg_error *error, const char *what, struct dg_span name)
{
    return dg_error_set(error, DG_ERR_UNSUPPORTED, "%s '%.*s' is not supported", what,
                        name.len > 120 ? 120 : DG_SPAN_FMT(name));
}

enum dg_err dg_subword_text_of(const struct dg_json *object, const char *name,
                               struct dg_error *error, struct dg_span *text)
{
    *text = (struct dg_span){.ptr = "", .len = 0};
    return dg_json_get_string(object, name, DG_JSON_OPTIONAL, error, text);
}

enum dg_err dg_subword_keep(struct dg_subword *subword, struct dg_span text, struct dg_span *kept)
{
    const struct dg_span copy = dg_arena_copy(&subword->arena, text);
    if (!copy.ptr)
        return DG_ERR_NOMEM;
    *kept = copy;
    return DG_OK;
}

enum dg_err dg_subword_keep_short(struct dg_subword *subword, const struct dg_json *object,
                                  const char *name, bool may_be_empty, struct dg_error *error,
                                  struct dg_span *kept)
{
    struct dg_span text = {.ptr = "", .len = 0};
    enum dg_err err = dg_json_get_string(object, name, DG_JSON_REQUIRED, error, &text);
    if (!err && (text.len > TEXT_CAP || (!text.len && !may_be_empty)))
        err = dg_error_set(error, DG_ERR_RANGE, "field '%s' has %zu bytes, expected %d to %d", name,
                           text.len, !may_be_empty, TEXT_CAP);
    return err ? err : dg_subword_keep(subword, text, kept);
}

typedef enum dg_err read_fn(struct dg_subword *subword, const struct dg_json *step,
                            struct dg_span type, struct dg_error *error);

/* The steps of one part of the file: none, one, or those of a Sequence, which has its own name for
 * them. */
static enum dg_err read_steps(struct dg_subword *subword, const struct dg_json *step,
                              const char *list_name, read_fn *read, struct dg_error *error)
{
    const struct dg_json *list = NULL;
    struct dg_span type;
    if (dg_json_type(step) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_json_get_string(step, "type", DG_JSON_REQUIRED, error, &type);
    if (err)
        return err;
    if (!dg_span_eq(type, DG_SPAN("Sequence")))
        return read(subword, step, type, error);
    err = dg_json_get_array(step, list_name, DG_JSON_REQUIRED, error, &list);
    for (size_t i = 0; i < dg_json_len(list) && !err; i++) {
        const struct dg_json *item = dg_json_at(list, i);
        err = dg_json_get_string(item, "type", DG_JSON_REQUIRED, error, &type);
        if (!err)
            err = read(subword, item, type, error);
    }
    return err;
}

/* ---- Normalizer ------------------------------------------------------------------------------ */

static enum dg_err add_change(struct dg_subword *subword, struct dg_subword_changing change,
                              struct dg_error *error)
{
    if (subword->n_changes == DG_SUBWORD_STEPS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "more than %d steps of normalisation",
                            DG_SUBWORD_STEPS_MAX);
    subword->changes[subword->n_changes++] = change;
    return DG_OK;
}

static enum dg_err read_replace(struct dg_subword *subword, const struct dg_json *step,
                                struct dg_error *error)
{
    struct dg_subword_changing change = {.kind = DG_SUBWORD_REPLACE};
    const struct dg_json *pattern = NULL;
    struct dg_span regex;
    enum dg_err err = dg_json_get_object(step, "pattern", DG_JSON_REQUIRED, error, &pattern);
    if (!err)
        err = dg_subword_text_of(pattern, "Regex", error, &regex);
    if (!err && regex.len && !dg_span_eq(regex, DG_SPAN(" {2,}")))
        return dg_subword_refuse(error, "a replacement by the pattern", regex);
    if (!err && regex.len)
        change.kind = DG_SUBWORD_SQUEEZE;
    else if (!err)
        err = dg_subword_keep_short(subword, pattern, "String", false, error, &change.from);
    if (!err)
        err = dg_subword_keep_short(subword, step, "content", true, error, &change.to);
    return err ? err : add_change(subword, change, error);
}

static enum dg_err read_strip(struct dg_subword *subword, const struct dg_json *step,
                              struct dg_error *error)
{
    struct dg_subword_changing change = {.kind = DG_SUBWORD_STRIP};
    enum dg_err err = dg_json_get_bool(step, "strip_left", DG_JSON_REQUIRED, error, &change.left);
    if (!err)
        err = dg_json_get_bool(step, "strip_right", DG_JSON_REQUIRED, error, &change.right);
    return err ? err : add_change(subword, change, error);
}

static enum dg_err add_plain(struct dg_subword *subword, enum dg_subword_change kind,
                             struct dg_error *error)
{
    return add_change(subword, (struct dg_subword_changing){.kind = kind}, error);
}

struct bert_habits {
    bool cleans, spaces_han, lowers, drops_accents;
};

static enum dg_err add_bert(struct dg_subword *subword, const struct bert_habits *habits,
                            struct dg_error *error)
{
    enum dg_err err = habits->cleans ? add_plain(subword, DG_SUBWORD_CLEAN, error) : DG_OK;
    if (!err && habits->spaces_han)
        err = add_plain(subword, DG_SUBWORD_SPACE_HAN, error);
    if (!err && habits->drops_accents)
        err = add_plain(subword, DG_SUBWORD_NFD, error);
    if (!err && habits->drops_accents)
        err = add_plain(subword, DG_SUBWORD_DROP_ACCENTS, error);
    return !err && habits->lowers ? add_plain(subword, DG_SUBWORD_LOWERCASE, error) : err;
}

/* If the file does not mention accents, they are dropped when text is lower-cased. */
static enum dg_err read_bert(struct dg_subword *subword, const struct dg_json *step,
                             struct dg_error *error)
{
    struct bert_habits habits = {.cleans = true, .spaces_han = true, .lowers = true};
    enum dg_err err = dg_json_get_bool(step, "clean_text", DG_JSON_OPTIONAL, error, &habits.cleans);
    if (!err)
        err = dg_json_get_bool(step, "handle_chinese_chars", DG_JSON_OPTIONAL, error,
                               &habits.spaces_han);
    if (!err)
        err = dg_json_get_bool(step, "lowercase", DG_JSON_OPTIONAL, error, &habits.lowers);
    habits.drops_accents = habits.lowers;
    if (!err)
        err =
            dg_json_get_bool(step, "strip_accents", DG_JSON_OPTIONAL, error, &habits.drops_accents);
    return err ? err : add_bert(subword, &habits, error);
}

static enum dg_err read_normalizer(struct dg_subword *subword, const struct dg_json *step,
                                   struct dg_span type, struct dg_error *error)
{
    static const struct {
        const char *type;
        enum dg_subword_change kind;
    } plain[] = {
        {"NFC", DG_SUBWORD_NFC},
        {"NFD", DG_SUBWORD_NFD},
        {"NFKC", DG_SUBWORD_NFKC},
        {"NFKD", DG_SUBWORD_NFKD},
        {"Lowercase", DG_SUBWORD_LOWERCASE},
        {"StripAccents", DG_SUBWORD_DROP_MARKS},
    };
    struct dg_subword_changing change = {.kind = DG_SUBWORD_PREPEND};
    if (dg_span_eq(type, DG_SPAN("BertNormalizer")))
        return read_bert(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Replace")))
        return read_replace(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Strip")))
        return read_strip(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Precompiled"))) {
        change.kind = DG_SUBWORD_CHARSMAP;
        enum dg_err err = dg_subword_read_charsmap(subword, step, error, &change.map);
        return err ? err : add_change(subword, change, error);
    }
    if (dg_span_eq(type, DG_SPAN("Prepend"))) {
        enum dg_err err =
            dg_subword_keep_short(subword, step, "prepend", false, error, &change.from);
        return err ? err : add_change(subword, change, error);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (dg_span_eq(type, dg_span_cstr(plain[i].type)))
            return add_plain(subword, plain[i].kind, error);
    return dg_subword_refuse(error, "the normalizer", type);
}

/* ---- Pre-tokenizer --------------------------------------------------------------------------- */

static enum dg_err add_cut(struct dg_subword *subword, struct dg_subword_cutting cutting,
                           struct dg_error *error)
{
    if (subword->n_cuts == DG_SUBWORD_STEPS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "more than %d steps of cutting",
                            DG_SUBWORD_STEPS_MAX);
    subword->cuts[subword->n_cuts++] = cutting;
    return DG_OK;
}

static enum dg_err read_byte_level(struct dg_subword *subword, const struct dg_json *step,
                                   struct dg_error *error)
{
    bool adds_space = true, cuts = true;
    enum dg_err err =
        dg_json_get_bool(step, "add_prefix_space", DG_JSON_OPTIONAL, error, &adds_space);
    if (!err)
        err = dg_json_get_bool(step, "use_regex", DG_JSON_OPTIONAL, error, &cuts);
    if (!err && adds_space && subword->n_cuts)
        err = dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "a space before every piece of a text that is already cut is not supported");
    if (!err && adds_space)
        err = add_change(
            subword,
            (struct dg_subword_changing){.kind = DG_SUBWORD_PREPEND_NEW, .from = DG_SPAN(" ")},
            error);
    if (!err && cuts)
        err = add_cut(subword, patterns[0].cutting, error);
    subword->is_byte_level = true;
    return err;
}

static enum dg_err read_split(struct dg_subword *subword, const struct dg_json *step,
                              struct dg_error *error)
{
    const struct dg_json *pattern = NULL;
    struct dg_span regex, behavior;
    bool inverts = false;
    enum dg_err err = dg_json_get_object(step, "pattern", DG_JSON_REQUIRED, error, &pattern);
    if (!err)
        err = dg_json_get_string(pattern, "Regex", DG_JSON_REQUIRED, error, &regex);
    if (!err)
        err = dg_subword_text_of(step, "behavior", error, &behavior);
    if (!err)
        err = dg_json_get_bool(step, "invert", DG_JSON_OPTIONAL, error, &inverts);
    if (err)
        return err;
    /* These patterns match the whole text, so it makes no difference whether matches or the text
     * between them are kept. */
    if (!dg_span_eq(behavior, DG_SPAN("Isolated")) &&
        !(inverts && dg_span_eq(behavior, DG_SPAN("Removed"))))
        return dg_subword_refuse(error, "splitting with the behavior", behavior);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (dg_span_eq(regex, dg_span_cstr(patterns[i].regex)))
            return add_cut(subword, patterns[i].cutting, error);
    return dg_subword_refuse(error, "splitting by the pattern", regex);
}

/* After white space is dropped, every word gets a mark, so that cutting before marks cuts where the
 * space was. */
static enum dg_err add_marks(struct dg_subword *subword, struct dg_span mark, bool is_usual,
                             struct dg_error *error)
{
    if (subword->n_cuts != 1 || subword->cuts[0].kind != DG_SUBWORD_CUT_SPACES || !is_usual)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "Metaspace is supported as the first step of the pre-tokenizer, or "
                            "after WhitespaceSplit if it splits and always prepends its mark");
    subword->n_cuts = 0;
    enum dg_err err = add_change(
        subword, (struct dg_subword_changing){.kind = DG_SUBWORD_MARK_WORDS, .to = mark}, error);
    return err ? err
               : add_cut(subword,
                         (struct dg_subword_cutting){.kind = DG_SUBWORD_CUT_BEFORE, .mark = mark},
                         error);
}

static enum dg_err read_metaspace(struct dg_subword *subword, const struct dg_json *step,
                                  struct dg_error *error)
{
    static const char *const schemes[] = {"always", "first", "never", NULL};
    struct dg_subword_changing change = {.kind = DG_SUBWORD_REPLACE, .from = DG_SPAN(" ")};
    int scheme = 0;
    bool cuts = true, adds_space = true;
    enum dg_err err = dg_subword_keep_short(subword, step, "replacement", false, error, &change.to);
    if (!err)
        err = dg_json_get_bool(step, "add_prefix_space", DG_JSON_OPTIONAL, error, &adds_space);
    scheme = adds_space ? 0 : 2;
    if (!err)
        err = dg_json_get_choice(step, "prepend_scheme", DG_JSON_OPTIONAL, schemes, error, &scheme);
    if (!err)
        err = dg_json_get_bool(step, "split", DG_JSON_OPTIONAL, error, &cuts);
    if (!err && subword->n_cuts)
        return add_marks(subword, change.to, cuts && scheme == 0, error);
    if (!err)
        err = add_change(subword, change, error);
    if (!err && scheme != 2)
        err =
            add_change(subword,
                       (struct dg_subword_changing){.kind = scheme == 0 ? DG_SUBWORD_PREPEND_NEW
                                                                        : DG_SUBWORD_PREPEND_FIRST,
                                                    .from = change.to},
                       error);
    if (!err && cuts)
        err = add_cut(subword,
                      (struct dg_subword_cutting){.kind = DG_SUBWORD_CUT_BEFORE, .mark = change.to},
                      error);
    return err;
}

static enum dg_err read_pre_tokenizer(struct dg_subword *subword, const struct dg_json *step,
                                      struct dg_span type, struct dg_error *error)
{
    if (subword->is_byte_level)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "steps of the pre-tokenizer after ByteLevel are not supported");
    if (dg_span_eq(type, DG_SPAN("BertPreTokenizer")))
        return add_cut(subword, (struct dg_subword_cutting){.kind = DG_SUBWORD_CUT_BERT}, error);
    if (dg_span_eq(type, DG_SPAN("WhitespaceSplit")))
        return add_cut(subword, (struct dg_subword_cutting){.kind = DG_SUBWORD_CUT_SPACES}, error);
    if (dg_span_eq(type, DG_SPAN("ByteLevel")))
        return read_byte_level(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Split")))
        return read_split(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Metaspace")))
        return read_metaspace(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Digits"))) {
        bool apart = false;
        enum dg_err err =
            dg_json_get_bool(step, "individual_digits", DG_JSON_OPTIONAL, error, &apart);
        return err ? err
                   : add_cut(subword,
                             (struct dg_subword_cutting){.kind = DG_SUBWORD_CUT_DIGITS,
                                                         .digits = apart ? 1 : SIZE_MAX},
                             error);
    }
    return dg_subword_refuse(error, "the pre-tokenizer", type);
}

/* ---- Template -------------------------------------------------------------------------------- */

static enum dg_err put_part(struct dg_subword_template *template, struct dg_subword_part part,
                            struct dg_error *error)
{
    if (template->n == DG_SUBWORD_FRAME_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "a template has more than %d parts",
                            DG_SUBWORD_FRAME_MAX);
    template->parts[template->n++] = part;
    return DG_OK;
}

static enum dg_err put_text(struct dg_subword_template *template, unsigned text, unsigned type,
                            struct dg_error *error)
{
    return put_part(
        template, (struct dg_subword_part){.id = -1, .text = (uint8_t)text, .type = (uint8_t)type},
        error);
}

static enum dg_err put_sign(const struct dg_subword *subword, struct dg_subword_template *template,
                            struct dg_span sign, unsigned type, struct dg_error *error)
{
    const int32_t id = dg_subword_find(subword, sign);
    if (id < 0)
        return dg_subword_refuse(error, "in the template, the token", sign);
    return put_part(template, (struct dg_subword_part){.id = id, .type = (uint8_t)type}, error);
}

/* The default templates: one text by itself, or one text after the other. */
static enum dg_err put_nothing(struct dg_subword *subword, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    if (subword->single.n == 0)
        err = put_text(&subword->single, 0, 0, error);
    for (unsigned i = 0; i < 2 && !err && (subword->pair.n == 0 || i == 1); i++)
        err = subword->pair.n == i ? put_text(&subword->pair, i, i, error) : DG_OK;
    return err;
}

/* The ids of a special token of the template: those in the template's own list, maybe several, else
 * the token with this name. */
static enum dg_err read_sign(const struct dg_subword *subword, const struct dg_json *signs,
                             struct dg_span name, unsigned type,
                             struct dg_subword_template *template, struct dg_error *error)
{
    struct dg_json_iter iter = dg_json_iter(signs);
    const struct dg_json *sign = NULL, *ids = NULL;
    struct dg_span key;
    enum dg_err err = DG_OK;
    int64_t id = 0;
    while (dg_json_next(&iter, &key, &sign) && !dg_span_eq(key, name))
        sign = NULL;
    if (!sign)
        return put_sign(subword, template, name, type, error);
    err = dg_json_get_array(sign, "ids", DG_JSON_REQUIRED, error, &ids);
    for (size_t i = 0; i < dg_json_len(ids) && !err; i++) {
        err = dg_json_at_int(ids, "ids", i, 0, (int64_t)subword->size - 1, error, &id);
        if (!err)
            err =
                put_part(template,
                         (struct dg_subword_part){.id = (int32_t)id, .type = (uint8_t)type}, error);
    }
    return err;
}

static enum dg_err read_part(const struct dg_subword *subword, const struct dg_json *signs,
                             const struct dg_json *item, struct dg_subword_template *template,
                             struct dg_error *error)
{
    static const char *const texts[] = {"A", "B", NULL};
    const struct dg_json *sign = dg_json_get(item, "SpecialToken"), *part = NULL;
    struct dg_span name;
    int64_t type = 0;
    int text = 0;
    enum dg_err err =
        sign ? DG_OK : dg_json_get_object(item, "Sequence", DG_JSON_REQUIRED, error, &part);
    if (!err)
        err =
            dg_json_get_int(sign ? sign : part, "type_id", DG_JSON_OPTIONAL, 0, 255, error, &type);
    if (!err && !sign)
        err = dg_json_get_choice(part, "id", DG_JSON_REQUIRED, texts, error, &text);
    if (!err && !sign)
        return put_text(template, (unsigned)text, (unsigned)type, error);
    if (!err)
        err = dg_json_get_string(sign, "id", DG_JSON_REQUIRED, error, &name);
    return err ? err : read_sign(subword, signs, name, (unsigned)type, template, error);
}

/* Each text must occur once in the template. */
static enum dg_err read_list(const struct dg_subword *subword, const struct dg_json *step,
                             const char *name, size_t n_texts, struct dg_subword_template *template,
                             struct dg_error *error)
{
    const struct dg_json *list = NULL, *signs = NULL;
    size_t seen[2] = {0, 0};
    enum dg_err err = dg_json_get_array(step, name, DG_JSON_REQUIRED, error, &list);
    if (!err)
        err = dg_json_get_object(step, "special_tokens", DG_JSON_OPTIONAL, error, &signs);
    template->n = 0;
    if (!err && dg_json_len(list) > DG_SUBWORD_FRAME_MAX)
        err = dg_error_set(error, DG_ERR_LIMIT, "a template has more than %d parts",
                           DG_SUBWORD_FRAME_MAX);
    for (size_t i = 0; i < dg_json_len(list) && !err; i++)
        err = read_part(subword, signs, dg_json_at(list, i), template, error);
    for (size_t i = 0; i < template->n && !err; i++)
        if (template->parts[i].id < 0)
            seen[template->parts[i].text]++;
    if (!err && (seen[0] != 1 || seen[1] != n_texts - 1))
        err =
            dg_error_set(error, DG_ERR_FORMAT,
                         "the template '%s' has the first text %zu times and the second %zu times, "
                         "expected %s",
                         name, seen[0], seen[1], n_texts == 1 ? "the first once" : "each once");
    return err;
}

/* Reads both templates. That of a pair may be missing or empty, as in files of models that are
 * never given pairs. */
static enum dg_err read_template(struct dg_subword *subword, const struct dg_json *step,
                                 struct dg_error *error)
{
    enum dg_err err = read_list(subword, step, "single", 1, &subword->single, error);
    return err || dg_json_len(dg_json_get(step, "pair")) == 0
               ? err
               : read_list(subword, step, "pair", 2, &subword->pair, error);
}

/* ["[SEP]", 102] */
static enum dg_err read_named(const struct dg_json *step, const char *name, struct dg_error *error,
                              struct dg_span *sign)
{
    const struct dg_json *pair = NULL;
    enum dg_err err = dg_json_get_array(step, name, DG_JSON_REQUIRED, error, &pair);
    return err ? err : dg_json_at_string(pair, name, 0, error, sign);
}

/* BERT's:    [CLS] A [SEP]    [CLS] A [SEP] B [SEP]     B and the token after it are segment 1
 * RoBERTa's: <s> A </s>       <s> A </s> </s> B </s>    everything is segment 0 */
static enum dg_err put_encoder(struct dg_subword *subword, struct dg_span cls, struct dg_span sep,
                               bool is_roberta, struct dg_error *error)
{
    struct dg_subword_template *single = &subword->single, *pair = &subword->pair;
    const unsigned second = is_roberta ? 0 : 1;
    single->n = pair->n = 0;
    enum dg_err err = put_sign(subword, single, cls, 0, error);
    if (!err)
        err = put_text(single, 0, 0, error);
    if (!err)
        err = put_sign(subword, single, sep, 0, error);
    *pair = *single;
    if (!err && is_roberta)
        err = put_sign(subword, pair, sep, 0, error);
    if (!err)
        err = put_text(pair, 1, second, error);
    return err ? err : put_sign(subword, pair, sep, second, error);
}

static enum dg_err read_post_processor(struct dg_subword *subword, const struct dg_json *step,
                                       struct dg_span type, struct dg_error *error)
{
    const bool is_roberta = dg_span_eq(type, DG_SPAN("RobertaProcessing"));
    struct dg_span cls, sep;
    if (dg_span_eq(type, DG_SPAN("ByteLevel"))) /* it only changes offsets */
        return DG_OK;
    if (dg_span_eq(type, DG_SPAN("TemplateProcessing")))
        return read_template(subword, step, error);
    if (!is_roberta && !dg_span_eq(type, DG_SPAN("BertProcessing")))
        return dg_subword_refuse(error, "the post-processor", type);
    enum dg_err err = read_named(step, "cls", error, &cls);
    if (!err)
        err = read_named(step, "sep", error, &sep);
    return err ? err : put_encoder(subword, cls, sep, is_roberta, error);
}

/* ---- Decoder --------------------------------------------------------------------------------- */

static enum dg_err read_decoder_metaspace(struct dg_subword *subword, const struct dg_json *step,
                                          struct dg_error *error)
{
    static const char *const schemes[] = {"always", "first", "never", NULL};
    bool adds_space = true;
    enum dg_err err =
        dg_json_get_bool(step, "add_prefix_space", DG_JSON_OPTIONAL, error, &adds_space);
    int scheme = adds_space ? 0 : 2;
    if (!err)
        err = dg_json_get_choice(step, "prepend_scheme", DG_JSON_OPTIONAL, schemes, error, &scheme);
    subword->marks_space = true;
    subword->drops_space = scheme != 2;
    return err;
}

static enum dg_err read_decoder_wordpiece(struct dg_subword *subword, const struct dg_json *step,
                                          struct dg_error *error)
{
    subword->tidies = true;
    subword->joint = DG_SPAN("##");
    enum dg_err err = dg_json_get_bool(step, "cleanup", DG_JSON_OPTIONAL, error, &subword->tidies);
    if (!err && dg_json_type(dg_json_get(step, "prefix")) != DG_JSON_NULL)
        err = dg_subword_keep_short(subword, step, "prefix", true, error, &subword->joint);
    return err;
}

/* The only supported replacement turns the mark back into a space. */
static enum dg_err read_decoder_replace(struct dg_subword *subword, const struct dg_json *step,
                                        struct dg_error *error)
{
    const struct dg_json *pattern = NULL;
    struct dg_span from = {.ptr = "", .len = 0}, to = from;
    enum dg_err err = dg_json_get_object(step, "pattern", DG_JSON_REQUIRED, error, &pattern);
    if (!err)
        err = dg_subword_text_of(pattern, "String", error, &from);
    if (!err)
        err = dg_json_get_string(step, "content", DG_JSON_REQUIRED, error, &to);
    if (!err && (!dg_span_eq(from, DG_SPAN(DG_UTF8_CHAR_SPACE)) || !dg_span_eq(to, DG_SPAN(" "))))
        err = dg_subword_refuse(error,
                                "in the decoder, to replace anything but U+2581 by a space:", from);
    subword->marks_space = true;
    return err;
}

/* Supported decoders: bytes; marks that become spaces, of which the first may be dropped;
 * WordPiece. */
static enum dg_err read_decoder(struct dg_subword *subword, const struct dg_json *step,
                                struct dg_span type, struct dg_error *error)
{
    int64_t n = 0;
    if (dg_span_eq(type, DG_SPAN("WordPiece")) && subword->is_wordpiece)
        return read_decoder_wordpiece(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("ByteLevel")) && subword->is_byte_level)
        return DG_OK;
    if (dg_span_eq(type, DG_SPAN("ByteFallback")) || dg_span_eq(type, DG_SPAN("Fuse")))
        return DG_OK;
    if (dg_span_eq(type, DG_SPAN("Replace")))
        return read_decoder_replace(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Metaspace")))
        return read_decoder_metaspace(subword, step, error);
    if (dg_span_eq(type, DG_SPAN("Strip"))) {
        enum dg_err err = dg_json_get_int(step, "start", DG_JSON_OPTIONAL, 0, 1, error, &n);
        subword->drops_space = n == 1;
        return err;
    }
    return dg_subword_refuse(error, "the decoder", type);
}

/* ---- Signs ----------------------------------------------------------------------------------- */

enum { UNK = DG_SUBWORD_SIGNS, N_CONFIGURED };

/* The field of tokenizer_config.json for each special token, and its usual names: BERT's,
 * RoBERTa's. */
static const struct {
    const char *field, *names[2];
} sign_rows[N_CONFIGURED] = {
    [DG_SUBWORD_PAD] = {"pad_token", {"[PAD]", "<pad>"}},
    [DG_SUBWORD_CLS] = {"cls_token", {"[CLS]", "<s>"}},
    [DG_SUBWORD_SEP] = {"sep_token", {"[SEP]", "</s>"}},
    [DG_SUBWORD_MASK] = {"mask_token", {"[MASK]", "<mask>"}},
    [UNK] = {"unk_token", {"[UNK]", "<unk>"}},
};

/* "[MASK]", or {"content": "[MASK]", ...}; "" when the configuration does not say. */
static enum dg_err configured(const struct dg_json *config, size_t which, struct dg_error *error,
                              struct dg_span *text)
{
    const char *field = sign_rows[which].field;
    const struct dg_json *value = dg_json_get(config, field);
    *text = (struct dg_span){.ptr = "", .len = 0};
    return dg_json_type(value) == DG_JSON_OBJECT
               ? dg_json_get_string(value, "content", DG_JSON_REQUIRED, error, text)
               : dg_json_get_string(config, field, DG_JSON_OPTIONAL, error, text);
}

static enum dg_err find_signs(struct dg_subword *subword, const struct dg_json *config,
                              struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < DG_SUBWORD_SIGNS && !err; i++) {
        struct dg_span text = {.ptr = "", .len = 0};
        if (config)
            err = configured(config, i, error, &text);
        subword->signs[i] = text.len ? dg_subword_find(subword, text) : -1;
        for (size_t k = 0; k < 2 && !text.len && subword->signs[i] < 0; k++)
            subword->signs[i] = dg_subword_find(subword, dg_span_cstr(sign_rows[i].names[k]));
    }
    return err;
}

/* ---- All ------------------------------------------------------------------------------------- */

static enum dg_err read_tokenizer(struct dg_subword *subword, const struct dg_json *root,
                                  struct dg_error *error)
{
    const struct dg_json *model = NULL, *added = NULL;
    enum dg_err err = dg_json_get_object(root, "model", DG_JSON_REQUIRED, error, &model);
    if (!err)
        err = dg_json_get_array(root, "added_tokens", DG_JSON_OPTIONAL, error, &added);
    if (!err)
        err = read_steps(subword, dg_json_get(root, "normalizer"), "normalizers", read_normalizer,
                         error);
    subword->n_normal = subword->n_changes;
    if (!err)
        err = read_steps(subword, dg_json_get(root, "pre_tokenizer"), "pretokenizers",
                         read_pre_tokenizer, error);
    if (!err)
        err = dg_subword_read_model(subword, model, added, error);
    if (!err && (subword->is_wordpiece || subword->is_unigram) && subword->is_byte_level)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "%s after the pre-tokenizer ByteLevel is not supported",
                           subword->is_unigram ? "Unigram" : "WordPiece");
    if (!err)
        err = read_steps(subword, dg_json_get(root, "post_processor"), "processors",
                         read_post_processor, error);
    return err ? err
               : read_steps(subword, dg_json_get(root, "decoder"), "decoders", read_decoder, error);
}

/* Reads GPT-2 and RoBERTa without a tokenizer.json: the special tokens are in the vocabulary, and
 * tell RoBERTa from GPT-2. */
static enum dg_err read_pair(struct dg_subword *subword, const struct dg_json *vocab,
                             struct dg_span merges, struct dg_error *error)
{
    static const struct dg_span signs[] = {{"<|endoftext|>", 13}, {"<s>", 3},   {"</s>", 4},
                                           {"<pad>", 5},          {"<unk>", 5}, {"<mask>", 6}};
    subword->is_byte_level = true;
    enum dg_err err = add_cut(subword, patterns[0].cutting, error);
    if (!err)
        err = dg_subword_read_pair(subword, vocab, merges, signs, sizeof signs / sizeof *signs,
                                   error);
    const bool is_roberta = !err && dg_subword_find(subword, signs[1]) >= 0 &&
                            dg_subword_find(subword, signs[2]) >= 0 &&
                            dg_subword_find(subword, signs[5]) >= 0;
    return is_roberta ? put_encoder(subword, signs[1], signs[2], true, error) : err;
}

/* Reads BERT without a tokenizer.json. */
static enum dg_err read_lines(struct dg_subword *subword, struct dg_span lines,
                              const struct dg_json *config, struct dg_error *error)
{
    struct bert_habits habits = {.cleans = true, .spaces_han = true, .lowers = true};
    struct dg_span signs[N_CONFIGURED];
    bool cuts = true;
    enum dg_err err = DG_OK;
    if (config)
        err = dg_json_get_bool(config, "do_lower_case", DG_JSON_OPTIONAL, error, &habits.lowers);
    habits.drops_accents = habits.lowers;
    if (config && !err)
        err = dg_json_get_bool(config, "strip_accents", DG_JSON_OPTIONAL, error,
                               &habits.drops_accents);
    if (config && !err)
        err = dg_json_get_bool(config, "tokenize_chinese_chars", DG_JSON_OPTIONAL, error,
                               &habits.spaces_han);
    if (config && !err)
        err = dg_json_get_bool(config, "do_basic_tokenize", DG_JSON_OPTIONAL, error, &cuts);
    if (!err && !cuts)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "\"do_basic_tokenize\": false is not supported");
    for (size_t i = 0; i < N_CONFIGURED && !err; i++) {
        err = config ? configured(config, i, error, &signs[i]) : DG_OK;
        if (!config || !signs[i].len)
            signs[i] = dg_span_cstr(sign_rows[i].names[0]);
    }
    if (!err)
        err = add_bert(subword, &habits, error);
    subword->n_normal = subword->n_changes;
    if (!err)
        err = add_cut(subword, (struct dg_subword_cutting){.kind = DG_SUBWORD_CUT_BERT}, error);
    if (!err)
        err = dg_subword_read_lines(subword, lines, signs[UNK], signs, N_CONFIGURED, error);
    subword->tidies = true;
    return err ? err
               : put_encoder(subword, signs[DG_SUBWORD_CLS], signs[DG_SUBWORD_SEP], false, error);
}

static enum dg_err parse(struct dg_subword *subword, const struct dg_subword_files *files,
                         const struct dg_json *json, const struct dg_json *config,
                         struct dg_error *error)
{
    enum dg_err err = files->lines.len    ? read_lines(subword, files->lines, config, error)
                      : files->merges.len ? read_pair(subword, json, files->merges, error)
                                          : read_tokenizer(subword, json, error);
    if (!err)
        err = put_nothing(subword, error);
    return err ? err : find_signs(subword, config, error);
}

enum dg_err dg_subword_parse(struct dg_subword **out, const struct dg_subword_files *files,
                             struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = FILE_MAX, .max_depth = DEPTH_MAX, .max_values = VALUES_MAX};
    struct dg_json *json = NULL, *config = NULL;
    struct dg_subword *subword = dg_xcalloc(1, sizeof *subword);
    enum dg_err err = DG_OK;
    subword->unk = -1;
    dg_arena_init(&subword->arena, ARENA_MAX);
    memset(subword->byte_ids, -1, sizeof subword->byte_ids);
    if (files->config.len) {
        err = dg_json_parse(files->config, &limits, error, &config);
        err = err ? dg_error_wrap(error, err, "tokenizer_config.json") : DG_OK;
    }
    if (!err && !files->lines.len)
        err = dg_json_parse(files->json, &limits, error, &json);
    if (!err)
        err = parse(subword, files, json, config, error);
    dg_json_free(json);
    dg_json_free(config);
    if (err) {
        dg_subword_close(subword);
        return err == DG_ERR_NOMEM ? dg_error_set(error, err, "no memory for the vocabulary") : err;
    }
    *out = subword;
    return DG_OK;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Refuses an empty file by its name, because for dg_subword_parse an empty file does not exist. */
static enum dg_err map(struct dg_map_file *file, const char *dir, const char *name,
                       struct dg_span *text, struct dg_error *error)
{
    char path[PATH_CAP];
    if ((size_t)snprintf(path, PATH_CAP, "%s/%s", dir, name) >= PATH_CAP)
        return dg_error_set(error, DG_ERR_LIMIT, "the path of %s is too long", name);
    enum dg_err err = dg_map_file_read(file, path, FILE_MAX, error);
    if (err)
        return err;
    *text = dg_span_make((const char *)file->bytes, file->len);
    return file->len ? DG_OK : dg_error_set(error, DG_ERR_TRUNCATED, "%s: the file is empty", path);
}

static bool has(const char *dir, const char *name)
{
    char path[PATH_CAP];
    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path &&
           access(path, F_OK) == 0;
}

bool dg_subword_is_there(const char *dir)
{
    return has(dir, "tokenizer.json") || (has(dir, "vocab.json") && has(dir, "merges.txt")) ||
           has(dir, "vocab.txt");
}

enum dg_err dg_subword_open(struct dg_subword **subword, const char *dir, struct dg_error *error)
{
    struct dg_map_file maps[3] = {{.bytes = NULL}, {.bytes = NULL}, {.bytes = NULL}};
    struct dg_subword_files files = {.json = {.ptr = "", .len = 0}};
    const char *name = has(dir, "tokenizer.json")                         ? "tokenizer.json"
                       : has(dir, "vocab.json") && has(dir, "merges.txt") ? "vocab.json"
                                                                          : "vocab.txt";
    const bool is_lines = strcmp(name, "vocab.txt") == 0;
    enum dg_err err = map(&maps[0], dir, name, is_lines ? &files.lines : &files.json, error);
    if (!err && strcmp(name, "vocab.json") == 0)
        err = map(&maps[1], dir, "merges.txt", &files.merges, error);
    if (!err && has(dir, "tokenizer_config.json"))
        err = map(&maps[2], dir, "tokenizer_config.json", &files.config, error);
    if (!err) {
        err = dg_subword_parse(subword, &files, error);
        err = err ? dg_error_wrap(error, err, "%s/%s", dir, name) : DG_OK;
    }
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (maps[i].bytes)
            dg_map_file_close(&maps[i]);
    return err;
}

void dg_subword_close(struct dg_subword *subword)
{
    if (!subword)
        return;
    dg_map_deinit(&subword->ids);
    dg_arena_deinit(&subword->arena);
    dg_prefixes_deinit(&subword->list);
    dg_prefixes_deinit(&subword->added_list);
    dg_free(subword->pieces);
    dg_free(subword->kinds);
    dg_free(subword->merges);
    dg_free(subword->scores);
    dg_free(subword->added);
    dg_free(subword->added_texts);
    dg_free(subword);
}
