#include "cli/ids.h"
#include "base/str.h"
#include "cli/client.h"
#include <string.h>

enum { SEARCH_ITEMS_MAX = 10000, LATEST_ITEMS_MAX = 32, WIDE_COLUMNS = 132 };

/* The kinds of objects that a word can name, and how to get from one to the other. */
struct noun {
    const char *name;
    const char *listing;      /* "/v1/runs" */
    const struct noun *other; /* Or NULL: a word means nothing else. */
    struct id (*as_other)(const struct js *document);
};

static struct id task_of_run(const struct js *run)
{
    return id_of(js_get_str(run, "taskId", NULL));
}

struct id cli_latest_run(const struct js *task)
{
    const struct js *runs = js_get(task, "runs");
    struct id latest = {""};
    int64_t latest_no = -1;
    for (size_t i = 0; i < js_count(runs); i++) {
        const struct js *run = js_at(runs, i);
        if (js_get_int(run, "runNo", 0) <= latest_no)
            continue;
        latest_no = js_get_int(run, "runNo", 0);
        latest = id_of(js_get_str(run, "id", NULL));
    }
    return latest;
}

static const struct noun run_noun;
static const struct noun task_noun = {"task", "/v1/tasks", &run_noun, cli_latest_run};
static const struct noun run_noun = {"run", "/v1/runs", &task_noun, task_of_run};
static const struct noun dead_letter_noun = {"dead letter", "/v1/dead-letters?archived=all", NULL,
                                             NULL};
static const struct noun saga_noun = {"saga", "/v1/sagas", NULL, NULL};
static const struct noun memory_noun = {"memory", "/v1/memories", NULL, NULL};
static const struct noun batch_noun = {"batch", "/v1/batches", NULL, NULL};

/* ---- the search ---- */

bool id_prefix_valid(const char *word)
{
    size_t len = strlen(word);
    if (len < ID_PREFIX_MIN || len >= ID_TEXT_BYTES)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? word[i] != '-' : strchr("0123456789abcdef", word[i]) == NULL)
            return false;
    }
    return true;
}

void id_search_add(struct id_search *search, const struct id *id)
{
    if (id_is_none(id))
        return;
    for (size_t i = 0; i < search->count && i < ID_CANDIDATES_MAX; i++) {
        if (id_same(&search->found[i], id))
            return;
    }
    if (search->count < ID_CANDIDATES_MAX)
        search->found[search->count] = *id;
    search->count++;
}

enum rc id_search_end(const struct id_search *search, const char *what, struct id *ret_id,
                      struct err *err)
{
    if (search->count == 0)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no %s %s", what, search->word);
    if (search->count == 1) {
        *ret_id = search->found[0];
        return RC_OK;
    }
    CLEANUP(buf_release) struct buf list;
    buf_init(&list, ERR_TEXT_MAX);
    for (size_t i = 0; i < search->count && i < ID_CANDIDATES_MAX; i++)
        buf_addf(&list, "\n    %s", search->found[i].text);
    if (search->count > ID_CANDIDATES_MAX)
        buf_addf(&list, "\n    and %zu more", search->count - ID_CANDIDATES_MAX);
    return err_set(err, RC_MALFORMED, "AMBIGUOUS_ID", "%s is the start of more than one %s:%s",
                   search->word, what, buf_text(&list));
}

enum rc id_search_items(struct cli *cli, const struct item_walk *walk, struct id_search *search,
                        struct err *err)
{
    struct cli_pager pager = {.path = walk->path, .left = walk->max};
    while (!pager.ended && pager.left > 0) {
        CLEANUP(cli_answer_release) struct cli_answer page = {0};
        enum rc rc = cli_pager_next(cli, &pager, &page, err);
        if (rc != RC_OK)
            return rc;
        const struct js *items = js_get(page.tree, "items");
        for (size_t i = 0; i < js_count(items); i++) {
            struct id id = id_of(js_get_str(js_at(items, i), "id", NULL));
            if (walk->is_meant(js_at(items, i), search, walk->ctx))
                id_search_add(search, &id);
        }
    }
    return RC_OK;
}

