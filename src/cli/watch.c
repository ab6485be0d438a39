/*
 * watch.c - prints a run's events as they are published.
 *
 *     Planning
 *       12:00:01  task submitted
 *     Editing
 *       12:00:04  patch 1: 1 file changed, +3 -1
 *     ⠙ Editing  14 s                            on a terminal only, rewritten in place
 *
 * The run's event stream is read from its beginning, so that watching a run that has ended prints
 * all its events and ends at once.
 */
#include "cli/watch.h"
#include "base/clock.h"
#include "base/js.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "core/event_types.h"
#include "core/run/timeline.h"
#include "net/sse_client.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES_MAX = 16 * 1024, ANSWER_DELAY_US = 500 * 1000 };

struct watch {
    struct cli *cli;
    const char *run_id;
    struct arena arena; /* For one event. */
    const char *group;  /* Of the last heading, or NULL. */
    int64_t since_us;   /* The group began. */
    unsigned turn;      /* Of the spinner. */
    bool spinning;      /* Its line is on the screen. */
    bool ended;
    struct id pending; /* An approval or a question; the hint is not printed yet.  Or none. */
    bool question;     /* It is one. */
    int64_t asked_us;  /* When it was read. */
};

static atomic_int interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

const atomic_int *cli_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}

/* ---- the screen ---- */

static void spinner_clear(struct watch *watch)
{
    if (watch->spinning)
        (void)fputs("\r\033[K", stdout);
    watch->spinning = false;
}

/* Whole seconds: tenths would flicker. */
static void print_elapsed(int64_t since_us)
{
    char text[TIME_TEXT_BYTES];
    struct clock clock = clock_real();
    int64_t us = clock_now_us(&clock) - since_us;
    if (us < US_PER_SECOND) /* Also when the server's clock is ahead of ours. */
        return;
    if (us < US_PER_MINUTE)
        (void)printf("%d s", (int)(us / US_PER_SECOND));
    else
        (void)fputs(duration_format(text, us), stdout);
}

static void spinner_draw(struct watch *watch)
{
    static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    const struct term *term = &watch->cli->term;
    if (!term->tty || watch->ended)
        return;
    (void)printf("\r\033[K%s%s%s %s  ", term_on(term, TONE_CYAN),
                 frames[watch->turn++ % COUNT_OF(frames)], term_off(term, TONE_CYAN),
                 watch->group != NULL ? watch->group : "Waiting");
    print_elapsed(watch->since_us);
    (void)fflush(stdout);
    watch->spinning = true;
}

/* Prints how to answer, once no answer has followed: past events include theirs. */
static void print_pending(struct watch *watch)
{
    const char *id = watch->pending.text;
    if (id_is_none(&watch->pending) || clock_mono_us() - watch->asked_us < ANSWER_DELAY_US)
        return;
    spinner_clear(watch);
    show_next(watch->cli, "  To answer",
              watch->question ? "drover answer %s TEXT" : "drover approve %s", id);
    if (!watch->question)
        show_next(watch->cli, "", "drover reject %s", id);
    (void)fflush(stdout);
    watch->pending = id_of(NULL);
}

static void on_tick(void *ctx)
{
    struct watch *watch = ctx;
    print_pending(watch);
    spinner_draw(watch);
}

static void print_heading(struct watch *watch, const char *group, int64_t time_us)
{
    const struct term *term = &watch->cli->term;
    if (group == NULL || text_same(group, watch->group))
        return;
    watch->group = group;
    watch->since_us = time_us;
    (void)printf("%s%s%s\n", term_on(term, TONE_BOLD), group, term_off(term, TONE_BOLD));
}

static void print_line(struct watch *watch, const char *time, const struct timeline_line *line)
{
    const struct term *term = &watch->cli->term;
    enum tone tone = line->bad ? TONE_RED : TONE_PLAIN;
    CLEANUP(buf_release) struct buf safe;
    buf_init(&safe, LINE_BYTES_MAX);
    term_clean(&safe, line->text);
    (void)printf("  %s%s%s  %s%s%s\n", term_on(term, TONE_DIM), term_clock(time, &watch->arena),
                 term_off(term, TONE_DIM), term_on(term, tone), buf_text(&safe),
                 term_off(term, tone));
    (void)fflush(stdout);
}

/* ---- the stream ---- */

static bool is_end(const char *type)
{
    static const char *const ends[] = {EV_RUN_COMPLETED, EV_RUN_FAILED, EV_RUN_CANCELLED,
                                       EV_RUN_TIMED_OUT};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (text_same(ends[i], type))
            return true;
    }
    return false;
}

static void note_pending(struct watch *watch, const struct js *tree)
{
    const char *type = js_get_str(tree, "type", "");
    if (!text_starts(type, "agent.approval.") && !text_starts(type, "agent.question."))
        return;
    const char *id = NULL;
    watch->question = text_same(type, EV_QUESTION_ASKED);
    if (watch->question)
        id = js_str(js_path(tree, "data.questionId"), NULL);
    else if (text_same(type, EV_APPROVAL_REQUESTED))
        id = js_str(js_path(tree, "data.approvalId"), NULL);
    watch->pending = id_of(id);
    watch->asked_us = clock_mono_us();
}

