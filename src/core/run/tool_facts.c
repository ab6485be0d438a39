#include "core/run/tool_facts.h"
#include "base/str.h"
#include <string.h>
#include <strings.h>

#define MCP_PREFIX "mcp__"

const char *const tool_risk_names[] = {
    [TOOL_RISK_LOW] = "low", [TOOL_RISK_MEDIUM] = "medium", [TOOL_RISK_HIGH] = "high", NULL};

/* Names of Claude Code, Codex, Gemini CLI, Copilot, Cursor, opencode, goose, Amp, and kinds of the
   Agent Client Protocol; in any case of letters. */
static const char *const harmless[] = {
    "read",
    "read_file",
    "read_many_files",
    "view",
    "glob",
    "grep",
    "ls",
    "list",
    "list_dir",
    "search",
    "list_directory",
    "search_files",
    "todowrite",
    "todoread",
    "todo_list",
    "taskcreate",
    "taskupdate",
    "tasklist",
    "taskget",
    "update_plan",
    "think",
    "plan",
    "codebase_search",
    "skill",
    "read_todos",
    "write_todos",
    "notebookread",
};
static const char *const outward[] = {
    "fetch",      "webfetch",      "websearch",         "web_fetch",
    "web_search", "read_web_page", "google_web_search", "browser",
};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

struct tool_facts tool_facts_of(const char *name, struct arena *arena)
{
    bool of_mcp = text_starts(name, MCP_PREFIX);
    const char *rest = of_mcp ? name + strlen(MCP_PREFIX) : name;
    const char *cut = strstr(rest, "__");
    struct tool_facts facts = {.space = "core", .name = name, .risk = TOOL_RISK_MEDIUM};
    if (cut != NULL && cut != rest && cut[2] != '\0') {
        facts.space = arena_printf(arena, "%s%.*s", of_mcp ? "mcp." : "", (int)(cut - rest), rest);
        facts.name = cut + 2;
    }
    if (of_mcp || is_one_of(facts.name, outward, COUNT_OF(outward)))
        facts.risk = TOOL_RISK_HIGH;
    else if (is_one_of(facts.name, harmless, COUNT_OF(harmless)))
        facts.risk = TOOL_RISK_LOW;
    return facts;
}
