/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The list of known names. A name is either a row of this list or an error; nothing else is ever
 * looked up. */
#include "base/memory/mem.h"
#include "import/container/pickle_int.h"

enum kind { ORDERED_DICT, SIZE, TENSOR, TENSOR_V2, PARAMETER, STORAGE, UNTYPED };

static const struct {
    const char *module, *name, *full;
    enum kind kind;
    enum dg_dtype dtype; /* STORAGE */
} globals[] = {
#define ROW(module, name, kind, dtype)                                                             \
    {                                                                                              \
        module, name, module "." name, kind, dtype                                                 \
    }
    ROW("collections", "OrderedDict", ORDERED_DICT, 0),
    ROW("torch", "Size", SIZE, 0),
    ROW("torch._utils", "_rebuild_tensor", TENSOR, 0),
    ROW("torch._utils", "_rebuild_tensor_v2", TENSOR_V2, 0),
    ROW("torch._utils", "_rebuild_parameter", PARAMETER, 0),
    ROW("torch", "FloatStorage", STORAGE, DG_DTYPE_F32),
    ROW("torch", "HalfStorage", STORAGE, DG_DTYPE_F16),
    ROW("torch", "BFloat16Storage", STORAGE, DG_DTYPE_BF16),
    ROW("torch", "DoubleStorage", STORAGE, DG_DTYPE_F64),
    ROW("torch", "LongStorage", STORAGE, DG_DTYPE_I64),
    ROW("torch", "IntStorage", STORAGE, DG_DTYPE_I32),
    ROW("torch", "ShortStorage", STORAGE, DG_DTYPE_I16),
    ROW("torch", "CharStorage", STORAGE, DG_DTYPE_I8),
    ROW("torch", "ByteStorage", STORAGE, DG_DTYPE_U8),
    ROW("torch", "BoolStorage", STORAGE, DG_DTYPE_BOOL),
    ROW("torch", "UntypedStorage", UNTYPED, DG_DTYPE_U8),
    ROW("torch.storage", "UntypedStorage", UNTYPED, DG_DTYPE_U8),
    ROW("torch.storage", "_UntypedStorage", UNTYPED, DG_DTYPE_U8),
#undef ROW
};

bool dg_pickle_call_find(struct dg_span module, struct dg_span name, int64_t *global)
{
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        if (dg_span_eq(module, dg_span_cstr(globals[i].module)) &&
            dg_span_eq(name, dg_span_cstr(globals[i].name))) {
            *global = (int64_t)i;
            return true;
        }
    }
    return false;
}

const char *dg_pickle_call_name(int64_t global)
{
    return globals[global].full;
}

static enum dg_err expected(struct dg_error *error, const char *what)
{
    return dg_error_set(error, DG_ERR_FORMAT, "expected %s", what);
}

static bool is_count(const struct dg_pickle_value *value)
{
    return value->type == DG_PICKLE_INT && value->integer >= 0;
}

/* ---- Storages -------------------------------------------------------------------------------- */

enum dg_err dg_pickle_call_storage(struct dg_pickle *pickle, const struct dg_pickle_value *id,
                                   struct dg_pickle_value **result, struct dg_error *error)
{
    if (id->type != DG_PICKLE_TUPLE || id->n < 5 || id->n > 6)
        return expected(error, "a persistent id of 5 or 6 parts");
    struct dg_pickle_value *const *part = id->items;
    if (part[0]->type != DG_PICKLE_TEXT || !dg_span_eq(part[0]->text, DG_SPAN("storage")))
        return expected(error, "a persistent id that begins with 'storage'");
    if (part[1]->type != DG_PICKLE_GLOBAL ||
        (globals[part[1]->integer].kind != STORAGE && globals[part[1]->integer].kind != UNTYPED))
        return expected(error, "a storage class in the persistent id");
    if (part[2]->type != DG_PICKLE_TEXT || part[2]->text.len == 0 || part[2]->text.len > 64)
        return expected(error, "a key of 1 to 64 bytes in the persistent id");
    if (!is_count(part[4]))
        return expected(error, "the number of elements in the persistent id");
    if (id->n == 6 && part[5]->type != DG_PICKLE_NONE)
        return dg_error_set(error, DG_ERR_UNSUPPORTED, "a storage that is a view of another one");
    struct dg_pickle_storage *storage = dg_arena_calloc(&pickle->arena, 1, sizeof *storage);
    *result = dg_pickle_make(pickle, DG_PICKLE_STORAGE);
    if (!storage || !*result)
        return DG_ERR_NOMEM;
    storage->dtype = globals[part[1]->integer].dtype;
    storage->untyped = globals[part[1]->integer].kind == UNTYPED;
    storage->key = part[2]->text;
    storage->n_elements = (size_t)part[4]->integer;
    (*result)->storage = storage;
    return DG_OK;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

/* Reads a tuple of counts into `out`; `rank` gets their number. */
static enum dg_err read_counts(const struct dg_pickle_value *tuple, const char *what, size_t *out,
                               unsigned *rank, struct dg_error *error)
{
    if (tuple->type != DG_PICKLE_TUPLE)
        return expected(error, what);
    if (tuple->n > DG_TENSOR_RANK_MAX)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "a tensor of %zu dimensions, expected at most %d", tuple->n,
                            DG_TENSOR_RANK_MAX);
    for (size_t i = 0; i < tuple->n; i++) {
        if (!is_count(tuple->items[i]))
            return expected(error, what);
        out[i] = (size_t)tuple->items[i]->integer;
    }
    *rank = (unsigned)tuple->n;
    return DG_OK;
}

