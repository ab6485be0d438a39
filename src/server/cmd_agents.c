/*
 * cmd_agents.c - drover agents check: what an agent of a profile lacks on this machine.
 *
 * The program is looked up as a worker does, and started as an agent is: in the sandbox, under a
 * user of its own where drover is root.  It is asked for its version only; no host is called.  What
 * is found is that of the caller: its PATH, its variables, its home.
 */
#include "base/fd.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/show.h"
#include "core/config/profile.h"
#include "work/agent/compute_process.h"
#include "work/sandbox/logins.h"
#include "work/sandbox/sandbox.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHECKS_MAX = 8,
    VERSION_MS = 60 * 1000,
    LOG_BYTES_MAX = 64 * 1024,
    LINE_BYTES_MAX = 200,
    JSON_BYTES_MAX = 64 * 1024,
    ENV_MAX = CONFIG_ENV_ALL_MAX + 8,
};

struct check {
    const char *name;
    bool ok;
    const char *detail;
    const char *next; /* What to do about it; NULL: nothing. */
};

struct checkup {
    struct cli *cli;
    struct arena *arena;
    const struct agent_profile *profile;
    const char *home; /* Where logins are looked for. */
    char dir[32];     /* A data directory for the sandbox, removed in the end. */
    struct check checks[CHECKS_MAX];
    size_t count;
};

static void add(struct checkup *checkup, struct check check)
{
    if (checkup->count < CHECKS_MAX)
        checkup->checks[checkup->count++] = check;
}

static const char *search_path(void)
{
    const char *path = getenv("PATH");
    return path != NULL ? path : "/usr/local/bin:/usr/bin:/bin";
}

/* ---- the program ---- */

static bool check_program(struct checkup *checkup)
{
    const struct agent_profile *profile = checkup->profile;
    const struct program_query query = {profile->command[0], "/", search_path()};
    struct program program;
    struct err err = {0};
    if (program_find(&query, checkup->arena, &program, &err) == RC_OK) {
        add(checkup, (struct check){"program", true, program.path, NULL});
        return true;
    }
    add(checkup, (struct check){"program", false, arena_strdup(checkup->arena, err.text),
                                arena_printf(checkup->arena, "install it: %s", profile->install)});
    return false;
}

/* ---- inside the sandbox ---- */

struct version {
    char line[LINE_BYTES_MAX]; /* The first that it printed; "": none. */
};

static bool on_line(void *ctx, struct str line)
{
    struct version *version = ctx;
    if (version->line[0] == '\0')
        text_copy(version->line, (line.len < LINE_BYTES_MAX ? line.len : LINE_BYTES_MAX - 1) + 1,
                  line.at);
    return true;
}

static const char **make_env(struct checkup *checkup)
{
    struct arena *arena = checkup->arena;
    const char **env = arena_array(arena, ENV_MAX + 1, sizeof *env);
    size_t count = 0;
    env[count++] = arena_printf(arena, "PATH=%s", search_path());
    env[count++] = arena_printf(arena, "HOME=%s/home", checkup->dir);
    env[count++] = "LANG=C.UTF-8";
    env[count++] = "TMPDIR=/tmp";
    const char *const *own = checkup->profile->env;
    for (size_t i = 0; own != NULL && own[i] != NULL && count < ENV_MAX; i++) {
        if (strchr(own[i], '=') != NULL)
            env[count++] = own[i];
    }
    return env;
}

/* The last line of its output, for one that failed. */
static const char *last_line(const char *log_path, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, LOG_BYTES_MAX + 4096);
    struct str last = {0}, line;
    if (file_read(log_path, &text, NULL) == RC_OK) {
        struct str rest = buf_str(&text);
        while (str_take_line(&rest, &line))
            last = line.len > 0 ? line : last;
    }
    size_t len = last.len < LINE_BYTES_MAX ? last.len : LINE_BYTES_MAX;
    return last.len > 0 ? arena_strndup(arena, last.at, len) : "it printed nothing";
}

