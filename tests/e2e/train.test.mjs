// train.test.mjs - the merge train on the local forge: what is good lands, what is bad is named,
// and the target is green at every commit, whoever is killed meanwhile.
//
// A pull request adds parts/NAME.  The check of the train wants no part whose name begins with bad,
// which the checks of runs do not look for: it is bad only where it lands.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { callDrover } from './lib/cli.mjs';
import { on } from './lib/database.mjs';
import { TOKEN, startWorld } from './lib/forge_kinds.mjs';
import { commitTo, done, git, waits } from './lib/git.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { Server, start } from './lib/server.mjs';
import { PATIENCE_MS, until, within } from './lib/wait.mjs';

const FAULTS_BIN = process.env.DROVER_FAULTS_BIN;
const LONG = Boolean(process.env.DROVER_LONG);
const [LENGTH, BAD] = LONG ? [20, [6, 13]] : [10, [3, 7]];
const FILES = {
    'whole.sh': `if [ -d parts ] && ls parts | grep '^bad'; then
    echo 'FAIL: a bad part'
    exit 1
fi
`,
    'shared.txt': 'one\ntwo\nthree\n',
};
// "part NAME" adds a part; "shared WORD" changes a line that others change, too.
const AGENT = `part=$(sed -n 's/^part \\([a-z0-9-]*\\)$/\\1/p' "$DROVER_PROMPT" | head -n 1)
word=$(sed -n 's/^shared \\([a-z0-9-]*\\)$/\\1/p' "$DROVER_PROMPT" | head -n 1)
if [ -n "$part" ]; then mkdir -p parts; echo "$part" >"parts/$part"; fi
if [ -n "$word" ]; then printf 'one\\n%s\\nthree\\n' "$word" >shared.txt; fi
${done('done')}`;
const CHECK = { name: 'whole', command: 'sh whole.sh', timeoutSeconds: 60 };
const ENDED = ['landed', 'rejected', 'conflict', 'left'];

class Track {
    constructor(server, name, train = {}, agent = {}) {
        this.server = server;
        this.name = name;
        this.train = train;
        this.agent = agent;
    }

    async open() {
        const { origin, document } = await this.server.repository(this.name, AGENT, {
            files: FILES,
            verify: [],
            policy: { approval: 'never' },
            agent: { command: ['/bin/sh', '-c', AGENT], adapter: 'ndjson', ...this.agent },
            train: { checks: [CHECK], ...this.train },
        });
        this.origin = origin;
        this.document = document;
        return this;
    }

    // Opens one pull request for each description, at once; in the order of the descriptions.
    async pulls(...descriptions) {
        const tasks = await Promise.all(descriptions.map((description) =>
            this.server.submit(this.name, { description })));
        await Promise.all(tasks.map(({ taskId }) => this.server.untilTask(taskId, 'completed')));
        const all = await this.server.pullRequests(this.name);
        return tasks.map(({ taskId }) => all.find((pr) => pr.taskId === taskId));
    }

    add(pr, body = {}) {
        return this.server.post(`/v1/pull-requests/${pr.id}/train`, body);
    }

    async look() {
        const { items } = await this.server.get(
            `/v1/trains?repository=${encodeURIComponent(this.name)}`);
        return items[0];
    }

    // Until all of these have ended; with a gate it is opened whenever a check waits there.
    untilEnded(pulls, gate) {
        return until(`${pulls.length} pull requests of ${this.name} to leave the train`,
            async (note) => {
                if (gate) this.server.tryGate(gate);
                const train = note(await this.look());
                const { cars } = train;
                if (cars.length > 0) return null;
                const status = await Promise.all(pulls.map(({ id }) =>
                    this.server.get(`/v1/pull-requests/${id}`)));
                const told = train.ended.filter(({ state }) => state === 'landed').every((car) =>
                    !status.some(({ id, status: is }) =>
                        id === car.pullRequestId && is !== 'merged'));
                return told ? train : null;
            });
    }

    // The names of pull requests as the target has got them, the first first.
    landed() {
        return git(this.origin, 'log', '--first-parent', '--reverse', '--format=%s', 'main')
            .split('\n').slice(1);
    }

