/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a catalogue, as Mozilla's list, and as Hugging Face's: what is accepted names only
 * plain files, and a catalogue that was read is written and read again. */
#include "fetch/catalogue_choice.h"
#include "fetch/package.h"
#include "fetch/source_firefox.h"
#include "fetch/source_hf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct dg_catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->n_models; i++)
        for (size_t k = 0; k < catalogue->models[i].n_files; k++) {
            const struct dg_catalogue_file *file = &catalogue->models[i].files[k];
            if (strchr(file->name, '/') || file->name[0] == '.' || strstr(file->place, "/.."))
                abort();
        }
}

static void try_catalogue(struct dg_span text)
{
    struct dg_catalogue catalogue, again;
    struct dg_model_choice choice;
    const struct dg_catalogue_choice_opts opts = {0};
    struct dg_buf buf;
    if (dg_catalogue_parse(&catalogue, text, NULL))
        return;
    check(&catalogue);
    if (dg_catalogue_choice_find(&catalogue, "fr-de", &opts, &choice, NULL) == DG_OK &&
        choice.n == 0)
        abort();
    dg_buf_init(&buf, 64 << 20);
    if (dg_catalogue_print(&catalogue, &buf) == DG_OK && buf.len < DG_CATALOGUE_BYTES_MAX) {
        if (dg_catalogue_parse(&again, dg_buf_span(&buf), NULL))
            abort();
        dg_catalogue_free(&again);
    }
    dg_buf_deinit(&buf);
    dg_catalogue_free(&catalogue);
}

static void try_lists(struct dg_span text)
{
    struct dg_package package;
    struct dg_hf hf;
    struct dg_buf buf;
    dg_buf_init(&buf, 64 << 20);
    if (dg_firefox_models(&text, 1, &buf, NULL) && !dg_hf_parse(&hf, "opus:fr-en"))
        abort();
    dg_buf_deinit(&buf);
    dg_package_init(&package);
    if (dg_hf_parse(&hf, "opus:fr-en") && !dg_hf_read(&hf, text, &package, NULL) &&
        package.n_files < 2)
        abort();
    dg_package_free(&package);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct dg_span text = dg_span_make((const char *)bytes, len);
    try_catalogue(text);
    try_lists(text);
    return 0;
}
