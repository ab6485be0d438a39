/*
 * whatif.c - the recorded history under other limits: POST /v1/whatif (core/run/whatif.h).
 */
#include "core/run/whatif.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "control/admit/limit_fields.h"
#include "control/watch/whatif_read.h"
#include "store/workspaces.h"
#include <string.h>

enum { LISTED_MAX = 100 };

static double seconds(int64_t us)
{
    return (double)us / (double)US_PER_SECOND;
}

static double usd(int64_t microusd)
{
    return (double)microusd / 1e6;
}

/* ---- the question ---- */

/* {limits, defaults, repositories}: what is not named stays as it is. */
static enum rc read_config(const struct js *config, struct arena *arena,
                           struct whatif_question *question, struct err *err)
{
    const struct js *limits = NULL, *defaults = NULL, *layer;
    struct fields fields;
    const char *name;
    fields_open(&fields, config, "config", err);
    fields_object(&fields, "limits", FIELD_OPTIONAL, &limits);
    fields_object(&fields, "defaults", FIELD_OPTIONAL, &defaults);
    fields_object(&fields, "repositories", FIELD_OPTIONAL, &question->other.repositories);
    for (size_t at = 0; js_next(question->other.repositories, &at, &name, &layer);)
        if (js_type(layer) != JS_OBJECT)
            fields_fail(&fields, "repositories", "repositories.%.100s must be an object", name);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    if (defaults != NULL)
        question->other.defaults = str_of(js_text(defaults, arena));
    if (limits == NULL)
        return RC_OK;
    fields_open(&fields, limits, "config.limits", err);
    limit_fields_read(&fields, arena, &question->other.limits);
    return fields_close(&fields);
}

static enum rc read_question(const struct js *body, struct arena *arena,
                             struct whatif_question *question, struct err *err)
{
    const struct js *config = NULL;
    const char *since = NULL;
    struct fields fields;
    fields_open(&fields, body, "", err);
    fields_object(&fields, "config", FIELD_REQUIRED, &config);
    fields_string(&fields, "since", FIELD_OPTIONAL, &(struct field_text){.max = 40}, &since);
    if (since != NULL && !time_parse(since, &question->since_us))
        fields_fail(&fields, "since", "since must be a time like 2026-01-31T12:00:00Z");
    enum rc rc = fields_close(&fields);
    return rc == RC_OK ? read_config(config, arena, question, err) : rc;
}

/* ---- the answer ---- */

static void write_saving(struct jw *jw, const char *key, const struct whatif_saving *saving)
{
    jw_key(jw, key);
    jw_begin(jw, '{');
    jw_kint(jw, "runs", saving->runs);
    jw_kreal(jw, "savedUsd", usd(saving->cost_microusd));
    jw_kreal(jw, "savedWorkSeconds", seconds(saving->work_us));
    jw_end(jw, '}');
}

static void write_wait(struct jw *jw, const char *key, const struct whatif_wait *wait)
{
    jw_key(jw, key);
    jw_begin(jw, '{');
    jw_kint(jw, "runs", wait->runs);
    jw_kreal(jw, "totalSeconds", seconds(wait->total_us));
    jw_kreal(jw, "meanSeconds", wait->runs > 0 ? seconds(wait->total_us / wait->runs) : 0);
    jw_kreal(jw, "longestSeconds", seconds(wait->longest_us));
}

static void write_difference(struct jw *jw, const struct whatif_difference *difference)
{
    write_saving(jw, "denied", &difference->denied);
    jw_kint(jw, "accepted", difference->accepted);
    write_wait(jw, "deferred", &difference->deferred);
    jw_key(jw, "reasons");
    jw_begin(jw, '{');
    for (int i = CHECK_FIRST_AT_START; i < ADMISSION_CHECK_COUNT; i++)
        if (difference->deferred_by[i] > 0)
            jw_kint(jw, admission_reason((enum admission_check)i), difference->deferred_by[i]);
    jw_end(jw, '}');
    jw_end(jw, '}');
    write_wait(jw, "sooner", &difference->sooner);
    jw_end(jw, '}');
    jw_key(jw, "stopped");
    jw_begin(jw, '{');
    for (int i = WHATIF_NO_STOP + 1; i < WHATIF_STOP_COUNT; i++)
        if (difference->stopped[i].runs > 0)
            write_saving(jw, whatif_stop_code((enum whatif_stop)i), &difference->stopped[i]);
    jw_end(jw, '}');
    jw_key(jw, "approvals");
    jw_begin(jw, '{');
    jw_kint(jw, "more", difference->asked);
    jw_kint(jw, "fewer", difference->not_asked);
    jw_end(jw, '}');
    jw_key(jw, "saved");
    jw_begin(jw, '{');
    jw_kreal(jw, "usd", usd(difference->saved_microusd));
    jw_kreal(jw, "workSeconds", seconds(difference->saved_work_us));
    jw_kreal(jw, "askingSeconds", seconds(difference->saved_asking_us));
    jw_kreal(jw, "endsSecondsEarlier", seconds(difference->end_us[0] - difference->end_us[1]));
    jw_end(jw, '}');
}

