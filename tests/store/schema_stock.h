/*
 * schema_stock.h - a schema on PostgreSQL for tests, made once for a suite.
 *
 * The tests of a suite follow each other, each in a process of its own.  The first one that asks
 * gets a new schema, which the store fills with its tables; the next ones get the same again, with
 * the rows that it had then.  A schema that a test has changed, or a second one at the same time,
 * is made anew: tables took three quarters of the time of a test on PostgreSQL.
 */
#ifndef TESTS_STORE_SCHEMA_STOCK_H
#define TESTS_STORE_SCHEMA_STOCK_H
#include "base/arena.h"

void schema_stock_begin(void); /* In main(), which forks the tests. */
void schema_stock_empty(void); /* At its end. */

/* The name of a schema for the caller alone; a new one has no tables. */
char *schema_take(struct arena *arena);
void schema_filled(const char *schema); /* The store has been opened in it. */
void schema_keep(const char *schema);   /* What a test has added to it stays for the next ones. */
void schema_return(const char *schema);
#endif
