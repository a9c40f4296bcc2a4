/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The words are first names and towns: in every language they may stand where the name of a thing
 * stands, and models copy them rather than translate them. */
#include "engine/words/placeholders.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/target_ids.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const candidates[] = {
    "Tom",     "Ken",    "Boston", "Bob",     "Bill",  "Jack",  "John",   "Jim",
    "Mike",    "Paul",   "Alice",  "Peter",   "Kate",  "Nancy", "Jane",   "Emily",
    "Linda",   "Tony",   "Smith",  "Jackson", "Tokyo", "Kyoto", "Osaka",  "Brown",
    "Harvard", "David",  "Robert", "Susan",   "Chris", "Anna",  "Berlin", "Max",
    "Carlos",  "George", "Fred",   "Henry",   "Betty", "Lucy",  "Meg",    "Dan",
};
enum { N_CANDIDATES = sizeof candidates / sizeof *candidates };

/* ---- Words ----------------------------------------------------------------------------------- */

/* Returns true when the source vocabulary reads the word without an unknown token. */
static enum dg_err reads(const struct dg_tokenizer *tokenizer, struct dg_tokenizer_work *work,
                         const char *word, bool *fits)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const int32_t unk = dg_tokenizer_source(tokenizer).unk;
    const struct dg_token *tokens;
    size_t n;
    enum dg_err err =
        dg_tokenizer_encode(tokenizer, work, dg_span_cstr(word), &opts, NULL, &tokens, &n);
    if (err)
        return err;
    *fits = n <= DG_PLACEHOLDERS_WORD_IDS + 1;
    for (size_t i = 0; i < n; i++)
        *fits = *fits && tokens[i].id != unk;
    return DG_OK;
}

/* Encodes the word as target tokens; n_ids 0: it would take too many. */
static enum dg_err says(const struct dg_tokenizer *tokenizer, struct dg_spm_work *work,
                        const char *word, struct dg_placeholders_word *out)
{
    const struct dg_tokenizer_side side = dg_tokenizer_target(tokenizer);
    int32_t *ids = NULL;
    size_t n = 0;
    *out = (struct dg_placeholders_word){.text = word};
    enum dg_err err = dg_target_ids(tokenizer, work, dg_span_cstr(word), &ids, &n);
    if (err)
        return err;
    n -= n > 0 && side.eos >= 0;
    bool fits = n > 0 && n <= DG_PLACEHOLDERS_WORD_IDS;
    for (size_t i = 0; fits && i < n; i++)
        fits = ids[i] != side.unk;
    if (fits) {
        memcpy(out->ids, ids, n * sizeof *ids);
        out->n_ids = n;
    }
    dg_free(ids);
    return DG_OK;
}

/* Adds a word after those that take fewer tokens, unless its first token is another's. */
static void add_word(struct dg_placeholders_words *words, const struct dg_placeholders_word *word)
{
    for (size_t i = 0; i < words->n; i++)
        if (words->items[i].ids[0] == word->ids[0])
            return;
    size_t at = words->n++;
    for (; at > 0 && words->items[at - 1].n_ids > word->n_ids; at--)
        words->items[at] = words->items[at - 1];
    words->items[at] = *word;
}

enum dg_err dg_placeholders_words_init(struct dg_placeholders_words *words,
                                       const struct dg_tokenizer *tokenizer)
{
    struct dg_tokenizer_work *source = dg_tokenizer_work_new();
    struct dg_spm_work *target = dg_spm_work_new();
    enum dg_err err = source && target ? DG_OK : DG_ERR_NOMEM;
    words->n = 0;
    for (size_t i = 0; !err && i < N_CANDIDATES; i++) {
        struct dg_placeholders_word word = {.n_ids = 0};
        bool fits = false;
        err = reads(tokenizer, source, candidates[i], &fits);
        if (!err && fits)
            err = says(tokenizer, target, candidates[i], &word);
        if (!err && word.n_ids)
            add_word(words, &word);
    }
    dg_tokenizer_work_free(source);
    dg_spm_work_free(target);
    return err;
}

static bool is_wordy(uint32_t cp);

enum dg_err dg_placeholders_joining(const struct dg_tokenizer *tokenizer, size_t n, uint8_t **out)
{
    uint8_t *joining = dg_try_calloc(n, 1);
    if (!joining)
        return DG_ERR_NOMEM;
    size_t size = dg_tokenizer_target(tokenizer).size;
    for (size_t id = 0; id < n && id < size; id++) {
        uint32_t cp;
        struct dg_span piece = dg_tokenizer_target_piece(tokenizer, (int32_t)id);
        joining[id] = dg_utf8_decode(piece, 0, &cp) > 0 && cp != 0x2581 && is_wordy(cp);
    }
    *out = joining;
    return DG_OK;
}

