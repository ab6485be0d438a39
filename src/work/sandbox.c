/*
 * sandbox.c - bubblewrap's argument list, and what works here.
 *
 * Order matters: a later mount covers an earlier one.
 *
 *     /                 read-only, as it is
 *     /dev /proc        fresh; /proc/sys read-only again, since a process of the root user may
 *                       write there even without capabilities
 *     /tmp /var/tmp     fresh and empty; files that the command names are shown again
 *     /run              empty: it holds the sockets of other services; ours are put there
 *     closed ways       with drops: a directory on the way to something shown that strangers may
 *                       not pass is covered by an empty one that they may
 *     mounts            of the configuration
 *     DATA              empty and read-only, then the binds
 */
#include "work/sandbox.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/str.h"
#include "work/filter.h"
#include "work/inside.h"
#include "work/tenant.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ARGV_MAX = 512,
    COVERS_MAX = 32, /* Fresh ones, the data's, one for each mount and file that is named. */
    PROBE_MS = 10000,
    WORDS_BYTES = 2000,
    NPROC_SPARE = 64, /* Beyond the limit, so that one who passes it is seen doing so. */
};
static const int64_t tmp_bytes_max = INT64_C(2) << 30, small_bytes_max = INT64_C(256) << 20;
static const char proxy_inside[] = "/run/drover.proxy", program_inside[] = "/run/drover";

struct argv {
    const char **items;
    size_t count;
    struct arena *arena;
    bool drops;
    const char *covers[COVERS_MAX]; /* Directories that are fresh: what is in them is gone. */
    size_t cover_count;
};

static void add(struct argv *argv, const char *item)
{
    assert(argv->count + 1 < ARGV_MAX);
    argv->items[argv->count++] = item;
}

static void add_list(struct argv *argv, const char *const *items)
{
    for (size_t i = 0; items[i]; i++)
        add(argv, items[i]);
}

static void add2(struct argv *argv, const char *option, const char *value)
{
    add(argv, option);
    add(argv, value);
}

static void add3(struct argv *argv, const char *option, const char *from, const char *to)
{
    add2(argv, option, from);
    add(argv, to);
}

static void add_number(struct argv *argv, const char *option, int64_t number)
{
    if (number > 0)
        add2(argv, option, arena_printf(argv->arena, "%" PRId64, number));
}

/* --- fresh directories --- */

static void add_cover(struct argv *argv, const char *path, const char *perms, int64_t bytes)
{
    assert(argv->cover_count < COVERS_MAX);
    argv->covers[argv->cover_count++] = path;
    add2(argv, "--perms", perms);
    add_number(argv, "--size", bytes);
    add2(argv, "--tmpfs", path);
}

static bool is_covered(const struct argv *argv, const char *path)
{
    for (size_t i = 0; i < argv->cover_count; i++) {
        if (path_is_inside(path, argv->covers[i]))
            return true;
    }
    return false;
}

static void add_fresh(struct argv *argv, const char *path, const char *perms, int64_t bytes)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        add_cover(argv, path, perms, bytes);
}

/* The first directory above the path that strangers may not pass, or NULL. */
static const char *closed_above(const char *path, struct arena *arena)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct stat status;
        const char *above = arena_strndup(arena, path, (size_t)(slash - path));
        if (lstat(above, &status) == 0 && S_ISDIR(status.st_mode) && !(status.st_mode & S_IXOTH))
            return above;
    }
    return NULL;
}

static void open_way(struct argv *argv, const char *path)
{
    if (!argv->drops || is_covered(argv, path))
        return;
    const char *closed = closed_above(path, argv->arena);
    if (closed)
        add_cover(argv, closed, "0755", small_bytes_max);
}

/* --- what is shown --- */

/* bubblewrap makes the directories above what it shows for root alone. */
static void add_dir_above(struct argv *argv, const char *path)
{
    if (!argv->drops || !is_covered(argv, path))
        return;
    const char *slash = strrchr(path, '/');
    add2(argv, "--perms", "0755");
    add2(argv, "--dir", arena_strndup(argv->arena, path, (size_t)(slash - path)));
}

static void add_bind(struct argv *argv, const char *path, bool writable)
{
    add_dir_above(argv, path);
    add3(argv, writable ? "--bind" : "--ro-bind", path, path);
}

