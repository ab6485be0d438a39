/*
 * feedback.c - a failed check, summarized so that it fits a prompt.
 *
 *   `make test` failed with exit code 2.
 *
 *   Errors:
 *   src/sum.c:3:5: error: expected ';'      the first lines that look like errors, each with
 *   ...                                     the lines round it; "..." stands for a gap
 *   End of the output:
 *   make: *** [Makefile:4: test] Error 1    as much of the end as fits
 *
 * The log is cleaned first (core/text/terminal.h).
 */
#include "core/run/feedback.h"
#include "base/buf.h"
#include "core/text/prose.h"
#include "core/text/terminal.h"
#include <assert.h>
#include <ctype.h>
#include <string.h>

enum {
    LOG_BYTES_MAX = 256 * 1024, /* Of the end: what is further back is not read. */
    SCAN_BYTES_MAX = 4096,      /* Of a line that is searched for words of compilers. */
    LINE_BYTES_MAX = 400,
    COMMAND_BYTES_MAX = 200,
    ERROR_BYTES_MAX = 2400,
    LINES_BEFORE = 1,
    LINES_AFTER = 3,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_KILLED = 128 + 9, /* As a shell reports a command that it ran. */
    SIGNAL_KILL = 9,
};

static const char *const status_names[VERIFY_STATUS_COUNT] = {
    [VERIFY_PASSED] = "passed",       [VERIFY_FAILED] = "failed",   [VERIFY_ERRORED] = "errored",
    [VERIFY_TIMED_OUT] = "timed_out", [VERIFY_SKIPPED] = "skipped",
};

static const char *const category_names[FAILURE_CATEGORY_COUNT] = {
    [FAILURE_NONE] = "",
    [FAILURE_COMPILE_ERROR] = "compile_error",
    [FAILURE_TEST_FAILURE] = "test_failure",
    [FAILURE_LINT_FAILURE] = "lint_failure",
    [FAILURE_DEPENDENCY] = "dependency",
    [FAILURE_OUT_OF_MEMORY] = "out_of_memory",
    [FAILURE_RESOURCE_LIMIT] = "resource_limit",
    [FAILURE_TIMEOUT] = "timeout",
    [FAILURE_INFRASTRUCTURE] = "infrastructure",
    [FAILURE_PATCH_DOES_NOT_APPLY] = "patch_does_not_apply",
};

/*
 * Phrases that tools print, in any context.  The category that comes first in the table wins over
 * those below, wherever their lines stand: without memory or packages nothing compiles, and
 * what does not compile fails every test.
 */
