/*
 * sandbox.c - bubblewrap's argument list, and what works here.
 *
 * Order matters: a later mount covers an earlier one.
 *
 *     /                 empty, read-only in the end
 *     system            the allow-list of sandbox_files.h, read-only
 *     /dev /proc        fresh; /proc/sys read-only again, since a process of the root user may
 *                       write there even without capabilities
 *     /tmp /var/tmp     fresh and empty
 *     /run              empty: it holds the sockets of other services; ours are put there
 *     mounts            of the configuration; with drops, a directory on the way to one that other
 *                       users may not pass is covered by an empty one that they may
 *     named files       that the command line names and that are not visible otherwise
 *     hidden            covered where something above has shown them
 *     DATA              empty and read-only, then the binds
 */
#include "work/sandbox/sandbox.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/str.h"
#include "core/config/egress.h"
#include "work/sandbox/bwrap.h"
#include "work/sandbox/filter.h"
#include "work/sandbox/inside.h"
#include "work/sandbox/inside_program.h"
#include "work/sandbox/run_user.h"
#include "work/sandbox/sandbox_files.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PROBE_MS = 10000,
    WORDS_BYTES = 2000,
    NPROC_SPARE = 64, /* Beyond the limit, so that the guard can see it exceeded. */
};
static const int64_t tmp_bytes_max = INT64_C(2) << 30, small_bytes_max = INT64_C(256) << 20;
#define PATH_INSIDE "/run/drover" /* For PATH: drover itself. */
static const char proxy_inside[] = "/run/drover.proxy", program_inside[] = PATH_INSIDE "/drover";

static const char unavailable[] = "SANDBOX_UNAVAILABLE";

/* ---- what is shown ---- */

/* Places that the sandbox fills itself: nothing of the machine is shown there. */
static bool is_reserved(const char *path)
{
    static const char *const reserved[] = {"/proc", "/dev", "/sys", PATH_INSIDE, proxy_inside};
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        if (path_is_inside(path, reserved[i]) || path_is_inside(reserved[i], path))
            return true;
    }
    return false;
}

const char *sandbox_hides(const struct sandbox *sandbox, const char *path)
{
    if (path_is_inside(path, sandbox->data_dir) || path_is_inside(sandbox->data_dir, path))
        return sandbox->data_dir;
    for (size_t i = 0; sandbox->hidden != NULL && sandbox->hidden[i] != NULL; i++) {
        const char *hidden = sandbox->hidden[i];
        if (path_is_inside(path, hidden) || path_is_inside(hidden, path))
            return hidden;
    }
    return NULL;
}

