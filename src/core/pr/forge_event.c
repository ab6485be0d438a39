#include "core/pr/forge_event.h"
#include "base/js_peek.h"
#include "core/pr/forge_event_table.h"
#include <ctype.h>
#include <string.h>

enum { NAME_BYTES_MAX = 120, REF_BYTES_MAX = 300, REPOSITORY_BYTES_MAX = 300 };

#define BRANCH_PREFIX "refs/heads/"

static const struct event_dialect *const dialects[] = {&forge_events_github, &forge_events_gitlab,
                                                       &forge_events_gitea};

static const char *const subject_names[] = {
    [SUBJECT_NONE] = "none",       [SUBJECT_PING] = "ping",     [SUBJECT_ISSUE] = "issue",
    [SUBJECT_PR] = "pull_request", [SUBJECT_COMMIT] = "commit", [SUBJECT_BRANCH] = "branch",
    [SUBJECT_REPO] = "repository",
};

const char *forge_subject_name(enum forge_subject subject)
{
    return subject_names[subject];
}

bool forge_subject_parse(const char *name, enum forge_subject *ret_subject)
{
    for (size_t i = 0; i < COUNT_OF(subject_names); i++)
        if (text_same(subject_names[i], name)) {
            *ret_subject = (enum forge_subject)i;
            return true;
        }
    return false;
}

static const struct event_dialect *dialect_of(const char *forge)
{
    if (text_same(forge, "forgejo")) /* It sends what Gitea sends. */
        return &forge_events_gitea;
    for (size_t i = 0; i < COUNT_OF(dialects); i++)
        if (text_same(dialects[i]->forge, forge))
            return dialects[i];
    return NULL;
}

/* ---- facts of a body ---- */

/* A text or a whole number, at most so many bytes; NULL: it is neither. */
static const char *text_at(const struct js *value, size_t max, struct arena *arena)
{
    if (js_type(value) == JS_INT)
        return arena_printf(arena, "%lld", (long long)js_int(value, 0));
    const char *text = js_str(value, NULL);
    return text_empty(text) || strlen(text) > max ? NULL : arena_strdup(arena, text);
}

static const char *first_at(const struct js *body, const char *const places[3], size_t max,
                            struct arena *arena)
{
    const char *text = NULL;
    for (size_t i = 0; text == NULL && i < 3 && places[i] != NULL; i++)
        text = text_at(js_path(body, places[i]), max, arena);
    return text;
}

/* Of git: 40 or 64 hex digits.  NULL: it is none, or the one of zeros that stands for no commit. */
static const char *commit_at(const struct js *body, const char *place, struct arena *arena)
{
    const char *text = js_str(js_path(body, place), "");
    size_t len = strlen(text);
    if ((len != 40 && len != 64) || strspn(text, "0123456789abcdefABCDEF") != len ||
        strspn(text, "0") == len)
        return NULL;
    return arena_strdup(arena, text);
}

static const char *branch_at(const struct js *body, const char *place, struct arena *arena)
{
    const char *text = js_str(js_path(body, place), "");
    if (text_starts(text, BRANCH_PREFIX))
        text += strlen(BRANCH_PREFIX);
    else if (text_starts(text, "refs/"))
        return NULL;
    return text[0] == '\0' || strlen(text) > REF_BYTES_MAX ? NULL : arena_strdup(arena, text);
}

/* ---- rules ---- */

static bool action_fits(const char *actions, const char *action)
{
    if (actions == NULL)
        return true;
    size_t len = strlen(action);
    if (len == 0 || strchr(action, ' ') != NULL)
        return false;
    for (const char *at = strstr(actions, action); at != NULL; at = strstr(at + 1, action))
        if (at[-1] == ' ' && at[len] == ' ')
            return true;
    return false;
}

static bool rule_fits(const struct event_rule *rule, const char *event, const char *action,
                      const struct js *body)
{
    if (!text_same(rule->event, event) || !action_fits(rule->actions, action))
        return false;
    if (rule->when == NULL)
        return true;
    const struct js *value = js_path(body, rule->when);
    if (rule->is != NULL)
        return text_same(js_str(value, NULL), rule->is);
    return js_type(value) != JS_NULL && (js_type(value) != JS_BOOL || js_bool(value, false));
}

static const struct event_rule *find_rule(const struct event_dialect *dialect, const char *event,
                                          const char *action, const struct js *body)
{
    for (size_t i = 0; i < dialect->count; i++)
        if (rule_fits(&dialect->rules[i], event, action, body))
            return &dialect->rules[i];
    return NULL;
}

static enum rc lacks(const struct forge_event *event, const char *place, struct err *err)
{
    return err_set(err, RC_INVALID, "INVALID_DELIVERY",
                   "a delivery of %.100s has no valid \"%.100s\" in its body", event->name, place);
}

