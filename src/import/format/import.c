/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The steps of every import: detect, open, match against the blueprint, write into a directory with
 * a temporary name, open that as a model, rename. */
#include "import/format/import.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "import/format/import_int.h"
#include "import/format/import_rows.h"
#include "model/config.h"
#include "model/model_dir.h"
#include "model/weights_out.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ARENA_MAX = 256 << 20, /* names, views, scales, vocabularies */
    COPY_MAX = 256 << 20,  /* one vocabulary file */
    PATH_CAP = 4096,
    CONFIG_CAP = 64 * 1024,
};

static const struct dg_import_format *const formats[] = {
    &dg_import_hf, &dg_import_argos, &dg_import_ct2, &dg_import_marian, &dg_import_bergamot};

/* ---- Helpers for formats --------------------------------------------------------------------- */

bool dg_import_has(const char *dir, const char *name)
{
    char path[PATH_CAP];
    struct stat st;
    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

const char *dg_import_path(struct dg_import *import, const char *dir, const char *name)
{
    size_t cap = strlen(dir) + strlen(name) + 2;
    char *path = dg_arena_alloc(&import->arena, cap);
    if (path)
        snprintf(path, cap, "%s/%s", dir, name);
    return path;
}

struct dg_import_tensor *dg_import_add(struct dg_import *import, const char *name,
                                       enum dg_dtype dtype, unsigned rank, const size_t *shape)
{
    if (import->n_tensors == DG_IMPORT_TENSORS_MAX)
        return NULL;
    if (DG_GROW(import->tensors, import->n_tensors, import->cap_tensors, 256))
        return NULL;
    struct dg_span copy = dg_arena_copy(&import->arena, dg_span_cstr(name));
    if (!copy.ptr)
        return NULL;
    struct dg_import_tensor *tensor = &import->tensors[import->n_tensors++];
    *tensor = (struct dg_import_tensor){.info = {copy.ptr, dtype, rank, {1, 1, 1, 1}}};
    for (unsigned i = 0; i < rank && i < DG_TENSOR_RANK_MAX; i++)
        tensor->info.shape[i] = shape[i];
    tensor->strides[0] = rank == 2 ? shape[1] : 0;
    tensor->strides[1] = 1;
    return tensor;
}

static enum dg_err add_file(struct dg_import *import, struct dg_import_file file,
                            struct dg_error *error)
{
    if (import->n_files == DG_IMPORT_FILES_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "more than %d files to copy", DG_IMPORT_FILES_MAX);
    import->files[import->n_files++] = file;
    return DG_OK;
}

enum dg_err dg_import_copy_file(struct dg_import *import, const char *name, const char *path,
                                struct dg_error *error)
{
    struct dg_span kept = dg_arena_copy(&import->arena, dg_span_cstr(path));
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    return add_file(import, (struct dg_import_file){.name = name, .path = kept.ptr}, error);
}

enum dg_err dg_import_make_file(struct dg_import *import, const char *name, struct dg_span bytes,
                                struct dg_error *error)
{
    struct dg_span kept = dg_arena_copy(&import->arena, bytes);
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    return add_file(import, (struct dg_import_file){.name = name, .bytes = kept}, error);
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* The tensors to write, in the order of the layout. */
struct writing {
    struct dg_import *import;
    const struct dg_import_opts *opts;
    struct dg_weights_out_item *items; /* [n]; names borrowed from `names` */
    char (*names)[DG_LAYOUT_NAME_CAP];
    size_t *sources; /* [n] index into import->tensors */
    size_t n, cap;
    uint64_t done, total;
    struct dg_error *error;
};

static enum dg_dtype stored_dtype(const struct dg_import_opts *opts, enum dg_dtype has)
{
    if (opts->as_type)
        return opts->type;
    switch (has) {
    case DG_DTYPE_F16:
    case DG_DTYPE_BF16:
    case DG_DTYPE_I8:
        return has;
    default:
        return DG_DTYPE_F32;
    }
}

static enum dg_err on_matched(void *ctx, const struct dg_layout_item *item, size_t index,
                              long scale)
{
    struct writing *w = ctx;
    const struct dg_import_tensor *tensor = &w->import->tensors[index];
    if (w->n == w->cap)
        return DG_ERR_LIMIT;
    const enum dg_dtype wanted = w->opts->choose ? w->opts->choose(w->opts->choose_ctx, item->name)
                                                 : stored_dtype(w->opts, tensor->info.dtype);
    enum dg_dtype dtype = dg_weights_out_dtype(wanted, item->rank);
    bool plain = dg_import_rows_is_plain(tensor, dtype), has_128 = false;
    enum dg_err err = DG_OK;
    if (plain && dtype == DG_DTYPE_I8)
        err = dg_import_rows_has_128(w->import, tensor, &has_128, w->error);
    if (err)
        return err;
    snprintf(w->names[w->n], sizeof w->names[w->n], "%s", item->name);
    w->sources[w->n] = index;
    w->items[w->n] = (struct dg_weights_out_item){.name = w->names[w->n],
                                                  .rank = item->rank,
                                                  .shape = {item->shape[0], item->shape[1]},
                                                  .dtype = dtype,
                                                  .has_raw = plain && !has_128};
    w->n++;
    return DG_OK;
}

static enum dg_err check_stop(const struct writing *w, struct dg_error *error)
{
    if (w->opts->stop && *w->opts->stop)
        return dg_error_set(error, DG_ERR_CANCELLED,
                            "the import was stopped; nothing is left of it");
    return DG_OK;
}

static enum dg_err give_rows(void *ctx, size_t i, size_t first, size_t n, float *rows,
                             struct dg_error *error)
{
    struct writing *w = ctx;
    enum dg_err err = check_stop(w, error);
    return err ? err
               : dg_import_rows(w->import, &w->import->tensors[w->sources[i]], first, n, rows,
                                error);
}

static enum dg_err give_raw(void *ctx, size_t i, const void **bytes, struct dg_error *error)
{
    struct writing *w = ctx;
    enum dg_err err = check_stop(w, error);
    return err ? err
               : dg_import_rows_raw(w->import, &w->import->tensors[w->sources[i]], bytes, error);
}

static enum dg_err give_raw_scales(void *ctx, size_t i, float *scales, struct dg_error *error)
{
    const struct writing *w = ctx;
    dg_import_rows_scales(&w->import->tensors[w->sources[i]], scales);
    for (size_t r = 0; r < w->items[i].shape[0]; r++)
        if (!(isfinite(scales[r]) && scales[r] >= 0))
            return dg_error_set(error, DG_ERR_RANGE, "tensor %s: the scale of row %zu is %g",
                                w->items[i].name, r, (double)scales[r]);
    return DG_OK;
}

static void on_progress(void *ctx, uint64_t more)
{
    struct writing *w = ctx;
    w->done += more;
    if (w->opts->progress)
        w->opts->progress(w->opts->progress_ctx, w->done, w->total);
}

static int by_name(const void *a, const void *b)
{
    const struct dg_import_tensor *x = a, *y = b;
    return strcmp(x->info.name, y->info.name);
}

static enum dg_err check_twice(const struct dg_import *import, struct dg_error *error)
{
    for (size_t i = 1; i < import->n_tensors; i++)
        if (strcmp(import->tensors[i - 1].info.name, import->tensors[i].info.name) == 0)
            return dg_error_set(error, DG_ERR_FORMAT, "tensor %s is there twice",
                                import->tensors[i].info.name);
    return DG_OK;
}

static enum dg_err match(struct writing *w, struct dg_error *error)
{
    struct dg_import *import = w->import;
    qsort(import->tensors, import->n_tensors, sizeof *import->tensors, by_name);
    enum dg_err err = check_twice(import, error);
    if (err)
        return err;
    struct dg_tensor_info *infos = dg_try_calloc(import->n_tensors + 1, sizeof *infos);
    struct dg_weights slots;
    if (!infos)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < import->n_tensors; i++)
        infos[i] = import->tensors[i].info;
    const struct dg_bind_table table = {infos, import->n_tensors, true};
    err = dg_layout_weights_init(&slots, &import->bp);
    if (!err) {
        err = dg_bind_match(&slots, &import->bp, &table, on_matched, w, error);
        dg_layout_weights_deinit(&slots);
    }
    dg_free(infos);
    return err;
}

static enum dg_err write_weights(struct dg_import *import, const char *path,
                                 const struct dg_import_opts *opts,
                                 struct dg_import_summary *summary, struct dg_error *error)
{
    struct writing w = {
        .import = import, .opts = opts, .cap = import->n_tensors + 16, .error = error};
    w.items = dg_try_calloc(w.cap, sizeof *w.items);
    w.names = dg_try_calloc(w.cap, sizeof *w.names);
    w.sources = dg_try_calloc(w.cap, sizeof *w.sources);
    enum dg_err err = w.items && w.names && w.sources ? match(&w, error) : DG_ERR_NOMEM;
    const struct dg_weights_out_source source = {&w, give_rows, give_raw, give_raw_scales,
                                                 on_progress};
    w.total = dg_weights_out_len(w.items, w.n);
    if (!err)
        err = dg_weights_out_save(path, w.items, w.n, &source, error);
    summary->n_tensors = w.n;
    summary->n_bytes = w.total;
    for (size_t i = 0; i < w.n; i++)
        summary->n_parameters += (uint64_t)w.items[i].shape[0] * w.items[i].shape[1];
    dg_free(w.items);
    dg_free(w.names);
    dg_free(w.sources);
    return err;
}

/* ---- Files next to the weights ----------------------------------------------------------------
 */

static enum dg_err write_file(const char *dir, const struct dg_import_file *file,
                              struct dg_error *error)
{
    char path[PATH_CAP];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file->name) >= sizeof path)
        return dg_error_set(error, DG_ERR_LIMIT, "the path of %s is too long", file->name);
    if (!file->path)
        return dg_file_out_save(path, 0644, file->bytes.ptr, file->bytes.len, error);
    struct dg_map_file map;
    enum dg_err err = dg_map_file_open(&map, file->path, COPY_MAX, error);
    if (err)
        return err;
    err = dg_file_out_save(path, 0644, map.bytes, map.len, error);
    dg_map_file_close(&map);
    return err;
}

