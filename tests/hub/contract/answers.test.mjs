// answers.test.mjs - every answer and every webhook of the hub is as GitHub describes it, and every
// request of GitHub's own client is understood.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Description } from './lib/description.mjs';
import { module } from './lib/packages.mjs';
import { makeTour, walk } from './lib/tour.mjs';

describe('a tour of the hub by Octokit', () => {
    let tour, description;
    before(async () => {
        description = new Description();
        tour = await makeTour();
        await walk(tour);
    });
    after(() => tour.hub.stop());

    const calls = () => tour.hub.requests.filter(({ kind, path }) => kind === 'api'
        && path !== '/graphql');

    it('meets every route, and each succeeds at least once', () => {
        const met = new Set(calls().filter(({ status }) => status < 400)
            .map(({ method, route }) => `${method} ${route}`));
        const missed = tour.hub.front.routes.all.map(({ method, template }) =>
            `${method} ${template}`).filter((route) => !met.has(route));
        assert.deepEqual(missed, []);
    });

    it('gets answers that the description describes', () => {
        const wrong = calls().filter(({ status }) => status !== 301)
            .flatMap((call) => description.answer(call));
        assert.deepEqual([...new Set(wrong)], []);
    });

    it('makes requests that the description describes', () => {
        const wrong = calls().filter(({ status }) => status < 400)
            .flatMap((call) => description.request(call));
        assert.deepEqual([...new Set(wrong)], []);
    });

    it('sends webhooks that the description describes', () => {
        const wrong = tour.hub.webhooks.sent.flatMap(({ event, payload }) =>
            description.payload(event, payload));
        assert.deepEqual([...new Set(wrong)], []);
        const events = new Set(tour.hub.webhooks.sent.map(({ event }) => event));
        for (const each of ['ping', 'push', 'create', 'delete', 'issues', 'issue_comment',
            'pull_request', 'pull_request_review', 'pull_request_review_comment',
            'pull_request_review_thread', 'check_run', 'check_suite', 'status', 'workflow_run',
            'workflow_job', 'repository']) assert.ok(events.has(each), each);
    });

    it('signs webhooks so that Octokit verifies them', async () => {
        const { verify } = await module('@octokit/webhooks-methods');
        for (const { hook, text, headers } of tour.hub.webhooks.sent) {
            assert.ok(await verify(hook.secret, text, headers['x-hub-signature-256']));
            assert.ok(!await verify('other', text, headers['x-hub-signature-256']));
        }
    });
});
