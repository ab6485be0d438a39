// forge_kinds.mjs - the hosted forges of the tests behind one interface, for forges.test.mjs.
//
// A world is one forge that runs, with the repository acme/billing:
//   name, forge, repo, url, api, token       how drover gets there
//   pulls()                                  [{number, title, body, labels, reviewers, draft,
//                                              state, merged, head, sha}]
//   issue({title, body, by}), comments(number)
//   checks(sha)                              [{name, state}], state: passed, failed, pending
//   paths                                    {create, find, comment, ...}: RegExps of the API
import { startHub } from '../../hub/hub.mjs';
import { FILES } from './git.mjs';
import { startGitea } from './gitea.mjs';
import { startGitlab } from './gitlab.mjs';

// Of drover at each of them: many can be behind one server.
export const TOKEN = 'token-of-drover-at-the-forges';

const PASSED = { success: 'passed', passed: 'passed', failure: 'failed', failed: 'failed' };
const stateOf = (word) => PASSED[word] ?? 'pending';

class World {
    async stop() {
        await this.forge.stop();
    }

    fail(rule) {
        return this.forge.fail(rule);
    }

    // So many requests of the API have changed something.
    calls(method, path) {
        return this.forge.requests.filter((each) => each.kind === 'api' && each.method === method
            && path.test(each.path) && each.status >= 200 && each.status < 300).length;
    }

    get main() {
        return this.repo.head('main');
    }

    openPull(want) {
        return this.repo.openPull(want);
    }

    // That drover has pushed.
    branches() {
        return [...this.repo.bare.refs().keys()].filter((ref) =>
            ref.startsWith('refs/heads/drover/')).map((ref) => ref.slice('refs/heads/'.length));
    }
}

class GithubWorld extends World {
    async start() {
        this.forge = await startHub({ lazyMergeable: false });
        this.forge.org('acme', { members: ['ann'] });
        this.repo = this.forge.repo('acme/billing', { files: FILES,
            collaborators: { bot: 'write', ann: 'write' } });
        this.forge.token('bot', { text: this.token });
        this.url = this.forge.gitUrl(this.repo);
        this.api = this.forge.apiUrl;
        this.paths = { create: /\/pulls$/, find: /\/pulls$/, merge: /\/pulls\/\d+\/merge$/,
            comment: /\/issues\/\d+\/comments$/ };
        return this;
    }

    pulls() {
        return this.repo.pulls.map((pull) => ({ number: pull.number, title: pull.title,
            body: pull.body, labels: pull.labels.map(({ name }) => name), draft: pull.draft,
            reviewers: pull.requested.map(({ login }) => login), state: pull.state,
            merged: pull.merged, head: pull.headRef, sha: pull.headSha }));
    }

    issue({ labels = [], ...want }) {
        const issue = this.repo.issue(want);
        for (const name of labels) issue.label(name, want.by);
        return issue.number;
    }

    say(number, { by, body }) {
        this.repo.issue(number).comment({ by, body });
    }

    label(number, name, by) {
        this.repo.issue(number).label(name, by);
    }

    comments(number) {
        return this.repo.issue(number).comments.map(({ user, body }) => ({ by: user.login, body }));
    }

    // A comment on a line, as a review of its own.
    thread(number, { by, path, line, body }) {
        this.repo.pull(number).review({ by, state: 'COMMENTED', comments: [{ path, line, body }] });
    }

    approve(number, by) {
        this.repo.pull(number).review({ by, state: 'APPROVED' });
    }

    // [{resolved, comments: [{by, body}]}]
    threads(number) {
        return this.repo.pull(number).threads.map(({ resolved, comments }) => ({ resolved,
            comments: comments.map(({ user, body }) => ({ by: user.login, body })) }));
    }

    checks(sha) {
        const runs = this.repo.checks.latest(sha).map(({ name, status, conclusion }) => ({ name,
            state: status === 'completed' ? stateOf(conclusion) : 'pending' }));
        // Only Apps put check runs; a person's token puts a status.
        return [...runs, ...this.repo.checks.statusesOf(sha).map(({ context, state }) => ({
            name: context, state: stateOf(state) }))];
    }

    limit({ limit, remaining, resetInMs }) {
        this.forge.setLimit('bot', { resource: 'core', limit, remaining, resetInMs });
    }
}

// GitLab and Gitea share what they remember.
class SmallWorld extends World {
    async open(forge) {
        this.forge = await forge;
        this.repo = this.forge.repo('acme/billing', { files: FILES,
            members: { acme: 'owner', bot: 'write', ann: 'write' } });
        this.forge.token('bot', { text: this.token });
        this.url = this.forge.gitUrl(this.repo);
        this.api = this.forge.apiUrl;
        return this;
    }

    pulls() {
        return this.repo.pulls.map((pull) => ({ number: pull.number,
            title: pull.title.replace(this.draftSign, ''), body: pull.body,
            labels: [...pull.labels], draft: this.draftSign.test(pull.title),
            reviewers: pull.reviewers.map(({ login }) => login),
            state: pull.state, merged: pull.merged, head: pull.head, sha: pull.sha }));
    }

    issue(want) {
        return this.repo.issue(want).number;
    }

    say(number, words) {
        this.repo.issue(number).comment(words);
    }

    label(number, name, by) {
        this.repo.issue(number).label(name, by);
    }

    comments(number) {
        return this.repo.issue(number).comments.map(({ by, body }) => ({ by: by.login, body }));
    }

    thread(number, words) {
        const pull = this.repo.pull(number);
        const thread = pull.thread(words);
        pull.reviews.push({ id: this.forge.nextId(), by: this.forge.user(words.by),
            state: 'COMMENT', body: '', sha: pull.sha, at: this.forge.now(),
            comments: [{ thread, comment: thread.comments[0] }] });
    }

    approve(number, by) {
        const pull = this.repo.pull(number);
        const user = this.forge.user(by);
        pull.approvals.push({ by: user, at: this.forge.now() });
        pull.reviews.push({ id: this.forge.nextId(), by: user, state: 'APPROVED', body: '',
            sha: pull.sha, at: this.forge.now(), comments: [] });
        pull.touch();
    }

    threads(number) {
        return this.repo.pull(number).threads.map(({ resolved, comments }) => ({
            resolved: resolved !== null,
            comments: comments.map(({ by, body }) => ({ by: by.login, body })) }));
    }

    checks(sha) {
        return this.repo.latestStatuses(sha).map(({ name, state }) => ({ name,
            state: stateOf(state) }));
    }

    limit(limit) {
        this.forge.setLimit(limit);
    }
}

class GitlabWorld extends SmallWorld {
    draftSign = /^Draft: /;
    start() {
        this.paths = { create: /\/merge_requests$/, find: /\/merge_requests$/,
            merge: /\/merge_requests\/\d+\/merge$/, comment: /\/issues\/\d+\/notes$/ };
        return this.open(startGitlab());
    }
}

class GiteaWorld extends SmallWorld {
    draftSign = /^WIP: /;
    start() {
        this.paths = { create: /\/pulls$/, find: /\/pulls$/, merge: /\/pulls\/\d+\/merge$/,
            comment: /\/issues\/\d+\/comments$/ };
        return this.open(startGitea({ forgejo: this.name === 'forgejo' }));
    }
}

const KINDS = { github: GithubWorld, gitlab: GitlabWorld, gitea: GiteaWorld, forgejo: GiteaWorld };
export const FORGES = Object.keys(KINDS);

export function startWorld(name) {
    return Object.assign(new KINDS[name](), { name, token: TOKEN }).start();
}
