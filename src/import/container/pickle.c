/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The stack machine: a stack, a memo, and one function per group of opcodes. Opcode values are
 * those of Python's pickle protocol 2, which torch.save writes. */
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "import/container/pickle_int.h"

#include <inttypes.h>
#include <string.h>

enum {
    ARENA_MAX = 64 << 20,
    STACK_MAX = 200 * 1000,
    MEMO_MAX = 1 << 20,
    STEPS_MAX = 8 * 1000 * 1000,
    LINE_MAX = 256,
};

struct machine {
    struct dg_pickle *pickle;
    struct dg_error *error;
    size_t at;     /* next byte */
    size_t opcode; /* offset of the opcode being run */
    struct dg_pickle_value **stack;
    size_t n_stack, cap_stack;
    struct dg_pickle_value **memo;
    size_t cap_memo;
};

/* ---- Values ---------------------------------------------------------------------------------- */

void dg_pickle_init(struct dg_pickle *pickle, const uint8_t *bytes, size_t len, const char *name)
{
    *pickle = (struct dg_pickle){.bytes = bytes, .len = len, .name = name};
    dg_arena_init(&pickle->arena, ARENA_MAX);
}

void dg_pickle_deinit(struct dg_pickle *pickle)
{
    dg_arena_deinit(&pickle->arena);
}

struct dg_pickle_value *dg_pickle_make(struct dg_pickle *pickle, enum dg_pickle_type type)
{
    struct dg_pickle_value *value = dg_arena_calloc(&pickle->arena, 1, sizeof *value);
    if (value)
        value->type = type;
    return value;
}

enum dg_err dg_pickle_push(struct dg_pickle *pickle, struct dg_pickle_value *list,
                           struct dg_pickle_value *item)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 4;
        struct dg_pickle_value **items = dg_arena_alloc(&pickle->arena, cap * sizeof *items);
        if (!items)
            return DG_ERR_NOMEM;
        if (list->n)
            memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = item;
    return DG_OK;
}

const struct dg_pickle_value *dg_pickle_get(const struct dg_pickle_value *dict, struct dg_span key)
{
    const struct dg_pickle_value *found = NULL;
    for (size_t i = 0; i + 1 < dict->n; i += 2)
        if (dict->items[i]->type == DG_PICKLE_TEXT && dg_span_eq(dict->items[i]->text, key))
            found = dict->items[i + 1];
    return found;
}

/* ---- Bytes and stack ------------------------------------------------------------------------- */

static enum dg_err too_short(struct machine *m, const char *what)
{
    return dg_error_set(m->error, DG_ERR_TRUNCATED, "the file ends inside %s", what);
}

static enum dg_err take_bytes(struct machine *m, size_t n, const uint8_t **bytes, const char *what)
{
    if (n > m->pickle->len - m->at)
        return too_short(m, what);
    *bytes = m->pickle->bytes + m->at;
    m->at += n;
    return DG_OK;
}

/* Takes n bytes as an unsigned little-endian number. */
static enum dg_err take_uint(struct machine *m, size_t n, uint64_t *value, const char *what)
{
    const uint8_t *bytes = NULL;
    enum dg_err err = take_bytes(m, n, &bytes, what);
    if (err)
        return err;
    *value = 0;
    for (size_t i = n; i > 0; i--)
        *value = *value << 8 | bytes[i - 1];
    return DG_OK;
}

/* Takes the bytes up to a newline, and skips the newline. */
static enum dg_err take_line(struct machine *m, struct dg_span *line)
{
    const uint8_t *start = m->pickle->bytes + m->at;
    size_t left = m->pickle->len - m->at;
    const uint8_t *end = memchr(start, '\n', left < LINE_MAX ? left : LINE_MAX);
    if (!end && left < LINE_MAX)
        return too_short(m, "a name");
    if (!end)
        return dg_error_set(m->error, DG_ERR_LIMIT, "a name of more than %d bytes", LINE_MAX);
    *line = dg_span_make((const char *)start, (size_t)(end - start));
    m->at += line->len + 1;
    return DG_OK;
}

static enum dg_err push(struct machine *m, struct dg_pickle_value *value)
{
    if (!value)
        return dg_error_set(m->error, DG_ERR_LIMIT, "the pickle needs more than %d MiB",
                            ARENA_MAX >> 20);
    if (m->n_stack == STACK_MAX)
        return dg_error_set(m->error, DG_ERR_LIMIT, "the stack is deeper than %d", STACK_MAX);
    if (DG_GROW(m->stack, m->n_stack, m->cap_stack, 256))
        return DG_ERR_NOMEM;
    m->stack[m->n_stack++] = value;
    return DG_OK;
}

static enum dg_err make(struct machine *m, enum dg_pickle_type type, struct dg_pickle_value **value)
{
    *value = dg_pickle_make(m->pickle, type);
    if (*value)
        (*value)->at = m->opcode;
    return push(m, *value);
}

