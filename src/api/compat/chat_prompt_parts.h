/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The parts of a text in a prompt: JSON, whose strings are translated while keys and everything
 * else stay byte for byte; numbered lines; paragraphs with separators between them. For
 * chat_prompt.c. */
#ifndef DG_API_COMPAT_CHAT_PROMPT_PARTS_H
#define DG_API_COMPAT_CHAT_PROMPT_PARTS_H

#include "api/compat/chat_prompt.h"

/* Returns the length in bytes of the JSON object or array at the beginning of the text; 0: there is
 * none. */
size_t dg_chat_prompt_json_len(struct dg_span text);

/* Reads a message that is itself a request in JSON, with languages and texts (Kiss Translator's,
 * Weblate's); for any other message no part is added. */
enum dg_err dg_chat_prompt_envelope(const struct dg_langnames *names, struct dg_span text,
                                    struct dg_arena *arena, struct dg_error *error,
                                    struct dg_chat_prompt *prompt) DG_MUST_CHECK;

/* Splits the prompt's text again where it is an array of objects, each with an id and a text: the
 * answer is {LIST:[{"id":...,NAME:...}]}, as schemas of answers ask for it. Any other text stays as
 * it was split. */
enum dg_err dg_chat_prompt_list(struct dg_span list, struct dg_span name, struct dg_arena *arena,
                                struct dg_error *error,
                                struct dg_chat_prompt *prompt) DG_MUST_CHECK;

/* Splits the text and puts its parts into the prompt. */
enum dg_err dg_chat_prompt_split(struct dg_span text, struct dg_arena *arena,
                                 struct dg_error *error,
                                 struct dg_chat_prompt *prompt) DG_MUST_CHECK;

#endif
