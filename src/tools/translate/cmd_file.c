/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman file: translates a whole document. Everything but its text stays the same, byte for
 * byte. The output appears whole or not at all. */
#include "base/file/file_out.h"
#include "base/file/text_in.h"
#include "base/memory/utf8.h"
#include "decode/search_opts.h"
#include "filter/rendition.h"
#include "markup/po_check.h"
#include "office/office.h"
#include "tools/lines.h"
#include "tools/tools.h"
#include "tools/translate/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX = 256 << 20, RESULT_MAX = 1 << 30 };

/* "auto", then the words of dg_doc_format_words, then those of filters. */
#define WORD(name, word, reader, cut, type, endings) word,
static const char *const kind_words[] = {"auto",       DG_DOC_FORMAT_LIST(WORD) "office",
                                         "csv",        "yaml",
                                         "latex",      "strings",
                                         "properties", "android",
                                         "resx",       "stringsdict",
                                         "mail",       "pdf",
                                         NULL};
#undef WORD

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct file_flags, help),
    {DG_OPT_PATH(struct file_flags, model), "model", .letter = 'm',
     .help = "the model directory (default: the installed model of these languages); with --server "
             "a model's name there, or nothing"},
    {DG_OPT_INT_IN(struct file_flags, threads, 0, 256), "threads", .letter = 't', .def = "0",
     .help = "workers; 0: one for each core"},
    {DG_OPT_INT_IN(struct file_flags, beam, 0, DG_BEAM_MAX), "beam", .letter = 'b', .def = "0",
     .help = "hypotheses that are kept; 0: as many as the model's makers chose"},
    {DG_OPT_ENUM(struct file_flags, kind), "kind", .words = kind_words, .def = "auto",
     .heading = "File",
     .help = "what kind of file it is; auto: by its name, else by its first bytes"},
    {DG_OPT_BOOL(struct file_flags, all), "all", .def = "no",
     .help = "po, xliff: also translate what already has a translation"},
    {DG_OPT_BOOL(struct file_flags, mark), "mark", .def = "yes",
     .help =
         "po, xliff: mark translations as made by a machine, to be reviewed (fuzzy, needs-review)"},
    {DG_OPT_STRING(struct file_flags, columns), "columns", .def = "",
     .help =
         "csv: the columns to translate, by name or number, separated by commas (default: those "
         "whose cells are mostly words)"},
    {DG_OPT_STRING(struct file_flags, output), "output-format", .def = "",
     .help = "pdf: what is written instead of a PDF: docx, odt, html or txt (default: the ending "
             "of OUT, else docx)"},
    {DG_OPT_BOOL(struct file_flags, dry_run), "dry-run", .letter = 'n', .def = "no",
     .help = "translate nothing: every sentence comes back as it is"},
    {DG_OPT_BOOL(struct file_flags, quiet), "quiet", .letter = 'q', .def = "no",
     .help = "no summary on stderr"},
    SERVER_FLAGS(struct file_flags, remote, "", 0),
};

static const struct dg_opt_table table = {
    .program = "dragoman file",
    .summary = "Translates a document and keeps its form: docx, pptx, xlsx, odt, odp, ods, epub, "
               "pdf, csv, yml, tex, eml, strings, stringsdict, properties, resx, Android's "
               "strings.xml, txt, "
               "srt, vtt, ass, sbv, ttml, html, xml, md, po, xliff, json. '-': stdin, stdout.",
    DG_OPT_ROWS(rows, struct file_flags),
    .args = "IN OUT",
    .args_min = 2,
    .args_max = 2,
};

/* ---- Input and output ------------------------------------------------------------------------ */

struct out {
    struct dg_file_out *file; /* NULL: standard output */
    size_t n;
};

static enum dg_err write_bytes(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct out *out = ctx;
    out->n += bytes.len;
    if (out->file)
        return dg_file_out_write(out->file, bytes.ptr, bytes.len, error);
    return fwrite(bytes.ptr, 1, bytes.len, stdout) == bytes.len
               ? DG_OK
               : dg_error_set(error, DG_ERR_IO, "cannot write stdout: %s", strerror(errno));
}

static enum dg_err write_result(struct file_work *work, struct out *out, struct dg_error *error)
{
    const struct dg_span result = dg_buf_span(&work->result);
    const char *target = *work->target ? work->target : work->flags->remote.target;
    if (!work->filter)
        return write_bytes(out, result, error);
    return dg_filter_write(work->filter, work->text, result, dg_span_cstr(target), write_bytes, out,
                           error);
}

