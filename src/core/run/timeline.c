/*
 * timeline.c - a run's events as lines of text for people.
 *
 * One table has for every type its group and the function that writes its line; a type without such
 * a function is noise to people and stays in the raw stream only.  A type that is not in the table
 * is not one of drover's own, and its line is its name.  Lines of all groups stand in one array, a
 * group is a piece of it.  Only a line opens a group, but its start is the first event of that
 * group, with a line or without: "verification started" dates the check.
 */
#include "core/run/timeline.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/js.h"
#include "core/event_types.h"
#include "core/publish_parts.h"
#include "core/text/prose.h"

enum {
    TEXT_BYTES_MAX = 400,
    LIST_BYTES_MAX = 1000,
    /* Reserved for what is no chatter, so that a run with very many events still shows its end. */
    LINES_RESERVED = 500,
    COMMIT_SHORT = 10,
};

static const char planning[] = "Planning";
static const char editing[] = "Editing";
static const char verification[] = "Verification";
static const char judging[] = "Judging";
static const char approval[] = "Approval";
static const char pull_request[] = "PR";
static const char outcome[] = "Outcome";

/* How the line of one type is written. */
struct description {
    const char *type;
    const char *group; /* NULL: the current one. */
    char *(*describe)(const struct description *how, const struct js *data, struct arena *arena);
    const char *words; /* What happened; `tell` adds to it. */
    bool bad;
    bool chatter; /* May be left out of a long timeline. */
};

/* ---- tellers ---- */

static const char *member(const struct js *data, const char *key)
{
    return js_get_str(data, key, "");
}

static const char *first_member(const struct js *data, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (*member(data, *keys) != '\0')
            return member(data, *keys);
    }
    return "";
}

/* ": detail (code)", as far as the data has them. */
static char *detail_of(const struct js *data, struct arena *arena)
{
    static const char *const details[] = {"errorMessage", "reason", "summary", NULL};
    static const char *const codes[] = {"errorCode", "reasonCode", NULL};
    const char *detail = first_member(data, details);
    const char *code = first_member(data, codes);
    return arena_printf(arena, "%s%s%s%s%s", *detail != '\0' ? ": " : "", detail,
                        *code != '\0' ? " (" : "", code, *code != '\0' ? ")" : "");
}

/* " word value" when the data has it. */
static char *phrase(const struct js *data, const char *key, const char *word, struct arena *arena)
{
    const char *value = member(data, key);
    return *value == '\0' ? arena_strdup(arena, "") : arena_printf(arena, " %s %s", word, value);
}

static char *describe_plain(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    return arena_printf(arena, "%s%s", how->words, detail_of(data, arena));
}

/* What is waited for has a sentence of its own. */
static char *describe_waiting(const struct description *how, const struct js *data,
                              struct arena *arena)
{
    const char *detail = member(data, "detail");
    return *detail != '\0' ? arena_printf(arena, "%s: %s", how->words, detail)
                           : describe_plain(how, data, arena);
}

/* About a queue, a breaker and their like: which one.  The job of a schedule names its queue, too:
   the schedule comes first. */
static char *describe_named(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    static const char *const names[] = {"account",    "channel", "schedule", "queue",
                                        "repository", "name",    "worker",   NULL};
    const char *name = first_member(data, names);
    return arena_printf(arena, "%s%s%s%s", how->words, *name != '\0' ? " " : "", name,
                        detail_of(data, arena));
}

static char *describe_chosen(const struct description *how, const struct js *data,
                             struct arena *arena)
{
    const char *name = member(data, "candidate");
    return arena_printf(arena, "candidate %lld%s%s of %zu %s",
                        (long long)js_get_int(data, "number", 0), *name != '\0' ? " " : "", name,
                        js_count(js_get(data, "ranking")), how->words);
}

static char *describe_issue(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    return arena_printf(arena, "issue #%lld %s: %s", (long long)js_get_int(data, "number", 0),
                        how->words, member(data, "title"));
}

static char *describe_decided(const struct description *how, const struct js *data,
                              struct arena *arena)
{
    return arena_printf(arena, "issue #%lld %s: %s, %s", (long long)js_get_int(data, "number", 0),
                        how->words, member(data, "decision"), member(data, "reason"));
}

static char *describe_count(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    return arena_printf(arena, "%s: %lld", how->words, (long long)js_get_int(data, "count", 0));
}

static char *describe_level(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    return arena_printf(arena, "%s of queue %s: from %s to %s", how->words, member(data, "queue"),
                        member(data, "from"), member(data, "to"));
}

static char *describe_by_worker(const struct description *how, const struct js *data,
                                struct arena *arena)
{
    return arena_printf(arena, "%s%s%s", how->words, phrase(data, "worker", "by worker", arena),
                        phrase(data, "step", "in step", arena));
}

