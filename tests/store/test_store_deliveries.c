/*
 * test_store_deliveries.c - receipts of deliveries, and how far each repository was followed, on
 * each engine.
 */
#include "store/deliveries.h"
#include "store/pull_requests.h"
#include "store/syncs.h"
#include "tests/store/fixture.h"

static struct delivery_row receipt(struct fixture *f, const char *delivery_id)
{
    return (struct delivery_row){.id = fixture_id(f),
                                 .repository_id = f->repository_id,
                                 .forge = "github",
                                 .delivery_id = delivery_id,
                                 .event = "issues.labeled",
                                 .subject = SUBJECT_ISSUE,
                                 .number = 4,
                                 .ref = "main",
                                 .actor = "ada",
                                 .via = DELIVERY_BY_WEBHOOK,
                                 .status = DELIVERY_APPLIED,
                                 .payload_bytes = 12,
                                 .sent_us = 5,
                                 .received_us = 6};
}

static bool insert(struct fixture *fixture, const struct delivery_row *row)
{
    struct fixture f = *fixture;
    bool is_new = false;
    must(deliveries_insert(f.db, row, &is_new, &f.err));
    return is_new;
}

static size_t count(struct fixture *fixture, const struct delivery_filter *filter)
{
    struct fixture f = *fixture;
    struct delivery_row *rows;
    size_t found;
    must(deliveries_list(f.db, filter, &fixture->arena, &rows, &found, &f.err));
    return found;
}

START_TEST(a_delivery_has_one_receipt)
{
    FIXTURE(f);
    struct delivery_row first = receipt(&f, "guid-1"), again = receipt(&f, "guid-1");
    struct delivery_row *rows;
    size_t found;
    struct id id;
    must_be(RC_NOT_FOUND, deliveries_find(f.db, &f.repository_id, "guid-1", &id, &f.err));
    ck_assert(insert(&f, &first));
    again.event = "issues.closed";
    ck_assert(!insert(&f, &again));
    must(deliveries_find(f.db, &f.repository_id, "guid-1", &id, &f.err));
    ck_assert_id_eq(id, first.id);
    must(deliveries_list(f.db, &(struct delivery_filter){.limit = 10}, &f.arena, &rows, &found,
                         &f.err));
    ck_assert_uint_eq(found, 1);
    ck_assert_str_eq(rows[0].event, "issues.labeled");
    ck_assert_str_eq(rows[0].repository, "acme/billing");
    ck_assert_int_eq(rows[0].subject, SUBJECT_ISSUE);
    ck_assert_int_eq(rows[0].number, 4);
    ck_assert_str_eq(rows[0].ref, "main");
    ck_assert_ptr_null(rows[0].payload_sha256);
    ck_assert_int_eq(rows[0].sent_us, 5);
}
END_TEST

START_TEST(the_same_id_of_another_repository_is_another_delivery)
{
    FIXTURE(f);
    struct repository_row other = {.id = fixture_id(&f),
                                   .workspace_id = f.workspace_id,
                                   .name = "acme/other",
                                   .config = STR("{}")};
    must(repositories_put(f.db, &other, &f.err));
    struct delivery_row one = receipt(&f, "guid-1"), two = receipt(&f, "guid-1");
    two.repository_id = other.id;
    ck_assert(insert(&f, &one));
    ck_assert(insert(&f, &two));
    ck_assert_uint_eq(count(&f, &(struct delivery_filter){.repository = "acme/other", .limit = 9}),
                      1);
}
END_TEST

START_TEST(receipts_are_listed_by_what_is_asked)
{
    FIXTURE(f);
    struct delivery_row rows[3] = {receipt(&f, "1"), receipt(&f, "2"), receipt(&f, "3")};
    rows[1].status = DELIVERY_IGNORED;
    rows[1].event = "star.created";
    rows[2].via = DELIVERY_RECOVERED;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert(insert(&f, &rows[i]));
    const struct {
        struct delivery_filter filter;
        size_t want;
    } asked[] = {
        {{.limit = 10}, 3},
        {{.limit = 2}, 2},
        {{.status = DELIVERY_IGNORED, .limit = 10}, 1},
        {{.via = DELIVERY_RECOVERED, .limit = 10}, 1},
        {{.event = "issues.labeled", .limit = 10}, 2},
        {{.repository = "acme/billing", .status = DELIVERY_APPLIED, .limit = 10}, 2},
        {{.repository = "acme/none", .limit = 10}, 0},
        {{.before = rows[2].id, .limit = 10}, 2},
    };
    for (size_t i = 0; i < COUNT_OF(asked); i++)
        ck_assert_msg(count(&f, &asked[i].filter) == asked[i].want, "row %zu", i);
}
END_TEST