/* A file that only its owner may read and that is no program may be a key or a token. */
static bool is_nameable(const struct sandbox *sandbox, const char *path)
{
    char real[PATH_MAX];
    struct stat status;
    if (path[0] != '/' || strstr(path, "/../") != NULL || realpath(path, real) == NULL)
        return false;
    if (stat(real, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    if (is_reserved(path) || is_reserved(real) || sandbox_hides(sandbox, real) != NULL ||
        sandbox_hides(sandbox, path) != NULL)
        return false;
    return (status.st_mode & (S_IROTH | S_IXUSR)) != 0;
}

/* Neither / nor a directory that homes lie in, nor one of these. */
static bool is_home(const char *path)
{
    const char *home = getenv("HOME");
    const char *slash = strrchr(path, '/');
    return path_is_inside("/home/x", path) || path_is_inside("/root", path) ||
           (text_starts(path, "/home/") && slash == path + strlen("/home")) ||
           (home != NULL && home[0] == '/' && path_is_inside(home, path));
}

static bool is_showable(const struct sandbox *sandbox, const char *path)
{
    return !is_reserved(path) && sandbox_hides(sandbox, path) == NULL && !is_home(path);
}

/* What its program consists of, wherever it is installed. */
static void add_program(struct bwrap *bwrap, const struct sandbox *sandbox,
                        const struct program *program)
{
    for (size_t i = 0; program->parts[i] != NULL; i++) {
        const char *part = program->parts[i];
        if (!is_showable(sandbox, part))
            continue;
        bwrap_open_way(bwrap, part);
        if (!bwrap_visible(bwrap, part))
            bwrap_show(bwrap, part, false);
    }
    for (size_t i = 0; i < PROGRAM_LINKS_MAX && program->links[i].path != NULL; i++) {
        const struct program_link *link = &program->links[i];
        if (!is_reserved(link->path) && sandbox_hides(sandbox, link->path) == NULL)
            bwrap_link(bwrap, link->path, link->real);
    }
}

static void add_named_file(struct bwrap *bwrap, const struct sandbox *sandbox, const char *path)
{
    if (!is_nameable(sandbox, path))
        return;
    bwrap_open_way(bwrap, path);
    if (!bwrap_visible(bwrap, path))
        bwrap_show(bwrap, path, false);
}

/* A program or script that the command line names, even in a home directory. */
static void add_named_files(struct bwrap *bwrap, const struct sandbox *sandbox,
                            const struct sandbox_view *view)
{
    enum { NAMED_MAX = 16 };
    if (view->program != NULL)
        add_program(bwrap, sandbox, view->program);
    for (size_t i = 0; view->argv[i] != NULL && i < NAMED_MAX; i++)
        add_named_file(bwrap, sandbox, view->argv[i]);
}

static void add_mounts(struct bwrap *bwrap, const struct sandbox_view *view)
{
    for (size_t i = 0; i < view->mount_count; i++)
        bwrap_open_way(bwrap, view->mounts[i].path);
    for (size_t i = 0; i < view->mount_count; i++)
        bwrap_show(bwrap, view->mounts[i].path, view->mounts[i].writable);
}

static void add_data(struct bwrap *bwrap, const struct sandbox *sandbox,
                     const struct sandbox_view *view)
{
    bwrap_open_way(bwrap, sandbox->data_dir);
    bwrap_fresh(bwrap, sandbox->data_dir, "0755", small_bytes_max);
    for (size_t i = 0; i < SANDBOX_BINDS_MAX && view->binds[i].path != NULL; i++)
        bwrap_show(bwrap, view->binds[i].path, view->binds[i].writable);
    bwrap_add2(bwrap, "--remount-ro", sandbox->data_dir);
}

static void add_helpers(struct bwrap *bwrap, const struct sandbox *sandbox,
                        const struct sandbox_view *view)
{
    if (sandbox->program[0])
        bwrap_show_at(bwrap, sandbox->program, program_inside);
    if (view->proxy != NULL)
        bwrap_add3(bwrap, "--ro-bind", view->proxy, proxy_inside);
    if (view->passwd_fd > 0) {
        bwrap_add2(bwrap, "--perms", "0644");
        bwrap_add3(bwrap, "--ro-bind-data", arena_printf(bwrap->arena, "%d", view->passwd_fd),
                   "/etc/passwd");
    }
}

/* ---- bubblewrap ---- */

static void add_namespaces(struct bwrap *bwrap, const struct sandbox_view *view)
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
    bwrap_add_list(bwrap, bwrap->drops ? drops : all);
    if (bwrap->drops && !view->network)
        bwrap_add(bwrap, "--unshare-net");
    else if (!bwrap->drops && view->network)
        bwrap_add(bwrap, "--share-net");
    bwrap_add_list(bwrap, ties);
    if (bwrap->drops)
        bwrap_add_list(bwrap, caps);
}

static void add_fresh(struct bwrap *bwrap, const struct sandbox_view *view)
{
    static const char *const sealed[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/fs",
                                         "/proc/irq", "/proc/bus"};
    int64_t memory = view->limits->memory_bytes;
    int64_t tmp = memory > 0 && memory < tmp_bytes_max ? memory : tmp_bytes_max;
    int64_t small = tmp < small_bytes_max ? tmp : small_bytes_max;
    bwrap_add2(bwrap, "--dev", "/dev");
    bwrap_add2(bwrap, "--proc", "/proc");
    for (size_t i = 0; i < COUNT_OF(sealed); i++)
        bwrap_add3(bwrap, "--ro-bind-try", sealed[i], sealed[i]);
    bwrap_add2(bwrap, "--perms", "1777");
    bwrap_add_number(bwrap, "--size", small);
    bwrap_add2(bwrap, "--tmpfs", "/dev/shm");
    bwrap_fresh(bwrap, "/tmp", "1777", tmp);
    bwrap_fresh(bwrap, "/var/tmp", "1777", small);
    bwrap_fresh(bwrap, "/run", "0755", small);
}

static void add_sandbox(struct bwrap *bwrap, const struct sandbox *sandbox,
                        const struct sandbox_view *view)
{
    add_namespaces(bwrap, view);
    sandbox_files_show(bwrap);
    add_fresh(bwrap, view);
    add_helpers(bwrap, sandbox, view);
    add_mounts(bwrap, view);
    add_named_files(bwrap, sandbox, view);
    /* Mounts that hold a hidden path are refused; it may still lie in a system directory. */
    for (size_t i = 0; sandbox->hidden != NULL && sandbox->hidden[i] != NULL; i++)
        bwrap_hide(bwrap, sandbox->hidden[i]);
    add_data(bwrap, sandbox, view);
    bwrap_add2(bwrap, "--remount-ro", "/");
    bwrap_add_number(bwrap, "--seccomp", view->filter_fd);
    if (view->status_fd >= 0)
        bwrap_add2(bwrap, "--json-status-fd", arena_printf(bwrap->arena, "%d", view->status_fd));
    bwrap_add3(bwrap, "--chdir", view->cwd, "--");
}

/* ---- drover inside ---- */

/* Programs reach the sandbox's own loopback without the proxy, unless a rule leads out by that
   name: then they must ask the proxy. */
static void add_proxy(struct bwrap *bwrap, const char *const *egress)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "::1"};
    const char *direct = NULL;
    for (size_t i = 0; i < COUNT_OF(loopback); i++) {
        if (!egress_names(egress, loopback[i]))
            direct = direct == NULL ? loopback[i]
                                    : arena_printf(bwrap->arena, "%s,%s", direct, loopback[i]);
    }
    bwrap_add2(bwrap, "--proxy", proxy_inside);
    if (direct != NULL)
        bwrap_add2(bwrap, "--direct", direct);
}

