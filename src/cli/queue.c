/*
 * queue.c - queues of jobs: queue list, show, set, pause, resume.
 */
#include "base/jw.h"
#include "base/str.h"
#include "cli/assign.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

enum { SET_TRIES = 5 };

static const char *queue_path(struct cli *cli, const char *suffix)
{
    return cli_path(cli, "/v1/queues/", args_word(&cli->args, 0), suffix);
}

static enum tone level_tone(const char *level)
{
    if (text_same(level, "critical") || text_same(level, "emergency"))
        return TONE_RED;
    return text_same(level, "normal") ? TONE_GREEN : TONE_YELLOW;
}

/* ---- list ---- */

/* A column: its heading, and how the cell of one queue is made. */
struct queue_column {
    struct table_column column;
    const char *key; /* Of the queue, or of its counts. */
    void (*cell)(struct cli *cli, struct table *table, const struct js *item, const char *key);
    bool optional; /* Left out when no queue has the key. */
};

static void cell_name(struct cli *cli, struct table *table, const struct js *item, const char *key)
{
    (void)cli;
    table_cell(table, js_get_str(item, key, ""), TONE_BOLD);
}

static void cell_count(struct cli *cli, struct table *table, const struct js *item, const char *key)
{
    int64_t jobs = js_get_int(js_get(item, "jobs"), key, 0);
    bool dead = jobs > 0 && text_same(key, "dead_letter");
    table_cell(table, arena_printf(&cli->arena, "%lld", (long long)jobs),
               dead ? TONE_RED : TONE_PLAIN);
}

static void cell_level(struct cli *cli, struct table *table, const struct js *item, const char *key)
{
    (void)cli;
    const char *level = js_get_str(item, key, "");
    table_cell(table, level, level_tone(level));
}

static void cell_flag(struct cli *cli, struct table *table, const struct js *item, const char *key)
{
    (void)cli;
    bool set = js_get_bool(item, key, false);
    table_cell(table, set ? "yes" : "no", set ? TONE_YELLOW : TONE_PLAIN);
}

static void cell_number(struct cli *cli, struct table *table, const struct js *item,
                        const char *key)
{
    const struct js *value = js_get(item, key);
    table_cell(table, js_type(value) == JS_INT ? js_text(value, &cli->arena) : "", TONE_PLAIN);
}

static void cell_time(struct cli *cli, struct table *table, const struct js *item, const char *key)
{
    table_cell(table, term_time(&cli->term, js_get_str(item, key, NULL), &cli->arena), TONE_DIM);
}

static const struct queue_column queue_columns[] = {
    {{"QUEUE", false, true}, "name", cell_name, false},
    {{"LEVEL", false, false}, "level", cell_level, true},
    {{"PAUSED", false, false}, "paused", cell_flag, true},
    {{"QUEUED", true, false}, "queued", cell_count, false},
    {{"LEASED", true, false}, "leased", cell_count, false},
    {{"SCHEDULED", true, false}, "scheduled", cell_count, false},
    {{"BLOCKED", true, false}, "blocked", cell_count, false},
    {{"DONE", true, false}, "succeeded", cell_count, false},
    {{"DEAD", true, false}, "dead_letter", cell_count, false},
    {{"WANTS", true, false}, "desiredWorkers", cell_number, true},
    {{"OLDEST QUEUED", false, false}, "oldestQueuedAt", cell_time, false},
};

static bool any_has(const struct js *items, const char *key)
{
    for (size_t i = 0; i < js_count(items); i++) {
        if (js_get(js_at(items, i), key) != NULL)
            return true;
    }
    return false;
}

static void queues_table(struct cli *cli, const struct js *items)
{
    const struct queue_column *used[COUNT_OF(queue_columns)];
    struct table_column headings[COUNT_OF(queue_columns)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(queue_columns); i++) {
        const struct queue_column *each = &queue_columns[i];
        if (each->optional && !any_has(items, each->key))
            continue;
        headings[count] = each->column;
        used[count++] = each;
    }
    struct table table;
    table_init(&table, &cli->term, headings, count, &cli->arena);
    for (size_t i = 0; i < js_count(items); i++) {
        for (size_t j = 0; j < count; j++)
            used[j]->cell(cli, &table, js_at(items, i), used[j]->key);
    }
    table_print(&table, stdout);
}