START_TEST(old_receipts_go_with_their_payloads)
{
    FIXTURE(f);
    const struct artifact_source source = {f.store, f.db};
    char mine[SHA256_TEXT_BYTES], shared[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, STR("{\"mine\":1}"), mine, &f.err));
    must(artifact_put(f.store, STR("{\"shared\":1}"), shared, &f.err));
    struct delivery_row rows[3] = {receipt(&f, "1"), receipt(&f, "2"), receipt(&f, "3")};
    rows[0].payload_sha256 = mine;
    rows[1].payload_sha256 = rows[2].payload_sha256 = shared;
    rows[2].received_us = 1000;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert(insert(&f, &rows[i]));
    struct delivery_prune prune = {.before_us = 500, .limit = 10};
    int64_t pruned = 0, bytes;
    must(deliveries_prune(&source, &prune, &f.arena, &pruned, &f.err));
    ck_assert_int_eq(pruned, 2);
    ck_assert_uint_eq(count(&f, &(struct delivery_filter){.limit = 10}), 1);
    must_be(RC_NOT_FOUND, artifact_stat(&source, mine, &bytes, &f.err));
    must(artifact_stat(&source, shared, &bytes, &f.err)); /* The third still has it. */
    must(deliveries_prune(&source, &prune, &f.arena, &pruned, &f.err));
    ck_assert_int_eq(pruned, 0);
    prune.before_us = 2000;
    must(deliveries_prune(&source, &prune, &f.arena, &pruned, &f.err));
    must_be(RC_NOT_FOUND, artifact_stat(&source, shared, &bytes, &f.err));
    must(artifact_drop(&source, shared, &f.err)); /* Gone already. */
}
END_TEST

START_TEST(a_payload_that_a_run_has_stays)
{
    FIXTURE(f);
    const struct artifact_source source = {f.store, f.db};
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    char sha256[SHA256_TEXT_BYTES];
    int64_t pruned = 0, bytes;
    must(artifact_put(f.store, STR("text"), sha256, &f.err));
    struct artifact_row link = {
        .run_id = run.id, .kind = "prompt", .name = "p", .sha256 = sha256, .bytes = 4};
    must(artifacts_link(f.db, &link, &f.err));
    struct delivery_row row = receipt(&f, "1");
    row.payload_sha256 = sha256;
    ck_assert(insert(&f, &row));
    must(deliveries_prune(&source, &(struct delivery_prune){.before_us = 500, .limit = 10},
                          &f.arena, &pruned, &f.err));
    ck_assert_int_eq(pruned, 1);
    must(artifact_stat(&source, sha256, &bytes, &f.err));
}
END_TEST

/* ---- syncs ---- */

static struct sync_row sync_of(struct fixture *f, const char *full_name)
{
    return (struct sync_row){.repository_id = f->repository_id,
                             .forge = "github",
                             .full_name = full_name,
                             .mode = SYNC_POLLING,
                             .mode_since_us = 1,
                             .deliveries_since_us = 1,
                             .created_us = 1,
                             .updated_us = 1};
}

static size_t find(struct fixture *fixture, const char *provider_id, const char *full_name)
{
    struct fixture f = *fixture;
    struct sync_row *rows;
    size_t found;
    const struct sync_question question = {
        .forge = "github", .provider_id = provider_id, .full_name = full_name};
    must(syncs_find(f.db, &question, &fixture->arena, &rows, &found, &f.err));
    return found;
}

START_TEST(a_repository_is_found_by_its_id_and_its_name)
{
    FIXTURE(f);
    struct sync_row row = sync_of(&f, "acme/billing");
    must(syncs_put(f.db, &row, &f.err));
    ck_assert_uint_eq(find(&f, "77", "acme/billing"), 1);
    ck_assert_uint_eq(find(&f, "77", "acme/renamed"), 0);
    ck_assert_uint_eq(find(&f, "", ""), 0);
    row.provider_id = "77";
    must(syncs_save(f.db, &row, &f.err));
    ck_assert_uint_eq(find(&f, "77", "acme/renamed"), 1);
    ck_assert_uint_eq(find(&f, "77", "acme/billing"), 1);
    ck_assert_uint_eq(find(&f, "78", "acme/other"), 0);
    must(syncs_remove(f.db, &f.repository_id, &f.err));
    ck_assert_uint_eq(find(&f, "77", "acme/billing"), 0);
}
END_TEST

