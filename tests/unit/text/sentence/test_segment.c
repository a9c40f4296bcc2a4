/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "text/sentence/segment.h"
#include "unit.h"

#include <stdio.h>
#include <time.h>

static struct dg_segmenter *segmenter;

static struct dg_segments split(struct dg_span text, const struct dg_segment_opts *opts)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_segments segments;
    if (!segmenter)
        ck_assert_int_eq(dg_segmenter_new(&segmenter, &error), DG_OK);
    ck_assert_int_eq(dg_segmenter_run(segmenter, text, opts, &segments, &error), DG_OK);
    return segments;
}

static bool has_utf8_letter(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80 ||
            ((text.ptr[i] | 32) >= 'a' && (text.ptr[i] | 32) <= 'z'))
            return true;
    return false;
}

/* Sentences have no gap and no overlap and cover the text; they are valid, trimmed of ASCII space,
 * and contain letters; counts and lines are right. */
static void check_invariants(struct dg_span text, const struct dg_segment_opts *opts)
{
    struct dg_segments s = split(text, opts);
    size_t at = 0, n_sentences = 0, n_cuts = 0, line = 0, counted = 0;
    for (size_t i = 0; i < s.n; i++) {
        const struct dg_segment *item = &s.items[i];
        ck_assert_uint_eq(item->at, at);
        ck_assert_uint_gt(item->len, 0);
        at += item->len;
        struct dg_span span = dg_span_sub(text, item->at, item->len);
        if (item->kind == DG_SEGMENT_SEPARATOR) {
            ck_assert(i == 0 || s.items[i - 1].kind == DG_SEGMENT_SENTENCE);
            continue;
        }
        n_sentences++;
        n_cuts += item->cut != DG_SEGMENT_CUT_NONE;
        size_t bad;
        ck_assert(dg_utf8_valid(span, &bad));
        ck_assert(has_utf8_letter(span));
        ck_assert(!strchr(" \t\r\n", span.ptr[0]) && !strchr(" \t\r\n", span.ptr[span.len - 1]));
        if (!item->joined)
            ck_assert(!memchr(span.ptr, '\n', span.len));
        for (; counted < item->at; counted++)
            line += text.ptr[counted] == '\n';
        if (!memchr(text.ptr, '\r', text.len) && !memchr(text.ptr, '\f', text.len) &&
            !memchr(text.ptr, '\v', text.len) && !memchr(text.ptr, 0xC2, text.len) &&
            !memchr(text.ptr, 0xE2, text.len))
            ck_assert_uint_eq(item->line, line);
    }
    ck_assert_uint_eq(at, text.len);
    ck_assert_uint_eq(n_sentences, s.n_sentences);
    ck_assert_uint_eq(n_cuts, s.n_cuts);
}

/* Joins the sentences of `text` with '|'; separators are dropped. */
static const char *sentences(const char *language, const char *text)
{
    static char out[4096];
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    opts.language = language;
    check_invariants(dg_span_cstr(text), &opts);
    struct dg_segments s = split(dg_span_cstr(text), &opts);
    size_t len = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.items[i].kind == DG_SEGMENT_SENTENCE)
            len += (size_t)snprintf(out + len, sizeof out - len, "%s%.*s", len ? "|" : "",
                                    (int)s.items[i].len, text + s.items[i].at);
    out[len] = '\0';
    return out;
}

/* The expected text has '|' where a sentence ends; in the input it is a space (or nothing in
 * `dense`). */
static void check_language(const char *language, bool dense, const char *const *cases, size_t n)
{
    size_t n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        char input[1024];
        size_t len = 0;
        for (const char *c = cases[i]; *c; c++)
            if (*c != '|' || !dense)
                input[len++] = *c == '|' ? ' ' : *c;
        input[len] = '\0';
        const char *got = sentences(language, input);
        if (strcmp(got, cases[i]) != 0) {
            fprintf(stderr, "%s: expected %s\n    but got  %s\n", language, cases[i], got);
            n_wrong++;
        }
    }
    ck_assert_uint_eq(n_wrong, 0);
}

