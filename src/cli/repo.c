/*
 * repo.c - repositories: repo add, list, show, set, check, remove, quarantine, release.
 *
 * A configuration file (YAML or JSON) is read here and sent as JSON; --url overrides the file's
 * own, and a path to a repository on this machine is made absolute, because the server runs in
 * another directory.  The file is checked by its schema before it is sent; errors that only the
 * server can find, because it has the defaults, are printed with the lines of the file too.
 */
#include "cli/repo.h"
#include "base/buf.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/config.h"
#include "cli/show.h"
#include "cli/table.h"
#include "core/config/account_config.h"
#include "core/config/repo_document.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONFIG_BYTES_MAX = 512 * 1024, LOOK_MS = 30000 };

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
        if (url == NULL || !text_same(key, "url"))
            jw_kraw(&jw, key, str_of(js_text(value, &cli->arena)));
    }
    jw_end(&jw, '}');
}

int cli_repo_put(struct cli *cli, const char *name, const struct cli_source *source,
                 const char *url)
{
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    struct err err = {0};
    struct faults faults = {0};
    struct http_reply head;
    buf_init(&body, (size_t)CONFIG_BYTES_MAX * 2);
    buf_init(&answer.body, (size_t)CONFIG_BYTES_MAX * 4);
    write_document(cli, source->tree, url, &body);
    const struct http_call call = {.method = "PUT",
                                   .path = cli_path(cli, "/v1/repositories/", name, ""),
                                   .body = buf_str(&body)};
    enum rc rc = cli_connect(cli, &err);
    if (rc == RC_OK)
        rc = http_client_call(cli->client, &call, &answer.body, &head, &err);
    if (rc == RC_INVALID)
        cli_problem_faults(cli, buf_str(&answer.body), &faults);
    if (faults.count > 0 && source->tree != NULL)
        return cli_print_faults(cli, source, &faults);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    return CLI_DONE;
}

void cli_repo_look(struct cli *cli, const char *name)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    struct err err = {0};
    const struct http_call call = {.method = "GET",
                                   .path = cli_path(cli, "/v1/repositories/", name, "/origin"),
                                   .timeout_ms = LOOK_MS};
    /* It is added; the first task will say the same. */
    if (cli_call(cli, &call, &answer, &err) != RC_OK)
        show_line(cli, "Mind", err.text, TONE_YELLOW);
    else if (!js_get_bool(answer.tree, "ok", true))
        show_line(cli, "Mind", js_get_str(answer.tree, "detail", "The origin cannot be used."),
                  TONE_YELLOW);
}

/* By its schema, as a layer: the server may have defaults for missing fields.  False: printed. */
static bool check_source(struct cli *cli, const struct cli_source *source, int *ret_exit)
{
    struct err err = {0};
    struct faults faults = {0};
    enum rc rc = repo_layer_check(source->tree, &cli->arena, &faults, &err);
    if (rc == RC_OK)
        return true;
    *ret_exit = faults.count > 0 ? cli_print_faults(cli, source, &faults) : cli_fail(cli, rc, &err);
    return false;
}

/* ---- add, set, check, remove ---- */

static enum rc is_known(struct cli *cli, const char *name, struct cli_answer *ret_answer,
                        struct err *err)
{
    return cli_get(cli, cli_path(cli, "/v1/repositories/", name, ""), ret_answer, err);
}

