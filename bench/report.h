/*
 * report.h - figures: a line of a table for people each, and JSON for programs at the end.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H
#include "bench/bench.h"

enum { FIGURES_MAX = 128 };

enum better { MORE_IS_BETTER, LESS_IS_BETTER };

/* A zero says: not there. */
struct figure {
    char group[16]; /* W1 */
    char what[64];  /* enqueue, one at a time */
    char how[48];   /* HTTP, 16 connections */
    char unit[16];  /* jobs/s */
    enum better better;
    double values[BENCH_REPEAT_MAX]; /* One for each repetition. */
    size_t count;
    double aim;
    double raw;       /* The same rows straight to SQLite, in this run. */
    double batch;     /* Commands per commit. */
    double flushes;   /* Per 1,000 operations. */
    double cpu_us;    /* Per operation, of the side that is measured. */
    double raw_batch; /* Operations per commit of the raw loop. */
};

struct place { /* Where the figures come from. */
    char cpu[96];
    long cores;
    char filesystem[64];
    const char *durability;
    double flush_ms; /* One 4 KB append and its fdatasync, median. */
    double load;     /* Processes that want to run, before we start. */
    int repeat;
    bool quick;
};

struct report *report_new(const struct place *place);
void report_free(struct report *report);

void report_group(struct report *report, const char *title);
void report_note(struct report *report, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints the line; the figure is copied. */
void report_add(struct report *report, const struct figure *figure);
double figure_best(const struct figure *figure);
/* Says how many aims are reached, and writes the file. */
void report_close(struct report *report, const char *json_path);
#endif
