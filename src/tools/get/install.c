/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* install.h describes the steps. The trial runs in a process of its own, so that a harmful model
 * harms only that process. */
#define _GNU_SOURCE 1
#include "config.h"
#include "base/memory/error.h"
#include "tools/get/install.h"

#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/memory/mem.h"
#include "import/format/import.h"
#include "text/language/langtag.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_CAP = DG_PATH_CAP, KEPT_S = 7 * 24 * 3600, HASHES_MAX = 4 << 20 };

struct install {
    char dir[PATH_CAP];  /* the folder of the models */
    char work[PATH_CAP]; /* DIR/.get */
    int lock;
    const struct install_opts *opts; /* about the package that is being installed */
    uint64_t before;                 /* bytes of the package's files before the current one */
};

/* ---- Folders --------------------------------------------------------------------------------- */

/* mkdir -p */
static enum dg_err make_folder(const char *path, struct dg_error *error)
{
    char part[PATH_CAP];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST && errno != EISDIR)
            return dg_error_errno(error, "cannot make %s", part);
        *at = '/';
    }
    return mkdir(part, 0755) == 0 || errno == EEXIST
               ? DG_OK
               : dg_error_errno(error, "cannot make %s", part);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void remove_tree(const char *path)
{
    enum { OPEN_MAX_DIRS = 8 };
    nftw(path, remove_entry, OPEN_MAX_DIRS, FTW_DEPTH | FTW_PHYS);
}

/* Removes the files that unfinished fetches of other models left, if nobody has tried to fetch
 * these models again within a week. */
static void remove_old(const struct install *install)
{
    char path[PATH_CAP];
    struct stat st;
    DIR *dir = dg_folder_open(install->work);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.' &&
            dg_folder_path(install->work, entry->d_name, path, NULL) == DG_OK &&
            lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_mtime + KEPT_S < time(NULL))
            remove_tree(path);
    if (dir)
        closedir(dir);
}

enum dg_err install_begin(struct install **install, const char *dir, struct dg_error *error)
{
    char lock[PATH_CAP];
    struct install *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return DG_ERR_NOMEM;
    made->lock = -1;
    snprintf(made->dir, sizeof made->dir, "%s", dir);
    enum dg_err err = dg_folder_path(dir, ".get", made->work, error);
    if (!err)
        err = make_folder(made->work, error);
    if (!err)
        err = dg_folder_path(made->work, "lock", lock, error);
    if (!err) {
        made->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (made->lock < 0)
            err = dg_error_errno(error, "cannot create %s", lock);
        else if (flock(made->lock, LOCK_EX | LOCK_NB) != 0)
            err = dg_error_set(
                error, DG_ERR_BUSY,
                "another 'dragoman get' or 'remove' is working in %s; try again when it has ended",
                dir);
    }
    if (err) {
        install_end(made);
        return err;
    }
    remove_old(made);
    *install = made;
    return DG_OK;
}

void install_end(struct install *install)
{
    if (!install)
        return;
    if (install->lock >= 0)
        close(install->lock);
    dg_free(install);
}

/* ---- Hashes that nobody published ------------------------------------------------------------ */

/* The file of "HASH  URL" lines: a line for every file that was fetched without a published
 * hash. */
static enum dg_err hashes_path(const struct install *install, char path[PATH_CAP],
                               struct dg_error *error)
{
    return dg_folder_path(install->work, "hashes", path, error);
}

static enum dg_err read_hashes(const char *path, struct dg_buf *text, struct dg_error *error)
{
    char piece[4096];
    size_t n = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? DG_OK : dg_error_errno(error, "cannot read %s", path);
    enum dg_err err = DG_OK;
    while (!err && (n = fread(piece, 1, sizeof piece, file)) > 0)
        err = dg_buf_append(text, piece, n);
    fclose(file);
    return err ? dg_error_set(error, err, "cannot read %s", path) : DG_OK;
}

/* Compares a file with the hash that its address gave before, or adds its hash to `text` the first
 * time. */
static enum dg_err check_hash(const struct dg_package_file *file, const char *path,
                              struct dg_buf *text, struct dg_error *error)
{
    const char *at = text->ptr ? text->ptr : "";
    const size_t len = strlen(file->url);
    while (*at) {
        const char *end = strchr(at, '\n');
        const size_t line = end ? (size_t)(end - at) : strlen(at);
        if (line == 66 + len && strncmp(at + 66, file->url, len) == 0)
            return strncmp(at, file->got, 64) == 0
                       ? DG_OK
                       : dg_error_set(error, DG_ERR_INTEGRITY,
                                      "%s is no longer the file that it was: its SHA-256 is %s, "
                                      "was %.64s; nothing is installed. If the change is right, "
                                      "remove that line from %s",
                                      file->url, file->got, at, path);
        at += line + (end ? 1 : 0);
    }
    return dg_buf_printf(text, "%s  %s\n", file->got, file->url);
}

