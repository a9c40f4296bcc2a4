/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Byte pair encoding against another implementation (tests/golden/tokenizers.mjs), and what it refuses. */
#include "base/json.h"
#include "base/map_file.h"
#include "text/bpe.h"
#include "unit.h"

#include <stdio.h>

static const char *data(const char *name)
{
    static char path[1024];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/%s", srcdir ? srcdir : ".", name);
    return path;
}

static struct dg_bpe *open_model(const char *name)
{
    char folder[64];
    struct dg_bpe *bpe = NULL;
    struct dg_why why = DG_WHY_NONE;
    snprintf(folder, sizeof folder, "data/lm/%s", name);
    ck_assert(dg_bpe_is_there(data(folder)));
    const enum dg_err err = dg_bpe_open(&bpe, data(folder), &why);
    ck_assert_msg(!err, "%s", why.text);
    return bpe;
}

/* ---- Golden values ----------------------------------------------------------------------------------- */

static void check_decoding(const struct dg_bpe *bpe, const struct dg_bpe_token *tokens, size_t n, struct dg_span expected)
{
    struct dg_bpe_stream stream;
    struct dg_span delta;
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    dg_bpe_stream_init(&stream, bpe, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(dg_bpe_stream_push(&stream, tokens[i].id, &delta), DG_OK);
        ck_assert_int_eq(dg_buf_append_span(&text, delta), DG_OK);
    }
    ck_assert_int_eq(dg_bpe_stream_finish(&stream, &delta), DG_OK);
    ck_assert_int_eq(dg_buf_append_span(&text, delta), DG_OK);
    ck_assert_msg(dg_span_eq(dg_buf_span(&text), expected), "read \"%.*s\", expected \"%.*s\"",
                  DG_SPAN_FMT(dg_buf_span(&text)), DG_SPAN_FMT(expected));
    dg_bpe_stream_deinit(&stream);
    dg_buf_deinit(&text);
}

static void check_item(const struct dg_bpe *bpe, struct dg_bpe_work *work, const struct dg_json *item)
{
    const struct dg_bpe_token *tokens;
    struct dg_span text, decoded;
    size_t n, at = 0;
    const struct dg_json *ids = dg_json_get(item, "ids");
    ck_assert_int_eq(dg_json_get_string(item, "text", DG_JSON_REQUIRED, NULL, &text), DG_OK);
    ck_assert_int_eq(dg_json_get_string(item, "decoded", DG_JSON_REQUIRED, NULL, &decoded), DG_OK);
    ck_assert_int_eq(dg_bpe_encode(bpe, work, text, DG_BPE_TEMPLATE | DG_BPE_SPECIAL, NULL, &tokens, &n), DG_OK);
    ck_assert_msg(n == dg_json_len(ids), "\"%.*s\": %zu tokens, expected %zu", DG_SPAN_FMT(text), n, dg_json_len(ids));
    for (size_t i = 0; i < n; i++) {
        int64_t id = -1;
        ck_assert_int_eq(dg_json_at_int(ids, "ids", i, 0, 10000, NULL, &id), DG_OK);
        ck_assert_msg(tokens[i].id == id, "\"%.*s\": token %zu is %d, expected %d", DG_SPAN_FMT(text), i, tokens[i].id,
                      (int)id);
        ck_assert(tokens[i].begin <= tokens[i].end && tokens[i].end <= text.len && tokens[i].begin >= at);
        at = tokens[i].begin;
    }
    check_decoding(bpe, tokens, n, decoded);
}

START_TEST(agrees_with_another_implementation)
{
    struct dg_map_file file;
    struct dg_json *root;
    const struct dg_json_limits limits = {.max_bytes = 1 << 20, .max_depth = 8, .max_values = 100000};
    ck_assert_int_eq(dg_map_file_open(&file, data("golden/tokenizers.json"), 1 << 20, NULL), DG_OK);
    ck_assert_int_eq(dg_json_parse(dg_span_make((const char *)file.bytes, file.len), &limits, NULL, &root), DG_OK);
    struct dg_bpe_work *work = dg_bpe_work_new();
    struct dg_span name = DG_SPAN(""), next;
    struct dg_bpe *bpe = NULL;
    for (size_t i = 0; i < dg_json_len(root); i++) {
        const struct dg_json *item = dg_json_at(root, i);
        ck_assert_int_eq(dg_json_get_string(item, "model", DG_JSON_REQUIRED, NULL, &next), DG_OK);
        if (!dg_span_eq(name, next)) {
            char text[32];
            dg_bpe_close(bpe);
            snprintf(text, sizeof text, "%.*s", DG_SPAN_FMT(next));
            bpe = open_model(text);
            name = next;
        }
        check_item(bpe, work, item);
    }
    ck_assert_uint_gt(dg_json_len(root), 90);
    dg_bpe_close(bpe);
    dg_bpe_work_free(work);
    dg_json_free(root);
    dg_map_file_close(&file);
}
END_TEST

