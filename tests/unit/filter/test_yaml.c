/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filtered.h"

static const char rails[] = "# A comment: stays\n"
                            "en:\n"
                            "  greeting: Hello, %{name}!   # said first\n"
                            "  'quoted': 'It''s here '\n"
                            "  double: \"Say \\\"hi\\\"\\nand go\\n\"\n"
                            "  date:\n"
                            "    formats: {short: \"%d %b\", long: \"%B %d, %Y\"}\n"
                            "    day_names: [Sunday, \"Monday\"]\n"
                            "    order:\n    - :year\n"
                            "  yes_word: yes\n"
                            "  count: 12\n"
                            "  empty: \"\"\n"
                            "  base: &base\n"
                            "    title: &t Title\n"
                            "  other:\n"
                            "    <<: *base\n"
                            "    tagged: !!str Tagged\n"
                            "  body: |\n"
                            "    First line.\n"
                            "\n"
                            "      Deeper line.\n"
                            "  folded: >-\n"
                            "    One sentence that\n"
                            "    goes on.\n"
                            "\n"
                            "    Another.\n";

START_TEST(values_are_text)
{
    check_text("a.yml", dg_span_cstr(rails), "",
               "<p>Hello, %{name}!</p>\n<p>It's here</p>\n<p>Say \"hi\"<br>and go</p>\n"
               "<p>Sunday</p>\n<p>Monday</p>\n<p>Title</p>\n<p>First line.</p>\n"
               "<p>Deeper line.</p>\n<p>One sentence that goes on.</p>\n<p>Another.</p>\n");
}
END_TEST

START_TEST(values_keep_their_form)
{
    static const char said[] = "# A comment: stays\n"
                               "fr:\n"
                               "  greeting: \"Bonjour : %{name} !\"   # said first\n"
                               "  'quoted': 'C''est \"ici\" '\n"
                               "  double: \"Dis \\\"oui\\\"\\net \\\\ va\\n\"\n"
                               "  date:\n"
                               "    formats: {short: \"%d %b\", long: \"%B %d, %Y\"}\n"
                               "    day_names: [\"dimanche, oui\", \"lundi\"]\n"
                               "    order:\n    - :year\n"
                               "  yes_word: yes\n"
                               "  count: 12\n"
                               "  empty: \"\"\n"
                               "  base: &base\n"
                               "    title: &t Titre\n"
                               "  other:\n"
                               "    <<: *base\n"
                               "    tagged: !!str Tagged\n"
                               "  body: |\n"
                               "    Ligne : une.\n"
                               "\n"
                               "      Plus loin.\n"
                               "  folded: >-\n"
                               "    Une phrase longue.\n"
                               "\n"
                               "    Autre.\n";
    check_written(
        "a.yaml", dg_span_cstr(rails), "",
        "<p>Bonjour : %{name} !</p>\n<p>C'est \"ici\"</p>\n<p>Dis \"oui\"<br>et \\ va</p>\n"
        "<p>dimanche, oui</p>\n<p>lundi</p>\n<p>Titre</p>\n<p>Ligne : une.</p>\n"
        "<p>Plus loin.</p>\n<p>Une phrase longue.</p>\n<p>Autre.</p>\n",
        "fr", dg_span_cstr(said));
}
END_TEST

static void check_plain(const char *translation, const char *expected)
{
    char html[200], file[200];
    snprintf(html, sizeof html, "<p>%s</p>\n", translation);
    snprintf(file, sizeof file, "a: %s\n", expected);
    check_written("a.yml", DG_SPAN("a: Some text\n"), "", html, "fr", dg_span_cstr(file));
}

START_TEST(a_plain_value_is_quoted_only_when_it_must_be)
{
    check_plain("du texte", "du texte");
    check_plain("du texte, oui", "du texte, oui");
    check_plain("a #b", "\"a #b\"");
    check_plain("a#b", "a#b");
    check_plain("fin:", "\"fin:\"");
    check_plain("- un", "\"- un\"");
    check_plain("no", "\"no\"");
    check_plain("1,5", "\"1,5\"");
    check_plain("\"oui\"", "\"\\\"oui\\\"\"");
    check_plain("l'un", "l'un");
    check_plain("100% x", "100% x");
}
END_TEST

/* U+0085, U+2028 and U+2029 end lines in YAML 1.1, and are ordinary characters in YAML 1.2. */
START_TEST(line_ends_of_an_older_yaml_are_read_and_escaped)
{
    check_plain("un\xE2\x80\xA8"
                "deux",
                "\"un\\u2028deux\"");
    check_plain("un\xE2\x80\xA9"
                "deux",
                "\"un\\u2029deux\"");
    check_plain("un\xC2\x85"
                "deux",
                "\"un\\u0085deux\"");
    check_plain("un\xC2\x9B"
                "deux",
                "\"un\\u009Bdeux\"");
    check_written(
        "a.yml", DG_SPAN("a: \"One\\Ltwo\\Nthree\"\nb: 'One text'\nc: |\n  One text\n"), "",
        "<p>Un\xE2\x80\xA8"
        "deux\xC2\x85"
        "trois</p>\n<p>Un\xE2\x80\xA8"
        "texte</p>\n<p>Un\xE2\x80\xA9"
        "texte</p>\n",
        "fr", DG_SPAN("a: \"Un\\u2028deux\\u0085trois\"\nb: 'Un texte'\nc: |\n  Un texte\n"));
    /* Single quotes have no escapes: such a text stays. */
    check_text("a.yml",
               DG_SPAN("a: 'One\xE2\x80\xA8"
                       "two'\nb: Three\n"),
               "", "<p>Three</p>\n");
    check_written("a.yml",
                  DG_SPAN("a: |\n  One\xE2\x80\xA8  two\xC2\x85  three\r  four\r\n  five\n"), "",
                  "<p>Un</p>\n<p>deux</p>\n<p>trois</p>\n<p>quatre</p>\n<p>cinq</p>\n", "fr",
                  DG_SPAN("a: |\n  Un\xE2\x80\xA8  deux\xC2\x85  trois\r  quatre\r\n  cinq\n"));
    check_written("a.yml", DG_SPAN("a: >\n  One\xE2\x80\xA8  two\xC2\x85  three\n  four\n"), "",
                  "<p>Un</p>\n<p>deux trois quatre</p>\n", "fr",
                  DG_SPAN("a: >\n  Un\xE2\x80\xA8  deux trois quatre\n"));
}
END_TEST

