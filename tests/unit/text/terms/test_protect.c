/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "text/terms/protect.h"
#include "unit.h"

#include <stdio.h>
#include <time.h>

/* "kind:text|kind:text" for each span that is found. */
static const char *found(const char *text)
{
    static char out[2048];
    struct dg_protect_list list;
    dg_protect_list_init(&list);
    ck_assert_int_eq(dg_protect_find(dg_span_cstr(text), DG_PROTECT_ALL, &list), DG_OK);
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < list.n; i++)
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s:%.*s", i ? "|" : "",
                                dg_protect_name(list.items[i].kind), (int)list.items[i].len,
                                text + list.items[i].at);
    dg_protect_list_deinit(&list);
    return out;
}

struct example {
    const char *text, *spans;
};

static void check(const struct example *cases, size_t n)
{
    size_t n_wrong = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(found(cases[i].text), cases[i].spans) != 0) {
            fprintf(stderr, "in       %s\nexpected %s\ngot      %s\n", cases[i].text,
                    cases[i].spans, found(cases[i].text));
            n_wrong++;
        }
    ck_assert_uint_eq(n_wrong, 0);
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const struct example cases[] = {__VA_ARGS__};                                       \
        check(cases, sizeof cases / sizeof *cases);                                                \
    } while (0)

START_TEST(finds_addresses)
{
    CHECK({"See https://example.org/a?b=c#d.", "url:https://example.org/a?b=c#d"},
          {"(http://example.org/x_(y))", "url:http://example.org/x_(y)"},
          {"At www.example.org, or example.com/path!", "url:www.example.org|url:example.com/path"},
          {"https://example.org입니다", "url:https://example.org"},
          {"https://ko.example.org/wiki/한국 문서", "url:https://ko.example.org/wiki/한국"},
          {"https://fr.example.org/Été。", "url:https://fr.example.org/Été"},
          {"<https://example.org>", "url:https://example.org"},
          {"Mail me.you+x@mail.example.org, please", "email:me.you+x@mail.example.org"},
          {"mailto:me@example.org", "url:mailto:me@example.org"},
          {"ssh://git@host:22/x", "url:ssh://git@host:22/x"}, {"https:// nothing", ""},
          {"Hello.World and this.that", ""}, {"user@host", ""});
}
END_TEST

START_TEST(finds_handles_and_tags)
{
    CHECK({"Hi @alice and @bob_2, see #news!", "mention:@alice|mention:@bob_2|hashtag:#news"},
          {"@alice@social.example.org said", "mention:@alice@social.example.org"},
          {"issue #123 (#été)", "hashtag:#123|hashtag:#été"}, {"a@ b # c", ""}, {"C# and F#", ""},
          {"안녕 @alice님", "mention:@alice님"}, {"&#39; &amp;", "reference:&#39;|reference:&amp;"},
          {"nice :smile: and :+1: :100:", "shortcode::smile:|shortcode::+1:|shortcode::100:"},
          {"at 10:30:45", "number:10:30:45"}, {"a:b:c note: x: y", ""});
}
END_TEST

START_TEST(finds_emoji)
{
    CHECK({"ok \xF0\x9F\x98\x80\xF0\x9F\x8E\x89 go", "emoji:\xF0\x9F\x98\x80\xF0\x9F\x8E\x89"},
          {"\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7",
           "emoji:\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7"},
          {"\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7!", "emoji:\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7"},
          {"\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD", "emoji:\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD"},
          {"press 1\xEF\xB8\x8F\xE2\x83\xA3 now", "emoji:1\xEF\xB8\x8F\xE2\x83\xA3"},
          {"\xE2\x9D\xA4\xEF\xB8\x8F", "emoji:\xE2\x9D\xA4\xEF\xB8\x8F"},
          {"\xC2\xA9 2 \xE2\x84\xA2", ""});
}
END_TEST

