/*
 * init.c - drover init: from a git checkout to a repository that takes tasks.
 *
 *     1. look     checkout, address, branch, checks, agents, each with its reason
 *     2. write    drover.yaml at the top of the checkout; one that is there stays, without --force
 *     3. check    as `drover repo check` does
 *     4. add      to the server, if one answers; none is started
 *
 * A second call finds what the first one has done, and continues from there.
 */
#include "base/fd.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/client.h"
#include "cli/here.h"
#include "cli/init_file.h"
#include "cli/repo.h"
#include "cli/show.h"
#include "net/url.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 256 * 1024, SERVER_MS = 3000, ANSWER_BYTES = 32 };
#define FILE_NAME "drover.yaml"

struct init {
    struct cli *cli;
    struct init_facts facts;
    struct cli_source source; /* drover.yaml, as it is or will be. */
    const char *path;
    bool kept; /* It was there, and stays. */
};

/* ---- saying what was found ---- */

static void show_fact(struct cli *cli, const char *label, const struct fact *fact)
{
    show_line(cli, label, arena_printf(&cli->arena, "%s (%s)", fact->value, fact->why), TONE_PLAIN);
}

static void show_agent(struct cli *cli, const char *label, const struct init_agent *agent)
{
    const char *where = agent->path != NULL ? agent->path : "not installed";
    const char *login = agent->login != NULL
                            ? arena_printf(&cli->arena, "logs in with %s", agent->login)
                            : "no login was found";
    show_line(cli, label,
              arena_printf(&cli->arena, "%s (%s; %s)", agent->profile->name, where, login),
              TONE_PLAIN);
}

static void show_agents(struct cli *cli, struct init_facts *facts)
{
    const struct init_agent *agent = &facts->agent;
    show_agent(cli, "Agent", agent);
    for (size_t i = 0; i < facts->agent_count; i++) {
        if (facts->agents[i].profile != agent->profile)
            show_agent(cli, "  not chosen", &facts->agents[i]);
    }
    if (agent->path == NULL)
        init_warn(facts, arena_printf(&cli->arena, "%s is not installed: %s", agent->profile->name,
                                      agent->profile->install));
    if (agent->login == NULL)
        init_warn(facts, arena_printf(&cli->arena, "No login of %s was found: %s.",
                                      agent->profile->title, agent->profile->log_in));
    else if (agent->login[0] == '$')
        init_warn(facts, arena_printf(&cli->arena,
                                      "%s is set here: the server needs it in its environment, "
                                      "too.",
                                      agent->login));
}

static void show_checks(struct cli *cli, const struct init_facts *facts)
{
    const struct project *project = &facts->project;
    for (size_t i = 0; i < project->count; i++) {
        const struct project_check *check = &project->checks[i];
        show_line(cli, "Check",
                  arena_printf(&cli->arena, "%s: %s (%s)", check->name, check->command, check->why),
                  TONE_PLAIN);
    }
    for (size_t i = 0; i < project->note_count; i++)
        show_line(cli, "  not taken", project->notes[i], TONE_DIM);
    if (project->left_out > 0)
        show_line(cli, "  not taken",
                  arena_printf(&cli->arena, "%zu more checks: write those that count under verify",
                               project->left_out),
                  TONE_DIM);
    if (project->count == 0)
        show_line(cli, "Check",
                  "none was found: write one under verify in " FILE_NAME
                  ", or patches are published unverified",
                  TONE_YELLOW);
}

static void show_facts(struct cli *cli, struct init_facts *facts)
{
    show_line(cli, "Checkout", facts->checkout.top, TONE_BOLD);
    show_fact(cli, "Address", &facts->url);
    show_fact(cli, "Branch", &facts->branch);
    show_fact(cli, "Name", &facts->name);
    show_agents(cli, facts);
    for (size_t i = 0; i < facts->host_count; i++)
        show_fact(cli, "Host", &facts->hosts[i]);
    for (size_t i = 0; i < facts->mount_count; i++)
        show_fact(cli, "Shown inside", &facts->mounts[i]);
    if (facts->variable.value != NULL)
        show_fact(cli, "Variable", &facts->variable);
    show_checks(cli, facts);
    show_line(cli, "Limits", "5 USD and 100 turns for a run (change them under limits)",
              TONE_PLAIN);
}

