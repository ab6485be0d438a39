/*
 * transcript_kit.h - for tests of adapters: a transcript at a fixed time, and the events that the
 * server hears of it.
 */
#ifndef TESTS_UNIT_TRANSCRIPT_KIT_H
#define TESTS_UNIT_TRANSCRIPT_KIT_H
#include "tests/unit/work_kit.h"
#include "work/agent/adapter.h"

struct transcript_kit {
    struct kit kit;
    struct progress progress;
    struct transcript transcript;
    int64_t now_us;
};

void transcript_kit_open(struct transcript_kit *kit, const char *now);
void transcript_kit_close(struct transcript_kit *kit);
/* A new transcript. */
void transcript_kit_begin(struct transcript_kit *kit, enum adapter adapter);
/* A file of tests/fixtures/transcripts, in the arena; */
char *transcript_kit_load(struct transcript_kit *kit, const char *name);
/* line by line. */
void transcript_kit_play(struct transcript_kit *kit, const char *name);
/* All events up to now, in one array; NULL: there are none. */
struct js *transcript_kit_heard(struct transcript_kit *kit);
#endif
