/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /translate: several APIs share this path. The fields show which API a request belongs to:
 *
 *     api-version in the query     Azure Translator
 *     q                            LibreTranslate, and anything else
 *     text_list                    Immersive Translate
 *     text, destination            hcfy
 *     texts, to                    Kiss Translator
 *     text, target_lang            DeepLX
 *     text, to                     MTranServer and Kiss Translator
 *     source, src_lang or tgt_lang nllb-serve */
#include "api/compat/azure.h"
#include "api/compat/compat_routes.h"
#include "api/compat/libretranslate.h"
#include "api/http/api_int.h"

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    const struct dg_fields *fields = &compat->fields;
    bool has_text = dg_fields_get(fields, "text") != NULL;
    if (dg_fields_get(fields, "q"))
        dg_libretranslate_translate(call, compat);
    else if (dg_fields_get(fields, "text_list"))
        dg_compat_immersive(call, compat);
    else if (dg_fields_get(fields, "texts"))
        dg_compat_kiss(call, compat);
    else if (has_text && dg_fields_get(fields, "destination"))
        dg_compat_hcfy(call, compat);
    else if (has_text && dg_fields_get(fields, "target_lang"))
        dg_compat_deeplx(call, compat);
    else if (has_text && dg_fields_get(fields, "to"))
        dg_compat_mtran(call, compat);
    else if (dg_fields_get(fields, "source") &&
             (dg_fields_get(fields, "src_lang") || dg_fields_get(fields, "tgt_lang")))
        dg_compat_nllb(call, compat);
    else
        dg_libretranslate_translate(call, compat);
}

void dg_api_any_translate(struct dg_call *call)
{
    if (call->dialect == &dg_azure_dialect)
        dg_azure_translate(call);
    else
        dg_compat_open(call, on_open);
}
