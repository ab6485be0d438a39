/*
 * freeze.c - see freeze.h.
 *
 * A process is signalled through a pidfd, after /proc has shown that it still has the parent that
 * it was found by: its number alone may belong to another process of the machine by then.
 */
#include "work/sandbox/freeze.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "work/sandbox/proc_tree.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAUSE_MIN_MS = 5, PAUSE_MAX_MS = 250, RESTS_WANTED = 2 };

struct visit {
    struct freeze_scope scope;
    int signal;
    bool seen_running;
};

/* "123 (name) S 99 ..."; false when there is no such process any more. */
static bool read_state(pid_t pid, const char *name, char *ret_state, pid_t *ret_parent)
{
    char text[PROC_FILE_BYTES];
    const char *behind = strrchr(proc_tree_read(pid, name, text), ')');
    if (behind == NULL || behind[1] != ' ' || behind[2] == '\0')
        return false;
    *ret_state = behind[2];
    *ret_parent = (pid_t)strtol(behind + 3, NULL, 10);
    return true;
}

static bool is_stopped(char state)
{
    return strchr("TtZXx", state) != NULL;
}

/* Or will be before it runs another instruction of its own: it waits in the kernel, for a disk or
   for a child that it started by vfork and that was stopped before its exec. */
static bool is_at_rest(char state)
{
    return state == 'D' || is_stopped(state);
}

/* A process whose first thread has ended looks like a zombie while others of its threads run. */
static bool threads_rest(pid_t pid)
{
    char path[64], name[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    const struct dirent *task;
    bool rest = true;
    // cppcheck-suppress readdirCalled
    while (rest && tasks != NULL && (task = readdir(tasks)) != NULL) {
        char state;
        pid_t parent;
        (void)snprintf(name, sizeof name, "task/%.20s/stat", task->d_name);
        if (task->d_name[0] != '.' && read_state(pid, name, &state, &parent))
            rest = is_at_rest(state);
    }
    if (tasks != NULL)
        (void)closedir(tasks);
    return rest;
}

static void visit_one(struct visit *visit, pid_t pid, pid_t found_by)
{
    char state;
    pid_t parent;
    CLEANUP(fd_closep) int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pid_fd < 0 || !read_state(pid, "stat", &state, &parent))
        return;
    if (pid != visit->scope.top && parent != found_by && parent != visit->scope.top)
        return;
    bool rests = state == 'Z' ? threads_rest(pid) : is_at_rest(state);
    visit->seen_running |= !rests;
    if (visit->signal != SIGSTOP || !rests || !is_stopped(state))
        (void)syscall(SYS_pidfd_send_signal, pid_fd, visit->signal, NULL, 0);
}

static void visit_all(struct visit *visit)
{
    struct proc_tree *tree = mem_alloc(sizeof *tree);
    if (visit->scope.top_too)
        visit_one(visit, visit->scope.top, 0);
    (void)proc_tree_add_children(tree, visit->scope.top);
    for (size_t i = 0; i < tree->count; i++) {
        visit_one(visit, tree->at[i].pid, tree->at[i].parent);
        (void)proc_tree_add_children(tree, tree->at[i].pid);
    }
    mem_free(tree);
}

void freeze_begin(struct freeze *freeze, int64_t now_us)
{
    *freeze = (struct freeze){.on = true, .pause_us = PAUSE_MIN_MS * US_PER_MS, .next_us = now_us};
}

int64_t freeze_tick(struct freeze *freeze, struct freeze_scope scope, int64_t now_us)
{
    if (!freeze->on)
        return INT64_MAX;
    if (now_us < freeze->next_us)
        return freeze->next_us;
    struct visit visit = {.scope = scope, .signal = SIGSTOP, .seen_running = scope.top <= 0};
    if (scope.top > 0)
        visit_all(&visit);
    freeze->rests = visit.seen_running ? 0 : freeze->rests + 1;
    freeze->next_us = clock_mono_us() + freeze->pause_us;
    freeze->pause_us *= 2;
    if (freeze->pause_us > PAUSE_MAX_MS * US_PER_MS)
        freeze->pause_us = PAUSE_MAX_MS * US_PER_MS;
    return freeze->next_us;
}

bool freeze_holds(const struct freeze *freeze)
{
    return freeze->on && freeze->rests >= RESTS_WANTED;
}

void freeze_end(struct freeze *freeze, struct freeze_scope scope)
{
    struct visit visit = {.scope = scope, .signal = SIGCONT};
    if (freeze->on && scope.top > 0)
        visit_all(&visit);
    *freeze = (struct freeze){0};
}
