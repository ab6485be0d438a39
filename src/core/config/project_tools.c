/*
 * project_tools.c - one function for each tool that needs more than its row in a table.
 */
#include "core/config/project_tools.h"
#include <ctype.h>
#include <string.h>

enum { LONG_SECONDS = 1800 };

/* What can download through the proxy that verify[].egress offers. */
static const char *const crates[] = {"index.crates.io", "static.crates.io", NULL};
static const char *const go_proxy[] = {"proxy.golang.org", "sum.golang.org", NULL};

/* ---- task runners ---- */

/* The names of a rule, "test check: build"; empty where the line is no rule. */
static struct str rule_names(struct str line)
{
    const struct str none = {0};
    if (line.len == 0 || strchr("\t #", line.at[0]) != NULL)
        return none;
    const char *colon = memchr(line.at, ':', line.len);
    const char *equals = memchr(line.at, '=', line.len);
    if (colon == NULL || (equals != NULL && equals < colon))
        return none;
    const char *end = line.at + line.len, *behind = colon;
    while (behind < end && *behind == ':')
        behind++;
    if (behind < end && *behind == '=')
        return none;
    return (struct str){line.at, (size_t)(colon - line.at)};
}

static bool has_word(struct str words, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; words.at != NULL && at + len <= words.len; at++) {
        bool begins = at == 0 || isspace((unsigned char)words.at[at - 1]);
        bool ends = at + len == words.len || isspace((unsigned char)words.at[at + len]);
        if (begins && ends && memcmp(words.at + at, word, len) == 0)
            return true;
    }
    return false;
}

/* The name of a recipe of just, "@test name='x': build". */
static struct str recipe_name(struct str line)
{
    const struct str none = {0};
    if (line.len == 0 || strchr("\t #[", line.at[0]) != NULL)
        return none;
    const char *colon = memchr(line.at, ':', line.len);
    if (colon == NULL || (colon + 1 < line.at + line.len && colon[1] == '='))
        return none;
    size_t begin = line.at[0] == '@', end = begin;
    while (end < line.len &&
           (isalnum((unsigned char)line.at[end]) || strchr("_-", line.at[end]) != NULL))
        end++;
    return (struct str){line.at + begin, end - begin};
}

static bool has_rule(struct str text, const char *name, struct str (*names_of)(struct str line))
{
    struct str line;
    while (str_take_line(&text, &line)) {
        if (has_word(names_of(line), name))
            return true;
    }
    return false;
}

/* For each work the first target that is there. */
static const struct target {
    enum project_work work;
    const char *names[3];
} targets[] = {
    {WORK_LINT, {"lint"}},
    {WORK_TEST, {"test", "check", "tests"}},
};
/* Where there is no test. */
static const struct target build = {WORK_BUILD, {"build", "all"}};

struct runner {
    const char *program;
    struct str (*names_of)(struct str line);
};

static void add_target(struct project_place *place, const char *marker, const struct runner *runner,
                       const struct target *target)
{
    struct str text = place_text(place, marker);
    for (size_t i = 0; i < COUNT_OF(target->names) && target->names[i] != NULL; i++) {
        const char *name = target->names[i];
        if (!has_rule(text, name, runner->names_of))
            continue;
        place_add(place, &(struct place_check){
                             .work = target->work,
                             .file = marker,
                             .why = arena_printf(place->arena, "has the target %s", name),
                             .program = runner->program,
                             .command = arena_printf(place->arena, "%s %s", runner->program, name),
                             .timeout_s = LONG_SECONDS,
                         });
        return;
    }
}

/* True when it has a test: what is below is its business. */
static bool read_targets(struct project_place *place, const char *marker,
                         const struct runner *runner)
{
    for (size_t i = 0; i < COUNT_OF(targets); i++)
        add_target(place, marker, runner, &targets[i]);
    if (place->by_runner[WORK_TEST] == NULL)
        add_target(place, marker, runner, &build);
    return place->by_runner[WORK_TEST] != NULL;
}

