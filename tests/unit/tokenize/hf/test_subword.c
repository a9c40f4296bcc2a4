/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Byte pair encoding and WordPiece give the same tokens as another implementation
 * (tests/golden/tokenizers.mjs); unsupported files are refused. */
#include "base/file/map_file.h"
#include "base/json/json.h"
#include "tokenize/hf/subword.h"
#include "vocabulary/charsmap_build.h"
#include "unit.h"

#include <stdio.h>

static const char *data(const char *name)
{
    static char path[1024];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/%s", srcdir ? srcdir : ".", name);
    return path;
}

static struct dg_subword *open_model(const char *name) /* a folder of tests/data */
{
    char folder[64];
    struct dg_subword *subword = NULL;
    struct dg_error error = DG_ERROR_NONE;
    snprintf(folder, sizeof folder, "data/%s", name);
    ck_assert(dg_subword_is_there(data(folder)));
    const enum dg_err err = dg_subword_open(&subword, data(folder), &error);
    ck_assert_msg(!err, "%s", error.text);
    return subword;
}

/* ---- Golden values --------------------------------------------------------------------------- */

static void check_decoding(const struct dg_subword *subword, const struct dg_subword_token *tokens,
                           size_t n, struct dg_span expected)
{
    struct dg_subword_stream stream;
    struct dg_span delta;
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    dg_subword_stream_init(&stream, subword, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(dg_subword_stream_push(&stream, tokens[i].id, &delta), DG_OK);
        ck_assert_int_eq(dg_buf_append_span(&text, delta), DG_OK);
    }
    ck_assert_int_eq(dg_subword_stream_finish(&stream, &delta), DG_OK);
    ck_assert_int_eq(dg_buf_append_span(&text, delta), DG_OK);
    ck_assert_msg(dg_span_eq(dg_buf_span(&text), expected), "read \"%.*s\", expected \"%.*s\"",
                  DG_SPAN_FMT(dg_buf_span(&text)), DG_SPAN_FMT(expected));
    dg_subword_stream_deinit(&stream);
    dg_buf_deinit(&text);
}

static void check_item(const struct dg_subword *subword, struct dg_subword_work *work,
                       const struct dg_json *item)
{
    const struct dg_subword_token *tokens;
    struct dg_span text, decoded;
    size_t n, at = 0;
    const struct dg_json *ids = dg_json_get(item, "ids");
    ck_assert_int_eq(dg_json_get_string(item, "text", DG_JSON_REQUIRED, NULL, &text), DG_OK);
    ck_assert_int_eq(dg_json_get_string(item, "decoded", DG_JSON_REQUIRED, NULL, &decoded), DG_OK);
    const enum dg_err err = dg_subword_encode(
        subword, work, text, DG_SUBWORD_TEMPLATE | DG_SUBWORD_SPECIAL, NULL, &tokens, &n);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_msg(n == dg_json_len(ids), "\"%.*s\": %zu tokens, expected %zu", DG_SPAN_FMT(text), n,
                  dg_json_len(ids));
    for (size_t i = 0; i < n; i++) {
        int64_t id = -1;
        ck_assert_int_eq(dg_json_at_int(ids, "ids", i, 0, 10000, NULL, &id), DG_OK);
        ck_assert_msg(tokens[i].id == id, "\"%.*s\": token %zu is %d, expected %d",
                      DG_SPAN_FMT(text), i, tokens[i].id, (int)id);
        ck_assert(tokens[i].begin <= tokens[i].end && tokens[i].end <= text.len &&
                  tokens[i].begin >= at);
        at = tokens[i].begin;
    }
    check_decoding(subword, tokens, n, decoded);
}

/* Checks two texts, joined. */
static void check_pair(const struct dg_subword *subword, struct dg_subword_work *work,
                       const struct dg_json *item, bool has_types)
{
    const struct dg_subword_join join = {.is_pair = true, .max = 1000};
    struct dg_subword_joined joined;
    struct dg_span text, pair;
    const struct dg_json *ids = dg_json_get(item, "ids"), *types = dg_json_get(item, "types");
    ck_assert_int_eq(dg_json_get_string(item, "text", DG_JSON_REQUIRED, NULL, &text), DG_OK);
    ck_assert_int_eq(dg_json_get_string(item, "pair", DG_JSON_REQUIRED, NULL, &pair), DG_OK);
    ck_assert_int_eq(dg_subword_read(subword, work, 0, text, DG_SUBWORD_SPECIAL, NULL), DG_OK);
    ck_assert_int_eq(dg_subword_read(subword, work, 1, pair, DG_SUBWORD_SPECIAL, NULL), DG_OK);
    ck_assert_int_eq(dg_subword_join(subword, work, &join, NULL, &joined), DG_OK);
    ck_assert_uint_eq(joined.n, dg_json_len(ids));
    for (size_t i = 0; i < joined.n; i++) {
        int64_t id = -1, type = -1;
        ck_assert_int_eq(dg_json_at_int(ids, "ids", i, 0, 10000, NULL, &id), DG_OK);
        ck_assert_int_eq(dg_json_at_int(types, "types", i, 0, 1, NULL, &type), DG_OK);
        ck_assert_int_eq(joined.tokens[i].id, id);
        ck_assert_int_eq(joined.tokens[i].type, has_types ? type : 0);
    }
}

