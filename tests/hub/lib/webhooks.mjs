// webhooks.mjs - deliveries: made from what happens, signed, sent, recorded, sent again.
//
// How they travel is set by mode():
//   now       each is sent at once, in order
//   hold      they wait for release(), which may reverse, shuffle or double them
//   outage    each is tried, fails, and is in the list of deliveries
//   lost      none is sent, and none is in that list
import { createHmac, randomUUID } from 'node:crypto';
import http from 'node:http';

const ANSWER_MAX = 64 * 1024;
const TIMEOUT_MS = 10_000; // As GitHub's.

export class Webhooks {
    constructor(world, show, showGit) {
        Object.assign(this, { world, show, showGit, how: 'now', held: [], busy: new Set(),
            tail: new Map(), sent: [] });
        world.emit = (repo, event, action, more) => this.#happened(repo, event, action, more);
        world.ping = (hook, repo) => this.#make(hook, repo, 'ping', null, {
            zen: 'Keep it logically awesome.', hook_id: hook.id, hook: showGit.hook(hook),
            ...(repo && { repository: show.repository(repo), sender: show.user(repo.owner) }) });
    }

    mode(how) {
        this.how = how;
    }

    // ---- what happens ----

    #happened(repo, event, action, more) {
        const hooks = [...repo.hooks, ...[...this.world.apps.values()].filter((app) => app.hook
            && this.world.installationOf(app, repo)).map((app) => app.hook)];
        const wanted = hooks.filter((hook) => hook.active
            && (hook.events.includes('*') || hook.events.includes(event)));
        if (wanted.length === 0 || this.how === 'lost') return;
        const payload = this.payload(repo, event, action, more);
        for (const hook of wanted) {
            const installation = hook.app && this.world.installationOf(hook.app, repo);
            this.#make(hook, repo, event, action, installation ? { ...payload, installation: {
                id: installation.id, node_id: `IN_${installation.id}` } } : payload, installation);
        }
    }

    payload(repo, event, action, more) {
        const common = { repository: this.show.repository(repo),
            sender: this.show.user(more.sender),
            ...(repo.owner.type === 'Organization' && {
                organization: this.show.organization(repo.owner) }) };
        const own = SHAPES[event]?.(this, repo, more) ?? {};
        return { ...(action && { action }), ...own, ...common };
    }

    // ---- deliveries ----

    #make(hook, repo, event, action, payload, installation = null) {
        const delivery = {
            id: this.world.id(), guid: randomUUID(), hook, event, action, payload,
            text: JSON.stringify(payload), at: this.world.now(), redelivery: false, duration: 0,
            status: 'pending', statusCode: 0, answer: null, answerHeaders: null, headers: null,
            installationId: installation?.id ?? null, repositoryId: repo?.id ?? null,
        };
        if (this.how === 'hold') this.held.push(delivery);
        else if (this.how === 'outage') this.#record(delivery, { status: 502,
            words: 'failed to connect to host' });
        else this.#enqueue(delivery);
        return delivery;
    }

    // In order for each hook; the next is sent when this one was answered.
    #enqueue(delivery) {
        const { hook } = delivery;
        const before = this.tail.get(hook) ?? Promise.resolve();
        const mine = before.then(() => this.#send(delivery));
        this.tail.set(hook, mine);
        this.busy.add(mine);
        mine.finally(() => this.busy.delete(mine));
        return mine;
    }

    #headers(delivery) {
        const { hook, text } = delivery;
        const sign = (algorithm) =>
            `${algorithm}=${createHmac(algorithm, hook.secret).update(text).digest('hex')}`;
        return {
            'content-type': 'application/json', 'user-agent': 'GitHub-Hookshot/hub',
            'x-github-delivery': delivery.guid, 'x-github-event': delivery.event,
            'x-github-hook-id': String(hook.id),
            'x-github-hook-installation-target-id': String(hook.repo?.id ?? hook.app.id),
            'x-github-hook-installation-target-type': hook.repo ? 'repository' : 'integration',
            ...(hook.secret && { 'x-hub-signature': sign('sha1'),
                'x-hub-signature-256': sign('sha256') }),
        };
    }

    async #send(delivery) {
        delivery.headers = this.#headers(delivery);
        const begun = performance.now();
        const got = await post(delivery.hook.url, delivery.headers, delivery.text);
        delivery.duration = Math.round(performance.now() - begun) / 1000;
        this.#record(delivery, got);
    }

    #record(delivery, { status, words, text = null, headers = null }) {
        Object.assign(delivery, { at: this.world.now(), status: words, statusCode: status,
            answer: text, answerHeaders: headers, headers: delivery.headers
                ?? this.#headers(delivery) });
        delivery.hook.deliveries.push(delivery);
        this.sent.push(delivery);
    }

    // Lets go what was held: order 'as made', 'reverse' or 'shuffle'; times: 2 doubles each.
    release({ order = 'as made', times = 1, mode = 'now', random = Math.random } = {}) {
        const all = this.held.splice(0);
        if (order === 'reverse') all.reverse();
        if (order === 'shuffle')
            for (let i = all.length - 1; i > 0; i--) {
                const j = Math.floor(random() * (i + 1));
                [all[i], all[j]] = [all[j], all[i]];
            }
        this.mode(mode);
        const sent = all.map((each) => this.#enqueue(each));
        for (let i = 1; i < times; i++)
            sent.push(...all.map((each) => this.#enqueue({ ...each, id: this.world.id() })));
        return Promise.all(sent);
    }

    // The same delivery once more, with its guid, as a person or the API asks for it.
    redeliver(delivery) {
        return this.#enqueue({ ...delivery, id: this.world.id(), redelivery: true, headers: null,
            status: 'pending', statusCode: 0 });
    }

    // A delivery of any event, made by the test.
    deliver(hook, event, payload) {
        return this.#make(hook, hook.repo, event, payload.action ?? null, payload);
    }

    // Resolves when none is under way.
    async settled() {
        while (this.busy.size > 0) await Promise.all([...this.busy]);
    }
}

function post(url, headers, text) {
    return new Promise((resolve) => {
        const fail = (words, status) => resolve({ status, words });
        const req = http.request(url, { method: 'POST', headers: { ...headers,
            'content-length': Buffer.byteLength(text) }, timeout: TIMEOUT_MS }, (res) => {
            let body = '';
            res.setEncoding('utf8');
            res.on('data', (part) => {
                if (body.length < ANSWER_MAX) body += part;
            });
            res.on('error', () => fail('failed to connect to host', 502));
            res.on('end', () => resolve({ status: res.statusCode, text: body,
                headers: res.headers, words: res.statusCode < 300 ? 'OK'
                    : `Invalid HTTP Response: ${res.statusCode}` }));
        });
        req.on('timeout', () => req.destroy(Object.assign(new Error('timeout'), { late: true })));
        req.on('error', (error) => fail(error.late ? 'timed out' : 'failed to connect to host',
            error.late ? 504 : 502));
        req.end(text);
    });
}

// The members that an event has beside action, repository and sender.
const SHAPES = {
    issues: ({ show }, repo, { issue, label, assignee, changes }) => ({
        issue: show.issue(issue), ...(label && { label: show.label(repo, label) }),
        ...(assignee && { assignee: show.user(assignee) }), ...(changes && { changes }) }),
    issue_comment: ({ show }, repo, { issue, comment, changes }) => ({
        issue: show.issue(issue), comment: show.comment(comment), ...(changes && { changes }) }),
    pull_request: ({ show }, repo, { pull, label, assignee, changes, before, after, reason,
        requestedReviewer, requestedTeam }) => ({
        number: pull.number, pull_request: show.fullPull(pull, { told: true }),
        ...(label && { label: show.label(repo, label) }),
        ...(assignee && { assignee: show.user(assignee) }), ...(changes && { changes }),
        ...(before && { before, after }), ...(reason && { reason }),
        ...(requestedReviewer && { requested_reviewer: show.user(requestedReviewer) }),
        ...(requestedTeam && { requested_team: show.team(requestedTeam, repo.owner) }) }),
    pull_request_review: ({ show }, repo, { pull, review }) => ({
        pull_request: show.pull(pull),
        review: { ...show.review(review), state: review.state.toLowerCase() } }),
    pull_request_review_comment: ({ show }, repo, { pull, comment, changes }) => ({
        pull_request: show.pull(pull), comment: show.reviewComment(comment),
        ...(changes && { changes }) }),
    pull_request_review_thread: ({ show }, repo, { pull, thread }) => ({
        pull_request: show.pull(pull), thread: { node_id: `PRRT_${thread.id}`,
            comments: thread.comments.map((each) => show.reviewComment(each)) } }),
    push: ({ show, showGit }, repo, { ref, before, after, sender }) => {
        const gone = /^0+$/.test(after), made = /^0+$/.test(before);
        const list = gone ? [] : repo.bare.commits(made ? after : `${before}..${after}`, 20);
        const shown = list.map((sha) => ({ ...showGit.simpleCommit(repo, sha), distinct: true,
            url: `${show.web(repo)}/commit/${sha}`, added: [], removed: [], modified: [] }));
        return { ref, before, after, created: made, deleted: gone, forced: false, base_ref: null,
            compare: `${show.web(repo)}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`,
            commits: shown, head_commit: shown.at(-1) ?? null,
            pusher: { name: sender.login, email: `${sender.login}@example.org` } };
    },
    create: (_, repo, { ref }) => ({ ref, ref_type: 'branch', master_branch: repo.defaultBranch,
        description: null, pusher_type: 'user' }),
    delete: (_, repo, { ref }) => ({ ref, ref_type: 'branch', pusher_type: 'user' }),
    check_run: ({ showGit }, repo, { check }) => ({ check_run: { ...showGit.checkRun(repo, check),
        check_suite: showGit.checkSuite(repo, check.suite) } }),
    check_suite: ({ showGit }, repo, { suite }) => ({
        check_suite: showGit.checkSuite(repo, suite) }),
    status: ({ showGit }, repo, { status }) => ({ ...showGit.status(repo, status),
        sha: status.sha, name: repo.fullName, commit: showGit.commit(repo, status.sha),
        branches: repo.branches().filter(({ sha }) => sha === status.sha)
            .map((branch) => showGit.shortBranch(repo, branch)) }),
    workflow_run: ({ showGit }, repo, { run }) => ({ workflow_run: showGit.workflowRun(repo, run),
        workflow: null }),
    workflow_job: ({ showGit }, repo, { job }) => ({ workflow_job: showGit.job(repo, job) }),
    repository: (_, repo, { changes }) => ({ changes }),
};
