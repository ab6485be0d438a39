/*
 * timeline.c - a run's events as lines of text for people.
 *
 * The table of events (core/event_table.inc) has for every type its group and the function that
 * writes its line; a type without such a function is noise to people and stays in the raw stream
 * only.  A type that is not in the table is not one of drover's own, and its line is its name.
 * Lines of all groups stand in one array, a group is a piece of it.  Only a line opens a group, but
 * its start is the first event of that group, with a line or without: "verification started" dates
 * the check.
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

#define group_none         NULL
#define group_planning     "Planning"
#define group_editing      "Editing"
#define group_verification "Verification"
#define group_judging      "Judging"
#define group_approval     "Approval"
#define group_pull_request "PR"
#define group_outcome      "Outcome"

/* CHATTER may be left out of a long timeline. */
enum look { PLAIN = 0, BAD = 1, CHATTER = 2, BAD_CHATTER = BAD | CHATTER };

/* How the line of one type is written. */
struct description {
    const char *group; /* NULL: the current one. */
    char *(*describe)(const struct description *how, const struct js *data, struct arena *arena);
    const char *words; /* What happened; `describe` adds to it. */
    enum look look;
};

static bool is_marked(const struct description *how, enum look look)
{
    return how != NULL && (how->look & look) != 0;
}

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

/* Of an issue's way to production: which issue, or milestone, and by which agent. */
static char *describe_issue_step(const struct description *how, const struct js *data,
                                 struct arena *arena)
{
    const char *issue = member(data, "issueId");
    bool is_issue = *issue != '\0';
    return arena_printf(arena, "%s %s %s%s%s", is_issue ? "issue" : "milestone",
                        is_issue ? issue : member(data, "milestone"), how->words,
                        phrase(data, "agentId", "by", arena), detail_of(data, arena));
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
                        is_marked(how, BAD) ? detail_of(data, arena) : "", facts);
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

#define LINE(group, how, words, look)              \
    {                                              \
        group_##group, describe_##how, words, look \
    }
#define SILENT(group, look)             \
    {                                   \
        group_##group, NULL, NULL, look \
    }
#define EVENT(name, type, version, context, severity, key, volume, line, meaning) line,
/* In the order of the table of events. */
static const struct description descriptions[] = {
#include "core/event_table.inc"
};

static const struct description *description_of(const struct event_type *entry)
{
    return entry != NULL ? &descriptions[event_type_index(entry)] : NULL;
}

/* ---- the story ---- */

static bool is_bad(const struct description *how, const struct js *data)
{
    if (how->describe == describe_judge)
        return !text_same(js_get_str(data, "verdict", ""), "pass");
    return is_marked(how, BAD);
}

/* Fills line and returns whether there is one. */
static bool describe(const struct event *event, struct arena *arena, struct timeline_line *line)
{
    const struct event_type *entry = event_type_find(event->type);
    const struct description *how = description_of(entry);
    if (how != NULL && how->describe == NULL)
        return false;
    *line = (struct timeline_line){.time_us = event->time_us};
    line->type = entry != NULL ? entry->type : arena_strdup(arena, event->type);
    line->text = line->type;
    line->bad = is_marked(how, BAD);
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
        .name = opening->name != NULL ? opening->name : group_planning,
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
        const struct description *how = description_of(event_type_find(events[i].type));
        const char *group = how != NULL ? how->group : NULL;
        if (opening.name == NULL || (group != NULL && !text_same(group, opening.name)))
            opening = (struct opening){group, events[i].time_us};
        bool chatter = is_marked(how, CHATTER);
        struct timeline_line line;
        if (!describe(&events[i], arena, &line))
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
    return describe(event, arena, &line) ? line.text : NULL;
}

const char *timeline_group_of(const char *type)
{
    const struct description *how = description_of(event_type_find(type));
    return how != NULL ? how->group : NULL;
}
