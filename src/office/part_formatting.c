/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Arranges the atoms of a block in three passes. The first finds pairs: the two ends of a range,
 * and the marks of a field, if they stand in the same containers and overlap with no other pair.
 * The second lists everything that has a place in the text, in levels: the text inside each pair is
 * a level of its own. The third chooses for each level the formatting that most of its text has,
 * and writes the text, in which other formatting is a group. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/entity.h"
#include "office/part_int.h"

#include <string.h>

enum { OPENS_MAX = 1 << 20 };

/* A pair that is open while pairs are searched. */
struct open {
    size_t atom;
    enum { CONTAINER, RANGE, FIELD } kind;
};

/* A place in the text. */
struct entry {
    enum { TEXT, OPEN, CLOSE, POINT, BREAK } kind;
    size_t at;         /* TEXT: the index of the atom; otherwise that of the node */
    size_t next;       /* TEXT: the next text of the same level; SIZE_MAX for none */
    uint32_t upcoming; /* the format of the next text in this level; NONE for none */
};

#define NONE UINT32_MAX

/* The state of a level while its entries are walked through. */
struct level {
    size_t node; /* SIZE_MAX: the block itself */
    size_t first, last;
};

struct arranging {
    struct dg_office_part *part;
    struct dg_block *block;
    struct dg_atom *atoms; /* [n] */
    size_t n;
    struct dg_rows opens, entries, levels;
    struct dg_map starts; /* starts of ranges, by their ids */
    enum dg_err err;
};

/* ---- Pairs ----------------------------------------------------------------------------------- */

static struct open *top(const struct arranging *a)
{
    return a->opens.n ? (struct open *)a->opens.items + a->opens.n - 1 : NULL;
}

static void push(struct arranging *a, size_t atom, int kind)
{
    struct open *open = dg_rows_add(&a->opens, sizeof *open);
    if (!open) {
        a->err = DG_ERR_NOMEM;
        return;
    }
    open->atom = atom;
    open->kind = kind;
}

/* Drops the open ranges, which cannot end outside the element that ends or changes now. */
static void drop_ranges(struct arranging *a)
{
    while (top(a) && top(a)->kind == RANGE)
        a->opens.n--;
}

static void end_container(struct arranging *a)
{
    while (top(a) && top(a)->kind != CONTAINER)
        a->opens.n--;
    if (top(a))
        a->opens.n--;
}

/* The name of a mark without "Start", "start", "End" or "end", and its id: a bookmark and a comment
 * may have the same one. */
static struct dg_span key_of(const struct arranging *a, const struct dg_atom *atom,
                             struct dg_buf *key)
{
    const struct dg_span tag = dg_span_sub(a->part->bytes, atom->at, atom->len);
    const size_t ending = atom->kind == DG_ATOM_START ? strlen("start") : strlen("end");
    size_t n = 1;
    while (n < tag.len && !strchr(" \t\r\n/>", tag.ptr[n]))
        n++;
    enum dg_err err = dg_buf_append_span(key, dg_span_sub(tag, 0, n > ending ? n - ending : n));
    if (!err)
        err = dg_buf_append_span(key, atom->id);
    return err ? (struct dg_span){NULL, 0} : dg_buf_span(key);
}

static void start_range(struct arranging *a, size_t i)
{
    struct dg_buf buf;
    dg_buf_init(&buf, SIZE_MAX / 4);
    struct dg_span key = key_of(a, &a->atoms[i], &buf);
    key = key.ptr ? dg_arena_copy(&a->part->arena, key) : key;
    a->err = key.ptr ? dg_map_put(&a->starts, key, i) : DG_ERR_NOMEM;
    dg_buf_deinit(&buf);
    if (!a->err)
        push(a, i, RANGE);
}

/* True for a range whose ends cannot be a pair, because it overlaps with another. */
static void part_range(struct arranging *a, size_t start, size_t end)
{
    a->atoms[start].kind = DG_ATOM_BREAK;
    a->atoms[end].kind = DG_ATOM_BREAK;
}

static void end_range(struct arranging *a, size_t i)
{
    uint64_t start;
    struct dg_buf buf;
    dg_buf_init(&buf, SIZE_MAX / 4);
    const struct dg_span key = key_of(a, &a->atoms[i], &buf);
    const bool is_here = key.ptr && dg_map_remove(&a->starts, key, &start);
    dg_buf_deinit(&buf);
    if (!key.ptr)
        a->err = DG_ERR_NOMEM;
    if (!is_here) {
        a->atoms[i].kind = DG_ATOM_POINT;
        return;
    }
    size_t at = a->opens.n;
    const struct open *opens = a->opens.items;
    while (at > 0 && opens[at - 1].kind == RANGE && opens[at - 1].atom > start)
        at--;
    if (at > 0 && opens[at - 1].kind == RANGE && opens[at - 1].atom == start) {
        a->opens.n = at - 1;
        a->atoms[start].partner = i;
    } else {
        part_range(a, (size_t)start, i);
    }
}