static void print_event(struct watch *watch, const struct js *tree)
{
    const char *data = js_text(js_get(tree, "data"), &watch->arena);
    struct event event = {
        .type = js_get_str(tree, "type", ""),
        .data = str_of(data),
    };
    if (!time_parse(js_get_str(tree, "time", ""), &event.time_us))
        event.time_us = watch->since_us;
    struct timeline timeline;
    timeline_build(&event, 1, &watch->arena, &timeline);
    if (timeline.group_count == 0)
        return;
    spinner_clear(watch);
    print_heading(watch, timeline_group_of(event.type), event.time_us);
    print_line(watch, js_get_str(tree, "time", ""), &timeline.groups[0].lines[0]);
    if (text_same(js_str(js_path(tree, "data.reason"), ""), "candidates_running"))
        show_next(watch->cli, "  To see them", "drover compare %s", watch->run_id);
}

static bool take_event(void *ctx, const struct sse_event *sse)
{
    struct watch *watch = ctx;
    CLEANUP(js_freep) struct js *tree = NULL;
    arena_reset(&watch->arena);
    if (js_parse(sse->data, strlen(sse->data), &tree, NULL) != RC_OK)
        return true; /* Not an event of drover: nothing to print. */
    print_event(watch, tree);
    note_pending(watch, tree);
    watch->ended = is_end(js_get_str(tree, "type", "")) &&
                   text_same(js_get_str(tree, "runid", ""), watch->run_id);
    return !watch->ended && !ferror(stdout); /* The reader has closed stdout: stop. */
}

static void print_broken(void *ctx, const struct err *why)
{
    struct watch *watch = ctx;
    spinner_clear(watch);
    (void)fflush(stdout);
    (void)fprintf(stderr, "drover: %s; trying again\n", why->text);
}

/* ---- the end ---- */

static void print_pr(struct cli *cli, const struct js *run)
{
    const struct js *pr = js_get(run, "pullRequest");
    if (js_type(pr) != JS_OBJECT)
        return;
    int64_t number = js_get_int(pr, "number", 0);
    show_line(cli, "Pull request",
              arena_printf(&cli->arena, "#%lld %s", (long long)number, js_get_str(pr, "url", "")),
              TONE_BOLD);
    show_next(cli, "Merge it", "drover pr merge %lld --repo %s", (long long)number,
              shell_quote(js_get_str(pr, "repository", js_get_str(run, "repository", "NAME")),
                          &cli->arena));
}

/* The outcome as the run's row has it, and what to do next. */
static int print_outcome(struct cli *cli, const char *run_id)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_get(cli, cli_path(cli, "/v1/runs/", run_id, ""), &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    bool completed = text_same(js_get_str(answer.tree, "status", ""), "completed");
    const char *task_id = js_get_str(answer.tree, "taskId", "");
    (void)putchar('\n');
    show_status(cli, answer.tree);
    show_error(cli, answer.tree);
    show_line(cli, "Task", task_id, TONE_PLAIN);
    print_pr(cli, answer.tree);
    const char *patch = js_get_str(answer.tree, "patchSha256", NULL);
    if (completed && patch != NULL)
        show_next(cli, "Its diff", "drover artifact %s", shell_quote(patch, &cli->arena));
    show_next(cli, completed ? "Its files" : "Its output", "drover artifacts %s", run_id);
    if (!completed)
        show_next(cli, "Once more", "drover retry %s --watch", shell_quote(task_id, &cli->arena));
    return completed ? CLI_DONE : CLI_FAILED;
}

static int print_interrupted(struct cli *cli, const char *run_id)
{
    (void)printf("\nStopped watching; the run continues.\n");
    show_next(cli, "Watch again", "drover watch %s", run_id);
    show_next(cli, "Cancel it", "drover cancel %s", run_id);
    return CLI_INTERRUPTED;
}

int cli_watch_run(struct cli *cli, const char *run_id)
{
    struct err err = {0};
    enum rc rc = cli_connect(cli, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    struct watch watch = {.cli = cli, .run_id = run_id, .since_us = cli->term.now_us};
    const struct sse_follow follow = {
        .path = cli_path(cli, "/v1/runs/", run_id, "/stream"),
        .last_id = "0", /* From the first event on. */
        .stop = cli_catch_interrupt(),
        .on_event = take_event,
        .on_tick = on_tick,
        .on_broken = print_broken,
        .ctx = &watch,
    };
    rc = sse_follow(cli->client, &follow, &err);
    spinner_clear(&watch);
    arena_release(&watch.arena);
    if (rc == RC_CANCELLED)
        return print_interrupted(cli, run_id);
    if (rc == RC_OK)
        return print_outcome(cli, run_id);
    int status = cli_fail(cli, rc, &err);
    (void)fprintf(stderr, "The run may go on all the same: drover watch %s\n", run_id);
    return status;
}

static int run_watch(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    enum rc rc = cli_resolve_run(cli, args_word(&cli->args, 0), &id, &err);
    return rc == RC_OK ? cli_watch_run(cli, id.text) : cli_fail(cli, rc, &err);
}

const struct cli_command cli_watch_commands[] = {
    {"watch", "follow a run live, to its end", "RUN", NULL, "drover watch latest", "drover runs", 1,
     1, CLI_REMOTE, run_watch},
    {0},
};
