/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Limits and rights of the process, by prctl(2), setrlimit(2) and setresuid(2). */
#define _GNU_SOURCE 1 /* setresuid, setresgid, getresuid */
#include "daemon/process.h"

#include "base/memory/error.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum dg_err dg_process_core_dumps(bool allow, struct dg_error *error)
{
    /* The limit that we were started with applies. The flag is set in any case, because the
     * kernel clears it when the user changes. */
    const struct rlimit none = {0, 0};
    if ((!allow && setrlimit(RLIMIT_CORE, &none) != 0) ||
        prctl(PR_SET_DUMPABLE, allow, 0, 0, 0) != 0)
        return dg_error_errno(error, "cannot turn core dumps %s", allow ? "on" : "off");
    return DG_OK;
}

size_t dg_process_open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    rlim_t was = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = was;
    return (size_t)limit.rlim_cur;
}

enum dg_err dg_process_account(const char *name, struct dg_account *account, struct dg_error *error)
{
    enum { ROOM = 64 * 1024 };
    struct passwd entry, *found = NULL;
    char *room = dg_xmalloc(ROOM);
    int failed = getpwnam_r(name, &entry, room, ROOM, &found);
    enum dg_err err = DG_OK;
    if (!found) {
        err = dg_error_set(error, failed ? dg_err_from_errno(failed) : DG_ERR_NOT_FOUND,
                           "user: read \"%s\", expected an account of this system%s%s", name,
                           failed ? ": " : "", failed ? strerror(failed) : "");
    } else {
        *account = (struct dg_account){.uid = entry.pw_uid, .gid = entry.pw_gid};
        snprintf(account->name, sizeof account->name, "%s", name);
    }
    dg_free(room);
    return err;
}

enum dg_err dg_process_hand_over(const char *path, const struct dg_account *account,
                                 struct dg_error *error)
{
    if (geteuid() != 0 || lchown(path, account->uid, account->gid) == 0 || errno == ENOENT)
        return DG_OK;
    return dg_error_errno(error, "cannot give %s to %s", path, account->name);
}

static bool is_account(const struct dg_account *account)
{
    uid_t uid, euid, suid;
    gid_t gid, egid, sgid;
    return getresuid(&uid, &euid, &suid) == 0 && getresgid(&gid, &egid, &sgid) == 0 &&
           uid == account->uid && euid == uid && suid == uid && gid == account->gid &&
           egid == gid && sgid == gid;
}

enum dg_err dg_process_become(const struct dg_account *account, struct dg_error *error)
{
    if (is_account(account))
        return DG_OK;
    /* Groups first: after the change of user there is no right to change them. */
    if (initgroups(account->name, account->gid) != 0 ||
        setresgid(account->gid, account->gid, account->gid) != 0 ||
        setresuid(account->uid, account->uid, account->uid) != 0)
        return dg_error_set(error, dg_err_from_errno(errno), "cannot become the user %s: %s%s",
                            account->name, strerror(errno),
                            geteuid() == 0 ? "" : " (only root can; start without --user instead)");
    if (!is_account(account) || (account->uid != 0 && setuid(0) == 0))
        return dg_error_set(error, DG_ERR_INTERNAL, "became the user %s, but kept root's rights",
                            account->name);
    return DG_OK;
}
