/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/utf8.h"
#include "markup/doc.h"
#include "markup/entity.h"
#include "markup/tag_placement.h"
#include "unit.h"

enum { TEXT_MAX = 1 << 20, TOKENS_MAX = 256 };

/* Puts a document together again. Each line of its plain text is a sentence that is "translated"
 * word by word: unchanged, or with its words in reverse order. */
static void weave_line(const struct dg_doc *doc, const struct dg_doc_part *part, bool is_reversed,
                       struct dg_buf *out)
{
    struct dg_span line = dg_span_sub(dg_doc_plain(doc), part->at, part->len);
    struct dg_token tokens[TOKENS_MAX];
    size_t ends[TOKENS_MAX], n = 0, order[TOKENS_MAX];
    struct dg_buf said;
    dg_buf_init(&said, TEXT_MAX);
    for (size_t i = 0; i < line.len && n < TOKENS_MAX;) {
        size_t from = i;
        while (i < line.len && line.ptr[i] != ' ')
            i++;
        if (i > from)
            tokens[n++] = (struct dg_token){.begin = (uint32_t)(part->at + from),
                                            .end = (uint32_t)(part->at + i)};
        i++;
    }
    float *alignment = calloc(n * n + 1, sizeof *alignment);
    ck_assert_ptr_nonnull(alignment);
    enum dg_err err = DG_OK;
    for (size_t t = 0; t < n && !err; t++) {
        order[t] = is_reversed ? n - 1 - t : t;
        const struct dg_token *token = &tokens[order[t]];
        if (t > 0)
            err = dg_buf_append_byte(&said, ' ');
        if (!err)
            err = dg_buf_append_span(
                &said, dg_span_sub(dg_doc_plain(doc), token->begin, token->end - token->begin));
        ends[t] = said.len;
        alignment[t * n + order[t]] = 1;
    }
    const struct dg_tag_placement_source source = {.tokens = tokens, .n = n};
    const struct dg_tag_placement_target words = {
        .text = dg_buf_span(&said), .ends = ends, .n = n, .alignment = alignment};
    if (!err)
        err = dg_tag_placement(doc, part, &source, &words, out);
    free(alignment);
    dg_buf_deinit(&said);
    ck_assert_int_eq(err, DG_OK);
}

static void retell(const char *original, enum dg_doc_format format, const struct dg_doc_opts *opts,
                   bool is_reversed, struct dg_buf *out)
{
    struct dg_doc *doc = NULL;
    ck_assert_int_eq(dg_doc_new(dg_span_cstr(original), format, opts, &doc, NULL), DG_OK);
    struct dg_span plain = dg_doc_plain(doc);
    struct dg_doc_cursor cursor = {0};
    for (size_t at = 0; at < plain.len;) {
        size_t len = 0;
        bool is_line = plain.ptr[at] != '\n' && plain.ptr[at] != ' ';
        while (at + len < plain.len &&
               (plain.ptr[at + len] == '\n' || (len == 0 && plain.ptr[at] == ' ')) != is_line)
            len++;
        while (is_line && plain.ptr[at + len - 1] == ' ')
            len--;
        struct dg_doc_part part = dg_doc_next(doc, &cursor, at, len, is_line);
        if (is_line)
            weave_line(doc, &part, is_reversed, out);
        else
            ck_assert_int_eq(dg_doc_copy(doc, &part, false, out), DG_OK);
        at += len;
    }
    ck_assert_int_eq(dg_doc_rest(doc, &cursor, out), DG_OK);
    dg_doc_free(doc);
}

static void expect(const char *original, enum dg_doc_format format, const struct dg_doc_opts *opts,
                   bool is_reversed, const char *expected)
{
    struct dg_buf out;
    dg_buf_init(&out, TEXT_MAX);
    retell(original, format, opts, is_reversed, &out);
    ck_assert_str_eq(out.ptr ? out.ptr : "", expected);
    dg_buf_deinit(&out);
}

