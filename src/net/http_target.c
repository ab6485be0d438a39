#include "net/http_target.h"
#include "base/mem.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    TIMEOUT_MS = 30000,
    CONNECT_TIMEOUT_MS = 5000,
    PATH_BYTES_MAX = 16 * 1024,
    TOKEN_BYTES_MAX = 4096
};

/* A line break in a header would start another one. */
static bool header_value_safe(const char *value)
{
    for (; *value != '\0'; value++) {
        if ((unsigned char)*value < ' ' || *value == '\x7f')
            return false;
    }
    return true;
}

enum rc http_target_init(struct http_target *target, const struct http_client_options *options,
                         struct err *err)
{
    struct url url;
    enum rc rc = url_parse(options->url, &url, err);
    if (rc != RC_OK)
        return rc;
    const char *token = options->token;
    if (token != NULL && (!header_value_safe(token) || strlen(token) > TOKEN_BYTES_MAX))
        return err_set(err, RC_MALFORMED, "INVALID_TOKEN", "the token holds odd characters");
    rc = curl_lib_load(err);
    if (rc != RC_OK)
        return rc;
    *target = (struct http_target){
        .timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_MS,
        .connect_timeout_ms = options->connect_timeout_ms > 0 ? options->connect_timeout_ms
                                                              : CONNECT_TIMEOUT_MS,
        .loopback = options->socket_path != NULL || url_is_loopback(&url),
    };
    (void)url_format(target->url, &url);
    if (options->socket_path != NULL)
        target->socket_path = mem_strdup(options->socket_path);
    if (token != NULL) {
        const char *auth = options->auth != NULL ? options->auth : "Authorization: Bearer ";
        size_t room = strlen(auth) + strlen(token) + 1;
        target->authorization = mem_alloc(room);
        (void)snprintf(target->authorization, room, "%s%s", auth, token);
    }
    return RC_OK;
}

void http_target_release(struct http_target *target)
{
    if (target->authorization != NULL)
        explicit_bzero(target->authorization, strlen(target->authorization));
    mem_free(target->authorization);
    mem_free(target->socket_path);
    *target = (struct http_target){0};
}

void http_lines_add(struct curl_slist **lines, const char *line)
{
    struct curl_slist *longer = curl->slist_append(*lines, line);
    assert(longer != NULL); /* Out of memory. */
    *lines = longer;
}

bool http_fields_name(const struct http_field *fields, const char *name)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        if (strcasecmp(fields->name, name) == 0)
            return true;
    }
    return false;
}

static enum rc add_headers(const struct http_target *target, const struct http_setup *setup,
                           struct err *err)
{
    if (target->authorization != NULL)
        http_lines_add(setup->lines, target->authorization);
    http_lines_add(setup->lines, "Expect:"); /* No round trip before a large body. */
    const struct http_field *each = setup->headers;
    for (; each != NULL && each->name != NULL; each++) {
        if (!header_value_safe(each->value))
            return err_set(err, RC_MALFORMED, "INVALID_HEADER",
                           "%s may not hold line breaks or control characters", each->name);
        CLEANUP(buf_release) struct buf line;
        buf_init(&line, PATH_BYTES_MAX);
        buf_addf(&line, "%s: %s", each->name, each->value);
        if (line.overflow)
            return err_set(err, RC_TOO_LARGE, "INVALID_HEADER", "%s is too long", each->name);
        http_lines_add(setup->lines, buf_text(&line));
    }
    return RC_OK;
}

enum rc http_target_prepare(const struct http_target *target, const struct http_setup *setup,
                            struct err *err)
{
    CURL *easy = setup->easy;
    CLEANUP(buf_release) struct buf url;
    buf_init(&url, PATH_BYTES_MAX);
    buf_addf(&url, "%s%s", target->url, setup->path);
    if (url.overflow)
        return err_set(err, RC_TOO_LARGE, "PATH_TOO_LONG", "the request's path is too long");
    enum rc rc = add_headers(target, setup, err);
    if (rc != RC_OK)
        return rc;
    curl->easy_reset(easy);
    setup->curl_error[0] = '\0';
    curl->easy_setopt(easy, CURLOPT_URL, buf_text(&url)); /* libcurl keeps a copy. */
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_HTTPHEADER, *setup->lines);
    curl->easy_setopt(easy, CURLOPT_USERAGENT, "drover/" DROVER_VERSION);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, setup->curl_error);
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)target->connect_timeout_ms);
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (target->socket_path != NULL)
        curl->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, target->socket_path);
    if (target->loopback) /* A proxy of the environment must not see the token. */
        curl->easy_setopt(easy, CURLOPT_PROXY, "");
    return RC_OK;
}

static size_t give_once(char *to, size_t each, size_t count, void *ctx)
{
    struct http_once *once = ctx;
    size_t left = once->body.len - once->at;
    size_t len = each * count < left ? each * count : left;
    memcpy(to, once->body.at + once->at, len);
    once->at += len;
    return len;
}

static int refuse_rewind(void *ctx, curl_off_t offset, int origin)
{
    const struct http_once *once = ctx;
    bool untouched = origin == SEEK_SET && offset == 0 && once->at == 0;
    return untouched ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

void http_once_set(CURL *easy, struct http_once *once)
{
    curl->easy_setopt(easy, CURLOPT_POST, 1L);
    curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)once->body.len);
    curl->easy_setopt(easy, CURLOPT_READFUNCTION, give_once);
    curl->easy_setopt(easy, CURLOPT_READDATA, once);
    curl->easy_setopt(easy, CURLOPT_SEEKFUNCTION, refuse_rewind);
    curl->easy_setopt(easy, CURLOPT_SEEKDATA, once);
}

int http_status_of(CURL *easy)
{
    long status = 0;
    curl->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

enum rc http_fall_decode(const struct http_fall *fall, struct err *err)
{
    CURLcode code = fall->code;
    char room[128];
    long os_errno = 0;
    curl_off_t connect_us = 0;
    curl->easy_getinfo(fall->easy, CURLINFO_OS_ERRNO, &os_errno);
    curl->easy_getinfo(fall->easy, CURLINFO_CONNECT_TIME_T, &connect_us);
    if (code == CURLE_OPERATION_TIMEDOUT && connect_us > 0)
        return err_set(err, RC_TIMEOUT, "SERVER_TIMEOUT", "%s did not answer in time", fall->url);
    if (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
        code == CURLE_PARTIAL_FILE || code == CURLE_SEND_FAIL_REWIND)
        return err_set(err, RC_UNREACHABLE, "CONNECTION_BROKEN", "the connection to %s broke",
                       fall->url);
    const char *why = fall->curl_error[0] != '\0' ? fall->curl_error : curl->easy_strerror(code);
    if (code == CURLE_COULDNT_CONNECT && os_errno != 0)
        why = strerror_r((int)os_errno, room, sizeof room);
    return err_set(err, RC_UNREACHABLE, "SERVER_UNREACHABLE", "cannot reach %s: %s", fall->url,
                   why);
}
