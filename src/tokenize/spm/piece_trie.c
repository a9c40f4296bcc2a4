/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Building the trie. The strings are sorted; a range of the sorted list is a node, and its children
 * are the sub-ranges with equal next byte. Nodes are placed breadth first, so that the top of the
 * trie, which every walk visits, is contiguous.
 *
 * Placing a node means finding a base whose nodes base ^ byte are all free. Free nodes form a list;
 * only the newest 64 blocks of 256 are tried, older blocks are left with their few holes. */
#include "tokenize/spm/piece_trie.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"

#include <stdlib.h>

enum {
    BLOCK = 256,
    OPEN_BLOCKS = 64,
    NODES_MAX = 1 << 22, /* a base has 22 bits */
};

/* ---- Sorting the strings --------------------------------------------------------------------- */

struct key {
    uint64_t head; /* the first eight bytes, the most significant first, which decide most
                      comparisons */
    const uint8_t *text;
    uint32_t len;
    uint32_t id;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    if (order)
        return order;
    return a->len < b->len ? -1 : a->len > b->len;
}

static struct key make_key(const struct dg_pieces *pieces, uint32_t id)
{
    struct dg_span text = dg_pieces_text(pieces, id);
    struct key key = {.text = (const uint8_t *)text.ptr, .len = (uint32_t)text.len, .id = id};
    for (unsigned i = 0; i < 8; i++)
        key.head = key.head << 8 | (i < key.len ? key.text[i] : 0);
    return key;
}

/* ---- Placing nodes --------------------------------------------------------------------------- */

struct range {
    uint32_t begin, end, depth; /* the keys [begin, end) have their first `depth` bytes in common */
    uint32_t node;              /* where their node lies */
};

/* A node while it is placed: its links in the list of free nodes, and whether it is taken or is
 * some node's base. */
struct slot {
    uint32_t next, prev;
    bool is_taken, is_base;
};

struct builder {
    struct dg_piece_trie *trie;
    const struct dg_pieces *pieces;
    const struct key *keys;
    struct slot *slots;
    size_t cap;         /* slots and nodes allocated */
    uint32_t free_head; /* the first free node of the open blocks; NONE: there is none */
    struct range *queue;
    size_t queue_head, queue_tail, queue_cap;
};

enum { NONE = UINT32_MAX };

static void unlink_free(struct builder *b, uint32_t pos)
{
    struct slot *slot = &b->slots[pos];
    if (slot->prev == NONE)
        b->free_head = slot->next;
    else
        b->slots[slot->prev].next = slot->next;
    if (slot->next != NONE)
        b->slots[slot->next].prev = slot->prev;
}

/* New nodes go to the front of the list, in ascending order. */
static void link_block(struct builder *b, uint32_t first)
{
    for (uint32_t i = 0; i < BLOCK; i++) {
        b->slots[first + i] = (struct slot){
            .prev = i ? first + i - 1 : NONE,
            .next = i + 1 < BLOCK ? first + i + 1 : b->free_head,
        };
    }
    if (b->free_head != NONE)
        b->slots[b->free_head].prev = first + BLOCK - 1;
    b->free_head = first;
}

static void close_block(struct builder *b, uint32_t first)
{
    for (uint32_t i = first; i < first + BLOCK; i++) {
        if (!b->slots[i].is_taken) {
            unlink_free(b, i);
            b->slots[i].is_taken = true;
        }
    }
}

static enum dg_err add_block(struct builder *b)
{
    size_t first = b->trie->n_nodes;
    if (first + BLOCK > NODES_MAX)
        return DG_ERR_LIMIT;
    if (first + BLOCK > b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 16 * BLOCK;
        uint32_t *nodes = dg_try_realloc(b->trie->nodes, cap * sizeof *nodes);
        if (!nodes)
            return DG_ERR_NOMEM;
        b->trie->nodes = nodes;
        struct slot *slots = dg_try_realloc(b->slots, cap * sizeof *slots);
        if (!slots)
            return DG_ERR_NOMEM;
        b->slots = slots;
        b->cap = cap;
    }
    memset(b->trie->nodes + first, 0, BLOCK * sizeof *b->trie->nodes);
    link_block(b, (uint32_t)first);
    if (first >= OPEN_BLOCKS * BLOCK)
        close_block(b, (uint32_t)first - OPEN_BLOCKS * BLOCK);
    b->trie->n_nodes += BLOCK;
    return DG_OK;
}

