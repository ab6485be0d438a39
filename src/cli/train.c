/*
 * train.c - merge trains: train, train add, train remove.
 */
#include "base/buf.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/pr.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES_MAX = 1024, NOTE_MAX = 60 };

static enum tone tone_of(const char *state)
{
    if (text_same(state, "landed") || text_same(state, "green"))
        return TONE_GREEN;
    if (text_same(state, "rejected") || text_same(state, "conflict") || text_same(state, "red"))
        return TONE_RED;
    return TONE_PLAIN;
}

/* Its first line, as far as it fits. */
static const char *note_of(struct cli *cli, const struct js *car)
{
    const char *text = js_get_str(car, "detail", "");
    size_t len = strcspn(text, "\n");
    bool cut = len > NOTE_MAX;
    return arena_printf(&cli->arena, "%.*s%s", (int)(cut ? NOTE_MAX : len), text, cut ? "..." : "");
}

static void add_cars(struct cli *cli, struct table *table, const struct js *cars)
{
    for (size_t i = 0; i < js_count(cars); i++) {
        const struct js *car = js_at(cars, i);
        const char *state = js_get_str(car, "state", "?");
        table_cell(table,
                   arena_printf(&cli->arena, "#%lld", (long long)js_get_int(car, "number", 0)),
                   TONE_BOLD);
        table_cell(table, state, tone_of(state));
        table_cell(table, js_get_bool(car, "urgent", false) ? "urgent" : "", TONE_PLAIN);
        table_cell(table, term_time(&cli->term, js_get_str(car, "enteredAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(table, js_get_str(car, "title", ""), TONE_PLAIN);
        table_cell(table, note_of(cli, car), TONE_PLAIN);
    }
}

static void print_train(struct cli *cli, const struct js *train)
{
    static const struct table_column columns[] = {
        {"NUMBER", true, false},   {"STATE", false, false}, {"", false, false},
        {"ENTERED", false, false}, {"TITLE", false, true},  {"NOTE", false, false},
    };
    struct table table;
    (void)printf("%s, %s: %s, %lld waiting, %lld landed, %lld rejected, %lld verifications in %lld "
                 "rounds\n",
                 js_get_str(train, "repository", ""), js_get_str(train, "targetBranch", ""),
                 js_get_str(train, "state", ""), (long long)js_count(js_get(train, "cars")),
                 (long long)js_get_int(train, "landed", 0),
                 (long long)js_get_int(train, "rejected", 0),
                 (long long)js_get_int(train, "verifications", 0),
                 (long long)js_get_int(train, "rounds", 0));
    show_error(cli, train);
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    add_cars(cli, &table, js_get(train, "cars"));
    add_cars(cli, &table, js_get(train, "ended"));
    table_print(&table, stdout);
}

static void print_trains(struct cli *cli, const struct cli_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (i > 0)
            (void)printf("\n");
        print_train(cli, listing->items[i]);
    }
}

static int run_train(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/trains");
    if (cli->args.word_count > 0)
        url_add_query(&path, "repository", args_word(&cli->args, 0));
    return show_list(cli, &(struct show_list){buf_text(&path), "No trains.", print_trains});
}

static int call_train(struct cli *cli, const char *method, struct str body, const char *done)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_resolve_pr(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK) {
        const struct http_call call = {
            .method = method,
            .path = cli_path(cli, "/v1/pull-requests/", id.text, "/train"),
            .body = body,
        };
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json && answer.tree != NULL)
        cli_print_json(&answer);
    else if (!cli->json)
        (void)printf("Pull request %s %s.\n", args_word(&cli->args, 0), done);
    return CLI_DONE;
}

static int run_add(struct cli *cli)
{
    bool urgent = args_has(&cli->args, "urgent");
    return call_train(cli, "POST", urgent ? STR("{\"urgent\":true}") : STR("{}"),
                      "is in the train of its target branch");
}

static int run_remove(struct cli *cli)
{
    return call_train(cli, "DELETE", (struct str){0}, "left the train");
}

static const struct arg_option train_options[] = {
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option add_options[] = {
    {"repo", "NAME", "its repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {"urgent", NULL, "before those that are not", ARG_FLAG, 0, 0, NULL},
    {0},
};
static const struct arg_option remove_options[] = {
    {"repo", "NAME", "its repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_train_commands[] = {
    {"train", "show the merge trains", "[REPO] [--limit N] [--json]", train_options,
     "drover train acme/billing", "drover repo list", 0, 1, CLI_REMOTE | CLI_JSON, run_train},
    {"train add", "put a pull request into the train of its target branch",
     "NUMBER|ID [--repo NAME] [--urgent]", add_options, "drover train add 7 --repo acme/billing",
     "drover prs", 1, 1, CLI_REMOTE | CLI_JSON, run_add},
    {"train remove", "take a pull request out of its train", "NUMBER|ID [--repo NAME]",
     remove_options, "drover train remove 7 --repo acme/billing", "drover prs", 1, 1,
     CLI_REMOTE | CLI_JSON, run_remove},
    {0},
};
