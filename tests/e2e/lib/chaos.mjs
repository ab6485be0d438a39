// chaos.mjs - two nodes, remote workers and PostgreSQL; tasks flow in through both nodes while one
// thing after the other fails, also while another is still down.
//
// What fails is the deck of the test (makeTumblers, hand); when, and in what order, comes from a
// seed.  DROVER_SEED replays one; DROVER_LONG draws a new one and lets more fail;
// DROVER_CHAOS_MINUTES lets it go on for so long.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { assertHistory, typesOf } from './cloudevents.mjs';
import { makeCluster } from './cluster.mjs';
import { makeDatabase } from './database.mjs';
import { dice } from './dice.mjs';
import { fixes, git } from './git.mjs';
import { assertNoneTwice } from './once.mjs';
import { newMark, untilGone } from './procs.mjs';
import { RemoteWorker } from './remote.mjs';
import { BIN, discardAll, plainEnv, Server } from './server.mjs';
import { until } from './wait.mjs';

const run = promisify(execFile); // Rejects with what it said unless it ends well.
const LONG = Boolean(process.env.DROVER_LONG);
const MINUTES = Number(process.env.DROVER_CHAOS_MINUTES ?? 0);
export const SEED = Number(process.env.DROVER_SEED ?? (LONG ? randomInt(1e9) : 20261116));
const ROUNDS = LONG ? 6 : 1;
const BETWEEN_MS = 1200;
const REST_MS = 120_000;
const ENDED_BADLY = ['failed', 'cancelled', 'timed_out'];

// Only what the deck fells may end.
export const assertAlive = (node) =>
    assert.ok(node.isRunning(), `it ended by itself:\n${node.logTail()}`);

// Something that falls and is put up again.  A fall waits until it stands.
export class Tumbler {
    constructor(name, fall, rise) {
        Object.assign(this, { name, fall, rise, risen: Promise.resolve() });
    }

    async topple(pauseMs) {
        await this.risen;
        await this.fall();
        this.risen = sleep(pauseMs).then(() => this.rise());
        this.risen.catch(() => {}); // Told where it is awaited.
    }
}

export class Chaos {
    // openTasks: how many are under way at a time.  downMs: how long a thing is down, from ... to.
    constructor({ config, repositories = 3, openTasks = 6, downMs = [0, 600] }) {
        Object.assign(this, { config, repositories, openTasks, downMs });
        this.roll = dice(SEED);
        this.tasks = []; // What was acknowledged.
        this.open = new Set();
        this.told = [];
    }

    async start(mark) {
        this.cluster = makeCluster();
        this.db = makeDatabase(this.cluster.url);
        this.nodes = await this.makeNodes();
        for (const node of this.nodes) await node.start();
        this.workers = await this.makeWorkers();
        for (const worker of this.workers) await worker.start();
        this.repos = [];
        for (let i = 0; i < this.repositories; i++)
            this.repos.push(await this.nodes[i % 2].repository(`acme/chaos-${i}`,
                `sleep 3000.${mark} & sleep 0.2\n${fixes}kill $!\n`));
        this.tumblers = this.makeTumblers();
    }

    makeNodes() {
        const { config, db } = this;
        return [new Server({ config, db }), new Server({ config, db })];
    }

    makeWorkers() {
        return ['w0', 'w1', 'w2'].map(
            (name, i) => new RemoteWorker(this.nodes[i % 2], { name }));
    }

    pick(list) {
        return list[Math.floor(this.roll() * list.length)];
    }

    shuffled(cards) {
        for (let i = cards.length - 1; i > 0; i--) {
            const j = Math.floor(this.roll() * (i + 1));
            [cards[i], cards[j]] = [cards[j], cards[i]];
        }
        return cards;
    }

    // Asks one node after the other until one answers.
    async ask(what, call) {
        let turn = this.tasks.length;
        return until(what, async (note) => {
            try {
                return { answer: await call(this.nodes[turn++ % 2]) };
            } catch (error) {
                note(error.message);
                return null;
            }
        }).then(({ answer }) => answer);
    }

    // Asks until it is acknowledged: the same key makes the same task.
    async submit() {
        const repo = this.repos[this.tasks.length % this.repos.length];
        const key = { 'idempotency-key': `chaos-${this.tasks.length}` };
        const { taskId, runId } = await this.ask('a node to take a task',
            (node) => node.submit(repo.name, {}, key));
        this.tasks.push({ taskId, runId, repo });
        this.open.add(taskId);
    }

