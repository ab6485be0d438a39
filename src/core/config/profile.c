/*
 * profile.c - the table of profiles.
 *
 * Command lines run without questions: the sandbox confines the agent, so its own permissions and
 * its own sandbox are off.  Hosts are those of the model and of the login's refresh; telemetry and
 * updates are left out and, where the program has a switch for them, turned off.
 */
#include "core/config/profile.h"
#include "base/suggest.h"
#include <ctype.h>
#include <string.h>

enum { SESSION_BYTES_MAX = 128 };

#define LIST(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define LOGINS(...) ((const struct agent_login[]){__VA_ARGS__, {NULL, NULL}})

/* Programs that work with many providers. */
#define PROVIDER_KEYS \
    LIST("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY")
#define PROVIDER_HOSTS                                                                      \
    "api.anthropic.com:443", "api.openai.com:443", "generativelanguage.googleapis.com:443", \
        "openrouter.ai:443"

static const struct agent_profile profiles[] = {
    {
        .name = "claude",
        .title = "Claude Code",
        .adapter = ADAPTER_CLAUDE,
        .command = LIST("claude", "-p", "--output-format", "stream-json", "--input-format",
                        "stream-json", "--verbose", "--include-partial-messages",
                        "--dangerously-skip-permissions"),
        .resume = LIST("--resume", WORD_SESSION),
        .model = LIST("--model", WORD_MODEL),
        /* A login is refreshed at platform.claude.com, by older versions at the console. */
        .egress = LIST("api.anthropic.com:443", "platform.claude.com:443",
                       "console.anthropic.com:443"),
        .env = LIST("DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"),
        .credentials = LIST("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        .logins = LOGINS({".claude/.credentials.json",
                          LIST("claudeAiOauth.accessToken", "claudeAiOauth.refreshToken",
                               "claudeAiOauth.expiresAt")}),
        .install = "npm install -g @anthropic-ai/claude-code",
        .log_in = "run claude and log in as drover's user, or give drover ANTHROPIC_API_KEY, or "
                  "CLAUDE_CODE_OAUTH_TOKEN from claude setup-token",
    },
    {
        .name = "codex",
        .title = "Codex",
        .adapter = ADAPTER_CODEX,
        .command = LIST("codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox",
                        "--skip-git-repo-check"),
        .resume = LIST("resume", WORD_SESSION),
        .model = LIST("--model", WORD_MODEL),
        .tail = LIST("-"),
        .egress = LIST("api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443"),
        .credentials = LIST("CODEX_API_KEY", "OPENAI_API_KEY"),
        .logins = LOGINS({".codex/auth.json", LIST("tokens.id_token", "tokens.access_token",
                                                   "tokens.refresh_token", "last_refresh")}),
        .install = "npm install -g @openai/codex",
        .log_in = "run codex login as drover's user, or give drover CODEX_API_KEY",
    },
    {
        .name = "gemini",
        .title = "Gemini CLI",
        .adapter = ADAPTER_GEMINI,
        .command = LIST("gemini", "--output-format", "stream-json", "--approval-mode", "yolo",
                        "--skip-trust"),
        .resume = LIST("--resume", WORD_SESSION),
        .model = LIST("--model", WORD_MODEL),
        .egress = LIST("generativelanguage.googleapis.com:443", "cloudcode-pa.googleapis.com:443",
                       "oauth2.googleapis.com:443"),
        .env = LIST("GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT",
                    "GOOGLE_CLOUD_LOCATION"),
        .credentials = LIST("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        .logins = LOGINS({".gemini/oauth_creds.json",
                          LIST("access_token", "refresh_token", "id_token", "expiry_date")},
                         {".gemini/google_accounts.json", NULL}),
        .install = "npm install -g @google/gemini-cli",
        .log_in = "give drover GEMINI_API_KEY, or run gemini, log in as drover's user and give "
                  "drover GOOGLE_GENAI_USE_GCA=true",
    },
    {
        .name = "copilot",
        .title = "GitHub Copilot CLI",
        .adapter = ADAPTER_COPILOT,
        .command = LIST("copilot", "--allow-all", "--output-format", "json"),
        .resume = LIST("--resume=" WORD_SESSION),
        .model = LIST("--model", WORD_MODEL),
        .egress = LIST("api.github.com:443", "github.com:443", "*.githubcopilot.com:443"),
        .env = LIST("COPILOT_AUTO_UPDATE=false"),
        /* GH_TOKEN and GITHUB_TOKEN would work, and may do far more than Copilot needs. */
        .credentials = LIST("COPILOT_GITHUB_TOKEN"),
        .logins = LOGINS({".copilot/config.json", NULL}),
        .install = "npm install -g @github/copilot",
        .log_in = "run copilot login as drover's user, or give drover COPILOT_GITHUB_TOKEN",
    },
    {
        .name = "cursor-agent",
        .title = "Cursor CLI",
        .adapter = ADAPTER_CURSOR,
        .command = LIST("cursor-agent", "-p", "--output-format", "stream-json", "--force"),
        .resume = LIST("--resume=" WORD_SESSION),
        .model = LIST("--model", WORD_MODEL),
        .egress = LIST("*.cursor.sh:443", "cursor.com:443", "*.cursor.com:443"),
        .credentials = LIST("CURSOR_API_KEY"),
        .logins = LOGINS({".config/cursor/auth.json", LIST("accessToken", "refreshToken")}),
        .install = "curl -fsS https://cursor.com/install | bash",
        .log_in = "run cursor-agent login as drover's user, or give drover CURSOR_API_KEY",
    },
    {
        .name = "opencode",
        .title = "OpenCode",
        .adapter = ADAPTER_OPENCODE,
        .command = LIST("opencode", "run", "--format", "json", "--auto"),
        .resume = LIST("--session", WORD_SESSION),
        .model = LIST("--model", WORD_MODEL),
        .egress = LIST("opencode.ai:443", "models.dev:443", PROVIDER_HOSTS),
        .env = LIST("OPENCODE_DISABLE_AUTOUPDATE=true", "OPENCODE_API_KEY"),
        .credentials = PROVIDER_KEYS,
        .logins = LOGINS({".local/share/opencode/auth.json",
                          LIST("anthropic.access", "anthropic.refresh", "anthropic.expires",
                               "openai.access", "openai.refresh", "openai.expires")}),
        .install = "npm install -g opencode-ai",
        .log_in = "run opencode auth login as drover's user, or give drover the key of a provider, "
                  "such as ANTHROPIC_API_KEY",
    },
    {
        .name = "goose",
        .title = "goose",
        .adapter = ADAPTER_GOOSE,
        .command = LIST("goose", "run", "--quiet", "--output-format", "stream-json"),
        .resume = LIST("--resume", "--session-id", WORD_SESSION),
        .model = LIST("--model", WORD_MODEL),
        .tail = LIST("-i", "-"),
        .egress = LIST(PROVIDER_HOSTS),
        .env = LIST("GOOSE_MODE=auto", "GOOSE_DISABLE_KEYRING=1", "GOOSE_PROVIDER", "GOOSE_MODEL"),
        .credentials = PROVIDER_KEYS,
        .logins = LOGINS({".config/goose/config.yaml", NULL}, {".config/goose/secrets.yaml", NULL}),
        .install = "curl -fsSL https://github.com/block/goose/releases/download/stable/"
                   "download_cli.sh | bash",
        .log_in =
            "run goose configure as drover's user, or give drover GOOSE_PROVIDER, GOOSE_MODEL "
            "and the provider's key",
    },
    {
        .name = "amp",
        .title = "Amp",
        .adapter = ADAPTER_AMP,
        .command = LIST("amp"),
        .resume = LIST("threads", "continue", WORD_SESSION),
        .model = LIST("--mode", WORD_MODEL),
        .tail = LIST("-x", "--stream-json", "--dangerously-allow-all"),
        .egress = LIST("ampcode.com:443", "*.ampcode.com:443"),
        .credentials = LIST("AMP_API_KEY"),
        .logins = LOGINS({".local/share/amp/secrets.json", NULL}),
        .install = "npm install -g @sourcegraph/amp",
        .log_in = "run amp login as drover's user, or give drover AMP_API_KEY",
    },
    {
        .name = "aider",
        .title = "Aider",
        .adapter = ADAPTER_TEXT,
        .prompt = PROMPT_FILE,
        /* What it would write beside the sources (histories, the cache of its map) would be part of
           the patch. */
        .command = LIST("aider", "--yes-always", "--no-auto-commits", "--no-gitignore",
                        "--no-pretty", "--no-stream", "--no-check-update",
                        "--no-show-release-notes", "--analytics-disable", "--map-tokens", "0",
                        "--chat-history-file", "/tmp/aider.chat.md", "--input-history-file",
                        "/tmp/aider.input"),
        .model = LIST("--model", WORD_MODEL),
        .tail = LIST("--message-file", WORD_PROMPT_FILE),
        .egress = LIST(PROVIDER_HOSTS),
        .credentials = PROVIDER_KEYS,
        .install = "pipx install aider-chat",
        .log_in = "give drover the key of a provider, such as ANTHROPIC_API_KEY",
    },
    {
        .name = "acp",
        .title = "any agent that speaks the Agent Client Protocol",
        .adapter = ADAPTER_ACP,
    },
    {
        .name = "ndjson",
        .title = "any agent that prints drover's own lines of JSON",
        .adapter = ADAPTER_NDJSON,
    },
};

const struct agent_profile *agent_profile_at(size_t index)
{
    return index < COUNT_OF(profiles) ? &profiles[index] : NULL;
}

const struct agent_profile *agent_profile_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        if (text_same(profiles[i].name, name))
            return &profiles[i];
    }
    return NULL;
}

const char *agent_profile_closest(const char *name)
{
    struct suggest suggest = suggest_for(name);
    for (size_t i = 0; i < COUNT_OF(profiles); i++)
        suggest_offer(&suggest, profiles[i].name);
    return suggest.closest;
}

const char *agent_word_put(const char *text, const char *word, const char *value,
                           struct arena *arena)
{
    const char *at = strstr(text, word);
    if (at == NULL)
        return text;
    const char *rest = agent_word_put(at + strlen(word), word, value, arena);
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, value, rest);
}

bool agent_session_valid(const char *id)
{
    if (id == NULL || !isalnum((unsigned char)id[0]) || strlen(id) > SESSION_BYTES_MAX)
        return false;
    for (; *id != '\0'; id++) {
        if (!isalnum((unsigned char)*id) && strchr("._-:", *id) == NULL)
            return false;
    }
    return true;
}