START_TEST(finds_placeholders)
{
    CHECK(
        {"Hi {{ user.name }}, {0} of {count}", "braces:{{ user.name }}|braces:{0}|braces:{count}"},
        {"${HOME} %{count} #{x} {{{raw}}}",
         "braces:${HOME}|braces:%{count}|braces:#{x}|braces:{{{raw}}}"},
        {"{not a placeholder} { } {}", "braces:{}"},
        {"You have {n, plural, one {a file} other {# files of {who}}}, {n, number} {x, y",
         "braces:{n, plural, one {a file} other {# files of {who}}}"},
        {"{ g ,select, m {He} other {They}} {n, plural, one {a}",
         "braces:{ g ,select, m {He} other {They}}|braces:{a}"},
        {"It&#39;s Tom &amp; Jerry &#x1F600; &; & &a ; AT&T;",
         "reference:&#39;|reference:&amp;|reference:&#x1F600;"},
        {"One.\\nTwo\\tThree \\\"x\\\" a\\nb. \\textbf{a} end:\\nnew",
         "escape:\\n|escape:\\t|escape:\\\"|escape:\\\"|braces:{a}|escape:\\n"},
        {"%1$s of %(n)s, %d %s %.2f %@ %%",
         "printf:%1$s|printf:%(n)s|printf:%d|printf:%s|printf:%.2f|printf:%@|printf:%%"},
        {"%ds left, %lu bytes", "printf:%d|printf:%lu"},
        {"50% discount, a %discount", "number:50%"},
        {"Dear $Name, set $HOME_DIR or %PATH%",
         "variable:$Name|variable:$HOME_DIR|variable:%PATH%"},
        {"<x id=\"7\"/>text</x>", "tag:<x id=\"7\"/>|tag:</x>"},
        {"<b>bold</b> <0>x</0>", "tag:<b>|tag:</b>|tag:<0>|tag:</0>"},
        {"<a title=\"1 > 0\">", "tag:<a title=\"1 > 0\">"}, {"1 < 2 and 3 > 2", ""},
        {"a <5 or >6", ""}, {"<b <i>", "tag:<i>"});
}
END_TEST

START_TEST(finds_files)
{
    CHECK(
        {"Open notes.txt and src/main.c.", "file:notes.txt|file:src/main.c"},
        {"/etc/passwd, ./run, ~/x/y and ../z", "file:/etc/passwd|file:./run|file:~/x/y|file:../z"},
        {"C:\\Users\\x.txt", "file:C:\\Users\\x.txt"}, {"and/or either/neither", ""},
        {"e.g. this, i.e. that. etc.", ""}, {"été.txt", "file:été.txt"},
        {"archive.tar.gz (photo.JPG)", "file:archive.tar.gz|file:photo.JPG"});
}
END_TEST

START_TEST(finds_numbers_with_units)
{
    CHECK({"1,234.56 at 10 KBps", "number:1,234.56|number:10 KBps"}, {"5 apples and 12 pears", ""},
          {"50 % of 3.5 kg", "number:50 %|number:3.5 kg"},
          {"on 2024-03-15 at 10:30", "number:2024-03-15|number:10:30"},
          {"$5, \xE2\x82\xAC"
           "10.50 and 20 \xE2\x82\xAC",
           "number:$5|number:\xE2\x82\xAC"
           "10.50|number:20 \xE2\x82\xAC"},
          {"v1.2.3 on 192.168.0.1", "number:v1.2.3|number:192.168.0.1"},
          {"-5 and +3.2", "number:-5|number:+3.2"}, {"120 km/h", "number:120 km/h"},
          {"1\xC2\xA0"
           "234\xC2\xA0"
           "567 euros",
           "number:1\xC2\xA0"
           "234\xC2\xA0"
           "567"},
          {"3rd, 2x, mp3, H2O", ""}, {"in 2024, 2024년", "number:2024|number:2024"},
          {"20 \xC2\xB0"
           "C, 90\xC2\xB0",
           "number:20 \xC2\xB0"
           "C|number:90\xC2\xB0"},
          {"5 gallons", ""});
}
END_TEST

