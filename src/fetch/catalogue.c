/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The strict JSON reader parses the catalogue; texts are checked while they are copied into the
 * arena. */
#include "fetch/catalogue.h"

#include "base/file/map_file.h"
#include "base/json/json.h"
#include "base/json/json_out.h"

#include <ctype.h>
#include <string.h>

enum { ARENA_MAX = 64 << 20, LANGUAGE_MAX = 20, NAME_MAX_BYTES = 128 };

static const struct dg_json_limits json_limits = {
    .max_bytes = DG_CATALOGUE_BYTES_MAX, .max_depth = 8, .max_values = 1000 * 1000};

/* ---- Texts ----------------------------------------------------------------------------------- */

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || (byte && strchr("._-+", byte));
}

bool dg_catalogue_is_name(struct dg_span text)
{
    if (text.len == 0 || text.len > NAME_MAX_BYTES || text.ptr[0] == '.')
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!is_name_byte(text.ptr[i]))
            return false;
    return true;
}

bool dg_catalogue_is_place(struct dg_span text)
{
    size_t begin = 0;
    if (text.len == 0 || text.len > DG_CATALOGUE_TEXT_MAX)
        return false;
    for (size_t i = 0; i <= text.len; i++) {
        if (i == text.len || text.ptr[i] == '/') {
            const struct dg_span part = dg_span_sub(text, begin, i - begin);
            if (part.len == 0 || part.ptr[0] == '.')
                return false;
            begin = i + 1;
        } else if (!is_name_byte(text.ptr[i]) && (!text.ptr[i] || !strchr("%=,~", text.ptr[i]))) {
            return false;
        }
    }
    return true;
}

bool dg_catalogue_is_language(struct dg_span text)
{
    if (text.len < 2 || text.len > LANGUAGE_MAX || !isalpha((unsigned char)text.ptr[0]) ||
        !isalnum((unsigned char)text.ptr[text.len - 1]))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.ptr[i]) && (text.ptr[i] != '-' || text.ptr[i - 1] == '-'))
            return false;
    return true;
}

bool dg_catalogue_is_hash(struct dg_span text, size_t n)
{
    if (text.len != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)text.ptr[i]) && (text.ptr[i] < 'a' || text.ptr[i] > 'f'))
            return false;
    return true;
}

bool dg_catalogue_is_url(struct dg_span text)
{
    static const char begin[] = "https://";
    const size_t at = sizeof begin - 1;
    if (text.len <= at || text.len > DG_CATALOGUE_TEXT_MAX || memcmp(text.ptr, begin, at) != 0 ||
        (!isalnum((unsigned char)text.ptr[at]) && text.ptr[at] != '['))
        return false;
    for (size_t i = at; i < text.len; i++)
        if (!isalnum((unsigned char)text.ptr[i]) &&
            (!text.ptr[i] || !strchr("._-+%=,~/:[]?&", text.ptr[i])))
            return false;
    return true;
}

bool dg_catalogue_is_text(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 127)
            return false;
    return text.len <= DG_CATALOGUE_TEXT_MAX;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

enum what { TEXT, NAME, PLACE, LANGUAGE, SHA256, BASE, URL };

static bool is_a(enum what what, struct dg_span text)
{
    switch (what) {
    case NAME:
        return dg_catalogue_is_name(text);
    case PLACE:
        return dg_catalogue_is_place(text);
    case LANGUAGE:
        return dg_catalogue_is_language(text);
    case SHA256:
        return dg_catalogue_is_hash(text, 64);
    case BASE:
        return dg_catalogue_is_url(text) && dg_span_ends(text, DG_SPAN("/"));
    case URL:
        return dg_catalogue_is_url(text);
    default:
        return dg_catalogue_is_text(text);
    }
}

