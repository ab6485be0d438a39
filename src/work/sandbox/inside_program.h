/*
 * inside_program.h - the small program of src/inside.c, which is part of this one.
 *
 * A sandbox executes it by its descriptor, /proc/self/fd/N: it needs no file that is there, can be
 * executed and stays as it is.
 */
#ifndef WORK_SANDBOX_INSIDE_PROGRAM_H
#define WORK_SANDBOX_INSIDE_PROGRAM_H

/* One for the whole process, never closed.  Its bytes are sealed.  0: the kernel gives none. */
int inside_program_fd(void);
#endif