static enum rc run_version(struct checkup *checkup, const struct sandbox *sandbox,
                           struct version *version, struct compute_result *ret, struct err *err)
{
    struct arena *arena = checkup->arena;
    const char *const argv[] = {checkup->profile->command[0], "--version", NULL};
    const char *tree = arena_printf(arena, "%s/tree", checkup->dir);
    const char *home = arena_printf(arena, "%s/home", checkup->dir);
    const struct compute_spec spec = {
        .sandbox = sandbox,
        .view = {.argv = argv, .cwd = tree, .binds = {{tree, true}, {home, true}}},
        .env = make_env(checkup),
        .log_path = arena_printf(arena, "%s/log", checkup->dir),
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = VERSION_MS,
        .reader = {.ctx = version, .line = on_line},
    };
    enum rc rc = dir_make(tree, 0700, err);
    if (rc == RC_OK)
        rc = dir_make(home, 0700, err);
    return rc == RC_OK ? compute_run(&spec, ret, err) : rc;
}

static void check_start(struct checkup *checkup, const struct sandbox *sandbox)
{
    struct version version = {.line = ""};
    struct compute_result result = {.exit_code = -1};
    struct err err = {0};
    const char *log = arena_printf(checkup->arena, "%s/log", checkup->dir);
    enum rc rc = run_version(checkup, sandbox, &version, &result, &err);
    bool good = rc == RC_OK && result.exited && result.exit_code == 0;
    const char *why = rc != RC_OK ? arena_strdup(checkup->arena, err.text)
                                  : last_line(log, checkup->arena);
    add(checkup, (struct check){"starts", good, good ? "inside the sandbox" : why,
                                good ? NULL
                                     : "install it where every user may read it, such as below "
                                       "/usr/local, or name what it needs in agent.mounts"});
    if (good && version.line[0] != '\0')
        add(checkup,
            (struct check){"version", true, arena_strdup(checkup->arena, version.line), NULL});
}

static void check_sandbox(struct checkup *checkup, bool found)
{
    struct sandbox sandbox;
    struct err err = {0};
    const struct sandbox_options options = {.data_dir = checkup->dir};
    sandbox_probe(&sandbox, &options, NULL);
    bool ready = sandbox_ready(&sandbox, &err) == RC_OK;
    add(checkup,
        (struct check){"sandbox", ready,
                       ready ? sandbox_name(&sandbox) : arena_strdup(checkup->arena, sandbox.why),
                       ready ? NULL
                             : "install bubblewrap (apt-get install bubblewrap) "
                               "and allow user namespaces"});
    if (ready && found)
        check_start(checkup, &sandbox);
}

/* ---- the login ---- */

static const char *find_login(const struct checkup *checkup)
{
    const struct agent_profile *profile = checkup->profile;
    const char *const *names = profile->credentials;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        if (!text_empty(getenv(names[i])))
            return arena_printf(checkup->arena, "$%s", names[i]);
    }
    const struct agent_login *logins = profile->logins;
    for (; checkup->home != NULL && logins != NULL && logins->path != NULL; logins++) {
        if (login_present(checkup->home, logins))
            return arena_printf(checkup->arena, "%s/%s", checkup->home, logins->path);
    }
    return NULL;
}

static const char *joined(const char *const *items, struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; items != NULL && items[i] != NULL; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", items[i]);
    return text;
}

static const char *what_is_missing(const struct checkup *checkup)
{
    const struct agent_profile *profile = checkup->profile;
    struct arena *arena = checkup->arena;
    bool many = profile->credentials[1] != NULL;
    const char *text = arena_printf(arena, "%s%s is%s set", many ? "none of " : "",
                                    joined(profile->credentials, arena), many ? "" : " not");
    if (profile->logins == NULL)
        return text;
    return arena_printf(arena, "%s, and there is no %s/%s", text,
                        checkup->home != NULL ? checkup->home : "~", profile->logins->path);
}

static void check_login(struct checkup *checkup)
{
    const char *found = find_login(checkup);
    add(checkup,
        (struct check){"login", found != NULL, found != NULL ? found : what_is_missing(checkup),
                       found != NULL ? NULL : checkup->profile->log_in});
}

