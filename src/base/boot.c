#include "base/boot.h"
#include "base/fd.h"
#include "base/str.h"
#include <pthread.h>
#include <string.h>

enum { ID_BYTES = 64 };

static char id_text[ID_BYTES];

static void read_id(void)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ID_BYTES - 1);
    if (file_read("/proc/sys/kernel/random/boot_id", &text, NULL) != RC_OK)
        return;
    buf_cut(&text, strcspn(buf_text(&text), "\n"));
    text_copy(id_text, sizeof id_text, buf_text(&text));
}

const char *boot_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_id);
    return id_text;
}

bool boot_is_this(const char *id)
{
    return boot_id()[0] != '\0' && text_same(id, boot_id());
}