static void check_file(const char *name, const char *folder, size_t least)
{
    struct dg_map_file file;
    struct dg_json *root;
    const struct dg_json_limits limits = {
        .max_bytes = 1 << 20, .max_depth = 8, .max_values = 100000};
    ck_assert_int_eq(dg_map_file_open(&file, data(name), 1 << 20, NULL), DG_OK);
    ck_assert_int_eq(
        dg_json_parse(dg_span_make((const char *)file.bytes, file.len), &limits, NULL, &root),
        DG_OK);
    struct dg_subword_work *work = dg_subword_work_new();
    struct dg_span model = DG_SPAN(""), next;
    struct dg_subword *subword = NULL;
    for (size_t i = 0; i < dg_json_len(root); i++) {
        const struct dg_json *item = dg_json_at(root, i);
        ck_assert_int_eq(dg_json_get_string(item, "model", DG_JSON_REQUIRED, NULL, &next), DG_OK);
        if (!dg_span_eq(model, next)) {
            char text[32];
            dg_subword_close(subword);
            snprintf(text, sizeof text, "%s/%.*s", folder, DG_SPAN_FMT(next));
            subword = open_model(text);
            model = next;
        }
        if (dg_json_type(dg_json_get(item, "pair")) == DG_JSON_STRING)
            check_pair(subword, work, item, !dg_span_eq(model, DG_SPAN("roberta")));
        else
            check_item(subword, work, item);
    }
    ck_assert_uint_gt(dg_json_len(root), least);
    dg_subword_close(subword);
    dg_subword_work_free(work);
    dg_json_free(root);
    dg_map_file_close(&file);
}

START_TEST(agrees_with_another_implementation)
{
    check_file("golden/tokenizers.json", "lm", 90);
}
END_TEST

START_TEST(agrees_with_another_implementation_for_encoders)
{
    check_file("golden/encoders.json", "encoder", 340);
}
END_TEST

/* ---- Behaviour ------------------------------------------------------------------------------- */

static size_t encode(const struct dg_subword *subword, struct dg_subword_work *work,
                     const char *text, unsigned how, const struct dg_subword_token **tokens)
{
    size_t n = 0;
    ck_assert_int_eq(dg_subword_encode(subword, work, dg_span_cstr(text), how, NULL, tokens, &n),
                     DG_OK);
    return n;
}

START_TEST(what_strangers_write_is_text_unless_asked_for)
{
    struct dg_subword *subword = open_model("lm/llama");
    struct dg_subword_work *work = dg_subword_work_new();
    const struct dg_subword_token *tokens;
    const int32_t end = dg_subword_find(subword, DG_SPAN("<|eot_id|>"));
    ck_assert_int_gt(end, 0);
    ck_assert(dg_subword_is_special(subword, end));
    size_t n = encode(subword, work, "a<|eot_id|>", DG_SUBWORD_SPECIAL, &tokens);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(tokens[1].id, end);
    ck_assert_uint_eq(tokens[1].begin, 1);
    ck_assert_uint_eq(tokens[1].end, 11);
    n = encode(subword, work, "a<|eot_id|>", DG_SUBWORD_TEMPLATE, &tokens);
    ck_assert_uint_gt(n, 5);
    for (size_t i = 1; i < n; i++)
        ck_assert(!dg_subword_is_special(subword, tokens[i].id));
    check_decoding(subword, tokens, n, DG_SPAN("a<|eot_id|>"));
    dg_subword_work_free(work);
    dg_subword_close(subword);
}
END_TEST

START_TEST(every_text_comes_back_and_offsets_cover_it)
{
    struct dg_subword *subword = open_model("lm/gpt2");
    struct dg_subword_work *work = dg_subword_work_new();
    uint32_t random = 7;
    for (int round = dg_unit_rounds(2000); round > 0; round--) {
        static const char *const parts[] = {"a",  "the ", " ",  "\n", "é", "日",      "🙂",
                                            "'s", "12",   "?!", "\t", "_", "\xC2\xA0"};
        char text[256];
        size_t len = 0;
        const struct dg_subword_token *tokens;
        for (int i = 0; i < 20; i++) {
            random = random * 1664525 + 1013904223;
            len += (size_t)snprintf(text + len, sizeof text - len, "%s",
                                    parts[(random >> 20) % (sizeof parts / sizeof *parts)]);
        }
        const size_t n = encode(subword, work, text, 0, &tokens);
        check_decoding(subword, tokens, n, dg_span_cstr(text));
        ck_assert_uint_eq(tokens[0].begin, 0);
        ck_assert_uint_eq(tokens[n - 1].end, strlen(text));
    }
    dg_subword_work_free(work);
    dg_subword_close(subword);
}
END_TEST

START_TEST(a_long_word_takes_no_longer_than_its_length)
{
    struct dg_subword *subword = open_model("lm/gpt2");
    struct dg_subword_work *work = dg_subword_work_new();
    const struct dg_subword_token *tokens;
    const size_t len = 1 << 18;
    char *text = malloc(len + 1);
    memset(text, 'e', len);
    text[len] = '\0';
    /* with quadratic work it would take minutes */
    ck_assert_uint_gt(encode(subword, work, text, 0, &tokens), 1000);
    free(text);
    dg_subword_work_free(work);
    dg_subword_close(subword);
}
END_TEST