/* ---- Behaviour ----------------------------------------------------------------------------------------- */

static size_t encode(const struct dg_bpe *bpe, struct dg_bpe_work *work, const char *text, unsigned how,
                     const struct dg_bpe_token **tokens)
{
    size_t n = 0;
    ck_assert_int_eq(dg_bpe_encode(bpe, work, dg_span_cstr(text), how, NULL, tokens, &n), DG_OK);
    return n;
}

START_TEST(what_strangers_write_is_text_unless_asked_for)
{
    struct dg_bpe *bpe = open_model("llama");
    struct dg_bpe_work *work = dg_bpe_work_new();
    const struct dg_bpe_token *tokens;
    const int32_t end = dg_bpe_find(bpe, DG_SPAN("<|eot_id|>"));
    ck_assert_int_gt(end, 0);
    ck_assert(dg_bpe_is_special(bpe, end));
    size_t n = encode(bpe, work, "a<|eot_id|>", DG_BPE_SPECIAL, &tokens);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(tokens[1].id, end);
    ck_assert_uint_eq(tokens[1].begin, 1);
    ck_assert_uint_eq(tokens[1].end, 11);
    n = encode(bpe, work, "a<|eot_id|>", DG_BPE_TEMPLATE, &tokens);
    ck_assert_uint_gt(n, 5);
    for (size_t i = 1; i < n; i++)
        ck_assert(!dg_bpe_is_special(bpe, tokens[i].id));
    check_decoding(bpe, tokens, n, DG_SPAN("a<|eot_id|>"));
    dg_bpe_work_free(work);
    dg_bpe_close(bpe);
}
END_TEST

START_TEST(every_text_comes_back_and_offsets_cover_it)
{
    struct dg_bpe *bpe = open_model("gpt2");
    struct dg_bpe_work *work = dg_bpe_work_new();
    uint32_t random = 7;
    for (int round = dg_unit_rounds(2000); round > 0; round--) {
        static const char *const parts[] = {"a", "the ", " ", "\n", "é", "日", "🙂", "'s", "12", "?!", "\t", "_", "\xC2\xA0"};
        char text[256];
        size_t len = 0;
        const struct dg_bpe_token *tokens;
        for (int i = 0; i < 20; i++) {
            random = random * 1664525 + 1013904223;
            len += (size_t)snprintf(text + len, sizeof text - len, "%s",
                                    parts[(random >> 20) % (sizeof parts / sizeof *parts)]);
        }
        const size_t n = encode(bpe, work, text, 0, &tokens);
        check_decoding(bpe, tokens, n, dg_span_cstr(text));
        ck_assert_uint_eq(tokens[0].begin, 0);
        ck_assert_uint_eq(tokens[n - 1].end, strlen(text));
    }
    dg_bpe_work_free(work);
    dg_bpe_close(bpe);
}
END_TEST

START_TEST(a_long_word_takes_no_longer_than_its_length)
{
    struct dg_bpe *bpe = open_model("gpt2");
    struct dg_bpe_work *work = dg_bpe_work_new();
    const struct dg_bpe_token *tokens;
    const size_t len = 1 << 18;
    char *text = malloc(len + 1);
    memset(text, 'e', len);
    text[len] = '\0';
    ck_assert_uint_gt(encode(bpe, work, text, 0, &tokens), 1000); /* quadratic, it would take minutes */
    free(text);
    dg_bpe_work_free(work);
    dg_bpe_close(bpe);
}
END_TEST

