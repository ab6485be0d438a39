/*
 * credential.c - `drover credential`: git's credential helper inside a sandbox.
 *
 * git runs it with `get`, `store` or `erase`; only `get` does something.  It prints nothing when
 * there is no credential, so that git says what the host said.
 */
#include "base/jw.h"
#include "cli/client.h"
#include "net/git_credential.h"
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_BYTES_MAX = 16 * 1024, BODY_BYTES_MAX = 16 * 1024 };

static struct git_login read_login(struct cli *cli)
{
    CLEANUP(buf_release) struct buf input;
    char line[4096];
    buf_init(&input, INPUT_BYTES_MAX);
    while (fgets(line, sizeof line, stdin) != NULL && line[0] != '\n')
        buf_adds(&input, line);
    return git_login_parse(buf_str(&input), &cli->arena);
}

static enum rc ask_server(struct cli *cli, const char *run, const struct git_login *login,
                          struct cli_answer *answer, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "protocol", login->protocol);
    jw_kstr(&jw, "host", login->host);
    jw_kstr(&jw, "path", login->path);
    jw_end(&jw, '}');
    const struct http_call call = {.method = "POST",
                                   .path = cli_path(cli, "/v1/runs/", run, "/credential"),
                                   .body = buf_str(&body)};
    return cli_call(cli, &call, answer, err);
}

static int run_credential(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *run = getenv("DROVER_RUN_ID");
    if (!text_same(cli->args.words[0], "get"))
        return CLI_DONE;
    if (text_empty(run))
        return cli_usage(cli, "there is no $DROVER_RUN_ID: the git of agents asks, inside their "
                              "sandbox");
    struct git_login login = read_login(cli);
    if (login.protocol == NULL || login.host == NULL || login.path == NULL)
        return CLI_DONE; /* Without credential.useHttpPath git does not say which repository. */
    enum rc rc = ask_server(cli, run, &login, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("username=%s\npassword=%s\n", js_get_str(answer.tree, "username", ""),
                 js_get_str(answer.tree, "password", ""));
    return CLI_DONE;
}

const struct cli_command cli_credential_commands[] = {
    {"credential", "git's credential helper for agents, in their sandbox", "get | store | erase",
     NULL, "git -c credential.helper='!drover credential' fetch", NULL, 1, 1, CLI_REMOTE,
     run_credential},
    {0},
};