static char *describe_started(const struct description *how, const struct js *data,
                              struct arena *arena)
{
    const char *commit = member(data, "baseCommit");
    return arena_printf(arena, "run %lld %s%s%.*s%s", (long long)js_get_int(data, "runNo", 1),
                        how->words, *commit != '\0' ? " from commit " : "", COMMIT_SHORT, commit,
                        phrase(data, "branch", "on branch", arena));
}

static char *describe_recovered(const struct description *how, const struct js *data,
                                struct arena *arena)
{
    int64_t lost = js_get_int(data, "lost", 0);
    const char *count = lost <= 0 ? ""
                                  : arena_printf(arena, ", leases lost: %lld", (long long)lost);
    return arena_printf(arena, "%s%s%s", how->words, phrase(data, "step", "at step", arena), count);
}

static char *describe_context(const struct description *how, const struct js *data,
                              struct arena *arena)
{
    CLEANUP(buf_release) struct buf list;
    buf_init(&list, LIST_BYTES_MAX);
    const struct js *sources = js_get(data, "sources");
    for (size_t i = 0; i < js_count(sources); i++)
        buf_addf(&list, "%s%s", i > 0 ? ", " : ": ", js_str(js_at(sources, i), "?"));
    return arena_printf(arena, "%s%s (about %lld tokens%s)", how->words, buf_text(&list),
                        (long long)js_get_int(data, "tokenEstimate", 0),
                        js_get_bool(data, "truncated", false) ? ", truncated" : "");
}

static char *describe_snapshot(const struct description *how, const struct js *data,
                               struct arena *arena)
{
    return arena_printf(arena, "%s %.*s: %s", how->words, COMMIT_SHORT, member(data, "commit"),
                        member(data, "ref"));
}

static char *describe_kept(const struct description *how, const struct js *data,
                           struct arena *arena)
{
    return arena_printf(arena, "%s%s%s", how->words,
                        phrase(data, "keptAt", "and is kept at", arena),
                        phrase(data, "worker", "by worker", arena));
}

static char *describe_turn(const struct description *how, const struct js *data,
                           struct arena *arena)
{
    return arena_printf(
        arena, "%s %lld: %lld tokens in, %lld out, %.4f USD so far", how->words,
        (long long)js_get_int(data, "turns", 0), (long long)js_get_int(data, "inputTokens", 0),
        (long long)js_get_int(data, "outputTokens", 0), js_num(js_get(data, "costUsd"), 0));
}

static char *describe_tool(const struct description *how, const struct js *data,
                           struct arena *arena)
{
    enum { ERROR_MAX = 160 };
    const char *error = member(data, "error"), *code = "";
    if (js_type(js_get(data, "exitCode")) == JS_INT)
        code = arena_printf(arena, " (exit code %lld)", (long long)js_get_int(data, "exitCode", 0));
    return arena_printf(arena, "%s%s%s%s%s%s", js_get_str(data, "name", "tool"), how->words,
                        detail_of(data, arena), code, *error != '\0' ? ": " : "",
                        prose_line(arena, error, ERROR_MAX));
}

/* "five_hour 91% used (allowed_warning)" */
static char *describe_usage(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    double used = js_num(js_get(data, "utilization"), -1);
    const char *window = member(data, "window"), *status = member(data, "status");
    const char *percent = used >= 0 && used <= 1 ? arena_printf(arena, " %.0f%% used", used * 100)
                                                 : "";
    return arena_printf(arena, "%s%s%s%s%s%s", how->words, *window != '\0' ? " " : "", window,
                        percent, *status != '\0' ? ": " : "", status);
}

static char *describe_message(const struct description *how, const struct js *data,
                              struct arena *arena)
{
    const char *text = member(data, "text");
    return arena_strdup(arena, *text != '\0' ? text : how->words);
}

static char *describe_said(const struct description *how, const struct js *data,
                           struct arena *arena)
{
    return arena_printf(arena, "%s %s: %s", js_get_str(data, "author", "?"), how->words,
                        member(data, "text"));
}

static char *describe_question(const struct description *how, const struct js *data,
                               struct arena *arena)
{
    const struct js *options = js_get(data, "options");
    char *text = arena_printf(arena, "%s: %s", how->words, member(data, "text"));
    for (size_t i = 0; i < js_count(options); i++)
        text = arena_printf(arena, "%s%s%s%s", text, i == 0 ? " (" : ", ",
                            js_str(js_at(options, i), ""), i + 1 == js_count(options) ? ")" : "");
    return text;
}

static char *describe_answer(const struct description *how, const struct js *data,
                             struct arena *arena)
{
    const char *answer = member(data, "answer");
    return arena_printf(arena, "%s%s%s%s", how->words, phrase(data, "actor", "by", arena),
                        *answer != '\0' ? ": " : "", answer);
}

