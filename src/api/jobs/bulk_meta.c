/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* ID.json of a bulk job says what is known of the job. It is written whenever that changes for
 * good, and read at the next start. Most of it is also what clients are told. The request stands in
 * it unchanged, and is read into the struct that every line begins with. */
#include "api/jobs/bulk_int.h"
#include "api/v1/job.h"
#include "base/memory/mem.h"

#include <string.h>
#include <unistd.h>

enum { MODELS_MAX = 1000, OPTIONS_VALUES_MAX = 2000 };

const char *const dg_bulk_state_words[] = {
    [DG_BULK_WAITING] = "waiting",     [DG_BULK_RUNNING] = "running", [DG_BULK_DONE] = "done",
    [DG_BULK_CANCELLED] = "cancelled", [DG_BULK_FAILED] = "failed",   NULL};
static const char *const wait_words[] = {
    [DG_BULK_WAITS_FOR_MODEL] = "model", [DG_BULK_WAITS_FOR_SPACE] = "space"};
static const char *const api_words[] = {[DG_BULK_V1] = "v1",
                                        [DG_BULK_DEEPL] = "deepl",
                                        [DG_BULK_LIBRETRANSLATE] = "libretranslate",
                                        NULL};
static const char *const format_words[] = {
    [DG_BULK_TEXT] = "text", [DG_BULK_JSONL] = "jsonl", NULL};

/* ---- What it was asked ----------------------------------------------------------------------- */

/* Reads the options into the struct that its lines begin with. */
enum dg_err dg_bulk_read_options(struct dg_bulk_job *job, struct dg_span options_json,
                                 struct dg_error *error)
{
    const struct dg_translate_options_limits limits = {.no_text = true};
    struct dg_failure failure;
    struct dg_json *json;
    job->options_json = dg_arena_copy(&job->arena, options_json);
    if (!job->options_json.ptr)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_translate_options_parse(job->options_json, OPTIONS_VALUES_MAX, &job->arena,
                                                 &failure, &json);
    if (!err) {
        err = dg_translate_options_read(json, &job->arena, &limits, &failure, &job->options);
        dg_json_free(json);
    }
    return err ? dg_error_set(error, err, "%s", failure.message) : DG_OK;
}

/* Sets the models that the job's owner may use; names are strings of the arena. */
enum dg_err dg_bulk_own_models(struct dg_bulk_job *job, const char *const *names, size_t n)
{
    if (n == 0)
        return DG_OK;
    const char **only = dg_arena_calloc(&job->arena, n, sizeof *only);
    for (size_t i = 0; only && i < n; i++) {
        struct dg_span name = dg_arena_copy(&job->arena, dg_span_cstr(names[i]));
        if (!name.ptr)
            return DG_ERR_NOMEM;
        only[i] = name.ptr;
    }
    job->options.request.only = only;
    job->options.request.n_only = n;
    return only ? DG_OK : DG_ERR_NOMEM;
}

/* ---- The bill -------------------------------------------------------------------------------- */

/* [REQUESTS,CHARACTERS,LIMIT,...,MONTH,IS_LOCAL] */
static void put_bill(const struct dg_bulk_bill *bill, struct dg_json_out *out)
{
    dg_json_out_put_open(out, "bill", '[');
    dg_json_out_uint(out, bill->requests);
    dg_json_out_uint(out, bill->characters);
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++)
        dg_json_out_uint(out, bill->limits[w]);
    dg_json_out_uint(out, bill->month);
    dg_json_out_uint(out, bill->is_local);
    dg_json_out_close(out, ']');
}