/* The descriptor of the small program; 0: the command starts through sandbox->program. */
static int small_fd(const struct sandbox *sandbox)
{
    return sandbox->kind == SANDBOX_BUBBLEWRAP && sandbox->small ? inside_program_fd() : 0;
}

static void add_inside(struct bwrap *bwrap, const struct sandbox *sandbox,
                       const struct sandbox_view *view)
{
    bool walls = sandbox->kind == SANDBOX_BUBBLEWRAP;
    const struct resource_config *limits = view->limits;
    int small = small_fd(sandbox);
    if (small > 0) {
        bwrap_add2(bwrap, arena_printf(bwrap->arena, "/proc/self/fd/%d", small), INSIDE_COMMAND);
        bwrap_add_number(bwrap, "--own-fd", small);
    } else {
        bwrap_add2(bwrap, walls ? program_inside : sandbox->program, INSIDE_COMMAND);
    }
    if (bwrap->drops)
        bwrap_add_number(bwrap, "--user", run_user_of(view->run_user));
    if (!walls)
        bwrap_add(bwrap, "--tie");
    else if (view->proxy != NULL)
        add_proxy(bwrap, view->egress);
    assert(!walls || !sandbox->filter || view->filter_fd > 0);
    if (!walls && sandbox->filter)
        bwrap_add(bwrap, "--filter");
    /* Without bubblewrap all processes of the user would count. */
    if (walls && limits->processes > 0)
        bwrap_add_number(bwrap, "--nproc", limits->processes + NPROC_SPARE);
    bwrap_add_number(bwrap, "--cpu", limits->cpu_seconds);
    bwrap_add_number(bwrap, "--fsize", limits->disk_bytes);
    bwrap_add_number(bwrap, "--nofile", limits->open_files);
    bwrap_add(bwrap, "--");
}