START_TEST(bytes_that_are_no_character_become_the_replacement)
{
    struct dg_bpe *bpe = open_model("gpt2");
    struct dg_bpe_stream stream;
    struct dg_span delta;
    dg_bpe_stream_init(&stream, bpe, 1000);
    /* U+00C3 is the letter of the byte 0xC3, "a" that of 0x61 */
    ck_assert_int_eq(dg_bpe_stream_push(&stream, dg_bpe_find(bpe, DG_SPAN("\xC3\x83")), &delta), DG_OK);
    ck_assert_uint_eq(delta.len, 0);
    ck_assert_int_eq(dg_bpe_stream_push(&stream, dg_bpe_find(bpe, DG_SPAN("a")), &delta), DG_OK);
    ck_assert(dg_span_eq(delta, DG_SPAN("\xEF\xBF\xBD" "a")));
    ck_assert_int_eq(dg_bpe_stream_push(&stream, dg_bpe_find(bpe, DG_SPAN("\xC3\x83")), &delta), DG_OK);
    ck_assert_int_eq(dg_bpe_stream_finish(&stream, &delta), DG_OK);
    ck_assert(dg_span_eq(delta, DG_SPAN("\xEF\xBF\xBD")));
    ck_assert_int_eq(dg_bpe_stream_push(&stream, 100000, &delta), DG_ERR_RANGE);
    ck_assert_int_eq(dg_bpe_stream_push(&stream, -1, &delta), DG_ERR_RANGE);
    dg_bpe_stream_deinit(&stream);
    dg_bpe_close(bpe);
}
END_TEST

START_TEST(a_continuation_keeps_its_first_space)
{
    struct dg_bpe *bpe = open_model("scaled");
    struct dg_bpe_stream stream;
    struct dg_span delta;
    const int32_t space = dg_bpe_find(bpe, DG_SPAN("\xE2\x96\x81"));
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        dg_bpe_stream_init(&stream, bpe, 1000);
        stream.goes_on = goes_on;
        ck_assert_int_eq(dg_bpe_stream_push(&stream, space, &delta), DG_OK);
        ck_assert_uint_eq(delta.len, (size_t)goes_on);
        ck_assert_int_eq(dg_bpe_stream_push(&stream, space, &delta), DG_OK);
        ck_assert_uint_eq(delta.len, 1);
        dg_bpe_stream_deinit(&stream);
    }
    dg_bpe_close(bpe);
}
END_TEST

/* ---- Small tokenizers ------------------------------------------------------------------------------------ */

#define SMALL(BEFORE, ADDED)                                                                                          \
    "{\"added_tokens\":[" ADDED "]," BEFORE "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,"     \
    "\"vocab\":{\"<unk>\":0,\"a\":1,\"b\":2,\"\xE2\x96\x81\":3,\"ab\":4,\"\xC3\xA9\":5,\"aab\":6,\" \":7,\"1\":8},"            \
    "\"merges\":[\"a b\",[\"a\",\"ab\"]]}}"

static void gives(const char *json, const char *text, const char *expected)
{
    struct dg_bpe *bpe = NULL;
    struct dg_why why = DG_WHY_NONE;
    const struct dg_bpe_token *tokens;
    char got[256] = "";
    const enum dg_err err = dg_bpe_parse(&bpe, dg_span_cstr(json), DG_SPAN(""), &why);
    ck_assert_msg(!err, "%s", why.text);
    struct dg_bpe_work *work = dg_bpe_work_new();
    const size_t n = encode(bpe, work, text, DG_BPE_SPECIAL, &tokens);
    for (size_t i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d:%u-%u", i ? " " : "", tokens[i].id, tokens[i].begin,
                 tokens[i].end);
    ck_assert_str_eq(got, expected);
    dg_bpe_work_free(work);
    dg_bpe_close(bpe);
}

START_TEST(steps_do_what_they_say)
{
    gives(SMALL("", ""), "aabxxa", "6:0-3 0:3-5 1:5-6"); /* unknown ones are one */
    gives(SMALL("\"normalizer\":{\"type\":\"NFC\"},", ""), "ae\xCC\x81" "b", "1:0-1 5:1-4 2:4-5");
    gives(SMALL("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"ba\"},\"content\":\"b\"},", ""), "abaa",
          "4:0-3 1:3-4");
    gives(SMALL("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"first\","
                "\"split\":true},", ""), "a ab", "3:0-0 1:0-1 3:1-2 4:2-4");
    gives(SMALL("\"pre_tokenizer\":{\"type\":\"Digits\",\"individual_digits\":true},", ""), "ab11", "4:0-2 8:2-3 8:3-4");
    gives(SMALL("", "{\"id\":9,\"content\":\"[M]\",\"special\":true,\"lstrip\":true,\"rstrip\":true}"), "a [M] b",
          "1:0-1 9:1-6 2:6-7");
    gives(SMALL("", "{\"id\":9,\"content\":\"ba\",\"special\":false,\"single_word\":true,\"normalized\":false}"), "ba aba",
          "9:0-2 7:2-3 4:3-5 1:5-6");
}
END_TEST

