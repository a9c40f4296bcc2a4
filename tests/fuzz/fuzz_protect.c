/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes through the finder of protected spans (in order, whole characters) and through the
 * change of case and back (valid text stays valid). */
#include "base/memory/utf8.h"
#include "text/terms/casing.h"
#include "text/terms/protect.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void change_case(struct dg_span text, const char *language)
{
    enum dg_casing casing = dg_casing_find(text, language);
    struct dg_buf small, back;
    bool restored;
    dg_buf_init(&small, 16 * text.len + 16);
    dg_buf_init(&back, 16 * text.len + 16);
    require(dg_casing_lower(text, casing, language, NULL, &small) == DG_OK);
    require(dg_casing_restore(dg_buf_span(&small), casing, language, &back, &restored) == DG_OK);
    if (dg_utf8_valid(text, NULL))
        require(dg_utf8_valid(dg_buf_span(&small), NULL) &&
                dg_utf8_valid(dg_buf_span(&back), NULL));
    dg_buf_deinit(&small);
    dg_buf_deinit(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const languages[] = {"en", "tr", "el", "de"};
    struct dg_span text = dg_span_make((const char *)bytes, len);
    struct dg_protect_list list;
    size_t at = 0;
    dg_protect_list_init(&list);
    require(dg_protect_find(text, DG_PROTECT_ALL, &list) == DG_OK);
    for (size_t i = 0; i < list.n; i++) {
        const struct dg_protect_span *span = &list.items[i];
        require(span->at >= at && span->len > 0 && span->len <= len - span->at);
        require(dg_utf8_valid(dg_span_sub(text, span->at, span->len), NULL));
        at = span->at + span->len;
    }
    dg_protect_leaves_nothing(text, &list);
    dg_protect_list_deinit(&list);
    change_case(text, languages[len % 4]);
    return 0;
}
