/*
 * test_sync.c - deliveries are recorded once; those that did not arrive are found; without webhooks
 * the forge is polled.  The forge is a list in this file, and time is virtual.
 */
#include "control/admit/repositories.h"
#include "control/pr/receive.h"
#include "control/pr/shepherd.h"
#include "control/pr/sync.h"
#include "control/watch/due.h"
#include "store/pull_requests.h"
#include "store/timers.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

#define MINUTE_MS INT64_C(60000)

static struct lab lab;
static struct repository_row repository;

/* ---- the forge ---- */

enum { SENT_MAX = 400 };

struct sent {
    const char *id;
    int64_t sent_us;
    int64_t number; /* Of the issue. */
    bool answered, gone;
};
static struct {
    struct sent sent[SENT_MAX];
    size_t count;
    const char *changed;    /* JSON of the list, or NULL: none. */
    const char *etag;       /* Of that list. */
    const char *refusal;    /* Deliveries cannot be listed. */
    bool same;              /* The list is what the ETag stands for. */
    int64_t since_us;       /* As it was asked last, */
    char asked_etag[64];    /* the same. */
    int64_t asked, fetched; /* How often. */
} forge;

static struct sent *forge_sends(int64_t number)
{
    ck_assert_uint_lt(forge.count, SENT_MAX);
    struct sent *sent = &forge.sent[forge.count++];
    *sent = (struct sent){.id = arena_printf(&lab.arena, "guid-%lld", (long long)number),
                          .sent_us = lab.now_us,
                          .number = number};
    return sent;
}

static const char *body_of(int64_t number)
{
    return arena_printf(
        &lab.arena,
        "{\"action\":\"labeled\",\"issue\":{\"number\":%lld},\"repository\":{\"id\":"
        "77,\"full_name\":\"acme/billing\"},\"sender\":{\"login\":\"ada\"}}",
        (long long)number);
}

