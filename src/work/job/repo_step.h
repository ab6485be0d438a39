/*
 * repo_step.h - a step at a forge: how it gets there, with a token for its repository alone.
 *
 * Keys stay with the server.  A step asks it for access (port.forge_access) and gets a token that
 * is valid for this repository and not for long, and the governor's answer beside it.  Where the
 * server has no key the worker's own variable is used.
 */
#ifndef WORK_JOB_REPO_STEP_H
#define WORK_JOB_REPO_STEP_H
#include "forge/port/forge.h"
#include "forge/token_source.h"
#include "work/job/step.h"

/* A bare step about a repository: fills step->input.config, .repository and places its mirror.
   RC_INVALID: the payload lacks it. */
MUST_USE enum rc repo_step_open(struct step *step, struct err *err);

/* The credential for git, as step_git then has it: asked for once.  RC_NOT_FOUND,
   CREDENTIAL_MISSING: neither the server nor this worker has it. */
MUST_USE enum rc step_credential(struct step *step, enum forge_access access, struct err *err);

/* The forge of the step's repository, with access to it; steps of runs as well.  The call is the
   caller's to release, and must not outlive the step.  RC_LIMIT: the governor has none to give now,
   err->retry_ms says when. */
MUST_USE enum rc step_forge_open(struct step *step, enum forge_access access,
                                 struct forge_call *ret_call, const struct forge_ops **ret_ops,
                                 struct err *err);
/* How a forge's error fails the step: retried later, or not.  A step that returns RC_LIMIT with the
   code FORGE_LIMIT is put off until err->retry_ms have passed, without an attempt counted, whether
   or not this is called. */
enum rc step_forge_fail(struct step *step, enum rc rc, const struct err *err, const char *code);

/* Tells the governor what was used, and gives back what was not.  For the framework. */
void step_forge_close(struct step *step);
#endif
