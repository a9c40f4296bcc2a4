/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Imports Marian's .bin with the files that Bergamot and Firefox put next to it: vocab.*.spm, or
 * srcvocab.* and trgvocab.*, and lex.*.bin. The path is the .bin itself or a directory with one of
 * them. Multipliers for activations (alphas) are ignored: we measure activations as they come. */
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "import/container/marian_bin.h"
#include "import/format/marian.h"
#include "model/lexicon.h"

#include <stdio.h>
#include <string.h>

enum { PATH_CAP = 4096, LEX_MAX = 256 << 20, BEGIN_BYTES = 16, LOADS_KEPT = 16 };

static const char config_name[] = "special:model.yml";

struct bin {
    struct dg_map_file map;
    struct dg_marian_bin file;
    size_t n_loads;
};

/* ---- Detection ------------------------------------------------------------------------------- */

enum kind { OTHER, MODEL, LEX };

static enum kind kind_of(const char *path)
{
    uint8_t begin[BEGIN_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file)
        return OTHER;
    size_t len = fread(begin, 1, sizeof begin, file);
    fclose(file);
    if (dg_lexicon_is(begin, len))
        return LEX;
    return dg_marian_bin_is(begin, len) ? MODEL : OTHER;
}

/* Finds the only file of a kind in a directory; if there are several, the only one that training
 * kept as a good one. Returns how many there are. */
static size_t find(const char *dir, enum kind kind, char *found)
{
    DIR *handle = dg_folder_open(dir);
    size_t n[DG_MARIAN_OTHER + 1] = {0};
    for (struct dirent *entry; handle && (entry = readdir(handle));) {
        const enum dg_marian_file is = dg_marian_file_of(entry->d_name);
        char path[2 * PATH_CAP];
        if (!dg_span_ends(dg_span_cstr(entry->d_name), DG_SPAN(".bin")) || is == DG_MARIAN_OTHER ||
            (size_t)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) >= PATH_CAP ||
            kind_of(path) != kind)
            continue;
        n[is]++;
        if (is == DG_MARIAN_MODEL || n[DG_MARIAN_MODEL] == 0)
            memcpy(found, path, strlen(path) + 1);
    }
    if (handle)
        closedir(handle);
    return n[DG_MARIAN_MODEL] ? n[DG_MARIAN_MODEL] : n[DG_MARIAN_COPY];
}

static bool detect(const char *path, bool is_dir)
{
    char found[PATH_CAP];
    if (is_dir)
        return find(path, MODEL, found) == 1;
    return kind_of(path) == MODEL ||
           (dg_span_ends(dg_span_cstr(path), DG_SPAN(".bin")) && kind_of(path) == OTHER);
}

/* ---- Items ----------------------------------------------------------------------------------- */

static enum dg_err load(void *ctx, size_t blob, const uint8_t **bytes, size_t *len,
                        struct dg_error *error)
{
    struct bin *bin = ctx;
    (void)error;
    if (++bin->n_loads % LOADS_KEPT == 0) /* until then, pages of the mapping count as this
                                             process's memory */
        dg_map_file_forget(&bin->map);
    *bytes = bin->file.items[blob].bytes;
    *len = bin->file.items[blob].len;
    return DG_OK;
}

static void close_bin(void *ctx)
{
    struct bin *bin = ctx;
    dg_marian_bin_close(&bin->file);
    if (bin->map.bytes)
        dg_map_file_close(&bin->map);
    dg_free(bin);
}

/* Quantised matrices are stored transposed. So the ones that dg_marian_add transposed are read
 * plainly, and the others are transposed. */
static void set_quantised(struct dg_import_tensor *tensor, const struct dg_marian_item *item)
{
    size_t rows = tensor->info.shape[0], cols = tensor->info.shape[1];
    bool turned = tensor->strides[0] == 1 && tensor->strides[1] == rows;
    tensor->scales = &item->multiplier;
    tensor->n_scales = 1;
    tensor->scale_divides = true;
    if (tensor->info.rank != 2 || strstr(item->name, "Wemb"))
        return;
    tensor->strides[0] = turned ? cols : 1;
    tensor->strides[1] = turned ? 1 : rows;
}