    // Every commit of the target passes the check.
    assertGreen() {
        const dir = mkdtempSync(join(tmpdir(), 'e2e-green-'));
        try {
            git(this.origin, 'worktree', 'add', '--quiet', '--detach', join(dir, 'tree'), 'main');
            const tree = join(dir, 'tree');
            const commits = git(this.origin, 'rev-list', 'main').split('\n');
            for (const commit of commits) {
                git(tree, 'checkout', '--quiet', '--detach', commit);
                execFileSync('sh', ['whole.sh'], { cwd: tree, stdio: 'pipe' });
            }
            return commits.length;
        } finally {
            git(this.origin, 'worktree', 'remove', '--force', join(dir, 'tree'));
            rmSync(dir, { recursive: true, force: true });
        }
    }

    // Each of these is in the target once.
    assertOnce(pulls) {
        const subjects = git(this.origin, 'log', '--first-parent', '--format=%B', 'main');
        for (const { number } of pulls)
            assert.equal(subjects.match(new RegExp(`#${number}: `, 'g'))?.length, 1,
                `#${number} in\n${subjects}`);
    }
}

const names = (prefix, count) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe('a train', { concurrency: false }, () => {
    let server;
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    for (const verify of ['each', 'batch']) {
        it(`of ${LENGTH}, verify ${verify}: two bad ones are named, the others land`, async () => {
            const track = await new Track(server, `acme/long-${verify}`, { verify }).open();
            const parts = names('p', LENGTH);
            for (const at of BAD) parts[at] = `bad${at}`;
            const pulls = await track.pulls(...parts.map((part) => `part ${part}`));
            for (const pr of pulls) await track.add(pr);
            const train = await track.untilEnded(pulls);
            assert.equal(train.landed, LENGTH - 2);
            assert.equal(train.rejected, 2);
            assert.equal(train.rounds, 1, 'nobody else pushed');
            const bad = train.ended.filter(({ state }) => state === 'rejected');
            assert.deepEqual(bad.map(({ number }) => number).sort((a, b) => a - b),
                BAD.map((at) => pulls[at].number).sort((a, b) => a - b));
            for (const { detail } of bad) assert.match(detail, /whole: failed[^]*a bad part/);
            const commits = track.assertGreen();
            const good = pulls.filter((_, i) => !BAD.includes(i));
            track.assertOnce(good);
            const merged = (await server.pullRequests(track.name))
                .filter(({ status }) => status === 'merged');
            assert.equal(merged.length, LENGTH - 2);
            for (const { mergeCommit } of merged)
                git(track.origin, 'merge-base', '--is-ancestor', mergeCommit, 'main');
            console.log(`train of ${LENGTH}, two bad, verify ${verify}: ` +
                `${train.verifications} verifications, ${commits} commits, all green`);
            if (verify === 'each') assert.equal(track.landed().length, LENGTH - 2);
        });
    }

    it('starts again when a person pushes, which costs one round', async () => {
        const track = await new Track(server, 'acme/person', {
            ahead: 1,
            checks: [{ ...CHECK, command: `${waits('person')}sh whole.sh` }],
        }).open();
        const pulls = await track.pulls('part a', 'part b', 'part c');
        for (const pr of pulls) await track.add(pr);
        await server.untilGate('person');
        commitTo(track.origin, 'by-a-person.txt', 'hello\n');
        const train = await track.untilEnded(pulls, 'person');
        assert.equal(train.landed, 3);
        assert.equal(train.rounds, 2);
        assert.equal(track.landed()[0], 'by-a-person.txt');
        track.assertOnce(pulls);
        const events = await server.list('/v1/events?type=agent.train.moved&limit=200');
        assert.equal(events.filter(({ data }) => data.repository === track.name).length, 1);
    });

    it('lets urgent ones go first', async () => {
        const track = await new Track(server, 'acme/urgent', {
            ahead: 1,
            checks: [{ ...CHECK, command: `${waits('urgent')}sh whole.sh` }],
        }).open();
        const [a, b, urgent] = await track.pulls('part a', 'part b', 'part urgent');
        await track.add(a);
        await track.add(b);
        await server.untilGate('urgent');
        await track.add(urgent, { urgent: true });
        const { cars } = await track.look();
        assert.deepEqual(cars.map(({ number }) => number), [urgent, a, b].map((pr) => pr.number));
        await track.untilEnded([a, b, urgent], 'urgent');
        assert.deepEqual(track.landed().map((line) => Number(/#(\d+)/.exec(line)[1])),
            [urgent, a, b].map((pr) => pr.number));
    });

    it('names one that does not merge, with the files, and continues', async () => {
        const track = await new Track(server, 'acme/clash').open();
        const pulls = await track.pulls('shared this', 'shared that', 'part other');
        for (const pr of pulls) await track.add(pr);
        const train = await track.untilEnded(pulls);
        assert.deepEqual(train.ended.filter(({ state }) => state === 'landed')
            .map(({ number }) => number).sort(), [pulls[0].number, pulls[2].number].sort());
        const [clash] = train.ended.filter(({ state }) => state === 'conflict');
        assert.equal(clash.number, pulls[1].number);
        assert.match(clash.detail, /shared\.txt/);
        const pr = await server.get(`/v1/pull-requests/${pulls[1].id}`);
        assert.equal(pr.status, 'open');
    });

    it('finds two that are good alone and bad together with the repository\'s own checks',
        async () => {
            const track = new Track(server, 'acme/pair');
            const { origin } = await server.repository(track.name, AGENT, {
                files: { ...FILES, 'test.sh': '[ ! -d parts ] || [ $(ls parts | wc -l) -lt 2 ]\n' },
                policy: { approval: 'never' },
            });
            track.origin = origin;
            const pulls = await track.pulls('part one', 'part two');
            for (const pr of pulls) await track.add(pr);
            const train = await track.untilEnded(pulls);
            assert.deepEqual(train.ended.map(({ state }) => state).sort(), ['landed', 'rejected']);
            assert.match(train.ended.find(({ state }) => state === 'rejected').detail, /^unit: /);
        });

    it('runs checks once more that may be flaky, and only those', async () => {
        const dir = join(server.dir, 'flaky');
        mkdirSync(dir);
        chmodSync(dir, 0o777);
        // Fails at its first run, and whenever there is a part that is taken.
        const command = `if mkdir ${dir}/first || ls parts | grep -q '^taken'; then
            mktemp ${dir}/failed.XXXXXX
            echo 'Error: listen EADDRINUSE: address already in use 127.0.0.1:3000'
            exit 1
        fi
        sh whole.sh`;
        const track = await new Track(server, 'acme/flaky',
            { ahead: 1, checks: [{ ...CHECK, command }] },
            { mounts: [{ path: dir, writable: true }] }).open();
        const failed = () => readdirSync(dir).filter((name) => name.startsWith('failed')).length;
        const pulls = await track.pulls('part good', 'part taken', 'part bad');
        const ends = [];
        for (const pr of pulls) {
            await track.add(pr);
            const { verifications, ended } = await track.untilEnded([pr]);
            ends.push([ended.find(({ number }) => number === pr.number).state, verifications]);
        }
        // Flaky: twice, the second counts.  Red twice: rejected.  Red for a reason: once.
        assert.deepEqual(ends, [['landed', 2], ['rejected', 4], ['rejected', 5]]);
        assert.equal(failed(), 3);
        const events = await server.list('/v1/events?type=agent.train.tested&limit=200');
        const told = events.map(({ data }) => data)
            .filter(({ pullRequestId }) => pulls.some(({ id }) => id === pullRequestId));
        assert.match(told[0].detail,
            /failed and passed when it ran again: whole: .*address already in use/);
        assert.match(told[2].detail, /a bad part/);
    });

    it('lands by the forge\'s own merge where that is wanted', async () => {
        const track = await new Track(server, 'acme/api', { land: 'api' }).open();
        const pulls = await track.pulls('part a', 'part bad', 'part c', 'part d');
        for (const pr of pulls) await track.add(pr);
        const train = await track.untilEnded(pulls);
        assert.equal(train.landed, 3);
        assert.equal(train.rejected, 1);
        // Positions that were under way when one was found bad are verified once more.
        assert.ok(train.verifications <= 10, `${train.verifications} verifications`);
        track.assertGreen();
        track.assertOnce([pulls[0], pulls[2], pulls[3]]);
    });

    it('can be left, and is refused where there is none', async () => {
        const track = await new Track(server, 'acme/leave', {
            ahead: 1,
            checks: [{ ...CHECK, command: `${waits('leave')}sh whole.sh` }],
        }).open();
        const [a, b] = await track.pulls('part a', 'part b');
        await track.add(a);
        await track.add(b);
        await server.untilGate('leave');
        await server.ok('DELETE', `/v1/pull-requests/${a.id}/train`);
        const train = await track.untilEnded([b], 'leave');
        assert.deepEqual(train.ended.map(({ state }) => state), ['landed', 'left']);
        assert.match(train.ended[1].detail, /taken out by admin/);
        const gone = await server.call('DELETE', `/v1/pull-requests/${a.id}/train`);
        assert.equal(gone.status, 404);
        assert.equal(gone.json.code, 'NOT_IN_TRAIN');
        const merged = await server.call('POST', `/v1/pull-requests/${b.id}/train`, { body: {} });
        assert.equal(merged.json.code, 'PULL_REQUEST_NOT_OPEN');
        const bad = await server.call('POST', `/v1/pull-requests/${a.id}/train`,
            { body: { urgent: 'yes' } });
        assert.equal(bad.status, 422, bad.text);
        await server.configure(track.name,
            { ...track.document, train: { ...track.document.train, use: 'off' } });
        const off = await server.call('POST', `/v1/pull-requests/${a.id}/train`, { body: {} });
        assert.equal(off.status, 409);
        assert.equal(off.json.code, 'TRAIN_OFF');
    });

    it('says so when the forge has no merge queue', async () => {
        const track = await new Track(server, 'acme/queue', { use: 'queue' }).open();
        const [pr] = await track.pulls('part a');
        await track.add(pr);
        const job = await untilTrainJob(server, track);
        assert.match(JSON.stringify(job.result), /no merge queue/);
    });

    it('is shown and steered by the command line', async () => {
        const track = await new Track(server, 'acme/line', {
            checks: [{ ...CHECK, command: `${waits('line')}sh whole.sh` }],
        }).open();
        const [a, b] = await track.pulls('part a', 'part b');
        const run = (...args) => callDrover(server, args);
        assert.match((await run('train', 'add', `${a.number}`, '--repo', track.name)).stdout,
            /is in the train/);
        await run('train', 'add', b.id, '--urgent');
        const shown = (await run('train', track.name)).stdout;
        assert.match(shown, /acme\/line, main: running, 2 waiting/);
        assert.match(shown, new RegExp(`#${b.number}\\s+\\w+\\s+urgent[^]*#${a.number}`));
        await run('train', 'remove', `${a.number}`, '--repo', track.name);
        await track.untilEnded([b], 'line');
        assert.match((await run('train', track.name)).stdout, /1 landed/);
    });

    it('is counted', async () => {
        const { text } = await server.call('GET', '/metrics');
        assert.match(text, /^agent_train_landed_total [1-9]\d*$/m);
        assert.match(text, /^agent_train_cars 0$/m);
    });
});

// The same over HTTP, with a token, at forges that are servers: they are the same to each engine.
(LONG ? describe : on('sqlite', describe))('a train at a hosted forge', { concurrency: 4 }, () => {
    let server;
    const worlds = [];
    before(async () => {
        server = await start({ args: ['--workers', '4'], env: { FORGE_TOKEN: TOKEN } });
    });
    after(async () => {
        try {
            await server.discard();
        } finally {
            for (const world of worlds) await world.stop();
        }
    });

    // A forge, and the track of its repository there.
    async function hosted(kind, train) {
        const world = await startWorld(kind);
        worlds.push(world);
        const track = new Track(server, `acme/hosted-${worlds.length}`);
        await server.configure(track.name, {
            url: world.url, forge: kind, api: world.api,
            credentials: { forge: 'FORGE_TOKEN' },
            agent: { command: ['/bin/sh', '-c', AGENT], adapter: 'ndjson' },
            policy: { approval: 'never' },
            train,
        });
        return { world, track };
    }

    for (const [kind, land] of [['github', 'push'], ['github', 'api'], ['gitlab', 'push'],
        ['gitea', 'push']]) {
        it(`of ${kind} lands by ${land}, and the forge shows it merged`, async () => {
            const { world, track } = await hosted(kind,
                { land, checks: [{ ...CHECK, command: '[ ! -e parts/bad ]' }] });
            const pulls = await track.pulls('part a', 'part bad', 'part c');
            for (const pr of pulls) await track.add(pr);
            const train = await track.untilEnded(pulls);
            assert.deepEqual(train.ended.map(({ number, state }) => [number, state]).sort(),
                pulls.map(({ number }, i) =>
                    [number, i === 1 ? 'rejected' : 'landed']).sort());
            assert.equal(train.rounds, 1);
            const files = await filesOf(world);
            assert.ok(files.includes('parts/a') && files.includes('parts/c'), `${files}`);
            assert.ok(!files.includes('parts/bad'));
            if (kind === 'github')
                await until('GitHub to show them merged', () => world.pulls()
                    .filter(({ merged }) => merged).length === 2);
        });
    }

    for (const [use, rules] of [['auto', {}], ['queue', { queue: true }]]) {
        it(`is left to GitHub by ${use}, asked for there, and made ready for it`, async () => {
            const { world, track } = await hosted('github', { use });
            world.repo.protect('main', { checks: ['ci'], ...rules });
            const [pr] = await track.pulls('part a');
            await track.add(pr);
            const job = await untilTrainJob(server, track);
            assert.equal(job.result.outcome, 'handed', JSON.stringify(job.result));
            const [pull] = world.pulls();
            assert.deepEqual([pull.draft, pull.merged], [false, false]);
        });
    }

    it('that may not push says what to configure', async () => {
        const { world, track } = await hosted('github', { checks: [] });
        world.repo.protect('main', { push: false });
        const [pr] = await track.pulls('part a');
        await track.add(pr);
        const train = await until('the train to stall', async (note) => {
            const now = note(await track.look());
            return now.state === 'stalled' ? now : null;
        });
        assert.match(train.errorMessage, /set train\.land to api/);
        assert.equal(train.cars[0].state, 'waiting');
    });
});

// The one job of a train that leaves the merge to the forge, when it has ended.
function untilTrainJob(server, track) {
    return until('the job to end', async (note) => {
        const jobs = await server.list('/v1/jobs?queue=drover.train');
        const all = await Promise.all(jobs.map(({ id }) => server.get(`/v1/jobs/${id}`)));
        const [job] = note(all.filter(({ payload }) => payload.repository === track.name));
        return job?.state === 'succeeded' ? job : null;
    });
}

// What main of the forge's repository has.  The forge is in this process: git must not block it.
async function filesOf(world) {
    const dir = mkdtempSync(join(tmpdir(), 'e2e-hosted-'));
    try {
        const url = world.url.replace('://', `://oauth2:${world.token}@`);
        await promisify(execFile)('git',
            ['clone', '--quiet', '--branch', 'main', url, join(dir, 'tree')]);
        return git(join(dir, 'tree'), 'ls-files').split('\n');
    } finally {
        rmSync(dir, { recursive: true, force: true });
    }
}

// Where the landing is cut off: before and after its push, and round its report and its commit.
// Later times are for long runs.
const STRIKES = [
    ...(LONG ? [1, 2] : [1]).flatMap((time) =>
        ['train.push', 'train.pushed'].map((point) => [point, time])),
    ...(LONG ? [1, 2, 3, 4] : [1]).flatMap((time) =>
        ['step.report', 'step.reported'].map((point) => [point, time])),
    ...(LONG ? [2, 3, 4, 5, 6, 7] : [3, 5]).flatMap((time) =>
        ['commit.before', 'commit.after'].map((point) => [point, time])),
];

describe('a landing that is killed', {
    concurrency: 2, skip: FAULTS_BIN ? false : 'no build with fault points',
}, () => {
    // The server and its own worker die together.
    it('with its server, at every point, lands each pull request once', async () => {
        const server = new Server({ bin: FAULTS_BIN, args: ['--workers', '2'] });
        await server.start();
        const track = await new Track(server, 'acme/killed').open();
        const all = [];
        let died = 0;
        try {
            for (const [i, [point, time]] of STRIKES.entries()) {
                const pulls = await track.pulls(`part a${i}`, `part b${i}`);
                all.push(...pulls);
                await server.stop();
                server.env = { DROVER_FAULT: `${point}:die:${time}` };
                await strike(server, track, pulls).then((dead) => (died += dead));
            }
            track.assertOnce(all);
            track.assertGreen();
            assert.ok(died > STRIKES.length / 2, `died ${died} times`);
        } finally {
            server.env = {};
            if (!server.isRunning()) await server.start();
            await server.discard();
        }
    });

    // x and parts/b do not go together, and each is good alone.
    it('merges the rest by the forge only onto what was verified', async () => {
        const server = new Server({ bin: FAULTS_BIN, args: ['--workers', '4'] });
        await server.start();
        const track = await new Track(server, 'acme/between', { land: 'api', checks: [{ ...CHECK,
            command: `if [ -e parts/a ] && [ ! -e parts/b ]; then ${waits('first')}:; fi
[ ! -e x ] || [ ! -e parts/b ]` }] }).open();
        try {
            // The two others are verified side by side once the first has landed.
            const pulls = await track.pulls('part z', 'part a', 'part b');
            await server.stop();
            server.env = { DROVER_FAULT: 'train.pushed:die:2' };
            await server.start();
            for (const pr of pulls) await track.add(pr);
            await until('the last position to pass', async (note) => note(await track.look())
                .cars.some(({ number, state }) => number === pulls[2].number && state === 'green'));
            await server.openGate('first');
            await within(PATIENCE_MS, 'its end after the second merge', server.exit);
            commitTo(track.origin, 'x', 'pushed by a person\n');
            server.env = {};
            await server.start();
            const { ended } = await track.untilEnded(pulls, 'first');
            const states = pulls.map(({ number }) =>
                ended.find((car) => car.number === number).state);
            assert.deepEqual(states, ['landed', 'landed', 'rejected']);
            assert.doesNotMatch(git(track.origin, 'ls-tree', '-r', '--name-only', 'main'),
                /parts\/b/);
        } finally {
            server.env = {};
            if (!server.isRunning()) await server.start();
            await server.discard();
        }
    });

    it('with its worker, at every point, lands each pull request once', async () => {
        const server = await start({
            args: ['--workers', '0'], config: 'lease: {leaseMs: 2000, heartbeatMs: 500}\n' });
        const track = await new Track(server, 'acme/worker').open();
        const all = [];
        let no = 0;
        try {
            for (const [point, time] of STRIKES.filter(([name]) => !name.startsWith('commit'))) {
                const sound = await new RemoteWorker(server, { name: `sound-${no}` }).start();
                const pulls = await track.pulls(`part a${no}`, `part b${no}`);
                await sound.stop();
                all.push(...pulls);
                const frail = await new RemoteWorker(server, {
                    name: `frail-${no}`, bin: FAULTS_BIN,
                    env: { DROVER_FAULT: `${point}:die:${time}` } }).start();
                for (const pr of pulls) await track.add(pr);
                const ended = track.untilEnded(pulls);
                await Promise.race([frail.exit, ended]);
                const next = await new RemoteWorker(server, { name: `next-${no++}` }).start();
                await ended;
                await frail.stop();
                await next.stop();
            }
            track.assertOnce(all);
            track.assertGreen();
        } finally {
            await server.discard();
        }
    });
});

// Adds them to the train of a server that kills itself somewhere; whether it did.
async function strike(server, track, pulls) {
    let died = 0;
    const survive = async (act) => {
        for (;;) {
            try {
                return await act();
            } catch (error) {
                // The connection is cut before the end of the process is known.
                const cut = /ECONN|EPIPE|hang up/.test(`${error.code} ${error.message}`);
                if (server.isRunning() && !cut) throw error;
                died = 1;
                await within(PATIENCE_MS, 'its end', server.exit);
                server.env = {};
                await server.start();
            }
        }
    };
    await survive(() => server.isRunning() || server.start());
    for (const pr of pulls)
        await survive(async () => {
            const now = await server.get(`/v1/pull-requests/${pr.id}`);
            if (now.status === 'open') await track.add(pr).catch((error) => {
                if (!/PULL_REQUEST_NOT_OPEN/.test(error.message)) throw error;
            });
        });
    await survive(() => track.untilEnded(pulls));
    for (const { id } of pulls)
        assert.equal((await survive(() => server.get(`/v1/pull-requests/${id}`))).status, 'merged');
    return died;
}
