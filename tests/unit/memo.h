/*
 * memo.h - what one test has found out, and the next ones of its suite need not find out again.
 *
 * check forks a process for every test: this memory is shared by all of them and by their parent.
 * Tests of a process follow each other, so that nothing is written while it is read.
 */
#ifndef TESTS_UNIT_MEMO_H
#define TESTS_UNIT_MEMO_H
#include <stdbool.h>
#include <stddef.h>

enum { MEMO_BYTES_MAX = 16 * 1024, MEMO_COUNT_MAX = 8 };

void memo_begin(void); /* In main(), which forks the tests. */
/* Up to MEMO_BYTES_MAX under a name of up to 15 bytes, once. */
void memo_put(const char *name, const void *from, size_t bytes);
/* False: there is nothing under that name.  Else it has as many bytes. */
bool memo_get(const char *name, void *to, size_t bytes);
#endif
