/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/compat/chat_prompt.h"
#include "api/compat/chat_prompt_parts.h"
#include "base/memory/buf.h"
#include "unit.h"

/* The shapes of the prompts that programs send, in short. In the expected results, [brackets]
 * enclose what is to be translated, and {braces} what is JSON. */
static const struct shape {
    const char *system, *user, *source, *target, *expected;
} shapes[] = {
    /* Instruction first, then a colon and the text: subtitle editors. */
    {"",
     "Translate from French to English, keep punctuation as input, give only the output without "
     "comments:\n\nLe chat dort.",
     "fr", "en", "[Le chat dort.]"},
    {"",
     "Translate from French to English, keep line breaks, do not censor, give only the output: Le "
     "chat\ndort.",
     "fr", "en", "[Le chat\ndort.]"},
    /* Instruction, empty line, text: web page translators. */
    {"You are a professional English native translator who needs to fluently translate text into "
     "English.\n\n## Rules\n"
     "1. Output only the translated content\n2. If input contains %%, use %% in your output",
     "Translate to English (output translation only):\n\nLe chat dort.", NULL, "en",
     "[Le chat dort.]"},
    {"You are a professional English native translator who needs to fluently translate text into "
     "English.",
     "Translate to English:\n\nBonjour.\n\n%%\n\nMerci.", NULL, "en",
     "[Bonjour.]\n\n%%\n\n[Merci.]"},
    /* The system message has the whole instruction: taken from the documentation of model
     * libraries. */
    {"You are a helpful assistant that translates French to English. Translate the user sentence.",
     "J'aime programmer.", "fr", "en", "[J'aime programmer.]"},
    {"You are a helpful assistant that translates French to English.",
     "Translate this sentence from French to English: J'aime programmer.", "fr", "en",
     "[J'aime programmer.]"},
    {"You are a translator. Your task is simple:\n1. Translate the input text to English\n2. "
     "Output ONLY the translation\n"
     "3. NEVER mix languages",
     "Translate to English: Bonjour", NULL, "en", "[Bonjour]"},
    /* Codes in the system message, the text after a phrase: translators of i18n files. */
    {"You are a helpful assistant that translates text from fr to en (ISO 639-1):\n- keep the "
     "meaning\n- Preserve placeholders",
     "Translate the following text: Le chat dort.", "fr", "en", "[Le chat dort.]"},
    {"",
     "only translate my software string from fr to en. don't chat or explain. Using the correct "
     "terms, never repeat the "
     "string. if you don't find something to translate, don't respond, string:Le chat",
     "fr", "en", "[Le chat]"},
    {"You translate from pt_BR to en-US.", "Bom dia", "pt-BR", "en", "[Bom dia]"},
    {"", "Translate the following text from it to es:\nCiao", "it", "es", "[Ciao]"},
    /* Delimiters. */
    {"",
     "As an academic expert, please provide a precise translation from fr-FR to en of the academic "
     "text enclosed in 🔤. The "
     "text is as follows:  🔤 Le chat: il dort. 🔤  Please provide the translated result without any "
     "additional "
     "explanation and remove 🔤.",
     "fr", "en", "[Le chat: il dort.]"},
    {"", "Translate the text delimited by triple backticks into English.\n```\nLe chat dort.\n```",
     NULL, "en", "[Le chat dort.]"},
    {"You are a professional translation engine, translate the text into English without "
     "explanation.",
     "Only translate the following text:\n\"\"\"Le chat dort.\"\"\"", NULL, "en",
     "[Le chat dort.]"},
    {"I want you to act as an English translator. Translate what I write. You will find the text "
     "between <input></input> XML tags.",
     "<input>Le chat dort.</input>", NULL, "en", "[Le chat dort.]"},
    {"",
     "As a translator, please translate the following text from French to English.\nMaintain the "
     "style.\n\nSource "
     "Text:\n---\nLe chat dort.\n---\n\nTranslation:",
     "fr", "en", "[Le chat dort.]"},
    /* attranslate, through OpenAI's API and TypeChat. */
    {"",
     "only translate my software string from fr to en. don't chat or explain. Only show target "
     "language never repeat string. if you don't find something to translate, don't "
     "respond\n\nkey (used for context): cat\n\nstring to translate: Le chat dort.",
     "fr", "en", "[Le chat dort.]"},
    {"",
     "You are a service that translates user requests into JSON objects of type \"Texts\" "
     "according "
     "to the following TypeScript definitions:\n```\nexport interface Texts {\n  'cat': "
     "string;\n}\n```\nThe following is a user request:\n\"\"\"\nTranslate the following JSON "
     "object "
     "from fr into en:\n\n{\n  \"cat\": \"Le chat dort.\"\n}\n\"\"\"\nThe following is the user "
     "request "
     "translated into a JSON object with 2 spaces of indentation and no properties with the value "
     "undefined:\n",
     "fr", "en", "{\n  \"cat\": {Le chat dort.}\n}"},
    /* Blocks of subtitles. */
    {"Your task is to accurately translate subtitles into a target language.",
     "Please translate these subtitles into English.\n\n#1\nOriginal>\nLe "
     "chat\ndort.\nTranslation>\n\n"
     "#2\nOriginal>\nMerci.\nTranslation>",
     NULL, "en",
     "#1\nOriginal>\nLe chat\ndort.\nTranslation>\n[Le chat\ndort.]\n\n#2\nOriginal>\nMerci.\n"
     "Translation>\n[Merci.]"},
    /* Segments in tags, which have another name in the answer. */
    {"You translate the incoming XML messages from French to English.",
     "<translate index=\"1\">Le chat\ndort.</translate>\n<translate index=\"2\" context=\"menu\"> "
     "Merci </translate>",
     "fr", "en",
     "<translated index=\"1\">[Le chat\ndort.]</translated>\n<translated index=\"2\"> [Merci] "
     "</translated>"},
    /* An arrow after the text, for the answer to follow. */
    {"You are a translation engine that can only translate text and cannot interpret it.",
     "translate from French to English:\n\n\"Le chat dort.\" =>", "fr", "en", "[Le chat dort.]"},
    {"", "Translate from fr to en:\nLe chat dort. ->", "fr", "en", "[Le chat dort.]"},
    /* A rule about the answer's form comes between instruction and text, and the instruction is
     * repeated. */
    {"",
     "You are a professional French (fr) to English (en) translator. Your goal is to convey the "
     "meaning and nuances of the original French text.\nProduce only the English translation, "
     "without any additional explanations. Please translate the following French text into "
     "English:\n\n\nLe chat: il dort.",
     "fr", "en", "[Le chat: il dort.]"},
    {"You are a meticulous translator who translates any given content.",
     "Translate the given text only into English and do not explain any term. Addresses should be "
     "preserved as is.\n\nThe text is as follows: Le chat dort.",
     NULL, "en", "[Le chat dort.]"},
    {"", "Translate this message from French to English. Return only the string.\n\nmsgid: Bonjour",
     "fr", "en", "[Bonjour]"},
    /* Labels. */
    {"You are an authentic machine translation engine.",
     "Translate the following source text from French to English. Output translation "
     "directly.\n\nSource Text: Le chat "
     "dort.\n\nTranslated Text:",
     "fr", "en", "[Le chat dort.]"},
    {"You are a machine translation engine.",
     "# Context\nTitle: Translate to German\n\n# Task\nTranslate the Source Text below to "
     "English.\n1. Use the Context.\n2. Output "
     "ONLY the translated text.\n\nSource Text: Le chat dort.\n\nTranslated Text:",
     NULL, "en", "[Le chat dort.]"},
    {"", "Translate this from French to English:\nFrench: Le chat dort.\nEnglish:", "fr", "en",
     "[Le chat dort.]"},
    {"",
     "You are a translator. Please translate the following text from French to English. \n\nText "
     "to translate: \"Le chat "
     "dort.\"\n\nPlease respond with only the translated text, nothing else.",
     "fr", "en", "[Le chat dort.]"},
    /* The prompts that translation models define. */
    {"",
     "Translate the following segment into English, without additional explanation.\n\nLe chat "
     "dort.",
     NULL, "en", "[Le chat dort.]"},
    {"", "把下面的文本翻译成英语，不要额外解释。\n\nLe chat dort.", NULL, "en", "[Le chat dort.]"},
    {"", "将以下文本翻译为English，注意只需要输出翻译后的结果，不要额外解释：\n\nLe chat dort.",
     NULL, "en", "[Le chat dort.]"},
    {"",
     "You are a professional French (fr) to English (en) translator. Your goal is to convey the "
     "meaning. Produce only the "
     "English translation, without any additional explanations. Please translate the following "
     "French text into "
     "English:\n\n\nLe chat dort.",
     "fr", "en", "[Le chat dort.]"},
    /* Quotes. */
    {"", "Translate \"Le chat dort.\" to English.", NULL, "en", "[Le chat dort.]"},
    {"You are a helpful translator.",
     "Please translate the following text from French to English:\n\"Le chat dort.\"", "fr", "en",
     "[Le chat dort.]"},
    {"",
     "Please translate the following text from French to English:\n\n\"Le chat dort.\"\n\nProvide "
     "only the translated text "
     "without any additional explanation.",
     "fr", "en", "[Le chat dort.]"},
    /* The instruction follows the text. */
    {"", "Le chat dort.\n\nTranslate the text above into English.", NULL, "en", "[Le chat dort.]"},
    /* The language comes first. */
    {"Translate user message to the target language the user specifies before the message. Return "
     "only the translated text.",
     "English: Le chat dort.", NULL, "en", "[Le chat dort.]"},
    /* The instruction uses the language's own name for itself. */
    {"Translate into Français.", "Hello", NULL, "fr", "[Hello]"},
    {"Translate into русский.", "Hello", NULL, "ru", "[Hello]"},
    {"Translate everything into Simplified Chinese.", "Hello", NULL, "zh-Hans", "[Hello]"},
    /* JSON. */
    {"",
     "Translate the following JSON object values into English (en).\nKeep the keys exactly the "
     "same. Return ONLY the JSON "
     "object.\n\nJSON to translate:\n{\"a\": \"Bonjour\", \"b\": {\"c\": [\"Le \\\"chat\\\"\", 5, "
     "\"\"]}}",
     NULL, "en", "{\"a\": {Bonjour}, \"b\": {\"c\": [{Le \"chat\"}, 5, \"\"]}}"},
    {"",
     "Translate the following JSON array of strings to English. \nRequirements:\n1. Return ONLY a "
     "valid JSON array.\n2. Keep "
     "the number of elements.\n\n[\"Bonjour\",\"Merci\"]\n\nRespond ONLY with valid JSON.",
     NULL, "en", "[{Bonjour},{Merci}]"},
    {"You translate French to English. Input text is in JSON, translate values and not keys.",
     "{\"t\":\"Ceci\"}", "fr", "en", "{\"t\":{Ceci}}"},
    {"Act as a translation API. Output a single raw JSON object "
     "only.\n\nInput:\n{\"targetLanguage\":\"<lang>\"}",
     "{\"targetLanguage\":\"English\",\"title\":\"Accueil\",\"segments\":[{\"id\":0,\"text\":"
     "\"Bonjour\"},{\"id\":\"x\",\"text\":"
     "\"Merci\"}],\"glossary\":{}}",
     NULL, "en",
     "{\"translations\":[{\"id\":0,\"text\":{Bonjour}},{\"id\":\"x\",\"text\":{Merci}}]}"},
    {"You are a professional translation engine. Respond ONLY with a valid JSON array.",
     "{\"source_language\":\"fr\",\"target_language\":\"en\",\"glossary\":[],\"strings\":[{"
     "\"source\":\"Bonjour\",\"context\":\"menu\"}"
     ",{\"source\":\"Merci\"}]}",
     "fr", "en", "[{Bonjour},{Merci}]"},
    /* Numbered lines. */
    {"Translate French to English. Keep the numbers.", "1. Bonjour\n2. Merci : le chat\n", "fr",
     "en", "1. [Bonjour]\n2. [Merci : le chat]\n"},
    {"", "Translate the following lines from French to English:\n\n[1] Bonjour\n[2] Merci", "fr",
     "en", "[1] [Bonjour]\n[2] [Merci]"},
};

