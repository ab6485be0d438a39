/*
 * forge_gate.h - the governor before calls of a forge's API that this server makes itself: for a
 * person's request, or to compare origins with the database.
 *
 * Blocks are small: a request makes few calls.
 */
#ifndef API_FORGE_GATE_H
#define API_FORGE_GATE_H
#include "api/api.h"
#include "core/config/repo_config.h"
#include "forge/git/git.h"
#include "forge/token_source.h"

enum { FORGE_GATE_PLACES = 4 };

struct forge_gate_place {
    const char *host, *resource;
    int64_t left, used;
    struct forge_limit_seen seen;
    bool has_seen;
};

struct server_forge {
    struct forge_gate gate;
    struct api *api;
    struct arena *arena;
    const char *credential, *repository;
    struct forge_gate_place places[FORGE_GATE_PLACES];
    size_t count;
    const struct repo_config *config;
    enum forge_access access;
    struct forge_token token, renewed; /* The second in place of the first, once that is refused. */
    struct git_renewal renewal;
    const struct git *how;
};

/* Fills credential, API and gate of the call, whose git has its home and its times already.  The
   struct must stay where it is until it is closed. */
struct server_forge_wish {
    const struct repo_config *config;
    const char *repository;
    enum forge_access access;
};
MUST_USE enum rc server_forge_open(struct server_forge *forge, struct api *api,
                                   const struct server_forge_wish *wish, struct arena *arena,
                                   struct forge_call *call, struct err *err);
/* The same as the App itself, for what is not about one repository: never handed out. */
MUST_USE enum rc server_forge_open_app(struct server_forge *forge, struct api *api,
                                       const struct repo_config *config, const char *repository,
                                       struct arena *arena, struct forge_call *call,
                                       struct err *err);
/* Tells the governor what was used.  Zeroed is fine. */
void server_forge_close(struct server_forge *forge);
#endif
