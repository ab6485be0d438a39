/*
 * http_head.c - the head of an answer, as http_client.h collects it: lines with their ends.
 */
#include "net/http_client.h"
#include <string.h>
#include <strings.h>

struct str http_head_field(const struct buf *head, const char *name)
{
    struct str rest = buf_str(head), line;
    size_t len = strlen(name);
    while (str_take_line(&rest, &line)) {
        if (line.len <= len || line.at[len] != ':' || strncasecmp(line.at, name, len) != 0)
            continue;
        struct str value = {line.at + len + 1, line.len - len - 1};
        while (value.len > 0 && (*value.at == ' ' || *value.at == '\t'))
            value = (struct str){value.at + 1, value.len - 1};
        while (value.len > 0 && strchr(" \t\r", value.at[value.len - 1]) != NULL)
            value.len--;
        return value;
    }
    return (struct str){NULL, 0};
}

int http_head_status(const struct buf *head)
{
    const char *blank = strchr(buf_text(head), ' ');
    int64_t status = 0;
    char digits[4] = "";
    if (blank == NULL)
        return 0;
    text_copy(digits, sizeof digits, blank + 1);
    return text_to_i64(digits, &status) ? (int)status : 0;
}
