/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Subtitles of all kinds: which cues are one text, and how its translation is cut into cues and
 * lines again. */
#include "base/memory/rng.h"
#include "base/memory/utf8.h"
#include "markup/doc.h"
#include "markup/tag_placement.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, WORDS_MAX = 64 };

/* The result for a text. */
struct said {
    const char *text, *translation;
    const char *from; /* for each word of the translation, the word of the text that it comes from:
                         'a' is the first, '-' none; NULL: unknown */
};

static size_t list_words(struct dg_span text, size_t base, struct dg_token words[WORDS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < WORDS_MAX;) {
        size_t from = i;
        while (i < text.len && text.ptr[i] != ' ')
            i++;
        if (i > from)
            words[n++] =
                (struct dg_token){.begin = (uint32_t)(base + from), .end = (uint32_t)(base + i)};
        i++;
    }
    return n;
}

static void say(const struct dg_doc *doc, const struct dg_doc_part *part, const struct said *said,
                struct dg_buf *out)
{
    struct dg_token from[WORDS_MAX], to[WORDS_MAX];
    struct dg_span text = dg_span_cstr(said->translation);
    size_t ends[WORDS_MAX] = {0};
    float alignment[WORDS_MAX * WORDS_MAX] = {0};
    const size_t n =
        list_words(dg_span_sub(dg_doc_plain(doc), part->at, part->len), part->at, from);
    const size_t n_to = list_words(text, 0, to);
    for (size_t t = 0; t < n_to && said->from; t++) {
        ends[t] = to[t].end;
        if (said->from[t] != '-')
            alignment[t * n + (size_t)(said->from[t] - 'a')] = 1;
    }
    const struct dg_tag_placement_source source = {.tokens = from, .n = n};
    const struct dg_tag_placement_target target = {
        .text = text, .ends = ends, .n = n_to, .alignment = said->from ? alignment : NULL};
    ck_assert_int_eq(dg_tag_placement(doc, part, &source, &target, out), DG_OK);
}

/* Each line of the plain text is a sentence: it becomes what `list` says, or stays. */
static void retell(struct dg_span original, enum dg_doc_format format, const struct said *list,
                   size_t n, struct dg_buf *out)
{
    struct dg_doc *doc = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_doc_cursor cursor = {0};
    ck_assert_msg(dg_doc_new(original, format, NULL, &doc, &error) == DG_OK, "%s", error.text);
    struct dg_span plain = dg_doc_plain(doc);
    for (size_t at = 0, len; at < plain.len; at += len) {
        const char *newline = memchr(plain.ptr + at, '\n', plain.len - at);
        const bool is_sentence = plain.ptr[at] != '\n' && plain.ptr[at] != ' ';
        len = is_sentence ? (newline ? (size_t)(newline - plain.ptr) : plain.len) - at : 1;
        struct dg_doc_part part = dg_doc_next(doc, &cursor, at, len, is_sentence);
        const struct dg_span text = dg_span_sub(plain, at, len);
        const struct said *found = NULL;
        for (size_t i = 0; i < n && !found; i++)
            found = dg_span_eq(text, dg_span_cstr(list[i].text)) ? &list[i] : NULL;
        if (found && is_sentence)
            say(doc, &part, found, out);
        else
            ck_assert_int_eq(dg_doc_copy(doc, &part, false, out), DG_OK);
    }
    ck_assert_int_eq(dg_doc_rest(doc, &cursor, out), DG_OK);
    dg_doc_free(doc);
}

static void expect(const char *original, enum dg_doc_format format, const struct said *list,
                   size_t n, const char *wanted)
{
    struct dg_buf out;
    dg_buf_init(&out, TEXT_MAX);
    retell(dg_span_cstr(original), format, list, n, &out);
    ck_assert_msg(dg_span_eq(dg_buf_span(&out), dg_span_cstr(wanted)), "%.*s",
                  DG_SPAN_FMT(dg_buf_span(&out)));
    dg_buf_deinit(&out);
}

#define LIST(list) list, sizeof list / sizeof *list

