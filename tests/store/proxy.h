/*
 * proxy.h - stands between libpq and a PostgreSQL server and cuts the line when a COMMIT passes.
 *
 * It sees a COMMIT when its text passes: when the statement is prepared, so once per connection.
 */
#ifndef TESTS_STORE_PROXY_H
#define TESTS_STORE_PROXY_H
#include "base/arena.h"
#include <pthread.h>
#include <stdatomic.h>

enum proxy_cut {
    CUT_NOT,
    CUT_BEFORE, /* The server never hears of the COMMIT. */
    CUT_AFTER,  /* The server has answered, the client does not hear it. */
    CUT_HOLD,   /* As CUT_BEFORE, but the server learns only later that the client is gone. */
};

struct proxy {
    int listen_fd;
    int port;
    const char *server_url;
    pthread_t thread;
    atomic_int cut;     /* For the next COMMIT; CUT_NOT again afterwards. */
    atomic_int cuts;    /* That happened. */
    atomic_int threads; /* Connections that are open. */
    atomic_bool shuts;  /* After a cut nobody gets through. */
    atomic_bool ends;
    void (*before_cut)(void *ctx); /* CUT_AFTER: called before the client hears of it; or NULL. */
    void *ctx;
};

/* server_url outlives it. */
void proxy_start(struct proxy *proxy, const char *server_url);
void proxy_stop(struct proxy *proxy); /* After the connections through it were closed. */
/* The server's URL with the proxy in its place. */
char *proxy_url(const struct proxy *proxy, struct arena *arena);
#endif
