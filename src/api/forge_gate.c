#include "api/forge_gate.h"
#include "base/hash.h"
#include "control/pr/quota.h"
#include "forge/github/app_token.h"
#include <string.h>

enum { BLOCK = 5, WAIT_MS_MAX = 3600 * 1000 };

static struct forge_gate_place *find_place(struct server_forge *forge, const char *host,
                                           const char *resource)
{
    for (size_t i = 0; i < forge->count; i++)
        if (text_same(forge->places[i].host, host) &&
            text_same(forge->places[i].resource, resource))
            return &forge->places[i];
    if (forge->count == FORGE_GATE_PLACES)
        return NULL;
    struct forge_gate_place *place = &forge->places[forge->count++];
    *place = (struct forge_gate_place){.host = arena_strdup(forge->arena, host),
                                       .resource = arena_strdup(forge->arena, resource)};
    return place;
}

/* want 0: only tells. */
static enum rc ask_governor(struct server_forge *forge, struct forge_gate_place *place,
                            int64_t want, struct err *err)
{
    struct cmd_quota *cmd = cmd_quota_new();
    cmd->base.actor = (struct actor){"system", "api"};
    cmd->credential = forge->credential;
    cmd->repository = forge->repository;
    cmd->host = place->host;
    cmd->resource = place->resource;
    cmd->want = want;
    cmd->told = (struct quota_told){.used = place->used, .back = want == 0 ? place->left : 0};
    cmd->has_seen = place->has_seen;
    if (place->has_seen)
        cmd->seen = quota_seen_of(&place->seen);
    enum rc rc = committer_call(control_committer(forge->api->control), &cmd->base);
    if (rc != RC_OK && err != NULL)
        *err = cmd->base.err;
    if (rc == RC_OK) {
        place->used = 0;
        place->has_seen = false;
        place->left = cmd->verdict.calls;
    }
    if (rc == RC_OK && want > 0 && cmd->verdict.calls == 0) {
        rc = err_set(err, RC_LIMIT, "FORGE_LIMIT", "%s", cmd->why);
        int64_t wait_ms = cmd->verdict.wait_us / US_PER_MS;
        if (err != NULL)
            err->retry_ms = wait_ms < WAIT_MS_MAX ? wait_ms : WAIT_MS_MAX;
    }
    command_free(&cmd->base);
    return rc;
}

static enum rc gate_ask(void *ctx, const char *host, const char *resource, struct err *err)
{
    struct server_forge *forge = ctx;
    struct forge_gate_place *place = find_place(forge, host, resource);
    if (place == NULL)
        return err_set(err, RC_LIMIT, "FORGE_LIMIT", "one request calls more than %d hosts",
                       FORGE_GATE_PLACES);
    enum rc rc = place->left > 0 ? RC_OK : ask_governor(forge, place, BLOCK, err);
    if (rc != RC_OK)
        return rc;
    place->left--;
    place->used++;
    return RC_OK;
}

static void gate_told(void *ctx, const struct forge_limit_seen *seen)
{
    struct server_forge *forge = ctx;
    struct forge_gate_place *place = find_place(forge, seen->host, seen->resource);
    if (place == NULL)
        return;
    place->seen = *seen;
    place->seen.host = place->host;
    place->seen.resource = place->resource;
    place->has_seen = true;
}

/* Once: a token that was made a moment ago is refused for another reason. */
static enum rc renew(void *ctx, const char *refused, const char **ret_credential)
{
    struct server_forge *forge = ctx;
    char sha256[SHA256_TEXT_BYTES];
    if (!text_same(refused, forge->token.text))
        return RC_UNAUTHORIZED;
    if (forge->renewed.text[0] == '\0') {
        sha256_hex(refused, strlen(refused), sha256);
        token_source_refused(sha256);
        enum rc rc = token_source_get(forge->config, forge->access, forge->how, &forge->renewed,
                                      NULL);
        if (rc != RC_OK)
            return rc;
    }
    *ret_credential = forge->renewed.text;
    return text_same(refused, forge->renewed.text) ? RC_UNAUTHORIZED : RC_OK;
}

enum rc server_forge_open(struct server_forge *forge, struct api *api,
                          const struct server_forge_wish *wish, struct arena *arena,
                          struct forge_call *call, struct err *err)
{
    forge->api = api;
    forge->arena = arena;
    forge->repository = wish->repository;
    forge->credential = token_source_name(wish->config, wish->access, arena);
    call->api = wish->config->api;
    if (text_same(wish->config->forge, "local"))
        return RC_OK;
    enum rc rc = token_source_get(wish->config, wish->access, &call->git, &forge->token, err);
    if (rc != RC_OK)
        return rc;
    call->git.credential = forge->token.text[0] != '\0' ? forge->token.text : NULL;
    forge->config = wish->config;
    forge->access = wish->access;
    forge->how = &call->git;
    forge->renewal = (struct git_renewal){.renew = renew, .ctx = forge};
    call->git.renewal = &forge->renewal;
    forge->gate = (struct forge_gate){.ask = gate_ask, .told = gate_told, .ctx = forge};
    call->gate = &forge->gate;
    return RC_OK;
}

enum rc server_forge_open_app(struct server_forge *forge, struct api *api,
                              const struct repo_config *config, const char *repository,
                              struct arena *arena, struct forge_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf jwt;
    buf_init(&jwt, sizeof forge->token.text - 1);
    forge->api = api;
    forge->arena = arena;
    forge->repository = repository;
    forge->credential = arena_printf(arena, "app %s itself", config->app.id);
    call->api = config->api;
    enum rc rc = app_token_jwt(&config->app, NULL, &jwt, err);
    if (rc == RC_OK && jwt.overflow)
        rc = err_set(err, RC_INVALID, "KEY_INVALID", "the key of the App makes no token that fits");
    if (rc == RC_OK) {
        text_copy(forge->token.text, sizeof forge->token.text, buf_text(&jwt));
        call->git.credential = forge->token.text;
        forge->gate = (struct forge_gate){.ask = gate_ask, .told = gate_told, .ctx = forge};
        call->gate = &forge->gate;
    }
    if (jwt.len > 0)
        explicit_bzero(jwt.data, jwt.len);
    return rc;
}

void server_forge_close(struct server_forge *forge)
{
    for (size_t i = 0; i < forge->count; i++) {
        struct forge_gate_place *place = &forge->places[i];
        if (place->used > 0 || place->left > 0)
            (void)!ask_governor(forge, place, 0, NULL);
    }
    forge->count = 0;
    forge_token_wipe(&forge->token);
    forge_token_wipe(&forge->renewed);
}