static void show_warnings(struct cli *cli, const struct init_facts *facts)
{
    for (size_t i = 0; i < facts->warning_count; i++)
        show_line(cli, "Mind", facts->warnings[i], TONE_YELLOW);
}

static int fail_without_agent(struct cli *cli, const struct err *err)
{
    const struct agent_profile *profile;
    int status = cli_fail(cli, RC_NOT_FOUND, err);
    (void)fprintf(stderr, "Install one, log in, and call drover init again:\n");
    for (size_t i = 0; (profile = agent_profile_at(i)) != NULL; i++) {
        if (profile->command != NULL && profile->install != NULL)
            (void)fprintf(stderr, "  %-13s %s\n", profile->name, profile->install);
    }
    (void)fprintf(stderr,
                  "Or write the file for one that is not here yet: drover init --agent "
                  "NAME\n"
                  "With a program of your own: the same, then agent: {command: [/its/path]} "
                  "in " FILE_NAME "\n");
    return status;
}

/* ---- the file ---- */

/* Yes without a terminal, and with --yes. */
static bool may_write(struct cli *cli, const char *question)
{
    char answer[ANSWER_BYTES] = "";
    if (args_has(&cli->args, "yes") || isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
        return true;
    (void)printf("\n%s [Y/n] ", question);
    (void)fflush(stdout);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        return false; /* Ctrl-D */
    return strchr("\nyY", answer[0]) != NULL;
}

static int check_file(struct init *init)
{
    struct faults faults = {0};
    struct err err = {0};
    const struct cli_repo_beside beside = {.url = NULL};
    enum rc rc = cli_repo_check(init->cli, &init->source, &beside, &faults, &err);
    if (faults.count > 0)
        return cli_print_faults(init->cli, &init->source, &faults);
    return rc == RC_OK ? CLI_DONE : cli_fail(init->cli, rc, &err);
}

static int make_file(struct init *init)
{
    struct err err = {0};
    init->source.name = FILE_NAME;
    buf_init(&init->source.text, FILE_BYTES_MAX);
    init_file_write(&init->facts, &init->source.text);
    enum rc rc = init->source.text.overflow
                     ? err_set(&err, RC_TOO_LARGE, "TOO_LARGE", FILE_NAME " would be too large")
                     : yaml_parse(buf_text(&init->source.text), init->source.text.len,
                                  &init->source.tree, &err);
    return rc == RC_OK ? check_file(init) : cli_fail(init->cli, rc, &err);
}

static int write_file(struct init *init)
{
    struct err err = {0};
    const struct buf *text = &init->source.text;
    bool force = args_has(&init->cli->args, "force");
    enum rc rc = force ? file_write_durable(init->path, text->data, text->len, 0644, &err)
                       : file_write_new(init->path, text->data, text->len, 0644, &err);
    if (rc != RC_OK)
        return cli_fail(init->cli, rc, &err);
    show_line(init->cli, "Written", init->path, TONE_BOLD);
    return CLI_DONE;
}

/* One that is there already is checked and used as it is. */
static int keep_file(struct init *init)
{
    int status = CLI_DONE;
    if (!cli_source_read(init->cli, init->path, &init->source, &status))
        return status;
    show_line(init->cli, "Kept",
              arena_printf(&init->cli->arena, "%s as it is (--force writes it anew)", init->path),
              TONE_BOLD);
    return check_file(init);
}

/* ---- the server ---- */

static void show_try(struct cli *cli)
{
    show_next(cli, "Try it",
              "drover submit --watch \"Find a typo in the documentation and fix it\"");
}

/* The file is right; the repository is to be added later. */
static int add_later(struct init *init, enum rc rc, const struct err *err)
{
    struct cli *cli = init->cli;
    const char *url = cli->client != NULL ? http_client_url(cli->client) : "its address";
    if (rc == RC_UNREACHABLE || rc == RC_TIMEOUT) {
        show_line(cli, "Server", arena_printf(&cli->arena, "none answers at %s", url), TONE_YELLOW);
        show_next(cli, "Start one", "drover serve");
        show_next(cli, "Then", "drover init");
        return CLI_DONE;
    }
    return cli_fail(cli, rc, err);
}

/* The url is a path: on another machine it leads elsewhere. */
static void warn_if_remote(struct cli *cli)
{
    struct url url;
    if (url_parse(http_client_url(cli->client), &url, NULL) == RC_OK && !url_is_loopback(&url))
        show_line(cli, "Mind",
                  arena_printf(&cli->arena,
                               "The server is on another machine (%s), and url is a path: it must "
                               "be the same directory there.",
                               url.host),
                  TONE_YELLOW);
}

/* No other repository of the server has the name. */
static int check_name_free(struct init *init)
{
    struct cli *cli = init->cli;
    const char *name = init->facts.name.value;
    CLEANUP(cli_answer_release) struct cli_answer known = {0};
    struct err err = {0};
    enum rc rc = cli_get(cli, cli_path(cli, "/v1/repositories/", name, ""), &known, &err);
    if (rc == RC_OK)
        rc = err_set(&err, RC_CONFLICT, "REPO_EXISTS",
                     "the server has a repository %.100s already, at %.200s: give this one another "
                     "name by --name NAME",
                     name, js_str(js_path(known.tree, "config.url"), "?"));
    return rc == RC_NOT_FOUND ? CLI_DONE : cli_fail(cli, rc, &err);
}

/* The file tells the name: that of the server, if the repository is there, or one that is free.
   Without a server nothing is known; adding it later will tell. */
static int settle_name(struct init *init)
{
    struct cli *cli = init->cli;
    struct here here = {.count = 0};
    cli->timeout_ms = SERVER_MS;
    if (here_find(cli, &init->facts.checkout, &here, NULL) != RC_OK)
        return CLI_DONE;
    if (here.count == 0)
        return check_name_free(init);
    if (!text_same(here.names[0], init->facts.name.value))
        init->facts.name = (struct fact){here.names[0], "the server has it by this name"};
    return CLI_DONE;
}

static int add_new(struct init *init)
{
    struct cli *cli = init->cli;
    const char *name = init->facts.name.value;
    warn_if_remote(cli);
    int status = check_name_free(init);
    if (status == CLI_DONE)
        status = cli_repo_put(cli, name, &init->source, NULL);
    if (status != CLI_DONE)
        return status;
    show_line(cli, "Added",
              arena_printf(&cli->arena, "%s at %s", name, http_client_url(cli->client)), TONE_BOLD);
    cli_repo_look(cli, name);
    return status;
}

static bool is_same(const struct js *a, const struct js *b, struct arena *arena)
{
    return text_same(js_text(a, arena), js_text(b, arena));
}

/* The server has this checkout, or its origin, already. */
static int add_again(struct init *init, const char *name)
{
    struct cli *cli = init->cli;
    CLEANUP(cli_answer_release) struct cli_answer known = {0};
    struct err err = {0};
    enum rc rc = cli_get(cli, cli_path(cli, "/v1/repositories/", name, ""), &known, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    bool same = is_same(js_get(known.tree, "config"), init->source.tree, &cli->arena);
    if (same || !args_has(&cli->args, "force")) {
        show_line(cli, "Added",
                  arena_printf(&cli->arena, "already, as %s%s", name,
                               same ? "" : ", with another configuration"),
                  TONE_BOLD);
        if (!same)
            show_next(cli, "Send this one", "drover repo set %s --config %s",
                      shell_quote(name, &cli->arena), shell_quote(init->path, &cli->arena));
        return CLI_DONE;
    }
    int status = cli_repo_put(cli, name, &init->source, NULL);
    if (status == CLI_DONE)
        show_line(cli, "Changed", name, TONE_BOLD);
    return status;
}

static int add_to_server(struct init *init)
{
    struct cli *cli = init->cli;
    struct here here = {.count = 0};
    struct err err = {0};
    cli->timeout_ms = SERVER_MS;
    enum rc rc = here_find(cli, &init->facts.checkout, &here, &err);
    if (rc != RC_OK)
        return add_later(init, rc, &err);
    int status = here.count == 0 ? add_new(init) : add_again(init, here.names[0]);
    if (status == CLI_DONE)
        show_try(cli);
    return status;
}

/* ---- the command ---- */

static int look(struct init *init)
{
    struct cli *cli = init->cli;
    struct err err = {0};
    const struct init_wishes wishes = {.name = args_text(&cli->args, "name", NULL),
                                       .branch = args_text(&cli->args, "branch", NULL),
                                       .agent = args_text(&cli->args, "agent", NULL)};
    enum rc rc = init_find_repository(&wishes, &cli->arena, &init->facts, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    init->path = arena_printf(&cli->arena, "%s/" FILE_NAME, init->facts.checkout.top);
    init->kept = file_exists(init->path) && !args_has(&cli->args, "force");
    if (init->kept)
        return CLI_DONE;
    rc = init_find_machine(&wishes, &cli->arena, &init->facts, &err);
    if (rc == RC_NOT_FOUND && text_same(err.code, "NO_AGENT"))
        return fail_without_agent(cli, &err);
    return rc == RC_OK ? CLI_DONE : cli_fail(cli, rc, &err);
}

static int do_init(struct init *init)
{
    struct cli *cli = init->cli;
    bool dry = args_has(&cli->args, "dry-run");
    int status = look(init);
    if (status != CLI_DONE)
        return status;
    if (init->kept) {
        status = keep_file(init);
        return status == CLI_DONE && !dry ? add_to_server(init) : status;
    }
    status = settle_name(init);
    if (status != CLI_DONE)
        return status;
    show_facts(cli, &init->facts);
    show_warnings(cli, &init->facts);
    status = make_file(init);
    if (status != CLI_DONE)
        return status;
    if (dry) {
        (void)printf("\n%s", buf_text(&init->source.text));
        return CLI_DONE;
    }
    if (!may_write(cli, "Write " FILE_NAME ", and add the repository to the server?")) {
        (void)printf("Nothing was written.\n");
        return CLI_DONE;
    }
    status = write_file(init);
    return status == CLI_DONE ? add_to_server(init) : status;
}

static int run_init(struct cli *cli)
{
    struct init *init = arena_alloc(&cli->arena, sizeof *init);
    init->cli = cli;
    int status = do_init(init);
    cli_source_release(&init->source);
    return status;
}

static const struct arg_option init_options[] = {
    {"dry-run", NULL, "show what would be written, and write nothing", ARG_FLAG, 0, 0, NULL},
    {"force", NULL, "write drover.yaml anew, and change the repository on the server", ARG_FLAG, 0,
     0, NULL},
    {"yes", NULL, "do not ask before writing", ARG_FLAG, 0, 0, NULL},
    {"name", "NAME", "the repository's name on the server", ARG_TEXT, 0, 0, NULL},
    {"branch", "NAME", "the branch that tasks start from", ARG_TEXT, 0, 0, NULL},
    {"agent", "PROFILE", "the agent; drover agents profiles lists them", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_init_commands[] = {
    {"init", "set up the checkout here: find its checks and agents, write drover.yaml, add it",
     "[--name NAME] [--branch NAME] [--agent PROFILE] [--dry-run] [--force] [--yes]", init_options,
     "drover init --dry-run", NULL, 0, 0, CLI_REMOTE, run_init},
    {0},
};