static void end_field(struct arranging *a, size_t i)
{
    drop_ranges(a);
    if (top(a) && top(a)->kind == FIELD) {
        a->atoms[top(a)->atom].partner = i;
        a->opens.n--;
    }
}

static void find_pairs(struct arranging *a)
{
    for (size_t i = 0; i < a->n && !a->err; i++) {
        struct dg_atom *atom = &a->atoms[i];
        switch ((enum dg_atom_kind)atom->kind) {
        case DG_ATOM_OPEN:
            push(a, i, CONTAINER);
            break;
        case DG_ATOM_CLOSE:
            end_container(a);
            break;
        case DG_ATOM_START:
            start_range(a, i);
            break;
        case DG_ATOM_END:
            end_range(a, i);
            break;
        case DG_ATOM_FIELD_BEGIN:
            push(a, i, FIELD);
            break;
        case DG_ATOM_FIELD_CODE:
            if (top(a) && top(a)->kind == FIELD)
                a->atoms[top(a)->atom].is_link |= atom->is_link;
            break;
        case DG_ATOM_FIELD_SEPARATE:
            drop_ranges(a);
            if (top(a) && top(a)->kind == FIELD && !a->atoms[top(a)->atom].separate)
                a->atoms[top(a)->atom].separate = i;
            break;
        case DG_ATOM_FIELD_END:
            end_field(a, i);
            break;
        default:
            break;
        }
    }
}

/* ---- Entries --------------------------------------------------------------------------------- */

static struct entry *add_entry(struct arranging *a, int kind, size_t at)
{
    struct entry *entry = a->err ? NULL : dg_rows_add(&a->entries, sizeof *entry);
    if (!entry) {
        a->err = DG_ERR_NOMEM;
        return NULL;
    }
    entry->kind = kind;
    entry->at = at;
    entry->next = SIZE_MAX;
    entry->upcoming = NONE;
    return entry;
}

static struct dg_node *nodes_of(const struct arranging *a)
{
    return (struct dg_node *)a->part->nodes.items + a->block->node;
}

static size_t add_node(struct arranging *a, enum dg_node_kind kind, size_t open, size_t open_end)
{
    struct dg_node *node = a->err ? NULL : dg_rows_add(&a->part->nodes, sizeof *node);
    if (!node) {
        a->err = DG_ERR_NOMEM;
        return SIZE_MAX;
    }
    *node = (struct dg_node){.kind = (uint8_t)kind, .open = open, .open_end = open_end};
    return a->block->n_nodes++;
}

static void open_pair(struct arranging *a, size_t open, size_t open_end)
{
    const size_t node = add_node(a, DG_NODE_PAIR, open, open_end);
    struct level *level = a->err ? NULL : dg_rows_add(&a->levels, sizeof *level);
    if (!level) {
        a->err = DG_ERR_NOMEM;
        return;
    }
    level->node = node;
    add_entry(a, OPEN, node);
}

static void close_pair(struct arranging *a, size_t close)
{
    if (a->levels.n == 0)
        return;
    const struct level *level = (struct level *)a->levels.items + --a->levels.n;
    struct dg_node *node = nodes_of(a) + level->node;
    node->close = close;
    node->close_end = close + 1;
    add_entry(a, CLOSE, level->node);
}

static void list_entries(struct arranging *a)
{
    for (size_t i = 0; i < a->n && !a->err; i++) {
        const struct dg_atom *atom = &a->atoms[i];
        switch ((enum dg_atom_kind)atom->kind) {
        case DG_ATOM_TEXT:
        case DG_ATOM_SPACE:
            add_entry(a, TEXT, i);
            break;
        case DG_ATOM_OPEN:
            open_pair(a, i, i + 1);
            break;
        case DG_ATOM_CLOSE:
            close_pair(a, i);
            break;
        case DG_ATOM_START:
            if (atom->partner)
                open_pair(a, i, i + 1);
            else
                add_entry(a, POINT, add_node(a, DG_NODE_POINT, i, i + 1));
            break;
        case DG_ATOM_END:
            close_pair(a, i);
            break;
        case DG_ATOM_FIELD_BEGIN:
            if (atom->partner && atom->is_link && atom->separate) {
                a->atoms[atom->partner].is_link = true;
                open_pair(a, i, atom->separate + 1);
                i = atom->separate;
            } else if (atom->partner) {
                add_entry(a, POINT, add_node(a, DG_NODE_POINT, i, atom->partner + 1));
                i = atom->partner;
            } else {
                add_entry(a, BREAK, add_node(a, DG_NODE_POINT, i, i + 1));
            }
            break;
        case DG_ATOM_FIELD_END: /* ends a link, or stands alone; others are skipped */
            if (atom->is_link)
                close_pair(a, i);
            else
                add_entry(a, BREAK, add_node(a, DG_NODE_POINT, i, i + 1));
            break;
        case DG_ATOM_POINT:
            add_entry(a, POINT, add_node(a, DG_NODE_POINT, i, i + 1));
            break;
        default:
            add_entry(a, BREAK, add_node(a, DG_NODE_POINT, i, i + 1));
            break;
        }
    }
}

