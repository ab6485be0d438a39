#include "tests/unit/transcript_kit.h"
#include "base/fd.h"
#include <check.h>

static int64_t fixed_now(void *ctx)
{
    return *(const int64_t *)ctx;
}

void transcript_kit_open(struct transcript_kit *kit, const char *now)
{
    kit_open(&kit->kit);
    ck_assert(time_parse(now, &kit->now_us));
    progress_init(&kit->progress, &kit->kit.port.port, &(struct port_ref){.epoch = 1},
                  &kit->kit.stop);
    transcript_kit_begin(kit, ADAPTER_NONE);
}

void transcript_kit_close(struct transcript_kit *kit)
{
    transcript_release(&kit->transcript);
    progress_release(&kit->progress);
    kit_close(&kit->kit);
}

void transcript_kit_begin(struct transcript_kit *kit, enum adapter adapter)
{
    transcript_release(&kit->transcript);
    transcript_init(&kit->transcript, adapter, &kit->progress);
    kit->transcript.clock = (struct clock){fixed_now, &kit->now_us};
}

char *transcript_kit_load(struct transcript_kit *kit, const char *name)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1024 * 1024);
    const char *path = arena_printf(&kit->kit.arena, "tests/fixtures/transcripts/%s", name);
    ck_assert_msg(file_read(path, &text, NULL) == RC_OK, "%s", path);
    return arena_strndup(&kit->kit.arena, text.data, text.len);
}

void transcript_kit_play(struct transcript_kit *kit, const char *name)
{
    struct str rest = str_of(transcript_kit_load(kit, name)), line;
    while (str_take_line(&rest, &line))
        transcript_line(&kit->transcript, line);
}

struct js *transcript_kit_heard(struct transcript_kit *kit)
{
    const struct buf *events = &kit->kit.port.events;
    struct js *tree = NULL;
    progress_flush(&kit->progress);
    if (events->len > 0)
        ck_assert_int_eq(js_parse(events->data, events->len, &tree, NULL), RC_OK);
    return tree;
}
