// audit.test.mjs - who did what: recorded with the change, chained, and damage is named.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { ENGINE, makeDatabase, on, PSQL } from './lib/database.mjs';
import { waits } from './lib/git.mjs';
import { Mcp } from './lib/mcp.mjs';
import { withServer } from './lib/own.mjs';
import { assertProblem } from './lib/http.mjs';
import { BIN, discardAll, makeDirectory, plainEnv, Server, start } from './lib/server.mjs';
import { openService } from './lib/service.mjs';
import { until } from './lib/wait.mjs';

const NO_WORKERS = { args: ['--workers', '0'] };
const NO_HASH = '0'.repeat(64);

const rowsOf = (server, query = '') => server.list(`/v1/audit?order=oldest&limit=200${query}`);
const verify = (server, body = {}) => server.post('/v1/audit/verify', body);
const drover = (...args) => spawnSync(BIN, args, { env: plainEnv(), encoding: 'utf8' });

// By the documents alone: netstrings, SHA-256.
function hashOf(row) {
    const us = BigInt(Date.parse(`${row.time.slice(0, 19)}Z`)) * 1000n +
        BigInt((/\.(\d+)Z$/.exec(row.time)?.[1] ?? '').padEnd(6, '0'));
    const { actor } = row;
    const details = row.details === undefined ? '' : JSON.stringify(row.details);
    const members = ['drover-audit-1', row.seq, us, actor.type, actor.id, actor.tokenId, actor.role,
        actor.address, row.action, row.resourceType, row.resourceId, row.outcome, row.code,
        row.count, row.requestId, details, row.prevHash];
    const text = members.map((member) => Buffer.from(`${member ?? ''}`))
        .flatMap((bytes) => [Buffer.from(`${bytes.length}:`), bytes, Buffer.from(',')]);
    return createHash('sha256').update(Buffer.concat(text)).digest('hex');
}

function assertChain(rows) {
    let before = NO_HASH;
    for (const [i, row] of rows.entries()) {
        assert.equal(row.seq, i + 1);
        assert.equal(row.prevHash, before, `row ${row.seq}`);
        assert.equal(row.hash, hashOf(row), `row ${row.seq}`);
        before = row.hash;
    }
}

// As somebody with access to the database, while the server is down.
function tamper(server, text) {
    if (ENGINE === 'postgres')
        execFileSync(PSQL, ['-qX', '-v', 'ON_ERROR_STOP=1', '-c', text, server.db]);
    else
        execFileSync('sqlite3', [join(server.data, 'drover.db'), text]);
}

