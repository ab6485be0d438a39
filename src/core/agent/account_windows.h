/*
 * account_windows.h - the windows of an account that were reported last, as a JSON array: at most
 * ACCOUNT_WINDOWS_MAX, by name.
 *
 *     [{"name":"five_hour","utilization":0.4,"status":"allowed","resetsUs":…,"seenUs":…,
 *       "expiresUs":…}]
 */
#ifndef CORE_AGENT_ACCOUNT_WINDOWS_H
#define CORE_AGENT_ACCOUNT_WINDOWS_H
#include "base/arena.h"
#include "base/js.h"
#include "base/str.h"
#include "core/agent/account_choice.h"

struct account_windows {
    struct account_window items[ACCOUNT_WINDOWS_MAX];
    size_t count;
};

/* Texts are copied into the arena.  An empty text: none.  RC_CORRUPT. */
MUST_USE enum rc account_windows_parse(struct str json, struct arena *arena,
                                       struct account_windows *ret_windows, struct err *err);
struct str account_windows_text(const struct account_windows *windows, struct arena *arena);

/* Takes what was reported.  False: nothing that matters has changed.  A new name takes the place of
   the one that expires first when there is no room. */
bool account_windows_take(struct account_windows *windows, const struct account_window *window);
/* The window that is fullest at that time; NULL: nothing is known. */
const struct account_window *account_windows_fullest(const struct account_windows *windows,
                                                     int64_t now_us);
#endif
