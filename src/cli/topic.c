/*
 * topic.c - topics: publish, request, reply; subscription set, list, remove.
 */
#include "base/clock.h"
#include "base/jw.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>
#include <string.h>

enum { BODY_BYTES_MAX = 2 * 1024 * 1024, TIMEOUT_S_MAX = 60, TIMEOUT_S_DEFAULT = 30 };
/* The server answers at its deadline; this is for the transfer. */
enum { ANSWER_MARGIN_S = 10 };

/* ---- publish and request ---- */

/* --header NAME=VALUE, many times. */
static enum rc write_headers(struct cli *cli, struct jw *jw, struct err *err)
{
    size_t at = 0;
    const char *text = args_next(&cli->args, "header", &at);
    if (text == NULL)
        return RC_OK;
    jw_key(jw, "headers");
    jw_begin(jw, '{');
    for (; text != NULL; text = args_next(&cli->args, "header", &at)) {
        const char *equals = strchr(text, '=');
        if (equals == NULL || equals == text)
            return err_set(err, RC_INVALID, "INVALID_OPTION",
                           "--header is like customer=7, not %.100s", text);
        jw_kstr(jw, arena_strndup(&cli->arena, text, (size_t)(equals - text)), equals + 1);
    }
    jw_end(jw, '}');
    return RC_OK;
}

/* What publish and request have in common; leaves the object open. */
static enum rc write_message(struct cli *cli, struct jw *jw, struct err *err)
{
    struct str payload;
    enum rc rc = cli_payload_text(args_word(&cli->args, 1), &cli->arena, &payload, err);
    if (rc != RC_OK)
        return rc;
    jw_begin(jw, '{');
    jw_kraw(jw, "payload", payload);
    jw_optstr(jw, "orderingKey", args_text(&cli->args, "key", NULL));
    if (args_has(&cli->args, "priority"))
        jw_kint(jw, "priority", args_int(&cli->args, "priority", 0));
    return write_headers(cli, jw, err);
}

static void print_deliveries(struct cli *cli, const struct js *published)
{
    static const struct table_column columns[] = {
        {"SUBSCRIPTION", false, true}, {"QUEUE", false, false}, {"JOB", false, false}};
    const struct js *deliveries = js_get(published, "deliveries");
    struct table table;
    if (js_count(deliveries) == 0) {
        (void)printf("No subscription matches %s: the message was not delivered.\n",
                     js_get_str(published, "topic", "it"));
        return;
    }
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(deliveries); i++) {
        const struct js *item = js_at(deliveries, i);
        bool duplicate = js_get_bool(item, "duplicate", false);
        table_cell(&table, js_get_str(item, "subscription", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "queue", ""), TONE_PLAIN);
        table_cell(&table,
                   arena_printf(&cli->arena, "%s%s", js_get_str(item, "jobId", ""),
                                duplicate ? " (there already)" : ""),
                   TONE_DIM);
    }
    table_print(&table, stdout);
}

static int run_publish(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    enum rc rc = write_message(cli, &jw, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    jw_optstr(&jw, "dedupKey", args_text(&cli->args, "dedup", NULL));
    jw_end(&jw, '}');
    const struct http_call call = {
        .method = "POST",
        .path = cli_path(cli, "/v1/topics/", args_word(&cli->args, 0), "/publish"),
        .body = buf_str(&body)};
    rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print_deliveries(cli, answer.tree);
    return CLI_DONE;
}

/* The reply on stdout and nothing else, so that it can be piped on. */
static int print_reply(struct cli *cli, const struct cli_answer *answer)
{
    const struct js *error = js_get(answer->tree, "error");
    if (cli->json)
        cli_print_json(answer);
    else if (error == NULL)
        (void)printf("%s\n", js_text(js_get(answer->tree, "payload"), &cli->arena));
    if (error == NULL)
        return CLI_DONE;
    if (cli->json)
        return CLI_FAILED;
    struct err err = {0};
    enum rc rc = err_set(&err, RC_IO, js_get_str(error, "code", "ERROR"), "%s",
                         js_get_str(error, "message", "the reply is an error"));
    return cli_fail(cli, rc, &err);
}

static int run_request(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    int64_t timeout_ms = args_int(&cli->args, "timeout", TIMEOUT_S_DEFAULT) * 1000;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    enum rc rc = write_message(cli, &jw, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    jw_kint(&jw, "timeoutMs", timeout_ms);
    jw_optstr(&jw, "requestId", args_text(&cli->args, "id", NULL));
    jw_end(&jw, '}');
    const struct http_call call = {
        .method = "POST",
        .path = cli_path(cli, "/v1/topics/", args_word(&cli->args, 0), "/request"),
        .body = buf_str(&body),
        .timeout_ms = timeout_ms + ANSWER_MARGIN_S * 1000};
    rc = cli_call(cli, &call, &answer, &err);
    return rc == RC_OK ? print_reply(cli, &answer) : cli_fail(cli, rc, &err);
}

static int run_reply(struct cli *cli)
{
    struct err err = {0};
    struct str payload;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *id = args_word(&cli->args, 0);
    enum rc rc = cli_payload_text(args_word(&cli->args, 1), &cli->arena, &payload, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kraw(&jw, "payload", payload);
    jw_end(&jw, '}');
    const struct http_call call = {
        .method = "POST", .path = cli_path(cli, "/v1/replies/", id, ""), .body = buf_str(&body)};
    rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("Replied to %s.\n", id);
    return CLI_DONE;
}

/* ---- subscriptions ---- */

static int run_subscription_set(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *name = args_word(&cli->args, 0);
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "pattern", args_word(&cli->args, 1));
    jw_optstr(&jw, "queue", args_text(&cli->args, "queue", NULL));
    jw_end(&jw, '}');
    const struct http_call call = {.method = "PUT",
                                   .path = cli_path(cli, "/v1/subscriptions/", name, ""),
                                   .body = buf_str(&body)};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("What is published to %s comes to the queue %s.\n",
                     js_get_str(answer.tree, "pattern", ""), js_get_str(answer.tree, "queue", ""));
    return CLI_DONE;
}

static void subscriptions_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {{"SUBSCRIPTION", false, false},
                                                  {"PATTERN", false, true},
                                                  {"QUEUE", false, false},
                                                  {"CREATED", false, false}};
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "pattern", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "queue", ""), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
    }
    table_print(&table, stdout);
}

