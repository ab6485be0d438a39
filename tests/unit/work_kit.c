/*
 * work_kit.c - a server in memory, a repository on disk.
 */
#include "tests/unit/work_kit.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "tests/unit/memo.h"
#include <check.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct kit_port *kit_of(struct port *port)
{
    return (struct kit_port *)port;
}

static void hold(struct kit_port *kit)
{
    ck_assert_int_eq(pthread_mutex_lock(&kit->lock), 0);
}

static void let_go(struct kit_port *kit)
{
    pthread_cond_broadcast(&kit->changed);
    ck_assert_int_eq(pthread_mutex_unlock(&kit->lock), 0);
}

static void wait_ms(struct kit_port *kit, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(&kit->changed, &kit->lock, &until);
}

/* ---- the port ---- */

/* Under the lock: the first job of these queues, job_count without one. */
static size_t find_job(const struct kit_port *kit, const char *const *queues)
{
    for (size_t at = 0; at < kit->job_count; at++)
        for (const char *const *queue = queues; !kit->jobs[at].leased && *queue != NULL; queue++)
            if (text_same(kit->jobs[at].queue, *queue))
                return at;
    return kit->job_count;
}

static enum rc port_lease(struct port *port, const struct port_lease_request *request,
                          struct arena *arena, struct port_job **ret_jobs, size_t *ret_count,
                          struct err *err)
{
    (void)err;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    if (find_job(kit, request->queues) == kit->job_count && !kit->interrupted)
        wait_ms(kit, request->wait_ms);
    *ret_count = 0;
    size_t at = find_job(kit, request->queues);
    if (at < kit->job_count) {
        kit->jobs[at].leased = true;
        struct port_job *job = arena_alloc(arena, sizeof *job);
        *job = (struct port_job){
            .id = kit->jobs[at].id,
            .queue = arena_strdup(arena, kit->jobs[at].queue),
            .type = arena_strdup(arena, kit->jobs[at].type),
            .payload = str_of(arena_strdup(arena, kit->jobs[at].payload)),
            .attempt = 1,
            .epoch = ++kit->epoch,
        };
        *ret_jobs = job;
        *ret_count = 1;
    }
    let_go(kit);
    return RC_OK;
}

/* Under the lock. */
static struct port_beat beat_of(const struct kit_port *kit)
{
    return (struct port_beat){.ok = !kit->lost,
                              .cancel = kit->cancel,
                              .hold = kit->hold,
                              .message_seq = (int64_t)kit->message_count};
}

static enum rc port_heartbeat(struct port *port, const char *worker, const struct port_ref *leases,
                              size_t count, int64_t extend_ms, struct port_beat *ret_beats,
                              struct err *err)
{
    (void)worker, (void)leases, (void)err;
    struct kit_port *kit = kit_of(port);
    ck_assert_int_gt(extend_ms, 0);
    hold(kit);
    kit->beats++;
    for (size_t i = 0; i < count; i++)
        ret_beats[i] = beat_of(kit);
    let_go(kit);
    return RC_OK;
}

static enum rc port_messages(struct port *port, const struct port_ref *lease, int64_t after_seq,
                             struct arena *arena, struct port_message **ret_messages,
                             size_t *ret_count, struct err *err)
{
    (void)lease, (void)err;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    size_t count = 0;
    struct port_message *messages = arena_array(arena, KIT_MESSAGES_MAX, sizeof *messages);
    for (size_t i = (size_t)after_seq; i < kit->message_count; i++)
        messages[count++] = (struct port_message){(int64_t)i + 1,
                                                  arena_strdup(arena, kit->messages[i])};
    let_go(kit);
    *ret_messages = messages;
    *ret_count = count;
    return RC_OK;
}