/* Checks that offset + sum of (size - 1) * stride is inside the storage. */
static enum dg_err check_reach(const struct dg_pickle_tensor *tensor, struct dg_error *error)
{
    size_t last = tensor->offset;
    for (unsigned i = 0; i < tensor->rank; i++) {
        size_t step;
        if (tensor->shape[i] == 0)
            return DG_OK;
        if (!dg_mul(tensor->shape[i] - 1, tensor->strides[i], &step) || !dg_add(last, step, &last))
            return dg_error_set(error, DG_ERR_RANGE,
                                "a tensor's size times stride does not fit 64 bits");
    }
    if (last >= tensor->storage->n_elements)
        return dg_error_set(error, DG_ERR_RANGE,
                            "a tensor reaches to element %zu of a storage of %zu", last,
                            tensor->storage->n_elements);
    return DG_OK;
}

static enum dg_err make_tensor(struct dg_pickle *pickle, const struct dg_pickle_value *args,
                               struct dg_pickle_value **result, struct dg_error *error)
{
    if (args->n < 4 || args->items[0]->type != DG_PICKLE_STORAGE || !is_count(args->items[1]))
        return expected(error, "storage, offset, size and stride of a tensor");
    struct dg_pickle_tensor *tensor = dg_arena_calloc(&pickle->arena, 1, sizeof *tensor);
    *result = dg_pickle_make(pickle, DG_PICKLE_TENSOR);
    if (!tensor || !*result)
        return DG_ERR_NOMEM;
    tensor->storage = args->items[0]->storage;
    tensor->offset = (size_t)args->items[1]->integer;
    unsigned n_strides = 0;
    enum dg_err err = read_counts(args->items[2], "a tensor's size as a tuple", tensor->shape,
                                  &tensor->rank, error);
    if (!err)
        err = read_counts(args->items[3], "a tensor's stride as a tuple", tensor->strides,
                          &n_strides, error);
    if (!err && n_strides != tensor->rank)
        err = expected(error, "as many strides as dimensions");
    if (!err && tensor->storage->untyped)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "a tensor over an untyped storage");
    if (!err)
        err = check_reach(tensor, error);
    (*result)->tensor = tensor;
    return err;
}

/* ---- The rest -------------------------------------------------------------------------------- */

/* OrderedDict() or OrderedDict([(key, value), ...]). */
static enum dg_err make_dict(struct dg_pickle *pickle, const struct dg_pickle_value *args,
                             struct dg_pickle_value **result, struct dg_error *error)
{
    *result = dg_pickle_make(pickle, DG_PICKLE_DICT);
    if (!*result)
        return DG_ERR_NOMEM;
    if (args->n == 0)
        return DG_OK;
    const struct dg_pickle_value *pairs = args->items[0];
    if (args->n > 1 || pairs->type != DG_PICKLE_LIST)
        return expected(error, "OrderedDict with nothing or one list");
    for (size_t i = 0; i < pairs->n; i++) {
        const struct dg_pickle_value *pair = pairs->items[i];
        if ((pair->type != DG_PICKLE_TUPLE && pair->type != DG_PICKLE_LIST) || pair->n != 2)
            return expected(error, "pairs in the list of an OrderedDict");
        enum dg_err err = dg_pickle_push(pickle, *result, pair->items[0]);
        if (!err)
            err = dg_pickle_push(pickle, *result, pair->items[1]);
        if (err)
            return err;
    }
    return DG_OK;
}

enum dg_err dg_pickle_call(struct dg_pickle *pickle, int64_t global,
                           const struct dg_pickle_value *args, struct dg_pickle_value **result,
                           struct dg_error *error)
{
    switch (globals[global].kind) {
    case ORDERED_DICT:
        return make_dict(pickle, args, result, error);
    case SIZE:
        if (args->n != 1 || args->items[0]->type != DG_PICKLE_TUPLE)
            return expected(error, "torch.Size of one tuple");
        *result = args->items[0];
        return DG_OK;
    case TENSOR:
    case TENSOR_V2:
        return make_tensor(pickle, args, result, error);
    case PARAMETER:
        if (args->n < 1 || args->items[0]->type != DG_PICKLE_TENSOR)
            return expected(error, "a parameter of a tensor");
        *result = args->items[0];
        return DG_OK;
    case STORAGE:
    case UNTYPED:
        break;
    }
    return dg_error_set(error, DG_ERR_UNSUPPORTED, "a call of %s", globals[global].full);
}
