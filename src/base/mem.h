/*
 * mem.h - the only malloc.  A failed allocation ends the process: all that
 * was acknowledged is on disk, and a restart resumes it.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H
#include <stddef.h>

void *mem_alloc(size_t bytes);              /* Zeroed. */
void *mem_array(size_t count, size_t each); /* Zeroed; aborts on overflow. */
void *mem_grow(void *old, size_t bytes);    /* realloc */
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t len);
void mem_free(void *block);

/* For CLEANUP(mem_freep): frees what the variable points to. */
void mem_freep(void *variable);
#endif
