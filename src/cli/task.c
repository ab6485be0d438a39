/*
 * task.c - tasks: submit, tasks, task, cancel, retry.
 */
#include "core/run/task.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/assign.h"
#include "cli/client.h"
#include "cli/config.h"
#include "cli/here.h"
#include "cli/ids.h"
#include "cli/input.h"
#include "cli/pr.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "core/queue/rank.h"
#include "net/url.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY_BYTES_MAX = 1024 * 1024, DESCRIPTION_BYTES_MAX = 256 * 1024, PATH_BYTES_MAX = 2048 };

/* ---- submit ---- */

/* All of stdin, without blanks at its end. */
static enum rc read_stdin(struct buf *into, struct err *err)
{
    enum rc rc = cli_read_stdin(into, err);
    if (rc != RC_OK)
        return rc;
    while (into->len > 0 && strchr(" \t\r\n", into->data[into->len - 1]) != NULL)
        buf_cut(into, into->len - 1);
    return RC_OK;
}

static void write_int(struct cli *cli, struct jw *jw, const char *option, const char *key)
{
    if (args_has(&cli->args, option))
        jw_kint(jw, key, args_int(&cli->args, option, 0));
}

static enum rc write_parent(struct cli *cli, struct jw *jw, struct err *err)
{
    const char *word = args_text(&cli->args, "parent", NULL);
    struct id id;
    if (word == NULL)
        return RC_OK;
    enum rc rc = cli_resolve_task(cli, word, &id, err);
    if (rc == RC_OK)
        jw_kstr(jw, "parentTaskId", id.text);
    return rc;
}

static enum rc write_batch(struct cli *cli, struct jw *jw, struct err *err)
{
    const char *word = args_text(&cli->args, "batch", NULL);
    struct id id;
    if (word == NULL)
        return RC_OK;
    enum rc rc = cli_resolve_batch(cli, word, &id, err);
    if (rc == RC_OK)
        jw_kstr(jw, "batch", id.text);
    return rc;
}

static enum rc write_dependencies(struct cli *cli, struct jw *jw, struct err *err)
{
    size_t at = 0;
    const char *word = args_next(&cli->args, "depends-on", &at);
    if (word == NULL)
        return RC_OK;
    jw_key(jw, "dependsOn");
    jw_begin(jw, '[');
    for (; word != NULL; word = args_next(&cli->args, "depends-on", &at)) {
        struct id id;
        enum rc rc = cli_resolve_task(cli, word, &id, err);
        if (rc != RC_OK)
            return rc;
        jw_str(jw, id.text);
    }
    jw_end(jw, ']');
    return RC_OK;
}

enum { OVERRIDES_MAX = 32 };

/* --override timeouts.agentMs=600000 and the like, as one object. */
static enum rc write_overrides(struct cli *cli, struct jw *jw, struct err *err)
{
    const char *words[OVERRIDES_MAX];
    size_t at = 0, count = 0;
    const char *word = args_next(&cli->args, "override", &at);
    for (; word != NULL && count < OVERRIDES_MAX; word = args_next(&cli->args, "override", &at))
        words[count++] = word;
    if (count == 0)
        return RC_OK;
    CLEANUP(js_freep) struct js *empty = js_new_object();
    const char *text = NULL;
    enum rc rc = cli_assign(empty, words, count, &cli->arena, &text, err);
    if (rc == RC_OK)
        jw_kraw(jw, "overrides", str_of(text));
    return rc;
}

enum { UPLOAD_TIMEOUT_MS = 10 * 60 * 1000 };

static enum rc cannot_read(const char *path, struct err *err)
{
    return err_set(err, RC_MALFORMED, "CANNOT_READ", "cannot read %s: %s", path, strerror(errno));
}

/* The caller closes *ret_fd in any case. */
static enum rc open_file(const char *path, int *ret_fd, struct err *err)
{
    struct stat status;
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0)
        return cannot_read(path, err);
    if (fstat(*ret_fd, &status) != 0 || !S_ISREG(status.st_mode))
        return err_set(err, RC_MALFORMED, "CANNOT_READ", "%s is no file", path);
    return RC_OK;
}