static bool read_make(struct project_place *place, const char *marker)
{
    return read_targets(place, marker, &(struct runner){"make", rule_names});
}

static bool read_just(struct project_place *place, const char *marker)
{
    return read_targets(place, marker, &(struct runner){"just", recipe_name});
}

/* ---- tools of one language ---- */

static bool read_cargo(struct project_place *place, const char *marker)
{
    struct str text = place_text(place, marker);
    bool workspace = text_has_table(text, "workspace");
    bool needs = workspace || text_has_table(text, "dependencies") ||
                 text_has_table(text, "dev-dependencies");
    const char *locked = place_has(place, "Cargo.lock") ? " --locked" : "";
    if (place_has(place, "rustfmt.toml") || place_has(place, ".rustfmt.toml"))
        place_add(place, &(struct place_check){.work = WORK_FORMAT,
                                               .file = marker,
                                               .why = "stands beside a rustfmt.toml",
                                               .program = "cargo",
                                               .command = "cargo fmt --check"});
    if (place_has(place, "clippy.toml") || place_has(place, ".clippy.toml"))
        place_add(place, &(struct place_check){
                             .work = WORK_LINT,
                             .file = marker,
                             .why = "stands beside a clippy.toml",
                             .program = "cargo",
                             .command = arena_printf(place->arena, "cargo clippy%s -- -D warnings",
                                                     locked),
                             .hosts = needs ? crates : NULL,
                             .timeout_s = LONG_SECONDS,
                         });
    place_add(place, &(struct place_check){
                         .work = WORK_TEST,
                         .file = marker,
                         .why = workspace ? "is a workspace" : "is a package",
                         .program = "cargo",
                         .command = arena_printf(place->arena, "cargo test%s%s", locked,
                                                 workspace ? " --workspace" : ""),
                         .hosts = needs ? crates : NULL,
                         .timeout_s = LONG_SECONDS,
                     });
    return workspace;
}

static bool read_go(struct project_place *place, const char *marker)
{
    bool vendored = place_has(place, "vendor/modules.txt");
    bool needs = !vendored && text_mentions(place_text(place, marker), "require");
    static const char *const linters[] = {".golangci.yml", ".golangci.yaml", ".golangci.toml"};
    struct place_check lint = {.work = WORK_LINT,
                               .file = marker,
                               .why = "is a module",
                               .program = "go",
                               .command = "go vet ./...",
                               .hosts = needs ? go_proxy : NULL};
    for (size_t i = 0; i < COUNT_OF(linters); i++) {
        if (!place_has(place, linters[i]))
            continue;
        lint.file = linters[i];
        lint.why = "is there";
        lint.program = "golangci-lint";
        lint.command = "golangci-lint run";
    }
    place_add(place, &lint);
    place_add(place, &(struct place_check){.work = WORK_TEST,
                                           .file = marker,
                                           .why = "is a module",
                                           .program = "go",
                                           .command = "go test ./...",
                                           .hosts = needs ? go_proxy : NULL,
                                           .timeout_s = LONG_SECONDS});
    return false;
}

static bool read_cmake(struct project_place *place, const char *marker)
{
    struct str text = place_text(place, marker);
    bool tests = text_mentions(text, "enable_testing") || text_mentions(text, "CTest") ||
                 text_mentions(text, "add_test") || text_mentions(text, "add_subdirectory(test");
    place_add(place,
              &(struct place_check){
                  .work = tests ? WORK_TEST : WORK_BUILD,
                  .file = marker,
                  .why = tests ? "has tests" : "names no tests: it is built",
                  .program = "cmake",
                  .command = tests ? "cmake -S . -B build && cmake --build build --parallel && "
                                     "ctest --test-dir build --output-on-failure"
                                   : "cmake -S . -B build && cmake --build build --parallel",
                  .timeout_s = LONG_SECONDS,
              });
    return true;
}

