/*
 * filter.h - the system calls that no agent needs, refused by the kernel.
 *
 * A list of what is denied, not of what is allowed: agents build and run any program of a
 * repository.  It denies what reaches deep into the kernel and what could rebuild the sandbox from
 * inside: mounts, new namespaces, keys, bpf, io_uring, modules, sockets of unusual families, and
 * typing into a terminal.  Debuggers and sanitizers work: with no other processes visible, ptrace
 * reaches the agent's own only.
 */
#ifndef WORK_SANDBOX_FILTER_H
#define WORK_SANDBOX_FILTER_H
#include "base/rc.h"

/* For this thread and all that it starts, for good.  RC_IO: the kernel has no seccomp, or this
   architecture is not supported. */
MUST_USE enum rc filter_install(struct err *err);
/* The same as a file, as `bwrap --seccomp` takes it.  The caller closes it. */
MUST_USE enum rc filter_open(int *ret_fd, struct err *err);
#endif