START_TEST(knows_when_nothing_is_left_to_translate)
{
    static const struct {
        const char *text;
        bool nothing;
    } cases[] = {{"", true},
                 {" \n", true},
                 {"\xF0\x9F\x98\x80 \xF0\x9F\x8E\x89", true},
                 {"https://example.org", true},
                 {"{{x}} :smile:!", true},
                 {"12 + 3", true},
                 {"Hi {{x}}", false},
                 {"\xF0\x9F\x98\x80 ok", false},
                 {"é", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_protect_list list;
        dg_protect_list_init(&list);
        ck_assert_int_eq(dg_protect_find(dg_span_cstr(cases[i].text), DG_PROTECT_ALL, &list),
                         DG_OK);
        ck_assert_msg(dg_protect_leaves_nothing(dg_span_cstr(cases[i].text), &list) ==
                          cases[i].nothing,
                      "%s", cases[i].text);
        dg_protect_list_deinit(&list);
    }
}
END_TEST

START_TEST(finds_only_the_kinds_asked_for)
{
    struct dg_protect_list list;
    dg_protect_list_init(&list);
    ck_assert_int_eq(dg_protect_find(DG_SPAN("@a {{b}} #c"), 1u << DG_PROTECT_BRACES, &list),
                     DG_OK);
    ck_assert_uint_eq(list.n, 1);
    ck_assert_int_eq(list.items[0].kind, DG_PROTECT_BRACES);
    dg_protect_list_deinit(&list);
}
END_TEST

static uint32_t random_state = 2463534242u;

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % n;
}

START_TEST(keeps_spans_in_order_and_characters_whole_on_random_bytes)
{
    static const char alphabet[] =
        "aA1 "
        ".,:;@#$%{}<>/\\\"'()-_+*~&?=\n\xC3\xA9\xF0\x9F\x98\x80\xEF\xB8\x8F\xE2\x80\x8D\xFFhttpwww";
    struct dg_protect_list list;
    dg_protect_list_init(&list);
    for (int round = 0; round < 20000; round++) {
        size_t len = random_below(60), at = 0;
        char *text = malloc(len ? len : 1);
        for (size_t i = 0; i < len; i++)
            text[i] = alphabet[random_below(sizeof alphabet - 1)];
        ck_assert_int_eq(dg_protect_find(dg_span_make(text, len), DG_PROTECT_ALL, &list), DG_OK);
        for (size_t i = 0; i < list.n; i++) {
            ck_assert_uint_ge(list.items[i].at, at);
            ck_assert_uint_gt(list.items[i].len, 0);
            at = list.items[i].at + list.items[i].len;
            ck_assert_uint_le(at, len);
            ck_assert(
                dg_utf8_valid(dg_span_make(text + list.items[i].at, list.items[i].len), NULL));
        }
        free(text);
    }
    dg_protect_list_deinit(&list);
}
END_TEST

