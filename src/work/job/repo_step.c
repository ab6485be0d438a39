/*
 * repo_step.c - tokens and calls for a step, as the server grants them.
 *
 * Calls are granted in blocks (BLOCK), so that not every call costs the server a commit.  What a
 * block has left when the step ends is given back; what a worker that dies holds is free again when
 * the forge's window ends.
 */
#include "work/job/repo_step.h"
#include "base/hash.h"
#include "forge/forges.h"
#include "work/job/retry.h"
#include "work/job/step_secrets.h"
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 20,     /* Calls that are asked for at once. */
    PLACES_MAX = 8, /* Hosts and resources of one step. */
    RENEW_BEFORE_MS = 3 * 60 * 1000,
    WAIT_MS_DEFAULT = 60 * 1000,
};

/* A host and one of its quotas. */
struct quota {
    const char *host, *resource;
    int64_t left; /* Of the block. */
    int64_t used; /* Since the server was told last. */
    int64_t back; /* Of a block that may not be used any more; the same. */
    struct forge_limit_seen seen;
    bool has_seen;
};

struct step_forge {
    struct step *step;
    struct forge_gate gate;
    enum forge_access access; /* The last that was asked for: whose quota it is. */
    struct {
        const char *token; /* In the step's arena; NULL: the server has none. */
        int64_t expires_us;
        bool asked;
        const char *refused; /* By the forge: the token is another, or there is no other. */
    } tokens[ACCESS_COUNT];
    struct git_renewal renewal;
    struct quota quotas[PLACES_MAX];
    size_t quota_count;
};

/* ---- the server ---- */

static enum rc ask_server(struct step *step, const struct port_forge_request *request,
                          struct port_forge_answer *ret_answer, struct err *err)
{
    struct port *port = step->site->port;
    struct retry retry = retry_begin(step->stop);
    enum rc rc;
    if (port->ops->forge_access == NULL) { /* It is not asked about its forge at all. */
        *ret_answer = (struct port_forge_answer){.calls = request->want};
        return RC_OK;
    }
    do
        rc = port->ops->forge_access(port, &step->lease, request, ret_answer, err);
    while (!text_same(err->code, "TOKEN_UNAVAILABLE") && retry_again(&retry, rc));
    if (rc == RC_STALE)
        stop_ask(step->stop, STOP_LOST);
    return rc;
}

/* ---- the gate ---- */

static struct quota *find_quota(struct step_forge *forge, const char *host, const char *resource)
{
    for (size_t i = 0; i < forge->quota_count; i++) {
        struct quota *quota = &forge->quotas[i];
        if (text_same(quota->host, host) && text_same(quota->resource, resource))
            return quota;
    }
    if (forge->quota_count == PLACES_MAX)
        return NULL;
    struct arena *arena = forge->step->arena;
    struct quota *quota = &forge->quotas[forge->quota_count++];
    *quota = (struct quota){.host = arena_strdup(arena, host),
                            .resource = arena_strdup(arena, resource)};
    return quota;
}

static struct port_forge_request request_of(const struct step_forge *forge,
                                            const struct quota *quota)
{
    return (struct port_forge_request){
        .config = &forge->step->input.config,
        .repository = forge->step->input.repository,
        .access = forge->access,
        .host = quota->host,
        .resource = quota->resource,
        .used = quota->used,
        .back = quota->back,
        .seen = quota->has_seen ? &quota->seen : NULL,
    };
}

static enum rc refill(struct step_forge *forge, struct quota *quota, struct err *err)
{
    struct port_forge_answer answer = {0};
    struct port_forge_request request = request_of(forge, quota);
    request.want = BLOCK;
    enum rc rc = ask_server(forge->step, &request, &answer, err);
    if (rc != RC_OK)
        return rc;
    quota->used = quota->back = 0;
    quota->has_seen = false;
    quota->left = answer.calls;
    if (answer.calls > 0)
        return RC_OK;
    rc = err_set(err, RC_LIMIT, "FORGE_LIMIT", "%s",
                 answer.why[0] ? answer.why : "The forge's rate limit has no calls left for this.");
    err->retry_ms = answer.retry_ms > 0 ? answer.retry_ms : WAIT_MS_DEFAULT;
    return rc;
}