/* Neither uses the proxy of verify[].egress. */
static void note_downloads(struct project_place *place, const char *program)
{
    place_note(place,
               "%s downloads what it needs, past the proxy that a check's egress offers: say "
               "network: true under agent, or let its cache be mounted (agent.mounts).",
               program);
}

static bool read_maven(struct project_place *place, const char *marker)
{
    bool own = place_has(place, "mvnw");
    place_add(place, &(struct place_check){.work = WORK_TEST,
                                           .file = marker,
                                           .why = own ? "stands beside mvnw" : "is there",
                                           .program = own ? "java" : "mvn",
                                           .command = own ? "./mvnw -B test" : "mvn -B test",
                                           .timeout_s = LONG_SECONDS});
    note_downloads(place, "Maven");
    return true;
}

static bool read_gradle(struct project_place *place, const char *marker)
{
    bool own = place_has(place, "gradlew");
    place_add(place, &(struct place_check){.work = WORK_TEST,
                                           .file = marker,
                                           .why = own ? "stands beside gradlew" : "is there",
                                           .program = own ? "java" : "gradle",
                                           .command = own ? "./gradlew check" : "gradle check",
                                           .timeout_s = LONG_SECONDS});
    note_downloads(place, "Gradle");
    return true;
}

static bool read_ruby(struct project_place *place, const char *marker)
{
    static const char *const gems[] = {"rubygems.org", "index.rubygems.org", NULL};
    bool specs = place_has(place, ".rspec");
    if (!specs && !place_has(place, "Rakefile"))
        return false;
    place_add(place, &(struct place_check){
                         .work = WORK_TEST,
                         .file = marker,
                         .why = specs ? "stands beside .rspec" : "stands beside a Rakefile",
                         .program = "bundle",
                         .command = arena_printf(place->arena,
                                                 "bundle config set --local path vendor/bundle && "
                                                 "bundle install && bundle exec %s",
                                                 specs ? "rspec" : "rake test"),
                         .hosts = gems,
                         .timeout_s = LONG_SECONDS,
                     });
    return false;
}

static bool read_php(struct project_place *place, const char *marker)
{
    static const char *const hosts[] = {"repo.packagist.org", "api.github.com",
                                        "codeload.github.com", NULL};
    if (!place_has(place, "phpunit.xml") && !place_has(place, "phpunit.xml.dist"))
        return false;
    place_add(place,
              &(struct place_check){
                  .work = WORK_TEST,
                  .file = marker,
                  .why = "stands beside a phpunit.xml",
                  .program = "composer",
                  .command = "composer install --no-interaction --quiet && vendor/bin/phpunit",
                  .hosts = hosts,
                  .timeout_s = LONG_SECONDS,
              });
    return false;
}

/* ---- tools that are a row ---- */

static const char *const nuget[] = {"api.nuget.org", "*.nuget.org", NULL};
static const char *const hex[] = {"repo.hex.pm", "builds.hex.pm", NULL};
static const char *const github[] = {"github.com", "codeload.github.com", NULL};

static const struct simple {
    const char *marker, *program, *command;
    const char *const *hosts;
    bool covers_below;
} simples[] = {
    {"meson.build", "meson", "meson setup builddir && meson test -C builddir", NULL, true},
    {"configure.ac", "autoreconf", "autoreconf --install && ./configure && make check", NULL, true},
    {"mix.exs", "mix",
     "mix local.hex --force && mix local.rebar --force && mix deps.get && mix test", hex, true},
    {"Package.swift", "swift", "swift test", github, false},
    {"build.zig", "zig", "zig build test", NULL, false},
    {"deno.json", "deno", "deno test --allow-all", NULL, false},
    {"dune-project", "dune", "dune test", NULL, true},
    {"build.sbt", "sbt", "sbt test", NULL, true},
    {"stack.yaml", "stack", "stack test", NULL, true},
    {"*.sln", "dotnet", "dotnet test", nuget, true},
    {"*.csproj", "dotnet", "dotnet test", nuget, false},
};