static int run_add(struct cli *cli)
{
    int status = CLI_DONE;
    struct err err = {0};
    CLEANUP(cli_source_release) struct cli_source source = {0};
    CLEANUP(cli_answer_release) struct cli_answer known = {0};
    const char *name = args_word(&cli->args, 0);
    const char *file = args_text(&cli->args, "config", NULL);
    const char *url = args_text(&cli->args, "url", NULL);
    if (file != NULL &&
        (!cli_source_read(cli, file, &source, &status) || !check_source(cli, &source, &status)))
        return status;
    if (url == NULL)
        url = js_get_str(source.tree, "url", NULL);
    if (url == NULL)
        return cli_usage(cli, "--url URL is missing");
    enum rc rc = is_known(cli, name, &known, &err);
    if (rc == RC_OK)
        rc = err_set(&err, RC_CONFLICT, "REPO_EXISTS",
                     "%s is there already: change it with drover repo set", name);
    if (rc != RC_NOT_FOUND)
        return cli_fail(cli, rc, &err);
    status = cli_repo_put(cli, name, &source, absolute_url(cli, url));
    if (status == CLI_DONE && !cli->json) {
        (void)printf("Repository %s is added.\n", name);
        cli_repo_look(cli, name);
        show_next(cli, "Use it", "drover submit --repo %s --watch \"what to do\"",
                  shell_quote(name, &cli->arena));
    }
    return status;
}

static int run_set(struct cli *cli)
{
    int status = CLI_DONE;
    struct err err = {0};
    CLEANUP(cli_source_release) struct cli_source source = {0};
    CLEANUP(cli_answer_release) struct cli_answer known = {0};
    const char *name = args_word(&cli->args, 0);
    const char *file = args_text(&cli->args, "config", NULL);
    if (file == NULL)
        return cli_usage(cli, "--config FILE is missing");
    if (!cli_source_read(cli, file, &source, &status) || !check_source(cli, &source, &status))
        return status;
    enum rc rc = is_known(cli, name, &known, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const char *url = args_text(&cli->args, "url", js_get_str(source.tree, "url", NULL));
    if (url == NULL)
        url = js_str(js_path(known.tree, "config.url"), NULL);
    status = cli_repo_put(cli, name, &source, url != NULL ? absolute_url(cli, url) : NULL);
    if (status == CLI_DONE && !cli->json) {
        (void)printf("Repository %s has its new configuration; runs that are under way keep the "
                     "old one.\n",
                     name);
        cli_repo_look(cli, name);
    }
    return status;
}

/* Other agents do not ask in their protocol. */
static void warn_of_asks(const struct repo_config *config)
{
    const struct agent_config *agent = &config->agent;
    if ((agent->asks_permission || agent->asks_forms) && agent->adapter != ADAPTER_ACP)
        (void)printf("warning: agent.%s: ask has no effect: only agents with adapter acp ask.\n",
                     agent->asks_permission ? "permissions" : "elicitation");
    if (config->policy.tools_allowed[0] != NULL && !agent->asks_permission)
        (void)printf("warning: policy.allowTools has no effect without agent.permissions: ask.\n");
}

/* A good configuration may still not do what it seems to. */
static void warn_of_agent(struct cli *cli, const struct repo_layers *layers)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct repo_config *config = arena_alloc(&cli->arena, sizeof *config);
    struct err err = {0};
    if (repo_layers_decode(layers, &cli->arena, &tree, config, &err) != RC_OK)
        return;
    if (config->agent.model != NULL && !config->agent.model_told)
        (void)printf("warning: agent.model has no effect beyond $DROVER_MODEL: no word of "
                     "agent.command has {model}.\n");
    warn_of_asks(config);
}

/* The environment of an account can name variables and files, and refuses secrets. */
static void warn_of_variables(struct cli *cli, const struct js *document)
{
    const struct js *env = js_path(document, "agent.env");
    for (size_t i = 0; i < js_count(env); i++) {
        const char *entry = js_str(js_at(env, i), "");
        struct account_variable variable = account_variable_of(entry, &cli->arena);
        if (variable.source == VARIABLE_OTHER || variable.source == VARIABLE_FILE)
            (void)printf(
                "warning: agent.env[%zu] is passed on as it is written: $ and @ are looked "
                "up for accounts of the server only.\n",
                i);
        else if (variable.source == VARIABLE_TEXT &&
                 account_variable_is_secret(&variable, &cli->arena))
            (void)printf("warning: agent.env[%zu] (%.100s) looks like a secret, and everybody who "
                         "may read the configuration reads it: write the name alone, and give the "
                         "server or worker the variable.\n",
                         i, variable.name);
    }
}