static char *describe_delivered(const struct description *how, const struct js *data,
                                struct arena *arena)
{
    return arena_printf(arena, "%s message %lld", how->words,
                        (long long)js_get_int(data, "seq", 0));
}

static char *describe_patch(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    int64_t files = js_get_int(data, "filesChanged", 0);
    return arena_printf(arena, "%s %lld: %lld %s changed, +%lld -%lld%s", how->words,
                        (long long)js_get_int(data, "attemptNo", 1), (long long)files,
                        files == 1 ? "file" : "files", (long long)js_get_int(data, "linesAdded", 0),
                        (long long)js_get_int(data, "linesDeleted", 0), detail_of(data, arena));
}

/* "1.2 s", or "" when the data has no such member (or nonsense: events come from outside too). */
static char *duration_of(const struct js *data, const char *key, struct arena *arena)
{
    char text[TIME_TEXT_BYTES] = "";
    int64_t ms = js_get_int(data, key, -1);
    if (ms >= 0 && ms <= INT64_MAX / US_PER_MS)
        duration_format(text, ms * US_PER_MS);
    return arena_strdup(arena, text);
}

static char *describe_check(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    const char *took = duration_of(data, "durationMs", arena);
    int64_t exit_code = js_get_int(data, "exitCode", 0);
    const char *status = exit_code == 0 ? ""
                                        : arena_printf(arena, "exit %lld", (long long)exit_code);
    const char *comma = *status != '\0' && *took != '\0' ? ", " : "";
    const char *facts = *status == '\0' && *took == '\0'
                            ? ""
                            : arena_printf(arena, " (%s%s%s)", status, comma, took);
    return arena_printf(arena, "%s %s%s%s", js_get_str(data, "name", "check"), how->words,
                        how->bad ? detail_of(data, arena) : "", facts);
}

static char *describe_feedback(const struct description *how, const struct js *data,
                               struct arena *arena)
{
    return arena_printf(arena, "%s (attempt %lld)%s", how->words,
                        (long long)js_get_int(data, "attempt", 1), detail_of(data, arena));
}

/* The rules are the judge that is always there; others go by name. */
static const char *judge_name(const struct js *data, struct arena *arena)
{
    const char *name = member(data, "name");
    return *name == '\0' || text_same(name, "rules") ? "" : arena_printf(arena, " %s", name);
}

static char *describe_doubt(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    const char *problem = member(data, "problem");
    return arena_printf(arena, "judge%s %s%s%s", judge_name(data, arena), how->words,
                        *problem != '\0' ? ": " : "", problem);
}

static char *describe_secret(const struct description *how, const struct js *data,
                             struct arena *arena)
{
    return arena_printf(arena, "%s (%s) in %s, line %lld", how->words, member(data, "rule"),
                        member(data, "path"), (long long)js_get_int(data, "line", 0));
}

static char *describe_judge(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    int64_t count = js_get_int(data, "findingsCount", 0);
    double score = js_num(js_get(data, "score"), -1);
    char *head = arena_printf(arena, "%s%s: %s", how->words, judge_name(data, arena),
                              js_get_str(data, "verdict", "no verdict"));
    if (score >= 0)
        head = arena_printf(arena, "%s, score %.2f", head, score);
    if (count == 0)
        return head;
    const struct js *first = js_at(js_get(data, "findings"), 0);
    const char *text = js_get_str(first, "text", "");
    return arena_printf(arena, "%s, %lld %s%s%s", head, (long long)count,
                        count == 1 ? "finding" : "findings", *text != '\0' ? ": " : "", text);
}

static char *describe_approval(const struct description *how, const struct js *data,
                               struct arena *arena)
{
    return arena_printf(arena, "%s%s%s", how->words, phrase(data, "actor", "by", arena),
                        detail_of(data, arena));
}

static char *describe_pr(const struct description *how, const struct js *data, struct arena *arena)
{
    const char *url = member(data, "url");
    return arena_printf(arena, "%spull request #%lld %s%s%s",
                        js_get_bool(data, "draft", false) ? "draft " : "",
                        (long long)js_get_int(data, "number", 0), how->words,
                        *url != '\0' ? ": " : phrase(data, "branch", "from", arena), url);
}

static char *describe_handed(const struct description *how, const struct js *data,
                             struct arena *arena)
{
    return arena_printf(arena, "pull request #%lld %s%s%s",
                        (long long)js_get_int(data, "number", 0), how->words,
                        phrase(data, "actor", "by", arena), detail_of(data, arena));
}

