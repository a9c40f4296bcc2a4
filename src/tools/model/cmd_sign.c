/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman sign DIR: writes the manifest and its minisign signature. With --generate it makes a key
 * pair instead. A password comes from a file, else from the terminal without echo, else from
 * standard input. */
#include "tools/tools.h"

#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "base/memory/clock.h"
#include "base/option/opt.h"
#include "model/file/manifest.h"
#include "tools/command.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { PASSWORD_CAP = 1025 };

struct options {
    int help;
    const char *key;
    const char *public_key;
    const char *password_file;
    const char *comment;
    bool generate;
    bool no_password;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATH(struct options, key), "key", .letter = 's', .flags = DG_OPT_REQUIRED,
     .help = "the minisign secret key file"},
    {DG_OPT_STRING(struct options, comment), "comment", .letter = 't', .unit = "TEXT", .max = 512,
     .help = "the trusted comment; without it the time and the directory's name"},
    {DG_OPT_PATH(struct options, password_file), "password-file", .unit = "FILE",
     .help = "its first line is the secret key's password"},
    {DG_OPT_BOOL(struct options, generate), "generate", .letter = 'G',
     .help = "make a key pair, sign nothing"},
    {DG_OPT_PATH(struct options, public_key), "public-key", .letter = 'p',
     .help = "with --generate: where the public key goes"},
    {DG_OPT_BOOL(struct options, no_password), "no-password", .letter = 'W',
     .help = "with --generate: leave the secret key unencrypted"},
    DG_OPT_HELP(struct options, help),
};

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct options *opt = values;
    if (opt->generate != (opt->public_key[0] != '\0'))
        return dg_error_set(error, DG_ERR_USAGE, "--generate and --public-key go together");
    return DG_OK;
}

static const struct dg_opt_table table = {
    .program = "dragoman sign",
    .summary = "Writes the hashes of a model directory's files and a minisign signature over them.",
    DG_OPT_ROWS(rows, struct options),
    .args = "[DIR]",
    .args_max = 1,
    .check = check,
};

/* ---- Passwords ------------------------------------------------------------------------------- */

static enum dg_err read_line(FILE *file, char *password, struct dg_error *error)
{
    if (!fgets(password, PASSWORD_CAP, file))
        return dg_error_set(error, DG_ERR_TRUNCATED, "there is no password to read");
    size_t len = strlen(password);
    if (len == PASSWORD_CAP - 1 && password[len - 1] != '\n')
        return dg_error_set(error, DG_ERR_LIMIT, "the password has more than %d bytes",
                            PASSWORD_CAP - 2);
    password[strcspn(password, "\r\n")] = '\0';
    return DG_OK;
}

static enum dg_err ask(const char *prompt, char *password, struct dg_error *error)
{
    struct termios before, silent;
    bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (terminal) {
        silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
        fprintf(stderr, "%s: ", prompt);
    }
    enum dg_err err = read_line(stdin, password, error);
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    return err;
}

