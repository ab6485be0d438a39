/*
 * scratch.h - ports and databases for the commands of a step (`scratch` of the configuration).
 *
 *     wanted --lease--> on disk --create--> in use --drop--> ended
 *                          \--------- killed ---------/ at the next start of the worker
 *
 * The agent and its plan use the lease of their run, which lasts until the run is cleaned: the
 * next attempt finds the database as the last one left it.  All other commands use a lease of their
 * job, which ends with the step: what an agent did to its database is no part of what is verified.
 *
 * A lease that this process did not make is left over from one that was killed.  Nothing of it is
 * used again, as with the tree of a killed agent: it is dropped, by the run's next step here or by
 * housekeeping.  A lease of a run that no step has used for a day goes too: the run has been
 * cleaned by another worker.
 *
 *     scratch_book_dir/<holder>.json         see scratch_book.h
 *     scratch_book_dir/<holder>/<name>       databases that are directories
 *     scratch_book_dir/<holder>/command.io   where create and drop run
 */
#ifndef WORK_AGENT_SCRATCH_H
#define WORK_AGENT_SCRATCH_H
#include "work/agent/compute_process.h"
#include "work/job/childenv.h"
#include "work/job/scratch_book.h"
#include "work/job/step.h"
#include "work/tree/housekeeping.h"

/* What the commands of one kind get.  Texts are the step's arena's. */
struct scratch {
    struct {
        const char *name, *value;
    } variables[SCRATCH_ENV_ALL_MAX];
    size_t variable_count;
    const char *dirs[SCRATCH_DATABASES_MAX + 1]; /* Shown to them, writable. */
};

/* Leases and makes what this kind of command needs and the step does not have yet.  Fails the step
   with scratch_failed; RC_LIMIT with PORTS_TAKEN puts it off. */
MUST_USE enum rc scratch_open(struct step *step, enum scratch_user user,
                              struct scratch *ret_scratch, struct err *err);
/* Gives it to a command. */
void scratch_set(const struct scratch *scratch, struct arena *arena, struct childenv *env);
void scratch_show(const struct scratch *scratch, struct compute_spec *spec);

/* Ends what the job of a step holds.  For the framework, after every step. */
void scratch_close(struct step *step);
/* Ends what the run of a step holds on this worker. */
MUST_USE enum rc scratch_release(struct step *step, struct err *err);

/* Drops what is left over, and logs it. */
void scratch_sweep(const struct housekeeping *housekeeping);
#endif
