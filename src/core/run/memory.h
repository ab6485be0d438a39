/*
 * memory.h - which records of earlier runs go into the prompt of a new one.
 *
 * Those that touched the same paths come first: paths inside the task's scope, or named by its
 * text; then those whose words are the task's; then the newest.
 */
#ifndef CORE_RUN_MEMORY_H
#define CORE_RUN_MEMORY_H
#include "base/arena.h"
#include "base/str.h"
#include <stddef.h>
#include <stdint.h>

enum {
    MEMORY_NOTES_MAX = 5,        /* Given to one run. */
    MEMORY_BYTES_MAX = 6 * 1024, /* All of them together. */
    MEMORY_SUMMARY_MAX = 1500,   /* One of them. */
    MEMORY_PATHS_MAX = 20,
};

/* What a new run is about. */
struct memory_topic {
    const char *description;  /* or NULL */
    const char *const *scope; /* Globs. */
    size_t scope_count;
};

struct memory_note {
    const char *summary;
    const char *const *paths; /* That the run touched. */
    size_t path_count;
    int64_t created_us;
    int64_t score;      /* Set by memory_choose. */
    const void *source; /* The caller's. */
};

/* Puts the best of the notes first, in order, and returns how many are to be used. */
size_t memory_choose(const struct memory_topic *topic, struct memory_note *notes, size_t count,
                     struct arena *arena);
#endif
