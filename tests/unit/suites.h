/*
 * suites.h - every suite of this runner: test_arena.c defines arena_suite().
 *
 * suites.inc holds one line SUITE(name) for each test file; the Makefile
 * writes it.
 */
#ifndef TESTS_UNIT_SUITES_H
#define TESTS_UNIT_SUITES_H
#include <check.h>

#define SUITE(name) Suite *name##_suite(void);
#include "suites.inc"
#undef SUITE
#endif
