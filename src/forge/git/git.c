/*
 * git.c - runs git with an environment that no file or user can configure.
 *
 * Configuration comes in GIT_CONFIG_COUNT variables, which outrank every file.  They do not reach
 * the other end of a local fetch or push (git clears them on the way), which only needs
 * safe.directory for the repository: for that there is the file in git's home.
 *
 * The credential is given by a helper of one line, in the shell, for the address of the host alone:
 * a header in the configuration would go along to wherever the host redirects.
 */
#include "forge/git/git.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 64, LOCK_LOOK_MS = 25, WORDS_MAX = 300 };

static const struct {
    const char *key, *value;
} settings[] = {
    {"safe.directory", "*"},
    {"core.hooksPath", "/dev/null"},
    {"core.fsmonitor", "false"},
    {"core.untrackedCache", "false"},
    {"protocol.ext.allow", "never"},
    {"credential.helper", ""},
    {"gc.auto", "0"}, /* Clones borrow objects from mirrors: nothing may be pruned there. */
    {"maintenance.auto", "false"},
    {"submodule.recurse", "false"},
    {"fetch.recurseSubmodules", "false"},
    {"commit.gpgSign", "false"},
    {"advice.detachedHead", "false"},
    {"init.defaultBranch", "main"},
    {"user.name", "drover"},
    {"user.email", "drover@localhost"},
    {"core.protectHFS", "true"},
    {"core.protectNTFS", "true"},
    /* Every user who may push to the origin chooses what is fetched.  Refused are objects that make
       git write outside of a tree or run something; what old tools got wrong in names and dates of
       commits is let through, or old repositories could not be fetched at all. */
    {"fetch.fsckObjects", "true"},
    {"fetch.fsck.badDate", "ignore"},
    {"fetch.fsck.badDateOverflow", "ignore"},
    {"fetch.fsck.badEmail", "ignore"},
    {"fetch.fsck.badFilemode", "ignore"},
    {"fetch.fsck.badName", "ignore"},
    {"fetch.fsck.badTimezone", "ignore"},
    {"fetch.fsck.missingEmail", "ignore"},
    {"fetch.fsck.missingNameBeforeEmail", "ignore"},
    {"fetch.fsck.missingSpaceBeforeDate", "ignore"},
    {"fetch.fsck.missingSpaceBeforeEmail", "ignore"},
    {"fetch.fsck.missingTaggerEntry", "ignore"},
    {"fetch.fsck.badTagName", "ignore"},
    {"fetch.fsck.multipleAuthors", "ignore"},
    {"fetch.fsck.nullSha1", "ignore"},
    {"fetch.fsck.zeroPaddedDate", "ignore"},
    {"fetch.fsck.zeroPaddedFilemode", "ignore"},
};

static const char gitconfig[] = "[safe]\n\tdirectory = *\n";

