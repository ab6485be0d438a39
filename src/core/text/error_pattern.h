/*
 * error_pattern.h - an error without its particulars, so that failures of one cause look alike.
 *
 *     connect to 10.0.0.7:5432 failed after 30 s, job 0190b6a0-...  ->
 *     connect to <address> failed after <n> s, job <uuid>
 *
 *     <uuid>   <hex>  0x1f, 7 hexadecimal digits and more   <n>  numbers, also within words
 *     <text>   what stands in quotes                         <path>   <url>
 *     <address>   IPv4 and IPv6 with or without a port, e-mail
 *
 * White space is one blank.  At most ERROR_PATTERN_MAX bytes, cut at a character's end.
 */
#ifndef CORE_TEXT_ERROR_PATTERN_H
#define CORE_TEXT_ERROR_PATTERN_H
#include "base/arena.h"

enum { ERROR_PATTERN_MAX = 300 };

char *error_pattern(const char *text, struct arena *arena);
#endif
