/*
 * approval.c - questions to a person: approvals, approval, approve, reject.
 */
#include "base/buf.h"
#include "base/str.h"
#include "cli/artifact.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 1024 };

static void approvals_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},     {"STATUS", false, false},  {"KIND", false, false},
        {"AGE", true, false},     {"EXPIRES", false, false}, {"RUN", false, false},
        {"SUMMARY", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    size_t run_len = id_short_len(listing->items, listing->count, "runId");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *status = js_get_str(item, "status", "?");
        table_cell(&table, cli_id_shown(cli, item, "id", len), TONE_PLAIN);
        table_cell(&table, status, term_status_tone(status));
        table_cell(&table, js_get_str(item, "kind", ""), TONE_PLAIN);
        table_cell(&table, show_age(cli, item, "decidedAt"), TONE_DIM);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "expiresAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, cli_id_shown(cli, item, "runId", run_len), TONE_DIM);
        table_cell(&table, js_get_str(item, "summary", js_get_str(item, "question", "")),
                   TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_approvals(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/approvals");
    if (!args_has(&cli->args, "all"))
        url_add_query(&path, "status", "pending");
    return show_list(cli, &(struct show_list){buf_text(&path), "Nothing waits for an approval.",
                                              approvals_table});
}

static enum rc resolve(struct cli *cli, bool also_past, struct id *ret_id, struct err *err)
{
    const struct cli_waiting what = {"approval", "/v1/approvals", also_past};
    return cli_resolve_waiting(cli, &what, args_word(&cli->args, 0), ret_id, err);
}

static void show_findings(struct cli *cli, const struct js *findings)
{
    for (size_t i = 0; i < js_count(findings); i++) {
        const struct js *finding = js_at(findings, i);
        show_line(cli, i == 0 ? "Findings" : "",
                  arena_printf(&cli->arena, "%s: %s", js_get_str(finding, "rule", "finding"),
                               js_get_str(finding, "text", "")),
                  TONE_PLAIN);
    }
}

static void show_approval(struct cli *cli, const struct js *approval)
{
    show_line(cli, "Approval", js_get_str(approval, "id", "?"), TONE_BOLD);
    show_status(cli, approval);
    show_member(cli, "Kind", approval, "kind");
    show_member(cli, "Question", approval, "question");
    show_member(cli, "Summary", approval, "summary");
    show_findings(cli, js_get(approval, "findings"));
    show_member(cli, "Task", approval, "taskId");
    show_member(cli, "Run", approval, "runId");
    show_line(cli, "Age", show_age(cli, approval, "decidedAt"), TONE_PLAIN);
    show_time(cli, "Expires", approval, "expiresAt");
    show_time(cli, "Decided", approval, "decidedAt");
    show_member(cli, "Decided by", approval, "decidedBy");
    show_member(cli, "Reason", approval, "reason");
}

/* The question, and under it the diff or the plan that it is about. */
static int run_approval(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = resolve(cli, true, &id, &err);
    if (rc == RC_OK)
        rc = cli_get(cli, cli_path(cli, "/v1/approvals/", id.text, ""), &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    show_approval(cli, answer.tree);
    const char *plan = js_get_str(answer.tree, "planArtifactId", NULL);
    const char *sha256 = plan != NULL ? plan : js_get_str(answer.tree, "diffArtifactId", NULL);
    if (sha256 != NULL) {
        (void)printf("\n");
        (void)fflush(stdout);
        rc = cli_artifact_write(cli, sha256, STDOUT_FILENO, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (text_same(js_get_str(answer.tree, "status", ""), "pending"))
        show_next(cli, "Answer", "drover approve %s (or reject), with --reason TEXT", id.text);
    return CLI_DONE;
}

static int decide(struct cli *cli, const char *verb, const char *done)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = resolve(cli, false, &id, &err);
    if (rc == RC_OK) {
        const struct http_call call = {.method = "POST",
                                       .path = cli_path(cli, "/v1/approvals/", id.text, verb),
                                       .body = cli_reason_body(cli)};
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    (void)printf("Approval %s is %s.\n", id.text, done);
    const char *run_id = js_get_str(answer.tree, "runId", NULL);
    if (run_id != NULL)
        show_next(cli, "Watch it", "drover watch %s", shell_quote(run_id, &cli->arena));
    return CLI_DONE;
}

static int run_approve(struct cli *cli)
{
    return decide(cli, "/approve", "approved");
}

static int run_reject(struct cli *cli)
{
    return decide(cli, "/reject", "rejected");
}

static const struct arg_option approvals_options[] = {
    {"all", NULL, "also those that were answered", ARG_FLAG, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option decide_options[] = {
    {"reason", "TEXT", "why, for the record", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_approval_commands[] = {
    {"approvals", "list what waits for an answer", "[--all] [--limit N] [--json]",
     approvals_options, "drover approvals", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_approvals},
    {"approval", "show a question, with the diff or the plan",
     "ID   (of the approval, its run or its task)", NULL, "drover approval latest",
     "drover approvals", 1, 1, CLI_REMOTE | CLI_JSON, run_approval},
    {"approve", "say yes", "ID [--reason TEXT]   (of the approval, its run or its task)",
     decide_options, "drover approve latest", "drover approvals", 1, 1, CLI_REMOTE | CLI_JSON,
     run_approve},
    {"reject", "say no: the run fails",
     "ID [--reason TEXT]   (of the approval, its run or its task)", decide_options,
     "drover reject latest --reason \"not this way\"", "drover approvals", 1, 1,
     CLI_REMOTE | CLI_JSON, run_reject},
    {0},
};