START_TEST(only_a_key_that_is_the_language_of_all_becomes_another)
{
    check_written("a.yml", DG_SPAN("\"en-GB\":\n  a: Some text\n"), "", "<p>Texte</p>\n", "pt-BR",
                  DG_SPAN("\"pt-BR\":\n  a: Texte\n"));
    check_written("a.yml", DG_SPAN("en:\n  a: Some text\nb: 1\n"), "", "<p>Texte</p>\n", "fr",
                  DG_SPAN("en:\n  a: Texte\nb: 1\n"));
    check_written("a.yml", DG_SPAN("en: Some text\n"), "", "<p>Texte</p>\n", "fr",
                  DG_SPAN("en: Texte\n"));
    check_written("a.yml", DG_SPAN("app:\n  a: Some text\n"), "", "<p>Texte</p>\n", "fr",
                  DG_SPAN("app:\n  a: Texte\n"));
    check_written("a.yml", DG_SPAN("en:\n  a: Some text\n"), "", "<p>Texte</p>\n", "",
                  DG_SPAN("en:\n  a: Texte\n"));
    check_written("a.yml",
                  DG_SPAN("\xEF\xBB\xBF"
                          "en:\r\n  \xC3\xA9: \xC3\xA9t\xC3\xA9 Text\r\n"),
                  "", "<p>Texte</p>\n", "fr",
                  DG_SPAN("\xEF\xBB\xBF"
                          "fr:\r\n  \xC3\xA9: Texte\r\n"));
}
END_TEST

START_TEST(what_is_no_yaml_is_refused)
{
    struct dg_buf deep;
    dg_buf_init(&deep, FILTERED_MAX);
    for (size_t i = 0; i < 300; i++)
        ck_assert_int_eq(dg_buf_append_byte(&deep, '['), DG_OK);
    check_refusal("a.yml", DG_SPAN("a: b\n c: d\n"), "", DG_ERR_FORMAT, "line 2: this is not YAML");
    check_refusal("a.yml", DG_SPAN("a: \"b\n"), "", DG_ERR_FORMAT, "this is not YAML");
    check_refusal("a.yml", dg_buf_span(&deep), "", DG_ERR_LIMIT, "nested deeper than 256");
    check_text("a.yml", DG_SPAN(""), "", "");
    check_text("a.yml", DG_SPAN("{count, plural}: x\n"), "", "<p>x</p>\n");
    check_text("a.yml", DG_SPAN("a: '{count, plural, one {a cat} other {cats}}'\n"), "", "");
    dg_buf_deinit(&deep);
}
END_TEST

#define FRONT                                                                                      \
    "---\r\ntitle: My cats\r\ndate: 2024-01-02\r\ntags: [red cat]\r\n"                             \
    "description: |\r\n  All of them.\r\n---\r\n"

START_TEST(front_matter_is_read_with_its_markdown)
{
    static const char page[] = FRONT "# Cats\r\n\r\nThey *sleep*.\r\n";
    const struct dg_span md = dg_span_cstr(page);
    ck_assert(dg_filter_takes(DG_SPAN("a.md"), md));
    ck_assert(!dg_filter_takes(DG_SPAN("a.md"), DG_SPAN("# Cats\n---\nx\n---\n")));
    ck_assert(!dg_filter_is_named(DG_SPAN("a.md")));
    check_text("a.md", md, "", "My cats\n\nAll of them.\n\n# Cats\r\n\r\nThey *sleep*.\r\n");
    check_written("a.md", md, "", "Chats : les miens\n\nTous.\n\n# Chats\r\n\r\nIls *dorment*.\r\n",
                  "fr",
                  DG_SPAN("---\r\ntitle: \"Chats : les miens\"\r\ndate: 2024-01-02\r\n"
                          "tags: [red cat]\r\ndescription: |\r\n  Tous.\r\n---\r\n# Chats\r\n\r\n"
                          "Ils *dorment*.\r\n"));
    check_text("a.md", DG_SPAN("---\na: [\n---\nBody\n"), "", "Body\n");
    check_note("a.md", DG_SPAN("---\na: [\n---\nBody\n"), "",
               "the front matter stays as it is: line 2: this is not YAML: did not find expected "
               "node content");
}
END_TEST

DG_UNIT(values_are_text, values_keep_their_form, a_plain_value_is_quoted_only_when_it_must_be,
        line_ends_of_an_older_yaml_are_read_and_escaped,
        only_a_key_that_is_the_language_of_all_becomes_another, what_is_no_yaml_is_refused,
        front_matter_is_read_with_its_markdown)
