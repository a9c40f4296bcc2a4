/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/http/event_id.h"

#include "unit.h"

#include <string.h>

#define TEXT "The cat sleeps. It dreams."

/* A stream, and its ids as text. */
struct bench {
    struct dg_arena arena;
    struct dg_event_ids ids;
    struct dg_buf id;
};

/* False when memory ran out. */
static bool begin(struct bench *bench, size_t n_texts)
{
    dg_arena_init(&bench->arena, 1 << 20);
    dg_buf_init(&bench->id, 4096);
    return dg_event_ids_init(&bench->ids, &bench->arena, n_texts) == DG_OK;
}

static void end(struct bench *bench)
{
    dg_buf_deinit(&bench->id);
    dg_arena_deinit(&bench->arena);
}

static const char *id_now(struct bench *bench)
{
    dg_buf_clear(&bench->id);
    return dg_event_ids_write(&bench->ids, &bench->id) == DG_OK ? bench->id.ptr : "";
}

static enum dg_err resume(struct bench *bench, const char *id)
{
    struct dg_error error = DG_ERROR_NONE;
    return dg_event_ids_resume(&bench->ids, dg_span_cstr(id), &error);
}

/* The events that are sent for a token. */
static struct dg_span said(struct bench *bench, size_t i, const char *token)
{
    struct dg_span text = dg_span_cstr(token);
    const enum dg_err err = dg_event_ids_token(&bench->ids, i, &text);
    return err ? DG_SPAN("(changed)") : text;
}

static bool says(struct bench *bench, size_t i, const char *token, const char *expected)
{
    return dg_span_eq(said(bench, i, token), dg_span_cstr(expected));
}

/* The client gets more: the beginning of TEXT, which is complete at the end. */
static void take(size_t *n, struct dg_span text)
{
    ck_assert(dg_span_eq(dg_span_sub(DG_SPAN(TEXT), *n, text.len), text));
    *n += text.len;
}

START_TEST(a_stream_goes_on_behind_any_event)
{
    static const char *const tokens[] = {"The", " cat", " sleeps.", " It", " dreams."};
    enum { N = sizeof tokens / sizeof *tokens };
    for (int n_seen = 0; n_seen <= N; n_seen++) {
        struct bench first = {0}, again = {0};
        bool has_memory = begin(&first, 1);
        has_memory = begin(&again, 1) && has_memory;
        size_t n = 0;
        for (int i = 0; i < n_seen && has_memory; i++) {
            take(&n, said(&first, 0, tokens[i]));
            if (i == 2)
                ck_assert(dg_event_ids_sentence(&first.ids, 0));
        }
        const char *id = has_memory ? id_now(&first) : "";
        if (*id) {
            ck_assert_int_eq(resume(&again, id), DG_OK);
            const char *same = id_now(&again);
            ck_assert(!*same || strcmp(same, id) == 0);
            /* from the cache the text comes in sentences */
            take(&n, said(&again, 0, "The cat sleeps."));
            ck_assert(dg_event_ids_sentence(&again.ids, 0) == (n_seen < 3));
            take(&n, said(&again, 0, " It dreams."));
            ck_assert_uint_eq(n, strlen(TEXT));
            dg_event_ids_done(&again.ids, 0);
            ck_assert(!again.ids.has_changed);
            id = id_now(&again);
            ck_assert(!*id || strcmp(id, "1") == 0);
        }
        end(&again);
        end(&first);
    }
}
END_TEST

START_TEST(what_comes_out_otherwise_is_noticed)
{
    struct bench first = {0}, again = {0};
    bool has_memory = begin(&first, 1);
    has_memory = begin(&again, 1) && has_memory;
    const char *id = has_memory && says(&first, 0, "The cat", "The cat") ? id_now(&first) : "";
    if (*id && resume(&again, id) == DG_OK) {
        ck_assert(says(&again, 0, "The", ""));
        ck_assert(says(&again, 0, " dog sleeps.", "(changed)"));
        ck_assert(says(&again, 0, " It dreams.", "(changed)"));
        ck_assert(!dg_event_ids_sentence(&again.ids, 0));
        ck_assert(again.ids.has_changed);
    }
    end(&again);
    if (begin(&again, 1) && *id && resume(&again, id) == DG_OK) {
        ck_assert(says(&again, 0, "The", ""));
        dg_event_ids_done(&again.ids, 0); /* the text is shorter now */
        ck_assert(again.ids.has_changed);
    }
    end(&again);
    if (begin(&again, 1) && *id && resume(&again, id) == DG_OK) {
        ck_assert(says(&again, 0, "The", ""));
        ck_assert(!dg_event_ids_sentence(&again.ids, 0)); /* the sentence is shorter */
        ck_assert(again.ids.has_changed);
    }
    end(&again);
    if (begin(&again, 1) && *id && resume(&again, id) == DG_OK) {
        dg_event_ids_keep(&again.ids, 0, 1);
        ck_assert(says(&again, 0, "The cat sleeps.", " sleeps."));
        ck_assert(!again.ids.has_changed);
    }
    end(&again);
    end(&first);
}
END_TEST

START_TEST(ids_of_many_texts_are_short)
{
    struct bench first = {0}, again = {0};
    if (!begin(&first, 1000) || !begin(&again, 1000)) {
        end(&first);
        end(&again);
        return;
    }
    for (size_t i = 0; i < 500; i++) {
        ck_assert(says(&first, i, "Yes.", "Yes."));
        if (i != 2 && i != 7)
            dg_event_ids_done(&first.ids, i);
    }
    ck_assert(says(&first, 502, "No", "No"));
    const char *id = id_now(&first);
    if (*id) {
        ck_assert_str_eq(id, "2,0.4.e981313a,x4,0.4.e981313a,x492,-2,0.2.61e6be1a");
        ck_assert_int_eq(resume(&again, id), DG_OK);
        ck_assert(says(&again, 0, "Yes.", "") && says(&again, 2, "Yes.", ""));
        ck_assert(says(&again, 2, " I do.", " I do.") && says(&again, 9, "Whatever.", ""));
        ck_assert(says(&again, 500, "New.", "New.") && says(&again, 502, "No.", "."));
    }
    end(&again);
    end(&first);
}
END_TEST

START_TEST(what_is_no_id_is_refused)
{
    static const char *const ids[] = {"x",
                                      ",",
                                      "0,",
                                      "0,1",
                                      "0,1.2",
                                      "0,1.2.",
                                      "0,1.2.g",
                                      "0,1.2.3 ",
                                      "5",
                                      "0,x5",
                                      "0,-5",
                                      "4,1.2.3",
                                      "0,x1,x4",
                                      "-1",
                                      "0;x1",
                                      "0,1.2.123456789",
                                      "1234567890123456",
                                      "0,1.2.3,",
                                      "0,x"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct bench bench;
        if (begin(&bench, 4))
            ck_assert_msg(resume(&bench, ids[i]) == DG_ERR_INVALID, "%s", ids[i]);
        end(&bench);
    }
}
END_TEST

DG_UNIT(a_stream_goes_on_behind_any_event, what_comes_out_otherwise_is_noticed,
        ids_of_many_texts_are_short, what_is_no_id_is_refused)
