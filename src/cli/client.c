#include "cli/client.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/input.h"
#include "cli/paths.h"
#include "net/url.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REASON_BYTES_MAX = 64 * 1024,
    ANSWER_BYTES_MAX = 64 * 1024 * 1024,
    PATH_BYTES_MAX = 8 * 1024,
    TOKEN_BYTES_MAX = 4096,
    SERVER_FILE_BYTES_MAX = 4096,
    HOST_BYTES = 64
};

/* The address of the server, and where it was found. */
struct place {
    const char *url;
    const char *dir; /* The data directory. */
    bool own;        /* Its server.json names it. */
    bool foreign;    /* admin.token must not go there. */
};

/* The url of DIR/server.json, or NULL. */
static const char *recorded_url(const char *dir, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, SERVER_FILE_BYTES_MAX);
    const char *path = arena_printf(arena, "%s/server.json", dir);
    if (file_read(path, &text, NULL) != RC_OK ||
        js_parse(text.data, text.len, &tree, NULL) != RC_OK)
        return NULL;
    return arena_strdup(arena, js_get_str(tree, "url", NULL));
}

static enum rc find_server(struct cli *cli, struct place *place, struct err *err)
{
    const char *data = args_text(&cli->args, "data", NULL);
    enum rc rc = cli_data_dir(data, &cli->arena, &place->dir, err);
    if (rc != RC_OK)
        return rc;
    place->url = cli->server_url != NULL ? cli->server_url : args_text(&cli->args, "server", NULL);
    if (place->url != NULL)
        return RC_OK;
    const char *recorded = recorded_url(place->dir, &cli->arena);
    const char *environment = getenv("DROVER_URL");
    place->own = recorded != NULL && (data != NULL || text_empty(environment));
    if (place->own)
        place->url = recorded;
    else
        place->url = text_empty(environment) ? CLI_DEFAULT_URL : environment;
    return RC_OK;
}

/* The first line of the file. */
static enum rc token_from(const char *path, struct arena *arena, const char **ret_token,
                          struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, TOKEN_BYTES_MAX);
    enum rc rc = file_read(path, &text, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_MALFORMED, "NO_SUCH_FILE", "there is no file %s", path);
    if (rc != RC_OK)
        return rc;
    *ret_token = arena_strndup(arena, buf_text(&text), strcspn(buf_text(&text), "\r\n"));
    explicit_bzero(text.data, text.len);
    return RC_OK;
}

static enum rc find_token(struct cli *cli, const struct place *place, const char **ret_token,
                          struct err *err)
{
    const char *file = args_text(&cli->args, "token-file", NULL);
    if (file != NULL)
        return token_from(file, &cli->arena, ret_token, err);
    const char *environment = getenv("DROVER_TOKEN");
    if (!text_empty(environment)) {
        *ret_token = environment;
        return RC_OK;
    }
    struct url url;
    if (place->foreign)
        return RC_OK;
    if (!place->own && (url_parse(place->url, &url, err) != RC_OK || !url_is_loopback(&url)))
        return RC_OK; /* Without one: the server refuses the call if it needs one. */
    file = arena_printf(&cli->arena, "%s/admin.token", place->dir);
    (void)!token_from(file, &cli->arena, ret_token, NULL);
    return RC_OK;
}

enum rc cli_token_for(struct cli *cli, const char *url, const char **ret_token, struct err *err)
{
    struct place place = {.url = url};
    const char *token = NULL;
    enum rc rc = cli_data_dir(NULL, &cli->arena, &place.dir, err);
    if (rc == RC_OK)
        rc = find_token(cli, &place, &token, err);
    if (rc == RC_OK)
        *ret_token = token;
    return rc;
}

enum rc cli_find_server(struct cli *cli, const char **ret_url, const char **ret_token,
                        struct err *err)
{
    struct place place = {0};
    const char *token = NULL;
    enum rc rc = find_server(cli, &place, err);
    if (rc == RC_OK)
        rc = find_token(cli, &place, &token, err);
    if (rc != RC_OK)
        return rc;
    *ret_url = place.url;
    *ret_token = token;
    return RC_OK;
}

