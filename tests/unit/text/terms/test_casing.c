/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "text/terms/casing.h"
#include "unit.h"

START_TEST(finds_capitals_and_titles)
{
    static const struct {
        const char *text, *language;
        enum dg_casing casing;
    } cases[] = {
        {"WARNING: HOT SURFACE", "en", DG_CASING_UPPER},
        {"WARNING", "en", DG_CASING_UPPER},
        {"NATO", "en", DG_CASING_PLAIN},
        {"USA", "en", DG_CASING_PLAIN},
        {"ÉCOLE FERMÉE {{name}} https://example.org/x", "fr", DG_CASING_UPPER},
        {"ВНИМАНИЕ! ОПАСНО", "ru", DG_CASING_UPPER},
        {"The Quick Brown Fox of the North", "en", DG_CASING_TITLE},
        {"How to Make a Good Soup", "en", DG_CASING_TITLE},
        {"Das Große Haus Am See", "de", DG_CASING_PLAIN},
        {"Hello World", "en", DG_CASING_PLAIN},
        {"This is an ordinary sentence.", "en", DG_CASING_PLAIN},
        {"Paris and London are cities.", "en", DG_CASING_PLAIN},
        {"今天天气很好", "zh", DG_CASING_PLAIN},
        {"", "en", DG_CASING_PLAIN},
        {"12 345", "en", DG_CASING_PLAIN},
        {"AB\xFF"
         "CDEF GHI",
         "en", DG_CASING_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(
            dg_casing_find(dg_span_cstr(cases[i].text), cases[i].language) == cases[i].casing,
            "%s is %s", cases[i].text,
            dg_casing_name(dg_casing_find(dg_span_cstr(cases[i].text), cases[i].language)));
}
END_TEST

static const char *lowered(const char *text, const char *language)
{
    static struct dg_buf buf;
    dg_buf_deinit(&buf);
    dg_buf_init(&buf, 1000);
    struct dg_span span = dg_span_cstr(text);
    ck_assert_int_eq(dg_casing_lower(span, dg_casing_find(span, language), language, NULL, &buf),
                     DG_OK);
    return buf.ptr ? buf.ptr : "";
}

START_TEST(writes_ordinary_case_for_the_model)
{
    ck_assert_str_eq(lowered("WARNING: HOT SURFACE! KEEP AWAY.", "en"),
                     "Warning: hot surface! Keep away.");
    ck_assert_str_eq(lowered("YOU AND I KNOW I'M RIGHT", "en"), "You and I know I'm right");
    ck_assert_str_eq(lowered("SET %PATH% TO {{DIR}} NOW", "en"), "Set %PATH% to {{DIR}} now");
    ck_assert_str_eq(lowered("ΟΔΟΣ ΤΟΥ ΗΛΙΟΥ", "el"), "Οδος του ηλιου");
    ck_assert_str_eq(lowered("IŞIK VE İZMİR", "tr"), "Işık ve izmir");
    ck_assert_str_eq(lowered("How to Use NASA and iPhone Data Well", "en"),
                     "How to use NASA and iPhone data well");
    ck_assert_str_eq(lowered("Nothing to do here.", "en"), "Nothing to do here.");
}
END_TEST

static enum dg_err is_paris(void *ctx, struct dg_span word, enum dg_casing_word *kind)
{
    ++*(size_t *)ctx;
    *kind = dg_span_eq(word, DG_SPAN("Paris"))    ? DG_CASING_NAME
            : dg_span_eq(word, DG_SPAN("Office")) ? DG_CASING_COMMON_WORD
            : dg_span_eq(word, DG_SPAN("Of"))     ? DG_CASING_COMMON_WORD
                                                  : DG_CASING_UNKNOWN_WORD;
    return dg_span_eq(word, DG_SPAN("Trouble")) ? DG_ERR_NOMEM : DG_OK;
}

START_TEST(names_of_a_title_keep_their_capital)
{
    struct dg_buf buf;
    size_t n_asked = 0;
    const struct dg_casing_names names = {is_paris, &n_asked};
    dg_buf_init(&buf, 100);
    ck_assert_int_eq(
        dg_casing_lower(DG_SPAN("NASA Opens Paris Office"), DG_CASING_TITLE, "en", &names, &buf),
        DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&buf), DG_SPAN("NASA opens Paris office")));
    ck_assert_uint_eq(n_asked, 3);
    ck_assert_int_eq(
        dg_casing_lower(DG_SPAN("Much Trouble in Paris"), DG_CASING_TITLE, "en", &names, &buf),
        DG_ERR_NOMEM);
    ck_assert(dg_span_eq(dg_buf_span(&buf), DG_SPAN("NASA opens Paris office")));
    dg_buf_clear(&buf);
    ck_assert_int_eq(dg_casing_lower(DG_SPAN("PARIS IS BIG"), DG_CASING_UPPER, "en", &names, &buf),
                     DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&buf), DG_SPAN("Paris is big")));
    dg_buf_deinit(&buf);
    bool is_names;
    ck_assert_int_eq(dg_casing_is_names(DG_SPAN("Paris is the Office"), &names, &is_names), DG_OK);
    ck_assert(!is_names);
    ck_assert_int_eq(dg_casing_is_names(DG_SPAN("Lord Of Rings"), &names, &is_names), DG_OK);
    ck_assert(!is_names);
    ck_assert_int_eq(dg_casing_is_names(DG_SPAN("My New Paris Office"), &names, &is_names), DG_OK);
    ck_assert(is_names);
    ck_assert_int_eq(dg_casing_is_names(DG_SPAN("Office Trouble"), &names, &is_names),
                     DG_ERR_NOMEM);
}
END_TEST

