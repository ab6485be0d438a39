/*
 * init_machine.c - the agents that are installed here, and what a sandbox has to show of this
 * machine for the checks: programs outside of the system directories, hosts.
 */
#include "base/str.h"
#include "cli/init_facts.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- programs ---- */

/* Where a command finds it, by $PATH; NULL: nowhere. */
static const char *find_program(const char *name, struct arena *arena)
{
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : ""; *at;) {
        size_t len = strcspn(at, ":");
        const char *candidate = arena_printf(arena, "%.*s/%s", (int)len, at, name);
        struct stat status;
        if (len > 0 && at[0] == '/' && access(candidate, X_OK) == 0 &&
            stat(candidate, &status) == 0 && S_ISREG(status.st_mode))
            return candidate;
        at += len + (at[len] == ':');
    }
    return NULL;
}

/* As the sandbox shows them: docs/ARCHITECTURE.md, Sandbox. */
static bool is_system(const char *path)
{
    static const char *const dirs[] = {"/usr",   "/bin", "/sbin",      "/lib",
                                       "/lib64", "/opt", "/nix/store", "/gnu/store"};
    for (size_t i = 0; i < COUNT_OF(dirs); i++) {
        if (path_is_inside(path, dirs[i]))
            return true;
    }
    return false;
}

static bool is_there(const char *path)
{
    return access(path, R_OK) == 0;
}

static void add_mount(struct init_facts *facts, const char *path, const char *why)
{
    for (size_t i = 0; i < facts->mount_count; i++) {
        if (path_is_inside(path, facts->mounts[i].value))
            return;
    }
    if (facts->mount_count < INIT_MOUNTS_MAX)
        facts->mounts[facts->mount_count++] = (struct fact){path, why};
}

static const char *home_dir(void)
{
    const char *home = getenv("HOME");
    return home != NULL && home[0] == '/' ? home : NULL;
}

/* PREFIX of PREFIX/bin where that is an installation of one thing, as of nvm or a tar file; not a
   directory in which other things lie, too. */
static const char *installation_of(const char *bin, struct arena *arena)
{
    const char *slash = strrchr(bin, '/');
    const char *home = home_dir();
    if (!text_same(slash, "/bin") || slash == bin)
        return NULL;
    const char *prefix = arena_strndup(arena, bin, (size_t)(slash - bin));
    if (text_same(prefix, home) ||
        (home != NULL && text_same(prefix, arena_printf(arena, "%s/.local", home))))
        return NULL;
    return is_there(arena_printf(arena, "%s/lib", prefix)) ||
                   is_there(arena_printf(arena, "%s/pkg", prefix))
               ? prefix
               : NULL;
}

/* Programs of rustup are links to it, and it looks for the toolchain at home. */
static void show_rustup(struct init_facts *facts, const char *bin, struct arena *arena)
{
    const char *home = home_dir();
    if (home == NULL || !is_there(arena_printf(arena, "%s/rustup", bin)))
        return;
    const char *given = getenv("RUSTUP_HOME");
    const char *path = text_empty(given) ? arena_printf(arena, "%s/.rustup", home) : given;
    char real[PATH_MAX];
    if (realpath(path, real) == NULL)
        return;
    add_mount(facts, arena_strdup(arena, real), "the toolchains of rustup are here");
    facts->variable = (struct fact){arena_printf(arena, "RUSTUP_HOME=%s", real),
                                    "rustup looks for its toolchains here"};
}

/* A program outside of the system directories is not in sight of a check unless it is mounted. */
static void show_program(struct init_facts *facts, const char *name, const char *path,
                         struct arena *arena)
{
    char bin[PATH_MAX], real[PATH_MAX];
    const char *dir = arena_strndup(arena, path, (size_t)(strrchr(path, '/') - path));
    if (realpath(dir, bin) == NULL || realpath(path, real) == NULL || is_system(bin))
        return;
    const char *why = arena_printf(arena, "%s is here, outside of the system directories", name);
    const char *prefix = installation_of(bin, arena);
    const char *shown = prefix != NULL ? prefix : arena_strdup(arena, bin);
    add_mount(facts, shown, why);
    show_rustup(facts, bin, arena);
    if (!is_system(real) && !path_is_inside(real, shown))
        init_warn(facts, arena_printf(arena,
                                      "%s leads to %s, which the checks do not see: mount what it "
                                      "needs (agent.mounts).",
                                      path, real));
}

/* ---- agents ---- */

static const char *find_login(const struct agent_profile *profile, struct arena *arena)
{
    const char *home = home_dir();
    for (size_t i = 0; profile->credentials != NULL && profile->credentials[i] != NULL; i++) {
        if (!text_empty(getenv(profile->credentials[i])))
            return arena_printf(arena, "$%s", profile->credentials[i]);
    }
    for (size_t i = 0; home != NULL && profile->logins != NULL && profile->logins[i].path != NULL;
         i++) {
        const char *path = arena_printf(arena, "%s/%s", home, profile->logins[i].path);
        struct stat status;
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
            return path;
    }
    return NULL;
}