describe('the audit log', () => {
    let server;
    before(async () => (server = await start(NO_WORKERS)));
    after(() => server.discard());

    const tokenOf = async (name, role) => (await server.post('/v1/tokens', { name, role })).token;
    const find = async (action, more = {}) => (await rowsOf(server, `&action=${action}`))
        .filter((row) => Object.entries(more).every(([key, value]) => row[key] === value));

    it('has who called what, with which token, from where', async () => {
        const { id, token } = await server.post('/v1/tokens', { name: 'ann', role: 'operator' });
        const res = await server.call('POST', '/v1/queues/slow/pause',
            { body: {}, token, headers: { 'x-request-id': 'pause-1' } });
        assert.equal(res.status, 200);
        const [made] = await find('token.create', { resourceId: id });
        assert.deepEqual(made.details, { name: 'ann', role: 'operator' });
        assert.equal(made.actor.id, 'admin');
        assert.ok(!JSON.stringify(await rowsOf(server)).includes(token.slice(4)));
        const [paused] = await find('queue.pause', { requestId: 'pause-1' });
        const { hash, prevHash, seq, time, ...rest } = paused;
        assert.deepEqual(rest, { actor: { type: 'user', id: 'ann', tokenId: id, role: 'operator',
            address: '127.0.0.1' }, action: 'queue.pause', resourceType: 'queue',
        resourceId: 'slow', outcome: 'done', count: 1, requestId: 'pause-1' });
        const [use] = await find('token.use', { resourceId: id });
        assert.equal(use.actor.id, 'ann');
        assert.equal((await find('schema.migrate')).length, 1);
    });

    it('names what a call has made, and the tool of MCP as its route', async () => {
        await server.repository('acme/web', waits('gate'));
        const { taskId } = await server.submit('acme/web');
        assert.equal((await find('task.submit', { resourceId: taskId })).length, 1);
        const mcp = await Mcp.open(server);
        await mcp.tool('cancel_task', { taskId, reason: 'no longer wanted' });
        const [row] = await find('task.cancel', { resourceId: taskId });
        assert.deepEqual(row.details, { reason: 'no longer wanted' });
        await server.get('/v1/consumers/first-next/next');
        await server.get('/v1/consumers/first-next/next');
        assert.equal((await find('consumer.set', { resourceId: 'first-next' })).length, 1);
        const [set] = await find('repository.set', { resourceId: 'acme/web' });
        assert.equal(set.outcome, 'done');
    });

    it('has denials and refusals, and of a flood their number', async () => {
        const token = await tokenOf('eve', 'viewer');
        const path = '/v1/queues/flooded/pause';
        for (let i = 0; i < 300; i++)
            assert.equal((await server.call('POST', path, { body: {}, token })).status, 403);
        assertProblem(await server.call('GET', '/v1/tokens', { token }), 403);
        assertProblem(await server.call('GET', '/v1/tokens', { token: 'drv_unknown' }), 401);
        assertProblem(await server.call('POST', '/v1/sagas/x/cancel', { body: {} }), 400);
        const row = async (query) => until(query, async () => (await rowsOf(server, query))[0]);
        const mcp = await Mcp.open(server, { token });
        assert.ok((await mcp.tool('kill_agent', { agent: 'x', reason: 'y' })).isError);
        const tool = await row('&actor=eve&action=agent.kill');
        assert.deepEqual([tool.outcome, tool.code], ['denied', 'ROLE_NOT_ALLOWED']);
        const denied = await row('&actor=eve&action=queue.pause');
        assert.deepEqual([denied.outcome, denied.code, denied.count, denied.resourceId],
            ['denied', 'ROLE_NOT_ALLOWED', 1, 'flooded']);
        const read = await row('&actor=eve&action=api.read');
        assert.deepEqual([read.outcome, read.resourceId], ['denied', '/v1/tokens']);
        assert.equal((await row('&action=token.check')).code, 'TOKEN_UNKNOWN');
        assert.equal((await row('&action=saga.cancel')).outcome, 'refused');
        // One row at once; the rest as one row, here because the server stops.
        await server.stop();
        await server.start();
        const counts = (await rowsOf(server, '&actor=eve&action=queue.pause')).map((r) => r.count);
        assert.deepEqual(counts, [1, 299]);
    });

    it('copies what concerns security to the log of events', async () => {
        const events = await server.list('/v1/events?type=agent.audit.recorded&limit=200');
        const rows = await rowsOf(server);
        for (const { data } of events)
            assert.deepEqual(data, rows[data.seq - 1]);
        const actions = new Set(events.map(({ data }) => data.action));
        assert.ok(actions.has('token.create') && actions.has('queue.pause'), [...actions].join());
        assert.ok(events.every(({ data }) => data.outcome === 'denied' ||
            ['token.create', 'token.revoke'].includes(data.action)));
    });

    // Of the admin, who calls here: denials and uses of tokens are written a little later.
    const own = async () => (await rowsOf(server, '&actor=admin'))
        .filter(({ action }) => action !== 'token.use').map(({ seq, action }) => [seq, action]);

    it('has nothing of the job path', async () => {
        const before = await own();
        await server.post('/v1/jobs', { jobs: [{ queue: 'plain', type: 'x', payload: {} }] });
        const { jobs } = await server.post('/v1/jobs/lease',
            { worker: 'w', queues: ['plain'], max: 1, waitMs: 0 });
        const { id, epoch } = jobs[0];
        await server.post('/v1/jobs/heartbeat', { worker: 'w', leases: [{ id, epoch }] });
        await server.post('/v1/jobs/complete', { jobs: [{ id, epoch, result: {} }] });
        assert.deepEqual(await own(), before);
    });

    it('is for admins, and reading it leaves no row', async () => {
        for (const role of ['viewer', 'operator', 'worker']) {
            const token = await tokenOf(`reader-${role}`, role);
            assertProblem(await server.call('GET', '/v1/audit', { token }), 403);
            assertProblem(await server.call('POST', '/v1/audit/verify', { body: {}, token }), 403);
        }
        await until('the denials', async () =>
            (await rowsOf(server, '&actor=reader-worker')).length >= 2);
        const before = await own();
        await verify(server);
        await callDrover(server, ['audit', 'list']);
        assert.deepEqual(await own(), before);
    });

    it('is listed newest first, page by page, and by filters', async () => {
        const rows = await rowsOf(server);
        // A denial may still be on its way.
        const known = (list) => list.filter(({ seq }) => seq <= rows.at(-1).seq);
        assert.deepEqual(known(await server.list('/v1/audit?limit=7')), rows.toReversed());
        assert.deepEqual(known(await server.list('/v1/audit?order=oldest&limit=3&action=token.')),
            rows.filter(({ action }) => action.startsWith('token.')));
        const time = rows[3].time;
        assert.deepEqual(known(await rowsOf(server, `&since=${time}`)),
            rows.filter((row) => row.time >= time));
        assertProblem(await server.call('GET', '/v1/audit?outcome=odd'), 400);
        assertProblem(await server.call('GET', '/v1/audit?colour=red'), 400);
    });

    it('is verified at the server, and from an export by the documents alone', async () => {
        const rows = await rowsOf(server);
        assertChain(rows);
        const { ok, lastHash, lastSeq } = await verify(server);
        assert.ok(ok);
        assert.ok(lastSeq >= rows.length);
        assert.equal(lastHash, (await rowsOf(server))[lastSeq - 1].hash);
        const file = join(server.dir, 'export.ndjson');
        const made = await callDrover(server, ['audit', 'export', '--out', file]);
        assert.equal(made.status, 0, made.stderr);
        const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
        assert.deepEqual(lines.slice(0, rows.length).map((line) => JSON.parse(line)), rows);
        const refused = (path) => callDrover(server, ['audit', 'export', '--out', path]);
        assert.match((await refused(file)).stderr, /is there already/);
        assert.match((await refused(`${file}/x`)).stderr, /Not a directory/);
        const sound = drover('audit', 'verify', '--file', file, '--json');
        assert.equal(sound.status, 0, sound.stderr);
        assert.equal(JSON.parse(sound.stdout).rows, lines.length);
        const without = (i) => lines.toSpliced(i, 1);
        const swapped = lines.toSpliced(4, 2, lines[5], lines[4]);
        const changed = lines.with(6, lines[6].replace('127.0.0.1', '127.0.0.2')
            .replace('"done"', '"denied"'));
        const table = [[without(3), 'removed', 4], [swapped, 'removed', 5], [changed, 'changed', 7],
            [lines.with(2, '{"seq":'), 'changed', 3]];
        for (const [damaged, damage, seq] of table) {
            writeFileSync(file, `${damaged.join('\n')}\n`);
            const found = drover('audit', 'verify', '--file', file, '--json');
            assert.equal(found.status, 1);
            const { firstBad } = JSON.parse(found.stdout);
            assert.deepEqual([firstBad.damage, firstBad.seq], [damage, seq], firstBad.detail);
        }
        const part = lines.slice(5);
        writeFileSync(file, `${part.join('\n')}\n`);
        assert.equal(drover('audit', 'verify', '--file', file).status, 0);
    });
});

