/*
 * lifecycle.c - what the log says of an issue and of agents: issue status, issue duration,
 * issue reassignments, agents efficiency.
 */
#include "base/clock.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

/* The story of the issue that the first word names, or the exit status in *ret_exit. */
static bool load(struct cli *cli, struct cli_answer *answer, int *ret_exit)
{
    struct err err = {0};
    const char *path = cli_path(cli, "/v1/lifecycle/", args_word(&cli->args, 0), "");
    enum rc rc = cli_get(cli, path, answer, &err);
    *ret_exit = CLI_DONE;
    if (rc != RC_OK)
        *ret_exit = cli_fail(cli, rc, &err);
    else if (cli->json)
        cli_print_json(answer);
    return rc == RC_OK && !cli->json;
}

static int run_status(struct cli *cli)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    int status;
    if (!load(cli, &answer, &status))
        return status;
    show_member(cli, "Issue", answer.tree, "issueId");
    show_member(cli, "Status", answer.tree, "status");
    show_member(cli, "Stage", answer.tree, "stage");
    show_time(cli, "Since", answer.tree, "statusAt");
    show_member(cli, "Assigned to", answer.tree, "assignedTo");
    show_member(cli, "Branch", answer.tree, "branch");
    show_member(cli, "Pull request", answer.tree, "pullRequest");
    show_time(cli, "Gate since", answer.tree, "gateOpenSince");
    show_time(cli, "Approved", answer.tree, "approvedAt");
    show_time(cli, "Done", answer.tree, "doneAt");
    return CLI_DONE;
}

static int run_duration(struct cli *cli)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    char text[TIME_TEXT_BYTES];
    int status;
    if (!load(cli, &answer, &status))
        return status;
    double seconds = js_num(js_get(answer.tree, "durationSeconds"), -1);
    if (seconds >= 0)
        (void)printf("%s from approved to done\n", duration_format(text, (int64_t)(seconds * 1e6)));
    else if (js_get_str(answer.tree, "approvedAt", NULL) == NULL)
        (void)printf("The log has no approval of this issue.\n");
    else
        (void)printf("It is not done yet; approved %s\n",
                     term_time(&cli->term, js_get_str(answer.tree, "approvedAt", ""), &cli->arena));
    return CLI_DONE;
}

static int run_reassignments(struct cli *cli)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    int status;
    if (!load(cli, &answer, &status))
        return status;
    (void)printf("%lld\n", (long long)js_get_int(answer.tree, "reassignments", 0));
    return CLI_DONE;
}

static int run_assignments(struct cli *cli)
{
    static const struct table_column columns[] = {{"ISSUE", false, false},
                                                  {"STAGE", false, false},
                                                  {"SINCE", false, false},
                                                  {"BRANCH", false, false},
                                                  {"TITLE", false, true}};
    struct err err = {0};
    CLEANUP(cli_listing_release) struct cli_listing listing = {0};
    const char *path = cli_path(cli, "/v1/lifecycle?assignedTo=", args_word(&cli->args, 0), "");
    enum rc rc = cli_list(cli, path, &listing, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_listing_print_json(cli, &listing);
        return CLI_DONE;
    }
    if (listing.count == 0)
        (void)printf("No issue is assigned to this agent.\n");
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing.count; i++) {
        const struct js *item = listing.items[i];
        table_cell(&table, js_get_str(item, "issueId", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "stage", ""), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "stageAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "branch", "-"), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "title", ""), TONE_PLAIN);
    }
    if (listing.count > 0)
        table_print(&table, stdout);
    return CLI_DONE;
}

static int run_efficiency(struct cli *cli)
{
    static const struct table_column columns[] = {
        {"AGENT", false, true}, {"ISSUES", true, false}, {"AVERAGE", true, false}};
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_get(cli, "/v1/agents/efficiency", &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct js *items = js_get(answer.tree, "items");
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    if (js_count(items) == 0)
        (void)printf("The log has no issue that was assigned and done.\n");
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        double seconds = js_num(js_get(item, "averageSeconds"), 0);
        char average[TIME_TEXT_BYTES];
        table_cell(&table, js_get_str(item, "agentId", ""), TONE_BOLD);
        table_cell(&table,
                   arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "issues", 0)),
                   TONE_PLAIN);
        table_cell(&table, duration_format(average, (int64_t)(seconds * 1e6)), TONE_PLAIN);
    }
    if (js_count(items) > 0)
        table_print(&table, stdout);
    return CLI_DONE;
}

static const struct arg_option assignment_options[] = {CLI_LIMIT_OPTION, {0}};

const struct cli_command cli_lifecycle_commands[] = {
    {"issue status", "show how far an issue is on its way to production, by the event log",
     "ID [--json]", NULL, "drover issue status 42", "drover events", 1, 1, CLI_REMOTE | CLI_JSON,
     run_status},
    {"issue duration", "show how long an issue took from its approval to its end", "ID [--json]",
     NULL, "drover issue duration 42", "drover events", 1, 1, CLI_REMOTE | CLI_JSON, run_duration},
    {"issue reassignments", "show how often an issue was given to another agent", "ID [--json]",
     NULL, "drover issue reassignments 42", "drover events", 1, 1, CLI_REMOTE | CLI_JSON,
     run_reassignments},
    {"issue assignments", "list the issues that an agent should be working on",
     "AGENT [--limit N] [--json]", assignment_options, "drover issue assignments dev-1",
     "drover issue status", 1, 1, CLI_REMOTE | CLI_JSON, run_assignments},
    {"agents efficiency", "show how long agents take from an assignment to the end of its issue",
     "[--json]", NULL, "drover agents efficiency", NULL, 0, 0, CLI_REMOTE | CLI_JSON,
     run_efficiency},
    {0},
};