static struct init_agent look_at(const struct agent_profile *profile, struct arena *arena)
{
    return (struct init_agent){.profile = profile,
                               .path = find_program(profile->command[0], arena),
                               .login = find_login(profile, arena)};
}

/* In the order of the table; one that is logged in comes first. */
static void choose(struct init_facts *facts)
{
    for (size_t i = 0; i < facts->agent_count; i++) {
        bool better = facts->agent.profile == NULL ||
                      (facts->agent.login == NULL && facts->agents[i].login != NULL);
        if (better)
            facts->agent = facts->agents[i];
    }
}

static enum rc find_wished(const char *name, struct arena *arena, struct init_facts *facts,
                           struct err *err)
{
    const struct agent_profile *profile = agent_profile_find(name);
    const char *closest = agent_profile_closest(name);
    if (profile == NULL)
        return err_set(err, RC_MALFORMED, "NO_PROFILE",
                       "--agent: there is no profile \"%.64s\"%s%s%s; see: drover agents profiles",
                       name, closest != NULL ? " (did you mean " : "",
                       closest != NULL ? closest : "", closest != NULL ? "?)" : "");
    if (profile->command == NULL)
        return err_set(err, RC_MALFORMED, "NO_COMMAND",
                       "--agent: %.64s is %.100s: its command is yours to write. Choose another, "
                       "and change agent in drover.yaml afterwards",
                       name, profile->title);
    facts->agent = look_at(profile, arena);
    return RC_OK;
}

/* "claude: npm install ..." for each, on lines of their own. */
static enum rc no_agent(struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "NO_AGENT",
                   "no agent that drover knows is installed here (on $PATH)");
}

static enum rc find_agents(const struct init_wishes *wishes, struct arena *arena,
                           struct init_facts *facts, struct err *err)
{
    const struct agent_profile *profile;
    for (size_t i = 0; (profile = agent_profile_at(i)) != NULL; i++) {
        if (profile->command == NULL || facts->agent_count == INIT_AGENTS_MAX)
            continue;
        const struct init_agent agent = look_at(profile, arena);
        if (agent.path != NULL)
            facts->agents[facts->agent_count++] = agent;
    }
    if (wishes->agent != NULL)
        return find_wished(wishes->agent, arena, facts, err);
    choose(facts);
    return facts->agent.profile != NULL ? RC_OK : no_agent(err);
}

/* ---- hosts ---- */

static void add_host(struct init_facts *facts, const char *host, const char *why)
{
    for (size_t i = 0; i < facts->host_count; i++) {
        if (text_same(facts->hosts[i].value, host))
            return;
    }
    if (facts->host_count < INIT_HOSTS_MAX)
        facts->hosts[facts->host_count++] = (struct fact){host, why};
}

/* Those of the checks, beside all of the agent: a list in the configuration replaces the
   profile's. */
static void find_hosts(struct init_facts *facts, struct arena *arena)
{
    const struct project *project = &facts->project;
    const struct agent_profile *profile = facts->agent.profile;
    bool any = false;
    for (size_t i = 0; i < project->count; i++)
        any = any || project->checks[i].hosts[0] != NULL;
    if (!any)
        return;
    for (size_t i = 0; profile->egress != NULL && profile->egress[i] != NULL; i++)
        add_host(facts, profile->egress[i], arena_printf(arena, "%s needs it", profile->name));
    for (size_t i = 0; i < project->count; i++) {
        const struct project_check *check = &project->checks[i];
        for (size_t k = 0; check->hosts[k] != NULL; k++)
            add_host(facts, check->hosts[k],
                     arena_printf(arena, "the check %s downloads from it", check->name));
    }
}

static bool is_known(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (text_same(names[i], name))
            return true;
    }
    return false;
}

static void find_tools(struct init_facts *facts, struct arena *arena)
{
    const char *seen[PROJECT_CHECKS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < facts->project.count; i++) {
        const char *name = facts->project.checks[i].program;
        if (is_known(seen, count, name))
            continue;
        seen[count++] = name;
        const char *path = find_program(name, arena);
        if (path != NULL)
            show_program(facts, name, path, arena);
        else
            init_warn(facts, arena_printf(arena,
                                          "%s is not installed here, and the check %s calls it: "
                                          "install it, or change the check.",
                                          name, facts->project.checks[i].name));
    }
}

enum rc init_find_machine(const struct init_wishes *wishes, struct arena *arena,
                          struct init_facts *facts, struct err *err)
{
    enum rc rc = find_agents(wishes, arena, facts, err);
    if (rc != RC_OK)
        return rc;
    find_hosts(facts, arena);
    find_tools(facts, arena);
    return RC_OK;
}
