#include "core/run/said.h"

static void write_messages(const struct js *messages, struct buf *into)
{
    if (js_count(messages) == 0)
        return;
    buf_adds(into, "\n## Messages\n\nPeople have written to you about this task. Where a message "
                   "contradicts what stands above, the message counts.\n");
    for (size_t i = 0; i < js_count(messages); i++) {
        const struct js *message = js_at(messages, i);
        buf_addf(into, "\n### By %s\n\n%s\n", js_get_str(message, "author", "a person"),
                 js_get_str(message, "text", ""));
    }
}

static void write_answers(const struct js *answers, struct buf *into)
{
    if (js_count(answers) == 0)
        return;
    buf_adds(into, "\n## Answers\n\nWhat came of the questions that were asked during this "
                   "task:\n");
    for (size_t i = 0; i < js_count(answers); i++) {
        const struct js *item = js_at(answers, i);
        const char *answer = js_get_str(item, "answer", NULL);
        buf_addf(into, "\n- Question: %s\n", js_get_str(item, "question", ""));
        if (answer != NULL)
            buf_addf(into, "  Answer of %s: %s\n", js_get_str(item, "answeredBy", "a person"),
                     answer);
        else
            buf_adds(into, "  There was no answer in time: decide for yourself.\n");
    }
}

void said_write(const struct js *payload, struct buf *into)
{
    write_messages(js_get(payload, "messages"), into);
    write_answers(js_get(payload, "answers"), into);
}
