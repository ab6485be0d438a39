// server.mjs - a real server on a free port, in a directory of its own, and the calls tests make.
//
// Whatever happens, the exit of this process ends every server it started and removes the files.
// DROVER_KEEP=1 leaves the directories, with server.log in them.
//
// Every server checks its events against their contracts as it appends them, and writes those that
// break one to a file (src/control/commit/event_faults.h): a test fails that has made one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lchownSync, mkdtempSync, openSync, closeSync, readFileSync,
    readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataOf } from './cloudevents.mjs';
import { dropDatabases, makeDatabase } from './database.mjs';
import { makeOrigin } from './git.mjs';
import { request } from './http.mjs';
import { isAlive, processesWith, untilGone } from './procs.mjs';
import { openStream } from './sse.mjs';
import { until } from './wait.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const BIN = process.env.DROVER_BIN ?? join(ROOT, 'build/drover');
export const TERMINAL = ['completed', 'failed', 'cancelled', 'timed_out'];

const servers = new Set();
const directories = new Set();
const faultsDir = mkdtempSync(join(tmpdir(), 'e2e-'));
const faultsFile = process.env.DROVER_EVENT_FAULTS ?? join(faultsDir, 'event_faults');
chmodSync(faultsDir, 0o777); // For servers of other users.
directories.add(faultsDir);

// The first events that broke their contracts; '' when there are none.
export function eventFaults() {
    return existsSync(faultsFile) ? readFileSync(faultsFile, 'utf8').slice(0, 3000) : '';
}

