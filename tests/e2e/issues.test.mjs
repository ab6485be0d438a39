// issues.test.mjs - issues of the local forge: opened, listed, read, commented and closed.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { RFC3339, assertCloudEvent } from './lib/cloudevents.mjs';
import { fixes, git, refs } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';

let server;
let names = 0;

async function repository(agent = fixes) {
    return server.repository(`acme/issues${++names}`, agent);
}

const open = (repo, more = {}) =>
    server.post('/v1/issues', { repository: repo.name, title: 'The answer is wrong', ...more });
const read = (repo, number) =>
    server.get(`/v1/issues/${number}?repository=${encodeURIComponent(repo.name)}`);
const comment = (repo, number, body) =>
    server.post(`/v1/issues/${number}/comments`, { repository: repo.name, body });

const drover = (args, input) => callDrover(server, args, input);

describe('issues', { concurrency: 4 }, () => {
    before(async () => (server = await start({ args: ['--workers', '2'] })));
    after(() => server.discard());

    it('are opened and commented, and read back as they were said', async () => {
        const repo = await repository();
        const body = 'It says 41.\n\n```\n{"event": "opened"}\n```\nü ☃\t\u0001';
        const made = await open(repo, { body, labels: ['bug', 'sla:1h'] });
        assert.equal(made.number, 1);
        assert.equal(made.state, 'open');
        await comment(repo, 1, 'I see that too.');
        const last = await comment(repo, 1, 'So\ndo I.');
        const issue = await read(repo, 1);
        assert.deepEqual(last, issue);
        assert.equal(issue.repository, repo.name);
        assert.equal(issue.title, 'The answer is wrong');
        assert.equal(issue.body, body);
        assert.deepEqual(issue.labels, ['bug', 'sla:1h']);
        assert.equal(issue.author, 'admin');
        assert.equal(issue.commentCount, 2);
        assert.deepEqual(issue.comments.map((each) => each.body), ['I see that too.', 'So\ndo I.']);
        for (const time of [issue.createdAt, issue.updatedAt, issue.comments[0].createdAt])
            assert.match(time, RFC3339);
    });

    it('live in the repository, their history with them', async () => {
        const repo = await repository();
        await open(repo);
        await comment(repo, 1, 'Me too.');
        assert.ok(refs(repo.origin)['refs/drover/issues/1']);
        assert.equal(git(repo.origin, 'rev-list', '--count', 'refs/drover/issues/1'), '2');
        // Whoever has the refs has the issues: a copy of the repository under another name.
        const copy = `${repo.origin}.copy`;
        git(server.dir, 'clone', '--quiet', '--mirror', repo.origin, copy);
        await server.configure(`${repo.name}-copy`, { ...repo.document, url: copy });
        const issue = await read({ name: `${repo.name}-copy` }, 1);
        assert.deepEqual(issue.comments.map((each) => each.body), ['Me too.']);
    });

    it('have numbers of their own, however many come at once', async () => {
        const repo = await repository();
        const made = await Promise.all(Array.from({ length: 8 }, (_, i) =>
            open(repo, { title: `issue ${i}` })));
        assert.deepEqual(made.map(({ number }) => number).sort((a, b) => a - b),
            [1, 2, 3, 4, 5, 6, 7, 8]);
        await Promise.all(Array.from({ length: 5 }, (_, i) => comment(repo, 3, `comment ${i}`)));
        assert.equal((await read(repo, 3)).comments.length, 5);
        const path = `/v1/issues?repository=${encodeURIComponent(repo.name)}`;
        const pages = await server.list(`${path}&limit=3`);
        assert.deepEqual(pages.map(({ number }) => number), [8, 7, 6, 5, 4, 3, 2, 1]);
        assert.equal(pages.find(({ number }) => number === 3).commentCount, 5);
        assert.ok(!('body' in pages[0]), 'a listing has no bodies');
        assert.deepEqual(await server.list(`${path}&state=closed`), []);
    });

    it('are told of in the log', async () => {
        const repo = await repository();
        await open(repo, { labels: ['bug'] });
        await comment(repo, 1, 'Me too.');
        const events = (await server.list('/v1/events?type=agent.issue.*&limit=200'))
            .filter(({ data }) => data.repository === repo.name);
        events.forEach(assertCloudEvent);
        assert.deepEqual(events.map(({ type }) => type).sort(),
            ['agent.issue.commented', 'agent.issue.created']);
        const created = events.find(({ type }) => type === 'agent.issue.created');
        assert.equal(created.subject, `issue/${repo.name}/1`);
        assert.equal(created.data.number, 1);
        assert.deepEqual(created.data.labels, ['bug']);
        const commented = events.find(({ type }) => type === 'agent.issue.commented');
        assert.equal(commented.data.commentNo, 1);
    });

    it('are closed and opened again, and stay to be read', async () => {
        const repo = await repository();
        await open(repo);
        const act = (action, number = 1) => server.call('POST', `/v1/issues/${number}/${action}`,
            { body: { repository: repo.name } });
        assertProblem(await act('reopen'), 409, { code: 'ISSUE_OPEN' });
        const closed = await act('close');
        assert.equal(closed.status, 200, closed.text);
        assert.equal(closed.json.state, 'closed');
        assertProblem(await act('close'), 409, { code: 'ISSUE_CLOSED' });
        assertProblem(await act('close', 2), 404, { code: 'ISSUE_NOT_FOUND' });
        assert.equal((await comment(repo, 1, 'It was the cache.')).state, 'closed');
        assert.equal((await act('reopen')).json.state, 'open');
        assert.deepEqual((await read(repo, 1)).comments.map((each) => each.body),
            ['It was the cache.']);
        const events = await server.list('/v1/events?type=agent.issue.*&limit=200');
        assert.deepEqual(events.filter(({ data }) => data.repository === repo.name)
            .map(({ type }) => type.split('.').pop()),
        ['created', 'closed', 'commented', 'reopened']);
    });

    it('are refused with a reason when something is wrong', async () => {
        const repo = await repository();
        const post = (path, body) => server.call('POST', path, { body });
        assertProblem(await post('/v1/issues', { repository: repo.name }), 422,
            { code: 'MISSING_FIELD', field: 'title' });
        assertProblem(await post('/v1/issues', { repository: repo.name, title: 'x', colour: 1 }),
            422, { code: 'UNKNOWN_FIELD', field: 'colour' });
        assertProblem(await post('/v1/issues', { repository: 'no/body', title: 'x' }), 404,
            { code: 'REPO_NOT_FOUND' });
        assertProblem(await post('/v1/issues', { repository: repo.name, title: 'x'.repeat(301) }),
            422, { field: 'title' });
        assertProblem(await post('/v1/issues/9/comments', { repository: repo.name, body: 'x' }),
            404, { code: 'ISSUE_NOT_FOUND' });
        assertProblem(await server.call('GET', '/v1/issues'), 422, { field: 'repository' });
        assertProblem(await server.call('GET', '/v1/issues/0?repository=x'), 400);
        assertProblem(await server.call('GET', '/v1/issues?repository=x&state=odd'), 400,
            { field: 'state' });
    });

    it('become pull requests: a task that is nothing but an issue', async () => {
        const repo = await repository(
            `grep -q 'It says 41' "$DROVER_PROMPT" && echo 42 >answer.txt\n`);
        await open(repo, { body: 'It says 41, and it should say 42.' });
        const { run } = await server.finish(repo.name, 'completed',
            { description: undefined, issueNumber: 1 });
        assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
    });

    it('can be worked with on the command line', async () => {
        const repo = await repository();
        const made = await drover(['issue', 'new', '--repo', repo.name, '--title', 'From a shell',
            '--label', 'cli', '-'], 'Read from\nstandard input.\n');
        assert.equal(made.status, 0, made.stderr);
        assert.equal(made.stdout, 'Issue #1 is open.\n');
        const said = await drover(
            ['issue', 'comment', '#1', '--repo', repo.name, 'So', 'it', 'is']);
        assert.equal(said.stdout, 'Issue #1 has your comment.\n');
        const list = await drover(['issue', 'list', '--repo', repo.name]);
        assert.match(list.stdout, /#1\s+open\s+\S.*1\s+From a shell/);
        const shown = await drover(['issue', 'show', '1', '--repo', repo.name]);
        for (const text of ['#1 From a shell', 'Read from\nstandard input.', 'So it is', 'cli'])
            assert.ok(shown.stdout.includes(text), shown.stdout);
        const json = await drover(['issue', 'show', '1', '--repo', repo.name, '--json']);
        assert.equal(JSON.parse(json.stdout).comments[0].body, 'So it is');
        const missing = await drover(['issue', 'show', '7', '--repo', repo.name]);
        assert.equal(missing.status, 3);
        assert.match(missing.stderr, /no issue 7/);
        assert.equal((await drover(['issue', 'list'])).status, 2);
        const shut = await drover(['issue', 'close', '1', '--repo', repo.name]);
        assert.equal(shut.stdout, 'Issue #1 is closed.\n', shut.stderr);
        const listed = async (...more) =>
            (await drover(['issue', 'list', '--repo', repo.name, ...more])).stdout;
        assert.match(await listed(), /^No such issues/);
        for (const more of [['--all'], ['--state', 'closed']])
            assert.match(await listed(...more), /#1\s+closed\s.*From a shell/);
        assert.equal((await drover(['issue', 'close', '1', '--repo', repo.name])).status, 4);
        const again = await drover(['issue', 'reopen', '1', '--repo', repo.name]);
        assert.equal(again.stdout, 'Issue #1 is open.\n', again.stderr);
        assert.match(await listed(), /#1\s+open\s.*From a shell/);
    });
});