/* An agent in a sandbox may have no network, but always the server's socket. */
static bool find_socket(struct cli *cli, const char **ret_path)
{
    if (cli->server_url != NULL || args_has(&cli->args, "server") || args_has(&cli->args, "data"))
        return false;
    *ret_path = getenv("DROVER_SOCKET");
    return !text_empty(*ret_path);
}

enum rc cli_find_target(struct cli *cli, struct http_client_options *ret_options, struct err *err)
{
    struct http_client_options options = {0};
    enum rc rc = RC_OK;
    if (find_socket(cli, &options.socket_path)) {
        options.url = "http://localhost";
        rc = find_token(cli, &(struct place){.url = options.url, .foreign = true}, &options.token,
                        err);
    } else {
        rc = cli_find_server(cli, &options.url, &options.token, err);
    }
    if (rc == RC_OK)
        *ret_options = options;
    return rc;
}

enum rc cli_connect(struct cli *cli, struct err *err)
{
    if (cli->client != NULL)
        return RC_OK;
    struct http_client_options options = {0};
    enum rc rc = cli_find_target(cli, &options, err);
    return rc == RC_OK ? http_client_new(&options, &cli->client, err) : rc;
}

const char *cli_own_name(struct arena *arena)
{
    char host[HOST_BYTES] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        text_copy(host, sizeof host, "worker");
    for (char *c = host; *c; c++) {
        if (!isalnum((unsigned char)*c) && strchr(".-", *c) == NULL)
            *c = '-';
    }
    return arena_printf(arena, "%s-%d", host, (int)getpid());
}

void cli_answer_release(struct cli_answer *answer)
{
    buf_release(&answer->body);
    js_free(answer->tree);
    answer->tree = NULL;
}

enum rc cli_call(struct cli *cli, const struct http_call *call, struct cli_answer *ret_answer,
                 struct err *err)
{
    enum rc rc = cli_connect(cli, err);
    if (rc != RC_OK)
        return rc;
    struct cli_answer answer = {0};
    struct http_reply head;
    struct http_call stoppable = *call;
    if (stoppable.stop == NULL)
        stoppable.stop = cli->stop;
    if (stoppable.timeout_ms == 0)
        stoppable.timeout_ms = cli->timeout_ms;
    buf_init(&answer.body, ANSWER_BYTES_MAX);
    rc = http_client_call(cli->client, &stoppable, &answer.body, &head, err);
    if (rc == RC_OK && answer.body.len > 0 &&
        js_parse(answer.body.data, answer.body.len, &answer.tree, NULL) != RC_OK)
        rc = err_set(err, RC_IO, "ODD_ANSWER", "%s does not answer with JSON: is it a drover?",
                     http_client_url(cli->client));
    if (rc == RC_OK)
        *ret_answer = answer;
    else
        cli_answer_release(&answer);
    return rc;
}

enum rc cli_get(struct cli *cli, const char *path, struct cli_answer *ret_answer, struct err *err)
{
    const struct http_call call = {.method = "GET", .path = path};
    return cli_call(cli, &call, ret_answer, err);
}

struct str cli_reason_body(struct cli *cli)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, REASON_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_optstr(&jw, "reason", args_text(&cli->args, "reason", NULL));
    jw_end(&jw, '}');
    return str_of(arena_strdup(&cli->arena, buf_text(&body)));
}

void cli_write_list(const struct cli *cli, struct jw *jw, const char *option, const char *key)
{
    size_t at = 0;
    const char *text = args_next(&cli->args, option, &at);
    if (text == NULL)
        return;
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (; text != NULL; text = args_next(&cli->args, option, &at))
        jw_str(jw, text);
    jw_end(jw, ']');
}

const char *cli_path(struct cli *cli, const char *prefix, const char *name, const char *suffix)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, prefix);
    url_add_escaped(&path, name);
    buf_adds(&path, suffix);
    return arena_strdup(&cli->arena, buf_text(&path));
}

void cli_print_json(const struct cli_answer *answer)
{
    (void)fwrite(buf_text(&answer->body), 1, answer->body.len, stdout);
    if (answer->body.len > 0 && answer->body.data[answer->body.len - 1] != '\n')
        (void)putchar('\n');
}

