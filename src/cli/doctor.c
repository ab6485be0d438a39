/*
 * doctor.c - drover doctor: checks the invariants of the store and the origins.
 */
#include "cli/client.h"
#include <stdio.h>

enum {
    DOCTOR_TIMEOUT_MS = 120 * 1000,
    HISTORY_TIMEOUT_MS = 60 * 60 * 1000,
    LINE_BYTES_MAX = 16 * 1024
};

static void print_check(const struct cli *cli, const struct js *check)
{
    bool ok = js_get_int(check, "bad", 0) == 0;
    enum tone tone = ok ? TONE_GREEN : TONE_RED;
    (void)printf("%s%-4s%s %s (%lld looked at", term_on(&cli->term, tone), ok ? "ok" : "bad",
                 term_off(&cli->term, tone), js_get_str(check, "title", "?"),
                 (long long)js_get_int(check, "lookedAt", 0));
    if (ok) {
        (void)printf(")\n");
        return;
    }
    CLEANUP(buf_release) struct buf first;
    buf_init(&first, LINE_BYTES_MAX);
    term_clean(&first, js_get_str(check, "first", ""));
    (void)printf(", %lld bad)\n       %s\n", (long long)js_get_int(check, "bad", 0),
                 buf_text(&first));
}

/* No error in the store, but an operator should look at it. */
static void print_kept(const struct cli *cli, const struct js *kept)
{
    int64_t count = js_get_int(kept, "count", 0);
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, LINE_BYTES_MAX);
    term_clean(&path, js_get_str(kept, "path", ""));
    if (count > 0)
        (void)printf("%slook%s %lld %s with unpublished work could not be saved: %s\n",
                     term_on(&cli->term, TONE_YELLOW), term_off(&cli->term, TONE_YELLOW),
                     (long long)count, count == 1 ? "tree" : "trees", buf_text(&path));
}

/* All of them: the check shows the first. */
static void print_strays(const struct cli *cli, const struct js *strays, const struct js *away)
{
    for (size_t i = 1; i < js_count(strays); i++) {
        const struct js *stray = js_at(strays, i);
        CLEANUP(buf_release) struct buf line;
        buf_init(&line, LINE_BYTES_MAX);
        term_clean(&line, js_get_str(stray, "repository", ""));
        buf_addc(&line, ' ');
        term_clean(&line, js_get_str(stray, "ref", ""));
        buf_adds(&line, ": ");
        term_clean(&line, js_get_str(stray, "what", ""));
        (void)printf("       %s\n", buf_text(&line));
    }
    int64_t count = js_get_int(away, "count", 0);
    CLEANUP(buf_release) struct buf first;
    buf_init(&first, LINE_BYTES_MAX);
    term_clean(&first, js_get_str(away, "first", ""));
    if (count > 0)
        (void)printf("%slook%s the origins of %lld %s cannot be read from the server: %s%s\n",
                     term_on(&cli->term, TONE_YELLOW), term_off(&cli->term, TONE_YELLOW),
                     (long long)count, count == 1 ? "repository" : "repositories", buf_text(&first),
                     count == 1 ? "" : ", ...");
}

/* What is left of the rate limits of forges, and what waits for them. */
static void print_limits(const struct cli *cli, const struct js *limits)
{
    for (size_t i = 0; i < js_count(limits); i++) {
        const struct js *limit = js_at(limits, i);
        const char *blocked = js_get_str(limit, "blockedUntil", NULL);
        int64_t calls = js_get_int(limit, "limit", -1), left = js_get_int(limit, "remaining", -1);
        bool low = calls > 0 && left <= js_get_int(limit, "reserve", 0);
        CLEANUP(buf_release) struct buf line;
        buf_init(&line, LINE_BYTES_MAX);
        term_clean(&line, js_get_str(limit, "host", ""));
        buf_addc(&line, ' ');
        term_clean(&line, js_get_str(limit, "credential", "without credential"));
        buf_addc(&line, ' ');
        term_clean(&line, js_get_str(limit, "resource", ""));
        if (calls < 0 && blocked == NULL)
            continue;
        (void)printf("%s%s%s rate limit of %s: ",
                     term_on(&cli->term, low ? TONE_YELLOW : TONE_GREEN), low ? "look" : "ok  ",
                     term_off(&cli->term, low ? TONE_YELLOW : TONE_GREEN), buf_text(&line));
        if (calls >= 0)
            (void)printf("%lld of %lld calls left%s", (long long)left, (long long)calls,
                         low ? ", kept for people; steps wait" : "");
        (void)printf("%s%s\n", blocked != NULL ? " paused until " : "",
                     blocked != NULL ? blocked : "");
    }
}

