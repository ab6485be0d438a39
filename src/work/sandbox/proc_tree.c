#include "work/sandbox/proc_tree.h"
#include "base/fd.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *proc_tree_read(pid_t pid, const char *name, char text[PROC_FILE_BYTES])
{
    char path[64];
    size_t len = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;
    while (fd >= 0 && (got = read(fd, text + len, PROC_FILE_BYTES - 1 - len)) > 0)
        len += (size_t)got; /* The kernel gives a page at a time. */
    text[len] = '\0';
    return text;
}

int64_t proc_tree_add_children(struct proc_tree *tree, pid_t pid)
{
    char path[64], name[64], text[PROC_FILE_BYTES];
    int64_t threads = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    const struct dirent *task;
    // cppcheck-suppress readdirCalled
    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        if (task->d_name[0] == '.')
            continue;
        threads++;
        (void)snprintf(name, sizeof name, "task/%.20s/children", task->d_name);
        const char *at = proc_tree_read(pid, name, text);
        char *end;
        for (long child; (child = strtol(at, &end, 10)) > 0 && tree->count < PROC_TREE_MAX;
             at = end) {
            tree->at[tree->count].pid = (pid_t)child;
            tree->at[tree->count++].parent = pid;
        }
    }
    if (tasks != NULL)
        (void)closedir(tasks);
    return threads;
}