/* A match of the other kind: its document names the wanted object. */
static enum rc add_other(struct cli *cli, const struct noun *other, const char *id,
                         struct id_search *search, struct err *err)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *prefix = arena_printf(&cli->arena, "%s/", other->listing);
    enum rc rc = cli_get(cli, cli_path(cli, prefix, id, ""), &answer, err);
    if (rc != RC_OK)
        return rc;
    struct id wanted = other->as_other(answer.tree);
    id_search_add(search, &wanted);
    return RC_OK;
}

/* Walks a listing, newest first, until ids are older than the prefix can be. */
static enum rc search_listing(struct cli *cli, const struct noun *noun, bool other,
                              struct id_search *search, struct err *err)
{
    size_t len = strlen(search->word);
    struct cli_pager pager = {.path = noun->listing, .left = SEARCH_ITEMS_MAX};
    while (!pager.ended && pager.left > 0) {
        CLEANUP(cli_answer_release) struct cli_answer page = {0};
        enum rc rc = cli_pager_next(cli, &pager, &page, err);
        if (rc != RC_OK)
            return rc;
        const struct js *items = js_get(page.tree, "items");
        for (size_t i = 0; i < js_count(items); i++) {
            struct id id = id_of(js_get_str(js_at(items, i), "id", NULL));
            int order = strncmp(id.text, search->word, len);
            if (order < 0)
                return RC_OK;
            if (order == 0 && !other)
                id_search_add(search, &id);
            else if (order == 0 && search->count <= ID_CANDIDATES_MAX)
                rc = add_other(cli, noun, id.text, search, err);
            if (rc != RC_OK)
                return rc;
        }
    }
    return RC_OK;
}

/* The task that was submitted last is meant, not the candidates that were made of it. */
static enum rc resolve_latest(struct cli *cli, const struct noun *noun, struct id *ret_id,
                              struct err *err)
{
    CLEANUP(cli_answer_release) struct cli_answer page = {0};
    struct cli_pager pager = {.path = noun->listing, .left = LATEST_ITEMS_MAX};
    enum rc rc = cli_pager_next(cli, &pager, &page, err);
    if (rc != RC_OK)
        return rc;
    const struct js *items = js_get(page.tree, "items");
    size_t at = 0;
    while (at + 1 < js_count(items) && js_get_int(js_at(items, at), "candidateNo", 0) > 0)
        at++;
    struct id id = id_of(js_get_str(js_at(items, at), "id", NULL));
    if (id_is_none(&id))
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "there is no %s yet", noun->name);
    *ret_id = id;
    return RC_OK;
}

static enum rc resolve_whole(struct cli *cli, const struct noun *noun, const struct id *id,
                             struct id *ret_id, struct err *err)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *prefix = arena_printf(&cli->arena, "%s/", noun->listing);
    enum rc rc = cli_get(cli, cli_path(cli, prefix, id->text, ""), &answer, err);
    if (rc == RC_OK)
        *ret_id = *id;
    if (rc != RC_NOT_FOUND)
        return rc;
    struct id_search search = {.word = id->text};
    struct err other_err = {0}; /* Not found there either: the first error is reported. */
    enum rc other_rc = add_other(cli, noun->other, id->text, &search, &other_err);
    return other_rc == RC_OK ? id_search_end(&search, noun->name, ret_id, err) : rc;
}

static enum rc resolve(struct cli *cli, const struct noun *noun, const char *given,
                       struct id *ret_id, struct err *err)
{
    struct id id;
    if (text_same(given, "latest"))
        return resolve_latest(cli, noun, ret_id, err);
    if (id_parse(given, &id) && noun->other != NULL)
        return resolve_whole(cli, noun, &id, ret_id, err);
    if (id_parse(given, ret_id))
        return RC_OK;
    char *word = arena_strdup(&cli->arena, given);
    for (char *at = word; *at != '\0'; at++) {
        if (*at >= 'A' && *at <= 'F')
            *at = (char)(*at - 'A' + 'a');
    }
    if (!id_prefix_valid(word))
        return err_set(err, RC_MALFORMED, "INVALID_ID",
                       "\"%s\" is no id: give a whole one, the first %d characters or more, or "
                       "the word latest",
                       given, ID_PREFIX_MIN);
    struct id_search search = {.word = word};
    enum rc rc = search_listing(cli, noun, false, &search, err);
    if (rc == RC_OK && noun->other != NULL)
        rc = search_listing(cli, noun->other, true, &search, err);
    return rc == RC_OK ? id_search_end(&search, noun->name, ret_id, err) : rc;
}

