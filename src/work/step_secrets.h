/*
 * step_secrets.h - what a step must not tell: the shapes of tokens, and what this worker itself
 * handed out or holds for the repository.
 */
#ifndef WORK_STEP_SECRETS_H
#define WORK_STEP_SECRETS_H
#include "core/secrets.h"
#include "work/step.h"

/* Made at the first call, from the variables that the configuration names (agent.env and all
   credentials).  More may be added as long as nobody else reads it. */
struct secrets *step_secrets(struct step *step);
#endif
