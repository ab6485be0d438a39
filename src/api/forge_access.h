/*
 * forge_access.h - what forges have left of their rate limits, as answers show it.
 */
#ifndef API_FORGE_ACCESS_H
#define API_FORGE_ACCESS_H
#include "base/jw.h"
#include "store/forge_limits.h"

void forge_limits_write(struct jw *jw, const struct forge_limit_row *rows, size_t count);
#endif