#define CHECK_LANGUAGE(language, dense, ...)                                                       \
    do {                                                                                           \
        static const char *const cases[] = {__VA_ARGS__};                                          \
        check_language(language, dense, cases, sizeof cases / sizeof *cases);                      \
    } while (0)

START_TEST(ends_english_sentences)
{
    CHECK_LANGUAGE(
        "en", false, "Dr. Smith lives here.|He is old.",
        "I met Mr. and Mrs. Brown on Monday.|They were late!",
        "The price is 3.50 dollars.|That is cheap.", "J. R. R. Tolkien wrote it.|The book is long.",
        "See Fig. 3 and No. 7 on p. 12.|Then read on.", "He said \"Go away.\"|She did not.",
        "Is it true?|Yes, it is!|Good...|Fine.", "We use e.g. Linux, i.e. a free system.|It works.",
        "The U.S. Army came.|The U.K. followed.", "They sell apples, pears, etc.|We buy them.",
        "\"Really?\" he asked.|\"Yes!\" she cried.",
        "Yahoo! is a company.|So is Apple Inc. of California.", "Wait\xE2\x80\xA6|Then he left.",
        "It cost 5 p.m. Eastern time.|He came at 6 p.m.|The show began.",
        "Visit example.com today.|Or read file.txt now.", "I said no.|He left.",
        "Version 2.0 is out.|Version 2.1 is not.", "(This is a remark.)|The text goes on.",
        "Did it break?|iPhone repairs are dear.", "Is it e. g. Linux?|It is.");
}
END_TEST

START_TEST(ends_french_sentences)
{
    CHECK_LANGUAGE("fr", false, "M. Dupont habite ici.|Il est vieux.",
                   "Mme Martin et le Dr. Petit sont venus.|Ils repartent demain.",
                   "Il a dit : \xC2\xAB Venez ! \xC2\xBB|Nous sommes partis.",
                   "\xC2\xAB Vraiment ? \xC2\xBB dit-elle en riant.|Personne ne r\xC3\xA9pondit.",
                   "Voir p. 12 et fig. 3 du tome.|Ensuite, lisez la suite.",
                   "Il vend des pommes, des poires, etc.|Nous en achetons.",
                   "Quelle heure est-il ?|Il est midi !", "J.-P. Durand arrive.|Le train part.",
                   "Il h\xC3\xA9sita\xE2\x80\xA6|Puis il partit.",
                   "Art. 5 de la loi.|Le reste est abrog\xC3\xA9.");
}
END_TEST

START_TEST(ends_german_sentences)
{
    CHECK_LANGUAGE(
        "de", false, "Dr. M\xC3\xBCller wohnt hier.|Er ist alt.",
        "Am 3. Oktober ist frei.|Am 24. Dezember auch.",
        "Wir nutzen z.B. Linux bzw. BSD.|Das geht gut.",
        "Wir nutzen z. B. Linux.|Das geht d. h. wir bleiben dabei.",
        "Siehe Nr. 5, Abs. 2 und S. 7.|Danach lesen Sie weiter.",
        "\xE2\x80\x9EKomm her!\xE2\x80\x9C, rief er.|\xE2\x80\x9ENein.\xE2\x80\x9C|Sie ging.",
        "Er kaufte \xC3\x84pfel, Birnen usw.|Dann ging er.", "Es geschah 1984.|Danach war Ruhe.",
        "\xC2\xBBHallo!\xC2\xAB|Er ging.|\xC2\xBBKomm\xC2\xAB, sagte sie.",
        "Friedrich II. war K\xC3\xB6nig.|Er las viel.",
        "12. Oktober 2020 war ein Montag.|Es regnete.");
}
END_TEST

START_TEST(ends_spanish_sentences)
{
    CHECK_LANGUAGE("es", false, "El Sr. L\xC3\xB3pez vive aqu\xC3\xAD.|Es viejo.",
                   "La Dra. Ruiz y Ud. vienen hoy.|Yo no.",
                   "\xC2\xBFQu\xC3\xA9 hora es?|\xC2\xA1Las dos!|Vamos.",
                   "V\xC3\xA9"
                   "ase la p\xC3\xA1g. 5 y el art. 3 de la ley.|Luego siga.",
                   "Vende peras, manzanas, etc.|Nosotros compramos.",
                   "Los EE.UU. Mexicanos existen.|El pa\xC3\xADs es grande.",
                   "Dijo: \xC2\xABVen.\xC2\xBB|Ella fue.");
}
END_TEST

