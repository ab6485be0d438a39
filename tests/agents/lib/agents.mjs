// agents.mjs - the real command lines: where they are, how each is pointed at a scripted model,
// what its tools are called, and what its models cost.
//
// Each entry:
//     wire          the format that it speaks to its model
//     model         the model that it is told to use
//     prices        of that model, USD for a million tokens, as its vendor lists them
//     asides        what it prints of its requests beside the work: all by default, 'cost' or
//                   'none'
//     printed       names of tools, where it prints others than it offers to the model
//     env(at)       variables that lead it to the Model (model_server.mjs)
//     home(at)      files of its home that do: {path: text}
//     keys          names of variables that its profile does not let through by itself
//     agent         more of the agent section of a repository's configuration
//     words(more)   its command line, as drover's profile has it; more: {session}
//     opening(text) what is written to its input first; its input ends there unless `closes` is
//                   given: the type of the line with which it has ended its work
//     shell(words)  the turn that runs a command
//     edit()        the turn that makes the answer right
//     change(file, line, by)   turns that put another line into a file, with the tool for it
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { call, calls } from './turns.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const AGENTS_DIR = process.env.AGENTS_DIR ?? join(ROOT, 'build/agents');

// {name: {package, version, program}}
function readVersions() {
    const text = readFileSync(new URL('../versions', import.meta.url), 'utf8');
    const rows = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return Object.fromEntries(rows.map((row) => {
        const [name, npm, version, program] = row.split(/ +/);
        return [name, { package: npm, version, program }];
    }));
}
export const VERSIONS = readVersions();

// The directory of its modules: node programs need it whole.
export const modulesOf = (name) => join(AGENTS_DIR, name, 'node_modules');
export function programOf(name) {
    const path = join(modulesOf(name), '.bin', VERSIONS[name].program);
    if (!existsSync(path)) throw new Error(`${path} is not there: run tests/agents/install`);
    return path;
}

const KEY = 'sk-test-0123456789abcdef';
const EDIT = 'echo 42 >answer.txt';

// What the agents find in their environment: keys, or the token of a subscription instead.
export const KEYS = {
    ANTHROPIC_API_KEY: `sk-ant-${KEY}`, CODEX_API_KEY: KEY, OPENAI_API_KEY: KEY,
    GEMINI_API_KEY: KEY,
};
const { ANTHROPIC_API_KEY: _, ...others } = KEYS;
export const SUBSCRIPTION = { ...others, CLAUDE_CODE_OAUTH_TOKEN: `sk-ant-oat01-${KEY}` };

const claude = {
    wire: 'anthropic',
    model: 'claude-sonnet-4-5',
    prices: { input: 3, cached: 0.3, cacheWrite: 3.75, output: 15 },
    env: (at) => ({ ANTHROPIC_BASE_URL: at.url }),
    words: ({ session } = {}) => [programOf('claude'), '-p', '--output-format', 'stream-json',
        '--input-format', 'stream-json', '--verbose', '--include-partial-messages',
        '--dangerously-skip-permissions', ...(session ? ['--resume', session] : []),
        '--model', claude.model],
    opening: (text) => `${JSON.stringify({ type: 'user',
        message: { role: 'user', content: [{ type: 'text', text }] } })}\n`,
    closes: 'result',
    shell: (command, more = {}) =>
        calls(call('Bash', { command, description: 'Run a command' }), more),
    edit: () => claude.shell(EDIT),
    // Only what has been read may be written.
    change: (path, line, by) => [
        ({ directory }) => calls(call('Read', { file_path: join(directory, path) })),
        ({ directory }) => calls(call('Edit',
            { file_path: join(directory, path), old_string: line, new_string: by })),
    ],
};

