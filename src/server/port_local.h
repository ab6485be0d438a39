/*
 * port_local.h - the lease port of workers in the server's own process: commands to the committer,
 * artifacts straight to the store.
 */
#ifndef SERVER_PORT_LOCAL_H
#define SERVER_PORT_LOCAL_H
#include "api/auth.h"
#include "control/commit/principal.h"
#include "control/control.h"
#include "work/job/port.h"

struct api;
struct port_local {
    struct port port; /* What the worker gets. */
    struct control *control;
    struct api *api;
    struct principal principal; /* Of this node's workers. */
};

/* None is owned; control and api must outlive the worker. */
void port_local_init(struct port_local *port, struct control *control, struct api *api);
#endif