START_TEST(bytes_that_are_no_character_become_the_replacement)
{
    struct dg_subword *subword = open_model("lm/gpt2");
    struct dg_subword_stream stream;
    struct dg_span delta;
    dg_subword_stream_init(&stream, subword, 1000);
    /* U+00C3 stands for the byte 0xC3, "a" for 0x61 */
    ck_assert_int_eq(
        dg_subword_stream_push(&stream, dg_subword_find(subword, DG_SPAN("\xC3\x83")), &delta),
        DG_OK);
    ck_assert_uint_eq(delta.len, 0);
    ck_assert_int_eq(
        dg_subword_stream_push(&stream, dg_subword_find(subword, DG_SPAN("a")), &delta), DG_OK);
    ck_assert(dg_span_eq(delta, DG_SPAN("\xEF\xBF\xBD"
                                        "a")));
    ck_assert_int_eq(
        dg_subword_stream_push(&stream, dg_subword_find(subword, DG_SPAN("\xC3\x83")), &delta),
        DG_OK);
    ck_assert_int_eq(dg_subword_stream_finish(&stream, &delta), DG_OK);
    ck_assert(dg_span_eq(delta, DG_SPAN("\xEF\xBF\xBD")));
    ck_assert_int_eq(dg_subword_stream_push(&stream, 100000, &delta), DG_ERR_RANGE);
    ck_assert_int_eq(dg_subword_stream_push(&stream, -1, &delta), DG_ERR_RANGE);
    dg_subword_stream_deinit(&stream);
    dg_subword_close(subword);
}
END_TEST

START_TEST(a_continuation_keeps_its_first_space)
{
    struct dg_subword *subword = open_model("lm/scaled");
    struct dg_subword_stream stream;
    struct dg_span delta;
    const int32_t space = dg_subword_find(subword, DG_SPAN("\xE2\x96\x81"));
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        dg_subword_stream_init(&stream, subword, 1000);
        stream.goes_on = goes_on;
        ck_assert_int_eq(dg_subword_stream_push(&stream, space, &delta), DG_OK);
        ck_assert_uint_eq(delta.len, (size_t)goes_on);
        ck_assert_int_eq(dg_subword_stream_push(&stream, space, &delta), DG_OK);
        ck_assert_uint_eq(delta.len, 1);
        dg_subword_stream_deinit(&stream);
    }
    dg_subword_close(subword);
}
END_TEST

/* ---- Small tokenizers ------------------------------------------------------------------------ */

#define SMALL(BEFORE, ADDED)                                                                       \
    "{\"added_tokens\":[" ADDED "]," BEFORE                                                        \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,"                       \
    "\"vocab\":{\"<unk>\":0,\"a\":1,\"b\":2,\"\xE2\x96\x81\":3,\"ab\":4,\"\xC3\xA9\":5,\"aab\":6," \
    "\" \":7,\"1\":8},"                                                                            \
    "\"merges\":[\"a b\",[\"a\",\"ab\"]]}}"

#define PIECES(BEFORE)                                                                             \
    "{" BEFORE "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"max_input_chars_per_"      \
    "word\":5,\"vocab\":{\"?\":0,"                                                                 \
    "\"a\":1,\"ab\":2,\"##b\":3,\"##c\":4,\"##bc\":5,\"e\":6,\",\":7,\"\xE6\x97\xA5\":8}}}"

static void gives(const char *json, const char *text, const char *expected)
{
    struct dg_subword *subword = NULL;
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_subword_token *tokens;
    char got[256] = "";
    const enum dg_err err =
        dg_subword_parse(&subword, &(struct dg_subword_files){.json = dg_span_cstr(json)}, &error);
    ck_assert_msg(!err, "%s", error.text);
    struct dg_subword_work *work = dg_subword_work_new();
    const size_t n = encode(subword, work, text, DG_SUBWORD_SPECIAL, &tokens);
    for (size_t i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d:%u-%u", i ? " " : "",
                 tokens[i].id, tokens[i].begin, tokens[i].end);
    ck_assert_str_eq(got, expected);
    dg_subword_work_free(work);
    dg_subword_close(subword);
}

START_TEST(steps_do_what_they_say)
{
    /* adjacent unknown characters are one token */
    gives(SMALL("", ""), "aabxxa", "6:0-3 0:3-5 1:5-6");
    gives(SMALL("\"normalizer\":{\"type\":\"NFC\"},", ""),
          "ae\xCC\x81"
          "b",
          "1:0-1 5:1-4 2:4-5");
    gives(SMALL("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"ba\"},\"content\":"
                "\"b\"},",
                ""),
          "abaa", "4:0-3 1:3-4");
    gives(SMALL("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\","
                "\"prepend_scheme\":\"first\","
                "\"split\":true},",
                ""),
          "a ab", "3:0-0 1:0-1 3:1-2 4:2-4");
    gives(SMALL("\"pre_tokenizer\":{\"type\":\"Digits\",\"individual_digits\":true},", ""), "ab11",
          "4:0-2 8:2-3 8:3-4");
    gives(SMALL("",
                "{\"id\":9,\"content\":\"[M]\",\"special\":true,\"lstrip\":true,\"rstrip\":true}"),
          "a [M] b", "1:0-1 9:1-6 2:6-7");
    gives(SMALL("", "{\"id\":9,\"content\":\"ba\",\"special\":false,\"single_word\":true,"
                    "\"normalized\":false}"),
          "ba aba", "9:0-2 7:2-3 4:3-5 1:5-6");
    gives(SMALL("\"normalizer\":{\"type\":\"Lowercase\"},",
                "{\"id\":9,\"content\":\"[BA]\",\"special\":false}"),
          "[Ba]a[BA]", "9:0-4 1:4-5 9:5-9");
}
END_TEST

