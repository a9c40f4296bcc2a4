/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Makes two lists of languages from a vocabulary, a configuration and a name. The vocabulary's
 * words for languages (>>fra<<, __fr__, fra_Latn) decide how the network is told; the configuration
 * selects and renames languages; the directory's name counts where both say nothing. */
#include "engine/models/langs.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct side {
    struct dg_lang *items; /* owned */
    size_t n, cap;
};

struct making {
    const struct dg_langs_opts *opts;
    struct dg_tokenizer_language *words; /* owned; [n_words] */
    size_t n_words;
};

/* ---- Names ----------------------------------------------------------------------------------- */

/* Returns true for "Hans" or "Latn": a script, which belongs to the part before it. */
static bool is_script(const char *part, size_t len)
{
    if (len != 4 || !isupper((unsigned char)part[0]))
        return false;
    return islower((unsigned char)part[1]) && islower((unsigned char)part[2]) &&
           islower((unsigned char)part[3]);
}

/* Returns true for "fr", or for "zh-Hans" with its script. */
static bool is_language_part(const char *part, size_t len)
{
    const char *dash = memchr(part, '-', len);
    const size_t n = dash ? (size_t)(dash - part) : len;
    return n >= 2 && n <= 3 && isalpha((unsigned char)part[0]);
}

/* Returns the language named by the last (0) or the one before the last part (1) of "opus-mt-fr-en"
 * or "zh-Hans-en"; empty when the name has no such part. */
static struct dg_span language_of_name(const char *name, int from_end)
{
    const char *end = name + strlen(name);
    for (;;) {
        const char *start = end;
        while (start > name && start[-1] != '-')
            start--;
        if (start > name && is_script(start, (size_t)(end - start)))
            for (start--; start > name && start[-1] != '-';)
                start--;
        size_t len = (size_t)(end - start);
        if (from_end-- == 0)
            return is_language_part(start, len) ? dg_span_make(start, len) : (struct dg_span){0};
        if (start == name)
            return (struct dg_span){0};
        end = start - 1;
    }
}

/* Translates codes of vocabularies that are not an ISO 639 code, or that are the code of another
 * language. */
static const char *iso_of(struct dg_span code)
{
    static const struct {
        const char *word, *iso;
    } ours[] = {
        {"ns", "nso"},    /* M2M100's tag for Northern Sotho */
        {"pob", "pt-BR"}, /* OPUS: Brazilian Portuguese, as makers of subtitles call it */
        {"ze_zh", "zh"},
        {"ze_en", "en"}, /* OPUS: a side of bilingual subtitles */
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (dg_span_eq(code, dg_span_cstr(ours[i].word)))
            return ours[i].iso;
    return NULL;
}

static void copy(char to[DG_LANG_CODE], struct dg_span text)
{
    snprintf(to, DG_LANG_CODE, "%.*s", DG_SPAN_FMT(text));
}

static bool is_same_word(struct dg_span text, const char *word)
{
    if (text.len == 0 || text.len != strlen(word))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (tolower((unsigned char)text.ptr[i]) != tolower((unsigned char)word[i]))
            return false;
    return true;
}

/* ---- Sides ----------------------------------------------------------------------------------- */

static bool has_tag(const struct side *side, const char *text)
{
    for (size_t i = 0; i < side->n; i++)
        if (strcmp(side->items[i].tag.text, text) == 0)
            return true;
    return false;
}

/* Sets the language's name; a language without a name is called by its code. */
static void name_it(struct dg_lang *lang)
{
    struct dg_buf name;
    dg_buf_init(&name, 4 * DG_LANG_NAME);
    lang->name[0] = '\0';
    if (*lang->tag.text && dg_langtag_name(&lang->tag, "en", &name) == DG_OK &&
        name.len < DG_LANG_NAME)
        memcpy(lang->name, name.ptr ? name.ptr : "", name.len + 1);
    dg_buf_deinit(&name);
}

static enum dg_err add(struct side *side, const struct dg_lang *lang, struct dg_error *error)
{
    if (side->n == DG_LANGS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "more than %d languages on one side",
                            DG_LANGS_MAX);
    if (DG_GROW(side->items, side->n, side->cap, 4))
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for %zu languages", 2 * side->cap);
    side->items[side->n++] = *lang;
    return DG_OK;
}

/* Adds every language of `all`. Reading two hundred tags takes 10 ms, so it is done once. */
static enum dg_err add_all(struct side *side, const struct side *all, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < all->n && !err; i++)
        err = add(side, &all->items[i], error);
    return err;
}

