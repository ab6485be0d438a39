/*
 * event_faults.h - for tests: checks each event against its contract as it is appended.
 *
 * The environment variable DROVER_EVENT_FAULTS names a file; each event that breaks its contract
 * (core/config/event_contract.h) adds a line to it, and is stored all the same.  Without the
 * variable nothing is checked.
 */
#ifndef CONTROL_COMMIT_EVENT_FAULTS_H
#define CONTROL_COMMIT_EVENT_FAULTS_H
#include "core/event.h"

/* One of drover's own.  From any thread. */
void event_faults_look(const struct event *event);
#endif
