// batches.test.mjs - one piece of work over many repositories: in order, within limits, stopped
// when too many fail, and the same after every kill -9.
//
// The fleet has 40 repositories.  Agents of five of them give up; one member waits for another that
// completes, and one for a member that fails.  Agents of the last ones stand at a gate when they
// are told to: so the batch stops before all have begun, however slow the others are.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertCloudEvent, dataOf } from './lib/cloudevents.mjs';
import { callDrover, launchOnTerminal } from './lib/cli.mjs';
import { makeDatabase, on } from './lib/database.mjs';
import { dice } from './lib/dice.mjs';
import { fixes, gaveUp, says, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { LONG_LEASES } from './lib/own.mjs';
import { newMark } from './lib/procs.mjs';
import { discardAll, Server, start, TERMINAL } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const FAULTS_BIN = process.env.DROVER_FAULTS_BIN;
const FLEET = 40;
const FAILING = [1, 5, 9, 13, 17];
const AFTER_A_GOOD_ONE = 20; // Depends on 0.
const AFTER_A_BAD_ONE = 4; // Depends on 1.
const FIRST_HELD = 22; // All that fail, and all that others depend on, come before.
const HOLD = 'hold here';
const MAX_ACTIVE = 4;
const ENDED = ['completed', 'stopped', 'cancelled'];
const LIGHT = { verify: [], retries: { agentAttempts: 1 } };

const name = (prefix, i) => `${prefix}/r${String(i).padStart(2, '0')}`;

function makeFleet(server, prefix, count, agentOf) {
    return Promise.all(Array.from({ length: count }, (_, i) =>
        server.repository(name(prefix, i), agentOf(i), LIGHT)));
}

const submit = (server, body) => server.post('/v1/batches', body);
const batch = (server, id) => server.get(`/v1/batches/${id}?limit=200`);

function untilBatch(server, id, what, pleases) {
    return until(what, async (note) => {
        const it = await batch(server, id);
        note({ status: it.status, counts: it.counts });
        return pleases(it) && it;
    });
}

const untilOver = (server, id) =>
    untilBatch(server, id, `batch ${id} to end`, ({ status }) => ENDED.includes(status));

const ended = ({ counts }) => counts.total - counts.waiting - counts.active;
const statuses = ({ members }) => members.map(({ status }) => status);

// What the log says of the tasks of a batch: never more under way than may be, none before those
// that it depends on, and one task for each member that has one.
async function assertOrder(server, id, { maxActive = Infinity } = {}) {
    const { members } = await batch(server, id);
    const tasks = await server.list(`/v1/tasks?batch=${id}&limit=200`);
    const withTask = members.filter(({ taskId }) => taskId);
    assert.deepEqual(tasks.map((task) => task.id).sort(), withTask.map((m) => m.taskId).sort());
    for (const task of tasks) assert.equal(task.batchId, id);
    const events = await server.list('/v1/events?type=agent.task.*&limit=200');
    const at = new Map();
    const active = new Set();
    for (const [i, { type, taskid }] of events.entries()) {
        if (!withTask.some(({ taskId }) => taskId === taskid)) continue;
        if (type === 'agent.task.submitted') {
            assert.ok(!at.has(taskid), `task ${taskid} was submitted twice`);
            at.set(taskid, { from: i });
            active.add(taskid);
            assert.ok(active.size <= maxActive, `${active.size} are under way`);
        }
        if (TERMINAL.some((status) => type === `agent.task.${status}`)) {
            at.get(taskid).to = i;
            active.delete(taskid);
        }
    }
    assert.equal(at.size, withTask.length);
    for (const { taskId, dependsOn } of withTask)
        for (const no of dependsOn)
            assert.ok(at.get(members[no - 1].taskId).to < at.get(taskId).from, `${no} came first`);
    const all = await server.list('/v1/events?type=agent.batch.*&limit=200');
    return all.filter(({ subject }) => subject === `batch/${id}`);
}

const theFleet = {
    name: 'the fleet',
    repositories: ['fleet/*'],
    task: { description: 'Make the answer right.', riskLevel: 'low' },
    tasks: [
        { key: name('fleet', AFTER_A_GOOD_ONE), dependsOn: [name('fleet', 0)] },
        { key: name('fleet', AFTER_A_BAD_ONE), dependsOn: [name('fleet', 1)] },
    ],
    maxActive: MAX_ACTIVE,
};

describe('a fleet of 40 repositories with five failures', { concurrency: false }, () => {
    let server;
    const mark = newMark();
    const held = `if grep -qx '${HOLD}' "$DROVER_PROMPT"; then\n${waits(mark)}fi\n${fixes}`;
    before(async () => {
        server = await start({ args: ['--workers', '4'], config: LONG_LEASES });
        await makeFleet(server, 'fleet', FLEET,
            (i) => (FAILING.includes(i) ? gaveUp('cannot') : i < FIRST_HELD ? fixes : held));
    });
    after(() => server.discard());

    // Kills the server whenever so many more have ended.
    async function follow(id, kills) {
        for (const many of kills) {
            await untilBatch(server, id, `${many} to end`, (it) => ended(it) >= many);
            await server.crash();
            await server.start();
        }
        return untilBatch(server, id, `batch ${id} to end`, ({ status }) => {
            if (status === 'stopping') server.tryGate(mark);
            return ENDED.includes(status);
        });
    }

    async function assertStopped(kills) {
        const { id, members } = await submit(server, { ...theFleet,
            task: { ...theFleet.task, description: `Make the answer right.\n${HOLD}` },
            stop: { failures: FAILING.length } });
        assert.equal(members, FLEET);
        const it = await follow(id, kills);
        assert.equal(it.status, 'stopped');
        assert.equal(it.reasonCode, 'too_many_failures');
        const of = statuses(it);
        assert.deepEqual(of.flatMap((status, i) => (status === 'failed' ? [i] : [])), FAILING);
        assert.equal(of[AFTER_A_BAD_ONE], 'skipped');
        assert.match(it.members[AFTER_A_BAD_ONE].errorMessage, /fleet\/r01, on which it depends/);
        // No more than MAX_ACTIVE of those that were held were under way: the rest never began.
        assert.ok(of.slice(FIRST_HELD + MAX_ACTIVE).every((status) => status === 'dropped'),
            of.join());
        assert.equal(it.counts.completed + it.counts.cancelled, FLEET - FAILING.length - 1);
        for (const member of it.members) {
            assert.equal(Boolean(member.taskId), ['completed', 'failed'].includes(member.status));
            assert.equal(Boolean(member.pullRequest), member.status === 'completed');
        }
        const events = await assertOrder(server, id, { maxActive: MAX_ACTIVE });
        events.forEach(assertCloudEvent);
        for (const once of ['created', 'stopping', 'stopped'])
            assert.equal(dataOf(events, `agent.batch.${once}`).length, 1, once);
        assert.ok(dataOf(events, 'agent.batch.progressed').length <= 10);
    }

    it('stops at the fifth, and what was under way finishes', () => assertStopped([]));

    it('does the same after kill -9 in the middle', () => assertStopped([0, 8]));

    it('goes on to its end where the rule allows it, kill -9 or not', async () => {
        const { id } = await submit(server,
            { ...theFleet, task: { ...theFleet.task, executionMode: 'patch_only' },
                stop: { failures: FAILING.length + 1 } });
        const it = await follow(id, [20]);
        assert.equal(it.status, 'completed', it.reason);
        assert.deepEqual([it.counts.completed, it.counts.failed, it.counts.skipped], [34, 5, 1]);
        assert.equal(it.members[AFTER_A_GOOD_ONE].status, 'completed');
        await assertOrder(server, id, { maxActive: MAX_ACTIVE });
    });
});

describe('a batch', { concurrency: false }, () => {
    let server;
    const mark = newMark(), otherMark = newMark();
    const turn = (costUsd) => says({ type: 'turn', inputTokens: 1, outputTokens: 1, costUsd });
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        await makeFleet(server, 'small', 3, () => turn(0.25) + fixes);
        await makeFleet(server, 'slow', 2, () => `${waits(mark)}${fixes}`);
        await makeFleet(server, 'gate', 1, () => `${waits(otherMark)}${fixes}`);
        await makeFleet(server, 'dear', 3, () => `${turn(1.2)}${waits('never')}`);
    });
    after(() => server.discard());
    const task = { description: 'Make the answer right.', riskLevel: 'low' };

    it('shows its members page by page, with what they cost', async () => {
        const { id } = await submit(server, { name: 'pages', task, repositories: ['small/*'] });
        const whole = await untilOver(server, id);
        assert.deepEqual(statuses(whole), ['completed', 'completed', 'completed']);
        assert.equal(whole.costUsd, 0.75);
        assert.deepEqual(whole.members.map(({ costUsd }) => costUsd), [0.25, 0.25, 0.25]);
        assert.equal(whole.members[0].pullRequest.number, 1);
        const pages = [];
        for (let cursor = ''; cursor !== null;) {
            const page = await server.get(`/v1/batches/${id}?limit=2${cursor}`);
            pages.push(page.members.map(({ no }) => no));
            cursor = page.cursor && `&cursor=${page.cursor}`;
        }
        assert.deepEqual(pages, [[1, 2], [3]]);
        const { members } = await server.get(`/v1/batches/${id}?phase=failed`);
        assert.deepEqual(members, []);
        const { items } = await server.get('/v1/batches?name=pages&status=completed');
        assert.deepEqual(items.map((item) => item.id), [id]);
        assert.deepEqual((await server.get('/v1/batches?requestedBy=nobody')).items, []);
        const one = await server.task(whole.members[0].taskId);
        assert.equal(one.batchId, id);
    });

    it('is paused, resumed and cancelled', async () => {
        const { id } = await submit(server,
            { name: 'held', task, repositories: ['slow/*', 'small/*'], maxActive: 1 });
        await untilBatch(server, id, 'the first', ({ counts }) => counts.active === 1);
        const move = (verb) => server.post(`/v1/batches/${id}/${verb}`, { reason: 'to see' });
        assert.deepEqual(await move('pause'), { id, status: 'paused' });
        await server.openGate(mark);
        const paused = await untilBatch(server, id, 'it to end',
            ({ counts }) => counts.completed === 1);
        assert.deepEqual([paused.status, paused.counts.active], ['paused', 0]);
        assert.equal((await move('resume')).status, 'running');
        await server.untilGate(mark); // The second has begun.
        const cancelled = await move('cancel');
        assert.equal(cancelled.status, 'cancelling');
        const over = await untilOver(server, id);
        assert.deepEqual(statuses(over),
            ['completed', 'cancelled', 'dropped', 'dropped', 'dropped']);
        assert.equal(over.status, 'cancelled');
        assertProblem(await server.call('POST', `/v1/batches/${id}/resume`, { body: {} }), 409,
            { code: 'BATCH_FINISHED' });
    });

    it('takes a task more, and lends it a place', async () => {
        const { id } = await submit(server, { name: 'more', task, tasks: [
            { key: 'a', repository: 'gate/r00' }], maxActive: 1 });
        await server.untilGate(otherMark);
        const { taskId } = await server.submit('small/r00', { batch: id });
        const waiting = await until('it to wait', async () => {
            const it = await server.task(taskId);
            return it.deferredReason === 'batch_holds' && it;
        });
        assert.match(waiting.deferredDetail, /1 of 1 members of batch more are under way/);
        await server.openGate(otherMark);
        const over = await untilOver(server, id);
        assert.deepEqual(statuses(over), ['completed', 'completed']);
        assert.deepEqual(over.members.map(({ key }) => key), ['a', taskId]);
        const body = { repository: 'small/r00', description: 'x', batch: id };
        assertProblem(await server.call('POST', '/v1/tasks', { body }), 409,
            { code: 'BATCH_FINISHED', field: 'batch' });
    });

    it('stops hard when its budget is spent', async () => {
        const { id } = await submit(server,
            { name: 'dear', task, maxBudgetUsd: 2, maxActive: 2, repositories: ['dear/*'] });
        const over = await untilOver(server, id);
        assert.deepEqual([over.status, over.reasonCode], ['stopped', 'batch_budget_exceeded']);
        assert.deepEqual(statuses(over), ['failed', 'failed', 'dropped']);
        for (const { errorCode } of over.members.slice(0, 2))
            assert.equal(errorCode, 'batch_budget_exceeded');
        assert.equal(over.costUsd, 2.4);
        const { taskId } = over.members[0];
        assertProblem(await server.call('POST', `/v1/tasks/${taskId}/retry`, { body: {} }), 403,
            { code: 'batch_budget_exceeded' });
    });

    it('is the same for the same key', async () => {
        const body = { name: 'keyed', key: 'k1', task, repositories: ['small/r00'] };
        const first = await submit(server, body);
        const res = await server.call('POST', '/v1/batches', { body });
        assert.equal(res.status, 202);
        assert.equal(res.headers['idempotent-replay'], 'true');
        assert.equal(res.json.id, first.id);
        assertProblem(await server.call('POST', '/v1/batches', { body: { ...body, name: 'x' } }),
            422, { code: 'IDEMPOTENCY_KEY_REUSED' });
        assertProblem(await server.call('POST', '/v1/batches',
            { body, headers: { 'idempotency-key': 'k2' } }), 422, { field: 'key' });
        await untilOver(server, first.id);
    });

    it('says everything that is wrong with it, by place', async () => {
        const bad = [
            [{ task, repositories: ['small/*'] }, 'INVALID_FIELD', 'name'],
            [{ name: 'x', task, repositories: ['nobody/*'] }, 'NO_REPOSITORY_MATCHES',
                'repositories[0]'],
            [{ name: 'x', task }, 'INVALID_FIELD', 'repositories'],
            [{ name: 'x', repositories: ['small/*'] }, 'INVALID_FIELD', 'task.description'],
            [{ name: 'x', task: { ...task, maxTurns: 0, colour: 'red' }, repositories: ['a'] },
                'INVALID_FIELD', 'task.maxTurns'],
            [{ name: 'x', task: { ...task, overrides: { agent: { command: ['x'] } } },
                repositories: ['a'] }, 'INVALID_FIELD', 'task.overrides.agent.command'],
            [{ name: 'x', task, tasks: [{ key: 'a', targetBranch: '..' }] }, 'INVALID_FIELD',
                'tasks[0].targetBranch'],
            [{ name: 'x', task, tasks: [{ maxTurns: 3 }] }, 'INVALID_FIELD', 'tasks[0]'],
            [{ name: 'x', task, tasks: [{ key: 'a' }, { key: 'a' }] }, 'INVALID_FIELD',
                'tasks[1].key'],
            [{ name: 'x', task, tasks: [{ key: 'a', dependsOn: ['b'] }] }, 'INVALID_FIELD',
                'tasks[0].dependsOn'],
            [{ name: 'x', task, tasks: [{ key: 'a', dependsOn: ['b'] },
                { key: 'b', dependsOn: ['a'] }] }, 'INVALID_FIELD', 'circle'],
            [{ name: 'x', task, repositories: ['a'], stop: { failedPercent: 101 } },
                'INVALID_FIELD', 'stop.failedPercent'],
        ];
        for (const [body, code, field] of bad)
            assertProblem(await server.call('POST', '/v1/batches', { body }), 422, { code, field });
        assertProblem(await server.call('GET', '/v1/batches?status=odd'), 400,
            { code: 'INVALID_PARAMETER', field: 'status' });
        assertProblem(await server.call('GET', `/v1/batches/${mark}`), 400, { code: 'INVALID_ID' });
        const { token } = await server.post('/v1/tokens', { name: 'eyes', role: 'viewer' });
        assertProblem(await server.call('POST', '/v1/batches', { body: {}, token }), 403);
        const none = '01900000-0000-7000-8000-000000000000';
        assertProblem(await server.call('GET', `/v1/batches/${none}`, { token }), 404,
            { code: 'BATCH_NOT_FOUND' });
    });

    it('is submitted and watched from the command line', async () => {
        const file = join(server.dir, 'batch.yaml');
        const drover = (...args) => callDrover(server, ['batch', ...args]);
        writeFileSync(file, 'name: by file\ntask:\n  description: Make it right.\n' +
            '  maxTurns: many\nrepositories: [small/*]\nonStop: explode\n');
        const wrong = await drover(file);
        assert.equal(wrong.status, 4);
        assert.match(wrong.stderr, /batch\.yaml:4:3: task\.maxTurns: [^]*:6:1: onStop: /);
        writeFileSync(file, 'name: by file\ntask:\n  description: Make it right.\n' +
            '  riskLevel: low\nrepositories: [small/*, other/gone]\ntasks:\n' +
            '- key: small/r01\n  dependsOn: [small/r7]\n');
        const unknown = await drover(file);
        assert.match(unknown.stderr, /batch\.yaml:8:3: tasks\[0\]\.dependsOn: no member/);
        writeFileSync(file, 'name: by file\ntask:\n  description: Make it right.\n' +
            '  riskLevel: low\nrepositories: [small/*, other/gone]\ntasks:\n' +
            '- key: small/r01\n  dependsOn: [small/r00]\n');
        const dry = await drover(file, '--dry-run');
        assert.equal(dry.status, 0, dry.stderr);
        assert.match(dry.stdout, /2 +small\/r01 +small\/r01 +small\/r00/);
        assert.match(dry.stdout, /other\/gone +the repository is not onboarded/);
        assert.match(dry.stdout, /4 tasks would be submitted, of which 1 would be refused/);
        assert.deepEqual((await server.get('/v1/batches?name=by%20file')).items, []);
        const seen = await drover(file, '--watch', '--every', '0.2');
        assert.equal(seen.status, 1, seen.stderr); // Not all completed.
        assert.match(seen.stdout, /Status +completed\n[^]*Members +4: 3 completed, 1 failed/);
        assert.match(seen.stdout, /other\/gone +refused +repository other\/gone is not onboarded/);
        const list = await drover('list', '--name', 'by file');
        assert.match(list.stdout, /completed +4 of 4 +1 +0\.75/);
        const shown = await drover('show', 'latest', '--json');
        assert.equal(JSON.parse(shown.stdout).members.length, 4);
        const tasks = await callDrover(server, ['tasks', '--batch', 'latest', '--json']);
        assert.equal(JSON.parse(tasks.stdout).items.length, 3);
        // A terminal has room for the note: ids are cut to what tells them apart.
        const { out } = await launchOnTerminal(['batch', 'show', 'latest', '--data', server.data],
            {}).ended;
        const ids = out.match(/^small\/r\d\d .*$/gm).map((line) => line.match(/[\da-f]{8}-\S+/)[0]);
        assert.equal(new Set(ids).size, 3, out);
        assert.ok(ids.every((id) => id.length < 36), out);
    });

    it('needs no file', async () => {
        const drover = (...args) => callDrover(server, ['batch', ...args]);
        const made = await drover('--repos', 'slow/*', '--max-active', '1', '--risk', 'low',
            '--stop-failures', '1', '--on-stop', 'cancel', '--max-budget', '5', '--json',
            'Make', 'it', 'right.');
        assert.equal(made.status, 0, made.stderr);
        const { id } = JSON.parse(made.stdout);
        const it = await batch(server, id);
        assert.deepEqual([it.name, it.maxActive, it.maxBudgetUsd, it.stop.failures, it.onStop],
            ['Make it right.', 1, 5, 1, 'cancel']);
        assert.equal(it.task.description, 'Make it right.');
        const cancelled = await drover('cancel', id, '--reason', 'enough');
        assert.match(cancelled.stdout, /Batch \S+ is cancell(ing|ed)\./);
        assert.equal((await untilOver(server, id)).status, 'cancelled');
        const watched = await drover('show', id, '--watch');
        assert.equal(watched.status, 1);
        assert.match(watched.stdout, /^Left over +\d+ skipped or cancelled; submit .* new batch$/m);
        for (const args of [[], ['--repos', 'x'], ['a', 'b'], ['x.yaml', '--max-active', '2']])
            assert.equal((await drover(...args)).status, 2, args.join(' '));
    });
});