/* Adds a language that has no word in the vocabulary. If `code` is not a language tag, requests
 * must name the model. */
static enum dg_err add_plain(struct side *side, struct dg_span code, struct dg_error *error)
{
    struct dg_lang lang = {.source_id = -1, .target_id = -1};
    copy(lang.code, code);
    if (code.len == 0 || dg_langtag_parse(code, &lang.tag, NULL))
        lang.tag = (struct dg_langtag){.text = ""};
    name_it(&lang);
    return add(side, &lang, error);
}

/* Reads a word of the vocabulary, and skips one that names no language. If two words name the same
 * language, the second is found only by its own spelling. */
static enum dg_err add_word(struct side *side, const struct dg_tokenizer_language *word,
                            struct dg_error *error)
{
    struct dg_lang lang = {.source_id = word->source_id, .target_id = word->target_id};
    const char *iso = iso_of(word->code);
    if (word->code.len >= DG_LANG_CODE ||
        dg_langtag_parse(iso ? dg_span_cstr(iso) : word->code, &lang.tag, NULL))
        return DG_OK;
    copy(lang.token, word->code);
    copy(lang.code, has_tag(side, lang.tag.text) ? word->code : dg_span_cstr(lang.tag.text));
    name_it(&lang);
    return add(side, &lang, error);
}

static enum dg_err add_words(struct side *side, const struct making *m, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < m->n_words && !err; i++)
        err = add_word(side, &m->words[i], error);
    return err;
}

/* ---- What is configured ---------------------------------------------------------------------- */

/* Takes the next item of "fr, pt-BR=>>pob<<" off the list; returns false at its end. */
static bool next_item(struct dg_span *list, struct dg_span *code, struct dg_span *word)
{
    while (list->len && (list->ptr[0] == ' ' || list->ptr[0] == ',' || list->ptr[0] == '\t'))
        *list = dg_span_sub(*list, 1, list->len);
    size_t len = 0;
    while (len < list->len && list->ptr[len] != ' ' && list->ptr[len] != ',' &&
           list->ptr[len] != '\t')
        len++;
    struct dg_span item = dg_span_sub(*list, 0, len);
    const char *equals = len ? memchr(item.ptr, '=', len) : NULL;
    size_t n_code = equals ? (size_t)(equals - item.ptr) : len;
    *list = dg_span_sub(*list, len, list->len);
    *code = dg_span_sub(item, 0, n_code);
    *word = equals ? dg_span_sub(item, n_code + 1, len) : (struct dg_span){0};
    return len > 0;
}

static size_t count_items(const char *text)
{
    struct dg_span list = dg_span_cstr(text), code, word;
    size_t n = 0;
    while (next_item(&list, &code, &word))
        n++;
    return n;
}

static enum dg_err refuse(const struct side *all, struct dg_span item, const char *what,
                          struct dg_error *error)
{
    char some[160] = "";
    size_t len = 0, n = 0;
    for (; n < all->n && len + DG_LANG_CODE + 2 < sizeof some; n++)
        len += (size_t)snprintf(some + len, sizeof some - len, "%s%s", n ? ", " : "",
                                all->items[n].code);
    return dg_error_set(
        error, DG_ERR_NOT_FOUND, "%s '%.*s' is not a language of the model, which has %s%s (%zu)",
        what, item.len > 40 ? 40 : DG_SPAN_FMT(item), some, n < all->n ? ", ..." : "", all->n);
}

