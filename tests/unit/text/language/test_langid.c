/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "text/language/langid.h"
#include "text/language/langid_model.h"
#include "unit.h"

#include <stdio.h>

/* The model that is installed: data/langid/langid.bin of the source tree. */
static struct dg_langid *model(void)
{
    static struct dg_langid *langid;
    const char *srcdir = getenv("srcdir");
    char path[4096];
    struct dg_error error = DG_ERROR_NONE;
    if (langid)
        return langid;
    snprintf(path, sizeof path, "%s/data/langid/langid.bin", srcdir ? srcdir : ".");
    ck_assert_msg(dg_langid_open(&langid, path, &error) == DG_OK, "%s", error.text);
    return langid;
}

static struct dg_langid_guess guess(const char *text)
{
    struct dg_langid_guess best = {"und", 0};
    dg_langid_detect(model(), dg_span_cstr(text), NULL, &best, 1);
    return best;
}

/* Sentences written for this test. */
static const struct {
    const char *tag, *text;
} own[] = {
    {"en", "The neighbours painted their fence green last weekend."},
    {"en", "Please send me the report before you leave the office."},
    {"fr", "Le voisin a repeint sa barrière en vert la semaine dernière."},
    {"fr", "Merci de m'envoyer le rapport avant de quitter le bureau."},
    {"de", "Der Nachbar hat letzte Woche seinen Zaun grün gestrichen."},
    {"de", "Bitte schicken Sie mir den Bericht, bevor Sie gehen."},
    {"es", "El vecino pintó su valla de verde la semana pasada."},
    {"es", "Por favor, envíeme el informe antes de salir de la oficina."},
    {"it", "Il vicino ha dipinto la sua recinzione di verde la settimana scorsa."},
    {"it", "Per favore, mandami la relazione prima di uscire dall'ufficio."},
    {"pt", "O vizinho pintou a cerca de verde na semana passada e não gostou."},
    {"pt", "Por favor, envie-me o relatório antes de sair do escritório."},
    {"nl", "De buurman heeft vorige week zijn hek groen geschilderd."},
    {"sv", "Grannen målade sitt staket grönt förra veckan."},
    {"da", "Naboen malede sit hegn grønt i sidste uge, og jeg kunne ikke lide det."},
    {"fi", "Naapuri maalasi aitansa vihreäksi viime viikolla."},
    {"is", "Nágranninn málaði girðinguna sína græna í síðustu viku."},
    {"et", "Naaber värvis eelmisel nädalal oma aia roheliseks."},
    {"lv", "Kaimiņš pagājušajā nedēļā nokrāsoja savu žogu zaļu."},
    {"lt", "Kaimynas praėjusią savaitę nudažė savo tvorą žaliai."},
    {"pl", "Sąsiad pomalował w zeszłym tygodniu swój płot na zielono."},
    {"cs", "Soused minulý týden natřel svůj plot na zeleno."},
    {"sk", "Sused minulý týždeň natrel svoj plot na zeleno."},
    {"sl", "Sosed je prejšnji teden prebarval svojo ograjo na zeleno."},
    {"hu", "A szomszéd a múlt héten zöldre festette a kerítését."},
    {"ro", "Vecinul și-a vopsit gardul în verde săptămâna trecută."},
    {"tr", "Komşu geçen hafta çitini yeşile boyadı."},
    {"az", "Qonşu keçən həftə hasarını yaşıl rəngə boyadı."},
    {"vi", "Người hàng xóm đã sơn hàng rào màu xanh vào tuần trước."},
    {"tl", "Pininturahan ng kapitbahay ng berde ang kanyang bakod noong isang linggo."},
    {"cy", "Peintiodd y cymydog ei ffens yn wyrdd yr wythnos diwethaf."},
    {"mt", "Il-ġar żebagħ iċ-ċint tiegħu bl-aħdar il-ġimgħa li għaddiet."},
    {"ca", "El veí va pintar la seva tanca de color verd la setmana passada."},
    {"ru", "Сосед на прошлой неделе покрасил свой забор в зелёный цвет."},
    {"uk", "Сусід минулого тижня пофарбував свій паркан у зелений колір."},
    {"be", "Сусед на мінулым тыдні пафарбаваў свой плот у зялёны колер."},
    {"bg", "Съседът боядиса оградата си в зелено миналата седмица."},
    {"sr", "Комшија је прошле недеље офарбао своју ограду у зелено."},
    {"el", "Ο γείτονας έβαψε τον φράχτη του πράσινο την περασμένη εβδομάδα."},
    {"he", "השכן צבע את הגדר שלו בירוק בשבוע שעבר."},
    {"ar", "دهن الجار سياجه باللون الأخضر في الأسبوع الماضي."},
    {"fa", "همسایه هفته گذشته نرده‌اش را سبز رنگ کرد."},
    {"hi", "पड़ोसी ने पिछले हफ़्ते अपनी बाड़ को हरा रंग दिया।"},
    {"mr", "शेजाऱ्याने गेल्या आठवड्यात आपले कुंपण हिरवे रंगवले आहे."},
    {"bn", "প্রতিবেশী গত সপ্তাহে তার বেড়া সবুজ রঙ করেছে।"},
    {"ta", "பக்கத்து வீட்டுக்காரர் தனது வேலிக்கு பச்சை வண்ணம் பூசினார்."},
    {"th", "เพื่อนบ้านทาสีรั้วเป็นสีเขียวเมื่อสัปดาห์ที่แล้ว"},
    {"ko", "이웃이 지난주에 울타리를 초록색으로 칠했습니다."},
    {"ja", "隣の人が先週、柵を緑色に塗りました。"},
    {"zh", "邻居上周把他的篱笆漆成了绿色。"},
};

