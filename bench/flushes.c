/*
 * flushes.c - counts how often this process flushes files to disk.
 *
 * The two functions stand in front of libc's own: SQLite, being a shared library, finds these
 * first.  So every flush is counted, those of checkpoints too.
 */
#include "bench/bench.h"
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int_fast64_t count;

int fsync(int fd)
{
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return (int)syscall(SYS_fdatasync, fd);
}

int64_t flushes_count(void)
{
    return atomic_load(&count);
}