/* Finds a word as it may be written: with or without the signs around it in the vocabulary. */
static size_t find_word(const struct making *m, const struct side *all, struct dg_span word)
{
    size_t i = 0;
    for (size_t k = 0; k < m->n_words; k++)
        if (dg_span_eq(word, m->words[k].token))
            word = m->words[k].code;
    while (i < all->n && !is_same_word(word, all->items[i].token))
        i++;
    return i;
}

/* Picks the languages of `text`, each of which must be one of `all`. */
static enum dg_err pick(struct side *side, const struct making *m, const struct side *all,
                        const char *text, const char *what, struct dg_error *error)
{
    struct dg_span list = dg_span_cstr(text), code, word;
    enum dg_err err = DG_OK;
    while (!err && next_item(&list, &code, &word)) {
        struct dg_langtag tag;
        err = dg_langtag_parse(code, &tag, error);
        if (err)
            return dg_error_wrap(error, err, "%s", what);
        size_t at =
            word.len ? find_word(m, all, word) : dg_langs_find(all->items, all->n, &tag, code);
        if (at == all->n)
            return refuse(all, word.len ? word : code, what, error);
        struct dg_lang lang = all->items[at];
        lang.tag = tag;
        copy(lang.code, code);
        name_it(&lang);
        err = add(side, &lang, error);
    }
    return err;
}

