#include "tests/unit/acp_kit.h"
#include <check.h>
#include <string.h>

struct acp_kit acp_kit;

void acp_kit_open(void)
{
    kit_open(&acp_kit.kit);
    progress_init(&acp_kit.progress, &acp_kit.kit.port.port, &(struct port_ref){.epoch = 1},
                  &acp_kit.kit.stop);
    transcript_init(&acp_kit.transcript, ADAPTER_ACP, &acp_kit.progress);
}

void acp_kit_close(void)
{
    transcript_release(&acp_kit.transcript);
    progress_release(&acp_kit.progress);
    kit_close(&acp_kit.kit);
}

void acp_begin_with(const struct conversation *conversation)
{
    acp_kit.transcript.ops->begin(&acp_kit.transcript, conversation);
}

void acp_begin(void)
{
    acp_begin_with(&(struct conversation){.prompt = "Do it.", .cwd = "/tree"});
}

const char *acp_told(void)
{
    const char *end = acp_kit.transcript.input.len > 0 ? strchr(acp_kit.transcript.input.data, '\n')
                                                       : NULL;
    if (end == NULL)
        return NULL;
    size_t len = (size_t)(end - acp_kit.transcript.input.data);
    const char *line = arena_strndup(&acp_kit.kit.arena, acp_kit.transcript.input.data, len);
    struct js *tree = NULL;
    ck_assert_msg(js_parse(line, len, &tree, NULL) == RC_OK, "%s", line);
    ck_assert_str_eq(js_get_str(tree, "jsonrpc", ""), "2.0");
    js_free(tree);
    buf_drop(&acp_kit.transcript.input, len + 1);
    return line;
}

void acp_says(const char *line)
{
    transcript_line(&acp_kit.transcript, str_of(line));
}

const char *acp_answers(const char *member)
{
    const char *line = acp_told();
    ck_assert_ptr_nonnull(line);
    struct js *tree = NULL;
    ck_assert_int_eq(js_parse(line, strlen(line), &tree, NULL), RC_OK);
    int64_t id = js_get_int(tree, "id", -1);
    js_free(tree);
    ck_assert_int_gt(id, 0);
    acp_says(arena_printf(&acp_kit.kit.arena, "{\"jsonrpc\":\"2.0\",\"id\":%lld,%s}", (long long)id,
                          member));
    return line;
}

void acp_updates(const char *update)
{
    acp_says(arena_printf(&acp_kit.kit.arena,
                          "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{"
                          "\"sessionId\":\"s1\",\"update\":{%s}}}",
                          update));
}

void acp_speaks(const char *text)
{
    acp_updates(
        arena_printf(&acp_kit.kit.arena,
                     "\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\","
                     "\"text\":\"%s\"}",
                     text));
}

void acp_open_session(void)
{
    acp_begin();
    acp_answers(INITIALIZED);
    acp_answers(OPENED);
}

const char *acp_events(void)
{
    progress_flush(&acp_kit.progress);
    return buf_text(&acp_kit.kit.port.events);
}

size_t acp_count(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}
