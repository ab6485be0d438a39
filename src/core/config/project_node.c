/*
 * project_node.c - package.json: the scripts, run by the package manager of the lock file.
 *
 * A package of its own is installed by one check, whose node_modules the next ones get.  The
 * packages of a workspace have directories of their own for that: there one check does it all.
 */
#include "base/js.h"
#include "core/config/project_tools.h"
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES_MAX = 1000 };

static const char *const npm_hosts[] = {"*.npmjs.org", NULL};
static const char *const yarn_hosts[] = {"*.yarnpkg.com", "*.npmjs.org", NULL};

static const struct manager {
    const char *name, *lock;
    const char *install, *run;
    const char *const *hosts;
} managers[] = {
    {"npm", "package-lock.json", "npm ci --no-audit --no-fund", "npm run", npm_hosts},
    {"npm", "npm-shrinkwrap.json", "npm ci --no-audit --no-fund", "npm run", npm_hosts},
    {"pnpm", "pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm run", npm_hosts},
    {"yarn", "yarn.lock", "yarn install --frozen-lockfile", "yarn run", yarn_hosts},
    {"bun", "bun.lock", "bun install --frozen-lockfile", "bun run", npm_hosts},
    {"bun", "bun.lockb", "bun install --frozen-lockfile", "bun run", npm_hosts},
    {"npm", NULL, "npm install --no-audit --no-fund", "npm run", npm_hosts},
};

struct package {
    struct project_place *place;
    const struct js *tree, *scripts;
    struct manager manager;
    bool installs; /* It has dependencies. */
    bool chained;  /* One check for all. */
};

/* The lock file decides; without one "packageManager": "pnpm@9.1.0" does. */
static struct manager manager_of(const struct package *package)
{
    const char *named = js_get_str(package->tree, "packageManager", "");
    size_t len = strcspn(named, "@");
    for (size_t i = 0; i + 1 < COUNT_OF(managers); i++) {
        if (place_has(package->place, managers[i].lock))
            return managers[i];
    }
    for (size_t i = 0; len > 0 && i + 1 < COUNT_OF(managers); i++) {
        if (strlen(managers[i].name) != len || strncmp(managers[i].name, named, len) != 0)
            continue;
        struct manager manager = managers[i];
        manager.lock = NULL;
        manager.install = arena_printf(package->place->arena, "%s install", manager.name);
        return manager;
    }
    return managers[COUNT_OF(managers) - 1];
}

static bool has_script(const struct package *package, const char *name)
{
    const char *script = js_get_str(package->scripts, name, "");
    /* What `npm init` writes. */
    return script[0] != '\0' && strstr(script, "no test specified") == NULL;
}

static const struct script {
    const char *name;
    enum project_work work;
} scripts[] = {
    {"lint", WORK_LINT},
    {"typecheck", WORK_TYPES},
    {"build", WORK_BUILD},
    {"test", WORK_TEST},
};

static const char *run_of(const struct package *package, const char *script)
{
    return arena_printf(package->place->arena, "%s %s", package->manager.run, script);
}

static const char *lock_text(const struct package *package)
{
    return package->manager.lock != NULL
               ? arena_printf(package->place->arena, " and %s", package->manager.lock)
               : "";
}

/* npm ci && npm run lint && npm run test */
static void add_chain(struct package *package)
{
    char command[COMMAND_BYTES_MAX], names[COMMAND_BYTES_MAX / 4] = "";
    enum project_work work = WORK_INSTALL;
    size_t used = (size_t)snprintf(command, sizeof command, "%s", package->manager.install);
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        if (!has_script(package, scripts[i].name))
            continue;
        work = scripts[i].work;
        used += (size_t)snprintf(command + used, sizeof command - used, " && %s",
                                 run_of(package, scripts[i].name));
        size_t len = strlen(names);
        (void)snprintf(names + len, sizeof names - len, "%s%s", len > 0 ? ", " : "",
                       scripts[i].name);
    }
    struct arena *arena = package->place->arena;
    if (work != WORK_INSTALL)
        place_add(package->place,
                  &(struct place_check){
                      .work = work,
                      .file = "package.json",
                      .why = arena_printf(arena, "is a workspace with the scripts %s%s", names,
                                          lock_text(package)),
                      .program = package->manager.name,
                      .command = arena_strdup(arena, command),
                      .hosts = package->manager.hosts,
                      .timeout_s = 1800,
                  });
}

/* Is there anything to install for? */
static bool has_work(const struct package *package)
{
    bool found = package->place->by_runner[WORK_TEST] != NULL;
    for (size_t i = 0; !found && i < COUNT_OF(scripts); i++)
        found = has_script(package, scripts[i].name);
    return found;
}

static void add_each(struct package *package)
{
    struct arena *arena = package->place->arena;
    if (package->installs && has_work(package))
        place_add(package->place,
                  &(struct place_check){
                      .work = WORK_INSTALL,
                      .file = "package.json",
                      .why = arena_printf(arena, "has dependencies%s", lock_text(package)),
                      .program = package->manager.name,
                      .command = package->manager.install,
                      .output = "node_modules",
                      .hosts = package->manager.hosts,
                  });
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        if (has_script(package, scripts[i].name))
            place_add(package->place,
                      &(struct place_check){
                          .work = scripts[i].work,
                          .file = "package.json",
                          .why = arena_printf(arena, "has a script %s", scripts[i].name),
                          .program = package->manager.name,
                          .command = run_of(package, scripts[i].name),
                      });
    }
}

bool project_read_node(struct project_place *place, const char *marker)
{
    struct str text = place_text(place, marker);
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_parse_lenient(text.at, text.len, &tree, NULL) != RC_OK) {
        place_note(place, "%s%s%s is no JSON that can be read.", place->dir,
                   place->dir[0] ? "/" : "", marker);
        return false;
    }
    bool workspace = js_get(tree, "workspaces") != NULL || place_has(place, "pnpm-workspace.yaml");
    struct package package = {
        .place = place,
        .tree = tree,
        .scripts = js_get(tree, "scripts"),
        .installs = workspace || js_count(js_get(tree, "dependencies")) > 0 ||
                    js_count(js_get(tree, "devDependencies")) > 0,
        .chained = (workspace || place_has(place, ".yarnrc.yml")) &&
                   place->by_runner[WORK_TEST] == NULL,
    };
    package.manager = manager_of(&package);
    if (place_has(place, ".yarnrc.yml") && text_same(package.manager.name, "yarn"))
        package.manager.install = "yarn install --immutable"; /* Yarn 2 and later. */
    if (package.chained)
        add_chain(&package);
    else
        add_each(&package);
    return workspace;
}
