/*
 * main.c - runs the C test suites.
 *
 *     tests              all suites
 *     tests NAME...      these
 *     tests --list       the names, one a line
 *
 * The environment variables of check apply: CK_FORK=no for a debugger,
 * CK_VERBOSITY, CK_RUN_CASE, CK_TIMEOUT_MULTIPLIER.
 */
#include "tests/store/stock.h"
#include "tests/unit/memo.h"
#include "tests/unit/suites.h"
#include "work/sandbox/inside.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const char *name;
    Suite *(*make)(void);
};

static const struct entry entries[] = {
#define SUITE(name) {#name, name##_suite},
#include "suites.inc"
#undef SUITE
};
enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

static const struct entry *entry_find(const char *name)
{
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    }
    return NULL;
}

/* In front of check's (ld --wrap), which writes the place of every assertion that holds to a file:
   a test that dies is reported as "after this point".  A test with a million assertions writes the
   first thousand, and of the others one in a thousand: the report stays true. */
void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line)
{
    enum { POINTS = 1000 };
    static atomic_uint count;
    unsigned number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    if (number < POINTS || number % POINTS == 0)
        __real__mark_point(file, line);
}

int main(int argc, char **argv)
{
    if (inside_asked(argc, argv)) /* Sandboxes start this program again, as they do drover. */
        return inside_main(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < ENTRY_COUNT; i++)
            puts(entries[i].name);
        return EXIT_SUCCESS;
    }
    memo_begin();
    stock_begin();
    SRunner *runner = srunner_create(NULL);
    for (int i = 1; i < argc; i++) {
        const struct entry *entry = entry_find(argv[i]);
        if (entry == NULL) {
            fprintf(stderr, "no suite named %s; --list names them\n", argv[i]);
            srunner_free(runner);
            return 2;
        }
        srunner_add_suite(runner, entry->make());
    }
    for (size_t i = 0; argc == 1 && i < ENTRY_COUNT; i++)
        srunner_add_suite(runner, entries[i].make());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    int ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
