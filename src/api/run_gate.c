#include "api/run_gate.h"
#include "core/http/head.h"
#include <string.h>
#include <strings.h>

#define REFUSED_CODE "SOCKET_FOR_RUNS"
#define REFUSED_TEXT                                                                     \
    "this socket is for agents and takes their own token ($DROVER_TOKEN) only; use the " \
    "server's address with any other token"

static const struct http_head_limits limits = {
    .bytes_max = 12 * 1024, .target_max = 8 * 1024, .fields_max = 100};

enum rc run_gate_check(const struct identity *identity, struct err *err)
{
    if (identity->role == ROLE_AGENT || auth_bound_agent(identity) != NULL)
        return RC_OK;
    return err_set(err, RC_DENIED, REFUSED_CODE, REFUSED_TEXT);
}

static void refuse(struct buf *to, const char *status, const char *code, const char *text)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1024);
    buf_addf(&body, "{\"status\":%.3s,\"code\":\"%s\",\"detail\":\"%s\"}\n", status, code, text);
    buf_addf(to,
             "HTTP/1.1 %s\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n%s",
             status, body.len, buf_text(&body));
}

static bool is_field(struct str line, const char *name)
{
    size_t len = strlen(name);
    return line.len > len && line.at[len] == ':' && strncasecmp(line.at, name, len) == 0;
}

bool run_gate_admit(struct str head, struct buf *to)
{
    struct http_head parsed = {0};
    struct err err = {0};
    if (http_head_parse(head, &limits, &parsed, &err) != 0) {
        refuse(to, "400 Bad Request", "MALFORMED", "the head of the request cannot be read");
        return false;
    }
    if (parsed.authorization.len > 0 && !auth_is_of_agent(parsed.authorization)) {
        refuse(to, "403 Forbidden", REFUSED_CODE, REFUSED_TEXT);
        return false;
    }
    for (struct str rest = head; rest.len > 0;) {
        const char *end = memmem(rest.at, rest.len, "\r\n", 2);
        size_t len = end != NULL ? (size_t)(end - rest.at) + 2 : rest.len;
        struct str line = {rest.at, len};
        if (len == 2)
            buf_adds(to, "Connection: close\r\n");
        if (!is_field(line, "Connection") && !is_field(line, "Keep-Alive"))
            buf_add(to, line.at, line.len);
        rest = (struct str){rest.at + len, rest.len - len};
    }
    return !to->overflow;
}
