// direct.mjs - an agent's program without drover, in a directory and a home of its own: what it
// prints, and how it ends.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { git } from '../../e2e/lib/git.mjs';
import { makeDirectory } from '../../e2e/lib/server.mjs';
import { PATIENCE_MS, within } from '../../e2e/lib/wait.mjs';
import { AGENTS, KEYS, SUBSCRIPTION } from './agents.mjs';
import { writeHome } from './bench.mjs';

// As drover's profiles have it.
const QUIET = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    OPENCODE_DISABLE_AUTOUPDATE: 'true' };

export class Direct {
    // at: the Model.
    constructor(name, at, { subscriber = false } = {}) {
        this.agent = AGENTS[name];
        this.dir = makeDirectory();
        this.home = join(this.dir, 'home');
        this.tree = join(this.dir, 'tree');
        mkdirSync(this.tree);
        git(this.tree, 'init', '--quiet', '--initial-branch=main');
        writeFileSync(join(this.tree, 'answer.txt'), '41\n');
        mkdirSync(this.home);
        writeHome(this.home, this.agent.home?.(at) ?? {});
        this.env = { ...(subscriber ? SUBSCRIPTION : KEYS), ...this.agent.env?.(at) };
    }

    // Starts it; `ended` resolves with {code, signal, lines, errors}.
    start(prompt, { session, args = [], env = {} } = {}) {
        const [program, ...words] = this.agent.words({ session });
        // It may be root that runs the tests: Claude Code wants to hear that this is a sandbox.
        this.child = spawn(program, [...words, ...args], {
            cwd: this.tree,
            env: { PATH: process.env.PATH, HOME: this.home, TMPDIR: this.dir, IS_SANDBOX: '1',
                ...QUIET, ...this.env, ...env },
            stdio: 'pipe',
            detached: true, // A group of its own, to be killed as one.
        });
        const { child } = this;
        const result = { lines: [], errors: '' };
        let rest = '';
        child.stdout.setEncoding('utf8').on('data', (text) => {
            const lines = (rest + text).split('\n');
            rest = lines.pop();
            result.lines.push(...lines);
            if (lines.some((line) => this.#isLast(line))) child.stdin.end();
        });
        child.stderr.setEncoding('utf8').on('data', (text) => (result.errors += text));
        child.stdin.on('error', () => {}); // It may end before it has read.
        child.stdin.write(this.agent.opening(prompt));
        if (!this.agent.closes) child.stdin.end();
        const ended = new Promise((resolve) => child.on('close', (code, signal) =>
            resolve({ ...result, code, signal })));
        return within(PATIENCE_MS, 'the end of the agent', ended)
            .finally(() => this.kill('SIGKILL'));
    }

    // All of its processes: npm's program of an agent may be a script that starts the real one.
    kill(signal) {
        try {
            process.kill(-this.child.pid, signal);
        } catch (error) {
            if (error.code !== 'ESRCH') throw error; // They have ended.
        }
    }

    #isLast(line) {
        return this.agent.closes !== undefined && line.includes(`"type":"${this.agent.closes}"`);
    }

    answer() {
        return readFileSync(join(this.tree, 'answer.txt'), 'utf8').trim();
    }

    // The files below its home whose path pleases: [text].
    files(pleases) {
        return readdirSync(this.home, { recursive: true }).filter(pleases)
            .map((path) => readFileSync(join(this.home, path), 'utf8'));
    }
}
