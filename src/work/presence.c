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

void presence_add(struct port_worker *worker, const struct presence_facts *facts)
{
    const struct scratch_total leased = scratch_book_total(facts->scratch);
    worker->unpublished_count = __atomic_load_n(&facts->unpublished->count, __ATOMIC_RELAXED);
    worker->unpublished_bytes = __atomic_load_n(&facts->unpublished->bytes, __ATOMIC_RELAXED);
    worker->disk_free = atomic_load(&facts->disk->free_bytes);
    worker->disk_low = atomic_load(&facts->disk->low);
    worker->leased_ports = leased.ports;
    worker->leased_databases = leased.databases;
}
