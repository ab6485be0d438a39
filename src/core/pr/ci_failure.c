/*
 * ci_failure.c - see ci_failure.h.
 *
 * The order of the tests is the order of certainty: a check about metadata is none about the patch;
 * one that did not run says nothing about it; what is red on the target branch by the same failure
 * was red before it; one that passed at the same head is flaky.  What remains is the patch.
 */
#include "core/pr/ci_failure.h"
#include "base/buf.h"
#include "core/run/feedback.h"
#include "core/text/terminal.h"
#include <string.h>
#include <strings.h>

enum { LINE_MAX_LEN = 300, TEMP_PATH_MAX = 200, HEX_RUN_MIN = 7 };

static bool has_word(struct str text, const char *word)
{
    return text.len > 0 && memmem(text.at, text.len, word, strlen(word)) != NULL;
}

static const char *first_word(struct str text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        if (has_word(text, words[i]))
            return words[i];
    return NULL;
}

/* ---- what the log is made of ---- */

/* 2026-11-17T20:00:00.1234567Z in front of every line, and ##[error] behind it. */
static struct str without_stamp(struct str line)
{
    size_t at = 0;
    while (at < line.len && at < 34 && strchr("0123456789-:.TZ+", line.at[at]) != NULL)
        at++;
    bool stamp = at >= 20 && at < line.len && line.at[at] == ' ' && line.at[4] == '-' &&
                 line.at[10] == 'T';
    if (stamp) {
        line.at += at + 1;
        line.len -= at + 1;
    }
    if (line.len > 3 && memcmp(line.at, "##[", 3) == 0) {
        const char *end = memchr(line.at, ']', line.len);
        size_t skip = end != NULL ? (size_t)(end - line.at) + 1 : 0;
        line.at += skip;
        line.len -= skip;
    }
    return line;
}

/* The end of the log without stamps and escapes. */
static struct str clean_log(struct str log, struct arena *arena)
{
    if (log.len > CI_LOG_MAX) {
        log.at += log.len - CI_LOG_MAX;
        log.len = CI_LOG_MAX;
    }
    char *to = arena_alloc(arena, log.len + 2), *at = to;
    struct str line;
    while (str_take_line(&log, &line)) {
        at = terminal_line(at, without_stamp(line));
        *at++ = '\n';
    }
    return (struct str){to, (size_t)(at - to)};
}

/* ---- the fingerprint ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_path(char c)
{
    return c > ' ' && strchr("\"'`()<>,;:", c) == NULL;
}

/* Absolute paths differ from machine to machine.  A temporary one goes as a whole; of another one
   its last two names stay: the file is part of the failure. */
static size_t take_path(struct str rest, struct buf *into)
{
    static const char *const temporary[] = {"/tmp/", "/var/folders/", "/private/var/", "/dev/shm/"};
    size_t len = 0;
    while (len < rest.len && len < TEMP_PATH_MAX && is_path(rest.at[len]))
        len++;
    for (size_t i = 0; i < COUNT_OF(temporary); i++) {
        size_t prefix = strlen(temporary[i]);
        if (len >= prefix && memcmp(rest.at, temporary[i], prefix) == 0) {
            buf_adds(into, "<tmp>");
            return len;
        }
    }
    size_t slashes = 0, from = len;
    while (from > 0 && slashes < 2)
        slashes += rest.at[--from] == '/';
    for (size_t i = from; i < len; i++)
        buf_addc(into, rest.at[i]);
    return len;
}

/* A hash, or a number with what belongs to it (1.25, 12:30:01, 3ms stays "<n>ms"); 0: neither. */
static size_t take_number(struct str rest, bool in_word, struct buf *into)
{
    size_t hex = 0, digits = 0;
    bool any_digit = false;
    while (hex < rest.len && is_hex(rest.at[hex]))
        any_digit |= is_digit(rest.at[hex++]);
    if (!in_word && any_digit && hex >= HEX_RUN_MIN) {
        buf_adds(into, "<hex>");
        return hex;
    }
    while (digits < rest.len &&
           (is_digit(rest.at[digits]) || (digits > 0 && strchr(".:-", rest.at[digits]) != NULL &&
                                          digits + 1 < rest.len && is_digit(rest.at[digits + 1]))))
        digits++;
    if (digits > 0)
        buf_adds(into, "<n>");
    return digits;
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

char *ci_line_normal(struct str line, struct arena *arena)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LINE_MAX_LEN);
    char before = ' ';
    while (line.len > 0 && !out.overflow) {
        char c = line.at[0];
        bool blank = c == ' ' || c == '\t' || c == '\r';
        bool root = c == '/' && !is_word(before) && before != '/' && before != '.' &&
                    before != '-' && line.len > 1 && is_path(line.at[1]);
        size_t taken = root ? take_path(line, &out) : 0;
        if (taken == 0 && is_hex(c))
            taken = take_number(line, is_word(before), &out);
        if (taken == 0 && !(blank && (out.len == 0 || out.data[out.len - 1] == ' ')))
            buf_addc(&out, blank ? ' ' : c);
        taken = taken > 0 ? taken : 1;
        before = line.at[taken - 1];
        line.at += taken;
        line.len -= taken;
    }
    while (out.len > 0 && out.data[out.len - 1] == ' ')
        buf_cut(&out, out.len - 1);
    return arena_strdup(arena, buf_text(&out));
}