static enum dg_err write_config(const struct dg_import *import, const char *dir,
                                struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, CONFIG_CAP);
    enum dg_err err = dg_config_print(&import->bp, &text);
    const struct dg_import_file file = {.name = "config.json", .bytes = dg_buf_span(&text)};
    if (!err)
        err = write_file(dir, &file, error);
    dg_buf_deinit(&text);
    return err;
}

static enum dg_err write_all(struct dg_import *import, const char *dir,
                             const struct dg_import_opts *opts, struct dg_import_summary *summary,
                             struct dg_error *error)
{
    char path[PATH_CAP + 64];
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    enum dg_err err = write_weights(import, path, opts, summary, error);
    if (!err && import->own_config)
        err = write_config(import, dir, error);
    for (size_t i = 0; i < import->n_files && !err; i++)
        err = write_file(dir, &import->files[i], error);
    if (err)
        return err;
    struct dg_model *model;
    err = dg_model_open(&model, dir, error);
    if (err)
        return dg_error_wrap(error, err, "the imported model does not open");
    dg_model_unref(model);
    summary->n_files = import->n_files + (import->own_config ? 1 : 0);
    return dg_file_out_sync_dir(dir, error);
}

/* ---- The directory --------------------------------------------------------------------------- */

/* Removes the flat directory that write_all was filling. */
static void remove_dir(const char *dir)
{
    DIR *handle = dg_folder_open(dir);
    for (struct dirent *entry; handle && (entry = readdir(handle));) {
        char path[PATH_CAP + 256];
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        unlink(path);
    }
    if (handle)
        closedir(handle);
    rmdir(dir);
}

