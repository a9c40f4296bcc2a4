/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Runs a sub-command: reads the options, does the work, flushes the output and reports an error.
 * Every sub-command without a special need uses it. */
#include "tools/command.h"

#include <stdio.h>

int dg_command(const struct dg_opt_table *table, int argc, char **argv, dg_command_fn *run)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    int exit_code = 0;
    if (!dg_opt_command(table, argc, argv, &set, &exit_code))
        return exit_code;
    enum dg_err err = run(set, &error);
    if (!err && (fflush(stdout) != 0 || ferror(stdout)))
        err = dg_error_set(&error, DG_ERR_IO, "standard output could not be written");
    if (err)
        fprintf(stderr, "%s: %s\n", table->program, dg_error_text(&error, err));
    dg_opt_set_free(set);
    return err == DG_ERR_USAGE ? 2 : err ? 1 : 0;
}

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

const volatile sig_atomic_t *dg_command_stop(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    return &stop;
}
