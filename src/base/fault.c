#include "base/fault.h"

#ifdef DROVER_FAULTS
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A task at the local forge does not pass it: other tests than faults.test.mjs reach it. */
#define ELSEWHERE(name, may_fail) \
    {                             \
        name, may_fail            \
    }

/* When you add a point, add it here: one that is not listed ends the process.  Where may_fail is
   false, a failure would be wrong: the operation has succeeded. */
static const struct {
    const char *name;
    bool may_fail;
} points[] = {
    /* clang-format off */
    {"commit.before", true},
    {"commit.after", false},
    {"artifact.write", true},
    {"artifact.rename", true},
    {"artifact.done", false},
    {"publish.commit", true},
    {"publish.push", true},
    {"publish.number", true},
    {"publish.refs", true},
    {"publish.numbered", true},
    {"step.report", true},
    {"step.reported", false},
    ELSEWHERE("publish.pushed", true),
    ELSEWHERE("publish.create", true),
    ELSEWHERE("publish.created", true),
    ELSEWHERE("publish.label", true),
    ELSEWHERE("publish.reviewers", true),
    ELSEWHERE("publish.check", true),
    ELSEWHERE("publish.ready", true),
    ELSEWHERE("publish.approve", true),
    ELSEWHERE("withdraw.push", true),
    ELSEWHERE("withdraw.close", true),
    ELSEWHERE("merge.call", true),
    ELSEWHERE("merge.called", true),
    ELSEWHERE("close.call", true),
    ELSEWHERE("train.push", true),
    ELSEWHERE("train.pushed", false),
    ELSEWHERE("move.push", true),
    ELSEWHERE("move.pushed", true),
    ELSEWHERE("attend.act", true),
    ELSEWHERE("attend.acted", true),
    ELSEWHERE("observe.read", true),
    ELSEWHERE("rebase.verify", true),
    ELSEWHERE("comment.write", true),
    ELSEWHERE("comment.written", true),
    ELSEWHERE("comment.close", true),
    /* clang-format on */
};

static void check_listed(const char *name, bool fails)
{
    for (size_t i = 0; i < COUNT_OF(points); i++)
        if (strcmp(points[i].name, name) == 0 && (points[i].may_fail || !fails))
            return;
    assert(false && "a fault point that is not listed");
}

enum rc fault_point(const char *name, struct err *err)
{
    static atomic_long hits;
    char wanted[64], action[8];
    long at;
    const char *wish = getenv("DROVER_FAULT");
    if (wish == NULL || sscanf(wish, "%63[^:]:%7[^:]:%ld", wanted, action, &at) != 3)
        return RC_OK;
    bool fails = strcmp(action, "fail") == 0;
    bool strikes = strcmp(wanted, name) == 0 && atomic_fetch_add(&hits, 1) + 1 == at;
    check_listed(name, strikes && fails);
    if (!strikes)
        return RC_OK;
    if (fails)
        return err_set(err, RC_IO, "FAULT", "%s: a fault was asked for", name);
    if (strcmp(action, "stop") == 0) {
        (void)raise(SIGSTOP); /* To this thread: kill() may leave it running until another stops. */
        return RC_OK;
    }
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}
#endif
