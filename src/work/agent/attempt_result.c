/*
 * attempt_result.c - the result of the agent's step, within its 10 KB.
 */
#include "core/run/policy.h"
#include "core/text/redact.h"
#include "work/agent/attempt.h"
#include "work/job/step_secrets.h"
#include <signal.h>
#include <string.h>

enum {
    PATHS_MAX = 50,
    PATHS_BYTES_MAX = 5 * 1024, /* Where the list of paths ends in the result. */
    SUMMARY_MAX = 1500,
    SUMMARY_LESS_MAX = 500, /* Beside the last words of an agent that failed. */
    ERROR_MAX = 800,
    LAST_WORDS_MAX = 1300,
    URL_MAX = 800,
    SECRETS_BYTES_MAX = 4 * 1024,
    SECRET_TEXT_MAX = 300,
    UNSCANNED_BYTES_MAX = 600,
    NESTED_BYTES_MAX = 600,
};

/* It has exited without the record that its format ends with.  Claude Code that is interrupted does
   so with exit status 0 at times: that is no success. */
static bool broke_off(const struct attempt *attempt)
{
    const struct transcript *transcript = &attempt->transcript;
    return transcript->ops->tells_end && transcript->session_id[0] != '\0' &&
           attempt->ended.exit_code == 0;
}

static enum report report_of(const struct attempt *attempt)
{
    struct session_facts facts = {
        .completion = attempt->record,
        .adapter = attempt->transcript.report,
        .exited = attempt->ended.exited && !broke_off(attempt),
        .exit_code = attempt->ended.exit_code,
    };
    return infer_report(&facts);
}

static const char *report_name(const struct attempt *attempt)
{
    static const char *const names[] = {
        [REPORT_UNKNOWN] = "unknown", [REPORT_SUCCESS] = "success", [REPORT_ERROR] = "error"};
    return names[report_of(attempt)];
}

static const char *outcome_name(const struct attempt *attempt)
{
    switch (attempt->ended.end) {
    case COMPUTE_TIMED_OUT:
        return "timed_out";
    case COMPUTE_IDLE_TIMED_OUT:
        return "idle_timed_out";
    case COMPUTE_OVER_LIMIT:
        return attempt->ended.limit;
    case COMPUTE_CUT_OFF:
    case COMPUTE_ENDED: /* By itself, before it could be stopped. */
    case COMPUTE_STOPPED:
        break;
    }
    if (attempt->limit != NULL)
        return attempt->limit;
    bool overloaded = attempt->transcript.overloaded && report_of(attempt) != REPORT_SUCCESS;
    return overloaded ? "overloaded" : "ended";
}

/* The server decides about forbidden paths by this list: they come first, and none is forgotten
   where it does not fit, since they are counted too. */
static void write_paths(struct jw *jw, const struct collected *patch, const char *const *forbidden)
{
    size_t before = jw->buf->len, written = 0;
    int64_t forbidden_count = 0;
    jw_key(jw, "paths");
    jw_begin(jw, '[');
    for (int first = 1; first >= 0; first--) {
        for (size_t i = 0; i < patch->stats.files; i++) {
            const char *path = patch->stats.paths[i];
            bool is_forbidden = policy_forbids(forbidden, path) != NULL;
            if (is_forbidden != (first == 1))
                continue;
            forbidden_count += is_forbidden;
            /* In the worst case every byte becomes an escape of six. */
            if (written == PATHS_MAX || jw->buf->len - before + 6 * strlen(path) > PATHS_BYTES_MAX)
                continue;
            jw_str(jw, path);
            written++;
        }
    }
    jw_end(jw, ']');
    jw_kint(jw, "forbiddenPaths", forbidden_count);
}

/* Binary files that were not scanned for secrets. */
static void write_unscanned(struct jw *jw, const struct patch_scan *scan)
{
    if (scan->unscanned_count == 0)
        return;
    size_t before = jw->buf->len;
    jw_kint(jw, "unscannedFiles", (int64_t)scan->unscanned_count);
    jw_key(jw, "unscanned");
    jw_begin(jw, '[');
    for (size_t i = 0; i < scan->unscanned_count; i++) {
        if (jw->buf->len - before + 6 * strlen(scan->unscanned[i]) < UNSCANNED_BYTES_MAX)
            jw_str(jw, scan->unscanned[i]);
    }
    jw_end(jw, ']');
}

