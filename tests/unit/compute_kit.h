/*
 * compute_kit.h - for tests of sandboxed commands: a directory, a shell script, and what was heard
 * of it.
 */
#ifndef TESTS_COMPUTE_KIT_H
#define TESTS_COMPUTE_KIT_H
#include "tests/unit/work_kit.h"
#include "work/agent/compute_process.h"

struct compute_kit {
    struct kit kit;
    const char *tree, *log_path;
    /* What the reader has heard. */
    struct {
        int lines;
        int stop_after; /* 0: never */
        char last[256];
        size_t longest;
        int too_long;
        bool refuses_long;
    } heard;
    /* What is said to the command. */
    struct {
        struct buf bytes;
        bool over;
        int interrupts;
        const char *farewell; /* Said as the request to end; NULL: there is none. */
    } talk;
};
extern struct compute_kit compute_kit; /* One at a time; a test ends with its process. */

void compute_kit_open(void);
void compute_kit_close(void);
/* Behind the walls (0), or without any (1). */
void compute_kit_walls(int index);
/* A shell script in the tree, with the reader below. */
struct compute_spec compute_kit_spec(const char *script);
bool compute_kit_line(void *ctx, struct str line);
struct compute_result compute_kit_run(const struct compute_spec *spec);
/* Thread: requests a stop once the file is there. */
void *compute_kit_stop_when_ready(void *path);
/* Nothing of the command is left. */
bool compute_kit_is_empty(void);
#endif
