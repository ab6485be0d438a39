#include "tests/sim/trouble.h"
#include "tests/store/store_fault.h"

struct trouble {
    const char *name;
    void (*begin)(struct world *world);
    void (*end)(struct world *world);
    bool excuses; /* Commands may fail in the store. */
};

static void fail_commits(struct world *world)
{
    store_fault_set(store_writer(world->store), FAULT_COMMIT);
}

static void fill_disk(struct world *world)
{
    store_fault_set(store_writer(world->store), FAULT_FULL);
}

static void mend_store(struct world *world)
{
    store_fault_set(store_writer(world->store), FAULT_NONE);
}

/* Workers of the node first, as `drover serve` does it; now and then everybody at once. */
static void drain(struct world *world)
{
    world->draining = true;
    committer_drain(world->committer, world_chance(world, 500) ? SIM_NODE "/" : "");
}

/* When you add a trouble, for example a node that stands still, add a line here. */
static const struct trouble troubles[] = {
    {"commits fail", fail_commits, mend_store, true},
    {"the disk is full", fill_disk, mend_store, true},
    {"the server drains and starts again", drain, world_crash, false},
};

static void pass(struct world *world, void *who, int64_t number)
{
    (void)who;
    if (world->troubles == number)
        trouble_end(world);
}

void trouble_begin(struct world *world)
{
    if (world->trouble != NULL)
        return;
    world->trouble = &troubles[world_between(world, 0, COUNT_OF(troubles) - 1)];
    world->troubles++;
    world->trouble->begin(world);
    bool brief = world_chance(world, 500);
    int64_t us = world_between(world, 1000, brief ? US_PER_SECOND : 12 * US_PER_SECOND);
    world_after(world, us, pass, NULL, world->troubles);
}

void trouble_end(struct world *world)
{
    const struct trouble *trouble = world->trouble;
    if (trouble == NULL)
        return;
    world->trouble = NULL;
    world->quiet_us = world->mono_us;
    trouble->end(world);
}

bool trouble_excuses(const struct world *world)
{
    return world->trouble != NULL && world->trouble->excuses;
}
