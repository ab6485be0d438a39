// agents.mjs - the real command lines: where they are, how each is pointed at a scripted model,
// what its tools are called, and what its models cost.
//
// Each entry:
//     wire          the format that it speaks to its model
//     model         the model that it is told to use
//     prices        of that model, USD for a million tokens, as its vendor lists them
//     home(at)      files of its home: {path: text}; at: the Model (model_server.mjs)
//     agent(at)     the agent section of a repository's configuration, without home
//     shell(words)  the turn that runs a command;  edit(): one that makes the answer right
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

const CLAUDE_ENV = (at) => ({
    ANTHROPIC_BASE_URL: at.url,
    ANTHROPIC_API_KEY: `sk-ant-${KEY}`,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
});

const claude = {
    wire: 'anthropic',
    model: 'claude-sonnet-4-5',
    prices: { input: 3, cached: 0.3, cacheWrite: 3.75, output: 15 },
    home: (at) => ({ '.claude/settings.json': JSON.stringify({ env: CLAUDE_ENV(at) }) }),
    agent: () => ({
        command: [join(modulesOf('claude'), '@anthropic-ai/claude-code/bin/claude.exe'), '-p',
            '--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions',
            '--model', claude.model],
        adapter: 'claude',
    }),
    shell: (command, more = {}) =>
        calls(call('Bash', { command, description: 'Run a command' }), more),
    edit: () => claude.shell(EDIT),
};

const codex = {
    wire: 'responses',
    model: 'gpt-5.5',
    prices: { input: 1.25, cached: 0.125, output: 10 },
    home: (at) => ({ '.codex/config.toml': `model = "${codex.model}"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = "${at.url}/v1"
wire_api = "responses"
experimental_bearer_token = "${KEY}"
` }),
    agent: () => ({
        command: [join(modulesOf('codex'), '@openai/codex-linux-x64/vendor',
            'x86_64-unknown-linux-musl/bin/codex'), 'exec', '--json', '--skip-git-repo-check',
            '--dangerously-bypass-approvals-and-sandbox', '-'],
        adapter: 'codex',
    }),
    shell: (command, more = {}) => calls(call('exec_command', { cmd: command }), more),
    edit: () => codex.shell(EDIT),
};

const opencode = {
    wire: 'chat',
    model: 'scripted/large',
    prices: { input: 2, cached: 0.2, output: 8 },
    home: (at) => ({ '.config/opencode/opencode.json': JSON.stringify({
        model: opencode.model, small_model: 'scripted/small', autoupdate: false,
        share: 'disabled', permission: { '*': 'allow' },
        provider: { scripted: { npm: '@ai-sdk/openai-compatible', name: 'Scripted',
            options: { baseURL: `${at.url}/v1`, apiKey: KEY },
            models: Object.fromEntries(['large', 'small'].map((name) => [name, {
                name, tool_call: true, limit: { context: 200000, output: 8000 },
                cost: { input: opencode.prices.input, output: opencode.prices.output,
                    cache_read: opencode.prices.cached },
            }])) } },
    }) }),
    agent: () => ({
        command: [join(modulesOf('opencode'), 'opencode-ai/bin/opencode.exe'), 'run', '--format',
            'json'],
        adapter: 'none',
    }),
    shell: (command, more = {}) => calls(call('bash', { command, description: 'Run' }), more),
    edit: () => opencode.shell(EDIT),
};

const gemini = {
    wire: 'gemini',
    model: 'gemini-2.5-pro',
    prices: { input: 1.25, cached: 0.125, output: 10 },
    home: (at) => ({
        '.gemini/settings.json': JSON.stringify({
            security: { auth: { selectedType: 'gemini-api-key' } },
            privacy: { usageStatisticsEnabled: false },
            general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        }),
        '.gemini/.env': `GEMINI_API_KEY=${KEY}\nGOOGLE_GEMINI_BASE_URL=${at.url}\n`,
    }),
    agent: () => ({
        command: ['node', join(modulesOf('gemini'), '@google/gemini-cli/bundle/gemini.js'),
            '--output-format', 'stream-json', '--yolo', '--skip-trust', '-m', gemini.model],
        adapter: 'none',
        mounts: [{ path: modulesOf('gemini') }],
    }),
    shell: (command, more = {}) =>
        calls(call('run_shell_command', { command, description: 'Run' }), more),
    edit: () => gemini.shell(EDIT),
};

export const AGENTS = { claude, codex, opencode, gemini };
