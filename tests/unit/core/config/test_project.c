/*
 * test_project.c - which checks the files of a checkout make, one small tree for each row.
 */
#include "core/config/project.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

enum { FILES = 8, CHECKS = 8, NAMES_MAX = 4000 };

#define NODE_TESTS "\"scripts\": {\"test\": \"node --test\"}"

/* Checks as "name: command", in order; hosts behind " < ", an output behind " > ". */
static const struct tree {
    const char *what;
    struct {
        const char *path, *text;
    } files[FILES];
    const char *want[CHECKS];
    const char *note; /* Part of a note, or NULL: there is none. */
} trees[] = {
    {"nothing", {{"README.md", "make test"}}, {NULL}, NULL},

    {"a Makefile", {{"Makefile", "test: all\n\t./t\n"}}, {"test: make test"}, NULL},
    {"several targets in one rule, and two colons",
     {{"Makefile", "all check lint:: x\n\ttrue\n"}},
     {"lint: make lint", "test: make check"},
     NULL},
    {"assignments are no rules",
     {{"Makefile", "test := 1\nlint = a:b\ncheck ::= 2\nX ?= test:\n"}},
     {NULL},
     NULL},
    {"commands and comments are no rules",
     {{"Makefile", "x:\n\ttest: no\n# lint: no\n  check: no\n"}},
     {NULL},
     NULL},
    {".PHONY is no rule of test", {{"Makefile", ".PHONY: test\ntester:\n"}}, {NULL}, NULL},
    {"without a test it is built", {{"Makefile", "all: x\nrun:\n"}}, {"build: make all"}, NULL},
    {"GNUmakefile comes first",
     {{"GNUmakefile", "test:\n"}, {"Makefile", "lint:\ntest:\n"}},
     {"test: make test"},
     NULL},
    {"a justfile",
     {{"justfile", "@lint:\n  x\ntest name='':\n  y\n"}},
     {"lint: just lint", "test: just test"},
     NULL},

    {"npm by its lock file",
     {{"package.json", "{" NODE_TESTS ", \"dependencies\": {\"x\": \"1\"}}"},
      {"package-lock.json", ""}},
     {"install: npm ci --no-audit --no-fund > node_modules < *.npmjs.org", "test: npm run test"},
     NULL},
    {"npm without dependencies",
     {{"package.json", "{" NODE_TESTS "}"}},
     {"test: npm run test"},
     NULL},
    {"lint, typecheck, build and test in this order",
     {{"package.json", "{\"scripts\": {\"test\": \"t\", \"build\": \"b\", \"lint\": \"l\","
                       " \"typecheck\": \"c\", \"start\": \"s\"}}"}},
     {"lint: npm run lint", "types: npm run typecheck", "build: npm run build",
      "test: npm run test"},
     NULL},
    {"what npm init writes is no test",
     {{"package.json",
       "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}"}},
     {NULL},
     NULL},
    {"pnpm",
     {{"package.json", "{" NODE_TESTS ", \"devDependencies\": {\"x\": \"1\"}}"},
      {"pnpm-lock.yaml", ""}},
     {"install: pnpm install --frozen-lockfile > node_modules < *.npmjs.org",
      "test: pnpm run test"},
     NULL},
    {"yarn 1",
     {{"package.json", "{" NODE_TESTS ", \"devDependencies\": {\"x\": \"1\"}}"}, {"yarn.lock", ""}},
     {"install: yarn install --frozen-lockfile > node_modules < *.yarnpkg.com "
      "*.npmjs.org",
      "test: yarn run test"},
     NULL},
    {"yarn 2 keeps its packages elsewhere",
     {{"package.json", "{" NODE_TESTS "}"}, {"yarn.lock", ""}, {".yarnrc.yml", ""}},
     {"test: yarn install --immutable && yarn run test < *.yarnpkg.com *.npmjs.org"},
     NULL},
    {"bun", {{"package.json", "{" NODE_TESTS "}"}, {"bun.lock", ""}}, {"test: bun run test"}, NULL},
    {"without a lock file packageManager counts",
     {{"package.json", "{" NODE_TESTS ", \"packageManager\": \"pnpm@9.1.0\","
                       " \"dependencies\": {\"x\": \"1\"}}"}},
     {"install: pnpm install > node_modules < *.npmjs.org", "test: pnpm run test"},
     NULL},
    {"a workspace is one check, and covers its packages",
     {{"package.json", "{\"workspaces\": [\"packages/*\"], \"scripts\": {\"lint\": \"l\","
                       " \"test\": \"t\"}}"},
      {"package-lock.json", ""},
      {"packages/a/package.json", "{" NODE_TESTS "}"}},
     {"test: npm ci --no-audit --no-fund && npm run lint && npm run test < *.npmjs.org"},
     NULL},
    {"a package.json that cannot be read", {{"package.json", "{,"}}, {NULL}, "is no JSON"},

    {"cargo",
     {{"Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\n"},
      {"Cargo.lock", ""},
      {"rustfmt.toml", ""},
      {"clippy.toml", ""}},
     {"format: cargo fmt --check",
      "lint: cargo clippy --locked -- -D warnings < index.crates.io static.crates.io",
      "test: cargo test --locked < index.crates.io static.crates.io"},
     NULL},
    {"cargo without dependencies",
     {{"Cargo.toml", "[package]\nname = \"x\"\n"}},
     {"test: cargo test"},
     NULL},
    {"a cargo workspace covers its members",
     {{"Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"}, {"a/Cargo.toml", "[package]\n"}},
     {"test: cargo test --workspace < index.crates.io static.crates.io"},
     NULL},

    {"go", {{"go.mod", "module x\n"}}, {"lint: go vet ./...", "test: go test ./..."}, NULL},
    {"go with modules of others",
     {{"go.mod", "module x\nrequire y v1\n"}, {".golangci.yml", ""}},
     {"lint: golangci-lint run < proxy.golang.org sum.golang.org",
      "test: go test ./... < proxy.golang.org sum.golang.org"},
     NULL},
    {"vendored modules are there already",
     {{"go.mod", "module x\nrequire y v1\n"}, {"vendor/modules.txt", ""}},
     {"lint: go vet ./...", "test: go test ./..."},
     NULL},

    {"pytest and ruff",
     {{"pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff.lint]\n"}},
     {"lint: ruff check .", "test: python3 -m pytest"},
     NULL},
    {"pytest by uv",
     {{"pyproject.toml", "[project]\n[tool.pytest.ini_options]\n"}, {"uv.lock", ""}},
     {"test: uv run --frozen pytest < pypi.org files.pythonhosted.org"},
     NULL},
    {"pytest by poetry",
     {{"pyproject.toml", "[tool.poetry.group.dev.dependencies]\npytest = \"*\"\n"},
      {"poetry.lock", ""}},
     {"test: poetry install --no-interaction && poetry run pytest < pypi.org "
      "files.pythonhosted.org"},
     NULL},
    {"pytest of a package by pip",
     {{"pyproject.toml", "[project]\nname = \"x\"\n"}, {"tests/conftest.py", ""}},
     {"test: python3 -m venv .venv && .venv/bin/pip install --quiet pytest -e . && "
      ".venv/bin/python -m pytest < pypi.org files.pythonhosted.org"},
     NULL},
    {"pytest by lists of requirements",
     {{"requirements.txt", "x\n"}, {"requirements-dev.txt", "-r requirements.txt\npytest\n"}},
     {"test: python3 -m venv .venv && .venv/bin/pip install --quiet pytest "
      "-r requirements-dev.txt && .venv/bin/python -m pytest < pypi.org files.pythonhosted.org"},
     NULL},
    {"tox instead of pytest",
     {{"tox.ini", "[tox]\n"}, {"pyproject.toml", "[tool.pytest.ini_options]\n"}},
     {"test: tox < pypi.org files.pythonhosted.org"},
     NULL},
    {"unittest",
     {{"setup.py", "setup()\n"}, {"tests/__init__.py", ""}},
     {"test: python3 -m unittest discover"},
     NULL},
    {"python without tests", {{"setup.py", "setup()\n"}}, {NULL}, NULL},

    {"cmake with tests",
     {{"CMakeLists.txt", "project(x)\nenable_testing()\n"}, {"lib/CMakeLists.txt", ""}},
     {"test: cmake -S . -B build && cmake --build build --parallel && "
      "ctest --test-dir build --output-on-failure"},
     NULL},
    {"cmake without",
     {{"CMakeLists.txt", "project(x)\n"}},
     {"build: cmake -S . -B build && cmake --build build --parallel"},
     NULL},
    {"meson",
     {{"meson.build", ""}, {"src/meson.build", ""}},
     {"test: meson setup builddir && meson test -C builddir"},
     NULL},
    {"autotools",
     {{"configure.ac", ""}},
     {"test: autoreconf --install && ./configure && make check"},
     NULL},
    {"gradle",
     {{"build.gradle.kts", ""}, {"gradlew", ""}, {"app/build.gradle.kts", ""}},
     {"test: ./gradlew check"},
     "past the proxy"},
    {"maven", {{"pom.xml", ""}, {"core/pom.xml", ""}}, {"test: mvn -B test"}, "past the proxy"},
    {"ruby",
     {{"Gemfile", ""}, {".rspec", ""}},
     {"test: bundle config set --local path vendor/bundle && bundle install && "
      "bundle exec rspec < rubygems.org index.rubygems.org"},
     NULL},
    {"a gem file alone", {{"Gemfile", ""}}, {NULL}, NULL},
    {"dotnet",
     {{"x.sln", ""}, {"x/x.csproj", ""}},
     {"test: dotnet test < api.nuget.org *.nuget.org"},
     NULL},

    {"a Makefile instead of the tools, which need their hosts",
     {{"Makefile", "test:\n"}, {"go.mod", "module x\nrequire y v1\n"}},
     {"test: make test < proxy.golang.org sum.golang.org",
      "lint: go vet ./... < proxy.golang.org sum.golang.org"},
     "go.mod is a module: not taken, because the check test does that"},
    {"what a Makefile needs is installed before",
     {{"Makefile", "test:\n"},
      {"package.json", "{" NODE_TESTS ", \"dependencies\": {\"x\": \"1\"}}"},
      {"package-lock.json", ""}},
     {"install: npm ci --no-audit --no-fund > node_modules < *.npmjs.org", "test: make test"},
     "package.json has a script test"},
    {"a Makefile at the top covers all below",
     {{"Makefile", "test:\n"},
      {"api/go.mod", "module x\nrequire y v1\n"},
      {"web/Makefile", "test:\n"}},
     {"test: make test < proxy.golang.org sum.golang.org"},
     "api/go.mod is a module: not taken"},
    {"a Makefile without a test covers nothing",
     {{"Makefile", "run:\n"}, {"api/go.mod", "module x\n"}},
     {"api-lint: cd api && go vet ./...", "api-test: cd api && go test ./..."},
     NULL},
    {"two tools of one directory",
     {{"package.json", "{" NODE_TESTS "}"}, {"go.mod", "module x\n"}},
     {"test: npm run test", "lint: go vet ./...", "test-go: go test ./..."},
     NULL},
    {"several projects, top first",
     {{"web/package.json", "{" NODE_TESTS ", \"dependencies\": {\"x\": \"1\"}}"},
      {"package.json", "{" NODE_TESTS "}"},
      {"services/api/go.mod", "module x\n"}},
     {"test: npm run test", "services-api-lint: cd services/api && go vet ./...",
      "services-api-test: cd services/api && go test ./...",
      "web-install: cd web && npm install --no-audit --no-fund > web/node_modules < "
      "*.npmjs.org",
      "web-test: cd web && npm run test"},
     NULL},
    {"names that a shell would read otherwise",
     {{"it's a dir/go.mod", "module x\n"}},
     {"it-s-a-dir-lint: cd 'it'\\''s a dir' && go vet ./...",
      "it-s-a-dir-test: cd 'it'\\''s a dir' && go test ./..."},
     NULL},
    {"what is of others, a sample or deep is not looked at",
     {{"node_modules/x/package.json", "{" NODE_TESTS "}"},
      {"examples/a/go.mod", "module x\n"},
      {"a/b/c/go.mod", "module x\n"},
      {".github/Makefile", "test:\n"},
      {"third_party/x/Makefile", "test:\n"}},
     {NULL},
     NULL},
};

