/*
 * git_host.h - repositories over HTTP, for those who know the password: git http-backend behind a
 * tiny server.
 */
#ifndef TESTS_UNIT_GIT_HOST_H
#define TESTS_UNIT_GIT_HOST_H
#include "tests/unit/tiny_server.h"
#include "tests/unit/work_kit.h"
#include <stdatomic.h>

#define GIT_HOST_TOKEN "t0ken-of-the-forge"

struct git_host {
    struct kit *kit; /* Serves what is in its directory. */
    struct tiny_server *server;
    _Atomic(const char *) elsewhere;           /* Sends all there; NULL: answers itself. */
    atomic_int let_in, turned_away, strangers; /* Requests: strangers brought another password. */
};

void git_host_start(struct git_host *host, struct kit *kit);
void git_host_stop(struct git_host *host);
/* The address of a repository. */
const char *git_host_url(struct git_host *host, const char *name);
#endif