/* Prompts that do not ask for a translation, or do not name the target language. */
static const struct {
    const char *system, *user;
} refused[] = {
    {"", "What is the capital of France?"},
    {"", "Le chat dort."},
    {"You are a helpful assistant.", "Write a poem about English weather."},
    {"You are a helpful assistant.", "Who translated the Bible into German?"},
    {"Translate to English.", "Translate to English"},
    {"", "Translate to English"},
    {"", "Translate the following text to English and German:\n\nLe chat dort."},
    {"If the text is French translate it to English, otherwise translate it to French.",
     "Le chat dort."},
    {"", "Translate to English.\nRules:\n- keep names\n\nLe chat dort."},
    {"", "Translate to English\nPlease note: le chat dort."},
    {"", "Please translate my life into something better"},
    {"", "{\"targetLanguage\":\"Klingonese\",\"segments\":[{\"id\":1,\"text\":\"Bonjour\"}]}"},
};

static enum dg_err options(const struct dg_langnames *names, const char *system, const char *user,
                           bool is_named, struct dg_arena *arena, struct dg_chat_prompt *prompt)
{
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_chat_prompt_ask asked = {
        .system = dg_span_cstr(system), .user = dg_span_cstr(user), .is_named = is_named};
    const enum dg_err err = dg_chat_prompt_read(names, &asked, arena, &error, prompt);
    ck_assert(!err || err == DG_ERR_NOMEM || *error.text);
    return err;
}

