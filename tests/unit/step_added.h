/*
 * step_added.h - one more step, "lint", added as core/step_table.c says: a row of the table, two
 * handlers in the server, a function in the worker.
 *
 * The test program is linked with --wrap (Makefile) for the three functions through which
 * production code reaches its tables: between step_add() and step_remove() they give the tables
 * with lint in them.  It stands behind verify and moves the run in the same state.
 */
#ifndef TESTS_UNIT_STEP_ADDED_H
#define TESTS_UNIT_STEP_ADDED_H

enum { LINT_ATTEMPTS = 7, LINT_MS = 1234, LINT_WARNINGS_MAX = 10 };

/* Call it before anything else is made: blueprints and workers have read the table. */
void step_add(void);
void step_remove(void);
#endif
