#include "bench/origin.h"
#include "base/proc.h"
#include "bench/client.h"

enum { REQUEST_BYTES_MAX = 16 * 1024, ANSWER_MS = 10000, GIT_MS = 30000 };

static const char make_origin[] =
    "set -e; git init -q --bare --initial-branch=main \"$1\"; "
    "blob=$(echo 41 | git -C \"$1\" hash-object -w --stdin); "
    "tree=$(printf '100644 blob %s\\tanswer.txt\\n' \"$blob\" | git -C \"$1\" mktree); "
    "commit=$(git -C \"$1\" -c user.name=bench -c user.email=bench@localhost commit-tree -m one "
    "\"$tree\"); git -C \"$1\" update-ref refs/heads/main \"$commit\"";

void origin_make(const char *path)
{
    const char *const argv[] = {"/bin/sh", "-c", make_origin, "sh", path, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.timeout_ms = GIT_MS};
    struct proc_result result;
    struct err err = {0};
    bench_must(proc_run(&spec, (struct str){0}, NULL, NULL, &limits, &result, &err), &err, "git");
    if (result.exit.code != 0)
        bench_die("git cannot make %s", path);
}

static void on_answer(struct client_conn *conn, const struct client_answer *answer)
{
    if (answer->status < 200 || answer->status > 299)
        bench_die("the server says %d: %.*s", answer->status, (int)answer->body.len,
                  answer->body.at);
    *(bool *)client_owner(conn) = true;
}

void server_call(const struct server *server, const char *method, const char *path, struct str body)
{
    bool answered = false;
    CLEANUP(buf_release) struct buf request;
    buf_init(&request, REQUEST_BYTES_MAX);
    struct client *client = client_new(
        &(struct client_options){.port = server->port, .connections = 1, .answered = on_answer});
    struct client_conn *conn = client_conn(client, 0);
    client_set_owner(conn, &answered);
    request_write(&request, &(struct request_head){method, path, server->token}, body);
    client_send(conn, buf_str(&request));
    while (!answered)
        client_poll(client, ANSWER_MS);
    client_free(client);
}
