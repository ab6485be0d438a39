// remote.mjs - `drover worker` processes that work for a server under test, each in a directory of
// its own below the server's.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './procs.mjs';
import { plainEnv } from './server.mjs';
import { until } from './wait.mjs';

const workers = new Set();
process.on('exit', () => {
    for (const worker of workers) worker.signal('SIGKILL');
});

export class RemoteWorker {
    // options: {name, slots, token, args, url, data, env, bin}
    constructor(server, { name, slots = 2, token = server.token, args = [], url, data,
        env = {}, bin = server.bin } = {}) {
        this.server = server;
        this.bin = bin;
        this.name = name;
        this.data = data ?? join(server.dir, `worker-${name}`);
        this.log = join(server.dir, `worker-${name}.log`);
        this.env = plainEnv(token === null ? env : { DROVER_TOKEN: token, ...env });
        this.args = ['worker', '--server', url ?? server.url, '--name', name, '--data', this.data,
            '--slots', String(slots), ...args];
    }

    // Does not wait for it to be there.
    spawn() {
        const log = openSync(this.log, 'a');
        this.child = spawn(this.bin, this.args,
            { stdio: ['ignore', log, log], env: this.env, ...this.server.user });
        closeSync(log);
        workers.add(this);
        this.exit = new Promise((resolve, reject) => {
            this.child.on('error', reject);
            this.child.on('exit', (code, signal) => resolve({ code, signal }));
        });
        this.exit.catch(() => {}).then(() => workers.delete(this));
        return this;
    }

    async start() {
        this.spawn();
        await until(`worker ${this.name} to work`, (note) => /"working"/.test(note(this.said())));
        return this;
    }

    said() {
        return existsSync(this.log) ? readFileSync(this.log, 'utf8') : '';
    }

    untilSaid(pattern) {
        return until(`worker ${this.name} to say ${pattern}`,
            (note) => pattern.test(note(this.said())));
    }

    signal(name) {
        if (this.child?.pid && isAlive(this.child.pid)) process.kill(this.child.pid, name);
    }

    async stop(signal = 'SIGTERM') {
        this.signal('SIGCONT');
        this.signal(signal);
        return this.exit;
    }

    // As the server has it, or undefined.
    async listed() {
        const items = await this.server.list('/v1/workers');
        return items.find((item) => item.name === this.name);
    }

    // The gate that an agent of this worker stands at (git.mjs, waits()).
    gate(mark) {
        const runs = join(this.data, 'work/runs');
        for (const run of existsSync(runs) ? readdirSync(runs) : []) {
            const gate = join(runs, run, 'tree', `gate-${mark}`);
            if (existsSync(gate)) return gate;
        }
        return null;
    }

    untilGate(mark) {
        return until(`somebody of ${this.name} at gate ${mark}`, () => this.gate(mark));
    }

    async openGate(mark) {
        writeFileSync(join(await this.untilGate(mark), 'open'), '');
    }
}
