/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Keys and values of a remote cache. The seal is not a signature: anyone who can write to the
 * cache can forge answers. It detects damage, truncation and values of other keys. */
#include "config.h"
#include "engine/cache/remote_value.h"
#include "base/memory/mem.h"
#include "model/file/manifest.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

enum { SEAL = 16, DIGEST = 32, ANSWER_HEAD = 22, N_ANSWERS_MAX = DG_BEAM_MAX };

static const char magic[4] = {'D', 'G', 'A', '1'};
static const char prefix[] = "dragoman:1:";

/* ---- Keys ------------------------------------------------------------------------------------ */

enum dg_err dg_remote_fingerprint(const char *dir, struct dg_error *error,
                                  unsigned char fingerprint[DG_FINGERPRINT_BYTES])
{
    struct dg_buf manifest;
    if (sodium_init() < 0)
        return dg_error_set(error, DG_ERR_INTERNAL, "libsodium could not be started");
    dg_buf_init(&manifest, DG_MANIFEST_MAX);
    enum dg_err err = dg_manifest_print(dir, &manifest, error);
    if (!err)
        crypto_generichash(fingerprint, DG_FINGERPRINT_BYTES, (const unsigned char *)manifest.ptr,
                           manifest.len, NULL, 0);
    dg_buf_deinit(&manifest);
    return err;
}

static void put_le(unsigned char *to, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_le(const unsigned char *from, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

void dg_remote_key(const unsigned char fingerprint[DG_FINGERPRINT_BYTES],
                   const struct dg_decoder_limits *limits, struct dg_span local,
                   char key[DG_REMOTE_KEY_MAX])
{
    static const char version[] = PACKAGE_VERSION;
    unsigned char digest[DIGEST], most[8];
    crypto_generichash_state state;
    put_le(most, limits->target_max | (uint64_t)limits->kv << 32 | (uint64_t)limits->compute << 40,
           sizeof most);
    crypto_generichash_init(&state, NULL, 0, sizeof digest);
    crypto_generichash_update(&state, (const unsigned char *)version, sizeof version);
    crypto_generichash_update(&state, fingerprint, DG_FINGERPRINT_BYTES);
    crypto_generichash_update(&state, most, sizeof most);
    crypto_generichash_update(&state, (const unsigned char *)local.ptr, local.len);
    crypto_generichash_final(&state, digest, sizeof digest);
    memcpy(key, prefix, sizeof prefix - 1);
    sodium_bin2hex(key + sizeof prefix - 1, 2 * sizeof digest + 1, digest, sizeof digest);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void seal(struct dg_span bytes, const char *key, unsigned char out[SEAL])
{
    unsigned char digest[DIGEST];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)key, strlen(key), NULL, 0);
    crypto_generichash(out, SEAL, (const unsigned char *)bytes.ptr, bytes.len, digest,
                       sizeof digest);
}

static enum dg_err put(struct dg_buf *buf, uint64_t value, size_t n)
{
    unsigned char bytes[8];
    put_le(bytes, value, n);
    return dg_buf_append(buf, bytes, n);
}

static enum dg_err put_real(struct dg_buf *buf, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put(buf, bits, 8);
}

static enum dg_err put_answer(struct dg_buf *buf, const struct dg_ticket_answer *answer)
{
    enum dg_err err = put(buf, (uint64_t)answer->finish, 1);
    if (!err)
        err = put(buf, answer->repaired, 1);
    if (!err)
        err = put_real(buf, answer->logprob);
    if (!err)
        err = put_real(buf, answer->score);
    if (!err)
        err = put(buf, answer->n_ids, 4);
    for (size_t i = 0; !err && i < answer->n_ids; i++)
        err = put(buf, (uint32_t)answer->ids[i], 4);
    for (size_t i = 0; !err && i < answer->n_ids; i++) {
        uint32_t bits;
        memcpy(&bits, &answer->logprobs[i], sizeof bits);
        err = put(buf, bits, 4);
    }
    return err;
}

static bool is_whole(enum dg_finish finish)
{
    return finish == DG_FINISH_EOS || finish == DG_FINISH_LENGTH || finish == DG_FINISH_LOOP;
}

enum dg_err dg_remote_value_write(const struct dg_ticket *ticket, const char *key,
                                  struct dg_buf *value)
{
    unsigned char end[SEAL];
    if (ticket->err || ticket->n_answers == 0 || ticket->n_answers > N_ANSWERS_MAX ||
        ticket->opts.want_alignment)
        return DG_ERR_UNSUPPORTED;
    size_t at = value->len;
    enum dg_err err = dg_buf_append(value, magic, sizeof magic);
    for (size_t i = 0; !err && i < ticket->n_answers; i++)
        err = is_whole(ticket->answers[i].finish) ? put_answer(value, &ticket->answers[i])
                                                  : DG_ERR_UNSUPPORTED;
    if (!err) {
        seal(dg_span_sub(dg_buf_span(value), at, value->len - at), key, end);
        err = dg_buf_append(value, end, sizeof end);
    }
    if (err)
        dg_buf_truncate(value, at);
    return err;
}

/* Reads one answer from the front of `rest`. */
static enum dg_err get_answer(struct dg_span *rest, size_t n_words, size_t n_most,
                              struct dg_ticket_answer *answer)
{
    const unsigned char *at = (const unsigned char *)rest->ptr;
    if (rest->len < ANSWER_HEAD || at[0] > DG_FINISH_FAILED || !is_whole((enum dg_finish)at[0]) ||
        at[1] > 1)
        return DG_ERR_INTEGRITY;
    *answer = (struct dg_ticket_answer){.finish = (enum dg_finish)at[0], .repaired = at[1] == 1};
    uint64_t bits = get_le(at + 2, 8);
    memcpy(&answer->logprob, &bits, sizeof bits);
    bits = get_le(at + 10, 8);
    memcpy(&answer->score, &bits, sizeof bits);
    size_t n = (size_t)get_le(at + 18, 4);
    if (!isfinite(answer->logprob) || !isfinite(answer->score) || n > n_most ||
        (rest->len - ANSWER_HEAD) / 8 < n)
        return DG_ERR_INTEGRITY;
    at += ANSWER_HEAD;
    answer->ids = dg_try_malloc(n * (sizeof *answer->ids + sizeof *answer->logprobs));
    if (!answer->ids)
        return DG_ERR_NOMEM;
    answer->logprobs = (float *)(void *)(answer->ids + n);
    answer->n_ids = n;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = (uint32_t)get_le(at + 4 * i, 4), real = (uint32_t)get_le(at + 4 * (n + i), 4);
        memcpy(&answer->logprobs[i], &real, sizeof real);
        if (id >= n_words || !isfinite(answer->logprobs[i]))
            return DG_ERR_INTEGRITY; /* freed with its ticket */
        answer->ids[i] = (int32_t)id;
    }
    *rest = dg_span_sub(*rest, ANSWER_HEAD + 8 * n, rest->len);
    return DG_OK;
}