/* The texts, with '|' between them. */
static void expect_texts(const char *original, enum dg_doc_format format, const char *wanted)
{
    struct dg_doc *doc = NULL;
    struct dg_error error = DG_ERROR_NONE;
    char found[4096] = "";
    size_t n = 0;
    ck_assert_msg(dg_doc_new(dg_span_cstr(original), format, NULL, &doc, &error) == DG_OK, "%s",
                  error.text);
    struct dg_span plain = dg_doc_plain(doc);
    for (size_t i = 0; i < plain.len && n + 1 < sizeof found; i++) {
        if (plain.ptr[i] != '\n')
            found[n++] = plain.ptr[i];
        else if (n > 0 && found[n - 1] != '|')
            found[n++] = '|';
    }
    while (n > 0 && found[n - 1] == '|')
        n--;
    found[n] = '\0';
    ck_assert_str_eq(found, wanted);
    dg_doc_free(doc);
}

#define TIMES_1 "1\n00:00:01,000 --> 00:00:03,000\n"
#define TIMES_2 "\n\n2\n00:00:03,100 --> 00:00:06,000\n"
#define TIMES_3 "\n\n3\n00:00:06,100 --> 00:00:09,000\n"

START_TEST(a_sentence_goes_on_over_cues)
{
    static const struct {
        const char *one, *two, *wanted;
    } cases[] = {
        {"the house", "that we saw.", "the house that we saw."},
        {"the house.", "It is big.", "the house.|It is big."},
        {"<i>the house</i>", "<i>that we saw.</i>", "the house that we saw."},
        {"I saw, yes,", "Mr Smith.", "I saw, yes, Mr Smith."},
        {"I saw", "Mr Smith.", "I saw Mr Smith."},
        {"I thought...", "...that we might go.", "I thought... ...that we might go."},
        {"I thought...", "We might go.", "I thought...|We might go."},
        {"\"Yes.\"", "he said.", "\"Yes.\"|he said."},
        {"one", "- two", "one|two"},
        {"- one", "two", "one two"},
        {"one", "[a door]", "one|a door|"},
        {"[a door]", "two", "a door|two"},
        {"one", "(sighs)", "one|sighs"},
        {"one", "\xE2\x99\xAA la la \xE2\x99\xAA", "one|la la"},
        {"\xE2\x99\xAA la la \xE2\x99\xAA", "two", "la la|two"},
        {"[a door] Who is it?", "Me [laughs]", "a door|Who is it?|Me|laughs"},
        {"one\ntwo", "three.\nFour.", "one two three. Four."},
        {"- One.\n- Two", "three.", "One.|Two three."},
        {"-5 or", "6 degrees.", "-5 or 6 degrees."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_buf text;
        char wanted[256];
        dg_buf_init(&text, TEXT_MAX);
        ck_assert_int_eq(
            dg_buf_printf(&text, TIMES_1 "%s" TIMES_2 "%s\n", cases[i].one, cases[i].two), DG_OK);
        snprintf(wanted, sizeof wanted, "%s", cases[i].wanted);
        if (*wanted && wanted[strlen(wanted) - 1] == '|')
            wanted[strlen(wanted) - 1] = '\0';
        expect_texts(text.ptr, DG_DOC_SUBRIP, wanted);
        dg_buf_deinit(&text);
    }
}
END_TEST

START_TEST(a_pause_or_a_file_without_stops_ends_a_text)
{
    expect_texts("1\n00:00:01,000 --> 00:00:02,000\none\n\n2\n00:00:09,000 --> 00:00:10,000\ntwo\n",
                 DG_DOC_SUBRIP, "one|two");
    expect_texts(TIMES_1 "Chapter One" TIMES_2 "The House" TIMES_3 "A morning\n", DG_DOC_SUBRIP,
                 "Chapter One|The House|A morning");
    /* A text does not grow without limit. */
    struct dg_buf text;
    dg_buf_init(&text, TEXT_MAX);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(
            dg_buf_printf(&text, "%d\n00:00:%02d,000 --> 00:00:%02d,900\na\n\n", i, i, i), DG_OK);
    expect_texts(text.ptr, DG_DOC_SUBRIP, "a a a a a a a a|a a a a a a a a|a a a a");
    dg_buf_deinit(&text);
}
END_TEST

START_TEST(the_alignment_cuts_a_translation_into_cues)
{
    static const struct said list[] = {{"I know the man who lives here well.",
                                        "ich kenne gut den Mann, der hier wohnt.", "abhcdegf"},
                                       {"I have known for a long time the neighbour here.",
                                        "ich kenne den Nachbarn hier schon lange.", "acghjef"}};
    expect(TIMES_1 "I know the man" TIMES_2 "who lives here well.\n", DG_DOC_SUBRIP, LIST(list),
           TIMES_1 "ich kenne gut den Mann," TIMES_2 "der hier wohnt.\n");
    /* Tags stay in their cues, and a tag around the whole text of a cue remains around it. */
    expect(TIMES_1 "{\\an8}<i>I know the man</i>" TIMES_2 "who <b>lives</b> here well.\n",
           DG_DOC_SUBRIP, LIST(list),
           TIMES_1 "{\\an8}<i>ich kenne gut den Mann,</i>" TIMES_2 "der hier <b>wohnt</b>.\n");
}
END_TEST

START_TEST(no_cue_goes_dark)
{
    static const struct said list[] = {
        {"yes, but of course.", "Oui.", NULL},
        {"yes, and so on, but of course.", "Mais oui.", NULL},
        {"never, not today.", "", NULL},
        {"one two three.", "\xE4\xB8\x80\xE4\xBA\x8C\xE4\xB8\x89", NULL}};
    expect(TIMES_1 "yes," TIMES_2 "but of course.\n", DG_DOC_SUBRIP, LIST(list),
           TIMES_1 "Oui." TIMES_2 "Oui.\n");
    expect(TIMES_1 "yes," TIMES_2 "and so on," TIMES_3 "but of course.\n", DG_DOC_SUBRIP,
           LIST(list), TIMES_1 "Mais" TIMES_2 "Mais" TIMES_3 "oui.\n");
    expect(TIMES_1 "<i>never,</i>" TIMES_2 "not today.\n", DG_DOC_SUBRIP, LIST(list),
           TIMES_1 "<i>never,</i>" TIMES_2 "not today.\n");
    expect(TIMES_1 "one" TIMES_2 "two" TIMES_3 "three.\n", DG_DOC_SUBRIP, LIST(list),
           TIMES_1 "\xE4\xB8\x80" TIMES_2 "\xE4\xBA\x8C" TIMES_3 "\xE4\xB8\x89\n");
}
END_TEST

START_TEST(lines_are_short_and_balanced)
{
    static const struct said list[] = {
        {"a", "The quick brown fox jumps over the lazy dog, and then it sleeps.", NULL},
        {"a b", "It sleeps.", NULL},
        {"One.", "The quick brown fox jumps.", NULL},
        {"Two.", "The lazy dog goes home in the evening.", NULL},
        {"b", "Over the lazy dog jumps the quick brown fox, says <he>.", NULL}};
    expect(TIMES_1 "a\n", DG_DOC_SUBRIP, LIST(list),
           TIMES_1 "The quick brown fox jumps over\nthe lazy dog, and then it sleeps.\n");
    expect(TIMES_1 "a\nb\n", DG_DOC_SUBRIP, LIST(list), TIMES_1 "It sleeps.\n");
    /* A speaker has one line. */
    expect(TIMES_1 "- a\n- b\n", DG_DOC_SUBRIP, LIST(list),
           TIMES_1 "- The quick brown fox jumps over the lazy dog, and then it sleeps.\n- Over the "
                   "lazy dog jumps the quick brown fox, says <he>.\n");
    expect(
        "1\r\n00:00:01,000 --> 00:00:03,000\r\n<i>a</i>\r\n", DG_DOC_SUBRIP, LIST(list),
        "1\r\n00:00:01,000 --> 00:00:03,000\r\n<i>The quick brown fox jumps over\r\nthe lazy dog, "
        "and then it sleeps.</i>\r\n");
    expect("WEBVTT\n\n00:01.000 --> 00:03.000\nb\n", DG_DOC_WEBVTT, LIST(list),
           "WEBVTT\n\n00:01.000 --> 00:03.000\nOver the lazy dog jumps the\nquick brown fox, says "
           "&lt;he&gt;.\n");
}
END_TEST

/* Two sentences in a cue: the second one gets the room that the first has left. */
START_TEST(sentences_share_the_lines_of_a_cue)
{
    struct dg_doc *doc = NULL;
    struct dg_buf out;
    struct dg_doc_cursor cursor = {0};
    static const struct said first = {"", "The quick brown fox jumps.", NULL},
                             second = {"", "The lazy dog goes home in the evening.", NULL};
    dg_buf_init(&out, TEXT_MAX);
    ck_assert_int_eq(dg_doc_new(DG_SPAN(TIMES_1 "One. Two.\n"), DG_DOC_SUBRIP, NULL, &doc, NULL),
                     DG_OK);
    const size_t at = strlen("\n"), len = 4;
    struct dg_doc_part part = dg_doc_next(doc, &cursor, 0, at, false);
    ck_assert_int_eq(dg_doc_copy(doc, &part, false, &out), DG_OK);
    part = dg_doc_next(doc, &cursor, at, len, true);
    say(doc, &part, &first, &out);
    part = dg_doc_next(doc, &cursor, at + len, 1, false);
    ck_assert_int_eq(dg_doc_copy(doc, &part, false, &out), DG_OK);
    part = dg_doc_next(doc, &cursor, at + len + 1, len, true);
    say(doc, &part, &second, &out);
    ck_assert_int_eq(dg_doc_rest(doc, &cursor, &out), DG_OK);
    ck_assert_msg(
        dg_span_eq(dg_buf_span(&out),
                   DG_SPAN(TIMES_1 "The quick brown fox jumps. The lazy\ndog goes home in "
                                   "the evening.\n")),
        "%.*s", DG_SPAN_FMT(dg_buf_span(&out)));
    dg_buf_deinit(&out);
    dg_doc_free(doc);
}
END_TEST

#define ASS_HEAD                                                                                   \
    "[Script Info]\r\nTitle: x\r\n\r\n[Events]\r\nFormat: Layer, Start, End, Style, Name, "        \
    "MarginL, MarginR, MarginV, Effect, Text\r\n"

START_TEST(kinds)
{
    static const struct said list[] = {
        {"one red house is here, by us.", "ein Haus, ein rotes, ist hier.", "acabde"}};
    expect(
        ASS_HEAD
        "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,a note\r\n"
        "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\an8}one {\\i1}red{\\i0}\\Nhouse\r\n"
        "Dialogue: 0,0:00:02.00,0:00:03.00,Default,,0,0,0,,is here, by us.\r\n"
        "Dialogue: 0,0:00:02.00,0:00:03.00,Sign,,0,0,0,,{\\p1}m 0 0 l 9 9{\\p0}\r\n",
        DG_DOC_ASS, LIST(list),
        ASS_HEAD "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,a note\r\n"
                 "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\an8}ein Haus, ein "
                 "{\\i1}rotes{\\i0},\r\n"
                 "Dialogue: 0,0:00:02.00,0:00:03.00,Default,,0,0,0,,ist hier.\r\n"
                 "Dialogue: 0,0:00:02.00,0:00:03.00,Sign,,0,0,0,,{\\p1}m 0 0 l 9 9{\\p0}\r\n");
    /* Text in two styles is two texts. */
    expect_texts(ASS_HEAD "Dialogue: 0,0:00:01.00,0:00:02.00,A,,0,0,0,,one, two\\hthree,\r\n"
                          "Dialogue: 0,0:00:02.00,0:00:03.00,B,,0,0,0,,four\r\n",
                 DG_DOC_ASS, "one, two\xC2\xA0three,|four");
    expect("0:00:01.000,0:00:02.000\none red house\n\n0:00:02.000,0:00:03.000\nis here, by us.\n",
           DG_DOC_SBV, LIST(list),
           "0:00:01.000,0:00:02.000\nein Haus, ein rotes,\n\n0:00:02.000,0:00:03.000\nist hier.\n");
    expect("WEBVTT\n\nSTYLE\n::cue {}\n\nname\n00:01.000 --> 00:02.000 line:0\n<v Ann>one red "
           "house\n\nNOTE x\n\n00:02.000 --> 00:03.000\nis <00:02.500>here, by us.\n",
           DG_DOC_WEBVTT, LIST(list),
           "WEBVTT\n\nSTYLE\n::cue {}\n\nname\n00:01.000 --> 00:02.000 line:0\n<v Ann>ein Haus, "
           "ein rotes,\n\nNOTE x\n\n00:02.000 --> 00:03.000\nist <00:02.500>hier.\n");
    expect("<tt xmlns=\"http://www.w3.org/ns/ttml\"><head><metadata>a</metadata></head><body>\n"
           "<p begin=\"1s\" end=\"2s\">one <span x=\"y\">red</span><br/>\n house</p>\n"
           "<p begin=\"2s\" dur=\"1s\">is here, by us.</p></body></tt>",
           DG_DOC_TTML, LIST(list),
           "<tt xmlns=\"http://www.w3.org/ns/ttml\"><head><metadata>a</metadata></head><body>\n"
           "<p begin=\"1s\" end=\"2s\">ein Haus, ein <span x=\"y\">rotes</span>,</p>\n"
           "<p begin=\"2s\" dur=\"1s\">ist hier.</p></body></tt>");
}
END_TEST

START_TEST(what_is_no_subtitle_is_refused_with_its_line)
{
    static const struct {
        enum dg_doc_format format;
        const char *text, *words;
    } cases[] = {
        {DG_DOC_SUBRIP, "Hello.\n", "line 1: SubRip: expected a cue's number"},
        {DG_DOC_SUBRIP, TIMES_1 "a\n\n2\n00:00:03,000 -> 00:00:04,000\nb\n",
         "line 6: SubRip: expected times"},
        {DG_DOC_SUBRIP, TIMES_1 "a\n\n2\n00:00:03,000 --> 00:00:0x,000\nb\n",
         "line 6: SubRip: expected times"},
        {DG_DOC_WEBVTT, "00:01.000 --> 00:02.000\na\n", "line 1: WebVTT: the file does not begin"},
        {DG_DOC_WEBVTT, "WEBVTT\n\n00:01,5 -> 00:02.000\na\n", "line 3: WebVTT: expected times"},
        {DG_DOC_SBV, "x\n", "line 1: SBV: expected a cue's times"},
        {DG_DOC_ASS, "Dialogue: a\n", "line 1: ASS: expected a section"},
        {DG_DOC_ASS, "[Events]\nDialogue: 0,x,0:00:01.00,D,,0,0,0,,a\n",
         "line 2: ASS: expected a dialogue's times"},
        {DG_DOC_ASS, "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,a\n",
         "line 2: ASS: this dialogue has fewer fields"},
        {DG_DOC_ASS, "[Events]\nFormat: Text, Start, End\n", "line 2: ASS: expected a Format"},
        {DG_DOC_TTML, "<html><p>a</p></html>", "line 1: TTML: the file has no element <tt>"},
        {DG_DOC_TTML, "<tt>\n<p>a", "line 2: TTML: this <p> is not closed"},
        {DG_DOC_TTML, "<tt>\n<p>a<p>b</p></p></tt>", "line 2: TTML: a <p> stands in another"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_doc *doc = NULL;
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_int_eq(
            dg_doc_new(dg_span_cstr(cases[i].text), cases[i].format, NULL, &doc, &error),
            DG_ERR_INVALID);
        ck_assert_msg(strncmp(error.text, cases[i].words, strlen(cases[i].words)) == 0, "%s",
                      error.text);
    }
}
END_TEST

static size_t below(struct dg_rng *rng, size_t n)
{
    return (size_t)(dg_rng_next(rng) % n);
}

static size_t count(struct dg_span text, const char *what)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += dg_span_starts(dg_span_sub(text, i, text.len), dg_span_cstr(what));
    return n;
}

/* Whatever the translation is: times and tags occur once, every cue has text, and there are at
 * most two lines. */
START_TEST(any_translation_fits_into_its_cues)
{
    static const char *const tags[] = {"<i>", "</i>", "{\\an8}", "<b>", "</b>"};
    static const char *const words[] = {"a",      "der",  "Donaudampfschiff",         "ist",
                                        "klein,", "gut.", "\xE4\xB8\x80\xE4\xBA\x8C", "(und)"};
    struct dg_rng rng;
    dg_rng_init(&rng, 7, 0);
    for (int round = 0; round < dg_unit_rounds(300); round++) {
        struct dg_buf original, text, said, out;
        struct dg_buf *all[] = {&original, &text, &said, &out};
        size_t n_tags[5] = {0}, n_cues = 1 + below(&rng, 5);
        for (size_t i = 0; i < 4; i++)
            dg_buf_init(all[i], TEXT_MAX);
        for (size_t c = 0; c < n_cues; c++) {
            ck_assert_int_eq(
                dg_buf_printf(&original, "%zu\n00:00:%02zu,000 --> 00:00:%02zu,900\n", c, c, c),
                DG_OK);
            for (size_t w = 0, n = 1 + below(&rng, 5); w < n; w++) {
                size_t tag = below(&rng, 12);
                const char *space = w + 1 < n ? below(&rng, 4) ? " " : "\n" : "\n\n";
                if (tag < 5)
                    n_tags[tag]++;
                ck_assert_int_eq(dg_buf_printf(&original, "%sw%s", tag < 5 ? tags[tag] : "", space),
                                 DG_OK);
                ck_assert_int_eq(dg_buf_append_cstr(&text, text.len ? " w" : "w"), DG_OK);
            }
        }
        char from[WORDS_MAX + 1] = "";
        for (size_t w = 0, n = 1 + below(&rng, 40); w < n; w++) {
            ck_assert_int_eq(dg_buf_printf(&said, "%s%s", w ? " " : "",
                                           words[below(&rng, sizeof words / sizeof *words)]),
                             DG_OK);
            from[w] = (char)('a' + below(&rng, (text.len + 1) / 2));
            from[w + 1] = '\0';
        }
        const struct said list = {text.ptr, said.ptr, round % 2 ? from : NULL};
        retell(dg_buf_span(&original), DG_DOC_SUBRIP, &list, 1, &out);
        const struct dg_span result = dg_buf_span(&out);
        for (size_t i = 0; i < 5; i++)
            ck_assert_msg(count(result, tags[i]) == n_tags[i], "%s: %.*s", tags[i],
                          DG_SPAN_FMT(result));
        ck_assert_uint_eq(count(result, " --> "), n_cues);
        for (size_t at = 0, lines = 0; at < result.len;) {
            const char *newline = memchr(result.ptr + at, '\n', result.len - at);
            size_t end = newline ? (size_t)(newline - result.ptr) : result.len;
            const struct dg_span line = dg_span_sub(result, at, end - at);
            if (count(line, " --> ")) {
                lines = 0;
                ck_assert_msg(end + 1 < result.len && result.ptr[end + 1] != '\n', "%.*s",
                              DG_SPAN_FMT(result));
            } else {
                lines = line.len ? lines + 1 : 0;
            }
            ck_assert_msg(lines <= 2 || line.len == 0, "%.*s", DG_SPAN_FMT(result));
            at = end + 1;
        }
        for (size_t i = 0; i < 4; i++)
            dg_buf_deinit(all[i]);
    }
}
END_TEST

DG_UNIT(a_sentence_goes_on_over_cues, a_pause_or_a_file_without_stops_ends_a_text,
        the_alignment_cuts_a_translation_into_cues, no_cue_goes_dark, lines_are_short_and_balanced,
        sentences_share_the_lines_of_a_cue, kinds, what_is_no_subtitle_is_refused_with_its_line,
        any_translation_fits_into_its_cues)