const codex = {
    wire: 'responses',
    model: 'gpt-5.5',
    prices: { input: 5, cached: 0.5, output: 30 },
    home: (at) => ({ '.codex/config.toml': `model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = "${at.url}/v1"
wire_api = "responses"
env_key = "CODEX_API_KEY"
request_max_retries = 1
stream_max_retries = 2
` }),
    words: ({ session } = {}) => [programOf('codex'), 'exec', '--json',
        '--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check',
        ...(session ? ['resume', session] : []), '--model', codex.model, '-'],
    opening: (text) => text,
    printed: { exec_command: 'command_execution', apply_patch: 'file_change' },
    shell: (command, more = {}) => calls(call('exec_command', { cmd: command }), more),
    edit: () => codex.shell(EDIT),
    change: (path, line, by) => [calls(call('apply_patch',
        `*** Begin Patch\n*** Update File: ${path}\n@@\n-${line}\n+${by}\n*** End Patch\n`))],
};

const opencode = {
    wire: 'chat',
    asides: 'none',
    model: 'scripted/large',
    prices: { input: 2, cached: 0.2, output: 8 },
    home: (at) => ({ '.config/opencode/opencode.json': JSON.stringify({
        small_model: 'scripted/small', share: 'disabled',
        provider: { scripted: { npm: '@ai-sdk/openai-compatible', name: 'Scripted',
            options: { baseURL: `${at.url}/v1`, apiKey: '{env:OPENAI_API_KEY}' },
            models: Object.fromEntries(['large', 'small'].map((name) => [name, {
                name, tool_call: true, limit: { context: 200000, output: 8000 },
                cost: { input: opencode.prices.input, output: opencode.prices.output,
                    cache_read: opencode.prices.cached },
            }])) } },
    }) }),
    words: ({ session } = {}) => [programOf('opencode'), 'run', '--format', 'json', '--auto',
        ...(session ? ['--session', session] : []), '--model', opencode.model],
    opening: (text) => text,
    shell: (command, more = {}) => calls(call('bash', { command, description: 'Run' }), more),
    edit: () => opencode.shell(EDIT),
    change: (path, line, by) => [
        ({ directory }) => calls(call('read', { filePath: join(directory, path) })),
        ({ directory }) => calls(call('edit',
            { filePath: join(directory, path), oldString: line, newString: by })),
    ],
};

const gemini = {
    wire: 'gemini',
    model: 'gemini-2.5-pro',
    prices: { input: 1.25, cached: 0.125, output: 10 },
    env: (at) => ({ GOOGLE_GEMINI_BASE_URL: at.url }),
    // With an address of one's own it does not find out by itself that it has a key.
    home: () => ({ '.gemini/settings.json': JSON.stringify({ general: { maxAttempts: 2 },
        security: { auth: { selectedType: 'gemini-api-key' } } }) }),
    words: ({ session } = {}) => [programOf('gemini'), '--output-format', 'stream-json',
        '--approval-mode', 'yolo', '--skip-trust', ...(session ? ['--resume', session] : []),
        '--model', gemini.model],
    opening: (text) => text,
    shell: (command, more = {}) =>
        calls(call('run_shell_command', { command, description: 'Run' }), more),
    edit: () => gemini.shell(EDIT),
    change: (path, line, by) => [
        calls(call('read_file', { file_path: path })),
        calls(call('replace', { file_path: path, old_string: line, new_string: by,
            instruction: `Put ${by} in the place of ${line}.` })),
    ],
};

// An agent of the Agent Client Protocol; it is Claude Code inside.
const acp = {
    ...claude,
    keys: ['ANTHROPIC_API_KEY'], // Its profile is that of any agent, and knows of none.
    asides: 'cost',
    model: 'sonnet',
    prices: { input: 2, cached: 0.1, cacheWrite: 2.5, output: 10 },
    env: (at) => ({ ...claude.env(at), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'false' }),
    agent: { command: ['claude-agent-acp'] },
    words: undefined, // Only drover speaks to it.
};

export const AGENTS = { claude, codex, opencode, gemini, acp };