enum rc cli_resolve_task(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    return resolve(cli, &task_noun, word, ret_id, err);
}

enum rc cli_resolve_run(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    return resolve(cli, &run_noun, word, ret_id, err);
}

enum rc cli_resolve_dead_letter(struct cli *cli, const char *word, struct id *ret_id,
                                struct err *err)
{
    return resolve(cli, &dead_letter_noun, word, ret_id, err);
}

enum rc cli_resolve_saga(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    return resolve(cli, &saga_noun, word, ret_id, err);
}

enum rc cli_resolve_memory(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    return resolve(cli, &memory_noun, word, ret_id, err);
}

enum rc cli_resolve_batch(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    return resolve(cli, &batch_noun, word, ret_id, err);
}

/* ---- what waits for a person ---- */

enum { WAITING_MAX = 10000 };

/* Does the word begin its id, or that of its run or task?  Or is it the first one? */
static bool waits_like(const struct js *item, const struct id_search *search, const void *ctx)
{
    static const char *const keys[] = {"id", "runId", "taskId"};
    (void)ctx;
    if (text_same(search->word, "latest"))
        return search->count == 0;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (text_starts(js_get_str(item, keys[i], ""), search->word))
            return true;
    }
    return false;
}

static enum rc search_waiting(struct cli *cli, const char *path, struct id_search *search,
                              struct err *err)
{
    const struct item_walk walk = {path, WAITING_MAX, waits_like, NULL};
    return id_search_items(cli, &walk, search, err);
}

enum rc cli_resolve_waiting(struct cli *cli, const struct cli_waiting *what, const char *word,
                            struct id *ret_id, struct err *err)
{
    if (!text_same(word, "latest") && !id_prefix_valid(word))
        return err_set(err, RC_MALFORMED, "INVALID_ID",
                       "\"%s\" is no id: give a whole one or its first %d characters or more", word,
                       ID_PREFIX_MIN);
    struct id whole;
    struct id_search search = {.word = word};
    const char *pending = arena_printf(&cli->arena, "%s?status=pending", what->listing);
    enum rc rc = search_waiting(cli, pending, &search, err);
    if (rc == RC_OK && search.count == 0 && what->also_past)
        rc = search_waiting(cli, what->listing, &search, err);
    if (rc != RC_OK)
        return rc;
    if (search.count == 0 && id_parse(word, &whole))
        id_search_add(&search, &whole); /* Decided already, or unknown: the server reports which. */
    const char *noun = arena_printf(&cli->arena, "%s%s", what->also_past ? "" : "pending ",
                                    what->noun);
    return id_search_end(&search, noun, ret_id, err);
}

/* ---- showing ---- */

static size_t common_len(const char *a, const char *b)
{
    size_t len = 0;
    while (a[len] != '\0' && a[len] == b[len])
        len++;
    return len;
}

size_t id_short_len(const struct js *const *items, size_t count, const char *key)
{
    size_t len = ID_SHORT_MIN;
    for (size_t i = 0; i + 1 < count;
         i++) { /* Sorted by id: neighbours have the longest common prefix. */
        const char *a = js_get_str(items[i], key, "");
        const char *b = js_get_str(items[i + 1], key, "");
        size_t needed = text_same(a, b) ? 0 : common_len(a, b) + 1;
        len = needed > len ? needed : len;
    }
    return len;
}

const char *cli_id_shown(struct cli *cli, const struct js *item, const char *key, size_t len)
{
    const char *id = js_get_str(item, key, "");
    if (!cli->term.tty || cli->term.columns >= WIDE_COLUMNS || strlen(id) <= len)
        return id;
    return arena_strndup(&cli->arena, id, len);
}
