/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads a model file, except its pieces. The file is one message with these fields:
 *
 *     1 pieces (pieces.c)   2 trainer_spec   3 normalizer_spec
 *     4 self_test_data      5 denormalizer_spec
 *
 * Of the trainer's settings only those that matter when text is encoded and decoded are read.
 * Absent fields keep the format's defaults; a field of an unexpected wire type is refused by name.
 */
#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/protobuf.h"

#include <math.h>

enum {
    FIELD_TRAINER = 2,
    FIELD_NORMALIZER = 3,
    FIELD_SELF_TEST = 4,
    FIELD_DENORMALIZER = 5,
};

/* ---- Rows of a message: number, name, where the value goes ----------------------------------- */

enum row_type { ROW_BOOL, ROW_TEXT };

struct row {
    uint32_t number;
    const char *name;
    enum row_type type;
    void *value; /* a bool * or a struct dg_span * */
};

static enum dg_err apply_row(const struct row *row, const struct dg_protobuf_field *field,
                             struct dg_error *error)
{
    enum dg_protobuf_type expected = row->type == ROW_TEXT ? DG_PROTOBUF_BYTES : DG_PROTOBUF_VARINT;
    if (field->type != expected)
        return dg_error_set(error, DG_ERR_FORMAT, "%s at byte %zu has wire type %d, expected %d",
                            row->name, field->offset, (int)field->type, (int)expected);
    if (row->type == ROW_TEXT)
        *(struct dg_span *)row->value = dg_span_make((const char *)field->bytes, field->len);
    else
        *(bool *)row->value = field->varint != 0;
    return DG_OK;
}

static enum dg_err apply_rows(const struct row *rows, size_t n,
                              const struct dg_protobuf_field *field, struct dg_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].number == field->number)
            return apply_row(&rows[i], field, error);
    return DG_OK;
}

/* ---- The messages ---------------------------------------------------------------------------- */

static enum dg_err read_kind(struct dg_spm *spm, const struct dg_protobuf_field *field,
                             struct dg_error *error)
{
    if (field->type != DG_PROTOBUF_VARINT || field->varint < DG_SPM_UNIGRAM ||
        field->varint > DG_SPM_CHAR)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "model_type is %llu, expected 1 (unigram), 2 (bpe), 3 (word) or 4 (char)",
            (unsigned long long)field->varint);
    spm->kind = (enum dg_spm_kind)field->varint;
    return DG_OK;
}

static enum dg_err read_trainer(struct dg_spm *spm, const struct dg_protobuf_field *outer,
                                struct dg_error *error)
{
    const struct row rows[] = {
        {24, "treat_whitespace_as_suffix", ROW_BOOL, &spm->normaliser.whitespace_as_suffix},
        {35, "byte_fallback", ROW_BOOL, &spm->byte_fallback},
        {44, "unk_surface", ROW_TEXT, &spm->unk_surface},
        {45, "unk_piece", ROW_TEXT, &spm->unk_name},
        {46, "bos_piece", ROW_TEXT, &spm->bos_name},
        {47, "eos_piece", ROW_TEXT, &spm->eos_name},
        {48, "pad_piece", ROW_TEXT, &spm->pad_name},
    };
    struct dg_protobuf wire = dg_protobuf_nested(outer);
    struct dg_protobuf_field field;
    enum dg_err err;
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        err = field.number == 3 ? read_kind(spm, &field, error)
                                : apply_rows(rows, sizeof rows / sizeof *rows, &field, error);
        if (err)
            break;
    }
    return err ? dg_error_wrap(error, err, "trainer_spec") : DG_OK;
}

static enum dg_err read_normaliser(struct dg_normaliser *normaliser,
                                   const struct dg_protobuf_field *outer, const char *name,
                                   struct dg_error *error)
{
    struct dg_span blob = {0};
    const struct row rows[] = {
        {2, "precompiled_charsmap", ROW_TEXT, &blob},
        {3, "add_dummy_prefix", ROW_BOOL, &normaliser->add_dummy_prefix},
        {4, "remove_extra_whitespaces", ROW_BOOL, &normaliser->remove_extra_whitespaces},
        {5, "escape_whitespaces", ROW_BOOL, &normaliser->escape_whitespaces},
    };
    struct dg_protobuf wire = dg_protobuf_nested(outer);
    struct dg_protobuf_field field;
    enum dg_err err;
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        err = apply_rows(rows, sizeof rows / sizeof *rows, &field, error);
        if (err)
            break;
    }
    if (!err && blob.len)
        err = dg_charsmap_init(&normaliser->map, (const uint8_t *)blob.ptr, blob.len, error);
    return err ? dg_error_wrap(error, err, "%s", name) : DG_OK;
}

static void set_defaults(struct dg_spm *spm)
{
    const struct dg_normaliser normaliser = {
        .add_dummy_prefix = true,
        .remove_extra_whitespaces = true,
        .escape_whitespaces = true,
    };
    spm->kind = DG_SPM_UNIGRAM;
    spm->normaliser = normaliser;
    spm->denormaliser = normaliser;
    spm->unk_surface = DG_SPAN(" \xE2\x81\x87 ");
    spm->unk_name = DG_SPAN("<unk>");
    spm->bos_name = DG_SPAN("<s>");
    spm->eos_name = DG_SPAN("</s>");
    spm->pad_name = DG_SPAN("<pad>");
}