/* The part of the temporary directory's name that follows OUT. The directory is locked while it is
 * filled, so one without a lock was left by an import that was killed. */
static const char staging_mark[] = ".importing-";

static int lock_dir(const char *dir)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Removes the directories that imports into `out` (its first `len` bytes) left when they were
 * killed. */
static void remove_left_over(const char *out, size_t len)
{
    char parent[PATH_CAP], path[PATH_CAP + 256];
    size_t at = len;
    while (at > 0 && out[at - 1] != '/')
        at--;
    snprintf(parent, sizeof parent, "%.*s", at ? (int)at : 1, at ? out : ".");
    DIR *handle = dg_folder_open(parent);
    for (struct dirent *entry; handle && (entry = readdir(handle));) {
        const char *rest = entry->d_name + (len - at);
        if (strlen(entry->d_name) != len - at + sizeof staging_mark - 1 + 6 ||
            memcmp(entry->d_name, out + at, len - at) != 0 ||
            memcmp(rest, staging_mark, sizeof staging_mark - 1) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        const int lock = lock_dir(path);
        if (lock < 0)
            continue;
        remove_dir(path);
        close(lock);
    }
    if (handle)
        closedir(handle);
}

static enum dg_err write_dir(struct dg_import *import, const char *out,
                             const struct dg_import_opts *opts, struct dg_import_summary *summary,
                             struct dg_error *error)
{
    char staging[PATH_CAP];
    size_t len = strlen(out);
    while (len > 1 && out[len - 1] == '/')
        len--;
    if ((size_t)snprintf(staging, sizeof staging, "%.*s%sXXXXXX", (int)len, out, staging_mark) >=
        sizeof staging)
        return dg_error_set(error, DG_ERR_LIMIT, "the path %s is too long", out);
    remove_left_over(out, len);
    if (!mkdtemp(staging))
        return dg_error_errno(error, "cannot make a directory beside %s", out);
    const int lock = lock_dir(staging);
    enum dg_err err = chmod(staging, 0755) == 0
                          ? DG_OK
                          : dg_error_errno(error, "cannot set the permissions of %s", staging);
    if (!err)
        err = write_all(import, staging, opts, summary, error);
    if (!err && rename(staging, out) != 0)
        err = dg_error_errno(error, "cannot move %s into place", out);
    if (err)
        remove_dir(staging);
    if (lock >= 0)
        close(lock);
    if (err)
        return err;
    char *slash = strrchr(staging, '/');
    if (slash)
        slash[slash == staging ? 1 : 0] = '\0';
    return dg_file_out_sync_dir(slash ? staging : ".", error);
}

static enum dg_err detect(const char *path, const struct dg_import_format **format,
                          struct dg_error *error)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return dg_error_errno(error, "cannot open %s", path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i]->detect(path, S_ISDIR(st.st_mode))) {
            *format = formats[i];
            return DG_OK;
        }
    }
    return dg_error_set(error, DG_ERR_UNSUPPORTED,
                        "%s is not a model of a known kind: expected a Hugging Face directory "
                        "(config.json with weights), a CTranslate2 directory (model.bin with "
                        "vocabularies), an Argos package, a Marian .npz or .bin, or its directory",
                        path);
}

enum dg_err dg_import(const char *path, const char *out, const struct dg_import_opts *opts,
                      struct dg_import_summary *summary, struct dg_error *error)
{
    struct stat st;
    const struct dg_import_format *format = NULL;
    if (lstat(out, &st) == 0)
        return dg_error_set(error, DG_ERR_EXISTS, "%s exists already; remove it or name another",
                            out);
    enum dg_err err = detect(path, &format, error);
    if (err)
        return err;
    struct dg_import import = {0};
    *summary = (struct dg_import_summary){0};
    dg_arena_init(&import.arena, ARENA_MAX);
    err = format->open(&import, path, error);
    if (!err)
        err = dg_blueprint_check(&import.bp, error);
    if (!err)
        err = write_dir(&import, out, opts, summary, error);
    snprintf(summary->format, sizeof summary->format, "%s", import.format ? import.format : "");
    snprintf(summary->note, sizeof summary->note, "%s", import.note ? import.note : "");
    summary->blueprint = import.bp;
    if (import.close)
        import.close(import.ctx);
    dg_free(import.tensors);
    dg_arena_deinit(&import.arena);
    return err;
}