// The server dies at one commit after the other, before it or behind it, until all is done.
it('a batch survives a server that dies at its commits',
    { skip: FAULTS_BIN ? false : 'no build with fault points' }, async () => {
        const roll = dice(Number(process.env.DROVER_SEED ?? 7));
        const server = new Server({ bin: FAULTS_BIN, args: ['--workers', '2'] });
        try {
            await server.start();
            await makeFleet(server, 'dies', 5, (i) => (i === 1 ? gaveUp('cannot') : fixes));
            const { id } = await submit(server, { name: 'dies', repositories: ['dies/*'],
                task: { description: 'x', riskLevel: 'low', executionMode: 'patch_only' },
                tasks: [{ key: 'dies/r04', dependsOn: ['dies/r00'] }], maxActive: 2 });
            let deaths = 0;
            for (let over = false; !over && deaths < 60;) {
                const where = roll() < 0.5 ? 'before' : 'after';
                await server.crash();
                server.env = { DROVER_FAULT: `commit.${where}:die:${8 + Math.floor(roll() * 16)}` };
                try {
                    await server.start();
                    await untilOver(server, id);
                    over = true;
                } catch (error) {
                    assert.equal((await server.exit).signal, 'SIGKILL', error.stack);
                    deaths++;
                }
            }
            if (server.isRunning()) await server.crash();
            server.env = {};
            await server.start();
            const over = await untilOver(server, id);
            assert.ok(deaths > 0, 'it never died');
            assert.deepEqual(statuses(over),
                ['completed', 'failed', 'completed', 'completed', 'completed']);
            await assertOrder(server, id, { maxActive: 2 });
        } finally {
            await server.discard();
        }
    });

