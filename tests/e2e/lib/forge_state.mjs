// forge_state.mjs - what the forges of the tests remember: repositories, issues, pull requests,
// reviews, statuses.  It lives in the process of the test, so it survives every kill of drover.
import { join } from 'node:path';
import { Bare } from '../../hub/lib/git.mjs';

export class Repo {
    // members: {login: 'read' | 'write' | 'owner'}
    constructor(forge, fullName, { files = {}, members = {} }) {
        Object.assign(this, { forge, fullName, members, id: forge.nextId(), issues: [], pulls: [],
            labels: [], statuses: [], pipelines: [], jobs: [] });
        this.bare = new Bare(join(forge.dir, fullName.replaceAll('/', '+') + '.git'),
            { 'receive.hideRefs': 'refs/merge-requests' });
        this.commit('main', files, { message: 'first' });
        for (const login of Object.keys(members)) forge.user(login);
    }

    mayWrite(user) {
        return ['write', 'owner'].includes(this.members[user.login]);
    }

    // A commit on a branch with these files, as a person pushes it.
    commit(branch, files, { message = 'work' } = {}) {
        const from = this.bare.head(branch) ?? this.bare.head('main');
        const tree = this.bare.writeTree(from, files);
        const sha = this.bare.commitTree(tree, from ? [from] : [], `${message}\n`);
        this.bare.move(`refs/heads/${branch}`, sha);
        this.refsMoved();
        return sha;
    }

    head(branch) {
        return this.bare.head(branch);
    }

    // Open pull requests follow their branch.
    refsMoved() {
        for (const pull of this.pulls) {
            const sha = this.bare.head(pull.head);
            if (pull.state !== 'open' || !sha || sha === pull.sha) continue;
            pull.sha = sha;
            pull.versions.push({ id: this.forge.nextId(), sha, created: this.forge.now() });
            pull.touch();
            this.bare.move(pull.ref, sha);
        }
    }

    #number(kind) {
        const all = this.forge.separateNumbers ? kind : [...this.issues, ...this.pulls];
        return all.reduce((most, { number }) => Math.max(most, number), 0) + 1;
    }

    issue(want) {
        if (typeof want === 'number') return this.issues.find(({ number }) => number === want);
        const issue = new Item(this, { ...want, number: this.#number(this.issues) });
        this.issues.push(issue);
        return issue;
    }

    pull(number) {
        return this.pulls.find((each) => each.number === number);
    }

    openPull({ head, base, title, body = '', by }) {
        const sha = this.bare.head(head);
        const pull = new Pull(this, { number: this.#number(this.pulls), title, body, by, head,
            base, sha });
        this.bare.move(pull.ref, sha);
        this.pulls.push(pull);
        return pull;
    }

    label(name) {
        let label = this.labels.find((each) => each.name === name);
        if (!label) this.labels.push(label = { id: this.forge.nextId(), name, color: 'ededed' });
        return label;
    }

    // A status of a commit; the newest of a name counts.
    status(sha, { name, state, description = '', url = '', by = null }) {
        const now = this.forge.now();
        const status = { id: this.forge.nextId(), sha, name, state, description, url, by,
            created: now, updated: now };
        this.statuses.push(status);
        return status;
    }

    latestStatuses(sha) {
        const found = new Map();
        for (const status of this.statuses) if (status.sha === sha) found.set(status.name, status);
        return [...found.values()];
    }
}

export class Item {
    constructor(repo, { number, title, body = '', by, labels = [], assignees = [] }) {
        const now = repo.forge.now();
        Object.assign(this, { repo, number, title, body, by: repo.forge.user(by),
            id: repo.forge.nextId(), state: 'open', comments: [], blockedBy: [], created: now,
            updated: now });
        this.labels = new Set();
        this.events = []; // {label, by, at}
        for (const name of labels) this.label(name, by);
        this.assignees = assignees.map((login) => repo.forge.user(login));
    }

    label(name, by) {
        if (this.labels.has(name)) return;
        this.labels.add(this.repo.label(name).name);
        this.events.push({ id: this.repo.forge.nextId(), label: this.repo.label(name),
            by: this.repo.forge.user(by), at: this.repo.forge.now() });
        this.touch();
    }

    touch() {
        this.updated = this.repo.forge.now();
    }

    comment({ by, body, system = false }) {
        const now = this.repo.forge.now();
        const comment = { id: this.repo.forge.nextId(), by: this.repo.forge.user(by), body,
            created: now, updated: now, system };
        this.comments.push(comment);
        this.touch();
        return comment;
    }
}

export class Pull extends Item {
    constructor(repo, { head, base, sha, ...more }) {
        super(repo, more);
        Object.assign(this, { head, base, sha, merged: false, mergeCommit: null, reviewers: [],
            reviews: [], threads: [], approvals: [], autoMerge: null,
            versions: [{ id: repo.forge.nextId(), sha, created: repo.forge.now() }] });
    }

    get ref() {
        const { separateNumbers } = this.repo.forge;
        return `refs/${separateNumbers ? 'merge-requests' : 'pull'}/${this.number}/head`;
    }

    // 'clean', 'conflict'
    get fit() {
        return this.repo.bare.mergeTree(this.repo.head(this.base), this.sha) ? 'clean'
            : 'conflict';
    }

    thread({ by, body, path, line }) {
        const thread = { id: String(this.repo.forge.nextId()), path, line, sha: this.sha,
            resolved: null, comments: [] };
        this.threads.push(thread);
        this.reply(thread, { by, body });
        return thread;
    }

    reply(thread, { by, body }) {
        const now = this.repo.forge.now();
        const comment = { id: this.repo.forge.nextId(), by: this.repo.forge.user(by), body,
            created: now, updated: now };
        thread.comments.push(comment);
        this.touch();
        return comment;
    }

    // A merge commit on the target; false: it conflicts.
    merge({ message }) {
        const { bare } = this.repo;
        const target = this.repo.head(this.base);
        const tree = bare.mergeTree(target, this.sha);
        if (!tree) return false;
        const commit = bare.commitTree(tree, [target, this.sha], `${message}\n`);
        if (!bare.move(`refs/heads/${this.base}`, commit, target)) return false;
        Object.assign(this, { state: 'closed', merged: true, mergeCommit: commit });
        this.touch();
        return true;
    }
}