/* Names in the network are looked up through a file that often lies in /run. */
static void add_resolver(struct argv *argv)
{
    char real[PATH_MAX];
    if (realpath("/etc/resolv.conf", real) && path_is_inside(real, "/run")) {
        add_bind(argv, arena_strdup(argv->arena, real), false);
    }
}

/* A program or script that the command names would be gone in /tmp, or behind a closed way. */
static void add_named_files(struct argv *argv, const struct sandbox *sandbox,
                            const char *const *command)
{
    enum { NAMED_MAX = 8 };
    size_t named = 0;
    for (size_t i = 0; command[i] && named < NAMED_MAX; i++) {
        const char *path = command[i];
        struct stat status;
        if (path[0] != '/' || path_is_inside(path, sandbox->data_dir) || strstr(path, "/../"))
            continue;
        if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        open_way(argv, path);
        if (!is_covered(argv, path))
            continue;
        add_bind(argv, path, false);
        named++;
    }
}

static void add_mounts(struct argv *argv, const struct sandbox_view *view)
{
    for (size_t i = 0; i < view->mount_count; i++)
        open_way(argv, view->mounts[i].path);
    for (size_t i = 0; i < view->mount_count; i++)
        add_bind(argv, view->mounts[i].path, view->mounts[i].writable);
}

static void add_data(struct argv *argv, const struct sandbox *sandbox,
                     const struct sandbox_view *view)
{
    add_dir_above(argv, sandbox->data_dir);
    add_cover(argv, sandbox->data_dir, "0755", small_bytes_max);
    for (size_t i = 0; i < SANDBOX_BINDS_MAX && view->binds[i].path; i++)
        add_bind(argv, view->binds[i].path, view->binds[i].writable);
    add2(argv, "--remount-ro", sandbox->data_dir);
}

static void add_helpers(struct argv *argv, const struct sandbox *sandbox,
                        const struct sandbox_view *view)
{
    if (view->limits && sandbox->program[0])
        add3(argv, "--ro-bind", sandbox->program, program_inside);
    if (view->proxy)
        add3(argv, "--ro-bind", view->proxy, proxy_inside);
    if (view->passwd_fd > 0) {
        add2(argv, "--perms", "0644");
        add3(argv, "--ro-bind-data", arena_printf(argv->arena, "%d", view->passwd_fd),
             "/etc/passwd");
    }
}

/* --- the walls --- */

static void add_namespaces(struct argv *argv, const struct sandbox_view *view)
{
    static const char *const all[] = {"bwrap", "--unshare-all", NULL};
    /* With root's own rights, which the command loses on its way in. */
    static const char *const drops[] = {"bwrap",         "--unshare-ipc",        "--unshare-pid",
                                        "--unshare-uts", "--unshare-cgroup-try", NULL};
    static const char *const caps[] = {"--cap-add",  "CAP_SETUID", "--cap-add",
                                       "CAP_SETGID", "--cap-add",  "CAP_DAC_READ_SEARCH",
                                       NULL};
    static const char *const ties[] = {"--die-with-parent", "--new-session", "--cap-drop", "ALL",
                                       NULL};
    add_list(argv, argv->drops ? drops : all);
    if (argv->drops && !view->network)
        add(argv, "--unshare-net");
    else if (!argv->drops && view->network)
        add(argv, "--share-net");
    add_list(argv, ties);
    if (argv->drops)
        add_list(argv, caps);
}

static void add_system(struct argv *argv, const struct sandbox_view *view)
{
    static const char *const begin[] = {"--ro-bind", "/",      "/",     "--dev",
                                        "/dev",      "--proc", "/proc", NULL};
    static const char *const sealed[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/fs",
                                         "/proc/irq", "/proc/bus"};
    add_list(argv, begin);
    for (size_t i = 0; i < COUNT_OF(sealed); i++)
        add3(argv, "--ro-bind-try", sealed[i], sealed[i]);
    int64_t memory = view->limits ? view->limits->memory_bytes : 0;
    int64_t tmp = memory > 0 && memory < tmp_bytes_max ? memory : tmp_bytes_max;
    int64_t small = tmp < small_bytes_max ? tmp : small_bytes_max;
    add_fresh(argv, "/tmp", "1777", tmp);
    add_fresh(argv, "/var/tmp", "1777", small);
    add_fresh(argv, "/dev/shm", "1777", small);
    add_fresh(argv, "/run", "0755", small);
    if (view->network)
        add_resolver(argv);
}