static enum dg_err read_bill(const struct dg_json *json, struct dg_bulk_bill *bill,
                             struct dg_error *error)
{
    const struct dg_json *all = NULL;
    enum { MONTH = 2 + DG_QUOTA_WINDOWS, IS_LOCAL, N };
    int64_t values[N] = {0};
    enum dg_err err = dg_json_get_array(json, "bill", DG_JSON_OPTIONAL, error, &all);
    for (size_t i = 0; all && !err && i < N; i++)
        err = dg_json_at_int(all, "bill", i, 0, INT64_MAX, error, &values[i]);
    bill->requests = (uint64_t)values[0];
    bill->characters = (uint64_t)values[1];
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++)
        bill->limits[w] = (uint64_t)values[2 + w];
    bill->month = (unsigned)values[MONTH];
    bill->is_local = values[IS_LOCAL] != 0;
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_numbers(const struct dg_bulk_job *job, struct dg_json_out *out)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"created", job->created_s},     {"finished", job->finished_s},
                   {"lines", job->n_lines},         {"done", job->n_done},
                   {"failed", job->n_failed},       {"input_bytes", job->in_bytes},
                   {"output_bytes", job->out_bytes}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        dg_json_out_key(out, numbers[i].name);
        if (strcmp(numbers[i].name, "finished") == 0 && !dg_bulk_is_over(job))
            dg_json_out_null(out);
        else
            dg_json_out_uint(out, numbers[i].value);
    }
}

static void put_members(const struct dg_bulk_job *job, enum dg_bulk_state state,
                        struct dg_json_out *out)
{
    dg_json_out_put_cstr(out, "id", job->id);
    dg_json_out_put_cstr(out, "state", dg_bulk_state_words[state]);
    dg_json_out_put_cstr(out, "format", format_words[job->format]);
    if (*job->document_name) {
        dg_json_out_put_cstr(out, "document", job->document_name);
        dg_json_out_put_uint(out, "document_bytes", job->document_bytes);
        if (*job->document_columns)
            dg_json_out_put_cstr(out, "columns", job->document_columns);
        if (*job->document_output)
            dg_json_out_put_cstr(out, "output_format", job->document_output);
    }
    if (!dg_bulk_is_over(job) && job->waits_for)
        dg_json_out_put_cstr(out, "waits_for", wait_words[job->waits_for]);
    put_numbers(job, out);
    dg_json_out_key(out, "options");
    dg_json_out_raw(out, job->options_json);
    if (job->state == DG_BULK_FAILED)
        dg_json_out_put_cstr(out, "error", dg_error_text(&job->error, job->err));
}

void dg_bulk_put_state(const struct dg_bulk_job *job, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    const bool waits = !dg_bulk_is_over(job) && job->waits_for;
    put_members(job, waits ? DG_BULK_WAITING : job->state, out);
    dg_json_out_close(out, '}');
}