/* The lines that feedback.c takes for errors, or else the end of the output. */
static void digest_summary(struct sha256 *sha, const char *summary, struct arena *arena)
{
    const char *errors = strstr(summary, "\nErrors:\n");
    const char *tail = strstr(summary, "\nEnd of the output:\n");
    const char *from = errors != NULL ? errors : tail;
    struct str rest = str_of(from), line;
    if (errors != NULL && tail != NULL)
        rest.len = (size_t)(tail - errors);
    size_t used = 0;
    while (used < CI_LINES_MAX && str_take_line(&rest, &line)) {
        const char *normal = ci_line_normal(line, arena);
        if (normal[0] == '\0' || strcmp(normal, "...") == 0)
            continue;
        sha256_add(sha, normal, strlen(normal));
        sha256_add(sha, "\n", 1);
        used++;
    }
}

static struct check_output output_of(const char *check, struct str log)
{
    return (struct check_output){.command = check, .exit_code = 1, .log = log};
}

static void fingerprint_clean(const char *check, struct str log, struct arena *arena,
                              char to[SHA256_TEXT_BYTES])
{
    struct check_output output = output_of(check, log);
    struct sha256 *sha = sha256_begin();
    sha256_add(sha, check, strlen(check));
    sha256_add(sha, "\n", 1);
    digest_summary(sha, feedback_summary(&output, arena), arena);
    sha256_end(sha, to);
}

void ci_fingerprint(const char *check, struct str log, struct arena *arena,
                    char to[SHA256_TEXT_BYTES])
{
    fingerprint_clean(check, clean_log(log, arena), arena, to);
}

/* ---- the cause ---- */

static bool name_has(const char *name, const char *word)
{
    return name != NULL && strcasestr(name, word) != NULL;
}

