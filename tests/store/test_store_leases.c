/*
 * test_store_leases.c - what one server at a time may be or do, and what a late one cannot.
 */
#include "base/clock.h"
#include "store/leases.h"
#include "store/query.h"
#include "store/settings.h"
#include "tests/store/fixture.h"
#include <unistd.h>

#define POSTGRES(f) FIXTURE_ON(f, ENGINE_POSTGRES)
#define TTL_US      (600 * US_PER_SECOND)

static const struct lease_claim of_a = {.name = LEASE_TIMERS,
                                        .holder = "a",
                                        .session = "aa",
                                        .place = "",
                                        .under = "",
                                        .ttl_us = TTL_US};
static const struct lease_claim of_b = {.name = LEASE_TIMERS,
                                        .holder = "b",
                                        .session = "bb",
                                        .place = "",
                                        .under = "",
                                        .ttl_us = TTL_US};

static enum rc claim(struct fixture *f, const struct lease_claim *claim, int64_t *ret_epoch)
{
    struct lease_row before;
    return leases_claim(f->db, claim, &f->arena, ret_epoch, &before, &f->err);
}

/* As if its time were over. */
static void overdue(struct fixture *f, const char *name)
{
    static const struct sql sql = {"test_overdue",
                                   "UPDATE leases SET deadline_us = 1 WHERE name = $1", "t"};
    ck_assert_int_eq(exec_one(f->db, &sql, P_LIST(P_TEXT(name)), "lease", &f->err), RC_OK);
}

START_TEST(a_lease_has_one_holder_until_its_deadline)
{
    POSTGRES(f);
    int64_t epoch, now_us;
    struct lease_row row;
    must(claim(&f, &of_a, &epoch));
    ck_assert_int_eq(epoch, 1);
    must_be(RC_CONFLICT, claim(&f, &of_b, &epoch));
    must(leases_renew(f.db, &(struct lease_fence){LEASE_TIMERS, 1}, TTL_US, &now_us, &f.err));
    overdue(&f, LEASE_TIMERS);
    must(claim(&f, &of_b, &epoch));
    ck_assert_int_eq(epoch, 2);
    must(leases_get(f.db, LEASE_TIMERS, &f.arena, &row, &f.err));
    ck_assert_str_eq(row.holder, "b");
    ck_assert_int_ge(row.now_us, row.since_us);
    ck_assert_int_gt(row.deadline_us, row.now_us);
    must_be(RC_STALE,
            leases_renew(f.db, &(struct lease_fence){LEASE_TIMERS, 1}, TTL_US, &now_us, &f.err));
    must_be(RC_CONFLICT, claim(&f, &of_a, &epoch));
    must(leases_release(f.db, &(struct lease_fence){LEASE_TIMERS, 1}, &f.err)); /* Late. */
    must_be(RC_CONFLICT, claim(&f, &of_a, &epoch));
    must(leases_release(f.db, &(struct lease_fence){LEASE_TIMERS, 2}, &f.err));
    must(claim(&f, &of_a, &epoch));
    ck_assert_int_eq(epoch, 3);
}
END_TEST

/* One that nobody has taken meanwhile is still its holder's. */
START_TEST(a_holder_that_is_late_may_renew_what_is_still_its_own)
{
    POSTGRES(f);
    int64_t epoch, now_us;
    must(claim(&f, &of_a, &epoch));
    overdue(&f, LEASE_TIMERS);
    must(leases_renew(f.db, &(struct lease_fence){LEASE_TIMERS, 1}, TTL_US, &now_us, &f.err));
    must_be(RC_CONFLICT, claim(&f, &of_b, &epoch));
}
END_TEST

START_TEST(a_late_holder_finds_itself_fenced_before_it_acts)
{
    POSTGRES(f);
    int64_t epoch;
    struct lease_proof proof = {0};
    CLEANUP(tx_abort) struct tx tx = {0};
    must(claim(&f, &of_a, &epoch));
    overdue(&f, LEASE_TIMERS);
    must(claim(&f, &of_b, &epoch));
    must(tx_begin(f.db, &tx, &f.err));
    must_be(RC_STALE, leases_enter(f.db, &(struct lease_fence){LEASE_TIMERS, 1}, &proof, &f.err));
    ck_assert_str_eq(f.err.code, "TURN_LOST");
    ck_assert_ptr_null(proof.db);
    must(leases_enter(f.db, &(struct lease_fence){LEASE_TIMERS, 2}, &proof, &f.err));
    ck_assert_ptr_eq(proof.db, f.db);
    must_be(RC_STALE, leases_enter(f.db, &(struct lease_fence){0}, &proof, &f.err));
    tx_abort(&tx);
}
END_TEST

