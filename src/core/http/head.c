#include "core/http/head.h"
#include <assert.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_DIGITS_MAX = 18 };

#define SCHEME "http://"

static const char *const method_names[HTTP_METHOD_COUNT] = {
    [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",
    [HTTP_PUT] = "PUT",         [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH",
    [HTTP_OPTIONS] = "OPTIONS", [HTTP_TRACE] = "TRACE",
};

/* What has been read so far of the fields that may occur once only. */
struct seen {
    bool host, length, encoding, authorization;
    bool keep_alive, close; /* Options of Connection. */
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

/* ---- Where it ends ---- */

int http_scan(struct http_scan *scan, struct str bytes, size_t *ret_length, struct err *err)
{
    const char *feed;
    *ret_length = 0;
    while (scan->at < bytes.len &&
           (feed = memchr(bytes.at + scan->at, '\n', bytes.len - scan->at)) != NULL) {
        size_t end = (size_t)(feed - bytes.at);
        if (end == scan->line || bytes.at[end - 1] != '\r')
            return refuse(err, 400, "MALFORMED_REQUEST",
                          "lines of a request's head must end in CR LF");
        bool empty = end - scan->line == 1;
        scan->at = scan->line = end + 1;
        if (empty) {
            *ret_length = end + 1;
            return 0;
        }
    }
    scan->at = bytes.len;
    return 0;
}

/* Takes one line off the front, without its CRLF. */
static bool take_line(struct str *rest, struct str *ret_line)
{
    const char *end = memmem(rest->at, rest->len, "\r\n", 2);
    if (end == NULL)
        return false;
    *ret_line = (struct str){rest->at, (size_t)(end - rest->at)};
    rest->at += ret_line->len + 2;
    rest->len -= ret_line->len + 2;
    return true;
}

/* ---- Words ---- */

bool http_is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!http_is_token((unsigned char)text.at[i]))
            return false;
    }
    return text.len > 0;
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

static bool http_name_same(struct str a, struct str b)
{
    return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

bool http_name_is(struct str name, const char *wanted)
{
    return http_name_same(name, str_of(wanted));
}

/* Takes the part before the next comma off the front. */
static struct str take_item(struct str *list)
{
    const char *comma = memchr(list->at, ',', list->len);
    size_t len = comma != NULL ? (size_t)(comma - list->at) : list->len;
    struct str item = trim((struct str){list->at, len});
    size_t used = comma != NULL ? len + 1 : len;
    *list = (struct str){list->at + used, list->len - used};
    return item;
}

bool http_list_has(struct str value, struct str word)
{
    while (value.len > 0) {
        if (http_name_same(take_item(&value), word))
            return true;
    }
    return false;
}

bool http_head_next(struct str *fields, struct http_head_field *ret_field)
{
    const char *start = fields->at;
    struct str line;
    if (fields->len == 0 || !take_line(fields, &line))
        return false;
    const char *colon = memchr(line.at, ':', line.len);
    assert(colon != NULL); /* The head was parsed. */
    size_t name_len = (size_t)(colon - line.at);
    *ret_field = (struct http_head_field){
        .line = {start, line.len + 2},
        .name = {line.at, name_len},
        .value = trim((struct str){colon + 1, line.len - name_len - 1}),
    };
    return true;
}

/* ---- The first line ---- */

static int parse_request_line(struct str line, const struct http_head_limits *limits,
                              struct http_head *head, struct err *err)
{
    const char *first = memchr(line.at, ' ', line.len);
    const char *last = memrchr(line.at, ' ', line.len);
    if (first == NULL || first == last)
        return refuse(err, 400, "MALFORMED_REQUEST",
                      "the request line must be: method, target, version");
    struct str version = {last + 1, line.len - (size_t)(last + 1 - line.at)};
    head->is_1_1 = str_is(version, "HTTP/1.1");
    if (!head->is_1_1 && !str_is(version, "HTTP/1.0"))
        return refuse(err, 505, "UNKNOWN_HTTP_VERSION", "only HTTP/1.1 and HTTP/1.0 are spoken");
    head->verb = (struct str){line.at, (size_t)(first - line.at)};
    head->target = (struct str){first + 1, (size_t)(last - first - 1)};
    if (!is_token(head->verb))
        return refuse(err, 400, "MALFORMED_REQUEST", "the request's method is not a word");
    if (head->target.len > limits->target_max)
        return refuse(err, 414, "URI_TOO_LONG", "the request's target is too long");
    for (size_t i = 0; i < head->target.len; i++) {
        unsigned char c = (unsigned char)head->target.at[i];
        if (c <= ' ' || c >= 0x7f || c == '#')
            return refuse(err, 400, "MALFORMED_REQUEST",
                          "the request's target holds bytes that must be percent-encoded");
    }
    return 0;
}

static int parse_method(struct http_head *head, struct err *err)
{
    for (int i = 0; i < HTTP_METHOD_COUNT; i++) {
        if (str_is(head->verb, method_names[i])) {
            head->method = (enum http_method)i;
            return 0;
        }
    }
    return refuse(err, 501, "UNKNOWN_METHOD", "the request's method is not known");
}

static void split_query(struct str text, struct http_head *head)
{
    const char *mark = text.len ? memchr(text.at, '?', text.len) : NULL;
    head->path = text;
    if (mark == NULL)
        return;
    head->path.len = (size_t)(mark - text.at);
    head->query = (struct str){mark + 1, text.len - head->path.len - 1};
}

/* http://host/path.  The host must be the one of the Host field: a proxy may use either. */
static int parse_absolute(struct http_head *head, struct err *err)
{
    size_t skip = sizeof SCHEME - 1, len = 0;
    struct str rest = {head->target.at + skip, head->target.len - skip};
    while (len < rest.len && rest.at[len] != '/' && rest.at[len] != '?')
        len++;
    struct str host = {rest.at, len};
    bool same = http_name_same(host, head->host);
    if (host.len == 0 || (!same && (head->is_1_1 || head->host.len > 0)))
        return refuse(err, 400, "MALFORMED_REQUEST",
                      "the target and the Host header name different hosts");
    split_query((struct str){rest.at + len, rest.len - len}, head);
    if (head->path.len == 0)
        head->path = STR("/");
    return 0;
}

static int parse_target(struct http_head *head, struct err *err)
{
    struct str target = head->target;
    size_t skip = sizeof SCHEME - 1;
    if (target.len > skip && strncasecmp(target.at, SCHEME, skip) == 0)
        return parse_absolute(head, err);
    bool all = str_is(target, "*") && head->method == HTTP_OPTIONS;
    if (!all && (target.len == 0 || target.at[0] != '/'))
        return refuse(err, 400, "MALFORMED_REQUEST",
                      "the request's target must start with a slash");
    split_query(target, head);
    return 0;
}

/* ---- Fields ---- */

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

/* RFC 9112, 6.3: unless chunked is the last coding, the end of the body is not known. */
static int parse_encoding(struct str value, struct http_head *head, struct err *err)
{
    if (http_name_is(value, "chunked")) {
        head->chunked = true;
        return 0;
    }
    struct str item = {0};
    int chunked = 0;
    while (value.len > 0) {
        item = take_item(&value);
        chunked += http_name_is(item, "chunked");
    }
    if (chunked == 1 && http_name_is(item, "chunked"))
        return refuse(err, 501, "UNKNOWN_TRANSFER_ENCODING",
                      "the only Transfer-Encoding that is known is chunked");
    return refuse(err, 400, "MALFORMED_HEADER", "Transfer-Encoding must be chunked");
}

/* uri-host [":" port]; what a name or an address can hold, and nothing that ends an authority. */
static int parse_host(struct str value, struct http_head *head, struct err *err)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.at[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && strchr("-._~!$&'()*+;=%:[]", c) == NULL)
            return refuse(err, 400, "MALFORMED_HEADER", "Host must be a name and perhaps a port");
    }
    head->host = value;
    return 0;
}

