/*
 * project_tools.h - the tools that project.h knows.
 */
#ifndef CORE_CONFIG_PROJECT_TOOLS_H
#define CORE_CONFIG_PROJECT_TOOLS_H
#include "core/config/project_place.h"

struct project_tool {
    const char *name;
    const char *marker; /* The file without which it is not looked at; "*.sln": by its end. */
    bool is_runner;     /* Rule 2 of project.h. */
    /* Adds its checks.  True: directories below that have the marker are covered by this one.
       marker: the file that was found. */
    bool (*read)(struct project_place *place, const char *marker);
};
/* Task runners come first. */
const struct project_tool *project_tools(size_t *ret_count);

/* Files beside the markers that are looked at; NULL-terminated. */
extern const char *const project_further_texts[], *const project_further_names[];

bool project_read_node(struct project_place *place, const char *marker);
bool project_read_python(struct project_place *place, const char *marker);
#endif