#define UNIGRAM(BEFORE, HABITS, MORE)                                                              \
    "{" BEFORE "\"model\":{\"type\":\"Unigram\",\"unk_id\":0," HABITS                              \
    "\"vocab\":[[\"<unk>\",0],[\"a\",-2],[\"b\",-2],"                                              \
    "[\"ab\",-4],[\"abb\",-5],[\"bb\",-1],[\"\xE2\x96\x81\",-3],[\"\xE2\x96\x81"                   \
    "a\",-9]" MORE "]}}"

START_TEST(the_best_way_over_a_word_is_taken)
{
    const char *bytes = ",[\"<0xC3>\",-3],[\"<0xA9>\",-3],[\"<0x78>\",-3],[\"xy\",-99]";
    char text[512];
    /* of equal ways the one with the longest last piece */
    gives(UNIGRAM("", "", ""), "abab", "3:0-2 3:2-4");
    gives(UNIGRAM("", "", ""), "abba", "1:0-1 5:1-3 1:3-4"); /* -3 beats -5 */
    /* adjacent unknown characters are one token */
    gives(UNIGRAM("", "", ""), "axxa", "1:0-1 0:1-3 1:3-4");
    gives(UNIGRAM("", "", ""), "", "");
    snprintf(text, sizeof text, UNIGRAM("", "%s", "%s"), "\"byte_fallback\":true,", bytes);
    gives(text, "a\xC3\xA9x", "1:0-1 8:1-4 9:1-4 10:1-4");
    gives(text, "a\xC3\xA8", "1:0-1 0:1-3"); /* some of its byte pieces are missing */
    gives(text, "<0x78>", "10:0-6");
    gives("{\"model\":{\"unk_id\":0,\"vocab\":[[\"<unk>\",30],[\"a\",30],[\"xy\",30]]}}", "axy",
          "1:0-1 2:1-3"); /* two unknown ones, 40, are better than 30, and together known all the
                             same */
    gives(UNIGRAM("\"added_tokens\":[{\"id\":5,\"content\":\"bb\",\"special\":true}],"
                  "\"normalizer\":{\"type\":\"Lowercase\"},",
                  "", ""),
          "BBbb", "2:0-1 2:1-2 5:2-4"); /* a sign is not a piece, however it arose */
}
END_TEST

#define MARKS(HABITS) "{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\"," HABITS "}"
#define PRE(STEP)     "\"pre_tokenizer\":" STEP ","

START_TEST(marks_stand_before_words)
{
    char text[700], added[128];
    gives(UNIGRAM(PRE(MARKS("\"prepend_scheme\":\"always\"")), "", ""), "b a",
          "6:0-0 2:0-1 6:1-2 1:2-3");
    gives(UNIGRAM(PRE(MARKS("\"prepend_scheme\":\"never\"")), "", ""), "b a", "2:0-1 6:1-2 1:2-3");
    gives(UNIGRAM(PRE(MARKS("\"add_prefix_space\":false")), "", ""), "b", "2:0-1");
    gives(UNIGRAM(
              PRE("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"}," MARKS(
                  "\"split\":true") "]}"),
              "", ""),
          " b\t\n bb \xE2\x96\x81"
          "b ",
          "6:1-1 2:1-2 6:5-5 5:5-7 6:8-11 2:11-12");
    /* the mask takes the spaces before it, wherever it occurs */
    for (int normalized = 0; normalized < 2; normalized++) {
        snprintf(
            added, sizeof added,
            "\"added_tokens\":[{\"id\":8,\"content\":\"[M]\",\"special\":true,\"lstrip\":true%s}],",
            normalized ? ",\"normalized\":true" : "");
        snprintf(text, sizeof text, UNIGRAM("%s" PRE(MARKS("\"prepend_scheme\":\"%s\"")), "", ""),
                 added, "always");
        gives(text, "b [M]b", "6:0-0 2:0-1 8:1-5 6:5-5 2:5-6");
        snprintf(text, sizeof text, UNIGRAM("%s" PRE(MARKS("\"prepend_scheme\":\"%s\"")), "", ""),
                 added, "first");
        gives(text, "b [M]b", "6:0-0 2:0-1 8:1-5 2:5-6");
    }
    gives(UNIGRAM("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Strip\","
                  "\"strip_left\":true,\"strip_right\":false},"
                  "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"b\"}]},",
                  "", ""),
          "  a   a a", "3:2-6 1:6-7 0:7-8 1:8-9");
}
END_TEST

START_TEST(words_are_told_apart_though_they_are_laid_out_together)
{
    const char *json = UNIGRAM(PRE(MARKS("\"split\":false")), "", "");
    static const uint32_t expected[] = {0, 0, 1, 1, 1, 2};
    struct dg_subword *subword = NULL;
    const struct dg_subword_token *tokens;
    ck_assert_int_eq(
        dg_subword_parse(&subword, &(struct dg_subword_files){.json = dg_span_cstr(json)}, NULL),
        DG_OK);
    struct dg_subword_work *work = dg_subword_work_new();
    ck_assert_uint_eq(encode(subword, work, "b abbb ", 0, &tokens), 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert_uint_eq(tokens[i].word, expected[i]);
    dg_subword_work_free(work);
    dg_subword_close(subword);
}
END_TEST

/* A table of replacements, in the order of a file. */
static void put_table(struct dg_charsmap_rule *rules, size_t n, char *out, size_t cap)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct dg_buf blob;
    size_t len = 0;
    dg_buf_init(&blob, 1 << 20);
    ck_assert_int_eq(dg_charsmap_build(rules, n, &blob), DG_OK);
    for (size_t i = 0; i < blob.len; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < blob.len ? (uint8_t)blob.ptr[i + k] : 0u);
        ck_assert_uint_lt(len + 5, cap);
        for (size_t k = 0; k < 4; k++)
            out[len++] = i + k > blob.len ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    out[len] = '\0';
    dg_buf_deinit(&blob);
}

