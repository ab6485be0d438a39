/*
 * database.h - where the store of one world is: in memory, or in a schema of a PostgreSQL that is
 * the world's own and dropped with it.
 */
#ifndef TESTS_SIM_DATABASE_H
#define TESTS_SIM_DATABASE_H

struct database;

/* postgres: a URL; NULL: SQLite in memory.  Ends the program when it cannot be reached. */
struct database *database_open(const char *postgres);
void database_close(struct database *database); /* NULL is fine. */
const char *database_url(const struct database *database);
#endif
