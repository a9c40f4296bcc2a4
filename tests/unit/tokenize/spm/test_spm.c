/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Models: which are accepted, which are refused and with which message, and the table of pieces. */
#include "base/memory/mem.h"
#include "tokenize/spm/spm_encode.h"
#include "tokenize/spm/spm_int.h"

#include "unit.h"
#include "spm_maker.h"

static void check_refused(struct maker *maker, const char *words)
{
    struct dg_spm *spm = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_span file = maker_file(maker);
    enum dg_err err = dg_spm_new((const uint8_t *)file.ptr, file.len, &error, &spm);
    ck_assert_msg(err != DG_OK, "accepted, expected: %s", words);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" does not say \"%s\"", error.text,
                  words);
    maker_deinit(maker);
}

START_TEST(tells_what_is_in_it)
{
    struct maker maker;
    maker_init(&maker);
    maker_piece(&maker,
                "\xE2\x96\x81"
                "a",
                -1.5f, DG_PIECE_NORMAL);
    maker_piece(&maker, "b", -2, DG_PIECE_USER_DEFINED);
    struct dg_spm *spm = maker_open(&maker);
    ck_assert_int_eq(dg_spm_kind(spm), DG_SPM_UNIGRAM);
    ck_assert_uint_eq(dg_spm_size(spm), 5);
    ck_assert_int_eq(dg_spm_unk(spm), 0);
    ck_assert_int_eq(dg_spm_bos(spm), 1);
    ck_assert_int_eq(dg_spm_eos(spm), 2);
    ck_assert_int_eq(dg_spm_pad(spm), -1);
    ck_assert(dg_span_eq(dg_spm_piece(spm, 3), DG_SPAN("\xE2\x96\x81"
                                                       "a")));
    ck_assert(dg_spm_score(spm, 3) == -1.5f);
    ck_assert_int_eq(dg_spm_type(spm, 3), DG_PIECE_NORMAL);
    ck_assert_int_eq(dg_spm_type(spm, 4), DG_PIECE_USER_DEFINED);
    ck_assert_uint_eq(dg_spm_find(spm, DG_SPAN("b")), 4);
    ck_assert_uint_eq(dg_spm_find(spm, DG_SPAN("</s>")), 2);
    ck_assert_uint_eq(dg_spm_find(spm, DG_SPAN("nothing")), 0);
    dg_spm_close(spm);
    maker_deinit(&maker);
}
END_TEST

/* Lengths of one and two bytes, and messages in any layout, give the same table. */
START_TEST(reads_pieces_in_any_layout)
{
    char text[DG_PIECES_LEN_MAX];
    memset(text, 'x', sizeof text);
    for (int reversed = 0; reversed < 2; reversed++) {
        struct maker maker;
        maker_init(&maker);
        for (unsigned i = 0; i < 100; i++) {
            size_t len = 1 + i * i % sizeof text;
            text[len - 1] = (char)('A' + i % 26);
            text[0] = (char)(1 + i);
            maker_piece_as(&maker, text, len, -(float)i, i % 3 ? DG_PIECE_NORMAL : DG_PIECE_UNUSED,
                           reversed);
            text[len - 1] = 'x';
        }
        struct dg_spm *spm = maker_open(&maker);
        ck_assert_int_eq(spm->pieces.copy != NULL, reversed);
        for (unsigned i = 0; i < 100; i++) {
            struct dg_span piece = dg_spm_piece(spm, 3 + i);
            ck_assert_uint_eq(piece.len, 1 + i * i % sizeof text);
            ck_assert_int_eq(piece.ptr[0], (char)(1 + i));
            ck_assert(dg_spm_score(spm, 3 + i) == -(float)i);
            ck_assert_int_eq(dg_spm_type(spm, 3 + i), i % 3 ? DG_PIECE_NORMAL : DG_PIECE_UNUSED);
            ck_assert_uint_eq(dg_spm_find(spm, piece), 3 + i);
            ck_assert_uint_eq(
                dg_pieces_handle_id(&spm->pieces, dg_pieces_handle(&spm->pieces, 3 + i)), 3 + i);
        }
        dg_spm_close(spm);
        maker_deinit(&maker);
    }
}
END_TEST