static enum rc read_page(struct cli *cli, struct cli_pager *pager, struct cli_answer *ret_answer,
                         struct err *err)
{
    char limit[24];
    int64_t wanted = pager->left < CLI_PAGE_ITEMS ? pager->left : CLI_PAGE_ITEMS;
    (void)snprintf(limit, sizeof limit, "%lld", (long long)wanted);
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, pager->path);
    url_add_query(&path, "limit", limit);
    if (pager->cursor != NULL)
        url_add_query(&path, "cursor", pager->cursor);
    enum rc rc = cli_get(cli, buf_text(&path), ret_answer, err);
    if (rc != RC_OK)
        return rc;
    size_t count = js_count(js_get(ret_answer->tree, "items"));
    pager->left -= (int64_t)count;
    pager->cursor = arena_strdup(&cli->arena, js_get_str(ret_answer->tree, "cursor", NULL));
    pager->ended = pager->cursor == NULL;
    return RC_OK;
}

enum rc cli_pager_next(struct cli *cli, struct cli_pager *pager, struct cli_answer *ret_answer,
                       struct err *err)
{
    if (pager->ended || pager->left <= 0) {
        *ret_answer = (struct cli_answer){0};
        return RC_OK;
    }
    do { /* An empty page may have a cursor: the server scans a limited number of rows per call. */
        cli_answer_release(ret_answer);
        enum rc rc = read_page(cli, pager, ret_answer, err);
        if (rc != RC_OK)
            return rc;
    } while (!pager->ended && js_count(js_get(ret_answer->tree, "items")) == 0);
    return RC_OK;
}

void cli_listing_release(struct cli_listing *listing)
{
    for (size_t i = 0; i < listing->page_count; i++)
        cli_answer_release(&listing->pages[i]);
}

enum rc cli_list(struct cli *cli, const char *path, struct cli_listing *listing, struct err *err)
{
    int64_t limit = args_int(&cli->args, "limit", CLI_LIMIT_DEFAULT);
    struct cli_pager pager = {.path = path, .left = limit};
    listing->items = arena_array(&cli->arena, (size_t)limit + CLI_PAGE_ITEMS,
                                 sizeof *listing->items);
    size_t pages_max = (size_t)limit + 1; /* Each but the last has an item. */
    listing->pages = arena_array(&cli->arena, pages_max, sizeof *listing->pages);
    while (!pager.ended && pager.left > 0 && listing->page_count < pages_max) {
        struct cli_answer *page = &listing->pages[listing->page_count];
        enum rc rc = cli_pager_next(cli, &pager, page, err);
        if (rc != RC_OK)
            return rc;
        listing->page_count++;
        const struct js *items = js_get(page->tree, "items");
        for (size_t i = 0; i < js_count(items) && listing->count < (size_t)limit; i++)
            listing->items[listing->count++] = js_at(items, i);
    }
    listing->cursor = pager.cursor;
    return RC_OK;
}

void cli_listing_print_json(struct cli *cli, const struct cli_listing *listing)
{
    if (listing->page_count == 1) {
        cli_print_json(&listing->pages[0]);
        return;
    }
    CLEANUP(buf_release) struct buf cursor;
    buf_init(&cursor, PATH_BYTES_MAX);
    struct jw jw = jw_to(&cursor);
    jw_str(&jw, listing->cursor);
    (void)printf("{\"items\":[");
    for (size_t i = 0; i < listing->count; i++)
        (void)printf("%s%s", i > 0 ? "," : "", js_text(listing->items[i], &cli->arena));
    (void)printf("],\"cursor\":%s}\n", buf_text(&cursor));
}

enum rc cli_post_text(struct cli *cli, const struct cli_text_post *post,
                      struct cli_answer *ret_answer, struct err *err)
{
    enum { TEXT_BYTES_MAX = 64 * 1024, ESCAPED_MAX = 6 }; /* A byte as JSON: \u0001 */
    CLEANUP(buf_release) struct buf text, body;
    buf_init(&text, TEXT_BYTES_MAX);
    buf_init(&body, ESCAPED_MAX * TEXT_BYTES_MAX + 1024);
    enum rc rc = cli_read_text(cli, post->first, &text, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, post->key, buf_text(&text));
    jw_end(&jw, '}');
    const struct http_call call = {.method = "POST", .path = post->path, .body = buf_str(&body)};
    return cli_call(cli, &call, ret_answer, err);
}
