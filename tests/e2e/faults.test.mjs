// faults.test.mjs - walks every named fault point (src/base/fault.c), each alone: the server dies
// there, or the call fails there, and the task is still done exactly once.
//
// DROVER_FAULTS_BIN is a build with the points in it; without one there is nothing to walk.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { assertHistory } from './lib/cloudevents.mjs';
import { branches, fixes, git, refs } from './lib/git.mjs';
import { Server } from './lib/server.mjs';
import { PATIENCE_MS, until, within } from './lib/wait.mjs';

const BIN = process.env.DROVER_FAULTS_BIN;
const SOURCE = readFileSync(new URL('../../src/base/fault.c', import.meta.url), 'utf8');
const POINTS = [...SOURCE.matchAll(/\{"([a-z.]+)", (true|false)\}/g)]
    .map(([, name, mayFail]) => ({ name, mayFail: mayFail === 'true' }))
    .filter(({ name }) => !name.startsWith('train.')) // Walked by train.test.mjs.
    // Walked by shepherd_faults.test.mjs.
    .filter(({ name }) => !/^(observe|attend|rebase|move)\./.test(name));
const TIMES_MAX = process.env.DROVER_LONG ? 60 : 12;
const ENDED_BADLY = ['failed', 'cancelled', 'timed_out'];

class Walk {
    constructor(point) {
        this.point = point;
        this.server = new Server({ bin: BIN, args: ['--workers', '2'] });
        this.tasks = 0;
    }

    async open() {
        await this.server.start();
        this.repo = await this.server.repository('acme/faults', fixes);
        await this.server.stop();
    }

    // Whatever the server was doing, it is there afterwards, without the fault.
    async restart() {
        await this.server.exit;
        this.server.env = {};
        await this.server.start();
    }

    // True when the server died where it should.
    async strike(action, time) {
        const server = this.server;
        server.env = { DROVER_FAULT: `${this.point.name}:${action}:${time}` };
        let died = false;
        const survive = async (act) => {
            try {
                return await act();
            } catch (error) {
                const how = await within(PATIENCE_MS, 'its end', server.exit).catch(() => null);
                // A commit that fails while it starts ends it, with a message.
                if (how?.signal !== 'SIGKILL' && (how?.code !== 1 || action === 'die')) throw error;
                died = true;
                await this.restart();
                return act();
            }
        };
        await survive(() => server.isRunning() || server.start());
        const key = { 'idempotency-key': `task-${this.tasks++}` };
        const ids = await survive(() => server.submit(this.repo.name, {}, key));
        await until(`task ${ids.taskId} to complete`, async (note) => {
            const task = note(await survive(() => server.task(ids.taskId)));
            assert.ok(!ENDED_BADLY.includes(task.status), JSON.stringify(task));
            return task.status === 'completed';
        });
        await survive(() => this.check(ids)); // It may die while it cleans up.
        const how = await server.stop();
        return died || how.signal === 'SIGKILL';
    }

    async check({ taskId, runId }) {
        const prs = (await this.server.pullRequests(this.repo.name))
            .filter((pr) => pr.taskId === taskId);
        assert.equal(prs.length, 1);
        const { branch } = await this.server.run(runId);
        assert.equal(git(this.repo.origin, 'show', `${branch}:answer.txt`), '42');
        assertHistory(await this.server.events(runId));
        const pulls = Object.keys(refs(this.repo.origin)).filter((r) => r.startsWith('refs/pull/'));
        assert.equal(branches(this.repo.origin).length, this.tasks);
        assert.equal(pulls.length, this.tasks);
    }

    // Asks the doctor, then cleans up.
    async close() {
        this.server.env = {};
        if (!this.server.isRunning()) await this.server.start();
        await this.server.discard();
    }
}

describe('a fault at', { concurrency: 6, skip: BIN ? false : 'no build with fault points' }, () => {
    for (const point of POINTS) {
        it(`${point.name} costs nothing but time`, async () => {
            const walk = new Walk(point);
            try {
                await walk.open();
                let time = 1;
                while (time <= TIMES_MAX && (await walk.strike('die', time))) time++;
                assert.ok(time > 1, 'the point was never reached');
                for (let i = 1; point.mayFail && i <= Math.min(time, 4); i++)
                    await walk.strike('fail', i);
            } finally {
                await walk.close();
            }
        });
    }
});
