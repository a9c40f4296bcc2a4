/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The kernel describes sets of nodes and CPUs as lists, such as "0-3,8,10-11". A list that is not
 * of this form, or names a CPU beyond CPUS_MAX, makes the whole machine count as one node. */
#define _GNU_SOURCE 1 /* CPU_SET_S, sched_setaffinity */
#include "base/thread/nodes.h"
#include "base/memory/mem.h"
#include "base/thread/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A line of the kernel's has at most a page. */
enum { CPUS_MAX = 8192, LINE_CAP = 8192, PATH_CAP = 512 };

/* A set of CPUs, or of nodes. */
struct set {
    cpu_set_t bits[CPUS_MAX / CPU_SETSIZE];
};

enum { SET_SIZE = sizeof(struct set) };

struct dg_nodes {
    size_t n;
    struct set cpus[DG_NODES_MAX];
    uint8_t node_of[DG_NODES_WORKERS_MAX]; /* of each worker */
    uint8_t rank_of[DG_NODES_WORKERS_MAX]; /* its number among the workers of its node */
};

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Reads a decimal number below CPUS_MAX; false when there is none. */
static bool take_number(const char **at, size_t *number)
{
    const char *digit = *at;
    for (*number = 0; *digit >= '0' && *digit <= '9' && *number < CPUS_MAX; digit++)
        *number = *number * 10 + (size_t)(*digit - '0');
    const bool is_number = digit > *at && *number < CPUS_MAX;
    *at = digit;
    return is_number;
}

static bool is_end(char c)
{
    return c == '\n' || c == '\0';
}

static bool parse_list(const char *at, struct set *set)
{
    memset(set, 0, sizeof *set);
    at += strspn(at, " \t");
    while (!is_end(*at)) {
        size_t first, last;
        if (!take_number(&at, &first))
            return false;
        last = first;
        if (*at == '-' && (at++, !take_number(&at, &last) || last < first))
            return false;
        for (; first <= last; first++)
            CPU_SET_S(first, SET_SIZE, set->bits);
        if (*at == ',' && !is_end(at[1]))
            at++;
        else if (!is_end(*at))
            return false;
    }
    return true;
}

/* Reads the first line of the file that begins with `prefix`, from there on. */
static bool read_line(const char *root, const char *name, const char *prefix, char line[LINE_CAP])
{
    char path[PATH_CAP];
    const size_t len = strlen(prefix);
    bool is_found = false;
    if (snprintf(path, sizeof path, "%s%s", root, name) >= PATH_CAP)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (!is_found && fgets(line, LINE_CAP, file))
        is_found = strncmp(line, prefix, len) == 0;
    fclose(file);
    if (!is_found || strlen(line) == LINE_CAP - 1)
        return false;
    memmove(line, line + len, strlen(line + len) + 1);
    return true;
}

static bool read_list(const char *root, const char *name, const char *prefix, struct set *set)
{
    char line[LINE_CAP];
    return read_line(root, name, prefix, line) && parse_list(line, set);
}

/* ---- The machine ----------------------------------------------------------------------------- */

struct machine {
    const char *root;
    struct set online; /* nodes */
    struct set memory; /* nodes whose memory this process may use */
    struct set cpus;   /* that this process may use */
};

static bool has(const struct set *set, size_t i)
{
    return CPU_ISSET_S(i, SET_SIZE, set->bits);
}

static void keep_common(struct set *set, const struct set *other)
{
    CPU_AND_S(SET_SIZE, set->bits, set->bits, other->bits);
}

static bool read_machine(struct machine *machine)
{
    struct set allowed;
    const char *root = machine->root;
    if (!read_list(root, "/sys/devices/system/node/online", "", &machine->online) ||
        !read_list(root, "/sys/devices/system/node/has_memory", "", &machine->memory) ||
        !read_list(root, "/proc/self/status", "Mems_allowed_list:", &allowed) ||
        !read_list(root, "/proc/self/status", "Cpus_allowed_list:", &machine->cpus))
        return false;
    keep_common(&machine->memory, &machine->online);
    keep_common(&machine->memory, &allowed);
    return true;
}

/* Returns the node with memory that is nearest to `node`; CPUS_MAX: the file with the distances is
 * not as expected. It has a number for each node that is online. */
static size_t nearest(const struct machine *machine, size_t node)
{
    char name[PATH_CAP], line[LINE_CAP];
    size_t best = CPUS_MAX, least = SIZE_MAX;
    if (has(&machine->memory, node))
        return node;
    snprintf(name, sizeof name, "/sys/devices/system/node/node%zu/distance", node);
    if (!read_line(machine->root, name, "", line))
        return CPUS_MAX;
    const char *at = line;
    for (size_t other = 0; other < CPUS_MAX; other++) {
        size_t distance;
        if (!has(&machine->online, other))
            continue;
        at += strspn(at, " \t");
        if (!take_number(&at, &distance))
            return CPUS_MAX;
        if (has(&machine->memory, other) && distance < least) {
            best = other;
            least = distance;
        }
    }
    return best;
}