static void free_answers(struct dg_ticket *ticket)
{
    for (size_t i = 0; i < ticket->n_answers; i++)
        dg_free(ticket->answers[i].ids);
    dg_free(ticket->answers);
    ticket->answers = NULL;
    ticket->n_answers = 0;
}

enum dg_err dg_remote_value_read(struct dg_span value, const char *key, size_t n_words,
                                 struct dg_ticket *ticket)
{
    unsigned char end[SEAL];
    if (value.len < sizeof magic + SEAL || value.len > DG_REMOTE_VALUE_MAX ||
        memcmp(value.ptr, magic, sizeof magic) != 0)
        return DG_ERR_INTEGRITY;
    struct dg_span bytes = dg_span_sub(value, 0, value.len - SEAL);
    seal(bytes, key, end);
    if (memcmp(end, value.ptr + bytes.len, SEAL) != 0)
        return DG_ERR_INTEGRITY;
    struct dg_span rest = dg_span_sub(bytes, sizeof magic, bytes.len);
    ticket->answers = dg_try_calloc(N_ANSWERS_MAX, sizeof *ticket->answers);
    enum dg_err err = ticket->answers ? DG_OK : DG_ERR_NOMEM;
    while (!err && rest.len > 0) {
        if (ticket->n_answers == N_ANSWERS_MAX) {
            err = DG_ERR_INTEGRITY;
            break;
        }
        err = get_answer(&rest, n_words, ticket->shown_cap, &ticket->answers[ticket->n_answers]);
        ticket->n_answers++;
    }
    if (!err && ticket->n_answers == 0)
        err = DG_ERR_INTEGRITY;
    if (err) {
        free_answers(ticket);
        return err;
    }
    const struct dg_ticket_answer *best = &ticket->answers[0];
    if (best->n_ids) {
        memcpy(ticket->shown_ids, best->ids, best->n_ids * sizeof *best->ids);
        memcpy(ticket->shown_logprobs, best->logprobs, best->n_ids * sizeof *best->logprobs);
    }
    atomic_store(&ticket->n_shown, best->n_ids);
    return DG_OK;
}
