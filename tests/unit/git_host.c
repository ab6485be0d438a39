#include "tests/unit/git_host.h"
#include "base/proc.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Of x-access-token and of me, each with GIT_HOST_TOKEN. */
static const char *const known[] = {
    "Authorization: Basic eC1hY2Nlc3MtdG9rZW46dDBrZW4tb2YtdGhlLWZvcmdl\r\n",
    "Authorization: Basic bWU6dDBrZW4tb2YtdGhlLWZvcmdl\r\n",
};

/* The value of a header, or "". */
static const char *header(const char *request, const char *name, struct arena *arena)
{
    const char *found = strcasestr(request, arena_printf(arena, "\r\n%s: ", name));
    if (found == NULL)
        return "";
    found += strlen(name) + strlen("\r\n: ");
    return arena_strndup(arena, found, strcspn(found, "\r"));
}

static bool is_known(const char *request)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strstr(request, known[i]) != NULL)
            return true;
    return false;
}

static void send_bytes(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.at, bytes.len, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes = (struct str){bytes.at + sent, bytes.len - (size_t)sent};
    }
}

/* What the program answers, with a first line and its length. */
static void pass_on(int fd, const struct buf *said, struct arena *arena)
{
    const char *body = strstr(buf_text(said), "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    size_t head = (size_t)(body - buf_text(said)) + 4;
    tiny_send(fd,
              arena_printf(arena, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n", said->len - head));
    send_bytes(fd, buf_str(said));
}

static void run_backend(struct git_host *host, const char *request, int fd, struct arena *arena)
{
    size_t method = strcspn(request, " ");
    const char *path = request + method + 1;
    size_t path_len = strcspn(path, "? ");
    const char *query = path[path_len] == '?' ? path + path_len + 1 : "";
    const char *length = header(request, "Content-Length", arena);
    const char *body = strstr(request, "\r\n\r\n") + 4;
    const char *const argv[] = {"git", "http-backend", NULL};
    const char *const env[] = {
        arena_printf(arena, "PATH=%s", getenv("PATH")),
        arena_printf(arena, "GIT_PROJECT_ROOT=%s", host->kit->dir),
        arena_printf(arena, "REQUEST_METHOD=%.*s", (int)method, request),
        arena_printf(arena, "PATH_INFO=%.*s", (int)path_len, path),
        arena_printf(arena, "QUERY_STRING=%.*s", (int)strcspn(query, " "), query),
        arena_printf(arena, "CONTENT_TYPE=%s", header(request, "Content-Type", arena)),
        arena_printf(arena, "CONTENT_LENGTH=%s", length),
        arena_printf(arena, "HTTP_CONTENT_ENCODING=%s", header(request, "Content-Encoding", arena)),
        arena_printf(arena, "GIT_PROTOCOL=%s", header(request, "Git-Protocol", arena)),
        "GIT_HTTP_EXPORT_ALL=1",
        "REMOTE_USER=me",
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_CONFIG_GLOBAL=/dev/null",
        NULL,
    };
    const struct proc_spec spec = {.argv = argv, .env = env};
    struct proc_result result;
    CLEANUP(buf_release) struct buf said;
    buf_init(&said, 16 * 1024 * 1024);
    struct str input = {body, (size_t)strtoul(length, NULL, 10)};
    ck_assert_int_eq(proc_run(&spec, input, &said, NULL, NULL, &result, NULL), RC_OK);
    pass_on(fd, &said, arena);
}

static bool handle(void *ctx, const char *request, int fd)
{
    struct git_host *host = ctx;
    CLEANUP(arena_release) struct arena arena = {0};
    const char *elsewhere = atomic_load(&host->elsewhere);
    if (elsewhere != NULL) {
        const char *path = strchr(request, ' ') + 1;
        tiny_send(fd, arena_printf(&arena,
                                   "HTTP/1.1 302 Found\r\nLocation: %s%.*s\r\n"
                                   "Content-Length: 0\r\n\r\n",
                                   elsewhere, (int)strcspn(path, " "), path));
        return true;
    }
    if (is_known(request)) {
        atomic_fetch_add(&host->let_in, 1);
        run_backend(host, request, fd, &arena);
        return true;
    }
    atomic_fetch_add(
        strstr(request, "Authorization:") != NULL ? &host->strangers : &host->turned_away, 1);
    tiny_send(fd, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\n"
                  "Content-Length: 0\r\n\r\n");
    return true;
}

void git_host_start(struct git_host *host, struct kit *kit)
{
    *host = (struct git_host){.kit = kit};
    host->server = tiny_server_start(handle, host);
}

void git_host_stop(struct git_host *host)
{
    tiny_server_stop(host->server);
}

const char *git_host_url(struct git_host *host, const char *name)
{
    return arena_printf(&host->kit->arena, "%s/%s", tiny_server_url(host->server), name);
}
