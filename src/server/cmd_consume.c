/*
 * cmd_consume.c - `drover consume QUEUE -- COMMAND`: a command for every job of a queue.
 *
 *     the first Ctrl-C or SIGTERM   leases no more jobs, releases those that wait, and lets running
 *                                   commands finish within the grace period
 *     the second, or time is up     ends the commands, and releases their jobs
 *
 * Progress is printed to stderr: a line for every job; on a terminal one line of counts, and lines
 * for failures only.
 */
#include "base/clock.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/signals.h"
#include "control/queue/jobs.h"
#include "control/watch/workers.h"
#include "work/consumer.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
    SLOTS_DEFAULT = 1,
    GRACE_SECONDS_DEFAULT = 30,
    KILL_SECONDS_MAX = 15, /* For commands that were ended, and the reports about them. */
    COUNTS_EVERY_MS = 1000,
    LINE_BYTES_MAX = 8 * 1024,
};
#define SECONDS_MAX 1000000.0

struct consume {
    struct cli *cli;
    struct consumer_options options;
    struct consumer *consumer;
    sigset_t signals; /* USR1: the consumer has ended. */
    double grace_s;
    bool quiet;
    bool tty;   /* Of stderr. */
    bool drawn; /* The line of counts is on the screen. */
};

/* ---- progress ---- */

static void wipe_counts(struct consume *consume)
{
    if (consume->drawn)
        (void)fputs("\r\033[K", stderr);
    consume->drawn = false;
}

static void print_counts(const struct consumer_counts *counts)
{
    static const struct {
        const char *name;
        size_t offset;
    } parts[] = {
        {"running", offsetof(struct consumer_counts, running)},
        {"waiting", offsetof(struct consumer_counts, waiting)},
        {"done", offsetof(struct consumer_counts, done)},
        {"failed", offsetof(struct consumer_counts, failed)},
        {"given back", offsetof(struct consumer_counts, returned)},
        {"lost", offsetof(struct consumer_counts, lost)},
    };
    const char *between = "";
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        int64_t count = *(const int64_t *)((const char *)counts + parts[i].offset);
        if (count == 0)
            continue;
        (void)fprintf(stderr, "%s%lld %s", between, (long long)count, parts[i].name);
        between = ", ";
    }
    if (*between == '\0')
        (void)fputs("no jobs yet", stderr);
}

static void draw_counts(struct consume *consume, const struct consumer_counts *counts)
{
    if (!consume->tty)
        return;
    (void)fprintf(stderr, "\r\033[K%s: ", consume->options.queue);
    print_counts(counts);
    consume->drawn = true;
}

/* "019a... send: failed (exit_1), to be tried again, after 1.2 s: no such host" */
static void print_job(const struct consumer_news *news)
{
    static const char *const ends[] = {
        [STEP_COMPLETED] = "done",
        [STEP_FAILED] = "failed",
        [STEP_RELEASED] = "given back",
        [STEP_DISCARDED] = "lost: another consumer has it now",
    };
    char took[TIME_TEXT_BYTES];
    const struct step_report *report = news->report;
    const struct port_failure *failure = &report->failure;
    CLEANUP(buf_release) struct buf line;
    CLEANUP(buf_release) struct buf safe;
    buf_init(&line, LINE_BYTES_MAX);
    buf_init(&safe, LINE_BYTES_MAX);
    buf_addf(&line, "%s %s: %s", news->job->id.text, news->job->type, ends[report->kind]);
    if (report->kind == STEP_FAILED)
        buf_addf(&line, " (%s), %s", failure->code,
                 failure->retryable ? "to be tried again" : "for good");
    buf_addf(&line, ", %s", duration_format(took, news->took_us));
    if (report->kind == STEP_FAILED)
        buf_addf(&line, ": %s", failure->message);
    term_clean(&safe, buf_text(&line));
    (void)fprintf(stderr, "%s\n", buf_text(&safe));
}

