#include "core/conductor/issue_kind.h"
#include "base/str.h"
#include "core/event_types.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define CTO       WRITERS(WRITER_CTO)
#define CONDUCTOR WRITERS(WRITER_CONDUCTOR)
#define DEV       WRITERS(WRITER_DEV_AGENT)
#define REVIEW    WRITERS(WRITER_REVIEW_AGENT)
#define CI        WRITERS(WRITER_CI)

static const struct row {
    const char *name, *type;
    unsigned writers;
} rows[ISSUE_EV_COUNT] = {
    [ISSUE_EV_APPROVED] = {"ISSUE_APPROVED", EV_CONDUCTOR_ISSUE_APPROVED, CTO},
    [ISSUE_EV_ASSIGNED] = {"ISSUE_ASSIGNED", EV_CONDUCTOR_ISSUE_ASSIGNED, CONDUCTOR},
    [ISSUE_EV_UNASSIGNED] = {"ISSUE_UNASSIGNED", EV_CONDUCTOR_ISSUE_UNASSIGNED, CONDUCTOR},
    [ISSUE_EV_WORK_STARTED] = {"WORK_STARTED", EV_CONDUCTOR_WORK_STARTED, DEV},
    [ISSUE_EV_BRANCH_CREATED] = {"BRANCH_CREATED", EV_CONDUCTOR_BRANCH_CREATED, DEV},
    [ISSUE_EV_PR_CREATED] = {"PR_CREATED", EV_CONDUCTOR_PR_CREATED, DEV},
    [ISSUE_EV_CI_PASSED] = {"CI_PASSED", EV_CONDUCTOR_CI_PASSED, DEV | CI},
    [ISSUE_EV_CI_FAILED] = {"CI_FAILED", EV_CONDUCTOR_CI_FAILED, DEV | CI},
    [ISSUE_EV_REVIEW_PASSED] = {"REVIEW_PASSED", EV_CONDUCTOR_REVIEW_PASSED, REVIEW},
    [ISSUE_EV_REVIEW_DISPUTED] = {"REVIEW_DISPUTED", EV_CONDUCTOR_REVIEW_DISPUTED, CTO},
    [ISSUE_EV_GATE_TRIGGERED] = {"HUMAN_GATE_TRIGGERED", EV_CONDUCTOR_HUMAN_GATE_TRIGGERED, CI},
    [ISSUE_EV_GATE_REMINDER] = {"HUMAN_GATE_REMINDER", EV_CONDUCTOR_HUMAN_GATE_REMINDER, CONDUCTOR},
    [ISSUE_EV_GATE_APPROVED] = {"HUMAN_GATE_APPROVED", EV_CONDUCTOR_HUMAN_GATE_APPROVED, CTO},
    [ISSUE_EV_GATE_REJECTED] = {"HUMAN_GATE_REJECTED", EV_CONDUCTOR_HUMAN_GATE_REJECTED, CTO},
    [ISSUE_EV_MERGED] = {"MERGED", EV_CONDUCTOR_MERGED, DEV},
    [ISSUE_EV_DEPLOYED_STAGING] = {"DEPLOYED_STAGING", EV_CONDUCTOR_DEPLOYED_STAGING, DEV},
    [ISSUE_EV_SMOKE_PASSED] = {"SMOKE_PASSED", EV_CONDUCTOR_SMOKE_PASSED, DEV},
    [ISSUE_EV_SMOKE_FAILED] = {"SMOKE_FAILED", EV_CONDUCTOR_SMOKE_FAILED, DEV},
    [ISSUE_EV_DEPLOYED_PRODUCTION] = {"DEPLOYED_PRODUCTION", EV_CONDUCTOR_DEPLOYED_PRODUCTION, DEV},
    [ISSUE_EV_VERIFIED] = {"VERIFIED", EV_CONDUCTOR_VERIFIED, DEV},
    [ISSUE_EV_DONE] = {"ISSUE_DONE", EV_CONDUCTOR_ISSUE_DONE, DEV},
    [ISSUE_EV_STUCK] = {"AGENT_STUCK", EV_CONDUCTOR_AGENT_STUCK, DEV | CONDUCTOR},
    [ISSUE_EV_ESCALATED] = {"ESCALATED", EV_CONDUCTOR_ESCALATED, CONDUCTOR | DEV},
    [ISSUE_EV_HEARTBEAT] = {"HEARTBEAT", EV_CONDUCTOR_HEARTBEAT, DEV},
    [ISSUE_EV_MILESTONE_COMPLETE] = {"MILESTONE_COMPLETE", EV_CONDUCTOR_MILESTONE_COMPLETE,
                                     CONDUCTOR},
};