static bool base_fits(const struct builder *b, uint32_t base, const uint8_t *labels, unsigned n)
{
    if (b->slots[base].is_base)
        return false;
    for (unsigned i = 1; i < n; i++)
        if (b->slots[base ^ labels[i]].is_taken)
            return false;
    return true;
}

static enum dg_err find_base(struct builder *b, const uint8_t *labels, unsigned n, uint32_t *base)
{
    for (uint32_t pos = b->free_head; pos != NONE; pos = b->slots[pos].next) {
        if (base_fits(b, pos ^ labels[0], labels, n)) {
            *base = pos ^ labels[0];
            return DG_OK;
        }
    }
    *base = (uint32_t)b->trie->n_nodes;
    return add_block(b);
}

/* ---- Breadth first --------------------------------------------------------------------------- */

static enum dg_err enqueue(struct builder *b, struct range range)
{
    if (b->queue_tail == b->queue_cap) {
        size_t live = b->queue_tail - b->queue_head;
        if (live)
            memmove(b->queue, b->queue + b->queue_head, live * sizeof *b->queue);
        b->queue_head = 0;
        b->queue_tail = live;
        if ((live * 2 > b->queue_cap || b->queue_cap == 0) &&
            DG_RESERVE(b->queue, b->queue_cap + 1, b->queue_cap, 1024))
            return DG_ERR_NOMEM;
    }
    b->queue[b->queue_tail++] = range;
    return DG_OK;
}

static uint32_t end_of_child(const struct key *keys, uint32_t begin, uint32_t end, uint32_t depth)
{
    uint8_t byte = keys[begin].text[depth];
    while (begin < end && keys[begin].text[depth] == byte)
        begin++;
    return begin;
}

static enum dg_err place_child(struct builder *b, uint32_t pos, struct range child)
{
    const struct key *key = &b->keys[child.begin];
    uint32_t label = key->text[child.depth - 1];
    child.node = pos;
    if (child.end - child.begin > 1) {
        b->trie->nodes[pos] = label;
        return enqueue(b, child);
    }
    if (key->len == child.depth)
        b->trie->nodes[pos] = key->id << 10 | DG_PIECE_TRIE_LEAF | DG_PIECE_TRIE_END | label;
    else
        b->trie->nodes[pos] =
            dg_pieces_handle(b->pieces, key->id) << 10 | DG_PIECE_TRIE_LEAF | label;
    return DG_OK;
}

static void take(struct builder *b, uint32_t pos)
{
    unlink_free(b, pos);
    b->slots[pos].is_taken = true;
}

static enum dg_err place_children(struct builder *b, struct range node)
{
    uint8_t labels[BLOCK];
    unsigned n = 0;
    bool ends = b->keys[node.begin].len == node.depth;
    if (ends)
        labels[n++] = 0;
    uint32_t first = node.begin + ends;
    for (uint32_t i = first; i < node.end; i = end_of_child(b->keys, i, node.end, node.depth))
        labels[n++] = b->keys[i].text[node.depth];

    uint32_t base;
    enum dg_err err = find_base(b, labels, n, &base);
    if (err)
        return err;
    b->slots[base].is_base = true;
    b->trie->nodes[node.node] |= base << 10 | (ends ? DG_PIECE_TRIE_END : 0);
    if (ends) {
        take(b, base);
        b->trie->nodes[base] = b->keys[node.begin].id << 10;
    }
    for (uint32_t i = first; !err && i < node.end;) {
        struct range child = {i, end_of_child(b->keys, i, node.end, node.depth), node.depth + 1, 0};
        uint32_t pos = base ^ b->keys[i].text[node.depth];
        take(b, pos);
        err = place_child(b, pos, child);
        i = child.end;
    }
    return err;
}

