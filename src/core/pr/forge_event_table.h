/*
 * forge_event_table.h - how the deliveries of one forge are read: a table of rules, and where each
 * fact stands in a body.
 *
 * The first rule that fits decides.  Places are dotted paths (js_path).
 */
#ifndef CORE_PR_FORGE_EVENT_TABLE_H
#define CORE_PR_FORGE_EVENT_TABLE_H
#include "core/pr/forge_event.h"

struct event_rule {
    const char *event;   /* The header. */
    const char *actions; /* " opened closed ": one of these; NULL: any, or none at all. */
    enum forge_subject subject;
    const char *number; /* Where the subject's number stands; NULL: it has none. */
    const char *commit;
    const char *branch; /* Of SUBJECT_BRANCH: "refs/heads/" in front is taken off. */
    const char *when;   /* Fits only if this is there, */
    const char *is;     /* and is this text; NULL: anything but null and false. */
};

struct event_dialect {
    const char *forge;
    const struct event_rule *rules;
    size_t count;
    const char *action;                                  /* Places, of every event. */
    const char *repository_ids[3], *repository_names[3]; /* The first that is there. */
    const char *actors[3];
    /* Is the actor a program? */
    bool (*is_bot)(const struct js *body, const char *actor);
    /* The event's name as it is recorded; NULL: as in the header. */
    const char *(*name)(const char *event, const struct js *body);
};

extern const struct event_dialect forge_events_github, forge_events_gitlab, forge_events_gitea;
#endif
