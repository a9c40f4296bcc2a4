/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "archive/zip_in.h"
#include "office/office.h"
#include "zip_maker.h"

enum { OUT_MAX = 1 << 22, PARTS_MAX = 1 << 20 };

#define TYPES                                                                                      \
    "<Types><Default Extension=\"xml\" ContentType=\"application/xml\"/>"                          \
    "<Override PartName=\"/word/other.xml\" ContentType=\"application/vnd.openxmlformats-"         \
    "officedocument.wordprocessingml.document.main+xml\"/><Override "                              \
    "PartName=\"/word/styles.xml\" ContentType=\"application/vnd.openxmlformats-officedocument."   \
    "wordprocessingml.styles+xml\"/><Override PartName=\"/core.xml\" "                             \
    "ContentType=\"application/vnd.openxmlformats-package.core-properties+xml\"/></Types>"
#define NS    "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\""
#define TEXT  "<w:document " NS "><w:p><w:r><w:t>Le chat</w:t></w:r></w:p></w:document>"
#define STYLE "<w:styles " NS "><w:lang w:val=\"fr-FR\"/></w:styles>"
#define CORE  "<x><dc:title xmlns:dc=\"http://purl.org/dc/elements/1.1/\">Titre</dc:title></x>"

static void make(struct dg_zip_maker *maker, struct dg_span types, struct dg_span text,
                 unsigned how)
{
    dg_zip_maker_init(maker);
    dg_zip_maker_add(maker, "[Content_Types].xml", types, DG_ZIP_MADE_DEFLATED);
    dg_zip_maker_add(maker, "word/other.xml", text, how);
    dg_zip_maker_add(maker, "word/styles.xml", DG_SPAN(STYLE), DG_ZIP_MADE_DEFLATED);
    dg_zip_maker_add(maker, "word/document.xml", DG_SPAN(TEXT), DG_ZIP_MADE_DEFLATED);
    dg_zip_maker_add(maker, "core.xml", DG_SPAN(CORE), DG_ZIP_MADE_STORED);
}

static enum dg_err append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    (void)error;
    return dg_buf_append_span(ctx, bytes);
}

static void check_member(const struct dg_buf *bytes, const char *name, const char *expected)
{
    struct dg_zip zip;
    struct dg_zip_data data;
    ck_assert_int_eq(dg_zip_parse(&zip, (const uint8_t *)bytes->ptr, bytes->len, "it", NULL),
                     DG_OK);
    ck_assert_int_eq(dg_zip_data(&zip, dg_zip_find(&zip, name), OUT_MAX, &data, NULL), DG_OK);
    ck_assert_msg(
        dg_span_eq(dg_span_make((const char *)data.bytes, data.len), dg_span_cstr(expected)),
        "%.*s", (int)data.len, data.bytes);
    dg_zip_data_free(&data);
    dg_zip_close(&zip);
}

static void write_as(struct dg_span zip, const char *html, const char *language, struct dg_buf *out)
{
    struct dg_office *office = NULL;
    struct dg_buf text;
    dg_buf_init(&text, OUT_MAX);
    dg_buf_init(out, OUT_MAX);
    ck_assert_int_eq(dg_office_new(zip, "a.docx", DG_OFFICE_PARTS_MAX, &office, NULL), DG_OK);
    ck_assert_int_eq(dg_office_text(office, &text, NULL), DG_OK);
    const struct dg_span source = dg_buf_span(&text);
    ck_assert_int_eq(dg_office_write(office, source, html ? dg_span_cstr(html) : source,
                                     dg_span_cstr(language), append, out, NULL),
                     DG_OK);
    dg_buf_deinit(&text);
    dg_office_free(office);
}

START_TEST(parts_with_text_are_written_anew)
{
    struct dg_zip_maker maker;
    struct dg_buf out;
    make(&maker, DG_SPAN(TYPES), DG_SPAN(TEXT), DG_ZIP_MADE_DEFLATED);
    write_as(dg_zip_maker_end(&maker), "<p>The cat</p>\n<p>Title</p>\n", "en", &out);
    check_member(&out, "word/other.xml",
                 "<w:document " NS "><w:p><w:r><w:t xml:space=\"preserve\">The cat</w:t></w:r>"
                 "</w:p></w:document>");
    check_member(&out, "word/styles.xml", "<w:styles " NS "><w:lang w:val=\"en-US\"/></w:styles>");
    check_member(&out, "word/document.xml", TEXT); /* not part of the text: its type is not known */
    check_member(&out, "core.xml",
                 "<x><dc:title xmlns:dc=\"http://purl.org/dc/elements/1.1/\">Title</dc:title></x>");
    dg_buf_deinit(&out);
    dg_zip_maker_deinit(&maker);
}
END_TEST

