/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/buf.h"
#include "model/bind.h"
#include "model/layout.h"
#include "unit.h"

#include <stdio.h>

/* A tiny file in memory, made from the layout of `bp` with changes applied to each item. */
struct making {
    struct dg_buf header, data;
    const char *without;     /* left out */
    const char *reshaped;    /* one row more */
    const char *as_i8;       /* stored I8, without scales */
    const char *extra;       /* added */
    const char *rename_from; /* stored under another name */
    const char *rename_to;
    size_t shift; /* bytes before everything, to misalign it */
    size_t n;
};

static void put(struct making *m, const char *name, const char *dtype, size_t size, unsigned rank,
                const size_t *shape)
{
    size_t begin = m->data.len, len = size;
    ck_assert_int_eq(dg_buf_printf(&m->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                                   m->n++ ? "," : "{", name, dtype),
                     DG_OK);
    for (unsigned i = 0; i < rank; i++) {
        ck_assert_int_eq(dg_buf_printf(&m->header, "%s%zu", i ? "," : "", shape[i]), DG_OK);
        len *= shape[i];
    }
    ck_assert_int_eq(dg_buf_printf(&m->header, "],\"data_offsets\":[%zu,%zu]}", begin, begin + len),
                     DG_OK);
    for (size_t i = 0; i < len; i++)
        ck_assert_int_eq(dg_buf_append_byte(&m->data, (char)(m->n + i % 2)), DG_OK);
}

static enum dg_err on_item(void *ctx, const struct dg_layout_item *item)
{
    struct making *m = ctx;
    size_t shape[2] = {item->shape[0], item->shape[1]};
    const char *name = item->name;
    if (m->without && strcmp(name, m->without) == 0)
        return DG_OK;
    if (m->reshaped && strcmp(name, m->reshaped) == 0)
        shape[0]++;
    if (m->rename_from && strcmp(name, m->rename_from) == 0)
        name = m->rename_to;
    bool i8 = m->as_i8 && strcmp(name, m->as_i8) == 0;
    put(m, name, i8 ? "I8" : "F32", i8 ? 1 : 4, item->rank, shape);
    return DG_OK;
}

static struct dg_blueprint small(void)
{
    return (struct dg_blueprint){.D = 4,
                                 .encoder = {1, 2, 6, 9},
                                 .decoder = {1, 2, 6, 9},
                                 .tie_source_target = true,
                                 .tie_output = true,
                                 .output_bias = true};
}

struct result {
    enum dg_err err;
    struct dg_error error;
    struct dg_blueprint bp;
    struct dg_weights weights;
    struct dg_safetensors file;
    struct dg_arena copies;
    struct dg_buf bytes;
};

static void bind(struct making *m, struct result *r, struct dg_blueprint bp)
{
    *r = (struct result){.bp = bp};
    dg_buf_init(&m->header, 1 << 16);
    dg_buf_init(&m->data, 1 << 20);
    dg_buf_init(&r->bytes, 1 << 20);
    dg_arena_init(&r->copies, 1 << 20);
    if (m->shift)
        put(m, "model.encoder.embed_positions.weight", "U8", 1, 1, &m->shift);
    ck_assert_int_eq(dg_layout_weights_init(&r->weights, &bp), DG_OK);
    ck_assert_int_eq(dg_layout_visit(&bp, &r->weights, on_item, m), DG_OK);
    if (m->extra)
        put(m, m->extra, "F32", 4, 1, (const size_t[]){2});
    ck_assert_int_eq(dg_buf_append_byte(&m->header, '}'), DG_OK);
    while (m->header.len % 8)
        ck_assert_int_eq(dg_buf_append_byte(&m->header, ' '), DG_OK);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(dg_buf_append_byte(&r->bytes, (char)(m->header.len >> (8 * i))), DG_OK);
    ck_assert_int_eq(dg_buf_append(&r->bytes, m->header.ptr, m->header.len), DG_OK);
    ck_assert_int_eq(dg_buf_append(&r->bytes, m->data.ptr, m->data.len), DG_OK);
    ck_assert_int_eq(
        dg_safetensors_parse(&r->file, (const uint8_t *)r->bytes.ptr, r->bytes.len, "m", &r->error),
        DG_OK);
    r->err = dg_bind_weights(&r->weights, &r->bp, &r->file, &r->copies, &r->error);
}

static void end(struct making *m, struct result *r)
{
    dg_layout_weights_deinit(&r->weights);
    dg_safetensors_close(&r->file);
    dg_arena_deinit(&r->copies);
    dg_buf_deinit(&r->bytes);
    dg_buf_deinit(&m->header);
    dg_buf_deinit(&m->data);
}

