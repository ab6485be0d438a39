// power.test.mjs - the machine loses power: nothing that was acknowledged is lost.
//
// A server works through tasks, merges and issues while all that it and its children write is
// recorded (lib/recorder.mjs).  From the record the disk is rebuilt as it may be after a loss of
// power at some point (lib/disk.mjs): where a client had just been told something, and in between.
// On each such disk a server starts, recovers and finishes what it finds; then everything that a
// client had been told until that point must be there, and every repository must be sound.
//
// DROVER_SEED replays the points and the losses of one run of the long form on the same record.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from
    'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { dice } from './lib/dice.mjs';
import { MODELS, VARIANTS, writeOut } from './lib/disk.mjs';
import { done, gaveUp, git, makeOrigin, refs } from './lib/git.mjs';
import { untilGone } from './lib/procs.mjs';
import { cannotRecord, Recorder } from './lib/recorder.mjs';
import { Server, TERMINAL } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const LONG = Boolean(process.env.DROVER_LONG);
const SEED = Number(process.env.DROVER_SEED ?? (LONG ? randomInt(1e9) : 20261117));
const TOLD_MAX = LONG ? Infinity : 10; // States at points where something was told...
const ANYWHERE = LONG ? 360 : 8; // ...and anywhere.
const STATES_MIN = LONG ? 500 : TOLD_MAX + ANYWHERE;
const ROUNDS = LONG ? 2 : 1;
const FAILED_MAX = 20; // Each may wait for something that does not come.
const REPOSITORY = 'acme/power';
const BOOT = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
const OTHER_BOOT = '00000000-0000-4000-8000-000000000000';

// A few more files: each may be the one that is emptied.
const FILES = {
    'README.md': 'A repository.\n',
    'test.sh': 'test -s README.md && test -s src/a.txt && test -s src/deep/b.txt\n',
    ...Object.fromEntries(['a', 'deep/b', 'deep/c', 'd'].map((name) =>
        [`src/${name}.txt`, `${name}\n`.repeat(400)])),
};

// Each task adds a file of its own; one that is to fail leaves its work behind.
const AGENT = `note=$(sed -n 's/^note: //p' "$DROVER_PROMPT" | head -n 1)
echo "$note" >"note-$note.txt"
case $note in
fail*) ${gaveUp('it was to fail')};;
*) ${done('noted')};;
esac
`;

// ---- what is done, and what a client hears of it ----

class Client {
    constructor(server, recorder) {
        this.server = server;
        this.recorder = recorder;
        this.facts = []; // {at, what, check(found)}: what must hold of what is found afterwards
    }

    told(what, check) {
        this.facts.push({ at: this.recorder.now(), what, check });
    }

    async listen() {
        const stream = await this.server.stream('/v1/events/stream');
        (async () => {
            for (let event; (event = await stream.next());) {
                const { id, type, data } = event.data;
                this.told(`event ${type} ${id}`, ({ events }) => assert.ok(events.has(id)));
                if (type === 'agent.snapshot.taken') this.#toldSnapshot(data);
            }
        })().catch(() => {}); // It ends with the server.
        return stream;
    }