START_TEST(knows_its_languages_by_our_own_sentences)
{
    size_t n = sizeof own / sizeof *own, n_right = 0;
    for (size_t i = 0; i < n; i++) {
        struct dg_langid_guess best = guess(own[i].text);
        if (strcmp(best.tag, own[i].tag) == 0)
            n_right++;
        else
            fprintf(stderr, "%s taken for %s (%.2f): %s\n", own[i].tag, best.tag,
                    (double)best.confidence, own[i].text);
    }
    ck_assert_msg(n_right * 100 >= n * 98, "%zu of %zu right", n_right, n);
}
END_TEST

START_TEST(says_unknown_where_nothing_speaks_for_a_language)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "12345",
                                        "3.14 + 2 = 5.14",
                                        "\xF0\x9F\x98\x80\xF0\x9F\x8E\x89",
                                        "!?...",
                                        "\xFF\xFE\x80",
                                        "\n\t",
                                        "https://example.org/hello/world",
                                        "someone@example.org",
                                        "\xE1\x83\xA1\xE1\x83\x90" /* Georgian */};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dg_langid_guess best;
        ck_assert_msg(dg_langid_detect(model(), dg_span_cstr(texts[i]), NULL, &best, 1) == 0,
                      "\"%s\" taken for %s", texts[i], best.tag);
    }
    struct dg_langid_guess best;
    ck_assert_uint_eq(dg_langid_detect(model(), dg_span_make(NULL, 0), NULL, &best, 1), 0);
}
END_TEST

START_TEST(claims_little_on_words_that_many_languages_share)
{
    static const char *const words[] = {"hotel", "taxi",  "radio", "Madrid", "OK",
                                        "a",     "video", "no",    "me"};
    size_t n = sizeof words / sizeof *words;
    float sum = 0;
    for (size_t i = 0; i < n; i++) {
        struct dg_langid_guess best = guess(words[i]);
        ck_assert_msg(best.confidence < 0.9f, "\"%s\" taken for %s with %.2f", words[i], best.tag,
                      (double)best.confidence);
        sum += best.confidence;
    }
    ck_assert_float_lt(sum / (float)n, 0.5f);
}
END_TEST