/* Returns the place of node `number` in `numbers`, which it gets if it has none; DG_NODES_MAX:
 * there are too many nodes. */
static size_t place_of(size_t *numbers, size_t *n, size_t number)
{
    size_t at = 0;
    while (at < *n && numbers[at] != number)
        at++;
    if (at == *n && *n < DG_NODES_MAX)
        numbers[(*n)++] = number;
    return at;
}

/* Lists the nodes that have both memory and CPUs. */
static bool read_nodes(struct dg_nodes *nodes, const struct machine *machine)
{
    size_t numbers[DG_NODES_MAX];
    for (size_t node = 0; node < CPUS_MAX; node++) {
        char name[PATH_CAP];
        struct set cpus;
        if (!has(&machine->online, node))
            continue;
        snprintf(name, sizeof name, "/sys/devices/system/node/node%zu/cpulist", node);
        if (!read_list(machine->root, name, "", &cpus))
            return false;
        keep_common(&cpus, &machine->cpus);
        if (CPU_COUNT_S(SET_SIZE, cpus.bits) == 0)
            continue;
        const size_t home = nearest(machine, node);
        const size_t at = home < CPUS_MAX ? place_of(numbers, &nodes->n, home) : DG_NODES_MAX;
        if (at == DG_NODES_MAX)
            return false;
        CPU_OR_S(SET_SIZE, nodes->cpus[at].bits, nodes->cpus[at].bits, cpus.bits);
    }
    return true;
}

/* ---- Workers --------------------------------------------------------------------------------- */

/* Gives each worker to the node that then has the fewest workers for each of its CPUs, and drops
 * the nodes that have none. */
static void place_workers(struct dg_nodes *nodes, size_t n_workers)
{
    size_t n_cpus[DG_NODES_MAX], n_placed[DG_NODES_MAX] = {0}, n_kept = 0;
    uint8_t kept_as[DG_NODES_MAX] = {0};
    for (size_t node = 0; node < nodes->n; node++)
        n_cpus[node] = (size_t)CPU_COUNT_S(SET_SIZE, nodes->cpus[node].bits);
    for (size_t w = 0; w < n_workers; w++) {
        size_t best = 0;
        for (size_t node = 1; node < nodes->n; node++)
            if ((n_placed[node] + 1) * n_cpus[best] < (n_placed[best] + 1) * n_cpus[node])
                best = node;
        nodes->node_of[w] = (uint8_t)best;
        nodes->rank_of[w] = (uint8_t)n_placed[best]++;
    }
    for (size_t node = 0; node < nodes->n; node++)
        if (n_placed[node] > 0) {
            kept_as[node] = (uint8_t)n_kept;
            nodes->cpus[n_kept++] = nodes->cpus[node];
        }
    for (size_t w = 0; w < n_workers; w++)
        nodes->node_of[w] = kept_as[nodes->node_of[w]];
    nodes->n = n_kept;
}

struct dg_nodes *dg_nodes_new(const char *root, size_t n_workers)
{
    struct machine machine = {.root = root};
    struct dg_nodes *nodes = NULL;
    if (n_workers > DG_NODES_WORKERS_MAX || !read_machine(&machine))
        return NULL;
    nodes = dg_try_calloc(1, sizeof *nodes);
    if (nodes && read_nodes(nodes, &machine)) {
        place_workers(nodes, n_workers);
        if (nodes->n > 1 && dg_cpu_may_pin())
            return nodes;
    }
    dg_nodes_free(nodes);
    return NULL;
}

void dg_nodes_free(struct dg_nodes *nodes)
{
    dg_free(nodes);
}

size_t dg_nodes_count(const struct dg_nodes *nodes)
{
    return nodes ? nodes->n : 1;
}

size_t dg_nodes_of(const struct dg_nodes *nodes, size_t worker)
{
    return nodes ? nodes->node_of[worker] : 0;
}

static void go_to(const struct dg_nodes *nodes, size_t node)
{
    (void)sched_setaffinity(0, SET_SIZE, nodes->cpus[node].bits);
}

unsigned dg_nodes_bind(const struct dg_nodes *nodes, size_t worker)
{
    if (!nodes)
        return (unsigned)worker;
    go_to(nodes, nodes->node_of[worker]);
    return nodes->rank_of[worker];
}

struct visit {
    const struct dg_nodes *nodes;
    size_t node;
    void (*fn)(void *arg);
    void *arg;
};

static void *run_visit(void *arg)
{
    const struct visit *visit = arg;
    go_to(visit->nodes, visit->node);
    visit->fn(visit->arg);
    return NULL;
}

void dg_nodes_run(const struct dg_nodes *nodes, size_t node, void (*fn)(void *arg), void *arg)
{
    struct visit visit = {nodes, node, fn, arg};
    pthread_t thread;
    if (nodes && pthread_create(&thread, NULL, run_visit, &visit) == 0)
        pthread_join(thread, NULL);
    else
        fn(arg);
}
