/*
 * enqueue.c - `drover enqueue`: one job into a queue.
 */
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/show.h"
#include "core/queue/job.h"
#include "core/queue/rank.h"
#include <stdio.h>

enum { BODY_BYTES_MAX = 1024 * 1024 };

static void write_ms(struct jw *jw, const struct args *args, const char *option, const char *key)
{
    if (args_has(args, option))
        jw_kint(jw, key, (int64_t)(args_real(args, option, 0) * 1000));
}

static void write_int(struct jw *jw, const struct args *args, const char *option, const char *key)
{
    if (args_has(args, option))
        jw_kint(jw, key, args_int(args, option, 0));
}

static void write_job(struct cli *cli, const struct js *payload, struct buf *body)
{
    const struct args *args = &cli->args;
    struct jw jw = jw_to(body);
    jw_begin(&jw, '{');
    jw_key(&jw, "jobs");
    jw_begin(&jw, '[');
    jw_begin(&jw, '{');
    jw_kstr(&jw, "queue", args_word(args, 0));
    jw_kstr(&jw, "type", args_word(args, 1));
    if (payload != NULL)
        jw_kraw(&jw, "payload", str_of(js_text(payload, &cli->arena)));
    jw_optstr(&jw, "orderingKey", args_text(args, "key", NULL));
    jw_optstr(&jw, "dedupKey", args_text(args, "dedup", NULL));
    jw_optstr(&jw, "dependency", args_text(args, "dependency", NULL));
    write_ms(&jw, args, "delay", "delayMs");
    write_ms(&jw, args, "ttl", "ttlMs");
    write_int(&jw, args, "priority", "priority");
    write_int(&jw, args, "max-attempts", "maxAttempts");
    jw_end(&jw, '}');
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

static void print_job(struct cli *cli, const struct js *job)
{
    static const struct {
        const char *key, *text;
    } notes[] = {
        {"duplicate", "It was there already: the same --dedup key."},
        {"deferred", "The queue is under load: it is put off."},
        {"batched", "It is gathered with others into this job."},
    };
    show_line(cli, "Job", js_get_str(job, "id", "?"), TONE_BOLD);
    for (size_t i = 0; i < COUNT_OF(notes); i++) {
        if (js_get_bool(job, notes[i].key, false))
            (void)printf("%s\n", notes[i].text);
    }
}

static int run_enqueue(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(js_freep) struct js *payload = NULL;
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&body, BODY_BYTES_MAX);
    const char *word = args_word(&cli->args, 2);
    enum rc rc = word != NULL ? cli_read_payload(word, &payload, &err) : RC_OK;
    if (rc == RC_OK) {
        write_job(cli, payload, &body);
        const struct http_call call = {
            .method = "POST", .path = "/v1/jobs", .body = buf_str(&body)};
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print_job(cli, js_at(js_get(answer.tree, "jobs"), 0));
    return CLI_DONE;
}

static const struct arg_option enqueue_options[] = {
    {"key", "KEY", "ordering key: jobs with the same one run one after the other", ARG_TEXT, 0, 0,
     NULL},
    {"dedup", "KEY", "dedup key: the same one gives the same job", ARG_TEXT, 0, 0, NULL},
    {"delay", "SECONDS", "not before so long", ARG_REAL, 0, 0, NULL},
    {"priority", "N", "0 (first) to 1000, default 100", ARG_INT, 0, PRIORITY_MAX, NULL},
    {"ttl", "SECONDS", "not after so long", ARG_REAL, 0, 0, NULL},
    {"max-attempts", "N", "tries before it is a dead letter (default: the queue's)", ARG_INT, 1,
     JOB_ATTEMPTS_MAX, NULL},
    {"dependency", "NAME", "what it calls outside: held back while its breaker is open", ARG_TEXT,
     0, 0, NULL},
    {0},
};

const struct cli_command cli_enqueue_commands[] = {
    {"enqueue", "put a job into a queue",
     "QUEUE TYPE [PAYLOAD] [OPTION...]   (PAYLOAD: JSON, @FILE, or - for standard input)",
     enqueue_options, "drover enqueue mail send '{\"to\": \"ann@example.org\"}' --delay 60",
     "drover queue list", 2, 3, CLI_REMOTE | CLI_JSON, run_enqueue},
    {0},
};
