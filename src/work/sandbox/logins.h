/*
 * logins.h - the files that an agent of a profile logs in with: where they come from, what of them
 * goes back.
 *
 *     account/.codex/auth.json ──► home/.codex/auth.json ──► the agent ──► what it refreshed ──┐
 *               ▲                                                (core/agent/login.h)          │
 *               └──────────────────────────────────────────────────────────────────────────────┘
 *
 * account is agent.home, or without one the home of drover's own user, of which no other file is
 * copied.  home.logins, beside the run's home, notes how both files were when they were the same.
 * A file that has changed on the side of the account since then is left alone: another run or its
 * owner was faster.
 *
 * What lies in the run's home is hostile: no link is followed there, only regular files of at most
 * LOGIN_BYTES_MAX are read.
 */
#ifndef WORK_SANDBOX_LOGINS_H
#define WORK_SANDBOX_LOGINS_H
#include "base/rc.h"
#include "core/agent/login.h"
#include "core/text/secrets.h"

struct logins {
    const char *home;               /* Of the run. */
    const char *account;            /* A directory. */
    const struct agent_login *list; /* Of the profile. */
};

/* After the home was made.  copy: of the account only these files come along; else the home is a
   copy of all of it.  RC_IO. */
MUST_USE enum rc logins_take(const struct logins *logins, bool copy, struct err *err);
/* Has the home got them? */
bool logins_taken(const struct logins *logins);
/* Before a home is made anew. */
MUST_USE enum rc logins_forget(const char *home, struct err *err);
/* After an attempt.  What cannot be taken is logged and left. */
void logins_give_back(const struct logins *logins, const char *run_id);
/* Tokens that the account has now: they are to be kept out of all output. */
void logins_secrets(const struct logins *logins, struct arena *arena, struct secrets *secrets);
/* Is this file there, in a home? */
bool login_present(const char *account, const struct agent_login *login);
#endif