/* Its holder renews it all the while; whoever claims does not wait for it. */
START_TEST(a_lease_that_was_entered_is_not_taken_before_the_commit)
{
    POSTGRES(f);
    int64_t epoch, now_us;
    struct lease_proof proof;
    struct lease_fence fence = {LEASE_TIMERS, 1};
    struct db *holder;
    CLEANUP(tx_abort) struct tx tx = {0};
    must(store_writer_open(f.store, &holder, &f.err));
    must(claim(&f, &of_a, &epoch));
    must(tx_begin(holder, &tx, &f.err));
    must(leases_enter(holder, &fence, &proof, &f.err));
    must(leases_renew(f.db, &fence, TTL_US, &now_us, &f.err));
    overdue(&f, LEASE_TIMERS);
    int64_t begun_us = clock_mono_us();
    must_be(RC_CONFLICT, claim(&f, &of_b, &epoch));
    ck_assert_int_lt(clock_mono_us() - begun_us, 8 * US_PER_SECOND); /* Of lock_timeout. */
    must(tx_commit(&tx, &f.err));
    must(claim(&f, &of_b, &epoch));
    ck_assert_int_eq(epoch, 2);
    store_writer_close(f.store, holder);
}
END_TEST

START_TEST(without_rivals_every_turn_is_ones_own)
{
    FIXTURE(f);
    struct lease_proof proof;
    if (store_is_shared(f.store))
        return;
    must(leases_enter(f.db, &(struct lease_fence){0}, &proof, &f.err));
    ck_assert_ptr_eq(proof.db, f.db);
}
END_TEST

START_TEST(the_same_place_takes_a_name_again_at_once)
{
    POSTGRES(f);
    struct lease_claim first = {.name = "node/n",
                                .holder = "n",
                                .session = "01",
                                .place = "boot:1:2",
                                .under = "",
                                .ttl_us = TTL_US};
    struct lease_claim copy = first, again = first, nowhere = first;
    copy.place = "boot:1:3";
    nowhere.place = "";
    again.session = "02";
    int64_t epoch;
    must(claim(&f, &first, &epoch));
    must_be(RC_CONFLICT, claim(&f, &copy, &epoch));
    must_be(RC_CONFLICT, claim(&f, &nowhere, &epoch));
    must(claim(&f, &again, &epoch));
    ck_assert_int_eq(epoch, 2);
}
END_TEST

/* ---- servers that have enrolled ---- */

struct server {
    struct store *store;
    const char *name;
    int64_t epoch;
};