/* " (branch done, pull request done, ready done)" */
static char *parts_of(const struct js *data, struct arena *arena)
{
    struct publish_parts parts;
    publish_parts_read(js_get(data, "parts"), &parts);
    return parts.count == 0 ? arena_strdup(arena, "")
                            : arena_printf(arena, " (%s)", publish_parts_text(&parts, arena));
}

static char *describe_published(const struct description *how, const struct js *data,
                                struct arena *arena)
{
    return arena_printf(arena, "%s%s", describe_pr(how, data, arena), parts_of(data, arena));
}

static char *describe_unpublished(const struct description *how, const struct js *data,
                                  struct arena *arena)
{
    return arena_printf(arena, "%s%s", how->words, parts_of(data, arena));
}

/* ": detail" of a train's event. */
static char *train_detail(const struct js *data, struct arena *arena)
{
    const char *detail = member(data, "detail");
    return arena_printf(arena, "%s%s", *detail != '\0' ? ": " : "", detail);
}

static char *describe_car(const struct description *how, const struct js *data, struct arena *arena)
{
    return arena_printf(arena, "pull request #%lld %s %s%s",
                        (long long)js_get_int(data, "number", 0), how->words,
                        member(data, "targetBranch"), train_detail(data, arena));
}

static char *describe_tested(const struct description *how, const struct js *data,
                             struct arena *arena)
{
    return arena_printf(arena, "pull request #%lld %s %s %s%s",
                        (long long)js_get_int(data, "number", 0), member(data, "outcome"),
                        how->words, member(data, "targetBranch"), train_detail(data, arena));
}

static char *describe_train(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    return arena_printf(arena, "the train of %s %s%s", member(data, "targetBranch"), how->words,
                        train_detail(data, arena));
}

/* "batch node 22 stops: 5 members have failed; 12 of 40 have ended" */
static char *describe_batch(const struct description *how, const struct js *data,
                            struct arena *arena)
{
    const struct js *counts = js_get(data, "counts");
    const char *reason = member(data, "reason");
    int64_t total = js_get_int(counts, "total", 0);
    int64_t open = js_get_int(counts, "waiting", 0) + js_get_int(counts, "active", 0);
    char *text = arena_printf(arena, "batch %s %s%s%s", member(data, "name"), how->words,
                              *reason != '\0' ? ": " : "", reason);
    if (counts == NULL)
        return text;
    return arena_printf(arena, "%s; %lld of %lld have ended, %lld failed", text,
                        (long long)(total - open), (long long)total,
                        (long long)js_get_int(counts, "failed", 0));
}

/* What the shepherd has found out and done: core/pr/shepherd.h. */
static char *describe_pr_move(const struct description *how, const struct js *data,
                              struct arena *arena)
{
    return arena_printf(arena, "pull request #%lld %s %s: %s",
                        (long long)js_get_int(data, "number", 0), how->words,
                        js_get_str(data, "toState", "?"), js_get_str(data, "reason", ""));
}

static char *describe_pr_check(const struct description *how, const struct js *data,
                               struct arena *arena)
{
    return arena_printf(arena, "check %s %s (%s: %s)", js_get_str(data, "check", "?"), how->words,
                        js_get_str(data, "cause", "?"), js_get_str(data, "why", ""));
}

static char *describe_repair(const struct description *how, const struct js *data,
                             struct arena *arena)
{
    return arena_printf(arena, "%s for pull request #%lld (%s)%s%s", how->words,
                        (long long)js_get_int(data, "number", 0), js_get_str(data, "cause", "?"),
                        *member(data, "status") != '\0' ? ": " : "", member(data, "status"));
}

static char *describe_rebase(const struct description *how, const struct js *data,
                             struct arena *arena)
{
    return arena_printf(arena, "%s of pull request #%lld: %s", js_get_str(data, "mode", how->words),
                        (long long)js_get_int(data, "number", 0), js_get_str(data, "outcome", "?"));
}

static char *describe_step(const struct description *how, const struct js *data,
                           struct arena *arena)
{
    const char *wait = duration_of(data, "retryInMs", arena);
    return arena_printf(arena, "step %s %s%s%s%s", js_get_str(data, "step", "?"), how->words,
                        detail_of(data, arena), *wait != '\0' ? "; next try in " : "", wait);
}

static char *describe_dead(const struct description *how, const struct js *data,
                           struct arena *arena)
{
    return arena_printf(arena, "job %s %s%s", js_get_str(data, "jobId", "?"), how->words,
                        detail_of(data, arena));
}

/* ---- the table ---- */

