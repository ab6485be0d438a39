/*
 * notify.h - channels that notify people and programs of the progress of tasks.
 *
 *     notifications:
 *       - name: ops
 *         on: [approval, reminder, completed, failed]
 *         repositories: ["acme/billing-?"]       # globs; all, when it is left out
 *         type: slack                            # webhook | slack | command
 *         urlEnv: SLACK_URL                      # or url; a variable of the worker
 *         buttons: true                          # slack: answers by core/config/slack_config.h
 *         timeoutMs: 10000
 *       - {name: ci, on: [completed], type: webhook, url: "https://ci.example.org/hook",
 *          secretEnv: CI_SECRET}
 *       - {name: pager, on: [failed], type: command, command: [page, --quiet], env: [PAGER_KEY]}
 */
#ifndef CORE_CONFIG_NOTIFY_H
#define CORE_CONFIG_NOTIFY_H
#include "base/js.h"
#include "base/jw.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum notify_kind {
    NOTIFY_ACCEPTED,
    NOTIFY_RUNNING,
    NOTIFY_APPROVAL,
    NOTIFY_REMINDER,
    NOTIFY_QUESTION,
    NOTIFY_COMPLETED,
    NOTIFY_FAILED,
    NOTIFY_CANCELLED,
    NOTIFY_TIMED_OUT,
    NOTIFY_TEST,  /* A test of a channel; no channel can subscribe to it. */
    NOTIFY_REPLY, /* What came of a button: to the address that Slack has given; the same. */
    NOTIFY_KIND_COUNT
};
enum notify_type { NOTIFY_WEBHOOK, NOTIFY_SLACK, NOTIFY_COMMAND };

enum {
    NOTIFY_CHANNELS_MAX = 32,
    NOTIFY_NAME_MAX = 64,
    NOTIFY_GLOBS_MAX = 64,
    NOTIFY_ARGS_MAX = 32,
    NOTIFY_ENV_MAX = 32,
};

struct notify_channel {
    const char *name;
    bool on[NOTIFY_KIND_COUNT];
    const char *repositories[NOTIFY_GLOBS_MAX + 1]; /* Globs, NULL-terminated; none: all. */
    enum notify_type type;
    const char *url, *url_env;                /* One of them, unless NOTIFY_COMMAND. */
    const char *secret_env;                   /* NOTIFY_WEBHOOK: or NULL */
    const char *command[NOTIFY_ARGS_MAX + 1]; /* NOTIFY_COMMAND: argv, NULL-terminated */
    const char *env[NOTIFY_ENV_MAX + 1];      /* NOTIFY_COMMAND: names that it may see */
    bool buttons;                             /* NOTIFY_SLACK: approvals and questions have some. */
    int64_t timeout_ms;
};

struct notify_channels {
    const struct notify_channel *items;
    size_t count;
};

/* Texts are copied into the arena.  path names the array in messages: "notifications". */
MUST_USE enum rc notify_channels_decode(const struct js *array, const char *path,
                                        struct arena *arena, struct notify_channels *ret_channels,
                                        struct err *err);
MUST_USE enum rc notify_channel_decode(const struct js *document, const char *path,
                                       struct arena *arena, struct notify_channel *ret_channel,
                                       struct err *err);
/* As a document that notify_channel_decode takes. */
void notify_channel_write(struct jw *jw, const struct notify_channel *channel);

const struct notify_channel *notify_channel_find(const struct notify_channels *channels,
                                                 const char *name);
bool notify_channel_wants(const struct notify_channel *channel, enum notify_kind kind,
                          const char *repository);

const char *notify_kind_name(enum notify_kind kind);
MUST_USE bool notify_kind_parse(const char *name, enum notify_kind *ret_kind);
/* The kind of notification for an event; false: none. */
MUST_USE bool notify_kind_of(const char *event_type, enum notify_kind *ret_kind);
#endif
