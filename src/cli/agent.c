/*
 * agent.c - the registry of agents: agents, agent show, agent add, agent launch, agent kill,
 * agent remove.
 */
#include "base/jw.h"
#include "base/str.h"
#include "cli/show.h"
#include "cli/table.h"
#include "core/agent/instance.h"
#include "net/url.h"
#include <stdio.h>

enum { BODY_BYTES_MAX = 256 * 1024, PATH_BYTES_MAX = 1024 };

static enum tone tone_of(const char *state)
{
    if (text_same(state, "active"))
        return TONE_GREEN;
    if (text_same(state, "failed") || text_same(state, "killed"))
        return TONE_RED;
    return text_same(state, "registered") || text_same(state, "stopped") ? TONE_DIM : TONE_YELLOW;
}

/* ---- agents ---- */

static void agents_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"AGENT", false, true},  {"PERSONA", false, false},        {"STATE", false, false},
        {"CLAIMS", true, false}, {"LAST HEARTBEAT", false, false}, {"WORKER", false, false},
        {"QUEUE", false, false}, {"LAST ERROR", false, true},
    };
    struct arena *arena = &cli->arena;
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), arena);
    table.below = true;
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *state = js_get_str(item, "state", "");
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "persona", "-"), TONE_PLAIN);
        table_cell(&table, state, tone_of(state));
        table_cell(&table,
                   arena_printf(arena, "%lld/%lld", (long long)js_get_int(item, "claims", 0),
                                (long long)js_get_int(item, "capacity", 0)),
                   TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "lastHeartbeatAt", NULL), arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "worker", "-"), TONE_DIM);
        table_cell(&table, js_get_str(item, "queue", ""), TONE_DIM);
        table_cell(&table, js_get_str(item, "lastError", ""), TONE_DIM);
    }
    table_print(&table, stdout);
}

static int run_agents(struct cli *cli)
{
    static const char *const filters[] = {"persona", "state"};
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/agents");
    for (size_t i = 0; i < COUNT_OF(filters); i++)
        if (args_has(&cli->args, filters[i]))
            url_add_query(&path, filters[i], args_text(&cli->args, filters[i], ""));
    return show_list(cli, &(struct show_list){buf_text(&path),
                                              "No agents. Add one: drover agent add NAME, or start "
                                              "one: drover agent launch NAME -- COMMAND",
                                              agents_table});
}

/* ---- one ---- */

static void print_agent(struct cli *cli, const struct js *agent)
{
    const char *state = js_get_str(agent, "state", "");
    const struct js *restart = js_get(agent, "restart");
    show_line(cli, "Agent", js_get_str(agent, "name", ""), TONE_BOLD);
    show_member(cli, "Id", agent, "id");
    show_line(cli, "State", state, tone_of(state));
    show_member(cli, "Persona", agent, "persona");
    show_member(cli, "Capacity", agent, "capacity");
    show_member(cli, "Claims", agent, "claims");
    show_member(cli, "Queue", agent, "queue");
    show_member(cli, "Repositories", agent, "repositories");
    show_member(cli, "Labels", agent, "labels");
    show_member(cli, "Profile", agent, "profile");
    show_member(cli, "Account", agent, "account");
    show_time(cli, "Heartbeat", agent, "lastHeartbeatAt");
    show_member(cli, "Late by ms", agent, "lateMs");
    show_member(cli, "Worker", agent, "worker");
    show_time(cli, "Started", agent, "startedAt");
    if (js_get_bool(agent, "launchable", false)) {
        show_member(cli, "Restart", restart, "policy");
        show_member(cli, "Restarts", agent, "restarts");
    }
    show_member(cli, "Last error", agent, "lastError");
    show_member(cli, "Kill policy", agent, "killPolicy");
    show_member(cli, "Reason", agent, "killReason");
    show_time(cli, "Created", agent, "createdAt");
}

/* Of one that runs elsewhere: a token for the queues of its work, and that work.  Of one that
   drover has just been told to start: how it goes. */