// How many of the calls that were acknowledged have no row, by their request ids.
function assertAllRecorded(rows, acknowledged) {
    const recorded = new Set(rows.filter(({ outcome }) => outcome === 'done')
        .map(({ requestId }) => requestId));
    assert.deepEqual(acknowledged.filter((id) => !recorded.has(id)), []);
    assertChain(rows);
}

// Calls until the server is gone; ids of those that it acknowledged.
async function callOn(server, mark, acknowledged) {
    for (let i = 0; ; i++) {
        const id = `${mark}-${i}`;
        const act = i % 2 ? 'resume' : 'pause';
        const res = await server.call('POST', `/v1/queues/q${mark}/${act}`,
            { body: {}, headers: { 'x-request-id': id } }).catch(() => null);
        if (res?.status !== 200) return;
        acknowledged.push(id);
    }
}

withServer('has every call that was acknowledged before the server was killed', NO_WORKERS,
    async (server) => {
        for (let round = 0; round < 2; round++) {
            const acknowledged = [];
            const callers = ['a', 'b', 'c', 'd'].map(
                (name) => callOn(server, `${round}${name}`, acknowledged));
            await until('some calls', () => acknowledged.length > 60);
            await server.crash();
            await Promise.all(callers);
            await server.start();
            assertAllRecorded(await rowsOf(server), acknowledged);
            assert.ok((await verify(server)).ok);
        }
    });

