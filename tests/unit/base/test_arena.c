/* test_arena.c - arenas, and the allocator under them. */
#include "base/arena.h"
#include "base/mem.h"
#include "tests/unit/suites.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool all_zero(const void *block, size_t len)
{
    const unsigned char *bytes = block;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

START_TEST(blocks_are_zeroed_aligned_and_apart)
{
    struct arena arena = {0};
    unsigned char *last_end = NULL;
    for (size_t bytes = 0; bytes < 300; bytes++) {
        unsigned char *block = arena_alloc(&arena, bytes);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % 16, 0);
        ck_assert(all_zero(block, bytes));
        ck_assert_ptr_ne(block, last_end != NULL ? last_end - 1 : NULL);
        memset(block, 0xff, bytes);
        last_end = block + bytes;
    }
    arena_release(&arena);
}
END_TEST

START_TEST(earlier_blocks_survive_later_large_ones)
{
    struct arena arena = {0};
    char *kept[64];
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        kept[i] = arena_printf(&arena, "block %zu", i);
        memset(arena_alloc(&arena, i * 40000), 0xee, i * 40000);
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        char want[32];
        snprintf(want, sizeof want, "block %zu", i);
        ck_assert_str_eq(kept[i], want);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(reset_gives_zeroed_memory_again)
{
    struct arena arena = {0};
    memset(arena_alloc(&arena, 1000), 0xff, 1000);
    ck_assert_uint_ge(arena.used_bytes, 1000);
    arena_reset(&arena);
    ck_assert_uint_eq(arena.used_bytes, 0);
    ck_assert(all_zero(arena_alloc(&arena, 2000), 2000));
    arena_release(&arena);
}
END_TEST

START_TEST(reset_keeps_one_chunk_but_no_giant)
{
    struct arena arena = {0};
    (void)arena_alloc(&arena, 100);
    const struct arena_chunk *small = arena.chunk;
    (void)arena_alloc(&arena, 8 << 20);
    arena_reset(&arena);
    ck_assert_ptr_eq(arena.chunk, small);
    arena_release(&arena);
    ck_assert_ptr_null(arena.chunk);

    (void)arena_alloc(&arena, 8 << 20);
    arena_reset(&arena);
    ck_assert_ptr_null(arena.chunk);
    arena_release(&arena);
}
END_TEST

START_TEST(an_empty_arena_can_be_reset_and_released)
{
    struct arena arena = {0};
    arena_reset(&arena);
    arena_release(&arena);
    arena_release(&arena);
    arena_release(NULL);
}
END_TEST

START_TEST(texts_are_copied)
{
    struct arena arena = {0};
    char text[] = "hello";
    char *copy = arena_strdup(&arena, text);
    text[0] = 'j';
    ck_assert_str_eq(copy, "hello");
    ck_assert_str_eq(arena_strndup(&arena, "hello", 2), "he");
    ck_assert_str_eq(arena_strndup(&arena, NULL, 0), "");
    ck_assert_ptr_null(arena_strdup(&arena, NULL));
    char *formatted = arena_printf(&arena, "%05000d", 7);
    ck_assert_uint_eq(strlen(formatted), 5000);
    arena_release(&arena);
}
END_TEST

START_TEST(an_array_that_overflows_ends_the_process)
{
    struct arena arena = {0};
    (void)close(STDERR_FILENO); /* Its last words are expected. */
    (void)arena_array(&arena, SIZE_MAX / 4, 8);
}
END_TEST

START_TEST(arrays_hold_what_was_asked_for)
{
    struct arena arena = {0};
    int64_t *numbers = arena_array(&arena, 1000, sizeof *numbers);
    ck_assert(all_zero(numbers, 1000 * sizeof *numbers));
    memset(numbers, 0xff, 1000 * sizeof *numbers);
    ck_assert_ptr_nonnull(arena_array(&arena, 0, 8));
    ck_assert_ptr_nonnull(arena_array(&arena, 8, 0));
    arena_release(&arena);
}
END_TEST

START_TEST(heap_blocks_are_zeroed_grown_and_freed)
{
    CLEANUP(mem_freep) char *block = mem_alloc(100);
    ck_assert(all_zero(block, 100));
    memset(block, 'x', 100);
    block = mem_grow(block, 200);
    ck_assert_int_eq(block[99], 'x');
    CLEANUP(mem_freep) char *text = mem_strdup("abc");
    ck_assert_str_eq(text, "abc");
    CLEANUP(mem_freep) char *part = mem_strndup("abc", 1);
    ck_assert_str_eq(part, "a");
    CLEANUP(mem_freep) void *nothing = mem_array(0, 8);
    ck_assert_ptr_nonnull(nothing);
    CLEANUP(mem_freep) void *null = NULL;
    mem_free(null);
}
END_TEST

START_TEST(a_heap_array_that_overflows_ends_the_process)
{
    volatile size_t count = SIZE_MAX / 4;
    (void)close(STDERR_FILENO);
    (void)mem_array(count, 8);
}
END_TEST

START_TEST(rewind_gives_back_what_came_after_the_mark)
{
    static const size_t before[] = {0, 100, 4000, 5000, 300000};
    static const size_t after[] = {1, 5000, 300000, 100, 600000, 200000};
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        struct arena arena = {0};
        char *kept = before[i] > 0 ? arena_alloc(&arena, before[i]) : NULL;
        if (kept != NULL)
            memset(kept, 'k', before[i]);
        struct arena_mark mark = arena_mark(&arena);
        size_t used_bytes = arena.used_bytes;
        for (int round = 0; round < 3; round++) {
            for (size_t k = 0; k < COUNT_OF(after); k++)
                memset(arena_alloc(&arena, after[k]), 'x', after[k]);
            arena_rewind(&arena, &mark);
            ck_assert_uint_eq(arena.used_bytes, used_bytes);
        }
        char *fresh = arena_alloc(&arena, 64);
        ck_assert_int_eq(fresh[0], 0);
        ck_assert(kept == NULL || (kept[0] == 'k' && kept[before[i] - 1] == 'k'));
        arena_release(&arena);
    }
}
END_TEST

Suite *arena_suite(void)
{
    Suite *suite = suite_create("arena");
    TCase *all = tcase_create("all");
    tcase_add_test(all, blocks_are_zeroed_aligned_and_apart);
    tcase_add_test(all, earlier_blocks_survive_later_large_ones);
    tcase_add_test(all, reset_gives_zeroed_memory_again);
    tcase_add_test(all, reset_keeps_one_chunk_but_no_giant);
    tcase_add_test(all, an_empty_arena_can_be_reset_and_released);
    tcase_add_test(all, rewind_gives_back_what_came_after_the_mark);
    tcase_add_test(all, texts_are_copied);
    tcase_add_test(all, arrays_hold_what_was_asked_for);
    tcase_add_test(all, heap_blocks_are_zeroed_grown_and_freed);
    suite_add_tcase(suite, all);
    TCase *fatal = tcase_create("fatal");
    tcase_add_test_raise_signal(fatal, an_array_that_overflows_ends_the_process, SIGABRT);
    tcase_add_test_raise_signal(fatal, a_heap_array_that_overflows_ends_the_process, SIGABRT);
    suite_add_tcase(suite, fatal);
    return suite;
}