/* Repositories inside the tree, which are in no patch. */
static void write_nested(struct jw *jw, const char *nested)
{
    struct str text = str_of(nested), line;
    size_t before = jw->buf->len;
    CLEANUP(arena_release) struct arena arena = {0};
    jw_key(jw, "nestedRepositories");
    jw_begin(jw, '[');
    while (str_take_line(&text, &line)) {
        if (jw->buf->len - before + 6 * line.len < NESTED_BYTES_MAX)
            jw_str(jw, arena_strndup(&arena, line.at, line.len));
    }
    jw_end(jw, ']');
}

static void write_patch(struct jw *jw, const struct collected *patch, const char *const *forbidden)
{
    jw_key(jw, "patch");
    if (patch->sha256 == NULL) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "sha256", patch->sha256);
    jw_kint(jw, "bytes", patch->bytes);
    jw_kint(jw, "files", (int64_t)patch->stats.files);
    jw_kint(jw, "linesAdded", patch->stats.lines_added);
    jw_kint(jw, "linesDeleted", patch->stats.lines_deleted);
    jw_kstr(jw, "treeHash", patch->tree_hash);
    write_paths(jw, patch, forbidden);
    write_unscanned(jw, &patch->scan);
    jw_end(jw, '}');
}

/* What the forge has of an agent that works elsewhere. */
static void write_found(struct jw *jw, const struct attempt *attempt)
{
    const struct forge_found *found = &attempt->found;
    jw_kbool(jw, "branchPushed", found->head[0] != '\0');
    jw_kint(jw, "commits", attempt->commits);
    jw_key(jw, "pullRequest");
    if (found->pr_number == 0) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kint(jw, "number", found->pr_number);
    if (strlen(found->pr_url) <= URL_MAX) /* The server knows it too. */
        jw_kstr(jw, "url", found->pr_url);
    jw_kstr(jw, "branch", attempt->step->input.branch);
    jw_kstr(jw, "headCommit", found->head);
    jw_kbool(jw, "draft", found->pr_draft);
    jw_end(jw, '}');
}

static const char *place_name(const struct attempt *attempt)
{
    if (attempt->compute == &compute_child)
        return sandbox_name(&attempt->step->site->sandbox);
    return attempt->compute != NULL ? attempt->compute->name : "pull";
}

/* Texts of the agent may have hidden secrets by JSON escapes. */
static const char *clean(const struct attempt *attempt, const char *text)
{
    return redact_dup(step_secrets(attempt->step), text, attempt->step->arena);
}

/* A usage limit was met; until when, and how that is known: see core/agent/claims.h. */
static void write_quota(struct jw *jw, const struct attempt *attempt)
{
    const struct step *step = attempt->step;
    const struct transcript *transcript = &attempt->transcript;
    if (!text_same(attempt->limit, CUT_QUOTA))
        return;
    jw_key(jw, "quota");
    jw_begin(jw, '{');
    jw_kstr(jw, "account", agent_account(&step->input.config.agent, step->arena));
    jw_ktime(jw, "resetsAt", transcript->quota.resets_us);
    step_write_text(jw, "message", clean(attempt, transcript->quota.message), ERROR_MAX);
    jw_kbool(jw, "record", transcript->quota.rejected);
    jw_kbool(jw, "ended", attempt->ended.end == COMPUTE_ENDED);
    jw_end(jw, '}');
}