static enum rc gate_ask(void *ctx, const char *host, const char *resource, struct err *err)
{
    struct step_forge *forge = ctx;
    struct quota *quota = find_quota(forge, host, resource);
    struct err own = {0};
    if (quota == NULL)
        return err_set(err, RC_LIMIT, "FORGE_LIMIT", "One step calls more than %d hosts.",
                       PLACES_MAX);
    enum rc rc = quota->left > 0 ? RC_OK : refill(forge, quota, &own);
    if (rc != RC_OK) {
        if (err != NULL)
            *err = own;
        return rc;
    }
    quota->left--;
    quota->used++;
    return RC_OK;
}

static void gate_told(void *ctx, const struct forge_limit_seen *seen)
{
    struct step_forge *forge = ctx;
    struct quota *quota = find_quota(forge, seen->host, seen->resource);
    if (quota == NULL)
        return;
    quota->seen = *seen;
    quota->seen.host = quota->host;
    quota->seen.resource = quota->resource;
    quota->has_seen = true;
    if (seen->secondary || seen->remaining == 0) {
        quota->back += quota->left; /* The next call asks the server, which then knows. */
        quota->left = 0;
    }
}

static enum rc renew(void *ctx, const char *refused, const char **ret_credential);

static struct step_forge *forge_of(struct step *step)
{
    if (step->forge == NULL) {
        step->forge = arena_alloc(step->arena, sizeof *step->forge);
        step->forge->step = step;
        step->forge->gate = (struct forge_gate){
            .ask = gate_ask, .told = gate_told, .ctx = step->forge};
        step->forge->renewal = (struct git_renewal){.renew = renew, .ctx = step->forge};
    }
    return step->forge;
}

void step_forge_close(struct step *step)
{
    struct step_forge *forge = step->forge;
    for (size_t i = 0; forge != NULL && i < forge->quota_count; i++) {
        struct quota *quota = &forge->quotas[i];
        struct port_forge_answer answer = {0};
        struct port_forge_request request = request_of(forge, quota);
        struct port *port = step->site->port;
        request.back += quota->left;
        quota->left = 0;
        if (port->ops->forge_access == NULL || (request.used == 0 && request.back == 0))
            continue;
        /* Once: what is not told is read from the next answer of the forge. */
        (void)!port->ops->forge_access(port, &step->lease, &request, &answer, NULL);
        quota->used = quota->back = 0;
    }
}

/* ---- tokens ---- */

static bool is_fresh(const struct step *step, int64_t expires_us)
{
    int64_t now_us = clock_now_us(&step->site->clock);
    return expires_us == 0 || expires_us - now_us > RENEW_BEFORE_MS * US_PER_MS;
}

/* refused: the hash of one that is not to be had again, or NULL. */
static enum rc ask_token(struct step_forge *forge, enum forge_access access, const char *refused,
                         struct err *err)
{
    struct step *step = forge->step;
    struct port_forge_answer answer = {0};
    const struct port_forge_request request = {.config = &step->input.config,
                                               .repository = step->input.repository,
                                               .access = access,
                                               .token = true,
                                               .refused_sha256 = refused};
    enum rc rc = ask_server(step, &request, &answer, err);
    if (rc != RC_OK)
        return rc;
    const char *token = NULL;
    if (answer.token.text[0] != '\0') {
        token = arena_strdup(step->arena, answer.token.text);
        secrets_add(step_secrets(step), "forge-token", token);
    }
    forge->tokens[access].asked = true;
    forge->tokens[access].token = token;
    forge->tokens[access].expires_us = answer.token.expires_us;
    forge_token_wipe(&answer.token);
    return RC_OK;
}

static enum rc take_token(struct step *step, enum forge_access access, const char **ret_token,
                          struct err *err)
{
    struct step_forge *forge = forge_of(step);
    enum rc rc = RC_OK;
    forge->access = access;
    if (!forge->tokens[access].asked || !is_fresh(step, forge->tokens[access].expires_us))
        rc = ask_token(forge, access, NULL, err);
    if (rc == RC_OK)
        *ret_token = forge->tokens[access].token;
    return rc;
}

/* A refused token is told to the server once: another that was made a moment ago is refused for
   another reason.  Calls that still hold the first one get the second. */