/* A running job is written as a waiting one, which the next start continues. */
enum dg_err dg_bulk_put_meta(const struct dg_bulk_job *job, struct dg_buf *buf)
{
    struct dg_json_out out;
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_int(&out, "version", 1);
    dg_json_out_put_cstr(&out, "owner", job->owner);
    dg_json_out_put_cstr(&out, "address", job->address);
    if (*job->once)
        dg_json_out_put_cstr(&out, "once", job->once);
    if (*job->document_key)
        dg_json_out_put_cstr(&out, "key", job->document_key);
    if (job->api)
        dg_json_out_put_cstr(&out, "api", api_words[job->api]);
    if (job->n_characters)
        dg_json_out_put_uint(&out, "characters", job->n_characters);
    if (job->bill.characters)
        put_bill(&job->bill, &out);
    if (job->n_parts)
        dg_json_out_put_uint(&out, "parts", job->n_parts);
    dg_json_out_put_open(&out, "models", '[');
    for (size_t i = 0; i < job->options.request.n_only; i++)
        dg_json_out_cstr(&out, job->options.request.only[i]);
    dg_json_out_close(&out, ']');
    put_members(job, dg_bulk_is_over(job) ? job->state : DG_BULK_WAITING, &out);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static enum dg_err read_number(const struct dg_json *json, const char *name, uint64_t *out,
                               struct dg_error *error)
{
    int64_t value = 0;
    enum dg_err err = dg_json_get_int(json, name, DG_JSON_OPTIONAL, 0, INT64_MAX, error, &value);
    *out = (uint64_t)value;
    return err;
}

static enum dg_err read_size(const struct dg_json *json, const char *name, size_t *out,
                             struct dg_error *error)
{
    uint64_t value = 0;
    enum dg_err err = read_number(json, name, &value, error);
    *out = (size_t)value;
    return err;
}

static enum dg_err read_members(struct dg_bulk_job *job, const struct dg_json *json,
                                struct dg_error *error)
{
    struct dg_span owner = {NULL, 0}, address = {NULL, 0}, text = {NULL, 0}, once = {NULL, 0},
                   document = {NULL, 0}, columns = {NULL, 0}, output = {NULL, 0}, key = {NULL, 0};
    int64_t version, n_parts = 0;
    int state = 0, format = 0, api = 0;
    enum dg_err err = dg_json_get_int(json, "version", DG_JSON_REQUIRED, 1, 1, error, &version);
    if (!err)
        err =
            dg_json_get_choice(json, "state", DG_JSON_REQUIRED, dg_bulk_state_words, error, &state);
    if (!err)
        err = dg_json_get_choice(json, "format", DG_JSON_REQUIRED, format_words, error, &format);
    if (!err)
        err = dg_json_get_string(json, "owner", DG_JSON_REQUIRED, error, &owner);
    if (!err)
        err = dg_json_get_string(json, "address", DG_JSON_OPTIONAL, error, &address);
    if (!err)
        err = dg_json_get_string(json, "error", DG_JSON_OPTIONAL, error, &text);
    if (!err)
        err = dg_json_get_string(json, "once", DG_JSON_OPTIONAL, error, &once);
    if (!err)
        err = dg_json_get_int(json, "parts", DG_JSON_OPTIONAL, 0, 1000000, error, &n_parts);
    if (!err)
        err = read_number(json, "created", &job->created_s, error);
    if (!err)
        err = read_number(json, "finished", &job->finished_s, error);
    if (!err)
        err = read_size(json, "lines", &job->n_lines, error);
    if (!err)
        err = read_size(json, "done", &job->n_done, error);
    if (!err)
        err = read_size(json, "failed", &job->n_failed, error);
    if (!err)
        err = read_number(json, "input_bytes", &job->in_bytes, error);
    if (!err)
        err = read_number(json, "output_bytes", &job->out_bytes, error);
    if (!err)
        err = dg_json_get_string(json, "document", DG_JSON_OPTIONAL, error, &document);
    if (!err)
        err = read_number(json, "document_bytes", &job->document_bytes, error);
    if (!err)
        err = dg_json_get_string(json, "columns", DG_JSON_OPTIONAL, error, &columns);
    if (!err)
        err = dg_json_get_string(json, "output_format", DG_JSON_OPTIONAL, error, &output);
    if (!err)
        err = dg_json_get_choice(json, "api", DG_JSON_OPTIONAL, api_words, error, &api);
    if (!err)
        err = dg_json_get_string(json, "key", DG_JSON_OPTIONAL, error, &key);
    if (!err)
        err = read_number(json, "characters", &job->n_characters, error);
    if (!err)
        err = read_bill(json, &job->bill, error);
    if (!err && (document.len > DG_DOCUMENT_NAME || columns.len > DG_DOCUMENT_COLUMNS ||
                 output.len > DG_DOCUMENT_OUTPUT))
        err = dg_error_set(error, DG_ERR_RANGE,
                           "field 'document', 'columns' or 'output_format' is too long");
    if (!err && (owner.len > DG_BULK_OWNER || address.len > DG_BULK_OWNER))
        err = dg_error_set(error, DG_ERR_RANGE, "field 'owner' or 'address' is too long");
    if (err)
        return err;
    if (once.len != 0 && once.len != DG_BULK_ONCE)
        return dg_error_set(error, DG_ERR_RANGE, "field 'once' is not a hash");
    if (key.len != 0 && key.len != DG_BULK_KEY)
        return dg_error_set(error, DG_ERR_RANGE, "field 'key' is not a hash");
    memcpy(job->document_key, key.len ? key.ptr : "", key.len);
    job->api = (enum dg_bulk_api)api;
    memcpy(job->once, once.len ? once.ptr : "", once.len);
    job->n_parts = (unsigned)n_parts;
    memcpy(job->owner, owner.ptr, owner.len);
    memcpy(job->document_name, document.len ? document.ptr : "", document.len);
    memcpy(job->document_columns, columns.len ? columns.ptr : "", columns.len);
    memcpy(job->document_output, output.len ? output.ptr : "", output.len);
    memcpy(job->address, address.len ? address.ptr : "", address.len);
    if (owner.len + address.len > 0)
        job->client =
            dg_jobs_client(job->bulk->engine_jobs, owner.len > 0, owner.len ? owner : address);
    job->state = state == DG_BULK_RUNNING ? DG_BULK_WAITING : (enum dg_bulk_state)state;
    job->format = (enum dg_bulk_format)format;
    if (job->state == DG_BULK_FAILED)
        job->err = dg_error_set(&job->error, DG_ERR_IO, "%.*s", DG_SPAN_FMT(text));
    const uint64_t now_s = dg_clock_wall(&job->bulk->clock) / DG_CLOCK_S;
    job->age_s = now_s > job->finished_s ? now_s - job->finished_s : 0;
    job->seen_ns = dg_clock_now(&job->bulk->clock);
    return DG_OK;
}

/* Reads the models that the job may use. Without them a job that was restricted to some models
 * could use all. */
static enum dg_err read_models(struct dg_bulk_job *job, const struct dg_json *json,
                               struct dg_error *error)
{
    const char *names[MODELS_MAX];
    const struct dg_json *models = NULL;
    enum dg_err err = dg_json_get_array(json, "models", DG_JSON_REQUIRED, error, &models);
    size_t n = dg_json_len(models);
    if (!err && n > MODELS_MAX)
        err = dg_error_set(error, DG_ERR_LIMIT,
                           "field 'models': read %zu names, expected at most %d", n, MODELS_MAX);
    for (size_t i = 0; i < n && !err; i++) {
        struct dg_span name;
        err = dg_json_at_string(models, "models", i, error, &name);
        struct dg_span copy = err ? (struct dg_span){NULL, 0} : dg_arena_copy(&job->arena, name);
        if (!err && !copy.ptr)
            err = DG_ERR_NOMEM;
        names[i] = copy.ptr;
    }
    return err ? err : dg_bulk_own_models(job, names, n);
}

/* Finds the options as they stand in the file, since a parsed value has no text. */
static enum dg_err find_options(struct dg_span text, struct dg_span *options_json)
{
    static const char key[] = "\"options\":";
    for (size_t at = 0; at + sizeof key - 1 < text.len; at++) {
        if (memcmp(text.ptr + at, key, sizeof key - 1) != 0)
            continue;
        /* We wrote this text ourselves: an object, which ends where its brackets balance, not
         * counting those inside strings. */
        size_t start = at + sizeof key - 1, depth = 0;
        bool in_string = false;
        for (size_t i = start; i < text.len; i++) {
            char c = text.ptr[i];
            if (in_string && c == '\\')
                i++;
            else if (c == '"')
                in_string = !in_string;
            else if (!in_string && (c == '{' || c == '['))
                depth++;
            else if (!in_string && (c == '}' || c == ']') && --depth == 0) {
                *options_json = dg_span_sub(text, start, i + 1 - start);
                return DG_OK;
            }
        }
        break;
    }
    return DG_ERR_FORMAT;
}

enum dg_err dg_bulk_read_row(struct dg_bulk_job *job, struct dg_span text, bool is_new,
                             struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = DG_BULK_META_MAX, .max_depth = 16, .max_values = OPTIONS_VALUES_MAX};
    struct dg_json *json = NULL;
    struct dg_span options_json;
    enum dg_err err = dg_json_parse(text, &limits, error, &json);
    if (!err)
        err = read_members(job, json, error);
    if (!err && is_new && find_options(text, &options_json) != DG_OK)
        err = dg_error_set(error, DG_ERR_FORMAT, "field 'options' is missing");
    if (!err && is_new)
        err = dg_bulk_read_options(job, options_json, error);
    if (!err && is_new)
        err = read_models(job, json, error);
    dg_json_free(json);
    return err;
}

enum dg_err dg_bulk_read_meta(struct dg_bulk_job *job, struct dg_error *error)
{
    char *bytes = dg_try_malloc(DG_BULK_META_MAX);
    size_t len = 0;
    int fd = -1;
    enum dg_err err =
        bytes ? dg_bulk_file_read(&fd, job->meta_path, 0, bytes, DG_BULK_META_MAX, &len, error)
              : DG_ERR_NOMEM;
    if (!err)
        err = dg_bulk_read_row(job, dg_span_make(bytes, len), true, error);
    if (fd >= 0)
        close(fd);
    dg_free(bytes);
    return err;
}
