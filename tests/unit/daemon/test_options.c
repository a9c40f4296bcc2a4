/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/log/log.h"
#include "daemon/options.h"
#include "unit.h"

#include <stdio.h>

/* conf/dragomand.conf with the '#' removed from each "#name = value", so that every default is
 * given. The caller frees it. */
static char *sample_conf(void)
{
    const char *srcdir = getenv("srcdir");
    char path[4096], line[512];
    snprintf(path, sizeof path, "%s/conf/dragomand.conf", srcdir ? srcdir : ".");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    char *text = calloc(1, 1 << 16);
    size_t len = 0;
    while (fgets(line, sizeof line, file)) {
        const char *from = line[0] == '#' && line[1] >= 'a' && line[1] <= 'z' ? line + 1 : line;
        len += (size_t)snprintf(text + len, (1 << 16) - len, "%s", from);
    }
    fclose(file);
    return text;
}

static struct dg_opt_set *read_set(const char *text)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_opt_set_new(&dg_options_table, &set), DG_OK);
    enum dg_err err = dg_opt_read_text(set, "conf", dg_span_cstr(text), &error);
    if (!err)
        err = dg_opt_check(set, &error);
    ck_assert_msg(!err, "%s", error.text);
    return set;
}

static void on_difference(void *ctx, const struct dg_opt_change *change)
{
    ck_abort_msg("the sample says %s = %s, the table %s", change->row->name, change->now,
                 change->was);
}

START_TEST(the_sample_mentions_each_option_once_with_its_default)
{
    char *text = sample_conf();
    struct dg_opt_set *sample = read_set(text), *defaults = read_set("");
    ck_assert_int_eq(dg_opt_compare(defaults, sample, on_difference, NULL), DG_OK);
    for (size_t i = 0; i < dg_options_table.n_rows; i++) {
        const struct dg_opt_row *row = &dg_options_table.rows[i];
        bool in_file = !(row->flags & DG_OPT_COMMAND_LINE);
        ck_assert_msg(dg_opt_given(sample, row->name) == in_file, "%s", row->name);
    }
    dg_opt_set_free(sample);
    dg_opt_set_free(defaults);
    free(text);
}
END_TEST

START_TEST(the_sample_marks_what_a_reload_may_change)
{
    char *text = sample_conf();
    for (size_t i = 0; i < dg_options_table.n_rows; i++) {
        const struct dg_opt_row *row = &dg_options_table.rows[i];
        char key[80];
        snprintf(key, sizeof key, "\n%s =", row->name);
        const char *at = strstr(text, key);
        if (!at)
            continue;
        while (at > text && strncmp(at, "\n\n", 2) != 0)
            at--; /* back to the start of its paragraph */
        bool marked = strncmp(at, "\n\n# (reload) ", 13) == 0;
        ck_assert_msg(marked == ((row->flags & DG_OPT_RELOADABLE) != 0), "%s", row->name);
    }
    free(text);
}
END_TEST

static void check_refused(const char *text, const char *said)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_opt_set_new(&dg_options_table, &set), DG_OK);
    enum dg_err err = dg_opt_read_text(set, "conf", dg_span_cstr(text), &error);
    if (!err)
        err = dg_opt_check(set, &error);
    ck_assert_msg(err && strstr(error.text, said), "%s: %s", text, error.text);
    dg_opt_set_free(set);
}

START_TEST(refuses_what_only_the_whole_shows)
{
    check_refused("url-prefix = translate", "url-prefix: read \"translate\"");
    check_refused("url-prefix = /a/", "url-prefix");
    check_refused("url-prefix = /a//b", "url-prefix");
    check_refused("url-prefix = /a?b", "url-prefix");
    check_refused("trusted-proxies = 10.0.0.0/33", "trusted-proxies");
    check_refused("trusted-proxies = example.org", "trusted-proxies");
    check_refused("max-url = 16KiB", "max-url: read 16384 bytes");
    check_refused("listen =", "listen");
}
END_TEST

START_TEST(the_server_gets_what_the_options_say)
{
    struct dg_opt_set *set = read_set("max-body = 1MiB\nmax-connections = 7\ntrusted-proxies = "
                                      "10.0.0.0/8, ::1\nidle-timeout = 3s\nurl-prefix = /t\n");
    struct dg_network networks[DG_OPTIONS_NETWORKS];
    struct dg_server_opts server;
    ck_assert_int_eq(dg_options_server(dg_opt_values(set), networks, NULL, &server), DG_OK);
    ck_assert_uint_eq(server.http.body_bytes, 1 << 20);
    ck_assert_uint_eq(server.connections_max, 7);
    ck_assert_uint_eq(server.http.idle_ms, 3000);
    ck_assert_uint_eq(server.n_trusted, 2);
    ck_assert(dg_network_has(&server.trusted[0], DG_SPAN("10.9.8.7")));
    ck_assert_str_eq(server.url_prefix, "/t");
    dg_opt_set_free(set);
}
END_TEST

START_TEST(flags_name_a_file_that_must_exist)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    const char *argv[] = {"dragomand", "--config=/nonexistent/x", "--help", NULL};
    ck_assert_int_eq(dg_options_read(2, (char **)argv, NULL, &error, &set), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "/nonexistent/x"));
    ck_assert_int_eq(dg_options_read(3, (char **)argv, NULL, &error, &set), DG_OK);
    dg_opt_set_free(set);
    const char *none[] = {"dragomand", "--config=", "--log-level", "debug", NULL};
    const char *env[] = {"DRAGOMAN_LOG_LEVEL=error", "DRAGOMAN_LOG_FORMAT=json", NULL};
    ck_assert_int_eq(dg_options_read(4, (char **)none, (char **)env, &error, &set), DG_OK);
    const struct dg_options *options = dg_opt_values(set);
    ck_assert_int_eq(options->log_level, DG_LOG_DEBUG);
    ck_assert_int_eq(options->log_format, DG_LOG_JSON);
    dg_opt_set_free(set);
}
END_TEST

DG_UNIT(the_sample_mentions_each_option_once_with_its_default,
        the_sample_marks_what_a_reload_may_change, refuses_what_only_the_whole_shows,
        the_server_gets_what_the_options_say, flags_name_a_file_that_must_exist)