static enum dg_err add_item(struct dg_import *import, const struct bin *bin, size_t i,
                            struct dg_error *error)
{
    const struct dg_marian_item *item = &bin->file.items[i];
    if (strcmp(item->name, config_name) == 0 ||
        dg_span_ends(dg_span_cstr(item->name), DG_SPAN("_QuantMultA")))
        return DG_OK;
    for (size_t d = 0; d < item->rank; d++)
        if (item->shape[d] == 0) /* amun's records of its training */
            return DG_OK;
    if (item->dtype == DG_DTYPE_I8 && !item->is_intgemm)
        return dg_error_set(error, DG_ERR_UNSUPPORTED, "item %s holds bytes without a multiplier",
                            item->name);
    const size_t n_before = import->n_tensors;
    enum dg_err err =
        dg_marian_add(import, item->name, item->dtype, item->rank, item->shape, i, error);
    for (size_t n = n_before; !err && item->is_intgemm && n < import->n_tensors; n++)
        /* none, for an item that is left out; two, for Wpos */
        set_quantised(&import->tensors[n], item);
    return err;
}

/* True for Bergamot's fork, which computes "gelu" by the older formula. Its type codes tell it
 * apart. */
static bool is_bergamot(const struct dg_marian_bin *file)
{
    for (size_t i = 0; i < file->n_items; i++)
        if (file->items[i].type == 0x4101 || file->items[i].type == 0x4102)
            return true;
    return false;
}

static enum dg_err read_items(struct dg_import *import, const struct bin *bin,
                              struct dg_error *error)
{
    const struct dg_marian_item *config = dg_marian_bin_find(&bin->file, config_name);
    if (!config || dg_dtype_size(config->dtype) != 1)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "there is no item special:model.yml of bytes");
    enum dg_err err =
        dg_marian_config(&import->bp, dg_span_make((const char *)config->bytes, config->len),
                         is_bergamot(&bin->file), config_name, error);
    for (size_t i = 0; i < bin->file.n_items && !err; i++)
        err = add_item(import, bin, i, error);
    return err;
}

/* ---- The shortlist --------------------------------------------------------------------------- */

static enum dg_err add_lex(struct dg_import *import, const char *path, struct dg_error *error)
{
    char dir[PATH_CAP], found[PATH_CAP];
    struct dg_map_file map;
    struct dg_lexicon lex;
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    size_t n = find(dir[0] ? dir : "/", LEX, found);
    if (n == 0)
        return DG_OK;
    if (n > 1)
        return dg_error_set(error, DG_ERR_UNSUPPORTED, "%s holds %zu shortlists, expected one", dir,
                            n);
    enum dg_err err = dg_map_file_open(&map, found, LEX_MAX, error);
    if (err)
        return err;
    err = dg_lexicon_parse(&lex, map.bytes, map.len, found, import->bp.encoder.V,
                           import->bp.decoder.V, error);
    dg_map_file_close(&map);
    return err ? err : dg_import_copy_file(import, "lex.bin", found, error);
}

/* ---- The format ------------------------------------------------------------------------------ */

static enum dg_err open_bin(struct dg_import *import, const char *path, struct dg_error *error)
{
    char model[PATH_CAP];
    struct bin *bin = dg_xcalloc(1, sizeof *bin);
    import->format = "Marian .bin";
    import->ctx = bin;
    import->load = load;
    import->close = close_bin;
    import->own_config = true;
    if (find(path, MODEL, model) != 1 &&
        (size_t)snprintf(model, sizeof model, "%s", path) >= sizeof model)
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long");
    enum dg_err err = dg_map_file_open(&bin->map, model, SIZE_MAX / 2, error);
    if (!err)
        err = dg_marian_bin_parse(&bin->file, bin->map.bytes, bin->map.len, model, error);
    if (err)
        return err;
    err = read_items(import, bin, error);
    if (!err)
        err = dg_marian_vocabulary(import, model, error);
    if (!err)
        err = add_lex(import, model, error);
    return err ? dg_error_wrap(error, err, "%s", model) : DG_OK;
}

const struct dg_import_format dg_import_bergamot = {detect, open_bin};