static struct arena arena;

static void setup(void)
{
    arena = (struct arena){0};
}

static void teardown(void)
{
    arena_release(&arena);
}

static const char *shown(const struct project_check *check)
{
    const char *text = arena_printf(
        &arena, "%s: %s%s%s%s", check->name, check->command, check->output != NULL ? " > " : "",
        check->output != NULL ? check->output : "", check->hosts[0] != NULL ? " <" : "");
    for (size_t i = 0; check->hosts[i] != NULL; i++)
        text = arena_printf(&arena, "%s %s", text, check->hosts[i]);
    return text;
}

/* As the command line does it: only what is needed is passed on. */
static size_t take_files(const struct tree *tree, struct project_file *files)
{
    size_t count = 0;
    for (size_t i = 0; i < FILES && tree->files[i].path != NULL; i++) {
        enum project_need need = project_needs(tree->files[i].path);
        if (need != PROJECT_NOTHING)
            files[count++] = (struct project_file){
                tree->files[i].path,
                need == PROJECT_TEXT ? str_of(tree->files[i].text) : (struct str){0}};
    }
    return count;
}

START_TEST(a_tree_has_its_checks)
{
    const struct tree *tree = &trees[_i];
    struct project_file files[FILES];
    struct project project;
    project_read(files, take_files(tree, files), &arena, &project);
    size_t wanted = 0;
    while (wanted < CHECKS && tree->want[wanted] != NULL)
        wanted++;
    for (size_t i = 0; i < project.count; i++) {
        const char *got = shown(&project.checks[i]);
        ck_assert_msg(i < wanted && strcmp(got, tree->want[i]) == 0, "%s: [%zu] %s", tree->what, i,
                      got);
        ck_assert_ptr_nonnull(project.checks[i].why);
        ck_assert_ptr_nonnull(project.checks[i].program);
    }
    ck_assert_msg(project.count == wanted, "%s: %zu checks", tree->what, project.count);
    const char *note = project.note_count > 0 ? project.notes[0] : NULL;
    ck_assert_msg((note == NULL) == (tree->note == NULL), "%s: %s", tree->what,
                  note != NULL ? note : "(no note)");
    ck_assert_msg(note == NULL || strstr(note, tree->note) != NULL, "%s: %s", tree->what, note);
}
END_TEST