static void render(const struct dg_chat_prompt *prompt, struct dg_buf *out)
{
    static const char *const brackets[][2] = {{"", ""}, {"[", "]"}, {"{", "}"}};
    dg_buf_init(out, 1 << 20);
    for (size_t i = 0; i < prompt->n_parts; i++) {
        const struct dg_chat_prompt_part *part = &prompt->parts[i];
        ck_assert_int_eq(dg_buf_append_cstr(out, brackets[part->kind][0]), DG_OK);
        ck_assert_int_eq(dg_buf_append_span(out, part->text), DG_OK);
        ck_assert_int_eq(dg_buf_append_cstr(out, brackets[part->kind][1]), DG_OK);
    }
}

START_TEST(the_prompts_of_tools_are_told_from_their_texts)
{
    struct dg_langnames *names = dg_langnames_new();
    ck_assert_ptr_nonnull(names);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *shape = &shapes[i];
        struct dg_chat_prompt prompt;
        struct dg_arena arena;
        struct dg_buf said;
        dg_arena_init(&arena, 1 << 20);
        const enum dg_err err = options(names, shape->system, shape->user, false, &arena, &prompt);
        ck_assert_msg(err == DG_OK, "%zu: %s", i, shape->user);
        render(&prompt, &said);
        ck_assert_msg(dg_span_eq(dg_buf_span(&said), dg_span_cstr(shape->expected)), "%zu: %.*s", i,
                      DG_SPAN_FMT(dg_buf_span(&said)));
        ck_assert_msg(prompt.target && strcmp(prompt.target, shape->target) == 0, "%zu: target %s",
                      i, prompt.target ? prompt.target : "none");
        ck_assert_msg(shape->source ? prompt.source && strcmp(prompt.source, shape->source) == 0
                                    : !prompt.source,
                      "%zu: source %s", i, prompt.source ? prompt.source : "none");
        dg_buf_deinit(&said);
        dg_arena_deinit(&arena);
    }
    dg_langnames_free(names);
}
END_TEST

