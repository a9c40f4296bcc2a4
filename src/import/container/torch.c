/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The two containers differ only in where the pickle and the storages are:
 *
 *     zip       P/data.pkl, P/data/<key> stored without compression
 *     legacy    five pickles (magic, protocol, system, object, keys), then for each key in order an
 *               i64 count and that many elements */
#include "import/container/torch.h"
#include "base/memory/mem.h"
#include "base/file/lfs.h"

#include <stdio.h>
#include <string.h>

enum { TENSORS_MAX = 20000, PICKLE_MAX = 64 << 20, KEYS_MAX = 20000 };

/* LONG1 of ten bytes: 0x1950a86a20f9469cfc6c. */
static const uint8_t legacy_magic[] = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                       0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

static bool is_legacy(const uint8_t *bytes, size_t len)
{
    return len >= 2 + sizeof legacy_magic && bytes[0] == 0x80 &&
           memcmp(bytes + 2, legacy_magic, sizeof legacy_magic) == 0;
}

/* ---- Storages -------------------------------------------------------------------------------- */

static bool find_storage(const struct dg_torch *file, struct dg_span key, size_t *index)
{
    for (size_t i = 0; i < file->n_storages; i++) {
        if (dg_span_eq(file->storages[i].key, key)) {
            *index = i;
            return true;
        }
    }
    return false;
}

static enum dg_err zip_storage(struct dg_torch *file, const char *folder,
                               const struct dg_pickle_storage *storage, const uint8_t **bytes,
                               size_t *len, struct dg_error *error)
{
    char path[512];
    struct dg_zip_data data;
    snprintf(path, sizeof path, "%sdata/%.*s", folder, DG_SPAN_FMT(storage->key));
    const struct dg_zip_member *member = dg_zip_find(&file->zip, path);
    if (!member)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "%s: there is no member %s", file->zip.name,
                            path);
    if (member->deflated)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: offset %zu: %s is compressed, expected stored", file->zip.name,
                            member->offset, path);
    enum dg_err err = dg_zip_data(&file->zip, member, SIZE_MAX, &data, error);
    if (err)
        return err;
    *bytes = data.bytes;
    *len = data.len;
    return DG_OK;
}

/* Adds a storage; its bytes must be exactly its elements. */
static enum dg_err add_zip_storage(struct dg_torch *file, const char *folder,
                                   const struct dg_pickle_storage *storage, size_t *index,
                                   struct dg_error *error)
{
    size_t wanted;
    struct dg_torch_storage *added = &file->storages[file->n_storages];
    enum dg_err err = zip_storage(file, folder, storage, &added->bytes, &added->len, error);
    if (err)
        return err;
    if (!dg_mul(storage->n_elements, dg_dtype_size(storage->dtype), &wanted) ||
        wanted != added->len)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: storage '%.*s' has %zu bytes, expected %zu elements of %zu",
                            file->zip.name, DG_SPAN_FMT(storage->key), added->len,
                            storage->n_elements, dg_dtype_size(storage->dtype));
    added->key = storage->key;
    *index = file->n_storages++;
    return DG_OK;
}

/* ---- The state dict -------------------------------------------------------------------------- */

static const struct dg_pickle_value *unwrap(const struct dg_pickle_value *dict)
{
    static const char *const keys[] = {"state_dict", "model"};
    for (size_t i = 0; i < 2; i++) {
        const struct dg_pickle_value *inner = dg_pickle_get(dict, dg_span_cstr(keys[i]));
        if (inner && inner->type == DG_PICKLE_DICT)
            return inner;
    }
    return dict;
}

static enum dg_err collect(struct dg_torch *file, const struct dg_pickle_value *top,
                           struct dg_error *error)
{
    const char *name = file->pickle.name;
    if (top->type != DG_PICKLE_DICT)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: offset %zu: expected a state dict", name,
                            top->at);
    const struct dg_pickle_value *dict = unwrap(top);
    if (dict->n / 2 > TENSORS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "%s: more than %d tensors", name, TENSORS_MAX);
    file->tensors = dg_arena_calloc(&file->pickle.arena, dict->n / 2 + 1, sizeof *file->tensors);
    if (!file->tensors)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i + 1 < dict->n; i += 2) {
        const struct dg_pickle_value *key = dict->items[i], *value = dict->items[i + 1];
        if (key->type != DG_PICKLE_TEXT || value->type != DG_PICKLE_TENSOR || key->text.len == 0 ||
            key->text.len > 512 || memchr(key->text.ptr, '\0', key->text.len))
            return dg_error_set(error, DG_ERR_FORMAT,
                                "%s: offset %zu: an entry of the state dict is not a named tensor",
                                name, key->at);
        struct dg_span kept = dg_arena_copy(&file->pickle.arena, key->text);
        if (!kept.ptr)
            return DG_ERR_NOMEM;
        file->tensors[file->n_tensors++] =
            (struct dg_torch_tensor){.name = kept.ptr, .view = value->tensor};
    }
    return DG_OK;
}

