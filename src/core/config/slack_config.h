/*
 * slack_config.h - who may answer with the buttons of Slack's messages.
 *
 *     slack:
 *       secretEnv: SLACK_SIGNING_SECRET     # a variable of the server: the app's signing secret
 *       team: T0123ABCD                     # optional: only of this workspace of Slack
 *       users:
 *         - {id: U024BE7LH, name: ada}      # what ada decides is decided by "ada"
 *         - {id: U0G9QF9C6, name: eve, role: admin}
 *       reply: true                         # tell the chat what came of it; default false
 *       replyHosts: [hooks.slack.com]       # where such a reply may go
 */
#ifndef CORE_CONFIG_SLACK_CONFIG_H
#define CORE_CONFIG_SLACK_CONFIG_H
#include "base/js.h"
#include "core/role.h"
#include <stdbool.h>
#include <stddef.h>

enum { SLACK_USERS_MAX = 1000, SLACK_ID_MAX = 32, SLACK_NAME_MAX = 64, SLACK_HOSTS_MAX = 8 };

struct slack_user {
    const char *id, *name;
    enum role role; /* operator or admin */
};

struct slack_config {
    const char *secret_env; /* NULL: Slack may answer nothing. */
    const char *team;       /* or NULL */
    const struct slack_user *users;
    size_t user_count;
    bool reply;
    const char *reply_hosts[SLACK_HOSTS_MAX + 1]; /* NULL-terminated. */
};

/* Texts are copied into the arena. */
MUST_USE enum rc slack_config_decode(const struct js *document, const char *path,
                                     struct arena *arena, struct slack_config *ret_config,
                                     struct err *err);
/* NULL: the user may not answer. */
const struct slack_user *slack_config_user(const struct slack_config *config, const char *id);
/* May a reply be sent there?  https only, except to this machine. */
bool slack_config_may_reply(const struct slack_config *config, const char *url);
#endif
