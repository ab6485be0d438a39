/*
 * inside.c - see inside.h.
 *
 * The order matters: the proxy's port needs a process of its own, which the limits of the command
 * must not touch (this program once more, with --gate); the score for the out-of-memory killer is
 * written while the user still may; after the user has changed nothing can be undone, and after the
 * filter little can be done at all.
 */
#include "work/sandbox/inside.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/str.h"
#include "net/relay.h"
#include "work/sandbox/filter.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct inside {
    int64_t user; /* 0: stay */
    const char *proxy, *direct, *gate;
    bool tie, filter;
    int64_t nproc, cpu, fsize, nofile; /* 0: as it is */
    int64_t own_fd;                    /* 0: none */
    char **command;
};

bool inside_asked(int argc, char *const *argv)
{
    return argc > 1 && strcmp(argv[1], INSIDE_COMMAND) == 0;
}

static bool failed(const char *what)
{
    fprintf(stderr, INSIDE_SAYS "%s: %s\n", what, strerror(errno));
    return false;
}

/* ---- options ---- */

static int64_t *number_of(struct inside *inside, const char *option)
{
    const struct {
        const char *name;
        int64_t *value;
    } numbers[] = {{"--user", &inside->user},     {"--nproc", &inside->nproc},
                   {"--cpu", &inside->cpu},       {"--fsize", &inside->fsize},
                   {"--nofile", &inside->nofile}, {"--own-fd", &inside->own_fd}};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (strcmp(numbers[i].name, option) == 0)
            return numbers[i].value;
    }
    return NULL;
}

/* argv: the arguments after "inside". */
static bool read_options(struct inside *inside, char **argv)
{
    for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
        int64_t *number = number_of(inside, *argv);
        if (strcmp(*argv, "--tie") == 0)
            inside->tie = true;
        else if (strcmp(*argv, "--filter") == 0)
            inside->filter = true;
        else if (strcmp(*argv, "--proxy") == 0 && argv[1] != NULL)
            inside->proxy = *++argv;
        else if (strcmp(*argv, "--direct") == 0 && argv[1] != NULL)
            inside->direct = *++argv;
        else if (strcmp(*argv, "--gate") == 0 && argv[1] != NULL)
            inside->gate = *++argv;
        else if (number == NULL || argv[1] == NULL || !text_to_i64(*++argv, number))
            return false;
    }
    inside->command = argv + 1;
    return inside->gate != NULL || (*argv != NULL && argv[1] != NULL);
}

/* ---- the steps ---- */

/* No privilege is needed to raise this; without it the kernel may kill the server. */
static void offer_to_oom_killer(void)
{
    CLEANUP(fd_closep) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)!write(fd, "1000", 4);
}

static bool become_user(int64_t user)
{
    uid_t uid = (uid_t)user;
    gid_t gid = (gid_t)user;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return failed("cannot become another user");
    if (syscall(SYS_capset, &header, none) != 0)
        return failed("cannot drop capabilities");
    (void)setenv("USER", "drover", 1);
    (void)setenv("LOGNAME", "drover", 1);
    return true;
}

static bool limit(__rlimit_resource_t which, int64_t soft, int64_t hard)
{
    if (soft <= 0)
        return true;
    struct rlimit now;
    struct rlimit wanted = {(rlim_t)soft, (rlim_t)hard};
    if (getrlimit(which, &now) != 0)
        return failed("cannot read a limit");
    if (now.rlim_max < wanted.rlim_max) /* Unlimited is the largest number. */
        wanted.rlim_max = now.rlim_max;
    if (wanted.rlim_max < wanted.rlim_cur)
        wanted.rlim_cur = wanted.rlim_max;
    return setrlimit(which, &wanted) == 0 || failed("cannot set a limit");
}

static bool set_limits(const struct inside *inside)
{
    enum { CPU_GRACE_SECONDS = 5 }; /* Between the warning signal and the end. */
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    return limit(RLIMIT_NPROC, inside->nproc, inside->nproc) &&
           limit(RLIMIT_CPU, inside->cpu, inside->cpu + CPU_GRACE_SECONDS) &&
           limit(RLIMIT_FSIZE, inside->fsize, inside->fsize) &&
           limit(RLIMIT_NOFILE, inside->nofile, inside->nofile);
}

