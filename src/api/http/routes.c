/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The route table. To add an endpoint: a row here with its gate (api/http/gate.h), its handler in a
 * file of its own, its paragraph in docs/api/openapi.yaml. */
#include "api/compat/azure.h"
#include "api/compat/compat_routes.h"
#include "api/compat/deepl.h"
#include "api/compat/libretranslate.h"
#include "api/http/api_int.h"
#include "api/http/upload.h"

#include <string.h>

#define ADMIN  .is_admin = true, .gate = DG_GATE_KEY
#define LT     .dialect = &dg_libretranslate_dialect
#define DEEPL  .dialect = &dg_deepl_dialect
#define SHORT  .prepare = dg_compat_prepare_short
#define UPLOAD .prepare = dg_upload_prepare
#define PLAIN  .dialect = &dg_plain_dialect
#define GOOGLE .dialect = &dg_google_dialect
#define MTRAN  .dialect = &dg_mtran_dialect

static const struct dg_route routes[] = {
    /* For operators. */
    {DG_HTTP_GET, "/healthz", "healthz", dg_api_healthz, .gate = DG_GATE_OPEN, .is_probe = true},
    {DG_HTTP_GET, "/readyz", "readyz", dg_api_readyz, .gate = DG_GATE_OPEN, .is_probe = true},
    {DG_HTTP_GET, "/metrics", "metrics", dg_api_metrics, .gate = DG_GATE_KEY},

    /* The page for people. */
    {DG_HTTP_GET, "/", "page", dg_api_page, .gate = DG_GATE_OPEN},
    /* open, because the data that the page shows are behind admin_live */
    {DG_HTTP_GET, "/ops", "ops", dg_api_ops, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/docs", "docs", dg_api_docs, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/docs/", "docs_slash", dg_api_docs_slash, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/page/*", "page_file", dg_api_page_file, .gate = DG_GATE_OPEN},

    /* Our own. */
    {DG_HTTP_POST, "/v1/translate", "v1_translate", dg_api_v1_translate, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/v1/stream", "v1_stream", dg_api_v1_stream, .gate = DG_GATE_STREAM},
    {DG_HTTP_POST, "/v1/detect", "v1_detect", dg_api_v1_detect, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/generate", "v1_generate", dg_api_v1_generate, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/fill", "v1_fill", dg_api_v1_fill, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/classify", "v1_classify", dg_api_v1_classify, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/tag", "v1_tag", dg_api_v1_tag, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/answer", "v1_answer", dg_api_v1_answer, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/embed", "v1_embed", dg_api_v1_embed, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/score", "v1_score", dg_api_v1_score, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v1/jobs", "v1_jobs_add", dg_api_v1_jobs_add, .prepare = dg_api_v1_jobs_prepare,
     .gate = DG_GATE_KEY}, /* not DG_GATE_TEXT: a key in the body would come too late */
    {DG_HTTP_GET, "/v1/jobs", "v1_jobs", dg_api_v1_jobs, .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v1/jobs/*", "v1_job", dg_api_v1_job, .gate = DG_GATE_KEY},
    {DG_HTTP_DELETE, "/v1/jobs/*", "v1_job_remove", dg_api_v1_job_remove, .gate = DG_GATE_KEY},
    {DG_HTTP_POST, "/v1/jobs/*/cancel", "v1_job_cancel", dg_api_v1_job_cancel, .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v1/jobs/*/result", "v1_job_result", dg_api_v1_job_result, .gate = DG_GATE_KEY},
    {DG_HTTP_POST, "/v1/documents", "v1_documents_add", dg_api_v1_documents_add,
     .prepare = dg_api_v1_documents_prepare, .gate = DG_GATE_KEY}, /* documents as jobs */
    {DG_HTTP_GET, "/v1/documents", "v1_documents", dg_api_v1_documents, .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v1/documents/*", "v1_document", dg_api_v1_document, .gate = DG_GATE_KEY},
    {DG_HTTP_DELETE, "/v1/documents/*", "v1_document_remove", dg_api_v1_document_remove,
     .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v1/documents/*/result", "v1_document_result", dg_api_v1_document_result,
     .gate = DG_GATE_KEY},
    {DG_HTTP_POST, "/v1/glossaries", "v1_glossaries_add", dg_api_v1_glossaries_add},
    {DG_HTTP_GET, "/v1/glossaries", "v1_glossaries", dg_api_v1_glossaries, .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v1/glossaries/*", "v1_glossary", dg_api_v1_glossary, .gate = DG_GATE_KEY},
    {DG_HTTP_PUT, "/v1/glossaries/*", "v1_glossary_replace", dg_api_v1_glossary_replace},
    {DG_HTTP_DELETE, "/v1/glossaries/*", "v1_glossary_remove", dg_api_v1_glossary_remove,
     .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v1/models", "v1_models", dg_api_v1_models},
    {DG_HTTP_GET, "/v1/models/*", "v1_model", dg_api_v1_model},
    {DG_HTTP_GET, "/v1/languages", "v1_languages", dg_api_v1_languages},
    {DG_HTTP_GET, "/v1/usage", "v1_usage", dg_api_v1_usage, .gate = DG_GATE_KEY},

    /* For administrators. */
    {DG_HTTP_GET, "/v1/admin/status", "admin_status", dg_api_v1_admin_status, ADMIN},
    {DG_HTTP_GET, "/v1/admin/live", "admin_live", dg_api_v1_admin_live, ADMIN},
    {DG_HTTP_POST, "/v1/admin/models", "admin_load", dg_api_v1_admin_load, ADMIN},
    {DG_HTTP_POST, "/v1/admin/models/*/reload", "admin_reload_model", dg_api_v1_admin_reload_model,
     ADMIN},
    {DG_HTTP_DELETE, "/v1/admin/models/*", "admin_unload", dg_api_v1_admin_unload, ADMIN},
    {DG_HTTP_POST, "/v1/admin/log-level", "admin_log_level", dg_api_v1_admin_log_level, ADMIN},
    {DG_HTTP_POST, "/v1/admin/reload", "admin_reload", dg_api_v1_admin_reload, ADMIN},
    {DG_HTTP_POST, "/v1/admin/drain", "admin_drain", dg_api_v1_admin_drain, ADMIN},

    /* LibreTranslate's. POST /translate has several APIs; the body tells which one is meant
     * (any_translate.c). */
    {DG_HTTP_POST, "/translate", "translate", dg_api_any_translate, LT, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/detect", "detect", dg_libretranslate_detect, LT, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/languages", "languages", dg_libretranslate_languages, LT, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/translate_file", "translate_file", dg_libretranslate_translate_file, LT,
     UPLOAD, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/download_file/*", "download_file", dg_libretranslate_download_file, LT,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/frontend/settings", "lt_settings", dg_libretranslate_settings, LT,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/spec", "lt_spec", dg_libretranslate_spec, LT, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/suggest", "lt_suggest", dg_libretranslate_suggest, LT, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/health", "lt_health", dg_libretranslate_health, LT, .gate = DG_GATE_OPEN},

    /* Azure Translator's. Its /translate, /detect and /languages share their paths with others
     * and are recognised by the query (azure.h). */
    {DG_HTTP_POST, "/breaksentence", "azure_sentences", dg_azure_sentences,
     .dialect = &dg_azure_dialect, .gate = DG_GATE_TEXT},

    /* The further routes of the other APIs on these shared paths (compat_routes.h). */
    {DG_HTTP_GET, "/translate", "translate_get", dg_compat_get_translate, LT, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/translate/batch", "mtran_batch", dg_compat_mtran_batch, MTRAN,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/mtran/languages", "mtran_languages", dg_compat_mtran_languages, MTRAN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/version", "mtran_version", dg_compat_version, MTRAN, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/__heartbeat__", "mtran_heartbeat", dg_compat_heartbeat, MTRAN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/__lbheartbeat__", "mtran_lbheartbeat", dg_compat_heartbeat, MTRAN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/imme", "immersive", dg_api_any_translate, PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/hcfy", "hcfy", dg_api_any_translate, PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/kiss", "kiss", dg_api_any_translate, PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/deeplx", "deeplx", dg_api_any_translate, .dialect = &dg_deeplx_dialect,
     .gate = DG_GATE_TEXT},

    {DG_HTTP_POST, "/api/v4/translator", "nllb_api", dg_compat_nllb_api, PLAIN,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/api/v4/translator", "nllb_api_get", dg_compat_nllb_api, PLAIN,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/api/v4/translator/stream", "nllb_api_stream", dg_compat_nllb_api_stream, PLAIN,
     .gate = DG_GATE_TEXT},

    /* Lingva's, and those of SimplyTranslate and Mozhi, whose clients may put a slash after the
     * path. */
    {DG_HTTP_GET, "/api/v1/languages", "lingva_languages", dg_compat_lingva_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/api/v1/languages/source", "lingva_sources", dg_compat_lingva_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/api/v1/languages/target", "lingva_targets", dg_compat_lingva_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/api/v1/*/*/**", "lingva", dg_compat_lingva, PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/api/translate", "mozhi_translate", dg_compat_frontend_get, PLAIN,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/api/source_languages", "mozhi_sources", dg_compat_mozhi_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/api/target_languages", "mozhi_targets", dg_compat_mozhi_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/api/translate/", "mozhi_translate_slash", dg_compat_frontend_get, PLAIN,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/api/source_languages/", "mozhi_sources_slash", dg_compat_mozhi_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/api/target_languages/", "mozhi_targets_slash", dg_compat_mozhi_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/simplytranslate/api/translate", "simply_translate", dg_compat_frontend_get,
     PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/simplytranslate/api/source_languages", "simply_sources",
     dg_compat_simply_languages, PLAIN, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/simplytranslate/api/target_languages", "simply_targets",
     dg_compat_simply_languages, PLAIN, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/simplytranslate/api/translate/", "simply_translate_slash",
     dg_compat_frontend_get, PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/simplytranslate/api/source_languages/", "simply_sources_slash",
     dg_compat_simply_languages, PLAIN, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/simplytranslate/api/target_languages/", "simply_targets_slash",
     dg_compat_simply_languages, PLAIN, .gate = DG_GATE_OPEN},

    /* Google's versions 2 and 3, Amazon Translate's, OPUS-MT's, and the chats of OpenAI and Ollama.
     */
    {DG_HTTP_POST, "/language/translate/v2", "google", dg_compat_google,
     .dialect = &dg_google_dialect, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/language/translate/v2", "google_get", dg_compat_google,
     .dialect = &dg_google_dialect, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/language/translate/v2/detect", "google_detect", dg_compat_google_detect,
     GOOGLE, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/language/translate/v2/detect", "google_detect_get", dg_compat_google_detect,
     GOOGLE, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/language/translate/v2/languages", "google_languages",
     dg_compat_google_languages, GOOGLE, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/language/translate/v2/languages", "google_languages_post",
     dg_compat_google_languages, GOOGLE, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/v3/projects/*:translateText", "google_v3", dg_compat_google_v3, GOOGLE,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v3/projects/*:detectLanguage", "google_v3_detect", dg_compat_google_v3_detect,
     GOOGLE, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/v3/projects/*/supportedLanguages", "google_v3_languages",
     dg_compat_google_v3_languages, GOOGLE, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/v3/projects/*/locations/*:translateText", "google_v3_at", dg_compat_google_v3,
     GOOGLE, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v3/projects/*/locations/*:detectLanguage", "google_v3_detect_at",
     dg_compat_google_v3_detect, GOOGLE, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/v3/projects/*/locations/*/supportedLanguages", "google_v3_languages_at",
     dg_compat_google_v3_languages, GOOGLE, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/", "amazon", dg_compat_amazon, .dialect = &dg_amazon_dialect,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/api/translate", "opus", dg_compat_opus, PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/api/languages", "opus_languages", dg_compat_opus_languages, PLAIN,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/api/ready", "opus_ready", dg_compat_opus_ready, PLAIN, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/v1/chat/completions", "chat", dg_compat_chat, .dialect = &dg_openai_dialect,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/api/chat", "ollama_chat", dg_compat_ollama_chat, PLAIN, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/api/generate", "ollama_generate", dg_compat_ollama_generate, PLAIN,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/api/tags", "ollama_tags", dg_compat_ollama_tags, PLAIN},
    {DG_HTTP_GET, "/api/version", "ollama_version", dg_compat_version, PLAIN, .gate = DG_GATE_OPEN},

    /* DeepL's. */
    {DG_HTTP_POST, "/v2/translate", "deepl_translate", dg_deepl_translate, DEEPL,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/v2/translate", "deepl_get", dg_deepl_translate, DEEPL, .gate = DG_GATE_TEXT},
    /* POST on this path is our own API */
    {DG_HTTP_GET, "/v1/translate", "deepl_v1", dg_deepl_v1_translate, .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v2/document", "deepl_document", dg_deepl_document, DEEPL, UPLOAD,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_POST, "/v2/document/*", "deepl_document_status", dg_deepl_document_status, DEEPL,
     SHORT, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/v2/document/*", "deepl_document_look", dg_deepl_document_status, DEEPL, SHORT,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/v2/document/*/result", "deepl_document_get", dg_deepl_document_result, DEEPL,
     SHORT, .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/v2/document/*/result", "deepl_document_result", dg_deepl_document_result,
     DEEPL, SHORT, .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/v2/languages", "deepl_languages", dg_deepl_languages, DEEPL, SHORT,
     .gate = DG_GATE_FORM},
    {DG_HTTP_POST, "/v2/languages", "deepl_languages_form", dg_deepl_languages, DEEPL, SHORT,
     .gate = DG_GATE_FORM},
    {DG_HTTP_GET, "/v2/usage", "deepl_usage", dg_deepl_usage, DEEPL, SHORT, .gate = DG_GATE_FORM},
    {DG_HTTP_POST, "/v2/usage", "deepl_usage_form", dg_deepl_usage, DEEPL, SHORT,
     .gate = DG_GATE_FORM},
    {DG_HTTP_POST, "/v2/glossaries", "deepl_glossaries_add", dg_deepl_glossaries_add, DEEPL,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/v2/glossaries", "deepl_glossaries", dg_deepl_glossaries, DEEPL,
     .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v2/glossaries/*", "deepl_glossary", dg_deepl_glossary, DEEPL,
     .gate = DG_GATE_KEY},
    {DG_HTTP_DELETE, "/v2/glossaries/*", "deepl_glossary_remove", dg_deepl_glossary_remove, DEEPL,
     .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v2/glossaries/*/entries", "deepl_glossary_entries", dg_deepl_glossary_entries,
     DEEPL, .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v2/glossary-language-pairs", "deepl_glossary_pairs", dg_deepl_glossary_pairs,
     DEEPL, .gate = DG_GATE_KEY},
    {DG_HTTP_POST, "/v3/glossaries", "deepl_v3_glossaries_add", dg_deepl_v3_glossaries_add, DEEPL,
     .gate = DG_GATE_TEXT},
    {DG_HTTP_GET, "/v3/glossaries", "deepl_v3_glossaries", dg_deepl_v3_glossaries, DEEPL,
     .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v3/glossaries/*", "deepl_v3_glossary", dg_deepl_v3_glossary, DEEPL,
     .gate = DG_GATE_KEY},
    {DG_HTTP_PATCH, "/v3/glossaries/*", "deepl_v3_glossary_patch", dg_deepl_v3_glossary_patch,
     DEEPL, .gate = DG_GATE_TEXT},
    {DG_HTTP_DELETE, "/v3/glossaries/*", "deepl_v3_glossary_remove", dg_deepl_v3_glossary_remove,
     DEEPL, .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v3/glossaries/*/entries", "deepl_v3_entries", dg_deepl_v3_glossary_entries,
     DEEPL, SHORT, .gate = DG_GATE_KEY},
    {DG_HTTP_PUT, "/v3/glossaries/*/dictionaries", "deepl_v3_put", dg_deepl_v3_dictionary_put,
     DEEPL, .gate = DG_GATE_TEXT},
    {DG_HTTP_DELETE, "/v3/glossaries/*/dictionaries", "deepl_v3_drop",
     dg_deepl_v3_dictionary_remove, DEEPL, SHORT, .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v3/languages", "deepl_v3_languages", dg_deepl_v3_languages, DEEPL, SHORT,
     .gate = DG_GATE_KEY},
    {DG_HTTP_GET, "/v3/languages/resources", "deepl_v3_resources", dg_deepl_v3_resources, DEEPL,
     .gate = DG_GATE_KEY},

    /* Functions that some accounts at DeepL lack. They are refused explicitly, because DeepL's
     * libraries take 404 for a wrong address. */
    {DG_HTTP_POST, "/v2/write/rephrase", "deepl_rephrase", dg_deepl_not_included, DEEPL,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/v3/style_rules", "deepl_styles", dg_deepl_not_included, DEEPL,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_POST, "/v3/style_rules", "deepl_styles_add", dg_deepl_not_included, DEEPL,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/v3/style_rules/*", "deepl_style", dg_deepl_not_included, DEEPL,
     .gate = DG_GATE_OPEN},
    {DG_HTTP_GET, "/v3/translation_memories", "deepl_memories", dg_deepl_not_included, DEEPL,
     .gate = DG_GATE_OPEN},
};
_Static_assert(sizeof routes / sizeof *routes <= DG_METRICS_ROUTES,
               "metrics have no room for a route");

/* Each star stands for a text without a slash; the last star of a route may match as much as its
 * tail leaves over. Two stars at the end match anything. */
static bool matches(const char *pattern, struct dg_span path, struct dg_span *arg)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return dg_span_eq(path, dg_span_cstr(pattern));
    const struct dg_span head = dg_span_make(pattern, (size_t)(star - pattern));
    if (!dg_span_starts(path, head))
        return false;
    const struct dg_span rest = dg_span_sub(path, head.len, path.len);
    if (star[1] == '*') {
        *arg = rest;
        return rest.len > 0;
    }
    const char *slash = rest.len ? memchr(rest.ptr, '/', rest.len) : NULL;
    const size_t len_max = slash ? (size_t)(slash - rest.ptr) : rest.len;
    struct dg_span later;
    for (size_t len = len_max; len > 0; len--) {
        if (!matches(star + 1, dg_span_sub(rest, len, rest.len), &later))
            continue;
        *arg = dg_span_sub(rest, 0, len);
        return true;
    }
    return false;
}

bool dg_route_matches(const struct dg_route *route, struct dg_span path, struct dg_span *arg)
{
    *arg = (struct dg_span){NULL, 0};
    return matches(route->path, path, arg);
}

const struct dg_route *dg_routes(size_t *n)
{
    if (n)
        *n = sizeof routes / sizeof *routes;
    return routes;
}
