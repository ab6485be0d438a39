/*
 * host_kit.h - for tests of hosted forges: a call to a scripted API, and JSON in single quotes.
 */
#ifndef TESTS_UNIT_HOST_KIT_H
#define TESTS_UNIT_HOST_KIT_H
#include "forge/port/call.h"
#include "tests/unit/api_script.h"
#include <check.h>

#define HOST_URL  "https://forge.example/acme/billing.git"
#define HOST_HEAD "1111111111111111111111111111111111111111"
#define HOST_BASE "2222222222222222222222222222222222222222"
#define HOST_OLD  "3333333333333333333333333333333333333333"

extern struct arena host_arena;
extern struct forge_call host_call;
extern struct err host_err;
extern struct api_script *host_script;

/* Double quotes in place of single ones; until the end of the test. */
const char *Q(const char *text);
/* The API of the script lies at /api/v4, or where `path` says. */
void host_kit_open(struct api_script *script, const char *path);
#define HOST_SCRIPT(path, ...) host_kit_open(API_SCRIPT(__VA_ARGS__), path)
/* For fixtures: every request of the script was made. */
void host_kit_setup(void);
void host_kit_teardown(void);

#define OK(call) ck_assert_msg((call) == RC_OK, "%s: %s", host_err.code, host_err.text)
#endif