/* Sources without words in the vocabulary: those configured, or those of the name. */
static enum dg_err plain_sources(struct side *side, const struct making *m, struct dg_error *error)
{
    struct dg_span list = dg_span_cstr(m->opts->source), code, word;
    enum dg_err err = DG_OK;
    while (!err && next_item(&list, &code, &word))
        err = add_plain(side, code, error);
    return err || side->n ? err : add_plain(side, language_of_name(m->opts->name, 1), error);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

/* M2M100 and NLLB: every language on both sides. */
static enum dg_err make_any_pair(struct dg_langs *langs, const struct making *m,
                                 struct side sides[2], struct dg_error *error)
{
    struct side all = {0};
    enum dg_err err = add_words(&all, m, error);
    for (size_t i = 0; i < all.n; i++)
        if (!err && all.items[i].target_id < 0)
            err = dg_error_set(error, DG_ERR_FORMAT,
                               "the vocabulary of the target has no word for the language %s",
                               all.items[i].token);
    if (!err && all.n == 0)
        err = dg_error_set(
            error, DG_ERR_FORMAT,
            "the model has to be told languages, but its vocabulary has no words for them (__fr__ "
            "or fra_Latn); import it again with its added_tokens.json or special_tokens_map.json");
    const char *const texts[] = {m->opts->source, m->opts->target}, *const names[] = {"source",
                                                                                      "target"};
    for (size_t i = 0; i < 2 && !err; i++)
        err = *texts[i] ? pick(&sides[i], m, &all, texts[i], names[i], error)
                        : add_all(&sides[i], &all, error);
    langs->rule =
        m->opts->rule == DG_LANG_SOURCE_LAST ? DG_LANGS_SOURCE_LAST : DG_LANGS_SOURCE_FIRST;
    dg_free(all.items);
    return err;
}

/* Returns true for a name like "opus-mt-gmw-gmw", whose sources are its targets. */
static bool is_within_family(const char *name)
{
    struct dg_span from = language_of_name(name, 1), to = language_of_name(name, 0);
    return from.len == 3 && dg_span_eq(from, to);
}

/* OPUS-MT: >>fra<< if there are such words and the target that is configured or named is among
 * them. */
static enum dg_err make_opus(struct dg_langs *langs, const struct making *m, struct side sides[2],
                             struct dg_error *error)
{
    struct side all = {0};
    const char *text = m->opts->target;
    struct dg_span named = *text ? dg_span_cstr(text) : language_of_name(m->opts->name, 0);
    struct dg_langtag tag;
    enum dg_err err = add_words(&all, m, error);
    size_t n_said = count_items(text), usual = all.n;
    bool is_tag = n_said < 2 && !memchr(named.ptr ? named.ptr : "", '=', named.len) &&
                  dg_langtag_parse(named, &tag, NULL) == DG_OK;
    if (is_tag)
        usual = dg_langs_find(all.items, all.n, &tag, named);
    if (!err && n_said > 1 && all.n == 0)
        err = dg_error_set(error, DG_ERR_INVALID,
                           "%zu target languages are configured, but no word of the vocabulary "
                           "chooses among them; name the one that the model translates to",
                           n_said);
    /* three letters stand for a family of languages, such as "roa" */
    bool is_other = is_tag && usual == all.n && strlen(tag.language) == 2;
    langs->rule = all.n == 0 || is_other ? DG_LANGS_FIXED : DG_LANGS_TARGET_FIRST;
    if (!err && langs->rule == DG_LANGS_FIXED)
        err = add_plain(&sides[1], named, error);
    else if (!err && *text)
        err = pick(&sides[1], m, &all, text, "target", error);
    else if (!err)
        err = add_all(&sides[1], &all, error);
    langs->usual_target = langs->rule == DG_LANGS_TARGET_FIRST && !*text ? usual : DG_LANGS_MAX;
    if (!err && langs->rule == DG_LANGS_TARGET_FIRST && !*m->opts->source &&
        is_within_family(m->opts->name))
        err = add_all(&sides[0], &all, error);
    else if (!err)
        err = plain_sources(&sides[0], m, error);
    dg_free(all.items);
    return err;
}

/* Makes the languages for a template: those configured, otherwise those of the name. */
static enum dg_err make_told(struct dg_langs *langs, const struct making *m, struct side sides[2],
                             struct dg_error *error)
{
    struct dg_span list = dg_span_cstr(m->opts->target), code, word;
    enum dg_err err = plain_sources(&sides[0], m, error);
    while (!err && next_item(&list, &code, &word))
        err = add_plain(&sides[1], code, error);
    if (!err && sides[1].n == 0)
        err = add_plain(&sides[1], language_of_name(m->opts->name, 0), error);
    for (size_t side = 0; side < 2 && !err; side++)
        for (size_t i = 0; i < sides[side].n && !err; i++)
            if (!*sides[side].items[i].tag.text)
                err = dg_error_set(error, DG_ERR_INVALID,
                                   "%s: '%s' is not a language; a template needs to know its "
                                   "languages, so set source and target",
                                   side ? "target" : "source", sides[side].items[i].code);
    langs->rule = DG_LANGS_IN_WORDS;
    return err;
}

static enum dg_err list_words(struct making *m, struct dg_error *error)
{
    enum dg_err err = dg_tokenizer_languages(m->opts->tokenizer, &m->words, &m->n_words);
    if (err)
        return dg_error_set(error, err, "no memory for the languages");
    size_t n = 0;
    for (size_t i = 0; i < m->n_words; i++) /* each family of models has its own spelling */
        if (dg_span_starts(m->words[i].token, DG_SPAN(">>")) == (m->opts->rule == DG_LANG_NONE))
            m->words[n++] = m->words[i];
    m->n_words = n;
    return DG_OK;
}

/* ---- Manners --------------------------------------------------------------------------------- */

/* Finds the word of a formality: ">>formal<<" is a word of the source vocabulary, "target:<F>" of
 * the target vocabulary. */
static enum dg_err find_manner(const struct dg_langs_opts *opts, struct dg_span word,
                               bool is_informal, struct dg_error *error, struct dg_manner *manner)
{
    *manner = (struct dg_manner){.before = opts->forced_id, .is_informal = is_informal};
    manner->is_target = dg_span_starts(word, DG_SPAN("target:"));
    if (manner->is_target)
        word = dg_span_sub(word, strlen("target:"), word.len);
    manner->id = manner->is_target ? dg_tokenizer_find_target(opts->tokenizer, word)
                                   : dg_tokenizer_find(opts->tokenizer, word);
    if (manner->id >= 0)
        return DG_OK;
    return dg_error_set(error, DG_ERR_NOT_FOUND, "%s: the %s vocabulary has no word '%.*s'",
                        is_informal ? "informal" : "formal",
                        manner->is_target ? "target" : "source",
                        word.len > 40 ? 40 : DG_SPAN_FMT(word));
}

static struct dg_manner *slot_of(struct dg_lang *lang, bool is_informal)
{
    return is_informal ? &lang->informal : &lang->formal;
}

/* Sets the words of a formality: one for all targets, and those for single targets, in any
 * order. */
static enum dg_err set_manner(const struct dg_langs_opts *opts, const char *text, bool is_informal,
                              struct side *targets, struct dg_error *error)
{
    struct dg_span list = dg_span_cstr(text ? text : ""), code, word;
    struct dg_manner manner, common = {.id = -1, .is_informal = is_informal};
    struct dg_langtag tag;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < targets->n; i++)
        *slot_of(&targets->items[i], is_informal) = common;
    while (!err && next_item(&list, &code, &word)) {
        bool is_one = word.ptr && dg_langtag_parse(code, &tag, NULL) == DG_OK;
        struct dg_span whole =
            dg_span_make(code.ptr, word.ptr ? (size_t)(word.ptr + word.len - code.ptr) : code.len);
        size_t at = is_one ? dg_langs_find(targets->items, targets->n, &tag, code) : targets->n;
        if (is_one && at == targets->n)
            return refuse(targets, code, is_informal ? "informal" : "formal", error);
        err = find_manner(opts, is_one ? word : whole, is_informal, error, &manner);
        if (!err && is_one)
            *slot_of(&targets->items[at], is_informal) = manner;
        else if (!err)
            common = manner;
    }
    for (size_t i = 0; i < targets->n; i++)
        if (slot_of(&targets->items[i], is_informal)->id < 0)
            *slot_of(&targets->items[i], is_informal) = common;
    return err;
}

