/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The translation that a chat asks for. Programs that translate with a language model put the text
 * into a prompt, each in its own words. This tells the instruction from the text by structure, and
 * finds the languages that are named:
 *
 *     "Translate from French to English:\n\nLe chat dort."                      instruction, text
 *     "You are a translator. Translate to English." / "Le chat dort."          system message, text
 *     ... enclosed in triple quotes, backticks, <text>, 🔤 ...                  text in delimiters
 *     "Source Text: Le chat dort.\n\nTranslated Text:"                          text after a label
 *     {"greeting":"Bonjour"}, "1. Bonjour\n2. Merci", "Bonjour\n\n%%\n\nMerci"  text in parts
 *
 *     struct dg_chat_prompt_ask ask = {.system = ..., .user = ...};
 *     err = dg_chat_prompt_read(names, &ask, &arena, &error, &prompt);
 *     for each of prompt.parts: DG_CHAT_PROMPT_LITERAL is copied, DG_CHAT_PROMPT_TEXT translated,
 *                               DG_CHAT_PROMPT_JSON translated and put in quotes
 *
 * A prompt that is not recognised is refused with a sentence that says how to ask; an instruction
 * is never taken for text. */
#ifndef DG_API_COMPAT_CHAT_PROMPT_H
#define DG_API_COMPAT_CHAT_PROMPT_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "text/language/langnames.h"

enum dg_chat_prompt_kind { DG_CHAT_PROMPT_LITERAL, DG_CHAT_PROMPT_TEXT, DG_CHAT_PROMPT_JSON };

struct dg_chat_prompt_part {
    enum dg_chat_prompt_kind kind;
    struct dg_span text; /* the text comes from JSON, without its escapes */
};

struct dg_chat_prompt_ask {
    struct dg_span system, user;
    struct dg_span earlier; /* the user's first message if there are several: it may say the
                             * languages
                             */
    /* The languages are named elsewhere, so a text without an instruction is enough. */
    bool is_named;
};

struct dg_chat_prompt {
    const char *source, *target; /* borrowed from the names; NULL: the prompt does not name it */
    struct dg_chat_prompt_part *parts; /* [n_parts], of which n_texts are to be translated */
    size_t n_parts, n_texts;
    struct dg_span text;         /* what was split into them */
    struct dg_span list, member; /* names in the answer of dg_chat_prompt_list */
    bool is_json;                /* the answer is to be JSON */
    bool is_markdown;            /* the text, one part, is in Markdown */
};

/* Reads a prompt. Texts live in the arena or are borrowed from `ask`. DG_ERR_INVALID with a
 * sentence, DG_ERR_LIMIT, DG_ERR_NOMEM. */
enum dg_err dg_chat_prompt_read(const struct dg_langnames *names,
                                const struct dg_chat_prompt_ask *options, struct dg_arena *arena,
                                struct dg_error *error,
                                struct dg_chat_prompt *prompt) DG_MUST_CHECK;

#endif