static void unknown(struct jw *jw, const char *what, int64_t runs)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "what", what);
    if (runs >= 0)
        jw_kint(jw, "runs", runs);
    jw_end(jw, '}');
}

/* ---- what of the question takes no part ---- */

/* Of limits, and of the layers of repositories: what the simulation uses (core/run/whatif.h). */
static const char *const used_limits[] = {
    "maxActiveRuns",
    "maxActiveRunsPerUser",
    "maxActiveRunsPerWorkspace",
    "sandboxes",
    "tasksPerHourPerUser",
    "costPerDayUsd",
    "costPerRunUsd",
    "taskTypes",
    NULL,
};
static const char *const used_settings[] = {
    "limits.maxActiveRuns", "limits.maxTurns",       "limits.maxBudgetUsd", "limits.maxTokens",
    "policy.approval",      "policy.forbiddenPaths", "timeouts.runMs",      NULL,
};

struct leftovers {
    struct arena *arena;
    const char *text; /* "a, b", each once. */
};

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (text_same(*names, name))
            return true;
    return false;
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static void leave_over(struct leftovers *left, const char *name)
{
    if (!has_word(left->text, name))
        left->text = arena_printf(left->arena, "%s%s%s", left->text,
                                  left->text[0] != '\0' ? ", " : "", name);
}

/* Retries count as a whole; of limits, policy and timeouts each member for itself. */
static void examine_layer(struct leftovers *left, const struct js *layer)
{
    const char *section, *name;
    const struct js *members, *value;
    for (size_t at = 0; js_next(layer, &at, &section, &members);) {
        bool parted = text_same(section, "limits") || text_same(section, "policy") ||
                      text_same(section, "timeouts");
        if (text_same(section, "retries"))
            continue;
        if (!parted)
            leave_over(left, section);
        for (size_t i = 0; parted && js_next(members, &i, &name, &value);) {
            const char *path = arena_printf(left->arena, "%s.%s", section, name);
            if (!is_listed(used_settings, path))
                leave_over(left, path);
        }
    }
}

static bool is_repository(const struct whatif_worlds *worlds, const char *name)
{
    for (uint32_t i = 0; i < worlds->history.repos; i++)
        if (text_same(worlds->repo_names[i], name))
            return true;
    return text_same(name, "*");
}

static void write_leftovers(struct jw *jw, const struct js *config,
                            const struct whatif_worlds *worlds, struct arena *arena)
{
    struct leftovers settings = {arena, ""}, repositories = {arena, ""};
    const char *name;
    const struct js *value;
    for (size_t at = 0; js_next(js_get(config, "limits"), &at, &name, &value);)
        if (!is_listed(used_limits, name))
            leave_over(&settings, arena_printf(arena, "limits.%s", name));
    examine_layer(&settings, js_get(config, "defaults"));
    for (size_t at = 0; js_next(js_get(config, "repositories"), &at, &name, &value);) {
        examine_layer(&settings, value);
        if (!is_repository(worlds, name))
            leave_over(&repositories, name);
    }
    if (settings.text[0] != '\0')
        unknown(jw,
                arena_printf(arena,
                             "what these settings would have done, which are not simulated: %s",
                             settings.text),
                -1);
    if (repositories.text[0] != '\0')
        unknown(
            jw,
            arena_printf(arena, "repositories that are not on this server: %s", repositories.text),
            -1);
}

static void write_unknown(struct jw *jw, const struct whatif_difference *difference)
{
    int64_t stopped = 0;
    for (int i = 0; i < WHATIF_STOP_COUNT; i++)
        stopped += difference->stopped[i].runs;
    if (difference->goes_on > 0)
        unknown(jw, "what runs would have done that a limit had stopped, and this one would not",
                difference->goes_on);
    if (stopped + difference->denied.runs > 0)
        unknown(jw, "what people would have done about runs that were stopped or denied: retries",
                stopped + difference->denied.runs);
    if (difference->asked > 0)
        unknown(jw, "how people would have decided, and when: the mean of all approvals is taken",
                difference->asked);
    if (difference->unfinished > 0)
        unknown(jw, "what runs use that have not ended", difference->unfinished);
    if (difference->never_started > 0)
        unknown(jw, "what runs would have done that never started", difference->never_started);
    unknown(jw, "tasks that were rejected then: they left no run", -1);
}

static const struct {
    unsigned change;
    const char *name;
} change_names[] = {
    {WHATIF_DENIED, "denied"},      {WHATIF_ACCEPTED, "accepted"}, {WHATIF_DEFERRED, "deferred"},
    {WHATIF_SOONER, "sooner"},      {WHATIF_STOPPED, "stopped"},   {WHATIF_ASKED, "asked"},
    {WHATIF_NOT_ASKED, "notAsked"}, {WHATIF_GOES_ON, "goesOn"},
};