/* ---- Life ------------------------------------------------------------------------------------ */

enum dg_err dg_langs_new(struct dg_langs **out, const struct dg_langs_opts *asked,
                         struct dg_error *error)
{
    struct dg_langs_opts opts = *asked;
    struct making m = {.opts = &opts};
    struct side sides[2] = {{0}, {0}};
    struct dg_langs *langs = dg_try_calloc(1, sizeof *langs);
    if (!langs)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for the languages");
    opts.source = opts.source ? opts.source : "";
    opts.target = opts.target ? opts.target : "";
    langs->usual_target = DG_LANGS_MAX;
    enum dg_err err = list_words(&m, error);
    if (!err)
        err = opts.is_told                ? make_told(langs, &m, sides, error)
              : opts.rule == DG_LANG_NONE ? make_opus(langs, &m, sides, error)
                                          : make_any_pair(langs, &m, sides, error);
    if (!err)
        err = set_manner(&opts, opts.formal, false, &sides[1], error);
    if (!err)
        err = set_manner(&opts, opts.informal, true, &sides[1], error);
    dg_free(m.words);
    atomic_init(&langs->n_refs, 1);
    langs->sources = sides[0].items;
    langs->targets = sides[1].items;
    langs->n_sources = sides[0].n;
    langs->n_targets = sides[1].n;
    if (langs->usual_target >= langs->n_targets)
        langs->usual_target = langs->n_targets == 1 ? 0 : langs->n_targets;
    if (err) {
        dg_langs_unref(langs);
        return err;
    }
    *out = langs;
    return DG_OK;
}

struct dg_langs *dg_langs_ref(struct dg_langs *langs)
{
    atomic_fetch_add(&langs->n_refs, 1);
    return langs;
}

void dg_langs_unref(struct dg_langs *langs)
{
    if (!langs || atomic_fetch_sub(&langs->n_refs, 1) > 1)
        return;
    dg_free(langs->sources);
    dg_free(langs->targets);
    dg_free(langs);
}