#define RULE(FROM, TO)                                                                             \
    {                                                                                              \
        DG_SPAN(FROM), DG_SPAN(TO)                                                                 \
    }

START_TEST(a_table_replaces_short_characters_whole)
{
    struct dg_charsmap_rule rules[] = {RULE("\xC3\x89", "b"), RULE("c", "a"),
                                       RULE("c\xCC\x81", "bb"), RULE("\r", "bb"),
                                       RULE("\xE2\x80\x8D", "")};
    static char table[1 << 14], text[1 << 15];
    put_table(rules, sizeof rules / sizeof *rules, table, sizeof table);
    snprintf(text, sizeof text,
             UNIGRAM("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"%s\"},",
                     "", ""),
             table);
    gives(text, "a\xC3\x89", "3:0-3");
    gives(text,
          "c\xCC\x81"
          "a",
          "1:0-3 1:3-4"); /* the shortest key decides what both become */
    gives(text,
          "c\xCC\x81\xCC\x81\xCC\x81"
          "a",
          "1:0-1 0:1-7 1:7-8"); /* too long a character: one code point each */
    gives(text, "a\r\na", "1:0-1 5:1-3 1:3-4");
    gives(text,
          "a\xE2\x80\x8D"
          "b",
          "3:0-5"); /* no key begins this character, but one begins its second half */
}
END_TEST

static void refused(const char *json, const char *expected)
{
    struct dg_subword *subword = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert(dg_subword_parse(&subword, &(struct dg_subword_files){.json = dg_span_cstr(json)},
                               &error) != DG_OK);
    ck_assert_msg(strstr(error.text, expected), "\"%s\" does not say \"%s\"", error.text, expected);
}

START_TEST(the_longest_pieces_are_taken_from_left_to_right)
{
    const char *cut = PIECES("\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},");
    gives(cut, "abc ab,a", "2:0-2 4:2-3 2:4-6 7:6-7 1:7-8");
    /* six characters are too many */
    gives(cut, "abx abbbbb abbbb", "0:0-3 0:4-10 2:11-13 3:13-14 3:14-15 3:15-16");
    gives(PIECES("\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":"
                 "\"WhitespaceSplit\"},"),
          "A\xC3\x89 e\xCC\x81"
          "\xE6\x97\xA5"
          "aB\x7F"
          "c",
          "0:0-3 6:4-7 8:7-10 2:10-12 4:13-14");
    gives(PIECES("\"normalizer\":{\"type\":\"BertNormalizer\",\"strip_accents\":false},"
                 "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"),
          "E \xC3\x89", "6:0-1 0:2-4");
}
END_TEST

START_TEST(two_texts_share_the_room_that_there_is)
{
    static const struct {
        enum dg_subword_give give;
        size_t max, skip, n[2], left;
    } rows[] = {
        /* of nine and five tokens; three of the total belong to the template */
        {DG_SUBWORD_GIVE_LONGER, 17, 0, {9, 5}, 0}, {DG_SUBWORD_GIVE_LONGER, 15, 0, {7, 5}, 0},
        {DG_SUBWORD_GIVE_LONGER, 12, 0, {5, 4}, 1}, {DG_SUBWORD_GIVE_LONGER, 4, 0, {1, 0}, 5},
        {DG_SUBWORD_GIVE_FIRST, 12, 0, {4, 5}, 0},  {DG_SUBWORD_GIVE_FIRST, 7, 0, {0, 4}, 1},
        {DG_SUBWORD_GIVE_SECOND, 15, 0, {9, 3}, 2}, {DG_SUBWORD_GIVE_SECOND, 15, 3, {9, 2}, 0},
        {DG_SUBWORD_GIVE_SECOND, 9, 0, {6, 0}, 5},  {DG_SUBWORD_GIVE_SECOND, 15, 99, {9, 0}, 0},
    };
    struct dg_subword *subword = open_model("encoder/bert");
    struct dg_subword_work *work = dg_subword_work_new();
    struct dg_error error = DG_ERROR_NONE;
    struct dg_subword_joined joined;
    ck_assert_int_eq(dg_subword_read(subword, work, 0, DG_SPAN("a b c d e f g h i"), 0, NULL),
                     DG_OK);
    ck_assert_int_eq(
        dg_subword_read(subword, work, 1, DG_SPAN(" j k\tl [MASK] m"), DG_SUBWORD_MASKS, NULL),
        DG_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dg_subword_join join = {true, rows[i].give, rows[i].max, rows[i].skip};
        size_t n[2] = {0, 0}, n_frame = 0;
        ck_assert_int_eq(dg_subword_join(subword, work, &join, &error, &joined), DG_OK);
        for (size_t k = 0; k < joined.n; k++) {
            const struct dg_subword_token *token = &joined.tokens[k];
            n_frame += token->text == DG_SUBWORD_FRAME;
            if (token->text != DG_SUBWORD_FRAME)
                n[token->text]++;
            ck_assert_uint_eq(token->type, token->text == 1 || k + 1 == joined.n ? 1 : 0);
        }
        ck_assert_uint_eq(n_frame, 3);
        ck_assert_uint_eq(n[0], rows[i].n[0]);
        ck_assert_uint_eq(n[1], rows[i].n[1]);
        ck_assert_uint_eq(joined.n_last, rows[i].n[1]);
        ck_assert_uint_eq(joined.n_left, rows[i].left);
        ck_assert_uint_eq(joined.n_lost, 9 - rows[i].n[0]);
    }
    const struct dg_subword_join join = {.is_pair = true, .max = 3};
    ck_assert_int_eq(dg_subword_join(subword, work, &join, &error, &joined), DG_ERR_RANGE);
    ck_assert(strstr(error.text, "3 tokens"));
    dg_subword_work_free(work);
    dg_subword_close(subword);
}
END_TEST

