#include "work/agent/todos.h"
#include <ctype.h>
#include <string.h>

/* TODO_STATUS_IN_PROGRESS of some is in_progress of others. */
static char mark_of(const char *status)
{
    char low[40];
    size_t len = strnlen(status, sizeof low - 1);
    for (size_t i = 0; i < len; i++)
        low[i] = (char)tolower((unsigned char)status[i]);
    low[len] = '\0';
    if (strstr(low, "progress") != NULL)
        return '>';
    return strstr(low, "completed") != NULL || strstr(low, "done") != NULL ? 'x' : ' ';
}

static const char *text_of(const struct js *item)
{
    static const char *const keys[] = {"content", "text", "step", "title", "description"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *text = js_get_str(item, keys[i], NULL);
        if (text != NULL)
            return text;
    }
    return "";
}

void todos_plan(struct transcript *transcript, const struct js *items)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX * 4);
    for (size_t i = 0; js_type(items) == JS_ARRAY && i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        bool done = js_get_bool(item, "completed", false);
        buf_addf(&text, "[%c] %s\n", done ? 'x' : mark_of(js_get_str(item, "status", "")),
                 text_of(item));
    }
    transcript_plan(transcript, buf_text(&text), NULL);
}

/* ---- one by one ---- */

static size_t find(const struct transcript *transcript, const char *id)
{
    size_t at = 0;
    while (at < transcript->todo_count && !text_same(transcript->todos[at].id, id))
        at++;
    return at;
}

static void report(struct transcript *transcript)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX * 4);
    for (size_t i = 0; i < transcript->todo_count; i++)
        buf_addf(&text, "[%c] %s\n", transcript->todos[i].mark, transcript->todos[i].text);
    transcript_plan(transcript, buf_text(&text), NULL);
}

void todos_put(struct transcript *transcript, const char *id, const char *text)
{
    size_t at = find(transcript, id);
    if (text_empty(id) || at == ADAPTER_TODOS_MAX)
        return;
    if (at == transcript->todo_count) {
        transcript_copy(transcript->todos[at].id, sizeof transcript->todos[at].id, id);
        transcript->todos[at].mark = ' ';
        transcript->todo_count++;
    }
    transcript_copy(transcript->todos[at].text, sizeof transcript->todos[at].text, text);
    report(transcript);
}

void todos_mark(struct transcript *transcript, const char *id, const char *status)
{
    size_t at = find(transcript, id);
    if (at == transcript->todo_count)
        return;
    if (text_same(status, "deleted")) {
        transcript->todo_count--;
        memmove(&transcript->todos[at], &transcript->todos[at + 1],
                (transcript->todo_count - at) * sizeof transcript->todos[0]);
    } else {
        transcript->todos[at].mark = mark_of(status);
    }
    report(transcript);
}