static void list_deliveries(struct jw *jw, int64_t since_us)
{
    jw_key(jw, "deliveries");
    jw_begin(jw, '[');
    for (size_t i = forge.count; i-- > 0;) {
        const struct sent *sent = &forge.sent[i];
        if (sent->sent_us < since_us)
            continue;
        jw_begin(jw, '{');
        jw_kstr(jw, "id", sent->id);
        jw_kstr(jw, "event", "issues");
        jw_kstr(jw, "handle", sent->id);
        jw_kint(jw, "sentUs", sent->sent_us);
        jw_kbool(jw, "answered", sent->answered);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void list_changes(struct jw *jw, const struct js *payload)
{
    int64_t since_us = js_get_int(payload, "deliveriesSinceUs", 0);
    forge.asked++;
    forge.since_us = js_get_int(payload, "changesSinceUs", -1);
    text_copy(forge.asked_etag, sizeof forge.asked_etag, js_get_str(payload, "etag", ""));
    jw_kbool(jw, "same", forge.same);
    jw_kbool(jw, "more", false);
    jw_optstr(jw, "etag", forge.etag);
    jw_kraw(jw, "changed", forge.changed != NULL ? str_of(forge.changed) : STR("[]"));
    if (since_us > 0 && forge.refusal != NULL)
        jw_kstr(jw, "deliveriesError", forge.refusal);
    else if (since_us > 0)
        list_deliveries(jw, since_us);
}

static const struct sent *find_sent(const char *id)
{
    for (size_t i = 0; i < forge.count; i++)
        if (text_same(forge.sent[i].id, id))
            return &forge.sent[i];
    ck_abort_msg("the forge has not sent %s", id);
}

static void fetch_payloads(struct jw *jw, const struct js *payload)
{
    const struct js *list = js_get(payload, "deliveries");
    ck_assert_uint_le(js_count(list), SYNC_FETCHED_MAX);
    jw_key(jw, "deliveries");
    jw_begin(jw, '[');
    for (size_t i = 0; i < js_count(list); i++) {
        const struct js *item = js_at(list, i);
        const struct sent *sent = find_sent(js_get_str(item, "handle", ""));
        char sha256[SHA256_TEXT_BYTES];
        struct err err = {0};
        forge.fetched++;
        ck_assert_int_eq(artifact_put(lab.store, str_of(body_of(sent->number)), sha256, &err),
                         RC_OK);
        jw_begin(jw, '{');
        jw_kstr(jw, "id", sent->id);
        jw_kstr(jw, "event", js_get_str(item, "event", ""));
        jw_kint(jw, "sentUs", sent->sent_us);
        jw_kstr(jw, sent->gone ? "gone" : "sha256", sent->gone ? "it is gone" : sha256);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

/* What a worker does with the job. */
static void answer(const struct job_row *job)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    CLEANUP(buf_release) struct buf report;
    char sha256[SHA256_TEXT_BYTES];
    struct err err = {0};
    buf_init(&report, SYNC_REPORT_MAX);
    struct jw jw = jw_to(&report);
    ck_assert_int_eq(js_parse(job->payload.at, job->payload.len, &payload, &err), RC_OK);
    ck_assert_str_eq(js_get_str(payload, "repository", ""), "acme/billing");
    jw_begin(&jw, '{');
    if (text_same(js_get_str(payload, "what", ""), "payloads"))
        fetch_payloads(&jw, payload);
    else
        list_changes(&jw, payload);
    jw_end(&jw, '}');
    ck_assert_int_eq(artifact_put(lab.store, buf_str(&report), sha256, &err), RC_OK);
    struct job_answer done = lab_claim(
        &lab, job, arena_printf(&lab.arena, "{\"reportSha256\":\"%s\"}", sha256));
    ck_assert_msg(done.ok, "%s %s", done.code, done.message);
}

/* Workers do what waits, and what follows from it. */
static void work(void)
{
    struct job_row *jobs;
    size_t count;
    while ((count = lab_lease(&lab, "drover.sync", "node-1/0", &jobs)) > 0)
        for (size_t i = 0; i < count; i++)
            answer(&jobs[i]);
}

/* ---- drover ---- */

#define CONFIGURED                                                                            \
    ",\"webhook\":{\"secret\":\"SECRET\"},\"sync\":{\"everyMs\":60000,\"recoverMs\":600000}," \
    "\"intake\":{\"enabled\":true}"

/* The same, but deliveries are listed at every poll. */
#define LISTED                                                                               \
    ",\"webhook\":{\"secret\":\"SECRET\"},\"sync\":{\"everyMs\":60000,\"recoverMs\":60000}," \
    "\"intake\":{\"enabled\":true}"

static void put(const char *forge_name, const char *more)
{
    struct cmd_repository_put *cmd = cmd_repository_put_new();
    struct err err = {0};
    cmd->name = "acme/billing";
    cmd->config = str_of(arena_printf(
        &lab.arena,
        "{\"url\":\"https://git.example.org/acme/billing.git\",\"forge\":\"%s\",\"agent\":"
        "{\"command\":[\"./agent\"]}%s}",
        forge_name, more));
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id id = cmd->id;
    command_free(&cmd->base);
    ck_assert_int_eq(repositories_get(lab.db, &id, &lab.arena, &repository, &err), RC_OK);
}

static void setup(void)
{
    memset(&forge, 0, sizeof forge);
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct sync_row sync_now(void)
{
    struct sync_row row;
    struct err err = {0};
    enum rc rc = syncs_read(lab.db, &repository.id, &lab.arena, &row, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return row;
}

/* One delivery as it arrives; is it new? */
static bool arrives(const char *id, const char *event, const char *body, const char **ret_status)
{
    struct cmd_receive *cmd = cmd_receive_new();
    struct err err = {0};
    ck_assert_int_eq(js_parse(body, strlen(body), &cmd->base.tree, &err), RC_OK);
    cmd->repository_id = repository.id;
    cmd->delivery = (struct delivery){.forge = "github",
                                      .event = event,
                                      .delivery_id = id,
                                      .via = DELIVERY_BY_WEBHOOK,
                                      .body = cmd->base.tree};
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    bool is_new = cmd->is_new;
    if (ret_status != NULL)
        *ret_status = arena_strdup(&lab.arena, cmd->row.status);
    command_free(&cmd->base);
    return is_new;
}

static bool arrives_sent(const struct sent *sent)
{
    return arrives(sent->id, "issues", body_of(sent->number), NULL);
}

static size_t receipts(const char *status, const char *via)
{
    struct delivery_row *rows;
    size_t count;
    struct err err = {0};
    const struct delivery_filter filter = {.status = status, .via = via, .limit = 1000};
    ck_assert_int_eq(deliveries_list(lab.db, &filter, &lab.arena, &rows, &count, &err), RC_OK);
    return count;
}

/* Issues that intake is to read: each look makes a job of its own, since every delivery here is
   about another issue. */
static size_t looked_at(void)
{
    struct job_row *rows;
    size_t count;
    struct err err = {0};
    const struct job_filter filter = {.queue = "drover.issue", .state = -1, .limit = 1000};
    ck_assert_int_eq(jobs_list(lab.db, &filter, &lab.arena, &rows, &count, &err), RC_OK);
    return count;
}

static void pass(int64_t ms)
{
    lab_pass_ms(&lab, ms);
    work();
}

/* ---- deliveries ---- */

START_TEST(a_delivery_is_recorded_once_and_looked_at_once)
{
    put("github", CONFIGURED);
    const char *status;
    ck_assert(arrives("guid-1", "issues", body_of(4), &status));
    ck_assert_str_eq(status, DELIVERY_APPLIED);
    ck_assert(!arrives("guid-1", "issues", body_of(4), NULL));
    ck_assert(!arrives("guid-1", "issues", body_of(5), NULL));
    ck_assert_uint_eq(receipts(NULL, NULL), 1);
    ck_assert_uint_eq(looked_at(), 1);
    struct sync_row row = sync_now();
    ck_assert_int_eq(row.mode, SYNC_WEBHOOKS);
    ck_assert_int_eq(row.last_delivery_us, lab.now_us);
    ck_assert_str_eq(row.provider_id, "77");
    ck_assert_str_eq(row.known_as, "acme/billing");
}
END_TEST

START_TEST(unknown_and_invalid_deliveries_are_recorded_and_ignored)
{
    put("github", CONFIGURED);
    const char *status;
    ck_assert(arrives("1", "star", "{\"action\":\"created\"}", &status));
    ck_assert_str_eq(status, DELIVERY_IGNORED);
    ck_assert(arrives("2", "issues", "{\"action\":\"opened\"}", &status));
    ck_assert_str_eq(status, DELIVERY_INVALID);
    ck_assert(arrives("3", "ping", "{\"zen\":\"x\"}", &status));
    ck_assert_str_eq(status, DELIVERY_APPLIED);
    ck_assert_uint_eq(looked_at(), 0);
}
END_TEST

static struct id open_pr(int64_t number)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct run_row run = lab_run(&lab, &run_id);
    struct err err = {0};
    struct random random = random_seeded((uint64_t)number);
    struct pull_request_row row = {
        .id = id_new(lab.now_us, &random),
        .number = number,
        .repository_id = repository.id,
        .task_id = run.task_id,
        .run_id = run_id,
        .branch = arena_printf(&lab.arena, "fix-%lld", (long long)number),
        .target_branch = "main",
        .url = arena_printf(&lab.arena, "https://git.example.org/%lld", (long long)number),
        .status = "open",
        .head_commit = number == 9 ? "0123456789abcdef0123456789abcdef01234567" : "1",
    };
    ck_assert_int_eq(pull_requests_insert(lab.db, &row, &err), RC_OK);
    return row.id;
}

static bool is_looked_at(const struct id *pull_request_id)
{
    struct timer_row *rows;
    size_t count;
    struct err err = {0};
    bool found = false;
    ck_assert_int_eq(timers_of(lab.db, pull_request_id, &lab.arena, &rows, &count, &err), RC_OK);
    for (size_t i = 0; i < count; i++)
        found |= text_same(rows[i].kind, TIMER_SHEPHERD);
    ck_assert_int_eq(timers_clear(lab.db, TIMER_SHEPHERD, pull_request_id, &err), RC_OK);
    return found;
}

START_TEST(a_delivery_finds_its_pull_requests)
{
    static const struct {
        const char *event, *body;
        bool nine, ten;
    } sent[] = {
        {"pull_request_review", "{\"action\":\"submitted\",\"pull_request\":{\"number\":9}}", true,
         false},
        {"status", "{\"sha\":\"0123456789abcdef0123456789abcdef01234567\"}", true, false},
        {"push", "{\"ref\":\"refs/heads/fix-10\"}", false, true},
        {"push", "{\"ref\":\"refs/heads/main\"}", true, true},
        {"pull_request", "{\"action\":\"closed\",\"pull_request\":{\"number\":11}}", false, false},
        {"push", "{\"ref\":\"refs/tags/v1\"}", false, false},
    };
    put("github", CONFIGURED);
    struct id nine = open_pr(9), ten = open_pr(10);
    (void)is_looked_at(&nine);
    (void)is_looked_at(&ten);
    for (size_t i = 0; i < COUNT_OF(sent); i++) {
        ck_assert(arrives(arena_printf(&lab.arena, "%zu", i), sent[i].event, sent[i].body, NULL));
        ck_assert_msg(is_looked_at(&nine) == sent[i].nine, "row %zu: 9", i);
        ck_assert_msg(is_looked_at(&ten) == sent[i].ten, "row %zu: 10", i);
    }
}
END_TEST

/* ---- what did not arrive ---- */

START_TEST(deliveries_that_were_lost_for_an_hour_are_all_found_and_applied_once)
{
    enum { LOST = 120 };
    put("github", CONFIGURED);
    pass(0);
    ck_assert(arrives_sent(forge_sends(1)));
    ck_assert_int_eq(sync_now().mode, SYNC_WEBHOOKS);
    for (int i = 0; i < LOST; i++) { /* An hour, one every half minute; nothing arrives. */
        forge_sends(2 + i);
        pass(MINUTE_MS / 2);
    }
    pass(10 * MINUTE_MS);
    ck_assert_int_eq(sync_now().mode, SYNC_POLLING);
    ck_assert_uint_eq(receipts(NULL, NULL), LOST + 1);
    ck_assert_uint_eq(receipts(DELIVERY_APPLIED, DELIVERY_RECOVERED), LOST);
    ck_assert_uint_eq(looked_at(), LOST + 1);
    ck_assert_int_eq(forge.fetched, LOST); /* None was fetched twice. */
    ck_assert_int_eq(sync_now().recovered, LOST);
    for (size_t i = 0; i < forge.count; i++) /* They come after all. */
        ck_assert(!arrives_sent(&forge.sent[i]));
    ck_assert_uint_eq(receipts(NULL, NULL), LOST + 1);
    ck_assert_uint_eq(looked_at(), LOST + 1);
    ck_assert_int_eq(sync_now().mode, SYNC_WEBHOOKS);
}
END_TEST

START_TEST(a_server_that_was_away_finds_them_when_it_starts)
{
    enum { LOST = 60 };
    put("github", CONFIGURED);
    pass(0);
    ck_assert(arrives_sent(forge_sends(1)));
    for (int i = 0; i < LOST; i++) { /* No timer fires: the server is away. */
        lab.now_us += MINUTE_MS * US_PER_MS;
        forge_sends(2 + i);
    }
    struct cmd_sync_start *start = cmd_sync_start_new();
    ck_assert_int_eq(lab_call(&lab, &start->base), RC_OK);
    ck_assert_int_eq(start->followed, 1);
    command_free(&start->base);
    pass(0);
    ck_assert_uint_eq(receipts(DELIVERY_APPLIED, DELIVERY_RECOVERED), LOST);
    ck_assert_uint_eq(looked_at(), LOST + 1);
    pass(20 * MINUTE_MS);
    ck_assert_int_eq(forge.fetched, LOST);
}
END_TEST

START_TEST(webhooks_that_work_are_checked_seldom_and_find_nothing)
{
    put("github", CONFIGURED);
    pass(0);
    ck_assert(arrives_sent(forge_sends(1)));
    int64_t asked = forge.asked;
    for (int i = 0; i < 60; i++) {
        struct sent *sent = forge_sends(2 + i);
        sent->answered = true;
        ck_assert(arrives_sent(sent));
        pass(MINUTE_MS);
    }
    ck_assert_int_ge(forge.asked - asked, 5);
    ck_assert_int_le(forge.asked - asked, 8);
    ck_assert_int_eq(forge.fetched, 0);
    ck_assert_int_eq(sync_now().mode, SYNC_WEBHOOKS);
}
END_TEST

START_TEST(a_poll_lists_deliveries_no_more_often_than_webhooks_are_checked)
{
    put("github", CONFIGURED);
    pass(0); /* The first lists them. */
    forge_sends(1);
    for (int i = 0; i < 9; i++)
        pass(MINUTE_MS);
    ck_assert_int_eq(forge.asked, 10);
    ck_assert_int_eq(forge.fetched, 0);
    pass(MINUTE_MS);
    ck_assert_int_eq(forge.fetched, 1);
    forge_sends(2);
    put("github", CONFIGURED); /* As at the start of a server: at once. */
    pass(0);
    ck_assert_int_eq(forge.fetched, 2);
}
END_TEST

START_TEST(one_that_was_answered_may_be_on_its_way)
{
    put("github", LISTED);
    pass(0);
    struct sent *sent = forge_sends(1);
    sent->answered = true;
    pass(MINUTE_MS); /* Not older than what may be on its way. */
    ck_assert_int_eq(forge.fetched, 0);
    pass(MINUTE_MS);
    ck_assert_int_eq(forge.fetched, 1);
    ck_assert_uint_eq(looked_at(), 1);
}
END_TEST

START_TEST(one_that_the_forge_has_lost_is_asked_for_once)
{
    put("github", LISTED);
    pass(0);
    forge_sends(1)->gone = true;
    pass(MINUTE_MS);
    pass(20 * MINUTE_MS);
    ck_assert_int_eq(forge.fetched, 1);
    ck_assert_uint_eq(receipts(DELIVERY_LOST, DELIVERY_RECOVERED), 1);
    ck_assert_uint_eq(looked_at(), 0);
}
END_TEST

START_TEST(without_the_right_to_list_deliveries_state_is_compared)
{
    put("github", LISTED);
    forge.refusal = "the token may not read hooks";
    forge.changed = "[{\"number\":4,\"pr\":false,\"updatedUs\":1800000001000000}]";
    forge_sends(4);
    pass(0);
    ck_assert_int_eq(forge.fetched, 0);
    ck_assert_uint_eq(looked_at(), 1);
    ck_assert_str_eq(sync_now().deliveries_error, "the token may not read hooks");
    forge.refusal = NULL;
    pass(MINUTE_MS);
    ck_assert_ptr_null(sync_now().deliveries_error);
}
END_TEST

/* ---- polling ---- */

START_TEST(without_a_webhook_changes_are_polled_with_an_etag)
{
    put("github", ",\"intake\":{\"enabled\":true}");
    pass(0);
    ck_assert_int_eq(forge.asked, 1);
    ck_assert_int_eq(forge.since_us, 0);
    ck_assert_uint_eq(looked_at(), 0);
    forge.changed = "[{\"number\":4,\"pr\":false,\"updatedUs\":1800000001000000},"
                    "{\"number\":5,\"pr\":false,\"updatedUs\":1800000002000000}]";
    forge.etag = "\"one\"";
    pass(MINUTE_MS);
    ck_assert_int_eq(forge.asked, 2);
    ck_assert_uint_eq(looked_at(), 2);
    pass(MINUTE_MS); /* From the last change on: the ETag was of another list. */
    ck_assert_int_eq(forge.since_us, INT64_C(1800000002000000));
    ck_assert_str_eq(forge.asked_etag, "");
    forge.same = true;
    pass(MINUTE_MS);
    ck_assert_str_eq(forge.asked_etag, "\"one\"");
    pass(MINUTE_MS);
    ck_assert_str_eq(forge.asked_etag, "\"one\"");
    ck_assert_int_eq(sync_now().mode, SYNC_POLLING);
    ck_assert_int_eq(sync_now().last_sync_us, lab.now_us);
}
END_TEST

START_TEST(where_deliveries_cannot_be_listed_a_change_without_one_shows_the_gap)
{
    put("gitea", CONFIGURED);
    pass(0);
    ck_assert(arrives("1", "issues", body_of(1), NULL));
    ck_assert_int_eq(sync_now().mode, SYNC_WEBHOOKS);
    pass(10 * MINUTE_MS);
    ck_assert_int_eq(sync_now().mode, SYNC_WEBHOOKS);
    forge.changed = arena_printf(&lab.arena, "[{\"number\":4,\"pr\":false,\"updatedUs\":%lld}]",
                                 (long long)(lab.now_us + MINUTE_MS * US_PER_MS));
    pass(10 * MINUTE_MS);
    ck_assert_int_eq(sync_now().mode, SYNC_POLLING);
    ck_assert_uint_eq(looked_at(), 2);
    ck_assert(arrives("2", "issues", body_of(2), NULL));
    ck_assert_int_eq(sync_now().mode, SYNC_WEBHOOKS);
}
END_TEST

START_TEST(a_failure_is_shown_until_the_next_success)
{
    put("github", CONFIGURED);
    lab_pass_ms(&lab, 0);
    struct job_row job = lab_take(&lab, "sync");
    struct job_answer failed = lab_fail(&lab, &job, "sync_failed", false);
    ck_assert_int_eq(failed.state, JOB_DEAD_LETTER);
    ck_assert_msg(strstr(sync_now().last_error, "sync_failed") != NULL, "%s",
                  sync_now().last_error);
    ck_assert_int_eq(sync_now().last_error_us, lab.now_us);
    pass(MINUTE_MS);
    ck_assert_ptr_null(sync_now().last_error);
    ck_assert_int_eq(sync_now().last_sync_us, lab.now_us);
}
END_TEST

/* ---- who is followed ---- */

START_TEST(only_repositories_at_a_hosted_forge_are_followed)
{
    struct sync_row row;
    struct err err = {0};
    put("local", "");
    pass(MINUTE_MS);
    ck_assert_int_eq(forge.asked, 0);
    ck_assert_int_eq(syncs_read(lab.db, &repository.id, &lab.arena, &row, &err), RC_NOT_FOUND);
    put("github", CONFIGURED);
    pass(0);
    ck_assert_int_eq(forge.asked, 1);
    ck_assert_str_eq(sync_now().full_name, "acme/billing");
    put("local", "");
    pass(10 * MINUTE_MS);
    ck_assert_int_eq(forge.asked, 1);
    put("github", CONFIGURED);
    struct cmd_repository_remove *removal = cmd_repository_remove_new();
    removal->name = "acme/billing";
    ck_assert_int_eq(lab_call(&lab, &removal->base), RC_OK);
    command_free(&removal->base);
    pass(10 * MINUTE_MS);
    ck_assert_int_eq(forge.asked, 1);
    ck_assert_int_eq(syncs_read(lab.db, &repository.id, &lab.arena, &row, &err), RC_NOT_FOUND);
}
END_TEST

START_TEST(taking_the_webhook_out_goes_back_to_polling)
{
    put("github", CONFIGURED);
    pass(0);
    ck_assert(arrives_sent(forge_sends(1)));
    ck_assert_int_eq(sync_now().mode, SYNC_WEBHOOKS);
    put("github", ",\"intake\":{\"enabled\":true}");
    pass(0);
    ck_assert_int_eq(sync_now().mode, SYNC_POLLING);
}
END_TEST

START_TEST(old_receipts_are_deleted)
{
    put("github", CONFIGURED);
    ck_assert(arrives_sent(forge_sends(1)));
    lab.now_us += 31 * US_PER_DAY;
    ck_assert(arrives_sent(forge_sends(2)));
    struct cmd_due *due = cmd_due_new();
    due->prune = true;
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    command_free(&due->base);
    ck_assert_uint_eq(receipts(NULL, NULL), 1);
}
END_TEST

static size_t sync_jobs(void)
{
    struct job_row *rows;
    size_t count;
    struct err err = {0};
    const struct job_filter filter = {.queue = "drover.sync", .state = -1, .limit = 1000};
    ck_assert_int_eq(jobs_list(lab.db, &filter, &lab.arena, &rows, &count, &err), RC_OK);
    return count;
}

START_TEST(jobs_that_asked_are_deleted_after_a_day)
{
    put("github", CONFIGURED);
    for (int i = 0; i < 5; i++)
        pass(MINUTE_MS);
    ck_assert_uint_eq(sync_jobs(), 5);
    lab.now_us += 2 * US_PER_DAY;
    struct cmd_due *due = cmd_due_new();
    due->prune = true;
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    command_free(&due->base);
    ck_assert_uint_eq(sync_jobs(), 1); /* The one that is due now. */
}
END_TEST

START_TEST(the_more_often_it_fails_the_later_it_is_asked_again)
{
    put("github", CONFIGURED);
    lab_pass_ms(&lab, 0);
    int64_t minutes = 0;
    for (int i = 0; i < 12; i++) {
        struct job_row job = lab_take(&lab, "sync");
        (void)lab_fail(&lab, &job, "sync_failed", false);
        for (int64_t waited = 0; i < 11; waited++, minutes++) {
            ck_assert_int_le(waited, 64);
            lab_pass_ms(&lab, MINUTE_MS);
            if (sync_jobs() > (size_t)i + 1)
                break;
        }
    }
    ck_assert_int_eq(sync_now().failures, 12);
    ck_assert_int_ge(minutes, 1 + 2 + 4 + 8 + 16 + 32 + 4 * 60);
    pass(2 * 60 * MINUTE_MS);
    ck_assert_int_eq(sync_now().failures, 0);
}
END_TEST

Suite *sync_suite(void)
{
    Suite *suite = suite_create("sync");
    TCase *tests = tcase_create("sync");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_delivery_is_recorded_once_and_looked_at_once);
    tcase_add_test(tests, unknown_and_invalid_deliveries_are_recorded_and_ignored);
    tcase_add_test(tests, a_delivery_finds_its_pull_requests);
    tcase_add_test(tests, deliveries_that_were_lost_for_an_hour_are_all_found_and_applied_once);
    tcase_add_test(tests, a_server_that_was_away_finds_them_when_it_starts);
    tcase_add_test(tests, webhooks_that_work_are_checked_seldom_and_find_nothing);
    tcase_add_test(tests, a_poll_lists_deliveries_no_more_often_than_webhooks_are_checked);
    tcase_add_test(tests, one_that_was_answered_may_be_on_its_way);
    tcase_add_test(tests, one_that_the_forge_has_lost_is_asked_for_once);
    tcase_add_test(tests, without_the_right_to_list_deliveries_state_is_compared);
    tcase_add_test(tests, without_a_webhook_changes_are_polled_with_an_etag);
    tcase_add_test(tests, where_deliveries_cannot_be_listed_a_change_without_one_shows_the_gap);
    tcase_add_test(tests, a_failure_is_shown_until_the_next_success);
    tcase_add_test(tests, only_repositories_at_a_hosted_forge_are_followed);
    tcase_add_test(tests, taking_the_webhook_out_goes_back_to_polling);
    tcase_add_test(tests, old_receipts_are_deleted);
    tcase_add_test(tests, jobs_that_asked_are_deleted_after_a_day);
    tcase_add_test(tests, the_more_often_it_fails_the_later_it_is_asked_again);
    suite_add_tcase(suite, tests);
    return suite;
}
