/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "fetch/source_hf.h"
#include "unit.h"

#include <stdio.h>

#define COMMIT "0123456789012345678901234567890123456789"
#define BLOB   "abcdefabcdefabcdefabcdefabcdefabcdefabcd"
#define SHA256 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const char answer[] =
    "{\"id\":\"a/b-fr-en\",\"sha\":\"" COMMIT "\",\"tags\":[\"x\",\"license:apache-2.0\"],"
    "\"siblings\":[{\"rfilename\":\"README.md\",\"size\":1},"
    "{\"rfilename\":\"config.json\",\"size\":9,\"blobId\":\"" BLOB "\"},"
    "{\"rfilename\":\"../vocab.json\",\"size\":9},"
    "{\"rfilename\":\"pytorch_model.bin\",\"size\":8},"
    "{\"rfilename\":\"model.safetensors\",\"size\":7,\"blobId\":\"" BLOB "\","
    "\"lfs\":{\"sha256\":\"" SHA256 "\",\"size\":70,\"pointerSize\":134}}]}";

START_TEST(names_are_understood)
{
    struct dg_hf hf;
    char url[DG_TRANSFER_URL_MAX];
    ck_assert(dg_hf_parse(&hf, "opus:fr-en"));
    dg_hf_url(&hf, url);
    ck_assert_str_eq(url, "https://huggingface.co/api/models/Helsinki-NLP/opus-mt-fr-en/revision/"
                          "main?blobs=true");
    ck_assert(dg_hf_parse(&hf, "hf:a/b@v1"));
    ck_assert_str_eq(hf.revision, "v1");
    static const char *const bad[] = {"fr-en",        "hf:a",    "hf:a/",   "hf:/b",   "hf:a/b@",
                                      "hf:a/b/c@d/e", "hf:../b", "hf:a/..", "opus:a b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!dg_hf_parse(&hf, bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(only_what_an_import_needs_is_taken)
{
    struct dg_package package;
    struct dg_hf hf;
    ck_assert(dg_hf_parse(&hf, "hf:a/b-fr-en"));
    dg_package_init(&package);
    enum dg_err err = dg_hf_read(&hf, dg_span_cstr(answer), &package, NULL);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_uint_eq(package.n_files, 2);
    ck_assert_str_eq(package.files[0].name, "config.json");
    ck_assert_str_eq(package.files[0].git_sha1, BLOB);
    ck_assert_str_eq(package.files[1].sha256, SHA256);
    ck_assert_uint_eq(package.files[1].size, 70);
    ck_assert_str_eq(package.files[1].url,
                     "https://huggingface.co/a/b-fr-en/resolve/" COMMIT "/model.safetensors");
    ck_assert_str_eq(package.name, "fr-en");
    ck_assert_str_eq(package.licence, "apache-2.0");
    ck_assert(dg_package_is_pinned(&package));
    dg_package_free(&package);
}
END_TEST

START_TEST(a_licence_that_a_terminal_would_obey_is_passed_over)
{
    static const char text[] =
        "{\"sha\":\"" COMMIT "\",\"tags\":[\"license:\\u001b[2Jevil\",\"license:mit\"],"
        "\"siblings\":[{\"rfilename\":\"config.json\"},{\"rfilename\":\"model.safetensors\"}]}";
    struct dg_package package;
    struct dg_hf hf;
    ck_assert(dg_hf_parse(&hf, "hf:a/b-fr-en"));
    dg_package_init(&package);
    ck_assert_int_eq(dg_hf_read(&hf, dg_span_cstr(text), &package, NULL), DG_OK);
    ck_assert_str_eq(package.licence, "mit");
    dg_package_free(&package);
}
END_TEST

START_TEST(other_answers_are_refused)
{
    static const char *const bad[] = {"", "{}", "{\"sha\":\"main\",\"siblings\":[]}",
                                      "{\"sha\":\"" COMMIT "\",\"siblings\":[]}",
                                      "{\"sha\":\"" COMMIT "\",\"siblings\":[1]}"};
    struct dg_hf hf;
    ck_assert(dg_hf_parse(&hf, "hf:a/b"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct dg_package package;
        dg_package_init(&package);
        ck_assert_int_ne(dg_hf_read(&hf, dg_span_cstr(bad[i]), &package, NULL), DG_OK);
        dg_package_free(&package);
    }
}
END_TEST

DG_UNIT(names_are_understood, only_what_an_import_needs_is_taken,
        a_licence_that_a_terminal_would_obey_is_passed_over, other_answers_are_refused)
