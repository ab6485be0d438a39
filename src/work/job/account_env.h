/*
 * account_env.h - the variables of the provider account that an agent works with, as this worker
 * has them (core/config/account_config.h).
 */
#ifndef WORK_JOB_ACCOUNT_ENV_H
#define WORK_JOB_ACCOUNT_ENV_H
#include "core/text/secrets.h"
#include "work/job/childenv.h"

/* Values that this worker looked up: variables and the first lines of files. */
void account_secrets(const struct account_config *account, struct arena *arena,
                     struct secrets *secrets);
/* Its variables, and no other credential of its provider.  RC_INVALID, ACCOUNT_INCOMPLETE: this
   worker lacks one of them; the text names it, and its value is in no text. */
MUST_USE enum rc account_env_set(const struct account_config *account, struct arena *arena,
                                 struct childenv *env, struct err *err);
#endif