/* ---- The zip form ---------------------------------------------------------------------------- */

/* Finds the name of the only top folder, with its slash: the part before "data.pkl". */
static enum dg_err find_folder(const struct dg_torch *file, char *folder, size_t cap,
                               struct dg_error *error)
{
    for (size_t i = 0; i < file->zip.n_members; i++) {
        const char *name = file->zip.members[i].name;
        const char *slash = strchr(name, '/');
        if (slash && strcmp(slash + 1, "data.pkl") == 0) {
            if ((size_t)snprintf(folder, cap, "%.*s", (int)(slash + 1 - name), name) < cap)
                return DG_OK;
        }
    }
    return dg_error_set(error, DG_ERR_FORMAT,
                        "%s: no data.pkl inside: it was not written by torch.save", file->zip.name);
}

static enum dg_err check_kind(const struct dg_torch *file, const char *folder,
                              struct dg_error *error)
{
    char path[512];
    struct dg_zip_data data;
    snprintf(path, sizeof path, "%sconstants.pkl", folder);
    if (dg_zip_find(&file->zip, path))
        return dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "%s is a TorchScript archive (it holds a program); save its state_dict instead",
            file->zip.name);
    snprintf(path, sizeof path, "%sbyteorder", folder);
    const struct dg_zip_member *order = dg_zip_find(&file->zip, path);
    if (!order)
        return DG_OK;
    enum dg_err err = dg_zip_data(&file->zip, order, 64, &data, error);
    if (err)
        return err;
    if (!dg_span_eq(dg_span_make((const char *)data.bytes, data.len), DG_SPAN("little")))
        err =
            dg_error_set(error, DG_ERR_UNSUPPORTED, "%s: offset %zu: its byte order is not little",
                         file->zip.name, order->offset);
    dg_zip_data_free(&data);
    return err;
}

static enum dg_err load_zip_storages(struct dg_torch *file, const char *folder,
                                     struct dg_error *error)
{
    file->storages =
        dg_arena_calloc(&file->pickle.arena, file->n_tensors + 1, sizeof *file->storages);
    enum dg_err err = file->storages ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < file->n_tensors && !err; i++) {
        const struct dg_pickle_storage *storage = file->tensors[i].view->storage;
        if (!find_storage(file, storage->key, &file->tensors[i].storage))
            err = add_zip_storage(file, folder, storage, &file->tensors[i].storage, error);
    }
    return err;
}

static enum dg_err read_zip(struct dg_torch *file, const char *name, struct dg_error *error)
{
    char folder[256], path[512];
    struct dg_zip_data data;
    const struct dg_pickle_value *top;
    size_t end;
    enum dg_err err = dg_zip_parse(&file->zip, file->file.bytes, file->file.len, name, error);
    if (!err)
        err = find_folder(file, folder, sizeof folder, error);
    if (!err)
        err = check_kind(file, folder, error);
    if (err)
        return err;
    snprintf(path, sizeof path, "%sdata.pkl", folder);
    const struct dg_zip_member *member = dg_zip_find(&file->zip, path);
    if (member->deflated) /* texts of the pickle are borrowed from the mapping */
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: data.pkl is compressed, expected stored", name);
    err = dg_zip_data(&file->zip, member, PICKLE_MAX, &data, error);
    if (err)
        return err;
    dg_pickle_init(&file->pickle, data.bytes, data.len, "data.pkl");
    err = dg_pickle_load(&file->pickle, 0, &top, &end, error);
    if (!err)
        err = collect(file, top, error);
    if (err)
        return dg_error_wrap(error, err, "%s", name);
    return load_zip_storages(file, folder, error);
}

/* ---- The legacy form ------------------------------------------------------------------------- */

static enum dg_err check_system(const struct dg_pickle_value *system, const char *name,
                                struct dg_error *error)
{
    const struct dg_pickle_value *little =
        system->type == DG_PICKLE_DICT ? dg_pickle_get(system, DG_SPAN("little_endian")) : NULL;
    if (!little || little->type != DG_PICKLE_BOOL || !little->integer)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: offset %zu: field 'little_endian' is not true", name, system->at);
    return DG_OK;
}

/* Returns the storage that a tensor of the dict refers to by this key; NULL when none does. */
static const struct dg_pickle_storage *referred(const struct dg_torch *file, struct dg_span key)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (dg_span_eq(file->tensors[i].view->storage->key, key))
            return file->tensors[i].view->storage;
    return NULL;
}