START_TEST(binds_every_weight_and_repeats_tied_ones)
{
    struct making m = {.extra = "lm_head.weight"};
    struct result r;
    bind(&m, &r, small());
    ck_assert_msg(r.err == DG_OK, "%s", r.error.text);
    const struct dg_transformer_weights *t = &r.weights.transformer;
    ck_assert_ptr_eq(t->source_embedding.data, t->target_embedding.data);
    ck_assert_ptr_eq(t->source_embedding.data, t->output.data);
    ck_assert_uint_eq(t->decoder_layers[0].cross.q.weight.shape[1], 4);
    ck_assert_ptr_nonnull(t->decoder_layers[0].cross.norm.bias.data);
    ck_assert_ptr_nonnull(t->encoder_layers[0].ffn.fc2.bias.data);
    ck_assert_ptr_nonnull(t->output_bias.data);
    ck_assert_ptr_null(t->encoder_norm.gain.data);
    end(&m, &r);
}
END_TEST

START_TEST(all_faults_are_named_at_once)
{
    struct making m = {.without = "model.encoder.layers.0.fc1.weight",
                       .reshaped = "model.decoder.layers.0.fc2.bias",
                       .as_i8 = "model.decoder.layers.0.fc1.weight",
                       .extra = "surprise"};
    struct result r;
    bind(&m, &r, small());
    ck_assert_int_eq(r.err, DG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(r.error.text, "4 faults"));
    ck_assert_ptr_nonnull(strstr(r.error.text, "missing model.encoder.layers.0.fc1.weight"));
    ck_assert_ptr_nonnull(
        strstr(r.error.text, "model.decoder.layers.0.fc2.bias is [5], expected [4]"));
    ck_assert_ptr_nonnull(strstr(r.error.text, "missing model.decoder.layers.0.fc1.weight_scale"));
    ck_assert_ptr_nonnull(strstr(r.error.text, "unexpected surprise"));
    end(&m, &r);
}
END_TEST

START_TEST(a_vector_is_never_i8)
{
    struct making m = {.as_i8 = "model.decoder.layers.0.fc1.bias"};
    struct result r;
    bind(&m, &r, small());
    ck_assert_int_eq(r.err, DG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(r.error.text, "fc1.bias has type I8, expected F32, F16 or BF16"));
    end(&m, &r);
}
END_TEST

START_TEST(tied_matrices_are_found_under_their_other_names)
{
    static const char *const names[] = {"model.encoder.embed_tokens.weight",
                                        "model.decoder.embed_tokens.weight", "lm_head.weight"};
    for (size_t i = 0; i < 3; i++) {
        struct making m = {.rename_from = "model.shared.weight", .rename_to = names[i]};
        struct result r;
        bind(&m, &r, small());
        ck_assert_msg(r.err == DG_OK, "%s", r.error.text);
        end(&m, &r);
    }
}
END_TEST

START_TEST(a_missing_output_bias_is_no_fault)
{
    struct making m = {.without = "final_logits_bias"};
    struct result r;
    bind(&m, &r, small());
    ck_assert_msg(r.err == DG_OK, "%s", r.error.text);
    ck_assert(!r.bp.output_bias);
    ck_assert_ptr_null(r.weights.transformer.output_bias.data);
    end(&m, &r);
}
END_TEST

START_TEST(misaligned_tensors_are_copied)
{
    struct making m = {.shift = 3};
    struct result r;
    bind(&m, &r, small());
    ck_assert_msg(r.err == DG_OK, "%s", r.error.text);
    const struct dg_tensor *tensor = &r.weights.transformer.source_embedding;
    ck_assert_uint_eq((uintptr_t)tensor->data % 4, 0);
    const struct dg_safetensors_entry *entry = dg_safetensors_find(&r.file, "model.shared.weight");
    ck_assert_ptr_nonnull(entry);
    ck_assert_uint_ne((uintptr_t)entry->bytes % 4, 0);
    ck_assert_int_eq(memcmp(tensor->data, entry->bytes, entry->len), 0);
    end(&m, &r);
}
END_TEST

START_TEST(every_kind_of_network_has_a_layout_that_binds)
{
    for (int i = 0; i < 12; i++) {
        struct dg_blueprint bp = small();
        bp.decoder_kind = (enum dg_decoder_kind)(i % 3);
        bp.aan_depth = i % 3 == 2 ? 3 : 0;
        bp.aan_F = 5;
        bp.aan_gate = i > 6;
        bp.norm_kind = i % 2 ? DG_NORM_RMS : DG_NORM_LAYER;
        bp.final_norm = bp.embedding_norm = i > 4;
        bp.tie_source_target = i % 4 < 2;
        bp.tie_output = i % 5 < 3;
        bp.positions = i > 8 ? DG_POS_LEARNED : DG_POS_HALVES;
        bp.n_positions = 7;
        struct making m = {0};
        struct result r;
        bind(&m, &r, bp);
        ck_assert_msg(r.err == DG_OK, "%d: %s", i, r.error.text);
        ck_assert_ptr_nonnull(r.weights.transformer.output.data);
        ck_assert_ptr_nonnull(r.weights.transformer.target_embedding.data);
        end(&m, &r);
    }
}
END_TEST

DG_UNIT(binds_every_weight_and_repeats_tied_ones, all_faults_are_named_at_once,
        a_vector_is_never_i8, tied_matrices_are_found_under_their_other_names,
        a_missing_output_bias_is_no_fault, misaligned_tensors_are_copied,
        every_kind_of_network_has_a_layout_that_binds)
