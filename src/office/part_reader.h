/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What reads a part: its tokens, and what they are made into, atoms, blocks and edits. Which
 * element becomes what is said by part.c, part_language.c and part_margin.c. Private to these.
 *
 *     dg_part_begin_block(r, &paragraph, DG_BLOCK_PLAIN, start->at + start->len);
 *     while (dg_part_next_child(r, start, &token))
 *         dg_part_add_text(r, &place, &token, false, false);
 *     dg_part_end_block(r, &paragraph, r->end_at);
 *
 * The first failure stays in `err`, after which there are no more tokens: callers need not look at
 * it between two steps. */
#ifndef DG_OFFICE_PART_READER_H
#define DG_OFFICE_PART_READER_H

#include "markup/markup.h"
#include "office/dialect.h"
#include "office/part_int.h"

/* A paragraph while it is read. */
struct dg_part_paragraph {
    struct dg_rows atoms; /* owned */
    struct dg_block block;
    size_t edit; /* the index of the block's edit */
    size_t at;   /* where its text begins */
    size_t end;  /* where its text ends; 0 until that is known */
};

struct dg_part_reader {
    struct dg_office_part *part;
    struct dg_markup markup;
    struct dg_office_dialect dialect;
    struct dg_error *error;
    size_t depth, n_atoms;
    size_t end_at; /* where the last end tag began */
    enum dg_err err;
};

/* The place of an element in the part. */
struct dg_part_place {
    struct dg_part_paragraph *paragraph; /* NULL: outside of paragraphs */
    uint32_t format;
    bool in_run;
};

/* ---- Tokens ---------------------------------------------------------------------------------- */

/* Fails, unless the reader has failed before. */
void dg_part_refuse(struct dg_part_reader *r, enum dg_err err, size_t at, const char *what);

/* False at the end of the part, and after a failure. */
bool dg_part_next(struct dg_part_reader *r, struct dg_markup_token *token) DG_MUST_CHECK;

/* The next token inside an element; false after a failure or at the element's end, which begins at
 * `end_at`. */
bool dg_part_next_child(struct dg_part_reader *r, const struct dg_markup_token *start,
                        struct dg_markup_token *token) DG_MUST_CHECK;

/* Says that the contents of an element are read, one level deeper; who says so decrements `depth`
 * at the element's end. Fails where elements are nested too deep. */
void dg_part_descend(struct dg_part_reader *r, const struct dg_markup_token *start);

/* Continues after an element without reading its contents. */
void dg_part_skip(struct dg_part_reader *r, const struct dg_markup_token *start);

/* Reads the contents of an element; they are not part of a paragraph that may contain the
 * element. In part.c. */
void dg_part_look_into(struct dg_part_reader *r, const struct dg_markup_token *start);

struct dg_span dg_part_bytes_of(const struct dg_part_reader *r,
                                const struct dg_markup_token *token);
/* Where a stretch of the part begins. */
size_t dg_part_offset_of(const struct dg_part_reader *r, struct dg_span inside);

/* ---- What becomes of them -------------------------------------------------------------------- */

/* Replaces bytes of the part by the pieces, one after the other. */
void dg_part_replace(struct dg_part_reader *r, size_t at, size_t len, const struct dg_span *pieces,
                     size_t n);

/* Appends an atom to the paragraph that the place is in; NULL after a failure. */
struct dg_atom *dg_part_add_atom(struct dg_part_reader *r, const struct dg_part_place *place,
                                 enum dg_atom_kind kind, size_t at, size_t len);
/* Text or a CDATA section as an atom; nothing for comments. `trims` leaves white space at the ends
 * out. In text of `cells` line ends are breaks. */
void dg_part_add_text(struct dg_part_reader *r, const struct dg_part_place *place,
                      const struct dg_markup_token *token, bool trims, bool cells);

/* Blocks may be begun inside others. A block without words is none, and leaves its bytes alone. */
void dg_part_begin_block(struct dg_part_reader *r, struct dg_part_paragraph *paragraph,
                         enum dg_block_kind kind, size_t at);
void dg_part_end_block(struct dg_part_reader *r, struct dg_part_paragraph *paragraph, size_t end);
/* The value of a tag's attribute as a block. */
void dg_part_read_attribute(struct dg_part_reader *r, struct dg_span tag, const char *name);
/* The same for the name of a sheet, if it may change. */
void dg_part_read_sheet_name(struct dg_part_reader *r, struct dg_span tag);

/* ---- Languages and directions: part_language.c ----------------------------------------------- */

/* An element whose attributes state a language; the direction of a style; a page of a book. */
void dg_part_set_language(struct dg_part_reader *r, const struct dg_markup_token *tag,
                          enum dg_office_ns ns);
void dg_part_set_writing(struct dg_part_reader *r, const struct dg_markup_token *tag);
void dg_part_set_page(struct dg_part_reader *r, const struct dg_markup_token *tag);
/* An element whose text is the language. */
void dg_part_read_language(struct dg_part_reader *r, const struct dg_markup_token *start);
/* The properties of a paragraph or a run. */
void dg_part_read_properties(struct dg_part_reader *r, const struct dg_markup_token *start,
                             enum dg_office_role role);
/* Adds properties to a paragraph or a run without any, if its direction is to be stated. */
void dg_part_add_properties(struct dg_part_reader *r, const struct dg_markup_token *start,
                            const char *name, enum dg_office_role role);

/* ---- Headers and footers of sheets: part_margin.c -------------------------------------------- */

void dg_part_read_margin(struct dg_part_reader *r, const struct dg_markup_token *start);

#endif
