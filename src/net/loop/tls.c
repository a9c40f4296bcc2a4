/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each session has two memory BIOs: one for received bytes, one for bytes to send. */
#include "net/loop/tls.h"

#include "config.h"

#include "base/memory/mem.h"

#ifdef DG_HAVE_TLS

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct dg_tls {
    SSL_CTX *context;
};

struct dg_tls_session {
    SSL *ssl; /* owns both BIOs */
    BIO *received, *output;
};

bool dg_tls_is_built(void)
{
    return true;
}

/* What OpenSSL says about its last failure. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "no reason was given";
}

static enum dg_err refuse_file(struct dg_error *error, const char *what, const char *path)
{
    return dg_error_set(error, DG_ERR_INVALID, "cannot use the %s in %s: %s", what, path, reason());
}

/* Never asks for a passphrase on the terminal. */
static int no_passphrase(char *buf, int size, int rwflag, void *user)
{
    (void)buf, (void)size, (void)rwflag, (void)user;
    return -1;
}

static enum dg_err read_files(SSL_CTX *context, const struct dg_tls_opts *opts,
                              struct dg_error *error)
{
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (*opts->ca_file ? SSL_CTX_load_verify_file(context, opts->ca_file) != 1
                       : SSL_CTX_set_default_verify_paths(context) != 1)
        return refuse_file(error, "authorities' certificates",
                           *opts->ca_file ? opts->ca_file : "the system's folder");
    if (!*opts->certificate_file)
        return DG_OK;
    if (SSL_CTX_use_certificate_chain_file(context, opts->certificate_file) != 1)
        return refuse_file(error, "certificate", opts->certificate_file);
    if (SSL_CTX_use_PrivateKey_file(context, opts->key_file, SSL_FILETYPE_PEM) != 1)
        return refuse_file(error, "key", opts->key_file);
    return DG_OK;
}

enum dg_err dg_tls_new(const struct dg_tls_opts *opts, struct dg_error *error, struct dg_tls **out)
{
    struct dg_tls *tls = dg_xcalloc(1, sizeof *tls);
    ERR_clear_error();
    tls->context = SSL_CTX_new(TLS_client_method());
    enum dg_err err = tls->context ? DG_OK : DG_ERR_NOMEM;
    if (!err) {
        SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION);
        SSL_CTX_set_mode(tls->context, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
        err = SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) == 1
                  ? read_files(tls->context, opts, error)
                  : DG_ERR_UNSUPPORTED;
    }
    ERR_clear_error();
    if (err) {
        dg_tls_free(tls);
        return err;
    }
    *out = tls;
    return DG_OK;
}

void dg_tls_free(struct dg_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    dg_free(tls);
}

