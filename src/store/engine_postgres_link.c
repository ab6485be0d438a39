#include "store/engine_postgres_link.h"
#include "base/clock.h"
#include "base/str.h"
#include "store/pq_lib.h"
#include "store/session_key.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
    PAUSE_FIRST_US = 100 * 1000,
    PAUSE_MAX_US = 5 * 1000 * 1000,
    /* Longer than a statement may take on the server, so that the server's error comes first. */
    ANSWER_WAIT_MS = 40 * 1000,
    IDLE_READS_MAX = 4,
    PROBLEM_BYTES = 240, /* Of libpq's text. */
};

/* Parameters of the URL override these. */
static const struct {
    const char *name, *value;
} defaults[] = {
    {"fallback_application_name", "drover"},
    {"connect_timeout", "3"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "20000"},
};

/* A server that is frozen in a transaction must not hold its locks for ever: its session ends
   before transactions that wait for them give up (lock_timeout).  One whose machine is gone holds
   them no longer than PostgreSQL needs to detect that (on a unix socket the tcp_ settings are
   ignored).
   Neither limit holds for one that is frozen while it sends or receives:
   control/watch/membership.h ends its sessions.  A limit that the address sets by itself (options)
   is kept: a machine that is very slow may need longer ones.
   jit: compiling pays for reports, not for statements that touch a few rows. */
static const char session[] = "SET client_encoding = 'UTF8'; SET client_min_messages = 'error';"
                              " SELECT set_config(name, given, false)"
                              " FROM (VALUES ('statement_timeout', '30s'), ('lock_timeout', '10s'),"
                              " ('idle_in_transaction_session_timeout', '8s')) AS t (name, given)"
                              " JOIN pg_settings USING (name) WHERE source <> 'client';"
                              " SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;"
                              " SET tcp_keepalives_count = 3; SET tcp_user_timeout = '20s';"
                              " SET jit = off";
static const char session_reads[] = "SET default_transaction_read_only = on";

void pg_link_init(struct pg_link *link, struct pg_place *place, enum pg_mode mode)
{
    *link = (struct pg_link){.place = place, .mode = mode, .random = random_from_os()};
}

void pg_link_lose(struct pg_link *link)
{
    pq->finish(link->pg);
    link->pg = NULL;
}

/* The first line of the message of libpq; the rest are hints and positions. */
static void first_line(const char *text, char to[PROBLEM_BYTES])
{
    size_t len = text == NULL ? 0 : strcspn(text, "\n");
    if (len >= PROBLEM_BYTES)
        len = PROBLEM_BYTES - 1;
    if (len > 0)
        memcpy(to, text, len);
    to[len] = '\0';
}

static enum rc unreachable(const char *name, const char *problem, struct err *err)
{
    char line[PROBLEM_BYTES];
    first_line(problem, line);
    return err_set(err, RC_UNREACHABLE, "STORE_UNREACHABLE",
                   "%s: PostgreSQL does not answer: %s; see that it runs and can be reached", name,
                   line[0] == '\0' ? "the connection was lost" : line);
}

enum rc pg_link_broken(struct pg_link *link, const char *name, struct err *err)
{
    enum rc rc = unreachable(name, link->pg == NULL ? NULL : pq->errorMessage(link->pg), err);
    pg_link_lose(link);
    return rc;
}