START_TEST(ends_italian_sentences)
{
    CHECK_LANGUAGE("it", false, "Il sig. Rossi abita qui.|\xC3\x88 vecchio.",
                   "Il dott. Bianchi e la dott.ssa Verdi arrivano.|Noi no.",
                   "Vedi pag. 12, fig. 3 e art. 7.|Poi continua.",
                   "Compra mele, pere, ecc.|Noi mangiamo.", "Che ore sono?|Sono le due!",
                   "La Rossi S.p.A. Milano vende.|La ditta cresce.", "Usa p.es. Linux.|Funziona.");
}
END_TEST

START_TEST(ends_portuguese_sentences)
{
    CHECK_LANGUAGE("pt-BR", false, "O Sr. Silva mora aqui.|Ele \xC3\xA9 velho.",
                   "A Dra. Costa e o Prof. Lima chegaram.|N\xC3\xB3s n\xC3\xA3o.",
                   "Veja a p\xC3\xA1g. 5 e o art. 3 da lei.|Depois siga.",
                   "Vende peras, ma\xC3\xA7\xC3\xA3s, etc.|N\xC3\xB3s compramos.",
                   "Que horas s\xC3\xA3o?|S\xC3\xA3o duas!",
                   "Mora na Av. Paulista.|O pr\xC3\xA9"
                   "dio \xC3\xA9 alto.");
}
END_TEST

START_TEST(ends_russian_sentences)
{
    CHECK_LANGUAGE("ru", false, "А. С. Пушкин родился в Москве.|Он был поэтом.",
                   "Мы живём в г. Москва.|Город большой.", "Он родился в 1990 г.|Она тоже.",
                   "Купил хлеб, молоко и т. д.|Потом ушёл.",
                   "См. рис. 5 и стр. 12 книги.|Там всё есть.", "Это было в XX в.|Время шло.",
                   "На ул. Ленина тихо.|Все спят.", "«Правда?» — спросил он.|Никто не ответил.");
}
END_TEST

START_TEST(ends_korean_sentences)
{
    CHECK_LANGUAGE("ko", false, "안녕하세요.|저는 학생입니다.",
                   "오늘은 2024. 3. 15. 금요일입니다.|날씨가 좋아요!", "정말요?|네, 그렇습니다.",
                   "Dr. Kim이 왔습니다.|그는 의사입니다.", "값은 3.5달러입니다.|싸네요.");
}
END_TEST

START_TEST(ends_japanese_sentences)
{
    CHECK_LANGUAGE("ja", true, "今日は晴れです。|明日は雨です。",
                   "「行くの？」と彼は言った。|私は黙っていた。", "すごい！|本当ですか？|はい。",
                   "「はい。」|彼女は笑った。", "円周率は3.14です。|覚えましょう。");
}
END_TEST

START_TEST(ends_chinese_sentences)
{
    CHECK_LANGUAGE("zh-Hans", true, "今天天气很好。|我们去公园吧！", "你去哪儿？|我回家。",
                   "他说：“我不去。”|她走了。", "价格是3.5元。|很便宜。", "真的吗？！|是的。");
}
END_TEST

START_TEST(keeps_what_stands_around_sentences)
{
    ck_assert_str_eq(sentences("en", "  - First item.\r\n\r\n\t* Second item.  \r1. Third\n"),
                     "First item.|Second item.|Third");
    ck_assert_str_eq(sentences("en", "a) one\n(b) two\niv) three\n> quoted\n## Title\n- [x] done"),
                     "one|two|three|quoted|Title|done");
    ck_assert_str_eq(sentences("en", "Name\tAge\nBob   Carol"), "Name|Age|Bob|Carol");
    ck_assert_str_eq(sentences("en", "-----\n***\n12345\n3 + 4\n\xF0\x9F\x99\x82\n"), "");
    ck_assert_str_eq(sentences("en", "One two  three."), "One two  three.");
    ck_assert_str_eq(sentences("en", "1.2.3 Deep section"), "Deep section");
    ck_assert_str_eq(sentences("en", "\xEF\xBB\xBFWith a mark.\xC2\x85Next."),
                     "With a mark.|Next.");
    ck_assert_str_eq(sentences("", ""), "");
}
END_TEST

