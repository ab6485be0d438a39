#include "core/run/said.h"
#include "base/str.h"

static void add_quoted(struct buf *into, const char *text)
{
    struct str rest = str_of(text), line;
    while (str_take_line(&rest, &line))
        buf_addf(into, "> %.*s\n", (int)line.len, line.at);
}

static void write_answers(const struct js *answers, struct buf *into)
{
    if (js_count(answers) == 0)
        return;
    buf_adds(into, "\n## Answers to your questions\n");
    for (size_t i = 0; i < js_count(answers); i++) {
        const struct js *item = js_at(answers, i);
        const char *answer = js_get_str(item, "answer", NULL);
        const char *by = js_get_str(item, "answeredBy", NULL);
        buf_adds(into, "\nYou asked:\n\n");
        add_quoted(into, js_get_str(item, "question", ""));
        if (answer == NULL) {
            buf_adds(into, "\nThere was no answer in time: decide for yourself.\n");
            continue;
        }
        if (by != NULL)
            buf_addf(into, "\n%s answered:\n\n", by);
        else
            buf_adds(into, "\nThere was no answer in time, so your default counts:\n\n");
        add_quoted(into, answer);
    }
}

static void write_messages(const struct js *messages, struct buf *into)
{
    if (js_count(messages) == 0)
        return;
    buf_adds(into, "\n## Messages from people\n\n"
                   "The people you work for have sent you this. It is part of the task; where it "
                   "differs from the rest, it counts more.\n");
    for (size_t i = 0; i < js_count(messages); i++) {
        const struct js *item = js_at(messages, i);
        buf_addf(into, "\n%s writes:\n\n", js_get_str(item, "author", "someone"));
        add_quoted(into, js_get_str(item, "text", ""));
    }
}

void said_write(const struct js *assignment, struct buf *into)
{
    write_answers(js_get(assignment, "answers"), into);
    write_messages(js_get(assignment, "messages"), into);
}
