/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The internals of the model and the workspace, for the spm_*.c files of this folder only. */
#ifndef DG_TOKENIZE_SPM_SPM_INT_H
#define DG_TOKENIZE_SPM_SPM_INT_H

#include "base/file/map_file.h"
#include "base/memory/grow.h"
#include "tokenize/spm/normalise.h"
#include "tokenize/spm/piece_trie.h"
#include "tokenize/spm/pieces.h"
#include "tokenize/spm/spm.h"
#include "tokenize/spm/spm_encode.h"

struct dg_spm {
    struct dg_map_file file; /* a copy; its bytes are NULL if the model lies in borrowed memory */
    const uint8_t *bytes;
    size_t len;

    enum dg_spm_kind kind;
    bool byte_fallback;
    bool has_denormaliser;
    struct dg_normaliser normaliser;
    struct dg_normaliser denormaliser;
    struct dg_span unk_surface;
    struct dg_span unk_name, bos_name, eos_name, pad_name;

    struct dg_pieces pieces;
    struct dg_piece_trie trie;     /* pieces that text may become: normal, user-defined, and for BPE
                                      unused pieces */
    struct dg_piece_trie reserved; /* unknown, control and byte pieces */
    struct dg_piece_trie user;     /* user-defined pieces; it has no nodes if there are none */
    /* unigram only: unused pieces, for lookups; it may have no nodes */
    struct dg_piece_trie unused;
    bool has_unused;
    bool has_shadows;         /* some string is both in `reserved` and in `trie` */
    bool space_is_boundary;   /* no piece has the space mark after another character */
    bool space_ends_boundary; /* no piece has another character after the space mark */

    uint32_t *ranks; /* owned, BPE only; the rank of each piece's score, 0 for the highest */
    uint32_t n_ranks;

    uint32_t unk;
    int32_t bos, eos, pad;
    uint32_t byte_ids[256];     /* only with byte_fallback */
    float min_score, max_score; /* over normal pieces, as the original library computes them */
};

/* One piece of the segmented text, before it becomes tokens. */
struct dg_spm_segment {
    uint32_t begin, end; /* bytes of the normalised text */
    uint32_t id;
};

/* The unigram lattice: for each position the best segmentation of the text before it. */
struct dg_spm_cells {
    float *scores;   /* owned */
    uint64_t *backs; /* owned; where the last piece begins << 32 | its id */
};

struct dg_spm_work {
    struct dg_normal_text normal;
    struct dg_spm_segment *segments; /* owned */
    size_t n_segments, segments_cap;
    struct dg_spm_token *tokens; /* owned */
    size_t n_tokens, tokens_cap;
    struct dg_spm_cells cells;
    size_t scores_cap, backs_cap;
    struct dg_spm_bpe *bpe; /* owned; NULL until a BPE model was used */
};

static inline enum dg_err dg_spm_work_segment(struct dg_spm_work *work, uint32_t begin,
                                              uint32_t end, uint32_t id)
{
    const enum dg_err err = DG_GROW(work->segments, work->n_segments, work->segments_cap, 64);
    if (err)
        return err;
    work->segments[work->n_segments++] = (struct dg_spm_segment){begin, end, id};
    return DG_OK;
}

/* Reverses the order of the segments. */
void dg_spm_work_reverse(struct dg_spm_work *work);

/* The segmenters: work->normal to work->segments. */
enum dg_err dg_spm_unigram(const struct dg_spm *spm, struct dg_spm_work *work) DG_MUST_CHECK;
enum dg_err dg_spm_bpe(const struct dg_spm *spm, struct dg_spm_work *work) DG_MUST_CHECK;
enum dg_err dg_spm_word(const struct dg_spm *spm, struct dg_spm_work *work) DG_MUST_CHECK;
enum dg_err dg_spm_char(const struct dg_spm *spm, struct dg_spm_work *work) DG_MUST_CHECK;

/* Segments to tokens: byte fallback, joining of unknown neighbours, offsets. */
enum dg_err dg_spm_populate(const struct dg_spm *spm, struct dg_spm_work *work) DG_MUST_CHECK;

void dg_spm_bpe_free(struct dg_spm_bpe *bpe);

/* Reads everything of the file but the pieces. */
enum dg_err dg_spm_read_specs(struct dg_spm *spm, struct dg_error *error) DG_MUST_CHECK;

/* Encodes every self-test sample of the model and compares. */
enum dg_err dg_spm_self_test(const struct dg_spm *spm, struct dg_error *error) DG_MUST_CHECK;

/* The id that a piece's string stands for: another id if a reserved piece has the same string. */
static inline uint32_t dg_spm_resolve(const struct dg_spm *spm, uint32_t id)
{
    return spm->has_shadows ? dg_spm_find(spm, dg_pieces_text(&spm->pieces, id)) : id;
}

#endif