enum rc git_home_make(const char *home, struct err *err)
{
    enum rc rc = dir_make_durable(home, 0700, err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(arena_release) struct arena arena = {0};
    return file_write_durable(arena_printf(&arena, "%s/gitconfig", home), gitconfig,
                              sizeof gitconfig - 1, 0600, err);
}

/* A list of strings in an arena, with a length that is fixed beforehand. */
struct list {
    const char **items;
    size_t count, max;
};

static void list_add(struct list *list, const char *item)
{
    assert(list->count + 1 < list->max);
    list->items[list->count++] = item;
}

static size_t count_of(const char *const *items)
{
    size_t count = 0;
    while (items != NULL && items[count] != NULL)
        count++;
    return count;
}

static void add_setting(struct list *env, struct arena *arena, size_t index, const char *key,
                        const char *value)
{
    list_add(env, arena_printf(arena, "GIT_CONFIG_KEY_%zu=%s", index, key));
    list_add(env, arena_printf(arena, "GIT_CONFIG_VALUE_%zu=%s", index, value));
}

bool git_over_http(const char *url)
{
    return url != NULL && (text_starts(url, "https://") || text_starts(url, "http://"));
}

/* The user of the address is used; without one, forges accept any user. */
static const char answer[] = "!f() { test \"$1\" != get || printf 'password=%s\\n' "
                             "\"$DROVER_GIT_TOKEN\"; }; f";
static const char answer_with_user[] = "!f() { test \"$1\" != get || printf "
                                       "'username=x-access-token\\npassword=%s\\n' "
                                       "\"$DROVER_GIT_TOKEN\"; }; f";

static void add_credential(struct list *env, struct arena *arena, size_t *count, const char *token,
                           const char *url)
{
    const char *host = strstr(url, "://") + 3;
    size_t len = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', len);
    const char *scheme = arena_strndup(arena, url, (size_t)(host - url));
    const char *rest = at != NULL ? at + 1 : host;
    const char *name = arena_strndup(arena, rest, len - (size_t)(rest - host));
    add_setting(env, arena, (*count)++, arena_printf(arena, "credential.%s%s.helper", scheme, name),
                at != NULL ? answer : answer_with_user);
    /* git takes the new address of a renamed repository from its first request alone, and a host
       that hides the repository from strangers redirects later ones only. */
    add_setting(env, arena, (*count)++,
                arena_printf(arena, "http.%s%s.followRedirects", scheme, name), "true");
    token = arena_strndup(arena, token, strcspn(token, "\r\n"));
    list_add(env, arena_printf(arena, "DROVER_GIT_TOKEN=%s", token));
}

const char **git_env(const struct git *git, const struct git_call *call, struct arena *arena)
{
    size_t max = 32 + 2 * COUNT_OF(settings) + count_of(call->env);
    struct list env = {.items = arena_array(arena, max, sizeof(char *)), .max = max};
    const char *path = getenv("PATH");
    list_add(&env,
             arena_printf(arena, "PATH=%s", path != NULL ? path : "/usr/local/bin:/usr/bin:/bin"));
    list_add(&env, arena_printf(arena, "HOME=%s", git->home != NULL ? git->home : "/nonexistent"));
    list_add(&env, git->home != NULL
                       ? arena_printf(arena, "GIT_CONFIG_GLOBAL=%s/gitconfig", git->home)
                       : "GIT_CONFIG_GLOBAL=/dev/null");
    list_add(&env, "GIT_CONFIG_NOSYSTEM=1");
    list_add(&env, "GIT_ATTR_NOSYSTEM=1");
    list_add(&env, "GIT_TERMINAL_PROMPT=0");
    list_add(&env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes");
    list_add(&env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh");
    list_add(&env, "GIT_OPTIONAL_LOCKS=0");
    /* An origin that is a checkout may name a command that gets the objects which it lacks. */
    list_add(&env, "GIT_NO_LAZY_FETCH=1");
    list_add(&env, "GIT_MERGE_AUTOEDIT=no");
    list_add(&env, "LC_ALL=C");
    size_t count = COUNT_OF(settings);
    for (size_t i = 0; i < count; i++)
        add_setting(&env, arena, i, settings[i].key, settings[i].value);
    if (call->unchecked) /* git keeps the pack of every fetch that it checks. */
        add_setting(&env, arena, count++, "fetch.fsckObjects", "false");
    if (call->durable)
        add_setting(&env, arena, count++, "core.fsync", "all");
    if (call->origin != NULL)
        add_setting(&env, arena, count++, "remote.origin.url", call->origin);
    if (!text_empty(git->credential) && git_over_http(call->origin))
        add_credential(&env, arena, &count, git->credential, call->origin);
    list_add(&env, arena_printf(arena, "GIT_CONFIG_COUNT=%zu", count));
    for (size_t i = 0; call->env != NULL && call->env[i] != NULL; i++)
        list_add(&env, call->env[i]);
    return env.items;
}

static const char **argv_of(const struct git_call *call, struct arena *arena)
{
    struct list argv = {.items = arena_array(arena, ARGS_MAX, sizeof(char *)), .max = ARGS_MAX};
    list_add(&argv, "git");
    if (call->git_dir != NULL)
        list_add(&argv, arena_printf(arena, "--git-dir=%s", call->git_dir));
    for (size_t i = 0; call->args[i] != NULL; i++)
        list_add(&argv, call->args[i]);
    return argv.items;
}

void git_redact(char *text)
{
    char *at = text;
    while ((at = strstr(at, "://")) != NULL) {
        at += 3;
        size_t len = strcspn(at, "/'\"<> \t\r\n");
        char *sign = memrchr(at, '@', len);
        if (sign == NULL)
            continue;
        /* "***" may be longer than what it hides, so the room it has is filled instead. */
        memset(at, '*', (size_t)(sign - at));
    }
}

void git_clean(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at < ' ' || *at == 0x7f)
            *at = ' ';
    }
}

static int left_ms(const struct git *git)
{
    if (git->deadline_us == 0)
        return -1;
    int64_t left = (git->deadline_us - clock_mono_us()) / US_PER_MS;
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static bool is_unauthorized(const char *words)
{
    static const char *const signs[] = {"Authentication failed for", "could not read Username",
                                        "could not read Password", "returned error: 401",
                                        "returned error: 403"};
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        if (strstr(words, signs[i]) != NULL)
            return true;
    }
    return false;
}

/* A call about a remote alone must not find a repository around it, as that of a checkout in which
   drover was started: its own "origin" would be taken. */
static const char *cwd_of(const struct git_call *call)
{
    bool anywhere = call->dir == NULL && call->git_dir == NULL;
    return anywhere && call->origin != NULL ? "/" : call->dir;
}

/* The end of git's message, on one line. */
static enum rc refused(const struct git_call *call, struct buf *words, struct err *err)
{
    const char *command = call->args[0];
    while (words->len > 0 && strchr("\r\n\t ", words->data[words->len - 1]) != NULL)
        buf_cut(words, words->len - 1);
    if (words->len == 0)
        return err_set(err, RC_IO, "GIT_FAILED", "git %s failed without a word.", command);
    git_redact(words->data);
    git_clean(words->data);
    const char *tail = words->data + (words->len > WORDS_MAX ? words->len - WORDS_MAX : 0);
    if (git_over_http(call->origin) && is_unauthorized(tail))
        return err_set(err, RC_UNAUTHORIZED, "GIT_UNAUTHORIZED", "git %s: %s", command, tail);
    return err_set(err, RC_IO, "GIT_FAILED", "git %s: %s", command, tail);
}

static enum rc ask_once(const struct git *git, const struct git_call *call, int *ret_status,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, GIT_TEXT_MAX);
    const char *command = call->args[0];
    struct proc_spec spec = {.argv = argv_of(call, &arena),
                             .env = git_env(git, call, &arena),
                             .cwd = cwd_of(call),
                             .run_stdin_fd = call->input_fd};
    struct proc_limits limits = {.timeout_ms = left_ms(git),
                                 .cancel = git->cancel,
                                 .data_bytes = call->memory_bytes ? call->memory_bytes
                                                                  : GIT_MEMORY_MAX};
    struct proc_result result;
    enum rc rc = proc_run(&spec, call->input, call->out, &words, &limits, &result, err);
    if (rc != RC_OK)
        return rc;
    if (call->words != NULL)
        buf_add(call->words, words.data, words.len);
    if (result.cancelled)
        return err_set(err, RC_CANCELLED, "CANCELLED", "git %s was stopped.", command);
    if (result.timed_out)
        return err_set(err, RC_TIMEOUT, "GIT_TIMEOUT", "git %s took too long.", command);
    if (call->out != NULL && call->out->overflow)
        return err_set(err, RC_TOO_LARGE, "GIT_OUTPUT", "git %s answered with more than %zu bytes.",
                       command, call->out->max_bytes);
    if (result.exit.code != 0 && result.exit.code != 1)
        return refused(call, &words, err);
    if (result.exit.code == 1)
        (void)refused(call, &words, err); /* For callers to whom 1 is a failure. */
    *ret_status = result.exit.code;
    return RC_OK;
}

