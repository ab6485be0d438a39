/*
 * http_head.c - reads the head of a request line by line and refuses what RFC 9112 does not allow.
 */
#include "edge/http_head.h"
#include <assert.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_DIGITS_MAX = 18 };

static const char *const method_names[HTTP_METHOD_COUNT] = {
    [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",
    [HTTP_PUT] = "PUT",         [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH",
    [HTTP_OPTIONS] = "OPTIONS", [HTTP_TRACE] = "TRACE",
};

/* What has been seen so far of the fields that may come once only. */
struct seen {
    bool host, length, encoding, authorization;
};

const char *http_method_name(enum http_method method)
{
    assert(method < HTTP_METHOD_COUNT);
    return method_names[method];
}

static int refuse(struct err *err, int status, const char *code, const char *text)
{
    (void)err_set(err, RC_MALFORMED, code, "%s", text);
    return status;
}

size_t http_head_length(struct str bytes)
{
    const char *end = bytes.len ? memmem(bytes.at, bytes.len, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - bytes.at) + 4 : 0;
}

/* Takes one line off the front, without its CRLF. */
static bool take_line(struct str *rest, struct str *ret_line)
{
    const char *end = memmem(rest->at, rest->len, "\r\n", 2);
    if (!end)
        return false;
    *ret_line = (struct str){rest->at, (size_t)(end - rest->at)};
    rest->at += ret_line->len + 2;
    rest->len -= ret_line->len + 2;
    return true;
}

static bool is_token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int parse_method(struct str text, struct http_head *head, struct err *err)
{
    for (int i = 0; i < HTTP_METHOD_COUNT; i++) {
        if (str_is(text, method_names[i])) {
            head->method = (enum http_method)i;
            return 0;
        }
    }
    return refuse(err, 501, "UNKNOWN_METHOD", "the request's method is not known");
}

static int parse_target(struct str text, const struct http_head_limits *limits,
                        struct http_head *head, struct err *err)
{
    if (text.len > limits->target_max)
        return refuse(err, 414, "URI_TOO_LONG", "the request's target is too long");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= ' ' || c >= 0x7f)
            return refuse(err, 400, "MALFORMED_REQUEST",
                          "the request's target holds bytes that must be percent-encoded");
    }
    bool absolute = text.len > 7 && strncasecmp(text.at, "http://", 7) == 0;
    if (text.len == 0 || (text.at[0] != '/' && !absolute && !str_is(text, "*")))
        return refuse(err, 400, "MALFORMED_REQUEST",
                      "the request's target must start with a slash");
    head->target = text;
    return 0;
}

static int parse_request_line(struct str line, const struct http_head_limits *limits,
                              struct http_head *head, struct err *err)
{
    const char *first = memchr(line.at, ' ', line.len);
    const char *last = memrchr(line.at, ' ', line.len);
    if (!first || first == last)
        return refuse(err, 400, "MALFORMED_REQUEST",
                      "the request line must be: method, target, version");
    struct str version = {last + 1, line.len - (size_t)(last + 1 - line.at)};
    if (!str_is(version, "HTTP/1.1") && !str_is(version, "HTTP/1.0"))
        return refuse(err, 505, "UNKNOWN_HTTP_VERSION", "only HTTP/1.1 and HTTP/1.0 are spoken");
    int status = parse_method((struct str){line.at, (size_t)(first - line.at)}, head, err);
    if (status)
        return status;
    return parse_target((struct str){first + 1, (size_t)(last - first - 1)}, limits, head, err);
}

static int once(bool *seen, struct err *err, const char *text)
{
    if (*seen)
        return refuse(err, 400, "REPEATED_HEADER", text);
    *seen = true;
    return 0;
}

static int parse_length(struct str value, struct http_head *head, struct err *err)
{
    if (value.len == 0 || value.len > LENGTH_DIGITS_MAX)
        return refuse(err, 400, "MALFORMED_HEADER", "Content-Length must be a plain number");
    int64_t number = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return refuse(err, 400, "MALFORMED_HEADER", "Content-Length must be a plain number");
        number = number * 10 + (value.at[i] - '0');
    }
    head->content_length = number;
    return 0;
}