START_TEST(claims_little_on_text_in_two_languages)
{
    static const char *const texts[] = {
        "The neighbours painted their fence green last weekend. Le voisin a repeint sa barrière en "
        "vert la semaine dernière.",
        "Bitte schicken Sie mir den Bericht, bevor Sie gehen. Por favor, envíeme el informe antes "
        "de salir de la oficina.",
        "이웃이 지난주에 울타리를 칠했습니다. Сосед на прошлой неделе покрасил забор.",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(guess(texts[i]).confidence < 0.8f, "\"%s\" taken for %s with %.2f", texts[i],
                      guess(texts[i]).tag, (double)guess(texts[i]).confidence);
}
END_TEST

START_TEST(is_sure_of_long_clear_sentences)
{
    ck_assert_float_gt(
        guess("Merci de m'envoyer le rapport avant de quitter le bureau ce soir.").confidence,
        0.95f);
    ck_assert_float_gt(guess("이웃이 지난주에 울타리를 초록색으로 칠했습니다.").confidence, 0.95f);
    ck_assert_float_gt(guess("Linux と Windows の違いを説明してください。").confidence, 0.5f);
}
END_TEST

START_TEST(names_candidates_only)
{
    struct dg_langid_set set;
    struct dg_langid_guess guesses[5];
    dg_langid_set_clear(&set);
    ck_assert(dg_langid_set_add(model(), &set, "pt-BR"));
    ck_assert(dg_langid_set_add(model(), &set, "zh_Hans"));
    ck_assert(dg_langid_set_add(model(), &set, "iw"));
    ck_assert(dg_langid_set_add(model(), &set, "no"));
    ck_assert(!dg_langid_set_add(model(), &set, "tlh"));
    ck_assert(!dg_langid_set_add(model(), &set, "no such thing"));
    size_t n =
        dg_langid_detect(model(), DG_SPAN("O vizinho pintou a cerca de verde."), &set, guesses, 5);
    ck_assert_uint_ge(n, 1);
    ck_assert_str_eq(guesses[0].tag, "pt");
    ck_assert_float_gt(guesses[0].confidence, 0.7f);
    for (size_t i = 1; i < n; i++)
        ck_assert_float_ge(guesses[i - 1].confidence, guesses[i].confidence);
    /* A language outside the set is not mistaken for one in the set. */
    n = dg_langid_detect(model(), DG_SPAN("Naapuri maalasi aitansa vihreäksi viime viikolla."),
                         &set, guesses, 5);
    ck_assert(n == 0 || guesses[0].confidence < 0.3f);
    n = dg_langid_detect(model(), DG_SPAN("Сосед покрасил забор."), &set, guesses, 5);
    ck_assert_uint_eq(n, 0);
    ck_assert_uint_eq(dg_langid_detect(model(), DG_SPAN("O vizinho"), &set, guesses, 0), 0);
    /* The language outside the set is reported, and weighed against the set. */
    struct dg_langid_guess outside;
    n = dg_langid_detect_among(model(),
                               DG_SPAN("Naapuri maalasi aitansa vihreäksi viime viikolla."), &set,
                               guesses, 5, &outside);
    ck_assert_str_eq(outside.tag, "fi");
    ck_assert_float_gt(outside.confidence, 0.8f);
    n = dg_langid_detect_among(model(), DG_SPAN("O vizinho pintou a cerca de verde."), &set,
                               guesses, 5, &outside);
    ck_assert(!outside.tag || outside.confidence < guesses[0].confidence);
    n = dg_langid_detect_among(model(), DG_SPAN("42"), &set, guesses, 5, &outside);
    ck_assert(n == 0 && !outside.tag);
    ck_assert(dg_langid_set_has(model(), &set, "pt") && !dg_langid_set_has(model(), &set, "fi"));
    ck_assert(!dg_langid_set_has(model(), &set, "tlh"));
}
END_TEST

START_TEST(does_not_care_for_case_composition_and_addresses)
{
    ck_assert_str_eq(guess("MERCI DE M'ENVOYER LE RAPPORT AVANT CE SOIR").tag, "fr");
    struct dg_langid_guess composed = guess("Il a repeint sa barri\xC3\xA8re d\xC3\xA9j\xC3\xA0");
    struct dg_langid_guess decomposed =
        guess("Il a repeint sa barrie\xCC\x80re de\xCC\x81ja\xCC\x80");
    ck_assert_str_eq(composed.tag, decomposed.tag);
    ck_assert_float_eq(composed.confidence, decomposed.confidence);
    struct dg_langid_guess bare = guess("Der Nachbar hat den Zaun gestrichen");
    struct dg_langid_guess with =
        guess("Der Nachbar hat den Zaun https://example.org/the/green/fence gestrichen");
    ck_assert_str_eq(with.tag, "de");
    ck_assert_float_gt(with.confidence, bare.confidence - 0.1f);
}
END_TEST

START_TEST(allocates_nothing_for_a_text)
{
    model();
    uint64_t before = dg_mem_count();
    guess("Der Nachbar hat letzte Woche seinen Zaun grün gestrichen.");
    ck_assert_uint_eq(dg_mem_count(), before);
}
END_TEST

START_TEST(refuses_damaged_models_with_a_sentence)
{
    const char *srcdir = getenv("srcdir");
    char path[4096];
    struct dg_map_file file;
    struct dg_error error = DG_ERROR_NONE;
    snprintf(path, sizeof path, "%s/data/langid/langid.bin", srcdir ? srcdir : ".");
    ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 22, &error), DG_OK);
    ck_assert_uint_le(file.len, 2000000);
    struct dg_langid *langid = NULL;
    for (size_t len = 0; len < file.len; len = len * 2 + 1)
        ck_assert_int_ne(dg_langid_open_bytes(&langid, file.bytes, len, &error), DG_OK);
    uint8_t *copy = malloc(file.len);
    for (size_t at = 0; at < 4096; at += 37) {
        memcpy(copy, file.bytes, file.len);
        copy[at] ^= 0x55;
        ck_assert_int_ne(dg_langid_open_bytes(&langid, copy, file.len, &error), DG_OK);
        ck_assert(error.text[0]);
    }
    free(copy);
    dg_map_file_close(&file);
}
END_TEST