static enum dg_err read_legacy_storage(struct dg_torch *file, const struct dg_pickle_value *key,
                                       size_t *at, struct dg_error *error)
{
    const char *name = file->pickle.name;
    if (key->type != DG_PICKLE_TEXT)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: offset %zu: a storage key is not a text",
                            name, key->at);
    const struct dg_pickle_storage *storage = referred(file, key->text);
    if (!storage)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: offset %zu: no tensor uses storage '%.*s'",
                            name, key->at, DG_SPAN_FMT(key->text));
    if (file->file.len - *at < 8)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "%s: offset %zu: the file ends before a storage's count", name, *at);
    uint64_t n = 0;
    for (size_t i = 8; i > 0; i--)
        n = n << 8 | file->file.bytes[*at + i - 1];
    if (n != storage->n_elements)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: offset %zu: a storage's count is %llu, expected %zu", name, *at,
                            (unsigned long long)n, storage->n_elements);
    size_t len;
    if (!dg_mul(storage->n_elements, dg_dtype_size(storage->dtype), &len) ||
        len > file->file.len - *at - 8)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "%s: offset %zu: the file ends inside a storage of %zu elements", name,
                            *at, storage->n_elements);
    file->storages[file->n_storages++] =
        (struct dg_torch_storage){key->text, file->file.bytes + *at + 8, len};
    *at += 8 + len;
    return DG_OK;
}

static enum dg_err load_legacy_storages(struct dg_torch *file, const struct dg_pickle_value *keys,
                                        size_t at, struct dg_error *error)
{
    const char *name = file->pickle.name;
    if (keys->type != DG_PICKLE_LIST || keys->n > KEYS_MAX)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: offset %zu: expected a list of storage keys",
                            name, keys->at);
    file->storages = dg_arena_calloc(&file->pickle.arena, keys->n + 1, sizeof *file->storages);
    enum dg_err err = file->storages ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < keys->n && !err; i++)
        err = read_legacy_storage(file, keys->items[i], &at, error);
    for (size_t i = 0; i < file->n_tensors && !err; i++)
        if (!find_storage(file, file->tensors[i].view->storage->key, &file->tensors[i].storage))
            err = dg_error_set(error, DG_ERR_FORMAT, "%s: tensor %s has no storage in the file",
                               name, file->tensors[i].name);
    return err;
}

static enum dg_err read_legacy(struct dg_torch *file, const char *name, struct dg_error *error)
{
    const struct dg_pickle_value *magic, *protocol, *system, *top, *keys;
    size_t at = 0;
    dg_pickle_init(&file->pickle, file->file.bytes, file->file.len, name);
    enum dg_err err = dg_pickle_load(&file->pickle, at, &magic, &at, error);
    if (!err)
        err = dg_pickle_load(&file->pickle, at, &protocol, &at, error);
    if (!err && (protocol->type != DG_PICKLE_INT || protocol->integer != 1001))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "%s: offset %zu: the protocol is not 1001",
                           name, protocol->at);
    if (!err)
        err = dg_pickle_load(&file->pickle, at, &system, &at, error);
    if (!err)
        err = check_system(system, name, error);
    if (!err)
        err = dg_pickle_load(&file->pickle, at, &top, &at, error);
    if (!err)
        err = collect(file, top, error);
    if (!err)
        err = dg_pickle_load(&file->pickle, at, &keys, &at, error);
    return err ? err : load_legacy_storages(file, keys, at, error);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static enum dg_err parse(struct dg_torch *file, const char *name, struct dg_error *error)
{
    const uint8_t *bytes = file->file.bytes;
    size_t len = file->file.len;
    if (dg_lfs_is_pointer(bytes, len))
        return dg_lfs_refuse(name, error);
    if (dg_zip_is(bytes, len))
        return read_zip(file, name, error);
    if (is_legacy(bytes, len))
        return read_legacy(file, name, error);
    if (len > 262 && memcmp(bytes + 257, "ustar", 5) == 0)
        return dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "%s: offset 257: the tar form of PyTorch before 0.1.12 is not supported", name);
    return dg_error_set(error, DG_ERR_FORMAT,
                        "%s: offset 0: neither a ZIP nor a legacy torch.save file", name);
}

enum dg_err dg_torch_parse(struct dg_torch *file, const uint8_t *bytes, size_t len,
                           const char *name, struct dg_error *error)
{
    struct dg_torch parsed = {.file = {.bytes = bytes, .len = len}, .borrowed = true};
    enum dg_err err = parse(&parsed, name, error);
    if (err)
        dg_torch_close(&parsed);
    else
        *file = parsed;
    return err;
}

enum dg_err dg_torch_open(struct dg_torch *file, const char *path, struct dg_error *error)
{
    struct dg_torch parsed = {0};
    enum dg_err err = dg_map_file_open(&parsed.file, path, SIZE_MAX / 2, error);
    if (err)
        return err;
    err = parse(&parsed, path, error);
    if (err)
        dg_torch_close(&parsed);
    else
        *file = parsed;
    return err;
}

void dg_torch_close(struct dg_torch *file)
{
    dg_zip_close(&file->zip);
    dg_pickle_deinit(&file->pickle);
    if (!file->borrowed && file->file.bytes)
        dg_map_file_close(&file->file);
    *file = (struct dg_torch){0};
}
