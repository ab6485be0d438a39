// repo.mjs - one repository: its git, branches, labels, people, hooks, issues and pull requests.
//
// Whoever moves a branch (a push, the API, a test) ends in refsMoved(), which is what makes a pull
// request follow its branch, marks it merged when the target has it, starts CI and tells webhooks.
import { join } from 'node:path';
import { Checks } from './checks.mjs';
import { Ci } from './ci.mjs';
import { Bare, ZERO } from './git.mjs';
import { Issue } from './issue.mjs';
import { Pull } from './pull.mjs';
import { Refusal, covers } from './world.mjs';

const CLOSES = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:([\w.-]+\/[\w.-]+))?#(\d+)\b/gi;

export class Repo {
    constructor(world, fullName, { files = { 'README.md': `# ${fullName}\n` }, ci,
        private: isPrivate = true, collaborators = {}, defaultBranch = 'main',
        deleteBranchOnMerge = false, autoMerge = true, id = 700_000_000 + world.small++ } = {}) {
        const [owner, name] = fullName.split('/');
        Object.assign(this, { world, id, name, private: isPrivate, defaultBranch,
            deleteBranchOnMerge, autoMergeAllowed: autoMerge });
        this.owner = world.user(owner);
        this.created = this.updated = this.pushed = world.now();
        this.collaborators = new Map(Object.entries(collaborators));
        this.bare = new Bare(join(world.dir, `${id}.git`));
        this.numbers = 1;
        this.issues = []; // Pull requests too, as on GitHub.
        this.labels = new Map();
        this.hooks = [];
        this.protection = new Map();
        this.queue = [];
        this.checks = new Checks(this);
        this.ci = new Ci(this, ci);
        this.known = new Map();
        this.mergeMethods = new Set(['merge', 'squash', 'rebase']);
        if (files) this.commit(defaultBranch, files, { by: owner, message: 'first' });
    }

    get fullName() {
        return `${this.owner.login}/${this.name}`;
    }

    touch() {
        this.updated = this.world.now();
        return this.updated;
    }

    emit(event, action, more, by) {
        this.world.emit(this, event, action, { ...more, sender: this.world.user(by) });
    }

    // ---- people ----

    // admin, write, read or none
    permissionOf(user) {
        if (!user) return this.private ? 'none' : 'read';
        const own = this.collaborators.get(user.login);
        if (own) return own;
        if (user === this.owner) return 'admin';
        if (this.owner.members.has(user.login)) return 'write';
        return this.private ? 'none' : 'read';
    }

    associationOf(user) {
        if (!user) return 'NONE';
        if (user === this.owner) return 'OWNER';
        if (this.owner.members.has(user.login)) return 'MEMBER';
        if (this.collaborators.has(user.login)) return 'COLLABORATOR';
        if (this.pulls.some((pull) => pull.merged && pull.user === user)) return 'CONTRIBUTOR';
        return 'NONE';
    }

    // What the caller's token and the caller itself may do here.
    may(actor, scope, level) {
        const own = this.permissionOf(actor.user);
        if (actor.kind === 'installation') {
            const here = actor.account === this.owner
                && (actor.repos === null || actor.repos.includes(this.id));
            return (here || (!this.private && level === 'read'))
                && covers(actor.permissions[scope], level);
        }
        if (actor.kind === 'app') return false;
        if (actor.permissions && !covers(actor.permissions[scope], level)
            && !(level === 'read' && !this.private)) return false;
        if (actor.repos && !actor.repos.includes(this.id)
            && !actor.repos.includes(this.fullName)) return false;
        if (level !== 'read') return covers(own, level) || (PUBLIC_WRITES.has(scope)
            && own === 'read');
        return own !== 'none';
    }

    // ---- branches ----

    head(branch) {
        return this.bare.head(branch);
    }

    branches() {
        return [...this.bare.refs()].filter(([ref]) => ref.startsWith('refs/heads/'))
            .map(([ref, sha]) => ({ name: ref.slice(11), sha }));
    }

    file(rev, path) {
        return this.bare.file(rev, path);
    }

    // A commit by a person, pushed: files {path: text or null}.
    commit(branch, files, { by = this.owner.login, message = 'change', from } = {}) {
        const ref = `refs/heads/${branch}`;
        const parent = this.bare.rev(ref) ?? (from ? this.bare.rev(from)
            : this.bare.head(this.defaultBranch));
        const tree = this.bare.writeTree(parent, files);
        const sha = this.bare.commitTree(tree, parent ? [parent] : [], message,
            { name: by, email: `${by}@example.org` });
        this.bare.move(ref, sha);
        this.refsMoved(this.world.user(by));
        return sha;
    }

    rename(name, by = this.owner.login) {
        const before = this.name;
        this.world.redirects.set(this.fullName.toLowerCase(), this);
        this.name = name;
        this.touch();
        this.emit('repository', 'renamed', { changes: { repository: { name: { from: before } } } },
            by);
    }

