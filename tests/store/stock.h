/*
 * stock.h - stores on SQLite for tests, made before they are needed.
 *
 * check forks a process for every test.  A store in memory that its parent has opened belongs to
 * the test after the fork, and a file that its parent has made can be copied: so the schema is made
 * once for a suite, and not for every test, of which it was half.
 *
 * The first test that asks goes without, and makes the parent put some in stock for the next ones.
 */
#ifndef TESTS_STORE_STOCK_H
#define TESTS_STORE_STOCK_H
#include "store/store.h"

void stock_begin(void); /* In main(), which forks the tests. */

/* A store in memory, once in a process, whose artifacts have a directory of their own: the caller
   closes it and removes that.  NULL: none in stock. */
struct store *stock_take(const char **ret_artifact_dir);

/* For a test that does something to every connection when it is opened: from now on none. */
void stock_refuse(void);

/* Puts a database with the schema there; false: none in stock. */
bool stock_copy(const char *path);
#endif
