/*
 * agents.c - the profiles of known agents: agents profiles.  No server is needed.
 * server/cmd_agents.c has agents check, which starts one.
 */
#include "base/clock.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/table.h"
#include "core/agent/claims.h"
#include "core/config/profile.h"
#include <stdio.h>

enum { JSON_BYTES_MAX = 256 * 1024 };

static void write_list(struct jw *jw, const char *key, const char *const *items)
{
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (size_t i = 0; items != NULL && items[i] != NULL; i++)
        jw_str(jw, items[i]);
    jw_end(jw, ']');
}

static void write_logins(struct jw *jw, const struct agent_login *logins)
{
    jw_key(jw, "loginFiles");
    jw_begin(jw, '[');
    for (; logins != NULL && logins->path != NULL; logins++)
        jw_str(jw, logins->path);
    jw_end(jw, ']');
}

static void write_profile(struct jw *jw, const struct agent_profile *profile)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", profile->name);
    jw_kstr(jw, "title", profile->title);
    jw_kstr(jw, "adapter", adapter_name(profile->adapter));
    write_list(jw, "command", profile->command);
    write_list(jw, "resume", profile->resume);
    write_list(jw, "model", profile->model);
    write_list(jw, "tail", profile->tail);
    write_list(jw, "egress", profile->egress);
    write_list(jw, "env", profile->env);
    write_list(jw, "credentials", profile->credentials);
    write_logins(jw, profile->logins);
    jw_kint(jw, "quotaWindowSeconds", claim_longest_us(profile->adapter) / US_PER_SECOND);
    jw_kstr(jw, "install", profile->install);
    jw_end(jw, '}');
}

static void print_json(void)
{
    CLEANUP(buf_release) struct buf text;
    const struct agent_profile *profile;
    buf_init(&text, JSON_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    for (size_t i = 0; (profile = agent_profile_at(i)) != NULL; i++)
        write_profile(&jw, profile);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    (void)puts(buf_text(&text));
}

static void print_table(struct cli *cli)
{
    static const struct table_column columns[] = {
        {"PROFILE", false, false}, {"AGENT", false, false},  {"PROGRAM", false, false},
        {"RESUMES", false, false}, {"INSTALL", false, true},
    };
    const struct agent_profile *profile;
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; (profile = agent_profile_at(i)) != NULL; i++) {
        bool resumes = profile->resume != NULL || profile->adapter == ADAPTER_ACP;
        table_cell(&table, profile->name, TONE_BOLD);
        table_cell(&table, profile->title, TONE_PLAIN);
        table_cell(&table, profile->command != NULL ? profile->command[0] : "agent.command",
                   profile->command != NULL ? TONE_PLAIN : TONE_DIM);
        table_cell(&table, resumes ? "yes" : "no", TONE_DIM);
        table_cell(&table, profile->install, TONE_DIM);
    }
    table_print(&table, stdout);
    (void)printf("In a repository's configuration: agent: {use: PROFILE}\n");
}

static int run_profiles(struct cli *cli)
{
    if (cli->json)
        print_json();
    else
        print_table(cli);
    return CLI_DONE;
}

const struct cli_command cli_agents_commands[] = {
    {"agents profiles", "list the agents that drover knows", "[--json]", NULL,
     "drover agents profiles", NULL, 0, 0, CLI_JSON, run_profiles},
    {0},
};
