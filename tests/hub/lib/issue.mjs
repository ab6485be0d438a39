// issue.mjs - an issue: text, labels, assignees, comments, state, and what blocks it.
import { Refusal } from './world.mjs';

export class Issue {
    constructor(repo, { title, body = null, by, user = repo.world.user(by ?? repo.owner.login),
        app = null }) {
        const now = repo.touch();
        Object.assign(this, { repo, title, body, user, app, number: repo.numbers++,
            id: repo.world.id(), state: 'open', stateReason: null, created: now, updated: now,
            closed: null, closedBy: null, locked: false });
        this.labels = [];
        this.assignees = [];
        this.comments = [];
        this.blockedBy = new Set();
        this.events = [];
    }

    get isPull() {
        return false;
    }

    get world() {
        return this.repo.world;
    }

    get association() {
        return this.repo.associationOf(this.user);
    }

    // Of issues and pull requests alike: tells webhooks.
    changed(action, by, more = {}) {
        this.updated = this.repo.touch();
        const sender = this.world.user(by);
        this.events.push({ id: this.world.id(), event: action, actor: sender,
            created: this.updated, ...more });
        this.repo.emit(this.isPull ? 'pull_request' : 'issues', action,
            { [this.isPull ? 'pull' : 'issue']: this, ...more }, sender);
    }

    label(name, by = this.repo.owner.login) {
        const label = this.repo.label(name);
        if (this.labels.includes(label)) return this;
        this.labels.push(label);
        this.changed('labeled', by, { label });
        return this;
    }

    unlabel(name, by = this.repo.owner.login) {
        const label = this.repo.label(name);
        const at = this.labels.indexOf(label);
        if (at < 0) throw new Refusal(404, 'Label does not exist');
        this.labels.splice(at, 1);
        this.changed('unlabeled', by, { label });
        return this;
    }

    setLabels(names, by) {
        for (const { name } of [...this.labels])
            if (!names.some((each) => each.toLowerCase() === name.toLowerCase()))
                this.unlabel(name, by);
        for (const name of names) this.label(name, by);
    }

    // A name that cannot be assigned is left out, as GitHub does.
    assign(login, by = this.repo.owner.login) {
        const user = this.world.user(login);
        if (this.assignees.includes(user) || this.repo.permissionOf(user) === 'none') return this;
        this.assignees.push(user);
        this.changed('assigned', by, { assignee: user });
        return this;
    }

    unassign(login, by = this.repo.owner.login) {
        const user = this.world.user(login);
        const at = this.assignees.indexOf(user);
        if (at < 0) return this;
        this.assignees.splice(at, 1);
        this.changed('unassigned', by, { assignee: user });
        return this;
    }

    edit({ title, body }, by = this.user) {
        const changes = {};
        if (title !== undefined && title !== this.title) changes.title = { from: this.title };
        if (body !== undefined && body !== this.body) changes.body = { from: this.body ?? '' };
        if (Object.keys(changes).length === 0) return this;
        this.title = title ?? this.title;
        if (body !== undefined) this.body = body;
        this.changed('edited', by, { changes });
        return this;
    }

    close(by = this.repo.owner.login, reason = 'completed') {
        if (this.state === 'closed') return this;
        this.state = 'closed';
        this.stateReason = this.isPull ? null : reason;
        this.closed = this.world.now();
        this.closedBy = this.world.user(by);
        this.changed('closed', by);
        return this;
    }

    reopen(by = this.repo.owner.login) {
        if (this.state === 'open') return this;
        this.state = 'open';
        this.stateReason = this.isPull ? null : 'reopened';
        this.closed = this.closedBy = null;
        this.changed('reopened', by);
        return this;
    }

    comment({ by = this.repo.owner.login, body, app = null }) {
        const now = this.repo.touch();
        const comment = { id: this.world.id(), issue: this, user: this.world.user(by), body, app,
            created: now, updated: now };
        this.comments.push(comment);
        this.updated = now;
        this.repo.emit('issue_comment', 'created', { issue: this, comment }, by);
        return comment;
    }

    editComment(comment, body, by) {
        const changes = { body: { from: comment.body } };
        comment.body = body;
        comment.updated = this.updated = this.repo.touch();
        this.repo.emit('issue_comment', 'edited', { issue: this, comment, changes }, by);
    }

    deleteComment(comment, by) {
        this.comments.splice(this.comments.indexOf(comment), 1);
        this.updated = this.repo.touch();
        this.repo.emit('issue_comment', 'deleted', { issue: this, comment }, by);
    }

    blocks(other) {
        other.blockedBy.add(this);
        return this;
    }

    get blocking() {
        return this.world.repos.flatMap((repo) => repo.issues)
            .filter((issue) => issue.blockedBy.has(this));
    }
}