enum dg_err dg_spm_read_specs(struct dg_spm *spm, struct dg_error *error)
{
    struct dg_protobuf wire;
    struct dg_protobuf_field field;
    enum dg_err err;
    set_defaults(spm);
    dg_protobuf_init(&wire, spm->bytes, spm->len, 0);
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        if (field.number >= FIELD_TRAINER && field.number <= FIELD_DENORMALIZER &&
            field.type != DG_PROTOBUF_BYTES)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "field %u at byte %zu has wire type %d, expected 2", field.number,
                                field.offset, (int)field.type);
        if (field.number == FIELD_TRAINER)
            err = read_trainer(spm, &field, error);
        else if (field.number == FIELD_NORMALIZER)
            err = read_normaliser(&spm->normaliser, &field, "normalizer_spec", error);
        else if (field.number == FIELD_DENORMALIZER)
            err = read_normaliser(&spm->denormaliser, &field, "denormalizer_spec", error);
        if (err)
            break;
    }
    /* The original library uses the denormaliser only if it has a map. */
    spm->has_denormaliser = spm->denormaliser.map.n_units != 0;
    return err;
}

/* ---- Self-test ------------------------------------------------------------------------------- */

/* Compares the tokens with `expected`, piece strings joined by one space. If they differ in a
 * unigram model, the sums of scores decide, because ties may differ between machines. */
static bool is_as_expected(const struct dg_spm *spm, const struct dg_spm_work *work,
                           struct dg_span expected)
{
    size_t n;
    const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct dg_span piece = dg_spm_token_piece(spm, work, &tokens[i]);
        struct dg_span rest = dg_span_sub(expected, at, expected.len);
        if (i > 0 && !dg_span_starts(rest, DG_SPAN(" ")))
            return false;
        rest = dg_span_sub(rest, i > 0, rest.len);
        if (!dg_span_starts(rest, piece))
            return false;
        at += (i > 0) + piece.len;
    }
    return at == expected.len;
}

static float expected_score(const struct dg_spm *spm, struct dg_span expected)
{
    float sum = 0;
    while (expected.len) {
        const char *space = memchr(expected.ptr, ' ', expected.len);
        size_t len = space ? (size_t)(space - expected.ptr) : expected.len;
        sum += dg_spm_score(spm, dg_spm_find(spm, dg_span_sub(expected, 0, len)));
        expected = dg_span_sub(expected, len + 1, expected.len);
    }
    return sum;
}

static bool is_equivalent(const struct dg_spm *spm, const struct dg_spm_work *work,
                          struct dg_span expected)
{
    size_t n;
    const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += dg_spm_score(spm, tokens[i].id);
    return spm->kind == DG_SPM_UNIGRAM && fabsf(sum - expected_score(spm, expected)) <= 1e-7f;
}

static enum dg_err test_sample(const struct dg_spm *spm, struct dg_spm_work *work,
                               const struct dg_protobuf_field *sample, struct dg_error *error)
{
    struct dg_span input = {0}, expected = {0};
    const struct row rows[] = {
        {1, "input", ROW_TEXT, &input},
        {2, "expected", ROW_TEXT, &expected},
    };
    struct dg_protobuf wire = dg_protobuf_nested(sample);
    struct dg_protobuf_field field;
    enum dg_err err;
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        err = apply_rows(rows, 2, &field, error);
        if (err)
            return err;
    }
    if (!err)
        err = dg_spm_encode(spm, work, input);
    if (!err && !is_as_expected(spm, work, expected) && !is_equivalent(spm, work, expected))
        err = dg_error_set(error, DG_ERR_INTEGRITY,
                           "the %zu bytes of input are not encoded as the model expects; "
                           "the file may be damaged",
                           input.len);
    return err;
}

static enum dg_err test_samples(const struct dg_spm *spm, struct dg_spm_work *work,
                                const struct dg_protobuf_field *data, unsigned *n,
                                struct dg_error *error)
{
    struct dg_protobuf wire = dg_protobuf_nested(data);
    struct dg_protobuf_field field;
    enum dg_err err;
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        if (field.number != 1 || field.type != DG_PROTOBUF_BYTES)
            continue;
        err = test_sample(spm, work, &field, error);
        if (err)
            return dg_error_wrap(error, err, "self_test_data: samples[%u]", *n);
        ++*n;
    }
    return err;
}

enum dg_err dg_spm_self_test(const struct dg_spm *spm, struct dg_error *error)
{
    struct dg_protobuf wire;
    struct dg_protobuf_field field;
    enum dg_err err;
    unsigned n = 0;
    struct dg_spm_work *work = dg_spm_work_new();
    dg_protobuf_init(&wire, spm->bytes, spm->len, 0);
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        if (field.number == FIELD_SELF_TEST)
            err = test_samples(spm, work, &field, &n, error);
        if (err)
            break;
    }
    dg_spm_work_free(work);
    return err;
}
