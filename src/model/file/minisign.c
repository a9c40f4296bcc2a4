/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lines and base64 around libsodium's Ed25519, BLAKE2b and scrypt. */
#include "model/file/minisign.h"

#include <sodium.h>
#include <string.h>

enum {
    PUBLIC_BYTES = 2 + 8 + 32,
    BOX_BYTES = 8 + 64 + 32, /* the id, the key and the checksum */
    SECRET_BYTES = 6 + 32 + 8 + 8 + BOX_BYTES,
    SIGNATURE_BYTES = 2 + 8 + 64,
    OPS_MAX = 1 << 27,
    MEM_MAX = 1 << 30, /* the most memory that minisign itself uses */
};

static const char untrusted[] = "untrusted comment: ";
static const char trusted[] = "trusted comment: ";

/* ---- Text ------------------------------------------------------------------------------------ */

/* Takes a line off the front of `text`, without its end. */
static struct dg_span take_line(struct dg_span *text)
{
    const char *end = text->len ? memchr(text->ptr, '\n', text->len) : NULL;
    size_t len = end ? (size_t)(end - text->ptr) : text->len;
    struct dg_span line = dg_span_sub(*text, 0, len);
    *text = dg_span_sub(*text, len + 1, text->len);
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

static bool decode(struct dg_span line, uint8_t *bytes, size_t len)
{
    size_t got;
    return line.len <= 1024 &&
           sodium_base642bin(bytes, len, line.ptr, line.len, NULL, &got, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           got == len;
}

static enum dg_err put_base64(struct dg_buf *out, const uint8_t *bytes, size_t len)
{
    char text[512];
    sodium_bin2base64(text, sizeof text, bytes, len, sodium_base64_VARIANT_ORIGINAL);
    enum dg_err err = dg_buf_printf(out, "%s\n", text);
    sodium_memzero(text, sizeof text);
    return err;
}

static void put_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_u64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* Returns the id as minisign prints it: as a number, most significant digit first. */
static uint64_t id_number(const uint8_t id[8])
{
    return get_u64(id);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

enum dg_err dg_minisign_generate(struct dg_minisign_public *public_key,
                                 struct dg_minisign_secret *secret_key)
{
    if (sodium_init() < 0)
        return DG_ERR_INTERNAL;
    randombytes_buf(public_key->id, sizeof public_key->id);
    memcpy(secret_key->id, public_key->id, sizeof secret_key->id);
    crypto_sign_keypair(public_key->key, secret_key->key);
    return DG_OK;
}

void dg_minisign_wipe(struct dg_minisign_secret *key)
{
    sodium_memzero(key, sizeof *key);
}

enum dg_err dg_minisign_public_parse(struct dg_minisign_public *key, struct dg_span text,
                                     struct dg_error *error)
{
    uint8_t bytes[PUBLIC_BYTES];
    struct dg_span line = take_line(&text);
    if (dg_span_starts(line, DG_SPAN("untrusted comment:")))
        line = take_line(&text);
    if (!decode(line, bytes, sizeof bytes) || memcmp(bytes, "Ed", 2) != 0)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "not a minisign public key: expected a comment line and 56 letters of base64");
    memcpy(key->id, bytes + 2, 8);
    memcpy(key->key, bytes + 10, 32);
    return DG_OK;
}

enum dg_err dg_minisign_public_print(const struct dg_minisign_public *key, struct dg_buf *out)
{
    uint8_t bytes[PUBLIC_BYTES] = {'E', 'd'};
    memcpy(bytes + 2, key->id, 8);
    memcpy(bytes + 10, key->key, 32);
    enum dg_err err = dg_buf_printf(out, "%sminisign public key %016llX\n", untrusted,
                                    (unsigned long long)id_number(key->id));
    return err ? err : put_base64(out, bytes, sizeof bytes);
}

static bool read_secret(struct dg_span text, uint8_t bytes[SECRET_BYTES])
{
    struct dg_span line = take_line(&text);
    if (!dg_span_starts(line, DG_SPAN("untrusted comment:")))
        return false;
    return decode(take_line(&text), bytes, SECRET_BYTES) && memcmp(bytes, "Ed", 2) == 0 &&
           memcmp(bytes + 4, "B2", 2) == 0;
}

bool dg_minisign_secret_is_encrypted(struct dg_span text)
{
    uint8_t bytes[SECRET_BYTES];
    bool encrypted = read_secret(text, bytes) && memcmp(bytes + 2, "Sc", 2) == 0;
    sodium_memzero(bytes, sizeof bytes);
    return encrypted;
}

/* box ^= scrypt(password) */
static enum dg_err cipher(uint8_t box[BOX_BYTES], struct dg_span password, const uint8_t salt[32],
                          uint64_t ops, uint64_t mem, struct dg_error *error)
{
    uint8_t stream[BOX_BYTES];
    if (ops > OPS_MAX || mem > MEM_MAX)
        return dg_error_set(
            error, DG_ERR_LIMIT,
            "the key asks for %llu scrypt operations and %llu bytes, expected at most %d and %d",
            (unsigned long long)ops, (unsigned long long)mem, OPS_MAX, MEM_MAX);
    if (crypto_pwhash_scryptsalsa208sha256(stream, sizeof stream, password.ptr ? password.ptr : "",
                                           password.len, salt, ops, (size_t)mem) != 0)
        return dg_error_set(error, DG_ERR_NOMEM, "scrypt could not get its %llu bytes of memory",
                            (unsigned long long)mem);
    for (size_t i = 0; i < BOX_BYTES; i++)
        box[i] ^= stream[i];
    sodium_memzero(stream, sizeof stream);
    return DG_OK;
}

/* Computes BLAKE2b-256 over algorithm, id and key. */
static void checksum(const uint8_t box[BOX_BYTES], uint8_t check[32])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, 32);
    crypto_generichash_update(&state, (const uint8_t *)"Ed", 2);
    crypto_generichash_update(&state, box, 8 + 64);
    crypto_generichash_final(&state, check, 32);
}