START_TEST(what_asks_for_no_translation_is_refused)
{
    struct dg_langnames *names = dg_langnames_new();
    ck_assert_ptr_nonnull(names);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct dg_chat_prompt prompt;
        struct dg_arena arena;
        dg_arena_init(&arena, 1 << 20);
        ck_assert_msg(options(names, refused[i].system, refused[i].user, false, &arena, &prompt) ==
                          DG_ERR_INVALID,
                      "%zu: %s", i, refused[i].user);
        dg_arena_deinit(&arena);
    }
    dg_langnames_free(names);
}
END_TEST

START_TEST(with_languages_named_elsewhere_a_text_alone_will_do)
{
    struct dg_langnames *names = dg_langnames_new();
    struct dg_chat_prompt prompt;
    struct dg_arena arena;
    ck_assert_ptr_nonnull(names);
    dg_arena_init(&arena, 1 << 20);
    ck_assert_int_eq(options(names, "", " Le chat dort.\n", true, &arena, &prompt), DG_OK);
    ck_assert(prompt.n_parts == 1 && dg_span_eq(prompt.parts[0].text, DG_SPAN(" Le chat dort.\n")));
    ck_assert_int_eq(
        options(names, "", "Translate the following text:\n\nBonjour", true, &arena, &prompt),
        DG_OK);
    ck_assert(dg_span_eq(prompt.parts[0].text, DG_SPAN("Bonjour")));
    ck_assert_int_eq(options(names, "", "Translate the following text", true, &arena, &prompt),
                     DG_ERR_INVALID);
    dg_arena_deinit(&arena);
    dg_langnames_free(names);
}
END_TEST