static const struct {
    enum failure_category category;
    const char *words;
} telling[] = {
    /* Linux, Java, Node, Go, Rust and C++, Python */
    {FAILURE_OUT_OF_MEMORY, "Out of memory"},
    {FAILURE_OUT_OF_MEMORY, "out of memory"},
    {FAILURE_OUT_OF_MEMORY, "Cannot allocate memory"},
    {FAILURE_OUT_OF_MEMORY, "virtual memory exhausted"},
    {FAILURE_OUT_OF_MEMORY, "java.lang.OutOfMemoryError"},
    {FAILURE_OUT_OF_MEMORY, "There is insufficient memory for the Java Runtime"},
    {FAILURE_OUT_OF_MEMORY, "terminate called after throwing an instance of 'std::bad_alloc'"},
    {FAILURE_OUT_OF_MEMORY, "memory allocation of "},
    /* maven and gradle */
    {FAILURE_DEPENDENCY, "Could not resolve dependencies"},
    {FAILURE_DEPENDENCY, "Could not transfer artifact"},
    {FAILURE_DEPENDENCY, "Could not find artifact"},
    {FAILURE_DEPENDENCY, "Non-resolvable parent POM"},
    {FAILURE_DEPENDENCY, "Could not resolve all files for configuration"},
    {FAILURE_DEPENDENCY, "Could not resolve all dependencies"},
    {FAILURE_DEPENDENCY, "was not found in any of the following sources"},
    /* npm, yarn, pnpm */
    {FAILURE_DEPENDENCY, "npm ERR! code E404"},
    {FAILURE_DEPENDENCY, "npm ERR! code ENOTFOUND"},
    {FAILURE_DEPENDENCY, "npm ERR! code ETARGET"},
    {FAILURE_DEPENDENCY, "npm ERR! code ERESOLVE"},
    {FAILURE_DEPENDENCY, "npm ERR! code EAI_AGAIN"},
    {FAILURE_DEPENDENCY, "npm error code E404"},
    {FAILURE_DEPENDENCY, "npm error code ENOTFOUND"},
    {FAILURE_DEPENDENCY, "npm error code ETARGET"},
    {FAILURE_DEPENDENCY, "npm error code ERESOLVE"},
    {FAILURE_DEPENDENCY, "npm error code EAI_AGAIN"},
    {FAILURE_DEPENDENCY, "ERR_PNPM_NO_MATCHING_VERSION"},
    {FAILURE_DEPENDENCY, "ERR_PNPM_FETCH_"},
    {FAILURE_DEPENDENCY, "Couldn't find any versions for"},
    {FAILURE_DEPENDENCY, "Couldn't find package"},
    /* pip */
    {FAILURE_DEPENDENCY, "Could not find a version that satisfies the requirement"},
    {FAILURE_DEPENDENCY, "No matching distribution found"},
    /* go */
    {FAILURE_DEPENDENCY, "no required module provides package"},
    {FAILURE_DEPENDENCY, "cannot find module providing package"},
    {FAILURE_DEPENDENCY, "missing go.sum entry"},
    {FAILURE_DEPENDENCY, "dial tcp: lookup "},
    /* cargo */
    {FAILURE_DEPENDENCY, "failed to select a version for"},
    {FAILURE_DEPENDENCY, "no matching package named"},
    {FAILURE_DEPENDENCY, "failed to download from"},
    /* apt, curl, git and all that resolves names */
    {FAILURE_DEPENDENCY, "Unable to locate package"},
    {FAILURE_DEPENDENCY, "Temporary failure in name resolution"},
    {FAILURE_DEPENDENCY, "Could not resolve host"},
    {FAILURE_DEPENDENCY, "getaddrinfo ENOTFOUND"},
    {FAILURE_DEPENDENCY, "getaddrinfo EAI_AGAIN"},
    /* gcc, clang, ld */
    {FAILURE_COMPILE_ERROR, "undefined reference to"},
    {FAILURE_COMPILE_ERROR, "undefined symbol: "},
    {FAILURE_COMPILE_ERROR, "ld returned 1 exit"},
    {FAILURE_COMPILE_ERROR, "linker command failed"},
    {FAILURE_COMPILE_ERROR, "compilation terminated"},
    {FAILURE_COMPILE_ERROR, ": syntax error"},
    /* javac, maven, gradle, kotlin */
    {FAILURE_COMPILE_ERROR, "cannot find symbol"},
    {FAILURE_COMPILE_ERROR, "COMPILATION ERROR"},
    {FAILURE_COMPILE_ERROR, "Compilation failed"},
    {FAILURE_COMPILE_ERROR, "Compilation failure"},
    {FAILURE_COMPILE_ERROR, ":compileJava FAILED"},
    {FAILURE_COMPILE_ERROR, ":compileTestJava FAILED"},
    {FAILURE_COMPILE_ERROR, ":compileKotlin FAILED"},
    /* tsc, babel, node, python */
    {FAILURE_COMPILE_ERROR, "error TS"},
    {FAILURE_COMPILE_ERROR, "SyntaxError:"},
    {FAILURE_COMPILE_ERROR, "IndentationError:"},
    {FAILURE_COMPILE_ERROR, "ModuleNotFoundError:"},
    {FAILURE_COMPILE_ERROR, "Module not found: Error:"},
    /* go, cargo */
    {FAILURE_COMPILE_ERROR, "[build failed]"},
    {FAILURE_COMPILE_ERROR, "[setup failed]"},
    {FAILURE_COMPILE_ERROR, ": undefined: "},
    {FAILURE_COMPILE_ERROR, "error[E"},
    {FAILURE_COMPILE_ERROR, "could not compile"},
    /* eslint, prettier, black, ruff, gofmt, rustfmt, checkstyle, spotless, clang-format */
    {FAILURE_LINT_FAILURE, " problems ("},
    {FAILURE_LINT_FAILURE, " problem ("},
    {FAILURE_LINT_FAILURE, "Code style issues found"},
    {FAILURE_LINT_FAILURE, "Code style issues in "},
    {FAILURE_LINT_FAILURE, "would reformat "},
    {FAILURE_LINT_FAILURE, "Checkstyle violations"},
    {FAILURE_LINT_FAILURE, "Checkstyle rule violations"},
    {FAILURE_LINT_FAILURE, "The following files had format violations"},
    {FAILURE_LINT_FAILURE, "[-Wclang-format-violations]"},
};

