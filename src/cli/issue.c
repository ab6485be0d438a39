/*
 * issue.c - issues of a repository: issue new, list, show, comment, close, reopen.
 */
#include "base/buf.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/here.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES_MAX = 1024, BODY_BYTES_MAX = 1024 * 1024, FORGE_TIMEOUT_MS = 120 * 1000 };

/* ---- Arguments ---- */

/* The word as the number of an issue, with or without #; NULL: it is none. */
static const char *number_of(const char *word)
{
    int64_t number = 0;
    const char *digits = word[0] == '#' ? word + 1 : word;
    return text_to_i64(digits, &number) && number > 0 ? digits : NULL;
}

struct which {
    const char *repository, *number;
};

/* The number in the first word, and its repository.  False: what is wrong was printed, *ret_status
   is set. */
static bool read_which(struct cli *cli, struct which *which, int *ret_status)
{
    which->number = number_of(args_word(&cli->args, 0));
    if (which->number == NULL) {
        *ret_status = cli_usage(cli, "%s is no number of an issue", args_word(&cli->args, 0));
        return false;
    }
    which->repository = cli_repo(cli, ret_status);
    return which->repository != NULL;
}

static int post(struct cli *cli, const char *path, const struct buf *body, const char *done)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const struct http_call call = {
        .method = "POST", .path = path, .body = buf_str(body), .timeout_ms = FORGE_TIMEOUT_MS};
    enum rc rc = body->overflow ? err_set(&err, RC_TOO_LARGE, "TOO_LARGE", "the text is too long")
                                : cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    (void)printf("Issue #%lld %s.\n", (long long)js_get_int(answer.tree, "number", 0), done);
    return CLI_DONE;
}

static int run_new(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(buf_release) struct buf body;
    buf_init(&text, BODY_BYTES_MAX);
    buf_init(&body, BODY_BYTES_MAX);
    int status = CLI_USAGE;
    if (!args_has(&cli->args, "title"))
        return cli_usage(cli, "--title TEXT is missing");
    const char *repository = cli_repo(cli, &status);
    if (repository == NULL)
        return status;
    enum rc rc = cli_read_text(cli, 0, &text, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "repository", repository);
    jw_kstr(&jw, "title", args_text(&cli->args, "title", NULL));
    jw_optstr(&jw, "body", buf_text(&text));
    cli_write_list(cli, &jw, "label", "labels");
    jw_end(&jw, '}');
    return post(cli, "/v1/issues", &body, "is open");
}

static int run_comment(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(buf_release) struct buf body;
    buf_init(&text, BODY_BYTES_MAX);
    buf_init(&body, BODY_BYTES_MAX);
    int status = CLI_USAGE;
    struct which which;
    if (!read_which(cli, &which, &status))
        return status;
    enum rc rc = cli_read_text(cli, 1, &text, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "repository", which.repository);
    jw_kstr(&jw, "body", buf_text(&text));
    jw_end(&jw, '}');
    return post(cli, cli_path(cli, "/v1/issues/", which.number, "/comments"), &body,
                "has your comment");
}

static int set_state(struct cli *cli, const char *action, const char *done)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    int status = CLI_USAGE;
    struct which which;
    if (!read_which(cli, &which, &status))
        return status;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "repository", which.repository);
    jw_end(&jw, '}');
    return post(cli, cli_path(cli, "/v1/issues/", which.number, action), &body, done);
}

static int run_close(struct cli *cli)
{
    return set_state(cli, "/close", "is closed");
}

static int run_reopen(struct cli *cli)
{
    return set_state(cli, "/reopen", "is open");
}

static int run_label(struct cli *cli)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    int status = CLI_USAGE;
    struct which which;
    if (!args_has(&cli->args, "add") && !args_has(&cli->args, "remove"))
        return cli_usage(cli, "--add LABEL or --remove LABEL is missing");
    if (!read_which(cli, &which, &status))
        return status;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "repository", which.repository);
    cli_write_list(cli, &jw, "add", "add");
    cli_write_list(cli, &jw, "remove", "remove");
    jw_end(&jw, '}');
    return post(cli, cli_path(cli, "/v1/issues/", which.number, "/labels"), &body,
                "has its labels");
}

/* ---- list, show ---- */