static bool name_is(struct str name, const char *text)
{
    return name.len == strlen(text) && strncasecmp(name.at, text, name.len) == 0;
}

/* The fields that decide where the request ends and who sends it. */
static int note_field(struct str name, struct str value, struct seen *seen, struct http_head *head,
                      struct err *err)
{
    int status = 0;
    if (name_is(name, "Content-Length")) {
        status = once(&seen->length, err, "Content-Length may be given once only");
        return status ? status : parse_length(value, head, err);
    }
    if (name_is(name, "Transfer-Encoding")) {
        status = once(&seen->encoding, err, "Transfer-Encoding may be given once only");
        if (status)
            return status;
        if (!name_is(value, "chunked"))
            return refuse(err, 501, "UNKNOWN_TRANSFER_ENCODING",
                          "the only Transfer-Encoding that is known is chunked");
        head->chunked = true;
    } else if (name_is(name, "Expect") && !name_is(value, "100-continue")) {
        status = refuse(err, 417, "UNKNOWN_EXPECTATION", "the only Expect is 100-continue");
    } else if (name_is(name, "Host")) {
        status = once(&seen->host, err, "Host may be given once only");
    } else if (name_is(name, "Authorization")) {
        status = once(&seen->authorization, err, "Authorization may be given once only");
        head->authorization = value;
    }
    return status;
}

static struct str trim(struct str text)
{
    while (text.len && (text.at[0] == ' ' || text.at[0] == '\t')) {
        text.at++;
        text.len--;
    }
    while (text.len && (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == '\t'))
        text.len--;
    return text;
}

static int parse_field(struct str line, struct seen *seen, struct http_head *head, struct err *err)
{
    if (line.at[0] == ' ' || line.at[0] == '\t')
        return refuse(err, 400, "MALFORMED_HEADER", "a header must not be folded over lines");
    size_t name_len = 0;
    while (name_len < line.len && is_token_char((unsigned char)line.at[name_len]))
        name_len++;
    if (name_len == 0 || name_len == line.len || line.at[name_len] != ':')
        return refuse(err, 400, "MALFORMED_HEADER",
                      "a header must be a name, a colon right behind it, and a value");
    struct str value = trim((struct str){line.at + name_len + 1, line.len - name_len - 1});
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.at[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return refuse(err, 400, "MALFORMED_HEADER", "a header holds a control character");
    }
    return note_field((struct str){line.at, name_len}, value, seen, head, err);
}

static int check_framing(const struct http_head *head, const struct seen *seen, bool is_1_1,
                         struct err *err)
{
    if (head->chunked && seen->length)
        return refuse(err, 400, "MALFORMED_HEADER",
                      "Content-Length and Transfer-Encoding exclude each other");
    if (head->chunked && !is_1_1)
        return refuse(err, 400, "MALFORMED_HEADER", "HTTP/1.0 has no Transfer-Encoding");
    if (is_1_1 && !seen->host)
        return refuse(err, 400, "MALFORMED_HEADER", "HTTP/1.1 needs a Host header");
    return 0;
}

int http_head_parse(struct str head, const struct http_head_limits *limits,
                    struct http_head *ret_head, struct err *err)
{
    assert(http_head_length(head) == head.len);
    if (head.len > limits->bytes_max)
        return refuse(err, 431, "HEADERS_TOO_LARGE", "the request's headers are too large");
    struct http_head found = {.content_length = -1};
    struct seen seen = {0};
    struct str rest = head, line = {0};
    if (!take_line(&rest, &line))
        return refuse(err, 400, "MALFORMED_REQUEST", "there is no request line");
    bool is_1_1 = line.len > 3 && memcmp(line.at + line.len - 3, "1.1", 3) == 0;
    int status = parse_request_line(line, limits, &found, err);
    size_t fields = 0;
    while (!status && take_line(&rest, &line) && line.len) {
        if (++fields > limits->fields_max)
            return refuse(err, 431, "TOO_MANY_HEADERS", "the request has too many headers");
        status = parse_field(line, &seen, &found, err);
    }
    if (!status)
        status = check_framing(&found, &seen, is_1_1, err);
    if (!status)
        *ret_head = found;
    return status;
}
