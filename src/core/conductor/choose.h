/*
 * choose.h - which agent gets an issue.
 *
 * An agent may have it if its persona is the one that the issue asks for, if it works for the
 * repository, if it has one of the labels that it is for, and if it has fewer issues than its
 * capacity.  Of those the first by:
 *
 *   1. it was not the one that was stuck on the issue last
 *   2. labels of the issue that it is for, more first
 *   3. how busy it is, by its capacity
 *   4. how often it was stuck, by the issues that it had
 *   5. how quick it is, from the assignment to the end
 *   6. its name
 */
#ifndef CORE_CONDUCTOR_CHOOSE_H
#define CORE_CONDUCTOR_CHOOSE_H
#include "core/conductor/issue.h"

struct conductor_agent {
    const char *name;
    const char *persona;             /* or NULL */
    struct str repositories, labels; /* JSON arrays; names may be globs; empty: all. */
    int64_t capacity;
    int64_t load;                 /* Issues that it should be working on. */
    int64_t done, work_us, stuck; /* Its results so far. */
    bool in_house;                /* drover runs it, as tasks; else it asks for its assignments. */
    const char *profile;          /* in_house: of the agent; NULL: that of the repository. */
};

enum { CHOOSE_NONE = -1 };
/* The index of the agent, or CHOOSE_NONE.  may_submit: drover knows the repository of the issue;
   without that no agent of its own can have it. */
int choose_agent(const struct issue_life *issue, bool may_submit,
                 const struct conductor_agent *agents, size_t count);
#endif
