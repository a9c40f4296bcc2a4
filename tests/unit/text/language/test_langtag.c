/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "text/language/langtag.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unicode/uclean.h>

static const char *canonical(const char *text)
{
    static struct dg_langtag tag;
    return dg_langtag_parse(dg_span_cstr(text), &tag, NULL) ? "refused" : tag.text;
}

START_TEST(reads_every_spelling)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"en", "en"},
        {"EN", "en"},
        {" fr ", "fr"},
        {"zh", "zh"},
        {"zh-CN", "zh-CN"},
        {"zh_cn", "zh-CN"},
        {"zh-Hans", "zh-Hans"},
        {"zh_Hans", "zh-Hans"},
        {"ZH-HANS-CN", "zh-Hans-CN"},
        {"zt", "zh-Hant"},
        {"zh-CHT", "zh-Hant"},
        {"zh_TW", "zh-TW"},
        {"pt-br", "pt-BR"},
        {"pb", "pt-BR"},
        {"PB", "pt-BR"},
        {"iw", "he"},
        {"he", "he"},
        {"no", "nb"},
        {"nb", "nb"},
        {"nb_NO", "nb-NO"},
        {"nob", "nb"},
        {"nn", "nn"},
        {"in", "id"},
        {"ji", "yi"},
        {"fil", "tl"},
        {"tl", "tl"},
        {"eng", "en"},
        {"swe", "sv"},
        {"eng_Latn", "en"},
        {"zho_Hans", "zh-Hans"},
        {"arb_Arab", "ar"},
        {"cmn", "zh"},
        {"srp_Cyrl", "sr"},
        {"sr-Latn", "sr-Latn"},
        {"sh", "sr-Latn"},
        {"sr_RS@latin", "sr-Latn-RS"},
        {"de_DE.UTF-8", "de-DE"},
        {"en-USA", "en-US"},
        {"en-x-private", "en"},
        {"de-u-co-phonebk", "de"},
        {"es-419", "es-419"},
        {"kmr_Latn", "ku"},
        {"uzn_Latn", "uz"},
        {"uz-Cyrl", "uz-Cyrl"},
        {"zh-yue", "yue"},
        {"mo", "ro"},
        {"Ha_zht_nHK", "zh-Hant"},
    };
    /* each is parsed and then taken from the cache, and all once more when others have replaced
     * them there */
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            ck_assert_msg(strcmp(canonical(cases[i].from), cases[i].to) == 0,
                          "%s became %s, expected %s", cases[i].from, canonical(cases[i].from),
                          cases[i].to);
}
END_TEST

START_TEST(refuses_what_is_no_tag_with_a_sentence)
{
    static const char *const bad[] = {
        "",
        " ",
        "e",
        "a1",
        "und",
        "auto",
        "english",
        "english please",
        "en/fr",
        "-",
        "--",
        "en--fr",
        "x-foo",
        "\xC3\xA9n",
        "this-is-far-too-long-to-be-anything-like-a-language-tag-at-all-really"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct dg_langtag tag;
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_msg(dg_langtag_parse(dg_span_cstr(bad[i]), &tag, &error) == DG_ERR_INVALID,
                      "\"%s\" became %s", bad[i], tag.text);
        ck_assert_ptr_nonnull(strstr(error.text, "is not a language tag"));
    }
    struct dg_langtag tag;
    ck_assert_int_eq(dg_langtag_parse(dg_span_make("en\0", 3), &tag, NULL), DG_ERR_INVALID);
}
END_TEST

static struct dg_langtag parsed(const char *text)
{
    struct dg_langtag tag;
    ck_assert_int_eq(dg_langtag_parse(dg_span_cstr(text), &tag, NULL), DG_OK);
    return tag;
}

static const char *best(const char *want_text, const char *const *offered_texts, size_t n,
                        enum dg_langtag_fit fit)
{
    struct dg_langtag want = parsed(want_text), offered[8];
    size_t index = 99;
    for (size_t i = 0; i < n; i++)
        offered[i] = parsed(offered_texts[i]);
    enum dg_langtag_fit got = dg_langtag_match(&want, offered, n, &index);
    ck_assert_msg(got == fit, "%s fits %d, expected %d", want_text, got, fit);
    return got == DG_LANGTAG_NONE ? "none" : offered_texts[index];
}

