/*
 * result_certificate.h - checks the certificate of a verification against the rows of the store.
 *
 * The certificate is an artifact that the worker has stored (docs/PROTOCOL.md).  It must be of this
 * run, attempt, base commit, patch and tree, and its checks must be those of the configuration, in
 * order; or the single failed check "apply" and then all of them skipped.  The verdict is derived
 * here from the statuses; certificate and result have to agree with it.
 */
#ifndef CONTROL_RUN_RESULT_CERTIFICATE_H
#define CONTROL_RUN_RESULT_CERTIFICATE_H
#include "control/run/flow.h"

/* RC_INVALID RESULT_REFUSED: ctx->err names the member and what is wrong. */
MUST_USE enum rc certificate_check(struct context *ctx, struct flow *flow,
                                   const struct repo_config *config, const struct js *result);
#endif