static enum rc port_ask(struct port *port, const struct port_ref *lease,
                        const struct question_spec *spec, struct arena *arena,
                        struct port_question *ret_question, struct err *err)
{
    (void)lease, (void)arena;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    enum rc rc = kit->ask_rc;
    if (rc != RC_OK) {
        rc = err_set(err, rc, kit->ask_code, "not now");
        kit->ask_refusals++;
    } else {
        struct jw jw = jw_to(&kit->asked);
        question_spec_write(&jw, spec);
        kit->ask_count++;
        kit->hold = PORT_HOLD_ASKING;
        *ret_question = (struct port_question){.id = {"question"}, .open = true};
    }
    (void)pthread_cond_broadcast(&kit->changed);
    let_go(kit);
    return rc;
}

static enum rc port_question(struct port *port, const struct port_ref *lease, const struct id *id,
                             struct arena *arena, struct port_question *ret_question,
                             struct err *err)
{
    (void)lease, (void)err;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    bool open = kit->ask_count > kit->answer_count;
    const char *answer = open ? NULL : kit->answers[kit->ask_count - 1];
    if (!open)
        kit->hold = PORT_HOLD_NONE;
    *ret_question = (struct port_question){
        .id = *id, .open = open, .answer = arena_strdup(arena, answer)};
    let_go(kit);
    return RC_OK;
}

static enum rc port_withdraw(struct port *port, const struct port_ref *lease, const struct id *id,
                             struct err *err)
{
    (void)lease, (void)id, (void)err;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    kit->withdrawn++;
    kit->hold = PORT_HOLD_NONE;
    let_go(kit);
    return RC_OK;
}

/* Under the lock. */
static enum rc answer(struct kit_port *kit, struct err *err)
{
    if (kit->refuse_times == 0)
        return RC_OK;
    kit->refuse_times--;
    return err_set(err, kit->refuse, "TEST", "refused by the test");
}

static enum rc port_progress(struct port *port, const struct port_ref *lease, struct str events,
                             struct port_beat *ret_beat, struct err *err)
{
    (void)lease;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    struct js *tree = NULL;
    ck_assert_uint_le(events.len, 64 * 1024);
    ck_assert_int_eq(js_parse(events.at, events.len, &tree, NULL), RC_OK);
    js_free(tree);
    enum rc rc = answer(kit, err);
    if (rc == RC_OK) {
        kit->progress_calls++;
        buf_add(&kit->events, events.at, events.len);
        *ret_beat = beat_of(kit);
    }
    let_go(kit);
    return rc;
}

static enum rc port_report(struct port *port, const struct kit_report *report, struct err *err)
{
    struct kit_port *kit = kit_of(port);
    hold(kit);
    enum rc rc = answer(kit, err);
    if (rc == RC_OK) {
        ck_assert_uint_lt(kit->report_count, KIT_REPORTS_MAX);
        kit->reports[kit->report_count++] = *report;
    } else {
        mem_free(report->result);
    }
    let_go(kit);
    return rc;
}

static enum rc port_complete(struct port *port, const struct port_ref *lease, struct str result,
                             struct port_next *next, struct err *err)
{
    (void)next;
    struct js *tree = NULL;
    ck_assert_uint_le(result.len, STEP_RESULT_MAX);
    ck_assert_int_eq(js_parse(result.at, result.len, &tree, NULL), RC_OK);
    js_free(tree);
    const struct kit_report report = {
        .kind = KIT_COMPLETED, .lease = *lease, .result = mem_strndup(result.at, result.len)};
    return port_report(port, &report, err);
}

static enum rc port_fail(struct port *port, const struct port_ref *lease,
                         const struct port_failure *failure, struct err *err)
{
    struct kit_report report = {
        .kind = KIT_FAILED, .lease = *lease, .retryable = failure->retryable};
    text_copy(report.code, sizeof report.code, failure->code);
    text_copy(report.message, sizeof report.message, failure->message);
    return port_report(port, &report, err);
}