static enum dg_err pop(struct machine *m, struct dg_pickle_value **value)
{
    if (m->n_stack == 0 || m->stack[m->n_stack - 1]->type == DG_PICKLE_MARK)
        return dg_error_set(m->error, DG_ERR_FORMAT, "the stack is empty");
    *value = m->stack[--m->n_stack];
    return DG_OK;
}

/* Finds the index after the topmost mark. */
static enum dg_err find_mark(struct machine *m, size_t *first)
{
    for (size_t i = m->n_stack; i > 0; i--) {
        if (m->stack[i - 1]->type == DG_PICKLE_MARK) {
            *first = i;
            return DG_OK;
        }
    }
    return dg_error_set(m->error, DG_ERR_FORMAT, "there is no mark on the stack");
}

/* ---- Opcodes --------------------------------------------------------------------------------- */

static enum dg_err push_int(struct machine *m, size_t n)
{
    uint64_t bits = 0;
    struct dg_pickle_value *value = NULL;
    enum dg_err err = take_uint(m, n, &bits, "an integer");
    if (!err)
        err = make(m, DG_PICKLE_INT, &value);
    if (!err)
        value->integer = n == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    return err;
}

/* LONG1: a length byte and that many bytes, two's complement. */
static enum dg_err push_long(struct machine *m)
{
    uint64_t n = 0, bits = 0;
    const uint8_t *bytes = NULL;
    struct dg_pickle_value *value = NULL;
    enum dg_err err = take_uint(m, 1, &n, "an integer");
    if (!err)
        err = take_bytes(m, n, &bytes, "an integer");
    if (!err)
        err = make(m, n > 8 ? DG_PICKLE_BIG_INT : DG_PICKLE_INT, &value);
    if (err)
        return err;
    if (n > 8) {
        value->text = dg_span_make((const char *)bytes, n);
        return DG_OK;
    }
    for (size_t i = n; i > 0; i--)
        bits = bits << 8 | bytes[i - 1];
    if (n && n < 8 && bytes[n - 1] & 0x80)
        bits |= UINT64_MAX << (8 * n);
    value->integer = (int64_t)bits;
    return DG_OK;
}

static enum dg_err push_real(struct machine *m)
{
    const uint8_t *bytes = NULL;
    struct dg_pickle_value *value = NULL;
    enum dg_err err = take_bytes(m, 8, &bytes, "a number");
    if (!err)
        err = make(m, DG_PICKLE_REAL, &value);
    if (err)
        return err;
    uint64_t bits = 0; /* big-endian */
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&value->real, &bits, sizeof bits);
    return DG_OK;
}

static enum dg_err push_text(struct machine *m, size_t length_bytes)
{
    uint64_t len = 0;
    const uint8_t *bytes = NULL;
    struct dg_pickle_value *value = NULL;
    enum dg_err err = take_uint(m, length_bytes, &len, "a text's length");
    if (!err)
        err = take_bytes(m, len, &bytes, "a text");
    if (!err)
        err = make(m, DG_PICKLE_TEXT, &value);
    if (!err)
        value->text = dg_span_make((const char *)bytes, len);
    return err;
}

static enum dg_err push_bool(struct machine *m, bool is_true)
{
    struct dg_pickle_value *value = NULL;
    enum dg_err err = make(m, DG_PICKLE_BOOL, &value);
    if (!err)
        value->integer = is_true;
    return err;
}

static enum dg_err push_global(struct machine *m)
{
    struct dg_span module, name;
    struct dg_pickle_value *value = NULL;
    int64_t global;
    enum dg_err err = take_line(m, &module);
    if (!err)
        err = take_line(m, &name);
    if (err)
        return err;
    if (!dg_pickle_call_find(module, name, &global))
        return dg_error_set(
            m->error, DG_ERR_DENIED,
            "it asks for the name %.*s.%.*s, which a state dict does not need; refused",
            DG_SPAN_FMT(module), DG_SPAN_FMT(name));
    err = make(m, DG_PICKLE_GLOBAL, &value);
    if (!err)
        value->integer = global;
    return err;
}

/* Replaces the values from `first` to the top by one tuple. */
static enum dg_err make_tuple(struct machine *m, size_t first, bool drop_mark)
{
    struct dg_pickle_value *tuple = dg_pickle_make(m->pickle, DG_PICKLE_TUPLE);
    if (!tuple)
        return push(m, NULL);
    tuple->at = m->opcode;
    for (size_t i = first; i < m->n_stack; i++) {
        if (m->stack[i]->type == DG_PICKLE_MARK)
            return dg_error_set(m->error, DG_ERR_FORMAT, "a mark inside a tuple");
        enum dg_err err = dg_pickle_push(m->pickle, tuple, m->stack[i]);
        if (err)
            return push(m, NULL);
    }
    m->n_stack = first - (drop_mark ? 1 : 0);
    return push(m, tuple);
}