static enum dg_err write_out(struct file_work *work, const char *in, const char *path,
                             struct dg_error *error)
{
    struct stat info;
    struct out out = {.file = NULL};
    const bool is_stdout = strcmp(path, "-") == 0;
    const unsigned mode = strcmp(in, "-") != 0 && stat(in, &info) == 0 ? info.st_mode & 0777 : 0644;
    enum dg_err err = is_stdout ? DG_OK : dg_file_out_open(&out.file, path, mode | 0200, error);
    if (err)
        return err;
    err = write_result(work, &out, error);
    work->n_out = out.n;
    if (out.file)
        return dg_file_out_close(out.file, err, error);
    return !err && fflush(stdout) != 0
               ? dg_error_set(error, DG_ERR_IO, "cannot write stdout: %s", strerror(errno))
               : err;
}

/* ---- The format ------------------------------------------------------------------------------ */

static enum dg_doc_format kind_of(const struct file_flags *flags, const char *in, const char *out,
                                  struct dg_span text)
{
    enum dg_doc_format format;
    if (flags->kind)
        return (enum dg_doc_format)(flags->kind - 1);
    if (strchr(in, '.') && dg_doc_format_of(dg_span_cstr(in), &format))
        return format;
    if (strcmp(in, "-") == 0 && strchr(out, '.') && dg_doc_format_of(dg_span_cstr(out), &format))
        return format;
    return dg_doc_format_guess(text);
}

/* Returns the name that tells the file's format: for standard input, the name of the output. */
static const char *name_of(const char *in, const char *out)
{
    return strcmp(in, "-") == 0 && strchr(out, '.') ? out : in;
}

static bool has_filter(const struct file_flags *flags, const char *name, struct dg_span bytes)
{
    return flags->kind
               ? dg_filter_is_kind(dg_span_cstr(kind_words[flags->kind]), bytes)
               : dg_office_is(bytes) ||
                     dg_filter_takes(strchr(name, '.') ? dg_span_cstr(name) : DG_SPAN(""), bytes);
}

/* Gets the text of a file whose format a filter reads. */
static enum dg_err open_filter(struct file_work *work, const char *name, const char *out,
                               struct dg_buf *text, struct dg_error *error)
{
    const char *dot = strrchr(out, '.');
    enum dg_rendition rendition;
    const bool has_output = dot && dg_rendition_of(dg_span_cstr(dot + 1), &rendition);
    const struct file_flags *flags = work->flags;
    const struct dg_filter_opts opts = {
        .columns = dg_span_cstr(flags->columns),
        .output = dg_span_cstr(*flags->output ? flags->output
                               : has_output   ? dot + 1
                                              : ""),
        .kind = dg_span_cstr(flags->kind ? kind_words[flags->kind] : "")};
    enum dg_err err = dg_filter_new(work->text, name, &opts, &work->filter, error);
    if (!err)
        err = dg_filter_text(work->filter, text, error);
    if (err)
        return err;
    work->text = dg_buf_span(text);
    work->format = dg_filter_format(work->filter);
    return DG_OK;
}

/* Counts the text for the progress line, and refuses a file that cannot be read before any model is
 * loaded. */
static enum dg_err measure(struct file_work *work, size_t *total, struct dg_error *error)
{
    struct dg_doc *doc = NULL;
    *total = work->text.len;
    if (work->format == DG_DOC_TEXT)
        return DG_OK;
    enum dg_err err = dg_doc_new(work->text, work->format, &work->opts, &doc, error);
    if (!err)
        *total = dg_doc_original(doc).len;
    dg_doc_free(doc);
    return err;
}

static enum dg_err check_flags(const struct dg_opt_set *set, const struct file_flags *flags,
                               struct dg_error *error)
{
    static const char *const own[] = {"threads", "dry-run"};
    bool is_remote = *flags->remote.server;
    for (size_t i = 0; is_remote && i < sizeof own / sizeof *own; i++)
        if (dg_opt_given(set, own[i]))
            return dg_error_set(error, DG_ERR_USAGE, "--%s cannot be used with --server", own[i]);
    if (!is_remote && dg_opt_given(set, "key-file"))
        return dg_error_set(error, DG_ERR_USAGE, "--key-file can only be used with --server");
    return DG_OK;
}

/* Checks that directives such as %s are the same as in the original; programs could crash
 * otherwise. */