static enum dg_err check_hashes(const struct install *install, const struct dg_package *package,
                                struct dg_error *error)
{
    char path[PATH_CAP];
    struct dg_buf text;
    dg_buf_init(&text, HASHES_MAX);
    enum dg_err err = hashes_path(install, path, error);
    if (!err)
        err = read_hashes(path, &text, error);
    const size_t len = text.len;
    for (size_t i = 0; i < package->n_files && !err; i++)
        if (!*package->files[i].sha256 && !*package->files[i].git_sha1)
            err = check_hash(&package->files[i], path, &text, error);
    if (!err && text.len > len)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

void install_on_file_bytes(struct install *install, uint64_t n_bytes)
{
    if (install->opts && install->opts->on_bytes)
        install->opts->on_bytes(install->opts->ctx, install->before + n_bytes);
}

static void step(const struct install *install, const char *what, uint64_t total)
{
    if (install->opts->on_step)
        install->opts->on_step(install->opts->ctx, what, total);
}

static enum dg_err fetch_all(struct install *install, struct dg_package *package, const char *files,
                             struct dg_error *error)
{
    enum dg_err err = DG_OK;
    step(install, "fetching", dg_package_bytes(package));
    install->before = 0;
    for (size_t i = 0; i < package->n_files && !err; i++) {
        err = dg_package_fetch(package, i, install->opts->transfer, files, install->opts->stop,
                               error);
        install->before += package->files[i].size;
    }
    return err;
}

static void on_import(void *ctx, uint64_t done, uint64_t total)
{
    const struct install *install = ctx;
    (void)total;
    if (install->opts->on_bytes)
        install->opts->on_bytes(install->opts->ctx, done);
}

/* An Argos package is one file; everything else is imported as the folder that it is. */
static enum dg_err import(struct install *install, const struct dg_package *package,
                          const char *files, const char *out, struct install_result *result,
                          struct dg_error *error)
{
    static const enum dg_dtype dtypes[] = {DG_DTYPE_F32, DG_DTYPE_F32, DG_DTYPE_F16, DG_DTYPE_BF16,
                                           DG_DTYPE_I8};
    struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
    struct dg_import_summary summary;
    char path[PATH_CAP];
    opts.as_type = install->opts->type != 0;
    opts.type = dtypes[install->opts->type];
    opts.stop = install->opts->stop;
    opts.progress = on_import;
    opts.progress_ctx = install;
    step(install, "importing", dg_package_raw(package));
    const bool is_package =
        package->n_files == 1 &&
        dg_span_ends(dg_span_cstr(package->files[0].name), DG_SPAN(".argosmodel"));
    enum dg_err err =
        is_package ? dg_folder_path(files, package->files[0].name, path, error) : DG_OK;
    remove_tree(out);
    if (!err)
        err = dg_import(is_package ? path : files, out, &opts, &summary, error);
    if (!err)
        snprintf(result->note, sizeof result->note, "%s", summary.note);
    return err;
}

static enum dg_err write_text(const char *dir, const char *name, const struct dg_buf *text,
                              struct dg_error *error)
{
    char path[PATH_CAP];
    enum dg_err err = dg_folder_path(dir, name, path, error);
    return err ? err : dg_file_out_save(path, 0644, text->ptr, text->len, error);
}

static enum dg_err describe(const struct dg_package *package, const char *dir,
                            struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    enum dg_err err = dg_package_print(package, &text);
    if (!err)
        err = write_text(dir, DG_PACKAGE_ORIGIN, &text, error);
    dg_buf_clear(&text);
    if (!err)
        err = dg_package_print_card(package, &text);
    if (!err)
        err = write_text(dir, "card.md", &text, error);
    dg_buf_deinit(&text);
    return err;
}

/* ---- The trial ------------------------------------------------------------------------------- */

static const char *const sentences[][2] = {
    {"ar", "صباح الخير."},    {"az", "Sabahınız xeyir."}, {"be", "Добрай раніцы."},
    {"bg", "Добро утро."},    {"bn", "সুপ্রভাত।"},          {"bs", "Dobro jutro."},
    {"ca", "Bon dia."},       {"cs", "Dobré ráno."},      {"da", "God morgen."},
    {"de", "Guten Morgen."},  {"el", "Καλημέρα."},        {"en", "Good morning."},
    {"eo", "Bonan matenon."}, {"es", "Buenos días."},     {"et", "Tere hommikust."},
    {"eu", "Egun on."},       {"fa", "صبح بخیر."},        {"fi", "Hyvää huomenta."},
    {"fr", "Bonjour."},       {"ga", "Maidin mhaith."},   {"gl", "Bos días."},
    {"gu", "સુપ્રભાત."},        {"he", "בוקר טוב."},        {"hi", "सुप्रभात।"},
    {"hr", "Dobro jutro."},   {"hu", "Jó reggelt."},      {"id", "Selamat pagi."},
    {"is", "Góðan daginn."},  {"it", "Buongiorno."},      {"ja", "おはようございます。"},
    {"ko", "안녕하세요."},    {"lt", "Labas rytas."},     {"lv", "Labrīt."},
    {"ms", "Selamat pagi."},  {"mt", "Bonġu."},           {"nb", "God morgen."},
    {"nl", "Goedemorgen."},   {"nn", "God morgon."},      {"pl", "Dzień dobry."},
    {"pt", "Bom dia."},       {"ro", "Bună dimineața."},  {"ru", "Доброе утро."},
    {"sk", "Dobré ráno."},    {"sl", "Dobro jutro."},     {"sq", "Mirëmëngjes."},
    {"sr", "Добро јутро."},   {"sv", "God morgon."},      {"ta", "காலை வணக்கம்."},
    {"th", "สวัสดี"},           {"tr", "Günaydın."},        {"uk", "Доброго ранку."},
    {"ur", "صبح بخیر۔"},      {"vi", "Chào buổi sáng."},  {"zh", "早上好。"},
};

/* Finds a sentence in the language; if there is none, takes the language's own name. */
static void find_sentence(const char *language, char text[128])
{
    struct dg_langtag tag;
    struct dg_buf name;
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (strncasecmp(language, sentences[i][0], 2) == 0 &&
            (language[2] == '\0' || language[2] == '-')) {
            snprintf(text, 128, "%s", sentences[i][1]);
            return;
        }
    snprintf(text, 128, "1 2 3");
    dg_buf_init(&name, 128);
    if (*language && dg_langtag_parse(dg_span_cstr(language), &tag, NULL) == DG_OK &&
        dg_langtag_name(&tag, tag.text, &name) == DG_OK && name.len)
        snprintf(text, 128, "%s", name.ptr);
    dg_buf_deinit(&name);
}

/* Runs this program, and returns what it writes to standard output and standard error. */
static enum dg_err run_self(char *const argv[], char *out, size_t cap, struct dg_error *error)
{
    int ends[2], status = 0;
    size_t len = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return dg_error_errno(error, "cannot make a pipe");
    const pid_t pid = fork();
    if (pid == 0) {
        const int null = open("/dev/null", O_RDONLY);
        dup2(null, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(ends[1]);
    while (pid > 0) {
        char rest[256];
        const ssize_t n = len + 1 < cap ? read(ends[0], out + len, cap - 1 - len)
                                        : read(ends[0], rest, sizeof rest);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        if (n > 0 && len + 1 < cap)
            len += (size_t)n;
    }
    out[len] = '\0';
    close(ends[0]);
    if (pid < 0)
        return dg_error_errno(error, "cannot start a process");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? DG_OK : DG_ERR_MODEL;
}

static enum dg_err try_model(struct install *install, const struct dg_package *package,
                             const char *dir, struct install_result *result, struct dg_error *error)
{
    char name[] = "dragoman", command[] = "translate", quiet[] = "--quiet", threads[] = "--threads",
         one[] = "1", model[] = "--model", from[] = "--source", to[] = "--target", end[] = "--",
         path[PATH_CAP], source[32], target[32];
    snprintf(path, sizeof path, "%s", dir);
    snprintf(source, sizeof source, "%s", package->source);
    snprintf(target, sizeof target, "%s", package->target);
    find_sentence(package->source, result->sentence);
    char pair[80];
    snprintf(pair, sizeof pair, "%s-%s", source, target);
    /* if the name is not this pair, the model itself states its languages */
    const bool is_named = strcmp(pair, package->name) == 0;
    char *argv[16] = {name, command, quiet, threads, one, model, path};
    size_t n = 7;
    if (is_named) {
        argv[n++] = from;
        argv[n++] = source;
        argv[n++] = to;
        argv[n++] = target;
    }
    argv[n++] = end;
    argv[n++] = result->sentence;
    step(install, "trying", 0);
    enum dg_err err = run_self(argv, result->translation, sizeof result->translation, error);
    result->translation[strcspn(result->translation, "\n")] = '\0';
    for (char *at = result->translation; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F) /* a terminal would obey these bytes */
            *at = ' ';
    return err ? dg_error_set(error, DG_ERR_MODEL,
                              "the model was fetched, but does not translate: %s",
                              *result->translation ? result->translation : "no answer")
               : DG_OK;
}

/* ---- Moving into place ----------------------------------------------------------------------- */

/* True for a folder at the model's place that is not a model; such a folder is refused. */
static bool is_other(const char *path)
{
    char config[PATH_CAP];
    struct stat st;
    return lstat(path, &st) == 0 && (dg_folder_path(path, "config.json", config, NULL) != DG_OK ||
                                     access(config, F_OK) != 0);
}

/* Moves the directory to its place in one step, and removes the one that was there before. */
static enum dg_err move_in(const struct install *install, const char *model, const char *name,
                           struct install_result *result, struct dg_error *error)
{
    enum dg_err err = dg_folder_path(install->dir, name, result->path, error);
    if (err)
        return err;
    if (is_other(result->path))
        return dg_error_set(
            error, DG_ERR_DENIED,
            "%s already exists and is not a model; move it away, or choose another name with --as",
            result->path);
    if (renameat2(AT_FDCWD, model, AT_FDCWD, result->path, RENAME_NOREPLACE) == 0)
        return dg_file_out_sync_dir(install->dir, error);
    if (errno == EEXIST && renameat2(AT_FDCWD, model, AT_FDCWD, result->path, RENAME_EXCHANGE) == 0)
        return dg_file_out_sync_dir(install->dir, error);
    if (errno == EINVAL || errno == ENOSYS) { /* the file system cannot exchange two names */
        char old[PATH_CAP];
        const int n = snprintf(old, sizeof old, "%s.before", model);
        remove_tree(old);
        if (n < PATH_CAP && (rename(result->path, old) == 0 || errno == ENOENT)) {
            if (rename(model, result->path) == 0)
                return dg_file_out_sync_dir(install->dir, error);
            const int number = errno;
            (void)rename(old, result->path);
            errno = number;
        }
    }
    return dg_error_errno(error, "cannot move the model to %s", result->path);
}

static void set_date(struct dg_package *package)
{
    char text[16];
    struct tm tm;
    const time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%d", &tm);
    const char *copy = dg_arena_copy(&package->arena, dg_span_cstr(text)).ptr;
    package->fetched = copy ? copy : "";
}

enum dg_err install_package(struct install *install, struct dg_package *package,
                            const struct install_opts *opts, struct install_result *result,
                            struct dg_error *error)
{
    char work[PATH_CAP], files[PATH_CAP], made[PATH_CAP], model[PATH_CAP];
    *result = (struct install_result){.note = ""};
    install->opts = opts;
    enum dg_err err = dg_folder_path(install->work, package->name, work, error);
    if (!err)
        err = dg_folder_path(work, "files", files, error);
    if (!err)
        err = dg_folder_path(work, "made", made, error);
    if (!err) /* the name in `made` already states the languages */
        err = dg_folder_path(made, package->name, model, error);
    if (!err)
        err = make_folder(files, error);
    if (!err)
        err = make_folder(made, error);
    if (!err)
        (void)utimensat(AT_FDCWD, work, NULL, 0); /* so that remove_old does not take a folder in
                                                     use for an old one */
    if (!err)
        err = fetch_all(install, package, files, error);
    if (!err)
        err = check_hashes(install, package, error);
    if (err == DG_ERR_INTEGRITY || err == DG_ERR_LIMIT || err == DG_ERR_FORMAT)
        remove_tree(work);
    if (!err) {
        set_date(package);
        err = import(install, package, files, model, result, error);
        if (!err)
            err = describe(package, model, error);
        if (!err)
            err = try_model(install, package, model, result, error);
        if (!err)
            err = move_in(install, model, package->name, result, error);
        if (err)
            remove_tree(made);
        if (!err || (err != DG_ERR_CANCELLED && err != DG_ERR_NO_SPACE))
            remove_tree(work);
    }
    install->opts = NULL;
    return err;
}

/* ---- Removing -------------------------------------------------------------------------------- */

enum dg_err install_remove(struct install *install, const char *name, struct dg_error *error)
{
    char path[PATH_CAP], work[PATH_CAP], gone[PATH_CAP];
    enum dg_err err = dg_folder_path(install->dir, name, path, error);
    if (!err)
        err = dg_folder_path(install->work, name, work, error);
    if (!err)
        err = dg_folder_path(work, "removed", gone, error);
    if (err)
        return err;
    struct stat st;
    /* apart from "hashes" and "lock" */
    const bool had_work = lstat(work, &st) == 0 && S_ISDIR(st.st_mode);
    if (is_other(path))
        return dg_error_set(error, DG_ERR_DENIED, "%s is not a model directory; it stays", path);
    remove_tree(gone);
    if (access(path, F_OK) == 0) {
        err = make_folder(work, error);
        if (!err && rename(path, gone) != 0)
            err = dg_error_errno(error, "cannot remove %s", path);
    } else if (!had_work) {
        err = dg_error_set(error, DG_ERR_NOT_FOUND, "%s has no model %s", install->dir, name);
    }
    if (!err)
        remove_tree(work);
    return err;
}