static void issues_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"NUMBER", true, false},   {"STATE", false, false}, {"UPDATED", false, false},
        {"COMMENTS", true, false}, {"TITLE", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *issue = listing->items[i];
        const char *state = js_get_str(issue, "state", "?");
        table_cell(&table,
                   arena_printf(&cli->arena, "#%lld", (long long)js_get_int(issue, "number", 0)),
                   TONE_BOLD);
        table_cell(&table, state, term_status_tone(state));
        table_cell(&table, term_time(&cli->term, js_get_str(issue, "updatedAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(
            &table,
            arena_printf(&cli->arena, "%lld", (long long)js_get_int(issue, "commentCount", 0)),
            TONE_PLAIN);
        table_cell(&table, js_get_str(issue, "title", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    int status = CLI_USAGE;
    const char *repository = cli_repo(cli, &status);
    if (repository == NULL)
        return status;
    buf_adds(&path, "/v1/issues");
    url_add_query(&path, "repository", repository);
    if (args_has(&cli->args, "state") || !args_has(&cli->args, "all"))
        url_add_query(&path, "state", args_text(&cli->args, "state", "open"));
    cli->timeout_ms = FORGE_TIMEOUT_MS;
    return show_list(
        cli, &(struct show_list){buf_text(&path),
                                 "No such issues. Open one: drover issue new --repo NAME --title "
                                 "\"what is wrong\"",
                                 issues_table});
}

/* ---- intake ---- */

static void intake_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"REPOSITORY", false, false}, {"NUMBER", true, false}, {"STATE", false, false},
        {"LOOKED", false, false},     {"REASON", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *row = listing->items[i];
        const char *state = js_get_str(row, "state", "?");
        table_cell(&table, js_get_str(row, "repository", ""), TONE_PLAIN);
        table_cell(&table,
                   arena_printf(&cli->arena, "#%lld", (long long)js_get_int(row, "number", 0)),
                   TONE_BOLD);
        table_cell(&table, state, term_status_tone(state));
        table_cell(&table, term_time(&cli->term, js_get_str(row, "lookedAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(row, "reason", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_intake(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/intake");
    if (args_has(&cli->args, "repo"))
        url_add_query(&path, "repository", args_text(&cli->args, "repo", ""));
    if (args_has(&cli->args, "state"))
        url_add_query(&path, "state", args_text(&cli->args, "state", ""));
    return show_list(
        cli, &(struct show_list){buf_text(&path),
                                 "No issue was looked at: no repository has `intake:`, or nothing "
                                 "has happened there yet.",
                                 intake_table});
}

/* Line by line, each made safe. */
static void print_text(const char *text)
{
    while (*text != '\0') {
        CLEANUP(arena_release) struct arena arena = {0};
        CLEANUP(buf_release) struct buf clean;
        size_t len = strcspn(text, "\n");
        buf_init(&clean, BODY_BYTES_MAX);
        term_clean(&clean, arena_strndup(&arena, text, len));
        (void)printf("%s\n", buf_text(&clean));
        text += len + (text[len] == '\n');
    }
}

static void print_issue(struct cli *cli, const struct js *issue)
{
    show_line(cli, "Issue",
              arena_printf(&cli->arena, "#%lld %s", (long long)js_get_int(issue, "number", 0),
                           js_get_str(issue, "title", "")),
              TONE_BOLD);
    show_member(cli, "Repository", issue, "repository");
    show_member(cli, "State", issue, "state");
    show_member(cli, "Labels", issue, "labels");
    show_member(cli, "By", issue, "author");
    show_time(cli, "Opened", issue, "createdAt");
    const char *body = js_get_str(issue, "body", "");
    if (body[0] != '\0') {
        (void)printf("\n");
        print_text(body);
    }
    const struct js *comments = js_get(issue, "comments");
    for (size_t i = 0; i < js_count(comments); i++) {
        const struct js *comment = js_at(comments, i);
        (void)printf("\n");
        show_line(cli, "Comment",
                  arena_printf(
                      &cli->arena, "%s, %s", js_get_str(comment, "author", "?"),
                      term_time(&cli->term, js_get_str(comment, "createdAt", NULL), &cli->arena)),
                  TONE_DIM);
        print_text(js_get_str(comment, "body", ""));
    }
}

static int run_show(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf path;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&path, PATH_BYTES_MAX);
    int status = CLI_USAGE;
    struct which which;
    if (!read_which(cli, &which, &status))
        return status;
    buf_addf(&path, "/v1/issues/%s", which.number);
    url_add_query(&path, "repository", which.repository);
    cli->timeout_ms = FORGE_TIMEOUT_MS;
    enum rc rc = cli_get(cli, buf_text(&path), &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print_issue(cli, answer.tree);
    return CLI_DONE;
}

/* ---- The table ---- */

static const char *const state_names[] = {"open", "closed", NULL};

static const struct arg_option new_options[] = {
    {"repo", "NAME", "the repository that it is about (default: that of the checkout here)",
     ARG_TEXT, 0, 0, NULL},
    {"title", "TEXT", "what is wrong or wanted, in one line", ARG_TEXT, 0, 0, NULL},
    {"label", "TEXT", "a label; may be repeated", ARG_LIST, 0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {
    {"repo", "NAME", "the repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {"state", "STATE", "open (default) or closed", ARG_CHOICE, 0, 0, state_names},
    {"all", NULL, "open and closed ones", ARG_FLAG, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option repo_options[] = {
    {"repo", "NAME", "the repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {0},
};

static const char *const intake_states[] = {"seen", "awaiting", "active", "done", NULL};
static const struct arg_option intake_options[] = {
    {"repo", "NAME", "only those of this repository", ARG_TEXT, 0, 0, NULL},
    {"state", "STATE", "seen, awaiting, active or done", ARG_CHOICE, 0, 0, intake_states},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option label_options[] = {
    {"repo", "NAME", "the repository (default: that of the checkout here)", ARG_TEXT, 0, 0, NULL},
    {"add", "LABEL", "a label to add; may be repeated", ARG_LIST, 0, 0, NULL},
    {"remove", "LABEL", "a label to remove; may be repeated", ARG_LIST, 0, 0, NULL},
    {0},
};

const struct cli_command cli_issue_commands[] = {
    {"issue new", "open an issue",
     "[--repo NAME] --title TEXT [--label TEXT...] [TEXT]   (TEXT -: from standard input)",
     new_options, "drover issue new --repo acme/billing --title \"VAT is rounded down\"",
     "drover repo list", 0, SIZE_MAX, CLI_REMOTE | CLI_JSON, run_new},
    {"issue list", "list issues", "[--repo NAME] [--all | --state STATE] [--limit N] [--json]",
     list_options, "drover issue list --repo acme/billing", "drover repo list", 0, 0,
     CLI_REMOTE | CLI_JSON, run_list},
    {"issue show", "show an issue with its comments", "NUMBER [--repo NAME] [--json]", repo_options,
     "drover issue show 12 --repo acme/billing", "drover issue list --repo NAME", 1, 1,
     CLI_REMOTE | CLI_JSON, run_show},
    {"issue comment", "say something about an issue",
     "NUMBER [--repo NAME] TEXT   (TEXT -: from standard input)", repo_options,
     "drover issue comment 12 --repo acme/billing \"only for reverse charge\"",
     "drover issue list --repo NAME", 2, SIZE_MAX, CLI_REMOTE | CLI_JSON, run_comment},
    {"issue close", "close an issue", "NUMBER [--repo NAME]", repo_options,
     "drover issue close 12 --repo acme/billing", "drover issue list --repo NAME", 1, 1,
     CLI_REMOTE | CLI_JSON, run_close},
    {"issue reopen", "open an issue again", "NUMBER [--repo NAME]", repo_options,
     "drover issue reopen 12 --repo acme/billing", "drover issue list --repo NAME --all", 1, 1,
     CLI_REMOTE | CLI_JSON, run_reopen},
    {"issue label", "add and remove labels of an issue",
     "NUMBER [--repo NAME] [--add LABEL...] [--remove LABEL...]", label_options,
     "drover issue label 12 --repo acme/billing --add drover", "drover issue list --repo NAME", 1,
     1, CLI_REMOTE | CLI_JSON, run_label},
    {"issue intake", "list issues that were looked at, and what was decided",
     "[--repo NAME] [--state STATE] [--limit N] [--json]", intake_options,
     "drover issue intake --state awaiting", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_intake},
    {0},
};