/* ---- all of it ---- */

static bool all_good(const struct checkup *checkup)
{
    for (size_t i = 0; i < checkup->count; i++) {
        if (!checkup->checks[i].ok)
            return false;
    }
    return true;
}

static void print_json(const struct checkup *checkup)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, JSON_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "profile", checkup->profile->name);
    jw_kbool(&jw, "ok", all_good(checkup));
    jw_key(&jw, "checks");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < checkup->count; i++) {
        const struct check *check = &checkup->checks[i];
        jw_begin(&jw, '{');
        jw_kstr(&jw, "name", check->name);
        jw_kbool(&jw, "ok", check->ok);
        jw_kstr(&jw, "detail", check->detail);
        jw_kstr(&jw, "next", check->next);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_key(&jw, "hosts");
    jw_begin(&jw, '[');
    const char *const *hosts = checkup->profile->egress;
    for (size_t i = 0; hosts != NULL && hosts[i] != NULL; i++)
        jw_str(&jw, hosts[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    (void)puts(buf_text(&text));
}

static void print_text(const struct checkup *checkup)
{
    const struct cli *cli = checkup->cli;
    show_line(cli, "Agent", checkup->profile->title, TONE_BOLD);
    for (size_t i = 0; i < checkup->count; i++) {
        const struct check *check = &checkup->checks[i];
        const char *text = arena_printf(checkup->arena, "%s%s",
                                        check->ok ? "" : "missing: ", check->detail);
        show_line(cli, check->name, text, check->ok ? TONE_GREEN : TONE_RED);
        show_line(cli, "", check->next, TONE_PLAIN);
    }
    show_line(cli, "hosts", joined(checkup->profile->egress, checkup->arena), TONE_DIM);
    (void)printf(all_good(checkup) ? "Ready: agent: {use: %s}\n" : "Not ready: %s\n",
                 checkup->profile->name);
}

static enum rc find_profile(struct checkup *checkup, const char *name, struct err *err)
{
    checkup->profile = agent_profile_find(name);
    if (checkup->profile != NULL)
        return RC_OK;
    const char *closest = agent_profile_closest(name);
    return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no profile %.64s%s%s%s", name,
                   closest != NULL ? " (did you mean " : "", closest != NULL ? closest : "",
                   closest != NULL ? "?)" : "");
}

static enum rc look_over(struct checkup *checkup, struct err *err)
{
    text_copy(checkup->dir, sizeof checkup->dir, "/tmp/drover-check-XXXXXX");
    if (mkdtemp(checkup->dir) == NULL)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make a directory in /tmp");
    bool found = check_program(checkup);
    check_sandbox(checkup, found);
    check_login(checkup);
    return dir_remove(checkup->dir, err);
}

static int run_check(struct cli *cli)
{
    struct err err = {0};
    struct checkup checkup = {
        .cli = cli, .arena = &cli->arena, .home = args_text(&cli->args, "home", getenv("HOME"))};
    enum rc rc = find_profile(&checkup, args_word(&cli->args, 0), &err);
    if (rc == RC_OK && checkup.profile->command == NULL) {
        if (cli->json)
            print_json(&checkup);
        else
            (void)printf("Profile %s has no program of its own: agent.command names it.\n",
                         checkup.profile->name);
        return CLI_DONE;
    }
    if (rc == RC_OK)
        rc = look_over(&checkup, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        print_json(&checkup);
    else
        print_text(&checkup);
    return all_good(&checkup) ? CLI_DONE : CLI_FAILED;
}

static const struct arg_option check_options[] = {
    {"home", "DIR", "look for the login there, as agent.home would (default: $HOME)", ARG_TEXT, 0,
     0, NULL},
    {0},
};

const struct cli_command cli_agents_check_commands[] = {
    {"agents check", "show what an agent lacks on this machine", "PROFILE [--home DIR] [--json]",
     check_options, "drover agents check claude", "drover agents profiles", 1, 1, CLI_JSON,
     run_check},
    {0},
};