START_TEST(windows_see_all_of_a_long_text)
{
    struct dg_subword *subword = open_model("encoder/roberta");
    struct dg_subword_work *work = dg_subword_work_new();
    struct dg_subword_joined joined;
    struct dg_subword_join join = {.max = 7};
    const struct dg_span text = DG_SPAN("the house is, the house plays; the house...");
    size_t seen = 0, end = 0, n_windows = 0;
    ck_assert_int_eq(dg_subword_read(subword, work, 0, text, 0, NULL), DG_OK);
    do {
        ck_assert_int_eq(dg_subword_join(subword, work, &join, NULL, &joined), DG_OK);
        ck_assert_uint_eq(joined.n, joined.n_last + 2);
        for (size_t i = 1; i + 1 < joined.n; i++) {
            const struct dg_subword_token *token = &joined.tokens[i];
            ck_assert_uint_ge(token->begin, end);
            ck_assert(token->begin == token->end || text.ptr[token->begin] != ' ');
            end = token->end;
        }
        seen += joined.n_last;
        join.skip += joined.n_last;
        n_windows++;
    } while (joined.n_left);
    ck_assert_uint_eq(end, text.len);
    ck_assert_uint_eq(n_windows, (seen + 4) / 5);
    dg_subword_work_free(work);
    dg_subword_close(subword);
}
END_TEST

START_TEST(signs_are_found_and_only_the_mask_may_be_written)
{
    static const char *const models[] = {"encoder/bert", "encoder/roberta"};
    static const char *const signs[][DG_SUBWORD_SIGNS] = {{"[PAD]", "[CLS]", "[SEP]", "[MASK]"},
                                                          {"<pad>", "<s>", "</s>", "<mask>"}};
    for (size_t i = 0; i < 2; i++) {
        struct dg_subword *subword = open_model(models[i]);
        struct dg_subword_work *work = dg_subword_work_new();
        const struct dg_subword_token *tokens;
        char text[64];
        size_t n, n_masks = 0;
        for (int which = 0; which < DG_SUBWORD_SIGNS; which++)
            ck_assert_int_eq(dg_subword_sign(subword, (enum dg_subword_sign)which),
                             dg_subword_find(subword, dg_span_cstr(signs[i][which])));
        snprintf(text, sizeof text, "a %s%s", signs[i][DG_SUBWORD_MASK], signs[i][DG_SUBWORD_SEP]);
        n = encode(subword, work, text, DG_SUBWORD_MASKS, &tokens);
        for (size_t k = 0; k < n; k++) {
            n_masks += tokens[k].id == dg_subword_sign(subword, DG_SUBWORD_MASK);
            ck_assert_int_ne(tokens[k].id, dg_subword_sign(subword, DG_SUBWORD_SEP));
        }
        ck_assert_uint_eq(n_masks, 1);
        dg_subword_work_free(work);
        dg_subword_close(subword);
    }
}
END_TEST

static struct dg_subword *parse_lines(const char *config, struct dg_error *error)
{
    const struct dg_subword_files files = {
        .lines = DG_SPAN("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n\nhouse\r\n##s\nHouse\nhouse"),
        .config = dg_span_cstr(config)};
    struct dg_subword *subword = NULL;
    return dg_subword_parse(&subword, &files, error) ? NULL : subword;
}

START_TEST(vocab_txt_is_enough)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_subword_work *work = dg_subword_work_new();
    const struct dg_subword_token *tokens;
    struct dg_subword *subword = parse_lines("", &error);
    ck_assert_msg(subword != NULL, "%s", error.text);
    ck_assert_uint_eq(
        encode(subword, work, "Houses [MASK]", DG_SUBWORD_TEMPLATE | DG_SUBWORD_SPECIAL, &tokens),
        5);
    ck_assert_int_eq(tokens[0].id, 2);
    ck_assert_int_eq(tokens[1].id, 9); /* of two equal lines the last counts */
    ck_assert_int_eq(tokens[2].id, 7);
    ck_assert_uint_eq(tokens[1].word, tokens[2].word);
    ck_assert_int_eq(tokens[3].id, 4);
    ck_assert_int_eq(tokens[4].id, 3);
    ck_assert_uint_eq(dg_subword_piece(subword, 5).len, 0);
    ck_assert_uint_eq(dg_subword_piece(subword, 6).len, 0);
    dg_subword_close(subword);
    subword = parse_lines("{\"do_lower_case\":false,\"mask_token\":{\"content\":\"##s\"}}", &error);
    ck_assert_msg(subword != NULL, "%s", error.text);
    ck_assert_uint_eq(encode(subword, work, "House", 0, &tokens), 1);
    ck_assert_int_eq(tokens[0].id, 8);
    ck_assert_int_eq(dg_subword_sign(subword, DG_SUBWORD_MASK), 7);
    dg_subword_close(subword);
    ck_assert_ptr_null(parse_lines("{\"do_basic_tokenize\":false}", &error));
    ck_assert(strstr(error.text, "do_basic_tokenize"));
    ck_assert_ptr_null(parse_lines("{\"unk_token\":\"u\"}", &error));
    ck_assert(strstr(error.text, "unknown token 'u'"));
    ck_assert_ptr_null(parse_lines("[", &error));
    ck_assert(strstr(error.text, "tokenizer_config.json"));
    dg_subword_work_free(work);
}
END_TEST