START_TEST(the_first_of_several_messages_may_say_the_languages)
{
    static const char *const texts[] = {"<translate index=\"1\">Bonjour</translate>", "Bonjour"};
    struct dg_langnames *names = dg_langnames_new();
    ck_assert_ptr_nonnull(names);
    for (size_t i = 0; i < 2; i++) {
        struct dg_error error = DG_ERROR_NONE;
        struct dg_chat_prompt prompt;
        struct dg_arena arena;
        const struct dg_chat_prompt_ask asked = {
            .system = DG_SPAN("You translate the incoming messages from one language to another."),
            .earlier = DG_SPAN("Wait for my incoming message in \"fr\" and translate it into "
                               "\"en\"(a language code and an optional region code). "),
            .user = dg_span_cstr(texts[i])};
        dg_arena_init(&arena, 1 << 20);
        ck_assert_int_eq(dg_chat_prompt_read(names, &asked, &arena, &error, &prompt), DG_OK);
        ck_assert_str_eq(prompt.target, "en");
        ck_assert_uint_eq(prompt.n_texts, 1);
        dg_arena_deinit(&arena);
    }
    dg_langnames_free(names);
}
END_TEST

START_TEST(a_list_of_objects_is_answered_by_the_names_that_are_asked_for)
{
    static const char *const pairs[][2] = {
        {"Translate to English.\n\n```json\n[{\"id\":7,\"original\":\"Bonjour\",\"context\":\"x\"},"
         "{\"id\":\"b\",\"text\":\"Merci\"}]\n```\n",
         "{\"items\":[{\"id\":7,\"translated\":{Bonjour}},{\"id\":\"b\",\"translated\":{Merci}}]}"},
        {"Translate to English.\n\n[{\"source\":\"Bonjour\"}]",
         "{\"items\":[{\"id\":0,\"translated\":{Bonjour}}]}"},
        {"Translate to English.\n\n[{\"id\":1}]", "[{\"id\":1}]"},
        {"Translate to English.\n\n[\"Bonjour\"]", "[{Bonjour}]"},
        {"Translate to English.\n\n{\"text\":\"Bonjour\"}", "{\"text\":{Bonjour}}"},
    };
    struct dg_langnames *names = dg_langnames_new();
    ck_assert_ptr_nonnull(names);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct dg_error error = DG_ERROR_NONE;
        struct dg_chat_prompt prompt;
        struct dg_arena arena;
        struct dg_buf said;
        dg_arena_init(&arena, 1 << 20);
        ck_assert_int_eq(options(names, "", pairs[i][0], false, &arena, &prompt), DG_OK);
        ck_assert_int_eq(
            dg_chat_prompt_list(DG_SPAN("items"), DG_SPAN("translated"), &arena, &error, &prompt),
            DG_OK);
        render(&prompt, &said);
        ck_assert_msg(dg_span_eq(dg_buf_span(&said), dg_span_cstr(pairs[i][1])), "%zu: %.*s", i,
                      DG_SPAN_FMT(dg_buf_span(&said)));
        dg_buf_deinit(&said);
        dg_arena_deinit(&arena);
    }
    dg_langnames_free(names);
}
END_TEST

