/*
 * app_token.c - see app_token.h.
 *
 *     GET  /repos/OWNER/NAME/installation          by JWT: the installation and what it may do
 *     POST /app/installations/ID/access_tokens     by JWT: {"repositories": [NAME], "permissions"}
 *
 * A token asks for what drover needs and the installation has: one that asks for more is refused as
 * a whole.
 *
 * Entries are found by their key: API, App, repository and kind of access.  `busy` ones are being
 * made by a thread; the lock is not held meanwhile.
 */
#include "forge/github/app_token.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/jw.h"
#include "base/jwt.h"
#include "base/mem.h"
#include "forge/github/api.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEY_BYTES_MAX = 64 * 1024,
    BODY_BYTES_MAX = 8 * 1024,
    JWT_BEFORE_S = 60, /* The clock of the server may be behind ours. */
    JWT_AFTER_S = 9 * 60,
    WAIT_MAX_MS = 60 * 1000,
    WAIT_TICK_MS = 200,
};

/* What drover may want, lowest first as GitHub orders it. */
static const struct permission {
    const char *name;
    const char *read, *write; /* NULL: not for this kind of access. */
    bool needed;              /* Without it the token is of no use. */
} permissions[] = {
    {"metadata", "read", "read", true},       {"contents", "read", "write", true},
    {"pull_requests", "read", "write", true}, {"issues", "read", "write", false},
    {"checks", "read", "write", false},       {"statuses", "read", "write", false},
    {"actions", "read", "write", false},      {"repository_hooks", "read", "read", false},
    {"workflows", NULL, "write", false},      {"merge_queues", "read", "write", false},
    {"members", "read", "read", false},
};

