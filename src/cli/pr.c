/*
 * pr.c - pull requests: prs, pr show, pr merge, pr close, pr follow, pr leave.
 */
#include "cli/pr.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/here.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>

enum { PATH_BYTES_MAX = 1024, SEARCH_MAX = 10000, FORGE_TIMEOUT_MS = 120 * 1000 };

const char *cli_pr_status(const struct js *pr)
{
    const char *status = js_get_str(pr, "status", "?");
    bool draft = js_get_bool(pr, "draft", false) && text_same(status, "open");
    return draft ? "draft" : status;
}

void cli_show_pr(struct cli *cli, const struct js *owner)
{
    const struct js *pr = js_get(owner, "pullRequest");
    if (js_type(pr) != JS_OBJECT)
        return;
    show_line(cli, "Pull request",
              arena_printf(&cli->arena, "#%lld %s %s", (long long)js_get_int(pr, "number", 0),
                           cli_pr_status(pr), js_get_str(pr, "url", "")),
              TONE_PLAIN);
}

static void prs_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"NUMBER", true, false},      {"STATUS", false, false}, {"SHEPHERD", false, false},
        {"REPOSITORY", false, false}, {"OPENED", false, false}, {"TITLE", false, true},
        {"URL", false, false},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        table_cell(&table,
                   arena_printf(&cli->arena, "#%lld", (long long)js_get_int(item, "number", 0)),
                   TONE_BOLD);
        table_cell(&table, cli_pr_status(item), term_status_tone(js_get_str(item, "status", "?")));
        table_cell(&table, js_get_str(item, "shepherdState", "-"), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "repository", ""), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "title", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "url", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

/* The listing's path, of one repository unless that is NULL. */
static void listing_path(struct buf *path, const char *repository)
{
    buf_init(path, PATH_BYTES_MAX);
    buf_adds(path, "/v1/pull-requests");
    if (repository != NULL)
        url_add_query(path, "repository", repository);
}

static int run_prs(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    listing_path(&path, args_text(&cli->args, "repo", NULL));
    if (args_has(&cli->args, "status"))
        url_add_query(&path, "status", args_text(&cli->args, "status", ""));
    return show_list(cli, &(struct show_list){buf_text(&path), "No pull requests.", prs_table});
}

/* ---- pr show ---- */

static void print_failures(struct cli *cli, const struct js *failures)
{
    for (size_t i = 0; i < js_count(failures); i++) {
        const struct js *item = js_at(failures, i);
        show_line(cli, i == 0 ? "Failing" : "",
                  arena_printf(&cli->arena, "%s (%s): %s", js_get_str(item, "check", "?"),
                               js_get_str(item, "cause", "?"), js_get_str(item, "line", "")),
                  TONE_PLAIN);
    }
}

static void print_shepherd(struct cli *cli, const struct js *shepherd)
{
    const struct js *attempts = js_get(shepherd, "attempts");
    const struct js *work = js_get(shepherd, "work");
    show_member(cli, "Shepherd", shepherd, "state");
    show_member(cli, "Reason", shepherd, "reason");
    show_member(cli, "Head", shepherd, "head");
    show_member(cli, "Certificate", shepherd, "certificate");
    show_line(cli, "Attempts",
              arena_printf(&cli->arena, "%lld reruns, %lld repairs, %lld rebases; $%.2f",
                           (long long)js_get_int(attempts, "reruns", 0),
                           (long long)js_get_int(attempts, "repairs", 0),
                           (long long)js_get_int(attempts, "rebases", 0),
                           js_num(js_get(shepherd, "costUsd"), 0)),
              TONE_PLAIN);
    if (js_type(work) == JS_OBJECT)
        show_line(cli, "Under way",
                  arena_printf(&cli->arena, "%s %s", js_get_str(work, "kind", "?"),
                               js_get_str(work, "taskId", js_get_str(work, "jobId", ""))),
                  TONE_PLAIN);
    print_failures(cli, js_get(shepherd, "failures"));
    show_time(cli, "Looked at", shepherd, "lookedAt");
    show_member(cli, "Approval", shepherd, "approvalId");
    if (js_get_bool(shepherd, "stopped", false))
        show_line(cli, "Left alone", "until: drover pr follow", TONE_YELLOW);
}

static void print_pr(struct cli *cli, const struct id *id, const struct js *pr)
{
    const struct js *shepherd = js_get(pr, "shepherd");
    show_line(cli, "Pull request",
              arena_printf(&cli->arena, "#%lld %s", (long long)js_get_int(pr, "number", 0),
                           js_get_str(pr, "title", "")),
              TONE_BOLD);
    show_line(cli, "Id", id->text, TONE_PLAIN);
    show_line(cli, "Status", cli_pr_status(pr), term_status_tone(js_get_str(pr, "status", "?")));
    show_member(cli, "Repository", pr, "repository");
    show_member(cli, "Branch", pr, "branch");
    show_member(cli, "Into", pr, "targetBranch");
    show_member(cli, "URL", pr, "url");
    show_member(cli, "Run", pr, "runId");
    show_time(cli, "Opened", pr, "createdAt");
    show_member(cli, "Merged as", pr, "mergeCommit");
    if (js_type(shepherd) == JS_OBJECT)
        print_shepherd(cli, shepherd);
}