START_TEST(a_check_says_why)
{
    const struct project_file files[] = {{"web/Makefile", str_of("check:\n")}};
    struct project project;
    project_read(files, 1, &arena, &project);
    ck_assert_uint_eq(project.count, 1);
    ck_assert_str_eq(project.checks[0].why, "web/Makefile has the target check");
    ck_assert_str_eq(project.checks[0].program, "make");
    ck_assert_int_eq(project.checks[0].timeout_s, 1800);
}
END_TEST

/* More projects than a configuration may have checks. */
START_TEST(what_is_beyond_the_limit_is_counted)
{
    enum { MANY = 100 };
    struct project_file files[MANY];
    struct project project;
    for (size_t i = 0; i < MANY; i++)
        files[i] = (struct project_file){arena_printf(&arena, "p%zu/Makefile", i),
                                         str_of("lint:\ntest:\n")};
    project_read(files, MANY, &arena, &project);
    ck_assert_uint_eq(project.count, PROJECT_CHECKS_MAX);
    ck_assert_uint_eq(project.left_out, 2 * MANY - PROJECT_CHECKS_MAX);
    for (size_t i = 0; i < project.count; i++) {
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(project.checks[i].name, project.checks[k].name);
    }
}
END_TEST

/* Directories with the same slug, and names at the limit of their length. */
START_TEST(names_are_unique_and_fit_the_schema)
{
    const char *deep = arena_alloc(&arena, NAMES_MAX);
    memset((char *)deep, 'x', 300);
    const struct project_file files[] = {
        {"a.b/go.mod", str_of("module x")},
        {"a-b/go.mod", str_of("module x")},
        {"a_b/go.mod", str_of("module x")},
        {arena_printf(&arena, "%s/go.mod", deep), str_of("module x")},
        {arena_printf(&arena, "%sy/go.mod", deep), str_of("module x")},
    };
    struct project project;
    project_read(files, COUNT_OF(files), &arena, &project);
    ck_assert_uint_eq(project.count, 2 * COUNT_OF(files));
    for (size_t i = 0; i < project.count; i++) {
        const char *name = project.checks[i].name;
        ck_assert_msg(strlen(name) <= 64 && name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
                                                              "0123456789-_")] == '\0',
                      "%s", name);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(name, project.checks[k].name);
    }
}
END_TEST

Suite *project_suite(void)
{
    Suite *suite = suite_create("project");
    TCase *tests = tcase_create("project");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_tree_has_its_checks, 0, (int)COUNT_OF(trees));
    tcase_add_test(tests, a_check_says_why);
    tcase_add_test(tests, what_is_beyond_the_limit_is_counted);
    tcase_add_test(tests, names_are_unique_and_fit_the_schema);
    suite_add_tcase(suite, tests);
    return suite;
}
