#include "work/sandbox/program.h"
#include "base/fd.h"
#include "base/str.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 256, LINE_WORDS_MAX = 8 };

/* ---- looking it up ---- */

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* NULL: no directory of the search path has it. */
static const char *search_for(const char *name, const char *search, struct arena *arena)
{
    for (const char *at = search; *at;) {
        size_t len = strcspn(at, ":");
        if (at[0] == '/') {
            const char *path = arena_printf(arena, "%.*s/%s", (int)len, at, name);
            if (is_program(path))
                return path;
        }
        at += len + (at[len] == ':');
    }
    return NULL;
}

enum rc program_find(const struct program_query *query, struct arena *arena,
                     struct program *ret_program, struct err *err)
{
    const char *name = query->name, *path = NULL;
    bool named = strchr(name, '/') != NULL;
    if (!named)
        path = search_for(name, query->path, arena);
    else
        path = name[0] == '/' ? name : arena_printf(arena, "%s/%s", query->cwd, name);
    if (named && !is_program(path)) {
        if (file_exists(path))
            return err_set(err, RC_NOT_FOUND, "NO_PROGRAM",
                           "%.200s cannot be started: it is no file that may be executed "
                           "(chmod +x).",
                           name);
        path = NULL;
    }
    if (path == NULL)
        return err_set(err, RC_NOT_FOUND, "NO_PROGRAM", "There is no program %.200s%s.", name,
                       named ? "" : " in PATH");
    *ret_program = (struct program){.path = path};
    return RC_OK;
}

/* ---- parts ---- */

const char *program_part_of(const struct program *program, const char *path)
{
    for (size_t i = 0; program->parts[i] != NULL; i++) {
        if (path_is_inside(path, program->parts[i]))
            return program->parts[i];
    }
    return NULL;
}

static void add_part(struct program *program, const char *path)
{
    size_t count = 0;
    while (program->parts[count] != NULL)
        count++;
    if (count < PROGRAM_PARTS_MAX && program_part_of(program, path) == NULL && file_exists(path))
        program->parts[count] = path;
}

static const char *parent_of(const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    return arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

/* Is it a component of the path's directory? */
static bool has_component(const char *path, const char *name)
{
    size_t len = strlen(name);
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        if (strncmp(slash + 1, name, len) == 0 && slash[1 + len] == '/')
            return true;
    }
    return false;
}

/* The outermost package of npm that the file belongs to, or NULL. */
static const char *package_of(const char *file, struct arena *arena)
{
    static const char modules[] = "/node_modules/";
    const char *at = strstr(file, modules);
    if (at == NULL)
        return NULL;
    const char *name = at + sizeof modules - 1;
    const char *above = arena_strndup(arena, file, (size_t)(at - file));
    if (!text_ends(above, "/lib"))
        return arena_strndup(arena, file, (size_t)(name - 1 - file));
    const char *end = strchr(name, '/');
    if (end != NULL && name[0] == '@')
        end = strchr(end + 1, '/');
    return end != NULL ? arena_strndup(arena, file, (size_t)(end - file)) : NULL;
}

static bool add_environment(struct program *program, const char *file, struct arena *arena)
{
    const char *bin = parent_of(file, arena), *top = parent_of(bin, arena);
    const char *mark = arena_printf(arena, "%s/pyvenv.cfg", top);
    if (!text_ends(bin, "/bin") || !file_exists(mark))
        return false;
    add_part(program, bin);
    add_part(program, arena_printf(arena, "%s/lib", top));
    add_part(program, mark);
    return true;
}

/* In share and opt itself lie the files of others, such as their logins. */
static bool is_installed(const char *file, const char *dir)
{
    static const char *const places[] = {"share", "libexec", "opt", "versions"};
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(places); i++)
        found = found || has_component(file, places[i]);
    return found && !text_ends(dir, "/share") && !text_ends(dir, "/opt");
}

static void add_link(struct program *program, const char *path, const char *real)
{
    for (size_t i = 0; i < PROGRAM_LINKS_MAX; i++) {
        if (program->links[i].path != NULL)
            continue;
        program->links[i] = (struct program_link){path, real};
        return;
    }
}

static void add_file(struct program *program, const char *path, const char *real,
                     struct arena *arena)
{
    bool linked = strcmp(path, real) != 0;
    const char *package = package_of(real, arena);
    if (linked)
        add_link(program, path, real);
    if (package != NULL) {
        add_part(program, package);
    } else if (!add_environment(program, real, arena)) {
        const char *dir = parent_of(real, arena);
        add_part(program, linked && is_installed(real, dir) ? dir : real);
    }
}

/* ---- scripts ---- */

/* The words behind #!, in the arena; none: it is no script. */
static size_t read_first_line(const char *file, struct arena *arena,
                              const char *ret_words[LINE_WORDS_MAX])
{
    CLEANUP(fd_closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char head[HEAD_BYTES];
    ssize_t got = fd >= 0 ? read(fd, head, sizeof head - 1) : -1;
    size_t count = 0;
    if (got < 3 || head[0] != '#' || head[1] != '!')
        return 0;
    head[got] = '\0';
    head[strcspn(head, "\n")] = '\0';
    for (const char *at = head + 2; count < LINE_WORDS_MAX;) {
        at += strspn(at, " \t\r");
        size_t len = strcspn(at, " \t\r");
        if (len == 0)
            break;
        ret_words[count++] = arena_strndup(arena, at, len);
        at += len;
    }
    return count;
}

/* "#!/usr/bin/env -S NAME=value node --flag": node. */
static const char *name_of_env(const char *const *words, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (words[i][0] != '-' && strchr(words[i], '=') == NULL)
            return words[i];
    }
    return NULL;
}

static enum rc add_interpreter(struct program *program, const char *file, const char *search,
                               struct arena *arena, struct err *err)
{
    const char *words[LINE_WORDS_MAX];
    size_t count = read_first_line(file, arena, words);
    if (count == 0)
        return RC_OK;
    bool by_env = text_ends(words[0], "/env");
    const char *name = by_env ? name_of_env(words, count) : words[0];
    const char *path = name != NULL && name[0] != '/' ? search_for(name, search, arena) : name;
    char real[PATH_MAX];
    if (path == NULL || realpath(path, real) == NULL)
        return err_set(err, RC_NOT_FOUND, "NO_PROGRAM",
                       "%.200s is a script for %.100s, and there is no such program%s.", file,
                       name != NULL ? name : words[0], by_env ? " in PATH" : "");
    const char *found = arena_strdup(arena, real);
    if (strcmp(path, found) != 0 && program_part_of(program, path) == NULL)
        add_link(program, path, found);
    add_part(program, found);
    const char *slash = strrchr(found, '/');
    if (text_starts(slash, "/python") && text_ends(parent_of(found, arena), "/bin"))
        add_part(program, arena_printf(arena, "%s/lib", parent_of(parent_of(found, arena), arena)));
    return RC_OK;
}

enum rc program_examine(struct program *program, const char *search, struct arena *arena,
                        struct err *err)
{
    char real[PATH_MAX];
    if (realpath(program->path, real) == NULL)
        return err_set(err, RC_NOT_FOUND, "NO_PROGRAM", "There is no program %.200s.",
                       program->path);
    const char *file = arena_strdup(arena, real);
    add_file(program, program->path, file, arena);
    return add_interpreter(program, file, search, arena, err);
}