START_TEST(refuses_what_the_library_refuses)
{
    struct maker maker;
    maker_init_empty(&maker);
    check_refused(&maker, "pieces is empty");
    maker_init_empty(&maker);
    maker_piece(&maker, "a", 0, DG_PIECE_NORMAL);
    check_refused(&maker, "UNKNOWN, expected one");
    maker_init(&maker);
    maker_piece(&maker, "<u2>", 0, DG_PIECE_UNKNOWN);
    check_refused(&maker, "pieces[0] and pieces[3] are both of type UNKNOWN");
    maker_init(&maker);
    maker_piece(&maker, "", 0, DG_PIECE_NORMAL);
    check_refused(&maker, "pieces[3]: the string is empty");
    maker_init(&maker);
    maker_piece(&maker, "a", 0, DG_PIECE_NORMAL);
    maker_piece(&maker, "a", 0, DG_PIECE_NORMAL);
    check_refused(&maker, "are the same string");
    maker_init(&maker);
    maker_piece(&maker, "<0x41>", 0, DG_PIECE_BYTE);
    check_refused(&maker, "pieces[3] is of type BYTE, but byte_fallback is false");
    maker_init(&maker);
    put_varint_field(&maker.trainer, 35, 1);
    check_refused(&maker, "pieces has 0 entries of type BYTE, expected 256");
    maker_init(&maker);
    put_varint_field(&maker.trainer, 35, 1);
    maker_piece(&maker, "<0x4g>", 0, DG_PIECE_BYTE);
    check_refused(&maker, "not of the form <0x4F>");
}
END_TEST

START_TEST(refuses_lies_by_name)
{
    struct maker maker;
    maker_init(&maker);
    maker_piece(&maker, "a", (float)(1e30 * 1e30), DG_PIECE_NORMAL);
    check_refused(&maker, "pieces[3]: the score is inf");
    maker_init(&maker);
    maker_piece(&maker, "a", 0, 9);
    check_refused(&maker, "type is 9, expected 1 to 6");
    maker_init(&maker);
    put_varint_field(&maker.trainer, 3, 7);
    check_refused(&maker, "trainer_spec: model_type is 7");
    maker_init(&maker);
    put_bytes_field(&maker.trainer, 35, "x", 1);
    check_refused(&maker, "trainer_spec: byte_fallback");
    maker_init(&maker);
    put_bytes_field(&maker.normaliser, 2, "\xFF\xFF\0\0abc", 7);
    check_refused(&maker, "normalizer_spec: precompiled_charsmap says its trie has 65535 bytes");
    maker_init(&maker);
    maker_piece(&maker, "b", -1, DG_PIECE_NORMAL);
    put_bytes_field(&maker.self_test, 1,
                    "\x0A\x01"
                    "a\x12\x01"
                    "b",
                    6);
    check_refused(&maker, "self_test_data: samples[0]");
    char text[DG_PIECES_LEN_MAX + 1];
    memset(text, 'x', sizeof text);
    maker_init(&maker);
    maker_piece_as(&maker, text, sizeof text, 0, DG_PIECE_NORMAL, false);
    check_refused(&maker, "the string has 1025 bytes, at most 1024");
}
END_TEST

/* Cut anywhere, a model is refused or is a smaller model; it never reads past its bytes (the
 * sanitizer watches a copy of exact size). */
START_TEST(survives_being_cut_anywhere)
{
    struct maker maker;
    maker_init(&maker);
    maker_bytes(&maker);
    maker_piece(&maker, "ab", -1, DG_PIECE_NORMAL);
    maker_charsmap(&maker.normaliser, 'q', "ab");
    struct dg_span file = maker_file(&maker);
    for (size_t len = 0; len < file.len; len++) {
        uint8_t *copy = dg_xmalloc(len);
        struct dg_spm *spm = NULL;
        struct dg_error error = DG_ERROR_NONE;
        memcpy(copy, file.ptr, len);
        if (dg_spm_new(copy, len, &error, &spm) != DG_OK)
            ck_assert_msg(error.text[0] != '\0', "refused without a sentence at %zu", len);
        dg_spm_close(spm);
        dg_free(copy);
    }
    maker_deinit(&maker);
}
END_TEST

START_TEST(checks_its_own_samples)
{
    struct maker maker;
    maker_init(&maker);
    maker_piece(&maker,
                "\xE2\x96\x81"
                "a",
                -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "b", -1, DG_PIECE_NORMAL);
    static const char sample[] = "\x0A\x02"
                                 "ab\x12\x06\xE2\x96\x81"
                                 "a b";
    put_bytes_field(&maker.self_test, 1, sample, sizeof sample - 1);
    dg_spm_close(maker_open(&maker));
    maker_deinit(&maker);
}
END_TEST

START_TEST(names_the_file)
{
    struct dg_spm *spm = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_spm_open("/nonexistent/x.spm", &error, &spm), DG_ERR_NOT_FOUND);
    ck_assert_msg(strstr(error.text, "/nonexistent/x.spm") != NULL, "%s", error.text);
}
END_TEST

DG_UNIT(tells_what_is_in_it, reads_pieces_in_any_layout, refuses_what_the_library_refuses,
        refuses_lies_by_name, survives_being_cut_anywhere, checks_its_own_samples, names_the_file)