static enum dg_err small_tuple(struct machine *m, size_t n)
{
    if (m->n_stack < n)
        return dg_error_set(m->error, DG_ERR_FORMAT, "the stack is empty");
    return make_tuple(m, m->n_stack - n, false);
}

static enum dg_err marked_tuple(struct machine *m)
{
    size_t first = 0;
    enum dg_err err = find_mark(m, &first);
    return err ? err : make_tuple(m, first, true);
}

/* APPEND(S) and SETITEM(S): adds the values from `first` on to the container below them (and below
 * the mark). */
static enum dg_err extend(struct machine *m, enum dg_pickle_type type, size_t first, bool marked)
{
    size_t below = first - (marked ? 1 : 0);
    size_t n = m->n_stack - first;
    const char *what = type == DG_PICKLE_DICT ? "dict" : "list";
    if (below == 0 || m->stack[below - 1]->type != type || (type == DG_PICKLE_DICT && n % 2))
        return dg_error_set(m->error, DG_ERR_FORMAT, "there is no %s for its items", what);
    struct dg_pickle_value *container = m->stack[below - 1];
    for (size_t i = first; i < m->n_stack; i++) {
        if (m->stack[i]->type == DG_PICKLE_MARK)
            return dg_error_set(m->error, DG_ERR_FORMAT, "a mark inside a %s", what);
        if (dg_pickle_push(m->pickle, container, m->stack[i]))
            return push(m, NULL);
    }
    m->n_stack = below;
    return DG_OK;
}

static enum dg_err extend_top(struct machine *m, enum dg_pickle_type type, size_t n)
{
    if (m->n_stack < n + 1)
        return dg_error_set(m->error, DG_ERR_FORMAT, "the stack is empty");
    return extend(m, type, m->n_stack - n, false);
}

static enum dg_err extend_marked(struct machine *m, enum dg_pickle_type type)
{
    size_t first = 0;
    enum dg_err err = find_mark(m, &first);
    return err ? err : extend(m, type, first, true);
}

static enum dg_err put_memo(struct machine *m, size_t index_bytes)
{
    uint64_t index = 0;
    enum dg_err err = take_uint(m, index_bytes, &index, "a memo index");
    if (err)
        return err;
    if (index >= MEMO_MAX)
        return dg_error_set(m->error, DG_ERR_LIMIT, "memo index %" PRIu64 ", expected less than %d",
                            index, MEMO_MAX);
    if (m->n_stack == 0 || m->stack[m->n_stack - 1]->type == DG_PICKLE_MARK)
        return dg_error_set(m->error, DG_ERR_FORMAT, "the stack is empty");
    if (index >= m->cap_memo) {
        size_t cap = m->cap_memo ? m->cap_memo : 256;
        while (cap <= index)
            cap *= 2;
        struct dg_pickle_value **grown = dg_try_realloc(m->memo, cap * sizeof *grown);
        if (!grown)
            return DG_ERR_NOMEM;
        memset(grown + m->cap_memo, 0, (cap - m->cap_memo) * sizeof *grown);
        m->memo = grown;
        m->cap_memo = cap;
    }
    m->memo[index] = m->stack[m->n_stack - 1];
    return DG_OK;
}

static enum dg_err get_memo(struct machine *m, size_t index_bytes)
{
    uint64_t index = 0;
    enum dg_err err = take_uint(m, index_bytes, &index, "a memo index");
    if (err)
        return err;
    if (index >= m->cap_memo || !m->memo[index])
        return dg_error_set(m->error, DG_ERR_FORMAT, "nothing was put at memo index %" PRIu64,
                            index);
    return push(m, m->memo[index]);
}

static enum dg_err call(struct machine *m)
{
    struct dg_pickle_value *args, *callee, *result;
    enum dg_err err = pop(m, &args);
    if (!err)
        err = pop(m, &callee);
    if (err)
        return err;
    if (args->type != DG_PICKLE_TUPLE || callee->type != DG_PICKLE_GLOBAL)
        return dg_error_set(m->error, DG_ERR_FORMAT, "a call without a name or arguments");
    err = dg_pickle_call(m->pickle, callee->integer, args, &result, m->error);
    if (err)
        return dg_error_wrap(m->error, err, "%s", dg_pickle_call_name(callee->integer));
    return push(m, result);
}

static enum dg_err persistent(struct machine *m)
{
    struct dg_pickle_value *id, *result;
    enum dg_err err = pop(m, &id);
    if (!err)
        err = dg_pickle_call_storage(m->pickle, id, &result, m->error);
    return err ? err : push(m, result);
}

/* BUILD gives an object its attributes. The attributes of a dict (PyTorch's _metadata) are not
 * needed here. */
