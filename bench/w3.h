/*
 * w3.h - how soon a lease that waits is woken, through any two ports.
 */
#ifndef BENCH_W3_H
#define BENCH_W3_H
#include "bench/port.h"

struct wake_trial {
    const char *group, *what, *how;
    struct port *waiter, *producer; /* May be the same. */
};
void w3_measure(const struct bench *bench, const struct wake_trial *trial);
#endif