static bool read_simple(struct project_place *place, const char *marker)
{
    for (size_t i = 0; i < COUNT_OF(simples); i++) {
        const struct simple *simple = &simples[i];
        bool by_end = simple->marker[0] == '*';
        if (by_end ? !text_ends(marker, simple->marker + 1) : !text_same(marker, simple->marker))
            continue;
        place_add(place, &(struct place_check){.work = WORK_TEST,
                                               .file = marker,
                                               .why = "is there",
                                               .program = simple->program,
                                               .command = simple->command,
                                               .hosts = simple->hosts,
                                               .timeout_s = LONG_SECONDS});
        if (text_same(marker, "build.sbt"))
            note_downloads(place, "sbt");
        return simple->covers_below;
    }
    return false;
}

/* ---- the table ---- */

/* To add one: a row here, or in `simples` above when one command is all; further files that it
   looks at in the lists below; a row of the table in tests/unit/core/config/test_project.c. */
static const struct project_tool tools[] = {
    {"make", "GNUmakefile", true, read_make},
    {"make", "makefile", true, read_make},
    {"make", "Makefile", true, read_make},
    {"just", "justfile", true, read_just},
    {"just", "Justfile", true, read_just},
    {"node", "package.json", false, project_read_node},
    {"cargo", "Cargo.toml", false, read_cargo},
    {"go", "go.mod", false, read_go},
    {"python", "pyproject.toml", false, project_read_python},
    {"python", "tox.ini", false, project_read_python},
    {"python", "setup.py", false, project_read_python},
    {"python", "setup.cfg", false, project_read_python},
    {"python", "pytest.ini", false, project_read_python},
    {"python", "requirements.txt", false, project_read_python},
    {"cmake", "CMakeLists.txt", false, read_cmake},
    {"gradle", "build.gradle.kts", false, read_gradle},
    {"gradle", "build.gradle", false, read_gradle},
    {"gradle", "settings.gradle.kts", false, read_gradle},
    {"gradle", "settings.gradle", false, read_gradle},
    {"maven", "pom.xml", false, read_maven},
    {"ruby", "Gemfile", false, read_ruby},
    {"php", "composer.json", false, read_php},
    {"meson", "meson.build", false, read_simple},
    {"autotools", "configure.ac", false, read_simple},
    {"elixir", "mix.exs", false, read_simple},
    {"swift", "Package.swift", false, read_simple},
    {"zig", "build.zig", false, read_simple},
    {"deno", "deno.json", false, read_simple},
    {"ocaml", "dune-project", false, read_simple},
    {"sbt", "build.sbt", false, read_simple},
    {"haskell", "stack.yaml", false, read_simple},
    {"dotnet", "*.sln", false, read_simple},
    {"dotnet", "*.csproj", false, read_simple},
};

const struct project_tool *project_tools(size_t *ret_count)
{
    *ret_count = COUNT_OF(tools);
    return tools;
}

const char *const project_further_texts[] = {"requirements-dev.txt", "dev-requirements.txt",
                                             "requirements-test.txt", NULL};
const char *const project_further_names[] = {
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    ".yarnrc.yml",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    "bun.lockb",
    "Cargo.lock",
    "rustfmt.toml",
    ".rustfmt.toml",
    "clippy.toml",
    ".clippy.toml",
    ".golangci.yml",
    ".golangci.yaml",
    ".golangci.toml",
    "vendor/modules.txt",
    "uv.lock",
    "poetry.lock",
    "conftest.py",
    "tests/conftest.py",
    "ruff.toml",
    ".ruff.toml",
    "tests/__init__.py",
    "gradlew",
    "mvnw",
    ".rspec",
    "Rakefile",
    "phpunit.xml",
    "phpunit.xml.dist",
    NULL,
};