    async forgetFinished() {
        for (const taskId of [...this.open]) {
            const task = await this.ask('a node to tell of a task', (node) => node.task(taskId));
            assert.ok(!ENDED_BADLY.includes(task.status), JSON.stringify(task));
            if (task.status === 'completed') this.open.delete(taskId);
        }
    }

    // Keeps tasks in flight until all has fallen that shall.
    async feed() {
        while (!this.fallen) {
            await this.forgetFinished();
            while (this.open.size < this.openTasks && !this.fallen) await this.submit();
            await sleep(100);
        }
    }

    // Hands of the deck, until all has fallen that shall.
    async rage() {
        const until = Date.now() + MINUTES * 60_000;
        const [least, most] = this.downMs;
        try {
            for (let i = 0; MINUTES > 0 ? Date.now() < until : i < ROUNDS; i++)
                for (const tumbler of this.hand()) {
                    await sleep(this.roll() * BETWEEN_MS); // Any moment is a good one to die.
                    this.told.push(tumbler.name);
                    await tumbler.topple(least + this.roll() * (most - least));
                }
            await Promise.all(Object.values(this.tumblers).flat().map((each) => each.risen));
        } finally {
            this.fallen = true;
        }
    }

    async comeToRest() {
        this.nodes.forEach(assertAlive);
        await until('every task to complete', async (note) => {
            await this.forgetFinished();
            return note([...this.open]).length === 0;
        }, REST_MS, 100);
        await until('every job to end', async (note) => {
            this.nodes.forEach(assertAlive);
            const queues = await this.nodes[0].list('/v1/queues');
            return note(queues.filter(({ jobs }) =>
                jobs.queued + jobs.leased + jobs.scheduled + jobs.blocked > 0)).length === 0;
        }, REST_MS, 100);
    }

    // One branch and one pull request a task, and a history without gaps, the same on both nodes.
    async check() {
        const [one, two] = this.nodes;
        const prs = await one.list('/v1/pull-requests?limit=200');
        for (const { taskId, runId, repo } of this.tasks) {
            assert.equal(prs.filter((pr) => pr.taskId === taskId).length, 1, `PRs of ${taskId}`);
            const run = await two.run(runId);
            assert.deepEqual([run.status, run.attempt], ['completed', 1]);
            assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
            const events = await one.events(runId);
            assertHistory(events);
            assert.deepEqual(await two.events(runId), events);
            for (const once of ['agent.task.submitted', 'agent.pr.created', 'agent.run.completed'])
                assert.equal(typesOf(events).filter((type) => type === once).length, 1, once);
        }
        assertNoneTwice(this.repos, this.tasks);
        // Not spawnSync: the lines of a node to its database may run through this process.
        for (const node of this.nodes)
            await run(BIN, ['doctor', '--data', node.data], { env: plainEnv() });
        this.checkDirectories();
    }

    // One worker cleans up after a run.  What others had of it is theirs to sweep, by its name.
    checkDirectories() {
        const runs = new Set(this.tasks.map(({ runId }) => runId));
        let left = 0;
        for (const { data } of [...this.nodes, ...this.workers]) {
            const dir = join(data, 'work/runs');
            for (const name of existsSync(dir) ? readdirSync(dir) : []) {
                assert.ok(runs.has(name), `${dir}/${name} belongs to no run`);
                left++;
            }
        }
        this.left = left;
    }

    async stop() {
        for (const worker of this.workers)
            assert.deepEqual(await worker.stop(), { code: 0, signal: null }, worker.said());
        await discardAll(this.nodes); // Which sees that nothing is left.
    }

    kill() {
        for (const each of this.workers ?? []) each.signal('SIGKILL');
        for (const node of this.nodes ?? []) node.killNow();
        this.cluster?.remove();
    }
}

// The test: all tasks complete, once each, whatever falls.
export async function survive(t, chaos) {
    const mark = newMark();
    const began = Date.now();
    try {
        await chaos.start(mark);
        await Promise.all([chaos.feed(), chaos.rage()]);
        t.diagnostic(`${chaos.told.length} fell: ${chaos.told.join(', ')}`);
        await chaos.comeToRest();
        await chaos.check();
        await untilGone(mark);
        const seconds = Math.round((Date.now() - began) / 1000);
        t.diagnostic(`${chaos.tasks.length} tasks in ${seconds} s; ` +
            `${chaos.left} directories to sweep`);
        await chaos.stop();
    } finally {
        chaos.kill();
    }
}
