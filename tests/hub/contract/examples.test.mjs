// examples.test.mjs - every example payload of GitHub's webhooks is taken by a drover server, or
// refused with a reason.
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { SECRET, startWithHub } from '../../e2e/lib/github.mjs';
import { request } from '../../e2e/lib/http.mjs';
import { json, module } from './lib/packages.mjs';

const EXAMPLES = '@octokit/webhooks-examples/api.github.com/index.json';

describe('the example payloads of GitHub', () => {
    let all, examples;
    before(async () => {
        all = await startWithHub();
        examples = json(EXAMPLES).flatMap(({ name, examples: own }) =>
            own.map((payload) => ({ event: name, payload })));
        const names = new Set(examples.map(({ payload }) => payload.repository?.full_name)
            .filter(Boolean));
        for (const name of names) {
            const repo = all.hub.repo(name, {});
            await all.server.configure(name, { url: all.hub.gitUrl(repo), forge: 'github',
                api: all.hub.apiUrl, credentials: { forge: 'HUB_TOKEN' },
                webhook: { secret: 'HUB_SECRET' }, verify: [{ name: 'unit', command: 'true' }],
                agent: { command: ['/bin/true'], adapter: 'ndjson' } });
        }
    });
    after(() => all.stop());

    const deliver = (event, text, { secret = SECRET, id = randomUUID() } = {}) => request(
        `${all.server.url}/v1/webhooks/github`, { method: 'POST', body: text, headers: {
            'content-type': 'application/json', 'x-github-event': event,
            'x-github-delivery': id, 'x-hub-signature-256':
                `sha256=${createHmac('sha256', secret).update(text).digest('hex')}` } });

    it('are answered with 2xx, or with a clear 4xx', async () => {
        const counts = {};
        for (const { event, payload } of examples) {
            const res = await deliver(event, JSON.stringify(payload));
            counts[res.status] = (counts[res.status] ?? 0) + 1;
            const what = `${event} ${payload.action ?? ''}: ${res.status} ${res.text}`;
            if (res.status >= 200 && res.status < 300) continue;
            assert.ok(res.status >= 400 && res.status < 500, what);
            assert.ok(res.json?.code && res.json.detail?.length > 20, what);
            assert.ok(!payload.repository, `of a repository that is known: ${what}`);
        }
        assert.ok(counts[202] > 250, JSON.stringify(counts));
    });

    it('are taken once, however often they come', async () => {
        const [{ event, payload }] = examples.filter((each) => each.event === 'issues');
        const [text, id] = [JSON.stringify(payload), randomUUID()];
        const first = await deliver(event, text, { id });
        const second = await deliver(event, text, { id });
        assert.equal(first.status, 202);
        assert.ok(second.status >= 200 && second.status < 300, second.text);
        assert.notDeepEqual(second.json, first.json);
    });

    it('are refused with another secret, all of them', async () => {
        for (const { event, payload } of examples) {
            const res = await deliver(event, JSON.stringify(payload), { secret: 'another' });
            assert.ok(res.status >= 400 && res.status < 500, `${event}: ${res.status}`);
        }
    });

    it('are signed by Octokit as drover expects it', async () => {
        const { sign } = await module('@octokit/webhooks-methods');
        const { event, payload } = examples.find((each) => each.event === 'push');
        const text = JSON.stringify(payload);
        const res = await request(`${all.server.url}/v1/webhooks/github`, { method: 'POST',
            body: text, headers: { 'content-type': 'application/json', 'x-github-event': event,
                'x-github-delivery': randomUUID(),
                'x-hub-signature-256': await sign(SECRET, text) } });
        assert.equal(res.status, 202, res.text);
    });
});