/* ---- Formats --------------------------------------------------------------------------------- */

static struct dg_format *formats_of(const struct arranging *a)
{
    return a->part->formats.items;
}

/* The format that most of a level's text has. */
static void choose_format(struct arranging *a, const struct level *level)
{
    const struct entry *entries = a->entries.items;
    struct dg_format *formats = formats_of(a);
    uint32_t best = NONE;
    for (size_t i = level->first; i != SIZE_MAX; i = entries[i].next) {
        const struct dg_atom *atom = &a->atoms[entries[i].at];
        formats[atom->format].weight += atom->len;
        if (best == NONE || formats[atom->format].weight > formats[best].weight)
            best = atom->format;
    }
    for (size_t i = level->first; i != SIZE_MAX; i = entries[i].next)
        formats[a->atoms[entries[i].at].format].weight = 0;
    best = best == NONE ? 0 : best;
    if (level->node == SIZE_MAX)
        a->block->format = best;
    else
        nodes_of(a)[level->node].format = best;
}

static struct level *enter(struct arranging *a, size_t node)
{
    struct level *level = dg_rows_add(&a->levels, sizeof *level);
    if (level)
        *level = (struct level){.node = node, .first = SIZE_MAX, .last = SIZE_MAX};
    else
        a->err = DG_ERR_NOMEM;
    return level;
}

static void choose_formats(struct arranging *a)
{
    struct entry *entries = a->entries.items;
    a->levels.n = 0;
    enter(a, SIZE_MAX);
    for (size_t i = 0; i < a->entries.n && !a->err; i++) {
        struct level *level = (struct level *)a->levels.items + a->levels.n - 1;
        if (entries[i].kind == OPEN) {
            enter(a, entries[i].at);
        } else if (entries[i].kind == CLOSE) {
            choose_format(a, level);
            a->levels.n--;
        } else if (entries[i].kind == TEXT) {
            if (level->last == SIZE_MAX)
                level->first = i;
            else
                entries[level->last].next = i;
            level->last = i;
        }
    }
    while (a->levels.n > 0 && !a->err)
        choose_format(a, (struct level *)a->levels.items + --a->levels.n);
}

