/*
 * quota.h - messages by which a provider says that an account is used up, and until when.
 *
 *     Claude AI usage limit reached|1787412000
 *     You've hit your session limit - resets 8:20pm (Asia/Singapore)
 *     You've hit your usage limit. Visit ... or try again at Aug 8th, 2026 12:30 PM.
 *     You've hit your usage limit. ... try again in 5 days 22 hours 11 minutes.
 *     {"error":{"type":"usage_limit_reached","resets_in_seconds":13872}}
 *     exceeded retry limit, last status: 429 Too Many Requests
 *
 * A time of day without a zone, and one in a zone other than UTC, is taken in the zone of this
 * machine: the agent that printed it ran here.  It stands for the end of that minute.  One that has
 * passed within the last hour means soon; an earlier one means tomorrow.
 */
#ifndef WORK_AGENT_QUOTA_H
#define WORK_AGENT_QUOTA_H
#include <stdbool.h>
#include <stdint.h>

enum { QUOTA_TEXT_MAX = 2000 }; /* The rest is not read. */

/* Does this error mean that the account is used up?  For errors only: an agent may well write about
   limits in its answer. */
bool quota_mentioned(const char *text);
/* Does the text begin as the notice that stands in place of an answer? */
bool quota_notice(const char *text);
/* When the limit is lifted, by the text; 0 when it has no time, or no plausible one. */
int64_t quota_reset(const char *text, int64_t now_us);
/* The same for a time in seconds since 1970 that was given as such. */
int64_t quota_reset_epoch(int64_t seconds, int64_t now_us);
#endif
