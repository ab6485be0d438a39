#include "tests/unit/api_script.h"
#include "base/buf.h"
#include "base/mem.h"
#include "tests/unit/tiny_server.h"
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STEPS_MAX = 64, WRONG_BYTES = 4096, ANSWER_BYTES_MAX = 8 * 1024 * 1024 };

struct api_script {
    struct tiny_server *server;
    struct script_step steps[STEPS_MAX];
    size_t count;
    pthread_mutex_t lock;
    size_t at;
    char wrong[WRONG_BYTES]; /* The first thing. */
    atomic_bool stopping;
};

static void tell(struct api_script *script, const char *what, const char *wanted,
                 const char *request)
{
    if (script->wrong[0] == '\0')
        (void)snprintf(script->wrong, sizeof script->wrong, "request %zu %s: %s\n---\n%.2500s",
                       script->at, what, wanted, request);
}

static void compare(struct api_script *script, const struct script_step *step, const char *request)
{
    if (strncmp(request, step->request, strlen(step->request)) != 0)
        tell(script, "is not", step->request, request);
    for (size_t i = 0; i < COUNT_OF(step->has) && step->has[i] != NULL; i++) {
        if (strstr(request, step->has[i]) == NULL)
            tell(script, "lacks", step->has[i], request);
    }
    if (step->lacks != NULL && strstr(request, step->lacks) != NULL)
        tell(script, "has", step->lacks, request);
}

/* The text with {base} replaced. */
static void add_headers(struct buf *to, const char *headers, const char *base)
{
    for (const char *mark; (mark = strstr(headers, "{base}")) != NULL;) {
        buf_add(to, headers, (size_t)(mark - headers));
        buf_adds(to, base);
        headers = mark + strlen("{base}");
    }
    buf_adds(to, headers);
}

static void answer(const struct api_script *script, const struct script_step *step, int fd)
{
    CLEANUP(buf_release) struct buf text;
    const char *body = step->body != NULL ? step->body : "";
    buf_init(&text, ANSWER_BYTES_MAX);
    buf_addf(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n",
             step->status != NULL ? step->status : "200 OK", strlen(body));
    if (step->headers == NULL || strstr(step->headers, "Content-Type") == NULL)
        buf_adds(&text, "Content-Type: application/json; charset=utf-8\r\n");
    if (step->headers != NULL)
        add_headers(&text, step->headers, tiny_server_url(script->server));
    buf_adds(&text, "\r\n");
    size_t len = strlen(body);
    buf_add(&text, body, step->how == SCRIPT_CUT ? len / 2 : len);
    tiny_send(fd, buf_text(&text));
}

static bool handle(void *ctx, const char *request, int fd)
{
    struct api_script *script = ctx;
    pthread_mutex_lock(&script->lock);
    const struct script_step *step = script->at < script->count ? &script->steps[script->at] : NULL;
    if (step == NULL)
        tell(script, "is one too many", "", request);
    else
        compare(script, step, request);
    script->at++;
    pthread_mutex_unlock(&script->lock);
    if (step == NULL || step->how == SCRIPT_DROP)
        return false;
    while (step->how == SCRIPT_HANG && !atomic_load(&script->stopping))
        (void)usleep(10 * 1000);
    if (step->how != SCRIPT_HANG)
        answer(script, step, fd);
    return step->how == SCRIPT_WHOLE;
}

struct api_script *api_script_start(const struct script_step *steps, size_t count)
{
    struct api_script *script = mem_alloc(sizeof *script);
    ck_assert_uint_le(count, STEPS_MAX);
    for (size_t i = 0; i < count; i++)
        script->steps[i] = steps[i];
    script->count = count;
    pthread_mutex_init(&script->lock, NULL);
    script->server = tiny_server_start(handle, script);
    return script;
}

const char *api_script_url(const struct api_script *script)
{
    return tiny_server_url(script->server);
}

int api_script_connections(const struct api_script *script)
{
    return tiny_server_connections(script->server);
}

void api_script_done(struct api_script *script)
{
    atomic_store(&script->stopping, true);
    tiny_server_stop(script->server);
    ck_assert_msg(script->wrong[0] == '\0', "%s", script->wrong);
    ck_assert_msg(script->at == script->count, "%zu requests came, not %zu; next: %s", script->at,
                  script->count,
                  script->at < script->count ? script->steps[script->at].request : "");
    pthread_mutex_destroy(&script->lock);
    mem_free(script);
}