static enum dg_err check_po(struct file_work *work, struct dg_error *error)
{
    struct dg_buf checked;
    if (work->format != DG_DOC_PO || work->filter || work->flags->dry_run)
        return DG_OK;
    dg_buf_init(&checked, RESULT_MAX);
    const enum dg_err err = dg_po_check(work->text, dg_buf_span(&work->result), work->flags->all,
                                        &checked, &work->n_unsound, error);
    if (err) {
        dg_buf_deinit(&checked);
        return err;
    }
    dg_buf_deinit(&work->result);
    work->result = checked;
    return DG_OK;
}

static enum dg_err translate(struct file_work *work, struct dg_error *error)
{
    const struct dg_clock clock = DG_CLOCK_REAL;
    size_t total, bad_at;
    if (!dg_utf8_valid(work->text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8,
                            "the file is not UTF-8 at byte %zu; iconv makes it so", bad_at);
    enum dg_err err = measure(work, &total, error);
    if (err)
        return err;
    dg_progress_start(&work->progress, "translating", "bytes", total, &clock);
    err = work->flags->dry_run          ? file_dry(work, error)
          : *work->flags->remote.server ? file_by_server(work, error)
                                        : file_by_model(work, error);
    dg_progress_stop(&work->progress);
    return err ? err : check_po(work, error);
}

static void sum_up(const struct file_work *work, size_t n_in)
{
    if (work->n_unsound)
        fprintf(stderr,
                "dragoman file: %zu entries do not have the directives (%%s, {0}) of their "
                "originals; they are marked fuzzy\n",
                work->n_unsound);
    if (work->n_lost)
        fprintf(stderr,
                "dragoman file: %zu placeholders, addresses or the like did not come through "
                "unchanged; look at them\n",
                work->n_lost);
    if (work->filter && dg_filter_note(work->filter).len)
        fprintf(stderr, "dragoman file: %.*s\n", DG_SPAN_FMT(dg_filter_note(work->filter)));
    fprintf(stderr, "file: kind=%s sentences=%zu lost=%zu bytes_in=%zu bytes_out=%zu\n",
            work->filter ? dg_filter_kind(work->filter) : dg_doc_format_words[work->format],
            work->n_sentences, work->n_lost, n_in, work->n_out);
}

int dg_cmd_file(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!dg_opt_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    struct file_work work = {.flags = dg_opt_values(set), .set = set};
    const char *in = dg_opt_arg(set, 0), *out = dg_opt_arg(set, 1);
    struct dg_error error = DG_ERROR_NONE;
    struct dg_text_in file = {.at = 0};
    struct dg_buf text, html;
    bool is_open = false;
    size_t n_in = 0;
    dg_buf_init(&text, FILE_MAX);
    dg_buf_init(&html, FILE_MAX);
    dg_buf_init(&work.result, RESULT_MAX);
    enum dg_err err = check_flags(set, work.flags, &error);
    bool is_misused = err != DG_OK;
    if (!err && strcmp(in, "-") == 0) {
        err = dg_lines_document(&text, &error);
        work.text = dg_buf_span(&text);
    } else if (!err) {
        err = dg_text_in_open(&file, in, &error);
        is_open = !err;
        work.text = file.text;
    }
    if (!err) {
        n_in = work.text.len;
        if (has_filter(work.flags, name_of(in, out), work.text))
            err = open_filter(&work, name_of(in, out), out, &html, &error);
        else
            work.format = kind_of(work.flags, in, out, work.text);
    }
    if (!err) {
        work.opts = (struct dg_doc_opts){.target = dg_span_cstr(work.flags->remote.target),
                                         .retranslate = work.flags->all,
                                         .unmarked = !work.flags->mark};
        err = translate(&work, &error);
    }
    if (!err)
        err = write_out(&work, in, out, &error);
    const char *sentence = dg_error_text(&error, err);
    if (err && strstr(sentence, in))
        fprintf(stderr, "dragoman file: %s\n", sentence);
    else if (err)
        fprintf(stderr, "dragoman file: %s: %s\n", in, sentence);
    else if (!work.flags->quiet)
        sum_up(&work, n_in);
    dg_filter_free(work.filter);
    if (is_open)
        dg_text_in_close(&file);
    dg_buf_deinit(&text);
    dg_buf_deinit(&html);
    dg_buf_deinit(&work.result);
    dg_opt_set_free(set);
    return is_misused || err == DG_ERR_USAGE ? 2 : err ? 1 : 0;
}
