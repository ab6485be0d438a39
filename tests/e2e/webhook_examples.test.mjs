// Every example of a delivery that GitHub publishes (@octokit/webhooks-examples) is taken, or
// refused with a reason.  HUB_CONTRACT_DIR is where tests/hub/contract/install has put the packages.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { request } from './lib/http.mjs';
import { start } from './lib/server.mjs';

const DIR = process.env.HUB_CONTRACT_DIR ?? 'build/hub-contract';
const FILE = join(DIR, 'node_modules/@octokit/webhooks-examples/api.github.com/index.json');
const SECRET = 'of the examples';
// The forge cannot be reached: what is tested is what deliveries mean.
const NOWHERE = 'http://127.0.0.1:9';

describe('examples of deliveries', { skip: !existsSync(FILE) && `there is no ${FILE}` }, () => {
    it('are all taken, and those about issues, pull requests and checks are applied', async () => {
        const kinds = JSON.parse(readFileSync(FILE, 'utf8'));
        const all = kinds.flatMap(({ name, examples }) =>
            examples.map((payload) => ({ event: name, payload })));
        const server = await start({ env: { SECRET },
            config: 'limits: {webhooksPerSecond: 0}\n' });
        const names = new Set(all.map(({ payload }) => payload.repository?.full_name));
        for (const name of names)
            if (name)
                await server.configure(name, { url: `${NOWHERE}/${name}.git`, forge: 'github',
                    agent: { command: ['true'] }, webhook: { secret: 'SECRET' },
                    sync: { everyMs: 86400000 } });
        const applied = new Set(), statuses = {};
        for (const [i, { event, payload }] of all.entries()) {
            const body = JSON.stringify(payload);
            const signature = createHmac('sha256', SECRET).update(body).digest('hex');
            const res = await request(`${server.url}/v1/webhooks/github`, { method: 'POST', body,
                headers: { 'x-github-event': event, 'x-github-delivery': `example-${i}`,
                    'x-hub-signature-256': `sha256=${signature}` } });
            const what = `${event}.${payload.action}: ${res.text}`;
            assert.equal(res.status, 202, what);
            assert.ok(['applied', 'ignored'].includes(res.json.status), what);
            statuses[res.json.status] = (statuses[res.json.status] ?? 0) + 1;
            if (res.json.status === 'applied') applied.add(event);
        }
        for (const event of ['check_run', 'check_suite', 'issue_comment', 'issues', 'merge_group',
            'ping', 'pull_request', 'pull_request_review', 'pull_request_review_comment',
            'pull_request_review_thread', 'push', 'status', 'workflow_job', 'workflow_run'])
            assert.ok(applied.has(event) || !all.some((each) => each.event === event), event);
        assert.ok(statuses.applied > 100, JSON.stringify(statuses));
        const receipts = await server.list('/v1/webhooks/deliveries?limit=200&status=invalid');
        assert.deepEqual(receipts, []);
        await server.discard();
    });
});
