/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "fetch/catalogue_choice.h"
#include "unit.h"

#define M(source, target, from, kind, version, more)                                               \
    "{\"source\":\"" source "\",\"target\":\"" target "\",\"from\":\"" from "\",\"kind\":\"" kind  \
    "\",\"version\":\"" version "\"," more                                                         \
    "\"files\":[{\"name\":\"m\",\"place\":\"p\",\"size\":" SIZE "}]}"
#define SIZE "100"

static const char text[] =
    "{\"format\":1,\"date\":\"2026-01-01\",\"sources\":["
    "{\"name\":\"firefox\",\"base\":\"https://h/\"},"
    "{\"name\":\"firefox-archive\",\"base\":\"https://h/\"},"
    "{\"name\":\"argos\",\"base\":\"https://h/\"}],\"models\":[" M(
        "fr", "en", "firefox-archive", "tiny", "1.0",
        "\"bleu\":40,") "," M("fr", "en", "firefox", "tiny", "3.0",
                              "") "," M("fr", "en", "firefox", "base", "3.1",
                                        "") "," M("fr", "en", "firefox", "base", "4.0a1",
                                                  "") "," M("fr", "en", "firefox", "base-memory",
                                                            "3.2",
                                                            "\"filter\":\"env.appinfo.OS == "
                                                            "'Android'\",") "," M("en", "de",
                                                                                  "argos", "argos",
                                                                                  "1.9",
                                                                                  "") "," M("zh-"
                                                                                            "Hans",
                                                                                            "en",
                                                                                            "firefo"
                                                                                            "x",
                                                                                            "base",
                                                                                            "3.0",
                                                                                            "") "," M("az",
                                                                                                      "en",
                                                                                                      "firefox",
                                                                                                      "tiny",
                                                                                                      "3.0a1",
                                                                                                      "") "]}";

static struct dg_catalogue catalogue;

static void start(void)
{
    ck_assert_int_eq(dg_catalogue_parse(&catalogue, dg_span_cstr(text), NULL), DG_OK);
}

static struct dg_model_choice find(const char *pair, struct dg_catalogue_choice_opts opts,
                                   enum dg_err expected)
{
    struct dg_model_choice choice = {.n = 0};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_catalogue_choice_find(&catalogue, pair, &opts, &choice, &error), expected);
    ck_assert_int_eq(expected != DG_OK, error.text[0] != '\0');
    return choice;
}

START_TEST(the_best_released_model_is_chosen)
{
    start();
    ck_assert_str_eq(find("fr-en", (struct dg_catalogue_choice_opts){0}, DG_OK).models[0]->version,
                     "3.1");
    ck_assert_str_eq(
        find("FR-EN", (struct dg_catalogue_choice_opts){.kind = "tiny"}, DG_OK).models[0]->version,
        "3.0");
    ck_assert_str_eq(find("fr-en", (struct dg_catalogue_choice_opts){.version = "4.0a1"}, DG_OK)
                         .models[0]
                         ->version,
                     "4.0a1");
    ck_assert_str_eq(
        find("fr-en", (struct dg_catalogue_choice_opts){.source = "firefox-archive"}, DG_OK)
            .models[0]
            ->version,
        "1.0");
    find("fr-en", (struct dg_catalogue_choice_opts){.kind = "huge"}, DG_ERR_NOT_FOUND);
    ck_assert(dg_catalogue_choice_is_trial(
        find("az-en", (struct dg_catalogue_choice_opts){0}, DG_OK).models[0]));
    dg_catalogue_free(&catalogue);
}
END_TEST

START_TEST(a_way_leads_through_english)
{
    start();
    const struct dg_model_choice choice =
        find("fr-de", (struct dg_catalogue_choice_opts){0}, DG_OK);
    ck_assert_uint_eq(choice.n, 2);
    ck_assert_str_eq(choice.models[1]->target, "de");
    find("de-fr", (struct dg_catalogue_choice_opts){0}, DG_ERR_NOT_FOUND);
    find("english", (struct dg_catalogue_choice_opts){0}, DG_ERR_INVALID);
    find("-en", (struct dg_catalogue_choice_opts){0}, DG_ERR_INVALID);
    dg_catalogue_free(&catalogue);
}
END_TEST

START_TEST(chinese_is_found_with_and_without_its_script)
{
    start();
    ck_assert_uint_eq(find("zh-en", (struct dg_catalogue_choice_opts){0}, DG_OK).n, 1);
    ck_assert_uint_eq(find("zh-Hans-en", (struct dg_catalogue_choice_opts){0}, DG_OK).n, 1);
    dg_catalogue_free(&catalogue);
}
END_TEST

START_TEST(scores_of_the_same_kind_are_lent)
{
    start();
    const struct dg_catalogue_model *tiny =
        find("fr-en", (struct dg_catalogue_choice_opts){.kind = "tiny"}, DG_OK).models[0];
    ck_assert(dg_catalogue_choice_scored(&catalogue, tiny)->bleu > 39);
    ck_assert_ptr_null(dg_catalogue_choice_scored(
        &catalogue, find("fr-en", (struct dg_catalogue_choice_opts){0}, DG_OK).models[0]));
    dg_catalogue_free(&catalogue);
}
END_TEST

DG_UNIT(the_best_released_model_is_chosen, a_way_leads_through_english,
        chinese_is_found_with_and_without_its_script, scores_of_the_same_kind_are_lent)
