/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "fetch/catalogue.h"
#include "unit.h"

#define SOURCES "\"sources\":[{\"name\":\"a\",\"base\":\"https://h.example/x/\"}]"
#define FILE_OK "{\"name\":\"m.bin\",\"place\":\"p/q.zst\",\"size\":7}"
#define MODEL(file)                                                                                \
    "{\"source\":\"fr\",\"target\":\"en\",\"from\":\"a\",\"kind\":\"tiny\",\"files\":[" file "]}"
#define CATALOGUE(model) "{\"format\":1," SOURCES ",\"models\":[" model "]}"

static enum dg_err parse(const char *text, struct dg_catalogue *catalogue)
{
    return dg_catalogue_parse(catalogue, dg_span_cstr(text), NULL);
}

START_TEST(a_catalogue_is_read_and_written_again)
{
    struct dg_catalogue catalogue, again;
    struct dg_buf buf;
    dg_buf_init(&buf, 1 << 16);
    ck_assert_int_eq(parse(CATALOGUE(MODEL(FILE_OK)), &catalogue), DG_OK);
    ck_assert_uint_eq(catalogue.n_models, 1);
    ck_assert_str_eq(catalogue.models[0].files[0].place, "p/q.zst");
    ck_assert_uint_eq(catalogue.models[0].files[0].size, 7);
    ck_assert_str_eq(catalogue.models[0].from->base, "https://h.example/x/");
    ck_assert(catalogue.models[0].bleu < 0);
    ck_assert_int_eq(dg_catalogue_print(&catalogue, &buf), DG_OK);
    ck_assert_int_eq(dg_catalogue_parse(&again, dg_buf_span(&buf), NULL), DG_OK);
    ck_assert_str_eq(again.models[0].files[0].name, "m.bin");
    dg_catalogue_free(&catalogue);
    dg_catalogue_free(&again);
    dg_buf_deinit(&buf);
}
END_TEST

START_TEST(what_is_no_catalogue_is_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"format\":2," SOURCES ",\"models\":[]}",
        "{\"format\":1,\"sources\":[{\"name\":\"a\",\"base\":\"http://h/\"}],\"models\":[]}",
        "{\"format\":1,\"sources\":[{\"name\":\"a\",\"base\":\"https://h/x\"}],\"models\":[]}",
        CATALOGUE(MODEL("")),
        CATALOGUE(MODEL("{\"name\":\"../m\",\"place\":\"p\"}")),
        CATALOGUE(MODEL("{\"name\":\"m\",\"place\":\"../p\"}")),
        CATALOGUE(MODEL("{\"name\":\"m\",\"place\":\"/p\"}")),
        CATALOGUE(MODEL("{\"name\":\"m\",\"place\":\"p\",\"size\":-1}")),
        CATALOGUE(MODEL("{\"name\":\"m\",\"place\":\"p\",\"sha256\":\"00\"}")),
        CATALOGUE(MODEL(FILE_OK "," FILE_OK)),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dg_catalogue catalogue;
        ck_assert_msg(parse(texts[i], &catalogue) != DG_OK, "%s", texts[i]);
    }
}
END_TEST

START_TEST(texts_are_what_they_should_be)
{
    ck_assert(dg_catalogue_is_name(DG_SPAN("model.fren.intgemm.alphas.bin")));
    ck_assert(!dg_catalogue_is_name(DG_SPAN("..")) && !dg_catalogue_is_name(DG_SPAN("a b")));
    ck_assert(!dg_catalogue_is_name(DG_SPAN("a\0b")));
    ck_assert(dg_catalogue_is_place(DG_SPAN("a/b-c.zst")));
    ck_assert(!dg_catalogue_is_place(DG_SPAN("a/../b")) && !dg_catalogue_is_place(DG_SPAN("a/")));
    ck_assert(dg_catalogue_is_language(DG_SPAN("zh-Hans")));
    ck_assert(!dg_catalogue_is_language(DG_SPAN("f")) &&
              !dg_catalogue_is_language(DG_SPAN("a--b")));
    ck_assert(!dg_catalogue_is_url(DG_SPAN("https://me@h/")));
    ck_assert(dg_catalogue_is_url(DG_SPAN("https://h:8443/x?y=z")));
}
END_TEST

DG_UNIT(a_catalogue_is_read_and_written_again, what_is_no_catalogue_is_refused,
        texts_are_what_they_should_be)