static enum rc upload_file(struct cli *cli, const char *path, char sha256[SHA256_TEXT_BYTES],
                           struct err *err)
{
    CLEANUP(fd_closep) int fd = -1;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = open_file(path, &fd, err);
    if (rc != RC_OK)
        return rc;
    struct http_file file = {.fd = fd};
    if (sha256_file(fd, sha256, &file.bytes) != RC_OK)
        return cannot_read(path, err);
    const struct http_call call = {.method = "PUT",
                                   .path = cli_path(cli, "/v1/artifacts/", sha256, ""),
                                   .file = &file,
                                   .timeout_ms = UPLOAD_TIMEOUT_MS};
    return cli_call(cli, &call, &answer, err);
}

/* Uploads the files that --attach names, then names them by their content. */
static enum rc write_attachments(struct cli *cli, struct jw *jw, struct err *err)
{
    size_t at = 0;
    const char *path = args_next(&cli->args, "attach", &at);
    if (path == NULL)
        return RC_OK;
    jw_key(jw, "attachments");
    jw_begin(jw, '[');
    for (; path != NULL; path = args_next(&cli->args, "attach", &at)) {
        char sha256[SHA256_TEXT_BYTES];
        const char *slash = strrchr(path, '/');
        enum rc rc = upload_file(cli, path, sha256, err);
        if (rc != RC_OK)
            return rc;
        jw_begin(jw, '{');
        jw_kstr(jw, "name", slash != NULL ? slash + 1 : path);
        jw_kstr(jw, "sha256", sha256);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    return RC_OK;
}

struct submission {
    const char *repository; /* NULL: that of its parent. */
    const char *description;
};

static enum rc write_submission(struct cli *cli, const struct submission *submission,
                                struct buf *body, struct err *err)
{
    const struct args *args = &cli->args;
    struct jw jw = jw_to(body);
    jw_begin(&jw, '{');
    jw_optstr(&jw, "repository", submission->repository);
    jw_optstr(&jw, "description", submission->description);
    write_int(cli, &jw, "issue", "issueNumber");
    jw_optstr(&jw, "taskType", args_text(args, "type", NULL));
    jw_optstr(&jw, "executionMode", args_text(args, "mode", NULL));
    jw_optstr(&jw, "riskLevel", args_text(args, "risk", NULL));
    jw_optstr(&jw, "targetBranch", args_text(args, "target-branch", NULL));
    write_int(cli, &jw, "priority", "priority");
    write_int(cli, &jw, "max-turns", "maxTurns");
    write_int(cli, &jw, "best-of", "bestOf");
    cli_write_list(cli, &jw, "candidate", "candidates");
    if (args_has(args, "max-budget"))
        jw_kreal(&jw, "maxBudgetUsd", args_real(args, "max-budget", 0));
    write_int(cli, &jw, "max-tokens", "maxTokens");
    cli_write_list(cli, &jw, "scope", "scope");
    cli_write_list(cli, &jw, "label", "labels");
    jw_optstr(&jw, "persona", args_text(args, "persona", NULL));
    jw_optstr(&jw, "agent", args_text(args, "agent", NULL));
    enum rc rc = write_parent(cli, &jw, err);
    if (rc == RC_OK)
        rc = write_batch(cli, &jw, err);
    if (rc == RC_OK)
        rc = write_dependencies(cli, &jw, err);
    if (rc == RC_OK)
        rc = write_overrides(cli, &jw, err);
    if (rc == RC_OK)
        rc = write_attachments(cli, &jw, err);
    if (rc != RC_OK)
        return rc;
    if (args_has(args, "override-policy")) {
        jw_key(&jw, "override");
        jw_begin(&jw, '{');
        jw_kstr(&jw, "reason", args_text(args, "override-policy", ""));
        jw_end(&jw, '}');
    }
    jw_kraw(&jw, "channel", STR("{\"source\":\"cli\"}"));
    jw_end(&jw, '}');
    if (body->overflow)
        return err_set(err, RC_TOO_LARGE, "TOO_LARGE", "the task is larger than %d bytes",
                       BODY_BYTES_MAX);
    return RC_OK;
}

/* "0.42 USD (one in ten: 1.10), 14 turns, 180 s; from 12 similar runs", and how wrong it was. */
static void show_forecast(struct cli *cli, const struct js *object)
{
    const struct js *forecast = js_get(object, "forecast"),
                    *wrong = js_get(object, "forecastError");
    const struct js *based_on = js_get(forecast, "basedOn");
    if (js_type(forecast) != JS_OBJECT)
        return;
    bool similar = text_same(js_get_str(based_on, "scope", ""), "similar");
    show_line(cli, "Expected",
              arena_printf(
                  &cli->arena, "%.2f USD (one in ten: %.2f), %lld turns, %lld s; from %lld %s",
                  js_num(js_get(forecast, "costUsd"), 0), js_num(js_get(forecast, "costUsdP90"), 0),
                  (long long)js_get_int(forecast, "turns", 0),
                  (long long)js_get_int(forecast, "seconds", 0),
                  (long long)js_get_int(based_on, "runs", 0),
                  similar ? "similar runs" : "runs of the repository"),
              TONE_PLAIN);
    if (js_type(wrong) == JS_OBJECT)
        show_line(cli, "Off by",
                  arena_printf(&cli->arena, "%+.2f USD, %+lld turns, %+lld s",
                               js_num(js_get(wrong, "costUsd"), 0),
                               (long long)js_get_int(wrong, "turns", 0),
                               (long long)js_get_int(wrong, "seconds", 0)),
                  TONE_PLAIN);
}

/* Prints an answer {taskId, runId, status}. */
static int print_submitted(struct cli *cli, const struct cli_answer *answer)
{
    const char *task_id = js_get_str(answer->tree, "taskId", "?");
    const char *run_id = js_get_str(answer->tree, "runId", "?");
    bool watch = args_has(&cli->args, "watch");
    if (cli->json)
        cli_print_json(answer);
    if (!cli->json) {
        show_line(cli, "Task", task_id, TONE_BOLD);
        show_line(cli, "Run", run_id, TONE_PLAIN);
        show_status(cli, answer->tree);
        show_forecast(cli, answer->tree);
        const struct js *warnings = js_get(answer->tree, "warnings");
        for (size_t i = 0; i < js_count(warnings); i++)
            show_line(cli, "Warning", js_get_str(js_at(warnings, i), "message", ""), TONE_YELLOW);
    }
    if (watch)
        return cli_watch_run(cli, run_id);
    if (!cli->json)
        show_next(cli, "Watch it", "drover watch %s", shell_quote(run_id, &cli->arena));
    return CLI_DONE;
}

/* The text of the task; NULL: what is wrong was printed, *ret_status is set. */
static const char *read_description(struct cli *cli, struct buf *typed, int *ret_status)
{
    struct err err = {0};
    const char *description = args_joined(&cli->args, &cli->arena);
    if (text_same(description, "-")) {
        enum rc rc = read_stdin(typed, &err);
        if (rc != RC_OK) {
            *ret_status = cli_fail(cli, rc, &err);
            return NULL;
        }
        description = buf_text(typed);
    }
    if (!text_empty(description) || args_has(&cli->args, "issue"))
        return description;
    *ret_status = cli_usage(cli, "say what to do, or give --issue N");
    return NULL;
}

static int run_submit(struct cli *cli)
{
    struct err err = {0};
    struct submission submission;
    int status = CLI_USAGE;
    CLEANUP(buf_release) struct buf typed;
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&typed, DESCRIPTION_BYTES_MAX);
    buf_init(&body, BODY_BYTES_MAX);
    if (cli->json && args_has(&cli->args, "watch"))
        return cli_usage(cli, "--json and --watch do not go together");
    submission.description = read_description(cli, &typed, &status);
    if (submission.description == NULL)
        return status;
    /* A sub-task has the repository of its parent. */
    bool inherits = args_has(&cli->args, "parent") && !args_has(&cli->args, "repo");
    submission.repository = inherits ? NULL : cli_repo(cli, &status);
    if (submission.repository == NULL && !inherits)
        return status;
    enum rc rc = write_submission(cli, &submission, &body, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const char *key = args_text(&cli->args, "key", NULL);
    const struct http_field headers[] = {{key != NULL ? "Idempotency-Key" : NULL, key},
                                         {NULL, NULL}};
    const struct http_call call = {
        .method = "POST", .path = "/v1/tasks", .headers = headers, .body = buf_str(&body)};
    rc = cli_call(cli, &call, &answer, &err);
    return rc == RC_OK ? print_submitted(cli, &answer) : cli_fail(cli, rc, &err);
}

/* ---- tasks, task ---- */

static void tasks_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},        {"STATUS", false, false},     {"REPOSITORY", false, false},
        {"SUBMITTED", false, false}, {"DESCRIPTION", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *task = listing->items[i];
        const char *status = js_get_str(task, "status", "?");
        int64_t issue = js_get_int(task, "issueNumber", 0);
        const char *fallback = issue > 0
                                   ? arena_printf(&cli->arena, "issue #%lld", (long long)issue)
                                   : "";
        table_cell(&table, cli_id_shown(cli, task, "id", len), TONE_PLAIN);
        table_cell(&table, status, term_status_tone(status));
        table_cell(&table, js_get_str(task, "repository", ""), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(task, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(task, "description", fallback), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_tasks(struct cli *cli)
{
    struct err err = {0};
    struct id parent, batch;
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/tasks");
    if (args_has(&cli->args, "parent")) {
        enum rc rc = cli_resolve_task(cli, args_text(&cli->args, "parent", ""), &parent, &err);
        if (rc != RC_OK)
            return cli_fail(cli, rc, &err);
        url_add_query(&path, "parent", parent.text);
    }
    if (args_has(&cli->args, "batch")) {
        enum rc rc = cli_resolve_batch(cli, args_text(&cli->args, "batch", ""), &batch, &err);
        if (rc != RC_OK)
            return cli_fail(cli, rc, &err);
        url_add_query(&path, "batch", batch.text);
    }
    if (args_has(&cli->args, "repo"))
        url_add_query(&path, "repository", args_text(&cli->args, "repo", ""));
    static const char *const filters[] = {"status", "persona", "agent"};
    for (size_t i = 0; i < COUNT_OF(filters); i++)
        if (args_has(&cli->args, filters[i]))
            url_add_query(&path, filters[i], args_text(&cli->args, filters[i], ""));
    return show_list(
        cli, &(struct show_list){buf_text(&path),
                                 "No tasks. Submit one: drover submit --repo NAME \"what to do\"",
                                 tasks_table});
}

static const char *ordinal(struct cli *cli, int64_t number)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    int64_t last = number % 100 / 10 == 1 ? 0 : number % 10;
    return arena_printf(&cli->arena, "%lld%s", (long long)number, ends[last < 4 ? last : 0]);
}

/* "2 of 2 runs of acme/billing are active; 3rd in line" */
static void show_waiting(struct cli *cli, const struct js *task)
{
    int64_t position = js_get_int(task, "queuePosition", 0);
    if (position > 0)
        show_line(cli, "Waiting",
                  arena_printf(&cli->arena, "%s; %s in line",
                               js_get_str(task, "deferredDetail", "to be admitted"),
                               ordinal(cli, position)),
                  TONE_PLAIN);
    show_time(cli, "Waiting since", task, "waitingSince");
}

/* "3; with them 1.25 USD and 40000 tokens were used" */
/* Of a task that intake has made: what the issue is called, and who asked. */
static void print_origin(struct cli *cli, const struct js *origin)
{
    if (origin == NULL)
        return;
    show_member(cli, "Issue title", origin, "title");
    show_line(cli, "Asked for by",
              arena_printf(&cli->arena, "%s at %s (%s)", js_get_str(origin, "askedBy", "?"),
                           js_get_str(origin, "forge", "?"), js_get_str(origin, "by", "?")),
              TONE_PLAIN);
}

static void show_subtasks(struct cli *cli, const struct js *task)
{
    int64_t children = js_get_int(task, "children", 0);
    const struct js *spent = js_get(task, "spent");
    if (children == 0)
        return;
    const char *used = spent == NULL
                           ? ""
                           : arena_printf(&cli->arena, "; with them %.2f USD and %lld tokens",
                                          js_num(js_get(spent, "costUsd"), 0),
                                          (long long)js_get_int(spent, "tokens", 0));
    show_line(cli, "Sub-tasks", arena_printf(&cli->arena, "%lld%s", (long long)children, used),
              TONE_PLAIN);
}

static void task_details(struct cli *cli, const struct id *id, const struct js *task)
{
    show_line(cli, "Task", id->text, TONE_BOLD);
    show_status(cli, task);
    show_error(cli, task);
    show_waiting(cli, task);
    show_member(cli, "Repository", task, "repository");
    show_member(cli, "Parent", task, "parentTaskId");
    show_subtasks(cli, task);
    show_member(cli, "Branch", task, "targetBranch");
    show_member(cli, "Issue", task, "issueNumber");
    print_origin(cli, js_get(task, "origin"));
    show_member(cli, "Mode", task, "executionMode");
    show_member(cli, "Risk", task, "riskLevel");
    show_member(cli, "Priority", task, "priority");
    show_member(cli, "Type", task, "taskType");
    show_member(cli, "Max turns", task, "maxTurns");
    show_member(cli, "Max USD", task, "maxBudgetUsd");
    show_member(cli, "Max tokens", task, "maxTokens");
    show_forecast(cli, task);
    show_member(cli, "Scope", task, "scope");
    show_member(cli, "Labels", task, "labels");
    show_member(cli, "Persona", task, "persona");
    show_member(cli, "Agent", task, "agent");
    const struct js *attached = js_get(task, "attachments");
    for (size_t i = 0; i < js_count(attached); i++)
        show_member(cli, "Attached", js_at(attached, i), "name");
    show_member(cli, "Depends on", task, "dependsOn");
    show_member(cli, "Requested by", task, "requestedBy");
    show_time(cli, "Submitted", task, "createdAt");
    show_time(cli, "Ended", task, "endedAt");
    show_member(cli, "Description", task, "description");
    const struct js *runs = js_get(task, "runs");
    for (size_t i = 0; i < js_count(runs); i++) {
        const struct js *run = js_at(runs, i);
        const char *status = js_get_str(run, "status", "?");
        char label[24];
        (void)snprintf(label, sizeof label, "Run %lld", (long long)js_get_int(run, "runNo", 0));
        show_line(cli, label,
                  arena_printf(&cli->arena, "%s  %s", js_get_str(run, "id", "?"), status),
                  term_status_tone(status));
    }
    cli_show_pr(cli, task);
    struct id latest = cli_latest_run(task);
    if (!id_is_none(&latest))
        show_next(cli, "Its story", "drover timeline %s", latest.text);
}

static void task_config(struct cli *cli, const struct id *id, const struct js *answer)
{
    show_line(cli, "Task", id->text, TONE_BOLD);
    show_member(cli, "Repository", answer, "repository");
    (void)putchar('\n');
    cli_show_config(cli, answer);
}

static int run_task(struct cli *cli)
{
    if (args_has(&cli->args, "config"))
        return show_one(cli,
                        &(struct show_one){cli_resolve_task, "/v1/tasks/", "/config", task_config});
    return show_one(cli, &(struct show_one){cli_resolve_task, "/v1/tasks/", "", task_details});
}

/* ---- cancel, retry ---- */

/* POST /v1/tasks/{id}/VERB with an optional reason. */
static enum rc task_post(struct cli *cli, const char *verb, struct id *ret_task,
                         struct cli_answer *ret_answer, struct err *err)
{
    enum rc rc = cli_resolve_task(cli, args_word(&cli->args, 0), ret_task, err);
    if (rc != RC_OK)
        return rc;
    bool reasoned = text_same(verb, "/cancel");
    const struct http_call call = {.method = "POST",
                                   .path = cli_path(cli, "/v1/tasks/", ret_task->text, verb),
                                   .body = reasoned ? cli_reason_body(cli) : STR("{}")};
    return cli_call(cli, &call, ret_answer, err);
}

static int run_cancel(struct cli *cli)
{
    struct err err = {0};
    struct id task = {""};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = task_post(cli, "/cancel", &task, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    bool done = text_same(js_get_str(answer.tree, "status", ""), "cancelled");
    (void)printf("Task %s %s.\n", task.text,
                 done ? "is cancelled" : "is being stopped: a worker was told");
    return CLI_DONE;
}

static int run_retry(struct cli *cli)
{
    struct err err = {0};
    struct id task = {""};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    if (cli->json && args_has(&cli->args, "watch"))
        return cli_usage(cli, "--json and --watch do not go together");
    enum rc rc = task_post(cli, "/retry", &task, &answer, &err);
    return rc == RC_OK ? print_submitted(cli, &answer) : cli_fail(cli, rc, &err);
}

/* ---- the table ---- */

static const char *const status_names[] = {
    "submitted", "deferred", "hydrating", "running",   "finalizing",
    "completed", "failed",   "cancelled", "timed_out", NULL,
};

static const struct arg_option submit_options[] = {
    {"repo", "NAME", "the repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {"issue", "N", "the number of an issue, beside the text or instead of it", ARG_INT, 1,
     INT32_MAX, NULL},
    {"mode", "MODE", "patch_only, supervised_pr (default) or autonomous_pr", ARG_CHOICE, 0, 0,
     mode_names},
    {"risk", "RISK", "low, medium (default) or high", ARG_CHOICE, 0, 0, risk_names},
    {"priority", "N", "0 (first) to 1000, default 100", ARG_INT, 0, PRIORITY_MAX, NULL},
    {"best-of", "N", "let so many candidates work on it; the best patch is published", ARG_INT, 2,
     8, NULL},
    {"candidate", "NAME", "a candidate of the repository; two or more, once for each", ARG_LIST, 0,
     0, NULL},
    {"max-turns", "N", "stop the agent after so many turns", ARG_INT, 1, INT32_MAX, NULL},
    {"max-budget", "USD", "stop the agent at this cost", ARG_REAL, 0, 0, NULL},
    {"max-tokens", "N", "stop the agent after so many tokens, input and output", ARG_INT, 1,
     INT32_MAX, NULL},
    {"batch", "ID", "make it a member of this batch", ARG_TEXT, 0, 0, NULL},
    {"parent", "TASK", "make it a sub-task, within what is left of that task's budget", ARG_TEXT, 0,
     0, NULL},
    {"key", "KEY", "idempotency key: the same key gives the same task", ARG_TEXT, 0, 0, NULL},
    {"target-branch", "NAME", "the branch to change (default: the repository's)", ARG_TEXT, 0, 0,
     NULL},
    {"scope", "GLOB", "only these paths may change; may be repeated", ARG_LIST, 0, 0, NULL},
    {"label", "TEXT", "a label; may be repeated", ARG_LIST, 0, 0, NULL},
    {"persona", "NAME", "for agents of this persona, which claim their work", ARG_TEXT, 0, 0, NULL},
    {"agent", "NAME", "for the agent of this name", ARG_TEXT, 0, 0, NULL},
    {"type", "TYPE", "the type of the task, for limits and statistics", ARG_TEXT, 0, 0, NULL},
    {"depends-on", "ID", "wait for this task; may be repeated", ARG_LIST, 0, 0, NULL},
    {"override", "FIELD=VALUE", "over the repository's configuration; may be repeated", ARG_LIST, 0,
     0, NULL},
    {"attach", "FILE", "a file for the agent; may be repeated", ARG_LIST, 0, 0, NULL},
    {"override-policy", "REASON", "let it in although policy denies it (admins)", ARG_TEXT, 0, 0,
     NULL},
    {"watch", NULL, "follow it to its end", ARG_FLAG, 0, 0, NULL},
    {0},
};
static const struct arg_option tasks_options[] = {
    {"parent", "TASK", "only sub-tasks of this task", ARG_TEXT, 0, 0, NULL},
    {"batch", "ID", "only tasks of this batch", ARG_TEXT, 0, 0, NULL},
    {"repo", "NAME", "only of this repository", ARG_TEXT, 0, 0, NULL},
    {"status", "STATUS", "only with this status", ARG_CHOICE, 0, 0, status_names},
    {"persona", "NAME", "only for agents of this persona", ARG_TEXT, 0, 0, NULL},
    {"agent", "NAME", "only for the agent of this name", ARG_TEXT, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option task_options[] = {
    {"config", NULL, "show the configuration that the task has taken", ARG_FLAG, 0, 0, NULL},
    {0},
};
static const struct arg_option cancel_options[] = {
    {"reason", "TEXT", "why, for the record", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option retry_options[] = {
    {"watch", NULL, "follow the new run to its end", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_task_commands[] = {
    {"submit", "submit a task", "[--repo NAME] [OPTION...] TEXT   (TEXT -: from standard input)",
     submit_options, "drover submit --repo acme/billing --watch \"fix the rounding of VAT\"",
     "drover repo list", 0, SIZE_MAX, CLI_REMOTE | CLI_JSON, run_submit},
    {"tasks", "list tasks",
     "[--repo NAME] [--status STATUS] [--parent TASK] [--batch ID] [--persona NAME]"
     " [--agent NAME] [--limit N] [--watch] [--json]",
     tasks_options, "drover tasks --status failed", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH,
     run_tasks},
    {"task", "show a task", "ID [--config] [--json]", task_options, "drover task latest",
     "drover tasks", 1, 1, CLI_REMOTE | CLI_JSON, run_task},
    {"cancel", "cancel a task", "ID [--reason TEXT]", cancel_options,
     "drover cancel latest --reason \"wrong repository\"", "drover tasks", 1, 1,
     CLI_REMOTE | CLI_JSON, run_cancel},
    {"retry", "run a finished task once more", "ID [--watch]", retry_options,
     "drover retry latest --watch", "drover tasks", 1, 1, CLI_REMOTE | CLI_JSON, run_retry},
    {0},
};
