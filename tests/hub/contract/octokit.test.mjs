// octokit.test.mjs - GitHub's own client sees what drover has done.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fixes } from '../../e2e/lib/git.mjs';
import { onboard, startWithHub } from '../../e2e/lib/github.mjs';
import { octokitFor } from './lib/tour.mjs';

describe('what drover has done', () => {
    it('is what Octokit sees', async () => {
        const all = await startWithHub();
        const { hub, server } = all;
        try {
            const { name, repo } = await onboard(all, 'acme/seen', fixes, { hook: false,
                pullRequest: { labels: ['drover'], reviewers: ['ann'], draft: false } });
            const { run } = await server.finish(name, 'completed');
            const octokit = await octokitFor(hub, hub.token('ann'));
            const web = { owner: 'acme', repo: 'seen' };
            const { data: pulls } = await octokit.rest.pulls.list({ ...web, state: 'all' });
            assert.equal(pulls.length, 1);
            const { data: pull } = await octokit.rest.pulls.get({ ...web,
                pull_number: pulls[0].number });
            assert.equal(pull.number, run.pullRequest.number);
            assert.equal(pull.head.sha, run.pullRequest.headCommit ?? pull.head.sha);
            assert.equal(pull.head.ref, run.branch);
            assert.equal(pull.base.ref, 'main');
            assert.equal(pull.draft, false);
            assert.deepEqual(pull.labels.map((label) => label.name), ['drover']);
            assert.deepEqual(pull.requested_reviewers.map(({ login }) => login), ['ann']);
            const { data: files } = await octokit.rest.pulls.listFiles({ ...web,
                pull_number: pull.number });
            assert.deepEqual(files.map(({ filename, status }) => [filename, status]),
                [['answer.txt', 'modified']]);
            const { data: status } = await octokit.rest.repos.getCombinedStatusForRef({ ...web,
                ref: pull.head.sha });
            assert.equal(status.state, 'success');
            assert.equal(repo.pulls.length, 1);
        } finally {
            await all.stop();
        }
    });

    it('is what Octokit sees of an App, too', async () => {
        const all = await startWithHub();
        const { hub, server } = all;
        try {
            const { app, credentials } = await all.app();
            const { name } = await onboard(all, 'acme/app', fixes, { hook: false, credentials,
                collaborators: {} });
            await server.finish(name, 'completed');
            const octokit = await octokitFor(hub, hub.token('ann'));
            const web = { owner: 'acme', repo: 'app' };
            const { data: [pull] } = await octokit.rest.pulls.list(web);
            assert.equal(pull.user.login, 'drover[bot]');
            const { data } = await octokit.rest.checks.listForRef({ ...web, ref: pull.head.sha });
            assert.deepEqual(data.check_runs.map((run) => [run.app.slug, run.conclusion]),
                [[app.slug, 'success']]);
            const tokens = [...hub.world.tokens.values()].filter(({ kind }) =>
                kind === 'installation');
            assert.ok(tokens.length > 0);
            for (const { repos } of tokens)
                assert.deepEqual(repos, [hub.repo('acme/app').id], 'for one repository only');
            assert.ok(tokens.some(({ permissions }) => permissions.contents === 'read'));
        } finally {
            await all.stop();
        }
    });
});