static void add_walls(struct argv *argv, const struct sandbox *sandbox,
                      const struct sandbox_view *view)
{
    add_namespaces(argv, view);
    add_system(argv, view);
    add_helpers(argv, sandbox, view);
    open_way(argv, sandbox->data_dir);
    add_mounts(argv, view);
    add_named_files(argv, sandbox, view->argv);
    add_data(argv, sandbox, view);
    add_number(argv, "--seccomp", view->filter_fd);
    if (view->status_fd >= 0)
        add2(argv, "--json-status-fd", arena_printf(argv->arena, "%d", view->status_fd));
    add3(argv, "--chdir", view->cwd, "--");
}

/* --- the way in --- */

static const char *user_text(const struct sandbox_view *view, struct arena *arena)
{
    return arena_printf(arena, "%u", (unsigned)tenant_of(view->tenant));
}

static void add_inside(struct argv *argv, const struct sandbox *sandbox,
                       const struct sandbox_view *view)
{
    bool walls = sandbox->kind == SANDBOX_BUBBLEWRAP;
    const struct resource_config *limits = view->limits;
    add2(argv, walls ? program_inside : sandbox->program, INSIDE_COMMAND);
    if (argv->drops)
        add2(argv, "--user", user_text(view, argv->arena));
    if (!walls)
        add(argv, "--tie");
    else if (view->proxy)
        add2(argv, "--proxy", proxy_inside);
    assert(!walls || !sandbox->filter || view->filter_fd > 0);
    if (!walls && sandbox->filter)
        add(argv, "--filter");
    /* Without walls everything that the user runs would count. */
    if (walls && limits->processes > 0)
        add_number(argv, "--nproc", limits->processes + NPROC_SPARE);
    add_number(argv, "--cpu", limits->cpu_seconds);
    add_number(argv, "--fsize", limits->disk_bytes);
    add_number(argv, "--nofile", limits->open_files);
    add(argv, "--");
}

static void add_setpriv(struct argv *argv, const struct sandbox *sandbox,
                        const struct sandbox_view *view)
{
    static const char *const tie[] = {"setpriv", "--pdeathsig", "KILL", "--", NULL};
    static const char *const drop[] = {"setpriv", "--clear-groups", "--inh-caps=-all", NULL};
    if (argv->drops) {
        add_list(argv, drop);
        add2(argv, "--reuid", user_text(view, argv->arena));
        add3(argv, "--regid", user_text(view, argv->arena), "--");
    } else if (sandbox->kind == SANDBOX_NONE && sandbox->setpriv) {
        add_list(argv, tie);
    }
}

const char **sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct arena *arena)
{
    bool walls = sandbox->kind == SANDBOX_BUBBLEWRAP;
    struct argv argv = {.items = arena_array(arena, ARGV_MAX, sizeof(char *)),
                        .arena = arena,
                        .drops = walls && sandbox->drops};
    if (walls)
        add_walls(&argv, sandbox, view);
    if (view->limits && sandbox->program[0])
        add_inside(&argv, sandbox, view);
    else
        add_setpriv(&argv, sandbox, view);
    add_list(&argv, view->argv);
    return argv.items;
}

/* --- before the start --- */

static enum rc check_mount(const struct sandbox *sandbox, const char *path, struct err *err)
{
    static const char *const kept[] = {"/proc", "/dev", "/sys", "/run/drover", proxy_inside};
    char real[PATH_MAX];
    if (path[0] != '/' || !realpath(path, real))
        return err_set(err, RC_INVALID, "MOUNT_NOT_FOUND", "The mount %.200s is not there.", path);
    if (strcmp(real, path) != 0)
        return err_set(err, RC_INVALID, "MOUNT_REFUSED",
                       "The mount %.200s must be named without links and dots: %.200s.", path,
                       real);
    bool bad = real[1] == '\0' || path_is_inside(real, sandbox->data_dir) ||
               path_is_inside(sandbox->data_dir, real);
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        bad = bad || path_is_inside(real, kept[i]) || path_is_inside(kept[i], real);
    if (bad)
        return err_set(err, RC_INVALID, "MOUNT_REFUSED",
                       "The mount %.200s would open what must stay closed to agents.", path);
    return RC_OK;
}