    // It is in the snapshot repository, or, if that was dropped, in the origin.
    #toldSnapshot({ ref, commit, mirror }) {
        this.told(`snapshot ${ref}`, ({ origin }) => {
            const places = [mirror, origin].filter((dir) => existsSync(dir));
            assert.ok(places.some((dir) => refs(dir)[ref] === commit), `${ref} is gone`);
        });
    }

    async submit(note) {
        const { taskId } = await this.server.submit(REPOSITORY, { description: `note: ${note}` });
        this.told(`task ${note}`, ({ tasks }) => assert.ok(tasks.has(taskId)));
        return taskId;
    }

    async untilDone(taskId, note) {
        await this.server.untilTask(taskId, 'completed');
        const pr = (await this.server.pullRequests(REPOSITORY)).find((each) =>
            each.taskId === taskId);
        this.told(`pull request ${pr.number} of task ${note}`, ({ tasks, prs, origin }) => {
            assert.equal(tasks.get(taskId).status, 'completed');
            const { number, headCommit } = prs.find((each) => each.taskId === taskId);
            assert.deepEqual([number, headCommit], [pr.number, pr.headCommit]);
            assert.equal(refs(origin)[`refs/pull/${number}/head`], headCommit);
        });
        return pr;
    }

    async untilFailed(taskId, note) {
        await this.server.untilTask(taskId, 'failed');
        this.told(`the failure of ${note}`, ({ tasks }) =>
            assert.equal(tasks.get(taskId).status, 'failed'));
    }

    async merge(pr) {
        const { mergeCommit } = await this.server.post(`/v1/pull-requests/${pr.id}/merge`);
        this.told(`merge of pull request ${pr.number}`, ({ prs, origin }) => {
            assert.equal(prs.find((each) => each.id === pr.id).status, 'merged');
            git(origin, 'merge-base', '--is-ancestor', mergeCommit, 'main');
        });
    }

    async close(pr) {
        await this.server.post(`/v1/pull-requests/${pr.id}/close`);
        this.told(`closing of pull request ${pr.number}`, ({ prs, origin }) => {
            assert.equal(prs.find((each) => each.id === pr.id).status, 'closed');
            assert.ok(refs(origin)[`refs/drover/closed/${pr.number}`]);
        });
    }

    async issue(title) {
        const path = '/v1/issues';
        const { number } = await this.server.post(path, { repository: REPOSITORY, title });
        const last = { title, state: 'open', comments: [] };
        this.#toldIssue(number, last);
        return { number, last };
    }

    async comment({ number, last }, body) {
        await this.server.post(`/v1/issues/${number}/comments`, { repository: REPOSITORY, body });
        last.comments = [...last.comments, body];
        this.#toldIssue(number, last);
    }

    async closeIssue({ number, last }) {
        await this.server.post(`/v1/issues/${number}/close`, { repository: REPOSITORY });
        last.state = 'closed';
        this.#toldIssue(number, last);
    }

    #toldIssue(number, { title, state, comments }) {
        const count = comments.length;
        this.told(`issue ${number}: ${state}, ${count} comments`, async ({ server }) => {
            const found = await server.get(
                `/v1/issues/${number}?repository=${encodeURIComponent(REPOSITORY)}`);
            assert.equal(found.title, title);
            assert.ok(found.state === state || state === 'open', found.state); // Or closed later.
            assert.deepEqual(found.comments.slice(0, count).map(({ body }) => body), comments);
        });
    }

    async work(origin) {
        await this.server.configure(REPOSITORY, {
            url: origin,
            agent: { command: ['/bin/sh', '-c', AGENT], adapter: 'ndjson' },
            verify: [{ name: 'unit', command: 'sh test.sh', timeoutSeconds: 60 }],
        });
        this.told('the repository', ({ repositories }) => assert.equal(repositories, 1));
        for (let round = 1; round <= ROUNDS; round++) await this.#round(round);
    }

    async #round(round) {
        const issue = await this.issue(`Issue of round ${round}`);
        const names = ['a', 'b', 'c'].map((name) => `${round}${name}`);
        const [a, b, c] = await Promise.all(names.map((name) => this.submit(name)));
        await this.comment(issue, 'Somebody looks at it.');
        await this.merge(await this.untilDone(a, names[0]));
        const failing = await this.submit(`fail${round}`);
        await this.merge(await this.untilDone(b, names[1])); // Into what the first has changed.
        await this.close(await this.untilDone(c, names[2]));
        await this.untilFailed(failing, `fail${round}`);
        await this.closeIssue(issue);
    }
}

// ---- the record ----

class Record {
    async make() {
        this.server = new Server({ config: 'workers: 2\n' });
        this.dir = this.server.dir;
        this.origin = makeOrigin(this.dir, 'power', FILES);
        this.logs = mkdtempSync(join(tmpdir(), 'power-'));
        const skip = ['server.log', 'drover.yaml'];
        this.recorder = new Recorder(this.dir, join(this.logs, 'strace.log'), skip);
        this.server.under = this.recorder.command;
        await this.server.start();
        const client = new Client(this.server, this.recorder);
        const stream = await client.listen();
        await client.work(this.origin);
        await untilAtRest(this.server);
        stream.close();
        await this.server.stop();
        await untilGone(this.dir);
        this.disk = this.recorder.finish();
        this.recorder.assertSame();
        this.facts = client.facts.map((fact) => ({ ...fact, count: this.disk.countAt(fact.at) }));
        this.server.under = [];
    }