static void write_run(struct jw *jw, const struct whatif_worlds *worlds, size_t at,
                      const struct whatif_outcome *before, const struct whatif_outcome *after)
{
    unsigned changes = whatif_changes(before, after);
    jw_begin(jw, '{');
    jw_kstr(jw, "runId", worlds->history.runs[at].id.text);
    jw_kstr(jw, "repository", worlds->repo_names[worlds->history.runs[at].repo]);
    jw_key(jw, "changes");
    jw_begin(jw, '[');
    for (size_t i = 0; i < COUNT_OF(change_names); i++)
        if (changes & change_names[i].change)
            jw_str(jw, change_names[i].name);
    jw_end(jw, ']');
    jw_optstr(jw, "deniedBy", after->denied);
    if (changes & WHATIF_DEFERRED && after->held_by != ADMISSION_PASSED)
        jw_kstr(jw, "heldBy", admission_reason(after->held_by));
    jw_optstr(jw, "stoppedBy", changes & WHATIF_STOPPED ? whatif_stop_code(after->stop) : NULL);
    if (after->denied == NULL && before->denied == NULL)
        jw_kreal(jw, "startsSecondsLater", seconds(after->start_us - before->start_us));
    jw_kreal(jw, "savedUsd", usd(before->cost_microusd - after->cost_microusd));
    jw_end(jw, '}');
}

static void write_runs(struct jw *jw, const struct whatif_worlds *worlds,
                       const struct whatif_outcome *before, const struct whatif_outcome *after)
{
    int64_t changed = 0;
    jw_key(jw, "items");
    jw_begin(jw, '[');
    for (size_t i = 0; i < worlds->history.count; i++)
        if (whatif_changes(&before[i], &after[i]) != 0 && changed++ < LISTED_MAX)
            write_run(jw, worlds, i, &before[i], &after[i]);
    jw_end(jw, ']');
    jw_kint(jw, "changed", changed);
}

static void answer(struct call *call, const struct js *config,
                   const struct whatif_question *question, const struct whatif_worlds *worlds)
{
    struct arena *arena = &call->http.arena;
    const struct whatif_history *history = &worlds->history;
    const struct whatif_outcome *before = whatif_simulate(history, &worlds->now, &worlds->now,
                                                          arena);
    const struct whatif_outcome *after = whatif_simulate(history, &worlds->now, &worlds->other,
                                                         arena);
    struct whatif_difference difference;
    whatif_compare(history, before, after, &difference);
    struct whatif_fidelity fidelity = whatif_fidelity(history, before);
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kint(&jw, "runs", (int64_t)history->count);
    jw_ktime(&jw, "since", question->since_us);
    write_runs(&jw, worlds, before, after);
    write_difference(&jw, &difference);
    jw_key(&jw, "unknown");
    jw_begin(&jw, '[');
    write_leftovers(&jw, config, worlds, arena);
    write_unknown(&jw, &difference);
    jw_end(&jw, ']');
    jw_key(&jw, "fidelity");
    jw_begin(&jw, '{');
    jw_kint(&jw, "runs", fidelity.runs);
    jw_kint(&jw, "withinASecond", fidelity.near);
    jw_kreal(&jw, "furthestSeconds", seconds(fidelity.furthest_us));
    jw_kint(&jw, "eventsReadOf", worlds->events_read);
    jw_end(&jw, '}');
    jw_end(&jw, '}');
}

enum rc api_whatif(struct call *call, struct db *db, struct err *err)
{
    struct arena *arena = &call->http.arena;
    const struct committer_limits *limits = committer_limits(control_committer(call->api->control));
    struct clock clock = control_clock(call->api->control);
    CLEANUP(js_freep) struct js *body = NULL;
    struct workspace_row workspace;
    struct whatif_worlds *worlds = arena_alloc(arena, sizeof *worlds);
    struct whatif_question question = {
        .limits = limits,
        .defaults = call->api->defaults,
        .other = {.limits = *limits, .defaults = call->api->defaults},
        .now_us = clock_now_us(&clock),
    };
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &body, err);
    if (rc == RC_OK)
        rc = read_question(body, arena, &question, err);
    CLEANUP(tx_abort) struct tx tx = {0};
    if (rc == RC_OK)
        rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = workspaces_by_name(db, WORKSPACE_DEFAULT, arena, &workspace, err);
    if (rc != RC_OK)
        return rc;
    question.workspace_id = workspace.id;
    rc = whatif_read(db, &question, arena, worlds, err);
    tx_abort(&tx); /* What follows needs no store. */
    if (rc == RC_OK)
        answer(call, js_get(body, "config"), &question, worlds);
    return rc;
}
