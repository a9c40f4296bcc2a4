/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/http/documents.h"
#include "base/memory/buf.h"
#include "base/memory/utf8.h"
#include "tmpdir.h"
#include "unit.h"

struct place {
    char dir[DG_TMPDIR_CAP];
    struct dg_documents documents;
    struct dg_documents_opts opts;
};

static void open_place(struct place *place, uint64_t bytes_max)
{
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(place->dir);
    place->opts = (struct dg_documents_opts){.dir = place->dir, .bytes_max = bytes_max};
    dg_documents_init(&place->documents);
    ck_assert(!dg_documents_are_taken(&place->documents));
    ck_assert_int_eq(dg_documents_open(&place->documents, &place->opts, &error), DG_OK);
}

static void close_place(struct place *place)
{
    dg_documents_deinit(&place->documents);
    ck_assert_uint_eq(place->documents.bytes, 0);
    ck_assert_int_eq(rmdir(place->dir), 0); /* the folder is empty */
}

START_TEST(a_file_as_it_was_sent_takes_room_until_it_is_freed)
{
    struct place place;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_document_file *file = NULL, *other = NULL;
    open_place(&place, 100);
    if (dg_document_file_new(&place.documents, 1, &file) == DG_OK) {
        ck_assert(dg_document_file_grow(file, 4) && dg_document_file_grow(file, 8));
        ck_assert_uint_eq(place.documents.bytes, 8);
        ck_assert(!dg_document_file_grow(file, 51)); /* the other half is for other clients */
        ck_assert_uint_eq(place.documents.bytes, 8);
        ck_assert_int_eq(dg_document_file_append(file, DG_SPAN("1234"), &error), DG_OK);
        ck_assert_int_eq(dg_document_file_append(file, DG_SPAN("5678"), &error), DG_OK);
        ck_assert_int_eq(dg_document_file_map(file, &error), DG_OK);
        ck_assert(dg_span_eq(dg_span_make(file->bytes, file->len), DG_SPAN("12345678")));
        ck_assert_int_eq(file->fd, -1);
        if (dg_document_file_new(&place.documents, 2, &other) == DG_OK)
            ck_assert(dg_document_file_grow(other, 46) && !dg_document_file_grow(other, 47));
        dg_document_file_free(file);
        dg_document_file_free(other);
    }
    close_place(&place);
}
END_TEST

START_TEST(a_file_may_outlive_the_documents)
{
    struct place place;
    struct dg_document_file *file = NULL;
    open_place(&place, 100);
    if (dg_document_file_new(&place.documents, 1, &file) == DG_OK)
        ck_assert(dg_document_file_grow(file, 4));
    dg_documents_deinit(&place.documents);
    ck_assert(!file || !dg_document_file_grow(file, 5));
    dg_document_file_free(file);
    ck_assert_int_eq(rmdir(place.dir), 0);
}
END_TEST

START_TEST(names_say_the_format_and_are_made_harmless)
{
    static const char *const bad[] = {"", "a", ".", "a.exe", "a.html.exe"};
    enum dg_doc_format format = DG_DOC_TEXT;
    char name[DG_DOCUMENT_NAME + 1];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert(!dg_document_is_known(dg_span_cstr(bad[i]), &format));
    ck_assert(dg_document_is_known(DG_SPAN("a.md"), &format) && format == DG_DOC_MARKDOWN);
    ck_assert(dg_document_is_known(DG_SPAN("a.docx"), &format) && format == DG_DOC_HTML);
    dg_document_clean_name(DG_SPAN("a/my letter.html"), name);
    ck_assert_str_eq(name, "my_letter.html");
    dg_document_set_output(name, DG_SPAN(""));
    ck_assert_str_eq(name, "my_letter.html");
    dg_document_clean_name(DG_SPAN("..\\.x\r\n\".pdf"), name);
    ck_assert_str_eq(name, "_x___.pdf");
    dg_document_set_output(name, DG_SPAN("txt"));
    ck_assert_str_eq(name, "_x___.txt");
}
END_TEST

START_TEST(names_keep_the_letters_of_all_scripts)
{
    char name[DG_DOCUMENT_NAME + 1], text[3 * DG_DOCUMENT_NAME];
    struct dg_buf encoded;
    dg_document_clean_name(DG_SPAN("dir/\xC3\xA9t\xC3\xA9 \xE5\xA4\x8F.pdf"), name);
    ck_assert_str_eq(name, "\xC3\xA9t\xC3\xA9_\xE5\xA4\x8F.pdf");
    dg_buf_init(&encoded, 1000);
    if (dg_document_encode_name(name, &encoded) == DG_OK)
        ck_assert_str_eq(encoded.ptr, "%C3%A9t%C3%A9_%E5%A4%8F.pdf");
    dg_buf_deinit(&encoded);
    /* A control character, a mark that turns the direction, a separator, a noncharacter, a tag, the
     * longer form of a slash, a surrogate, and a byte of nothing. */
    dg_document_clean_name(DG_SPAN("\xC2\x85\xE2\x80\xAE\xE2\x80\xA8\xEF\xBF\xBF\xF3\xA0\x80\xA1"
                                   "\xC0\xAF\xED\xA0\x80\xFF.md"),
                           name);
    ck_assert_str_eq(name, "___________.md");
    /* Two bytes each, so that the limit falls into a character, of a name as of a result's. */
    size_t n = 0;
    while (n < 2 * DG_DOCUMENT_NAME)
        n += (size_t)snprintf(text + n, sizeof text - n, "\xC3\xA9");
    snprintf(text + n, sizeof text - n, ".pdf ");
    dg_document_clean_name(dg_span_make(text, n + 4), name);
    ck_assert_uint_eq(strlen(name), DG_DOCUMENT_NAME);
    dg_document_clean_name(dg_span_make(text, n + 5), name);
    ck_assert_uint_eq(strlen(name), DG_DOCUMENT_NAME - 1);
    ck_assert(dg_utf8_valid(dg_span_cstr(name), NULL));
    dg_document_clean_name(dg_span_make(text, n + 4), name);
    dg_document_set_output(name, DG_SPAN("html"));
    ck_assert(dg_utf8_valid(dg_span_cstr(name), NULL));
    ck_assert_str_eq(strrchr(name, '.'), ".html");
}
END_TEST

START_TEST(a_folder_that_cannot_be_used_is_told)
{
    struct dg_documents documents;
    struct dg_error error = DG_ERROR_NONE;
    dg_documents_init(&documents);
    const struct dg_documents_opts opts = {.dir = "/nowhere", .bytes_max = 1},
                                   none = {.dir = "/nowhere"};
    ck_assert_int_ne(dg_documents_open(&documents, &opts, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere"));
    ck_assert(!dg_documents_are_taken(&documents));
    ck_assert_int_eq(dg_documents_open(&documents, &none, &error), DG_OK);
    ck_assert(!dg_documents_are_taken(&documents));
    dg_documents_deinit(&documents);
}
END_TEST

DG_UNIT(a_file_as_it_was_sent_takes_room_until_it_is_freed, a_file_may_outlive_the_documents,
        names_say_the_format_and_are_made_harmless, names_keep_the_letters_of_all_scripts,
        a_folder_that_cannot_be_used_is_told)
