/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a file of keys and as a usage journal: keys that are accepted are printed, read
 * again and printed the same; no two keys share a name; a refusal says in which line. */
#include "access/key_file.h"
#include "access/keyring.h"
#include "access/usage.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void print(const struct dg_key_file *file, struct dg_buf *out)
{
    dg_buf_init(out, 64 << 20);
    require(dg_key_file_print(file, out) == DG_OK);
}

static void check_keys(struct dg_key_file *file)
{
    struct dg_buf once, twice;
    struct dg_key_file again = {.n = 0};
    struct dg_keyring *ring = NULL;
    const struct dg_key *key;
    print(file, &once);
    require(dg_key_file_parse(&again, "again", dg_buf_span(&once), NULL) == DG_OK);
    print(&again, &twice);
    require(again.n == file->n && dg_span_eq(dg_buf_span(&once), dg_buf_span(&twice)));
    for (size_t i = 0; i < file->n && i < 100; i++)
        require(dg_key_file_find(file, dg_span_cstr(file->keys[i].name)) == &file->keys[i]);
    dg_key_file_deinit(file);
    require(dg_keyring_new(&again, &ring) == DG_OK);
    require(dg_keyring_find(ring, &(struct dg_secret_hash){{1}}, 0, &key) != DG_ERR_IO);
    dg_keyring_free(ring);
    dg_buf_deinit(&once);
    dg_buf_deinit(&twice);
}

static void on_count(void *ctx, const struct dg_usage_count *count)
{
    require(dg_key_check_name(dg_span_cstr(count->name), NULL) == DG_OK && count->month <= 999912);
    ++*(size_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_span text = dg_span_make((const char *)bytes, len);
    struct dg_key_file file = {.n = 0};
    struct dg_error error = DG_ERROR_NONE;
    size_t n = 0;
    require(sodium_init() >= 0);
    enum dg_err err = dg_key_file_parse(&file, "keys", text, &error);
    if (err)
        require(file.n == 0 && file.keys == NULL && error.text[0] != '\0');
    else
        check_keys(&file);
    dg_key_file_deinit(&file);
    require(dg_usage_parse(text, on_count, &n) + n <= len);
    return 0;
}