process.on('exit', () => {
    if (eventFaults() !== '') {
        console.error(`events broke their contracts:\n${eventFaults()}`);
        process.exitCode = 1;
    }
    for (const server of servers) server.killNow();
    for (const dir of directories) killAll(dir);
    dropDatabases();
    if (!process.env.DROVER_KEEP)
        for (const dir of directories) rmSync(dir, { recursive: true, force: true });
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(1));

// What a server that was killed has left: the last resort, when a test has failed.
function killAll(dir) {
    for (const { pid } of processesWith(dir)) {
        try {
            process.kill(pid, 'SIGKILL');
        } catch {
            // It was on its way out.
        }
    }
}

export function makeDirectory(base = tmpdir()) {
    const dir = mkdtempSync(join(base, 'e2e-'));
    directories.add(dir);
    return dir;
}

// An environment without what the caller's shell may say about drover.
export function plainEnv(more = {}) {
    const env = { ...process.env, DROVER_EVENT_FAULTS: faultsFile, ...more };
    for (const name of ['DROVER_URL', 'DROVER_SOCKET', 'DROVER_TOKEN', 'DROVER_DATA'])
        if (!(name in more)) delete env[name];
    return env;
}

// options: {args, env, config}.  config: what its configuration file says, as YAML.
export async function start(options = {}) {
    const server = new Server(options);
    await server.start();
    return server;
}

// The same for several on one database: all are asked before the first is removed, and what the
// others still need with it.
export async function discardAll(all, { findings = [] } = {}) {
    const failed = [];
    const each = (act) => Promise.allSettled(all.map(act)).then((ends) => failed.push(
        ...ends.filter(({ status }) => status === 'rejected').map(({ reason }) => reason)));
    await each((server) => server.examine(findings));
    await each((server) => server.remove());
    if (failed.length > 0) throw failed[0];
}

export class Server {
    // db: of another server, to be another node on it; else one of its own.  uid: the user to run
    // as, where the tests are root.  base: where its directory is made.  under: a command that
    // starts it and leaves it its process id, such as a tracer.
    constructor({ bin = BIN, args = [], env = {}, config, db = makeDatabase(), uid, base,
        under = [] } = {}) {
        this.under = under;
        this.db = db;
        this.bin = bin;
        this.uid = uid;
        this.dir = makeDirectory(base);
        this.own(this.dir);
        this.data = join(this.dir, 'data');
        this.listen = '127.0.0.1:0';
        this.args = args;
        this.env = env;
        if (config === undefined) return;
        const file = join(this.dir, 'drover.yaml');
        writeFileSync(file, config);
        this.args = ['--config', file, ...args];
    }

    // For spawn().
    get user() {
        return this.uid === undefined ? {} : { uid: this.uid, gid: this.uid };
    }

    // Gives a file or directory, with all in it, to the user that the server runs as.
    own(path) {
        if (this.uid === undefined) return;
        lchownSync(path, this.uid, this.uid);
        for (const entry of readdirSync(path, { recursive: true }))
            lchownSync(join(path, entry), this.uid, this.uid);
    }

    // Also again, on the same data, after stop() or crash().
    async start() {
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
        const log = openSync(join(this.dir, 'server.log'), 'a');
        const args = ['serve', '--listen', this.listen, '--data', this.data, ...this.args];
        if (this.db) args.push('--db', this.db);
        const stdio = ['ignore', log, log];
        const [command, ...rest] = [...this.under, this.bin, ...args];
        this.child = spawn(command, rest, { stdio, env: plainEnv(this.env), ...this.user });
        closeSync(log);
        servers.add(this);
        this.exit = new Promise((resolve, reject) => {
            this.child.on('error', reject);
            this.child.on('exit', (code, signal) => resolve({ code, signal }));
        });
        this.ending = false; // Did we ask for its end?
        const { child } = this;
        this.exit.catch(() => {}).then(() => {
            if (this.child === child) servers.delete(this); // Else it has been started again.
        });
        await until('the server to be ready', async () => {
            if (!servers.has(this))
                throw new Error(`ended: ${JSON.stringify(await this.exit)}\n${this.logTail()}`);
            return this.#isReady();
        });
    }

    // The same, at the address that others know.
    async startAgain() {
        this.listen = new URL(this.url).host;
        await this.start();
    }

    async #isReady() {
        const file = join(this.data, 'server.json');
        const about = existsSync(file) ? parseOrNull(readFileSync(file, 'utf8')) : null;
        if (!about || about.pid !== this.child.pid) return false; // Or of the one before.
        this.url = about.url;
        this.token = readFileSync(join(this.data, 'admin.token'), 'utf8').trim();
        const res = await request(`${this.url}/readyz`, { agent: false }).catch(() => null);
        return res?.status === 200;
    }

    // Does bubblewrap work here, and is it used?
    get walled() {
        return !/WITHOUT a sandbox|there is no sandbox/.test(this.said());
    }

    // For tests of what only walls can do: true, or the test is skipped.
    needsWalls(t) {
        if (!this.walled) t.skip('bubblewrap does not work on this machine');
        return this.walled;
    }

    said() {
        return readFileSync(join(this.dir, 'server.log'), 'utf8');
    }

    untilSaid(pattern) {
        return until(`the server to say ${pattern}`, (note) => {
            note(this.logTail());
            return pattern.test(this.said());
        });
    }

    logTail() {
        return this.said().slice(-3000);
    }

    // Ends it as an operator would; resolves with how it ended.
    async stop() {
        this.ending = true;
        this.agent.destroy();
        this.child.kill('SIGTERM');
        return this.exit;
    }

    // As the power cord would.
    async crash() {
        this.ending = true;
        this.child.kill('SIGKILL');
        await this.exit;
        this.agent.destroy();
    }

    isRunning() {
        return servers.has(this) && isAlive(this.child.pid);
    }

    killNow() {
        if (this.child?.pid && isAlive(this.child.pid)) process.kill(this.child.pid, 'SIGKILL');
    }

    // Stops it, removes everything; for after().  It must have lived until now, what it has stored
    // must be sound, it must end well, and nothing that it started may be left.
    // findings: the checks of the doctor that must fail, because of what a test has done.
    async discard({ findings = [] } = {}) {
        await discardAll([this], { findings });
    }

    async examine(findings) {
        assert.ok(servers.has(this) || this.ending, `it ended by itself:\n${this.logTail()}`);
        if (!servers.has(this)) return;
        const { checks } = await this.get('/v1/doctor');
        const bad = checks.filter((check) => !check.ok);
        assert.deepEqual(bad.map(({ name }) => name), findings, JSON.stringify(bad));
    }

    // Ends it, well, and removes everything.
    async remove() {
        try {
            if (!servers.has(this)) return;
            assert.deepEqual(await this.stop(), { code: 0, signal: null }, this.logTail());
            assert.equal(eventFaults(), '', 'events broke their contracts');
            await untilGone(this.dir);
        } finally {
            if (servers.has(this)) await this.stop();
            if (!process.env.DROVER_KEEP) rmSync(this.dir, { recursive: true, force: true });
        }
    }

    call(method, path, { body, headers = {}, token = this.token } = {}) {
        const all = token === null ? headers : { authorization: `Bearer ${token}`, ...headers };
        return request(this.url + path, { method, body, headers: all, agent: this.agent });
    }

    // The JSON of a call that must succeed.
    async ok(method, path, body, headers) {
        const res = await this.call(method, path, { body, headers });
        const good = res.status >= 200 && res.status < 300;
        assert.ok(good, `${method} ${path}: ${res.status} ${res.text}`);
        return res.json;
    }
    get(path) {
        return this.ok('GET', path);
    }
    post(path, body = {}, headers = {}) {
        return this.ok('POST', path, body, headers);
    }

    stream(path, options = {}) {
        return openStream(this.url + path, { token: this.token, ...options });
    }

    // Every item of a listing, page by page.
    async list(path) {
        const items = [];
        let cursor = null;
        do {
            const separator = path.includes('?') ? '&' : '?';
            const more = cursor ? `${separator}cursor=${encodeURIComponent(cursor)}` : '';
            const page = await this.get(path + more);
            items.push(...page.items);
            assert.notEqual(page.cursor ?? undefined, cursor ?? null, 'the cursor does not move');
            cursor = page.cursor;
        } while (cursor);
        return items;
    }

    // Onboards a repository with an origin of its own; more is merged into its configuration.
    async repository(name, agent, more = {}) {
        const { files, ...config } = more;
        const origin = makeOrigin(this.dir, name.replaceAll('/', '-'), files);
        const document = {
            url: origin,
            agent: { command: ['/bin/sh', '-c', agent], adapter: 'ndjson' },
            verify: [{ name: 'unit', command: 'sh test.sh', timeoutSeconds: 60 }],
            ...config,
        };
        this.own(origin);
        await this.configure(name, document);
        return { name, origin, document };
    }

    configure(name, document) {
        return this.ok('PUT', `/v1/repositories/${encodeURIComponent(name)}`, document);
    }

    // {taskId, runId, status}
    submit(repository, more = {}, headers = {}) {
        const body = { repository, description: 'Make the answer right.', ...more };
        return this.post('/v1/tasks', body, headers);
    }

    task(id) {
        return this.get(`/v1/tasks/${id}`);
    }

    run(id) {
        return this.get(`/v1/runs/${id}`);
    }

    events(runId) {
        return this.list(`/v1/runs/${runId}/events?limit=200`);
    }

    pullRequests(repository) {
        return this.list(`/v1/pull-requests?repository=${encodeURIComponent(repository)}`);
    }

    // The data of all events of this type, of one run.
    async dataOf(runId, type) {
        return dataOf(await this.events(runId), type);
    }

    // Puts bytes or text among the artifacts; resolves with their hash.
    async upload(bytes, token = this.token) {
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        const headers = { 'content-type': 'application/octet-stream' };
        const res = await this.call('PUT', `/v1/artifacts/${sha256}`,
            { body: bytes, headers, token });
        assert.ok(res.status < 300, res.text);
        return sha256;
    }

    cancel(taskId, reason) {
        return this.post(`/v1/tasks/${taskId}/cancel`, reason === undefined ? {} : { reason });
    }

    // The question that the run waits with, once it does.
    async question(runId) {
        await this.untilRun(runId, 'awaiting_approval');
        return (await this.list(`/v1/approvals?status=pending&runId=${runId}`))[0];
    }

    // verb: approve or reject.
    decide(approvalId, verb, body = {}) {
        return this.call('POST', `/v1/approvals/${approvalId}/${verb}`, { body });
    }

    // Waits for one of the statuses; any other terminal one is an error at once.
    untilTask(id, ...statuses) {
        return this.#untilStatus(`task ${id}`, () => this.task(id), statuses);
    }

    untilEnded(id) {
        return this.untilTask(id, ...TERMINAL);
    }

    untilRun(id, ...statuses) {
        return this.#untilStatus(`run ${id}`, () => this.run(id), statuses);
    }

    #untilStatus(what, read, statuses) {
        return until(`${what} to be ${statuses.join(' or ')}`, async (note) => {
            const it = note(await read());
            if (statuses.includes(it.status)) return it;
            if (TERMINAL.includes(it.status))
                assert.fail(`${what} is ${it.status}, not ${statuses}: ${JSON.stringify(it)}`);
            return null;
        });
    }

    // Submits and waits for the end.
    async finish(repository, status, more = {}) {
        const { taskId, runId } = await this.submit(repository, more);
        const task = await this.untilTask(taskId, status);
        return { taskId, runId, task, run: await this.run(runId) };
    }

    untilEvent(runId, type, pleases = () => true) {
        return until(`${type} of run ${runId}`, async (note) => {
            const events = await this.events(runId);
            note(events.map((event) => event.type).slice(-10));
            return events.find((event) => event.type === type && pleases(event));
        });
    }

    // Waits until so many leases have found nothing and stand in line.
    untilParked(count) {
        return until(`${count} leases to wait`, async (note) => {
            const { text } = await this.call('GET', '/metrics');
            return note(Number(/^drover_committer_parked (\d+)$/m.exec(text)[1])) === count;
        });
    }

    // The directory gate-<mark> that an agent or a verifier waits at (git.mjs, waits()).
    untilGate(mark) {
        return until(`somebody at gate ${mark}`, () => this.#gate(mark));
    }

    async openGate(mark) {
        writeFileSync(join(await this.untilGate(mark), 'open'), '');
    }

    #gate(mark) {
        return findDirectory(join(this.data, 'work'), `gate-${mark}`);
    }

    // Opens the gate whenever somebody stands at it, until the task has ended well.
    letThrough(mark, taskId) {
        return until(`task ${taskId} to complete`, async (note) => {
            const task = note(await this.task(taskId));
            if (task.status === 'completed') return true;
            assert.ok(!TERMINAL.includes(task.status), JSON.stringify(task));
            this.tryGate(mark);
            return false;
        });
    }

    // Waits for the last step of a run, which puts away what is left of it.
    untilCleaned(runId) {
        return until(`the cleaning of run ${runId}`, async () => {
            const jobs = await this.list(`/v1/jobs?runId=${runId}&queue=drover.clean`);
            return jobs.some((job) => job.state === 'succeeded');
        });
    }

    // Opens the gate if somebody stands at it just now.
    tryGate(mark) {
        const gate = this.#gate(mark);
        try {
            if (gate) writeFileSync(join(gate, 'open'), '');
        } catch (error) {
            if (error.code !== 'ENOENT') throw error; // It has just gone through.
        }
    }
}

function findDirectory(dir, name) {
    let entries;
    try {
        entries = readdirSync(dir, { withFileTypes: true });
    } catch {
        return null; // Removed while we look.
    }
    for (const entry of entries) {
        if (!entry.isDirectory() || entry.name === '.git' || entry.name.endsWith('.git')) continue;
        const path = join(dir, entry.name);
        const found = entry.name === name ? path : findDirectory(path, name);
        if (found) return found;
    }
    return null;
}

function parseOrNull(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}