on('postgres', it)('is one chain of two nodes that write at once', async () => {
    const db = makeDatabase();
    const [a, b] = [new Server({ ...NO_WORKERS, db }), new Server({ ...NO_WORKERS, db })];
    await Promise.all([a.start(), b.start()]);
    const acknowledged = [];
    const callers = [a, b].flatMap((node, i) =>
        ['x', 'y', 'z'].map((name) => callOn(node, `${i}${name}`, acknowledged)));
    await until('some calls', () => acknowledged.length > 200);
    await b.crash();
    await until('more calls', () => acknowledged.length > 260);
    await a.stop();
    await Promise.all(callers);
    await Promise.all([a.start(), b.start()]);
    const rows = await rowsOf(a);
    assertAllRecorded(rows, acknowledged);
    const nodes = rows.map(({ requestId }) => requestId?.[0]).filter((n) => n === '0' || n === '1');
    const turns = nodes.filter((n, i) => i > 0 && n !== nodes[i - 1]).length;
    assert.ok(turns > 5, `the rows of both are mixed, ${turns} turns`);
    assert.ok((await verify(b)).ok);
    await discardAll([a, b]);
});

describe('damage in the database', () => {
    const DAMAGES = [
        ['a changed byte', /changed/, 4, ["UPDATE audit_log SET actor_id = 'ann' WHERE seq = 4"]],
        ['a removed row', /removed/, 3, ['DELETE FROM audit_log WHERE seq = 3']],
        ['two swapped rows', /moved/, 3, ['UPDATE audit_log SET seq = -1 WHERE seq = 3',
            'UPDATE audit_log SET seq = 3 WHERE seq = 5',
            'UPDATE audit_log SET seq = 5 WHERE seq = -1']],
        // The server may have appended a row behind the gap.
        ['a cut end', /cut|removed/, 6, ['DELETE FROM audit_log WHERE seq > 5']],
    ];
    withServer('is named by verify', NO_WORKERS, async (server) => {
        for (let i = 0; i < 8; i++) await server.post(`/v1/queues/q${i}/pause`);
        for (const [name, damage, seq, statements] of DAMAGES) {
            await server.stop();
            const keep = ['CREATE TABLE kept AS SELECT * FROM audit_log',
                'CREATE TABLE kept_head AS SELECT * FROM audit_head'];
            const restore = ['DELETE FROM audit_log', 'INSERT INTO audit_log SELECT * FROM kept',
                'DELETE FROM audit_head', 'INSERT INTO audit_head SELECT * FROM kept_head',
                'DROP TABLE kept', 'DROP TABLE kept_head'];
            tamper(server, [...keep, ...statements].join(';'));
            await server.start();
            const { ok, firstBad } = await verify(server);
            assert.ok(!ok, name);
            assert.match(firstBad.damage, damage, firstBad.detail);
            assert.equal(firstBad.seq, seq, firstBad.detail);
            const said = await callDrover(server, ['audit', 'verify']);
            assert.equal(said.status, 1, name);
            assert.match(said.stdout, damage);
            await server.stop();
            tamper(server, restore.join(';'));
            await server.start();
            assert.ok((await verify(server)).ok, name);
        }
    });
});

