#include "cli/init_file.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/term.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 32 * 1024, COMMENT_COLUMNS = 94 };

/* ---- YAML ---- */

/* A plain scalar that can be nothing but a string. */
static bool is_plain(const char *text)
{
    static const char signs[] = "/._-+@%,=&|<>()[]*!~";
    if (!isalpha((unsigned char)text[0]) && text[0] != '/')
        return false;
    for (const char *at = text; *at; at++) {
        bool blank = *at == ' ' && at[1] != '#' && at[1] != '\0' && at[1] != ' ';
        bool colon = *at == ':' && at[1] != ' ' && at[1] != '\0';
        if (!isalnum((unsigned char)*at) && !blank && !colon && strchr(signs, *at) == NULL)
            return false;
    }
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcasecmp(words[i], text) == 0)
            return false;
    }
    return true;
}

/* Else as JSON writes it, which YAML reads, too. */
static void add_text(struct buf *to, const char *text)
{
    if (is_plain(text)) {
        buf_adds(to, text);
        return;
    }
    struct jw jw = jw_to(to);
    jw_str(&jw, text);
}

static void add_member(struct buf *to, const char *key, const char *value)
{
    buf_addf(to, "%s: ", key);
    add_text(to, value);
    buf_addc(to, '\n');
}

/* A comment on as many lines as it takes; texts from outside become one line first. */
static void add_comment(struct buf *to, const char *indent, const char *text)
{
    CLEANUP(buf_release) struct buf safe;
    buf_init(&safe, TEXT_BYTES_MAX);
    term_clean(&safe, text);
    size_t columns = COMMENT_COLUMNS - strlen(indent);
    for (const char *at = buf_text(&safe); *at;) {
        size_t len = strlen(at);
        if (len > columns) {
            len = columns;
            while (len > 0 && at[len] != ' ')
                len--;
            len = len > 0 ? len : strcspn(at, " ");
        }
        buf_addf(to, "%s# %.*s\n", indent, (int)len, at);
        at += len;
        at += strspn(at, " ");
    }
}

/* ---- parts ---- */

static void write_head(const struct init_facts *facts, struct arena *arena, struct buf *to)
{
    const char *name = shell_quote(facts->name.value, arena);
    buf_adds(to,
             "# How drover works on this repository; written by drover init.  Every field and its "
             "default:\n# docs/CONFIGURATION.md of drover, or drover schema repository.\n#\n"
             "#     drover repo check drover.yaml\n");
    buf_addf(to, "#     drover repo set %s --config drover.yaml\n\n", name);
    add_comment(to, "", facts->url.why);
    add_member(to, "url", facts->url.value);
    buf_addc(to, '\n');
    add_comment(to, "",
                arena_printf(arena, "Tasks start from it, and pull requests go to it: %s.",
                             facts->branch.why));
    add_member(to, "defaultBranch", facts->branch.value);
}

static const char *agent_comment(const struct init_agent *agent, struct arena *arena)
{
    const struct agent_profile *profile = agent->profile;
    const char *login = agent->login != NULL
                            ? arena_printf(arena, "logs in with %s", agent->login)
                            : arena_printf(arena, "no login was found: %s", profile->log_in);
    if (agent->path == NULL)
        return arena_printf(arena, "%s, which is not installed yet: %s", profile->title,
                            profile->install);
    return arena_printf(arena, "%s, at %s; %s.", profile->title, agent->path, login);
}

static void write_hosts(const struct init_facts *facts, struct buf *to)
{
    if (facts->host_count == 0) {
        add_comment(to, "  ",
                    "No network but the hosts of the profile (drover agents profiles). A list "
                    "here replaces them, for the agent and for the checks:");
        buf_adds(to, "  # egress: [\"api.example.com:443\"]\n");
        return;
    }
    add_comment(to, "  ", "No network but these hosts, for the agent and for the checks.");
    buf_adds(to, "  egress:\n");
    for (size_t i = 0; i < facts->host_count; i++) {
        buf_adds(to, "    - ");
        struct jw jw = jw_to(to);
        jw_str(&jw, facts->hosts[i].value);
        buf_addf(to, " # %s\n", facts->hosts[i].why);
    }
}

static void write_mounts(const struct init_facts *facts, struct buf *to)
{
    if (facts->variable.value != NULL) {
        add_comment(to, "  ", facts->variable.why);
        buf_adds(to, "  env:\n    - ");
        struct jw jw = jw_to(to);
        jw_str(&jw, facts->variable.value);
        buf_addc(to, '\n');
    }
    if (facts->mount_count == 0)
        return;
    add_comment(to, "  ", "Shown inside, read-only, beside the system directories.");
    buf_adds(to, "  mounts:\n");
    for (size_t i = 0; i < facts->mount_count; i++) {
        add_comment(to, "    ", facts->mounts[i].why);
        buf_adds(to, "    - ");
        add_member(to, "path", facts->mounts[i].value);
    }
}

static void write_agent(const struct init_facts *facts, struct arena *arena, struct buf *to)
{
    buf_adds(to, "\nagent:\n");
    add_comment(to, "  ", agent_comment(&facts->agent, arena));
    for (size_t i = 0; i < facts->agent_count; i++) {
        const struct init_agent *other = &facts->agents[i];
        if (other->profile != facts->agent.profile)
            add_comment(to, "  ",
                        arena_printf(arena, "Also here: use: %s (%s).", other->profile->name,
                                     agent_comment(other, arena)));
    }
    buf_addf(to, "  use: %s\n", facts->agent.profile->name);
    write_hosts(facts, to);
    write_mounts(facts, to);
}

static void write_check(const struct project_check *check, struct buf *to)
{
    add_comment(to, "  ", check->why);
    buf_addf(to, "  - name: %s\n    ", check->name);
    add_member(to, "command", check->command);
    if (check->timeout_s > 0)
        buf_addf(to, "    timeoutSeconds: %" PRId64 "\n", check->timeout_s);
    if (check->output == NULL)
        return;
    buf_adds(to, "    outputs: [");
    struct jw jw = jw_to(to);
    jw_str(&jw, check->output);
    buf_adds(to, "] # The checks below get it.\n");
}

static void write_checks(const struct init_facts *facts, struct buf *to)
{
    const struct project *project = &facts->project;
    buf_addc(to, '\n');
    add_comment(to, "", "What a patch must pass, each in a clean checkout of its own.");
    for (size_t i = 0; i < project->note_count; i++)
        add_comment(to, "", project->notes[i]);
    if (project->count == 0) {
        add_comment(to, "",
                    "No file here names a check: write one. Without any, nothing but the judge "
                    "looks at a patch.");
        buf_adds(to, "verify: []\n#  - name: test\n#    command: make test\n");
        return;
    }
    buf_adds(to, "verify:\n");
    for (size_t i = 0; i < project->count; i++)
        write_check(&project->checks[i], to);
}

void init_file_write(const struct init_facts *facts, struct buf *to)
{
    CLEANUP(arena_release) struct arena arena = {0};
    write_head(facts, &arena, to);
    write_agent(facts, &arena, to);
    write_checks(facts, to);
    buf_adds(to, "\n# A run is stopped when it has cost this much, or taken this many turns.\n"
                 "limits:\n  maxBudgetUsd: 5\n  maxTurns: 100\n");
}