START_TEST(matches_what_is_offered)
{
    static const char *const zh[] = {"en", "zh", "zh-Hant"}, *const pt[] = {"pt-PT", "pt-BR"},
                             *const one[] = {"pt"};
    static const char *const es[] = {"es-ES", "es"};
    ck_assert_str_eq(best("zh-CN", zh, 3, DG_LANGTAG_SAME), "zh");
    ck_assert_str_eq(best("zh_Hans", zh, 3, DG_LANGTAG_SAME), "zh");
    ck_assert_str_eq(best("zh-TW", zh, 3, DG_LANGTAG_SAME), "zh-Hant");
    ck_assert_str_eq(best("zh-HK", zh, 3, DG_LANGTAG_REGION), "zh-Hant");
    ck_assert_str_eq(best("zt", zh, 2, DG_LANGTAG_SCRIPT), "zh");
    ck_assert_str_eq(best("pb", pt, 2, DG_LANGTAG_SAME), "pt-BR");
    ck_assert_str_eq(best("pt", pt, 2, DG_LANGTAG_SAME), "pt-BR");
    ck_assert_str_eq(best("pt-PT", one, 1, DG_LANGTAG_REGION), "pt");
    ck_assert_str_eq(best("pt-AO", pt, 2, DG_LANGTAG_REGION), "pt-PT");
    ck_assert_str_eq(best("es-MX", es, 2, DG_LANGTAG_REGION), "es");
    ck_assert_str_eq(best("fr", pt, 2, DG_LANGTAG_NONE), "none");
    static const char *const no[] = {"no"}, *const iw[] = {"iw"};
    ck_assert_str_eq(best("nb", no, 1, DG_LANGTAG_SAME), "no");
    ck_assert_str_eq(best("he", iw, 1, DG_LANGTAG_SAME), "iw");
}
END_TEST

START_TEST(names_languages_in_the_reader_s_language)
{
    static const struct {
        const char *tag, *locale, *name;
    } cases[] = {
        {"de", "en", "German"},
        {"de", "fr", "allemand"},
        {"zh-Hans", "en", "Simplified Chinese"},
        {"pt-BR", "en", "Brazilian Portuguese"},
        {"en", "de_DE", "Englisch"},
        {"fr", "fr",
         "fran\xC3\xA7"
         "ais"},
        {"ko", "ko", "\xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4"},
        {"fr", "not a locale", "French"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_langtag tag = parsed(cases[i].tag);
        struct dg_buf buf;
        dg_buf_init(&buf, 200);
        ck_assert_int_eq(dg_langtag_name(&tag, cases[i].locale, &buf), DG_OK);
        ck_assert_str_eq(buf.ptr, cases[i].name);
        dg_buf_deinit(&buf);
    }
}
END_TEST

/* ICU's allocations, which fail from the one on at which the countdown ends. */
static int n_allocations_left;

static void *allocate(const void *ctx, size_t size)
{
    (void)ctx;
    return n_allocations_left-- > 0 ? malloc(size) : NULL;
}

static void *reallocate(const void *ctx, void *old, size_t size)
{
    (void)ctx;
    return n_allocations_left-- > 0 ? realloc(old, size) : NULL;
}

static void release(const void *ctx, void *old)
{
    (void)ctx;
    free(old);
}

START_TEST(a_tag_is_not_to_blame_for_a_lack_of_memory)
{
    UErrorCode status = U_ZERO_ERROR;
    int n_without = 0;
    u_setMemoryFunctions(NULL, allocate, reallocate, release, &status);
    ck_assert_int_eq(status, U_ZERO_ERROR);
    for (int n = -1; n < 200; n++) { /* first with enough of them, which ICU needs when it starts */
        struct dg_langtag tag;
        char text[32]; /* another text each time, because parsed ones are cached */
        snprintf(text, sizeof text, "zh-Hant-HK-x-%d", n + 1);
        n_allocations_left = n < 0 ? 1 << 30 : n;
        const enum dg_err err = dg_langtag_parse(dg_span_cstr(text), &tag, NULL);
        ck_assert_msg(err == DG_OK || err == DG_ERR_NOMEM, "%s with %d allocations",
                      dg_err_name(err), n);
        n_without += err == DG_ERR_NOMEM;
        if (!err)
            ck_assert_str_eq(tag.text, "zh-Hant-HK");
    }
    ck_assert_int_gt(n_without, 0);
    ck_assert_int_lt(n_without, 200);
    n_allocations_left = 1 << 30;
}
END_TEST

DG_UNIT(reads_every_spelling, refuses_what_is_no_tag_with_a_sentence, matches_what_is_offered,
        names_languages_in_the_reader_s_language, a_tag_is_not_to_blame_for_a_lack_of_memory)