const char **sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct arena *arena)
{
    bool walls = sandbox->kind == SANDBOX_BUBBLEWRAP;
    struct bwrap bwrap;
    bwrap_init(&bwrap, arena, walls && sandbox->drops);
    bwrap.copies = view->copies;
    if (sandbox->kind == SANDBOX_UNAVAILABLE) { /* Not checked by the caller: it must fail. */
        bwrap_add(&bwrap, "/bin/false");
        return bwrap.items;
    }
    if (walls)
        add_sandbox(&bwrap, sandbox, view);
    if (sandbox->program[0])
        add_inside(&bwrap, sandbox, view);
    bwrap_add_list(&bwrap, view->argv);
    return bwrap.items;
}

void sandbox_kept(const struct sandbox *sandbox, const struct sandbox_view *view,
                  int ret_kept[SANDBOX_KEPT_MAX])
{
    const int own[] = {view->status_fd, view->filter_fd, view->passwd_fd, small_fd(sandbox)};
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (own[i] > 0)
            ret_kept[count++] = own[i];
    }
    for (size_t i = 0; view->copies != NULL && i < view->copies->count; i++)
        ret_kept[count++] = view->copies->fds[i];
    ret_kept[count] = -1;
}

/* ---- before the start ---- */

enum rc sandbox_ready(const struct sandbox *sandbox, struct err *err)
{
    if (sandbox->kind != SANDBOX_UNAVAILABLE)
        return RC_OK;
    return err_set(
        err, RC_DENIED, unavailable,
        "There is no sandbox on this machine (%s), so the command was not started. "
        "Install bubblewrap (apt-get install bubblewrap) and allow user namespaces, then "
        "restart drover; or say sandbox: none (drover worker: --sandbox none) to run commands "
        "unconfined.",
        sandbox->why[0] ? sandbox->why : "bwrap is not there");
}

bool sandbox_is_unavailable(const struct err *err)
{
    return strcmp(err->code, unavailable) == 0;
}

static enum rc check_mount(const struct sandbox *sandbox, const char *path, struct err *err)
{
    char real[PATH_MAX];
    if (path[0] != '/' || realpath(path, real) == NULL)
        return err_set(err, RC_INVALID, "MOUNT_NOT_FOUND", "The mount %.200s is not there.", path);
    if (strcmp(real, path) != 0)
        return err_set(err, RC_INVALID, "MOUNT_REFUSED",
                       "The mount %.200s must be named without links and dots: %.200s.", path,
                       real);
    if (real[1] == '\0' || is_reserved(real) || sandbox_hides(sandbox, real) != NULL)
        return err_set(err, RC_INVALID, "MOUNT_REFUSED",
                       "The mount %.200s would show what must stay hidden from agents: /proc, "
                       "/dev, /sys, drover's data, its tokens or its configuration.",
                       path);
    return RC_OK;
}

bool sandbox_view_has(const struct sandbox_view *view, const char *path)
{
    for (size_t i = 0; i < SANDBOX_BINDS_MAX && view->binds[i].path != NULL; i++) {
        if (path_is_inside(path, view->binds[i].path))
            return true;
    }
    for (size_t i = 0; i < view->mount_count; i++) {
        if (path_is_inside(path, view->mounts[i].path))
            return true;
    }
    return false;
}

/* The first on the way from a part to its file that other users may not pass or read, or NULL. */
static const char *closed_to_others(const char *from, const char *file, struct arena *arena)
{
    for (const char *at = file + strlen(from);; at++) {
        at += strcspn(at, "/");
        const char *path = *at ? arena_strndup(arena, file, (size_t)(at - file)) : file;
        const mode_t needed = *at ? S_IXOTH : S_IROTH | S_IXOTH;
        struct stat status;
        if (stat(path, &status) != 0 || (status.st_mode & needed) != needed)
            return path;
        if (*at == '\0')
            return NULL;
    }
}