/* ---- Questions ------------------------------------------------------------------------------- */

size_t dg_langs_find(const struct dg_lang *list, size_t n, const struct dg_langtag *tag,
                     struct dg_span text)
{
    enum dg_langtag_fit best = DG_LANGTAG_NONE;
    size_t found = n;
    for (size_t i = 0; i < n; i++)
        if (is_same_word(text, list[i].code) || is_same_word(text, list[i].token))
            return i;
    for (size_t i = 0; i < n; i++) {
        enum dg_langtag_fit fit = dg_langtag_compare(tag, &list[i].tag);
        bool is_plainer = fit == best && fit != DG_LANGTAG_NONE && fit != DG_LANGTAG_SAME &&
                          list[found].tag.region[0] && !list[i].tag.region[0];
        if (fit > best || is_plainer) {
            best = fit;
            found = i;
        }
    }
    return found;
}

struct dg_lang_pair dg_langs_pair(const struct dg_langs *langs, size_t source, size_t target)
{
    struct dg_lang_pair pair = {
        &langs->sources[source], &langs->targets[target], -1, -1, {-1, -1}, 0, NULL};
    switch (langs->rule) {
    case DG_LANGS_FIXED:
    case DG_LANGS_IN_WORDS:
        break;
    case DG_LANGS_TARGET_FIRST:
        pair.first_id = pair.target->source_id;
        break;
    case DG_LANGS_SOURCE_FIRST:
        pair.first_id = pair.source->source_id;
        pair.lead[pair.n_lead++] = pair.target->target_id;
        break;
    case DG_LANGS_SOURCE_LAST:
        pair.last_id = pair.source->source_id;
        pair.lead[pair.n_lead++] = pair.target->target_id;
        break;
    }
    return pair;
}

void dg_pair_say(struct dg_lang_pair *pair, const struct dg_manner *manner)
{
    pair->manner = manner;
    if (manner->is_target && pair->n_lead == 0 && manner->before >= 0)
        pair->lead[pair->n_lead++] = manner->before;
    if (manner->is_target)
        pair->lead[pair->n_lead++] = manner->id;
}

static enum dg_err choose(const struct dg_lang *list, size_t n, const char *text, const char *what,
                          struct dg_error *error, size_t *at)
{
    struct dg_langtag tag;
    struct side all = {.items = (struct dg_lang *)(uintptr_t)list, .n = n};
    if (!*text)
        return *at < n ? DG_OK
                       : dg_error_set(error, DG_ERR_INVALID,
                                      "the model has %zu %s languages (%s, %s, ...); name one", n,
                                      what, list[0].code, list[1].code);
    enum dg_err err = dg_langtag_parse(dg_span_cstr(text), &tag, error);
    if (err)
        return dg_error_wrap(error, err, "%s", what);
    *at = dg_langs_find(list, n, &tag, dg_span_cstr(text));
    return *at < n ? DG_OK : refuse(&all, dg_span_cstr(text), what, error);
}

enum dg_err dg_langs_choose(const struct dg_langs *langs, const char *source, const char *target,
                            struct dg_error *error, struct dg_lang_pair *pair)
{
    bool tells_source = langs->rule == DG_LANGS_SOURCE_FIRST ||
                        langs->rule == DG_LANGS_SOURCE_LAST || langs->rule == DG_LANGS_IN_WORDS;
    size_t s = langs->n_sources == 1 || !tells_source ? 0 : langs->n_sources,
           t = langs->usual_target;
    enum dg_err err =
        choose(langs->sources, langs->n_sources, tells_source ? source : "", "source", error, &s);
    if (!err)
        err = choose(langs->targets, langs->n_targets, langs->rule == DG_LANGS_FIXED ? "" : target,
                     "target", error, &t);
    if (!err)
        *pair = dg_langs_pair(langs, s, t);
    return err;
}
