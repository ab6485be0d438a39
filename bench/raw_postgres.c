/*
 * raw_postgres.c - see raw_postgres.h.
 *
 * Parameters: $1 own id  $2 run  $3 task  $4 now  $5 number  $6 payload  $7 id of a job.
 */
#include "bench/raw_postgres.h"
#include "base/clock.h"
#include "base/mem.h"
#include "bench/raw_text.h"
#include "store/store.h"
#include <assert.h>
#include <endian.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PARAMS = 7, TEXT_BYTES = 2048, SHARES_MAX = 64 };
enum { OID_INT8 = 20, OID_TEXT = 25, OID_JSON = 114 };
static const Oid types[PARAMS] = {OID_TEXT, OID_TEXT, OID_TEXT, OID_INT8,
                                  OID_INT8, OID_JSON, OID_TEXT};

#define LOCK " FOR NO KEY UPDATE"
static const char *const load_texts[RAW_LETTERS] = {
    ['j'] = "SELECT * FROM jobs WHERE id = $7" LOCK,
    ['r'] = "SELECT * FROM runs WHERE id = $2" LOCK,
    ['t'] = "SELECT * FROM tasks WHERE id = $3" LOCK,
    ['o'] = "SELECT * FROM repositories WHERE name = 'bench'",
    ['a'] = "SELECT id, jobs.* FROM jobs WHERE state = 'queued' AND queue = 'bench'"
            " AND (expires_us = 0 OR expires_us >= $4) ORDER BY rank, seq LIMIT $5" LOCK
            " SKIP LOCKED",
};
/* A job's seq is not known without another round trip. */
static const char *const own_writes[RAW_LETTERS] = {
    ['c'] = "UPDATE jobs SET state = 'leased', worker = 'bench', leased_us = $4, due_us = $4,"
            " epoch = epoch + 1, updated_us = $4 WHERE id = $7",
    ['s'] = "UPDATE jobs SET state = 'succeeded', attempt = 1, updated_us = $4 WHERE id = $7",
};

struct subject {
    struct id own, run, task, job;
    int64_t number;
    const char *payload;
};

struct raw_lane {
    PGconn *pg;
    struct random random;
    int64_t now_us;
    size_t sent; /* Statements whose results are to be read. */
    int load_params[RAW_LETTERS], write_params[RAW_LETTERS];
    struct id *jobs;                     /* All that this lane has enqueued ... */
    int64_t job_count, claimed, settled; /* ... and how far it is with them. */
    bool finding;                        /* Rows of 'a' are on their way ... */
    struct id *found;                    /* ... and were these. */
    int64_t found_count;
    const struct share *share; /* What it has to do at the moment. */
    struct subject *subjects;
    pthread_t thread;
};

/* One lane's part of a task. */
struct share {
    void (*work)(struct raw_lane *lane);
    enum jobs_kind kind;
    int64_t count, at_once, each;
    size_t from, to; /* Commands. */
    const char *payload;
};

struct raw_pg {
    size_t lane_count;
    struct raw_lane *lanes;
};

/* ---- statements ---- */

static _Noreturn void lane_die(const struct raw_lane *lane)
{
    bench_die("raw PostgreSQL: %s", PQerrorMessage(lane->pg));
}

static void must(const struct raw_lane *lane, int ok)
{
    if (ok != 1)
        lane_die(lane);
}

static void take_found(struct raw_lane *lane, const PGresult *result)
{
    lane->found_count = PQntuples(result);
    lane->found = mem_grow(lane->found, (size_t)(lane->found_count + 1) * sizeof *lane->found);
    for (int i = 0; i < PQntuples(result); i++)
        lane->found[i] = id_of(PQgetvalue(result, i, 0));
}

static void read_one(struct raw_lane *lane)
{
    PGresult *result;
    while ((result = PQgetResult(lane->pg)) != NULL) {
        ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            bench_die("raw PostgreSQL: %s", PQresultErrorMessage(result));
        if (lane->finding && status == PGRES_TUPLES_OK)
            take_found(lane, result);
        PQclear(result);
    }
}