static enum rc check_program(const struct sandbox *sandbox, const struct sandbox_view *view,
                             struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char real[PATH_MAX];
    const struct program *program = view->program;
    if (program == NULL || program->parts[0] == NULL || realpath(program->path, real) == NULL ||
        sandbox_view_has(view, real))
        return RC_OK;
    const char *part = program_part_of(program, real);
    if (part == NULL || !is_showable(sandbox, part))
        return err_set(err, RC_NOT_FOUND, "NO_PROGRAM",
                       "%.200s cannot be shown to agents: it would show %.200s, which holds "
                       "drover's data, its tokens or a home directory. Install it elsewhere, or "
                       "name what it needs in agent.mounts.",
                       program->path, part != NULL ? part : real);
    const char *closed = sandbox->drops ? closed_to_others(part, real, &arena) : NULL;
    if (closed != NULL)
        return err_set(
            err, RC_NOT_FOUND, "NO_PROGRAM",
            "%.200s cannot be started: agents have a user of their own, and other users "
            "may not read or execute %.200s. Allow it (chmod -R o+rX %.200s), or install "
            "the program elsewhere, such as below /usr/local.",
            program->path, closed, closed);
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
    return sandbox->kind == SANDBOX_BUBBLEWRAP ? check_program(sandbox, view, err) : RC_OK;
}