static void keep_silent(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

static PGconn *connect_to(const char *url)
{
    const char *names[COUNT_OF(defaults) + 2] = {NULL};
    const char *values[COUNT_OF(defaults) + 2] = {NULL};
    for (size_t i = 0; i < COUNT_OF(defaults); i++) {
        names[i] = defaults[i].name;
        values[i] = defaults[i].value;
    }
    names[COUNT_OF(defaults)] = "dbname";
    values[COUNT_OF(defaults)] = url;
    return pq->connectdbParams(names, values, 1);
}

/* The session is hexadecimal. */
static enum rc mark_session(struct pg_link *link, struct err *err)
{
    char text[256], quoted[PG_SESSION_BYTES + 2];
    snprintf(quoted, sizeof quoted, "'%s'", link->place->session);
    snprintf(text, sizeof text, "SELECT pg_advisory_lock_shared(" SESSION_KEY("%s") ")", quoted);
    return pg_link_script(link, "connect", text, NULL, err);
}

static enum rc set_up(struct pg_link *link, struct err *err)
{
    pq->setNoticeReceiver(link->pg, keep_silent, NULL);
    if (pq->setnonblocking(link->pg, 1) != 0)
        return pg_link_broken(link, "connect", err);
    enum rc rc = pg_link_script(link, "connect", session, NULL, err);
    if (rc == RC_OK && link->mode == PG_READS)
        rc = pg_link_script(link, "connect", session_reads, NULL, err);
    if (rc == RC_OK && link->mode == PG_WRITES && link->place->session[0] != '\0')
        rc = mark_session(link, err);
    if (rc == RC_OK && link->mode != PG_LISTENS && pq->enterPipelineMode(link->pg) != 1)
        rc = pg_link_broken(link, "connect", err);
    return rc;
}

static void pause_begin(struct pg_link *link)
{
    link->pause_us = link->pause_us == 0 ? PAUSE_FIRST_US : link->pause_us * 2;
    if (link->pause_us > PAUSE_MAX_US)
        link->pause_us = PAUSE_MAX_US;
    uint64_t half = (uint64_t)link->pause_us / 2;
    link->failed_us = clock_mono_us();
    link->retry_us = link->failed_us + (int64_t)(half + random_below(&link->random, half));
}

enum rc pg_link_open(struct pg_link *link, struct err *err)
{
    assert(link->pg == NULL);
    link->pg = connect_to(link->place->url);
    enum rc rc = pq->status(link->pg) == CONNECTION_OK ? set_up(link, err)
                                                       : pg_link_broken(link, "connect", err);
    if (rc != RC_OK) {
        pg_link_lose(link);
        pause_begin(link);
        return rc;
    }
    link->generation++;
    link->pause_us = 0;
    atomic_store(&link->place->opened_us, clock_mono_us());
    return RC_OK;
}

/* Unrequested input on an idle connection is an error message of the server and then the end of
   the connection.  Notices may keep arriving: then it is alive. */
static bool is_alive(struct pg_link *link)
{
    struct pollfd socket = {.fd = pq->socket(link->pg), .events = POLLIN};
    for (int i = 0; i < IDLE_READS_MAX; i++) {
        if (poll(&socket, 1, 0) == 0)
            return true;
        if (pq->consumeInput(link->pg) != 1 || pq->status(link->pg) != CONNECTION_OK)
            return false;
    }
    return true;
}

static bool is_pausing(const struct pg_link *link)
{
    return link->pause_us > 0 && clock_mono_us() < link->retry_us &&
           atomic_load(&link->place->opened_us) <= link->failed_us;
}

enum rc pg_link_ready(struct pg_link *link, struct err *err)
{
    if (link->pg != NULL && is_alive(link))
        return RC_OK;
    pg_link_lose(link);
    if (is_pausing(link))
        return unreachable("connect", "the last try failed a moment ago", err);
    return pg_link_open(link, err);
}

/* Waits until the socket can be read or, if requested, written. */
static enum rc await(struct pg_link *link, short events, const char *name, struct err *err)
{
    struct pollfd socket = {.fd = pq->socket(link->pg), .events = events};
    int64_t until_us = clock_mono_us() + ANSWER_WAIT_MS * US_PER_MS;
    int ready;
    do {
        int64_t left_us = until_us - clock_mono_us();
        ready = left_us <= 0 ? 0 : poll(&socket, 1, (int)(left_us / US_PER_MS) + 1);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        pg_link_lose(link);
        return unreachable(name, "no answer came in time", err);
    }
    bool fine = ready > 0 && ((socket.revents & ~POLLOUT) == 0 || pq->consumeInput(link->pg) == 1);
    return fine ? RC_OK : pg_link_broken(link, name, err);
}

enum rc pg_link_flush(struct pg_link *link, const char *name, struct err *err)
{
    int left;
    while ((left = pq->flush(link->pg)) == 1) {
        enum rc rc = await(link, POLLIN | POLLOUT, name, err);
        if (rc != RC_OK)
            return rc;
    }
    return left == 0 ? RC_OK : pg_link_broken(link, name, err);
}

enum rc pg_link_result(struct pg_link *link, const char *name, PGresult **ret_result,
                       struct err *err)
{
    while (pq->isBusy(link->pg)) {
        enum rc rc = await(link, POLLIN, name, err);
        if (rc != RC_OK)
            return rc;
    }
    PGresult *result = pq->getResult(link->pg);
    if (pq->status(link->pg) != CONNECTION_OK) {
        pq->clear(result);
        return pg_link_broken(link, name, err);
    }
    *ret_result = result;
    return RC_OK;
}

static enum rc script_run(struct pg_link *link, const char *name, const char *text,
                          PGresult **ret_last, struct err *err)
{
    if (pq->sendQuery(link->pg, text) != 1)
        return pg_link_broken(link, name, err);
    enum rc outcome = RC_OK;
    enum rc rc = pg_link_flush(link, name, err);
    PGresult *result = NULL;
    while (rc == RC_OK && (rc = pg_link_result(link, name, &result, err)) == RC_OK &&
           result != NULL) {
        pq->clear(*ret_last);
        *ret_last = result;
        if (pq->resultStatus(result) == PGRES_FATAL_ERROR && outcome == RC_OK)
            outcome = pg_result_fail(result, name, err);
    }
    return rc == RC_OK ? outcome : rc;
}

enum rc pg_link_script(struct pg_link *link, const char *name, const char *text,
                       PGresult **ret_result, struct err *err)
{
    bool pipeline = pq->pipelineStatus(link->pg) != PQ_PIPELINE_OFF;
    if (pipeline && pq->exitPipelineMode(link->pg) != 1)
        return pg_link_broken(link, name, err);
    PGresult *last = NULL;
    enum rc rc = script_run(link, name, text, &last, err);
    if (pipeline && link->pg != NULL && pq->enterPipelineMode(link->pg) != 1)
        rc = pg_link_broken(link, name, err);
    if (rc == RC_OK && ret_result != NULL) {
        *ret_result = last;
        last = NULL;
    }
    pq->clear(last);
    return rc;
}

/* By SQLSTATE; the first that matches counts. */
static const struct meaning {
    const char *state; /* A prefix. */
    enum rc rc;
    const char *code;
    const char *advice;
} meanings[] = {
    {"40001", RC_BUSY, "STORE_BUSY", ""},
    {"40P01", RC_BUSY, "STORE_BUSY", ""},
    {"55P03", RC_BUSY, "STORE_BUSY", ""},
    {"23", RC_IO, "STORE_CONSTRAINT", ""},
    {"53100", RC_IO, "STORE_FULL", ": make room on the disk of PostgreSQL, nothing was written"},
    {"53300", RC_UNREACHABLE, "STORE_UNREACHABLE", ": raise max_connections of PostgreSQL"},
    {"53", RC_IO, "STORE_IO", ""},
    {"57014", RC_IO, "STORE_TIMEOUT", ""},
    {"57P", RC_UNREACHABLE, "STORE_UNREACHABLE", ""},
    {"08", RC_UNREACHABLE, "STORE_UNREACHABLE", ""},
    {"25006", RC_IO, "STORE_IO", ""},
    {"25P03", RC_UNREACHABLE, "STORE_UNREACHABLE", ""}, /* Idle in a transaction for too long. */
    {"58", RC_IO, "STORE_IO", ""},
    {"XX001", RC_CORRUPT, "STORE_CORRUPT", ": restore the database from a backup"},
    {"XX002", RC_CORRUPT, "STORE_CORRUPT", ": run REINDEX or restore a backup"},
    {"22", RC_INVALID, "INVALID_DATA", ""},
    {"", RC_IO, "STORE_ERROR", ""},
};

enum rc pg_result_fail(const PGresult *result, const char *name, struct err *err)
{
    const char *state = pq->resultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = pq->resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == NULL) /* Made by libpq: the server sent no error. */
        return unreachable(name, pq->resultErrorMessage(result), err);
    const struct meaning *meaning = meanings;
    while (!text_starts(state, meaning->state))
        meaning++;
    char line[PROBLEM_BYTES];
    first_line(text, line);
    return err_set(err, meaning->rc, meaning->code, "%s: %s%s (PostgreSQL %s)", name, line,
                   meaning->advice, state);
}
