/*
 * http_box.h - a server of http/http.h on a thread of its own, and clients that talk to it.
 *
 *   /hold, /stream   stay open: box.held
 *   /file/...        takes a body through a file
 *   /health          is privileged
 *   the rest         is answered with what came
 *
 * "Authorization: run-NAME" is a run's token, any other one of the store.
 */
#ifndef TESTS_UNIT_HTTP_BOX_H
#define TESTS_UNIT_HTTP_BOX_H
#include "base/buf.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/spool.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum {
    BODY_MAX = 1000,
    SPOOLED_MAX = 300000,
    SPOOL_BYTES = 2 * 1024 * 1024,
    CONNECTIONS_MAX = 8,
    RESERVE = 2,
    RUN_CONNECTIONS = 3,
    REQUEST_MS = 1200,
    WAIT_SECONDS = 20
};

struct http_box {
    struct loop *loop;
    struct http *http;
    struct spool *spool;
    char dir[64];
    pthread_t thread;
    struct http_request *held; /* The last one of /hold or /stream. */
    sem_t arrived, gone, finished, drained, done;
    atomic_int last_status;
    int poke_fd;        /* /poke asks for /seen on this connection. */
    int echoed;         /* Requests of the loop so far ... */
    int echoed_at_seen; /* ... and when /seen came. */
    struct loop_call call;
    void (*job)(void);
};
extern struct http_box box;

struct box_times {
    int64_t request_ms, stall_ms;
};
void box_start_with(const struct box_times *times);
void box_start(void); /* With REQUEST_MS. */
void box_stop(void);
void box_await(sem_t *sem);
void box_on_loop(void (*job)(void)); /* Runs it on the loop and waits for it. */

/* ---- Clients ---- */

#define END "Host: x\r\nConnection: close\r\n\r\n"
int box_dial(void);
void box_say(int fd, const char *text);
void box_hear(int fd, struct buf *into,
              const char *until); /* Until the text is there, or to the end. */
void box_ask(const char *request, struct buf *into);
#endif
