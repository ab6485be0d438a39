/*
 * port_http.c - the job protocol over HTTP: one keep-alive connection for each lane.
 */
#include "base/mem.h"
#include "bench/client.h"
#include "bench/port.h"
#include "bench/server.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { REQUEST_BYTES_MAX = 1024 * 1024, WAIT_MS = 1000, LEASE_MS = 60000 };

/* Enqueue requests are the same every time: written once for each count. */
enum { READY_MAX = 4 };
struct ready {
    int count;
    struct buf request;
};

struct http_link {
    struct lane *lane;
    struct client_conn *conn;
    int status; /* That the answer must have. */
    bool leasing;
};

struct port_http {
    struct port port;
    struct server server;
    struct client *client;
    struct http_link links[PORT_LANES_MAX];
    struct ready ready[READY_MAX];
    struct buf scratch; /* A request that is made for the moment. */
};

/* ---- requests ---- */

static void write_request(struct port_http *http, struct buf *to, const char *path,
                          const struct buf *body)
{
    struct request_head head = {"POST", path, http->server.token};
    request_write(to, &head, buf_str(body));
    assert(!to->overflow);
}

static void write_enqueue(struct port_http *http, struct buf *to, int count)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, REQUEST_BYTES_MAX);
    buf_adds(&body, "{\"jobs\":[");
    for (int i = 0; i < count; i++)
        buf_addf(&body, "%s{\"queue\":\"" BENCH_QUEUE "\",\"type\":\"note\",\"payload\":%s}",
                 i > 0 ? "," : "", port_payload());
    buf_adds(&body, "]}");
    write_request(http, to, "/v1/jobs", &body);
}

static struct str ready_enqueue(struct port_http *http, int count)
{
    struct ready *ready = http->ready;
    while (ready->count != 0 && ready->count != count)
        ready++;
    assert(ready < http->ready + READY_MAX);
    if (ready->count == 0) {
        ready->count = count;
        buf_init(&ready->request, REQUEST_BYTES_MAX);
        write_enqueue(http, &ready->request, count);
    }
    return buf_str(&ready->request);
}

static void send_scratch(struct lane *lane, const char *path, const struct buf *body)
{
    struct port_http *http = (struct port_http *)lane->port;
    struct http_link *link = lane->link;
    buf_clear(&http->scratch);
    write_request(http, &http->scratch, path, body);
    client_send(link->conn, buf_str(&http->scratch));
}

static void http_enqueue(struct lane *lane, int count)
{
    struct http_link *link = lane->link;
    link->status = 201;
    link->leasing = false;
    client_send(link->conn, ready_enqueue((struct port_http *)lane->port, count));
}

static void http_lease(struct lane *lane, int max, int wait_ms)
{
    struct http_link *link = lane->link;
    link->status = 200;
    link->leasing = true;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, REQUEST_BYTES_MAX);
    buf_addf(&body,
             "{\"queues\":[\"" BENCH_QUEUE "\"],\"worker\":\"bench\",\"max\":%d,\"waitMs\":%d,"
             "\"leaseMs\":%d}",
             max, wait_ms, LEASE_MS);
    send_scratch(lane, "/v1/jobs/lease", &body);
}

static void http_complete(struct lane *lane)
{
    struct http_link *link = lane->link;
    link->status = 200;
    link->leasing = false;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, REQUEST_BYTES_MAX);
    buf_adds(&body, "{\"jobs\":[");
    for (int i = 0; i < lane->job_count; i++)
        buf_addf(&body, "%s{\"id\":\"%s\",\"epoch\":%lld}", i > 0 ? "," : "", lane->jobs[i].id.text,
                 (long long)lane->jobs[i].epoch);
    buf_adds(&body, "]}");
    send_scratch(lane, "/v1/jobs/complete", &body);
}

/* ---- answers ---- */

/* Jobs start with their id, and their epoch follows the payload. */
static void read_jobs(struct lane *lane, struct str body)
{
    static const char id_key[] = "{\"id\":\"", epoch_key[] = "\"epoch\":";
    const char *at = body.at, *end = body.at + body.len;
    lane->job_count = 0;
    while ((at = memmem(at, (size_t)(end - at), id_key, strlen(id_key))) != NULL) {
        assert(lane->job_count < LANE_JOBS_MAX);
        struct lane_job *job = &lane->jobs[lane->job_count++];
        at += strlen(id_key);
        memcpy(job->id.text, at, ID_TEXT_BYTES - 1);
        job->id.text[ID_TEXT_BYTES - 1] = '\0';
        const char *epoch = memmem(at, (size_t)(end - at), epoch_key, strlen(epoch_key));
        if (epoch == NULL)
            bench_die("a lease answers without an epoch");
        job->epoch = strtoll(epoch + strlen(epoch_key), NULL, 10);
        at = epoch;
    }
}

static void on_answer(struct client_conn *conn, const struct client_answer *answer)
{
    struct http_link *link = client_owner(conn);
    struct lane *lane = link->lane;
    if (answer->status != link->status)
        bench_die("the server answers %d: %.*s", answer->status, (int)answer->body.len,
                  answer->body.at);
    if (link->leasing)
        read_jobs(lane, answer->body);
    lane->busy = false;
    lane->answered(lane);
}

static void http_poll(struct port *port)
{
    client_poll(((struct port_http *)port)->client, WAIT_MS);
}

static void http_attach(struct port *port, struct lane *lane, size_t index)
{
    struct port_http *http = (struct port_http *)port;
    struct http_link *link = &http->links[index];
    *link = (struct http_link){.lane = lane, .conn = client_conn(http->client, index)};
    lane->link = link;
    client_revive(link->conn);
    client_set_owner(link->conn, link);
}

static void http_effort(struct port *port, struct effort *ret_effort)
{
    server_effort(&((struct port_http *)port)->server, ret_effort);
}

static void http_close(struct port *port)
{
    struct port_http *http = (struct port_http *)port;
    client_free(http->client);
    server_stop(&http->server);
    for (size_t i = 0; i < READY_MAX; i++)
        buf_release(&http->ready[i].request);
    buf_release(&http->scratch);
    mem_free(http);
}

static const struct port_ops http_ops = {
    .name = "HTTP",
    .attach = http_attach,
    .enqueue = http_enqueue,
    .lease = http_lease,
    .complete = http_complete,
    .poll = http_poll,
    .effort = http_effort,
    .close = http_close,
};

struct port *port_http_open(const struct bench *bench, const char *name)
{
    struct port_http *http = mem_alloc(sizeof *http);
    char dir[BENCH_PATH_BYTES];
    bench_dir(bench, name, dir);
    server_start(bench, &(struct server_setup){.dir = dir}, &http->server);
    http->port.ops = &http_ops;
    struct client_options options = {
        .port = http->server.port, .connections = PORT_LANES_MAX, .answered = on_answer};
    http->client = client_new(&options);
    buf_init(&http->scratch, REQUEST_BYTES_MAX);
    return &http->port;
}
