/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Feeds texts of 8, 64 and 512 KB that repeat a pattern to the code that reads clients' data, and
 * says how long each text took (tests/integration/19_linear.py). One of these readers reads
 * nothing, but opens and cancels requests, the more the longer the text is:
 *
 *     reader_costs SEED ROUNDS LANGID TIMES [NUMBER...]
 *
 * reads every fragment of every reader by itself, then so many patterns of several, by chance; or
 * only those of these numbers. LANGID is data/langid/langid.bin. Each text is read so many TIMES,
 * of which the quickest counts, except for the largest, which is read once.
 *
 * Standard output has, for each pattern, "number nanoseconds nanoseconds nanoseconds reader
 * pattern" and a zero byte. With TIMES of 1 that stands for three calls of dg_test_read. */
#include "access/key_file.h"
#include "api/compat/chat_prompt.h"
#include "api/http/fields.h"
#include "api/v1/translate_options.h"
#include "base/json/json.h"
#include "base/memory/mem.h"
#include "base/memory/rng.h"
#include "engine/task/task.h"
#include "engine/words/placeholders.h"
#include "engine/words/terms.h"
#include "filter/filter.h"
#include "markup/doc.h"
#include "markup/po_check.h"
#include "net/loop/forwarded.h"
#include "net/proto/http.h"
#include "net/proto/http_reply.h"
#include "net/proto/multipart.h"
#include "net/proto/redis_reader.h"
#include "net/proto/target.h"
#include "net/proto/ws.h"
#include "office/part.h"
#include "office/sheets.h"
#include "text/language/langid.h"
#include "text/sentence/segment.h"
#include "text/terms/casing.h"
#include "text/terms/glossary.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SMALLEST = 8 << 10,
    LARGEST = 512 << 10,
    STEP = 8, /* from one size to the next */
    FRAGMENTS_MAX = 16,
    PARTS_MAX = 4,
    BIG = 1 << 30,
    PHRASES = 100,
    PHRASE_BYTES = 300
};

struct reader {
    const char *name;
    void (*read)(struct dg_span text);
    const char *fragments[FRAGMENTS_MAX];
};

void dg_test_read(const struct reader *reader, struct dg_span text);

static struct dg_langid *langid;

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- Documents ------------------------------------------------------------------------------- */

static void read_doc(struct dg_span text, enum dg_doc_format format, const struct dg_doc_opts *opts)
{
    struct dg_doc *doc = NULL;
    if (dg_doc_new(text, format, opts, &doc, NULL) == DG_OK)
        dg_doc_free(doc);
}

static void read_html(struct dg_span text)
{
    read_doc(text, DG_DOC_HTML, NULL);
}

static void read_xml(struct dg_span text)
{
    read_doc(text, DG_DOC_XML, NULL);
}

static void read_markdown(struct dg_span text)
{
    read_doc(text, DG_DOC_MARKDOWN, NULL);
}

static void read_subrip(struct dg_span text)
{
    read_doc(text, DG_DOC_SUBRIP, NULL);
}

static void read_filtered(struct dg_span text, const char *name)
{
    const struct dg_filter_opts opts = {.text_max = BIG};
    struct dg_filter *filter;
    if (dg_filter_new(text, name, &opts, &filter, NULL) == DG_OK)
        dg_filter_free(filter);
}

static void read_csv_file(struct dg_span text)
{
    read_filtered(text, "a.csv");
}

static void read_yaml_file(struct dg_span text)
{
    read_filtered(text, "a.yml");
}

static void read_strings_file(struct dg_span text)
{
    read_filtered(text, "a.strings");
}

static void read_properties_file(struct dg_span text)
{
    read_filtered(text, "a.properties");
}

static void read_xml_file(const char *begin, struct dg_span text, const char *name)
{
    struct dg_buf whole;
    dg_buf_init(&whole, BIG);
    require(dg_buf_append_cstr(&whole, begin) == DG_OK &&
            dg_buf_append_span(&whole, text) == DG_OK);
    read_filtered(dg_buf_span(&whole), name);
    dg_buf_deinit(&whole);
}

static void read_android_file(struct dg_span text)
{
    read_xml_file("<resources>", text, "a.xml");
}

static void read_resx_file(struct dg_span text)
{
    read_xml_file("<root>", text, "a.resx");
}

static void read_stringsdict_file(struct dg_span text)
{
    read_xml_file("<plist><dict>", text, "a.stringsdict");
}

static void read_latex_file(struct dg_span text)
{
    read_filtered(text, "a.tex");
}

static void read_mail(struct dg_span text)
{
    read_filtered(text, "a.eml");
}

static void read_front_matter(struct dg_span text)
{
    read_xml_file("---\ntitle: x\n", text, "a.md");
}

/* The text is not in UTF-8, so that its encoding is detected first. */
static void read_latin_file(struct dg_span text)
{
    read_xml_file("Gar\xE7on, \xE9t\xE9. ", text, "a.txt");
}

/* A part of an office document or of a book, which is also written with another text: each "x" is a
 * "y". */