static enum rc port_release(struct port *port, const struct port_ref *lease, struct err *err)
{
    const struct kit_report report = {.kind = KIT_RELEASED, .lease = *lease};
    return port_report(port, &report, err);
}

static enum rc port_put_off(struct port *port, const struct port_ref *lease,
                            const struct port_wait *wait, struct err *err)
{
    struct kit_report report = {.kind = KIT_PUT_OFF, .lease = *lease};
    text_copy(report.code, sizeof report.code, wait->code);
    text_copy(report.message, sizeof report.message, wait->message);
    return port_report(port, &report, err);
}

static enum rc port_put(struct port *port, struct str bytes, char ret_sha256[65], struct err *err)
{
    (void)err;
    struct kit_port *kit = kit_of(port);
    sha256_hex(bytes.at, bytes.len, ret_sha256);
    hold(kit);
    ck_assert_uint_lt(kit->artifact_count, KIT_ARTIFACTS_MAX);
    size_t at = kit->artifact_count++;
    text_copy(kit->artifacts[at].sha256, sizeof kit->artifacts[at].sha256, ret_sha256);
    buf_init(&kit->artifacts[at].bytes, bytes.len);
    buf_add(&kit->artifacts[at].bytes, bytes.at, bytes.len);
    let_go(kit);
    return RC_OK;
}

static enum rc port_put_file(struct port *port, const char *path, char ret_sha256[65],
                             int64_t *ret_bytes, struct err *err)
{
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&bytes, 128 * 1024 * 1024);
    enum rc rc = file_read(path, &bytes, err);
    if (rc != RC_OK)
        return rc;
    *ret_bytes = (int64_t)bytes.len;
    return port_put(port, (struct str){buf_text(&bytes), bytes.len}, ret_sha256, err);
}

static enum rc port_get(struct port *port, const char *sha256, struct buf *into, struct err *err)
{
    struct kit_port *kit = kit_of(port);
    enum rc rc = err_set(err, RC_NOT_FOUND, "NOT_FOUND", "no such artifact");
    hold(kit);
    for (size_t i = 0; i < kit->artifact_count && rc != RC_OK; i++) {
        if (text_same(kit->artifacts[i].sha256, sha256)) {
            buf_add(into, buf_text(&kit->artifacts[i].bytes), kit->artifacts[i].bytes.len);
            rc = RC_OK;
        }
    }
    let_go(kit);
    return rc;
}

static enum rc port_token(struct port *port, const struct port_ref *lease, const struct id *run_id,
                          char *to, size_t to_bytes, struct err *err)
{
    (void)port, (void)lease, (void)err;
    (void)snprintf(to, to_bytes, "drun_%s_secret", run_id->text);
    return RC_OK;
}

static enum rc port_announce(struct port *port, const struct port_worker *worker, struct err *err)
{
    (void)err;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    kit->announced[worker->presence]++;
    let_go(kit);
    return RC_OK;
}

static enum rc port_breaker_ask(struct port *port, const char *name,
                                struct port_verdict *ret_verdict, struct err *err)
{
    (void)name, (void)err;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    kit->breaker_asked++;
    *ret_verdict = (struct port_verdict){.allowed = !kit->breaker_open, .retry_ms = 60000};
    let_go(kit);
    return RC_OK;
}

static enum rc port_breaker_tell(struct port *port, const char *name,
                                 const struct port_outcome *outcome, struct err *err)
{
    (void)name, (void)err;
    struct kit_port *kit = kit_of(port);
    hold(kit);
    kit->breaker_ok += outcome->ok;
    kit->breaker_failed += !outcome->ok;
    let_go(kit);
    return RC_OK;
}

static void port_interrupt(struct port *port)
{
    struct kit_port *kit = kit_of(port);
    hold(kit);
    kit->interrupted = true;
    let_go(kit);
}