START_TEST(tags_move_with_their_words)
{
    static const char *const cases[][2] = {
        {"<p>un <b>chat noir</b> dort</p>", "<p>dort <b>noir chat</b> un</p>"},
        {"un <b>chat <i>noir</i> gris</b> dort", "dort <b>gris <i>noir</i> chat</b> un"},
        {"<b>un chat</b> dort", "dort <b>chat un</b>"},
        {"<p class=\"a>b\">un <br> chat</p>", "<p class=\"a>b\">un <br> chat</p>"},
        {"un <img src=x> chat", "<img src=x> chat un"},
        {"un <code>f(x)</code> dort", "dort <code>f(x)</code> un"},
        {"<p><ruby>un<rp>(</rp><rt>a b</rt><rp>)</rp></ruby> chat</p>",
         "<p>chat <ruby>un<rp>(</rp><rt>a b</rt><rp>)</rp></ruby></p>"},
        {"<ruby>un<RP>(<RT>a <i>b</i></ruby> chat", "chat <ruby>un<RP>(<RT>a <i>b</i></ruby>"},
        {"un chat<rt>a<p>un chat", "chat un<rt>a<p>chat un"},
        {"un <span translate=no>Jean</span> dort", "dort <span translate=no>Jean</span> un"},
        {"un <a class=\"u notranslate\"><b>Jean</b></a> dort",
         "dort <a class=\"u notranslate\"><b>Jean</b></a> un"},
        {"<b>un <i>chat</b> noir</i>", "<b>un <i>chat</b> noir</i>"},
        {"un <s translate=no><a>x</s></a> chat", "un <s translate=no><a>x</s></a> chat"},
        {"un &lt;b&gt; &amp; chat", "chat &amp; &lt;b&gt; un"},
        {"<b>\xC2\xAB"
         "chat\xC2\xBB</b> dort",
         "dort <b>\xC2\xAB"
         "chat\xC2\xBB</b>"},
        {"<b>{0} chat</b> dort", "dort <b>chat {0}</b>"},
        {"<a>un <b>x <a>chat</a></b></a>", "<a>un <b>x <a>chat</a></b></a>"},
        {"<ul> <li>un  chat\n<li>dort</ul>", "<ul> <li>chat un\n<li>dort</ul>"},
        {"un<!-- x --> chat dort", "dort<!-- x --> chat un"},
        {"<script>if (a < b) un()</script>un chat", "<script>if (a < b) un()</script>chat un"},
        {"<script><!-- <script> un() </script> --></script>un chat",
         "<script><!-- <script> un() </script> --></script>chat un"},
        {"<script><!-- </SCRIPT >un chat", "<script><!-- </SCRIPT >chat un"},
        {"<script><!--> <script> </script>un chat", "<script><!--> <script> </script>chat un"},
        {"<script><!-- <scripts> </script>un chat", "<script><!-- <scripts> </script>chat un"},
        {"un <b>chat", "un <b>chat"},
        {"un <b", "un <b"},
        {"a < b", "b &lt; a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], DG_DOC_HTML, NULL, true, cases[i][1]);
}
END_TEST

START_TEST(markup_divides_a_word_where_it_did)
{
    static const char *const cases[][2] = {
        {"de l'eau H<sub>2</sub>O pure", "pure H<sub>2</sub>O l'eau de"},
        {"<b>H</b>2O pure", "pure <b>H</b>2O"},
        {"<b>CO<sub>2</sub> et H<sub>2</sub>O</b> ici",
         "ici <b>H<sub>2</sub>O et CO<sub>2</sub></b>"},
        {"super<wbr>star ici", "ici super<wbr>star"},
        {"a<i>b</i><u>c</u>d x", "x a<i>b</i><u>c</u>d"},
        {"\xC3\xA9t<i>\xC3\xA9</i>s x", "x \xC3\xA9t<i>\xC3\xA9</i>s"},
        {"x2 20 m x<sup>2</sup> y", "y x2 m 20 x<sup>2</sup>"},
        {"un<b>e</b> chat", "chat un<b>e</b>"},
        {"l'H<sub>2</sub>O pure", "pure l'H<sub>2</sub>O"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], DG_DOC_HTML, NULL, true, cases[i][1]);
}
END_TEST

/* A sentence of two tokens, which `cut` divides, becomes two words, of which the first has `len`
 * bytes. */
static void expect_pair(const char *original, size_t cut, const char *text, size_t len,
                        const char *expected)
{
    struct dg_doc *doc = NULL;
    ck_assert_int_eq(dg_doc_new(dg_span_cstr(original), DG_DOC_HTML, NULL, &doc, NULL), DG_OK);
    const struct dg_span plain = dg_doc_plain(doc);
    const struct dg_token tokens[] = {{.begin = 0, .end = cut}, {.begin = cut, .end = plain.len}};
    const size_t ends[] = {len, strlen(text)};
    const float alignment[] = {1, 0, 0, 1};
    const struct dg_tag_placement_source source = {.tokens = tokens, .n = 2};
    const struct dg_tag_placement_target target = {
        .text = dg_span_cstr(text), .ends = ends, .n = 2, .alignment = alignment};
    struct dg_doc_cursor cursor = {0};
    struct dg_buf out;
    dg_buf_init(&out, TEXT_MAX);
    const struct dg_doc_part part = dg_doc_next(doc, &cursor, 0, plain.len, true);
    const enum dg_err err = dg_tag_placement(doc, &part, &source, &target, &out);
    dg_doc_free(doc);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_str_eq(out.ptr, expected);
    dg_buf_deinit(&out);
}

static void expect_ordinal(const char *text, const char *expected)
{
    expect_pair("1<sup>er</sup> janvier", 3, text, strlen(text) - strlen(" January"), expected);
}

START_TEST(markup_divides_an_ordinal_after_its_number)
{
    expect_ordinal("1st January", "1<sup>st</sup> January");
    expect_ordinal("1 January", "1<sup></sup> January");
    expect_ordinal("first January", "<sup>first</sup> January");
}
END_TEST

START_TEST(a_point_behind_a_space_keeps_it)
{
    expect_pair("la voix <img>.", 8, "the vote.", 8, "the vote <img>.");
    expect_pair("la voix<img>.", 7, "the vote.", 8, "the vote<img>.");
    expect_pair("la voix <img>, oui", 8, "the vote , yes", 8, "the vote <img>, yes");
}
END_TEST

START_TEST(plain_text_keeps_its_signs)
{
    static const char *const cases[][2] = {
        {"L&#39;eau &amp; l&#39;air", "l&#39;air &amp; L&#39;eau"},
        {"L&#39;eau d'ici", "d'ici L'eau"}, /* both ways: unchanged */
        {"mang&eacute; &lt;b&gt; R&amp;amp;D", "R&amp;amp;D &lt;b&gt; mang&eacute;"},
        {"un \\\"chat\\\" l\\'eau.\\nil dort\\r\\nla",
         "l\\'eau. \\\"chat\\\" un\\ndort il\\r\\nla"},
        {"a?b=1&copy=2 C:\\new \\textbf x\\ty", "x\\ty \\textbf C:\\new a?b=1&copy=2"},
        {"un & deux &unknown; &#1;", "&#1; &unknown; deux & un"},
        {"", ""},
    };
    static const struct dg_doc_opts joins = {.join_lines = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], DG_DOC_TEXT, NULL, true, cases[i][1]);
    expect("un chat\\ndort &amp; mange", DG_DOC_TEXT, &joins, true, "mange &amp; chat\\ndort un");
    for (size_t i = 0; i < 4; i++)
        ck_assert(dg_doc_has_signs(dg_span_cstr(cases[i][0]), false));
    for (size_t i = 4; i < 7; i++)
        ck_assert(!dg_doc_has_signs(dg_span_cstr(cases[i][0]), false));
}
END_TEST

START_TEST(tags_in_text_move_with_their_words)
{
    static const char *const cases[][2] = {
        {"un <b>chat noir</b> dort", "dort <b>noir chat</b> un"},
        {"<0>un <1>chat</1> noir</0> dort", "dort <0>noir <1>chat</1> un</0>"},
        {"un <a href=\"x y\">chat</A> dort", "dort <a href=\"x y\">chat</A> un"},
        {"un &lt;b&gt;chat&lt;/b&gt; dort", "dort &lt;b&gt;chat&lt;/b&gt; un"},
        {"un <code>f(x)</code> dort", "dort <code>f(x)</code> un"},
        {"un chat<br>il dort", "chat un<br>dort il"},
        {"<p>un chat</p><p>il dort</p>", "<p>chat un</p><p>dort il</p>"},
        {"<b>un chat<br/>il dort</b>", "<b>chat un<br/>dort il</b>"},
        /* without a partner, on another line, crossed, or no tags at all: words like others */
        {"un <b>chat dort", "dort <b>chat un"},
        {"un </b> dort", "dort </b> un"},
        {"un <x/> dort", "dort <x/> un"},
        {"<b>un\nchat</b> dort", "<b>un\ndort chat</b>"},
        {"<b>un <i>chat</b> noir</i>", "noir</i> <b><i>chat un</b>"},
        {"a <b et c> d", "d c> et <b a"},
        {"<!-- a --> <script>un</script>", "<script>un</script> --> a <!--"},
    };
    static const char *const strings[][2] = {
        {"{\"a\": \"un <b>chat</b> dort\", \"b\": \"<i>ici\", \"c\": \"et</i> la\"}",
         "{\"a\": \"dort <b>chat</b> un\", \"b\": \"<i>ici\", \"c\": \"la et</i>\"}"},
        {"{\"a\": \"un <a x=\\\"y\\\">chat</a> dort\"}",
         "{\"a\": \"dort <a x=\\\"y\\\">chat</a> un\"}"},
    };
    static const char *const pages[][2] = {
        {"un &lt;b>chat <i>noir&lt;/b></i> dort", "dort <i>noir&lt;/b&gt;</i> &lt;b&gt;chat un"},
        {"un <i>chat &lt;b>noir&lt;/b></i> dort", "dort <i>&lt;b>noir&lt;/b> chat</i> un"},
    };
    static const struct dg_doc_opts joins = {.join_lines = true}, none = {.no_tags = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], DG_DOC_TEXT, NULL, true, cases[i][1]);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        expect(strings[i][0], DG_DOC_JSON, NULL, true, strings[i][1]);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        expect(pages[i][0], DG_DOC_HTML, NULL, true, pages[i][1]);
    expect("un <b>chat</b> dort", DG_DOC_TEXT, &none, true, "dort <b>chat</b> un");
    expect("un <b>chat noir</b> dort", DG_DOC_TEXT, &none, true, "dort noir</b> <b>chat un");
    expect("<b>un\nchat</b> dort", DG_DOC_TEXT, &joins, false, "<b>un\nchat</b> dort");
    for (size_t i = 0; i < 2; i++) {
        ck_assert(dg_doc_has_signs(dg_span_cstr(cases[i][0]), false));
        ck_assert(!dg_doc_has_signs(dg_span_cstr(cases[i][0]), true));
    }
    ck_assert(dg_doc_has_signs(DG_SPAN("un<BR>chat"), false));
    ck_assert(!dg_doc_has_signs(DG_SPAN("a <b et <c>, < / <"), false));
}
END_TEST