static void print_next(struct cli *cli, const struct js *agent)
{
    const char *name = shell_quote(js_get_str(agent, "name", "NAME"), &cli->arena);
    const char *queue = shell_quote(js_get_str(agent, "queue", "agents"), &cli->arena);
    const char *persona = js_get_str(agent, "persona", NULL);
    const char *state = js_get_str(agent, "state", "");
    if (text_same(state, "starting"))
        show_next(cli, "Watch it", "drover agents --watch");
    if (!text_same(state, "registered"))
        return;
    if (persona != NULL) {
        persona = shell_quote(persona, &cli->arena);
        show_next(cli, "Its token",
                  "drover token create --name %s --role worker --queues %s,%s.%s,%s.agent.%s "
                  "--out %s.token",
                  name, queue, queue, persona, queue, name, name);
        show_next(cli, "Its work", "drover submit --persona %s \"what to do\"", persona);
        return;
    }
    show_next(cli, "Its token",
              "drover token create --name %s --role worker --queues %s,%s.agent.%s --out %s.token",
              name, queue, queue, name, name);
    show_next(cli, "Its work", "drover submit --agent %s \"what to do\"", name);
}

/* with_next: prints what to do next. */
static int call_and_print(struct cli *cli, const struct http_call *call, bool with_next)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_call(cli, call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    print_agent(cli, answer.tree);
    if (with_next)
        print_next(cli, answer.tree);
    return CLI_DONE;
}

static const char *agent_path(struct cli *cli, const char *suffix)
{
    return cli_path(cli, "/v1/agents/", args_word(&cli->args, 0), suffix);
}

static int run_show(struct cli *cli)
{
    return call_and_print(cli, &(struct http_call){.method = "GET", .path = agent_path(cli, "")},
                          false);
}

/* ---- add, launch ---- */

static void write_command(struct cli *cli, struct jw *jw)
{
    const char *word;
    if (args_word(&cli->args, 1) == NULL)
        return;
    jw_key(jw, "command");
    jw_begin(jw, '[');
    for (size_t i = 1; (word = args_word(&cli->args, i)) != NULL; i++)
        jw_str(jw, word);
    jw_end(jw, ']');
}

static void write_about(struct cli *cli, struct jw *jw)
{
    const struct args *args = &cli->args;
    jw_kstr(jw, "name", args_word(args, 0));
    jw_optstr(jw, "persona", args_text(args, "persona", NULL));
    jw_optstr(jw, "queue", args_text(args, "queue", NULL));
    if (args_has(args, "capacity"))
        jw_kint(jw, "capacity", args_int(args, "capacity", 1));
    if (args_has(args, "heartbeat"))
        jw_kint(jw, "heartbeatMs", (int64_t)(args_real(args, "heartbeat", 0) * 1000));
    cli_write_list(cli, jw, "repo", "repositories");
    cli_write_list(cli, jw, "label", "labels");
}

static int run_add(struct cli *cli)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    write_about(cli, &jw);
    jw_end(&jw, '}');
    return call_and_print(
        cli, &(struct http_call){.method = "POST", .path = "/v1/agents", .body = buf_str(&body)},
        true);
}

static int register_and_launch(struct cli *cli)
{
    const struct args *args = &cli->args;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    write_about(cli, &jw);
    write_command(cli, &jw);
    jw_optstr(&jw, "profile", args_text(args, "profile", NULL));
    jw_optstr(&jw, "account", args_text(args, "account", NULL));
    jw_optstr(&jw, "prompt", args_text(args, "prompt", NULL));
    jw_optstr(&jw, "restart", args_text(args, "restart", NULL));
    if (args_has(args, "network")) {
        jw_key(&jw, "config");
        jw_begin(&jw, '{');
        jw_kbool(&jw, "network", true);
        jw_end(&jw, '}');
    }
    jw_kbool(&jw, "launch", true);
    jw_end(&jw, '}');
    return call_and_print(
        cli, &(struct http_call){.method = "POST", .path = "/v1/agents", .body = buf_str(&body)},
        true);
}

/* One that is registered is named alone. */
static int run_launch(struct cli *cli)
{
    if (args_word(&cli->args, 1) != NULL || args_has(&cli->args, "profile"))
        return register_and_launch(cli);
    int status = call_and_print(cli,
                                &(struct http_call){.method = "POST",
                                                    .path = agent_path(cli, "/launch"),
                                                    .body = STR("{}")},
                                true);
    if (status == CLI_NOT_FOUND)
        (void)fprintf(stderr, "Register and start it: drover agent launch %s -- COMMAND\n",
                      shell_quote(args_word(&cli->args, 0), &cli->arena));
    return status;
}

/* ---- kill, remove ---- */