static void read_part(const char *begin, struct dg_span text, const char *end, bool is_html)
{
    const struct dg_office_opts opts = {.language = "en", .is_html = is_html, .has_text = true};
    struct dg_office_part *part;
    struct dg_buf whole, html, out;
    dg_buf_init(&whole, BIG);
    dg_buf_init(&html, BIG);
    dg_buf_init(&out, BIG);
    require(dg_buf_append_cstr(&whole, begin) == DG_OK &&
            dg_buf_append_span(&whole, text) == DG_OK && dg_buf_append_cstr(&whole, end) == DG_OK);
    if (dg_office_part_new(dg_buf_span(&whole), &opts, "part", &part, NULL) == DG_OK) {
        require(dg_office_part_text(part, &html) == DG_OK);
        dg_buf_clear(&whole);
        require(dg_buf_append_span(&whole, dg_buf_span(&html)) == DG_OK);
        for (size_t i = 0; i < whole.len; i++)
            if (whole.ptr[i] == 'x')
                whole.ptr[i] = 'y';
        struct dg_span source = dg_buf_span(&html), target = dg_buf_span(&whole);
        (void)!dg_office_part_write(part, &source, &target, &out, NULL);
        dg_office_part_free(part);
    }
    dg_buf_deinit(&whole);
    dg_buf_deinit(&html);
    dg_buf_deinit(&out);
}

static void read_word(struct dg_span text)
{
    read_part(
        "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">"
        "<w:body><w:p><w:r><w:t>x</w:t></w:r>",
        text, "</w:p></w:body></w:document>", false);
}

static void read_open_document(struct dg_span text)
{
    read_part("<office:document-content "
              "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
              "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><text:p>x",
              text, "</text:p></office:document-content>", false);
}

static void read_slide(struct dg_span text)
{
    read_part("<p:sld xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" "
              "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><p:cSld><p:spTree>"
              "<p:sp><p:txBody><a:p><a:r><a:t>x</a:t></a:r>",
              text, "</a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>", false);
}

static void read_cells(struct dg_span text)
{
    read_part(
        "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><t>x</t>",
        text, "</si></sst>", false);
}

static void read_open_sheet(struct dg_span text)
{
    read_part("<office:document-content "
              "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
              "xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" "
              "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><office:spreadsheet>"
              "<table:table table:name=\"x\"><table:table-row><table:table-cell><text:p>x",
              text,
              "</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>"
              "</office:document-content>",
              false);
}

static void read_open_slide(struct dg_span text)
{
    read_part("<office:document-content "
              "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
              "xmlns:draw=\"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0\" "
              "xmlns:presentation=\"urn:oasis:names:tc:opendocument:xmlns:presentation:1.0\" "
              "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><office:presentation>"
              "<draw:page draw:name=\"x\"><draw:frame><draw:text-box><text:p>x",
              text,
              "</text:p></draw:text-box></draw:frame></draw:page></office:presentation>"
              "</office:document-content>",
              false);
}

/* Each line is the name of a sheet; then all of them are a part that refers to sheets. */
static void read_sheets(struct dg_span text, char mark)
{
    struct dg_sheets sheets;
    struct dg_span rest = text;
    dg_sheets_init(&sheets, mark);
    while (rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        const size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        if (len && dg_sheets_add(&sheets, dg_span_sub(rest, 0, len)) != DG_OK)
            break;
        rest = dg_span_sub(rest, len + (end != NULL), rest.len);
    }
    dg_sheets_look(&sheets, text);
    (void)!dg_sheets_rename(&sheets, DG_SPAN("a"), DG_SPAN("b"));
    dg_sheets_deinit(&sheets);
}

static void read_sheet_names(struct dg_span text)
{
    read_sheets(text, '!');
}

static void read_open_sheet_names(struct dg_span text)
{
    read_sheets(text, '.');
}

static void read_book(struct dg_span text)
{
    read_part("<html xmlns=\"http://www.w3.org/1999/xhtml\"><body><p>x", text, "</p></body></html>",
              true);
}

/* Reads the text between a beginning and an end. */
static void read_within(const char *begin, struct dg_span text, const char *end,
                        enum dg_doc_format format)
{
    struct dg_buf whole;
    dg_buf_init(&whole, BIG);
    require(dg_buf_append_cstr(&whole, begin) == DG_OK &&
            dg_buf_append_span(&whole, text) == DG_OK && dg_buf_append_cstr(&whole, end) == DG_OK);
    read_doc(dg_buf_span(&whole), format, NULL);
    dg_buf_deinit(&whole);
}

static void read_subrip_cue(struct dg_span text)
{
    read_within("1\n00:00:01,000 --> 00:00:02,000\n", text, "", DG_DOC_SUBRIP);
}

static void read_webvtt(struct dg_span text)
{
    read_within("WEBVTT\n\n", text, "", DG_DOC_WEBVTT);
}

static void read_sbv(struct dg_span text)
{
    read_within("0:00:01.000,0:00:02.000\n", text, "", DG_DOC_SBV);
}

static void read_ass(struct dg_span text)
{
    read_within("[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,", text, "", DG_DOC_ASS);
}

static void read_ttml(struct dg_span text)
{
    read_within("<tt><p begin='1s'>", text, "</p></tt>", DG_DOC_TTML);
}

static void read_json_doc(struct dg_span text)
{
    read_within("{\"a\": \"x\"", text, "}", DG_DOC_JSON);
}

static void read_po(struct dg_span text)
{
    struct dg_buf out;
    size_t n_bad;
    read_within("", text, "\n", DG_DOC_PO);
    dg_buf_init(&out, BIG);
    (void)!dg_po_check(text, text, true, &out, &n_bad, NULL);
    dg_buf_deinit(&out);
}

static void read_xliff(struct dg_span text)
{
    read_within("<xliff version=\"1.2\"><file><body><trans-unit id=\"1\"><source>", text,
                "</source></trans-unit></body></file></xliff>", DG_DOC_XLIFF);
}