START_TEST(the_same_words_give_the_same_document)
{
    static const char *const cases[] = {
        "<p>Le <b>chat</b> <i>noir</i>.</p>\n\n<pre>  un\n\tdeux </pre><!-- c -->",
        "<p>un &eacute;t&eacute; <a href='x?a=1&amp;b=2'>chaud <em>et</em> sec</a>, non</p>",
        "<div translate=\"no\"><p>Rien</p></div><p>un</p>",
        "&nbsp;un",
        "",
        "<br>",
        "<!doctype html><title>un &amp; deux</title>",
        ("<p><span class=\"h-card\" translate=\"no\"><a "
         "href=\"https://m.org/@G\">@<span>G</span></a></span> un</p>"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_buf out;
        dg_buf_init(&out, TEXT_MAX);
        retell(cases[i], DG_DOC_HTML, NULL, false, &out);
        /* References become the characters they stand for; nothing else changes. */
        struct dg_doc *a = NULL, *b = NULL;
        ck_assert_int_eq(dg_doc_new(dg_span_cstr(cases[i]), DG_DOC_HTML, NULL, &a, NULL), DG_OK);
        enum dg_err err = dg_doc_new(dg_buf_span(&out), DG_DOC_HTML, NULL, &b, NULL);
        ck_assert_int_eq(err, DG_OK);
        ck_assert(dg_span_eq(dg_doc_plain(a), dg_doc_plain(b)));
        size_t n_a, n_b;
        (void)dg_doc_items(a, &n_a);
        (void)dg_doc_items(b, &n_b);
        if (!strchr(cases[i], '&'))
            ck_assert_str_eq(out.ptr ? out.ptr : "", cases[i]);
        dg_doc_free(a);
        dg_doc_free(b);
        dg_buf_deinit(&out);
    }
}
END_TEST

START_TEST(xml_has_an_outline_and_names)
{
    const struct dg_doc_opts ignore = {.ignore_tags = DG_SPAN("x, keep")};
    const struct dg_doc_opts split = {.splitting_tags = DG_SPAN("s"), .no_outline = true};
    expect("un <x id=\"7\"></x> chat", DG_DOC_XML, &ignore, true, "<x id=\"7\"></x> chat un");
    expect("un <keep>a  b</keep> chat", DG_DOC_XML, &ignore, true, "chat <keep>a  b</keep> un");
    expect("<doc><p>un chat</p><p>deux <i>chiens</i></p></doc>", DG_DOC_XML, NULL, true,
           "<doc><p>chat un</p><p><i>chiens</i> deux</p></doc>");
    expect("un <s>chat noir</s> dort", DG_DOC_XML, &split, true, "un <s>noir chat</s> dort");
    expect("un <B/> chat &eacute; <![CDATA[<x>]]>", DG_DOC_XML, NULL, false,
           "un <B/> chat &eacute; <![CDATA[<x>]]>");
}
END_TEST

START_TEST(markdown_and_subtitles_keep_their_form)
{
    expect("# Le chat\n\nun **chat noir** dort\n\n- [un lien](http://x \"t\")\n", DG_DOC_MARKDOWN,
           NULL, true, "# chat Le\n\ndort **noir chat** un\n\n- [lien un](http://x \"t\")\n");
    expect("```\nun chat\n```\nun `f x` la\n\n| un | deux chats |\n|---|---|\n", DG_DOC_MARKDOWN,
           NULL, true, "```\nun chat\n```\nla `f x` un\n\n| un | chats deux |\n|---|---|\n");
    expect("---\na: b\n---\nun * deux \\* trois_x_y\n", DG_DOC_MARKDOWN, NULL, false,
           "---\na: b\n---\nun * deux \\* trois_x_y\n");
    expect("un ``` chat ` noir ~~~ la", DG_DOC_MARKDOWN, NULL, true,
           "la ~~~ noir ` chat ``` un"); /* a tag without a partner */
    expect("1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>un chat</i>\r\n\r\n2\r\n00:00:03,000 --> "
           "00:00:04,000\r\n- un.\r\n- deux\r\n",
           DG_DOC_SUBRIP, NULL, false,
           "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>un chat</i>\r\n\r\n2\r\n00:00:03,000 --> "
           "00:00:04,000\r\n- un.\r\n- deux\r\n");
    expect("1\n00:00:01,000 --> 00:00:02,000\nun deux\ntrois quatre\n", DG_DOC_SUBRIP, NULL, false,
           "1\n00:00:01,000 --> 00:00:02,000\nun deux trois quatre\n");
}
END_TEST

/* Each text in capitals is translated, and nothing else. */
START_TEST(markdown_knows_code_in_lists_and_quotations)
{
    static const char *const cases[] = {
        "1. ```sh\n   un chat\n   ```\n2. UN CHAT\n\nUN\n",
        "> UN CHAT\n> ```\n> un chat\n> ```\n> UN\n",
        "> ~~~\n> un chat\n\nUN CHAT\n",
        "1.  UN\n\n    UN CHAT\n\n        un chat\n\nUN\n\n    un chat\n",
        "-\tUN\n\n\tUN CHAT\n\n\t\tun chat\n",
        "- UN\n    - CHAT\n\n      UN CHAT\n\n    UN\n\nUN\n\n\tun chat\n",
        "> UN\n\n    un chat\n\n# UN\n\n    un chat\n",
        "<pre>\nun chat\n\n    noir\n</PRE>\nUN CHAT\n<script>un()</script>\nUN\n",
        "<!-- un\n\nchat\n-->\nUN CHAT\n<!-- un\n",
        "UN CHAT\n$$\nun + chat\n$$\nUN\n",
        ":::note\nUN CHAT\n:::\nUN\n",
        "UN CHAT[^1]\n\n[un]: chat\n[^1]: UN\n\n    UN CHAT\n",
        "```un``` CHAT\n\nUN\n",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_doc *doc = NULL;
        ck_assert_int_eq(dg_doc_new(dg_span_cstr(cases[i]), DG_DOC_MARKDOWN, NULL, &doc, NULL),
                         DG_OK);
        size_t n;
        const struct dg_doc_item *items = dg_doc_items(doc, &n);
        for (size_t k = 0; k < n; k++) {
            for (size_t at = items[k].at; at < items[k].at + items[k].len; at++) {
                const char c = cases[i][at];
                const bool is_text = items[k].kind == DG_DOC_COPY;
                ck_assert_msg(is_text ? c < 'a'
                                      : items[k].kind != DG_DOC_BORDER || c < 'A' || c > 'Z' ||
                                            strstr(cases[i], "PRE"),
                              "case %zu, byte %zu", i, at);
            }
        }
        dg_doc_free(doc);
        expect(cases[i], DG_DOC_MARKDOWN, NULL, false, cases[i]);
    }
}
END_TEST

START_TEST(markdown_translations_begin_no_block)
{
    static const char *const cases[][2] = {
        {"Mai 1.\n", "1\\. Mai\n"},         {"- Mai 12)\n", "- 12\\) Mai\n"},
        {"> un -\n", "> \\- un\n"},         {"un **#**", "**#** un"},
        {"chat *un* 1.", "1\\. *un* chat"}, {"| Mai 1. |\n", "| 1. Mai |\n"},
        {"# Mai 1.\n", "# 1. Mai\n"},       {"un 1.5", "1.5 un"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], DG_DOC_MARKDOWN, NULL, true, cases[i][1]);
}
END_TEST

START_TEST(accelerators_stand_before_a_letter)
{
    static const struct {
        const char *text, *same, *reversed;
    } cases[] = {
        {"&File", "&File", "&File"},
        {"Save _As", "Save _As", "_As Save"},
        {"(E&xit", "(E&xit", "(E&xit"},
        {"Go _back home", "Go _back home", "home _back Go"},
        {"Tom & Jerry", "Tom & Jerry", "Jerry & Tom"},
        {"a file_name", "a file_name", "file_name a"},
        {"AT&T here", "AT&T here", "here AT&T"},
        {"a &amp; b", "a &amp; b", "b &amp; a"},
        {"_a _b", "_a _b", "_b _a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int is_reversed = 0; is_reversed < 2; is_reversed++) {
            char text[256], wanted[256];
            snprintf(text, sizeof text, "msgid \"%s\"\nmsgstr \"\"\n", cases[i].text);
            snprintf(wanted, sizeof wanted, "#, fuzzy\nmsgid \"%s\"\nmsgstr \"%s\"\n",
                     cases[i].text, is_reversed ? cases[i].reversed : cases[i].same);
            expect(text, DG_DOC_PO, NULL, is_reversed, wanted);
        }
    }
}
END_TEST

START_TEST(references_are_those_of_the_standard)
{
    static const struct {
        const char *text;
        size_t html, xml;
        uint32_t cp;
    } cases[] = {{"&amp;x", 5, 5, '&'},
                 {"&ampx", 4, 0, '&'},
                 {"&eacute;", 8, 8, 0xE9},
                 {"&eacute", 7, 0, 0xE9},
                 {"&#233;", 6, 6, 0xE9},
                 {"&#xE9;", 6, 6, 0xE9},
                 {"&#233", 5, 0, 0xE9},
                 {"&notit;", 7, 7, 0},
                 {"&notit", 4, 0, 0xAC},
                 {"&x", 0, 0, 0},
                 {"& ", 0, 0, 0},
                 {"&#;", 0, 0, 0},
                 {"&#128;", 6, 6, 0},
                 {"&#0;", 4, 4, 0},
                 {"&#99999999999;", 14, 14, 0},
                 {"&thetasym;", 10, 10, 0x3D1},
                 {"&AMP;", 5, 5, '&'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t cp = 0;
        ck_assert_msg(dg_entity_match(dg_span_cstr(cases[i].text), 0, DG_ENTITY_HTML, &cp) ==
                          cases[i].html,
                      "%s", cases[i].text);
        if (cases[i].html)
            ck_assert_msg(cp == cases[i].cp, "%s", cases[i].text);
        ck_assert_msg(dg_entity_match(dg_span_cstr(cases[i].text), 0, DG_ENTITY_XML, &cp) ==
                          cases[i].xml,
                      "%s", cases[i].text);
    }
}
END_TEST

START_TEST(long_and_deep_documents_take_linear_time)
{
    static const char *const pieces[] = {
        "<b>", "<b></i>", "[", "`", "**", "<a b=\"", "&", "<", "</", "<!--", "<p translate=no>"};
    enum { N = 20000 };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct dg_buf text;
        enum dg_err err = DG_OK;
        dg_buf_init(&text, TEXT_MAX);
        for (int k = 0; k < dg_unit_rounds(N) && !err; k++)
            err = dg_buf_append_cstr(&text, pieces[i]);
        ck_assert_int_eq(err, DG_OK);
        for (enum dg_doc_format format = DG_DOC_HTML; format <= DG_DOC_MARKDOWN; format++) {
            struct dg_doc *doc = NULL;
            ck_assert_int_eq(dg_doc_new(dg_buf_span(&text), format, NULL, &doc, NULL), DG_OK);
            dg_doc_free(doc);
        }
        dg_buf_deinit(&text);
    }
}
END_TEST

/* The reading of a document ends early when another thread cancels it. */
START_TEST(a_document_that_nobody_wants_is_cancelled)
{
    atomic_bool stop = false;
    const struct dg_doc_opts opts = {.stop = &stop};
    for (int format = DG_DOC_HTML; format < DG_DOC_FORMATS; format++) {
        struct dg_doc *doc = NULL;
        struct dg_error error = DG_ERROR_NONE;
        struct dg_span text =
            format == DG_DOC_JSON ? DG_SPAN("{\"a\": \"b\"}")
            : format == DG_DOC_PO ? DG_SPAN("msgid \"a\"\nmsgstr \"\"\n")
            : format == DG_DOC_XLIFF
                ? DG_SPAN("<xliff version=\"1.2\"><file><body><trans-unit id=\"1\"><source>a"
                          "</source></trans-unit></body></file></xliff>")
            : format == DG_DOC_ASS
                ? DG_SPAN("[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,a\n")
            : format == DG_DOC_SBV    ? DG_SPAN("0:00:01.000,0:00:02.000\na\n")
            : format == DG_DOC_TTML   ? DG_SPAN("<tt><p>a</p></tt>")
            : format == DG_DOC_SUBRIP ? DG_SPAN("1\n00:00:01,000 --> 00:00:02,000\n<b>a</b>\n")
                                      : DG_SPAN("WEBVTT\n\n00:01.000 --> 00:02.000\n<b>a</b>\n");
        atomic_store(&stop, false);
        ck_assert_msg(dg_doc_new(text, (enum dg_doc_format)format, &opts, &doc, &error) == DG_OK,
                      "%d: %s", format, error.text);
        dg_doc_free(doc);
        atomic_store(&stop, true);
        ck_assert_int_eq(dg_doc_new(text, (enum dg_doc_format)format, &opts, &doc, &error),
                         DG_ERR_CANCELLED);
    }
}
END_TEST

/* If every sentence is returned unchanged, the document is the same byte for byte; and this is
 * fast, however many tags are in one place. */
START_TEST(many_tags_at_one_place_stay_there)
{
    static const char *const tags[] = {"<wbr>", "<b></b>", "<i><wbr></i>"};
    enum { WORDS = 40, TAGS = 20000 };
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct dg_buf text;
        enum dg_err err = DG_OK;
        dg_buf_init(&text, TEXT_MAX);
        for (int k = 0; k < WORDS && !err; k++) {
            err = dg_buf_printf(&text, "%sword%d", k ? " " : "", k);
            for (int t = 0; k == WORDS / 2 && t < dg_unit_rounds(TAGS) && !err; t++)
                err = dg_buf_append_cstr(&text, tags[i]);
        }
        ck_assert_int_eq(err, DG_OK);
        expect(text.ptr, DG_DOC_HTML, NULL, false, text.ptr);
        dg_buf_deinit(&text);
    }
}
END_TEST