/* The server gives all of them at once: there are few. */
static int run_queue_list(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_get(cli, "/v1/queues", &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct js *items = js_get(answer.tree, "items");
    if (cli->json)
        cli_print_json(&answer);
    else if (js_count(items) == 0)
        (void)printf("No queues yet.\n");
    else
        queues_table(cli, items);
    return CLI_DONE;
}

/* ---- show ---- */

/* One row for each rule, members of members with dots; values that were set are highlighted.  No
   tree is deeper than JS_DEPTH_MAX. */
static void rules_rows(struct cli *cli, struct table *table, const char *prefix,
                       const struct js *effective, const struct js *set)
{
    size_t at = 0;
    const char *key = NULL;
    const struct js *value = NULL;
    while (js_next(effective, &at, &key, &value)) {
        const char *path = arena_printf(&cli->arena, "%s%s", prefix, key);
        const struct js *own = js_get(set, key);
        if (js_type(value) == JS_OBJECT) {
            rules_rows(cli, table, arena_printf(&cli->arena, "%s.", path), value, own);
            continue;
        }
        enum tone tone = own != NULL ? TONE_BOLD : TONE_PLAIN;
        table_cell(table, path, tone);
        table_cell(table, js_str(value, js_text(value, &cli->arena)), tone);
        table_cell(table, own != NULL ? "set" : "default", own != NULL ? TONE_CYAN : TONE_DIM);
    }
}

static void show_rules(struct cli *cli, const struct js *queue)
{
    static const struct table_column columns[] = {
        {"RULE", false, true}, {"VALUE", true, false}, {"FROM", false, false}};
    const struct js *effective = js_get(queue, "effective");
    if (js_count(effective) == 0)
        return;
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    rules_rows(cli, &table, "", effective, js_get(queue, "config"));
    (void)putchar('\n');
    table_print(&table, stdout);
}

/* "12 queued, 3 leased", without states that have no job. */
static const char *counts_text(struct cli *cli, const struct js *jobs)
{
    const char *text = "";
    size_t at = 0;
    const char *state = NULL;
    const struct js *count = NULL;
    while (js_next(jobs, &at, &state, &count)) {
        if (js_int(count, 0) > 0)
            text = arena_printf(&cli->arena, "%s%s%lld %s", text, *text != '\0' ? ", " : "",
                                (long long)js_int(count, 0), state);
    }
    return *text != '\0' ? text : "none";
}

static void show_queue(struct cli *cli, const struct js *queue)
{
    const char *level = js_get_str(queue, "level", NULL);
    bool paused = js_get_bool(queue, "paused", false);
    show_line(cli, "Queue", js_get_str(queue, "name", "?"), TONE_BOLD);
    show_line(cli, "Paused", paused ? "yes: nothing is leased from it" : "no",
              paused ? TONE_YELLOW : TONE_PLAIN);
    show_line(cli, "Level", level, level_tone(level));
    show_time(cli, "Since", queue, "levelSince");
    show_line(cli, "Jobs", counts_text(cli, js_get(queue, "jobs")), TONE_PLAIN);
    show_time(cli, "Oldest", queue, "oldestQueuedAt");
    show_member(cli, "Wants workers", queue, "desiredWorkers");
    show_member(cli, "Version", queue, "version");
    show_rules(cli, queue);
}

static int run_queue_show(struct cli *cli)
{
    const struct http_call call = {.method = "GET", .path = queue_path(cli, "")};
    return show_call(cli, &call, show_queue);
}

/* ---- set ---- */

static enum rc put_rules(struct cli *cli, const char *query, const char *document,
                         struct cli_answer *ret_answer, struct err *err)
{
    const struct http_call call = {
        .method = "PUT", .path = queue_path(cli, query), .body = str_of(document)};
    return cli_call(cli, &call, ret_answer, err);
}

/* Reads the rules, applies the words, and writes them if they have not changed since. */
static enum rc change_rules(struct cli *cli, struct cli_answer *ret_answer, struct err *err)
{
    CLEANUP(cli_answer_release) struct cli_answer now = {0};
    const char *document = NULL, *query = "";
    enum rc rc = cli_get(cli, queue_path(cli, ""), &now, err);
    if (rc != RC_OK)
        return rc;
    rc = cli_assign(js_get(now.tree, "config"), cli->args.words + 1, cli->args.word_count - 1,
                    &cli->arena, &document, err);
    if (rc != RC_OK)
        return rc;
    const struct js *version = js_get(now.tree, "version");
    if (js_type(version) == JS_INT)
        query = arena_printf(&cli->arena, "?version=%lld", (long long)js_int(version, 0));
    return put_rules(cli, query, document, ret_answer, err);
}

/* Another client may have changed them meanwhile: then they are read again. */
static enum rc change_rules_patiently(struct cli *cli, struct cli_answer *ret_answer,
                                      struct err *err)
{
    enum rc rc = change_rules(cli, ret_answer, err);
    for (int i = 1; text_same(err->code, "QUEUE_CHANGED") && i < SET_TRIES; i++) {
        *err = (struct err){0};
        rc = change_rules(cli, ret_answer, err);
    }
    return rc;
}

static enum rc replace_rules(struct cli *cli, const char *file, struct cli_answer *ret_answer,
                             struct err *err)
{
    CLEANUP(js_freep) struct js *document = NULL;
    enum rc rc = cli_read_document(file, &document, err);
    if (rc != RC_OK)
        return rc;
    return put_rules(cli, "", js_text(document, &cli->arena), ret_answer, err);
}

static int run_queue_set(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *file = args_text(&cli->args, "file", NULL);
    bool words = cli->args.word_count > 1;
    if (words == (file != NULL))
        return cli_usage(cli, "give either KEY=VALUE... or --file FILE");
    enum rc rc = words ? change_rules_patiently(cli, &answer, &err)
                       : replace_rules(cli, file, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("Queue %s has new rules.\n", args_word(&cli->args, 0));
    return CLI_DONE;
}

/* ---- pause, resume ---- */

static int switch_queue(struct cli *cli, const char *verb, const char *told)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const struct http_call call = {
        .method = "POST", .path = queue_path(cli, verb), .body = STR("{}")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("Queue %s %s.\n", args_word(&cli->args, 0), told);
    return CLI_DONE;
}

static int run_queue_pause(struct cli *cli)
{
    return switch_queue(cli, "/pause", "is paused: it takes jobs and hands out none");
}

static int run_queue_resume(struct cli *cli)
{
    return switch_queue(cli, "/resume", "hands out jobs again");
}

/* ---- the table ---- */

static const struct arg_option set_options[] = {
    {"file", "FILE", "all rules from a file instead, YAML or JSON; - is standard input", ARG_TEXT,
     0, 0, NULL},
    {0},
};

const struct cli_command cli_queue_commands[] = {
    {"queue list", "list the queues and what waits in them", "[--watch] [--json]", NULL,
     "drover queue list --watch", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_queue_list},
    {"queue show", "show a queue: its jobs, its level and its rules", "NAME [--watch] [--json]",
     NULL, "drover queue show mail", "drover queue list", 1, 1, CLI_REMOTE | CLI_JSON | CLI_REFRESH,
     run_queue_show},
    {"queue set", "change the rules of a queue, from now on",
     "NAME KEY=VALUE... | --file FILE   (KEY= removes a rule: the default again)", set_options,
     "drover queue set mail maxLength=10000 backoff.baseMs=500 ordering=key ttlMs=",
     "drover queue list", 1, SIZE_MAX, CLI_REMOTE | CLI_JSON, run_queue_set},
    {"queue pause", "hand out no more jobs of a queue", "NAME", NULL, "drover queue pause mail",
     "drover queue list", 1, 1, CLI_REMOTE | CLI_JSON, run_queue_pause},
    {"queue resume", "hand out jobs of a paused queue again", "NAME", NULL,
     "drover queue resume mail", "drover queue list", 1, 1, CLI_REMOTE | CLI_JSON,
     run_queue_resume},
    {0},
};