static const char *metadata_sign(const struct ci_evidence *evidence, struct str log)
{
    static const char *const names[] = {
        "dco",           "cla/",      "license/cla", "cla-assistant",
        "easycla",       "pr title",  "pr-title",    "semantic pull",
        "semantic-pull", "labeler",   "label check", "required label",
        "labels",        "milestone", "commitlint",  "linked issue"};
    static const char *const words[] = {
        "Missing Signed-off-by",
        "commits are missing a sign-off",
        "is not signed off",
        "No release type found in pull request title",
        "doesn't follow the Conventional Commits",
        "does not follow the Conventional Commits",
        "Unknown release type",
        "PR title",
        "requires a label",
        "requires one of the following labels",
        "requires exactly 1 of:",
        "Contributor License Agreement",
        NULL,
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (name_has(evidence->check->name, names[i]))
            return names[i];
    return first_word(log, words);
}

/* Of the machines that run checks: certain, with any other lines in the log. */
static const char *const machine_words[] = {
    "The runner has received a shutdown signal",
    "lost communication with the server",
    "The hosted runner encountered an error",
    "The job was not acquired by Runner",
    "No space left on device",
    "no space left on device",
    "Cannot connect to the Docker daemon",
    NULL,
};
/* Of what they reach: a test may print them as well. */
static const char *const network_words[] = {
    "Failed to download action",
    "Unable to download actions",
    "You have reached your pull rate limit",
    "toomanyrequests:",
    "502 Bad Gateway",
    "503 Service Unavailable",
    "504 Gateway Time-out",
    "504 Gateway Timeout",
    "429 Too Many Requests",
    "TLS handshake timeout",
    "Connection reset by peer",
    "ECONNRESET",
    "net/http: request canceled while waiting for connection",
    "error: RPC failed",
    "fatal: unable to access",
    "The requested image's platform",
    NULL,
};

/* Of tests that depend on time. */
static const char *const timing_words[] = {
    "Timeout of ",
    "Exceeded timeout of ",
    "timed out waiting for",
    "Timed out waiting",
    "TimeoutError",
    "context deadline exceeded",
    "WARNING: DATA RACE",
    "address already in use",
    "EADDRINUSE",
    "flaky",
    "Flaky",
    NULL,
};

static bool is_manifest(const char *path)
{
    static const char *const names[] = {
        "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock",        "go.mod",
        "go.sum",       "Cargo.toml",        "Cargo.lock",     "requirements.txt", "pyproject.toml",
        "poetry.lock",  "uv.lock",           "pom.xml",        "build.gradle",     "Gemfile",
        "Gemfile.lock", "composer.json",     "CMakeLists.txt", "Dockerfile",       "Makefile",
    };
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool changes_manifest(const struct ci_evidence *evidence)
{
    for (size_t i = 0; evidence->paths != NULL && evidence->paths[i] != NULL; i++)
        if (is_manifest(evidence->paths[i]))
            return true;
    return false;
}

/* Does the log name a file of the patch? */
static bool names_patch(const struct ci_evidence *evidence, struct str log)
{
    for (size_t i = 0; evidence->paths != NULL && evidence->paths[i] != NULL; i++) {
        const char *slash = strrchr(evidence->paths[i], '/');
        if (has_word(log, slash != NULL ? slash + 1 : evidence->paths[i]))
            return true;
    }
    return false;
}

static enum ci_cause found(enum ci_cause cause, const char **ret_why, const char *why)
{
    *ret_why = why;
    return cause;
}

static const char *quoted(struct arena *arena, const char *before, const char *sign)
{
    return arena_printf(arena, "%s \"%s\"", before, sign);
}

/* It did not run, or what it runs on failed. */
static const char *machine_sign(const struct ci_evidence *evidence, struct str log,
                                enum failure_category category, struct arena *arena)
{
    if (evidence->check->state == CHECK_BROKEN)
        return "the forge says that it could not run";
    if (evidence->check->state == CHECK_CANCELLED)
        return "it was cancelled";
    const char *sign = first_word(log, machine_words);
    if (sign != NULL)
        return quoted(arena, "its log has", sign);
    sign = first_word(log, network_words);
    bool tested = category == FAILURE_TEST_FAILURE || category == FAILURE_COMPILE_ERROR ||
                  category == FAILURE_LINT_FAILURE;
    if (sign != NULL && !tested)
        return quoted(arena, "its log has", sign);
    if (category == FAILURE_DEPENDENCY && !changes_manifest(evidence))
        return "a package or a host could not be reached, and the patch changes no dependency";
    if (category == FAILURE_OUT_OF_MEMORY)
        return "its machine ran out of memory";
    return NULL;
}

static enum ci_cause find_cause(const struct ci_evidence *evidence, struct str log,
                                struct arena *arena, const char **ret_why)
{
    struct check_output output = output_of(evidence->check->name, log);
    enum failure_category category = feedback_category(&output);
    const char *sign = metadata_sign(evidence, log);
    if (sign != NULL)
        return found(CI_METADATA, ret_why, quoted(arena, "it is about", sign));
    sign = machine_sign(evidence, log, category, arena);
    if (sign != NULL)
        return found(CI_INFRASTRUCTURE, ret_why, sign);
    if (evidence->red_on_base && !evidence->base_differs)
        return found(CI_BASE, ret_why, "it is red on the target branch as well");
    if (evidence->passed_before)
        return found(CI_FLAKY, ret_why, "it passed at this very commit before");
    if (evidence->check->state == CHECK_TIMED_OUT)
        return found(CI_FLAKY, ret_why, "it passed its time limit");
    sign = first_word(log, timing_words);
    if (sign != NULL && !names_patch(evidence, log))
        return found(CI_FLAKY, ret_why,
                     quoted(arena, "no file of the patch is named, and the log has", sign));
    if (names_patch(evidence, log))
        return found(CI_PATCH, ret_why, "its log names files of the patch");
    return found(CI_PATCH, ret_why, "nothing else explains it");
}

struct ci_failure ci_failure_classify(const struct ci_evidence *evidence, struct arena *arena)
{
    const char *name = evidence->check->name != NULL ? evidence->check->name : "check";
    const char *said = evidence->check->summary;
    struct str log = evidence->log.len > 0 ? evidence->log : str_of(said);
    struct str clean = clean_log(log, arena);
    struct check_output output = output_of(name, clean);
    struct ci_failure failure = {0};
    failure.cause = find_cause(evidence, clean, arena, &failure.why);
    failure.summary = feedback_summary(&output, arena);
    failure.line = clean.len > 0 ? feedback_line(&output, arena) : failure.why;
    fingerprint_clean(name, clean, arena, failure.fingerprint);
    return failure;
}

enum ci_cause ci_cause_worse(enum ci_cause a, enum ci_cause b)
{
    /* What costs nothing waits for what does: a repair may mend the rest as well. */
    static const int order[CI_CAUSE_COUNT] = {
        [CI_PATCH] = 5,          [CI_REPEATED] = 4, [CI_METADATA] = 3,
        [CI_INFRASTRUCTURE] = 2, [CI_FLAKY] = 1,    [CI_BASE] = 0,
    };
    return order[a] >= order[b] ? a : b;
}