on('postgres', it)('two nodes move a batch, and one when the other is killed', async () => {
    const db = makeDatabase();
    const config = 'workers: 2\nlease: {leaseMs: 3000, heartbeatMs: 300}\n';
    const [a, b] = [new Server({ db, config }), new Server({ db, config })];
    try {
        await Promise.all([a.start(), b.start()]);
        await makeFleet(a, 'nodes', 12, (i) => (i === 3 ? gaveUp('cannot') : fixes));
        const { id } = await submit(b, { name: 'nodes', repositories: ['nodes/*'],
            task: { description: 'x', riskLevel: 'low' }, maxActive: 3,
            tasks: [{ key: 'nodes/r08', dependsOn: ['nodes/r00', 'nodes/r05'] }] });
        await untilBatch(b, id, 'some to end', (it) => ended(it) >= 3);
        const [dies, lives] = /this node runs the timers now/.test(a.said()) ? [a, b] : [b, a];
        await dies.crash();
        const over = await untilOver(lives, id);
        assert.deepEqual([over.status, over.counts.completed, over.counts.failed],
            ['completed', 11, 1]);
        await assertOrder(lives, id, { maxActive: 3 });
        await dies.start();
        await discardAll([a, b]);
    } finally {
        for (const node of [a, b]) node.killNow();
    }
});