static const struct description tellings[] = {
    {EV_TASK_SUBMITTED, planning, describe_plain, "task submitted", false, false},
    {EV_TASK_ACCEPTED, planning, describe_plain, "task accepted", false, false},
    {EV_TASK_REJECTED, outcome, describe_plain, "task rejected", true, false},
    {EV_TASK_DEFERRED, planning, describe_waiting, "task deferred", false, false},
    {EV_TASK_OVERLAP, planning, describe_waiting, "others work on the same files", true, false},
    {EV_CANDIDATE_CHOSEN, judging, describe_chosen, "was chosen", false, false},
    {EV_TASK_COMPLETED, outcome, NULL, NULL, false,
     false}, /* The line of the run's end covers these. */
    {EV_TASK_FAILED, outcome, NULL, NULL, true, false},
    {EV_TASK_CANCELLED, outcome, NULL, NULL, true, false},
    {EV_TASK_TIMED_OUT, outcome, NULL, NULL, true, false},
    {EV_RUN_QUEUED, planning, describe_plain, "run queued", false, false},
    {EV_RUN_ACQUIRED, planning, describe_by_worker, "run acquired", false, false},
    {EV_RUN_STARTED, planning, describe_started, "started", false, false},
    {EV_RUN_STATUS_CHANGED, NULL, NULL, NULL, false, false},
    {EV_RUN_HEARTBEAT_MISSED, NULL, describe_by_worker, "heartbeat missed", true, false},
    {EV_RUN_RECOVERED, NULL, describe_recovered, "resumed", false, false},
    {EV_RUN_CANCEL_REQUESTED, NULL, describe_approval, "cancellation requested", false, false},
    {EV_RUN_PAUSED, NULL, describe_approval, "paused", false, false},
    {EV_RUN_RESUMED, NULL, describe_approval, "pause ended", false, false},
    {EV_RUN_RETRY_WITH_FEEDBACK, NULL, describe_feedback, "feedback to the agent", false, false},
    {EV_RUN_COMPLETED, outcome, describe_plain, "run completed", false, false},
    {EV_RUN_FAILED, outcome, describe_plain, "run failed", true, false},
    {EV_RUN_CANCELLED, outcome, describe_plain, "run cancelled", true, false},
    {EV_RUN_TIMED_OUT, outcome, describe_plain, "run timed out", true, false},
    {EV_STEP_STARTED, NULL, NULL, NULL, false, false},
    {EV_STEP_COMPLETED, NULL, NULL, NULL, false, false},
    {EV_STEP_FAILED, NULL, describe_step, "failed", true, false},
    {EV_RESULT_REFUSED, NULL, describe_step, "reported what was refused", true, false},
    {EV_CONTEXT_LOADED, planning, describe_context, "context loaded", false, false},
    {EV_SESSION_STARTED, editing, describe_plain, "session started", false, false},
    {EV_SESSION_LOST, editing, describe_plain, "session lost", true, false},
    {EV_MODEL_TURN_COMPLETED, editing, describe_turn, "turn", false, true},
    {EV_TOOL_CALL_STARTED, editing, NULL, NULL, false, true},
    {EV_TOOL_CALL_COMPLETED, editing, describe_tool, "", false, true},
    {EV_TOOL_CALL_FAILED, editing, describe_tool, " failed", true, true},
    {EV_TOOL_CALL_DENIED, editing, describe_tool, " denied", true, false},
    {EV_TOOL_CALL_TIMED_OUT, editing, describe_tool, " timed out", true, true},
    {EV_PLAN_CREATED, planning, describe_plain, "plan made", false, false},
    {EV_PLAN_UPDATED, NULL, describe_plain, "plan changed", false, false},
    {EV_AGENT_MESSAGE, editing, describe_message, "step recorded", false, true},
    {EV_MESSAGE_SENT, NULL, describe_said, "says", false, false},
    {EV_MESSAGE_DELIVERED, editing, describe_delivered, "the agent has", false, false},
    {EV_QUESTION_ASKED, editing, describe_question, "the agent asks", false, false},
    {EV_QUESTION_REMINDED, NULL, describe_question, "reminded of the question", false, false},
    {EV_QUESTION_ANSWERED, NULL, describe_answer, "answered", false, false},
    {EV_QUESTION_EXPIRED, NULL, describe_answer, "no answer in time", true, false},
    {EV_QUESTION_WITHDRAWN, NULL, describe_plain, "the agent asks no more", false, false},
    {EV_PATCH_CREATED, editing, describe_patch, "patch", false, false},
    {EV_PATCH_SUPERSEDED, NULL, NULL, NULL, false, false},
    {EV_PATCH_VERIFIED, NULL, NULL, NULL, false, false},
    {EV_PATCH_REJECTED, NULL, NULL, NULL, true, false},
    {EV_PATCH_PUBLISHED, NULL, NULL, NULL, false, false},
    {EV_SNAPSHOT_TAKEN, editing, describe_snapshot, "snapshot", false, true},
    {EV_SNAPSHOT_PUBLISHED, NULL, describe_snapshot, "snapshot in the origin", false, false},
    {EV_SNAPSHOT_FAILED, NULL, describe_kept, "unpublished work could not be saved", true, false},
    {EV_VERIFICATION_STARTED, verification, NULL, NULL, false, false},
    {EV_VERIFICATION_PASSED, verification, describe_check, "passed", false, false},
    {EV_VERIFICATION_FAILED, verification, describe_check, "failed", true, false},
    {EV_VERIFICATION_ERRORED, verification, describe_check, "could not be run", true, false},
    {EV_VERIFICATION_TIMED_OUT, verification, describe_check, "timed out", true, false},
    {EV_VERIFICATION_SKIPPED, verification, describe_check, "skipped", false, false},
    {EV_JUDGE_STARTED, judging, NULL, NULL, false, false},
    {EV_JUDGE_COMPLETED, judging, describe_judge, "judge", false, false},
    {EV_JUDGE_FAILED, judging, describe_doubt, "could not work", true, false},
    {EV_JUDGE_INCONCLUSIVE, judging, describe_doubt, "could not tell", true, false},
    {EV_SECRET_DETECTED, editing, describe_secret, "secret in the patch", true, false},
    {EV_PATCH_POLICY_FLAGGED, NULL, describe_approval, "patch flagged", true, false},
    {EV_APPROVAL_REQUESTED, approval, describe_approval, "approval requested", false, false},
    {EV_APPROVAL_REMINDED, approval, describe_plain, "reminded of it", false, false},
    {EV_APPROVAL_APPROVED, approval, describe_approval, "approved", false, false},
    {EV_APPROVAL_REJECTED, approval, describe_approval, "rejected", true, false},
    {EV_APPROVAL_EXPIRED, approval, describe_approval, "approval expired", true, false},
    {EV_PR_CREATION_REQUESTED, pull_request, NULL, NULL, false, false},
    {EV_PR_CREATED, pull_request, describe_published, "opened", false, false},
    {EV_PR_CREATION_FAILED, pull_request, describe_unpublished, "publishing failed", true, false},
    {EV_PR_MERGED, pull_request, describe_pr, "merged", false, false},
    {EV_PR_CLOSED, pull_request, describe_pr, "closed", false, false},
    {EV_PR_UPDATED, pull_request, describe_published, "updated", false, false},
    {EV_PR_STATE_CHANGED, pull_request, describe_pr_move, "is", false, false},
    {EV_PR_HEAD_CHANGED, pull_request, describe_pr, "has a new head", false, false},
    {EV_PR_CHECK_FAILED, pull_request, describe_pr_check, "failed", true, false},
    {EV_PR_REPAIR_STARTED, pull_request, describe_repair, "repair started", false, false},
    {EV_PR_REPAIR_ENDED, pull_request, describe_repair, "repair ended", false, false},
    {EV_PR_REBASED, pull_request, describe_rebase, "rebase", false, false},
    {EV_PR_FOLLOWED, pull_request, describe_handed, "is followed again", false, false},
    {EV_PR_LEFT_ALONE, pull_request, describe_handed, "is left to people", false, false},
    {EV_POLICY_EVALUATED, NULL, NULL, NULL, false, false}, /* Its consequences have lines. */
    {EV_POLICY_DENIED, planning, describe_plain, "policy denied it", true, false},
    {EV_POLICY_OVERRIDE_REQUESTED, approval, describe_plain, "policy may be overridden", true,
     false},
    {EV_POLICY_OVERRIDE_APPROVED, approval, describe_approval, "policy overridden", false, false},
    {EV_POLICY_OVERRIDE_REJECTED, approval, describe_approval, "policy not overridden", true,
     false},
    {EV_MEMORY_RECORDED, NULL, NULL, NULL, false, false},
    {EV_NOTIFICATION_SENT, NULL, NULL, NULL, false, false},
    {EV_NOTIFICATION_FAILED, NULL, describe_named, "no notification through", true, false},
    {EV_SAGA_STARTED, NULL, describe_named, "saga started:", false, false},
    {EV_SAGA_COMPENSATING, NULL, describe_named, "undoing", true, false},
    {EV_SAGA_COMPLETED, NULL, describe_named, "saga completed:", false, false},
    {EV_SAGA_COMPENSATED, NULL, describe_named, "undone:", true, false},
    {EV_SAGA_STUCK, NULL, describe_named, "cannot be undone:", true, false},
    {EV_EVENTS_TRUNCATED, editing, describe_plain, "more events are not stored", true, false},
    {EV_COST_RECORDED, NULL, NULL, NULL, false, false},
    {EV_JOB_DEAD_LETTERED, NULL, describe_dead, "became a dead letter", true, false},
    {EV_JOB_REPLAYED, NULL, describe_count, "dead letters replayed", false, false},
    {EV_JOB_ARCHIVED, NULL, describe_count, "dead letters archived", false, false},
    {EV_JOB_PURGED, NULL, describe_count, "dead letters purged", true, false},
    {EV_DEAD_LETTERS_ALERT, NULL, describe_named, "too many dead letters in queue", true, false},
    {EV_QUEUE_CONFIGURED, NULL, describe_named, "configured queue", false, false},
    {EV_QUEUE_PAUSED, NULL, describe_named, "paused queue", true, false},
    {EV_QUEUE_RESUMED, NULL, describe_named, "resumed queue", false, false},
    {EV_QUEUE_LEVEL_RAISED, NULL, describe_level, "load", true, false},
    {EV_QUEUE_LEVEL_LOWERED, NULL, describe_level, "load", false, false},
    {EV_QUEUE_SWARM_DETECTED, NULL, describe_named, "a swarm of jobs in queue", true, false},
    {EV_WORKERS_SCALED, NULL, describe_named, "new number of slots for worker", false, false},
    {EV_BREAKER_OPENED, NULL, describe_named, "opened breaker", true, false},
    {EV_BREAKER_HALF_OPENED, NULL, describe_named, "trying breaker", false, false},
    {EV_BREAKER_CLOSED, NULL, describe_named, "closed breaker", false, false},
    {EV_ACCOUNT_CHOSEN, NULL, describe_named, "uses account", false, false},
    {EV_ACCOUNT_PARKED, NULL, describe_named, "parked account", true, false},
    {EV_ACCOUNT_PROBED, NULL, describe_named, "trying parked account", false, false},
    {EV_ACCOUNT_RESUMED, NULL, describe_named, "resumed account", false, false},
    {EV_ACCOUNT_USAGE, editing, describe_usage, "account limit", false, true},
    {EV_REPLY_DROPPED, NULL, describe_plain, "a reply was dropped", true, false},
    {EV_SCHEDULE_FIRED, NULL, describe_named, "fired schedule", false, false},
    {EV_SCHEDULE_REFUSED, NULL, describe_named, "no job made for schedule", true, false},
    {EV_ISSUE_CREATED, NULL, describe_issue, "created", false, false},
    {EV_ISSUE_COMMENTED, NULL, describe_issue, "commented", false, false},
    {EV_ISSUE_CLOSED, NULL, describe_issue, "closed", false, false},
    {EV_ISSUE_REOPENED, NULL, describe_issue, "reopened", false, false},
    {EV_ISSUE_LABELLED, NULL, describe_issue, "labelled", false, false},
    {EV_ISSUE_DECIDED, NULL, describe_decided, "looked at", false, false},
    {EV_TRAIN_ENTERED, pull_request, describe_car, "entered the train of", false, false},
    {EV_TRAIN_TESTED, pull_request, describe_tested, "as it would land on", false, false},
    {EV_TRAIN_LANDED, pull_request, describe_car, "landed on", false, false},
    {EV_TRAIN_REJECTED, pull_request, describe_car, "does not land on", true, false},
    {EV_TRAIN_LEFT, pull_request, describe_car, "left the train of", false, false},
    {EV_TRAIN_MOVED, NULL, describe_train, "starts again on new commits", false, false},
    {EV_TRAIN_STALLED, NULL, describe_train, "waits after a failure", true, false},
    {EV_AGENT_LAUNCHED, NULL, describe_named, "launched agent", false, false},
    {EV_AGENT_EXITED, NULL, describe_named, "the process ended of agent", true, false},
    {EV_AGENT_HEARTBEAT_MISSED, NULL, describe_named, "no heartbeat of agent", true, false},
    {EV_AGENT_KILLED, NULL, describe_named, "killed agent", true, false},
    {EV_BATCH_CREATED, NULL, describe_batch, "submitted", false, false},
    {EV_BATCH_PROGRESSED, NULL, describe_batch, "goes on", false, false},
    {EV_BATCH_PAUSED, NULL, describe_batch, "paused", false, false},
    {EV_BATCH_RESUMED, NULL, describe_batch, "resumed", false, false},
    {EV_BATCH_STOPPING, NULL, describe_batch, "starts no more tasks", true, false},
    {EV_BATCH_COMPLETED, NULL, describe_batch, "completed", false, false},
    {EV_BATCH_STOPPED, NULL, describe_batch, "stopped", true, false},
    {EV_BATCH_CANCELLED, NULL, describe_batch, "cancelled", true, false},
    {EV_REPOSITORY_QUARANTINED, NULL, describe_named, "quarantined repository", true, false},
    {EV_REPOSITORY_RELEASED, NULL, describe_named, "released repository", false, false},
    {EV_REPOSITORY_CONFIGURED, NULL, NULL, NULL, false, false},
    {EV_REPOSITORY_REMOVED, NULL, NULL, NULL, false, false},
    {EV_REPOSITORY_SYNC_CHANGED, NULL, NULL, NULL, false, false},
};