/* Commands that only check how code is written: every failure of theirs is about that. */
static const char *const linters[] = {
    "eslint",     "prettier",      "stylelint",    "tslint",        "flake8",   "pylint",
    "ruff",       "black --check", "mypy",         "gofmt",         "clippy",   "rubocop",
    "ktlint",     "golangci-lint", "cargo fmt",    "shellcheck",    "yamllint", "clang-format",
    "clang-tidy", "checkstyle",    "markdownlint", "spotlessCheck", "run lint", "make lint",
};

/* What failing tests print as well; compared without regard to case. */
static const struct {
    const char *word;
    bool counted; /* "0 failed" and "Errors: 0" are no failures. */
} error_words[] = {
    {"error", true},      {"fail", true},       {"panic", false},    {"assert", false},
    {"exception", true},  {"traceback", false}, {"expected", false}, {"unexpected", false},
    {"not ok", false},    {"fatal", false},     {"cannot", false},   {"segmentation fault", false},
    {"undefined", false},
};

/* Lines of tests that passed; their names may contain words of errors. */
static const char *const passed_starts[] = {"ok ", "--- PASS", "PASS ", "[       OK ]"};
static const char *const passed_ends[] = {"... ok", " PASSED", " passed", " OK"};

const char *verify_status_name(enum verify_status status)
{
    assert((unsigned)status < VERIFY_STATUS_COUNT);
    return status_names[status];
}

bool verify_status_parse(const char *name, enum verify_status *ret_status)
{
    for (size_t i = 0; i < VERIFY_STATUS_COUNT; i++) {
        if (text_same(name, status_names[i])) {
            *ret_status = (enum verify_status)i;
            return true;
        }
    }
    return false;
}

const char *verify_verdict(const struct verify_outcome *outcomes, size_t count)
{
    bool passed = false;
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i].status != VERIFY_PASSED && !outcomes[i].optional)
            return "failed";
        passed |= outcomes[i].status == VERIFY_PASSED;
    }
    return passed ? "verified" : "unverifiable";
}

const char *failure_category_name(enum failure_category category)
{
    assert((unsigned)category < FAILURE_CATEGORY_COUNT);
    return category_names[category];
}

/* ---- lines ---- */

/* The log as cleaned lines, and which of them report an error. */
struct lines {
    struct str *at;
    bool *is_error;
    size_t count;
};

static struct str log_tail(struct str log)
{
    if (log.len <= LOG_BYTES_MAX)
        return log;
    log.at += log.len - LOG_BYTES_MAX;
    log.len = LOG_BYTES_MAX;
    const char *end = memchr(log.at, '\n', log.len);
    size_t cut = end != NULL ? (size_t)(end - log.at) + 1 : 0;
    return (struct str){log.at + cut, log.len - cut};
}

/* ---- telling lines ---- */

static bool holds(struct str line, const char *word)
{
    return memmem(line.at, line.len, word, strlen(word)) != NULL;
}

/* "file:3:5: error: ...", "file(3,5): error ...", "file.java:[3,5] error: ...". */
static bool has_located_error(struct str line)
{
    static const char *const marks[] = {": error", ": fatal error", "] error"};
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        const char *mark = memmem(line.at, line.len, marks[i], strlen(marks[i]));
        if (mark == NULL || mark == line.at)
            continue;
        char before = mark[-1];
        if ((before >= '0' && before <= '9') || before == ')')
            return true;
    }
    return false;
}

static bool is_passed_line(struct str line)
{
    for (size_t i = 0; i < COUNT_OF(passed_starts); i++) {
        size_t len = strlen(passed_starts[i]);
        if (line.len >= len && memcmp(line.at, passed_starts[i], len) == 0)
            return true;
    }
    for (size_t i = 0; i < COUNT_OF(passed_ends); i++) {
        size_t len = strlen(passed_ends[i]);
        if (line.len >= len && memcmp(line.at + line.len - len, passed_ends[i], len) == 0)
            return true;
    }
    return false;
}

static bool is_compiler_line(struct str line)
{
    if (is_passed_line(line))
        return false;
    for (size_t i = 0; i < COUNT_OF(telling); i++) {
        if (telling[i].category == FAILURE_COMPILE_ERROR && holds(line, telling[i].words))
            return true;
    }
    return has_located_error(line);
}

static bool is_digit_at(struct str line, size_t at)
{
    return at < line.len && isdigit((unsigned char)line.at[at]);
}

