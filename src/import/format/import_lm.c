/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Gives GPT-2's tensors our names. Its linear layers are stored as [in, out], with queries, keys
 * and values side by side in one matrix. They become views with other strides; nothing is copied.
 * Files of the bare network lack the "transformer." before every name; old files have the
 * look-ahead mask among the weights. */
#include "import/format/import_int.h"

#include <stdio.h>
#include <string.h>

/* The part of a name after "h.<layer>.", and our part after "model.layers.<layer>.". */
static const struct {
    const char *theirs, *ours;
    bool is_turned;   /* stored [in, out] */
    unsigned n_fused; /* 3: queries, keys and values */
} rows[] = {
    {"ln_1.weight", "input_layernorm.weight", false, 1},
    {"ln_1.bias", "input_layernorm.bias", false, 1},
    {"ln_2.weight", "post_attention_layernorm.weight", false, 1},
    {"ln_2.bias", "post_attention_layernorm.bias", false, 1},
    {"attn.c_attn.weight", "weight", true, 3},
    {"attn.c_attn.bias", "bias", false, 3},
    {"attn.c_proj.weight", "self_attn.o_proj.weight", true, 1},
    {"attn.c_proj.bias", "self_attn.o_proj.bias", false, 1},
    {"mlp.c_fc.weight", "mlp.up_proj.weight", true, 1},
    {"mlp.c_fc.bias", "mlp.up_proj.bias", false, 1},
    {"mlp.c_proj.weight", "mlp.down_proj.weight", true, 1},
    {"mlp.c_proj.bias", "mlp.down_proj.bias", false, 1},
};

static const struct {
    const char *theirs, *ours;
} others[] = {
    {"wte.weight", "model.embed_tokens.weight"},
    {"wpe.weight", "model.embed_positions.weight"},
    {"ln_f.weight", "model.norm.weight"},
    {"ln_f.bias", "model.norm.bias"},
};

static enum dg_err rename_to(struct dg_import *import, struct dg_import_tensor *tensor,
                             const char *name)
{
    const struct dg_span kept = dg_arena_copy(&import->arena, dg_span_cstr(name));
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    tensor->info.name = kept.ptr;
    return DG_OK;
}

static void turn(struct dg_import_tensor *tensor)
{
    const size_t rows_before = tensor->info.shape[0], stride = tensor->strides[0];
    tensor->info.shape[0] = tensor->info.shape[1];
    tensor->info.shape[1] = rows_before;
    tensor->strides[0] = tensor->strides[1];
    tensor->strides[1] = stride;
}

/* Divides queries, keys and values: `at` keeps the first, the others are added. */
static enum dg_err divide(struct dg_import *import, size_t at, const char *layer, const char *end)
{
    static const char *const parts[] = {"q", "k", "v"};
    const struct dg_import_tensor whole = import->tensors[at];
    const size_t n = whole.info.shape[0] / 3,
                 stride = whole.info.rank == 2 ? whole.strides[0] : whole.strides[1];
    if (whole.info.shape[0] % 3 || whole.scales)
        return DG_OK; /* the tensor keeps its name and is reported as unexpected */
    for (size_t i = 0; i < 3; i++) {
        char name[DG_LAYOUT_NAME_CAP];
        struct dg_import_tensor part = whole;
        snprintf(name, sizeof name, "model.layers.%s.self_attn.%s_proj.%s", layer, parts[i], end);
        part.info.shape[0] = n;
        part.offset += i * n * stride;
        struct dg_import_tensor *to =
            i == 0 ? &import->tensors[at]
                   : dg_import_add(import, name, part.info.dtype, part.info.rank, part.info.shape);
        if (!to)
            return DG_ERR_NOMEM;
        const char *kept = to->info.name;
        *to = part;
        to->info.name = kept;
        if (i == 0 && rename_to(import, to, name))
            return DG_ERR_NOMEM;
    }
    return DG_OK;
}

/* Renames a tensor of a layer; `rest` is the part of its name after "h.". */
static enum dg_err take_layer(struct dg_import *import, size_t at, const char *rest)
{
    char layer[8], name[DG_LAYOUT_NAME_CAP];
    const size_t digits = strspn(rest, "0123456789");
    if (digits == 0 || digits >= sizeof layer || rest[digits] != '.')
        return DG_OK;
    snprintf(layer, sizeof layer, "%.*s", (int)digits, rest);
    rest += digits + 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dg_import_tensor *tensor = &import->tensors[at];
        if (strcmp(rest, rows[i].theirs) != 0)
            continue;
        if (rows[i].is_turned && tensor->info.rank == 2)
            turn(tensor);
        if (rows[i].n_fused == 3)
            return divide(import, at, layer, rows[i].ours);
        snprintf(name, sizeof name, "model.layers.%s.%s", layer, rows[i].ours);
        return rename_to(import, tensor, name);
    }
    return DG_OK;
}

static bool is_mask(const char *rest)
{
    const size_t digits = strspn(rest, "0123456789");
    return strcmp(rest + digits, ".attn.bias") == 0 ||
           strcmp(rest + digits, ".attn.masked_bias") == 0;
}

enum dg_err dg_import_gpt2(struct dg_import *import)
{
    static const char before[] = "transformer.";
    size_t n_kept = 0;
    for (size_t i = 0; i < import->n_tensors; i++) {
        const char *name = import->tensors[i].info.name;
        if (strncmp(name, before, sizeof before - 1) == 0)
            name += sizeof before - 1;
        if (strncmp(name, "h.", 2) == 0 && is_mask(name + 2))
            continue;
        import->tensors[n_kept++] = import->tensors[i];
    }
    import->n_tensors = n_kept;
    for (size_t i = 0; i < n_kept; i++) {
        const char *name = import->tensors[i].info.name;
        enum dg_err err = DG_OK;
        if (strncmp(name, before, sizeof before - 1) == 0)
            name += sizeof before - 1;
        if (strncmp(name, "h.", 2) == 0)
            err = take_layer(import, i, name + 2);
        for (size_t k = 0; k < sizeof others / sizeof *others && !err; k++)
            if (strcmp(name, others[k].theirs) == 0)
                err = rename_to(import, &import->tensors[i], others[k].ours);
        if (err)
            return err;
    }
    return DG_OK;
}