static struct server server_open(struct fixture *f, const char *session)
{
    struct server server = {.name = "node/n"};
    struct store_options options = {.url = f->url};
    enum rc rc = store_open(&options, &server.store, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    overdue(f, server.name);
    struct lease_row before;
    struct lease_claim mine = {.name = server.name,
                               .holder = "n",
                               .session = session,
                               .place = "",
                               .under = "",
                               .ttl_us = TTL_US};
    rc = leases_claim(f->db, &mine, &f->arena, &server.epoch, &before, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    struct store_fence fence = {server.name, server.epoch, session};
    store_enroll(server.store, &fence);
    return server;
}

static enum rc write_something(struct fixture *f, struct db *db, const char *key)
{
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, &f->err);
    if (rc == RC_OK)
        rc = settings_put(db, key, "1", &f->err);
    return rc == RC_OK ? tx_commit(&tx, &f->err) : rc;
}

static bool is_written(struct fixture *f, const char *key)
{
    const char *value;
    return settings_get(f->db, key, &f->arena, &value, &f->err) == RC_OK;
}

START_TEST(a_server_that_lost_its_name_writes_nothing)
{
    POSTGRES(f);
    int64_t ignored;
    must(claim(&f, &(struct lease_claim){"node/n", "n", "00", "", "", TTL_US, false}, &ignored));
    struct server one = server_open(&f, "0a1b");
    must(write_something(&f, store_writer(one.store), "one"));
    struct server two = server_open(&f, "0a1c");
    must_be(RC_UNREACHABLE, write_something(&f, store_writer(one.store), "late"));
    ck_assert_str_eq(f.err.code, "NODE_LOST");
    ck_assert(is_written(&f, "one") && !is_written(&f, "late"));
    must(write_something(&f, store_writer(two.store), "two"));
    /* Nor does it take what goes with the name. */
    struct lease_claim turn = {.name = LEASE_TIMERS,
                               .holder = "n",
                               .session = "0a1b",
                               .place = "",
                               .under = "node/n",
                               .ttl_us = TTL_US};
    must_be(RC_CONFLICT, claim(&f, &turn, &ignored));
    turn.session = "0a1c";
    must(claim(&f, &turn, &ignored));
    store_close(one.store);
    store_close(two.store);
}
END_TEST

static void until_none(struct fixture *f, const char *session, int64_t at_least)
{
    int64_t count, most = 0;
    do {
        enum rc rc = sessions_end(f->db, session, &count, &f->err);
        ck_assert_msg(rc == RC_OK, "%s", f->err.text);
        most = count > most ? count : most;
        (void)usleep(5000);
    } while (count > 0);
    ck_assert_int_ge(most, at_least);
}

START_TEST(the_connections_of_a_session_can_be_ended_with_what_they_hold)
{
    POSTGRES(f);
    int64_t ignored;
    must(claim(&f, &(struct lease_claim){"node/n", "n", "00", "", "", TTL_US, false}, &ignored));
    struct server server = server_open(&f, "0b");
    struct db *lane;
    CLEANUP(tx_abort) struct tx tx = {0};
    must(store_writer_open(server.store, &lane, &f.err));
    must(write_something(&f, store_writer(server.store), "k"));
    must(tx_begin(lane, &tx, &f.err));
    int64_t one;
    static const struct sql lock = {"test_lock",
                                    "SELECT 1 FROM settings WHERE key = 'k' {for_update}", ""};
    must(query_int(lane, &lock, NULL, 0, &one, &f.err));
    until_none(&f, "ffff", 0); /* Another session's: nothing happens. */
    until_none(&f, "0b", 2);
    must(write_something(&f, f.db, "k")); /* Which waits for no lock. */
    must_be(RC_UNREACHABLE, settings_put(lane, "k", "2", &f.err) != RC_OK ? RC_UNREACHABLE
                                                                          : tx_commit(&tx, &f.err));
    tx_abort(&tx);
    must(write_something(&f, lane, "again")); /* It still has its name. */
    store_writer_close(server.store, lane);
    store_close(server.store);
}
END_TEST

/* A session with connections is not dead; one without them is, whatever its deadline says. */
START_TEST(the_timers_of_the_dead_are_free_at_once)
{
    POSTGRES(f);
    int64_t epoch;
    must(claim(&f, &(struct lease_claim){"node/n", "n", "00", "", "", TTL_US, false}, &epoch));
    struct server server = server_open(&f, "0c");
    must(write_something(&f, store_writer(server.store), "k"));
    struct lease_claim turn = {.name = LEASE_TIMERS,
                               .holder = "n",
                               .session = "0c",
                               .place = "",
                               .under = "",
                               .ttl_us = TTL_US};
    struct lease_claim next = of_b;
    next.of_the_dead = true;
    must(claim(&f, &turn, &epoch));
    must_be(RC_CONFLICT, claim(&f, &next, &epoch));
    store_close(server.store);
    enum rc rc;
    while ((rc = claim(&f, &next, &epoch)) == RC_CONFLICT) /* PostgreSQL sees it in a moment. */
        (void)usleep(5000);
    must(rc);
    ck_assert_int_eq(epoch, 2);
}
END_TEST

START_TEST(nodes_that_did_not_renew_are_overdue_until_they_let_go)
{
    POSTGRES(f);
    struct lease_row *rows;
    size_t count;
    int64_t epoch, now_us;
    must(claim(&f, &(struct lease_claim){"node/x", "x", "0d", "", "", TTL_US, false}, &epoch));
    must(claim(&f, &(struct lease_claim){"node/y", "y", "0e", "", "", TTL_US, false}, &epoch));
    must(claim(&f, &of_a, &epoch));
    must(leases_overdue_nodes(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    overdue(&f, "node/x");
    overdue(&f, LEASE_TIMERS);
    must(leases_overdue_nodes(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(rows[0].session, "0d");
    struct lease_fence fence = {"node/x", rows[0].epoch};
    must(leases_release(f.db, &fence, &f.err));
    must(leases_overdue_nodes(f.db, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    must(leases_renew(f.db, &fence, TTL_US, &now_us, &f.err)); /* It was only asleep. */
}
END_TEST

Suite *store_leases_suite(void)
{
    Suite *suite = suite_create("store_leases");
    TCase *tc = tcase_create("every engine");
    case_add(tc, without_rivals_every_turn_is_ones_own);
    suite_add_tcase(suite, tc);
    if (postgres_url() == NULL)
        return suite;
    tc = tcase_create("postgres");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_lease_has_one_holder_until_its_deadline);
    tcase_add_test(tc, a_holder_that_is_late_may_renew_what_is_still_its_own);
    tcase_add_test(tc, a_late_holder_finds_itself_fenced_before_it_acts);
    tcase_add_test(tc, a_lease_that_was_entered_is_not_taken_before_the_commit);
    tcase_add_test(tc, the_same_place_takes_a_name_again_at_once);
    tcase_add_test(tc, a_server_that_lost_its_name_writes_nothing);
    tcase_add_test(tc, the_connections_of_a_session_can_be_ended_with_what_they_hold);
    tcase_add_test(tc, the_timers_of_the_dead_are_free_at_once);
    tcase_add_test(tc, nodes_that_did_not_renew_are_overdue_until_they_let_go);
    suite_add_tcase(suite, tc);
    return suite;
}