/* What the rule says about the subject.  A push of a tag is about no branch. */
static enum rc take_subject(const struct event_rule *rule, const struct js *body,
                            struct arena *arena, struct forge_event *event, struct err *err)
{
    event->subject = rule->subject;
    if (rule->number != NULL) {
        event->number = js_int(js_path(body, rule->number), 0);
        if (event->number <= 0)
            return lacks(event, rule->number, err);
    }
    if (rule->commit != NULL)
        event->commit = commit_at(body, rule->commit, arena);
    if (rule->subject == SUBJECT_COMMIT && event->commit == NULL)
        return lacks(event, rule->commit, err);
    if (rule->branch != NULL)
        event->branch = branch_at(body, rule->branch, arena);
    if (rule->subject != SUBJECT_BRANCH || event->branch != NULL)
        return RC_OK;
    if (!text_starts(js_str(js_path(body, rule->branch), ""), "refs/"))
        return lacks(event, rule->branch, err);
    event->subject = SUBJECT_NONE;
    return RC_OK;
}

enum rc forge_event_decode(const char *forge, const char *event, const struct js *body,
                           struct arena *arena, struct forge_event *ret_event, struct err *err)
{
    const struct event_dialect *dialect = dialect_of(forge);
    if (dialect == NULL)
        return err_set(err, RC_INVALID, "UNKNOWN_FORGE", "%.100s sends no deliveries", forge);
    if (js_type(body) != JS_OBJECT)
        return err_set(err, RC_INVALID, "INVALID_DELIVERY",
                       "the body of a delivery is a JSON object");
    struct forge_event found = {.subject = SUBJECT_NONE};
    const char *action = js_str(js_path(body, dialect->action), "");
    const char *called = dialect->name != NULL ? dialect->name(event, body) : event;
    found.name = arena_printf(arena, "%.*s%s%.*s", NAME_BYTES_MAX, called,
                              action[0] != '\0' ? "." : "", NAME_BYTES_MAX, action);
    found.repository_id = first_at(body, dialect->repository_ids, REPOSITORY_BYTES_MAX, arena);
    found.repository_name = first_at(body, dialect->repository_names, REPOSITORY_BYTES_MAX, arena);
    found.actor = first_at(body, dialect->actors, NAME_BYTES_MAX, arena);
    found.actor_is_bot = found.actor != NULL && dialect->is_bot(body, found.actor);
    const struct event_rule *rule = find_rule(dialect, event, action, body);
    enum rc rc = rule != NULL ? take_subject(rule, body, arena, &found, err) : RC_OK;
    if (rc == RC_OK)
        *ret_event = found;
    return rc;
}

/* ---- before the signature is checked ---- */

/* The bytes at a dotted path. */
static struct str peek_path(struct str body, const char *place)
{
    char key[64];
    for (const char *at = place; body.len > 0; at++) {
        size_t len = strcspn(at, ".");
        if (len >= sizeof key)
            return (struct str){0};
        memcpy(key, at, len);
        key[len] = '\0';
        body = js_peek(body, key);
        at += len;
        if (*at == '\0')
            break;
    }
    return body;
}

/* Without quotes and the space behind it; empty: neither a whole number nor a text. */
static struct str plain(struct str value)
{
    while (value.len > 0 && isspace((unsigned char)value.at[value.len - 1]))
        value.len--;
    if (value.len >= 2 && value.at[0] == '"')
        return (struct str){value.at + 1, value.len - 2};
    for (size_t i = 0; i < value.len; i++)
        if (!isdigit((unsigned char)value.at[i]))
            return (struct str){0};
    return value;
}

/* In lower case; one with escapes is left out. */
static const char *peek_text(struct str body, const char *const places[3], struct arena *arena)
{
    for (size_t i = 0; i < 3 && places[i] != NULL; i++) {
        struct str value = plain(peek_path(body, places[i]));
        if (value.len == 0 || value.len > REPOSITORY_BYTES_MAX ||
            memchr(value.at, '\\', value.len) != NULL)
            continue;
        char *text = str_dup(arena, value);
        for (char *at = text; *at != '\0'; at++)
            *at = (char)tolower((unsigned char)*at);
        return text;
    }
    return "";
}

bool forge_event_repository(const char *forge, struct str body, struct arena *arena,
                            struct forge_named *ret_named)
{
    const struct event_dialect *dialect = dialect_of(forge);
    if (dialect == NULL)
        return false;
    ret_named->id = peek_text(body, dialect->repository_ids, arena);
    ret_named->name = peek_text(body, dialect->repository_names, arena);
    return true;
}

const char *forge_name_of_url(const char *url, struct arena *arena)
{
    const char *scheme = strstr(url, "://");
    const char *path = scheme != NULL ? strchr(scheme + 3, '/') : strchr(url, ':');
    if (url[0] == '/' || text_starts(url, "file:") || path == NULL)
        return NULL;
    path += 1 + strspn(path + 1, "/");
    size_t len = strcspn(path, "?#");
    while (len > 0 && path[len - 1] == '/')
        len--;
    if (len > strlen(".git") && strncmp(path + len - 4, ".git", 4) == 0)
        len -= 4;
    char *name = arena_strndup(arena, path, len);
    if (len == 0 || len > REPOSITORY_BYTES_MAX || strchr(name, '/') == NULL)
        return NULL;
    for (char *at = name; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    return name;
}