static enum dg_err build(struct dg_piece_trie *trie, const struct dg_pieces *pieces,
                         const struct key *keys, size_t n)
{
    struct builder b = {.trie = trie, .pieces = pieces, .keys = keys, .free_head = NONE};
    enum dg_err err = add_block(&b);
    if (!err && n == 0)
        trie->nodes[0] = 1u << 10; /* a base that no other node has, without children */
    if (!err && n > 0) {
        take(&b, 0);
        b.slots[0].is_base = true; /* so that no base is 0, and a unit in use is never 0 */
        err = enqueue(&b, (struct range){0, (uint32_t)n, 0, 0});
    }
    while (!err && b.queue_head < b.queue_tail)
        err = place_children(&b, b.queue[b.queue_head++]);
    dg_free(b.slots);
    dg_free(b.queue);
    if (!err) {
        uint32_t *shrunk = dg_try_realloc(trie->nodes, trie->n_nodes * sizeof *shrunk);
        if (shrunk)
            trie->nodes = shrunk;
    }
    return err;
}

enum dg_err dg_piece_trie_init(struct dg_piece_trie *trie, const struct dg_pieces *pieces,
                               uint32_t *ids, size_t n, struct dg_error *error)
{
    *trie = (struct dg_piece_trie){0};
    struct key *keys = dg_try_calloc(n, sizeof *keys);
    if (!keys)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory to sort %zu pieces", n);
    size_t n_keys = 0;
    for (size_t i = 0; i < n; i++) {
        struct dg_span text = dg_pieces_text(pieces, ids[i]);
        if (!memchr(text.ptr, 0, text.len))
            keys[n_keys++] = make_key(pieces, ids[i]);
    }
    qsort(keys, n_keys, sizeof *keys, compare_keys);
    enum dg_err err = DG_OK;
    for (size_t i = 1; i < n_keys && !err; i++)
        if (compare_keys(&keys[i - 1], &keys[i]) == 0)
            err =
                dg_error_set(error, DG_ERR_FORMAT, "pieces[%u] and pieces[%u] are the same string",
                             keys[i - 1].id, keys[i].id);
    if (!err) {
        err = build(trie, pieces, keys, n_keys);
        if (err)
            dg_error_set(error, err, "pieces: the trie over %zu strings does not fit", n_keys);
    }
    dg_free(keys);
    if (err)
        dg_piece_trie_deinit(trie);
    return err;
}

void dg_piece_trie_deinit(struct dg_piece_trie *trie)
{
    dg_free(trie->nodes);
    *trie = (struct dg_piece_trie){0};
}

int32_t dg_piece_trie_find(const struct dg_piece_trie *trie, const struct dg_pieces *pieces,
                           const uint8_t *text, size_t len)
{
    uint32_t node = trie->nodes[0];
    for (uint32_t depth = 0; depth < len && text[depth] != 0;) {
        const uint32_t byte = text[depth++];
        node = trie->nodes[node >> 10 ^ byte];
        if ((node & 0xFF) != byte)
            return -1;
        if (node & DG_PIECE_TRIE_LEAF) {
            uint32_t piece_len = depth;
            if (node & DG_PIECE_TRIE_END)
                return depth == len ? (int32_t)(node >> 10) : -1;
            if (!dg_piece_trie_tail(pieces, node, text, len, depth, &piece_len) || piece_len != len)
                return -1;
            return (int32_t)dg_pieces_handle_id(pieces, node >> 10);
        }
        if (depth == len && node & DG_PIECE_TRIE_END)
            return (int32_t)(trie->nodes[node >> 10] >> 10);
    }
    return -1;
}

size_t dg_piece_trie_longest(const struct dg_piece_trie *trie, const struct dg_pieces *pieces,
                             const uint8_t *at, const uint8_t *end)
{
    struct dg_piece_trie_walk walk;
    size_t len = 0;
    dg_piece_trie_start(trie, at, &walk);
    while (dg_piece_trie_next(trie, pieces, end, &walk))
        len = walk.len;
    return len;
}
