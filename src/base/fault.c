/*
 * fault.c - see fault.h.
 */
#include "base/fault.h"

#ifdef DROVER_FAULTS
#include "base/str.h"
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* When you add a point: also here, or it never strikes. */
static const char points[] = "commit.before die\n"
                             "commit.before fail\n"
                             "commit.after die\n"
                             "artifact.write die\n"
                             "artifact.write fail\n"
                             "artifact.rename die\n"
                             "artifact.rename fail\n"
                             "artifact.done die\n"
                             "publish.commit die\n"
                             "publish.commit fail\n"
                             "publish.push die\n"
                             "publish.push fail\n"
                             "publish.pushed die\n"
                             "publish.number die\n"
                             "publish.number fail\n"
                             "publish.numbered die\n"
                             "step.report die\n"
                             "step.reported die\n";

const char *fault_list(void)
{
    return points;
}

static bool is_listed(const char *point)
{
    const char *found = strstr(points, point);
    return found != NULL && found[strlen(point)] == ' ';
}

bool fault_strikes(const char *point)
{
    static atomic_long hits;
    assert(is_listed(point));
    char name[64], action[8];
    long at;
    const char *wish = getenv("DROVER_FAULT");
    if (wish == NULL || sscanf(wish, "%63[^:]:%7[^:]:%ld", name, action, &at) != 3 ||
        strcmp(name, point) != 0 || atomic_fetch_add(&hits, 1) + 1 != at)
        return false;
    if (strcmp(action, "fail") == 0)
        return true;
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}
#endif