struct entry {
    char *key; /* NULL: free. */
    bool busy;
    struct app_token token;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct entry entries[APP_TOKENS_KEPT_MAX];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- the key ---- */

/* RC_INVALID: other users may read it. */
static enum rc read_key(const char *path, struct buf *into, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return err_set(err, RC_INVALID, "KEY_FILE_OPEN", "the key file %.200s cannot be read: %s",
                       path, strerror(errno));
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return err_set(err, RC_INVALID, "KEY_FILE_OPEN",
                       "the key file %.200s may be read by other users; chmod 600 it", path);
    if (fd_read_regular(fd, into) != RC_OK)
        return err_set(err, RC_INVALID, "KEY_FILE_OPEN",
                       "the key file %.200s is no file of at most %d bytes", path, KEY_BYTES_MAX);
    return RC_OK;
}

static void wipe(struct buf *secret)
{
    if (secret->data != NULL)
        explicit_bzero(secret->data, secret->len);
    buf_release(secret);
}

enum rc app_token_jwt(const struct app_config *app, const struct clock *clock, struct buf *into,
                      struct err *err)
{
    CLEANUP(wipe) struct buf key;
    const struct clock real = clock_real();
    int64_t now_s = clock_now_us(clock != NULL ? clock : &real) / US_PER_SECOND;
    buf_init(&key, KEY_BYTES_MAX);
    enum rc rc = read_key(app->key_file, &key, err);
    if (rc != RC_OK)
        return rc;
    const struct jwt_claims claims = {
        .issuer = app->id, .issued_s = now_s - JWT_BEFORE_S, .expires_s = now_s + JWT_AFTER_S};
    rc = jwt_sign_rs256(buf_str(&key), &claims, into, err);
    if (rc == RC_INVALID) {
        char what[256];
        (void)snprintf(what, sizeof what, "the key file %.200s", app->key_file);
        rc = err_wrap(err, rc, what);
    }
    return rc;
}

/* ---- the installation ---- */

static const char *path_of(const struct app_config *app, const struct github *gh)
{
    return app->installation > 0
               ? arena_printf(gh->arena, "/app/installations/%" PRId64, app->installation)
               : arena_printf(gh->arena, "/repos/%s/installation", gh->repo.path);
}

static struct rest_request request_of(const struct github *gh, const char *method, const char *path)
{
    struct rest_request request = github_request(gh, method, "");
    request.path = path;
    return request;
}

static enum rc find_installation(const struct github *gh, const struct app_config *app,
                                 struct rest_answer *ret_answer, int64_t *ret_id)
{
    const struct rest_request request = request_of(gh, "GET", path_of(app, gh));
    enum rc rc = github_send(gh, &request, ret_answer);
    if (rc == RC_NOT_FOUND)
        return err_set(gh->err, RC_NOT_FOUND, "APP_NOT_INSTALLED",
                       "the App %.100s is not installed on %s, or has another id", app->id,
                       gh->repo.path);
    if (rc != RC_OK)
        return rc;
    *ret_id = js_get_int(ret_answer->document, "id", 0);
    if (*ret_id < 1)
        return err_set(gh->err, RC_CORRUPT, "FORGE_HALF_ANSWER",
                       "GitHub answers with no installation");
    if (js_get_str(ret_answer->document, "suspended_at", NULL) != NULL)
        return err_set(gh->err, RC_DENIED, "FORGE_DENIED",
                       "the installation of the App %.100s on %s is suspended", app->id,
                       gh->repo.path);
    return RC_OK;
}

/* ---- the token ---- */

/* What the installation has of it; NULL: nothing. */
static const char *level_of(const struct permission *permission, const struct js *granted,
                            bool write)
{
    const char *wanted = write ? permission->write : permission->read;
    const char *has = js_get_str(granted, permission->name, NULL);
    if (wanted == NULL || has == NULL)
        return NULL;
    return text_same(wanted, "write") && text_same(has, "read") ? "read" : wanted;
}

static enum rc write_permissions(struct jw *jw, const struct github *gh, const struct js *granted,
                                 bool write)
{
    jw_begin(jw, '{');
    for (size_t i = 0; i < COUNT_OF(permissions); i++) {
        const struct permission *permission = &permissions[i];
        const char *wanted = write ? permission->write : permission->read;
        const char *level = level_of(permission, granted, write);
        if (permission->needed && !text_same(level, wanted))
            return err_set(gh->err, RC_DENIED, "FORGE_DENIED",
                           "the App lacks the permission %s: %s for %s; give it to the App and "
                           "accept it in the installation",
                           permission->name, wanted, gh->repo.path);
        if (level != NULL)
            jw_kstr(jw, permission->name, level);
    }
    jw_end(jw, '}');
    return RC_OK;
}

static enum rc take_token(const struct github *gh, const struct js *document,
                          struct app_token *ret_token)
{
    const char *text = js_get_str(document, "token", "");
    size_t len = strlen(text);
    int64_t expires_us = github_time(document, "expires_at");
    if (len == 0 || len >= APP_TOKEN_BYTES || expires_us == 0)
        return err_set(gh->err, RC_CORRUPT, "FORGE_HALF_ANSWER", "GitHub answers with no token");
    text_copy(ret_token->text, sizeof ret_token->text, text);
    ret_token->expires_us = expires_us;
    return RC_OK;
}

/* The number in ".../repositories/ID/installation", where a repository answers that was renamed; 0:
   none. */
static int64_t moved_to(const char *path)
{
    static const char before[] = "/repositories/";
    const char *at = path != NULL ? strstr(path, before) : NULL;
    char digits[20] = "";
    int64_t id = 0;
    if (at == NULL)
        return 0;
    at += sizeof before - 1;
    size_t len = strspn(at, "0123456789");
    if (len == 0 || len >= sizeof digits)
        return 0;
    memcpy(digits, at, len);
    return text_to_i64(digits, &id) ? id : 0;
}

/* By its name; by its number when the name is an old one, which is not accepted here. */
static void write_repository(struct jw *jw, const struct github *gh, int64_t id)
{
    jw_key(jw, id > 0 ? "repository_ids" : "repositories");
    jw_begin(jw, '[');
    if (id > 0)
        jw_int(jw, id);
    else
        jw_str(jw, github_name(gh));
    jw_end(jw, ']');
}

static enum rc post_token(const struct github *gh, int64_t installation,
                          const struct rest_answer *found, bool write, struct app_token *ret_token)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    write_repository(&jw, gh, moved_to(found->moved));
    jw_key(&jw, "permissions");
    enum rc rc = write_permissions(&jw, gh, js_get(found->document, "permissions"), write);
    if (rc != RC_OK)
        return rc;
    jw_end(&jw, '}');
    struct rest_request request = request_of(
        gh, "POST",
        arena_printf(gh->arena, "/app/installations/%" PRId64 "/access_tokens", installation));
    request.body = buf_str(&body);
    request.repeatable = true; /* A token that was never seen does no harm and ends by itself. */
    rc = github_send(gh, &request, &answer);
    return rc == RC_OK ? take_token(gh, answer.document, ret_token) : rc;
}

static enum rc make(const struct app_token_want *want, const struct git *how,
                    struct app_token *ret_token, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(wipe) struct buf jwt;
    CLEANUP(rest_answer_release) struct rest_answer found = {0};
    CLEANUP(forge_call_release)
    struct forge_call call = {.git = *how, .api = want->api, .gate = want->gate};
    struct github gh = {.call = &call, .arena = &arena, .err = err};
    int64_t installation = 0;
    buf_init(&jwt, JWT_BYTES_MAX);
    enum rc rc = app_token_jwt(want->app, want->clock, &jwt, err);
    if (rc != RC_OK)
        return rc;
    call.git.credential = buf_text(&jwt);
    rc = github_open(&gh, want->url);
    if (rc == RC_OK)
        rc = find_installation(&gh, want->app, &found, &installation);
    if (rc == RC_OK)
        rc = post_token(&gh, installation, &found, want->write, ret_token);
    return rc;
}

