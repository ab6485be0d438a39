// crash.test.mjs - storms: many tasks on four slots, and kill -9 at random moments.
//
// The moments come from a seed.  DROVER_SEED replays one; DROVER_LONG draws a new one and kills
// a thousand times.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { dice } from './lib/dice.mjs';
import { fixes, git } from './lib/git.mjs';
import { assertNoneTwice } from './lib/once.mjs';
import { newMark, untilGone } from './lib/procs.mjs';
import { Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const LONG = Boolean(process.env.DROVER_LONG);
const SEED = Number(process.env.DROVER_SEED ?? (LONG ? randomInt(1e9) : 20261115));
const REPOSITORIES = 3;
const OPEN_TASKS = 6;
const REST_MS = 120_000;
const ENDED_BADLY = ['failed', 'cancelled', 'timed_out'];

const STORMS = [
    { name: '16 tasks through 4 kills', kills: 4, tasks: 16 },
    { name: `${LONG ? 1000 : 20} kills with ${OPEN_TASKS} tasks in flight`,
        kills: LONG ? 1000 : 20 },
];

class Storm {
    constructor(server, repos) {
        this.server = server;
        this.repos = repos;
        this.tasks = []; // What the server has acknowledged.
        this.open = new Set();
    }

    // Asks until it is acknowledged: the same key makes the same task.
    async submit() {
        const repo = this.repos[this.tasks.length % this.repos.length];
        const key = { 'idempotency-key': `storm-${this.tasks.length}` };
        const { taskId, runId } = await this.server.submit(repo.name, {}, key);
        this.tasks.push({ taskId, runId, repo });
        this.open.add(taskId);
    }

    async forgetFinished() {
        for (const taskId of [...this.open]) {
            const task = await this.server.task(taskId);
            assert.ok(!ENDED_BADLY.includes(task.status), JSON.stringify(task));
            if (task.status === 'completed') this.open.delete(taskId);
        }
    }

    async refill() {
        await this.forgetFinished();
        while (this.open.size < OPEN_TASKS) await this.submit();
    }

    // Until some agent is done: a run whose agent never is would be given up as poison.
    async getOn() {
        const stream = await this.server.stream('/v1/events/stream?type=agent.patch.created');
        let done = false;
        stream.next().then((event) => (done = event !== null), () => {});
        await until('an agent to be done', async () => {
            await this.forgetFinished();
            return done || this.open.size === 0;
        });
        stream.close();
    }

    async comeToRest() {
        await until('every task to complete', async (note) => {
            await this.forgetFinished();
            return note([...this.open]).length === 0;
        }, REST_MS);
        const runs = join(this.server.data, 'work', 'runs');
        await until('every worktree to be removed',
            (note) => !existsSync(runs) || note(readdirSync(runs)).length === 0, REST_MS);
    }

    // One branch and one pull request a task, and a history without gaps.
    async check() {
        const prs = await this.server.list('/v1/pull-requests?limit=200');
        for (const { taskId, runId, repo } of this.tasks) {
            assert.equal(prs.filter((pr) => pr.taskId === taskId).length, 1, `PRs of ${taskId}`);
            const run = await this.server.run(runId);
            assert.equal(run.status, 'completed');
            assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
            const events = await this.server.events(runId);
            assertHistory(events);
            for (const once of ['agent.pr.created', 'agent.run.completed'])
                assert.equal(typesOf(events).filter((type) => type === once).length, 1, once);
        }
        assertNoneTwice(this.repos, this.tasks);
    }
}

async function rage({ kills, tasks }) {
    const roll = dice(SEED);
    const mark = newMark();
    const server = new Server({ config: 'workers: 4\nlimits: {maxActiveRuns: 6}\n' });
    try {
        await server.start();
        const repos = [];
        for (let i = 0; i < REPOSITORIES; i++)
            repos.push(await server.repository(`acme/storm-${i}`,
                `sleep 3000.${mark} & sleep 0.1\n${fixes}kill $!\n`));
        const storm = new Storm(server, repos);
        while (storm.tasks.length < (tasks ?? 0)) await storm.submit();
        for (let i = 0; i < kills; i++) {
            if (!tasks) await storm.refill();
            if (i % 2 === 1) await storm.getOn();
            await sleep(roll() * 400); // Any moment is a good one to die.
            await server.crash();
            await server.start();
        }
        await storm.comeToRest();
        await storm.check();
        await untilGone(mark);
    } finally {
        await server.discard(); // Which asks the doctor first.
    }
}

describe(`kill -9 at random moments (seed ${SEED})`, { concurrency: 2 }, () => {
    for (const storm of STORMS) it(storm.name, () => rage(storm));
});
