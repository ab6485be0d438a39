/*
 * cli_repo.c - repositories: repo add, list, show, set, remove, quarantine, release.
 *
 * A configuration file (YAML or JSON) is read here and sent as JSON; --url weighs more than the
 * file's own, and a path to a repository on this machine is made absolute, because the server
 * stands in another directory.
 */
#include "base/buf.h"
#include "base/jw.h"
#include "base/str.h"
#include "edge/cli_client.h"
#include "edge/cli_input.h"
#include "edge/cli_show.h"
#include "edge/cli_table.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONFIG_BYTES_MAX = 512 * 1024 };

/* ---- the document ---- */

/* "./x" and "../x" as seen from here; everything else as it is. */
static const char *absolute_url(struct cli *cli, const char *url)
{
    if (url[0] != '.')
        return url;
    const char *path = realpath(url, arena_alloc(&cli->arena, PATH_MAX));
    return path != NULL ? path : url;
}

/* The file's members with the url over them; either may be missing. */
static void write_document(struct cli *cli, const struct js *config, const char *url,
                           struct buf *body)
{
    struct jw jw = jw_to(body);
    size_t at = 0;
    const char *key = NULL;
    const struct js *value = NULL;
    jw_begin(&jw, '{');
    jw_optstr(&jw, "url", url);
    while (config != NULL && js_next(config, &at, &key, &value)) {
        if (!text_same(key, "url"))
            jw_kraw(&jw, key, str_of(js_text(value, &cli->arena)));
    }
    jw_end(&jw, '}');
}

static enum rc put_document(struct cli *cli, const char *name, const struct js *config,
                            const char *url, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&body, (size_t)CONFIG_BYTES_MAX * 2);
    write_document(cli, config, url, &body);
    const struct http_call call = {.method = "PUT",
                                   .path = cli_path(cli, "/v1/repositories/", name, ""),
                                   .body = buf_str(&body)};
    enum rc rc = cli_call(cli, &call, &answer, err);
    if (rc == RC_OK && cli->json)
        cli_print_json(&answer);
    return rc;
}

/* ---- add, set, remove ---- */

static enum rc is_known(struct cli *cli, const char *name, struct cli_answer *ret_answer,
                        struct err *err)
{
    return cli_get(cli, cli_path(cli, "/v1/repositories/", name, ""), ret_answer, err);
}

