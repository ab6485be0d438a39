#include "core/event_tags.h"
#include "base/js.h"
#include <stdio.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool event_tags_next(struct str *rest, struct str *ret_tag)
{
    while (rest->len > 0) {
        const char *comma = memchr(rest->at, ',', rest->len);
        struct str tag = {rest->at, comma != NULL ? (size_t)(comma - rest->at) : rest->len};
        size_t taken = tag.len + (comma != NULL ? 1 : 0);
        *rest = (struct str){rest->at + taken, rest->len - taken};
        for (; tag.len > 0 && is_blank(tag.at[0]); tag.len--)
            tag.at++;
        while (tag.len > 0 && is_blank(tag.at[tag.len - 1]))
            tag.len--;
        if (tag.len == 0)
            continue;
        *ret_tag = tag;
        return true;
    }
    return false;
}

bool event_tags_have(const char *text, struct str tag)
{
    struct str rest = str_of(text), one;
    while (event_tags_next(&rest, &one))
        if (str_same(one, tag))
            return true;
    return false;
}

static void add_one(struct event_tags *tags, struct str tag)
{
    size_t comma = tags->len > 0 ? 1 : 0;
    if (tag.len > EVENT_TAG_MAX || tags->len + comma + tag.len >= sizeof tags->text ||
        event_tags_have(tags->text, tag))
        return;
    if (comma > 0)
        tags->text[tags->len] = ',';
    memcpy(tags->text + tags->len + comma, tag.at, tag.len);
    tags->len += comma + tag.len;
    tags->text[tags->len] = '\0';
}

void event_tags_add(struct event_tags *tags, struct str text)
{
    struct str tag;
    while (event_tags_next(&text, &tag))
        add_one(tags, tag);
}

void event_tags_name(struct event_tags *tags, const char *name, const char *value)
{
    char tag[EVENT_TAG_MAX + 1];
    if (text_empty(value))
        return;
    int len = snprintf(tag, sizeof tag, "%s:%s", name, value);
    if (len > 0 && (size_t)len < sizeof tag && strchr(tag, ',') == NULL)
        add_one(tags, (struct str){tag, (size_t)len});
}

const char *event_tags_text(const struct event_tags *tags, struct arena *arena)
{
    return tags->len > 0 ? arena_strndup(arena, tags->text, tags->len) : NULL;
}

void event_tags_of_task(struct event_tags *tags, const struct task_tags *task)
{
    CLEANUP(js_freep) struct js *labels = NULL;
    event_tags_name(tags, "repository", task->repository);
    event_tags_name(tags, "persona", task->persona);
    event_tags_name(tags, "agent", task->agent);
    if (task->labels.len <= strlen("[]") ||
        js_parse(task->labels.at, task->labels.len, &labels, NULL) != RC_OK)
        return;
    for (size_t i = 0; i < js_count(labels); i++)
        event_tags_add(tags, str_of(js_str(js_at(labels, i), "")));
}
