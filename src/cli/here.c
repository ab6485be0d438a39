#include "cli/here.h"
#include "base/str.h"
#include "cli/client.h"
#include <stdio.h>

enum { REPOSITORIES_MAX = 10000, LINE_BYTES_MAX = 4096 };

static void add(struct cli *cli, struct here *here, const struct js *repository, const char *url)
{
    if (here->count < HERE_NAMES_MAX) {
        here->names[here->count] = arena_strdup(&cli->arena, js_get_str(repository, "name", ""));
        here->urls[here->count] = arena_strdup(&cli->arena, url);
    }
    here->count++;
}

static bool is_remote(const struct checkout *checkout, const char *url)
{
    for (size_t i = 0; checkout->remotes[i] != NULL; i++) {
        if (checkout_same_address(checkout->remotes[i], url))
            return true;
    }
    return false;
}

enum rc here_find(struct cli *cli, const struct checkout *checkout, struct here *ret_here,
                  struct err *err)
{
    struct here at = {.count = 0}, remote = {.count = 0};
    struct cli_pager pager = {.path = "/v1/repositories", .left = REPOSITORIES_MAX};
    while (!pager.ended && pager.left > 0) {
        CLEANUP(cli_answer_release) struct cli_answer page = {0};
        enum rc rc = cli_pager_next(cli, &pager, &page, err);
        if (rc != RC_OK)
            return rc;
        const struct js *items = js_get(page.tree, "items");
        for (size_t i = 0; i < js_count(items); i++) {
            const char *url = js_str(js_path(js_at(items, i), "config.url"), "");
            if (checkout_is_at(checkout, url))
                add(cli, &at, js_at(items, i), url);
            else if (is_remote(checkout, url))
                add(cli, &remote, js_at(items, i), url);
        }
    }
    *ret_here = at.count > 0 ? at : remote;
    return RC_OK;
}

static int print_several(struct cli *cli, const struct here *here)
{
    struct err err = {0};
    int status = cli_fail(cli,
                          err_set(&err, RC_MALFORMED, "AMBIGUOUS_REPOSITORY",
                                  "%zu repositories are this checkout: say which by --repo NAME",
                                  here->count),
                          &err);
    for (size_t i = 0; i < here->count && i < HERE_NAMES_MAX; i++) {
        CLEANUP(buf_release) struct buf line;
        buf_init(&line, LINE_BYTES_MAX);
        term_clean(&line, arena_printf(&cli->arena, "  %s  %s", here->names[i], here->urls[i]));
        (void)fprintf(stderr, "%s\n", buf_text(&line));
    }
    return status;
}

const char *cli_repo(struct cli *cli, int *ret_status)
{
    struct err err = {0};
    struct checkout checkout;
    struct here here = {.count = 0};
    const char *given = args_text(&cli->args, "repo", NULL);
    if (given != NULL)
        return given;
    enum rc rc = checkout_find(&cli->arena, &checkout, &err);
    if (rc != RC_OK) {
        *ret_status = cli_usage(cli, "--repo NAME is missing, and this is no checkout: %s",
                                err.text);
        return NULL;
    }
    rc = here_find(cli, &checkout, &here, &err);
    if (rc == RC_OK && here.count == 1)
        return here.names[0];
    if (rc != RC_OK)
        *ret_status = cli_fail(cli, rc, &err);
    else if (here.count > 1)
        *ret_status = print_several(cli, &here);
    else
        *ret_status = cli_fail(
            cli,
            err_set(&err, RC_MALFORMED, "NO_REPOSITORY",
                    "--repo NAME is missing, and the server has no repository at %s",
                    checkout.top != NULL ? checkout.top : checkout.common_dir),
            &err);
    return NULL;
}

const char *here_only(struct cli *cli)
{
    struct checkout checkout;
    struct here here = {.count = 0};
    if (checkout_find(&cli->arena, &checkout, NULL) != RC_OK ||
        here_find(cli, &checkout, &here, NULL) != RC_OK || here.count != 1)
        return NULL;
    return here.names[0];
}