static const char *restored(const char *text, enum dg_casing casing, const char *language,
                            bool expected)
{
    static struct dg_buf buf;
    bool done = !expected;
    dg_buf_deinit(&buf);
    dg_buf_init(&buf, 1000);
    ck_assert_int_eq(dg_casing_restore(dg_span_cstr(text), casing, language, &buf, &done), DG_OK);
    ck_assert_int_eq(done, expected);
    return buf.ptr;
}

START_TEST(puts_the_case_back)
{
    ck_assert_str_eq(restored("Attention : surface chaude {{name}}", DG_CASING_UPPER, "fr", true),
                     "ATTENTION : SURFACE CHAUDE {{name}}");
    ck_assert_str_eq(restored("die große Straße", DG_CASING_UPPER, "de", true),
                     "DIE GROSSE STRASSE");
    ck_assert_str_eq(restored("iyi", DG_CASING_UPPER, "tr", true), "İYİ");
    ck_assert_str_eq(restored("how to make a good soup", DG_CASING_TITLE, "en", true),
                     "How to Make a Good Soup");
    ck_assert_str_eq(restored("comment faire une soupe", DG_CASING_TITLE, "fr", false),
                     "Comment faire une soupe");
    ck_assert_str_eq(restored("高温注意", DG_CASING_UPPER, "zh", false), "高温注意");
    ck_assert_str_eq(restored("as it is", DG_CASING_PLAIN, "en", false), "as it is");
}
END_TEST

START_TEST(appends_and_leaves_nothing_behind_on_failure)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 12);
    bool done;
    ck_assert_int_eq(dg_buf_append_cstr(&buf, "> "), DG_OK);
    ck_assert_int_eq(
        dg_casing_restore(DG_SPAN("much too long"), DG_CASING_UPPER, "en", &buf, &done),
        DG_ERR_LIMIT);
    ck_assert_str_eq(buf.ptr, "> ");
    ck_assert_int_eq(dg_casing_restore(DG_SPAN("short"), DG_CASING_UPPER, "en", &buf, &done),
                     DG_OK);
    ck_assert_str_eq(buf.ptr, "> SHORT");
    dg_mem_fail_after(1);
    enum dg_err err = dg_casing_restore(DG_SPAN("abc"), DG_CASING_UPPER, "en", &buf, &done);
    dg_mem_fail_after(0);
    ck_assert_int_eq(err, DG_ERR_NOMEM);
    ck_assert_str_eq(buf.ptr, "> SHORT");
    dg_buf_deinit(&buf);
}
END_TEST

START_TEST(lowers_the_first_letter_alone)
{
    struct dg_buf buf;
    bool changed;
    dg_buf_init(&buf, 100);
    ck_assert_int_eq(dg_casing_lower_first(DG_SPAN("\xC3\x8A"
                                                   "tes-Vous"),
                                           &buf, &changed),
                     DG_OK);
    ck_assert(changed);
    ck_assert_int_eq(dg_casing_lower_first(DG_SPAN(" a"), &buf, &changed), DG_OK);
    ck_assert(!changed);
    ck_assert_int_eq(dg_casing_lower_first(DG_SPAN(""), &buf, &changed), DG_OK);
    ck_assert(!changed);
    ck_assert(dg_span_eq(dg_buf_span(&buf), DG_SPAN("\xC3\xAA"
                                                    "tes-Vous a")));
    dg_buf_deinit(&buf);
}
END_TEST

DG_UNIT(lowers_the_first_letter_alone, finds_capitals_and_titles,
        writes_ordinary_case_for_the_model, names_of_a_title_keep_their_capital, puts_the_case_back,
        appends_and_leaves_nothing_behind_on_failure)