enum rc sandbox_check(const struct sandbox *sandbox, const struct sandbox_view *view,
                      struct err *err)
{
    for (size_t i = 0; i < view->mount_count; i++) {
        enum rc rc = check_mount(sandbox, view->mounts[i].path, err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

enum rc sandbox_hand_over(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct err *err)
{
    if (sandbox->kind != SANDBOX_BUBBLEWRAP || !sandbox->drops)
        return RC_OK;
    for (size_t i = 0; i < SANDBOX_BINDS_MAX && view->binds[i].path; i++) {
        const struct sandbox_bind *bind = &view->binds[i];
        if (!bind->writable || !path_is_inside(bind->path, sandbox->data_dir))
            continue;
        enum rc rc = tenant_give(bind->path, tenant_of(view->tenant), err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

enum rc sandbox_filter(const struct sandbox *sandbox, const struct sandbox_view *view, int *ret_fd,
                       struct err *err)
{
    if (sandbox->kind != SANDBOX_BUBBLEWRAP || !sandbox->filter || !view->limits)
        return RC_OK;
    return filter_open(ret_fd, err);
}

const char *sandbox_name(const struct sandbox *sandbox)
{
    return sandbox->kind == SANDBOX_BUBBLEWRAP ? "bubblewrap" : "none";
}

/* --- what works --- */

static bool runs(const struct sandbox *sandbox, const struct resource_config *limits_or_none,
                 struct err *ret_why)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, WORDS_BYTES);
    static const char *const nothing[] = {"true", NULL};
    struct sandbox_view view = {
        .argv = nothing, .cwd = "/", .limits = limits_or_none, .status_fd = -1};
    CLEANUP(fd_closep) int filter_fd = -1;
    enum rc rc = sandbox_filter(sandbox, &view, &filter_fd, ret_why);
    if (rc != RC_OK)
        return false;
    view.filter_fd = filter_fd;
    struct proc_spec spec = {.argv = sandbox_argv(sandbox, &view, &arena),
                             .keep_fds = filter_fd >= 0 ? (const int[]){filter_fd, -1} : NULL};
    struct proc_limits limits = {.timeout_ms = PROBE_MS};
    struct proc_result result;
    rc = proc_run(&spec, (struct str){0}, NULL, &words, &limits, &result, ret_why);
    if (rc != RC_OK)
        return false;
    if (result.exit.code == 0)
        return true;
    (void)err_set(ret_why, RC_IO, "SANDBOX_UNAVAILABLE", "%s",
                  words.len ? buf_text(&words) : "it ended without a word");
    return false;
}

/* Both as agents start and as drover's own git does. */
static bool works(const struct sandbox *sandbox, struct err *ret_why)
{
    const struct resource_config none = {0};
    return runs(sandbox, &none, ret_why) && (!sandbox->drops || runs(sandbox, NULL, ret_why));
}

static void find_program(struct sandbox *sandbox)
{
    ssize_t len = readlink("/proc/self/exe", sandbox->program, sizeof sandbox->program - 1);
    sandbox->program[len > 0 ? len : 0] = '\0';
}

void sandbox_probe(struct sandbox *sandbox, const char *data_dir, struct err *ret_why)
{
    assert(data_dir[0] == '/' && data_dir[1] != '\0');
    /* From the best to the worst. */
    static const struct {
        enum sandbox_kind kind;
        bool drops, filter, program, setpriv;
    } ways[] = {
        {SANDBOX_BUBBLEWRAP, true, true, true, false},
        {SANDBOX_BUBBLEWRAP, true, false, true, false},
        {SANDBOX_BUBBLEWRAP, false, true, true, false},
        {SANDBOX_BUBBLEWRAP, false, false, true, false},
        {SANDBOX_BUBBLEWRAP, false, false, false, false},
        {SANDBOX_NONE, false, true, true, true},
        {SANDBOX_NONE, false, false, true, true},
        {SANDBOX_NONE, false, false, false, true},
        {SANDBOX_NONE, false, false, false, false},
    };
    struct err why = {0};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        if (ways[i].drops && geteuid() != 0)
            continue;
        *sandbox = (struct sandbox){.kind = ways[i].kind,
                                    .drops = ways[i].drops,
                                    .filter = ways[i].filter,
                                    .setpriv = ways[i].setpriv,
                                    .data_dir = data_dir};
        if (ways[i].program)
            find_program(sandbox);
        struct err now = {0};
        if (works(sandbox, &now))
            break;
        if (why.text[0] == '\0')
            why = now;
    }
    if (ret_why)
        *ret_why = why;
}
