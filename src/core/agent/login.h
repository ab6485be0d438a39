/*
 * login.h - what of a login that an agent has had is kept.  Pure.
 *
 * Programs refresh their tokens themselves and write them to a file of their home.  Where the
 * provider accepts a refresh token once, one that is lost with the run's home is a login that is
 * lost.  But the file comes back from an agent, which is hostile: it may hold settings that start
 * programs, or anything else.  So of the new file only those members are taken that the profile
 * names (core/config/profile.h), each of the type that it had; all else is as it was.
 *
 * Refused is a file
 *
 *   1. that is no JSON object, or lacks a member at its top that it had;
 *   2. in which a named member is missing, of another type, empty, too long or not printable:
 *      programs empty a login that was refused, and that must not reach other runs;
 *   3. in which a number (the time of expiry) has become smaller.
 *
 * An agent that wants to can still write other tokens of the right shape: the next runs of the
 * account would use these.
 */
#ifndef CORE_AGENT_LOGIN_H
#define CORE_AGENT_LOGIN_H
#include "base/arena.h"
#include "base/str.h"
#include "core/config/profile.h"

enum { LOGIN_BYTES_MAX = 64 * 1024, LOGIN_VALUE_MAX = 16 * 1024 };

enum login_verdict { LOGIN_SAME, LOGIN_REFRESHED, LOGIN_REFUSED };

/* had: the file as it was; has: as the agent left it.  *ret_text, with LOGIN_REFRESHED: the file as
   it is to be, in the arena.  *ret_why: with LOGIN_REFUSED. */
enum login_verdict login_merge(const struct agent_login *login, struct str had, struct str has,
                               struct arena *arena, struct str *ret_text, const char **ret_why);
#endif
