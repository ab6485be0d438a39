/*
 * port.h - the job protocol, over HTTP to a real server or straight to a control plane in this
 * process: one workload runs through both.
 *
 * A lane is a client that does one thing at a time.  It asks; when the answer is there, a poll of
 * the port calls lane->answered, and that asks for the next thing.
 */
#ifndef BENCH_PORT_H
#define BENCH_PORT_H
#include "base/id.h"
#include "bench/bench.h"
#include "bench/plant.h"

enum { LANE_JOBS_MAX = 100, PAYLOAD_BYTES = 400 };

struct port;

struct lane_job {
    struct id id;
    int64_t epoch;
};

struct lane {
    struct port *port; /* Set by port_lane. */
    void *link;        /* The port's own. */
    void (*answered)(struct lane *lane);
    void *owner;
    struct lane_job jobs[LANE_JOBS_MAX]; /* What the last lease gave. */
    int job_count;
    bool busy;
};

struct port_ops {
    const char *name;
    void (*attach)(struct port *port, struct lane *lane, size_t index);
    void (*enqueue)(struct lane *lane, int count);
    void (*lease)(struct lane *lane, int max, int wait_ms);
    void (*complete)(struct lane *lane); /* lane->jobs */
    void (*poll)(struct port *port);     /* Waits a while for answers. */
    void (*effort)(struct port *port, struct effort *ret_effort);
    void (*close)(struct port *port);
};

struct port {
    const struct port_ops *ops;
    int64_t commands; /* Sent so far. */
};

enum { PORT_LANES_MAX = 64 };
struct port *port_http_open(const struct bench *bench, const char *name);
struct port *port_direct_open(const struct plant_setup *setup);
struct port *port_direct_open_dir(const struct bench *bench, const char *name);
void port_close(struct port *port);

/* index < PORT_LANES_MAX: takes over from the lane that had the index before. */
void port_lane(struct port *port, struct lane *lane, size_t index);
void lane_enqueue(struct lane *lane, int count);
void lane_lease(struct lane *lane, int max, int wait_ms);
void lane_complete(struct lane *lane);

/* The payload of every job: JSON of PAYLOAD_BYTES. */
const char *port_payload(void);
#define BENCH_QUEUE "bench"
#endif
