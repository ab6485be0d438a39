/*
 * retention.c - drover retention: how long the server keeps things, what it has deleted, and what
 * it keeps past its time.
 */
#include "cli/retention.h"
#include "base/buf.h"
#include "cli/client.h"
#include <stdio.h>

enum { LINE_BYTES_MAX = 16 * 1024 };

/* What to do about it, by reason. */
static const char *advice_for(const char *reason)
{
    static const struct {
        const char *reason, *advice;
    } table[] = {
        {"pull_request", "merge or close it (drover prs)"},
        {"train", "drover train shows it"},
        {"batch", "drover batches shows it"},
        {"saga", "drover saga list, drover dlq list"},
        {"unpublished",
         "drover snapshots RUN, drover artifacts RUN; retention.unpublishedDays lets "
         "it go after a time"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (text_same(table[i].reason, reason))
            return table[i].advice;
    return NULL;
}

void cli_print_kept(struct cli *cli, const struct js *retention)
{
    const struct js *kept = js_get(retention, "kept"), *log = js_get(retention, "log");
    for (size_t i = 0; i < js_count(kept); i++) {
        const struct js *entry = js_at(kept, i);
        const char *advice = advice_for(js_get_str(entry, "reason", ""));
        int64_t tasks = js_get_int(entry, "tasks", 0);
        (void)printf("%skept%s %lld %s past %s time: %s, as for task %s%s%s\n",
                     term_on(&cli->term, TONE_YELLOW), term_off(&cli->term, TONE_YELLOW),
                     (long long)tasks, tasks == 1 ? "task" : "tasks", tasks == 1 ? "its" : "their",
                     js_get_str(entry, "meaning", "?"), js_get_str(entry, "example", "?"),
                     advice != NULL ? "; " : "", advice != NULL ? advice : "");
    }
    int64_t waiting = js_get_int(log, "expiredTasks", 0);
    CLEANUP(buf_release) struct buf reader;
    buf_init(&reader, LINE_BYTES_MAX);
    term_clean(&reader, js_get_str(log, "slowestReader", ""));
    if (waiting > 0)
        (void)printf(
            "%skept%s events of %lld deleted %s: they go when all sinks and consumers have "
            "read them%s%s\n",
            term_on(&cli->term, TONE_YELLOW), term_off(&cli->term, TONE_YELLOW), (long long)waiting,
            waiting == 1 ? "task" : "tasks", reader.len > 0 ? "; furthest behind is " : "",
            buf_text(&reader));
}

static void print_rules(const struct js *rules)
{
    size_t at = 0;
    const char *key;
    const struct js *value;
    while (js_next(rules, &at, &key, &value)) {
        int64_t days = js_int(value, 0);
        if (days > 0)
            (void)printf("%-18s %lld days\n", key, (long long)days);
        else
            (void)printf("%-18s for ever\n", key);
    }
}

static void print_sums(struct cli *cli, const struct js *tree)
{
    size_t at = 0;
    const char *key;
    const struct js *value;
    const struct js *round = js_get(tree, "lastRound");
    if (js_type(round) == JS_OBJECT)
        (void)printf("last round         %s, %lld ms\n", js_get_str(round, "endedAt", "?"),
                     (long long)js_get_int(round, "tookMs", 0));
    while (js_next(js_get(tree, "expired"), &at, &key, &value))
        (void)printf("deleted            %lld %s\n", (long long)js_int(value, 0), key);
    (void)printf("given back         %s\n",
                 term_bytes(&cli->arena, js_get_int(tree, "givenBackBytes", 0)));
}

static int run_retention(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_get(cli, "/v1/retention", &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    print_rules(js_get(answer.tree, "rules"));
    print_sums(cli, answer.tree);
    cli_print_kept(cli, answer.tree);
    return CLI_DONE;
}

const struct cli_command cli_retention_commands[] = {
    {"retention", "how long things are kept, what was deleted, and what is kept past its time",
     "[--json]", NULL, "drover retention", "drover prune", 0, 0, CLI_REMOTE | CLI_JSON,
     run_retention},
    {0},
};
