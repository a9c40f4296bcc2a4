/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Imports Argos packages: a ZIP (.argosmodel), or the directory to which it was unpacked, with
 * metadata.json, the SentencePiece model, and a CTranslate2 model in model/. The package's sentence
 * splitters are ignored, because dragoman has its own. */
#include "base/json/json.h"
#include "import/format/ct2.h"

enum { METADATA_MAX = 1 << 20 };

/* Recognised by its name, or by its contents. */
static bool detect(const char *path, bool is_dir)
{
    struct dg_bundle bundle;
    if (!is_dir && dg_span_ends(dg_span_cstr(path), DG_SPAN(".argosmodel")))
        return true;
    if (dg_bundle_open(&bundle, path, NULL))
        return false;
    bool found =
        dg_bundle_has(&bundle, "metadata.json") && dg_bundle_has(&bundle, "model/model.bin");
    dg_bundle_close(&bundle);
    return found;
}

/* Refuses packages that are not translators. A multilingual model has one package for each target
 * language, which names the language's token. */
static enum dg_err use_metadata(struct dg_import *import, const struct dg_json *json,
                                struct dg_error *error)
{
    struct dg_span type = DG_SPAN("translate"), prefix = DG_SPAN("");
    enum dg_err err = dg_json_get_string(json, "type", DG_JSON_OPTIONAL, error, &type);
    if (!err)
        err = dg_json_get_string(json, "target_prefix", DG_JSON_OPTIONAL, error, &prefix);
    if (!err && !dg_span_eq(type, DG_SPAN("translate")))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "field 'type' is '%.*s', expected translate",
                           type.len > 40 ? 40 : DG_SPAN_FMT(type));
    if (err || prefix.len == 0)
        return err;
    import->bp.lang_rule = DG_LANG_NONE; /* the source has no language token */
    err = dg_ct2_force_first(import, prefix, error);
    return err ? dg_error_wrap(error, err, "field 'target_prefix'") : DG_OK;
}

static enum dg_err read_metadata(struct dg_import *import, struct dg_error *error)
{
    const struct dg_ct2_import *ct2 = import->ctx;
    struct dg_bundle_data data;
    struct dg_json *json = NULL;
    const struct dg_json_limits limits = {
        .max_bytes = METADATA_MAX, .max_depth = 16, .max_values = 100 * 1000};
    enum dg_err err = dg_bundle_read(&ct2->bundle, "metadata.json", METADATA_MAX, &data, error);
    if (err)
        return err;
    err = dg_json_parse(dg_bundle_data_span(&data), &limits, error, &json);
    if (!err)
        err = use_metadata(import, json, error);
    dg_json_free(json);
    if (!err)
        err = dg_import_make_file(import, "metadata.json", dg_bundle_data_span(&data), error);
    dg_bundle_data_free(&data);
    return err ? dg_error_wrap(error, err, "metadata.json") : DG_OK;
}

static enum dg_err open_argos(struct dg_import *import, const char *path, struct dg_error *error)
{
    import->format = "Argos package";
    enum dg_err err = dg_ct2_open(import, path, "model/", error);
    if (!err)
        err = read_metadata(import, error);
    if (err)
        return err;
    const struct dg_ct2_import *ct2 = import->ctx;
    if (dg_bundle_has(&ct2->bundle, "bpe.model"))
        import->note =
            "the package splits text by Moses and BPE codes, which are not supported: only "
            "translate --ids works";
    import->bp.n_beams = 4; /* Argos Translate's own default */
    import->bp.length_penalty = 0.2f;
    return DG_OK;
}

const struct dg_import_format dg_import_argos = {detect, open_argos};