static int run_add(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(js_freep) struct js *config = NULL;
    CLEANUP(cli_answer_release) struct cli_answer known = {0};
    const char *name = args_word(&cli->args, 0);
    const char *file = args_text(&cli->args, "config", NULL);
    const char *url = args_text(&cli->args, "url", NULL);
    enum rc rc = file != NULL ? cli_read_document(file, &config, &err) : RC_OK;
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (url == NULL)
        url = js_get_str(config, "url", NULL);
    if (url == NULL)
        return cli_usage(cli, "--url URL is missing");
    rc = is_known(cli, name, &known, &err);
    if (rc == RC_OK)
        rc = err_set(&err, RC_CONFLICT, "REPO_EXISTS",
                     "%s is there already: change it with drover repo set", name);
    else if (rc == RC_NOT_FOUND)
        rc = put_document(cli, name, config, absolute_url(cli, url), &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (!cli->json) {
        (void)printf("Repository %s is added.\n", name);
        show_next(cli, "Use it", "drover submit --repo %s --watch \"what to do\"", name);
    }
    return CLI_DONE;
}

static int run_set(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(js_freep) struct js *config = NULL;
    CLEANUP(cli_answer_release) struct cli_answer known = {0};
    const char *name = args_word(&cli->args, 0);
    const char *file = args_text(&cli->args, "config", NULL);
    if (file == NULL)
        return cli_usage(cli, "--config FILE is missing");
    enum rc rc = cli_read_document(file, &config, &err);
    if (rc == RC_OK)
        rc = is_known(cli, name, &known, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const char *url = args_text(&cli->args, "url", js_get_str(config, "url", NULL));
    if (url == NULL)
        url = js_str(js_path(known.tree, "config.url"), NULL);
    rc = put_document(cli, name, config, url != NULL ? absolute_url(cli, url) : NULL, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (!cli->json)
        (void)printf("Repository %s has its new configuration; runs that are under way keep the "
                     "old one.\n",
                     name);
    return CLI_DONE;
}

static int run_remove(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *name = args_word(&cli->args, 0);
    const struct http_call call = {.method = "DELETE",
                                   .path = cli_path(cli, "/v1/repositories/", name, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("Repository %s is removed.\n", name);
    return CLI_DONE;
}

/* ---- quarantine, release ---- */

static int run_gate(struct cli *cli, const char *action, const char *done)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *name = args_word(&cli->args, 0);
    const struct http_call call = {.method = "POST",
                                   .path = cli_path(cli, "/v1/repositories/", name, action),
                                   .body = cli_reason_body(cli)};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("Repository %s %s.\n", name, done);
    return CLI_DONE;
}

static int run_quarantine(struct cli *cli)
{
    return run_gate(cli, "/quarantine", "is in quarantine: its runs fail, new tasks are refused");
}

static int run_release(struct cli *cli)
{
    return run_gate(cli, "/release", "is out of quarantine: it takes tasks again");
}

/* ---- list, show ---- */

static void repos_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"NAME", false, false},
        {"FORGE", false, false},
        {"CHANGED", false, false},
        {"URL", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, js_str(js_path(item, "config.forge"), "local"), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "updatedAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_str(js_path(item, "config.url"), ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){"/v1/repositories",
                                              "No repositories. Add one: drover repo add NAME "
                                              "--url URL --config FILE",
                                              repos_table});
}

/* Maps one level deep: "agent.command  [...]". */
static void show_config(struct cli *cli, const struct js *config)
{
    size_t at = 0;
    const char *key = NULL;
    const struct js *value = NULL;
    while (js_next(config, &at, &key, &value))
        show_line(cli, key,
                  js_type(value) == JS_STRING ? js_str(value, "") : js_text(value, &cli->arena),
                  TONE_PLAIN);
}

static int run_show(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = is_known(cli, args_word(&cli->args, 0), &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    show_line(cli, "Repository", js_get_str(answer.tree, "name", ""), TONE_BOLD);
    show_member(cli, "Version", answer.tree, "version");
    show_time(cli, "Added", answer.tree, "createdAt");
    show_time(cli, "Changed", answer.tree, "updatedAt");
    show_time(cli, "Quarantined", answer.tree, "quarantinedAt");
    show_line(cli, "Because", js_get_str(answer.tree, "quarantineReason", NULL), TONE_RED);
    show_config(cli, js_get(answer.tree, "config"));
    return CLI_DONE;
}

/* ---- the table ---- */

static const struct arg_option add_options[] = {
    {"url", "URL", "where it is: a path on the server's machine, or an address", ARG_TEXT, 0, 0,
     NULL},
    {"config", "FILE", "its configuration, YAML or JSON", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option reason_options[] = {
    {"reason", "TEXT", "why; it is told to whoever submits", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {
    CLI_LIMIT_OPTION,
    {0},
};

const struct cli_command cli_repo_commands[] = {
    {"repo add", "add a repository", "NAME --url URL [--config FILE]", add_options,
     "drover repo add acme/billing --url /srv/git/billing.git --config billing.yaml", NULL, 1, 1,
     CLI_REMOTE | CLI_JSON, run_add},
    {"repo list", "list repositories", "[--limit N] [--json]", list_options, "drover repo list",
     NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_list},
    {"repo show", "show a repository and its configuration", "NAME [--json]", NULL,
     "drover repo show acme/billing", "drover repo list", 1, 1, CLI_REMOTE | CLI_JSON, run_show},
    {"repo set", "give a repository a new configuration", "NAME --config FILE [--url URL]",
     add_options, "drover repo set acme/billing --config billing.yaml", "drover repo list", 1, 1,
     CLI_REMOTE | CLI_JSON, run_set},
    {"repo remove", "remove a repository", "NAME", NULL, "drover repo remove acme/billing",
     "drover repo list", 1, 1, CLI_REMOTE, run_remove},
    {"repo quarantine", "take nothing more from a repository", "NAME [--reason TEXT]",
     reason_options, "drover repo quarantine acme/billing --reason \"planted hooks\"",
     "drover repo list", 1, 1, CLI_REMOTE | CLI_JSON, run_quarantine},
    {"repo release", "take tasks for a repository again", "NAME [--reason TEXT]", reason_options,
     "drover repo release acme/billing", "drover repo list", 1, 1, CLI_REMOTE | CLI_JSON,
     run_release},
    {0},
};