/* ---- what is kept ---- */

static void forget(struct entry *entry)
{
    explicit_bzero(&entry->token, sizeof entry->token);
    mem_free(entry->key);
    *entry = (struct entry){.key = NULL};
}

/* The entry of this key, or a free one; with the lock held.  NULL: all are busy. */
static struct entry *entry_of(const char *key)
{
    struct entry *other = NULL;
    for (size_t i = 0; i < COUNT_OF(kept.entries); i++) {
        struct entry *entry = &kept.entries[i];
        if (text_same(entry->key, key))
            return entry;
        if (entry->busy)
            continue;
        if (other == NULL || entry->key == NULL ||
            (other->key != NULL && entry->token.expires_us < other->token.expires_us))
            other = entry;
    }
    if (other != NULL) {
        forget(other);
        other->key = mem_strdup(key);
    }
    return other;
}

static int64_t now_of(const struct app_token_want *want)
{
    const struct clock real = clock_real();
    return clock_now_us(want->clock != NULL ? want->clock : &real);
}

/* Waits until the entry is there and no other thread is making it; the lock is held. */
static enum rc wait_for(const char *key, const struct git *how, struct entry **ret_entry,
                        struct err *err)
{
    int64_t until_us = clock_mono_us() + WAIT_MAX_MS * US_PER_MS;
    if (how->deadline_us != 0 && how->deadline_us < until_us)
        until_us = how->deadline_us;
    for (;;) {
        struct entry *entry = entry_of(key);
        if (entry != NULL && !entry->busy) {
            *ret_entry = entry;
            return RC_OK;
        }
        if (how->cancel != NULL && *how->cancel != 0)
            return err_set(err, RC_CANCELLED, "CALL_STOPPED", "the call was given up");
        if (clock_mono_us() > until_us)
            return err_set(err, RC_TIMEOUT, "NO_ANSWER", "no token came in time");
        struct timespec tick;
        (void)clock_gettime(CLOCK_REALTIME, &tick);
        tick.tv_nsec += WAIT_TICK_MS * 1000000L;
        tick.tv_sec += tick.tv_nsec / 1000000000L;
        tick.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&kept.changed, &kept.lock, &tick);
    }
}

static const char *key_of(const struct app_token_want *want, struct arena *arena)
{
    return arena_printf(arena, "%s|%s|%s|%" PRId64 "|%s|%s", want->api != NULL ? want->api : "",
                        want->app->id, want->app->key_file, want->app->installation, want->url,
                        want->write ? "write" : "read");
}

enum rc app_token_get(const struct app_token_want *want, const struct git *how,
                      struct app_token *ret_token, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct app_token made = {0};
    struct entry *entry = NULL;
    const char *key = key_of(want, &arena);
    pthread_mutex_lock(&kept.lock);
    enum rc rc = wait_for(key, how, &entry, err);
    bool fresh = rc == RC_OK && entry->token.expires_us - APP_TOKEN_RENEW_US > now_of(want);
    if (fresh)
        *ret_token = entry->token;
    if (rc == RC_OK && !fresh)
        entry->busy = true;
    pthread_mutex_unlock(&kept.lock);
    if (rc != RC_OK || fresh)
        return rc;
    rc = make(want, how, &made, err);
    pthread_mutex_lock(&kept.lock);
    entry->busy = false;
    if (rc == RC_OK)
        entry->token = *ret_token = made;
    else
        forget(entry);
    pthread_cond_broadcast(&kept.changed);
    pthread_mutex_unlock(&kept.lock);
    explicit_bzero(&made, sizeof made);
    return rc;
}

void app_token_forget(const char *sha256)
{
    char hash[SHA256_TEXT_BYTES];
    pthread_mutex_lock(&kept.lock);
    for (size_t i = 0; i < COUNT_OF(kept.entries); i++) {
        struct entry *entry = &kept.entries[i];
        if (entry->key == NULL || entry->busy)
            continue;
        sha256_hex(entry->token.text, strlen(entry->token.text), hash);
        if (text_same(hash, sha256))
            forget(entry);
    }
    pthread_mutex_unlock(&kept.lock);
}

void app_tokens_clear(void)
{
    pthread_mutex_lock(&kept.lock);
    for (size_t i = 0; i < COUNT_OF(kept.entries); i++) {
        if (!kept.entries[i].busy)
            forget(&kept.entries[i]);
    }
    pthread_mutex_unlock(&kept.lock);
}