/* Finds for each mark the format of the text after it, if only marks are between them. */
static void look_ahead(struct arranging *a)
{
    struct entry *entries = a->entries.items;
    uint32_t upcoming = NONE;
    for (size_t i = a->entries.n; i > 0; i--) {
        struct entry *entry = &entries[i - 1];
        entry->upcoming = upcoming;
        if (entry->kind == TEXT)
            upcoming = a->atoms[entry->at].format;
        else if (entry->kind != POINT)
            upcoming = NONE;
    }
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put(struct arranging *a, struct dg_span text)
{
    if (!a->err)
        a->err = dg_buf_append_span(&a->part->texts, text);
}

static void put_char(struct arranging *a, uint32_t cp)
{
    char bytes[DG_UTF8_MAX_LEN];
    const struct dg_span texts = dg_buf_span(&a->part->texts);
    const bool is_space = cp == ' ' || cp == '\t' || cp == '\n' || cp == '\r';
    if (is_space && texts.len && texts.ptr[texts.len - 1] == ' ')
        return;
    put(a, is_space     ? DG_SPAN(" ")
           : cp == '<'  ? DG_SPAN("&lt;")
           : cp == '>'  ? DG_SPAN("&gt;")
           : cp == '&'  ? DG_SPAN("&amp;")
           : cp >= 0x20 ? dg_span_make(bytes, dg_utf8_encode(cp, bytes))
                        : DG_SPAN(""));
}

/* Writes the text as the engine would write it again: each character unescaped if possible,
 * white space as one space. So a text that was not translated comes back unchanged. */
static void put_text(struct arranging *a, const struct dg_atom *atom)
{
    const struct dg_span text = dg_span_sub(a->part->bytes, atom->at, atom->len);
    size_t len;
    uint32_t cp;
    if (atom->kind == DG_ATOM_SPACE) {
        put_char(a, ' ');
        return;
    }
    for (size_t i = 0; i < text.len && !a->err; i += len) {
        const bool may_refer = text.ptr[i] == '&' && !atom->is_cdata;
        len = may_refer ? dg_entity_match(
                              text, i, a->part->opts.is_html ? DG_ENTITY_HTML : DG_ENTITY_XML, &cp)
                        : 0;
        if (len == 0)
            len = dg_utf8_decode(text, i, &cp);
        if (len == 0)
            break;
        put_char(a, cp);
    }
}

static void put_tag(struct arranging *a, const char *tag, size_t node)
{
    if (!a->err)
        a->err = dg_buf_printf(&a->part->texts, "<%s id=%zu>", tag, node);
}

/* A group of text whose format differs from the level's. */
static void end_group(struct arranging *a, uint32_t *group)
{
    if (*group != NONE)
        put(a, DG_SPAN("</b>"));
    *group = NONE;
}

static void begin_group(struct arranging *a, uint32_t format, uint32_t *group)
{
    const size_t node = add_node(a, DG_NODE_GROUP, 0, 0);
    if (a->err)
        return;
    nodes_of(a)[node].format = format;
    put_tag(a, "b", node);
    *group = format;
}

static uint32_t base_of(const struct arranging *a)
{
    const struct level *levels = a->levels.items;
    return a->levels.n == 0 ? a->block->format : nodes_of(a)[levels[a->levels.n - 1].node].format;
}

static void write_entry(struct arranging *a, const struct entry *entry, uint32_t *group)
{
    const struct dg_atom *atom = entry->kind == TEXT ? &a->atoms[entry->at] : NULL;
    if (*group != NONE && (atom ? atom->format : entry->upcoming) != *group)
        end_group(a, group);
    if (entry->kind != TEXT && entry->kind != POINT)
        end_group(a, group);
    switch (entry->kind) {
    case TEXT:
        if (*group == NONE && atom->format != base_of(a))
            begin_group(a, atom->format, group);
        put_text(a, atom);
        break;
    case OPEN:
        put_tag(a, "b", entry->at);
        if (!a->err)
            enter(a, entry->at);
        break;
    case CLOSE:
        put(a, DG_SPAN("</b>"));
        a->levels.n--;
        break;
    case POINT:
        put_tag(a, "img", entry->at);
        break;
    case BREAK:
        put_tag(a, "br", entry->at);
        break;
    }
}

static void write_text(struct arranging *a)
{
    uint32_t group = NONE;
    a->levels.n = 0;
    a->block->text_at = a->part->texts.len;
    put(a, DG_SPAN("<p>"));
    for (size_t i = 0; i < a->entries.n && !a->err; i++)
        write_entry(a, (const struct entry *)a->entries.items + i, &group);
    end_group(a, &group);
    put(a, DG_SPAN("</p>\n"));
    a->block->text_len = a->part->texts.len - a->block->text_at;
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* True when there is a letter outside of character references. */
static bool has_letters(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.ptr[i];
        if (c == '&') {
            const char *end = memchr(text.ptr + i, ';', text.len - i);
            i = end ? (size_t)(end - text.ptr) : i;
        } else if (c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
            return true;
        }
    }
    return false;
}

enum dg_err dg_office_arrange(struct dg_office_part *part, struct dg_block *block, bool *has_words)
{
    struct arranging a = {.part = part,
                          .block = block,
                          .atoms = (struct dg_atom *)part->atoms.items + block->atom,
                          .n = block->n_atoms};
    *has_words = false;
    for (size_t i = 0; i < a.n && !*has_words; i++)
        *has_words = a.atoms[i].kind == DG_ATOM_TEXT &&
                     has_letters(dg_span_sub(part->bytes, a.atoms[i].at, a.atoms[i].len));
    if (!*has_words)
        return DG_OK;
    block->node = part->nodes.n;
    dg_map_init(&a.starts, OPENS_MAX);
    find_pairs(&a);
    list_entries(&a);
    if (!a.err)
        choose_formats(&a);
    look_ahead(&a);
    if (!a.err)
        write_text(&a);
    dg_free(a.opens.items);
    dg_free(a.entries.items);
    dg_free(a.levels.items);
    dg_map_deinit(&a.starts);
    return a.err;
}
