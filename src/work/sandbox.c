/*
 * sandbox.c - bubblewrap's argument list, and whether it works here.
 *
 * Order matters: a later mount covers an earlier one.
 *
 *     /                 read-only, as it is
 *     /dev /proc        fresh; /proc/sys read-only again, since a process of the root user may
 *                       write there even without capabilities
 *     /tmp /var/tmp     fresh and empty; files that the command names are shown again
 *     /run              empty: it holds the sockets of other services
 *     DATA              empty and read-only, then the binds
 */
#include "work/sandbox.h"
#include "base/proc.h"
#include "base/str.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGV_MAX = 256, PROBE_MS = 10000, WORDS_BYTES = 2000 };

struct argv {
    const char **items;
    size_t count;
};

static void add(struct argv *argv, const char *item)
{
    assert(argv->count + 1 < ARGV_MAX);
    argv->items[argv->count++] = item;
}

static void add3(struct argv *argv, const char *option, const char *from, const char *to)
{
    add(argv, option);
    add(argv, from);
    add(argv, to);
}

static void add_fresh(struct argv *argv, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return;
    add(argv, "--tmpfs");
    add(argv, path);
}

static bool is_inside(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Names in the network are looked up through a file that often lies in /run. */
static void add_resolver(struct argv *argv, struct arena *arena)
{
    char real[PATH_MAX];
    if (realpath("/etc/resolv.conf", real) && is_inside(real, "/run")) {
        const char *path = arena_strdup(arena, real);
        add3(argv, "--ro-bind", path, path);
    }
}

/* A program or script in /tmp that the command names would be gone. */
static void add_named_files(struct argv *argv, const struct sandbox *sandbox,
                            const char *const *command)
{
    enum { NAMED_MAX = 8 };
    size_t named = 0;
    for (size_t i = 0; command[i] && named < NAMED_MAX; i++) {
        const char *path = command[i];
        struct stat status;
        if (!is_inside(path, "/tmp") && !is_inside(path, "/var/tmp"))
            continue;
        if (is_inside(path, sandbox->data_dir) || strstr(path, "/../"))
            continue;
        if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        add3(argv, "--ro-bind", path, path);
        named++;
    }
}

static void add_data(struct argv *argv, const struct sandbox *sandbox,
                     const struct sandbox_view *view)
{
    add(argv, "--tmpfs");
    add(argv, sandbox->data_dir);
    for (size_t i = 0; i < SANDBOX_BINDS_MAX && view->binds[i].path; i++) {
        const struct sandbox_bind *bind = &view->binds[i];
        add3(argv, bind->writable ? "--bind" : "--ro-bind", bind->path, bind->path);
    }
    add(argv, "--remount-ro");
    add(argv, sandbox->data_dir);
}

static void add_walls(struct argv *argv, const struct sandbox *sandbox,
                      const struct sandbox_view *view, struct arena *arena)
{
    static const char *const begin[] = {
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    };
    static const char *const sealed[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/fs",
                                         "/proc/irq", "/proc/bus"};
    for (size_t i = 0; i < COUNT_OF(begin); i++)
        add(argv, begin[i]);
    for (size_t i = 0; i < COUNT_OF(sealed); i++)
        add3(argv, "--ro-bind-try", sealed[i], sealed[i]);
    if (view->network)
        add(argv, "--share-net");
    add_fresh(argv, "/tmp");
    add_fresh(argv, "/var/tmp");
    add_fresh(argv, "/run");
    if (view->network)
        add_resolver(argv, arena);
    add_named_files(argv, sandbox, view->argv);
    add_data(argv, sandbox, view);
    if (view->status_fd >= 0) {
        add(argv, "--json-status-fd");
        add(argv, arena_printf(arena, "%d", view->status_fd));
    }
    add(argv, "--chdir");
    add(argv, view->cwd);
    add(argv, "--");
}

const char **sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct arena *arena)
{
    struct argv argv = {.items = arena_array(arena, ARGV_MAX, sizeof(char *))};
    if (sandbox->kind == SANDBOX_BUBBLEWRAP) {
        add_walls(&argv, sandbox, view, arena);
    } else if (sandbox->setpriv) {
        static const char *const tie[] = {"setpriv", "--pdeathsig", "KILL", "--"};
        for (size_t i = 0; i < COUNT_OF(tie); i++)
            add(&argv, tie[i]);
    }
    for (size_t i = 0; view->argv[i]; i++)
        add(&argv, view->argv[i]);
    return argv.items;
}

const char *sandbox_name(const struct sandbox *sandbox)
{
    return sandbox->kind == SANDBOX_BUBBLEWRAP ? "bubblewrap" : "none";
}

static bool works(const struct sandbox *sandbox, struct err *ret_why)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, WORDS_BYTES);
    static const char *const nothing[] = {"true", NULL};
    struct sandbox_view view = {.argv = nothing, .cwd = "/", .status_fd = -1};
    struct proc_spec spec = {.argv = sandbox_argv(sandbox, &view, &arena)};
    struct proc_limits limits = {.timeout_ms = PROBE_MS};
    struct proc_result result;
    enum rc rc = proc_run(&spec, (struct str){0}, NULL, &words, &limits, &result, ret_why);
    if (rc != RC_OK)
        return false;
    if (result.exit.code == 0)
        return true;
    (void)err_set(ret_why, RC_IO, "SANDBOX_UNAVAILABLE", "%s",
                  words.len ? buf_text(&words) : "it ended without a word");
    return false;
}

void sandbox_probe(struct sandbox *sandbox, const char *data_dir, struct err *ret_why)
{
    assert(data_dir[0] == '/' && data_dir[1] != '\0');
    *sandbox = (struct sandbox){.kind = SANDBOX_BUBBLEWRAP, .data_dir = data_dir};
    if (works(sandbox, ret_why))
        return;
    *sandbox = (struct sandbox){.kind = SANDBOX_NONE, .setpriv = true, .data_dir = data_dir};
    sandbox->setpriv = works(sandbox, NULL);
}