static const struct description *description_of(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(tellings); i++) {
        if (text_same(tellings[i].type, type))
            return &tellings[i];
    }
    return NULL;
}

/* ---- the story ---- */

static bool is_bad(const struct description *how, const struct js *data)
{
    if (how->describe == describe_judge)
        return !text_same(js_get_str(data, "verdict", ""), "pass");
    return how->bad;
}

/* Fills line and returns whether there is one. */
static bool describe(const struct event *event, const struct description *how, struct arena *arena,
                     struct timeline_line *line)
{
    if (how != NULL && how->describe == NULL)
        return false;
    *line = (struct timeline_line){.time_us = event->time_us};
    line->type = how != NULL ? how->type : arena_strdup(arena, event->type);
    line->text = line->type;
    line->bad = how != NULL && how->bad;
    if (how == NULL)
        return true;
    struct str bytes = event->data.len > 0 ? event->data : STR("{}");
    CLEANUP(js_freep) struct js *data = NULL;
    if (js_parse(bytes.at, bytes.len, &data, NULL) != RC_OK || js_type(data) != JS_OBJECT)
        return true;
    line->text = prose_line(arena, how->describe(how, data, arena), TEXT_BYTES_MAX);
    line->bad = is_bad(how, data);
    return true;
}

/* The group that the next event with a line would open, and since when. */
struct opening {
    const char *name;
    int64_t time_us;
};