/* ---- Finding --------------------------------------------------------------------------------- */

void dg_placeholders_init(struct dg_placeholders *placeholders)
{
    *placeholders = (struct dg_placeholders){.n = 0};
    dg_buf_init(&placeholders->marked, 0);
}

void dg_placeholders_deinit(struct dg_placeholders *placeholders)
{
    dg_free(placeholders->text);
    dg_buf_deinit(&placeholders->marked);
    dg_placeholders_init(placeholders);
}

/* A stretch of the text that gets a placeholder, and whether it may stay outside at an end of the
 * sentence. */
struct stretch {
    size_t at, end;
    bool is_loose;
};

/* Finds the next stretch at or after `at`: a protected span, or the longest of the phrases of
 * `extra` that begin first, and what touches it. `next` goes through the spans of the list. */
static bool next_stretch(struct dg_span text, size_t at, const struct dg_phrase_set *extra,
                         size_t n_extra, const struct dg_protect_list *list, size_t *next,
                         struct stretch *found)
{
    *found = (struct stretch){.at = text.len, .end = text.len};
    while (*next < list->n && list->items[*next].at < at)
        ++*next;
    if (*next < list->n) {
        const struct dg_protect_span *span = &list->items[*next];
        *found =
            (struct stretch){span->at, span->at + span->len,
                             span->kind == DG_PROTECT_EMOJI || span->kind == DG_PROTECT_SHORTCODE};
    }
    for (size_t from = at; n_extra > 0 && from <= found->at && from < text.len; from++) {
        size_t longest = 0;
        for (size_t i = 0; i < n_extra; i++) {
            size_t len = dg_phrase_set_longest(&extra[i], text, from);
            longest = len > longest ? len : longest;
        }
        if (longest && (from < found->at || from + longest > found->end)) {
            *found = (struct stretch){from, from + longest, false};
            break;
        }
    }
    return found->at < text.len;
}

static uint32_t character_at(struct dg_span text, size_t at)
{
    uint32_t cp = 0;
    return dg_utf8_decode(text, at, &cp) ? cp : 0;
}

static uint32_t character_before(struct dg_span text, size_t at)
{
    while (at > 0 && ((unsigned char)text.ptr[--at] & 0xC0) == 0x80)
        ;
    return character_at(text, at);
}

/* Returns true, roughly, for letters and digits of any script: a word next to one would merge with
 * it. */
static bool is_wordy(uint32_t cp)
{
    if (cp < 0x80)
        return cp && isalnum((int)cp);
    return (cp >= 0xAA && cp < 0x2000 && cp != 0xAB && cp != 0xB7 && cp != 0xBB && cp != 0xA0) ||
           (cp >= 0x2C00 && cp < 0x2E00) || (cp >= 0x3040 && cp < 0xD800) ||
           (cp >= 0x10000 && cp < 0x1F000) || cp >= 0x20000;
}

static bool has_private_use(struct dg_span text, uint32_t first)
{
    uint32_t cp;
    for (size_t at = 0, n; at < text.len; at += n ? n : 1)
        if ((n = dg_utf8_decode(text, at, &cp)) > 0 && cp >= first &&
            cp < first + DG_PLACEHOLDERS_MAX)
            return true;
    return false;
}

/* Lists the stretches; those that may stay outside and are at an end of the sentence move
 * outside. */
static void list_items(struct dg_placeholders *placeholders, struct dg_span text,
                       const struct dg_phrase_set *extra, size_t n_extra,
                       const struct dg_protect_list *list, size_t *begin, size_t *end)
{
    struct stretch all[DG_PLACEHOLDERS_MAX + 1], one;
    size_t n = 0, at = 0, next = 0, first = 0;
    while (next_stretch(text, at, extra, n_extra, list, &next, &one)) {
        at = one.end;
        if (n > 0 && all[n - 1].end == one.at) {
            all[n - 1].end = one.end;
            all[n - 1].is_loose &= one.is_loose;
        } else if (n == DG_PLACEHOLDERS_MAX) {
            placeholders->n_left++;
        } else {
            all[n++] = one;
        }
    }
    *begin = 0;
    *end = text.len;
    while (first < n && all[first].is_loose &&
           dg_chars_is_all_space(dg_span_sub(text, *begin, all[first].at - *begin)))
        *begin = all[first++].end;
    while (n > first && placeholders->n_left == 0 && all[n - 1].is_loose &&
           dg_chars_is_all_space(dg_span_sub(text, all[n - 1].end, *end - all[n - 1].end)))
        *end = all[--n].at;
    /* a protected span may itself contain blanks */
    const size_t begin_most = first < n ? all[first].at : *end;
    while (*begin < begin_most && (text.ptr[*begin] == ' ' || text.ptr[*begin] == '\t'))
        (*begin)++;
    const size_t end_least = first < n ? all[n - 1].end : *begin;
    while (*end > end_least && (text.ptr[*end - 1] == ' ' || text.ptr[*end - 1] == '\t'))
        (*end)--;
    for (size_t i = first; i < n; i++)
        placeholders->items[placeholders->n++] = (struct dg_placeholders_item){
            .at = all[i].at,
            .len = all[i].end - all[i].at,
            .touches_before = all[i].at > *begin && is_wordy(character_before(text, all[i].at)),
            .touches_after = all[i].end < *end && is_wordy(character_at(text, all[i].end)),
            .word = -1,
        };
}

