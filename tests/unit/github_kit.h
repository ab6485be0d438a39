/*
 * github_kit.h - for tests of the GitHub forge: a call to a scripted API.
 */
#ifndef TESTS_UNIT_GITHUB_KIT_H
#define TESTS_UNIT_GITHUB_KIT_H
#include "forge/github/api.h"
#include "tests/unit/api_script.h"

#define KIT_URL  "https://github.example/acme/billing.git"
#define KIT_HEAD "6dcb09b5b57875f334f61aebed695e2e4193db5e"
#define KIT_BASE "c3d0be41ecbe669545ee3e94d31ed9a4bc91ee3c"

/* Of one test; opened by github_kit_open, closed by github_kit_close. */
extern struct arena kit_arena;
extern struct forge_call kit_call;
extern struct err kit_err;
extern struct host_repo kit_repo;

/* The script answers at api_script_url + /api/v3, GraphQL at /api/graphql. */
void github_kit_open(struct api_script *script);
/* Fails the test unless all of the script was used. */
void github_kit_close(void);
#define KIT_OPEN(...) github_kit_open(API_SCRIPT(__VA_ARGS__))

/* A GraphQL exchange: what the query has, and the data that comes. */
#define KIT_GRAPHQL(word, json)                                                           \
    {                                                                                     \
        .request = "POST /api/graphql HTTP", .has = {word}, .body = "{\"data\":" json "}" \
    }
#endif
