// once.mjs - what must hold of a completed task whatever happened on its way.
import assert from 'node:assert/strict';
import { assertHistory } from './cloudevents.mjs';
import { branches, git, refs } from './git.mjs';

// As many branches and pull requests in each of the repositories as it had tasks: {repo}.
export function assertNoneTwice(repos, tasks) {
    for (const repo of repos) {
        const mine = tasks.filter((task) => task.repo === repo).length;
        assert.equal(branches(repo.origin).length, mine);
        assert.equal(pullsOf(repo.origin).length, mine);
    }
}

const pullsOf = (origin) => Object.keys(refs(origin)).filter((ref) => ref.startsWith('refs/pull/'));

// One branch with the right answer, one pull request, a history without gaps: resolves with that.
export async function assertDoneOnce(server, { taskId, runId, repo }) {
    const run = await server.run(runId);
    assert.equal(run.status, 'completed');
    assert.deepEqual(branches(repo.origin), [`refs/heads/${run.branch}`]);
    assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
    const prs = await server.pullRequests(repo.name);
    assert.deepEqual(prs.map((pr) => [pr.number, pr.taskId]), [[1, taskId]]);
    assert.deepEqual(pullsOf(repo.origin), ['refs/pull/1/head']);
    const events = await server.events(runId);
    assertHistory(events);
    for (const once of ['agent.task.submitted', 'agent.pr.created', 'agent.run.completed'])
        assert.equal(events.filter(({ type }) => type === once).length, 1, once);
    return events;
}
