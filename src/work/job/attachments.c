#include "work/job/attachments.h"
#include "base/fd.h"
#include "base/hash.h"
#include "core/run/task.h"

size_t attachments_of(const struct step *step, struct attachment list[ATTACHMENTS_MAX])
{
    const struct js *array = js_get(step->input.payload, "attachments");
    size_t count = 0;
    for (size_t i = 0; i < js_count(array) && count < ATTACHMENTS_MAX; i++) {
        const struct attachment each = {
            .name = js_get_str(js_at(array, i), "name", ""),
            .sha256 = js_get_str(js_at(array, i), "sha256", ""),
        };
        if (attachment_name_valid(each.name) && sha256_text_valid(each.sha256))
            list[count++] = each;
    }
    return count;
}

static enum rc place(struct step *step, const char *dir, const struct attachment *attachment,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&bytes, ATTACHMENT_BYTES_MAX);
    enum rc rc = step_get(step, attachment->sha256, &bytes, err);
    if (rc != RC_OK)
        return rc;
    const char *path = arena_printf(step->arena, "%s/%s", dir, attachment->name);
    return file_write_durable(path, buf_text(&bytes), bytes.len, 0600, err);
}

enum rc attachments_place(struct step *step, const char *dir, struct err *err)
{
    struct attachment list[ATTACHMENTS_MAX];
    size_t count = attachments_of(step, list);
    if (count == 0)
        return RC_OK;
    enum rc rc = dir_make(dir, 0700, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = place(step, dir, &list[i], err);
    return rc;
}
