#include "forge/port/issues.h"
#include <string.h>

void issue_make_room(struct issue *issue)
{
    if (issue->comment_count < ISSUE_COMMENTS_MAX)
        return;
    issue->comment_count--;
    memmove(issue->comments, issue->comments + 1,
            (size_t)issue->comment_count * sizeof *issue->comments);
}