/* Appends `n` copies of a word and a blank. */
static void repeat(const char *word, size_t n, struct dg_buf *out)
{
    while (n-- > 0)
        ck_assert_int_eq(dg_buf_printf(out, "%s ", word), DG_OK);
}

START_TEST(a_sample_comes_from_all_over_the_text)
{
    struct dg_buf text, sample;
    dg_buf_init(&text, TEXT_MAX);
    dg_buf_init(&sample, DG_DOC_SAMPLE);
    repeat("zwölf", DG_DOC_SAMPLE / 7, &text); /* just fits */
    ck_assert_int_eq(dg_doc_sample(dg_buf_span(&text), DG_DOC_TEXT, &sample), DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&sample), dg_buf_span(&text)));
    for (size_t i = 0; i < 100; i++) { /* one byte more each time, so pieces begin anywhere */
        repeat(i ? "é" : "où", i ? 1 : 9000, &text);
        dg_buf_clear(&sample);
        ck_assert_int_eq(dg_doc_sample(dg_buf_span(&text), DG_DOC_TEXT, &sample), DG_OK);
        ck_assert(dg_utf8_valid(dg_buf_span(&sample), NULL));
        ck_assert_uint_gt(sample.len, DG_DOC_SAMPLE / 2);
    }
    size_t n = 0; /* of German, which is a ninth of the text */
    for (size_t i = 0; i < sample.len; i++)
        n += sample.ptr[i] == 'z';
    ck_assert(n > 0 && n * 7 < sample.len / 6);
    dg_buf_clear(&text);
    dg_buf_clear(&sample);
    ck_assert_int_eq(dg_buf_append_cstr(&text, "<p title=\"no\">"), DG_OK);
    repeat("oui &amp;<br>", 50000, &text);
    ck_assert_int_eq(dg_doc_sample(dg_buf_span(&text), DG_DOC_HTML, &sample), DG_OK);
    ck_assert(sample.len > 1024 && !memchr(sample.ptr, '<', sample.len) &&
              !memchr(sample.ptr, 'n', sample.len));
    dg_buf_deinit(&text);
    dg_buf_deinit(&sample);
}
END_TEST