static void on_news(void *ctx, const struct consumer_news *news)
{
    struct consume *consume = ctx;
    if (consume->quiet)
        return;
    wipe_counts(consume);
    if (news->text != NULL)
        (void)fprintf(stderr, "drover: %s\n", news->text);
    else if (news->job != NULL && (!consume->tty || news->report->kind != STEP_COMPLETED))
        print_job(news);
    draw_counts(consume, &news->counts);
    (void)fflush(stderr);
}

static void on_ended(void *ctx)
{
    (void)ctx;
    (void)kill(getpid(), SIGUSR1);
}

/* ---- options ---- */

/* Seconds of an option in milliseconds, -1 when they are out of range. */
static int64_t option_ms(struct cli *cli, const char *name, int64_t fallback_ms)
{
    if (!args_has(&cli->args, name))
        return fallback_ms;
    double seconds = args_real(&cli->args, name, 0);
    return seconds > 0 && seconds <= SECONDS_MAX ? (int64_t)(seconds * 1000) : -1;
}

/* From the queue's rules, or the default if the server does not answer. */
static int64_t queue_lease_ms(struct cli *cli)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *path = cli_path(cli, "/v1/queues/", args_word(&cli->args, 0), "");
    if (cli_get(cli, path, &answer, NULL) != RC_OK)
        return JOB_LEASE_MS_DEFAULT;
    return js_int(js_path(answer.tree, "effective.leaseMs"), JOB_LEASE_MS_DEFAULT);
}

/* CLI_DONE, or the error has been printed. */
static int read_options(struct consume *consume)
{
    struct cli *cli = consume->cli;
    const struct args *args = &cli->args;
    struct consumer_options *options = &consume->options;
    options->queue = args_word(args, 0);
    options->argv = args->words + 1;
    options->name = args_text(args, "name", cli_own_name(&cli->arena));
    options->slots = (int)args_int(args, "slots", SLOTS_DEFAULT);
    options->held_max = (int)args_int(args, "max", options->slots);
    options->count = args_int(args, "count", 0);
    options->drain = args_has(args, "drain");
    options->timeout_ms = option_ms(cli, "timeout", 0);
    consume->grace_s = args_real(args, "grace", GRACE_SECONDS_DEFAULT);
    consume->quiet = args_has(args, "quiet");
    if (!queue_name_valid(options->queue))
        return cli_usage(cli, "\"%s\" is not a queue's name", options->queue);
    if (!worker_name_valid(options->name))
        return cli_usage(cli, "a name has letters, digits, '.', '_' and '-', at most %d",
                         WORKER_NAME_MAX);
    if (options->count > 0 && options->drain)
        return cli_usage(cli, "--count and --drain do not go together");
    if (options->held_max < options->slots)
        return cli_usage(cli, "--max must not be less than --slots");
    if (options->timeout_ms < 0 || consume->grace_s > SECONDS_MAX)
        return cli_usage(cli, "--timeout and --grace take seconds, at most %g", SECONDS_MAX);
    options->lease_ms = option_ms(cli, "lease", 0);
    if (options->lease_ms != 0 &&
        (options->lease_ms < JOB_LEASE_MS_MIN || options->lease_ms > JOB_LEASE_MS_MAX))
        return cli_usage(cli, "--lease takes seconds from %g to %d", JOB_LEASE_MS_MIN / 1000.0,
                         JOB_LEASE_MS_MAX / 1000);
    if (options->lease_ms == 0)
        options->lease_ms = queue_lease_ms(cli);
    return CLI_DONE;
}

/* ---- running ---- */

/* The signal that ends the wait; USR1 when the consumer has ended; 0 when time is up. */
static int wait_signal(struct consume *consume, int64_t ms)
{
    int64_t until_us = clock_mono_us() + ms * US_PER_MS;
    for (;;) {
        int64_t left_ms = (until_us - clock_mono_us()) / US_PER_MS;
        if (left_ms <= 0)
            return 0;
        int signal = cli_signals_wait(&consume->signals,
                                      left_ms < COUNTS_EVERY_MS ? left_ms : COUNTS_EVERY_MS);
        if (signal != 0)
            return signal;
        if (consume->tty && !consume->quiet)
            consumer_report_counts(consume->consumer);
    }
}

