// pull.mjs - a pull request: its head and base, reviews and threads, and how it is merged.
import { ZERO } from './git.mjs';
import { Issue } from './issue.mjs';
import { Refusal } from './world.mjs';

export class Pull extends Issue {
    constructor(repo, options) {
        super(repo, options);
        const { draft, headRef, headSha, baseRef, maintainerCanModify } = options;
        Object.assign(this, { draft, headRef, headSha, baseRef, maintainerCanModify,
            baseSha: repo.head(baseRef), merged: false, mergedAt: null, mergedBy: null,
            mergeCommit: null, autoMerge: null, queued: null, settledFor: null });
        this.pullId = repo.world.id();
        this.requested = []; // users
        this.requestedTeams = [];
        this.reviews = [];
        this.threads = [];
    }

    get isPull() {
        return true;
    }

    // ---- following its branch ----

    branchMoved(branch, from, to, user) {
        if (branch === this.headRef) return this.#headMoved(from, to, user);
        if (branch === this.baseRef && to !== ZERO) return this.#baseMoved(to, user);
        return undefined;
    }

    #headMoved(from, to, user) {
        if (to === ZERO) return this.close(user);
        this.headSha = to;
        this.repo.bare.move(`refs/pull/${this.number}/head`, to);
        this.repo.known.set(`refs/pull/${this.number}/head`, to);
        if (this.queued) this.dequeue(user);
        for (const thread of this.threads) this.#age(thread);
        if (this.repo.protection.get(this.baseRef)?.dismissStale)
            for (const review of this.reviews)
                if (review.state === 'APPROVED') review.state = 'DISMISSED';
        this.changed('synchronize', user, { before: from, after: to });
        return this.#perhapsMerged(this.repo.head(this.baseRef), user);
    }

    #baseMoved(to, user) {
        this.#perhapsMerged(to, user);
        if (!this.merged) this.baseSha = to;
    }

    // The target has got the head by a push: GitHub shows it as merged.
    #perhapsMerged(target, user) {
        if (!this.merged && target && this.repo.bare.isAncestor(this.headSha, target))
            this.#landed(target, user);
    }

    // A comment is outdated once its line has changed.
    #age(thread) {
        const line = (sha) => this.repo.file(sha, thread.path)?.split('\n')[thread.line - 1];
        thread.outdated ||= thread.line !== null
            && line(thread.commit) !== line(this.headSha);
    }

    // ---- reviews ----

    // {by, state, body, comments: [{path, line, body}], commit}
    review({ by, state = 'COMMENTED', body = '', comments = [], commit = this.headSha,
        app = null }) {
        const user = this.world.user(by);
        if (user === this.user && ['APPROVED', 'CHANGES_REQUESTED'].includes(state))
            throw new Refusal(422, 'Unprocessable Entity', { errors: [state === 'APPROVED'
                ? 'Can not approve your own pull request'
                : 'Can not request changes on your own pull request'] });
        const review = { id: this.world.id(), pull: this, user, app, state, body, commit,
            submitted: state === 'PENDING' ? null : this.world.now() };
        this.reviews.push(review);
        this.requested = this.requested.filter((each) => each !== user);
        for (const each of comments) this.thread({ ...each, by: user, review, commit });
        this.updated = this.repo.touch();
        if (state !== 'PENDING')
            this.repo.emit('pull_request_review', 'submitted', { pull: this, review }, user);
        this.perhapsAutoMerge();
        return review;
    }

    submitReview(review, { state, body }) {
        review.state = state;
        review.body = body ?? review.body;
        review.submitted = this.repo.touch();
        this.repo.emit('pull_request_review', 'submitted', { pull: this, review }, review.user);
        this.perhapsAutoMerge();
    }

    dismissReview(review, message, by) {
        review.state = 'DISMISSED';
        this.updated = this.repo.touch();
        this.repo.emit('pull_request_review', 'dismissed', { pull: this, review, message }, by);
    }

    // Opens a thread on a line; without a review it makes one of its own, as GitHub does.
    thread({ by, path, line = null, side = 'RIGHT', body, review, commit = this.headSha }) {
        const user = this.world.user(by);
        const within = review ?? this.review({ by: user, commit });
        const thread = { id: this.world.id(), pull: this, path, line, side, commit,
            resolved: false, resolvedBy: null, outdated: false, comments: [] };
        this.threads.push(thread);
        this.#addComment(thread, { user, body, review: within });
        return thread;
    }

    reply(thread, { by, body }) {
        const user = this.world.user(by);
        return this.#addComment(thread, { user, body, review: this.review({ by: user }) });
    }

    #addComment(thread, { user, body, review }) {
        const now = this.repo.touch();
        const comment = { id: this.world.id(), pull: this, thread, review, user, body,
            created: now, updated: now, replyTo: thread.comments[0] ?? null };
        thread.comments.push(comment);
        this.updated = now;
        this.repo.emit('pull_request_review_comment', 'created', { pull: this, comment }, user);
        return comment;
    }

    editReviewComment(comment, body, by) {
        const changes = { body: { from: comment.body } };
        comment.body = body;
        comment.updated = this.updated = this.repo.touch();
        this.repo.emit('pull_request_review_comment', 'edited', { pull: this, comment, changes },
            by);
    }

    resolve(thread, by, resolved = true) {
        if (thread.resolved === resolved) return;
        thread.resolved = resolved;
        thread.resolvedBy = resolved ? this.world.user(by) : null;
        this.updated = this.repo.touch();
        this.repo.emit('pull_request_review_thread', resolved ? 'resolved' : 'unresolved',
            { pull: this, thread }, by);
    }

    requestReview(logins, teams, by) {
        for (const login of logins) {
            const user = this.world.user(login);
            if (user === this.user) throw new Refusal(422,
                'Review cannot be requested from pull request author.');
            if (this.repo.permissionOf(user) === 'none') throw new Refusal(422,
                'Reviews may only be requested from collaborators. One or more of the users or '
                + `teams you specified is not a collaborator of the ${this.repo.fullName} `
                + 'repository.');
            if (this.requested.includes(user)) continue;
            this.requested.push(user);
            this.changed('review_requested', by, { requestedReviewer: user });
        }
        for (const slug of teams) {
            const team = this.repo.owner.teams.get(slug);
            if (!team) throw new Refusal(422, 'Reviews may only be requested from collaborators.');
            if (this.requestedTeams.includes(team)) continue;
            this.requestedTeams.push(team);
            this.changed('review_requested', by, { requestedTeam: team });
        }
    }

    removeRequests(logins, teams, by) {
        for (const user of this.requested.filter(({ login }) => logins.includes(login)))
            this.changed('review_request_removed', by, { requestedReviewer: user });
        this.requested = this.requested.filter(({ login }) => !logins.includes(login));
        this.requestedTeams = this.requestedTeams.filter(({ slug }) => !teams.includes(slug));
    }

    setDraft(draft, by) {
        if (this.draft === draft) return;
        this.draft = draft;
        this.changed(draft ? 'converted_to_draft' : 'ready_for_review', by);
    }

    // ---- merging ----

    // The last verdict of each person; comments change none.
    verdicts() {
        const last = new Map();
        for (const review of this.reviews)
            if (['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED'].includes(review.state))
                last.set(review.user.login, review);
        return [...last.values()].filter(({ state }) => state !== 'DISMISSED');
    }

    get reviewDecision() {
        const all = this.verdicts();
        const { approvals = 0 } = this.repo.protection.get(this.baseRef) ?? {};
        if (all.some(({ state }) => state === 'CHANGES_REQUESTED')) return 'CHANGES_REQUESTED';
        if (approvals === 0) return null;
        const given = all.filter(({ state, user }) => state === 'APPROVED'
            && ['write', 'admin'].includes(this.repo.permissionOf(user)));
        return given.length >= approvals ? 'APPROVED' : 'REVIEW_REQUIRED';
    }

    get conflicts() {
        const key = `${this.headSha} ${this.repo.head(this.baseRef)}`;
        if (this.merging?.key !== key)
            this.merging = { key, conflicts: this.repo.bare.mergeTree(
                this.repo.head(this.baseRef), this.headSha) === null };
        return this.merging.conflicts;
    }

    get behind() {
        return !this.repo.bare.isAncestor(this.repo.head(this.baseRef), this.headSha);
    }

    // clean, dirty, draft, behind, blocked, unstable: as mergeable_state.
    get mergeState() {
        const rules = this.repo.protection.get(this.baseRef);
        if (this.conflicts) return 'dirty';
        if (this.draft) return 'draft';
        const byName = new Map(this.repo.checks.latest(this.headSha)
            .map((check) => [check.name, check]));
        if (rules) {
            if (rules.checks.some((name) => !byName.get(name)?.passed)) return 'blocked';
            if (rules.approvals > 0 && this.reviewDecision !== 'APPROVED') return 'blocked';
            if (rules.strict && this.behind) return 'behind';
        }
        return [...byName.values()].every((check) => check.passed) ? 'clean' : 'unstable';
    }

    // GitHub works it out in the background: the first reader after a change sees nothing.
    settled() {
        const key = `${this.headSha} ${this.repo.head(this.baseRef)}`;
        if (!this.world.lazyMergeable || this.settledFor === key) return true;
        this.settledFor = key;
        return false;
    }

    // {sha, method, title, message, by}; the merge commit.
    merge({ sha, method = 'merge', title, message, by, app = null }) {
        if (this.merged || this.state !== 'open' || this.draft || this.conflicts)
            throw new Refusal(405, this.draft && !this.merged
                ? 'Pull Request is still a draft' : 'Pull Request is not mergeable');
        if (sha !== undefined && sha !== this.headSha)
            throw new Refusal(409, 'Head branch was modified. Review and try the merge again.');
        if (!this.repo.mergeMethods.has(method))
            throw new Refusal(405, `${method} merges are not allowed on this repository.`);
        const state = this.mergeState;
        if (state === 'blocked' || state === 'behind')
            throw new Refusal(405, state === 'behind' ? 'The head branch is not up to date with '
                + 'the base branch' : 'Repository rule violations found');
        const user = this.world.user(by);
        const base = this.repo.head(this.baseRef);
        const commit = this.#mergeCommit({ base, method, title, message, user });
        if (commit === null || !this.repo.bare.move(`refs/heads/${this.baseRef}`, commit, base))
            throw new Refusal(409, 'Base branch was modified. Review and try the merge again.');
        this.#landed(commit, user, app);
        this.repo.refsMoved(user);
        return commit;
    }

    #mergeCommit({ base, method, title, message, user }) {
        const { bare } = this.repo;
        const who = { name: user.login, email: `${user.login}@users.noreply.example` };
        if (method === 'rebase') return bare.rebase(base, this.headSha, who);
        const tree = bare.mergeTree(base, this.headSha);
        const subject = title ?? (method === 'squash' ? `${this.title} (#${this.number})`
            : `Merge pull request #${this.number} from ${this.repo.owner.login}/${this.headRef}`);
        const text = [subject, message ?? (method === 'squash' ? '' : this.title)]
            .filter(Boolean).join('\n\n');
        return bare.commitTree(tree, method === 'squash' ? [base] : [base, this.headSha], text,
            who);
    }

    #landed(commit, user) {
        this.merged = true;
        this.mergedAt = this.closed = this.world.now();
        this.mergedBy = this.closedBy = this.world.user(user);
        this.mergeCommit = commit;
        this.state = 'closed';
        this.autoMerge = this.queued = null;
        this.repo.queue = this.repo.queue.filter((each) => each !== this);
        this.changed('closed', user);
        if (this.baseRef === this.repo.defaultBranch) this.repo.closeNamed(this.body, user);
        if (this.repo.deleteBranchOnMerge && this.repo.bare.move(`refs/heads/${this.headRef}`,
            null)) this.repo.refsMoved(user);
    }

    reopen(by) {
        if (this.merged) throw new Refusal(422, 'Validation Failed', { errors: [{
            resource: 'PullRequest', code: 'custom', message: 'state cannot be changed.' }] });
        const sha = this.repo.head(this.headRef);
        if (!sha) throw new Refusal(422, 'Validation Failed', { errors: [{
            resource: 'PullRequest', code: 'custom', message: 'state cannot be changed. The '
                + `${this.headRef} branch has been deleted.` }] });
        this.headSha = sha;
        return super.reopen(by);
    }

    enableAutoMerge({ method = 'merge', by, sha }) {
        if (sha && sha !== this.headSha) throw new Refusal(422, 'Head branch was modified.');
        if (!this.repo.autoMergeAllowed) throw new Refusal(422,
            'Pull request Auto merge is not allowed for this repository');
        if (this.draft) throw new Refusal(422, 'Pull request Pull request is in draft state');
        if (this.mergeState === 'clean') throw new Refusal(422,
            'Pull request Pull request is in clean status');
        this.autoMerge = { by: this.world.user(by), method, since: this.world.now() };
        this.changed('auto_merge_enabled', by);
    }

    disableAutoMerge(by) {
        this.autoMerge = null;
        this.changed('auto_merge_disabled', by);
    }

    // Called whenever a check or a review came in.
    perhapsAutoMerge() {
        if (this.state !== 'open' || !['clean', 'unstable'].includes(this.mergeState)) return;
        if (this.autoMerge)
            this.merge({ method: this.autoMerge.method, by: this.autoMerge.by });
        else if (this.queued && this.repo.queue[0] === this)
            this.merge({ by: this.queued.by });
    }

    enqueue({ by, sha }) {
        if (sha && sha !== this.headSha) throw new Refusal(422, 'Head branch was modified.');
        if (!this.repo.protection.get(this.baseRef)?.queue) throw new Refusal(422,
            'A merge queue is not enabled for this branch.');
        if (this.queued) return;
        this.queued = { id: this.world.id(), by: this.world.user(by), since: this.world.now() };
        this.repo.queue.push(this);
        this.changed('enqueued', by);
    }

    dequeue(by) {
        this.queued = null;
        this.repo.queue = this.repo.queue.filter((each) => each !== this);
        this.changed('dequeued', by, { reason: 'MANUAL' });
    }
}
