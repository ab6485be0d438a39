#include "tests/unit/honest.h"
#include "base/jw.h"
#include "core/report_shape.h"
#include "core/run/worker_report.h"
#include "store/artifacts.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_BYTES_MAX = 64 * 1024 };

/* The tree that every patch of a sketch makes. */
static const char tree_word[] = "cc";

struct honest {
    struct store *store;
    const struct job_row *job;
    const struct js *payload;
    struct arena *arena;
};

static void store_text(const struct honest *honest, const char *text)
{
    char sha256[SHA256_TEXT_BYTES];
    struct err err = {0};
    if (honest->store == NULL)
        return;
    if (artifact_put(honest->store, str_of(text), sha256, &err) != RC_OK) {
        fprintf(stderr, "an artifact of a test: %s\n", err.text);
        abort();
    }
}

const char *honest_sha256(const char *word, struct arena *arena)
{
    char *sha256 = arena_alloc(arena, SHA256_TEXT_BYTES);
    sha256_hex(word, strlen(word), sha256);
    return sha256;
}

const char *honest_commit(const char *word, struct arena *arena)
{
    return report_is_commit(word) ? word : arena_printf(arena, "%.40s", honest_sha256(word, arena));
}

static const char *stored(const struct honest *honest, const char *word)
{
    if (word[0] == '\0' || sha256_text_valid(word))
        return word;
    store_text(honest, word);
    return honest_sha256(word, honest->arena);
}

/* ---- copying ---- */