static enum rc renew(void *ctx, const char *refused, const char **ret_credential)
{
    struct step_forge *forge = ctx;
    struct step *step = forge->step;
    char sha256[SHA256_TEXT_BYTES];
    struct err err = {0};
    enum forge_access access = 0;
    while (access < ACCESS_COUNT && !text_same(forge->tokens[access].token, refused) &&
           !text_same(forge->tokens[access].refused, refused))
        access++;
    if (access == ACCESS_COUNT) /* A variable of this worker. */
        return RC_UNAUTHORIZED;
    if (forge->tokens[access].refused == NULL) {
        forge->tokens[access].refused = arena_strdup(step->arena, refused);
        sha256_hex(refused, strlen(refused), sha256);
        enum rc rc = ask_token(forge, access, sha256, &err);
        if (rc != RC_OK)
            return rc;
        if (text_same(step->token, refused))
            step->token = forge->tokens[access].token;
    }
    const char *token = forge->tokens[access].token;
    if (token == NULL || text_same(token, refused))
        return RC_UNAUTHORIZED;
    *ret_credential = token;
    return RC_OK;
}

/* Of the worker's environment, where the server does not have it. */
static const char *variable_of(const struct repo_config *config, enum forge_access access)
{
    bool review = access == ACCESS_REVIEW && config->reviewer_credential != NULL;
    return review ? config->reviewer_credential : config->forge_credential;
}

static enum rc missing(const struct step *step, enum forge_access access, struct err *err)
{
    const char *name = variable_of(&step->input.config, access);
    return err_set(err, RC_NOT_FOUND, "CREDENTIAL_MISSING",
                   "Neither the server's environment nor the worker's has %.100s, which "
                   "credentials names. Set it where the server is started, and retry.",
                   name != NULL ? name : "the credential");
}

enum rc step_credential(struct step *step, enum forge_access access, struct err *err)
{
    const struct repo_config *config = &step->input.config;
    if (!token_source_named(config) || !git_over_http(config->url))
        return RC_OK;
    const char *token = NULL;
    enum rc rc = take_token(step, access, &token, err);
    if (rc != RC_OK)
        return rc;
    const char *name = variable_of(config, access);
    if (token == NULL && name != NULL)
        token = getenv(name);
    step->token = token;
    step->renewal = &forge_of(step)->renewal;
    return text_empty(token) ? missing(step, access, err) : RC_OK;
}

/* ---- steps ---- */

enum rc repo_step_open(struct step *step, struct err *err)
{
    struct step_input *input = &step->input;
    const struct js *payload = input->payload;
    const struct js *config = js_get(payload, "config");
    input->repository = js_get_str(payload, "repository", NULL);
    enum rc rc = RC_OK;
    if (input->repository == NULL || config == NULL)
        rc = err_set(err, RC_INVALID, "PAYLOAD_INVALID",
                     "The payload has no repository, or not its configuration.");
    if (rc == RC_OK)
        rc = repo_config_decode(config, NULL, step->arena, &input->config, err);
    if (rc != RC_OK)
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    input->target_branch = input->config.default_branch;
    step_place(step);
    return RC_OK;
}

enum rc step_forge_open(struct step *step, enum forge_access access, struct forge_call *ret_call,
                        const struct forge_ops **ret_ops, struct err *err)
{
    const struct repo_config *config = &step->input.config;
    const struct forge_ops *ops = forge_find(config->forge);
    if (ops == NULL)
        return err_set(err, RC_INVALID, "UNKNOWN_FORGE", "There is no forge called %.50s.",
                       config->forge);
    enum rc rc = step_credential(step, access, err);
    if (rc != RC_OK)
        return rc;
    *ret_call = (struct forge_call){.git = step_git(step), .api = config->api};
    if (!text_same(ops->name, "local")) { /* That one has no quota. */
        struct step_forge *forge = forge_of(step);
        forge->access = access;
        ret_call->gate = &forge->gate;
    }
    *ret_ops = ops;
    return RC_OK;
}

/* The server's key is not good: no retry helps. */
static bool is_key_error(const struct err *err)
{
    static const char *const codes[] = {"TOKEN_REFUSED", "APP_NOT_INSTALLED", "KEY_INVALID",
                                        "KEY_FILE_OPEN", "CREDENTIAL_INVALID"};
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (text_same(err->code, codes[i]))
            return true;
    return false;
}

enum rc step_forge_fail(struct step *step, enum rc rc, const struct err *err, const char *code)
{
    bool again = rc != RC_CONFLICT && rc != RC_INVALID && rc != RC_NOT_FOUND &&
                 rc != RC_UNAUTHORIZED && rc != RC_DENIED;
    struct port_failure failure = {.code = code, .retryable = again};
    if (text_same(err->code, "CREDENTIAL_MISSING"))
        failure.code = "credential_missing";
    else if (rc == RC_UNAUTHORIZED || is_key_error(err))
        failure.code = "credential_refused";
    return step_fail(step, rc, err, failure);
}