/* The beginning of each file has "oui" in its texts, the rest "non". What is broken behind the
 * beginning does not matter. */
START_TEST(the_sample_of_a_long_file_is_taken_from_its_beginning)
{
    static const struct {
        enum dg_doc_format format;
        const char *head, *before, *behind; /* of a word and a number */
    } files[] = {
        {DG_DOC_JSON, "{\"x\": [\"[\", \"\\\\\", {}], \"y\": [[0, {\"z\": [\"oui\"\n", ", \"",
         " } \\\"\"\n"},
        {DG_DOC_PO, "", "msgid \"", "\"\nmsgstr \"\"\n\n"},
        {DG_DOC_SUBRIP, "", "1\r\n00:00:01,000 --> 00:00:02,000\r\n", "\r\n\r\n"},
        {DG_DOC_WEBVTT, "WEBVTT\n\n", "00:01.000 --> 00:02.000\n", "\n\n"},
        {DG_DOC_SBV, "", "0:00:01.000,0:00:02.000\n", "\n\n"},
        {DG_DOC_ASS, "[Events]\nFormat: Start, End, Text\n", "Dialogue: 0:00:01.00,0:00:02.00,",
         "\n"},
        {DG_DOC_XLIFF, "<xliff version=\"1.2\"><file><body>", "<trans-unit id=\"1\"><source>",
         "</source></trans-unit>"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct dg_buf text, sample;
        dg_buf_init(&text, TEXT_MAX);
        dg_buf_init(&sample, DG_DOC_SAMPLE + 1);
        ck_assert_int_eq(dg_buf_append_cstr(&text, files[i].head), DG_OK);
        for (int n = 0; n < 5000; n++)
            ck_assert_int_eq(dg_buf_printf(&text, "%s%s %d%s", files[i].before,
                                           n < 1500 ? "oui" : "non", n, files[i].behind),
                             DG_OK);
        ck_assert_int_eq(dg_doc_sample(dg_buf_span(&text), files[i].format, &sample), DG_OK);
        ck_assert_int_eq(dg_buf_append_byte(&sample, '\0'), DG_OK);
        ck_assert_msg(strstr(sample.ptr, "oui"), "%zu", i);
        ck_assert_msg(!strstr(sample.ptr, "non"), "%zu", i);
        dg_buf_deinit(&text);
        dg_buf_deinit(&sample);
    }
}
END_TEST

/* Here the beginning, or what can be cut off it, has no text. */
START_TEST(a_sample_is_taken_from_where_the_text_is)
{
    static const struct {
        enum dg_doc_format format;
        const char *head, *filler, *tail;
    } files[] = {
        {DG_DOC_JSON, "{\"id\": \"\", \"text\": \"", "oui ", "\"}"},
        {DG_DOC_JSON, "{\"id\": [0", ", 1", "], \"text\": \"oui\"}"},
        {DG_DOC_HTML, "<html><head><style>", "p { color: red } ", "</style></head><p>oui</p>"},
        {DG_DOC_PO, "", "# a remark\n\n", "msgid \"oui\"\nmsgstr \"\"\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct dg_buf text, sample;
        dg_buf_init(&text, TEXT_MAX);
        dg_buf_init(&sample, DG_DOC_SAMPLE + 1);
        ck_assert_int_eq(dg_buf_append_cstr(&text, files[i].head), DG_OK);
        for (int n = 0; n < 9000; n++)
            ck_assert_int_eq(dg_buf_append_cstr(&text, files[i].filler), DG_OK);
        ck_assert_int_eq(dg_buf_append_cstr(&text, files[i].tail), DG_OK);
        ck_assert_int_eq(dg_doc_sample(dg_buf_span(&text), files[i].format, &sample), DG_OK);
        ck_assert_int_eq(dg_buf_append_byte(&sample, '\0'), DG_OK);
        ck_assert_msg(strstr(sample.ptr, "oui"), "%zu", i);
        dg_buf_deinit(&text);
        dg_buf_deinit(&sample);
    }
}
END_TEST

DG_UNIT(accelerators_stand_before_a_letter, many_tags_at_one_place_stay_there,
        tags_move_with_their_words, markup_divides_a_word_where_it_did,
        markup_divides_an_ordinal_after_its_number, plain_text_keeps_its_signs,
        tags_in_text_move_with_their_words, a_point_behind_a_space_keeps_it,
        the_same_words_give_the_same_document, xml_has_an_outline_and_names,
        markdown_and_subtitles_keep_their_form, markdown_knows_code_in_lists_and_quotations,
        markdown_translations_begin_no_block, references_are_those_of_the_standard,
        long_and_deep_documents_take_linear_time, a_document_that_nobody_wants_is_cancelled,
        a_sample_comes_from_all_over_the_text,
        the_sample_of_a_long_file_is_taken_from_its_beginning,
        a_sample_is_taken_from_where_the_text_is)