static int run_show(struct cli *cli)
{
    return show_one(cli, &(struct show_one){.resolve = cli_resolve_pr,
                                            .prefix = "/v1/pull-requests/",
                                            .suffix = "",
                                            .print = print_pr});
}

/* ---- pr merge, pr close, pr follow, pr leave ---- */

/* By number, where several repositories may have one, or by the start of the id. */
static bool is_meant(const struct js *pr, const struct id_search *search, const void *ctx)
{
    const int64_t *number = ctx;
    if (*number > 0)
        return js_get_int(pr, "number", 0) == *number;
    return text_starts(js_get_str(pr, "id", ""), search->word);
}

static enum rc search_prs(struct cli *cli, const char *repository, const int64_t *number,
                          struct id_search *search, struct err *err)
{
    CLEANUP(buf_release) struct buf path;
    listing_path(&path, repository);
    const struct item_walk walk = {buf_text(&path), SEARCH_MAX, is_meant, number};
    return id_search_items(cli, &walk, search, err);
}

enum rc cli_resolve_pr(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    int64_t number = 0;
    const char *digits = word[0] == '#' ? word + 1 : word;
    const char *repository = args_text(&cli->args, "repo", NULL);
    if (!text_to_i64(digits, &number) && !id_prefix_valid(word))
        return err_set(err, RC_MALFORMED, "INVALID_ID",
                       "\"%s\" is no number of a pull request, and no id", word);
    struct id_search search = {.word = word};
    enum rc rc = search_prs(cli, repository, &number, &search, err);
    /* In a checkout a number is that of its own repository. */
    if (rc == RC_OK && number > 0 && search.count > 1 && repository == NULL &&
        (repository = here_only(cli)) != NULL) {
        search = (struct id_search){.word = word};
        rc = search_prs(cli, repository, &number, &search, err);
    }
    if (rc != RC_OK)
        return rc;
    if (number > 0 && search.count > 1)
        return err_set(err, RC_MALFORMED, "AMBIGUOUS_NUMBER",
                       "%zu repositories have a pull request #%lld: say which by --repo NAME",
                       search.count, (long long)number);
    return id_search_end(&search, "pull request", ret_id, err);
}

static int act(struct cli *cli, const char *action, struct str body, const char *done)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_resolve_pr(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK) {
        const struct http_call call = {
            .method = "POST",
            .path = cli_path(cli, "/v1/pull-requests/", id.text, action),
            .body = body,
            .timeout_ms = FORGE_TIMEOUT_MS,
        };
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    (void)printf("Pull request #%lld is %s.\n", (long long)js_get_int(answer.tree, "number", 0),
                 done);
    show_member(cli, "Repository", answer.tree, "repository");
    show_member(cli, "Commit", answer.tree, "mergeCommit");
    return CLI_DONE;
}

static int run_merge(struct cli *cli)
{
    return act(cli, "/merge", (struct str){0}, "merged");
}

static int run_close(struct cli *cli)
{
    return act(cli, "/close", cli_reason_body(cli), "closed");
}

static int run_follow(struct cli *cli)
{
    return act(cli, "/follow", cli_reason_body(cli), "followed, with new budgets");
}

static int run_leave(struct cli *cli)
{
    return act(cli, "/leave", cli_reason_body(cli), "left to people; drover notes its end");
}

static const char *const status_names[] = {"open", "merged", "closed", NULL};

static const struct arg_option prs_options[] = {
    {"repo", "NAME", "only of this repository", ARG_TEXT, 0, 0, NULL},
    {"status", "STATUS", "open, merged or closed", ARG_CHOICE, 0, 0, status_names},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option merge_options[] = {
    {"repo", "NAME", "its repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {0},
};

static const struct arg_option close_options[] = {
    {"repo", "NAME", "its repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {"reason", "TEXT", "why, for the record", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_pr_commands[] = {
    {"prs", "list pull requests", "[--repo NAME] [--status STATUS] [--limit N] [--json]",
     prs_options, "drover prs --status open", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_prs},
    {"pr show", "show a pull request, and how far drover has come with it",
     "NUMBER|ID [--repo NAME] [--json]", merge_options, "drover pr show 7 --repo acme/billing",
     "drover prs", 1, 1, CLI_REMOTE | CLI_JSON, run_show},
    {"pr merge", "merge a pull request", "NUMBER|ID [--repo NAME]", merge_options,
     "drover pr merge 7 --repo acme/billing", "drover prs", 1, 1, CLI_REMOTE | CLI_JSON, run_merge},
    {"pr close", "close a pull request without merging it",
     "NUMBER|ID [--repo NAME] [--reason TEXT]", close_options,
     "drover pr close 7 --repo acme/billing --reason \"solved elsewhere\"", "drover prs", 1, 1,
     CLI_REMOTE | CLI_JSON, run_close},
    {"pr follow", "let drover go on with a pull request that a person has taken over",
     "NUMBER|ID [--repo NAME] [--reason TEXT]", close_options,
     "drover pr follow 7 --repo acme/billing", "drover prs", 1, 1, CLI_REMOTE | CLI_JSON,
     run_follow},
    {"pr leave", "take a pull request over: drover leaves it alone",
     "NUMBER|ID [--repo NAME] [--reason TEXT]", close_options,
     "drover pr leave 7 --repo acme/billing --reason \"I finish it by hand\"", "drover prs", 1, 1,
     CLI_REMOTE | CLI_JSON, run_leave},
    {0},
};