/* Rule and place of each, and the line without it. */
static void write_secrets(struct jw *jw, const struct secret_hits *hits)
{
    jw_key(jw, "secrets");
    jw_begin(jw, '[');
    size_t before = jw->buf->len;
    for (size_t i = 0; i < hits->count && jw->buf->len - before < SECRETS_BYTES_MAX; i++) {
        jw_begin(jw, '{');
        jw_kstr(jw, "rule", hits->at[i].rule);
        step_write_text(jw, "path", hits->at[i].path, SECRET_TEXT_MAX);
        jw_kint(jw, "line", hits->at[i].line);
        step_write_text(jw, "text", hits->at[i].text, SECRET_TEXT_MAX);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

/* It failed by itself and has not said why. */
static bool failed_silently(const struct attempt *attempt)
{
    return text_same(outcome_name(attempt), "ended") && attempt->compute == &compute_child &&
           !text_same(report_name(attempt), "success") && attempt->transcript.error[0] == '\0';
}

static void write_last_words(struct jw *jw, const struct attempt *attempt)
{
    const struct compute_result *ended = &attempt->ended;
    const char *signal = ended->signal > 0 ? sigabbrev_np(ended->signal) : NULL;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, STEP_RESULT_MAX);
    if (signal != NULL)
        buf_addf(&text, "killed by SIG%s", signal);
    else if (ended->signal > 0)
        buf_addf(&text, "killed by signal %d", ended->signal);
    else
        buf_addf(&text, "exit code %d", ended->exit_code);
    if (ended->last_words[0] != '\0')
        buf_addf(&text, "; its last words:\n%s", clean(attempt, ended->last_words));
    else
        buf_adds(&text, ", and no message");
    step_write_text(jw, "error", buf_text(&text), LAST_WORDS_MAX);
}

void attempt_write_end(const struct attempt *attempt, struct jw *jw)
{
    const struct compute_result *ended = &attempt->ended;
    const struct usage *usage = &attempt->transcript.usage;
    jw_kstr(jw, "outcome", outcome_name(attempt));
    jw_kstr(jw, "report", report_name(attempt));
    jw_kbool(jw, "exited", ended->exited);
    jw_kint(jw, "exitCode", ended->exit_code);
    jw_kint(jw, "signal", ended->signal);
    if (failed_silently(attempt))
        write_last_words(jw, attempt);
    else
        step_write_text(jw, "error", clean(attempt, attempt->transcript.error), ERROR_MAX);
    jw_kint(jw, "toolRetries", attempt->transcript.retries);
    jw_kint(jw, "turns", usage->turns);
    jw_kint(jw, "inputTokens", usage->input_tokens);
    jw_kint(jw, "outputTokens", usage->output_tokens);
    jw_kreal(jw, "costUsd", usage->cost_usd);
    jw_kstr(jw, "model", usage->model[0] ? usage->model : NULL);
    jw_kstr(jw, "sandbox", place_name(attempt));
    jw_kbool(jw, "logTruncated", ended->log_truncated);
    jw_kint(jw, "linesSkipped", ended->lines_skipped);
    if (attempt->question != NULL)
        jw_kraw(jw, "question", str_of(attempt->question));
    write_quota(jw, attempt);
}

void attempt_write_result(struct attempt *attempt)
{
    struct jw jw = jw_to(attempt->step->result);
    jw_begin(&jw, '{');
    attempt_write_end(attempt, &jw);
    if (attempt->question == NULL) /* Which takes its room. */
        step_write_text(&jw, "summary", clean(attempt, attempt->transcript.summary),
                        failed_silently(attempt) ? SUMMARY_LESS_MAX : SUMMARY_MAX);
    step_write_artifacts(attempt->step, &jw);
    if (attempt->compute != &compute_child) {
        jw_optstr(&jw, "patchSha256", attempt->given_sha256);
        write_found(&jw, attempt);
    }
    write_patch(&jw, &attempt->patch, attempt->step->input.config.policy.forbidden);
    if (!text_empty(attempt->patch.nested)) {
        jw_kint(&jw, "nestedRepositoryCount", attempt->patch.nested_count);
        write_nested(&jw, clean(attempt, attempt->patch.nested));
    }
    if (attempt->patch.scan.secrets != NULL)
        write_secrets(&jw, attempt->patch.scan.secrets);
    jw_end(&jw, '}');
}