static void refused(const char *json, const char *expected)
{
    struct dg_bpe *bpe = NULL;
    struct dg_why why = DG_WHY_NONE;
    ck_assert(dg_bpe_parse(&bpe, dg_span_cstr(json), DG_SPAN(""), &why) != DG_OK);
    ck_assert_msg(strstr(why.text, expected), "\"%s\" does not say \"%s\"", why.text, expected);
}

START_TEST(what_is_not_known_is_refused_by_name)
{
    refused("{}", "model");
    refused("{\"model\":{\"type\":\"Unigram\",\"vocab\":{\"a\":0},\"merges\":[]}}", "Unigram");
    refused("{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", "two tokens have the id 0");
    refused("{\"model\":{\"vocab\":{\"a\":999999},\"merges\":[]}}", "expected an integer 0 to");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", "merge 0 is 'a'");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", "merge 0: 'b' is no token");
    refused("{\"model\":{\"vocab\":{\"a\":0,\"b\":1},\"merges\":[[\"a\",\"b\"]]}}", "what it makes, 'ab'");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"u\"}}", "unknown token 'u'");
    refused("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"end_of_word_suffix\":\"</w>\"}}", "end_of_word_suffix");
    refused(SMALL("\"normalizer\":{\"type\":\"Lowercase\"},", ""), "normalizer 'Lowercase'");
    refused(SMALL("\"pre_tokenizer\":{\"type\":\"Whitespace\"},", ""), "pre-tokenizer 'Whitespace'");
    refused(SMALL("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x+\"},\"behavior\":\"Isolated\"},", ""),
            "pattern 'x+'");
    refused(SMALL("\"pre_tokenizer\":{\"type\":\"ByteLevel\"},", ""), "no token for the byte 0x00");
    refused(SMALL("\"decoder\":{\"type\":\"WordPiece\"},", ""), "decoder 'WordPiece'");
    refused(SMALL("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}}]},", ""),
            "token 'x'");
    refused(SMALL("", "{\"id\":1,\"content\":\"other\"}"), "has the id 1 of another one");
    refused(SMALL("", "{\"id\":9,\"content\":\"\"}"), "0 bytes");
}
END_TEST

START_TEST(vocab_json_with_merges_txt_is_enough)
{
    struct dg_bpe *bpe = NULL;
    struct dg_why why = DG_WHY_NONE;
    struct dg_buf json;
    const struct dg_bpe_token *tokens;
    struct dg_bpe *gpt2 = open_model("gpt2");
    dg_buf_init(&json, 1 << 20);
    ck_assert_int_eq(dg_buf_append_cstr(&json, "{"), DG_OK);
    for (int32_t id = 0; id < 256; id++) {
        const struct dg_span piece = dg_bpe_piece(gpt2, id);
        const char *quote = dg_span_eq(piece, DG_SPAN("\"")) || dg_span_eq(piece, DG_SPAN("\\")) ? "\\" : "";
        ck_assert_int_eq(dg_buf_printf(&json, "\"%s%.*s\":%d,", quote, DG_SPAN_FMT(piece), (int)id), DG_OK);
    }
    ck_assert_int_eq(dg_buf_append_cstr(&json, "\"he\":256,\"the\":257,\"<|endoftext|>\":258}"), DG_OK);
    enum dg_err err = dg_bpe_parse(&bpe, dg_buf_span(&json), DG_SPAN("#version: 0.2\nh e\nt he\r\n\n"), &why);
    ck_assert_msg(!err, "%s", why.text);
    struct dg_bpe_work *work = dg_bpe_work_new();
    ck_assert_uint_eq(encode(bpe, work, "the<|endoftext|>he", DG_BPE_SPECIAL, &tokens), 3);
    ck_assert_int_eq(tokens[0].id, 257);
    ck_assert_int_eq(tokens[1].id, 258);
    ck_assert_int_eq(tokens[2].id, 256);
    dg_bpe_close(bpe);
    ck_assert_int_eq(dg_bpe_parse(&bpe, dg_buf_span(&json), DG_SPAN("h e x\n"), &why), DG_ERR_FORMAT);
    dg_bpe_work_free(work);
    dg_buf_deinit(&json);
    dg_bpe_close(gpt2);
}
END_TEST

DG_UNIT(agrees_with_another_implementation, what_strangers_write_is_text_unless_asked_for,
        every_text_comes_back_and_offsets_cover_it, a_long_word_takes_no_longer_than_its_length,
        bytes_that_are_no_character_become_the_replacement, a_continuation_keeps_its_first_space, steps_do_what_they_say,
        what_is_not_known_is_refused_by_name, vocab_json_with_merges_txt_is_enough)