static enum dg_err put_mark(const struct dg_placeholders *placeholders, size_t item,
                            struct dg_buf *buf)
{
    char bytes[4];
    size_t n = dg_utf8_encode(placeholders->mark + (uint32_t)item, bytes);
    return dg_buf_append(buf, bytes, n);
}

/* Takes the plain numbers out of the list, and returns how many there were. */
static size_t leave_numbers(struct dg_span text, struct dg_protect_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct dg_protect_span *span = &list->items[i];
        if (span->kind != DG_PROTECT_NUMBER ||
            !dg_protect_is_plain_number(dg_span_sub(text, span->at, span->len)))
            list->items[n++] = *span;
    }
    const size_t n_left = list->n - n;
    list->n = n;
    return n_left;
}

enum dg_err dg_placeholders_find(struct dg_placeholders *placeholders, struct dg_span text,
                                 const struct dg_phrase_set *extra, size_t n_extra,
                                 struct dg_protect_list *list)
{
    static const uint32_t ranges[] = {0xE000, 0xE800, 0xF0000, 0xF8000, 0x100000};
    size_t begin, end, r = 0;
    enum dg_err err = dg_protect_find(text, DG_PROTECT_ALL, list);
    if (err)
        return err;
    if (placeholders->leaves_numbers)
        placeholders->n_numbers = leave_numbers(text, list);
    while (r < sizeof ranges / sizeof *ranges && has_private_use(text, ranges[r]))
        r++;
    size_t n_phrases = 0;
    for (size_t i = 0; i < n_extra; i++)
        n_phrases += extra[i].n;
    n_extra = n_phrases ? n_extra : 0;
    if ((list->n == 0 && n_extra == 0) || r == sizeof ranges / sizeof *ranges)
        return DG_OK;
    placeholders->mark = ranges[r];
    list_items(placeholders, text, extra, n_extra, list, &begin, &end);
    if (placeholders->n == 0 && begin == 0 && end == text.len)
        return DG_OK;
    if (!(placeholders->text = dg_try_malloc(text.len + 1)))
        return DG_ERR_NOMEM;
    memcpy(placeholders->text, text.ptr, text.len);
    placeholders->len = text.len;
    struct dg_span own = dg_span_make(placeholders->text, text.len);
    placeholders->before = dg_span_sub(own, 0, begin);
    placeholders->after = dg_span_sub(own, end, text.len - end);
    dg_buf_init(&placeholders->marked, text.len + 4 * DG_PLACEHOLDERS_MAX + 1);
    size_t at = begin;
    for (size_t i = 0; !err && i < placeholders->n; i++) {
        err = dg_buf_append_span(&placeholders->marked,
                                 dg_span_sub(own, at, placeholders->items[i].at - at));
        if (!err)
            err = put_mark(placeholders, i, &placeholders->marked);
        at = placeholders->items[i].at + placeholders->items[i].len;
    }
    return err ? err : dg_buf_append_span(&placeholders->marked, dg_span_sub(own, at, end - at));
}

struct dg_span dg_placeholders_bytes(const struct dg_placeholders *placeholders, size_t item)
{
    return dg_span_make(placeholders->text + placeholders->items[item].at,
                        placeholders->items[item].len);
}

/* ---- Dressing -------------------------------------------------------------------------------- */

/* Returns true when the text has the word, in whatever case. */
static bool has_word(struct dg_span text, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= text.len; at++)
        if (strncasecmp(text.ptr + at, word, len) == 0)
            return true;
    return false;
}