/* "0 errors", "no errors", "errors: 0" for the word at [at, end). */
static bool counts_nothing(struct str line, size_t at, size_t end)
{
    if (at >= 2 && memcmp(line.at + at - 2, "0 ", 2) == 0 &&
        (at == 2 || !is_digit_at(line, at - 3)))
        return true;
    if (at >= 3 && strncasecmp(line.at + at - 3, "no ", 3) == 0)
        return true;
    while (end < line.len && isalpha((unsigned char)line.at[end]))
        end++;
    size_t number = end;
    while (number < line.len && strchr(": =", line.at[number]) != NULL)
        number++;
    return number > end && number < line.len && line.at[number] == '0' &&
           (number + 1 == line.len || strchr(", \t)", line.at[number + 1]) != NULL);
}

/* A word begins here: at "Error" in AssertionError, but not at "error" in -Werror. */
static bool begins_word(struct str line, size_t at)
{
    return at == 0 || !isalpha((unsigned char)line.at[at - 1]) ||
           isupper((unsigned char)line.at[at]);
}

static bool is_error_line(struct str line)
{
    if (is_passed_line(line))
        return false;
    for (size_t i = 0; i < COUNT_OF(error_words); i++) {
        size_t len = strlen(error_words[i].word);
        for (size_t at = 0; at + len <= line.len; at++) {
            if (strncasecmp(line.at + at, error_words[i].word, len) != 0 || !begins_word(line, at))
                continue;
            if (!error_words[i].counted || !counts_nothing(line, at, at + len))
                return true;
        }
    }
    return is_compiler_line(line);
}

static struct lines read_log(struct str log, struct arena *arena)
{
    log = log_tail(log);
    size_t count = 1;
    for (size_t i = 0; i < log.len; i++)
        count += log.at[i] == '\n';
    struct lines lines = {.at = arena_array(arena, count, sizeof *lines.at),
                          .is_error = arena_array(arena, count, sizeof *lines.is_error)};
    char *to = arena_alloc(arena, log.len + 1);
    struct str line;
    while (str_take_line(&log, &line)) {
        char *end = terminal_line(to, line);
        lines.at[lines.count] = (struct str){to, (size_t)(end - to)};
        lines.is_error[lines.count] = is_error_line(lines.at[lines.count]);
        lines.count++;
        to = end;
    }
    while (lines.count > 0 && lines.at[lines.count - 1].len == 0)
        lines.count--;
    return lines;
}

/* ---- the category ---- */

/* The rank of a category among those that a log can show: the lower the more it explains. */
static size_t weight_of(enum failure_category category)
{
    static const enum failure_category order[] = {FAILURE_OUT_OF_MEMORY, FAILURE_DEPENDENCY,
                                                  FAILURE_COMPILE_ERROR, FAILURE_LINT_FAILURE};
    size_t weight = 0;
    while (weight < COUNT_OF(order) && order[weight] != category)
        weight++;
    return weight;
}

static enum failure_category category_of_line(struct str line)
{
    if (is_passed_line(line))
        return FAILURE_TEST_FAILURE;
    for (size_t i = 0; i < COUNT_OF(telling); i++) {
        if (holds(line, telling[i].words))
            return telling[i].category;
    }
    return has_located_error(line) ? FAILURE_COMPILE_ERROR : FAILURE_TEST_FAILURE;
}

static enum failure_category category_of_log(struct str log)
{
    enum failure_category found = FAILURE_TEST_FAILURE;
    struct str line;
    log = log_tail(log);
    while (str_take_line(&log, &line)) {
        char shown[SCAN_BYTES_MAX];
        line.len = line.len < SCAN_BYTES_MAX ? line.len : SCAN_BYTES_MAX;
        char *end = terminal_line(shown, line);
        enum failure_category told = category_of_line((struct str){shown, (size_t)(end - shown)});
        if (weight_of(told) < weight_of(found))
            found = told;
    }
    return found;
}

static bool is_linter(const char *command)
{
    for (size_t i = 0; command != NULL && i < COUNT_OF(linters); i++) {
        if (strstr(command, linters[i]) != NULL)
            return true;
    }
    return false;
}

