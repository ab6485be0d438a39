// tokens.test.mjs - who may do what: tokens with roles, made, used, expired, revoked.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { until } from './lib/wait.mjs';

const ROLES = ['viewer', 'operator', 'worker', 'admin'];
const NOBODY = '01a1e111-4280-788b-8f9d-658fd086a1f4';
const SHA = createHash('sha256').update('x').digest('hex');

// What the roles get; the admin gets through everywhere.  What is let in may still be refused for
// what it asks (400, 404, 422).
const TABLE = [
    ['GET', '/v1/tasks', 'viewer operator'],
    ['GET', `/v1/runs/${NOBODY}`, 'viewer operator'],
    ['GET', '/v1/events', 'viewer operator'],
    ['GET', '/v1/events/next', 'viewer operator'],
    ['POST', '/v1/events', 'operator worker'],
    ['GET', '/v1/repositories', 'viewer operator'],
    ['GET', '/v1/approvals', 'viewer operator'],
    ['GET', `/v1/approvals/${NOBODY}`, 'viewer operator'],
    ['GET', '/v1/pull-requests', 'viewer operator'],
    ['GET', '/v1/jobs', 'viewer operator'],
    ['GET', '/v1/queues', 'viewer operator'],
    ['GET', '/v1/workers', 'viewer operator'],
    ['GET', '/v1/doctor', 'viewer operator'],
    ['GET', '/v1/backup', ''],
    ['GET', '/metrics', 'viewer operator'],
    ['GET', '/v1/version', 'viewer operator worker'],
    ['GET', `/v1/artifacts/${SHA}`, 'viewer operator worker'],
    ['PUT', `/v1/artifacts/${SHA}`, 'operator worker'],
    ['POST', '/v1/tasks', 'operator'],
    ['POST', `/v1/tasks/${NOBODY}/cancel`, 'operator'],
    ['POST', `/v1/tasks/${NOBODY}/retry`, 'operator'],
    ['POST', `/v1/approvals/${NOBODY}/approve`, 'operator'],
    ['POST', `/v1/pull-requests/${NOBODY}/merge`, 'operator'],
    ['POST', `/v1/pull-requests/${NOBODY}/close`, 'operator'],
    ['POST', `/v1/pull-requests/${NOBODY}/follow`, 'operator'],
    ['POST', `/v1/pull-requests/${NOBODY}/leave`, 'operator'],
    ['GET', '/v1/issues', 'viewer operator'],
    ['POST', '/v1/issues', 'operator'],
    ['POST', '/v1/issues/1/comments', 'operator'],
    ['POST', '/v1/issues/1/close', 'operator'],
    ['POST', '/v1/issues/1/reopen', 'operator'],
    ['POST', '/v1/issues/1/labels', 'operator'],
    ['GET', '/v1/intake', 'viewer operator'],
    ['GET', '/v1/memories', 'viewer operator'],
    ['DELETE', `/v1/memories/${NOBODY}`, 'operator'],
    ['GET', '/v1/notifications', 'operator'],
    ['POST', '/v1/notifications/x/test', 'operator'],
    ['POST', '/v1/jobs', 'operator'],
    ['POST', '/v1/jobs/lease', 'operator worker'],
    ['POST', '/v1/jobs/heartbeat', 'operator worker'],
    ['POST', '/v1/jobs/progress', 'operator worker'],
    ['POST', '/v1/jobs/complete', 'operator worker'],
    ['POST', '/v1/jobs/fail', 'operator worker'],
    ['POST', '/v1/jobs/release', 'operator worker'],
    ['POST', '/v1/jobs/run-token', 'operator worker'],
    ['POST', '/v1/jobs/app-deliveries', 'operator worker'],
    ['POST', '/v1/sagas', 'operator'],
    ['GET', '/v1/sagas', 'viewer operator'],
    ['GET', `/v1/sagas/${NOBODY}`, 'viewer operator worker'],
    ['POST', `/v1/sagas/${NOBODY}/cancel`, 'operator'],
    ['GET', '/v1/subscriptions', 'viewer operator'],
    ['PUT', '/v1/subscriptions/x', 'operator'],
    ['DELETE', '/v1/subscriptions/x', 'operator'],
    ['POST', '/v1/topics/x/publish', 'operator'],
    ['POST', '/v1/topics/x/request', 'operator'],
    ['POST', `/v1/replies/${NOBODY}`, 'operator worker'],
    ['GET', '/v1/schedules/x', 'viewer operator'],
    ['PUT', '/v1/schedules/x', 'operator'],
    ['DELETE', '/v1/schedules/x', 'operator'],
    ['POST', '/v1/schedules/x/run', 'operator'],
    ['POST', '/v1/workers', 'operator worker'],
    ['PUT', '/v1/repositories/x', ''],
    ['DELETE', '/v1/repositories/x', ''],
    ['GET', '/v1/tokens', ''],
    ['POST', '/v1/tokens', ''],
    ['DELETE', `/v1/tokens/${NOBODY}`, ''],
];