static bool is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Requires that the certificate is one of this host. */
static bool expect_host(SSL *ssl, const char *host)
{
    if (is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

enum dg_err dg_tls_session_new(struct dg_tls *tls, const char *host, struct dg_tls_session **out)
{
    struct dg_tls_session *session = dg_try_calloc(1, sizeof *session);
    if (!session)
        return DG_ERR_NOMEM;
    session->ssl = SSL_new(tls->context);
    session->received = BIO_new(BIO_s_mem());
    session->output = BIO_new(BIO_s_mem());
    if (!session->ssl || !session->received || !session->output ||
        !expect_host(session->ssl, host)) {
        BIO_free(session->received);
        BIO_free(session->output);
        SSL_free(session->ssl);
        dg_free(session);
        ERR_clear_error();
        return DG_ERR_NOMEM;
    }
    SSL_set_bio(session->ssl, session->received, session->output);
    SSL_set_connect_state(session->ssl);
    (void)SSL_do_handshake(session->ssl); /* makes the first message; the peer's answer shows
                                             whether it was understood */
    ERR_clear_error();
    *out = session;
    return DG_OK;
}

void dg_tls_session_free(struct dg_tls_session *session)
{
    if (!session)
        return;
    SSL_free(session->ssl);
    dg_free(session);
}

bool dg_tls_session_is_open(const struct dg_tls_session *session)
{
    return SSL_is_init_finished(session->ssl) == 1;
}

enum dg_err dg_tls_session_feed(struct dg_tls_session *session, struct dg_span received)
{
    return BIO_write(session->received, received.ptr, (int)received.len) == (int)received.len
               ? DG_OK
               : DG_ERR_NOMEM;
}

/* What became of a call that returned `result`; DG_OK: it waits for more bytes. */
static enum dg_err judge(const struct dg_tls_session *session, int result, struct dg_error *error)
{
    const int what = SSL_get_error(session->ssl, result);
    const long verdict = SSL_get_verify_result(session->ssl);
    enum dg_err err = DG_OK;
    if (what == SSL_ERROR_ZERO_RETURN)
        err = DG_ERR_CLOSED;
    else if (what != SSL_ERROR_WANT_READ && what != SSL_ERROR_WANT_WRITE)
        err =
            dg_error_set(error, DG_ERR_INTEGRITY, "TLS: %s",
                         verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : reason());
    ERR_clear_error();
    return err;
}

enum dg_err dg_tls_session_read(struct dg_tls_session *session, char *bytes, size_t cap, size_t *n,
                                struct dg_error *error)
{
    ERR_clear_error();
    const int got = SSL_read(session->ssl, bytes, cap < INT32_MAX ? (int)cap : INT32_MAX);
    *n = got > 0 ? (size_t)got : 0;
    return got > 0 ? DG_OK : judge(session, got, error);
}

enum dg_err dg_tls_session_write(struct dg_tls_session *session, struct dg_span text,
                                 struct dg_error *error)
{
    size_t written = 0;
    ERR_clear_error();
    if (text.len == 0)
        return DG_OK;
    const int ok = SSL_write_ex(session->ssl, text.ptr, text.len, &written);
    if (ok == 1 && written == text.len)
        return DG_OK;
    const enum dg_err err = judge(session, ok, error);
    return err ? err : dg_error_set(error, DG_ERR_INTEGRITY, "TLS: it is not open");
}

struct dg_span dg_tls_session_output(struct dg_tls_session *session)
{
    char *bytes = NULL;
    const long len = BIO_get_mem_data(session->output, &bytes);
    return dg_span_make(bytes, len > 0 ? (size_t)len : 0);
}

void dg_tls_session_sent(struct dg_tls_session *session)
{
    (void)BIO_reset(session->output);
}

#else

bool dg_tls_is_built(void)
{
    return false;
}

enum dg_err dg_tls_new(const struct dg_tls_opts *opts, struct dg_error *error, struct dg_tls **tls)
{
    (void)opts, (void)tls;
    return dg_error_set(error, DG_ERR_UNSUPPORTED,
                        "this program was built without TLS; configure it --with-tls (on Debian: "
                        "apt-get install libssl-dev)");
}

void dg_tls_free(struct dg_tls *tls)
{
    (void)tls;
}

enum dg_err dg_tls_session_new(struct dg_tls *tls, const char *host,
                               struct dg_tls_session **session)
{
    (void)tls, (void)host, (void)session;
    return DG_ERR_UNSUPPORTED;
}

void dg_tls_session_free(struct dg_tls_session *session)
{
    (void)session;
}

bool dg_tls_session_is_open(const struct dg_tls_session *session)
{
    (void)session;
    return false;
}

enum dg_err dg_tls_session_feed(struct dg_tls_session *session, struct dg_span received)
{
    (void)session, (void)received;
    return DG_ERR_UNSUPPORTED;
}

enum dg_err dg_tls_session_read(struct dg_tls_session *session, char *bytes, size_t cap, size_t *n,
                                struct dg_error *error)
{
    (void)session, (void)bytes, (void)cap, (void)n, (void)error;
    return DG_ERR_UNSUPPORTED;
}

enum dg_err dg_tls_session_write(struct dg_tls_session *session, struct dg_span text,
                                 struct dg_error *error)
{
    (void)session, (void)text, (void)error;
    return DG_ERR_UNSUPPORTED;
}

struct dg_span dg_tls_session_output(struct dg_tls_session *session)
{
    (void)session;
    return dg_span_make(NULL, 0);
}

void dg_tls_session_sent(struct dg_tls_session *session)
{
    (void)session;
}

#endif
