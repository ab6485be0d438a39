/*
 * attempt_result.c - the result of the agent's step, within its 10 KB.
 */
#include "work/attempt.h"
#include <string.h>

enum {
    PATHS_MAX = 50,
    PATHS_BYTES_MAX = 5 * 1024, /* Where the list of paths ends in the result. */
    SUMMARY_MAX = 1500,
    ERROR_MAX = 800,
};

static const char *outcome_name(const struct attempt *attempt)
{
    switch (attempt->ended.end) {
    case COMPUTE_TIMED_OUT:
        return "timed_out";
    case COMPUTE_IDLE_TIMED_OUT:
        return "idle_timed_out";
    case COMPUTE_CUT_OFF:
        return attempt->limit;
    case COMPUTE_ENDED:
    case COMPUTE_STOPPED:
        break;
    }
    return "ended";
}

static const char *report_name(const struct attempt *attempt)
{
    static const char *const names[] = {
        [REPORT_UNKNOWN] = "unknown", [REPORT_SUCCESS] = "success", [REPORT_ERROR] = "error"};
    struct session_facts facts = {
        .completion = attempt->record,
        .adapter = attempt->transcript.report,
        .exited = attempt->ended.exited,
        .exit_code = attempt->ended.exit_code,
    };
    return names[infer_report(&facts)];
}

static void write_patch(struct jw *jw, const struct collected *patch)
{
    jw_key(jw, "patch");
    if (!patch->sha256) {
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
    jw_key(jw, "paths");
    jw_begin(jw, '[');
    size_t before = jw->buf->len;
    for (size_t i = 0; i < patch->stats.files && i < PATHS_MAX; i++) {
        const char *path = patch->stats.paths[i];
        /* In the worst case every byte becomes an escape of six. */
        if (jw->buf->len - before + 6 * strlen(path) > PATHS_BYTES_MAX)
            break;
        jw_str(jw, path);
    }
    jw_end(jw, ']');
    jw_end(jw, '}');
}

void attempt_write_result(struct attempt *attempt)
{
    const struct compute_result *ended = &attempt->ended;
    const struct usage *usage = &attempt->transcript.usage;
    struct jw jw = jw_to(attempt->step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "outcome", outcome_name(attempt));
    jw_kstr(&jw, "report", report_name(attempt));
    jw_kbool(&jw, "exited", ended->exited);
    jw_kint(&jw, "exitCode", ended->exit_code);
    jw_kint(&jw, "signal", ended->signal);
    step_write_text(&jw, "summary", attempt->transcript.summary, SUMMARY_MAX);
    step_write_text(&jw, "error", attempt->transcript.error, ERROR_MAX);
    jw_kint(&jw, "turns", usage->turns);
    jw_kint(&jw, "inputTokens", usage->input_tokens);
    jw_kint(&jw, "outputTokens", usage->output_tokens);
    jw_kreal(&jw, "costUsd", usage->cost_usd);
    jw_kstr(&jw, "model", usage->model[0] ? usage->model : NULL);
    jw_kstr(&jw, "sandbox", sandbox_name(&attempt->step->site->sandbox));
    jw_kbool(&jw, "logTruncated", ended->log_truncated);
    step_write_artifacts(attempt->step, &jw);
    write_patch(&jw, &attempt->patch);
    jw_end(&jw, '}');
}
