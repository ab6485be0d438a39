/*
 * project.h - how a checkout is checked, by the files that it has.
 *
 *     1. Only names and texts of known files count (project_needs), at most PROJECT_DEPTH_MAX
 *        directories deep, outside of directories that hold the work of others (node_modules,
 *        vendor) or samples (examples, testdata).
 *     2. A directory with a task runner (Makefile, justfile) is checked by its targets: for what a
 *        target does, no tool is called beside it.
 *     3. A directory without one is checked by every tool that has a file there.
 *     4. A directory below is a project of its own, unless the one above covers it: by a task
 *        runner with a test, as a workspace, or by the nature of the tool (CMake, Maven).
 *
 * Pure: the caller reads the files.
 */
#ifndef CORE_CONFIG_PROJECT_H
#define CORE_CONFIG_PROJECT_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROJECT_DEPTH_MAX = 2,
    PROJECT_FILES_MAX = 2000,
    PROJECT_TEXT_BYTES_MAX = 256 * 1024,
    PROJECT_CHECKS_MAX = 24, /* A repository's configuration takes 32. */
    PROJECT_HOSTS_MAX = 6,
    PROJECT_NOTES_MAX = 16,
};

enum project_need { PROJECT_NOTHING, PROJECT_NAME, PROJECT_TEXT };
/* What the detection has to know of this path, relative to the top of the checkout. */
enum project_need project_needs(const char *path);

struct project_file {
    const char *path;
    struct str text; /* Empty where only the name is needed. */
};

struct project_check {
    const char *name;                         /* As verify[].name. */
    const char *command;                      /* For /bin/sh. */
    const char *program;                      /* That the command starts. */
    const char *why;                          /* "package.json has a script test" */
    const char *output;                       /* What later checks need of it, or NULL. */
    const char *hosts[PROJECT_HOSTS_MAX + 1]; /* That it downloads from; NULL-terminated. */
    int64_t timeout_s;                        /* 0: as the configuration has it. */
};

struct project {
    struct project_check checks[PROJECT_CHECKS_MAX];
    size_t count;
    size_t left_out;                      /* Beyond the limit. */
    const char *notes[PROJECT_NOTES_MAX]; /* What was found and not taken, and why. */
    size_t note_count;
};

/* Texts are in the arena, or static. */
void project_read(const struct project_file *files, size_t count, struct arena *arena,
                  struct project *ret_project);
#endif
