/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a kind of file provides. Private to src/filter. To add a kind: its functions in a file of
 * its own, and a row in filter.c. */
#ifndef DG_FILTER_FILTER_INT_H
#define DG_FILTER_FILTER_INT_H

#include "filter/block.h"
#include "filter/charset.h"
#include "filter/filter.h"
#include "filter/rendition.h"

struct dg_filter_row {
    const char *word;                    /* the word that names the kind */
    const char *const *endings;          /* endings of file names, in lower case; ended by NULL */
    const char *type;                    /* the media type */
    bool (*takes)(struct dg_span bytes); /* whether a file with that ending is of this kind;
                                            NULL: always */
    enum dg_err (*open)(struct dg_filter *filter, const struct dg_filter_opts *opts,
                        struct dg_error *error);
    enum dg_err (*put)(void *filter, const struct dg_block_source *source,
                       const struct dg_filter_block *block, struct dg_span html, struct dg_buf *out,
                       struct dg_error *error);
};

struct dg_filter {
    const struct dg_filter_row *row;
    const char *name;   /* the name of the file; borrowed */
    struct dg_span raw; /* borrowed; the file */
    /* the file in UTF-8; unchanged for a message, which has several encodings */
    struct dg_span bytes;
    struct dg_buf decoded;         /* owned; holds `bytes` if they differ from the file's */
    char charset[DG_CHARSET_NAME]; /* the encoding of the file; empty for UTF-8 */
    struct dg_office *office;      /* owned; NULL: the text is in `blocks` */
    struct dg_mail_message *mail;  /* owned; NULL: the file is not a message */
    enum dg_rendition output;      /* pdf: the format that is written */
    const atomic_bool *stop;       /* borrowed; may be NULL */
    struct dg_blocks blocks;
    enum dg_doc_format format; /* the format of the text */
    struct dg_buf note;
    struct dg_span language; /* while the file is written: the language of the translation */
    char separator;          /* for csv */
    bool is_for_language;    /* yaml: the only root key is a language */
};

/* The length of the byte order mark that a text begins with; 0: there is none. */
size_t dg_filter_mark_len(struct dg_span text);

/* The number of the line that contains a byte, for error messages. */
size_t dg_filter_line(const struct dg_filter *filter, size_t at);

enum dg_err dg_filter_open_csv(struct dg_filter *filter, const struct dg_filter_opts *opts,
                               struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_put_csv(void *filter, const struct dg_block_source *source,
                              const struct dg_filter_block *block, struct dg_span html,
                              struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

bool dg_filter_has_front_matter(struct dg_span bytes);
enum dg_err dg_filter_open_markdown(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                    struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_open_yaml(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_put_yaml(void *filter, const struct dg_block_source *source,
                               const struct dg_filter_block *block, struct dg_span html,
                               struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_filter_open_latex(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                 struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_put_latex(void *filter, const struct dg_block_source *source,
                                const struct dg_filter_block *block, struct dg_span html,
                                struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

/* Interface texts: .strings and .properties; Android's resources, .resx and .stringsdict. */
enum dg_err dg_filter_open_strings(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                   struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_open_properties(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                      struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_put_strings(void *filter, const struct dg_block_source *source,
                                  const struct dg_filter_block *block, struct dg_span html,
                                  struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

/* Gives the plurals of messages in a translated file the categories of filter->language. */
enum dg_err dg_filter_add_plurals(struct dg_filter *filter, struct dg_buf *out,
                                  struct dg_error *error) DG_MUST_CHECK;

bool dg_filter_is_android(struct dg_span bytes);
enum dg_err dg_filter_open_android(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                   struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_open_resx(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_open_stringsdict(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                       struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_put_resources(void *filter, const struct dg_block_source *source,
                                    const struct dg_filter_block *block, struct dg_span html,
                                    struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

struct dg_mail_message;
void dg_mail_free(struct dg_mail_message *mail); /* NULL is fine */
enum dg_err dg_filter_open_mail(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_text_mail(const struct dg_filter *filter, struct dg_buf *text) DG_MUST_CHECK;
enum dg_err dg_filter_write_mail(struct dg_filter *filter, struct dg_span target,
                                 struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_filter_open_pdf(struct dg_filter *filter, const struct dg_filter_opts *opts,
                               struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_text_pdf(const struct dg_filter *filter, struct dg_buf *text,
                               struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_write_pdf(const struct dg_filter *filter, struct dg_span target,
                                struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

#endif