/* The fields that decide where the request ends, whose it is, and what follows it. */
static int note_field(struct str name, struct str value, struct seen *seen, struct http_head *head,
                      struct err *err)
{
    int status = 0;
    if (http_name_is(name, "Content-Length")) {
        status = once(&seen->length, err, "Content-Length may be given once only");
        return status ? status : parse_length(value, head, err);
    }
    if (http_name_is(name, "Transfer-Encoding")) {
        status = once(&seen->encoding, err, "Transfer-Encoding may be given once only");
        return status ? status : parse_encoding(value, head, err);
    }
    if (http_name_is(name, "Host")) {
        status = once(&seen->host, err, "Host may be given once only");
        return status ? status : parse_host(value, head, err);
    }
    if (http_name_is(name, "Authorization")) {
        head->authorization = value;
        return once(&seen->authorization, err, "Authorization may be given once only");
    }
    if (http_name_is(name, "Connection")) {
        seen->close |= http_list_has(value, STR("close"));
        seen->keep_alive |= http_list_has(value, STR("keep-alive"));
    } else if (http_name_is(name, "Expect") && head->is_1_1) {
        head->expects_continue = http_name_is(value, "100-continue");
        if (!head->expects_continue)
            status = refuse(err, 417, "UNKNOWN_EXPECTATION", "the only Expect is 100-continue");
    }
    return status;
}