static int run_subscription_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){.path = "/v1/subscriptions",
                                              .empty = "No subscriptions.",
                                              .print = subscriptions_table});
}

static int run_subscription_remove(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *name = args_word(&cli->args, 0);
    const struct http_call call = {.method = "DELETE",
                                   .path = cli_path(cli, "/v1/subscriptions/", name, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("Subscription %s is removed; what was delivered stays in its queue.\n", name);
    return CLI_DONE;
}

/* ---- the table ---- */

#define MESSAGE_OPTIONS                                                                            \
    {"key", "KEY", "messages of one key are worked on one after the other", ARG_TEXT, 0, 0, NULL}, \
        {"priority", "N", "0 (first) to 1000, 100 by default", ARG_INT, 0, 1000, NULL},            \
    {                                                                                              \
        "header", "NAME=VALUE", "goes along with the payload; may be given many times", ARG_LIST,  \
            0, 0, NULL                                                                             \
    }

static const struct arg_option publish_options[] = {
    MESSAGE_OPTIONS,
    {"dedup", "KEY", "a message with a key that was there already is dropped", ARG_TEXT, 0, 0,
     NULL},
    {0},
};
static const struct arg_option request_options[] = {
    MESSAGE_OPTIONS,
    {"timeout", "SECONDS", "how long to wait for the reply (default 30)", ARG_INT, 1, TIMEOUT_S_MAX,
     NULL},
    {"id", "UUID", "of the request: repeated under it, it gets the same reply", ARG_TEXT, 0, 0,
     NULL},
    {0},
};
static const struct arg_option subscription_options[] = {
    {"queue", "QUEUE", "where the messages go (default: sub.NAME)", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {CLI_LIMIT_OPTION, {0}};

const struct cli_command cli_topic_commands[] = {
    {"publish", "send a message to all who have subscribed to its topic",
     "TOPIC [PAYLOAD | @FILE | -] [--key KEY] [--dedup KEY] [--priority N] [--header NAME=VALUE] "
     "[--json]",
     publish_options, "drover publish ticket.created '{\"id\": 7}'", "drover subscription list", 1,
     2, CLI_REMOTE | CLI_JSON, run_publish},
    {"request", "send a message, wait for the reply and print it",
     "TOPIC [PAYLOAD | @FILE | -] [--timeout SECONDS] [--id UUID] [--json]", request_options,
     "drover request price.quote '{\"item\": 7}' --timeout 10", "drover subscription list", 1, 2,
     CLI_REMOTE | CLI_JSON, run_request},
    {"reply", "answer a request, by the correlationId of its message",
     "ID [PAYLOAD | @FILE | -] [--json]", NULL,
     "drover reply 01a1e111-4280-788b-8f9d-658fd086a1f4 '{\"price\": 12}'", NULL, 1, 2,
     CLI_REMOTE | CLI_JSON, run_reply},
    {"subscription set", "let a queue have what is published to a topic, or to many",
     "NAME PATTERN [--queue QUEUE] [--json]", subscription_options,
     "drover subscription set audit 'ticket.>'", NULL, 2, 2, CLI_REMOTE | CLI_JSON,
     run_subscription_set},
    {"subscription list", "list the subscriptions", "[--limit N] [--json]", list_options,
     "drover subscription list", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_subscription_list},
    {"subscription remove", "end a subscription; what was delivered stays", "NAME", NULL,
     "drover subscription remove audit", "drover subscription list", 1, 1, CLI_REMOTE,
     run_subscription_remove},
    {0},
};