/* Checks an Ed25519 key: the second half of a secret key is the public key that follows from the
 * first half. */
static bool halves_agree(const uint8_t key[64])
{
    uint8_t public_key[32], secret_key[64];
    crypto_sign_seed_keypair(public_key, secret_key, key);
    bool agree = sodium_memcmp(public_key, key + 32, 32) == 0;
    sodium_memzero(secret_key, sizeof secret_key);
    return agree;
}

enum dg_err dg_minisign_secret_parse(struct dg_minisign_secret *key, struct dg_span text,
                                     struct dg_span password, struct dg_error *error)
{
    uint8_t bytes[SECRET_BYTES], check[32];
    if (sodium_init() < 0)
        return DG_ERR_INTERNAL;
    if (!read_secret(text, bytes))
        return dg_error_set(error, DG_ERR_FORMAT, "not a minisign secret key");
    uint8_t *box = bytes + 54;
    static const uint8_t open[2] = {0, 0};
    enum dg_err err = DG_OK;
    if (memcmp(bytes + 2, "Sc", 2) == 0)
        err = cipher(box, password, bytes + 6, get_u64(bytes + 38), get_u64(bytes + 46), error);
    else if (memcmp(bytes + 2, open, 2) != 0)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "the secret key's kdf is not scrypt");
    checksum(box, check);
    /* minisign leaves the checksum of an unencrypted key zero. Then the two halves of the key
     * must agree. */
    bool good = sodium_memcmp(check, box + 72, 32) == 0 ||
                (memcmp(bytes + 2, open, 2) == 0 && sodium_is_zero(box + 72, 32));
    if (!err && (!good || !halves_agree(box + 8)))
        err = dg_error_set(error, DG_ERR_DENIED,
                           "wrong password for the secret key, or it is damaged");
    if (!err) {
        memcpy(key->id, box, 8);
        memcpy(key->key, box + 8, 64);
    }
    sodium_memzero(bytes, sizeof bytes);
    return err;
}

enum dg_err dg_minisign_secret_print(const struct dg_minisign_secret *key, struct dg_span password,
                                     struct dg_buf *out, struct dg_error *error)
{
    uint8_t bytes[SECRET_BYTES] = {'E', 'd', 0, 0, 'B', '2'};
    uint8_t *box = bytes + 54;
    enum dg_err err = DG_OK;
    memcpy(box, key->id, 8);
    memcpy(box + 8, key->key, 64);
    checksum(box, box + 72);
    if (password.len) {
        memcpy(bytes + 2, "Sc", 2);
        randombytes_buf(bytes + 6, 32);
        put_u64(bytes + 38, crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE);
        put_u64(bytes + 46, crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE);
        err = cipher(box, password, bytes + 6, get_u64(bytes + 38), get_u64(bytes + 46), error);
    }
    if (!err)
        err = dg_buf_printf(out, "%sminisign %ssecret key\n", untrusted,
                            password.len ? "encrypted " : "");
    if (!err)
        err = put_base64(out, bytes, sizeof bytes);
    sodium_memzero(bytes, sizeof bytes);
    return err;
}

/* ---- Signatures ------------------------------------------------------------------------------ */

enum { HASH_BYTES = 64 };

static void prehash(struct dg_span message, uint8_t hash[HASH_BYTES])
{
    crypto_generichash(hash, HASH_BYTES, (const uint8_t *)(message.ptr ? message.ptr : ""),
                       message.len, NULL, 0);
}