static enum dg_err build(struct machine *m)
{
    struct dg_pickle_value *state;
    enum dg_err err = pop(m, &state);
    if (!err && (m->n_stack == 0 || m->stack[m->n_stack - 1]->type != DG_PICKLE_DICT))
        err = dg_error_set(m->error, DG_ERR_DENIED,
                           "it sets attributes of something other than a dict");
    return err;
}

static enum dg_err step(struct machine *m, uint8_t opcode, bool *stop)
{
    struct dg_pickle_value *value = NULL;
    uint64_t version = 0;
    enum dg_err err;
    switch (opcode) {
    case 0x80: /* PROTO */
        err = take_uint(m, 1, &version, "the protocol");
        if (!err && version != 2)
            err = dg_error_set(m->error, DG_ERR_UNSUPPORTED,
                               "pickle protocol %" PRIu64 ", expected 2", version);
        return err;
    case '.': /* STOP */
        *stop = true;
        return DG_OK;
    case 'c': /* GLOBAL */
        return push_global(m);
    case '}': /* EMPTY_DICT */
        return make(m, DG_PICKLE_DICT, &value);
    case ']': /* EMPTY_LIST */
        return make(m, DG_PICKLE_LIST, &value);
    case ')': /* EMPTY_TUPLE */
        return make(m, DG_PICKLE_TUPLE, &value);
    case '(': /* MARK */
        return make(m, DG_PICKLE_MARK, &value);
    case 'N': /* NONE */
        return make(m, DG_PICKLE_NONE, &value);
    case 0x88: /* NEWTRUE */
        return push_bool(m, true);
    case 0x89: /* NEWFALSE */
        return push_bool(m, false);
    case 'J': /* BININT */
        return push_int(m, 4);
    case 'K': /* BININT1 */
        return push_int(m, 1);
    case 'M': /* BININT2 */
        return push_int(m, 2);
    case 0x8a: /* LONG1 */
        return push_long(m);
    case 'G': /* BINFLOAT */
        return push_real(m);
    case 'X': /* BINUNICODE */
        return push_text(m, 4);
    case 'U': /* SHORT_BINSTRING */
        return push_text(m, 1);
    case 'q': /* BINPUT */
        return put_memo(m, 1);
    case 'r': /* LONG_BINPUT */
        return put_memo(m, 4);
    case 'h': /* BINGET */
        return get_memo(m, 1);
    case 'j': /* LONG_BINGET */
        return get_memo(m, 4);
    case 't': /* TUPLE */
        return marked_tuple(m);
    case 0x85: /* TUPLE1 */
    case 0x86: /* TUPLE2 */
    case 0x87: /* TUPLE3 */
        return small_tuple(m, opcode - 0x84u);
    case 'a': /* APPEND */
        return extend_top(m, DG_PICKLE_LIST, 1);
    case 'e': /* APPENDS */
        return extend_marked(m, DG_PICKLE_LIST);
    case 's': /* SETITEM */
        return extend_top(m, DG_PICKLE_DICT, 2);
    case 'u': /* SETITEMS */
        return extend_marked(m, DG_PICKLE_DICT);
    case 'R':  /* REDUCE */
    case 0x81: /* NEWOBJ */
        return call(m);
    case 'Q': /* BINPERSID */
        return persistent(m);
    case 'b': /* BUILD */
        return build(m);
    default:
        return dg_error_set(m->error, DG_ERR_DENIED,
                            "the opcode is not one that a state dict needs; refused");
    }
}

static enum dg_err run(struct machine *m, struct dg_pickle_value **value)
{
    bool stop = false;
    enum dg_err err = DG_OK;
    uint8_t opcode = 0;
    for (size_t n = 0; !err && !stop; n++) {
        m->opcode = m->at;
        if (m->at >= m->pickle->len)
            err = too_short(m, "the pickle; a STOP is expected");
        else if (n == STEPS_MAX)
            err = dg_error_set(m->error, DG_ERR_LIMIT, "more than %d steps", STEPS_MAX);
        else
            err = step(m, opcode = m->pickle->bytes[m->at++], &stop);
    }
    if (!err)
        err = pop(m, value);
    if (err)
        dg_error_wrap(m->error, err, "%s: offset %zu: opcode 0x%02x", m->pickle->name, m->opcode,
                      opcode);
    return err;
}

enum dg_err dg_pickle_load(struct dg_pickle *pickle, size_t start,
                           const struct dg_pickle_value **value, size_t *end,
                           struct dg_error *error)
{
    struct machine m = {.pickle = pickle, .error = error, .at = start};
    struct dg_pickle_value *top = NULL;
    enum dg_err err = run(&m, &top);
    if (!err) {
        *value = top;
        *end = m.at;
    }
    dg_free(m.stack);
    dg_free(m.memo);
    return err;
}
