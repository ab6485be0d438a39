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
const LONG = Boolean(process.env.DROVER_LONG);
const upTo = (count) => Array.from({ length: count }, (_, i) => i + 1);
// The times at which a point is struck, until it is not reached any more.  A publish passes each of
// its points once; of those that are passed often the later times are far from each other, and one
// task has to survive many deaths; in long runs it is another one for each.
function timesOf({ name }) {
    if (LONG) return { die: upTo(60), fail: upTo(4) };
    if (name.startsWith('publish.')) return { die: [1], fail: [1] };
    return { die: [1, 2, 3, 4, 6, 9, 13, 18], fail: [1, 2, 4] };
}
const ENDED_BADLY = ['failed', 'cancelled', 'timed_out'];

class Walk {
    constructor(point) {
        this.point = point;
        this.server = new Server({ bin: BIN, args: ['--workers', '2'] });
        this.done = 0; // Tasks that have completed.
        this.begun = false; // Has the next one begun?
    }

    async open() {
        await this.server.start();
        this.repo = await this.server.repository('acme/faults', fixes);
        await this.server.stop();
    }

    // One life of the server, with this fault, in which it works on a task to its end: true when
    // it died where it should.  Then the task is left to the next life.
    async strike(action, time) {
        this.server.env = { DROVER_FAULT: `${this.point.name}:${action}:${time}` };
        try {
            await this.live();
        } catch (error) {
            const how = await within(PATIENCE_MS, 'its end', this.server.exit).catch(() => null);
            // A commit that fails while it starts ends it, with a message.
            if (how?.signal !== 'SIGKILL' && (how?.code !== 1 || action === 'die')) throw error;
            return true;
        }
        const how = await this.server.stop();
        return how.signal === 'SIGKILL';
    }

    // To the end of the task that was left.
    async settle() {
        if (!this.begun) return;
        this.server.env = {};
        await this.live();
        await this.server.stop();
    }

    async live() {
        const { server } = this;
        await server.start();
        this.begun = true;
        // The same key makes the same task.
        const key = { 'idempotency-key': `task-${this.done}` };
        const ids = await server.submit(this.repo.name, {}, key);
        await until(`task ${ids.taskId} to complete`, async (note) => {
            const task = note(await server.task(ids.taskId));
            assert.ok(!ENDED_BADLY.includes(task.status), JSON.stringify(task));
            return task.status === 'completed';
        });
        await this.check(ids);
        this.done++;
        this.begun = false;
    }

    async check({ taskId, runId }) {
        const prs = (await this.server.pullRequests(this.repo.name))
            .filter((pr) => pr.taskId === taskId);
        assert.equal(prs.length, 1);
        const { branch } = await this.server.run(runId);
        assert.equal(git(this.repo.origin, 'show', `${branch}:answer.txt`), '42');
        assertHistory(await this.server.events(runId));
        const pulls = Object.keys(refs(this.repo.origin)).filter((r) => r.startsWith('refs/pull/'));
        assert.equal(branches(this.repo.origin).length, this.done + 1);
        assert.equal(pulls.length, this.done + 1);
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
                const { die, fail } = timesOf(point);
                let last = 0;
                for (const time of die) {
                    const rest = walk.begun; // In which it may not come that far.
                    if (!await walk.strike('die', time) &&
                        !(rest && await walk.strike('die', time))) break;
                    last = time;
                    if (LONG) await walk.settle();
                }
                await walk.settle();
                assert.ok(last > 0, 'the point was never reached');
                for (const time of point.mayFail ? fail : []) {
                    if (time > last + 1) break;
                    await walk.strike('fail', time);
                    await walk.settle();
                }
            } finally {
                await walk.close();
            }
        });
    }
});
