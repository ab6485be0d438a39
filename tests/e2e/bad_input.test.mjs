// bad_input.test.mjs - everything that is wrong is refused by name, and leaves no trace.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { assertProblem, rawExchange, rawStatus } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { PATIENCE_MS, until, within } from './lib/wait.mjs';

let server, finished, trace;
const nobody = '0190b6a0-0000-7000-8000-000000000000';
const REPO = 'acme/good';
const QUEUE = 'bad.queue';

// What every refused request must leave as it was; that it was refused is in the audit log.
async function snapshot() {
    const names = ['events', 'tasks', 'runs', 'repositories', 'pull-requests', 'approvals'];
    const lists = await Promise.all(names.map(async (name) =>
        (await server.list(`/v1/${name}?limit=200`))
            .filter(({ type }) => type !== 'agent.audit.recorded')));
    const body = { queues: [QUEUE], worker: 'w', max: 10, waitMs: 0, leaseMs: 1000 };
    const { jobs } = await server.post('/v1/jobs/lease', body);
    return { ...Object.fromEntries(names.map((name, i) => [name, lists[i].length])), jobs };
}

async function startOnce() {
    server = await start({ args: ['--workers', '2'] });
    const repo = await server.repository(REPO, fixes);
    finished = await server.finish(repo.name, 'completed');
    trace = await snapshot();
}

async function endUntouched() {
    try {
        assert.deepEqual(await snapshot(), trace, 'nothing was written');
    } finally {
        await server.discard();
    }
}

const task = (more) => ({ repository: REPO, description: 'x', ...more });
const goodConfig = { url: '/srv/git/x.git', agent: { command: ['true'] } };
const config = (more) => ({ ...goodConfig, ...more });
const oneJob = (more) => ({ jobs: [{ queue: QUEUE, type: 't', payload: {}, ...more }] });
const goodLease = { queues: [QUEUE], worker: 'w', max: 1, waitMs: 0, leaseMs: 1000 };
const aLease = (more) => ({ ...goodLease, ...more });
const ref = { id: nobody, epoch: 1 };
const many = (count, value) => Array.from({ length: count }, () => value);