static enum dg_err get_password(const struct options *opt, bool twice, char *password,
                                struct dg_error *error)
{
    char again[PASSWORD_CAP];
    if (opt->password_file[0]) {
        FILE *file = fopen(opt->password_file, "re");
        if (!file)
            return dg_error_set(error, DG_ERR_NOT_FOUND, "cannot open %s", opt->password_file);
        enum dg_err err = read_line(file, password, error);
        fclose(file);
        return err;
    }
    enum dg_err err = ask("Password of the secret key", password, error);
    if (!err && twice && isatty(STDIN_FILENO)) {
        err = ask("Once more", again, error);
        if (!err && strcmp(password, again) != 0)
            err = dg_error_set(error, DG_ERR_INVALID, "the two passwords differ");
        sodium_memzero(again, sizeof again);
    }
    return err;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static enum dg_err save_new(const char *path, unsigned mode, const struct dg_buf *text,
                            struct dg_error *error)
{
    if (access(path, F_OK) == 0)
        return dg_error_set(error, DG_ERR_EXISTS, "%s exists already; remove it or name another",
                            path);
    return dg_file_out_save(path, mode, text->ptr, text->len, error);
}

static enum dg_err generate(const struct options *opt, struct dg_error *error)
{
    struct dg_minisign_public public_key;
    struct dg_minisign_secret secret_key;
    struct dg_buf public_text, secret_text;
    char password[PASSWORD_CAP] = "";
    dg_buf_init(&public_text, DG_MINISIGN_FILE_MAX);
    dg_buf_init(&secret_text, DG_MINISIGN_FILE_MAX);
    enum dg_err err = opt->no_password ? DG_OK : get_password(opt, true, password, error);
    if (!err && !opt->no_password && !password[0])
        err = dg_error_set(error, DG_ERR_INVALID,
                           "the password is empty; use --no-password to mean that");
    if (!err)
        err = dg_minisign_generate(&public_key, &secret_key);
    if (!err)
        err = dg_minisign_public_print(&public_key, &public_text);
    if (!err)
        err = dg_minisign_secret_print(&secret_key, dg_span_cstr(password), &secret_text, error);
    if (!err)
        err = save_new(opt->key, 0600, &secret_text, error);
    if (!err)
        err = save_new(opt->public_key, 0644, &public_text, error);
    if (!err)
        fwrite(public_text.ptr, 1, public_text.len, stdout);
    if (secret_text.ptr)
        sodium_memzero(secret_text.ptr, secret_text.len);
    sodium_memzero(password, sizeof password);
    dg_minisign_wipe(&secret_key);
    dg_buf_deinit(&public_text);
    dg_buf_deinit(&secret_text);
    return err;
}

static enum dg_err open_key(const struct options *opt, struct dg_minisign_secret *key,
                            struct dg_error *error)
{
    struct dg_map_file file;
    char password[PASSWORD_CAP] = "";
    enum dg_err err = dg_map_file_open(&file, opt->key, DG_MINISIGN_FILE_MAX, error);
    if (err)
        return err;
    struct dg_span text = dg_span_make((const char *)file.bytes, file.len);
    if (dg_minisign_secret_is_encrypted(text))
        err = get_password(opt, false, password, error);
    if (!err)
        err = dg_minisign_secret_parse(key, text, dg_span_cstr(password), error);
    sodium_memzero(password, sizeof password);
    dg_map_file_close(&file);
    return err ? dg_error_wrap(error, err, "%s", opt->key) : DG_OK;
}

/* ---- Signing --------------------------------------------------------------------------------- */

static enum dg_err sign(const struct options *opt, const char *dir, struct dg_error *error)
{
    struct dg_minisign_secret key;
    struct dg_clock clock = DG_CLOCK_REAL;
    char comment[DG_MINISIGN_COMMENT_MAX];
    enum dg_err err = open_key(opt, &key, error);
    if (err)
        return err;
    const char *slash = strrchr(dir, '/');
    if (opt->comment[0])
        snprintf(comment, sizeof comment, "%s", opt->comment);
    else
        snprintf(comment, sizeof comment, "timestamp:%" PRIu64 "\tmodel:%.200s",
                 dg_clock_wall(&clock) / 1000000000u, slash && slash[1] ? slash + 1 : dir);
    err = dg_manifest_sign(dir, &key, dg_span_cstr(comment), error);
    dg_minisign_wipe(&key);
    return err;
}

static enum dg_err run_sign(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct options *opt = dg_opt_values(set);
    if (opt->generate)
        return dg_opt_n_args(set) == 0
                   ? generate(opt, error)
                   : dg_error_set(error, DG_ERR_USAGE, "--generate takes no directory");
    return dg_opt_n_args(set) == 1
               ? sign(opt, dg_opt_arg(set, 0), error)
               : dg_error_set(error, DG_ERR_USAGE, "expected the directory to sign");
}

int dg_cmd_sign(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_sign);
}