START_TEST(an_unchanged_text_gives_the_same_bytes)
{
    struct dg_zip_maker maker;
    struct dg_buf out;
    make(&maker, DG_SPAN(TYPES), DG_SPAN(TEXT), DG_ZIP_MADE_DEFLATED | DG_ZIP_MADE_DESCRIBED);
    const struct dg_span made = dg_zip_maker_end(&maker);
    write_as(made, NULL, "en", &out);
    ck_assert_uint_eq(out.len, made.len);
    ck_assert_mem_eq(out.ptr, made.ptr, made.len);
    dg_buf_deinit(&out);
    dg_zip_maker_deinit(&maker);
}
END_TEST

static void refuse(struct dg_span bytes, const char *why)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_office *office = NULL;
    struct dg_buf text;
    dg_buf_init(&text, OUT_MAX);
    enum dg_err err = dg_office_new(bytes, "a.docx", PARTS_MAX, &office, &error);
    if (!err)
        err = dg_office_text(office, &text, &error);
    ck_assert_int_ne(err, DG_OK);
    ck_assert_msg(strstr(error.text, why), "%s", error.text);
    dg_office_free(office);
    dg_buf_deinit(&text);
}

START_TEST(what_cannot_be_read_is_refused_with_a_reason)
{
    struct dg_zip_maker maker;
    refuse(DG_SPAN("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and more"), "encrypted");
    refuse(DG_SPAN("PK\3\4"), "too short");
    make(&maker, DG_SPAN("<Types/>"), DG_SPAN(TEXT), DG_ZIP_MADE_DEFLATED);
    refuse(dg_zip_maker_end(&maker), "none of its parts is the text");
    dg_zip_maker_deinit(&maker);
    make(&maker, DG_SPAN(TYPES), DG_SPAN(TEXT), DG_ZIP_MADE_DEFLATED | DG_ZIP_MADE_ENCRYPTED);
    refuse(dg_zip_maker_end(&maker), "encrypted");
    dg_zip_maker_deinit(&maker);
    make(&maker, DG_SPAN(TYPES), DG_SPAN("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>"),
         DG_ZIP_MADE_DEFLATED);
    refuse(dg_zip_maker_end(&maker), "type declarations");
    dg_zip_maker_deinit(&maker);
    dg_zip_maker_init(&maker);
    dg_zip_maker_add(&maker, "../a", DG_SPAN(TEXT), DG_ZIP_MADE_STORED);
    refuse(dg_zip_maker_end(&maker), "climbs");
    dg_zip_maker_deinit(&maker);
    make(&maker, DG_SPAN(TYPES), DG_SPAN(TEXT), DG_ZIP_MADE_DEFLATED);
    dg_zip_maker_add(&maker, "core.xml", DG_SPAN(CORE), DG_ZIP_MADE_STORED);
    refuse(dg_zip_maker_end(&maker), "two members have one name");
    dg_zip_maker_deinit(&maker);
    dg_zip_maker_init(&maker);
    dg_zip_maker_add(&maker, "a.xml", DG_SPAN("<a/>"), DG_ZIP_MADE_STORED);
    refuse(dg_zip_maker_end(&maker), "not a document of a known kind");
    dg_zip_maker_deinit(&maker);
}
END_TEST

START_TEST(bombs_are_refused)
{
    enum { LARGE = PARTS_MAX + 1 };
    struct dg_zip_maker maker;
    char *large = malloc(LARGE);
    ck_assert_ptr_nonnull(large);
    memset(large, ' ', LARGE);
    make(&maker, DG_SPAN(TYPES), dg_span_make(large, LARGE), DG_ZIP_MADE_DEFLATED);
    refuse(dg_zip_maker_end(&maker), "more than 1048576 bytes");
    dg_zip_maker_deinit(&maker);
    free(large);
}
END_TEST

START_TEST(names_and_beginnings_tell_documents)
{
    ck_assert(dg_office_is_named(DG_SPAN("a/b.DOCX")));
    ck_assert(dg_office_is_named(DG_SPAN("docx")));
    ck_assert(!dg_office_is_named(DG_SPAN("a.docx.txt")));
    ck_assert(!dg_office_is_named(DG_SPAN("")));
    ck_assert(dg_office_is(DG_SPAN("PK\3\4....")));
    ck_assert(!dg_office_is(DG_SPAN("PK")));
    ck_assert_ptr_nonnull(strstr(dg_office_type(DG_SPAN("a.docx")), "wordprocessingml.document"));
}
END_TEST

DG_UNIT(parts_with_text_are_written_anew, an_unchanged_text_gives_the_same_bytes,
        what_cannot_be_read_is_refused_with_a_reason, bombs_are_refused,
        names_and_beginnings_tell_documents)
