/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The configuration file as an attacker or a bad disk may leave it: any bytes, read by dragomand's
 * own table of options. What is accepted survives a dump: the dump is accepted as well, and its own
 * dump is the same. */
#include "daemon/options.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern int dg_fuzz_mutations;
int dg_fuzz_mutations = 10000; /* by replay.c; they are cheap here */

/* The options that `text` sets, or NULL when it is refused; a refusal has a sentence. */
static struct dg_opt_set *read_set(struct dg_span text)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_opt_set_new(&dg_options_table, &set))
        abort();
    enum dg_err err = dg_opt_read_text(set, "fuzz.conf", text, &error);
    if (!err)
        err = dg_opt_check(set, &error);
    if (!err)
        return set;
    if (error.text[0] == '\0')
        abort();
    dg_opt_set_free(set);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dg_opt_set *first = read_set(dg_span_make((const char *)data, size));
    if (!first)
        return 0;
    struct dg_buf dump, again;
    dg_buf_init(&dump, 1 << 20);
    dg_buf_init(&again, 1 << 20);
    if (dg_opt_dump(first, &dump))
        abort();
    struct dg_opt_set *second = read_set(dg_buf_span(&dump));
    if (!second || dg_opt_dump(second, &again) ||
        !dg_span_eq(dg_buf_span(&dump), dg_buf_span(&again)))
        abort();
    dg_buf_deinit(&dump);
    dg_buf_deinit(&again);
    dg_opt_set_free(first);
    dg_opt_set_free(second);
    return 0;
}
