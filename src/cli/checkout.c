#include "cli/checkout.h"
#include "base/proc.h"
#include "base/str.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    ARGS_MAX = 16,
    ENV_MAX = 4096,
    GIT_MS = 30000,
    LINE_BYTES_MAX = 8 * 1024,
    REMOTES_BYTES_MAX = 64 * 1024,
    WORDS_MAX = 400,
};

/* ---- asking git ---- */

/* The last one: nothing is fetched.  A checkout may say that objects which it lacks are to be had
   from a remote, and by which command. */
static const char *const own[] = {"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none"};

static bool is_own(const char *variable)
{
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (strncmp(variable, own[i], strcspn(own[i], "=") + 1) == 0)
            return true;
    }
    return false;
}

/* The caller's, with messages in one language. */
static const char **environment(struct arena *arena)
{
    size_t count = 0, used = 0;
    while (environ[count] != NULL && count < ENV_MAX)
        count++;
    const char **env = arena_array(arena, count + COUNT_OF(own) + 1, sizeof *env);
    for (size_t i = 0; i < count; i++) {
        if (!is_own(environ[i]))
            env[used++] = environ[i];
    }
    for (size_t i = 0; i < COUNT_OF(own); i++)
        env[used++] = own[i];
    return env;
}

/* git's message without its first word, on one line. */
static const char *first_words(struct buf *words)
{
    if (words->len == 0)
        return "it ended without a message";
    for (char *at = words->data; *at; at++) {
        if ((unsigned char)*at < ' ')
            *at = ' ';
    }
    return text_starts(words->data, "fatal: ") ? words->data + strlen("fatal: ") : words->data;
}

enum rc checkout_ask(const struct checkout_call *call, int *ret_status, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, LINE_BYTES_MAX);
    const char *argv[ARGS_MAX] = {"git"};
    for (size_t i = 0; call->args[i] != NULL && i + 2 < ARGS_MAX; i++)
        argv[i + 1] = call->args[i];
    const struct proc_spec spec = {.argv = argv, .env = environment(&arena), .cwd = call->dir};
    const struct proc_limits limits = {.timeout_ms = GIT_MS};
    struct proc_result result;
    enum rc rc = proc_run(&spec, call->input, call->out, &words, &limits, &result, err);
    if (rc == RC_NOT_FOUND && access(call->dir != NULL ? call->dir : ".", X_OK) == 0)
        return err_set(err, rc, "NO_GIT", "git is not installed: apt-get install git");
    if (rc != RC_OK)
        return rc;
    if (result.timed_out)
        return err_set(err, RC_TIMEOUT, "GIT_TIMEOUT", "git %s took too long", call->args[0]);
    if (call->out != NULL && call->out->overflow)
        return err_set(err, RC_TOO_LARGE, "GIT_OUTPUT", "git %s prints more than %zu bytes",
                       call->args[0], call->out->max_bytes);
    *ret_status = result.exit.code;
    if (result.exit.code != 0)
        (void)err_set(err, RC_NOT_FOUND, "GIT_FAILED", "%.*s", WORDS_MAX, first_words(&words));
    return RC_OK;
}

const char *checkout_line(const char *dir, const char *const *args, struct arena *arena)
{
    CLEANUP(buf_release) struct buf out;
    int status = 1;
    buf_init(&out, LINE_BYTES_MAX);
    const struct checkout_call call = {.dir = dir, .args = args, .out = &out};
    if (checkout_ask(&call, &status, NULL) != RC_OK || status != 0)
        return NULL;
    return arena_strndup(arena, buf_text(&out), strcspn(buf_text(&out), "\n"));
}

/* ---- finding it ---- */

static const char *real_path(const char *path, struct arena *arena)
{
    char real[PATH_MAX];
    return path != NULL && realpath(path, real) != NULL ? arena_strdup(arena, real) : NULL;
}

static void add_remote(struct checkout *checkout, size_t *count, const char *url,
                       struct arena *arena)
{
    if (url[0] == '.' && checkout->top != NULL) {
        const char *real = real_path(arena_printf(arena, "%s/%s", checkout->top, url), arena);
        url = real != NULL ? real : url;
    }
    if (*count < CHECKOUT_REMOTES_MAX)
        checkout->remotes[(*count)++] = arena_strdup(arena, url);
}