/* Runs for as long as the sandbox does.  Returns only when it could not start.  It may have the
   command's user, who must not read its memory. */
static int be_the_gate(const struct inside *inside)
{
    struct relay *relay;
    struct err err = {0};
    const struct relay_options options = {.listen_port = INSIDE_PROXY_PORT,
                                          .target_path = inside->gate};
    if (inside->user != 0 && !become_user(inside->user))
        return INSIDE_FAILED;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        (void)failed("cannot close its memory");
        return INSIDE_FAILED;
    }
    if (relay_start(&options, &relay, &err) != RC_OK) {
        fprintf(stderr, INSIDE_SAYS "%s\n", err.text);
        return INSIDE_FAILED;
    }
    (void)!write(STDOUT_FILENO, "y", 1);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        fd_close(fd); /* Or the command's output would not end with it. */
    for (;;)
        (void)pause();
}

/* This program once more, in a session of its own: the command's TERM is not for it. */
static bool start_gate(const struct inside *inside)
{
    char user[24];
    int ends[2];
    (void)snprintf(user, sizeof user, "%lld", (long long)inside->user);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return failed("cannot make a pipe");
    const char *const argv[] = {"/proc/self/exe", INSIDE_COMMAND, "--gate", inside->proxy,
                                "--user",         user,           NULL};
    const struct proc_spec spec = {.argv = argv,
                                   .env = (const char *const *)environ,
                                   .stdin_fd = -1,
                                   .stdout_fd = ends[1],
                                   .stderr_fd = STDERR_FILENO};
    struct proc gate;
    struct err err = {0};
    char ready = '\0';
    enum rc rc = proc_spawn(&spec, &gate, &err); /* It ends with the sandbox. */
    fd_close(ends[1]);
    ssize_t got = rc == RC_OK ? read(ends[0], &ready, 1) : -1;
    fd_close(ends[0]);
    if (got != 1)
        fprintf(stderr, INSIDE_SAYS "the way to the listed hosts cannot be made: %s\n", err.text);
    return got == 1;
}

/* With every name of the loopback in agent.egress there is none left. */
static void name_the_direct(const char *hosts)
{
    static const char *const names[] = {"NO_PROXY", "no_proxy"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (hosts != NULL)
            (void)setenv(names[i], hosts, 1);
        else
            (void)unsetenv(names[i]);
    }
}

static void name_the_proxy(const char *direct)
{
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"};
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", INSIDE_PROXY_PORT);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        (void)setenv(names[i], url, 1);
    name_the_direct(direct);
    (void)setenv("NODE_USE_ENV_PROXY", "1", 1); /* Node reads the others only then. */
}

static bool go_inside(const struct inside *inside)
{
    offer_to_oom_killer();
    if (inside->proxy != NULL) {
        if (!start_gate(inside))
            return false;
        name_the_proxy(inside->direct);
    }
    if (inside->user != 0 && !become_user(inside->user))
        return false;
    if (!set_limits(inside))
        return false;
    if (inside->tie)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct err err = {0};
    if (inside->filter && filter_install(&err) != RC_OK) {
        fprintf(stderr, INSIDE_SAYS "%s\n", err.text);
        return false;
    }
    return true;
}

int inside_main(int argc, char **argv)
{
    (void)argc;
    struct inside inside = {0};
    (void)signal(SIGPIPE, SIG_DFL);
    if (!read_options(&inside, argv + 2)) {
        errno = EINVAL;
        (void)failed("options");
        return INSIDE_FAILED;
    }
    if (inside.own_fd > 0)
        fd_close((int)inside.own_fd);
    if (inside.gate != NULL)
        return be_the_gate(&inside);
    if (!go_inside(&inside))
        return INSIDE_FAILED;
    (void)execvp(inside.command[0], inside.command);
    (void)failed(inside.command[0]);
    return INSIDE_FAILED;
}
