/*
 * governor.h - how many calls of a forge's API may be made now, as a pure function.
 *
 * A forge grants so many calls in a window, for each credential and kind of call.  All nodes share
 * one state of it.  Calls are granted in blocks before they are made; what the forge says of its
 * limit is told afterwards.
 *
 *   left     = remaining - granted and not told yet
 *   reserve  = kept for people: a tenth, at least 10 calls and at most half of the limit
 *   fair     = (limit - reserve) / repositories that use it in this window
 *
 * Steps get what is left above the reserve, and leave each other repository its fair share; people
 * get all that is left.  A secondary limit (too many at once) stops everyone for the time that the
 * forge names, or for a minute, and for twice as long after each one that follows.
 *
 * A window may end at another time than was told: the forge counts by a clock of its own.  One that
 * is told to end later is the next one.  One that is told to end earlier is an answer of the window
 * before, or the forge has changed its mind: the lower number and the earlier end count, and the
 * next answer settles it.  A refusal after the end of the window stops everyone for a moment, and
 * for twice as long after each one that follows.
 *
 * Invariants:
 *   1. granted >= 0, and 0 when a window begins.
 *   2. Within one window of one limit `remaining` never grows: answers may arrive in another
 *      order than they were made.
 *   3. While the limit is not known, blocks are of QUOTA_BLIND calls: the first answers tell it,
 *      and by then not much was granted that people should have kept.
 */
#ifndef CORE_PR_GOVERNOR_H
#define CORE_PR_GOVERNOR_H
#include <stdbool.h>
#include <stdint.h>

enum {
    QUOTA_RESERVE_PERCENT = 10,
    QUOTA_RESERVE_MIN = 10,
    QUOTA_BLIND = 2, /* Calls at once while the limit is not known. */
};

struct quota {
    int64_t limit;      /* Calls in a window; -1: not known. */
    int64_t remaining;  /* -1: not known. */
    int64_t reset_us;   /* End of the window; 0: not known. */
    int64_t granted;    /* Blocks that are out. */
    int64_t blocked_us; /* Nothing before then; 0: not blocked. */
    int64_t strikes;    /* Secondary limits in a row. */
};

/* What the forge said; -1 and 0: nothing. */
struct quota_seen {
    int64_t limit, remaining, reset_us;
    int64_t retry_us; /* Wait so long. */
    bool secondary;
};

/* Of what was granted: */
struct quota_told {
    int64_t used; /* made, */
    int64_t back; /* given back. */
};

struct quota_wish {
    int64_t want;
    bool person;          /* May use the reserve. */
    int64_t used;         /* By this repository in this window. */
    int64_t owed;         /* To other repositories: governor_owed of each. */
    int64_t repositories; /* That use it in this window, this one included. */
};

enum quota_why { QUOTA_GRANTED, QUOTA_SPENT, QUOTA_RESERVED, QUOTA_SHARED, QUOTA_BLOCKED };
struct quota_verdict {
    int64_t calls; /* 0: none now, */
    int64_t wait_us;
    enum quota_why why;
};

struct quota quota_new(void);
void quota_check(const struct quota *quota); /* Asserts the invariants. */
/* A window that has ended is renewed. */
void quota_renew(struct quota *quota, int64_t now_us);
/* What a forge has answered, and what became of calls that were granted. */
void quota_tell(struct quota *quota, const struct quota_seen *seen, const struct quota_told *told,
                int64_t now_us);
/* Takes the calls that it grants. */
struct quota_verdict quota_ask(struct quota *quota, const struct quota_wish *wish, int64_t now_us);

int64_t quota_reserve(const struct quota *quota);
/* What is left of the fair share of another repository that has used so much. */
int64_t quota_owed(const struct quota *quota, int64_t used, int64_t repositories);
const char *quota_why_name(enum quota_why why);
#endif