START_TEST(what_is_known_stays_while_the_repository_is_the_same)
{
    FIXTURE(f);
    struct sync_row row = sync_of(&f, "acme/billing"), read;
    must(syncs_put(f.db, &row, &f.err));
    row.mode = SYNC_WEBHOOKS;
    row.last_delivery_us = 9;
    row.etag = "W/\"1\"";
    must(syncs_save(f.db, &row, &f.err));
    struct sync_row same = sync_of(&f, "acme/billing"), other = sync_of(&f, "acme/other");
    must(syncs_put(f.db, &same, &f.err));
    must(syncs_get(f.db, &f.repository_id, &f.arena, &read, &f.err));
    ck_assert_int_eq(read.mode, SYNC_WEBHOOKS);
    ck_assert_int_eq(read.last_delivery_us, 9);
    ck_assert_str_eq(read.etag, "W/\"1\"");
    ck_assert_str_eq(read.repository, "acme/billing");
    must(syncs_put(f.db, &other, &f.err));
    must(syncs_read(f.db, &f.repository_id, &f.arena, &read, &f.err));
    ck_assert_str_eq(read.full_name, "acme/other");
    ck_assert_int_eq(read.mode, SYNC_POLLING);
    ck_assert_int_eq(read.last_delivery_us, 0);
    ck_assert_ptr_null(read.etag);
    struct sync_row *rows;
    size_t found;
    must(syncs_list(f.db, NULL, 10, &f.arena, &rows, &found, &f.err));
    ck_assert_uint_eq(found, 1);
    must(syncs_list(f.db, rows[0].repository_id.text, 10, &f.arena, &rows, &found, &f.err));
    ck_assert_uint_eq(found, 0);
}
END_TEST

/* ---- pull requests that something is about ---- */

static struct id open_pr(struct fixture *fixture, int64_t number, const char *status)
{
    struct fixture f = *fixture;
    struct task_row task = fixture_task(fixture);
    struct run_row run = fixture_run(fixture, &task);
    struct pull_request_row row = {
        .id = fixture_id(fixture),
        .number = number,
        .repository_id = f.repository_id,
        .task_id = task.id,
        .run_id = run.id,
        .branch = number == 1 ? "one" : "two",
        .target_branch = "main",
        .url = arena_printf(&fixture->arena, "u%s", run.id.text),
        .status = status,
        .head_commit = number == 1 ? "c1" : "c2",
    };
    must(pull_requests_insert(f.db, &row, &f.err));
    return row.id;
}

START_TEST(pull_requests_are_found_by_number_head_and_branch)
{
    FIXTURE(f);
    struct id closed = open_pr(&f, 1, "closed"), open = open_pr(&f, 1, "open");
    struct id other = open_pr(&f, 2, "open");
    struct pull_request_ids found;
    must(pull_requests_numbered(f.db, &f.repository_id, 1, &f.arena, &found, &f.err));
    ck_assert_uint_eq(found.count, 2);
    ck_assert_id_eq(found.ids[0], open);
    ck_assert_id_eq(found.ids[1], closed);
    must(pull_requests_at_head(f.db, &f.repository_id, "c1", &f.arena, &found, &f.err));
    ck_assert_uint_eq(found.count, 1);
    ck_assert_id_eq(found.ids[0], open);
    must(pull_requests_of_branch(f.db, &f.repository_id, "two", &f.arena, &found, &f.err));
    ck_assert_uint_eq(found.count, 1);
    ck_assert_id_eq(found.ids[0], other);
    must(pull_requests_of_branch(f.db, &f.repository_id, "main", &f.arena, &found, &f.err));
    ck_assert_uint_eq(found.count, 2);
    must(pull_requests_numbered(f.db, &f.workspace_id, 1, &f.arena, &found, &f.err));
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

Suite *store_deliveries_suite(void)
{
    Suite *suite = suite_create("store_deliveries");
    TCase *tc = tcase_create("store_deliveries");
    case_add(tc, a_delivery_has_one_receipt);
    case_add(tc, the_same_id_of_another_repository_is_another_delivery);
    case_add(tc, receipts_are_listed_by_what_is_asked);
    case_add(tc, old_receipts_go_with_their_payloads);
    case_add(tc, a_payload_that_a_run_has_stays);
    case_add(tc, a_repository_is_found_by_its_id_and_its_name);
    case_add(tc, what_is_known_stays_while_the_repository_is_the_same);
    case_add(tc, pull_requests_are_found_by_number_head_and_branch);
    suite_add_tcase(suite, tc);
    return suite;
}