/* One round trip: all that was sent is done. */
static void lane_sync(struct raw_lane *lane)
{
    must(lane, PQpipelineSync(lane->pg));
    for (; lane->sent > 0; lane->sent--)
        read_one(lane);
    PGresult *sync = PQgetResult(lane->pg);
    if (PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
        lane_die(lane);
    PQclear(sync);
}

static void send_plain(struct raw_lane *lane, const char *text)
{
    must(lane, PQsendQueryParams(lane->pg, text, 0, NULL, NULL, NULL, NULL, 0));
    lane->sent++;
}

static void send_letter(struct raw_lane *lane, char kind, char letter,
                        const struct subject *subject)
{
    const char name[] = {kind, letter, '\0'};
    const int *params = kind == 'l' ? lane->load_params : lane->write_params;
    int64_t now = (int64_t)htobe64((uint64_t)lane->now_us);
    int64_t number = (int64_t)htobe64((uint64_t)subject->number);
    const char *payload = kind == 'w' && letter == 'j' ? subject->payload : NULL;
    const char *const values[PARAMS] = {
        id_or_null(&subject->own), id_or_null(&subject->run), id_or_null(&subject->task),
        (const char *)&now,        (const char *)&number,     payload,
        id_or_null(&subject->job),
    };
    static const int lengths[PARAMS] = {0, 0, 0, sizeof now, sizeof number, 0, 0};
    static const int formats[PARAMS] = {0, 0, 0, 1, 1, 0, 0};
    must(lane, PQsendQueryPrepared(lane->pg, name, params[(unsigned char)letter], values, lengths,
                                   formats, 0));
    lane->sent++;
}

static struct id new_id(struct raw_lane *lane)
{
    return id_new(++lane->now_us, &lane->random);
}

static void send_loads(struct raw_lane *lane, const char *word, const struct subject *subject)
{
    for (const char *letter = word; *letter != '\0'; letter++)
        send_letter(lane, 'l', *letter, subject);
}

static void send_writes(struct raw_lane *lane, const char *word, struct subject *subject)
{
    for (const char *letter = word; *letter != '\0'; letter++) {
        subject->own = new_id(lane);
        subject->number += *letter == 'e';
        send_letter(lane, 'w', *letter, subject);
        if (*letter == 'j')
            subject->job = subject->own;
    }
}

static void send_commit(struct raw_lane *lane)
{
    send_plain(lane, "COMMIT");
    lane_sync(lane);
}

/* ---- connections ---- */

/* SQLite's ?1 is $1 here.  Gives the highest one that is used. */
static int translate(const char *text, char to[TEXT_BYTES])
{
    int last = 0;
    size_t len = strlen(text);
    assert(len < TEXT_BYTES);
    for (size_t i = 0; i <= len; i++) {
        bool param = (text[i] == '?' || text[i] == '$') && text[i + 1] >= '1' && text[i + 1] <= '7';
        to[i] = param ? '$' : text[i];
        if (param && text[i + 1] - '0' > last)
            last = text[i + 1] - '0';
    }
    return last;
}

static int prepare(struct raw_lane *lane, char kind, size_t letter, const char *text)
{
    const char name[] = {kind, (char)letter, '\0'};
    char translated[TEXT_BYTES];
    int params = translate(text, translated);
    must(lane, PQsendPrepare(lane->pg, name, translated, params, types));
    lane->sent++;
    return params;
}

static void lane_open(struct raw_lane *lane, const char *url, uint64_t seed)
{
    lane->random = random_seeded(seed);
    struct clock clock = clock_real();
    lane->now_us = clock_now_us(&clock);
    lane->pg = PQconnectdb(url);
    if (PQstatus(lane->pg) != CONNECTION_OK)
        lane_die(lane);
    must(lane, PQenterPipelineMode(lane->pg));
    for (size_t i = 0; i < RAW_LETTERS; i++) {
        const char *write = own_writes[i] != NULL ? own_writes[i] : raw_texts[i];
        if (write != NULL)
            lane->write_params[i] = prepare(lane, 'w', i, write);
        if (load_texts[i] != NULL)
            lane->load_params[i] = prepare(lane, 'l', i, load_texts[i]);
    }
    lane_sync(lane);
}

struct raw_pg *raw_pg_open(const char *url, size_t lanes)
{
    struct store *store;
    struct err err = {0};
    bench_must(store_open(&(struct store_options){.url = url}, &store, &err), &err, url);
    store_close(store);
    struct raw_pg *raw = mem_alloc(sizeof *raw);
    raw->lane_count = lanes;
    raw->lanes = mem_array(lanes, sizeof *raw->lanes);
    for (size_t i = 0; i < lanes; i++)
        lane_open(&raw->lanes[i], url, i + 1);
    send_plain(&raw->lanes[0], raw_repository);
    lane_sync(&raw->lanes[0]);
    return raw;
}

void raw_pg_close(struct raw_pg *raw)
{
    if (raw == NULL)
        return;
    for (size_t i = 0; i < raw->lane_count; i++) {
        PQfinish(raw->lanes[i].pg);
        mem_free(raw->lanes[i].jobs);
        mem_free(raw->lanes[i].found);
    }
    mem_free(raw->lanes);
    mem_free(raw);
}

/* ---- all lanes at once ---- */

static void *lane_main(void *arg)
{
    struct raw_lane *lane = arg;
    lane->share->work(lane);
    return NULL;
}

/* Divides the count; seconds. */
static double run_shares(struct raw_pg *raw, const struct share *all)
{
    struct share shares[SHARES_MAX];
    assert(raw->lane_count <= SHARES_MAX);
    int64_t lanes = (int64_t)raw->lane_count;
    double begin = bench_seconds();
    for (int64_t i = 0; i < lanes; i++) {
        struct raw_lane *lane = &raw->lanes[i];
        shares[i] = *all;
        shares[i].count = all->count * (i + 1) / lanes - all->count * i / lanes;
        shares[i].at_once = (all->at_once + lanes - 1) / lanes;
        lane->share = &shares[i];
        if (pthread_create(&lane->thread, NULL, lane_main, lane) != 0)
            bench_die("cannot start a thread");
    }
    for (int64_t i = 0; i < lanes; i++)
        pthread_join(raw->lanes[i].thread, NULL);
    return bench_seconds() - begin;
}

/* ---- jobs ---- */

static int64_t at_most(int64_t wanted, int64_t left)
{
    return wanted < left ? wanted : left;
}

/* How many jobs one commit settles, enqueues and claims. */
struct portion {
    int64_t settle, enqueue, claim;
};

static void load_jobs(struct raw_lane *lane, int64_t from, int64_t count)
{
    for (int64_t i = from; i < from + count && i < lane->job_count; i++)
        send_letter(lane, 'l', 'j', &(struct subject){.job = lane->jobs[i]});
}

static void write_jobs(struct raw_lane *lane, char letter, int64_t *at, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        send_letter(lane, 'w', letter, &(struct subject){.job = lane->jobs[(*at)++]});
}

static void enqueue_jobs(struct raw_lane *lane, int64_t count)
{
    size_t room = (size_t)(lane->job_count + count + 1);
    lane->jobs = mem_grow(lane->jobs, room * sizeof *lane->jobs);
    for (int64_t i = 0; i < count; i++) {
        struct subject subject = {.payload = port_payload()};
        send_writes(lane, "j", &subject);
        lane->jobs[lane->job_count++] = subject.job;
    }
}

/* Claims of what this very transaction enqueues need no load. */
static void commit_portion(struct raw_lane *lane, const struct portion *portion)
{
    send_plain(lane, "BEGIN");
    if (portion->settle > 0 || portion->claim > 0) {
        load_jobs(lane, lane->settled, portion->settle);
        load_jobs(lane, lane->claimed, portion->claim);
        lane_sync(lane);
    }
    write_jobs(lane, 's', &lane->settled, portion->settle);
    enqueue_jobs(lane, portion->enqueue);
    write_jobs(lane, 'c', &lane->claimed, portion->claim);
    send_commit(lane);
}

static void work_jobs(struct raw_lane *lane)
{
    const struct share *share = lane->share;
    bool enqueues = share->kind != DRAIN, settles = share->kind != ENQUEUE;
    int64_t enqueue_end = lane->job_count + (enqueues ? share->count : 0);
    int64_t settle_end = lane->settled + (settles ? share->count : 0);
    while (lane->job_count < enqueue_end || lane->settled < settle_end) {
        struct portion portion = {
            .settle = settles ? at_most(share->each, lane->claimed - lane->settled) : 0,
            .enqueue = at_most(share->each, enqueue_end - lane->job_count),
        };
        int64_t there = at_most(lane->job_count + portion.enqueue, settle_end);
        portion.claim = settles ? at_most(share->each, there - lane->claimed) : 0;
        commit_portion(lane, &portion);
    }
}

static double jobs_rate(void *ctx, enum jobs_kind kind, int64_t jobs, int64_t each)
{
    struct share share = {.work = work_jobs, .kind = kind, .count = jobs, .each = each};
    return (double)jobs / run_shares(ctx, &share);
}

struct jobs_limit jobs_limit_pg(struct raw_pg *raw)
{
    return (struct jobs_limit){jobs_rate, raw};
}

static void work_claims(struct raw_lane *lane)
{
    for (int64_t done = 0; done < lane->share->count; done += lane->found_count) {
        struct subject wish = {.number = lane->share->each};
        send_plain(lane, "BEGIN");
        send_letter(lane, 'l', 'a', &wish);
        lane->finding = true;
        lane_sync(lane);
        lane->finding = false;
        if (lane->found_count == 0)
            bench_die("raw PostgreSQL: nothing is left to claim");
        for (int64_t i = 0; i < lane->found_count; i++)
            send_letter(lane, 'w', 'c', &(struct subject){.job = lane->found[i]});
        send_commit(lane);
    }
}

double raw_pg_claim(struct raw_pg *raw, int64_t jobs, int64_t each)
{
    struct share share = {.work = work_claims, .count = jobs, .each = each};
    return (double)jobs / run_shares(raw, &share);
}

/* ---- runs ---- */

/* One command for several runs, in one commit. */
static void commit_commands(struct raw_lane *lane, const struct raw_command *command,
                            struct subject *subjects, int64_t count)
{
    send_plain(lane, "BEGIN");
    for (int64_t i = 0; i < count; i++)
        send_loads(lane, command->loads, &subjects[i]);
    lane_sync(lane);
    for (int64_t i = 0; i < count; i++)
        send_writes(lane, command->writes, &subjects[i]);
    send_commit(lane);
}

static void work_runs(struct raw_lane *lane)
{
    const struct share *share = lane->share;
    for (int64_t done = 0; done < share->count; done += share->at_once) {
        int64_t count = at_most(share->at_once, share->count - done);
        for (size_t c = share->from; c < share->to; c++)
            for (int64_t i = 0; i < count; i += share->each)
                commit_commands(lane, &raw_commands[c], &lane->subjects[done + i],
                                at_most(share->each, count - i));
    }
}

static void make_subjects(struct raw_pg *raw, const struct raw_pg_runs *runs)
{
    for (size_t l = 0; l < raw->lane_count; l++) {
        struct raw_lane *lane = &raw->lanes[l];
        lane->subjects = mem_array((size_t)runs->runs, sizeof *lane->subjects);
        for (int64_t i = 0; i < runs->runs; i++)
            lane->subjects[i] = (struct subject){
                .run = new_id(lane), .task = new_id(lane), .payload = runs->payload};
    }
}

static void free_subjects(struct raw_pg *raw)
{
    for (size_t l = 0; l < raw->lane_count; l++) {
        mem_free(raw->lanes[l].subjects);
        raw->lanes[l].subjects = NULL;
    }
}

double raw_pg_whole(struct raw_pg *raw, const struct raw_pg_runs *runs)
{
    struct share share = {.work = work_runs,
                          .count = runs->runs,
                          .at_once = runs->at_once,
                          .each = runs->each,
                          .to = RAW_COMMANDS};
    make_subjects(raw, runs);
    double took = run_shares(raw, &share);
    free_subjects(raw);
    return (double)runs->runs / took;
}

double raw_pg_moves(struct raw_pg *raw, const struct raw_pg_runs *runs)
{
    int64_t commands = 0;
    double took = 0;
    make_subjects(raw, runs);
    for (size_t c = 0; c < RAW_COMMANDS; c++) {
        struct share share = {.work = work_runs,
                              .count = runs->runs,
                              .at_once = runs->runs,
                              .each = runs->each,
                              .from = c,
                              .to = c + 1};
        double each = run_shares(raw, &share);
        if (raw_commands[c].moves) {
            took += each;
            commands += runs->runs;
        }
    }
    free_subjects(raw);
    return (double)commands / took;
}