// Every route that takes a body, with a good one; none: an empty body is good.  {id}: of the
// finished task.
const routes = [
    { method: 'POST', path: '/v1/tasks', body: task({}) },
    { method: 'POST', path: '/v1/tasks/{id}/cancel' },
    { method: 'POST', path: '/v1/tasks/{id}/retry' },
    { method: 'PUT', path: '/v1/repositories/acme%2Fbad', body: goodConfig },
    { method: 'POST', path: `/v1/approvals/${nobody}/approve` },
    { method: 'POST', path: `/v1/approvals/${nobody}/reject` },
    { method: 'POST', path: `/v1/pull-requests/${nobody}/merge` },
    { method: 'POST', path: '/v1/jobs', body: oneJob({}) },
    { method: 'POST', path: '/v1/jobs/lease', body: goodLease },
    { method: 'POST', path: '/v1/jobs/heartbeat', body: { worker: 'w', leases: [ref] } },
    { method: 'POST', path: '/v1/jobs/progress', body: { jobs: [{ ...ref, events: [] }] } },
    { method: 'POST', path: '/v1/jobs/complete', body: { jobs: [ref] } },
    { method: 'POST', path: '/v1/jobs/fail', body: { jobs: [{ ...ref, error: { code: 'x' } }] } },
];
const nested = (depth) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
const badBodies = [
    { what: 'broken JSON', body: '{"repository": "acme', status: [400] },
    { what: 'no JSON at all', body: 'hello', status: [400] },
    { what: 'something behind the JSON', body: '{} {}', status: [400] },
    { what: 'a name twice', body: '{"reason":"a","reason":"b"}', status: [400] },
    { what: 'bytes that are not UTF-8', body: Buffer.from('7b2261223a22ff22 7d'.replace(' ', ''),
        'hex'), status: [400] },
    { what: 'a NUL in a string', body: '{"reason":"a\\u0000b"}', status: [400, 422] },
    { what: 'a number that is no number', body: '{"priority":1e400}', status: [400] },
    { what: 'deep nesting', body: nested(5000), status: [400] },
    { what: 'an array', body: '[]', status: [400, 422] },
    { what: 'a string', body: '"text"', status: [400, 422] },
    { what: 'null', body: 'null', status: [400, 422], notOptional: true },
    { what: 'an empty body', body: '', status: [400, 422], notOptional: true },
    { what: 'an unknown field', status: [400, 422], names: 'surprise' },
    { what: 'another media type', body: 'a=b', status: [415],
      headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { what: 'no token', body: {}, status: [401], token: null },
    { what: 'a wrong token', body: {}, status: [401], token: 'drover_wrong' },
    { what: 'too many bytes', body: `{"a":"${'x'.repeat(2 * 1024 * 1024)}"}`, status: [413] },
];

describe('every route that takes a body refuses', () => {
    before(startOnce);
    after(endUntouched);
    for (const bad of badBodies) {
        it(bad.what, async () => {
            for (const route of routes) {
                if (bad.notOptional && !route.body) continue;
                const path = route.path.replace('{id}', finished.taskId);
                const { body = { ...route.body, surprise: 1 }, headers, token } = bad;
                const options = { body, headers, ...('token' in bad ? { token } : {}) };
                const res = await server.call(route.method, path, options);
                const where = `${route.method} ${path}: ${res.status} ${res.text}`;
                assert.ok(bad.status.includes(res.status), where);
                assertProblem(res, res.status, { field: bad.names });
            }
        });
    }
});

// Bodies whose one field is wrong; the answer names it.
const badFields = [
    ['POST', '/v1/tasks', [
        [{ description: 'x' }, 'repository'],
        [{ repository: REPO }, 'description'],
        [task({ repository: 5 }), 'repository'],
        [task({ repository: '' }), 'repository'],
        [task({ description: ['x'] }), 'description'],
        [task({ description: '' }), 'description'],
        [task({ description: 'x'.repeat(70_000) }), 'description'],
        [task({ issueNumber: 'one' }), 'issueNumber'],
        [task({ issueNumber: 0 }), 'issueNumber'],
        [task({ issueNumber: 1.5 }), 'issueNumber'],
        [task({ riskLevel: 'extreme' }), 'riskLevel'],
        [task({ riskLevel: 1 }), 'riskLevel'],
        [task({ executionMode: 'yolo' }), 'executionMode'],
        [task({ targetBranch: '--upload-pack=x' }), 'targetBranch'],
        [task({ targetBranch: 'a..b' }), 'targetBranch'],
        [task({ scope: 'src' }), 'scope'],
        [task({ scope: [1] }), 'scope'],
        [task({ priority: -1 }), 'priority'],
        [task({ priority: 1001 }), 'priority'],
        [task({ priority: '100' }), 'priority'],
        [task({ maxTurns: 0 }), 'maxTurns'],
        [task({ maxTurns: 501 }), 'maxTurns'],
        [task({ maxBudgetUsd: 0 }), 'maxBudgetUsd'],
        [task({ maxBudgetUsd: 101 }), 'maxBudgetUsd'],
        [task({ labels: {} }), 'labels'],
        [task({ channel: 'slack' }), 'channel'],
        [task({ channel: { source: 5 } }), 'source'],
        [task({ dependsOn: 'x' }), 'dependsOn'],
        [task({ dependsOn: ['nonsense'] }), 'dependsOn'],
        [task({ dependsOn: [nobody] }), 'dependsOn'],
        [task({ dependsOn: many(101, nobody) }), 'dependsOn'],
        [task({ taskType: 7 }), 'taskType'],
        [task({ Description: 'x' }), 'Description'],
    ]],
    ['PUT', '/v1/repositories/acme%2Fbad', [
        [{ agent: goodConfig.agent }, 'url'],
        [{ url: goodConfig.url }, 'agent'],
        [config({ url: 'relative/path' }), 'url'],
        [config({ url: '--upload-pack=touch /tmp/x' }), 'url'],
        [config({ url: 'ext::sh -c touch% /tmp/x' }), 'url'],
        [config({ url: 'https://user:secret@example.org/x.git' }), 'url'],
        [config({ forge: 'sourceforge' }), 'forge'],
        [config({ defaultBranch: '-x' }), 'defaultBranch'],
        [config({ agent: {} }), 'agent.command'],
        [config({ agent: { command: 'make' } }), 'agent.command'],
        [config({ agent: { command: [] } }), 'agent.command'],
        [config({ agent: { command: ['x'], adapter: 'telepathy' } }), 'agent.adapter'],
        [config({ agent: { command: ['x'], network: 'yes' } }), 'agent.network'],
        [config({ agent: { command: ['x'], env: ['A-B=1'] } }), 'agent.env'],
        [config({ agent: { command: ['x'], env: ['DROVER_TOKEN'] } }), 'agent.env'],
        [config({ agent: { command: ['x'], shell: true } }), 'shell'],
        [config({ verify: [{ name: 'a' }] }), 'verify[0].command'],
        [config({ verify: many(2, { name: 'a', command: 'x' }) }), 'verify[1]'],
        [config({ verify: [{ name: 'a', command: 'x', timeoutSeconds: 0 }] }), 'timeoutSeconds'],
        [config({ judge: [{ rules: { maxFiles: -1 } }] }), 'maxFiles'],
        [config({ judge: [{ rule: {} }] }), 'judge[0]'],
        [config({ policy: { approval: 'sometimes' } }), 'policy.approval'],
        [config({ limits: { maxActiveRuns: -1 } }), 'limits.maxActiveRuns'],
        [config({ limits: { maxTurns: 1000 } }), 'limits.maxTurns'],
        [config({ retries: { agentAttempts: 0 } }), 'retries.agentAttempts'],
        [config({ timeouts: { runMs: 0 } }), 'timeouts.runMs'],
        [config({ timeouts: { runSeconds: 1 } }), 'runSeconds'],
        [config({ timeouts: { runMs: '5m' } }), 'timeouts.runMs'],
        [config({ verfy: [] }), 'verfy'],
    ]],
    ['POST', '/v1/jobs', [
        [{ jobs: {} }, 'jobs'],
        [{ jobs: [] }, 'jobs'],
        [{ jobs: [5] }, 'jobs[0]'],
        [{ jobs: many(1001, { queue: QUEUE, type: 't', payload: {} }) }, 'jobs'],
        [oneJob({ queue: undefined }), 'queue'],
        [oneJob({ queue: 'has space' }), 'queue'],
        [oneJob({ queue: '../x' }), 'queue'],
        [oneJob({ type: 5 }), 'type'],
        [oneJob({ priority: 'high' }), 'priority'],
        [oneJob({ priority: -1 }), 'priority'],
        [oneJob({ orderingKey: 5 }), 'orderingKey'],
        [oneJob({ dedupKey: {} }), 'dedupKey'],
        [oneJob({ delayMs: -1 }), 'delayMs'],
        [oneJob({ ttlMs: 'x' }), 'ttlMs'],
        [oneJob({ maxAttempts: 0 }), 'maxAttempts'],
        [oneJob({ maxAttempts: 101 }), 'maxAttempts'],
        [oneJob({ colour: 'red' }), 'colour'],
    ]],
    ['POST', '/v1/jobs/lease', [
        [aLease({ queues: [] }), 'queues'],
        [aLease({ queues: 'x' }), 'queues'],
        [aLease({ queues: many(33, 'q') }), 'queues'],
        [aLease({ worker: undefined }), 'worker'],
        [aLease({ worker: '' }), 'worker'],
        [aLease({ max: 0 }), 'max'],
        [aLease({ max: 1e6 }), 'max'],
        [aLease({ waitMs: 30_001 }), 'waitMs'],
        [aLease({ waitMs: -1 }), 'waitMs'],
        [aLease({ leaseMs: 1 }), 'leaseMs'],
    ]],
    ['POST', '/v1/jobs/app-deliveries', [
        [{ epoch: 1 }, 'id'],
        [{ id: nobody }, 'epoch'],
        [{ ...ref, sinceUs: -1 }, 'sinceUs'],
        ...['/app', '/app/hook/deliveries/', '/app/hook/deliveries/../../installations',
            '/app/hook/deliveries/1?x', '/app/hook/deliveries/1/attempts']
            .map((handle) => [{ ...ref, handle }, 'handle']),
    ]],
    ['POST', '/v1/jobs/heartbeat', [
        [{ worker: 'w', leases: {}, extendMs: 1000 }, 'leases'],
        [{ worker: 'w', leases: [{ id: 'x', epoch: 1 }], extendMs: 1000 }, 'id'],
        [{ worker: 'w', leases: [{ id: nobody }], extendMs: 1000 }, 'epoch'],
        [{ worker: 'w', leases: [{ id: nobody, epoch: 'x' }], extendMs: 1000 }, 'epoch'],
        [{ worker: 'w', leases: [{ id: nobody, epoch: 1 }], extendMs: -5 }, 'extendMs'],
    ]],
    ['POST', '/v1/jobs/complete', [
        [{ jobs: [{ epoch: 1 }] }, 'id'],
        [{ jobs: [{ id: nobody }] }, 'epoch'],
        [{ jobs: [{ id: nobody, epoch: 1, result: 5 }] }, 'result'],
        [{ jobs: [{ id: nobody, epoch: 1, result: { x: 'y'.repeat(20_000) } }] }, 'result'],
    ]],
    ['POST', '/v1/jobs/fail', [
        [{ jobs: [{ id: nobody, epoch: 1 }] }, 'error'],
        [{ jobs: [{ id: nobody, epoch: 1, error: 'x' }] }, 'error'],
        [{ jobs: [{ id: nobody, epoch: 1, error: { code: 'x', message: 'y', retryable: 1 } }] },
         'retryable'],
    ]],
    ['POST', '/v1/jobs/progress', [
        [{ jobs: [{ id: nobody, epoch: 1, events: {} }] }, 'events'],
    ]],
    ['POST', '/v1/tasks/{id}/cancel', [
        [{ reason: 5 }, 'reason'],
        [{ why: 'x' }, 'why'],
    ]],
];

describe('a wrong field', () => {
    before(startOnce);
    after(endUntouched);
    for (const [method, path, table] of badFields) {
        it(`of ${method} ${path} is named`, async () => {
            for (const [body, field] of table) {
                const at = path.replace('{id}', finished.taskId);
                const res = await server.call(method, at, { body });
                const where = `${JSON.stringify(body).slice(0, 200)}: ${res.status} ${res.text}`;
                assert.ok([400, 413, 422].includes(res.status), where);
                assertProblem(res, res.status, { field });
            }
        });
    }
});

// [method, path, status or statuses]
const refusals = [
    ['GET', '/nowhere', 404],
    ['GET', '/v1', 404],
    ['GET', '/v2/tasks', 404],
    ['GET', '/v1/tasks/', 404],
    ['GET', '/v1/tasks/{task}/x', 404],
    ['GET', '/v1//tasks', 404],
    ['GET', '/v1/tasks/nonsense', 400],
    ['GET', '/v1/tasks/0190b6a0-0000-7000-8000-00000000000', 400],
    ['GET', `/v1/tasks/${nobody}`, 404],
    ['GET', '/v1/runs/nonsense', 400],
    ['GET', `/v1/runs/${nobody}`, 404],
    ['GET', `/v1/runs/${nobody}/events`, 404],
    ['GET', `/v1/runs/${nobody}/timeline`, 404],
    ['GET', `/v1/runs/${nobody}/artifacts`, 404],
    ['GET', '/v1/runs/{task}', 404],
    ['GET', '/v1/jobs/nonsense', 400],
    ['GET', `/v1/jobs/${nobody}`, 404],
    ['GET', '/v1/artifacts/nonsense', 400],
    ['GET', `/v1/artifacts/${'0'.repeat(64)}`, 404],
    ['GET', '/v1/artifacts/..%2f..%2fadmin.token', 400],
    ['GET', '/v1/repositories/not%2Fthere', 404],
    ['DELETE', '/v1/repositories/not%2Fthere', 404],
    ['PUT', '/v1/repositories/..%2Fx', [400, 422]],
    ['PUT', '/v1/repositories/a%20b', [400, 422]],
    ['GET', '/v1/repositories/%zz', 400],
    ['POST', '/v1/tasks/nonsense/cancel', 400],
    ['POST', `/v1/tasks/${nobody}/cancel`, 404],
    ['POST', `/v1/tasks/${nobody}/retry`, 404],
    ['POST', '/v1/tasks/{task}/cancel', 409],
    ['POST', '/v1/tasks/{task}/retry', 409],
    ['POST', '/v1/approvals/nonsense/approve', 400],
    ['POST', `/v1/approvals/${nobody}/approve`, 404],
    ['POST', `/v1/approvals/${nobody}/reject`, 404],
    ['POST', '/v1/pull-requests/nonsense/merge', 400],
    ['POST', `/v1/pull-requests/${nobody}/merge`, 404],
    ['GET', '/v1/tasks?limit=0', [400, 422]],
    ['GET', '/v1/tasks?limit=201', [400, 422]],
    ['GET', '/v1/tasks?limit=x', [400, 422]],
    ['GET', '/v1/tasks?limit=5&limit=6', [400, 422]],
    ['GET', '/v1/tasks?cursor=nonsense', [400, 422]],
    ['GET', '/v1/tasks?status=nonsense', [400, 422]],
    ['GET', '/v1/tasks?surprise=1', [400, 422]],
    ['GET', '/v1/runs?cursor=%00', [400, 422]],
    ['GET', '/v1/runs?status=nonsense', [400, 422]],
    ['GET', '/v1/events?cursor=nonsense', [400, 422]],
    ['GET', '/v1/events?runId=nonsense', [400, 422]],
    ['GET', '/v1/events?limit=-1', [400, 422]],
    ['GET', '/v1/pull-requests?limit=0', [400, 422]],
];
const wrongMethods = [
    ['DELETE', '/v1/tasks', /GET/],
    ['PUT', '/v1/tasks', /POST/],
    ['POST', `/v1/tasks/${nobody}`, /GET/],
    ['GET', '/v1/jobs/lease', /POST/],
    ['GET', `/v1/tasks/${nobody}/cancel`, /POST/],
    ['POST', '/v1/repositories/acme%2Fgood', /PUT/],
    ['PATCH', '/v1/tasks', /GET/],
    ['POST', '/healthz', /GET/],
];

describe('a request', () => {
    before(startOnce);
    after(endUntouched);

    it('to an unknown place, with a bad id or in the wrong state says what is wrong', async () => {
        for (const [method, path, status] of refusals) {
            const at = path.replace('{task}', finished.taskId);
            const body = method === 'GET' || method === 'DELETE' ? undefined
                : method === 'PUT' ? goodConfig : {};
            const res = await server.call(method, at, { body });
            const where = `${method} ${at}: ${res.status} ${res.text}`;
            assert.ok([status].flat().includes(res.status), where);
            assertProblem(res, res.status);
        }
    });

    it('with the wrong method is answered with 405 and what is allowed', async () => {
        for (const [method, path, allow] of wrongMethods) {
            const body = method === 'GET' || method === 'DELETE' ? undefined : {};
            const res = await server.call(method, path, { body });
            assertProblem(res, 405);
            assert.match(res.headers.allow ?? '', allow, `${method} ${path}`);
        }
    });

    it('for a repository that is not onboarded is refused with its code', async () => {
        const body = { repository: 'acme/unknown', description: 'x' };
        const res = await server.call('POST', '/v1/tasks', { body });
        assertProblem(res, 422, { code: 'REPO_NOT_ONBOARDED' });
    });

    it('without or with a wrong token is refused everywhere but at the health routes', async () => {
        const paths = ['/v1/tasks', '/v1/runs', '/v1/events', '/v1/events/stream',
            '/v1/repositories', `/v1/runs/${finished.runId}/stream`, '/v1/pull-requests',
            '/metrics'];
        const wrong = [{}, { authorization: 'Bearer' }, { authorization: 'Bearer wrong' },
            { authorization: `Basic ${server.token}` },
            { authorization: `Bearer ${server.token}x` }, { authorization: server.token }];
        for (const path of paths) {
            for (const headers of wrong) {
                const res = await server.call('GET', path, { headers, token: null });
                assertProblem(res, 401);
                assert.match(res.headers['www-authenticate'] ?? '', /^Bearer/);
            }
        }
        for (const path of ['/healthz', '/readyz'])
            assert.equal((await server.call('GET', path, { token: null })).status, 200, path);
    });

    it('with a bad Idempotency-Key is refused', async () => {
        for (const key of ['', 'x'.repeat(300)]) {
            const res = await server.call('POST', '/v1/tasks',
                { body: task({}), headers: { 'idempotency-key': key } });
            assert.ok([400, 422].includes(res.status), `${res.status} ${res.text}`);
        }
    });

    it('of any kind carries a request id', async () => {
        const res = await server.call('GET', '/v1/tasks');
        assert.ok(res.headers['x-request-id']);
    });

    it('for a page gives as many as asked for, and a cursor to go on', async () => {
        const all = await server.list('/v1/events?limit=200');
        const page = await server.get('/v1/events?limit=3');
        assert.equal(page.items.length, 3);
        assert.equal(typeof page.cursor, 'string');
        const paged = await server.list('/v1/events?limit=3');
        assert.deepEqual(paged.map((event) => event.id), all.map((event) => event.id));
    });
});

describe('raw bytes', { concurrency: 4 }, () => {
    before(startOnce);
    after(endUntouched);

    const auth = () => `Host: x\r\nAuthorization: Bearer ${server.token}\r\n`;
    const json = 'Content-Type: application/json\r\n';
    const good = JSON.stringify(task({}));
    const length = good.length;
    const chunked = `${length.toString(16)}\r\n${good}\r\n0\r\n\r\n`;
    const submission = (headers, body) =>
        `POST /v1/tasks HTTP/1.1\r\n${auth()}${json}${headers}\r\n\r\n${body}`;
    // Each would create a task if it were taken in one of its possible meanings.
    const smuggled = [
        ['Content-Length twice', `Content-Length: 2\r\nContent-Length: ${length}`, good],
        ['Content-Length and Transfer-Encoding',
            `Content-Length: ${length}\r\nTransfer-Encoding: chunked`, chunked],
        ['a signed Content-Length', `Content-Length: +${length}`, good],
        ['a space before the colon', `Content-Length : ${length}`, good],
        ['a folded header', `Content-Length:\r\n ${length}`, good],
        ['an unknown Transfer-Encoding', 'Transfer-Encoding: xchunked', chunked],
        ['Authorization twice', `Authorization: Bearer x\r\nContent-Length: ${length}`, good],
        ['a negative Content-Length', 'Content-Length: -1', good],
        ['a huge Content-Length', 'Content-Length: 99999999999999999999', ''],
    ];
    for (const [what, headers, body] of smuggled) {
        it(`with ${what} are refused`, async () => {
            const answer = await rawExchange(server.url, submission(headers, body));
            const status = rawStatus(answer);
            assert.ok(status === 0 || (status >= 400 && status < 600), answer.slice(0, 200));
            assert.ok(!answer.includes('taskId'), answer);
        });
    }

    const strange = [
        ['no HTTP at all', 'hello\r\n\r\n'],
        ['another version', 'GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n'],
        ['a method that nobody knows', 'BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
        ['a request line without an end', `GET /${'a'.repeat(100_000)}`],
        ['a header without an end', `GET /healthz HTTP/1.1\r\nX: ${'a'.repeat(200_000)}`],
        ['very many headers', `GET /healthz HTTP/1.1\r\n${'X: y\r\n'.repeat(20_000)}\r\n`],
        ['a NUL', 'GET /heal\0thz HTTP/1.1\r\nHost: x\r\n\r\n'],
        ['a TLS hello', Buffer.from('16030100f8010000f40303', 'hex')],
        ['half a request and silence', 'POST /v1/tasks HTTP/1.1\r\nContent-Le'],
    ];
    for (const [what, bytes] of strange) {
        it(`with ${what} harm nobody`, async () => {
            const answer = await rawExchange(server.url, bytes, { closeAfterMs: 1500 });
            assert.ok(!/^HTTP\/1\.[01] 2/.test(answer), answer.slice(0, 100));
            assert.equal((await server.call('GET', '/healthz', { token: null })).status, 200);
        });
    }

    const unusual = [
        ['HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n', 200],
        ['a whole address as target', 'GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n', 200],
        ['a second request right behind',
            'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2), 200],
        ['the question whether to go on',
            'POST /v1/jobs/lease HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n' +
            'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}', 401],
    ];
    for (const [what, bytes, status] of unusual) {
        it(`with ${what} are answered`, async () => {
            const answer = await rawExchange(server.url, bytes);
            const final = answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
            assert.equal(rawStatus(final), status, answer);
        });
    }

    it('of a body in many small chunks are put together', async () => {
        const chunks = [...JSON.stringify({ queues: [QUEUE], worker: 'w', max: 1, waitMs: 0 })]
            .map((char) => `1\r\n${char}\r\n`).join('');
        const answer = await rawExchange(server.url,
            `POST /v1/jobs/lease HTTP/1.1\r\n${auth()}${json}Transfer-Encoding: chunked\r\n\r\n` +
            `${chunks}0\r\n\r\n`);
        assert.equal(rawStatus(answer), 200, answer);
    });

    it('of a chunked body without an end are cut off', async () => {
        const chunk = `ffff\r\n${'x'.repeat(0xffff)}\r\n`;
        const answer = await rawExchange(server.url,
            submission('Transfer-Encoding: chunked', chunk.repeat(40)), { closeAfterMs: 4000 });
        const status = rawStatus(answer);
        assert.ok(status === 0 || status >= 400, answer.slice(0, 200));
        assert.equal((await server.call('GET', '/healthz', { token: null })).status, 200);
    });
});

describe('a client that', { concurrency: 3 }, () => {
    it('sends its request drop by drop is cut off', async () => {
        const own = await start({ config: 'limits: {requestSeconds: 1}\n' });
        try {
            const { hostname, port } = new URL(own.url);
            const socket = net.connect(Number(port), hostname);
            socket.on('error', () => {});
            const closed = new Promise((resolve) => socket.on('close', resolve));
            socket.resume();
            socket.write('GET /healthz HTTP/1.1\r\nX-Slow: ');
            const drops = setInterval(() => socket.write('x'), 100);
            try {
                await within(PATIENCE_MS, 'the cut', closed);
            } finally {
                clearInterval(drops);
                socket.destroy();
            }
            assert.equal((await own.call('GET', '/healthz')).status, 200);
        } finally {
            await own.discard();
        }
    });

    it('opens very many connections does not keep others out for good', async () => {
        const own = await start({ config: 'limits: {connections: 10}\n' });
        try {
            const { hostname, port } = new URL(own.url);
            const sockets = Array.from({ length: 40 }, () => net.connect(Number(port), hostname));
            for (const socket of sockets) socket.on('error', () => {});
            await Promise.all(sockets.map((socket) => new Promise((resolve) =>
                socket.once('connect', resolve).once('close', resolve))));
            for (const socket of sockets) socket.destroy();
            await until('an answer', async () =>
                (await own.call('GET', '/healthz').catch(() => null))?.status === 200);
        } finally {
            await own.discard();
        }
    });

    it('may send no more than the server is told to take', async () => {
        const own = await start({ config: 'limits: {bodyBytes: 2048}\n' });
        try {
            const body = { reason: 'x'.repeat(3000) };
            const res = await own.call('POST', `/v1/tasks/${nobody}/cancel`, { body });
            assertProblem(res, 413);
        } finally {
            await own.discard();
        }
    });
});