    // Under both models: every point where a client was told something, or some of them, and
    // points anywhere.
    states() {
        const roll = dice(SEED);
        const told = [...new Set(this.facts.map(({ count }) => count))]
            .flatMap((at) => MODELS.map((model) => ({ at, model, rank: roll() })))
            .sort((a, b) => a.rank - b.rank).slice(0, TOLD_MAX);
        const anywhere = Array.from({ length: ANYWHERE }, (_, i) => (
            { at: Math.floor(roll() * this.disk.ops.length), model: MODELS[i % MODELS.length] }));
        return [...told, ...anywhere].map(({ at, model }, i) => (
            { at, model, variant: VARIANTS[i % VARIANTS.length], roll: dice(SEED + i) }));
    }

    // In the place where it was recorded: the database knows the origin by its path.
    restore({ at, model, variant, roll }) {
        this.empty();
        const tree = this.disk.lose(at, model, variant, roll);
        writeOut(tree, this.dir, (bytes) => otherBoot(bytes));
    }

    empty() {
        for (const name of readdirSync(this.dir))
            if (!['drover.yaml', 'server.log'].includes(name))
                rmSync(join(this.dir, name), { recursive: true });
        writeFileSync(join(this.dir, 'server.log'), '');
    }

    async remove() {
        if (this.server?.isRunning()) await this.server.crash();
        if (process.env.DROVER_KEEP) return;
        for (const dir of [this.logs, this.dir])
            if (dir) rmSync(dir, { recursive: true, force: true });
    }
}

// A machine that had lost power has another boot.
function otherBoot(bytes) {
    for (let at; (at = bytes.indexOf(BOOT)) >= 0;) {
        bytes = Buffer.from(bytes); // The record keeps its own.
        bytes.write(OTHER_BOOT, at);
    }
    return bytes;
}

// ---- what must hold afterwards ----

