/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Names and sentences of the error list, generated from its rows in err.h. */
#include "base/memory/err.h"

#include <errno.h>

const char *dg_err_name(enum dg_err err)
{
    switch (err) {
    case DG_OK:
        return "ok";
#define DG_ERR_NAME(code, number, name, sentence)                                                  \
    case code:                                                                                     \
        return name;
        DG_ERR_LIST(DG_ERR_NAME)
#undef DG_ERR_NAME
    }
    return "unknown";
}

const char *dg_err_sentence(enum dg_err err)
{
    switch (err) {
    case DG_OK:
        return "success";
#define DG_ERR_SENTENCE(code, number, name, sentence)                                              \
    case code:                                                                                     \
        return sentence;
        DG_ERR_LIST(DG_ERR_SENTENCE)
#undef DG_ERR_SENTENCE
    }
    return "unknown error";
}

enum dg_err dg_err_from_errno(int errno_value)
{
    switch (errno_value) {
    case 0:
        return DG_OK;
    case ENOMEM:
        return DG_ERR_NOMEM;
    case ENOENT:
    case ENOTDIR:
        return DG_ERR_NOT_FOUND;
    case EEXIST:
        return DG_ERR_EXISTS;
    case EACCES:
    case EPERM:
        return DG_ERR_DENIED;
    case EINVAL:
        return DG_ERR_INVALID;
    case ETIMEDOUT:
        return DG_ERR_TIMEOUT;
    case EMFILE:
    case ENFILE:
        return DG_ERR_LIMIT;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return DG_ERR_NO_SPACE;
    default:
        return DG_ERR_IO;
    }
}
