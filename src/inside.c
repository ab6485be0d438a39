/*
 * inside.c - the small program that commands in a sandbox start through: work/sandbox/inside.h.
 *
 * It is drover's `inside` alone, linked statically.  The loader needs ten times as long for the
 * libraries of drover as this program for all that it does, and every command would wait for it.
 * Its bytes are part of drover: work/sandbox/inside_program.h.
 */
#include "work/sandbox/inside.h"

int main(int argc, char **argv)
{
    return inside_asked(argc, argv) ? inside_main(argc, argv) : INSIDE_FAILED;
}