/* One half is a list of names, the other half has tags. */
static void read_tags(struct dg_span text)
{
    struct dg_buf tags;
    const struct dg_span list = dg_span_sub(text, 0, text.len / 2);
    const struct dg_doc_opts opts = {
        .ignore_tags = list, .splitting_tags = list, .non_splitting_tags = list};
    dg_buf_init(&tags, BIG);
    while (tags.len < text.len / 2)
        require(dg_buf_append_cstr(&tags, "<z>x</z> ") == DG_OK);
    read_doc(dg_buf_span(&tags), DG_DOC_XML, &opts);
    read_doc(dg_buf_span(&tags), DG_DOC_HTML, &opts);
    dg_buf_deinit(&tags);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static void read_protected(struct dg_span text)
{
    struct dg_protect_list list;
    dg_protect_list_init(&list);
    require(dg_protect_find(text, DG_PROTECT_ALL, &list) == DG_OK);
    (void)dg_protect_leaves_nothing(text, &list);
    dg_protect_list_deinit(&list);
}

/* Phrases each of which begins with the previous one; at nearly every place all of them occur. */
static void read_phrases(struct dg_span text)
{
    struct dg_phrase_set set;
    struct dg_span phrases[PHRASES];
    struct dg_placeholders carry;
    struct dg_protect_list list;
    dg_placeholders_init(&carry);
    dg_protect_list_init(&list);
    for (size_t i = 0; i < PHRASES; i++)
        phrases[i] = dg_span_sub(text, i % 3, PHRASE_BYTES - 2 * i);
    require(dg_phrase_set_init(&set, phrases, PHRASES) == DG_OK);
    for (size_t at = 0; at < text.len; at++)
        (void)dg_phrase_set_longest(&set, text, at);
    require(dg_placeholders_find(&carry, text, &set, 1, &list) == DG_OK);
    dg_phrase_set_deinit(&set);
    dg_protect_list_deinit(&list);
    dg_placeholders_deinit(&carry);
}

static void read_language(struct dg_span text)
{
    struct dg_langid_guess guesses[3], outside;
    struct dg_langid_set set;
    dg_langid_set_clear(&set);
    require(dg_langid_set_add(langid, &set, "fr"));
    (void)dg_langid_detect(langid, text, NULL, guesses, 3);
    (void)dg_langid_detect_among(langid, text, &set, guesses, 3, &outside);
}

static void read_segments(struct dg_span text)
{
    static struct dg_segmenter *segmenter;
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    struct dg_segments segments;
    if (!segmenter)
        require(dg_segmenter_new(&segmenter, NULL) == DG_OK);
    opts.tokens_max = 200;
    require(dg_segmenter_run(segmenter, text, &opts, &segments, NULL) == DG_OK);
}

/* ---- Glossaries ------------------------------------------------------------------------------ */

static void read_table(struct dg_span text, enum dg_glossary_format format)
{
    struct dg_glossary *glossary = dg_glossary_new(NULL);
    require(glossary && dg_glossary_begin(glossary, "", "", NULL) == DG_OK);
    if (dg_glossary_read(glossary, format, DG_GLOSSARY_FORMS + 1, text, NULL) == DG_OK)
        (void)!dg_glossary_seal(glossary, NULL);
    dg_glossary_unref(glossary);
}

static void read_tsv(struct dg_span text)
{
    read_table(text, DG_GLOSSARY_TSV);
}

static void read_csv(struct dg_span text)
{
    read_table(text, DG_GLOSSARY_CSV);
}

/* One term with eight forms, which occur only where the text contains them; the text is its own
 * translation. */
static void read_terms(struct dg_span text)
{
    static const char table[] =
        "a\ta a a a b\ta a a b\ta a b\tb b b\ta a a a a c\tc\td\ta\nb a\tb\n";
    struct dg_glossary *glossary = dg_glossary_new(NULL);
    struct dg_glossary_scan scan;
    struct dg_terms terms = {.n = 0};
    const struct dg_dictionary *dictionary;
    struct dg_token *tokens = dg_xcalloc(text.len, sizeof *tokens);
    size_t n;
    for (size_t i = 0; i < text.len; i++)
        tokens[i] = (struct dg_token){.begin = (uint32_t)i, .end = (uint32_t)i + 1};
    dg_glossary_scan_init(&scan);
    require(glossary && dg_glossary_begin(glossary, "", "", NULL) == DG_OK &&
            dg_glossary_read(glossary, DG_GLOSSARY_TSV, DG_GLOSSARY_FORMS + 1, dg_span_cstr(table),
                             NULL) == DG_OK &&
            dg_glossary_seal(glossary, NULL) == DG_OK);
    dictionary = dg_glossary_dictionaries(glossary, &n);
    const struct dg_terms_how how = {.dictionaries = &dictionary,
                                     .n_dictionaries = 1,
                                     .text = text,
                                     .tokens = tokens,
                                     .n_tokens = text.len,
                                     .language = "en",
                                     .scan = &scan};
    require(dg_terms_find(&terms, &how) == DG_OK && dg_terms_check(&terms, text, &scan) == DG_OK);
    dg_terms_deinit(&terms);
    dg_glossary_scan_deinit(&scan);
    dg_glossary_unref(glossary);
    dg_free(tokens);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void read_json(struct dg_span text)
{
    const struct dg_json_limits limits = {.max_bytes = BIG, .max_depth = 64, .max_values = 1 << 20};
    struct dg_json *json = NULL;
    if (dg_json_parse(text, &limits, NULL, &json) == DG_OK)
        dg_json_free(json);
}

static void read_ask(struct dg_span text)
{
    struct dg_arena arena;
    struct dg_buf body;
    struct dg_json *json;
    struct dg_failure failure = {.status = 0};
    struct dg_translate_options ask;
    const struct dg_translate_options_limits limits = {.texts = 1000};
    dg_arena_init(&arena, BIG);
    dg_buf_init(&body, BIG);
    require(dg_buf_append_cstr(&body, "{\"text\":\"x\"") == DG_OK &&
            dg_buf_append_span(&body, text) == DG_OK && dg_buf_append_cstr(&body, "}") == DG_OK);
    if (dg_translate_options_parse(dg_buf_span(&body), 1 << 20, &arena, &failure, &json) == DG_OK) {
        (void)!dg_translate_options_read(json, &arena, &limits, &failure, &ask);
        dg_json_free(json);
    }
    dg_buf_deinit(&body);
    dg_arena_deinit(&arena);
}

/* Reads a request as the routes of other servers' APIs do: every field by its name, with those that
 * follow under the same name. */
static void read_fields_of(const char *begin, struct dg_span text, const char *end,
                           const char *type)
{
    struct dg_arena arena;
    struct dg_buf body;
    struct dg_fields fields;
    dg_arena_init(&arena, BIG);
    dg_buf_init(&body, BIG);
    require(dg_buf_append_cstr(&body, begin) == DG_OK && dg_buf_append_span(&body, text) == DG_OK &&
            dg_buf_append_cstr(&body, end) == DG_OK);
    const struct dg_fields_source source = {
        .type = dg_span_cstr(type), .body = dg_buf_span(&body), .takes_array = true};
    if (dg_fields_read(&source, &arena, &fields, NULL) == DG_OK) {
        static const char *const names[] = {"q", "text", "texts", "contents", "[0].text", "x"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const struct dg_field *field = dg_fields_get(&fields, names[i]);
            (void)dg_fields_count(&fields, field);
            for (; field; field = dg_fields_next(&fields, field))
                ;
        }
    }
    dg_buf_deinit(&body);
    dg_arena_deinit(&arena);
}

static void read_fields(struct dg_span text)
{
    read_fields_of("{\"q\":\"x\"", text, "}", "application/json");
}

static void read_field_array(struct dg_span text)
{
    read_fields_of("[{\"Text\":\"x\"}", text, "]", "application/json");
}

static void read_form(struct dg_span text)
{
    read_fields_of("q=x", text, "", "application/x-www-form-urlencoded");
}

static void read_prompt(struct dg_span system, struct dg_span user)
{
    static struct dg_langnames *names;
    const struct dg_chat_prompt_ask ask = {.system = system, .user = user};
    struct dg_chat_prompt prompt;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_arena arena;
    dg_arena_init(&arena, BIG);
    if (!names)
        require((names = dg_langnames_new()));
    (void)!dg_chat_prompt_read(names, &ask, &arena, &error, &prompt);
    dg_arena_deinit(&arena);
}

static void read_chat(struct dg_span text)
{
    read_prompt(DG_SPAN("You are a translator. Translate to English."), text);
}

static void read_rules(struct dg_span text)
{
    read_prompt(text, DG_SPAN("x"));
}

static void read_instruction(struct dg_span text)
{
    struct dg_buf user;
    dg_buf_init(&user, BIG);
    require(dg_buf_append_cstr(&user, "Translate from French to English") == DG_OK &&
            dg_buf_append_span(&user, text) == DG_OK);
    read_prompt(DG_SPAN(""), dg_buf_span(&user));
    dg_buf_deinit(&user);
}

static void read_query(struct dg_span text)
{
    struct dg_query query = dg_query_over(text);
    struct dg_arena arena;
    struct dg_span name, value;
    bool more = true;
    dg_arena_init(&arena, BIG);
    while (dg_query_next(&query, &arena, &name, &value, &more) == DG_OK && more)
        ;
    dg_arena_deinit(&arena);
}

static void read_parts(struct dg_span text)
{
    struct dg_multipart multipart;
    struct dg_part part;
    struct dg_arena arena;
    bool more = true;
    dg_arena_init(&arena, BIG);
    if (dg_multipart_begin(&multipart, DG_SPAN("multipart/form-data; boundary=--a-"), text, NULL) ==
        DG_OK)
        while (dg_multipart_next(&multipart, &arena, &part, &more, NULL) == DG_OK && more)
            ;
    dg_arena_deinit(&arena);
}

static void on_request(void *user, struct dg_http_req *req)
{
    dg_http_reply(req, 200, "text/plain", DG_SPAN("x"));
}

static void on_refused(void *user, struct dg_http_req *req, int status, const char *reason)
{
}

/* Feeds the text in pieces, as a network would bring it: 512 bytes at a time. */
static void read_http(struct dg_span text)
{
    static const struct dg_http_events events = {.on_request = on_request,
                                                 .on_refused = on_refused};
    struct dg_http_shared shared = {.limits = DG_HTTP_LIMITS_DEFAULT, .now_ms = 1};
    shared.limits.body_bytes = shared.limits.pipelined_bytes = BIG;
    struct dg_http *http = dg_http_new(&shared, &events, NULL);
    require(http);
    for (size_t at = 0; at < text.len; at += 512) {
        struct dg_span piece = dg_span_sub(text, at, 512);
        dg_http_feed(http, piece.ptr, piece.len);
        dg_http_written(http, dg_http_output(http).len);
    }
    dg_http_free(http);
}

static void on_forwarded(void *user, struct dg_http_req *req)
{
    static struct dg_network trusted;
    struct dg_span client, host;
    bool is_secure;
    require(trusted.bits || dg_network_parse("127.0.0.0/8", &trusted, NULL) == DG_OK);
    dg_forwarded(req, DG_SPAN("127.0.0.1"), &trusted, 1, &client, &host, &is_secure);
    dg_http_reply(req, 200, "text/plain", DG_SPAN("x"));
}

static void read_header(const char *name, struct dg_span text)
{
    static const struct dg_http_events events = {.on_request = on_forwarded,
                                                 .on_refused = on_refused};
    struct dg_http_shared shared = {.limits = DG_HTTP_LIMITS_DEFAULT, .now_ms = 1};
    struct dg_buf head;
    shared.limits.head_bytes = BIG;
    struct dg_http *http = dg_http_new(&shared, &events, NULL);
    dg_buf_init(&head, BIG);
    require(http && dg_buf_printf(&head, "GET / HTTP/1.1\r\nHost: h\r\n%s: ", name) == DG_OK &&
            dg_buf_append_span(&head, text) == DG_OK &&
            dg_buf_append_cstr(&head, "\r\n\r\n") == DG_OK);
    dg_http_feed(http, head.ptr, head.len);
    dg_buf_deinit(&head);
    dg_http_free(http);
}

static void read_forwarded(struct dg_span text)
{
    read_header("Forwarded", text);
}

static void read_forwarded_for(struct dg_span text)
{
    read_header("X-Forwarded-For", text);
}

static void on_message(void *user, struct dg_ws *ws, bool is_text, struct dg_span message)
{
    (void)!dg_ws_send(ws, dg_span_sub(message, 0, 1));
}

static void on_output(void *user)
{
}

/* Each letter stands for a frame with a byte or none: a whole message (m, b), the first fragment of
 * one (f), a further one (c, empty: e), the last one (l, empty: z), a ping (p), a pong (o). */
static void read_frames(struct dg_span text)
{
    enum { FRAME_BYTES = 7 };
    static const struct dg_ws_events events = {.on_message = on_message, .on_output = on_output};
    static const struct {
        char letter;
        unsigned char head, len;
    } frames[] = {{'m', 0x81, 1}, {'b', 0x82, 1}, {'f', 0x01, 1}, {'c', 0x00, 1}, {'e', 0x00, 0},
                  {'l', 0x80, 1}, {'z', 0x80, 0}, {'p', 0x89, 1}, {'o', 0x8A, 0}};
    const struct dg_http_shared shared = {.limits = DG_HTTP_LIMITS_DEFAULT, .now_ms = 1};
    const struct dg_ws_limits limits = DG_WS_LIMITS_DEFAULT;
    struct dg_ws *ws = dg_ws_new(&shared, &limits, &events, NULL);
    require(ws);
    for (size_t i = 0; i < text.len; i += FRAME_BYTES) { /* a frame has as many bytes as it stands
                                                            for */
        size_t k = 0;
        while (k < sizeof frames / sizeof *frames - 1 && frames[k].letter != text.ptr[i])
            k++;
        const char frame[] = {
            (char)frames[k].head, (char)(0x80 | frames[k].len), 'k', 'e', 'y', 's', 'a' ^ 'k'};
        dg_ws_feed(ws, frame, sizeof frame - !frames[k].len);
        dg_ws_written(ws, dg_ws_output(ws).len);
    }
    dg_ws_free(ws);
}

/* Feeds the text in pieces; after an error the rest goes to another reader. */
static void read_redis(struct dg_span text)
{
    struct dg_redis_reader reader;
    struct dg_redis_reply reply;
    dg_redis_reader_init(&reader);
    for (size_t at = 0; at < text.len; at += 64) {
        bool is_there = true;
        enum dg_err err = dg_redis_reader_feed(&reader, dg_span_sub(text, at, 64));
        while (!err && is_there)
            err = dg_redis_reader_next(&reader, &reply, &is_there);
        if (err) {
            dg_redis_reader_deinit(&reader);
            dg_redis_reader_init(&reader);
        }
    }
    dg_redis_reader_deinit(&reader);
}

static void read_keys(struct dg_span text)
{
    struct dg_key_file file = {.n = 0};
    (void)!dg_key_file_parse(&file, "keys", text, NULL);
    dg_key_file_deinit(&file);
}

/* ---- Requests under way ---------------------------------------------------------------------- */

static enum dg_err begin_task(struct dg_task *task, struct dg_task_turn *turn,
                              struct dg_error *error)
{
    (void)turn;
    (void)error;
    task->n_open = task->err ? 0 : 1;
    return DG_OK;
}

static void cancel_task(struct dg_task *task)
{
    task->n_open = 0;
}

static void finish_task(struct dg_task *task)
{
    dg_task_deinit(task);
    dg_free(task);
}

static void no_news(void *arg)
{
    (void)arg;
}

/* Makes one request for every four bytes. Cancels all while all are open: first the last and the
 * first, at the end those in the middle. */
static void cancel_all(struct dg_span text)
{
    static const struct dg_task_ops ops = {
        .begin = begin_task, .cancel = cancel_task, .finish = finish_task};
    struct dg_tasks tasks;
    struct dg_clock clock = DG_CLOCK_VIRTUAL(0);
    const size_t n = text.len / 4;
    uint64_t first = 0, last = 0;
    dg_tasks_init(&tasks);
    tasks.clock = &clock;
    for (size_t i = 0; i < n; i++) {
        struct dg_task *task = dg_xcalloc(1, sizeof *task);
        dg_task_init(task, &tasks, &ops, 1, 0);
        require(dg_tasks_submit(&tasks, task, NULL, NULL, i ? &last : &first) == DG_OK);
    }
    for (; n > 1 && first < last; first++, last--)
        require(dg_tasks_cancel(&tasks, last) && dg_tasks_cancel(&tasks, first));
    dg_tasks_drain(&tasks, no_news, NULL);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static const struct reader readers[] = {
    {"html",
     read_html,
     {"<b>", "</b>", "<a href=\"", "\">", "&", "&#x", "&amp;", "<!--", "-->", "<p translate=no>",
      "<script>", "<pre>", " ", "x.", "\n"}},
    {"xml",
     read_xml,
     {"<b>", "</b>", "<a b='", "<b/>", "<![CDATA[", "]]>", "<?", "?>", "&", "&lt;", "<!--", "<",
      " ", "x."}},
    {"markdown",
     read_markdown,
     {"`", "~", "*", "_", "[", "](", ")", "![", "\\", "<", ">", "|", "\n", "# ", " x"}},
    {"subrip",
     read_subrip,
     {"1\n", "00:00:01,000 --> 00:00:02,000\n", "<i>", "</i>", "{\\", "}", "\n", "- x", " "}},
    {"cue of subrip",
     read_subrip_cue,
     {"<i>", "</i>", "{\\", "}", "\n", "- x", " ", "[", "]", "(", "\xE2\x99\xAA", "a.\n\n"}},
    {"sbv", read_sbv, {"0:00:01.000,0:00:02.000\n", "\n", "a ", "<i>", "{", "}"}},
    {"ass",
     read_ass,
     {"\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,", "{\\i1}", "{\\i0}", "{\\p1}", "\\N", "\\h",
      "{", "}", "\\", ",", "- ", "[", "]", "a "}},
    {"ttml",
     read_ttml,
     {"</p>\n<p begin='1s' end='2s'>", "<br/>", "<span>", "</span>", "&amp;", "<", ">", " ", "a:b",
      "<br>", "[", "]", "- "}},
    {"webvtt",
     read_webvtt,
     {"WEBVTT\n", "\n", "00:01.000 --> 00:02.000\n", "<v a>", "<c.", "&", "NOTE", "x "}},
    {"json file",
     read_json_doc,
     {",\"b\":\"{n,plural,other{", "}}\"", "'", "#", "{n}", ",\"b\":\"x\"", ",\"b\":{\"c\":\"",
      "\"}", "\\u0041", "\\n", "[", "\"", "\\", " "}},
    {"po",
     read_po,
     {"msgid \"", "x\"\n", "msgstr \"\"\n", "\"a\\n\"\n", "#, fuzzy\n", "msgid_plural \"a\"\n",
      "msgstr[0] \"\"\n", "\n", "#~ ", "\\", "%(", "%1$", "%d", "{a"}},
    {"xliff",
     read_xliff,
     {"<g id=\"1\">", "</g>", "<x/>", "</source>", "<source>", "<target>", "</target>",
      "<trans-unit id='1'>", "</trans-unit>", "x", "&"}},
    {"csv file",
     read_csv_file,
     {"a", ",", ";", "\t", "\n", "\"", "\"\"", "\"a\",", "1,word\r\n", " "}},
    {"yaml file",
     read_yaml_file,
     {"a: b\n", "- ", "[", "]", "{a: b, ", "'", "\"", "|\n  x\n", ">\n", "  y\n", "&a ", "# c\n",
      "? ", ": ", "x "}},
    {"strings file",
     read_strings_file,
     {"\"a\" = \"b\";\n", "\"", "\\", " = ", ";", "/*", "*/", "//", "{n, plural, other {", "}}",
      "#", "'", "\\n", "x "}},
    {"properties file",
     read_properties_file,
     {"a = b\n", "\\\n", "\\u00e9", "{n, plural, other {", "}}", "{0}", "''", "#", "\n", ":",
      "\xE9", "x "}},
    {"android file",
     read_android_file,
     {"<string>", "</string>", "<b>", "</b>", "<item quantity='other'>", "</item>", "<plurals>",
      "</plurals>", "<xliff:g>", "</xliff:g>", "<![CDATA[", "]]>", "\\n", "&amp;", "x "}},
    {"resx file",
     read_resx_file,
     {"<data name='a'>", "</data>", "<value>", "</value>", "<data name='a' type='b'>",
      "<comment>x</comment>", "{0}", "<b>", "</b>", "<![CDATA[", "]]>", "&amp;", "\n", "x "}},
    {"stringsdict file",
     read_stringsdict_file,
     {"<key>other</key>", "<string>", "</string>", "<dict>", "</dict>", "%#@", "@", "\n", "x "}},
    {"latex file",
     read_latex_file,
     {"\\textbf{", "}", "{", "$", "\\begin{a}", "\\begin{verbatim}", "\\footnote{x ", "%", "\n\n",
      "\\foo[", "]{", "\\item[", "\\section{", "\\[", "word "}},
    {"front matter",
     read_front_matter,
     {"a: b\n", "---\n", "\n", "# x\n", "`", "- a\n", "a: |\n", "  x\n", "[", "<b>", " x"}},
    {"text in Latin-1",
     read_latin_file,
     {"\xE9", "\xC3\xA9", "x. ", "\n", "\x80", "\xEF\xBB\xBF", "\xFF\xFE"}},
    {"word",
     read_word,
     {"<w:r><w:t>x</w:t></w:r>", "</w:p><w:p>", "<w:r><w:rPr><w:b/></w:rPr><w:t>x</w:t></w:r>",
      "<w:hyperlink>", "</w:hyperlink>", "<w:r><w:tab/></w:r>", "<w:r><w:br/></w:r>",
      "<w:bookmarkStart/>", "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r>",
      "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r>", "<w:tbl><w:tr><w:tc><w:p>",
      "</w:p></w:tc></w:tr></w:tbl>", "<!-- -->", "&amp;", " "}},
    {"open document",
     read_open_document,
     {"x", "</text:p><text:p>", "<text:span>", "</text:span>", "<text:s/>", "<text:line-break/>",
      "<text:a>", "</text:a>", "<text:note><text:note-body><text:p>",
      "</text:p></text:note-body></text:note>", "&lt;", "<!-- -->", "<text:bookmark/>", " "}},
    {"slide",
     read_slide,
     {"<a:r><a:t>x</a:t></a:r>", "</a:p><a:p>", "<a:r><a:rPr b=\"1\"/><a:t>x</a:t></a:r>",
      "<a:br/>", "<a:fld type=\"slidenum\"><a:t>x</a:t></a:fld>",
      "</a:p></p:txBody></p:sp><p:sp><p:nvSpPr><p:nvPr><p:ph/></p:nvPr></p:nvSpPr><p:txBody><a:p>",
      "<a:tbl><a:tr><a:tc><a:txBody><a:p>", "</a:p></a:txBody></a:tc></a:tr></a:tbl>", "<p:grpSp>",
      "</p:grpSp>", "<a:pPr lvl=\"1\"/>", "<!-- -->", "&amp;", " "}},
    {"cells",
     read_cells,
     {"</si><si>", "<t>x</t>", "</si><si><t>x</t>", "<r><t>x</t></r>",
      "<r><rPr><b/></rPr><t>x</t></r>", "<rPh sb=\"0\" eb=\"1\"><t>x</t></rPh>", "<phoneticPr/>",
      "<is>", "</is>", "<c t=\"inlineStr\"><is><t>x</t></is></c>", "<!-- -->", "&lt;", " "}},
    {"open sheet",
     read_open_sheet,
     {"x", "</text:p><text:p>", "</text:p></table:table-cell><table:table-cell><text:p>",
      "</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>",
      "<text:span>", "</text:span>", "<text:a>", "</text:a>", "<text:s/>",
      "<office:annotation><text:p>x</text:p></office:annotation>", "<!-- -->", "&amp;", " "}},
    {"open slide",
     read_open_slide,
     {"x", "</text:p><text:p>",
      "</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>", "<text:span>",
      "</text:span>", "<text:line-break/>", "<text:list><text:list-item><text:p>",
      "</text:p></text:list-item></text:list>",
      "<presentation:notes><text:p>x</text:p></presentation:notes>", "<text:tab/>", "<!-- -->",
      "&lt;", " "}},
    {"names of sheets",
     read_sheet_names,
     {"a\n", "abc\n", "a!", "'a'!", "'", "''", "<f>", "</f>", "INDIRECT(", "a:", "&amp;", "\"",
      "\xC3\xA9", " "}},
    {"names of open sheets",
     read_open_sheet_names,
     {"a\n", "ab\n", "<a b=\"a.\">", "<a b=\"$'a'.", "\">", "'", "a.", "#", "[.a", "&apos;", "<",
      "\xC3\xA9", " "}},
    {"book",
     read_book,
     {"x", "</p><p>", "<b>", "</b>", "<br/>", "<img src=\"a\"/>", "&nbsp;", "<a href=\"a\">",
      "</a>", "<div>", "</div>", "<![CDATA[", "]]>", " "}},
    {"mail",
     read_mail,
     {"Content-Type: multipart/mixed; boundary=b\n\n", "--b\n", "--b--\n", "Subject: =?utf-8?q?",
      "=41", "?= ", "\n", "> ", "-- \n", "Content-Type: text/html\n\n", "<b>", ";a=\"", "word "}},
    {"lists of tags",
     read_tags,
     {"a,", "ab ", "z,", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ","}},
    {"protected",
     read_protected,
     {"http://", "a@b.org ", "@a", "#a", ":a", "{", "{{", "}}", "%", "$a", "<x ", "/a.", "1,",
      "\xF0\x9F\x98\x80", "-a"}},
    {"phrases", read_phrases, {"a", "b", "ab", "abc ", "\xC3\xA9", " "}},
    {"language",
     read_language,
     {"le chat ", "a", "1", "http://a.b ", "a@b.c ", "\xC3\xA9", "\xD0\xBC", "\xE4\xB8\x80",
      "\xF0\x9F\x98\x80", ".", "\xCC\x81", "<a>", "\n", " "}},
    {"segments",
     read_segments,
     {"a", ".", ". ", "A. ", "\n", "\"", "(", ")", "\xE3\x80\x82", "1. ", "- ", "x@y.z ", " ", "! ",
      "\xC2\xA0"}},
    {"glossary TSV", read_tsv, {"a", "\t", "\n", "a\tb\n", "a b", "\xC3\xA9\tb\tc\n"}},
    {"glossary CSV", read_csv, {"a", ",", "\n", "\"", "\"\"", "a,b\n", "\"a\"", "\r\n"}},
    {"terms", read_terms, {"a ", "b ", "a b ", "A ", "a a a a b ", "c ", "x"}},
    {"json",
     read_json,
     {"[", "]", "{\"a\":", "}", "\"", "\\u0041", "\\", "1,", "1e", "[1],", "\"a\",", " "}},
    {"translate",
     read_ask,
     {",\"text\":[", "\"a\",", "]", ",\"must\":\"a\"", ",\"a\":1", ",\"protected\":[\"a\"]",
      ",\"glossary\":{", "\\u00e9", " "}},
    {"fields",
     read_fields,
     {",\"q\":\"a\"", ",\"q\":[\"a\"]", ",\"texts\":[", "\"a\",", "]", ",\"contents\":[{\"a\":1}]",
      ",\"x\":{\"text\":\"a\"}", ",\"a\":true", "\\n", " "}},
    {"array of fields",
     read_field_array,
     {",{\"Text\":\"a\"}", ",\"a\"", ",{\"text\":[\"a\"]}", ",[", "]", ",1", ",{}", " "}},
    {"form", read_form, {"&q=a", "&text=%41", "&texts[]=a", "&", "=", "&x[0][a]=b", "+", "%"}},
    {"instruction of a chat",
     read_instruction,
     {":", "\n\n", "\"\"\"", "```", "<text>", "</text>", "Text: ", "French ", "1. ", "%%",
      "{\"a\":\"", "\xF0\x9F\x94\xA4"}},
    {"rules of a chat", read_rules, {"Translate ", "to English", ".", "\n- ", "\"", "French "}},
    {"chat",
     read_chat,
     {"\n", "1. x\n", "{\"a\":\"x\"}", "[\"x\",", "]", "\n\n%%\n\n", "```json\n", "# x\n", "<a>",
      "Source Text: "}},
    {"query", read_query, {"a=b&", "&", "=", "%41", "%", "+", "a"}},
    {"multipart",
     read_parts,
     {"----a-\r\n", "Content-Disposition: form-data; name=\"a\"\r\n", "\r\n", "--", "-", "\r\n--",
      "\r\n----a-", "a"}},
    {"http",
     read_http,
     {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "a: b\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", "0\r\n\r\n",
      "\r\n", "a"}},
    {"Forwarded",
     read_forwarded,
     {"for=127.0.0.1,", "for=127.0.0.1;proto=https;", "host=h;", "for=\"[::1]:80\",", ",", ";", "=",
      "\"", "\\", "for=", "a", " "}},
    {"X-Forwarded-For",
     read_forwarded_for,
     {"127.0.0.1,", "127.0.0.1:80, ", "[::1], ", "1.2.3.4,", ",", ":", "[", "]", "a", " "}},
    {"frames of a WebSocket",
     read_frames,
     {"m", "b", "f", "fc", "fe", "fcl", "fez", "c", "p", "o"}},
    {"replies of Redis",
     read_redis,
     {"*2\r\n", "$1\r\na\r\n", "*1\r\n$1\r\na\r\n", "$-1\r\n", ":1\r\n", "+OK\r\n", "-ERR a\r\n",
      "*65536\r\n", "*-1\r\n", "$9999\r\n", "+a", "\r\n", "a"}},
    {"cancelled requests", cancel_all, {"x"}},
    {"keys", read_keys, {"[a]\n", "a = b\n", "# x\n", "\n", "a", "[", "="}},
};

__attribute__((noinline)) void dg_test_read(const struct reader *reader, struct dg_span text)
{
    reader->read(text);
}

static void fill(struct dg_buf *text, const char *pattern, size_t len)
{
    struct dg_span one = dg_span_cstr(pattern);
    while (text->len < len)
        require(dg_buf_append_span(text, one) == DG_OK);
}

static uint64_t used_ns(void)
{
    struct timespec used;
    require(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* What is measured, and how. */
struct measuring {
    long times;
    char **numbers; /* in ascending order; NULL at the end. All patterns when there is none */
    bool all;
    long number; /* that of the next pattern */
};

/* Measures texts that repeat `first`, and in their second half `second`. */
static void measure(struct measuring *how, const struct reader *reader, const char *first,
                    const char *second)
{
    const long number = how->number++;
    if (!how->all) {
        if (!*how->numbers || strtol(*how->numbers, NULL, 10) != number)
            return;
        how->numbers++;
    }
    printf("%ld ", number);
    for (size_t size = SMALLEST; size <= LARGEST; size *= STEP) {
        struct dg_buf text;
        uint64_t best = UINT64_MAX;
        dg_buf_init(&text, BIG);
        fill(&text, first, size / 2);
        fill(&text, second, size);
        for (long k = 0; k < (size < LARGEST ? how->times : 1); k++) {
            const uint64_t begin = used_ns();
            dg_test_read(reader, dg_buf_span(&text));
            const uint64_t used = used_ns() - begin;
            best = used < best ? used : best;
        }
        printf("%llu ", (unsigned long long)best);
        dg_buf_deinit(&text);
    }
    printf("%s \"%s\" \"%s\"%c", reader->name, first, second, 0);
}

/* A few fragments of the reader, one after the other. */
static void draw(const struct reader *reader, size_t n_fragments, struct dg_rng *rng, char *out,
                 size_t cap)
{
    size_t n = 1 + dg_rng_next(rng) % PARTS_MAX;
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(out + len, cap - len, "%s",
                                reader->fragments[dg_rng_next(rng) % n_fragments]);
}

int main(int argc, char **argv)
{
    if (argc < 5 || dg_langid_open(&langid, argv[3], NULL) != DG_OK) {
        fprintf(stderr, "usage: reader_costs SEED ROUNDS LANGID TIMES [NUMBER...]\n");
        return 2;
    }
    /* Memory stays with the process: the kernel's work for new pages is not the reader's. */
    mallopt(M_MMAP_THRESHOLD, BIG);
    mallopt(M_TRIM_THRESHOLD, BIG);
    struct measuring how = {
        .times = strtol(argv[4], NULL, 10), .numbers = argv + 5, .all = argc == 5};
    struct dg_rng rng;
    dg_rng_init(&rng, strtoull(argv[1], NULL, 10), 0);
    long rounds = strtol(argv[2], NULL, 10);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const struct reader *reader = &readers[i];
        size_t n = 0;
        while (n < FRAGMENTS_MAX && reader->fragments[n])
            n++;
        reader->read(DG_SPAN("a")); /* makes what is made only once */
        for (size_t k = 0; k < n; k++)
            measure(&how, reader, reader->fragments[k], reader->fragments[k]);
        for (long k = 0; k < rounds; k++) {
            char first[512], second[512];
            draw(reader, n, &rng, first, sizeof first);
            draw(reader, n, &rng, second, sizeof second);
            measure(&how, reader, first, dg_rng_next(&rng) % 2 ? first : second);
        }
    }
    dg_langid_close(langid);
    return 0;
}
