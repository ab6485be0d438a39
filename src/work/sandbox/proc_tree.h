/*
 * proc_tree.h - the processes below another one, as /proc shows them.
 *
 * A process that leaves its parent in the sandbox is adopted by its init, so all of them are found
 * from there on down.
 */
#ifndef WORK_SANDBOX_PROC_TREE_H
#define WORK_SANDBOX_PROC_TREE_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PROC_TREE_MAX = 8192,
    PROC_FILE_BYTES = 64 * 1024, /* The children of a process with very many. */
};

/* 64 KiB: for the heap. */
struct proc_tree {
    struct {
        pid_t pid, parent; /* The parent when it was found. */
    } at[PROC_TREE_MAX];
    size_t count;
};

/* A file of /proc/PID, "" when there is none. */
const char *proc_tree_read(pid_t pid, const char *name, char text[PROC_FILE_BYTES]);
/* Appends the children of a process; returns how many threads it has. */
int64_t proc_tree_add_children(struct proc_tree *tree, pid_t pid);
#endif