/* Writes what the second signature covers: the first signature and the trusted comment. */
static size_t second_message(const uint8_t sig[64], struct dg_span comment, uint8_t *out)
{
    memcpy(out, sig, 64);
    if (comment.len)
        memcpy(out + 64, comment.ptr, comment.len);
    return 64 + comment.len;
}

enum dg_err dg_minisign_sign(const struct dg_minisign_secret *key, struct dg_span message,
                             struct dg_span trusted_comment, struct dg_buf *out,
                             struct dg_error *error)
{
    uint8_t bytes[SIGNATURE_BYTES] = {'E', 'D'}, hash[HASH_BYTES], second[64];
    uint8_t covered[64 + DG_MINISIGN_COMMENT_MAX];
    if (trusted_comment.len > DG_MINISIGN_COMMENT_MAX ||
        memchr(trusted_comment.len ? trusted_comment.ptr : "", '\n', trusted_comment.len))
        return dg_error_set(error, DG_ERR_INVALID,
                            "the trusted comment is not one line of at most %d bytes",
                            DG_MINISIGN_COMMENT_MAX);
    memcpy(bytes + 2, key->id, 8);
    prehash(message, hash);
    crypto_sign_detached(bytes + 10, NULL, hash, sizeof hash, key->key);
    size_t len = second_message(bytes + 10, trusted_comment, covered);
    crypto_sign_detached(second, NULL, covered, len, key->key);
    enum dg_err err = dg_buf_printf(out, "%ssignature from dragoman\n", untrusted);
    if (!err)
        err = put_base64(out, bytes, sizeof bytes);
    if (!err)
        err = dg_buf_printf(out, "%s%.*s\n", trusted, DG_SPAN_FMT(trusted_comment));
    return err ? err : put_base64(out, second, sizeof second);
}

static enum dg_err refuse(struct dg_error *error, const char *what)
{
    return dg_error_set(error, DG_ERR_INTEGRITY, "%s", what);
}

static enum dg_err verify_with(const struct dg_minisign_public *key, struct dg_span message,
                               const uint8_t bytes[SIGNATURE_BYTES], struct dg_span comment,
                               const uint8_t second[64], struct dg_error *error)
{
    uint8_t hash[HASH_BYTES], covered[64 + DG_MINISIGN_COMMENT_MAX];
    bool good;
    if (bytes[1] == 'D') {
        prehash(message, hash);
        good = crypto_sign_verify_detached(bytes + 10, hash, sizeof hash, key->key) == 0;
    } else {
        good = crypto_sign_verify_detached(bytes + 10,
                                           (const uint8_t *)(message.ptr ? message.ptr : ""),
                                           message.len, key->key) == 0;
    }
    if (!good)
        return refuse(error, "the signature does not match: the file was changed after signing");
    size_t len = second_message(bytes + 10, comment, covered);
    if (crypto_sign_verify_detached(second, covered, len, key->key) != 0)
        return refuse(error, "the signature of the trusted comment does not match");
    return DG_OK;
}

enum dg_err dg_minisign_verify(const struct dg_minisign_public *keys, size_t n,
                               struct dg_span message, struct dg_span signature,
                               struct dg_span *trusted_comment, struct dg_error *error)
{
    uint8_t bytes[SIGNATURE_BYTES], second[64];
    if (sodium_init() < 0)
        return DG_ERR_INTERNAL;
    if (!dg_span_starts(take_line(&signature), DG_SPAN("untrusted comment:")))
        return refuse(error, "the signature's first line is not an untrusted comment");
    if (!decode(take_line(&signature), bytes, sizeof bytes) || bytes[0] != 'E' ||
        (bytes[1] != 'D' && bytes[1] != 'd'))
        return refuse(error, "the signature's second line is not a minisign signature");
    struct dg_span comment = take_line(&signature);
    if (!dg_span_starts(comment, DG_SPAN("trusted comment: ")) ||
        comment.len - (sizeof trusted - 1) > DG_MINISIGN_COMMENT_MAX)
        return refuse(error, "the signature's third line is not a trusted comment");
    comment = dg_span_sub(comment, sizeof trusted - 1, comment.len);
    if (!decode(take_line(&signature), second, sizeof second))
        return refuse(error, "the signature's fourth line is not a signature");
    for (size_t i = 0; i < n; i++) {
        if (memcmp(keys[i].id, bytes + 2, 8) != 0)
            continue;
        enum dg_err err = verify_with(&keys[i], message, bytes, comment, second, error);
        if (!err && trusted_comment)
            *trusted_comment = comment;
        return err;
    }
    return dg_error_set(error, DG_ERR_INTEGRITY,
                        "it was signed with key %016llX, which is not among the %zu known",
                        (unsigned long long)id_number(bytes + 2), n);
}