enum rc sandbox_hand_over(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct err *err)
{
    enum rc ready = sandbox_ready(sandbox, err);
    if (ready != RC_OK || sandbox->kind != SANDBOX_BUBBLEWRAP || !sandbox->drops)
        return ready;
    for (size_t i = 0; i < SANDBOX_BINDS_MAX && view->binds[i].path != NULL; i++) {
        const struct sandbox_bind *bind = &view->binds[i];
        if (!bind->writable || !path_is_inside(bind->path, sandbox->data_dir))
            continue;
        enum rc rc = run_user_give(bind->path, run_user_of(view->run_user), err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

enum rc sandbox_filter(const struct sandbox *sandbox, int *ret_fd, struct err *err)
{
    if (sandbox->kind != SANDBOX_BUBBLEWRAP || !sandbox->filter)
        return RC_OK;
    return filter_open(ret_fd, err);
}

const char *sandbox_path(const struct sandbox *sandbox, struct arena *arena)
{
    const char *slash = strrchr(sandbox->program, '/');
    if (slash == NULL || sandbox->kind == SANDBOX_BUBBLEWRAP)
        return slash != NULL ? PATH_INSIDE : NULL;
    return arena_strndup(arena, sandbox->program, (size_t)(slash - sandbox->program));
}

const char *sandbox_name(const struct sandbox *sandbox)
{
    static const char *const names[] = {[SANDBOX_UNAVAILABLE] = "unavailable",
                                        [SANDBOX_NONE] = "none",
                                        [SANDBOX_BUBBLEWRAP] = "bubblewrap"};
    return names[sandbox->kind];
}

/* ---- what works ---- */

/* As agents and drover's own git start. */
static bool works(const struct sandbox *sandbox, struct err *ret_why)
{
    const struct resource_config none = {0};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, WORDS_BYTES);
    static const char *const nothing[] = {"true", NULL};
    struct sandbox_view view = {.argv = nothing, .cwd = "/", .limits = &none, .status_fd = -1};
    CLEANUP(fd_closep) int filter_fd = -1;
    enum rc rc = sandbox_filter(sandbox, &filter_fd, ret_why);
    if (rc != RC_OK)
        return false;
    view.filter_fd = filter_fd;
    CLEANUP(bwrap_copies_close) struct bwrap_copies copies = {.count = 0};
    view.copies = &copies;
    int kept[SANDBOX_KEPT_MAX];
    struct proc_spec spec = {.argv = sandbox_argv(sandbox, &view, &arena), .keep_fds = kept};
    sandbox_kept(sandbox, &view, kept);
    struct proc_limits limits = {.timeout_ms = PROBE_MS};
    struct proc_result result;
    rc = proc_run(&spec, (struct str){0}, NULL, &words, &limits, &result, ret_why);
    if (rc != RC_OK)
        return false;
    if (result.exit.code == 0)
        return true;
    (void)err_set(ret_why, RC_IO, unavailable, "%s",
                  words.len ? buf_text(&words) : "it ended without a word");
    return false;
}

void sandbox_probe(struct sandbox *sandbox, const struct sandbox_options *options,
                   struct err *ret_why)
{
    assert(options->data_dir[0] == '/' && options->data_dir[1] != '\0');
    /* From the best to the worst. */
    static const struct {
        enum sandbox_kind kind;
        bool drops, filter, program;
    } ways[] = {
        {SANDBOX_BUBBLEWRAP, true, true, true},    {SANDBOX_BUBBLEWRAP, true, false, true},
        {SANDBOX_BUBBLEWRAP, false, true, true},   {SANDBOX_BUBBLEWRAP, false, false, true},
        {SANDBOX_BUBBLEWRAP, false, false, false}, {SANDBOX_NONE, false, true, true},
        {SANDBOX_NONE, false, false, true},        {SANDBOX_NONE, false, false, false},
    };
    const enum sandbox_kind wanted = options->none ? SANDBOX_NONE : SANDBOX_BUBBLEWRAP;
    struct err why = {0};
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(ways) && !found; i++) {
        if (ways[i].kind != wanted || (ways[i].drops && geteuid() != 0))
            continue;
        *sandbox = (struct sandbox){.kind = ways[i].kind,
                                    .drops = ways[i].drops,
                                    .filter = ways[i].filter,
                                    .data_dir = options->data_dir,
                                    .hidden = options->hidden};
        if (ways[i].program) {
            ssize_t len = readlink("/proc/self/exe", sandbox->program, sizeof sandbox->program - 1);
            sandbox->program[len > 0 ? len : 0] = '\0';
            sandbox->small = inside_program_fd() > 0;
        }
        struct err now = {0};
        found = works(sandbox, &now);
        if (!found && small_fd(sandbox) > 0) { /* Files in memory may not be executed here. */
            sandbox->small = false;
            found = works(sandbox, &now);
        }
        if (!found && why.text[0] == '\0')
            why = now;
    }
    if (!found) {
        *sandbox = (struct sandbox){.data_dir = options->data_dir, .hidden = options->hidden};
        text_copy(sandbox->why, sizeof sandbox->why, why.text);
        sandbox->why[strcspn(sandbox->why, "\r\n")] = '\0';
    }
    if (ret_why != NULL)
        *ret_why = why;
}

enum rc sandbox_start(struct sandbox *sandbox, const struct sandbox_options *options, bool required,
                      struct err *err)
{
    struct err why = {0};
    sandbox_probe(sandbox, options, &why);
    enum rc rc = sandbox_ready(sandbox, err);
    if (rc != RC_OK && required)
        return rc;
    if (rc != RC_OK) {
        LOG(LOG_ERROR, "there is no sandbox: every agent, check and command of a step will fail",
            LOG_STR("error", err != NULL ? err->text : ""));
        err_clear(err);
    } else if (sandbox->kind == SANDBOX_NONE) {
        LOG(LOG_WARN, "sandbox: none: agents and checks run WITHOUT a sandbox and can read and "
                      "write all that drover can, tokens and database included");
    } else if (geteuid() == 0 && !sandbox->drops) {
        LOG(LOG_WARN,
            "drover is root and cannot start agents under users of their own: limits of processes "
            "do not hold",
            LOG_STR("error", why.text));
    } else if (!sandbox->filter) {
        LOG(LOG_WARN, "no system calls are refused to agents", LOG_STR("error", why.text));
    }
    return RC_OK;
}
