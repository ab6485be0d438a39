/*
 * sandbox_start.c - see sandbox_start.h.
 */
#include "work/sandbox/sandbox_start.h"
#include "base/log.h"
#include <unistd.h>

enum rc sandbox_start(struct sandbox *sandbox, const struct sandbox_options *options, bool required,
                      struct err *err)
{
    struct err why = {0};
    sandbox_probe(sandbox, options, &why);
    enum rc rc = sandbox_ready(sandbox, err);
    if (rc != RC_OK && required)
        return rc;
    if (rc != RC_OK) {
        LOG(LOG_ERROR, "there is no sandbox: every agent, check and command of a step will fail",
            LOG_STR("error", err ? err->text : ""));
        err_clear(err);
    } else if (sandbox->kind == SANDBOX_NONE) {
        LOG(LOG_WARN, "sandbox: none: agents and checks run WITHOUT a sandbox and can read and "
                      "write all that drover can, tokens and database included");
    } else if (geteuid() == 0 && !sandbox->drops) {
        LOG(LOG_WARN,
            "drover is root and cannot start agents under users of their own: limits of processes "
            "do not hold",
            LOG_STR("error", why.text));
    } else if (!sandbox->filter) {
        LOG(LOG_WARN, "no system calls are refused to agents", LOG_STR("error", why.text));
    }
    return RC_OK;
}
