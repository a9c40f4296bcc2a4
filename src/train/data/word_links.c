/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A grid with a row for each source word and a column for each target word. Each cell has three
 * bits: whether the forward links have it, whether the backward links have it, and whether it is in
 * the joined set. */
#include "train/data/word_links.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"

#include <string.h>

enum { FORWARD = 1, BACKWARD = 2, TAKEN = 4 };

void dg_word_links_init(struct dg_word_links *links)
{
    *links = (struct dg_word_links){.n = 0};
}

void dg_word_links_deinit(struct dg_word_links *links)
{
    dg_free(links->list);
    dg_free(links->grid);
    *links = (struct dg_word_links){.n = 0};
}

struct grid {
    uint8_t *cells; /* [S][T] */
    size_t S, T;
};

static bool row_taken(const struct grid *g, size_t s)
{
    for (size_t t = 0; t < g->T; t++)
        if (g->cells[s * g->T + t] & TAKEN)
            return true;
    return false;
}

static bool column_taken(const struct grid *g, size_t t)
{
    for (size_t s = 0; s < g->S; s++)
        if (g->cells[s * g->T + t] & TAKEN)
            return true;
    return false;
}

static void take_where(const struct grid *g, uint8_t mask, bool all_of_it)
{
    for (size_t i = 0; i < g->S * g->T; i++)
        if (all_of_it ? (g->cells[i] & mask) == mask : (g->cells[i] & mask) != 0)
            g->cells[i] |= TAKEN;
}

/* Takes the free neighbours of a cell that one direction has. */
static bool grow_from(const struct grid *g, size_t s, size_t t)
{
    bool grew = false;
    for (int ds = -1; ds <= 1; ds++)
        for (int dt = -1; dt <= 1; dt++) {
            /* a value below zero wraps to one beyond the end */
            const size_t s2 = s + (size_t)ds, t2 = t + (size_t)dt;
            if (s2 >= g->S || t2 >= g->T)
                continue;
            uint8_t *cell = &g->cells[s2 * g->T + t2];
            if (*cell & TAKEN || !(*cell & (FORWARD | BACKWARD)) ||
                (row_taken(g, s2) && column_taken(g, t2)))
                continue;
            *cell |= TAKEN;
            grew = true;
        }
    return grew;
}

static void grow_diag(const struct grid *g)
{
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t t = 0; t < g->T; t++)
            for (size_t s = 0; s < g->S; s++)
                if (g->cells[s * g->T + t] & TAKEN)
                    grew |= grow_from(g, s, t);
    }
}

/* Adds the links of one direction whose two words both have none yet. */
static void final_and(const struct grid *g, uint8_t direction)
{
    for (size_t t = 0; t < g->T; t++)
        for (size_t s = 0; s < g->S; s++)
            if (g->cells[s * g->T + t] & direction && !row_taken(g, s) && !column_taken(g, t))
                g->cells[s * g->T + t] |= TAKEN;
}

static void choose(const struct grid *g, enum dg_symmetrise how)
{
    switch (how) {
    case DG_SYMMETRISE_FORWARD:
        take_where(g, FORWARD, true);
        return;
    case DG_SYMMETRISE_REVERSE:
        take_where(g, BACKWARD, true);
        return;
    case DG_SYMMETRISE_UNION:
        take_where(g, FORWARD | BACKWARD, false);
        return;
    case DG_SYMMETRISE_INTERSECT:
    case DG_SYMMETRISE_GROW_DIAG:
    case DG_SYMMETRISE_GROW_DIAG_FINAL_AND:
        break;
    }
    take_where(g, FORWARD | BACKWARD, true);
    if (how == DG_SYMMETRISE_INTERSECT)
        return;
    grow_diag(g);
    if (how == DG_SYMMETRISE_GROW_DIAG)
        return;
    final_and(g, FORWARD);
    final_and(g, BACKWARD);
}

static enum dg_err list_taken(struct dg_word_links *links, const struct grid *g)
{
    links->n = 0;
    for (size_t t = 0; t < g->T; t++)
        for (size_t s = 0; s < g->S; s++) {
            if (!(g->cells[s * g->T + t] & TAKEN))
                continue;
            if (DG_GROW(links->list, links->n, links->cap, 64))
                return DG_ERR_NOMEM;
            links->list[links->n++] = (struct dg_link){(uint16_t)s, (uint16_t)t};
        }
    return DG_OK;
}

enum dg_err dg_word_links_symmetrise(struct dg_word_links *links, const int32_t *forward,
                                     size_t n_target, const int32_t *backward, size_t n_source,
                                     enum dg_symmetrise how)
{
    const size_t n = n_source * n_target; /* cannot overflow: both are at most 65536 */
    if (n_source > UINT16_MAX || n_target > UINT16_MAX)
        return DG_ERR_LIMIT;
    if (n > links->grid_cap) {
        uint8_t *cells = dg_try_realloc(links->grid, n);
        if (!cells)
            return DG_ERR_NOMEM;
        links->grid = cells;
        links->grid_cap = n;
    }
    const struct grid g = {links->grid, n_source, n_target};
    if (n)
        memset(g.cells, 0, n);
    for (size_t t = 0; t < n_target; t++)
        if (forward[t] >= 0)
            g.cells[(size_t)forward[t] * n_target + t] |= FORWARD;
    for (size_t s = 0; s < n_source; s++)
        if (backward[s] >= 0)
            g.cells[s * n_target + (size_t)backward[s]] |= BACKWARD;
    choose(&g, how);
    return list_taken(links, &g);
}

enum dg_err dg_word_links_print(const struct dg_word_links *links, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    bool is_first = true;
    uint16_t most = 0;
    for (size_t i = 0; i < links->n; i++)
        most = links->list[i].source > most ? links->list[i].source : most;
    for (size_t s = 0; links->n && s <= most && !err; s++)
        for (size_t i = 0; i < links->n && !err; i++) {
            if (links->list[i].source != s)
                continue;
            err = dg_buf_printf(out, "%s%zu-%u", is_first ? "" : " ", s,
                                (unsigned)links->list[i].target);
            is_first = false;
        }
    return err;
}