/* A tiny model with one byte set to other values, at each place in turn: the checksum is right, the
 * numbers are not. */
START_TEST(refuses_lying_models)
{
    uint8_t bytes[DG_LANGID_HEADER + 8 + DG_LANGID_GROUP_BYTES + 128];
    for (unsigned at = 16; at < sizeof bytes; at++)
        for (unsigned value = 0; value < 256; value += 51) {
            memset(bytes, 0, sizeof bytes);
            memcpy(bytes, DG_LANGID_MAGIC, 16);
            bytes[16] = 1;
            bytes[20] = 1;
            bytes[DG_LANGID_HEADER] = 'e';
            bytes[DG_LANGID_HEADER + 8] = 25;
            bytes[DG_LANGID_HEADER + 8 + DG_LANGID_AT_N_LANGS] = 1;
            bytes[at] = (uint8_t)value;
            uint32_t len = sizeof bytes,
                     sum = dg_langid_checksum(bytes + DG_LANGID_HEADER, len - DG_LANGID_HEADER);
            for (int i = 0; i < 4; i++) {
                bytes[24 + i] = (uint8_t)(len >> 8 * i);
                bytes[28 + i] = (uint8_t)(sum >> 8 * i);
            }
            uint8_t *exact = malloc(len);
            memcpy(exact, bytes, len);
            struct dg_langid *langid;
            struct dg_langid_guess best;
            if (dg_langid_open_bytes(&langid, exact, len, NULL) == DG_OK) {
                dg_langid_detect(langid, DG_SPAN("some words of text"), NULL, &best, 1);
                dg_langid_close(langid);
            }
            free(exact);
        }
}
END_TEST

/* Languages whose spelling is almost alike: most lines that were not trained on are told apart. */
START_TEST(tells_near_languages_apart)
{
    const char *srcdir = getenv("srcdir");
    char path[4096], line[1024];
    size_t n = 0, n_right = 0;
    struct dg_langid_set near;
    dg_langid_set_clear(&near);
    for (size_t i = 0; i < 4; i++)
        ck_assert(
            dg_langid_set_add(model(), &near, (const char *const[]){"hr", "bs", "id", "ms"}[i]));
    snprintf(path, sizeof path, "%s/data/langid/near-held-out.tsv", srcdir ? srcdir : ".");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file, "%s", path);
    while (fgets(line, sizeof line, file)) {
        struct dg_langid_guess best = {"und", 0};
        char *text = strchr(line, '\t');
        ck_assert_ptr_nonnull(text);
        *text++ = '\0';
        dg_langid_detect(model(), dg_span_cstr(text), &near, &best, 1);
        const bool is_slavic = line[0] == 'h' || line[0] == 'b';
        ck_assert_msg(is_slavic == (best.tag[0] == 'h' || best.tag[0] == 'b'), "%s: %s", best.tag,
                      text);
        n_right += strcmp(best.tag, line) == 0;
        n++;
    }
    fclose(file);
    ck_assert_uint_eq(n, 160);
    ck_assert_msg(n_right >= 128, "%zu of %zu", n_right, n);
}
END_TEST

DG_UNIT_SLOW(tells_near_languages_apart, knows_its_languages_by_our_own_sentences,
             says_unknown_where_nothing_speaks_for_a_language,
             claims_little_on_words_that_many_languages_share,
             claims_little_on_text_in_two_languages, is_sure_of_long_clear_sentences,
             names_candidates_only, does_not_care_for_case_composition_and_addresses,
             allocates_nothing_for_a_text, refuses_damaged_models_with_a_sentence,
             refuses_lying_models)