static double seconds_for(const char *unit, size_t len)
{
    struct dg_protect_list list;
    dg_protect_list_init(&list);
    char *text = malloc(len);
    for (size_t at = 0; at < len; at++)
        text[at] = unit[at % strlen(unit)];
    struct timespec t0, t1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    ck_assert_int_eq(dg_protect_find(dg_span_make(text, len), DG_PROTECT_ALL, &list), DG_OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    free(text);
    dg_protect_list_deinit(&list);
    return (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
}

START_TEST(takes_time_linear_in_the_text)
{
    static const char *const units[] = {"a",
                                        "a.",
                                        "a@",
                                        "a/",
                                        "@a",
                                        "@a@a",
                                        "#",
                                        ":a",
                                        "{",
                                        "{{",
                                        "{a",
                                        "<a ",
                                        "<a \"",
                                        "<",
                                        "%",
                                        "%(",
                                        "1",
                                        "1,",
                                        "1 ",
                                        "$",
                                        "$a",
                                        "http://",
                                        "(",
                                        "www.",
                                        "a-",
                                        "é.",
                                        "\xF0\x9F\x98\x80",
                                        "\xE2\x80\x8D",
                                        "1.a",
                                        "-1",
                                        "_a",
                                        "~/",
                                        "::",
                                        "%1$",
                                        "a:",
                                        "v1."};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        seconds_for(units[i], 1 << 15);
        double small = seconds_for(units[i], 1 << 15), large = seconds_for(units[i], 1 << 19);
        ck_assert_msg(large < 64 * (small + 1e-3), "unit \"%s\": %f s for 32 KiB, %f s for 512 KiB",
                      units[i], small, large);
    }
}
END_TEST

START_TEST(says_when_memory_runs_out)
{
    struct dg_protect_list list;
    dg_protect_list_init(&list);
    dg_mem_fail_after(1);
    enum dg_err err = dg_protect_find(DG_SPAN("@a"), DG_PROTECT_ALL, &list);
    dg_mem_fail_after(0);
    ck_assert_int_eq(err, DG_ERR_NOMEM);
    dg_protect_list_deinit(&list);
}
END_TEST

START_TEST(plain_numbers_are_those_that_languages_write_in_their_own_ways)
{
    static const char *const plain[] = {
        "1940", "12.50", "$12.50", "12,50 \xE2\x82\xAC", "1,234", "1 234,56", "67,391,582",
        "8:45", "50 %",  "50%",    "1\u00A0234",         "14 h",  "3 pm",     "3.5",
    };
    static const char *const others[] = {
        "",           "v1.2.3", "1.2.3", "2024-03-15", "192.168.0.1", "10 KBps", "25 km", "3/4",
        "1234567890", "+33",    "-5",    "12:30:15",   "1,23,456",    "10:30.5", "h",     "5 kg/m",
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        ck_assert_msg(dg_protect_is_plain_number(dg_span_cstr(plain[i])), "%s", plain[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!dg_protect_is_plain_number(dg_span_cstr(others[i])), "%s", others[i]);
}
END_TEST

/* `number` is the part of the source from its first byte on, up to `len`. */
static bool has(const char *text, const char *source, const char *number)
{
    const char *at = strstr(source, number);
    ck_assert_ptr_nonnull(at);
    return dg_protect_has_number(dg_span_cstr(text), dg_span_cstr(source), (size_t)(at - source),
                                 strlen(number));
}

START_TEST(a_number_is_there_however_it_is_grouped)
{
    ck_assert(has("12,50 $", "$12.50", "$12.50"));
    ck_assert(has("1\xE2\x80\xAF"
                  "234 pages",
                  "1,234 pages", "1,234"));
    ck_assert(has("En 1977, le", "In 1977 the", "1977"));
    ck_assert(!has("En 19777, le", "In 1977 the", "1977"));
    ck_assert(!has("En 11977, le", "In 1977 the", "1977"));
    ck_assert(!has("29,58 $", "$299.58", "$299.58"));
    ck_assert(!has("8666,6 degr\xC3\xA9s", "866.6 degrees", "866.6"));
    ck_assert(!has("0,5 km", "5 km", "5"));
    ck_assert(has("le 5, vers midi", "on the 5th", "5"));
    ck_assert(!has("743, 138 cas", "743,138 cases", "743,138"));
    ck_assert(has("\xC3\xA0 8 h 45", "at 8:45", "8:45"));
    ck_assert(has("\xC3\xA0 8h45", "at 8:45", "8:45"));
    ck_assert(!has("", "at 8:45", "8:45"));
}
END_TEST

START_TEST(a_time_may_be_said_with_the_other_clock)
{
    ck_assert(has("\xC3\xA0 14 h 50", "at 2:50 p.m.", "2:50"));
    ck_assert(has("\xC3\xA0 14 h 50", "at 2:50pm", "2:50pm"));
    ck_assert(!has("\xC3\xA0 14 h 50", "at 2:50, tomorrow", "2:50"));
    ck_assert(!has("\xC3\xA0 14 h 50", "at 2:50 a.m.", "2:50"));
    ck_assert(has("at 2:50 p.m.", "\xC3\xA0 14:50", "14:50"));
    ck_assert(!has("at 2:50", "\xC3\xA0 14:50", "14:50"));
    ck_assert(has("at 3 p.m.", "\xC3\xA0 15 h.", "15 h"));
    ck_assert(!has("at 3", "\xC3\xA0 15 h.", "15 h"));
    ck_assert(has("at 2:45 p.m.", "\xC3\xA0 14 h 45.", "14 h"));
    ck_assert(!has("at 2:45", "\xC3\xA0 14 h 45.", "14 h"));
    ck_assert(has("\xC3\xA0 15 h", "at 3 pm", "3 pm"));
    ck_assert(!has("at 4 p.m.", "\xC3\xA0 15 h.", "15 h"));
    ck_assert(!has("2 euros", "14 euros, p. 3", "14"));
}
END_TEST

DG_UNIT(plain_numbers_are_those_that_languages_write_in_their_own_ways,
        a_number_is_there_however_it_is_grouped, a_time_may_be_said_with_the_other_clock,
        finds_addresses, finds_handles_and_tags, finds_emoji, finds_placeholders, finds_files,
        finds_numbers_with_units, knows_when_nothing_is_left_to_translate,
        finds_only_the_kinds_asked_for, keeps_spans_in_order_and_characters_whole_on_random_bytes,
        takes_time_linear_in_the_text, says_when_memory_runs_out)