enum failure_category feedback_category(const struct check_output *check)
{
    if (check->exit_code == 0 && check->signal == 0)
        return FAILURE_NONE;
    if (check->exit_code == EXIT_NOT_EXECUTABLE || check->exit_code == EXIT_NOT_FOUND)
        return FAILURE_INFRASTRUCTURE;
    /* Only the kernel's OOM killer does this: what drover kills is reported as a timeout. */
    if (check->signal == SIGNAL_KILL || check->exit_code == EXIT_KILLED)
        return FAILURE_OUT_OF_MEMORY;
    enum failure_category found = category_of_log(check->log);
    bool about_style = found == FAILURE_COMPILE_ERROR || found == FAILURE_TEST_FAILURE;
    return about_style && is_linter(check->command) ? FAILURE_LINT_FAILURE : found;
}

/* ---- the summary ---- */

static void add_line(struct buf *into, struct str line)
{
    size_t fit = prose_fit(line.at, line.len, LINE_BYTES_MAX);
    buf_add(into, line.at, fit);
    buf_adds(into, fit < line.len ? "...\n" : "\n");
}

static size_t line_bytes(struct str line)
{
    size_t fit = prose_fit(line.at, line.len, LINE_BYTES_MAX);
    return fit + (fit < line.len ? strlen("...\n") : strlen("\n"));
}

static void add_outcome(struct buf *into, const struct check_output *check, struct arena *arena)
{
    const char *command = check->command != NULL ? check->command : "the check";
    buf_addf(into, "`%s`", prose_line(arena, command, COMMAND_BYTES_MAX));
    if (check->signal != 0)
        buf_addf(into, " was ended by signal %d.\n", check->signal);
    else
        buf_addf(into, " failed with exit code %d.\n", check->exit_code);
}

static bool is_near_error(const struct lines *lines, size_t index)
{
    size_t from = index > LINES_AFTER ? index - LINES_AFTER : 0;
    size_t to = index + LINES_BEFORE < lines->count ? index + LINES_BEFORE : lines->count - 1;
    for (size_t i = from; i <= to; i++) {
        if (lines->is_error[i])
            return true;
    }
    return false;
}

/* Adds the errors and what stands round them; returns the line after the last one added. */
static size_t add_errors(struct buf *into, const struct lines *lines)
{
    size_t used = 0, after = 0;
    for (size_t i = 0; i < lines->count; i++) {
        if (!is_near_error(lines, i))
            continue;
        used += line_bytes(lines->at[i]) + strlen("...\n");
        if (used > ERROR_BYTES_MAX)
            break;
        if (after == 0)
            buf_adds(into, "\nErrors:\n");
        if (after > 0 && after < i)
            buf_adds(into, "...\n");
        add_line(into, lines->at[i]);
        after = i + 1;
    }
    return after;
}

/* Adds as much of the end as fits, from line `from` on at the earliest. */
static void add_tail(struct buf *into, const struct lines *lines, size_t from)
{
    static const char heading[] = "\nEnd of the output:\n";
    size_t room = FEEDBACK_SUMMARY_MAX - into->len - strlen(heading);
    size_t start = lines->count;
    while (start > from && line_bytes(lines->at[start - 1]) <= room)
        room -= line_bytes(lines->at[--start]);
    if (start == lines->count)
        return;
    buf_adds(into, heading);
    for (size_t i = start; i < lines->count; i++)
        add_line(into, lines->at[i]);
}

char *feedback_summary(const struct check_output *check, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FEEDBACK_SUMMARY_MAX);
    add_outcome(&text, check, arena);
    struct lines lines = read_log(check->log, arena);
    if (lines.count == 0)
        buf_adds(&text, "\nIt printed nothing.\n");
    size_t after = add_errors(&text, &lines);
    add_tail(&text, &lines, after);
    assert(!text.overflow);
    return str_dup(arena, buf_str(&text));
}

/* The most informative line, or NULL when there is none. */
static const struct str *best_line(const struct lines *lines)
{
    const struct str *error = NULL;
    for (size_t i = 0; i < lines->count; i++) {
        if (is_compiler_line(lines->at[i]))
            return &lines->at[i];
        if (error == NULL && lines->is_error[i])
            error = &lines->at[i];
    }
    if (error != NULL || lines->count == 0)
        return error;
    return &lines->at[lines->count - 1];
}

char *feedback_line(const struct check_output *check, struct arena *arena)
{
    struct lines lines = read_log(check->log, arena);
    const struct str *best = best_line(&lines);
    if (best != NULL)
        return prose_line(arena, str_dup(arena, *best), FEEDBACK_LINE_MAX);
    if (check->signal != 0)
        return arena_printf(arena, "ended by signal %d without output", check->signal);
    return arena_printf(arena, "exit code %d without output", check->exit_code);
}