static int parse_field(struct str line, struct seen *seen, struct http_head *head, struct err *err)
{
    if (line.at[0] == ' ' || line.at[0] == '\t')
        return refuse(err, 400, "MALFORMED_HEADER", "a header must not be folded over lines");
    size_t name_len = 0;
    while (name_len < line.len && http_is_token((unsigned char)line.at[name_len]))
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

static int check_framing(const struct http_head *head, const struct seen *seen, struct err *err)
{
    if (head->chunked && seen->length)
        return refuse(err, 400, "MALFORMED_HEADER",
                      "Content-Length and Transfer-Encoding exclude each other");
    if (head->chunked && !head->is_1_1)
        return refuse(err, 400, "MALFORMED_HEADER", "HTTP/1.0 has no Transfer-Encoding");
    if (head->is_1_1 && !seen->host)
        return refuse(err, 400, "MALFORMED_HEADER", "HTTP/1.1 needs a Host header");
    return 0;
}

/* ---- The whole ---- */

int http_head_split(struct str head, const struct http_head_limits *limits,
                    struct http_head *ret_head, struct err *err)
{
    if (head.len > limits->bytes_max)
        return refuse(err, 431, "HEADERS_TOO_LARGE", "the request's headers are too large");
    struct http_head found = {.content_length = -1};
    struct seen seen = {0};
    struct str rest = head, line = {0};
    if (!take_line(&rest, &line))
        return refuse(err, 400, "MALFORMED_REQUEST", "there is no request line");
    int status = parse_request_line(line, limits, &found, err);
    if (status)
        return status;
    found.fields = (struct str){rest.at, rest.len > 2 ? rest.len - 2 : 0};
    size_t fields = 0;
    while (!status && take_line(&rest, &line) && line.len) {
        if (++fields > limits->fields_max)
            return refuse(err, 431, "TOO_MANY_HEADERS", "the request has too many headers");
        status = parse_field(line, &seen, &found, err);
    }
    if (!status && (line.len > 0 || rest.len > 0))
        status = refuse(err, 400, "MALFORMED_REQUEST", "the head does not end at its empty line");
    if (!status)
        status = check_framing(&found, &seen, err);
    if (status)
        return status;
    found.closes = seen.close || (!found.is_1_1 && !seen.keep_alive);
    *ret_head = found;
    return 0;
}

int http_head_parse(struct str head, const struct http_head_limits *limits,
                    struct http_head *ret_head, struct err *err)
{
    struct http_head found;
    int status = http_head_split(head, limits, &found, err);
    if (!status)
        status = parse_method(&found, err);
    if (!status)
        status = parse_target(&found, err);
    if (!status)
        *ret_head = found;
    return status;
}