const char *const issue_writer_names[] = {"cto",          "conductor", "dev-agent",
                                          "review-agent", "ci",        NULL};
_Static_assert(COUNT_OF(issue_writer_names) == WRITER_COUNT + 1, "a name for each writer");

const char *issue_kind_name(enum issue_kind kind)
{
    assert((unsigned)kind < ISSUE_EV_COUNT);
    return rows[kind].name;
}

const char *issue_kind_type(enum issue_kind kind)
{
    assert((unsigned)kind < ISSUE_EV_COUNT);
    return rows[kind].type;
}

unsigned issue_kind_writers(enum issue_kind kind)
{
    assert((unsigned)kind < ISSUE_EV_COUNT);
    return rows[kind].writers;
}

bool issue_kind_is_of_agent(enum issue_kind kind)
{
    switch (kind) {
    case ISSUE_EV_APPROVED:
    case ISSUE_EV_ASSIGNED:
    case ISSUE_EV_REVIEW_PASSED:
    case ISSUE_EV_REVIEW_DISPUTED:
    case ISSUE_EV_GATE_TRIGGERED:
    case ISSUE_EV_GATE_REMINDER:
    case ISSUE_EV_GATE_APPROVED:
    case ISSUE_EV_GATE_REJECTED:
        return false;
    default:
        return true;
    }
}

bool issue_kind_of_type(const char *type, enum issue_kind *ret_kind)
{
    for (int i = 0; i < ISSUE_EV_COUNT; i++) {
        if (text_same(rows[i].type, type)) {
            *ret_kind = (enum issue_kind)i;
            return true;
        }
    }
    return false;
}

/* Upper case, and '_' for the marks between words. */
static char plain(char c)
{
    if (c == '.' || c == '-')
        return '_';
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Does the type end with the name, behind a dot or at its start? */
static bool has_name(const char *type, const char *name)
{
    size_t type_len = strlen(type), len = strlen(name);
    if (len > type_len || (len < type_len && type[type_len - len - 1] != '.'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (plain(type[type_len - len + i]) != name[i])
            return false;
    return true;
}

bool issue_kind_guess(const char *type, enum issue_kind *ret_kind)
{
    for (int i = 0; i < ISSUE_EV_COUNT; i++) {
        if (has_name(type, rows[i].name)) {
            *ret_kind = (enum issue_kind)i;
            return true;
        }
    }
    return false;
}

const char *issue_writer_name(enum issue_writer writer)
{
    assert((unsigned)writer < WRITER_COUNT);
    return issue_writer_names[writer];
}

bool issue_writer_parse(const char *name, enum issue_writer *ret_writer)
{
    for (int i = 0; i < WRITER_COUNT; i++) {
        if (text_same(issue_writer_names[i], name)) {
            *ret_writer = (enum issue_writer)i;
            return true;
        }
    }
    return false;
}

const char *issue_writers_text(unsigned writers, char to[WRITERS_TEXT_BYTES])
{
    size_t len = 0;
    to[0] = '\0';
    for (int i = 0; i < WRITER_COUNT && len < WRITERS_TEXT_BYTES; i++)
        if (writers & WRITERS(i))
            len += (size_t)snprintf(to + len, WRITERS_TEXT_BYTES - len, "%s%s",
                                    len > 0 ? " or " : "", issue_writer_names[i]);
    return to;
}

bool issue_writer_choose(enum issue_kind kind, unsigned writers, enum issue_writer *ret_writer)
{
    unsigned both = issue_kind_writers(kind) & writers;
    for (int i = 0; i < WRITER_COUNT; i++) {
        if (both & WRITERS(i)) {
            *ret_writer = (enum issue_writer)i;
            return true;
        }
    }
    return false;
}
