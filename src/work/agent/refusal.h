/*
 * refusal.h - why a provider refused the requests of an agent's program, by what the program prints
 * when it has given up.
 *
 *     quota       the account is used up until a reset         429, "You've hit your usage limit"
 *     credit      the account has no money left: no reset      402, "Credit balance is too low"
 *     overload    the provider or the way to it has failed     529, 500-504, "stream disconnected"
 *     login       the key or the login is not valid (any more) 401, "OAuth token has expired"
 *
 * Only for error records of a program's own format: an agent may well write about all of that.
 */
#ifndef WORK_AGENT_REFUSAL_H
#define WORK_AGENT_REFUSAL_H
#include <stdint.h>

enum refusal { REFUSAL_NONE, REFUSAL_QUOTA, REFUSAL_CREDIT, REFUSAL_OVERLOAD, REFUSAL_LOGIN };

/* status: of HTTP; 0: not known, the text decides. */
enum refusal refusal_of(int64_t status, const char *text);
#endif