static enum dg_err get_text(struct dg_catalogue *catalogue, const struct dg_json *json,
                            const char *name, enum what what, enum dg_json_need need,
                            struct dg_error *error, const char **out)
{
    static const char *const expected[] = {
        "printable text of at most 400 bytes",
        "a plain file name",
        "a path of plain names",
        "a language tag",
        "64 hexadecimal digits",
        "an https address that ends in /",
        "an https address",
    };
    struct dg_span text = {0};
    enum dg_err err = dg_json_get_string(json, name, need, error, &text);
    if (err)
        return err;
    if ((text.ptr || need) && !is_a(what, text))
        return dg_error_set(error, DG_ERR_INVALID, "field '%s': read '%.*s', expected %s", name,
                            text.len > 80 ? 80 : DG_SPAN_FMT(text), expected[what]);
    *out = "";
    if (text.len == 0)
        return DG_OK;
    *out = dg_arena_copy(&catalogue->arena, text).ptr;
    return *out ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_size(const struct dg_json *json, const char *name, struct dg_error *error,
                             uint64_t *out)
{
    int64_t size = 0;
    enum dg_err err = dg_json_get_int(json, name, DG_JSON_OPTIONAL, 0,
                                      (int64_t)DG_CATALOGUE_FILE_MAX, error, &size);
    *out = (uint64_t)size;
    return err;
}

static enum dg_err read_file(struct dg_catalogue *catalogue, const struct dg_json *json,
                             struct dg_error *error, struct dg_catalogue_file *file)
{
    enum dg_err err = get_text(catalogue, json, "name", NAME, DG_JSON_REQUIRED, error, &file->name);
    if (!err)
        err = get_text(catalogue, json, "place", PLACE, DG_JSON_REQUIRED, error, &file->place);
    if (!err)
        err = read_size(json, "size", error, &file->size);
    if (!err)
        err = get_text(catalogue, json, "sha256", SHA256, DG_JSON_OPTIONAL, error, &file->sha256);
    if (!err)
        err = read_size(json, "raw_size", error, &file->raw_size);
    if (!err)
        err = get_text(catalogue, json, "raw_sha256", SHA256, DG_JSON_OPTIONAL, error,
                       &file->raw_sha256);
    file->git_sha1 = "";
    return err;
}

static enum dg_err read_files(struct dg_catalogue *catalogue, const struct dg_json *json,
                              struct dg_error *error, struct dg_catalogue_model *model)
{
    const struct dg_json *list = NULL;
    enum dg_err err = dg_json_get_array(json, "files", DG_JSON_REQUIRED, error, &list);
    if (err)
        return err;
    model->n_files = dg_json_len(list);
    if (model->n_files == 0 || model->n_files > DG_CATALOGUE_FILES_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "field 'files' has %zu files, expected 1 to %d",
                            model->n_files, DG_CATALOGUE_FILES_MAX);
    struct dg_catalogue_file *files =
        dg_arena_calloc(&catalogue->arena, model->n_files, sizeof *files);
    model->files = files;
    if (!files)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < model->n_files && !err; i++) {
        err = read_file(catalogue, dg_json_at(list, i), error, &files[i]);
        for (size_t j = 0; j < i && !err; j++)
            if (strcmp(files[i].name, files[j].name) == 0)
                err = dg_error_set(error, DG_ERR_EXISTS, "file '%s' occurs twice", files[i].name);
    }
    return err;
}

static enum dg_err read_model(struct dg_catalogue *catalogue, const struct dg_json *json,
                              struct dg_error *error, struct dg_catalogue_model *model)
{
    const char *from = "";
    model->bleu = model->comet = -1;
    enum dg_err err =
        get_text(catalogue, json, "source", LANGUAGE, DG_JSON_REQUIRED, error, &model->source);
    if (!err)
        err =
            get_text(catalogue, json, "target", LANGUAGE, DG_JSON_REQUIRED, error, &model->target);
    if (!err)
        err = get_text(catalogue, json, "from", NAME, DG_JSON_REQUIRED, error, &from);
    if (!err && !(model->from = dg_catalogue_source(catalogue, from)))
        err = dg_error_set(error, DG_ERR_NOT_FOUND,
                           "field 'from': '%s' is not a source of this file", from);
    if (!err)
        err = get_text(catalogue, json, "kind", NAME, DG_JSON_REQUIRED, error, &model->kind);
    if (!err)
        err = get_text(catalogue, json, "version", TEXT, DG_JSON_OPTIONAL, error, &model->version);
    if (!err)
        err = get_text(catalogue, json, "filter", TEXT, DG_JSON_OPTIONAL, error, &model->filter);
    if (!err)
        err = dg_json_get_int(json, "changed", DG_JSON_OPTIONAL, 0, INT64_C(1) << 40, error,
                              &model->changed);
    if (!err)
        err = dg_json_get_real(json, "bleu", DG_JSON_OPTIONAL, 0, 100, error, &model->bleu);
    if (!err)
        err = dg_json_get_real(json, "comet", DG_JSON_OPTIONAL, 0, 1, error, &model->comet);
    return err ? err : read_files(catalogue, json, error, model);
}

