/*
 * mem.c - the only malloc.  Every way of not getting memory ends in die().
 */
#include "base/mem.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void die(void)
{
    static const char message[] = "out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    abort();
}

void *mem_array(size_t count, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes))
        die();
    void *block = calloc(1, bytes ? bytes : 1); /* Zero bytes have a pointer of their own too. */
    if (block == NULL)
        die();
    return block;
}

void *mem_alloc(size_t bytes)
{
    return mem_array(1, bytes);
}

void *mem_grow(void *old, size_t bytes)
{
    void *block = realloc(old, bytes ? bytes : 1);
    if (block == NULL)
        die();
    return block;
}

char *mem_strndup(const char *text, size_t len)
{
    if (len == SIZE_MAX)
        die();
    char *copy = mem_grow(NULL, len + 1);
    if (len)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

void mem_free(void *block)
{
    free(block);
}

void mem_freep(void *variable)
{
    void *block;
    memcpy(&block, variable, sizeof block); /* The variable may be a pointer to anything. */
    free(block);
}