    // {checks: [names], strict, approvals, dismissStale, push: false, queue: true}
    protect(branch, rules) {
        this.protection.set(branch, { checks: [], strict: false, approvals: 0, push: true,
            dismissStale: false, queue: false, ...rules });
        this.bare.protect([...this.protection].filter(([, each]) => !each.push)
            .map(([name]) => name));
    }

    // Compares the refs with what they were, and lets everything that depends on them follow.
    refsMoved(user) {
        const now = this.bare.refs();
        const before = this.known;
        this.known = now;
        const moves = [];
        for (const [ref, sha] of now)
            if (before.get(ref) !== sha)
                moves.push({ ref, from: before.get(ref) ?? ZERO, to: sha });
        for (const [ref, sha] of before)
            if (!now.has(ref)) moves.push({ ref, from: sha, to: ZERO });
        const heads = moves.filter(({ ref }) => ref.startsWith('refs/heads/'));
        if (heads.length > 0) this.pushed = this.touch();
        for (const move of heads) this.#branchMoved(move, user);
    }

    #branchMoved({ ref, from, to }, user) {
        const branch = ref.slice('refs/heads/'.length);
        const more = { ref, before: from, after: to };
        if (from === ZERO) this.emit('create', null, { ref: branch }, user);
        if (to === ZERO) this.emit('delete', null, { ref: branch }, user);
        this.emit('push', null, more, user);
        for (const pull of this.pulls)
            if (pull.state === 'open') pull.branchMoved(branch, from, to, user);
        if (to === ZERO) return;
        if (branch === this.defaultBranch && from !== ZERO)
            for (const sha of this.bare.commits(`${from}..${to}`))
                this.closeNamed(this.bare.commit(sha).message, user);
        this.ci.start(branch, to, user);
    }

    // Closes the issues that a text names with a keyword.
    closeNamed(text, user) {
        for (const [, other, number] of (text ?? '').matchAll(CLOSES)) {
            const repo = other ? this.world.find(other) : this;
            const issue = repo?.issues.find((each) => each.number === Number(number));
            if (issue && !issue.isPull && issue.state === 'open') issue.close(user);
        }
    }

    // ---- issues and pull requests ----

    get pulls() {
        return this.issues.filter((issue) => issue.isPull);
    }

    // Of a number: an issue or a pull request.
    any(number) {
        return this.issues.find((issue) => issue.number === Number(number));
    }

    pull(number) {
        const found = this.any(number);
        return found?.isPull ? found : undefined;
    }

    issue(options) {
        if (typeof options === 'number') return this.any(options);
        const issue = new Issue(this, options);
        this.issues.push(issue);
        issue.changed('opened', issue.user);
        for (const name of options.labels ?? []) issue.label(name, issue.user);
        for (const login of options.assignees ?? []) issue.assign(login, issue.user);
        return issue;
    }

    // {head, base, title, body, draft, by}
    openPull({ head, base, title, body = null, draft = false, by, app = null,
        maintainerCanModify = false }) {
        const user = this.world.user(by ?? this.owner.login);
        const missing = (field) => new Refusal(422, 'Validation Failed',
            { errors: [{ resource: 'PullRequest', field, code: 'invalid' }] });
        const branch = head?.startsWith(`${this.owner.login}:`)
            ? head.slice(this.owner.login.length + 1) : head;
        const sha = branch && this.head(branch);
        if (!sha) throw missing('head');
        if (!base || !this.head(base)) throw missing('base');
        const custom = (message) => new Refusal(422, 'Validation Failed',
            { errors: [{ resource: 'PullRequest', code: 'custom', message }] });
        if (this.pulls.some((pull) => pull.state === 'open' && pull.headRef === branch
            && pull.baseRef === base))
            throw custom(`A pull request already exists for ${this.owner.login}:${branch}.`);
        if (this.bare.isAncestor(sha, this.head(base)))
            throw custom(`No commits between ${base} and ${branch}`);
        if (!title) throw new Refusal(422, 'Validation Failed',
            { errors: [{ resource: 'Issue', field: 'title', code: 'missing_field' }] });
        const pull = new Pull(this, { title, body, user, app, draft, headRef: branch, headSha: sha,
            baseRef: base, maintainerCanModify });
        this.issues.push(pull);
        this.bare.move(`refs/pull/${pull.number}/head`, sha);
        this.known = this.bare.refs();
        pull.changed('opened', user);
        this.ci.pullOpened(pull, user);
        return pull;
    }

    label(name) {
        const key = name.toLowerCase();
        if (!this.labels.has(key))
            this.labels.set(key, { id: this.world.id(), name, color: 'ededed', description: null });
        return this.labels.get(key);
    }

    // {url, secret, events}; fires a ping.
    hook({ url, secret, events = ['*'], active = true, contentType = 'json' }) {
        const hook = { id: this.world.small++, repo: this, url, secret, events, active, contentType,
            deliveries: [], created: this.world.now(), updated: this.world.now() };
        this.hooks.push(hook);
        this.world.ping?.(hook, this);
        return hook;
    }
}

// Everyone who sees a public repository may open issues, comment and review there.
const PUBLIC_WRITES = new Set(['issues', 'pull_requests']);