START_TEST(sets_bytes_that_are_not_text_aside)
{
    static const char text[] = "Good.\xFF\xFE Bad\x80 bytes\0here.\x1B[0m End \xE2\x82";
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    check_invariants(dg_span_make(text, sizeof text - 1), &opts);
    struct dg_segments s = split(dg_span_make(text, sizeof text - 1), &opts);
    ck_assert_uint_eq(s.n_sentences, 5); /* Good. / Bad / bytes / here. / [0m End */
}
END_TEST

START_TEST(joins_hard_wrapped_lines)
{
    const char *text = "This sentence is\n    wrapped. So is\r\nthis one.\n\n- An item that\n  "
                       "goes on.\n- Another.\n";
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    opts.join_lines = true;
    check_invariants(dg_span_cstr(text), &opts);
    struct dg_segments s = split(dg_span_cstr(text), &opts);
    ck_assert_uint_eq(s.n_sentences, 4);
    static const char *const flat[] = {"This sentence is wrapped.", "So is this one.",
                                       "An item that goes on.", "Another."};
    for (size_t i = 0, k = 0; i < s.n; i++) {
        if (s.items[i].kind != DG_SEGMENT_SENTENCE)
            continue;
        struct dg_buf buf;
        dg_buf_init(&buf, 100);
        ck_assert_int_eq(dg_segment_flatten(
                             dg_span_sub(dg_span_cstr(text), s.items[i].at, s.items[i].len), &buf),
                         DG_OK);
        ck_assert_str_eq(buf.ptr, flat[k]);
        ck_assert_int_eq(s.items[i].joined, k < 3);
        k++;
        dg_buf_deinit(&buf);
    }
}
END_TEST

START_TEST(joins_chinese_lines_without_a_space)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 100);
    ck_assert_int_eq(dg_segment_flatten(DG_SPAN("今天\n天气 ok\nyes"), &buf), DG_OK);
    ck_assert_str_eq(buf.ptr, "今天天气 ok yes");
    dg_buf_deinit(&buf);
}
END_TEST

START_TEST(keeps_lines_whole_when_asked)
{
    struct dg_segment_opts opts = {.language = "en", .keep_lines_whole = true};
    ck_assert_uint_eq(split(DG_SPAN("One. Two.\nThree. Four."), &opts).n_sentences, 2);
}
END_TEST

/* Counts one token for each byte. */
static size_t count_bytes(void *ctx, struct dg_span text)
{
    ++*(size_t *)ctx;
    return text.len;
}

START_TEST(keeps_two_spaces_when_asked)
{
    const struct dg_span text = DG_SPAN("One  two three.\n  Four five   six.");
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    ck_assert_uint_eq(split(text, &opts).n_sentences, 3);
    opts.keep_spaces = true;
    const struct dg_segments s = split(text, &opts);
    ck_assert_uint_eq(s.n_sentences, 4);
    ck_assert_uint_eq(s.items[0].len, 3);
    ck_assert(s.items[1].kind == DG_SEGMENT_SEPARATOR && s.items[1].len == 2);
    check_invariants(text, &opts);
    opts.join_lines = true; /* a line end does not separate columns */
    check_invariants(text, &opts);
}
END_TEST

