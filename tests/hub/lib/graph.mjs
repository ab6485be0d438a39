// graph.mjs - the objects of the GraphQL API: repositories, issues, pull requests, their reviews,
// threads and checks, and the mutations that have no counterpart in REST.
import { connection } from './graphql.mjs';
import { Refusal, iso, nodeId } from './world.mjs';

const MERGEABLE = { dirty: 'CONFLICTING' };

export class Graph {
    constructor(hub, actor) {
        Object.assign(this, { hub, actor, world: hub.world, show: hub.show, git: hub.showGit });
    }

    // ---- roots ----

    query() {
        return {
            __typename: 'Query',
            viewer: () => this.user(this.actor.user),
            repository: ({ owner, name }) => {
                const full = `${owner}/${name}`;
                const repo = this.world.find(full)
                    ?? this.world.redirects.get(full.toLowerCase());
                if (!repo?.may(this.actor, 'metadata', 'read')) throw new Refusal(404,
                    `Could not resolve to a Repository with the name '${full}'.`);
                return this.repository(repo);
            },
            node: ({ id }) => this.node(id),
            nodes: ({ ids }) => ids.map((id) => this.node(id)),
            rateLimit: () => {
                const { limit, used, reset } = this.world.bucket(this.actor, 'graphql');
                return { __typename: 'RateLimit', cost: 1, limit, used, nodeCount: 1,
                    remaining: Math.max(limit - used - 1, 0), resetAt: iso(reset) };
            },
        };
    }

    mutation() {
        const on = (kind, find, act, shown) => ({ input }) => {
            const subject = find(input);
            this.#mayWrite(subject.pull ?? subject);
            act(subject, input);
            return { __typename: `${kind}Payload`, clientMutationId:
                input.clientMutationId ?? null, ...shown(subject) };
        };
        const pull = (input) => this.#pullOf(input.pullRequestId);
        const thread = (input) => this.#threadOf(input.threadId);
        const by = this.actor.user;
        const showPull = (it) => ({ pullRequest: () => this.pull(it) });
        const showThread = (it) => ({ thread: () => this.thread(it) });
        return {
            __typename: 'Mutation',
            markPullRequestReadyForReview: on('MarkPullRequestReadyForReview', pull,
                (it) => it.setDraft(false, by), showPull),
            convertPullRequestToDraft: on('ConvertPullRequestToDraft', pull,
                (it) => it.setDraft(true, by), showPull),
            resolveReviewThread: on('ResolveReviewThread', thread,
                (it) => it.pull.resolve(it, by), showThread),
            unresolveReviewThread: on('UnresolveReviewThread', thread,
                (it) => it.pull.resolve(it, by, false), showThread),
            addPullRequestReviewThreadReply: ({ input }) => {
                const it = this.#threadOf(input.pullRequestReviewThreadId);
                this.#mayWrite(it.pull);
                const comment = it.pull.reply(it, { by, body: input.body });
                return { __typename: 'AddPullRequestReviewThreadReplyPayload',
                    clientMutationId: input.clientMutationId ?? null,
                    comment: () => this.reviewComment(comment) };
            },
            enablePullRequestAutoMerge: on('EnablePullRequestAutoMerge', pull, (it, input) =>
                it.enableAutoMerge({ by, sha: input.expectedHeadOid,
                    method: (input.mergeMethod ?? 'MERGE').toLowerCase() }), showPull),
            disablePullRequestAutoMerge: on('DisablePullRequestAutoMerge', pull,
                (it) => it.disableAutoMerge(by), showPull),
            enqueuePullRequest: on('EnqueuePullRequest', pull, (it, input) =>
                it.enqueue({ by, sha: input.expectedHeadOid }),
            (it) => ({ mergeQueueEntry: () => this.queueEntry(it) })),
            dequeuePullRequest: on('DequeuePullRequest', (input) => this.#pullOf(input.id),
                (it) => it.dequeue(by), (it) => ({ mergeQueueEntry: () => this.queueEntry(it) })),
        };
    }

