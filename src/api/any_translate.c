/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /translate: half a dozen programs call this path their own. The fields tell whose words these are:
 *
 *     q                            LibreTranslate, and whatever fits nobody
 *     text_list                    Immersive Translate
 *     text, destination            hcfy
 *     texts, to                    Kiss Translator
 *     text, target_lang            DeepLX
 *     text, to                     MTranServer and Kiss Translator
 *     source, src_lang or tgt_lang nllb-serve */
#include "api/api_int.h"
#include "api/lt.h"
#include "api/other.h"

static void on_open(struct dg_call *call, struct dg_relay *relay)
{
    const struct dg_fields *fields = &relay->fields;
    bool has_text = dg_fields_get(fields, "text") != NULL;
    if (dg_fields_get(fields, "q"))
        dg_lt_translate(call, relay);
    else if (dg_fields_get(fields, "text_list"))
        dg_other_immersive(call, relay);
    else if (dg_fields_get(fields, "texts"))
        dg_other_kiss(call, relay);
    else if (has_text && dg_fields_get(fields, "destination"))
        dg_other_hcfy(call, relay);
    else if (has_text && dg_fields_get(fields, "target_lang"))
        dg_other_deeplx(call, relay);
    else if (has_text && dg_fields_get(fields, "to"))
        dg_other_mtran(call, relay);
    else if (dg_fields_get(fields, "source") && (dg_fields_get(fields, "src_lang") || dg_fields_get(fields, "tgt_lang")))
        dg_other_nllb(call, relay);
    else
        dg_lt_translate(call, relay);
}

void dg_api_any_translate(struct dg_call *call)
{
    dg_relay_open(call, on_open);
}