static void print_unpublished(struct cli *cli, const struct js *workers)
{
    for (size_t i = 0; i < js_count(workers); i++) {
        const struct js *worker = js_at(workers, i);
        int64_t count = js_get_int(worker, "count", 0);
        CLEANUP(buf_release) struct buf name;
        buf_init(&name, LINE_BYTES_MAX);
        term_clean(&name, js_get_str(worker, "worker", ""));
        (void)printf("%slook%s unpublished work on %s: %lld %s, %s; drover prune lists it there\n",
                     term_on(&cli->term, TONE_YELLOW), term_off(&cli->term, TONE_YELLOW),
                     buf_text(&name), (long long)count, count == 1 ? "item" : "items",
                     term_bytes(&cli->arena, js_get_int(worker, "bytes", 0)));
    }
}

static void print_low(struct cli *cli, const struct js *workers)
{
    for (size_t i = 0; i < js_count(workers); i++) {
        const struct js *worker = js_at(workers, i);
        CLEANUP(buf_release) struct buf name;
        buf_init(&name, LINE_BYTES_MAX);
        term_clean(&name, js_get_str(worker, "worker", ""));
        (void)printf(
            "%slook%s the disk of %s is low, %s free: it leases no steps that need space\n",
            term_on(&cli->term, TONE_YELLOW), term_off(&cli->term, TONE_YELLOW), buf_text(&name),
            term_bytes(&cli->arena, js_get_int(worker, "diskFree", 0)));
    }
}

/* What drover takes on the disk of the server, the largest kinds and those that matter. */
static void print_disk(struct cli *cli, const struct js *disk)
{
    for (size_t i = 0; i < js_count(disk); i++) {
        const struct js *entry = js_at(disk, i);
        int64_t bytes = js_get_int(entry, "bytes", 0), unused = js_get_int(entry, "freeBytes", 0);
        CLEANUP(buf_release) struct buf path;
        buf_init(&path, LINE_BYTES_MAX);
        term_clean(&path, js_get_str(entry, "path", ""));
        if (bytes == 0)
            continue;
        (void)printf("disk %-13s %10s", js_get_str(entry, "kind", "?"),
                     term_bytes(&cli->arena, bytes));
        if (unused > 0)
            (void)printf(", %s of it free", term_bytes(&cli->arena, unused));
        (void)printf("  %s\n", buf_text(&path));
        if (unused > 0 && !js_get_bool(entry, "givesBack", true))
            (void)printf("       free space is not given back: stop the server and run drover "
                         "compact once\n");
    }
}

static int run_doctor(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    bool all = args_has(&cli->args, "all");
    const struct http_call call = {.method = "GET",
                                   .path = all ? "/v1/doctor?all=true" : "/v1/doctor",
                                   .timeout_ms = all ? HISTORY_TIMEOUT_MS : DOCTOR_TIMEOUT_MS};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    bool healthy = js_get_bool(answer.tree, "healthy", false);
    if (cli->json) {
        cli_print_json(&answer);
        return healthy ? CLI_DONE : CLI_FAILED;
    }
    const struct js *checks = js_get(answer.tree, "checks");
    for (size_t i = 0; i < js_count(checks); i++)
        print_check(cli, js_at(checks, i));
    print_strays(cli, js_get(answer.tree, "strays"), js_get(answer.tree, "originsAway"));
    print_limits(cli, js_get(answer.tree, "forgeLimits"));
    print_kept(cli, js_get(answer.tree, "keptTrees"));
    print_unpublished(cli, js_get(answer.tree, "unpublished"));
    print_low(cli, js_get(answer.tree, "diskLow"));
    print_disk(cli, js_get(answer.tree, "disk"));
    (void)printf("%s\n", healthy ? "All is well." : "Not all is well.");
    return healthy ? CLI_DONE : CLI_FAILED;
}

static const struct arg_option doctor_options[] = {
    {"all", NULL, "fold the events of every run there ever was, not only of the latest", ARG_FLAG,
     0, 0, NULL},
    {0},
};

const struct cli_command cli_doctor_commands[] = {
    {"doctor", "prove that what the server stores is sound", "[--all] [--json]", doctor_options,
     "drover doctor", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_doctor},
    {0},
};
