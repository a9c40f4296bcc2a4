/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds text that translation must not change: addresses, names of things, placeholders, tags,
 * emoji, numbers with units. The engine decides what to do with each kind.
 *
 *     struct dg_protect_list list;
 *     dg_protect_list_init(&list);
 *     err = dg_protect_find(text, DG_PROTECT_ALL, &list);
 *     for (size_t i = 0; i < list.n; i++)
 *         ... text.ptr + list.items[i].at, list.items[i].len, dg_protect_name(list.items[i].kind)
 *     if (dg_protect_leaves_nothing(text, &list))
 *         ... nothing to translate (only emoji, a bare address) ...
 *     dg_protect_list_deinit(&list);
 *
 * Spans are in order, do not overlap and do not split a code point. Any bytes are legal input;
 * bytes that are not UTF-8 are in no span. The scanner makes one pass without backtracking, so its
 * time is linear. */
#ifndef DG_TEXT_TERMS_PROTECT_H
#define DG_TEXT_TERMS_PROTECT_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*      kind                  name           examples */
#define DG_PROTECT_LIST(X)                                                                         \
    X(DG_PROTECT_URL, "url")             /* https://a.org/b?c=d  www.a.org  a.org/b */             \
    X(DG_PROTECT_EMAIL, "email")         /* me@a.org */                                            \
    X(DG_PROTECT_MENTION, "mention")     /* @name  @name@a.org */                                  \
    X(DG_PROTECT_HASHTAG, "hashtag")     /* #tag  #123 */                                          \
    X(DG_PROTECT_SHORTCODE, "shortcode") /* :smile: */                                             \
    X(DG_PROTECT_EMOJI, "emoji")         /* one or more in a row */                                \
    X(DG_PROTECT_BRACES, "braces")       /* {{x}}  {0}  ${x}  %{x}  {n, plural, one {...} ...} */  \
    X(DG_PROTECT_REFERENCE, "reference") /* &amp;  &#39; */                                        \
    X(DG_PROTECT_ESCAPE, "escape")       /* \n  \t  \" of a string in a program */                 \
    X(DG_PROTECT_PRINTF, "printf")       /* %s  %1$s  %(n)s  %.2f  %@ */                           \
    X(DG_PROTECT_VARIABLE, "variable")   /* $Name  %PATH% */                                       \
    X(DG_PROTECT_TAG, "tag")             /* <x id="7"/>  <b>  </b>  <0> */                         \
    X(DG_PROTECT_FILE, "file")           /* notes.txt  src/main.c  /etc/passwd  C:\x */            \
    X(DG_PROTECT_NUMBER, "number")       /* 1,234.56  10 KBps  50 %  2024-03-15  v1.2.3 */

enum dg_protect_kind {
#define DG_PROTECT_ENUM(kind, name) kind,
    DG_PROTECT_LIST(DG_PROTECT_ENUM)
#undef DG_PROTECT_ENUM
        DG_PROTECT_KINDS
};

/* Sets of kinds: 1u << kind. */
#define DG_PROTECT_ALL ((1u << DG_PROTECT_KINDS) - 1)

struct dg_protect_span {
    size_t at, len; /* bytes */
    enum dg_protect_kind kind;
};

struct dg_protect_list {
    struct dg_protect_span *items; /* owned */
    size_t n, cap;
};

void dg_protect_list_init(struct dg_protect_list *list);
void dg_protect_list_deinit(struct dg_protect_list *list);

/* Replaces the list's content by the spans of `kinds` in `text` (the list keeps its memory between
 * calls). A small whole number alone is not a span: models translate "5 apples" better than a
 * placeholder. DG_ERR_NOMEM. */
enum dg_err dg_protect_find(struct dg_span text, unsigned kinds,
                            struct dg_protect_list *list) DG_MUST_CHECK;

/* True when no letter stands outside the spans. */
bool dg_protect_leaves_nothing(struct dg_span text, const struct dg_protect_list *list);

/* True for a number that languages write in different ways: a year, a decimal, a price, a time
 * or a percentage, of at most nine digits. Dates in figures, versions, addresses and measures do
 * not count. */
bool dg_protect_is_plain_number(struct dg_span number);

/* True when the text has the digits of a number of `source`, however they are grouped: "12.50" is
 * in "12,50 $", and "2:45 p.m." in "14 h 45". */
bool dg_protect_has_number(struct dg_span text, struct dg_span source, size_t at, size_t len);

/* "url", "email" ... Never NULL. */
const char *dg_protect_name(enum dg_protect_kind kind);

/* The end of an escape as programs write them, \n or \", whose backslash is at `at`; 0: there is
 * none. */
size_t dg_protect_match_escape(struct dg_span text, size_t at);

/* The end of a tag, <b> or </b> or <x id="7"/>, whose '<' is at `at`; 0: there is none, and
 * *failed_at is the first place where a later tag can start. */
size_t dg_protect_match_tag(struct dg_span text, size_t at, size_t *failed_at);

#endif
