/*
 * step_secrets.h - what a step must not disclose: texts in the form of tokens, and the secrets that
 * this worker handed out or holds for the repository.
 */
#ifndef WORK_JOB_STEP_SECRETS_H
#define WORK_JOB_STEP_SECRETS_H
#include "core/text/secrets.h"
#include "work/job/step.h"

/* Of the variables that the configuration names (agent.env and all credentials), as this process
   has them, and of the passwords in its addresses.  Lives as long as configuration and arena. */
void repo_secrets(const struct repo_config *config, struct arena *arena, struct secrets *secrets);
/* The same for the step, made at the first call.  More may be added as long as no other thread
   reads it. */
struct secrets *step_secrets(struct step *step);
#endif