static const struct port_ops ops = {
    .lease = port_lease,
    .heartbeat = port_heartbeat,
    .progress = port_progress,
    .messages = port_messages,
    .ask = port_ask,
    .question = port_question,
    .withdraw = port_withdraw,
    .complete = port_complete,
    .fail = port_fail,
    .release = port_release,
    .put_off = port_put_off,
    .artifact_put = port_put,
    .artifact_put_file = port_put_file,
    .artifact_get = port_get,
    .run_token = port_token,
    .breaker_ask = port_breaker_ask,
    .breaker_report = port_breaker_tell,
    .announce = port_announce,
    .interrupt = port_interrupt,
};

/* ---- the kit ---- */

const char *kit_sh(struct kit *kit, const char *fmt, ...)
{
    char script[8192];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(script, sizeof script, fmt, args);
    va_end(args);
    ck_assert(len >= 0 && (size_t)len < sizeof script);
    CLEANUP(buf_release) struct buf out;
    CLEANUP(buf_release) struct buf words;
    buf_init(&out, 1024 * 1024);
    buf_init(&words, 65536);
    const char *const argv[] = {"/bin/sh", "-ec", script, NULL};
    const char *const env[] = {
        arena_printf(&kit->arena, "PATH=%s", getenv("PATH")),
        arena_printf(&kit->arena, "TMPDIR=%s", kit->dir),
        "HOME=/nonexistent",
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_CONFIG_GLOBAL=/dev/null",
        "GIT_AUTHOR_NAME=test",
        "GIT_AUTHOR_EMAIL=test@localhost",
        "GIT_COMMITTER_NAME=test",
        "GIT_COMMITTER_EMAIL=test@localhost",
        NULL,
    };
    const struct proc_spec spec = {.argv = argv, .env = env, .cwd = kit->dir};
    struct proc_result result;
    struct err err = {0};
    ck_assert_msg(proc_run(&spec, (struct str){0}, &out, &words, NULL, &result, &err) == RC_OK,
                  "%s", err.text);
    ck_assert_msg(result.exit.code == 0, "%s\n%s", script, buf_text(&words));
    while (out.len > 0 && out.data[out.len - 1] == '\n')
        buf_cut(&out, out.len - 1);
    return arena_strdup(&kit->arena, buf_text(&out));
}

const char *kit_commit(struct kit *kit, const char *script)
{
    return kit_sh(kit,
                  "git --git-dir=origin.git worktree add -q seed main && cd seed\n"
                  "%s\n"
                  "git add -A && git -c maintenance.auto=false commit -q -m change\n"
                  "git rev-parse HEAD\n"
                  "cd .. && rm -r seed origin.git/worktrees",
                  script);
}

/* What the first test has found holds for the next ones: they are on the same machine. */
static void settle_sandbox(struct kit *kit)
{
    static const char name[] = "sandbox";
    struct err why = {0};
    const struct sandbox_options options = {
        .data_dir = arena_printf(&kit->arena, "%s/data", kit->dir)};
    struct sandbox *sandbox = &kit->site.sandbox;
    if (memo_get(name, sandbox, sizeof *sandbox)) {
        sandbox->data_dir = options.data_dir;
        return;
    }
    sandbox_probe(sandbox, &options, &why);
    ck_assert_msg(sandbox->kind == SANDBOX_BUBBLEWRAP, "%s", why.text);
    memo_put(name, sandbox, sizeof *sandbox);
}

static void settle_site(struct kit *kit)
{
    static bool quiet;
    if (!quiet) {
        log_configure(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_FATAL});
        quiet = true;
    }
    kit->site = (struct step_site){
        .port = &kit->port.port,
        .clock = clock_real(),
        .worker = "test",
        .lease_ms = 15000,
        .work_dir = kit->work_dir,
        .server_url = "http://127.0.0.1:8717",
    };
    struct err why = {0};
    settle_sandbox(kit);
    ck_assert_int_eq(
        scratch_book_open(kit->work_dir, &(struct port_range){0}, &kit->site.scratch, &why), RC_OK);
}