/* Returns the item whose mark stands at `at` of a marked text, or -1. */
static int item_at(const struct dg_placeholders *placeholders, struct dg_span marked, size_t at,
                   size_t *len)
{
    uint32_t cp;
    *len = dg_utf8_decode(marked, at, &cp);
    if (*len == 0)
        *len = 1;
    else if (cp >= placeholders->mark && cp < placeholders->mark + placeholders->n)
        return (int)(cp - placeholders->mark);
    return -1;
}

enum dg_err dg_placeholders_dress(struct dg_placeholders *placeholders, struct dg_span marked,
                                  const struct dg_placeholders_words *words, struct dg_buf *dressed)
{
    size_t next = 0, len, kept = 0;
    enum dg_err err = DG_OK;
    placeholders->words = words;
    for (size_t i = 0; i < placeholders->n; i++)
        placeholders->items[i].word = -1;
    for (size_t at = 0; !err && at < marked.len; at += len) {
        int item = item_at(placeholders, marked, at, &len);
        if (item < 0)
            continue;
        struct dg_placeholders_item *it = &placeholders->items[item];
        while (next < words->n && has_word(marked, words->items[next].text))
            next++;
        if (next == words->n || it->word >= 0)
            /* no word is left: the mark stays, and may or may not survive the translation */
            continue;
        it->word = (int)next;
        err = dg_buf_append_span(dressed, dg_span_sub(marked, kept, at - kept));
        if (!err && at > 0 && is_wordy(character_before(marked, at)))
            err = dg_buf_append_byte(dressed, ' ');
        it->dressed_at = dressed->len;
        if (!err)
            err = dg_buf_append_cstr(dressed, words->items[next].text);
        it->dressed_len = dressed->len - it->dressed_at;
        if (!err && at + len < marked.len && is_wordy(character_at(marked, at + len)))
            err = dg_buf_append_byte(dressed, ' ');
        it->dressed_next = dressed->len;
        it->marked_end = kept = at + len;
        next++;
    }
    return err ? err : dg_buf_append_span(dressed, dg_span_sub(marked, kept, marked.len - kept));
}

size_t dg_placeholders_constrain(const struct dg_placeholders *placeholders,
                                 const struct dg_token *tokens, size_t n, struct dg_phrase *phrases,
                                 struct dg_constraint *constraints)
{
    size_t n_made = 0;
    for (size_t i = 0; i < placeholders->n; i++) {
        const struct dg_placeholders_item *item = &placeholders->items[i];
        if (item->word < 0)
            continue;
        const struct dg_placeholders_word *word = &placeholders->words->items[item->word];
        size_t from = 0, to;
        while (from < n && tokens[from].end <= item->dressed_at)
            from++;
        for (to = from; to < n && tokens[to].begin < item->dressed_at + item->dressed_len; to++)
            ;
        phrases[n_made] = (struct dg_phrase){word->ids, word->n_ids};
        constraints[n_made] = (struct dg_constraint){.forms = &phrases[n_made],
                                                     .n_forms = 1,
                                                     .is_copy = true,
                                                     .is_once = true,
                                                     .src_from = from,
                                                     .src_to = to};
        n_made++;
    }
    return n_made;
}

/* ---- Undressing ------------------------------------------------------------------------------ */

/* Returns the item whose word is the whole of `run`, or -1. */
static int item_of(const struct dg_placeholders *placeholders, struct dg_span run, bool any_case)
{
    for (size_t i = 0; i < placeholders->n; i++) {
        if (placeholders->items[i].word < 0)
            continue;
        const char *word = placeholders->words->items[placeholders->items[i].word].text;
        if (strlen(word) == run.len &&
            (any_case ? strncasecmp(word, run.ptr, run.len) : memcmp(word, run.ptr, run.len)) == 0)
            return (int)i;
    }
    return -1;
}

/* Returns the end of the ASCII letters from `at` on. */
static size_t word_end(struct dg_span text, size_t at)
{
    while (at < text.len && ((text.ptr[at] >= 'a' && text.ptr[at] <= 'z') ||
                             (text.ptr[at] >= 'A' && text.ptr[at] <= 'Z')))
        at++;
    return at;
}

static enum dg_err put_item(struct dg_placeholders *placeholders, struct dg_placeholders_out *out,
                            size_t item, size_t raw_at, struct dg_buf *buf)
{
    struct dg_placeholders_item *it = &placeholders->items[item];
    if (it->touches_before && buf->len > 0 && buf->ptr[buf->len - 1] == ' ')
        dg_buf_truncate(buf, buf->len - 1);
    if (it->is_said && !out->keeps_marks)
        return DG_OK; /* one occurrence is enough */
    out->skips_space = it->touches_after;
    it->raw_end = out->n_read;
    it->raw_at = raw_at;
    if (out->keeps_marks) {
        enum dg_err err = put_mark(placeholders, item, buf);
        it->told_end = buf->len;
        return err;
    }
    it->is_said = true;
    it->told_end = buf->len + it->len;
    return dg_buf_append_span(buf, dg_placeholders_bytes(placeholders, item));
}