function assertSound(dir) {
    const { status, stdout, stderr } = spawnSync('git', ['-C', dir, 'fsck', '--no-dangling',
        '--no-progress'], { encoding: 'utf8', env: { PATH: process.env.PATH,
        GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' } });
    const words = `${stdout}${stderr}`.replace(/^notice: .*\n/gm, '');
    assert.deepEqual([status, words], [0, ''], `git fsck in ${dir}`);
}

function repositories(data) {
    const mirrors = join(data, 'work', 'mirrors');
    return existsSync(mirrors) ? readdirSync(mirrors).filter((name) => name.endsWith('.git'))
        .map((name) => join(mirrors, name)) : [];
}

// A worktree whose removal was lost is swept when it is a day old.
async function untilAtRest(server) {
    const open = async (path, done) => (await server.list(path)).filter((each) => !done(each))
        .map(({ id, status, state }) => `${id} ${status ?? state}`);
    await until('every task to end', async (note) => note(await open('/v1/tasks?limit=200',
        ({ status }) => TERMINAL.includes(status))).length === 0);
    await until('every run to be cleaned up', async (note) => note(await open(
        '/v1/jobs?queue=drover.clean&limit=200', ({ state }) => state === 'succeeded'))
        .length === 0);
}

// Each pull request adds its task's file and changes nothing else.
function assertPatches(origin, prs) {
    for (const { number, headCommit } of prs) {
        const names = git(origin, 'diff', '--name-status', `${headCommit}^`, headCommit);
        assert.match(names, /^A\tnote-\w+\.txt$/, `pull request ${number}`);
    }
}

async function checkState(record, state) {
    const { server, origin } = record;
    await server.start();
    await untilAtRest(server);
    const byId = (list) => new Map(list.map((each) => [each.id, each]));
    const found = {
        server,
        origin,
        tasks: byId(await server.list('/v1/tasks?limit=200')),
        prs: await server.list('/v1/pull-requests?limit=200'),
        events: byId(await server.list('/v1/events?limit=200')),
        repositories: (await server.list('/v1/repositories')).length,
    };
    for (const { what, check, count } of record.facts) {
        if (count > state.at) continue;
        try {
            await check(found);
        } catch (error) {
            throw new Error(`${what} was acknowledged: ${error.message}`, { cause: error });
        }
    }
    assertPatches(origin, found.prs);
    assertSound(origin);
    for (const dir of repositories(server.data)) assertSound(dir);
    const { healthy, checks } = await server.get('/v1/doctor');
    assert.ok(healthy, JSON.stringify(checks.filter(({ bad }) => bad > 0)));
    assert.deepEqual(await server.stop(), { code: 0, signal: null }, server.logTail());
}

// ---- damage that is planted ----

const looseObject = (origin, hash) => join(origin, 'objects', hash.slice(0, 2), hash.slice(2));
const hashOf = (origin, name) => git(origin, 'rev-parse', name);

const changedBy = (origin, commit) => git(origin, 'diff-tree', '-r', '--no-commit-id', commit)
    .split(' ')[3];

// Which file of the origin is damaged, and what it says then; and what the doctor must name.
const DAMAGES = [
    { what: 'a pull request without its ref', file: (origin) => join(origin, 'refs/pull/1/head'),
        text: null, named: /pull request 1 .*missing or broken.*git update-ref/ },
    { what: 'an empty ref', file: (origin) => join(origin, 'refs/pull/1/head'),
        text: () => '', named: /pull request 1 .*missing or broken/ },
    { what: 'a ref that was moved', file: (origin) => join(origin, 'refs/pull/1/head'),
        text: (origin) => `${hashOf(origin, 'refs/pull/2/head')}\n`,
        named: /pull request 1 .* should be / },
    { what: 'an empty commit', named: /pull request 1 .*missing or/, text: () => '',
        file: (origin) => looseObject(origin, hashOf(origin, 'refs/pull/1/head')) },
    { what: 'an empty file of a commit', named: /pull request 1 .*missing or damaged.*git fsck/,
        text: () => '',
        file: (origin) => looseObject(origin, changedBy(origin, 'refs/pull/1/head')) },
    { what: 'a merge that is gone', file: (origin) => join(origin, 'refs/heads/main'),
        text: (origin) => `${hashOf(origin, 'main^')}\n`, named: /merged as .* does not lead/ },
    { what: 'an issue without its words', named: /issues: .*git fsck/, text: () => '',
        file: (origin) => looseObject(origin, hashOf(origin, 'refs/drover/issues/1')) },
    { what: 'an issue with an empty ref', named: /issues: .*git fsck/, text: () => '',
        file: (origin) => join(origin, 'refs/drover/issues/1') },
];

async function assertNamed({ server, origin }, { what, file, text, named }) {
    const path = file(origin);
    const before = readFileSync(path);
    const planted = text?.(origin);
    rmSync(path);
    if (text) writeFileSync(path, planted);
    const { healthy, checks } = await server.get('/v1/doctor');
    const bad = checks.filter((check) => check.bad > 0);
    rmSync(path, { force: true });
    writeFileSync(path, before);
    assert.ok(!healthy, what);
    assert.deepEqual(bad.map(({ name }) => name), ['forge'], what);
    assert.match(bad[0].first, named, what);
}

const whyNot = cannotRecord();
describe(`power that goes (seed ${SEED})`, { concurrency: 1, skip: whyNot ?? false }, () => {
    const record = new Record();
    before(() => record.make());
    after(() => record.remove());

    it('leaves all that was acknowledged', async (t) => {
        const failed = [];
        const states = record.states();
        t.diagnostic(`${states.length} states of ${record.disk.ops.length} operations`);
        assert.ok(states.length >= STATES_MIN, `${states.length} states`);
        for (const [i, state] of states.entries()) {
            record.restore(state);
            try {
                await checkState(record, state);
            } catch (error) {
                const { at, model, variant } = state;
                failed.push(`${i} (operation ${at}, ${model}, ${variant}): ${error.message}`);
                if (record.server.isRunning()) await record.server.crash();
                await untilGone(record.dir);
            }
            if (failed.length === FAILED_MAX) break;
        }
        assert.deepEqual(failed, [], `of ${states.length} states`);
    });

    it('leaves damage that the doctor names', async () => {
        const { server, disk } = record;
        record.restore({ at: disk.ops.length, model: 'posix', variant: 'all', roll: dice(SEED) });
        await server.start();
        for (const damage of DAMAGES) await assertNamed(record, damage);
        await server.discard(); // It is well again.
    });
});
