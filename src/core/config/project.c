#include "core/config/project.h"
#include "core/config/project_tools.h"
#include <stdlib.h>
#include <string.h>

enum { DIRS_MAX = 200 };

/* ---- which files count ---- */

/* What lies in them is of others, is made, or is a sample. */
static const char *const skipped[] = {
    "node_modules", "vendor",  "third_party", "third-party", "testdata", "fixtures", "examples",
    "example",      "samples", "templates",   "dist",        "target",   "deps",     "external",
    "subprojects",  "docs",    "test",        "tests",       "spec",     "bench",    "benchmarks",
};

/* "web/app/", or empty for the top. */
static bool dir_counts(struct str dir)
{
    size_t depth = 0;
    while (dir.len > 0) {
        const char *slash = memchr(dir.at, '/', dir.len);
        struct str name = {dir.at, slash != NULL ? (size_t)(slash - dir.at) : dir.len};
        if (name.len == 0 || name.at[0] == '.' || ++depth > PROJECT_DEPTH_MAX)
            return false;
        for (size_t i = 0; i < COUNT_OF(skipped); i++) {
            if (str_is(name, skipped[i]))
                return false;
        }
        size_t used = name.len + (slash != NULL);
        dir = (struct str){dir.at + used, dir.len - used};
    }
    return true;
}

/* Is the path this name, in a directory that counts?  Some names have a directory of their own in
   them (tests/conftest.py); "*.sln" is every name with that end. */
static bool path_is(const char *path, const char *name)
{
    size_t len = strlen(path), name_len = strlen(name);
    if (name[0] == '*') {
        const char *slash = strrchr(path, '/');
        size_t dir_len = slash != NULL ? (size_t)(slash - path) + 1 : 0;
        return text_ends(path, name + 1) && dir_counts((struct str){path, dir_len});
    }
    if (!text_ends(path, name) || (len > name_len && path[len - name_len - 1] != '/'))
        return false;
    return dir_counts((struct str){path, len - name_len});
}

static bool path_is_one_of(const char *path, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (path_is(path, names[i]))
            return true;
    }
    return false;
}

enum project_need project_needs(const char *path)
{
    size_t count = 0;
    const struct project_tool *tools = project_tools(&count);
    for (size_t i = 0; i < count; i++) {
        if (path_is(path, tools[i].marker))
            return tools[i].marker[0] == '*' ? PROJECT_NAME : PROJECT_TEXT;
    }
    if (path_is_one_of(path, project_further_texts))
        return PROJECT_TEXT;
    return path_is_one_of(path, project_further_names) ? PROJECT_NAME : PROJECT_NOTHING;
}

/* ---- directories ---- */

struct cover {
    const char *dir, *tool;
    const char *runner; /* The check of a task runner that tests all below; or NULL. */
};

struct reading {
    struct project_place place;
    const char *dirs[DIRS_MAX];
    size_t dir_count;
    struct cover covers[DIRS_MAX];
    size_t cover_count;
};

static int compare_dirs(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void note_dir(struct reading *reading, const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *dir = arena_strndup(arena, path, slash != NULL ? (size_t)(slash - path) : 0);
    for (size_t i = 0; i < reading->dir_count; i++) {
        if (text_same(reading->dirs[i], dir))
            return;
    }
    if (reading->dir_count < DIRS_MAX)
        reading->dirs[reading->dir_count++] = dir;
}

/* Those that have a marker, a directory before what lies in it. */
static void find_dirs(struct reading *reading)
{
    size_t tool_count = 0;
    const struct project_tool *tools = project_tools(&tool_count);
    const struct project_place *place = &reading->place;
    for (size_t i = 0; i < place->count; i++) {
        for (size_t k = 0; k < tool_count; k++) {
            if (path_is(place->files[i].path, tools[k].marker)) {
                note_dir(reading, place->files[i].path, place->arena);
                break;
            }
        }
    }
    qsort(reading->dirs, reading->dir_count, sizeof reading->dirs[0], compare_dirs);
}

static bool is_below(const char *dir, const char *above)
{
    size_t len = strlen(above);
    return len == 0 ? dir[0] != '\0' : strncmp(dir, above, len) == 0 && dir[len] == '/';
}

static const struct cover *cover_of(const struct reading *reading, const char *dir,
                                    const struct project_tool *tool)
{
    for (size_t i = 0; i < reading->cover_count; i++) {
        const struct cover *cover = &reading->covers[i];
        if (is_below(dir, cover->dir) &&
            (cover->runner != NULL || text_same(cover->tool, tool->name)))
            return cover;
    }
    return NULL;
}

/* The name of the marker in the directory, or NULL. */
static const char *marker_in(const struct project_place *place, const char *marker)
{
    if (marker[0] != '*')
        return place_has(place, marker) ? marker : NULL;
    for (size_t i = 0; i < place->count; i++) {
        const char *path = place->files[i].path;
        const char *slash = strrchr(path, '/');
        size_t len = slash != NULL ? (size_t)(slash - path) : 0;
        if (text_ends(path, marker + 1) && strlen(place->dir) == len &&
            strncmp(path, place->dir, len) == 0)
            return slash != NULL ? slash + 1 : path;
    }
    return NULL;
}

static void read_tool(struct reading *reading, const struct project_tool *tool, const char *marker)
{
    struct project_place *place = &reading->place;
    const struct cover *cover = cover_of(reading, place->dir, tool);
    if (cover != NULL && (cover->runner == NULL || tool->is_runner))
        return;
    place->tool = tool->name;
    place->is_runner = tool->is_runner;
    for (size_t i = 0; cover != NULL && i < WORK_COUNT; i++)
        place->by_runner[i] = cover->runner;
    if (!tool->read(place, marker) || reading->cover_count == DIRS_MAX)
        return;
    reading->covers[reading->cover_count++] = (struct cover){
        place->dir, tool->name, tool->is_runner ? place->by_runner[WORK_TEST] : NULL};
}

/* Of the markers of one tool the first that is there counts. */
static void read_dir(struct reading *reading)
{
    size_t count = 0;
    const struct project_tool *tools = project_tools(&count);
    const char *last = NULL;
    struct project_place *place = &reading->place;
    memset(place->by_runner, 0, sizeof place->by_runner);
    place->first = place->project->count;
    for (size_t i = 0; i < count; i++) {
        const char *marker = marker_in(place, tools[i].marker);
        if (marker == NULL || text_same(last, tools[i].name))
            continue;
        last = tools[i].name;
        read_tool(reading, &tools[i], marker);
    }
}

void project_read(const struct project_file *files, size_t count, struct arena *arena,
                  struct project *ret_project)
{
    *ret_project = (struct project){.count = 0};
    struct reading *reading = arena_alloc(arena, sizeof *reading);
    reading->place = (struct project_place){.files = files,
                                            .count = count < PROJECT_FILES_MAX ? count
                                                                               : PROJECT_FILES_MAX,
                                            .dir = "",
                                            .arena = arena,
                                            .project = ret_project};
    find_dirs(reading);
    for (size_t i = 0; i < reading->dir_count; i++) {
        reading->place.dir = reading->dirs[i];
        read_dir(reading);
    }
}