    #mayWrite({ repo }) {
        if (!repo.may(this.actor, 'pull_requests', 'write')
            || (this.actor.kind === 'pat' && repo.permissionOf(this.actor.user) === 'read'))
            throw new Refusal(403, this.actor.kind === 'installation'
                ? 'Resource not accessible by integration'
                : `${this.actor.user.login} does not have the correct permissions to execute this`);
    }

    // ---- by id ----

    #visible() {
        return this.world.repos.filter((repo) => repo.may(this.actor, 'metadata', 'read'));
    }

    #lost(id) {
        return new Refusal(404, `Could not resolve to a node with the global id of '${id}'`);
    }

    #pullOf(id) {
        const found = this.#visible().flatMap((repo) => repo.pulls)
            .find((pull) => nodeId('PR', pull.pullId) === id);
        if (!found) throw this.#lost(id);
        return found;
    }

    #threadOf(id) {
        const found = this.#visible().flatMap((repo) => repo.pulls)
            .flatMap((pull) => pull.threads).find((thread) => nodeId('PRRT', thread.id) === id);
        if (!found) throw this.#lost(id);
        return found;
    }

    node(id) {
        const [kind] = id.split('_');
        if (kind === 'PR') return this.pull(this.#pullOf(id));
        if (kind === 'PRRT') return this.thread(this.#threadOf(id));
        const all = this.#visible();
        const issue = all.flatMap((repo) => repo.issues).find((each) => !each.isPull
            && nodeId('I', each.id) === id);
        if (issue) return this.issue(issue);
        const repo = all.find((each) => nodeId('R', each.id) === id);
        if (repo) return this.repository(repo);
        throw this.#lost(id);
    }

    // ---- objects ----

    user(user) {
        if (!user) return null;
        return { __typename: user.type, __is: ['Actor', 'Node', 'RequestedReviewer'],
            id: nodeId('U', user.id), databaseId: user.id, login: user.login.replace(/\[bot\]$/,
                ''), name: user.name, url: `${this.hub.url}/${user.login}`,
            avatarUrl: `${this.hub.url}/avatars/${user.id}` };
    }

    repository(repo) {
        const found = (list, { states, headRefName, baseRefName, labels }) => list.filter((it) =>
            (!states || states.includes(stateOf(it)))
            && (!headRefName || it.headRef === headRefName)
            && (!baseRefName || it.baseRef === baseRefName)
            && (!labels || it.labels.some(({ name }) => labels.includes(name))));
        const get = (kind, number) => {
            const it = repo.any(number);
            if (!it || it.isPull !== (kind === 'PullRequest')) throw new Refusal(404,
                `Could not resolve to ${kind === 'Issue' ? 'an' : 'a'} ${kind} with the number of ${
                    number}.`);
            return it;
        };
        return {
            __typename: 'Repository', __is: ['Node'], id: nodeId('R', repo.id),
            databaseId: repo.id, name: repo.name, nameWithOwner: repo.fullName,
            owner: () => this.user(repo.owner), url: this.show.web(repo),
            isPrivate: repo.private, autoMergeAllowed: repo.autoMergeAllowed,
            mergeCommitAllowed: repo.mergeMethods.has('merge'),
            squashMergeAllowed: repo.mergeMethods.has('squash'),
            rebaseMergeAllowed: repo.mergeMethods.has('rebase'),
            defaultBranchRef: () => this.ref(repo, `refs/heads/${repo.defaultBranch}`),
            ref: ({ qualifiedName }) => this.ref(repo, qualifiedName.startsWith('refs/')
                ? qualifiedName : `refs/heads/${qualifiedName}`),
            pullRequest: ({ number }) => this.pull(get('PullRequest', number)),
            issue: ({ number }) => this.issue(get('Issue', number)),
            pullRequests: (args) => connection('PullRequest', ordered(found(repo.pulls, args),
                args), args, (it) => this.pull(it)),
            issues: (args) => connection('Issue', ordered(found(repo.issues.filter((it) =>
                !it.isPull), args), args), args, (it) => this.issue(it)),
            mergeQueue: () => (repo.queue.length === 0 ? null : { __typename: 'MergeQueue',
                id: nodeId('MQ', repo.id), entries: (args) => connection('MergeQueueEntry',
                    repo.queue, args, (it) => this.queueEntry(it)) }),
        };
    }

    ref(repo, name) {
        const sha = repo.bare.rev(name);
        return sha && { __typename: 'Ref', id: nodeId('REF', `${repo.id}:${name}`),
            name: name.replace(/^refs\/heads\//, ''), prefix: 'refs/heads/',
            target: () => this.commit(repo, sha) };
    }

    commit(repo, sha) {
        const it = repo.bare.commit(sha);
        return { __typename: 'Commit', __is: ['GitObject', 'Node'], id: nodeId('C', sha), oid: sha,
            message: it.message, messageHeadline: it.message.split('\n')[0],
            committedDate: it.committer.date, authoredDate: it.author.date,
            url: `${this.show.web(repo)}/commit/${sha}`,
            statusCheckRollup: () => this.rollup(repo, sha) };
    }

    #common(it) {
        return {
            number: it.number, title: it.title, body: it.body ?? '', url: this.show.issue(it)
                .html_url, author: () => this.user(it.user), authorAssociation: it.association,
            createdAt: iso(it.created), updatedAt: iso(it.updated), closedAt: iso(it.closed),
            closed: it.state === 'closed', state: stateOf(it), locked: it.locked,
            repository: () => this.repository(it.repo),
            labels: (args) => connection('Label', it.labels, args, (label) => ({
                __typename: 'Label', id: nodeId('LA', label.id), name: label.name,
                color: label.color, description: label.description })),
            assignees: (args) => connection('User', it.assignees, args, (user) =>
                this.user(user)),
            comments: (args) => connection('IssueComment', it.comments, args, (comment) => ({
                __typename: 'IssueComment', id: nodeId('IC', comment.id),
                databaseId: comment.id, fullDatabaseId: String(comment.id), body: comment.body,
                url: this.show.comment(comment).html_url,
                author: () => this.user(comment.user), authorAssociation:
                    it.repo.associationOf(comment.user), createdAt: iso(comment.created),
                updatedAt: iso(comment.updated), isMinimized: false })),
        };
    }

    issue(issue) {
        return { __typename: 'Issue', __is: ['Node'], id: nodeId('I', issue.id),
            databaseId: issue.id, fullDatabaseId: String(issue.id), ...this.#common(issue),
            stateReason: issue.stateReason?.toUpperCase() ?? null };
    }

    pull(pull) {
        const { repo } = pull;
        let settled; // The same for all that one query asks.
        const known = () => (settled ??= pull.state === 'open' && pull.settled());
        const counted = (key) => () => this.show.fullPull(pull, { told: true })[key];
        return {
            __typename: 'PullRequest', __is: ['Node'], id: nodeId('PR', pull.pullId),
            databaseId: pull.pullId, fullDatabaseId: String(pull.pullId), ...this.#common(pull),
            permalink: `${this.show.web(repo)}/pull/${pull.number}`,
            isDraft: pull.draft, merged: pull.merged, mergedAt: iso(pull.mergedAt),
            mergedBy: () => this.user(pull.mergedBy),
            mergeCommit: () => pull.mergeCommit && this.commit(repo, pull.mergeCommit),
            headRefName: pull.headRef, headRefOid: pull.headSha, baseRefName: pull.baseRef,
            baseRefOid: pull.baseSha, isCrossRepository: false,
            headRepository: () => this.repository(repo),
            headRef: () => this.ref(repo, `refs/heads/${pull.headRef}`),
            baseRef: () => this.ref(repo, `refs/heads/${pull.baseRef}`),
            mergeable: () => (known() ? MERGEABLE[pull.mergeState] ?? 'MERGEABLE' : 'UNKNOWN'),
            mergeStateStatus: () => (known() ? pull.mergeState.toUpperCase() : 'UNKNOWN'),
            reviewDecision: () => pull.reviewDecision,
            maintainerCanModify: pull.maintainerCanModify,
            additions: counted('additions'), deletions: counted('deletions'),
            changedFiles: counted('changed_files'),
            autoMergeRequest: pull.autoMerge && { __typename: 'AutoMergeRequest',
                enabledAt: iso(pull.autoMerge.since), enabledBy: () =>
                    this.user(pull.autoMerge.by), mergeMethod: pull.autoMerge.method
                    .toUpperCase() },
            isInMergeQueue: Boolean(pull.queued), mergeQueueEntry: () => this.queueEntry(pull),
            reviews: (args) => connection('PullRequestReview', pull.reviews.filter((review) =>
                !args.states || args.states.includes(review.state)), args, (review) =>
                this.review(review)),
            latestReviews: (args) => connection('PullRequestReview', pull.verdicts(), args,
                (review) => this.review(review)),
            reviewThreads: (args) => connection('PullRequestReviewThread', pull.threads, args,
                (thread) => this.thread(thread)),
            reviewRequests: (args) => connection('ReviewRequest', pull.requested, args, (user) => ({
                __typename: 'ReviewRequest', requestedReviewer: () => this.user(user) })),
            statusCheckRollup: () => this.rollup(repo, pull.headSha),
            commits: (args) => connection('PullRequestCommit', repo.bare.commits(
                `${pull.baseSha}..${pull.headSha}`), args, (sha) => ({
                __typename: 'PullRequestCommit', id: nodeId('PURC', sha),
                commit: () => this.commit(repo, sha) })),
            files: (args) => connection('PullRequestChangedFile', repo.bare.files(pull.baseSha,
                pull.headSha), args, (file) => ({ __typename: 'PullRequestChangedFile',
                path: file.path, additions: file.additions, deletions: file.deletions,
                changeType: file.status.toUpperCase() })),
        };
    }

    queueEntry(pull) {
        return pull.queued && { __typename: 'MergeQueueEntry', id: nodeId('MQE', pull.queued.id),
            position: pull.repo.queue.indexOf(pull) + 1, state: 'AWAITING_CHECKS',
            enqueuedAt: iso(pull.queued.since), pullRequest: () => this.pull(pull) };
    }

    review(review) {
        const shown = this.show.review(review);
        return { __typename: 'PullRequestReview', __is: ['Node'], id: shown.node_id,
            databaseId: review.id, fullDatabaseId: String(review.id),
            author: () => this.user(review.user), authorAssociation: shown.author_association,
            state: review.state, body: review.body, url: shown.html_url,
            submittedAt: iso(review.submitted), createdAt: iso(review.submitted),
            updatedAt: iso(review.submitted),
            commit: () => this.commit(review.pull.repo, review.commit),
            comments: (args) => connection('PullRequestReviewComment', review.pull.threads.flatMap(
                ({ comments }) => comments).filter((each) => each.review === review), args,
            (each) => this.reviewComment(each)) };
    }

    thread(thread) {
        return { __typename: 'PullRequestReviewThread', __is: ['Node'],
            id: nodeId('PRRT', thread.id), path: thread.path, isResolved: thread.resolved,
            isOutdated: thread.outdated, isCollapsed: thread.resolved,
            line: thread.outdated ? null : thread.line, originalLine: thread.line,
            startLine: null, diffSide: thread.side,
            subjectType: thread.line === null ? 'FILE' : 'LINE',
            resolvedBy: () => this.user(thread.resolvedBy),
            pullRequest: () => this.pull(thread.pull),
            comments: (args) => connection('PullRequestReviewComment', thread.comments, args,
                (each) => this.reviewComment(each)) };
    }

    reviewComment(comment) {
        const shown = this.show.reviewComment(comment);
        return { __typename: 'PullRequestReviewComment', __is: ['Node'], id: shown.node_id,
            databaseId: comment.id, fullDatabaseId: String(comment.id), body: comment.body,
            url: shown.html_url, path: shown.path, line: shown.line ?? null,
            originalLine: comment.thread.line, outdated: comment.thread.outdated,
            author: () => this.user(comment.user), authorAssociation: shown.author_association,
            viewerDidAuthor: comment.user === this.actor.user,
            createdAt: shown.created_at, updatedAt: shown.updated_at, diffHunk: shown.diff_hunk,
            replyTo: () => comment.replyTo && this.reviewComment(comment.replyTo),
            pullRequestReview: () => this.review(comment.review) };
    }

    // ---- checks ----

    rollup(repo, sha) {
        const runs = repo.checks.latest(sha), statuses = repo.checks.statusesOf(sha);
        if (runs.length + statuses.length === 0) return null;
        const bad = runs.some((run) => run.status === 'completed' && !run.passed)
            || statuses.some(({ state }) => state === 'failure' || state === 'error');
        const busy = runs.some((run) => run.status !== 'completed')
            || statuses.some(({ state }) => state === 'pending');
        return { __typename: 'StatusCheckRollup', id: nodeId('SCR', sha),
            state: bad ? 'FAILURE' : busy ? 'PENDING' : 'SUCCESS',
            contexts: (args) => connection('StatusCheckRollupContext', [...runs, ...statuses],
                args, (it) => (it.suite ? this.checkRun(repo, it) : this.status(repo, it))) };
    }

    #required(repo, name) {
        return ({ pullRequestNumber, pullRequestId }) => {
            const pull = pullRequestNumber ? repo.pull(pullRequestNumber)
                : this.#pullOf(pullRequestId);
            return repo.protection.get(pull?.baseRef)?.checks.includes(name) ?? false;
        };
    }

    checkRun(repo, run) {
        const shown = this.git.checkRun(repo, run);
        return { __typename: 'CheckRun', __is: ['Node'], id: shown.node_id, databaseId: run.id,
            name: run.name, status: run.status.toUpperCase(),
            conclusion: run.conclusion?.toUpperCase() ?? null, detailsUrl: shown.details_url,
            url: shown.html_url, permalink: shown.html_url, externalId: run.externalId,
            startedAt: shown.started_at, completedAt: shown.completed_at,
            title: run.output.title, summary: run.output.summary, text: run.output.text,
            isRequired: this.#required(repo, run.name),
            checkSuite: () => ({ __typename: 'CheckSuite', id: nodeId('CS', run.suite.id),
                databaseId: run.suite.id, app: () => ({ __typename: 'App', name: run.app.slug,
                    slug: run.app.slug, databaseId: run.app.id, id: nodeId('A', run.app.id) }),
                workflowRun: () => run.job && { __typename: 'WorkflowRun',
                    id: nodeId('WFR', run.job.run.id), databaseId: run.job.run.id,
                    runNumber: run.job.run.number, workflow: () => ({ __typename: 'Workflow',
                        id: nodeId('W', 1), name: run.job.run.name }) } }) };
    }

    status(repo, status) {
        return { __typename: 'StatusContext', __is: ['Node'], id: nodeId('SC', status.id),
            context: status.context, state: status.state.toUpperCase(),
            description: status.description, targetUrl: status.targetUrl,
            createdAt: iso(status.created), creator: () => this.user(status.creator),
            isRequired: this.#required(repo, status.context) };
    }
}

function stateOf(it) {
    return it.isPull && it.merged ? 'MERGED' : it.state.toUpperCase();
}

function ordered(items, { orderBy }) {
    if (!orderBy) return items;
    const key = orderBy.field === 'UPDATED_AT' ? 'updated' : 'created';
    const sign = orderBy.direction === 'DESC' ? -1 : 1;
    return [...items].sort((a, b) => sign * (a[key] - b[key]));
}