static bool is_hash(const char *key)
{
    static const char *const keys[] = {"treeHash", "baseCommit", "headCommit"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (text_same(keys[i], key))
            return true;
    return false;
}

static void copy_members(const struct honest *honest, struct jw *jw, const struct js *object,
                         const char *const *but);

static void copy_value(const struct honest *honest, struct jw *jw, const char *key,
                       const struct js *value);

static void copy_patch(const struct honest *honest, struct jw *jw, const struct js *patch)
{
    static const char *const but[] = {"bytes", "files", NULL};
    int64_t paths = (int64_t)js_count(js_get(patch, "paths"));
    int64_t files = js_get_int(patch, "files", 1);
    jw_begin(jw, '{');
    copy_members(honest, jw, patch, but);
    jw_kint(jw, "files", files < paths ? paths : files);
    if (js_get(patch, "treeHash") == NULL)
        jw_kstr(jw, "treeHash", honest_commit(tree_word, honest->arena));
    jw_end(jw, '}');
}

int64_t honest_number(const char *run_id, struct arena *arena)
{
    char first[8];
    text_copy(first, sizeof first, honest_sha256(run_id, arena));
    return 2 + (int64_t)strtoul(first, NULL, 16);
}

static void write_pr(const struct honest *honest, struct jw *jw, const struct js *pr)
{
    static const char *const but[] = {"number", "url", "branch", "draft", NULL};
    int64_t number = js_get_int(pr, "number", 1);
    if (number == 1)
        number = honest_number(js_get_str(honest->payload, "runId", ""), honest->arena);
    const char *url = js_str(js_path(honest->payload, "config.url"), "");
    copy_members(honest, jw, pr, but);
    jw_kint(jw, "number", number);
    jw_kstr(jw, "url", arena_printf(honest->arena, "%s#refs/pull/%" PRId64 "/head", url, number));
    jw_kstr(jw, "branch", js_get_str(honest->payload, "branch", ""));
    jw_kbool(jw, "draft", js_get_bool(honest->payload, "draft", true));
}

static void copy_value(const struct honest *honest, struct jw *jw, const char *key,
                       const struct js *value)
{
    enum js_type type = js_type(value);
    if (type == JS_STRING && text_ends(key, "ha256")) {
        jw_str(jw, stored(honest, js_str(value, "")));
    } else if (type == JS_STRING && is_hash(key)) {
        jw_str(jw, honest_commit(js_str(value, ""), honest->arena));
    } else if (type == JS_OBJECT && text_same(key, "patch")) {
        copy_patch(honest, jw, value);
    } else if (type == JS_OBJECT && text_same(key, "pullRequest")) {
        jw_begin(jw, '{');
        write_pr(honest, jw, value);
        jw_end(jw, '}');
    } else if (type == JS_OBJECT) {
        jw_begin(jw, '{');
        copy_members(honest, jw, value, NULL);
        jw_end(jw, '}');
    } else if (type == JS_ARRAY) {
        jw_begin(jw, '[');
        for (size_t i = 0; i < js_count(value); i++)
            copy_value(honest, jw, key, js_at(value, i));
        jw_end(jw, ']');
    } else {
        js_write(jw, value);
    }
}

static bool is_among(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void copy_members(const struct honest *honest, struct jw *jw, const struct js *object,
                         const char *const *but)
{
    const char *key;
    const struct js *value;
    for (size_t at = 0; js_next(object, &at, &key, &value);) {
        if (is_among(but, key))
            continue;
        jw_key(jw, key);
        copy_value(honest, jw, key, value);
    }
}

/* ---- verify ---- */

/* The configured checks with the sketched statuses; all pass that the sketch does not name. */
static void write_checks(const struct honest *honest, struct jw *jw, const struct js *sketch)
{
    const struct js *verifiers = js_path(honest->payload, "config.verify");
    jw_key(jw, "checks");
    jw_begin(jw, '[');
    for (size_t i = 0; i < js_count(verifiers); i++) {
        static const char *const but[] = {"name",     "command",  "status",
                                          "exitCode", "optional", NULL};
        const struct js *verifier = js_at(verifiers, i);
        const struct js *check = js_at(js_get(sketch, "checks"), i);
        const char *status = js_get_str(check, "status", "passed");
        int64_t code = text_same(status, "passed") ? 0 : 1;
        jw_begin(jw, '{');
        copy_members(honest, jw, check, but);
        jw_kstr(jw, "name", js_get_str(verifier, "name", ""));
        jw_kstr(jw, "command", js_get_str(verifier, "command", ""));
        jw_kstr(jw, "status", status);
        jw_kint(jw, "exitCode", js_get_int(check, "exitCode", code));
        jw_kbool(jw, "optional", js_get_bool(verifier, "optional", false));
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static const char *verdict_of(const struct honest *honest, const struct js *sketch)
{
    bool none = js_count(js_path(honest->payload, "config.verify")) == 0;
    return none ? "unverifiable" : js_get_str(sketch, "verdict", "");
}

static const char *certify(const struct honest *honest, const struct js *sketch)
{
    static const char *const members[] = {"taskId", "runId", "baseCommit", "patchSha256"};
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, RESULT_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    for (size_t i = 0; i < COUNT_OF(members); i++)
        jw_kstr(&jw, members[i], js_get_str(honest->payload, members[i], NULL));
    jw_kint(&jw, "attempt", js_get_int(honest->payload, "attempt", 0));
    jw_kstr(&jw, "treeHash", honest_commit(tree_word, honest->arena));
    jw_kstr(&jw, "verdict", verdict_of(honest, sketch));
    write_checks(honest, &jw, sketch);
    jw_end(&jw, '}');
    const char *text = arena_strdup(honest->arena, buf_text(&buf));
    store_text(honest, text);
    return honest_sha256(text, honest->arena);
}

static void write_verify(const struct honest *honest, struct jw *jw, const struct js *sketch)
{
    static const char *const but[] = {"checks", "certificateSha256", "treeHash", "verdict", NULL};
    const char *verdict = verdict_of(honest, sketch);
    copy_members(honest, jw, sketch, but);
    jw_kstr(jw, "verdict", verdict);
    jw_kstr(jw, "treeHash", honest_commit(tree_word, honest->arena));
    jw_kstr(jw, "certificateSha256", certify(honest, sketch));
    if (text_same(verdict, "failed") && js_get(sketch, "feedbackSha256") == NULL)
        jw_kstr(jw, "feedbackSha256", stored(honest, "feedback"));
    write_checks(honest, jw, sketch);
}

/* ---- */

const char *honest_result(struct store *store, const struct job_row *job, const char *sketch,
                          struct arena *arena)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(js_freep) struct js *payload = NULL;
    bool is_step = !id_is_none(&job->run_id) && report_knows_step(job->type);
    if (!is_step || js_parse(sketch, strlen(sketch), &tree, NULL) != RC_OK ||
        js_type(tree) != JS_OBJECT ||
        js_parse(job->payload.at, job->payload.len, &payload, NULL) != RC_OK)
        return sketch;
    struct honest honest = {store, job, payload, arena};
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, RESULT_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    if (strcmp(job->type, "verify") == 0 && js_get(tree, "checks") != NULL)
        write_verify(&honest, &jw, tree);
    else if (strcmp(job->type, "publish") == 0)
        write_pr(&honest, &jw, tree);
    else
        copy_members(&honest, &jw, tree, NULL);
    jw_end(&jw, '}');
    return arena_strdup(arena, buf_text(&buf));
}