bool git_renew(const struct git *git, const char **ret_credential)
{
    const struct git_renewal *renewal = git->renewal;
    return renewal != NULL && !text_empty(git->credential) &&
           renewal->renew(renewal->ctx, git->credential, ret_credential) == RC_OK;
}

/* A remote that refuses the credential has done nothing: the call is repeated with another one,
   unless its input cannot be read again. */
enum rc git_ask(const struct git *git, const struct git_call *call, int *ret_status,
                struct err *err)
{
    struct git renewed = *git;
    size_t out_len = call->out != NULL ? call->out->len : 0;
    size_t words_len = call->words != NULL ? call->words->len : 0;
    enum rc rc = ask_once(git, call, ret_status, err);
    if (rc != RC_UNAUTHORIZED || call->input_fd != 0 || !git_renew(git, &renewed.credential))
        return rc;
    if (call->out != NULL)
        buf_cut(call->out, out_len);
    if (call->words != NULL)
        buf_cut(call->words, words_len);
    err_clear(err);
    return ask_once(&renewed, call, ret_status, err);
}

enum rc git_run(const struct git *git, const struct git_call *call, struct err *err)
{
    int status = 0;
    enum rc rc = git_ask(git, call, &status, err);
    return rc == RC_OK && status != 0 ? RC_IO : rc;
}