enum rc cli_repo_check(struct cli *cli, const struct cli_source *source,
                       const struct cli_repo_beside *beside, struct faults *ret_faults,
                       struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    struct str platform = {0};
    const char *url = beside->url != NULL ? beside->url : js_get_str(source->tree, "url", NULL);
    buf_init(&text, (size_t)CONFIG_BYTES_MAX * 2);
    write_document(cli, source->tree, url != NULL ? absolute_url(cli, url) : NULL, &text);
    enum rc rc = beside->defaults != NULL
                     ? cli_read_defaults(beside->defaults, &cli->arena, &platform, err)
                     : RC_OK;
    const struct repo_layers layers = {.platform = platform, .repository = buf_str(&text)};
    if (rc == RC_OK)
        rc = repo_layers_check(&layers, &cli->arena, ret_faults, err);
    if (rc != RC_OK)
        return rc;
    warn_of_agent(cli, &layers);
    warn_of_variables(cli, source->tree);
    return RC_OK;
}

static int run_check(struct cli *cli)
{
    int status = CLI_DONE;
    struct err err = {0};
    struct faults faults = {0};
    CLEANUP(cli_source_release) struct cli_source source = {0};
    if (!cli_source_read(cli, args_word(&cli->args, 0), &source, &status))
        return status;
    const struct cli_repo_beside beside = {.url = args_text(&cli->args, "url", NULL),
                                           .defaults = args_text(&cli->args, "defaults", NULL)};
    enum rc rc = cli_repo_check(cli, &source, &beside, &faults, &err);
    if (faults.count > 0)
        return cli_print_faults(cli, &source, &faults);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("%s is a good configuration.\n", source.name);
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
                                              "No repositories. Add one: drover init in its "
                                              "checkout, or drover repo add NAME --config FILE",
                                              repos_table});
}

static int run_show(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *path = cli_path(cli, "/v1/repositories/", args_word(&cli->args, 0),
                                "?effective=true");
    enum rc rc = cli_get(cli, path, &answer, &err);
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
    (void)putchar('\n');
    cli_show_config(cli, answer.tree);
    return CLI_DONE;
}

/* ---- the table ---- */

static const struct arg_option add_options[] = {
    {"url", "URL", "where it is: a path on the server's machine, or an address", ARG_TEXT, 0, 0,
     NULL},
    {"config", "FILE", "its configuration, YAML or JSON", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option check_options[] = {
    {"url", "URL", "as it would be given to repo add", ARG_TEXT, 0, 0, NULL},
    {"defaults", "FILE", "a server's configuration: its defaults count", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option reason_options[] = {
    {"reason", "TEXT", "why; shown to users who submit a task", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {
    CLI_LIMIT_OPTION,
    {0},
};

const struct cli_command cli_repo_commands[] = {
    {"repo add", "add a repository", "NAME [--url URL] [--config FILE]", add_options,
     "drover repo add acme/billing --url /srv/git/billing.git --config billing.yaml", NULL, 1, 1,
     CLI_REMOTE | CLI_JSON, run_add},
    {"repo list", "list repositories", "[--limit N] [--json]", list_options, "drover repo list",
     NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_list},
    {"repo show", "show a repository, its configuration and where each value comes from",
     "NAME [--json]", NULL, "drover repo show acme/billing", "drover repo list", 1, 1,
     CLI_REMOTE | CLI_JSON, run_show},
    {"repo set", "give a repository a new configuration", "NAME --config FILE [--url URL]",
     add_options, "drover repo set acme/billing --config billing.yaml", "drover repo list", 1, 1,
     CLI_REMOTE | CLI_JSON, run_set},
    {"repo check", "check a configuration file, without a server",
     "FILE [--url URL] [--defaults FILE]", check_options, "drover repo check billing.yaml", NULL, 1,
     1, 0, run_check},
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
