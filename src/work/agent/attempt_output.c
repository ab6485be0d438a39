/*
 * attempt_output.c - what a local agent left: completion record, log, patch.
 *
 * Everything here was written by the agent and is hostile.  result.json is read with care, the
 * tree is left to collect.c.
 */
#include "core/run/question_spec.h"
#include "core/text/redact.h"
#include "work/agent/attempt.h"
#include "work/job/step_secrets.h"
#include "work/tree/small_file.h"
#include "work/tree/worktree.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 64 * 1024, QUESTION_RESULT_MAX = 2 * 1024 };

static void refuse_question(struct attempt *attempt, const char *why)
{
    attempt->record = REPORT_ERROR;
    transcript_copy(attempt->transcript.error, sizeof attempt->transcript.error,
                    arena_printf(attempt->step->arena,
                                 "Its completion record has a question that cannot be asked: %s",
                                 why));
}

/* {"status": "question", "question": TEXT, "options", "default", "timeoutMs"} as it is reported. */
static void attempt_take_question(struct attempt *attempt, const struct js *record)
{
    static const char *const copied[] = {"options", "default", "timeoutMs"};
    CLEANUP(buf_release) struct buf object, plain;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct question_spec spec;
    struct err err = {0};
    buf_init(&object, RECORD_BYTES_MAX);
    buf_init(&plain, QUESTION_RESULT_MAX);
    struct jw jw = jw_to(&object);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "text", js_get_str(record, "question", NULL));
    for (size_t i = 0; i < COUNT_OF(copied); i++) {
        const struct js *value = js_get(record, copied[i]);
        if (value != NULL)
            jw_kraw(&jw, copied[i], str_of(js_text(value, attempt->step->arena)));
    }
    jw_end(&jw, '}');
    const char *clean = redact_dup(step_secrets(attempt->step), buf_text(&object),
                                   attempt->step->arena);
    enum rc rc = js_parse(clean, strlen(clean), &tree, &err);
    if (rc == RC_OK)
        rc = question_spec_decode(tree, "", &spec, &err);
    if (rc != RC_OK) {
        refuse_question(attempt, err.text);
        return;
    }
    jw = jw_to(&plain);
    question_spec_write(&jw, &spec);
    if (plain.overflow) {
        refuse_question(attempt, "it is too long; drover ask takes longer ones");
        return;
    }
    attempt->record = REPORT_SUCCESS;
    attempt->question = arena_strdup(attempt->step->arena, buf_text(&plain));
}

/* A completion record: {"status": "success" | "error" | "question", "summary", "error"}. */
static void attempt_take_record(struct attempt *attempt, const struct js *record)
{
    const char *status = js_get_str(record, "status", "");
    struct transcript *transcript = &attempt->transcript;
    if (text_same(status, "question")) {
        attempt_take_question(attempt, record);
        return;
    }
    if (text_same(status, "success"))
        attempt->record = REPORT_SUCCESS;
    else if (text_same(status, "error"))
        attempt->record = REPORT_ERROR;
    else
        return;
    transcript_copy(transcript->summary, sizeof transcript->summary,
                    js_get_str(record, "summary", transcript->summary));
    transcript_copy(transcript->error, sizeof transcript->error,
                    js_get_str(record, "error", transcript->error));
}

static void find_record(struct attempt *attempt)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *record = NULL;
    buf_init(&text, RECORD_BYTES_MAX);
    if (small_file_read(attempt->record_path, &text) == RC_OK &&
        js_parse(buf_text(&text), text.len, &record, NULL) == RC_OK)
        attempt_take_record(attempt, record);
}

static enum rc keep_log(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const char *sha256 = NULL;
    const char *name = attempt->planning ? "plan.log"
                                         : arena_printf(step->arena, "agent-%" PRId64 ".log",
                                                        step->input.attempt);
    enum rc rc = step_put_file(step, "agent_log", name, attempt->log_path, &sha256, err);
    if (rc == RC_OK)
        (void)unlink(attempt->log_path);
    return rc;
}

enum rc attempt_take_log(struct attempt *attempt, struct err *err)
{
    find_record(attempt);
    return keep_log(attempt, err);
}

enum rc attempt_take_output(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    enum rc rc = attempt_take_log(attempt, err);
    if (rc == RC_OK && text_same(attempt->ended.limit, "disk_limit"))
        return RC_OK; /* git would take the same room once more. */
    if (rc == RC_OK)
        rc = collect_patch(step, attempt->base, &attempt->patch, err);
    /* With secrets or a nested repository in it the tree shows what is stored nowhere. */
    bool stored = attempt->patch.scan.secrets == NULL && text_empty(attempt->patch.nested);
    if (rc == RC_OK && stored)
        rc = worktree_mark(step, attempt->base, attempt->patch.sha256, err);
    return rc;
}