static struct timeline_group *group_for(struct timeline *timeline, const struct opening *opening,
                                        struct timeline_line *lines)
{
    struct timeline_group *last = NULL;
    if (timeline->group_count > 0)
        last = &timeline->groups[timeline->group_count - 1];
    if (last != NULL && (opening->name == NULL || text_same(opening->name, last->name)))
        return last;
    struct timeline_group *group = &timeline->groups[timeline->group_count++];
    *group = (struct timeline_group){
        .name = opening->name != NULL ? opening->name : planning,
        .started_us = opening->time_us,
        .lines = lines,
    };
    return group;
}

void timeline_build(const struct event *events, size_t count, struct arena *arena,
                    struct timeline *ret_timeline)
{
    size_t max = count < TIMELINE_LINES_MAX ? count : TIMELINE_LINES_MAX;
    struct timeline timeline = {.groups = arena_array(arena, max + 1, sizeof *timeline.groups)};
    struct timeline_line *lines = arena_array(arena, max + 1, sizeof *lines);
    struct opening opening = {.name = NULL};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct description *how = description_of(events[i].type);
        const char *group = how != NULL ? how->group : NULL;
        if (opening.name == NULL || (group != NULL && !text_same(group, opening.name)))
            opening = (struct opening){group, events[i].time_us};
        bool chatter = how != NULL && how->chatter;
        struct timeline_line line;
        if (!describe(&events[i], how, arena, &line))
            continue;
        if (used >= (size_t)TIMELINE_LINES_MAX - (chatter ? LINES_RESERVED : 0)) {
            timeline.truncated = true;
            continue;
        }
        struct timeline_group *into = group_for(&timeline, &opening, &lines[used]);
        lines[used++] = line;
        into->line_count++;
        into->ended_us = line.time_us;
    }
    *ret_timeline = timeline;
}

