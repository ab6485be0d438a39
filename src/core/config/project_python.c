/*
 * project_python.c - pytest, ruff and tox, by the tool that makes the environment: uv, poetry, or
 * venv with pip.
 *
 * A project has several files that are markers; the first one that is there speaks for all.
 */
#include "core/config/project_tools.h"

static const char *const hosts[] = {"pypi.org", "files.pythonhosted.org", NULL};

static bool uses_pytest(const struct project_place *place, struct str pyproject)
{
    static const char *const files[] = {"pytest.ini", "conftest.py", "tests/conftest.py"};
    static const char *const lists[] = {"requirements.txt",
                                        "requirements-dev.txt",
                                        "dev-requirements.txt",
                                        "requirements-test.txt",
                                        "setup.py",
                                        "setup.cfg"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (place_has(place, files[i]))
            return true;
    }
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (text_mentions(place_text(place, lists[i]), "pytest"))
            return true;
    }
    return text_mentions(pyproject, "pytest");
}

/* How a program of the project's own environment is started. */
struct environment {
    const char *why;
    const char *program;
    const char *make; /* "": nothing to do before. */
    const char *run;
    bool downloads;
};

static struct environment with_pip(struct project_place *place, struct str pyproject)
{
    static const char *const lists[] = {"requirements-dev.txt", "dev-requirements.txt",
                                        "requirements-test.txt", "requirements.txt"};
    struct environment environment = {.program = "python3", .make = "", .run = "python3 -m "};
    const char *list = NULL;
    for (size_t i = 0; i < COUNT_OF(lists) && list == NULL; i++)
        list = place_has(place, lists[i]) ? lists[i] : NULL;
    bool package = text_has_table(pyproject, "project") || place_has(place, "setup.py");
    if (list == NULL && !package)
        return environment;
    environment.make = arena_printf(place->arena,
                                    "python3 -m venv .venv && .venv/bin/pip install --quiet "
                                    "pytest%s%s%s && ",
                                    list != NULL ? " -r " : "", list != NULL ? list : "",
                                    package ? " -e ." : "");
    environment.run = ".venv/bin/python -m ";
    environment.downloads = true;
    return environment;
}

static struct environment environment_of(struct project_place *place, struct str pyproject)
{
    if (place_has(place, "uv.lock"))
        return (struct environment){" and uv.lock", "uv", "", "uv run --frozen ", true};
    if (place_has(place, "poetry.lock"))
        return (struct environment){" and poetry.lock", "poetry",
                                    "poetry install --no-interaction && ", "poetry run ", true};
    return with_pip(place, pyproject);
}

static void add_ruff(struct project_place *place, struct str pyproject)
{
    const char *file = place_has(place, "ruff.toml")            ? "ruff.toml"
                       : place_has(place, ".ruff.toml")         ? ".ruff.toml"
                       : text_has_table(pyproject, "tool.ruff") ? "pyproject.toml"
                                                                : NULL;
    if (file == NULL)
        return;
    bool locked = place_has(place, "uv.lock");
    place_add(place, &(struct place_check){.work = WORK_LINT,
                                           .file = file,
                                           .why = "has settings of ruff",
                                           .program = locked ? "uv" : "ruff",
                                           .command = locked ? "uv run --frozen ruff check ."
                                                             : "ruff check .",
                                           .hosts = locked ? hosts : NULL});
}

static void add_tests(struct project_place *place, const char *marker, struct str pyproject)
{
    struct arena *arena = place->arena;
    if (place_has(place, "tox.ini") || text_has_table(pyproject, "tool.tox")) {
        place_add(place, &(struct place_check){
                             .work = WORK_TEST,
                             .file = place_has(place, "tox.ini") ? "tox.ini" : "pyproject.toml",
                             .why = "has settings of tox",
                             .program = "tox",
                             .command = "tox",
                             .hosts = hosts,
                             .timeout_s = 1800,
                         });
        return;
    }
    bool pytest = uses_pytest(place, pyproject);
    if (!pytest && !place_has(place, "tests/__init__.py"))
        return;
    if (!pytest) {
        place_add(place, &(struct place_check){.work = WORK_TEST,
                                               .file = "tests/__init__.py",
                                               .why = "is there, and nothing names pytest",
                                               .program = "python3",
                                               .command = "python3 -m unittest discover"});
        return;
    }
    struct environment environment = environment_of(place, pyproject);
    place_add(place,
              &(struct place_check){
                  .work = WORK_TEST,
                  .file = marker,
                  .why = arena_printf(arena, "is there, and pytest is used%s",
                                      environment.why != NULL ? environment.why : ""),
                  .program = environment.program,
                  .command = arena_printf(arena, "%s%spytest", environment.make, environment.run),
                  .hosts = environment.downloads ? hosts : NULL,
              });
}

bool project_read_python(struct project_place *place, const char *marker)
{
    struct str pyproject = place_text(place, "pyproject.toml");
    add_ruff(place, pyproject);
    add_tests(place, marker, pyproject);
    return false;
}