/* After the second signal further ones change nothing: commands are ended within about a second,
   and exiting before would leave them running. */
static bool wait_ended(struct consume *consume)
{
    int64_t until_us = clock_mono_us() + KILL_SECONDS_MAX * US_PER_SECOND;
    for (;;) {
        int signal = wait_signal(consume, (until_us - clock_mono_us()) / US_PER_MS);
        if (signal == SIGUSR1 || signal == 0)
            return signal == SIGUSR1;
    }
}

/* The signal that began the stop, or USR1 when the consumer ended by itself. */
static int work_until_stopped(struct consume *consume)
{
    int first = 0;
    while (first == 0)
        first = wait_signal(consume, INT32_MAX);
    if (first == SIGUSR1)
        return first;
    consumer_wind_down(consume->consumer);
    if (wait_signal(consume, (int64_t)(consume->grace_s * 1000)) == SIGUSR1)
        return first;
    consumer_kill(consume->consumer);
    if (!wait_ended(consume)) {
        (void)fprintf(stderr, "drover: ended before all was given back; leases run out\n");
        _exit(CLI_INTERRUPTED);
    }
    return first;
}

static enum rc consume_jobs(struct consume *consume, int *ret_signal, struct err *err)
{
    struct consumer_counts counts = {0};
    enum rc rc = consumer_start(&consume->options, &consume->consumer, err);
    if (rc != RC_OK)
        return rc;
    *ret_signal = work_until_stopped(consume);
    rc = consumer_join(consume->consumer, &counts, err);
    wipe_counts(consume);
    if (!consume->quiet) {
        print_counts(&counts);
        (void)fputc('\n', stderr);
    }
    return rc;
}

static int run_consume(struct cli *cli)
{
    struct err err = {0};
    struct port_http_options where = {0};
    int signal = 0;
    struct consume consume = {.cli = cli, .tty = isatty(STDERR_FILENO) == 1};
    consume.options.notify = on_news;
    consume.options.ended = on_ended;
    consume.options.ctx = &consume;
    int status = read_options(&consume);
    if (status != CLI_DONE)
        return status;
    enum rc rc = cli_find_server(cli, &where.url, &where.token, &err);
    if (rc == RC_OK)
        rc = port_http_new(&where, &consume.options.port, &err);
    if (rc == RC_OK) {
        consume.signals = cli_signals_block();
        rc = consume_jobs(&consume, &signal, &err);
    }
    port_http_free(consume.options.port);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    return signal == SIGINT ? CLI_INTERRUPTED : CLI_DONE;
}

static const struct arg_option consume_options[] = {
    {"slots", "N", "commands that run at the same time (default 1)", ARG_INT, 1, CONSUMER_SLOTS_MAX,
     NULL},
    {"max", "N", "jobs on lease at the same time, so that some wait ready (default: --slots)",
     ARG_INT, 1, CONSUMER_HELD_MAX, NULL},
    {"lease", "SECONDS", "a job comes back so long after we are gone (default: the queue's)",
     ARG_REAL, 0, 0, NULL},
    {"count", "N", "end after so many jobs", ARG_INT, 1, INT32_MAX, NULL},
    {"drain", NULL, "end when there is nothing more to do just now", ARG_FLAG, 0, 0, NULL},
    {"timeout", "SECONDS", "end a command that takes longer; its job is tried again", ARG_REAL, 0,
     0, NULL},
    {"grace", "SECONDS", "for commands that run when it is stopped (default 30)", ARG_REAL, 0, 0,
     NULL},
    {"name", "NAME", "how the server calls it (default: HOST-PID)", ARG_TEXT, 0, 0, NULL},
    {"quiet", NULL, "say nothing of jobs", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_consume_commands[] = {
    {"consume", "run a command for every job of a queue",
     "QUEUE [OPTION...] -- COMMAND [ARG...]   (its input is the payload)", consume_options,
     "drover consume mail --slots 4 -- sh -c 'jq -r .to | xargs ./send-mail'", NULL, 2, SIZE_MAX,
     CLI_REMOTE, run_consume},
    {0},
};
