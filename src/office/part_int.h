/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The internals of a part: part.c and its helpers (part_reader.h) read XML into atoms,
 * part_formatting.c makes nodes and text of a paragraph's atoms, part_out.c writes it. Private to
 * these. */
#ifndef DG_OFFICE_PART_INT_H
#define DG_OFFICE_PART_INT_H

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "office/part.h"

#include <stdint.h>

/* A growing array of items of equal size. */
struct dg_rows {
    void *items; /* owned */
    size_t n, cap;
};

/* Makes room for one more item, zeroed; NULL when memory ran out. */
void *dg_rows_add(struct dg_rows *rows, size_t size) DG_MUST_CHECK;

enum dg_atom_kind {
    DG_ATOM_TEXT,
    DG_ATOM_POINT, /* a mark without text */
    DG_ATOM_BREAK, /* a mark that divides sentences */
    DG_ATOM_SPACE, /* a white space that is an element */
    DG_ATOM_OPEN,  /* a container's beginning and end */
    DG_ATOM_CLOSE,
    /* an end of a range; ranges without an end in the same paragraph become points */
    DG_ATOM_START,
    DG_ATOM_END,
    DG_ATOM_FIELD_BEGIN, /* a mark of a field; marks that do not belong together become breaks */
    DG_ATOM_FIELD_CODE,
    DG_ATOM_FIELD_SEPARATE,
    DG_ATOM_FIELD_END,
};

/* The things that a paragraph consists of, in their order. */
struct dg_atom {
    size_t at, len;  /* bytes of the part; for text, without its tags */
    size_t partner;  /* START, FIELD_BEGIN: the index of its end, or 0 */
    size_t separate; /* FIELD_BEGIN: the index of its separator, or 0 */
    uint32_t format; /* the format of the run that it stands in */
    uint8_t kind;
    bool in_run, is_cdata;
    bool is_line;      /* BREAK: a line end in the text of a cell */
    bool is_link;      /* FIELD_BEGIN: what the field shows is text; FIELD_CODE: the code says so */
    bool is_content;   /* CLOSE: set while the end of its container is about to be read */
    struct dg_span id; /* for START and END */
};

enum dg_block_kind {
    DG_BLOCK_RUNS,      /* a paragraph with runs */
    DG_BLOCK_MIXED,     /* a paragraph with text in it */
    DG_BLOCK_PLAIN,     /* an element's text */
    DG_BLOCK_ATTRIBUTE, /* an attribute's value */
    DG_BLOCK_NAME,      /* an attribute's value that is the name of a sheet */
    DG_BLOCK_MARGIN,    /* the header or footer of a sheet */
};

struct dg_block {
    size_t atom, n_atoms, node, n_nodes;
    size_t text_at, text_len; /* where its text lies in part->texts */
    uint32_t format;          /* the format of most of its text */
    uint8_t kind;             /* a value of enum dg_block_kind */
    bool keeps_space;         /* an attribute of the run's text states it */
    struct dg_span run, text; /* names of these elements as the part writes them */
};

enum dg_node_kind { DG_NODE_GROUP, DG_NODE_PAIR, DG_NODE_POINT };

/* Something with an id in the text of a block. Atoms are counted from the block's first. */
struct dg_node {
    size_t open, open_end;   /* atoms at its beginning; for a point, all of its atoms */
    size_t close, close_end; /* PAIR: atoms at its end */
    uint32_t format;         /* GROUP: its own format; PAIR: that of most of its text */
    uint8_t kind;            /* a value of enum dg_node_kind */
};

/* The beginning of a run: its tag and its properties. Format 0 is text without a run. */
struct dg_format {
    size_t at, len;
    size_t weight; /* used by part_formatting.c: bytes of text so far */
};

/* Bytes that are replaced: by a block's translation, or by `text`. */
struct dg_edit {
    size_t at, len;
    size_t block; /* SIZE_MAX: the text is in `text` */
    size_t order;
    struct dg_span text; /* lies in the arena, or is static */
    bool is_void;        /* the edit changes nothing */
};

struct dg_office_part {
    struct dg_span bytes; /* borrowed */
    struct dg_office_opts opts;
    const char *name; /* borrowed while the part is read */
    struct dg_arena arena;
    struct dg_rows atoms, nodes, blocks, formats, edits;
    struct dg_map known; /* maps properties to formats */
    struct dg_buf texts; /* texts of the blocks, in the order in which these ended */
};

/* Finds out what belongs together in a block, whose atoms are the last ones; appends its nodes and
 * its text. *has_words tells whether there is anything to translate. */
enum dg_err dg_office_arrange(struct dg_office_part *part, struct dg_block *block,
                              bool *has_words) DG_MUST_CHECK;

#endif