START_TEST(many_added_tokens_and_growing_texts_are_bounded)
{
    struct dg_buf json;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_subword *subword = NULL;
    const struct dg_subword_token *tokens;
    struct dg_subword_work *work = dg_subword_work_new();
    static char text[1 << 18];
    dg_buf_init(&json, 1 << 22);
    ck_assert_int_eq(
        dg_buf_append_cstr(&json,
                           "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"added_tokens\":["),
        DG_OK);
    for (int i = 1; i < 8000; i++)
        ck_assert_int_eq(
            dg_buf_printf(&json, "%s{\"id\":%d,\"content\":\"a%d\"}", i == 1 ? "" : ",", i, i),
            DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&json, "]}"), DG_OK);
    ck_assert_int_eq(
        dg_subword_parse(&subword, &(struct dg_subword_files){.json = dg_buf_span(&json)}, &error),
        DG_OK);
    memset(text, 'a', sizeof text - 1);
    /* comparing each with each would take minutes */
    ck_assert_uint_eq(encode(subword, work, text, 0, &tokens), sizeof text - 1);
    dg_subword_close(subword);
    dg_buf_clear(&json);
    ck_assert_int_eq(
        dg_buf_append_cstr(
            &json,
            "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"normalizer\":{\"type\":\"Sequence\","
            "\"normalizers\":["),
        DG_OK);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(
            dg_buf_printf(
                &json, "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"%s\"}",
                i ? "," : "", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&json, "]}}"), DG_OK);
    ck_assert_int_eq(
        dg_subword_parse(&subword, &(struct dg_subword_files){.json = dg_buf_span(&json)}, &error),
        DG_OK);
    size_t n;
    ck_assert_int_eq(dg_subword_encode(subword, work, dg_span_cstr(text), 0, &error, &tokens, &n),
                     DG_ERR_LIMIT);
    dg_subword_close(subword);
    dg_buf_deinit(&json);
    dg_subword_work_free(work);
}
END_TEST

START_TEST(what_is_not_known_is_refused_by_name)
{
    refused("{}", "model");
    refused("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", "WordLevel");
    refused("{\"model\":{\"type\":\"Unigram\",\"vocab\":{\"a\":0}}}", "expected an array");
    refused("{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", "0 tokens");
    refused("{\"model\":{\"vocab\":[[\"a\"]],\"unk_id\":0}}",
            "'vocab[0]' is an array of another length");
    refused("{\"model\":{\"vocab\":[[\"a\",0],\"b\"],\"unk_id\":0}}", "'vocab[1]' is a string");
    refused("{\"model\":{\"vocab\":[[\"a\",\"b\"]],\"unk_id\":0}}", "vocab[...][1]");
    refused("{\"model\":{\"vocab\":[[\"a\",1e31]],\"unk_id\":0}}", "vocab[...][1]");
    refused("{\"model\":{\"vocab\":[[\"a\",0],[\"a\",0]],\"unk_id\":0}}", "two ids, 0 and 1");
    refused("{\"model\":{\"vocab\":[[\"\",0]],\"unk_id\":0}}", "0 bytes");
    refused("{\"model\":{\"vocab\":[[\"a\",0]]}}", "unk_id");
    refused("{\"model\":{\"vocab\":[[\"a\",0]],\"unk_id\":1}}", "unk_id");
    refused(UNIGRAM(PRE("{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"), "", ""),
            "Unigram after");
    refused(UNIGRAM("\"normalizer\":{\"type\":\"Precompiled\"},", "", ""), "precompiled_charsmap");
    refused(UNIGRAM("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA\"},",
                    "", ""),
            "not base64 at byte 3 of 3");
    refused(UNIGRAM("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AA-A\"},",
                    "", ""),
            "at byte 2 of 4");
    refused(UNIGRAM("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAB=\"},",
                    "", ""),
            "at byte 4 of 4");
    refused(
        UNIGRAM("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////wAA\"},",
                "", ""),
        "4294967295 bytes");
    refused(
        UNIGRAM(
            "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAD/\"},",
            "", ""),
        "replacements are not valid UTF-8");
    refused(UNIGRAM("\"normalizer\":{\"type\":\"Strip\"},", "", ""), "strip_left");
    refused(UNIGRAM("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x+\"},"
                    "\"content\":\"\"},",
                    "", ""),
            "pattern 'x+'");
    refused(UNIGRAM(PRE("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"}," MARKS(
                        "\"split\":true") "]}"),
                    "", ""),
            "after WhitespaceSplit");
    refused("{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", "two tokens have the id 0");
    refused("{\"model\":{\"vocab\":{\"a\":999999},\"merges\":[]}}", "expected an integer 0 to");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", "merge 0 is 'a'");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
            "merge 0: 'b' is not a token");
    refused("{\"model\":{\"vocab\":{\"a\":0,\"b\":1},\"merges\":[[\"a\",\"b\"]]}}",
            "what it makes, 'ab'");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"u\"}}",
            "unknown token 'u'");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"end_of_word_suffix\":\"</w>\"}}",
            "end_of_word_suffix");
    refused(SMALL("\"normalizer\":{\"type\":\"Nmt\"},", ""), "normalizer 'Nmt'");
    refused(SMALL("\"pre_tokenizer\":{\"type\":\"Whitespace\"},", ""),
            "pre-tokenizer 'Whitespace'");
    refused(SMALL("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x+\"},"
                  "\"behavior\":\"Isolated\"},",
                  ""),
            "pattern 'x+'");
    refused(SMALL("\"pre_tokenizer\":{\"type\":\"ByteLevel\"},", ""), "no token for the byte 0x00");
    refused(SMALL("\"decoder\":{\"type\":\"WordPiece\"},", ""), "decoder 'WordPiece'");
    refused(SMALL("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{"
                  "\"SpecialToken\":{\"id\":\"x\"}}]},",
                  ""),
            "token 'x'");
    refused(SMALL("", "{\"id\":1,\"content\":\"other\"}"), "has the id 1 of another token");
    refused(SMALL("", "{\"id\":9,\"content\":\"\"}"), "0 bytes");
    refused(SMALL("", "{\"id\":9,\"content\":\"ab\"}"), "'ab' has two ids, 4 and 9");
    refused(
        SMALL(
            "\"decoder\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"_\"},\"content\":\" \"},",
            ""),
        "U+2581");
    refused(SMALL("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{"
                  "\"id\":\"A\"}},"
                  "{\"Sequence\":{\"id\":\"A\"}}]},",
                  ""),
            "first text 2 times");
    refused("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}",
            "field 'unk_token' is missing");
    refused("{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"vocab\":{\"a\":0}}}",
            "unknown token 'u'");
    refused(
        "{\"model\":{\"vocab\":{\"a\":0},\"unk_token\":\"a\",\"max_input_chars_per_word\":100000}}",
        "1 to 1000");
    refused(PIECES("\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"), "no token for the byte");
    refused(PIECES("\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":["
                   "\"q\",1]},"),
            "token 'q'");
}
END_TEST