START_TEST(cuts_long_sentences_and_says_so)
{
    size_t n_calls = 0;
    struct dg_segment_opts opts = {
        .language = "en", .tokens_max = 40, .measure = count_bytes, .measure_ctx = &n_calls};
    struct dg_span text = DG_SPAN("When the rain had stopped, the children went out, and nobody "
                                  "saw them again until the evening bell.");
    check_invariants(text, &opts);
    struct dg_segments s = split(text, &opts);
    ck_assert_uint_ge(s.n_cuts, 2);
    ck_assert_uint_eq(s.items[0].cut, DG_SEGMENT_CUT_CLAUSE);
    for (size_t i = 0; i < s.n; i++)
        if (s.items[i].kind == DG_SEGMENT_SENTENCE)
            ck_assert_uint_le(s.items[i].len, 40);
    ck_assert_uint_eq(s.items[s.n - 1].cut, DG_SEGMENT_CUT_NONE);

    struct dg_span words =
        DG_SPAN("one two three four five six seven eight nine ten eleven twelve thirteen");
    check_invariants(words, &opts);
    ck_assert_uint_eq(split(words, &opts).items[0].cut, DG_SEGMENT_CUT_SPACE);
}
END_TEST

START_TEST(cuts_words_between_graphemes_only)
{
    char text[1024];
    size_t len = 0, n_calls = 0;
    for (int i = 0; i < 100; i++) { /* e with two marks: five bytes each */
        memcpy(text + len, "e\xCC\x81\xCC\xA7", 5);
        len += 5;
    }
    struct dg_segment_opts opts = {
        .tokens_max = 33, .measure = count_bytes, .measure_ctx = &n_calls};
    check_invariants(dg_span_make(text, len), &opts);
    struct dg_segments s = split(dg_span_make(text, len), &opts);
    ck_assert_uint_ge(s.n_cuts, 15);
    for (size_t i = 0; i < s.n; i++) {
        ck_assert_uint_eq(s.items[i].len % 5, 0);
        ck_assert_uint_le(s.items[i].len, 33);
    }
    ck_assert_uint_eq(s.items[0].cut, DG_SEGMENT_CUT_HARD);
}
END_TEST

START_TEST(goes_on_even_when_nothing_fits)
{
    size_t n_calls = 0;
    struct dg_segment_opts opts = {
        .tokens_max = 1, .measure = count_bytes, .measure_ctx = &n_calls};
    check_invariants(DG_SPAN("\xC3\xA9\xC3\xA9 ab \xE4\xBB\x8A\xE4\xBB\x8A"), &opts);
    ck_assert_uint_eq(
        split(DG_SPAN("\xC3\xA9\xC3\xA9 ab \xE4\xBB\x8A\xE4\xBB\x8A"), &opts).n_sentences, 6);
}
END_TEST

/* ---- Random documents ------------------------------------------------------------------------ */

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % n;
}

static const char *const pieces[] = {
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\t",
    " ",
    "  ",
    "    ",
    "\xC2\xA0",
    "\xE3\x80\x80",
    "\xE2\x80\xA8",
    "- ",
    "* ",
    "1. ",
    "12) ",
    "a) ",
    "> ",
    "# ",
    "[ ] ",
    "\xE2\x80\xA2 ",
    "...",
    "\xE2\x80\xA6 ",
    "---",
    "Hello there. ",
    "Dr. Who is No. 5. ",
    "What? ",
    "\"Quoted.\" ",
    "(aside) ",
    "3.14 ",
    "e.g. this ",
    "Ça va ? ",
    "« Oui ! » ",
    "z. B. so. ",
    "Привет, мир. ",
    "г. Москва ",
    "今天。",
    "「はい。」",
    "안녕하세요. ",
    "ไทย ",
    "नमस्ते। ",
    "مرحبا؟ ",
    "\xF0\x9F\x98\x80",
    "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9",
    "e\xCC\x81",
    "\xFF",
    "\xC3",
    "\xE2\x82",
    "\xED\xA0\x80",
    "\x1B",
    "\x01",
    "word",
    "longwordwithoutspaces",
    ", ",
    "; ",
    "!",
    "?",
    "{{x}} ",
    "https://example.org/a?b=c ",
    "<b>",
    "</b>",
    "\xEF\xBB\xBF",
    "\xC2\x85",
    "\v",
    "\f",
};

