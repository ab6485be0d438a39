// fence.test.mjs - a worker that is frozen in publish, loses its lease and wakes later publishes
// nothing: the origin refuses it.
//
// DROVER_FAULTS_BIN is a build with fault points (src/base/fault.h): its worker stops itself.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { on } from './lib/database.mjs';
import { branches, fixes, git, refs } from './lib/git.mjs';
import { onboard, startWithHub } from './lib/github.mjs';
import { assertDoneOnce } from './lib/once.mjs';
import { untilStopped } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { start, Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const BIN = process.env.DROVER_FAULTS_BIN;
const skip = BIN ? false : 'no build with fault points';
const CONFIG = 'workers: 0\nlease: {leaseMs: 3000, heartbeatMs: 300}\n';
const OTHERS = 'prepare,hydrate,agent,verify,judge,unpublish,clean';

// Before the push; between push and pull request; within that, its lock held; between pull request
// and result; before the report.
const POINTS = ['publish.push', 'publish.number', 'publish.refs', 'publish.numbered'];
const OPENED = ['publish.numbered']; // The pull request is there when the worker freezes.
// The end of the step of a worker that has lost its lease: a heartbeat reports that to it, a call
// that is refused, or only the answer to its report.
const OVER = /lease lost: the work of a step is discarded|step failed|did not arrive/;

const pullsOf = (origin) => Object.keys(refs(origin)).filter((ref) => /^refs\/pull\//.test(ref));

// A git that writes down what it has done, in a directory for PATH.
function makeWitness(dir) {
    const git_ = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    mkdirSync(dir);
    writeFileSync(join(dir, 'git'),
        `#!/bin/sh\n${git_} "$@"\nstatus=$?\necho "$*" >>${dir}/done\nexit $status\n`,
        { mode: 0o755 });
    return join(dir, 'done');
}

const jobOf = async (server, runId, type) =>
    (await server.list(`/v1/jobs?runId=${runId}&type=${type}`))[0];

// A repository, its run, and the workers for publish, of one test.
class Stage {
    constructor({ server, others, number }) {
        Object.assign(this, { server, others, number, workers: [] });
    }

    // For publish: a name in one test is another worker in the next.
    worker({ name, ...options }) {
        const worker = new RemoteWorker(this.server, { name: `${name}-${this.number}`,
            args: ['--queues', 'publish'], ...options });
        this.workers.push(worker);
        return worker.start();
    }

    repository(name) {
        return this.server.repository(name, fixes);
    }

    // A run whose publish step is in the hands of a worker that has stopped itself at the point.
    async freeze(point) {
        this.repo = await this.repository(`acme/frozen-${this.number}`);
        const bin = join(this.server.dir, `bin-${this.number}`);
        this.point = point;
        this.witness = makeWitness(bin);
        // A second slot would wait for a job, and be given this one when the lease is lost.
        this.frozen = await this.worker({ name: 'frozen', bin: BIN, slots: 1,
            env: { DROVER_FAULT: `${point}:stop:1`, PATH: `${bin}:${process.env.PATH}` } });
        this.ids = await this.server.submit(this.repo.name);
        await this.server.untilRun(this.ids.runId, 'creating_pr');
        await untilStopped(this.frozen.child.pid);
    }

    // The server has taken its job away from it.
    untilLost() {
        return until('its lease to run out', async (note) =>
            note(await jobOf(this.server, this.ids.runId, 'publish')).state === 'queued');
    }

    #gits() {
        const text = existsSync(this.witness) ? readFileSync(this.witness, 'utf8') : '';
        return text.split('\n').filter((line) => /push|update-ref|hash-object/.test(line)).length;
    }

    // The server does not answer until it has tried what it was about to do: else the next
    // heartbeat may stop it first.
    async wake() {
        const before = this.#gits();
        this.server.child.kill('SIGSTOP');
        await untilStopped(this.server.child.pid);
        this.frozen.signal('SIGCONT');
        if (!OPENED.includes(this.point))
            await until('it to act', () => this.#gits() > before);
        this.server.child.kill('SIGCONT');
        await this.frozen.untilSaid(OVER);
    }

    async cancel() {
        await this.server.cancel(this.ids.taskId);
        await this.server.untilTask(this.ids.taskId, 'cancelled');
    }

    untilTakenBack() {
        return until('the publish to be undone', async (note) =>
            note(await this.server.list(`/v1/sagas?runId=${this.ids.runId}`))
                .some(({ status }) => status === 'compensated'));
    }

    async assertNothingThere() {
        const { origin, name } = this.repo;
        assert.deepEqual(branches(origin), []);
        assert.deepEqual(pullsOf(origin), []);
        assert.deepEqual(Object.keys(refs(origin)).filter((ref) => /drover\/pulls/.test(ref)), []);
        assert.deepEqual(await this.server.pullRequests(name), []);
        assert.equal((await this.server.get('/v1/doctor')).healthy, true);
        git(origin, 'fsck', '--strict');
    }

    async close() {
        this.server.child.kill('SIGCONT');
        await Promise.all(this.workers.map((worker) => worker.stop()));
    }
}

// For a suite whose tests follow each other: a server without workers of its own, and one for all
// steps but publish.  Gives back how to declare a test: body(stage, t).
function withSite(Kind = Stage, open = async () => ({ server: await start({ config: CONFIG }) })) {
    let site, number = 0;
    before(async () => {
        site = await open();
        site.others = await new RemoteWorker(site.server,
            { name: 'others', args: ['--queues', OTHERS] }).start();
    });
    after(async () => {
        await site.others.stop();
        await (site.stop?.() ?? site.server.discard()); // Which asks the doctor first.
    });
    return (name, body) => it(name, async (t) => {
        const stage = new Kind({ ...site, number: ++number });
        try {
            await body(stage, t);
        } finally {
            await stage.close();
        }
    });
}

function cancelled() {
    const withStage = withSite();
    for (const point of POINTS) {
        withStage(`publishes nothing: ${point}`, async (stage) => {
            await stage.freeze(point);
            assert.equal(pullsOf(stage.repo.origin).length, OPENED.includes(point) ? 1 : 0);
            await stage.untilLost();
            await stage.cancel();
            await stage.untilTakenBack();
            await stage.assertNothingThere();
            await stage.wake();
            await stage.assertNothingThere();
        });
    }

    withStage('publishes nothing, also when the server was restarted meanwhile', async (stage) => {
        await stage.freeze('publish.push');
        await stage.server.crash();
        await stage.server.startAgain();
        await stage.untilLost();
        await stage.server.crash();
        await stage.server.startAgain();
        await stage.cancel();
        await stage.untilTakenBack();
        await stage.wake();
        await stage.assertNothingThere();
    });

    withStage('publishes nothing, also when it held the lease then', async (stage) => {
        await stage.freeze('publish.number');
        await stage.cancel(); // It has until its lease runs out, and says nothing.
        await stage.untilTakenBack();
        await stage.wake();
        await stage.assertNothingThere();
    });

    withStage('is taken back when it comes before whoever takes back', async (stage) => {
        await stage.freeze('publish.push');
        stage.others.signal('SIGSTOP');
        await stage.untilLost();
        await stage.cancel();
        await stage.wake(); // It pushes: so far nobody has told the origin.
        stage.others.signal('SIGCONT');
        await stage.untilTakenBack();
        await stage.assertNothingThere();
    });
}

function published() {
    const withStage = withSite();
    for (const point of POINTS) {
        withStage(`adds nothing: ${point}`, async (stage) => {
            await stage.freeze(point);
            await stage.worker({ name: 'second' });
            await stage.server.untilTask(stage.ids.taskId, 'completed');
            const before = refs(stage.repo.origin);
            await assertDoneOnce(stage.server, { ...stage.ids, repo: stage.repo });
            await stage.wake();
            assert.deepEqual(refs(stage.repo.origin), before);
        });
    }

    withStage('does not bring back a branch that was merged and deleted', async (stage) => {
        await stage.freeze('publish.push');
        await stage.worker({ name: 'second' });
        await stage.server.untilTask(stage.ids.taskId, 'completed');
        const [{ id }] = await stage.server.pullRequests(stage.repo.name);
        await stage.server.post(`/v1/pull-requests/${id}/merge`);
        git(stage.repo.origin, 'update-ref', '-d', branches(stage.repo.origin)[0]);
        await stage.wake();
        assert.deepEqual(branches(stage.repo.origin), []);
    });

    on('postgres', withStage)('on another node adds nothing either', async (stage) => {
        const other = new Server({ config: CONFIG, db: stage.server.db });
        try {
            await other.start();
            await stage.freeze('publish.refs');
            await stage.worker({ name: 'second', url: other.url, token: other.token });
            await stage.server.untilTask(stage.ids.taskId, 'completed');
            await stage.wake();
            await assertDoneOnce(stage.server, { ...stage.ids, repo: stage.repo });
        } finally {
            await Promise.all(stage.workers.map((worker) => worker.stop()));
            await other.discard();
        }
    });
}

function alone() {
    const withStage = withSite();
    for (const point of POINTS) {
        withStage(`leases its job again and publishes once: ${point}`, async (stage) => {
            await stage.freeze(point);
            await stage.untilLost();
            await stage.wake();
            await stage.server.untilTask(stage.ids.taskId, 'completed');
            await assertDoneOnce(stage.server, { ...stage.ids, repo: stage.repo });
        });
    }

    withStage('and is killed instead leaves the rest to the next', async (stage) => {
        await stage.freeze('publish.refs');
        await stage.frozen.stop('SIGKILL');
        await stage.worker({ name: 'next' });
        await stage.server.untilTask(stage.ids.taskId, 'completed');
        await assertDoneOnce(stage.server, { ...stage.ids, repo: stage.repo });
    });
}

// The same at a forge that is a server: git over HTTP, pull requests by its API.
class HostedStage extends Stage {
    constructor(site) {
        super(site);
        this.hub = site.hub;
    }

    async repository(name) {
        const { repo } = await onboard(this, name, fixes, { hook: false });
        return { name, repo };
    }

    refs() {
        return Object.fromEntries(this.repo.repo.bare.refs());
    }

    branches() {
        return Object.keys(this.refs()).filter((ref) => /^refs\/heads\/drover/.test(ref));
    }

    openPulls() {
        return this.repo.repo.pulls.filter(({ state }) => state === 'open');
    }
}

// Before and after the push, before and after the pull request.
const HOSTED = ['publish.push', 'publish.pushed', 'publish.create', 'publish.created'];

function atServer() {
    const withStage = withSite(HostedStage, () => startWithHub({ config: CONFIG }));
    for (const point of HOSTED) {
        withStage(`cannot push or open after a withdrawal: ${point}`, async (stage) => {
            await stage.freeze(point);
            await stage.untilLost();
            await stage.cancel();
            await stage.untilTakenBack();
            assert.deepEqual(stage.branches(), []);
            if (point === 'publish.push') await stage.wake();
            else stage.frozen.signal('SIGCONT');
            await stage.frozen.untilSaid(OVER);
            assert.deepEqual(stage.branches(), []);
            assert.deepEqual(stage.openPulls(), []);
        });

        withStage(`adds nothing after another has published: ${point}`, async (stage) => {
            await stage.freeze(point);
            await stage.worker({ name: 'second' });
            await stage.server.untilTask(stage.ids.taskId, 'completed');
            const before = stage.refs();
            if (point === 'publish.push') await stage.wake();
            else stage.frozen.signal('SIGCONT');
            await stage.frozen.untilSaid(OVER);
            assert.deepEqual(stage.refs(), before);
            assert.equal(stage.repo.repo.pulls.length, 1);
        });
    }
}

describe('a worker that wakes', { concurrency: 4, skip }, () => {
    describe('after its task was cancelled', { concurrency: 1 }, cancelled);
    describe('after another has published', { concurrency: 1 }, published);
    describe('and is alone', { concurrency: 1 }, alone);
    describe('with a lost lease, at a server', { concurrency: 1 }, atServer);
});