static enum dg_err read_source(struct dg_catalogue *catalogue, const struct dg_json *json,
                               struct dg_error *error, struct dg_catalogue_source *source)
{
    enum dg_err err =
        get_text(catalogue, json, "name", NAME, DG_JSON_REQUIRED, error, &source->name);
    if (!err)
        err = get_text(catalogue, json, "base", BASE, DG_JSON_REQUIRED, error, &source->base);
    if (!err)
        err = get_text(catalogue, json, "list", URL, DG_JSON_OPTIONAL, error, &source->list);
    if (!err)
        err = get_text(catalogue, json, "licence", TEXT, DG_JSON_OPTIONAL, error, &source->licence);
    if (!err)
        err = get_text(catalogue, json, "scores_by", TEXT, DG_JSON_OPTIONAL, error,
                       &source->scores_by);
    return err;
}

/* Gets an array of at most `max` elements, and zeroed memory for them. */
static enum dg_err get_list(struct dg_catalogue *catalogue, const struct dg_json *json,
                            const char *name, size_t max, size_t size, struct dg_error *error,
                            const struct dg_json **list, void **items)
{
    enum dg_err err = dg_json_get_array(json, name, DG_JSON_REQUIRED, error, list);
    const size_t n = dg_json_len(*list);
    if (!err && n > max)
        err = dg_error_set(error, DG_ERR_LIMIT, "field '%s' has %zu, expected at most %zu", name, n,
                           max);
    if (err)
        return err;
    *items = dg_arena_calloc(&catalogue->arena, n ? n : 1, size);
    return *items ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_all(struct dg_catalogue *catalogue, const struct dg_json *json,
                            struct dg_error *error)
{
    int64_t format = 0;
    const struct dg_json *list = NULL;
    void *items = NULL;
    enum dg_err err = dg_json_get_int(json, "format", DG_JSON_REQUIRED, 1, 1, error, &format);
    if (!err)
        err = get_text(catalogue, json, "date", TEXT, DG_JSON_OPTIONAL, error, &catalogue->date);
    if (!err)
        err = get_list(catalogue, json, "sources", DG_CATALOGUE_SOURCES_MAX,
                       sizeof *catalogue->sources, error, &list, &items);
    catalogue->sources = items;
    for (size_t i = 0; !err && i < dg_json_len(list); i++) {
        err = read_source(catalogue, dg_json_at(list, i), error, &catalogue->sources[i]);
        if (err)
            return dg_error_wrap(error, err, "sources[%zu]", i);
        catalogue->n_sources++;
    }
    if (!err)
        err = get_list(catalogue, json, "models", DG_CATALOGUE_MODELS_MAX,
                       sizeof *catalogue->models, error, &list, &items);
    catalogue->models = items;
    for (size_t i = 0; !err && i < dg_json_len(list); i++) {
        err = read_model(catalogue, dg_json_at(list, i), error, &catalogue->models[i]);
        if (err)
            return dg_error_wrap(error, err, "models[%zu]", i);
        catalogue->n_models++;
    }
    return err;
}

/* ---- The file -------------------------------------------------------------------------------- */

enum dg_err dg_catalogue_parse(struct dg_catalogue *catalogue, struct dg_span text,
                               struct dg_error *error)
{
    struct dg_json *json = NULL;
    enum dg_err err = dg_json_parse(text, &json_limits, error, &json);
    if (err)
        return err;
    *catalogue = (struct dg_catalogue){.date = ""};
    dg_arena_init(&catalogue->arena, ARENA_MAX);
    err = read_all(catalogue, json, error);
    dg_json_free(json);
    if (err)
        dg_catalogue_free(catalogue);
    return err;
}

enum dg_err dg_catalogue_read(struct dg_catalogue *catalogue, const char *path,
                              struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_read(&file, path, DG_CATALOGUE_BYTES_MAX, error);
    if (err)
        return err;
    err = dg_catalogue_parse(catalogue, dg_span_make((const char *)file.bytes, file.len), error);
    dg_map_file_close(&file);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

void dg_catalogue_free(struct dg_catalogue *catalogue)
{
    dg_arena_deinit(&catalogue->arena);
    *catalogue = (struct dg_catalogue){.date = ""};
}

const struct dg_catalogue_source *dg_catalogue_source(const struct dg_catalogue *catalogue,
                                                      const char *name)
{
    for (size_t i = 0; i < catalogue->n_sources; i++)
        if (strcmp(catalogue->sources[i].name, name) == 0)
            return &catalogue->sources[i];
    return NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put(struct dg_json_out *out, const char *key, const char *text)
{
    if (text && *text)
        dg_json_out_put_cstr(out, key, text);
}

static void put_file(struct dg_json_out *out, const struct dg_catalogue_file *file)
{
    dg_json_out_open(out, '{');
    put(out, "name", file->name);
    put(out, "place", file->place);
    if (file->size)
        dg_json_out_put_uint(out, "size", file->size);
    put(out, "sha256", file->sha256);
    if (file->raw_size)
        dg_json_out_put_uint(out, "raw_size", file->raw_size);
    put(out, "raw_sha256", file->raw_sha256);
    dg_json_out_close(out, '}');
}

static enum dg_err print_model(const struct dg_catalogue_model *model, struct dg_buf *buf)
{
    struct dg_json_out out;
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    put(&out, "source", model->source);
    put(&out, "target", model->target);
    put(&out, "from", model->from->name);
    put(&out, "kind", model->kind);
    put(&out, "version", model->version);
    if (model->changed)
        dg_json_out_put_int(&out, "changed", model->changed);
    put(&out, "filter", model->filter);
    if (model->bleu >= 0)
        dg_json_out_put_real(&out, "bleu", model->bleu, 0);
    if (model->comet >= 0)
        dg_json_out_put_real(&out, "comet", model->comet, 0);
    dg_json_out_put_open(&out, "files", '[');
    for (size_t i = 0; i < model->n_files; i++)
        put_file(&out, &model->files[i]);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static enum dg_err print_source(const struct dg_catalogue_source *source, struct dg_buf *buf)
{
    struct dg_json_out out;
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    put(&out, "name", source->name);
    put(&out, "base", source->base);
    put(&out, "list", source->list);
    put(&out, "licence", source->licence);
    put(&out, "scores_by", source->scores_by);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

enum dg_err dg_catalogue_print(const struct dg_catalogue *catalogue, struct dg_buf *out)
{
    enum dg_err err = dg_buf_append_cstr(out, "{\"format\":1,\"date\":");
    if (!err)
        err = dg_json_out_quote(out, dg_span_cstr(catalogue->date));
    if (!err)
        err = dg_buf_append_cstr(out, ",\"sources\":[\n");
    for (size_t i = 0; i < catalogue->n_sources && !err; i++) {
        err = i ? dg_buf_append_cstr(out, ",\n") : DG_OK;
        if (!err)
            err = print_source(&catalogue->sources[i], out);
    }
    if (!err)
        err = dg_buf_append_cstr(out, "\n],\"models\":[\n");
    for (size_t i = 0; i < catalogue->n_models && !err; i++) {
        err = i ? dg_buf_append_cstr(out, ",\n") : DG_OK;
        if (!err)
            err = print_model(&catalogue->models[i], out);
    }
    return err ? err : dg_buf_append_cstr(out, "\n]}\n");
}