START_TEST(gives_back_a_thousand_random_documents_byte_for_byte)
{
    static const char *const languages[] = {"en", "fr", "de", "es", "it", "pt", "ru",
                                            "ko", "ja", "zh", "el", "",   "xx"};
    size_t n_calls = 0;
    for (uint32_t doc = 0; doc < 1000; doc++) {
        random_state = 88172645u + doc * 2654435761u;
        char text[8192];
        size_t len = 0;
        for (uint32_t n = random_below(250); n > 0; n--) {
            if (random_below(10) == 0) {
                text[len++] = (char)random_below(256);
                continue;
            }
            const char *piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
        }
        struct dg_segment_opts opts = {.language = languages[doc % 13],
                                       .join_lines = doc / 13 % 2,
                                       .keep_lines_whole = doc / 26 % 5 == 4,
                                       .tokens_max = doc % 3 ? random_below(30) : 0};
        if (doc % 2) {
            opts.measure = count_bytes;
            opts.measure_ctx = &n_calls;
        }
        char *exact = malloc(len ? len : 1); /* so that a sanitizer sees a read beyond its end */
        memcpy(exact, text, len);
        check_invariants(dg_span_make(exact, len), &opts);
        free(exact);
    }
}
END_TEST

static double seconds_for(const char *unit, size_t len, bool join)
{
    char *text = malloc(len);
    for (size_t at = 0; at < len; at++)
        text[at] = unit[at % strlen(unit)];
    struct dg_segment_opts opts = {.language = "de", .tokens_max = 100, .join_lines = join};
    struct timespec t0, t1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    split(dg_span_make(text, len), &opts);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    free(text);
    return (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
}

START_TEST(takes_time_linear_in_the_text)
{
    /* Quadratic work takes 256 times as long on sixteen times the text; linear work takes 16
     * times. */
    static const char *const units[] = {"a",   " ",  "a ",       "a. ", "1. ",       "Dr. ",
                                        "\"",  ".)", ", ",       "a\n", "a\xCC\x81", "\xE2\x80\xA6",
                                        "a, ", "- ", "\xCC\x81", ". a"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (int join = 0; join < 2; join++) {
            seconds_for(units[i], 1 << 14, join);
            double small = seconds_for(units[i], 1 << 14, join),
                   large = seconds_for(units[i], 1 << 18, join);
            ck_assert_msg(large < 64 * (small + 2e-3),
                          "unit \"%s\", join %d: %f s for 16 KiB, %f s for 256 KiB", units[i], join,
                          small, large);
        }
}
END_TEST

START_TEST(works_when_memory_runs_out)
{
    struct dg_segment_opts opts = {.language = "en", .join_lines = true, .tokens_max = 3};
    struct dg_span text =
        DG_SPAN("One two three four. Five six\nseven eight nine.\n\n- Ten eleven.");
    for (uint64_t nth = 1; nth < 20; nth++) {
        struct dg_segmenter *own = NULL;
        struct dg_segments segments;
        dg_mem_fail_after(nth);
        enum dg_err err = dg_segmenter_new(&own, NULL);
        if (!err)
            err = dg_segmenter_run(own, text, &opts, &segments, NULL);
        bool failed = dg_mem_failed();
        dg_mem_fail_after(0);
        ck_assert_int_eq(err, failed ? DG_ERR_NOMEM : DG_OK);
        if (own && failed) /* the workspace still works */
            ck_assert_int_eq(dg_segmenter_run(own, text, &opts, &segments, NULL), DG_OK);
        dg_segmenter_free(own);
        if (!failed)
            return;
    }
    ck_abort_msg("more than 20 allocations");
}
END_TEST

DG_UNIT(ends_english_sentences, ends_french_sentences, ends_german_sentences,
        ends_spanish_sentences, ends_italian_sentences, ends_portuguese_sentences,
        ends_russian_sentences, ends_korean_sentences, ends_japanese_sentences,
        ends_chinese_sentences, keeps_what_stands_around_sentences,
        sets_bytes_that_are_not_text_aside, joins_hard_wrapped_lines,
        joins_chinese_lines_without_a_space, keeps_lines_whole_when_asked,
        keeps_two_spaces_when_asked, cuts_long_sentences_and_says_so,
        cuts_words_between_graphemes_only, goes_on_even_when_nothing_fits,
        gives_back_a_thousand_random_documents_byte_for_byte, takes_time_linear_in_the_text,
        works_when_memory_runs_out)