describe('notes', () => {
    const dir = makeDirectory();
    const key = join(dir, 'audit.pem');
    const notes = join(dir, 'notes.ndjson');
    const config = (where) => ({ config: 'workers: 0\naudit:\n' +
        `  anchor: {key: ${key}, ${where}, every: 1s}\n` });
    before(() => {
        const made = drover('audit', 'key', key);
        assert.equal(made.status, 0, made.stderr);
        assert.equal(drover('audit', 'key', key).status, 4);
    });
    const linesOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '').split('\n')
        .filter(Boolean).map((line) => JSON.parse(line));
    const seqOf = ({ note }) => Number(/seq=(\d+)/.exec(note)[1]);
    const untilNote = (file, seq) => until(`a note of row ${seq}`, () =>
        linesOf(file).some((line) => seqOf(line) >= seq));

    withServer('show that the end was cut off, or the log written anew', config(`file: ${notes}`),
        async (server) => {
            for (let i = 0; i < 5; i++) await server.post(`/v1/queues/q${i}/pause`);
            const { lastSeq } = await verify(server);
            await untilNote(notes, lastSeq);
            const checked = await verify(server);
            assert.ok(checked.ok && checked.notes > 0);
            const { note, signature } = linesOf(notes).at(-1);
            // With openssl alone.
            const [text, sig] = [join(dir, 'note.txt'), join(dir, 'note.sig')];
            writeFileSync(text, note);
            writeFileSync(sig, Buffer.from(signature, 'base64'));
            const said = execFileSync('openssl', ['pkeyutl', '-verify', '-pubin', '-inkey',
                `${key}.pub`, '-rawin', '-in', text, '-sigfile', sig], { encoding: 'utf8' });
            assert.match(said, /Verified Successfully/);
            const file = join(dir, 'export.ndjson');
            await callDrover(server, ['audit', 'export', '--out', file]);
            const offline = (path) => drover('audit', 'verify', '--file', path, '--anchor', notes,
                '--key', `${key}.pub`, '--json');
            assert.equal(offline(file).status, 0, offline(file).stderr);
            const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
            writeFileSync(file, `${lines.slice(0, lastSeq - 2).join('\n')}\n`);
            assert.equal(JSON.parse(offline(file).stdout).firstBad.damage, 'cut');
            await server.stop();
            // Cut so that the database alone looks sound.
            tamper(server, `DELETE FROM audit_log WHERE seq > ${lastSeq - 2};` +
                ` UPDATE audit_head SET seq = ${lastSeq - 2},` +
                ` hash = (SELECT hash FROM audit_log WHERE seq = ${lastSeq - 2})`);
            const aside = join(dir, 'aside.ndjson');
            copyFileSync(notes, aside);
            await server.start();
            const cut = await verify(server);
            assert.ok(['cut', 'rewritten'].includes(cut.firstBad?.damage), JSON.stringify(cut));
            // Rows that fill the gap again are not what the note names.
            for (let i = 0; i < 5; i++) await server.post(`/v1/queues/r${i}/pause`);
            const anew = await callDrover(server,
                ['audit', 'verify', '--anchor', aside, '--key', `${key}.pub`, '--json']);
            assert.equal(anew.status, 1);
            assert.equal(JSON.parse(anew.stdout).firstBad.damage, 'rewritten');
            // A note that somebody has written is not one.
            writeFileSync(aside, readFileSync(aside, 'utf8').replace('seq=1 ', 'seq=2 ')
                .replaceAll('rows=', 'rows= '));
            const forged = await callDrover(server,
                ['audit', 'verify', '--anchor', aside, '--key', `${key}.pub`]);
            assert.notEqual(forged.status, 0);
        });

    it('go to a webhook, and again when it is back', async () => {
        const got = [];
        let away = true;
        const service = await openService(({ method, url, text }) => {
            got.push({ method, url, line: JSON.parse(text), away });
            return { status: away ? 503 : 200 };
        });
        const server = await start(config(`webhook: ${service.url}/notes`));
        try {
            await server.post('/v1/queues/q/pause');
            await until('a refused note', () => got.length > 0);
            away = false;
            await until('a note', () => got.some((each) => !each.away));
            const { method, url, line } = got.at(-1);
            assert.deepEqual([method, url], ['POST', '/notes']);
            assert.match(line.note,
                /^drover-audit-note-1 seq=\d+ rows=\d+ time=\S+ hash=[0-9a-f]{64}$/);
            assert.ok((await verify(server, { notes: [line.note] })).ok);
            const wrong = line.note.replace(/hash=./,
                (at) => (at === 'hash=0' ? 'hash=1' : 'hash=0'));
            assert.equal((await verify(server, { notes: [wrong] })).firstBad.damage, 'rewritten');
            assertProblem(await server.call('POST', '/v1/audit/verify',
                { body: { notes: ['x'] } }), 422, { field: 'notes' });
        } finally {
            await server.discard();
            service.close();
        }
    });

    it('go to the file once while the webhook is away, on a line of their own', async () => {
        const file = join(dir, 'once.ndjson');
        let away = true, refused = 0;
        const service = await openService(() => {
            if (away) refused++;
            return { status: away ? 503 : 200 };
        });
        // What a crash has left of a note stays where it is.
        writeFileSync(file, '{"note":"drover-audit-note-1 seq=');
        const server = await start(config(`file: ${file}, webhook: ${service.url}/notes`));
        try {
            await until('a third try', () => refused >= 3);
            const seqs = readFileSync(file, 'utf8').trimEnd().split('\n').slice(1)
                .map((line) => seqOf(JSON.parse(line)));
            assert.ok(seqs.length > 0);
            assert.equal(new Set(seqs).size, seqs.length, `written again: ${seqs}`);
            const verdict = await verify(server);
            assert.ok(verdict.ok, JSON.stringify(verdict));
            assert.ok(verdict.notes > 0);
        } finally {
            away = false;
            await server.discard();
            service.close();
        }
    });

    it('need a key and a place, outside of the data', () => {
        const data = join(dir, 'data');
        const serve = (anchor) => {
            const file = join(dir, 'bad.yaml');
            writeFileSync(file, `audit: {anchor: {${anchor}}}\n`);
            return drover('serve', '--config', file, '--data', data, '--listen', '127.0.0.1:0');
        };
        for (const [anchor, said] of [
            [`file: ${notes}`, /drover audit key/],
            [`key: ${key}`, /file or webhook/],
            [`key: ${key}, file: ${notes}, every: 0s`, /at least 1s/],
            [`key: ${key}, webhook: "no url"`, /webhook/],
            [`key: ${notes}, file: ${notes}`, /audit.anchor.key/],
            [`key: ${key}, file: ${data}/drover.db`, /outside of the data directory/],
        ]) {
            const ended = serve(anchor);
            assert.notEqual(ended.status, 0);
            assert.match(ended.stderr, said);
        }
    });
});
