#include "work/presence.h"
#include "work/job/site.h"
#include <unistd.h>

struct port_worker worker_presence(const struct worker_options *options)
{
    return (struct port_worker){
        .name = options->name,
        .host = site_host(),
        .queues = options->queues.names,
        .pid = getpid(),
        .slots = options->slots.of[slots_main(&options->slots)],
        .lease_ms = options->lease_ms,
        .disk_free = -1,
    };
}
