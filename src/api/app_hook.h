/*
 * app_hook.h - deliveries of a GitHub App's own webhook, for one repository that the App serves.
 *
 * They are listed with the App's JWT.  That can make tokens for all repositories of the App, so it
 * stays here: workers ask the server, and get what is about the repository of their job and no
 * other.
 */
#ifndef API_APP_HOOK_H
#define API_APP_HOOK_H
#include "api/api.h"
#include "core/config/repo_config.h"
#include "forge/port/deliveries.h"

struct app_hook_wish {
    const struct repo_config *config;
    const char *repository;
    int64_t since_us;   /* The list back to then, */
    const char *handle; /* or, where it is not NULL, the payload of this delivery. */
};

/* Writes {"deliveries": [{"id", "event", "handle", "sentUs", "answered"}]}, or {"sha256"} of the
   payload, which is an artifact then.  RC_NOT_FOUND, NO_APP_HOOK: the repository has no App, or its
   webhook does not lead to a drover; FORGE_NOT_FOUND: there is no such delivery of this repository.
   RC_LIMIT, FORGE_LIMIT.  RC_CONFLICT, APP_REFUSED: the key or its permissions are not good.
   Others as in rest.h. */
MUST_USE enum rc app_hook_ask(struct api *api, const struct app_hook_wish *wish,
                              struct arena *arena, struct buf *into, struct err *err);
#endif