/* Every cut of every prompt, and bytes that are not text, end in an answer or a refusal. */
START_TEST(prompts_that_break_off_do_no_harm)
{
    struct dg_langnames *names = dg_langnames_new();
    ck_assert_ptr_nonnull(names);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t len = strlen(shapes[i].user);
        for (size_t n = 0; n <= len; n += 1 + len / 40) {
            struct dg_error error = DG_ERROR_NONE;
            struct dg_chat_prompt prompt;
            struct dg_arena arena;
            char *cut = malloc(n ? n : 1);
            ck_assert_ptr_nonnull(cut);
            memcpy(cut, shapes[i].user, n);
            dg_arena_init(&arena, 1 << 20);
            for (int is_system = 0; is_system < 2; is_system++) {
                const struct dg_span part = dg_span_make(cut, n);
                const struct dg_chat_prompt_ask asked = {
                    .system = is_system ? part : dg_span_cstr(shapes[i].system),
                    .user = is_system ? DG_SPAN("Bonjour") : part};
                const enum dg_err err = dg_chat_prompt_read(names, &asked, &arena, &error, &prompt);
                ck_assert(err == DG_OK || err == DG_ERR_INVALID);
                ck_assert(err != DG_OK || prompt.n_texts <= prompt.n_parts);
            }
            dg_arena_deinit(&arena);
            free(cut);
        }
    }
    dg_langnames_free(names);
}
END_TEST

/* Markdown is one text, and is recognised only where the instruction mentions it. */
START_TEST(markdown_is_told)
{
    struct dg_langnames *names = dg_langnames_new();
    struct dg_chat_prompt prompt;
    struct dg_arena arena;
    ck_assert_ptr_nonnull(names);
    dg_arena_init(&arena, 1 << 20);
    for (int is_said = 0; is_said < 2; is_said++) {
        const char *system = is_said ? "Translate the Markdown document to English."
                                     : "Translate the document to English.";
        ck_assert_int_eq(options(names, system, "1. Le **chat**\n2. Merci", false, &arena, &prompt),
                         DG_OK);
        ck_assert_int_eq(prompt.is_markdown, is_said);
        ck_assert_uint_eq(prompt.n_texts, is_said ? 1 : 2);
    }
    ck_assert_int_eq(options(names, "Translate to English. Use Markdown.", "Bonjour * 2", false,
                             &arena, &prompt),
                     DG_OK);
    ck_assert(!prompt.is_markdown);
    dg_arena_deinit(&arena);
    dg_langnames_free(names);
}
END_TEST

DG_UNIT(markdown_is_told, the_prompts_of_tools_are_told_from_their_texts,
        what_asks_for_no_translation_is_refused,
        the_first_of_several_messages_may_say_the_languages,
        a_list_of_objects_is_answered_by_the_names_that_are_asked_for,
        with_languages_named_elsewhere_a_text_alone_will_do, prompts_that_break_off_do_no_harm)