describe('tokens', () => {
    let server;
    before(async () => (server = await start({ args: ['--workers', '2'] })));
    after(() => server.discard());

    const create = (name, role, more = {}) => server.post('/v1/tokens', { name, role, ...more });
    const drover = (...args) => spawnSync(BIN, [...args, '--data', server.data],
        { env: plainEnv(), encoding: 'utf8' });

    it('of workers can be bound to queues', async () => {
        const made = drover('token', 'create', '--name', 'bound', '--role', 'worker', '--queues',
            'agents.x,agents.y', '--json');
        assert.equal(made.status, 0, made.stderr);
        const { id, queues } = JSON.parse(made.stdout);
        assert.deepEqual(queues, ['agents.x', 'agents.y']);
        const { items } = await server.get('/v1/tokens');
        assert.deepEqual(items.find((token) => token.id === id).queues, queues);
        assert.match(drover('token', 'list').stdout, /bound +worker .* agents\.x,agents\.y\n/);
        const long = drover('token', 'create', '--name', 'long', '--role', 'worker', '--queues',
            'a,'.repeat(1000));
        assert.equal(long.status, 2);
        assert.match(long.stderr, /--queues are too long/);
        for (const [role, wrong] of [['viewer', ['a']], ['worker', []], ['worker', ['a b']],
            ['worker', ['a'.repeat(100), 'b'.repeat(100)]]]) {
            const body = { name: 'wrong', role, queues: wrong };
            assertProblem(await server.call('POST', '/v1/tokens', { body }), 422,
                { field: 'queues' });
        }
    });

    it('let every role do its own, and no more', async () => {
        for (const role of ROLES) {
            const { token } = await create(`by-${role}`, role);
            for (const [method, path, roles] of TABLE) {
                const body = method === 'GET' || method === 'DELETE' ? undefined : {};
                const res = await server.call(method, path, { token, body });
                const what = `${role}: ${method} ${path}: ${res.status} ${res.text}`;
                if (role === 'admin' || roles.split(' ').includes(role)) {
                    assert.ok(![401, 403].includes(res.status), what);
                    continue;
                }
                const problem = assertProblem(res, 403, { code: 'ROLE_NOT_ALLOWED' });
                assert.match(problem.detail, new RegExp(`by-${role} is of role ${role}`));
                assert.match(problem.detail, /drover token create/);
            }
        }
    });

    // A list that was read before a token was made must not replace one that was read after it.
    it('are known as soon as they are made, however many at once', async () => {
        const make = async (_, i) => {
            const { token, id } = await create(`at-once-${i}`, 'viewer');
            const res = await server.call('GET', '/v1/version', { token });
            assert.equal(res.status, 200, res.text);
            return id;
        };
        for (let round = 0; round < 5; round++) {
            const ids = await Promise.all(Array.from({ length: 8 }, make));
            await Promise.all(ids.map((id) => server.call('DELETE', `/v1/tokens/${id}`)));
        }
    });

    it('name who acted', async () => {
        const repo = await server.repository('acme/actor', fixes);
        const { token } = await create('ann@desk', 'operator');
        const body = { repository: repo.name, description: 'x' };
        const res = await server.call('POST', '/v1/tasks', { token, body });
        assert.equal(res.status, 202, res.text);
        const { taskId, runId } = res.json;
        assert.equal((await server.untilTask(taskId, 'completed')).requestedBy, 'ann@desk');
        const first = (await server.events(runId))[0];
        assert.deepEqual([first.type, first.actortype, first.actorid],
            ['agent.task.submitted', 'user', 'ann@desk']);
    });

    it('are shown once and stored as a hash', async () => {
        const { id, token } = await create('secret', 'viewer');
        assert.match(token, /^drv_[0-9a-f]{64}$/);
        const listed = (await server.list('/v1/tokens')).find((item) => item.id === id);
        assert.deepEqual(Object.keys(listed).sort(), ['createdAt', 'expiresAt', 'id', 'lastUsedAt',
            'name', 'revokedAt', 'role']);
        for (const name of readdirSync(server.data)) {
            if (!/^drover\.db/.test(name)) continue;
            assert.ok(!readFileSync(join(server.data, name)).includes(token), name);
        }
        assert.ok(!server.logTail().includes(token));
        assert.equal((await server.call('GET', '/v1/tasks', { token })).status, 200);
        await until('the use to be noted', async () =>
            (await server.list('/v1/tokens')).find((item) => item.id === id).lastUsedAt);
    });

    it('are worthless at once when revoked, and stay listed', async () => {
        const { id, token } = await create('gone', 'viewer');
        assert.equal((await server.call('GET', '/v1/tasks', { token })).status, 200);
        assert.equal((await server.call('DELETE', `/v1/tokens/${id}`)).status, 204);
        const res = await server.call('GET', '/v1/tasks', { token });
        assertProblem(res, 401, { code: 'TOKEN_UNKNOWN' });
        assert.match(res.json.detail, /revoked or expired/);
        const listed = (await server.list('/v1/tokens')).find((item) => item.id === id);
        assert.ok(listed.revokedAt);
        const again = await server.call('DELETE', `/v1/tokens/${id}`);
        assert.equal(again.status, 204, 'twice is fine');
        assertProblem(await server.call('DELETE', `/v1/tokens/${NOBODY}`), 404);
        await create('gone', 'viewer'); // The name is free again.
    });

    it('expire', async () => {
        await withRoom(2000, async (lifeMs) => {
            const expiresAt = new Date(Date.now() + lifeMs).toISOString();
            const { token } = await create(`short-${lifeMs}`, 'viewer', { expiresAt });
            const { status } = await server.call('GET', '/v1/tasks', { token });
            if (Date.now() >= Date.parse(expiresAt)) throw new TooSlow('it has expired');
            assert.equal(status, 200);
            await until('it to expire', async () =>
                (await server.call('GET', '/v1/tasks', { token })).status === 401);
            assert.ok(Date.now() >= Date.parse(expiresAt));
        });
    });

    it('survive a restart', async () => {
        const { token } = await create('kept', 'viewer');
        await server.crash();
        await server.start();
        assert.equal((await server.call('GET', '/v1/tasks', { token })).status, 200);
    });

    it('are refused with the field that is wrong', async () => {
        const past = '2020-01-01T00:00:00Z';
        await create('taken', 'viewer');
        const table = [
            [{ role: 'viewer' }, 422, 'name'],
            [{ name: 'x' }, 422, 'role'],
            [{ name: 'x', role: 'agent' }, 422, 'viewer, operator, worker'],
            [{ name: 'a b', role: 'viewer' }, 422, 'name'],
            [{ name: 'x'.repeat(65), role: 'viewer' }, 422, 'name'],
            [{ name: 'admin', role: 'viewer' }, 422, 'name'],
            [{ name: 'x', role: 'viewer', expiresAt: 'soon' }, 422, 'expiresAt'],
            [{ name: 'x', role: 'viewer', expiresAt: past }, 422, 'expiresAt'],
            [{ name: 'x', role: 'viewer', more: 1 }, 422, 'more'],
            [{ name: 'taken', role: 'viewer' }, 409, 'TOKEN_NAME_TAKEN'],
        ];
        for (const [body, status, field] of table)
            assertProblem(await server.call('POST', '/v1/tokens', { body }), status, { field });
    });

    it('are made, listed and revoked on the command line', async () => {
        const made = drover('token', 'create', '--name', 'cli', '--role', 'worker', '--expires',
            '30d');
        assert.equal(made.status, 0, made.stderr);
        const token = made.stdout.trim();
        assert.match(token, /^drv_[0-9a-f]{64}$/);
        const [, id] = /drover token revoke (\S+)/.exec(made.stderr);
        const items = JSON.parse(drover('token', 'list', '--json').stdout).items;
        const item = items.find((each) => each.id === id);
        assert.equal(item.role, 'worker');
        const days = (Date.parse(item.expiresAt) - Date.now()) / 86_400_000;
        assert.ok(days > 29.9 && days <= 30, item.expiresAt);
        assert.match(drover('token', 'list').stdout, /^ID +NAME +ROLE +CREATED +LAST USED/);
        assert.equal(drover('token', 'revoke', id).status, 0);
        assert.equal((await server.call('GET', '/v1/version', { token })).status, 401);
        assert.equal(drover('token', 'revoke', NOBODY).status, 3);
        assert.equal(drover('token', 'create', '--name', 'x').status, 2);
        assert.equal(drover('token', 'create', '--name', 'x', '--role', 'god').status, 2);
        const bad = drover('token', 'create', '--name', 'x', '--role', 'viewer', '--expires', '3x');
        assert.equal(bad.status, 2);
        assert.match(bad.stderr, /30d/);
    });
});