void timeline_write(struct jw *jw, const struct timeline *timeline)
{
    jw_begin(jw, '{');
    jw_key(jw, "groups");
    jw_begin(jw, '[');
    for (size_t i = 0; i < timeline->group_count; i++) {
        const struct timeline_group *group = &timeline->groups[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "name", group->name);
        jw_ktime(jw, "startedAt", group->started_us);
        jw_ktime(jw, "endedAt", group->ended_us);
        jw_key(jw, "lines");
        jw_begin(jw, '[');
        for (size_t j = 0; j < group->line_count; j++) {
            jw_begin(jw, '{');
            jw_ktime(jw, "time", group->lines[j].time_us);
            jw_kstr(jw, "type", group->lines[j].type);
            jw_kstr(jw, "text", group->lines[j].text);
            jw_kbool(jw, "bad", group->lines[j].bad);
            jw_end(jw, '}');
        }
        jw_end(jw, ']');
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    jw_kbool(jw, "truncated", timeline->truncated);
    jw_end(jw, '}');
}

const char *timeline_text(const struct event *event, struct arena *arena)
{
    struct timeline_line line;
    return describe(event, description_of(event->type), arena, &line) ? line.text : NULL;
}

const char *timeline_group_of(const char *type)
{
    const struct description *how = description_of(type);
    return how != NULL ? how->group : NULL;
}