void kit_other_run(struct kit *kit)
{
    struct random random = random_from_os();
    kit->run_id = id_new(clock_mono_us(), &random);
}

void kit_open(struct kit *kit)
{
    *kit = (struct kit){.port = {.port = {.ops = &ops}, .epoch = 1}};
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(&kit->arena, "%s/kit-XXXXXX", tmp != NULL ? tmp : "/tmp");
    char real[PATH_MAX];
    struct err err = {0};
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_ptr_nonnull(realpath(dir, real));
    kit->dir = arena_strdup(&kit->arena, real);
    kit->work_dir = arena_printf(&kit->arena, "%s/data/work", kit->dir);
    kit->origin = arena_printf(&kit->arena, "%s/origin.git", kit->dir);
    kit->sleep = arena_printf(&kit->arena, "sleep 1%07d", (int)getpid());
    pthread_mutex_init(&kit->port.lock, NULL);
    pthread_cond_init(&kit->port.changed, NULL);
    buf_init(&kit->port.events, 16 * 1024 * 1024);
    buf_init(&kit->port.asked, 1024 * 1024);
    buf_init(&kit->result, STEP_RESULT_MAX);
    ck_assert_int_eq(dir_make(kit->work_dir, 0700, &err), RC_OK);
    ck_assert_int_eq(git_home_make(arena_printf(&kit->arena, "%s/git", kit->work_dir), &err),
                     RC_OK);
    ck_assert_int_eq(stop_init(&kit->stop, &err), RC_OK);
    struct random random = random_from_os();
    kit->task_id = id_new(clock_mono_us(), &random);
    kit_other_run(kit);
    kit_sh(kit, "echo top-secret >data/admin.token; git init -q --bare -b main origin.git\n"
                "git --git-dir=origin.git fast-import --quiet <<'END'\n"
                "commit refs/heads/main\n"
                "committer test <test@localhost> 1780000000 +0000\n"
                "data 7\nchange\n\n"
                "M 644 inline file.txt\n"
                "data 4\none\n\n"
                "END");
    settle_site(kit);
}

void kit_close(struct kit *kit)
{
    struct kit_port *port = &kit->port;
    for (size_t i = 0; i < port->artifact_count; i++)
        buf_release(&port->artifacts[i].bytes);
    for (size_t i = 0; i < port->job_count; i++)
        mem_free(port->jobs[i].payload);
    for (size_t i = 0; i < port->report_count; i++)
        mem_free(port->reports[i].result);
    buf_release(&port->events);
    buf_release(&port->asked);
    buf_release(&kit->result);
    js_free(kit->payload);
    stop_release(&kit->stop);
    scratch_book_free(kit->site.scratch);
    ck_assert_int_eq(dir_remove(kit->dir, NULL), RC_OK);
    arena_release(&kit->arena);
}

/* ---- steps ---- */

char *kit_payload(struct kit *kit, const struct kit_task *task)
{
    return arena_printf(
        &kit->arena,
        "{\"taskId\":\"%s\",\"runId\":\"%s\",\"runNo\":1,\"attempt\":%d,"
        "\"repository\":\"acme/billing\",\"config\":{\"url\":\"%s\",\"agent\":{%s}%s%s},"
        "\"targetBranch\":\"%s\",\"branch\":\"drover/%s/1-fix\","
        "\"taskCreatedAt\":\"2026-07-03T12:00:00Z\"%s%s}",
        kit->task_id.text, kit->run_id.text, task->attempt ? task->attempt : 1, kit->origin,
        task->agent != NULL ? task->agent : "\"command\":[\"true\"]",
        task->config != NULL ? "," : "", task->config != NULL ? task->config : "",
        task->target_branch != NULL ? task->target_branch : "main", kit->task_id.text,
        task->payload != NULL ? "," : "", task->payload != NULL ? task->payload : "");
}

