// Deliveries of GitHub's webhooks: who may send them, that each counts once, and that those which
// do not arrive are found.
import assert from 'node:assert/strict';
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startHub } from '../hub/hub.mjs';
import { callDrover } from './lib/cli.mjs';
import { request } from './lib/http.mjs';
import { withServer } from './lib/own.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const SECRETS = { WEBHOOK_SECRET: 'the new secret', WEBHOOK_BEFORE: 'the one before' };
const MIB = 1024 * 1024;
const AGENT = { command: ['/bin/sh', '-c', 'echo 42 > answer.txt'], adapter: 'none' };

function document(hub, repo, more = {}) {
    return {
        url: hub.gitUrl(repo), forge: 'github', api: hub.apiUrl,
        credentials: { forge: 'HUB_TOKEN' }, agent: AGENT,
        webhook: { secret: 'WEBHOOK_SECRET', oldSecret: 'WEBHOOK_BEFORE' },
        sync: { everyMs: 1000, recoverMs: 1000 }, ...more,
    };
}

function sign(body, secret = SECRETS.WEBHOOK_SECRET) {
    return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

// Sends one delivery; the defaults are those of a good one.
function send(server, { body, event = 'issues', id = randomUUID(), secret, signature, type,
    forge = 'github' }) {
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const headers = {
        'content-type': type ?? 'application/json', 'x-github-event': event,
        'x-github-delivery': id,
        ...(signature !== null && { 'x-hub-signature-256': signature ?? sign(text, secret) }),
    };
    return request(`${server.url}/v1/webhooks/${forge}`, { method: 'POST', body: text, headers });
}

const REPOSITORY = { id: 4711, full_name: 'acme/billing' };
function issue(number, action = 'labeled', more = {}) {
    return { action, issue: { number }, repository: REPOSITORY, sender: { login: 'ann' }, ...more };
}

const withoutId = ({ json }) => ({ ...json, requestId: undefined, instance: undefined });

describe('deliveries of a webhook', { concurrency: 1 }, () => {
    let hub, repo, server;
    before(async () => {
        hub = await startHub();
        hub.org('acme', { members: ['bot', 'ann'] });
        repo = hub.repo('acme/billing', { files: { 'answer.txt': '41\n' } });
        REPOSITORY.id = repo.id;
        server = await start({ env: { ...SECRETS, HUB_TOKEN: hub.token('bot'),
            HUB_WRONG: 'ghp_guessed' } });
        await server.configure('acme/billing', document(hub, repo));
    });
    after(async () => {
        await server.discard();
        await hub.stop();
    });

    const receipts = (query = '') => server.list(`/v1/webhooks/deliveries?limit=200${query}`);
    const receiptOf = async (id) => (await receipts()).filter((item) => item.deliveryId === id);

    it('need a repository that the server reaches: repo add and repo set say why not', async () => {
        const other = hub.repo('acme/looked-at', { files: { 'answer.txt': '41\n' } });
        const file = join(server.dir, 'looked-at.json');
        const say = async (verb, more) => {
            writeFileSync(file, JSON.stringify(document(hub, other, more)));
            const { status, stdout, stderr } = await callDrover(server, ['repo', verb,
                'acme/looked-at', '--config', file]);
            assert.equal(status, 0, stderr);
            return stdout.match(/^Mind +(.*)$/m)?.[1];
        };
        assert.match(await say('add', { credentials: { forge: 'HUB_NONE' } }),
            /^The server's environment has no HUB_NONE, which credentials\.forge names: set it /);
        assert.match(await say('set', { credentials: { forge: 'HUB_WRONG' } }),
            /^The repository does not accept the credential of HUB_WRONG: .* may read and push/);
        assert.equal(await say('set', { defaultBranch: 'trunk' }),
            'The repository has no branch trunk.');
        assert.equal(await say('set', {}), undefined);
        const { ok, commit } = await server.get('/v1/repositories/acme%2Flooked-at/origin');
        assert.deepEqual([ok, commit], [true, other.head('main')]);
        await server.call('DELETE', '/v1/repositories/acme%2Flooked-at');
    });

    it('are refused alike without a signature, with a wrong one, for no repository', async () => {
        const good = JSON.stringify(issue(1));
        const bad = [
            { body: good, signature: null },
            { body: good, secret: 'guessed' },
            { body: good, signature: 'sha256=' },
            { body: good, signature: `sha1=${'0'.repeat(40)}` },
            { body: good + ' ', signature: sign(good) },
            { body: issue(1, 'labeled', { repository: { id: 1, full_name: 'acme/none' } }) },
            { body: { zen: 'no repository at all' }, event: 'ping', secret: 'guessed' },
            { body: 'not json', secret: 'guessed' },
            { body: '', secret: 'guessed' },
        ];
        const answers = [];
        for (const each of bad) answers.push(await send(server, each));
        for (const res of answers) {
            assert.equal(res.status, 401, res.text);
            assert.equal(res.json.code, 'WEBHOOK_REFUSED');
            assert.deepEqual(withoutId(res), withoutId(answers[0]));
        }
        assert.deepEqual(await receipts(), []);
    });

    it('are taken with the new secret and the one before', async () => {
        for (const secret of Object.values(SECRETS)) {
            const id = randomUUID();
            const res = await send(server, { body: issue(2), secret, id });
            assert.equal(res.status, 202, res.text);
            assert.equal(res.json.status, 'applied');
            assert.equal(res.json.event, 'issues.labeled');
            assert.equal((await receiptOf(id)).length, 1);
        }
    });

    it('keep their payload as it was sent', async () => {
        const id = randomUUID();
        const body = JSON.stringify(issue(3), null, 4);
        await send(server, { body, id });
        const [receipt] = await receiptOf(id);
        assert.equal(receipt.payloadSha256, createHash('sha256').update(body).digest('hex'));
        assert.equal(receipt.payloadBytes, body.length);
        const { text } = await server.call('GET', `/v1/artifacts/${receipt.payloadSha256}`);
        assert.equal(text, body);
        const { id: own, receivedAt, ...rest } = receipt;
        assert.ok(own && receivedAt);
        assert.deepEqual(rest, {
            repository: 'acme/billing', forge: 'github', deliveryId: id, event: 'issues.labeled',
            subject: 'issue', number: 3, actor: 'ann', via: 'webhook', status: 'applied',
            payloadSha256: receipt.payloadSha256, payloadBytes: body.length, sentAt: null,
        });
    });

    it('count once, however often they are sent at the same time', async () => {
        const id = randomUUID();
        const body = JSON.stringify(issue(4));
        const all = await Promise.all(Array.from({ length: 50 }, () => send(server, { body, id })));
        assert.deepEqual(all.map(({ status }) => status), Array(50).fill(202));
        assert.equal(all.filter(({ json }) => json.status === 'applied').length, 1);
        assert.equal(all.filter(({ json }) => json.status === 'duplicate').length, 49);
        assert.equal(new Set(all.map(({ json }) => json.id)).size, 1);
        assert.equal((await receiptOf(id)).length, 1);
    });

    it('are taken as a form', async () => {
        const id = randomUUID();
        const type = 'application/x-www-form-urlencoded';
        const body = `payload=${encodeURIComponent(JSON.stringify(issue(5)))}`;
        assert.equal((await send(server, { body, id, type })).status, 202);
        assert.equal((await receiptOf(id))[0].number, 5);
        for (const broken of ['payload=%zz', 'other=1', '']) {
            const res = await send(server, { body: broken, type });
            assert.ok([400, 401].includes(res.status), res.text);
        }
        const large = await send(server, { body: `payload=${'a'.repeat(MIB)}`, type });
        assert.equal(large.status, 413, large.text);
        assert.match(large.json.detail, /application\/json/);
        const yaml = await send(server, { body: 'a: 1', type: 'application/yaml' });
        assert.equal(yaml.status, 415);
    });

    it('may be large, up to what GitHub sends', async () => {
        const padding = 'x'.repeat(3 * MIB);
        const id = randomUUID();
        const large = await send(server, { body: issue(6, 'labeled', { padding }), id });
        assert.equal(large.status, 202, large.text);
        assert.ok((await receiptOf(id))[0].payloadBytes > 3 * MIB);
        const refused = await send(server, { body: Buffer.alloc(25 * MIB + 1, 32) });
        assert.equal(refused.status, 413);
        assert.equal(refused.json.code, 'BODY_TOO_LARGE');
        const unsigned = await send(server, { body: Buffer.alloc(2 * MIB, 32), secret: 'guessed' });
        assert.equal(unsigned.status, 401);
    });

    it('say what is wrong with one that is signed and broken', async () => {
        const cut = JSON.stringify({ repository: REPOSITORY, action: 'labeled' }).slice(0, -1);
        for (const body of [cut, 'not json', '[]', '""', 'null', '']) {
            const malformed = await send(server, { body });
            assert.equal(malformed.status, 400, `${body}: ${malformed.text}`);
        }
        const id = randomUUID();
        const body = { repository: REPOSITORY, action: 'opened' };
        const lacks = await send(server, { id, body });
        assert.equal(lacks.status, 202);
        assert.equal(lacks.json.status, 'invalid');
        assert.match((await receiptOf(id))[0].detail, /issue\.number/);
        const text = JSON.stringify(issue(1));
        const headers = { 'content-type': 'application/json', 'x-hub-signature-256': sign(text) };
        const noEvent = await request(`${server.url}/v1/webhooks/github`,
            { method: 'POST', body: text, headers });
        assert.equal(noEvent.status, 400);
        assert.match(noEvent.json.detail, /X-GitHub-Event/);
        assert.equal((await send(server, { body: text, forge: 'bitbucket' })).status, 404);
        assert.equal((await send(server, { body: text, forge: 'local' })).status, 404);
    });

    it('of a kind that drover does not know are recorded and ignored', async () => {
        const body = { action: 'created', repository: REPOSITORY };
        for (const event of ['star', 'never_heard_of']) {
            const id = randomUUID();
            const res = await send(server, { body, event, id });
            assert.equal(res.json.status, 'ignored');
            assert.equal((await receiptOf(id))[0].subject, 'none');
        }
        const ping = await send(server, { body: { zen: 'x', ...body }, event: 'ping' });
        assert.equal(ping.json.status, 'applied');
        const before = (await receipts()).length;
        const general = await send(server, { body: { zen: 'of an organization' }, event: 'ping' });
        assert.equal(general.status, 202);
        assert.equal(general.json.status, 'ignored');
        assert.equal((await receipts()).length, before);
    });

    it('are listed by what is asked', async () => {
        const all = await receipts();
        const ignored = await receipts('&status=ignored');
        assert.equal(ignored.length, 2);
        assert.equal((await receipts('&repository=acme/billing')).length, all.length);
        assert.equal((await receipts('&repository=acme/none')).length, 0);
        assert.equal((await receipts('&event=star.created')).length, 1);
        assert.equal((await receipts('&via=webhook')).length, all.length);
        const paged = await server.list('/v1/webhooks/deliveries?limit=3');
        assert.deepEqual(paged.map(({ id }) => id), all.map(({ id }) => id));
        const bad = await server.call('GET', '/v1/webhooks/deliveries?status=never');
        assert.equal(bad.status, 400);
        const stranger = await server.call('GET', '/v1/webhooks/deliveries', { token: null });
        assert.equal(stranger.status, 401);
    });

    it('in any order, late and doubled, are each recorded once', async () => {
        repo.hook({ url: `${server.url}/v1/webhooks/github`, secret: SECRETS.WEBHOOK_SECRET });
        await hub.settled();
        hub.deliver('hold');
        const [one, two] = [1, 2].map((n) => repo.issue({ title: `Issue ${n}`, by: 'ann' }));
        one.label('drover', 'ann');
        two.comment({ by: 'ann', body: 'hello' });
        one.close('ann');
        const before = (await receipts()).length;
        await hub.release({ order: 'reverse', times: 2 });
        hub.deliver('now');
        await hub.settled();
        const came = (await receipts()).slice(0, -before);
        assert.equal(new Set(came.map(({ deliveryId }) => deliveryId)).size, came.length);
        const events = came.map(({ event }) => event).sort();
        for (const event of ['issues.opened', 'issues.labeled', 'issue_comment.created',
            'issues.closed'])
            assert.ok(events.includes(event), `${event} is not in ${events}`);
        const { sync } = await server.get('/v1/repositories/acme%2Fbilling');
        assert.equal(sync.mode, 'webhooks');
        assert.equal(sync.providerId, String(repo.id));
        assert.ok(sync.lastDeliveryAt);
    });

    it('are found their repository after it was renamed', async () => {
        const before = (await receipts()).length;
        repo.rename('invoices');
        repo.issue({ title: 'Under its new name', by: 'ann' });
        await hub.settled();
        assert.ok((await receipts()).length > before);
        const { sync } = await server.get('/v1/repositories/acme%2Fbilling');
        assert.equal(sync.knownAs, 'acme/invoices');
        assert.equal(sync.name, 'acme/billing');
    });

    it('are shown by drover webhooks', async () => {
        const all = await callDrover(server, ['webhooks']);
        assert.equal(all.status, 0, all.stderr);
        assert.match(all.stdout, /acme\/billing +github +webhooks/);
        const words = ['webhooks', 'acme/billing'];
        const one = await callDrover(server, [...words, '--event', 'star.created']);
        assert.equal(one.status, 0, one.stderr);
        assert.match(one.stdout, /Changes by +webhooks/);
        assert.match(one.stdout, /star\.created .*ignored/);
        assert.doesNotMatch(one.stdout, /issues\.labeled/);
        const json = await callDrover(server, [...words, '--status', 'ignored', '--json']);
        assert.equal(JSON.parse(json.stdout).items.length, 2);
        const none = await callDrover(server, ['webhooks', 'acme/none']);
        assert.equal(none.status, 3);
        const misplaced = await callDrover(server, ['webhooks', '--status', 'ignored']);
        assert.equal(misplaced.status, 2);
    });
});

// Issues that became tasks, by number.
async function tasksOf(server) {
    const tasks = await server.list('/v1/tasks?limit=200');
    return tasks.map((task) => task.issueNumber).filter(Boolean).sort((a, b) => a - b);
}

const INTAKE = { intake: { enabled: true, labels: ['drover'], comment: false } };

async function world(more = {}) {
    const hub = await startHub();
    hub.org('acme', { members: ['bot', 'ann'] });
    const repo = hub.repo('acme/billing', { files: { 'answer.txt': '41\n' } });
    const env = { ...SECRETS, HUB_TOKEN: hub.token('bot') };
    return { hub, repo, env, config: document(hub, repo, { ...INTAKE, ...more }) };
}

describe('deliveries that do not arrive', { concurrency: 1 }, () => {
    // slots: 0 keeps runs from starting, which is not what is tested here.
    const CONFIG = 'limits: {maxActiveRuns: 1}\n';

    it('are found after an hour, each once, whether they failed or were never made', async () => {
        const { hub, repo, env, config } = await world();
        const server = await start({ env, config: CONFIG });
        try {
            await server.configure('acme/billing', config);
            repo.hook({ url: `${server.url}/v1/webhooks/github`, secret: SECRETS.WEBHOOK_SECRET });
            await hub.settled();
            const numbers = [];
            for (const mode of ['outage', 'lost']) {
                hub.deliver(mode);
                for (let i = 0; i < 10; i++) {
                    hub.advance(3 * 60 * 1000);
                    const issue = repo.issue({ title: `${mode} ${i}`, by: 'ann' });
                    issue.label('drover', 'ann');
                    numbers.push(issue.number);
                }
            }
            hub.deliver('now');
            await until('every issue to be a task', async (note) =>
                note(await tasksOf(server)).length >= numbers.length);
            assert.deepEqual(await tasksOf(server), numbers);
            const recovered = await until('all that failed to be fetched', async (note) => {
                const items = await server.list(
                    '/v1/webhooks/deliveries?limit=200&via=recovered&event=issues.labeled');
                return note(items).length === 10 && items;
            });
            assert.equal(new Set(recovered.map(({ deliveryId }) => deliveryId)).size, 10);
            for (const { status, sentAt } of recovered) {
                assert.equal(status, 'applied');
                assert.ok(sentAt);
            }
            const { sync } = await server.get('/v1/repositories/acme%2Fbilling');
            assert.ok(sync.lastMissedAt); // What drover does there may have been delivered since.
            assert.ok(sync.recovered >= 10);
            assert.equal(sync.lastError, null);
            const changes = await server.list(
                '/v1/events?type=agent.repository.sync.changed&limit=200');
            assert.ok(changes.some(({ data }) => data.mode === 'polling'));
        } finally {
            await server.discard();
            await hub.stop();
        }
    });

    it('are found by comparing state, if the token may not list them', async () => {
        const { hub, repo, env, config } = await world();
        const permissions = { metadata: 'read', contents: 'write', issues: 'write',
            pull_requests: 'write' };
        env.HUB_TOKEN = hub.token('bot', { permissions });
        const server = await start({ env, config: CONFIG });
        try {
            await server.configure('acme/billing', config);
            repo.hook({ url: `${server.url}/v1/webhooks/github`, secret: SECRETS.WEBHOOK_SECRET });
            await hub.settled();
            hub.deliver('outage');
            const issue = repo.issue({ title: 'Nobody told', by: 'ann' });
            issue.label('drover', 'ann');
            await until('the issue to be a task', async () => (await tasksOf(server)).length > 0);
            assert.deepEqual(await tasksOf(server), [issue.number]);
            const { sync } = await server.get('/v1/repositories/acme%2Fbilling');
            assert.ok(sync.deliveriesError, JSON.stringify(sync));
            assert.equal(sync.lastError, null);
        } finally {
            await server.discard();
            await hub.stop();
        }
    });

    it('are found by a server that was away', async () => {
        const { hub, repo, env, config } = await world({ sync: { everyMs: 86400000 } });
        const server = await start({ env, config: CONFIG });
        try {
            await server.configure('acme/billing', config);
            repo.hook({ url: `${server.url}/v1/webhooks/github`, secret: SECRETS.WEBHOOK_SECRET });
            await hub.settled();
            await until('the first sync', async () =>
                (await server.get('/v1/repositories/acme%2Fbilling')).sync.lastSyncAt);
            await server.crash();
            const issue = repo.issue({ title: 'While it was away', by: 'ann' });
            issue.label('drover', 'ann');
            await hub.settled();
            await server.startAgain();
            await until('the issue to be a task', async () => (await tasksOf(server)).length > 0);
            assert.deepEqual(await tasksOf(server), [issue.number]);
            await until('the delivery to be fetched', async (note) => {
                const items = note(await server.list('/v1/webhooks/deliveries?via=recovered'));
                return items.some(({ event }) => event === 'issues.labeled');
            });
        } finally {
            await server.discard();
            await hub.stop();
        }
    });

    it('do not lose their effect when the server is killed after its answer', async () => {
        const { hub, repo, env, config } = await world({ sync: { everyMs: 86400000 } });
        const server = await start({ env, config: CONFIG });
        try {
            await server.configure('acme/billing', config);
            hub.deliver('lost');
            const issue = repo.issue({ title: 'Told by hand', by: 'ann' });
            issue.label('drover', 'ann');
            const body = { action: 'labeled', issue: { number: issue.number },
                repository: { id: repo.id, full_name: 'acme/billing' } };
            const id = randomUUID();
            const res = await send(server, { body, id });
            assert.equal(res.status, 202, res.text);
            await server.crash();
            const crashed = new Date().toISOString();
            await server.startAgain();
            await until('the issue to be a task', async () => (await tasksOf(server)).length > 0);
            const jobs = await server.list('/v1/jobs?queue=drover.issue');
            assert.ok(jobs.at(-1).createdAt < crashed, 'the sync at the start made the job');
            assert.equal((await send(server, { body, id })).json.status, 'duplicate');
            assert.deepEqual(await tasksOf(server), [issue.number]);
        } finally {
            await server.discard();
            await hub.stop();
        }
    });
});

describe('deliveries while the server is killed', { concurrency: 1 }, () => {
    it('have one receipt each once they were sent again', async () => {
        const { hub, repo, env, config } = await world({ sync: { everyMs: 86400000 } });
        const server = await start({ env });
        try {
            await server.configure('acme/billing', config);
            const repository = { id: repo.id, full_name: 'acme/billing' };
            const all = Array.from({ length: 60 }, (_, i) => ({ id: `kill-${i}`,
                body: { action: 'labeled', issue: { number: 1000 + i }, repository } }));
            const sent = all.map((each) => send(server, each).catch(() => null));
            await sent[10];
            await server.crash();
            const answers = await Promise.all(sent);
            await server.startAgain();
            const taken = async () => {
                const items = await server.list('/v1/webhooks/deliveries?limit=200');
                return items.map(({ deliveryId }) => deliveryId);
            };
            const kept = new Set(await taken());
            for (const [i, answer] of answers.entries())
                if (answer?.status === 202) assert.ok(kept.has(`kill-${i}`), `${i} was lost`);
            const again = await Promise.all(all.map((each) => send(server, each)));
            for (const [i, { json }] of again.entries())
                assert.equal(json.status, kept.has(`kill-${i}`) ? 'duplicate' : 'applied');
            assert.deepEqual((await taken()).sort(), all.map(({ id }) => id).sort());
            const looks = await server.list('/v1/jobs?queue=drover.issue&limit=200');
            const jobs = await Promise.all(looks.map(({ id }) => server.get(`/v1/jobs/${id}`)));
            const numbers = jobs.map(({ payload }) => payload.number).sort();
            assert.deepEqual(numbers, all.map(({ body }) => body.issue.number));
        } finally {
            await server.discard();
            await hub.stop();
        }
    });
});

// The forge cannot be reached: what is tested is who may send.
describe('deliveries of other forges', { concurrency: 1 }, () => {
    const NOWHERE = 'http://127.0.0.1:9/acme/billing.git';
    const PUSH = { ref: 'refs/heads/main', after: 'a'.repeat(40) };
    const GITEA = { ...PUSH, repository: { id: 7, full_name: 'Acme/Billing' } };
    const GITLAB = { object_kind: 'push', ...PUSH,
        project: { id: 7, path_with_namespace: 'acme/billing' } };
    const hex = (text) => createHmac('sha256', SECRETS.WEBHOOK_SECRET).update(text).digest('hex');
    const forges = [
        ['gitlab', GITLAB, (text, good) => ({ 'x-gitlab-event': 'Push Hook',
            'x-gitlab-token': good ? SECRETS.WEBHOOK_SECRET : 'guessed' })],
        ['gitea', GITEA, (text, good) => ({ 'x-gitea-event': 'push',
            'x-gitea-delivery': 'one', 'x-gitea-signature': hex(good ? text : 'other') })],
        ['forgejo', GITEA, (text, good) => ({ 'x-gitea-event': 'push',
            'x-gitea-delivery': 'one', 'x-gitea-signature': hex(good ? text : 'other') })],
    ];
    for (const [forge, payload, headersOf] of forges) {
        withServer(`are signed as ${forge} does`, { env: SECRETS }, async (server) => {
            await server.configure('acme/billing', { url: NOWHERE, forge, agent: AGENT,
                webhook: { secret: 'WEBHOOK_SECRET' }, sync: { everyMs: 86400000 } });
            const body = JSON.stringify(payload);
            const post = (good, to = forge) => request(`${server.url}/v1/webhooks/${to}`,
                { method: 'POST', body, headers: headersOf(body, good) });
            assert.equal((await post(false)).status, 401);
            const taken = await post(true);
            assert.equal(taken.status, 202, taken.text);
            assert.equal(taken.json.status, 'applied');
            assert.equal((await post(true)).json.status, 'duplicate');
            const [receipt] = await server.list('/v1/webhooks/deliveries');
            assert.equal(receipt.subject, 'branch');
            assert.equal(receipt.ref, 'main');
            assert.equal(receipt.forge, forge);
            const elsewhere = await post(true, 'github');
            assert.ok([400, 401].includes(elsewhere.status), elsewhere.text);
        });
    }
});

describe('the webhook of an App', { concurrency: 2 }, () => {
    // A worker elsewhere has no key of the App: the server asks for it.
    for (const remote of [false, true]) {
        const where = remote ? 'another process' : 'the server';
        it(`serves its repositories, and what it loses is fetched by ${where}`, async () => {
            const { hub, repo, env, config } = await world();
            const server = await start({ env,
                config: `limits: {maxActiveRuns: 1}\n${remote ? 'workers: 0\n' : ''}` });
            const worker = remote ? await new RemoteWorker(server, { name: 'far' }).start() : null;
            try {
                const app = hub.app({ slug: 'drover', permissions: { metadata: 'read',
                    issues: 'write', contents: 'write', pull_requests: 'write' },
                hook: { url: `${server.url}/v1/webhooks/github`,
                    secret: SECRETS.WEBHOOK_SECRET } });
                const other = hub.repo('acme/other', { files: { 'answer.txt': '41\n' } });
                app.install('acme', ['acme/billing', 'acme/other']);
                const keyFile = join(server.dir, 'app.pem');
                writeFileSync(keyFile, app.privateKey, { mode: 0o600 });
                await server.configure('acme/billing',
                    { ...config, credentials: { app: { id: app.id, keyFile } } });
                const first = repo.issue({ title: 'Told', by: 'ann' });
                first.label('drover', 'ann');
                await hub.settled();
                const told = await server.list('/v1/webhooks/deliveries?event=issues.labeled');
                assert.deepEqual(told.map(({ number, via }) => [number, via]),
                    [[first.number, 'webhook']]);
                hub.deliver('outage');
                other.issue({ title: 'Of others', by: 'ann' }).label('drover', 'ann');
                const second = repo.issue({ title: 'Not told', by: 'ann' });
                second.label('drover', 'ann');
                await until('both to be tasks', async (note) =>
                    note(await tasksOf(server)).length === 2);
                assert.deepEqual(await tasksOf(server), [first.number, second.number]);
                const fetched = await until('what did not arrive to be fetched', async (note) => {
                    const items = note(await server.list(
                        '/v1/webhooks/deliveries?via=recovered&event=issues.labeled'));
                    return items.length > 0 && items;
                });
                assert.deepEqual(fetched.map(({ number, status, repository }) =>
                    [number, status, repository]), [[second.number, 'applied', 'acme/billing']]);
                const { sync } = await server.get('/v1/repositories/acme%2Fbilling');
                assert.deepEqual([sync.lastError, sync.deliveriesError ?? null], [null, null]);
                // Its own payloads, and no list of the webhooks of the repository.
                const labelled = app.hook.deliveries.filter(({ event, action, repositoryId }) =>
                    event === 'issues' && action === 'labeled' && repositoryId === other.id);
                assert.equal(labelled.length, 1);
                assert.deepEqual(hub.calls('GET', `/app/hook/deliveries/${labelled[0].id}`), []);
                assert.deepEqual(hub.calls('GET', /\/repos\/acme\/billing\/hooks/), []);
            } finally {
                await worker?.stop();
                await server.discard();
                await hub.stop();
            }
        });
    }
});

describe('without webhooks', { concurrency: 1 }, () => {
    it('the forge is polled, and unchanged lists cost nothing', async () => {
        const { hub, repo, env, config } = await world({ webhook: {} });
        const server = await start({ env, config: 'limits: {maxActiveRuns: 1}\n' });
        try {
            await server.configure('acme/billing', config);
            const issue = repo.issue({ title: 'Polled', by: 'ann' });
            issue.label('drover', 'ann');
            await until('the issue to be a task', async () => (await tasksOf(server)).length > 0);
            assert.deepEqual(await tasksOf(server), [issue.number]);
            await until('an answer of 304', () =>
                hub.requests.some(({ method, status }) => method === 'GET' && status === 304));
            const { sync } = await server.get('/v1/repositories/acme%2Fbilling');
            assert.equal(sync.mode, 'polling');
            assert.equal(sync.lastDeliveryAt, null);
            assert.deepEqual(await server.list('/v1/webhooks/deliveries'), []);
            const [listed] = await server.list('/v1/webhooks/syncs');
            assert.equal(listed.repository, 'acme/billing');
        } finally {
            await server.discard();
            await hub.stop();
        }
    });
});

const SLOW = { config: 'limits: {webhooksPerSecond: 1}\n' };
withServer('an address that sends too much is told to wait', SLOW, async (server) => {
    const all = [];
    for (let i = 0; i < 30; i++) all.push(await send(server, { body: issue(1) }));
    const statuses = new Set(all.map(({ status }) => status));
    assert.deepEqual([...statuses].sort(), [401, 429]);
    const late = all.find(({ status }) => status === 429);
    assert.equal(late.json.code, 'RATE_LIMITED');
    assert.ok(Number(late.headers['retry-after']) >= 1);
    const health = await server.call('GET', '/healthz', { token: null });
    assert.equal(health.status, 200);
});