enum dg_err dg_placeholders_undress(struct dg_placeholders *placeholders,
                                    struct dg_placeholders_out *out, struct dg_span dressed,
                                    bool is_over, struct dg_buf *buf)
{
    enum dg_err err = DG_OK;
    while (!err && out->n_read < dressed.len) {
        size_t at = out->n_read, end = word_end(dressed, at), len;
        if (end == dressed.len && !is_over)
            break; /* the word may continue */
        if (end > at) {
            int item = item_of(placeholders, dg_span_sub(dressed, at, end - at), out->any_case);
            bool is_part = (at > 0 && is_wordy(character_before(dressed, at))) ||
                           (end < dressed.len && is_wordy(character_at(dressed, end)));
            out->n_read = end;
            if (item >= 0 && !is_part) {
                err = put_item(placeholders, out, (size_t)item, at, buf);
            } else {
                out->skips_space = false;
                err = dg_buf_append_span(buf, dg_span_sub(dressed, at, end - at));
            }
            continue;
        }
        if (dressed.ptr[at] == ' ') {
            if (word_end(dressed, at + 1) == dressed.len && !is_over)
                break; /* the text that follows may adjoin the text before */
            out->n_read++;
            if (!out->skips_space)
                err = dg_buf_append_byte(buf, ' ');
            out->skips_space = false;
            continue;
        }
        int item = item_at(placeholders, dressed, at, &len);
        out->skips_space = false;
        out->n_read += len;
        err = item >= 0 ? put_item(placeholders, out, (size_t)item, at, buf)
                        : dg_buf_append_span(buf, dg_span_sub(dressed, at, len));
    }
    return err;
}

/* ---- Offsets --------------------------------------------------------------------------------- */

size_t dg_placeholders_origin(const struct dg_placeholders *placeholders, size_t dressed,
                              bool is_end)
{
    size_t from = 0, origin = placeholders->before.len;
    for (size_t i = 0; i < placeholders->n; i++) {
        const struct dg_placeholders_item *item = &placeholders->items[i];
        if (item->word < 0)
            continue;
        if (dressed < item->dressed_at + is_end) {
            size_t at = origin + (dressed > from ? dressed - from : 0);
            return at < item->at ? at : item->at;
        }
        origin = item->at + item->len;
        from = item->dressed_at + item->dressed_len + item->touches_after;
        if (dressed < item->dressed_at + item->dressed_len + is_end)
            return is_end ? origin : item->at;
    }
    return origin + (dressed > from ? dressed - from : 0);
}

size_t dg_placeholders_told(const struct dg_placeholders *placeholders, size_t raw_end,
                            size_t begin, size_t len)
{
    size_t from = 0, told = begin;
    for (size_t i = 0; i < placeholders->n; i++) {
        const struct dg_placeholders_item *item = &placeholders->items[i];
        if (item->raw_end == 0 || raw_end <= item->raw_at || item->raw_end < from)
            continue;
        from = item->raw_end;
        told = item->told_end;
    }
    told += raw_end > from ? raw_end - from : 0;
    return told < len ? told : len;
}

size_t dg_placeholders_dressed(const struct dg_placeholders *placeholders, size_t marked)
{
    size_t from = 0, dressed = 0;
    for (size_t i = 0; i < placeholders->n; i++) {
        const struct dg_placeholders_item *item = &placeholders->items[i];
        if (item->word < 0 || item->marked_end > marked || item->marked_end < from)
            continue;
        from = item->marked_end;
        dressed = item->dressed_next;
    }
    return dressed + marked - from;
}

void dg_placeholders_give_up(struct dg_placeholders *placeholders)
{
    for (size_t i = 0; i < placeholders->n; i++)
        placeholders->items[i].word = -1;
    placeholders->before.len = placeholders->after.len = 0;
}

void dg_placeholders_check(struct dg_placeholders *placeholders, struct dg_span text)
{
    for (size_t i = 0; i < placeholders->n; i++) {
        struct dg_span bytes = dg_placeholders_bytes(placeholders, i);
        for (size_t at = 0; !placeholders->items[i].is_said && at + bytes.len <= text.len; at++)
            placeholders->items[i].is_said = memcmp(text.ptr + at, bytes.ptr, bytes.len) == 0;
    }
}