struct step kit_step(struct kit *kit, const struct kit_task *task)
{
    struct err err = {0};
    char *text = kit_payload(kit, task);
    js_free(kit->payload);
    kit->payload = NULL;
    ck_assert_msg(js_parse(text, strlen(text), &kit->payload, &err) == RC_OK, "%s\n%s", err.text,
                  text);
    buf_clear(&kit->result);
    struct step step = {
        .site = &kit->site,
        .lease = {.id = kit->task_id, .epoch = 1},
        .arena = &kit->arena,
        .stop = &kit->stop,
        .deadline_us = clock_mono_us() + 60 * US_PER_SECOND,
        .result = &kit->result,
    };
    ck_assert_msg(step_decode(kit->payload, &kit->arena, &step.input, &err) == RC_OK, "%s",
                  err.text);
    step_place(&step);
    return step;
}

const struct js *kit_result(struct kit *kit)
{
    static struct js *tree; /* One at a time; a test ends with its process. */
    struct err err = {0};
    js_free(tree);
    tree = NULL;
    ck_assert(!kit->result.overflow);
    ck_assert_msg(js_parse(buf_text(&kit->result), kit->result.len, &tree, &err) == RC_OK, "%s\n%s",
                  err.text, buf_text(&kit->result));
    return tree;
}

const char *kit_put(struct kit *kit, const char *text)
{
    char *sha256 = arena_alloc(&kit->arena, 65);
    ck_assert_int_eq(port_put(&kit->port.port, str_of(text), sha256, NULL), RC_OK);
    return sha256;
}

const char *kit_artifact(struct kit *kit, const char *sha256)
{
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&bytes, 128 * 1024 * 1024);
    if (sha256 == NULL || port_get(&kit->port.port, sha256, &bytes, NULL) != RC_OK)
        return NULL;
    return arena_strndup(&kit->arena, buf_text(&bytes), bytes.len);
}

/* ---- workers ---- */

struct id kit_enqueue(struct kit *kit, const char *type, const char *payload)
{
    struct kit_port *port = &kit->port;
    struct random random = random_from_os();
    struct id id = id_new(clock_mono_us(), &random);
    hold(port);
    ck_assert_uint_lt(port->job_count, KIT_JOBS_MAX);
    size_t at = port->job_count++;
    port->jobs[at].id = id;
    text_copy(port->jobs[at].type, sizeof port->jobs[at].type, type);
    /* A type that is no step comes from a queue of one. */
    text_copy(port->jobs[at].queue, sizeof port->jobs[at].queue,
              step_find(type) != NULL ? step_find(type)->queue : "drover.prepare");
    port->jobs[at].payload = mem_strdup(payload);
    let_go(port);
    return id;
}

void kit_await_reports(struct kit *kit, size_t count)
{
    struct kit_port *port = &kit->port;
    int64_t until_us = clock_mono_us() + 60 * US_PER_SECOND;
    hold(port);
    while (port->report_count < count && clock_mono_us() < until_us)
        wait_ms(port, 1000);
    size_t have = port->report_count;
    let_go(port);
    ck_assert_uint_ge(have, count);
}

void kit_await_file(struct kit *kit, const char *path)
{
    (void)kit;
    int64_t until_us = clock_mono_us() + 60 * US_PER_SECOND;
    while (!file_exists(path) && clock_mono_us() < until_us)
        usleep(10000);
    ck_assert_msg(file_exists(path), "%s", path);
}

bool kit_sleeps(struct kit *kit)
{
    /* The pattern does not match itself. */
    const char *found = kit_sh(kit, "ps -eo args | grep '[s]%s' || true", kit->sleep + 1);
    return found[0] != '\0';
}

bool kit_saw_event(struct kit *kit, const char *text)
{
    hold(&kit->port);
    bool saw = strstr(buf_text(&kit->port.events), text) != NULL;
    let_go(&kit->port);
    return saw;
}
