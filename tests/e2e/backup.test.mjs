// backup.test.mjs - a copy made while the server works is a whole server elsewhere.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ENGINE, makeDatabase, on } from './lib/database.mjs';
import { fixes } from './lib/git.mjs';
import { BIN, Server, makeDirectory, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const exec = promisify(execFile);

// {code, out, err} of drover with these arguments, for the server.
async function drover(server, ...args) {
    const options = { env: plainEnv(), encoding: 'utf8' };
    try {
        const { stdout, stderr } = await exec(BIN, [...args, '--data', server.data], options);
        return { code: 0, out: stdout, err: stderr };
    } catch (error) {
        return { code: error.code, out: error.stdout, err: error.stderr };
    }
}

// Not by the class URL: the one of a socket has no host, which it does not take.
function passwordOf(url) {
    const password = url.match(/^[a-z]+:\/\/[^:@/]*:([^@]*)@/)?.[1] ?? '';
    return { ...process.env, PGPASSWORD: decodeURIComponent(password) };
}

// Copies what the server has stored; resolves with how to start another one on it.
const copies = {
    async sqlite(server, dir) {
        const file = join(dir, 'copy.db');
        const { code, out, err } = await drover(server, 'backup', file);
        assert.equal(code, 0, err);
        assert.equal(statSync(file).mode & 0o777, 0o600);
        const line = out.match(/cp -a (\S+) (\S+)$/m);
        assert.deepEqual(line?.slice(1), [join(server.data, 'artifacts'), `${file}.artifacts`]);
        await exec('cp', ['-a', ...line.slice(1)]);
        return (data) => {
            mkdirSync(data);
            cpSync(file, join(data, 'drover.db'));
            cpSync(`${file}.artifacts`, join(data, 'artifacts'), { recursive: true });
        };
    },

    // By the line that drover gives.
    async postgres(server, dir) {
        const { code, err } = await drover(server, 'backup', join(dir, 'copy.db'));
        assert.equal(code, 4);
        assert.deepEqual(readdirSync(dir), [], 'nothing was written');
        const line = err.match(/: (pg_dump .*) \(BACKUP_BY_PG_DUMP\)$/m);
        assert.ok(line, err);
        const [program, ...args] = line[1].split(' ');
        const env = passwordOf(server.db);
        await exec(program, args, { cwd: dir, env });
        const db = makeDatabase();
        await exec('pg_restore', ['--no-owner', '--dbname', db, join(dir, 'drover.dump')], { env });
        return () => db;
    },
};

// Submits one task after the other until told to stop; tasks are those that were accepted.  They
// open no pull request: one that is opened after the copy was made is unknown to it.
function submitOn(server, repo) {
    const tasks = [];
    let going = true;
    const done = (async () => {
        while (going) {
            const { taskId } = await server.submit(repo.name, { executionMode: 'patch_only' });
            tasks.push(taskId);
        }
    })();
    return {
        tasks,
        async stop() {
            going = false;
            await done;
        },
    };
}

describe('a backup', { concurrency: 3 }, () => {
    it('made under load is a whole server elsewhere', async () => {
        // What the server had out is out in the copy, too, until its leases end.
        const config = 'lease: {leaseMs: 2000, heartbeatMs: 500}\n';
        const server = await start({ config });
        let copy = null;
        try {
            const limits = { maxActiveRuns: 4 };
            const repo = await server.repository('acme/backup', fixes, { limits });
            const first = await server.finish(repo.name, 'completed');
            const load = submitOn(server, repo);
            await until('some load', () => load.tasks.length >= 10);
            const known = [first.taskId, ...load.tasks];
            const restore = await copies[ENGINE](server, makeDirectory());
            await load.stop();
            await server.crash(); // The copy goes on in its place.

            copy = new Server({ db: undefined, config });
            copy.db = restore(copy.data);
            await copy.start();
            const there = new Set((await copy.list('/v1/tasks?limit=200')).map(({ id }) => id));
            for (const id of known) assert.ok(there.has(id), `task ${id} is in the copy`);
            const { code, out } = await drover(copy, 'doctor');
            assert.equal(code, 0, out);
            assert.match(out, /All is well/);
            const { items } = await copy.get(`/v1/runs/${first.runId}/artifacts`);
            for (const { sha256 } of items)
                assert.equal((await copy.call('GET', `/v1/artifacts/${sha256}`)).status, 200);
            for (const id of known.slice(0, 6)) await copy.untilTask(id, 'completed');
            const next = await copy.finish(repo.name, 'completed', { priority: 0 });
            const prs = await copy.pullRequests(repo.name);
            assert.deepEqual(prs.map((pr) => [pr.number, pr.taskId]).sort(),
                [[1, first.taskId], [2, next.taskId]]);
            const left = await copy.list('/v1/tasks?limit=200');
            await Promise.all(left.filter(({ status }) => status !== 'completed')
                .map(({ id }) => copy.call('POST', `/v1/tasks/${id}/cancel`)));
        } finally {
            await copy?.discard();
            await server.discard();
        }
    });

    on('sqlite', it)('overwrites nothing unless it is told to', async () => {
        const server = await start({ config: 'workers: 0\n' });
        try {
            const file = join(makeDirectory(), 'precious');
            writeFileSync(file, 'keep');
            const refused = await drover(server, 'backup', file);
            assert.deepEqual([refused.code, refused.out], [4, '']);
            assert.match(refused.err, /is there already[^]*--force[^]*FILE_EXISTS/);
            assert.equal(statSync(file).size, 4);
            assert.equal((await drover(server, 'backup', file, '--force')).code, 0);
            assert.ok(statSync(file).size > 4096);
            const nowhere = await drover(server, 'backup', '/nonexistent/copy.db');
            assert.equal(nowhere.code, 1);
            assert.match(nowhere.err, /cannot write/);
            assert.ok(!existsSync(`${file}.part`));
        } finally {
            await server.discard();
        }
    });

    on('sqlite', it)('is for admins, one at a time, and leaves nothing behind', async () => {
        const server = await start({ config: 'workers: 0\n' });
        try {
            const { token } = await server.post('/v1/tokens', { name: 'eye', role: 'operator' });
            assert.equal((await server.call('GET', '/v1/backup', { token })).status, 403);
            assert.equal((await server.call('GET', '/v1/backup?path=/etc/x')).status, 400);
            const answers = await Promise.all(
                Array.from({ length: 8 }, () => server.call('GET', '/v1/backup')));
            assert.ok(answers.some(({ status }) => status === 200));
            for (const { status, json } of answers)
                if (status !== 200)
                    assert.deepEqual([status, json.code], [409, 'BACKUP_RUNNING']);
            assert.ok(!existsSync(join(server.data, 'backup.part')));

            mkdirSync(join(server.data, 'backup.part'));
            writeFileSync(join(server.data, 'backup.part/drover.db-journal'), 'half');
            await server.crash();
            await server.start();
            assert.ok(!existsSync(join(server.data, 'backup.part')), 'what was cut short is gone');
        } finally {
            await server.discard();
        }
    });
});