static int run_kill(struct cli *cli)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_optstr(&jw, "policy", args_text(&cli->args, "policy", NULL));
    jw_optstr(&jw, "reason", args_text(&cli->args, "reason", NULL));
    jw_end(&jw, '}');
    return call_and_print(cli,
                          &(struct http_call){.method = "POST",
                                              .path = agent_path(cli, "/kill"),
                                              .body = buf_str(&body)},
                          false);
}

static int run_remove(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const struct http_call call = {.method = "DELETE", .path = agent_path(cli, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("Agent %s is deleted.\n", args_word(&cli->args, 0));
    return CLI_DONE;
}

/* ---- the table ---- */

static const char *const state_names[] = {"registered", "starting", "active", "late", "restarting",
                                          "stopped",    "failed",   "killed", NULL};
/* clang-format off */
#define ABOUT_OPTIONS \
    {"persona", "NAME", "what it is for: planner, implementer, reviewer, tester, ...", ARG_TEXT, \
     0, 0, NULL}, \
    {"capacity", "N", "pieces of work at once (default 1)", ARG_INT, 1, INSTANCE_CAPACITY_MAX, \
     NULL}, \
    {"repo", "NAME", "only work in this repository; may be repeated", ARG_LIST, 0, 0, NULL}, \
    {"label", "TEXT", "only work with this label; may be repeated", ARG_LIST, 0, 0, NULL}, \
    {"queue", "NAME", "agent.queue of its repositories (default agents)", ARG_TEXT, 0, 0, NULL}, \
    {"heartbeat", "SECONDS", "late without one for so long (default 120)", ARG_REAL, 0, 0, NULL}
/* clang-format on */
static const struct arg_option list_options[] = {
    {"persona", "NAME", "only of this persona", ARG_TEXT, 0, 0, NULL},
    {"state", "STATE", "only in this state", ARG_CHOICE, 0, 0, state_names},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option add_options[] = {ABOUT_OPTIONS, {0}};
static const struct arg_option launch_options[] = {
    ABOUT_OPTIONS,
    {"profile", "PROFILE", "an agent that drover knows, in place of a command", ARG_TEXT, 0, 0,
     NULL},
    {"prompt", "TEXT", "what it is told, in $DROVER_PROMPT and on its stdin", ARG_TEXT, 0, 0, NULL},
    {"account", "NAME", "the provider account whose variables it gets", ARG_TEXT, 0, 0, NULL},
    {"restart", "POLICY", "never, on_failure (default) or always", ARG_CHOICE, 0, 0,
     restart_policy_names},
    {"network", NULL, "with the network of the machine", ARG_FLAG, 0, 0, NULL},
    {0},
};
static const struct arg_option kill_options[] = {
    {"policy", "POLICY", "what it has claimed: requeue (default) or fail", ARG_CHOICE, 0, 0,
     kill_policy_names},
    {"reason", "TEXT", "why; goes into the event", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_agent_commands[] = {
    {"agents", "list the agents that claim work, and when they were last heard of",
     "[--persona NAME] [--state STATE] [--limit N] [--watch] [--json]", list_options,
     "drover agents --persona reviewer", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH,
     run_agents},
    {"agent show", "show an agent", "NAME [--json]", NULL, "drover agent show bob", "drover agents",
     1, 1, CLI_REMOTE | CLI_JSON, run_show},
    {"agent add", "register an agent that comes for its work by itself", "NAME [OPTION...]",
     add_options, "drover agent add bob --persona reviewer --capacity 2", "drover agents", 1, 1,
     CLI_REMOTE | CLI_JSON, run_add},
    {"agent launch", "start an agent's process on a worker; registers it with a command",
     "NAME [OPTION...] [-- COMMAND [ARG...]]", launch_options,
     "drover agent launch bob --persona reviewer --restart always -- node agent.mjs",
     "drover agents", 1, SIZE_MAX, CLI_REMOTE | CLI_JSON, run_launch},
    {"agent kill", "stop an agent, and settle what it has claimed",
     "NAME [--policy POLICY] [--reason TEXT]", kill_options,
     "drover agent kill bob --policy fail --reason \"it loops\"", "drover agents", 1, 1,
     CLI_REMOTE | CLI_JSON, run_kill},
    {"agent remove", "delete an agent that has neither a process nor work", "NAME", NULL,
     "drover agent remove bob", "drover agents", 1, 1, CLI_REMOTE, run_remove},
    {0},
};
