/*
 * work_kit.h - for tests of work/ and forge/: a server that is a few lists in memory, a bare
 * repository with a commit, and steps to run against them.
 *
 *     kit.dir/origin.git     the origin
 *     kit.dir/data/work      the worker's directory; data/admin.token beside it
 */
#ifndef TESTS_UNIT_WORK_KIT_H
#define TESTS_UNIT_WORK_KIT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/js.h"
#include "work/job/port.h"
#include "work/job/step.h"
#include <pthread.h>
#include <stdbool.h>

enum { KIT_ARTIFACTS_MAX = 64, KIT_JOBS_MAX = 32, KIT_REPORTS_MAX = 32, KIT_MESSAGES_MAX = 16 };

enum kit_report_kind { KIT_COMPLETED, KIT_FAILED, KIT_RELEASED, KIT_PUT_OFF };
struct kit_report {
    enum kit_report_kind kind;
    struct port_ref lease;
    char code[64];
    char message[700];
    bool retryable;
    char *result; /* Owned. */
};

/* The server.  Everything is guarded by lock. */
struct kit_port {
    struct port port;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        char sha256[65];
        struct buf bytes;
    } artifacts[KIT_ARTIFACTS_MAX];
    size_t artifact_count;
    struct {
        struct id id;
        char type[32], queue[64];
        char *payload; /* Owned. */
        bool leased;
    } jobs[KIT_JOBS_MAX];
    size_t job_count;
    struct kit_report reports[KIT_REPORTS_MAX];
    size_t report_count;
    struct buf events; /* All progress, JSON arrays one after the other. */
    int progress_calls;
    int beats;
    int announced[3]; /* By presence. */
    int breaker_asked, breaker_ok, breaker_failed;
    bool breaker_open;
    bool lost, cancel; /* What heartbeats answer. */
    enum port_hold hold;
    const char *messages[KIT_MESSAGES_MAX]; /* To the agent. */
    size_t message_count;
    /* What people answer, by turns: the question is closed when the next look comes.  NULL: none in
       time.  Fewer than are asked: it stays open. */
    const char *answers[KIT_MESSAGES_MAX];
    size_t answer_count;
    struct buf asked; /* Questions, as JSON, one after the other. */
    size_t ask_count, ask_refusals, withdrawn;
    enum rc ask_rc; /* What ask answers; with this code. */
    const char *ask_code;
    enum rc refuse;   /* What complete, fail, release and progress answer... */
    int refuse_times; /* ...this often. */
    int64_t epoch;
    bool interrupted;
};

struct kit {
    struct arena arena;
    char *dir, *work_dir, *origin;
    char *sleep; /* A command that sleeps for so long that no other test run has the same. */
    struct kit_port port;
    struct step_site site;
    struct stop stop;
    struct buf result;
    struct js *payload;
    struct id task_id, run_id;
};

void kit_open(struct kit *kit);
void kit_close(struct kit *kit);
/* Payloads that are made from now on are of another run. */
void kit_other_run(struct kit *kit);

/* Runs a script by /bin/sh in kit.dir; gives its stdout without the last newline. */
const char *kit_sh(struct kit *kit, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Commits files to main of the origin: kit_commit(kit, "echo x >a"); gives the hash. */
const char *kit_commit(struct kit *kit, const char *script);

/* The first three are JSON members without braces. */
struct kit_task {
    const char *payload;
    const char *config;
    const char *agent;         /* Of config.agent; NULL: a command that does nothing. */
    const char *target_branch; /* NULL: main */
    int attempt;               /* 0: 1 */
};
char *kit_payload(struct kit *kit, const struct kit_task *task);
/* A step as the worker would set it up, with a minute of time. */
struct step kit_step(struct kit *kit, const struct kit_task *task);
/* The result that the step wrote. The tree lives until the next call. */
const struct js *kit_result(struct kit *kit);

const char *kit_put(struct kit *kit, const char *text);        /* Its sha256. */
const char *kit_artifact(struct kit *kit, const char *sha256); /* Its bytes, or NULL. */

/* For workers. */
struct id kit_enqueue(struct kit *kit, const char *type, const char *payload);
/* Waits, at most 20 s, until there are so many reports. */
void kit_await_reports(struct kit *kit, size_t count);
/* Waits, at most 20 s, for a file to exist. */
void kit_await_file(struct kit *kit, const char *path);
/* Does anybody still run kit.sleep? */
bool kit_sleeps(struct kit *kit);
bool kit_saw_event(struct kit *kit, const char *text);
#endif