START_TEST(vocab_json_with_merges_txt_is_enough)
{
    struct dg_subword *subword = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf json;
    const struct dg_subword_token *tokens;
    struct dg_subword *gpt2 = open_model("lm/gpt2");
    dg_buf_init(&json, 1 << 20);
    ck_assert_int_eq(dg_buf_append_cstr(&json, "{"), DG_OK);
    for (int32_t id = 0; id < 256; id++) {
        const struct dg_span piece = dg_subword_piece(gpt2, id);
        const char *quote =
            dg_span_eq(piece, DG_SPAN("\"")) || dg_span_eq(piece, DG_SPAN("\\")) ? "\\" : "";
        ck_assert_int_eq(dg_buf_printf(&json, "\"%s%.*s\":%d,", quote, DG_SPAN_FMT(piece), (int)id),
                         DG_OK);
    }
    ck_assert_int_eq(dg_buf_append_cstr(&json, "\"he\":256,\"the\":257,\"<|endoftext|>\":258}"),
                     DG_OK);
    struct dg_subword_files files = {.json = dg_buf_span(&json),
                                     .merges = DG_SPAN("#version: 0.2\nh e\nt he\r\n\n")};
    enum dg_err err = dg_subword_parse(&subword, &files, &error);
    ck_assert_msg(!err, "%s", error.text);
    struct dg_subword_work *work = dg_subword_work_new();
    ck_assert_uint_eq(encode(subword, work, "the<|endoftext|>he", DG_SUBWORD_SPECIAL, &tokens), 3);
    ck_assert_int_eq(tokens[0].id, 257);
    ck_assert_int_eq(tokens[1].id, 258);
    ck_assert_int_eq(tokens[2].id, 256);
    dg_subword_close(subword);
    files.merges = DG_SPAN("h e x\n");
    ck_assert_int_eq(dg_subword_parse(&subword, &files, &error), DG_ERR_FORMAT);
    dg_subword_work_free(work);
    dg_buf_deinit(&json);
    dg_subword_close(gpt2);
}
END_TEST

DG_UNIT_SLOW(
    agrees_with_another_implementation, agrees_with_another_implementation_for_encoders,
    what_strangers_write_is_text_unless_asked_for, every_text_comes_back_and_offsets_cover_it,
    a_long_word_takes_no_longer_than_its_length, bytes_that_are_no_character_become_the_replacement,
    a_continuation_keeps_its_first_space, steps_do_what_they_say, the_best_way_over_a_word_is_taken,
    marks_stand_before_words, words_are_told_apart_though_they_are_laid_out_together,
    a_table_replaces_short_characters_whole, the_longest_pieces_are_taken_from_left_to_right,
    two_texts_share_the_room_that_there_is, windows_see_all_of_a_long_text,
    signs_are_found_and_only_the_mask_may_be_written, vocab_txt_is_enough,
    many_added_tokens_and_growing_texts_are_bounded, what_is_not_known_is_refused_by_name,
    vocab_json_with_merges_txt_is_enough)