/* "remote.origin.url https://..." */
static void read_remotes(struct checkout *checkout, struct arena *arena)
{
    static const char origin[] = "remote.origin.url ";
    CLEANUP(buf_release) struct buf out;
    size_t count = 0;
    int status = 1;
    buf_init(&out, REMOTES_BYTES_MAX);
    const struct checkout_call call = {
        .args = CHECKOUT_ARGS("config", "--get-regexp", "^remote\\..*\\.url$"), .out = &out};
    if (checkout_ask(&call, &status, NULL) != RC_OK || status != 0)
        return;
    for (int others = 0; others <= 1; others++) {
        struct str rest = buf_str(&out), line;
        while (str_take_line(&rest, &line)) {
            const char *text = str_dup(arena, line);
            const char *blank = strchr(text, ' ');
            if (blank != NULL && text_starts(text, origin) == (others == 0))
                add_remote(checkout, &count, blank + 1, arena);
        }
    }
}

enum rc checkout_find(struct arena *arena, struct checkout *ret_checkout, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    struct checkout checkout = {.top = NULL};
    int status = 1;
    buf_init(&out, LINE_BYTES_MAX);
    const struct checkout_call call = {.args = CHECKOUT_ARGS("rev-parse", "--is-bare-repository",
                                                             "--path-format=absolute",
                                                             "--git-common-dir"),
                                       .out = &out};
    enum rc rc = checkout_ask(&call, &status, err);
    if (rc != RC_OK)
        return rc;
    if (status != 0)
        return RC_NOT_FOUND;
    struct str rest = buf_str(&out), bare, common;
    if (!str_take_line(&rest, &bare) || !str_take_line(&rest, &common))
        return err_set(err, RC_IO, "GIT_FAILED", "git rev-parse answers with too little");
    checkout.bare = str_is(bare, "true");
    checkout.common_dir = real_path(str_dup(arena, common), arena);
    const char *top = checkout_line(NULL, CHECKOUT_ARGS("rev-parse", "--show-toplevel"), arena);
    checkout.top = checkout.bare ? NULL : real_path(top, arena);
    if (checkout.common_dir == NULL || (checkout.top == NULL && !checkout.bare))
        return err_set(err, RC_NOT_FOUND, "NOT_A_CHECKOUT",
                       "this is inside of a git directory, not in a checkout");
    read_remotes(&checkout, arena);
    *ret_checkout = checkout;
    return RC_OK;
}

/* ---- addresses ---- */

struct address {
    struct str host; /* Empty: a path on this machine. */
    struct str path; /* Without .git and slashes at both ends. */
    bool is_ssh;     /* Then the path is that of the host's file system. */
};

static struct str trimmed(struct str path)
{
    while (path.len > 0 && path.at[path.len - 1] == '/')
        path.len--;
    if (path.len > 4 && memcmp(path.at + path.len - 4, ".git", 4) == 0)
        path.len -= 4;
    while (path.len > 0 && path.at[path.len - 1] == '/')
        path.len--;
    while (path.len > 0 && path.at[0] == '/')
        path = (struct str){path.at + 1, path.len - 1};
    return path;
}

/* Without the user before it and the port behind it. */
static struct str host_of(const char *text, size_t len)
{
    const char *at = memrchr(text, '@', len);
    if (at != NULL) {
        len -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    const char *colon = memchr(text, ':', len);
    return (struct str){text, colon != NULL ? (size_t)(colon - text) : len};
}

static struct address address_of(const char *url)
{
    const char *scheme = strstr(url, "://");
    if (text_starts(url, "file://"))
        return (struct address){.path = trimmed(str_of(url + strlen("file://")))};
    if (scheme != NULL) {
        const char *rest = scheme + 3;
        size_t len = strcspn(rest, "/");
        return (struct address){.host = host_of(rest, len),
                                .path = trimmed(str_of(rest + len)),
                                .is_ssh = text_starts(url, "ssh://")};
    }
    size_t len = strcspn(url, "/:");
    if (url[len] != ':' || len == 0)
        return (struct address){.path = trimmed(str_of(url))};
    return (struct address){.host = host_of(url, len),
                            .path = trimmed(str_of(url + len + 1)),
                            .is_ssh = url[len + 1] == '/'};
}

static bool hosts_same(struct str a, struct str b)
{
    return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

bool checkout_same_address(const char *a, const char *b)
{
    const struct address left = address_of(a), right = address_of(b);
    if (left.path.len == 0 || !str_same(left.path, right.path))
        return false;
    if (left.host.len == 0 || right.host.len == 0) /* A path of the server's machine, by ssh. */
        return left.host.len == right.host.len || left.is_ssh || right.is_ssh;
    return hosts_same(left.host, right.host);
}

bool checkout_is_at(const struct checkout *checkout, const char *url)
{
    char real[PATH_MAX];
    const char *path = text_starts(url, "file://") ? url + strlen("file://") : url;
    if (path[0] != '/' || realpath(path, real) == NULL)
        return false;
    size_t len = strlen(real);
    return text_same(real, checkout->top) || text_same(real, checkout->common_dir) ||
           (text_starts(checkout->common_dir, real) &&
            text_same(checkout->common_dir + len, "/.git"));
}