enum rc git_line(const struct git *git, const struct git_call *call, struct arena *arena,
                 const char **ret_line, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    struct git_call collecting = *call;
    collecting.out = &out;
    enum rc rc = git_run(git, &collecting, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    *ret_line = arena_strndup(arena, text, strcspn(text, "\n"));
    return RC_OK;
}

/* What `git init` would make, without starting it. */
enum rc git_borrow_as(const struct git_loan *loan, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct {
        const char *name, *text;
    } files[] = {
        {"HEAD", "ref: refs/heads/main\n"},
        {"config", loan->config},
        {"objects/info/alternates", arena_printf(&arena, "%s/objects\n", loan->lender)},
    };
    const mode_t dir_mode = loan->for_other_users ? 0755 : 0700;
    const mode_t file_mode = loan->for_other_users ? 0644 : 0600;
    enum rc rc = dir_make(arena_printf(&arena, "%s/refs", loan->path), dir_mode, err);
    if (rc == RC_OK)
        rc = dir_make(arena_printf(&arena, "%s/objects/info", loan->path), dir_mode, err);
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(files); i++)
        rc = file_write_new(arena_printf(&arena, "%s/%s", loan->path, files[i].name), files[i].text,
                            strlen(files[i].text), file_mode, err);
    return rc;
}

enum rc git_borrow(const char *lender, const char *path, struct err *err)
{
    const struct git_loan loan = {
        .lender = lender,
        .path = path,
        .config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"};
    return git_borrow_as(&loan, err);
}

enum rc git_lock(const struct git *git, const char *path, int *ret_fd, struct err *err)
{
    enum rc rc;
    while ((rc = file_lock(path, 0, ret_fd, err)) == RC_CONFLICT) {
        if (git->cancel != NULL && *git->cancel != 0)
            return err_set(err, RC_CANCELLED, "CANCELLED", "stopped while waiting for a lock.");
        if (left_ms(git) == 0)
            return err_set(err, RC_TIMEOUT, "LOCK_TIMEOUT", "%.300s stayed locked too long.", path);
        (void)poll(NULL, 0, LOCK_LOOK_MS);
    }
    return rc;
}

bool git_hash_valid(const char *text)
{
    if (text == NULL)
        return false;
    size_t len = strspn(text, "0123456789abcdef");
    return text[len] == '\0' && (len == 40 || len == 64);
}

const char *const *git_author_env(int64_t time_us, struct arena *arena)
{
    enum { NAMES = 4, DATES = 2 };
    static const char *const names[NAMES] = {
        "GIT_AUTHOR_NAME=drover", "GIT_AUTHOR_EMAIL=drover@localhost", "GIT_COMMITTER_NAME=drover",
        "GIT_COMMITTER_EMAIL=drover@localhost"};
    const char **env = arena_array(arena, NAMES + DATES + 1, sizeof *env);
    long long seconds = time_us / US_PER_SECOND;
    memcpy(env, names, sizeof names);
    env[NAMES] = arena_printf(arena, "GIT_AUTHOR_DATE=@%lld +0000", seconds);
    env[NAMES + 1] = arena_printf(arena, "GIT_COMMITTER_DATE=@%lld +0000", seconds);
    return env;
}
