#include "core/config/project_place.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DIR_BYTES = 40, LINE_BYTES_MAX = 600 };

static const struct project_file *find(const struct project_place *place, const char *name)
{
    size_t len = strlen(place->dir);
    for (size_t i = 0; i < place->count; i++) {
        const char *path = place->files[i].path;
        if (len > 0 && (strncmp(path, place->dir, len) != 0 || path[len] != '/'))
            continue;
        if (text_same(path + len + (len > 0), name))
            return &place->files[i];
    }
    return NULL;
}

bool place_has(const struct project_place *place, const char *name)
{
    return find(place, name) != NULL;
}

struct str place_text(const struct project_place *place, const char *name)
{
    const struct project_file *file = find(place, name);
    return file != NULL ? file->text : (struct str){0};
}

/* ---- adding ---- */

static struct project_check *find_check(struct project *project, const char *name)
{
    for (size_t i = 0; i < project->count; i++) {
        if (text_same(project->checks[i].name, name))
            return &project->checks[i];
    }
    return NULL;
}

static bool is_taken(const struct project_place *place, const char *name)
{
    return find_check(place->project, name) != NULL;
}

/* "test", "web-test"; with the tool behind it when two tools of a directory do the same. */
static const char *name_of(const struct project_place *place, enum project_work work)
{
    static const char *const works[] = {
        [WORK_INSTALL] = "install", [WORK_FORMAT] = "format", [WORK_LINT] = "lint",
        [WORK_TYPES] = "types",     [WORK_BUILD] = "build",   [WORK_TEST] = "test",
    };
    char slug[DIR_BYTES] = "";
    if (place->dir[0])
        text_slug(slug, sizeof slug, place->dir);
    const char *plain = arena_printf(place->arena, "%s%s%s", slug, slug[0] ? "-" : "", works[work]);
    const char *name = plain;
    if (is_taken(place, name))
        name = arena_printf(place->arena, "%s-%s", plain, place->tool);
    for (int no = 2; is_taken(place, name); no++)
        name = arena_printf(place->arena, "%s-%d", plain, no);
    return name;
}

static const char *path_in(const struct project_place *place, const char *name)
{
    return place->dir[0] ? arena_printf(place->arena, "%s/%s", place->dir, name) : name;
}

static void add_hosts(struct project_check *check, const char *const *hosts)
{
    for (; hosts != NULL && *hosts != NULL; hosts++) {
        size_t at = 0;
        while (check->hosts[at] != NULL && !text_same(check->hosts[at], *hosts))
            at++;
        if (at < PROJECT_HOSTS_MAX)
            check->hosts[at] = *hosts;
    }
}

static struct project_check *new_check(struct project_place *place, enum project_work work)
{
    struct project *project = place->project;
    struct project_check *check = &project->checks[project->count];
    if (work == WORK_INSTALL) {
        check = &project->checks[place->first];
        memmove(check + 1, check, (project->count - place->first) * sizeof *check);
    }
    project->count++;
    return check;
}

void place_add(struct project_place *place, const struct place_check *check)
{
    struct project *project = place->project;
    const char *runner = place->is_runner ? NULL : place->by_runner[check->work];
    if (runner != NULL) {
        add_hosts(find_check(project, runner), check->hosts);
        place_note(place, "%s %s: not taken, because the check %s does that.",
                   path_in(place, check->file), check->why, runner);
        return;
    }
    if (project->count == PROJECT_CHECKS_MAX) {
        project->left_out++;
        return;
    }
    const char *name = name_of(place, check->work);
    struct project_check *to = new_check(place, check->work);
    *to = (struct project_check){
        .name = name,
        .command = place->dir[0]
                       ? arena_printf(place->arena, "cd %s && %s",
                                      shell_quote(place->dir, place->arena), check->command)
                       : check->command,
        .program = check->program,
        .why = arena_printf(place->arena, "%s %s", path_in(place, check->file), check->why),
        .output = check->output != NULL ? path_in(place, check->output) : NULL,
        .timeout_s = check->timeout_s,
    };
    add_hosts(to, check->hosts);
    if (place->is_runner)
        place->by_runner[check->work] = name;
}

void place_note(struct project_place *place, const char *fmt, ...)
{
    struct project *project = place->project;
    char text[LINE_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (project->note_count < PROJECT_NOTES_MAX)
        project->notes[project->note_count++] = arena_strdup(place->arena, text);
}

/* ---- texts ---- */

static struct str without_front(struct str line, const char *bytes)
{
    while (line.len > 0 && strchr(bytes, line.at[0]) != NULL) {
        line.at++;
        line.len--;
    }
    return line;
}

bool text_has_table(struct str text, const char *name)
{
    struct str line;
    size_t len = strlen(name);
    while (str_take_line(&text, &line)) {
        line = without_front(line, " \t");
        if (line.len == 0 || line.at[0] != '[')
            continue;
        line = without_front(line, "[ ");
        if (line.len > len && strncmp(line.at, name, len) == 0 &&
            (line.at[len] == ']' || line.at[len] == '.'))
            return true;
    }
    return false;
}

bool text_mentions(struct str text, const char *word)
{
    return text.len > 0 && memmem(text.at, text.len, word, strlen(word)) != NULL;
}
