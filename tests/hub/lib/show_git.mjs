// show_git.mjs - commits, refs, checks, workflow runs, jobs and webhooks as REST shows them.
import { iso, nodeId } from './world.mjs';

export class ShowGit {
    constructor(show) {
        Object.assign(this, { show, world: show.world });
    }

    commitUrl(repo, sha) {
        return `${this.show.repoUrl(repo)}/commits/${sha}`;
    }

    #parents(repo, parents, kind = 'commits') {
        return parents.map((sha) => ({ sha, url: `${this.show.repoUrl(repo)}/${kind}/${sha}`,
            html_url: `${this.show.web(repo)}/commit/${sha}` }));
    }

    #unsigned() {
        return { verified: false, reason: 'unsigned', signature: null, payload: null,
            verified_at: null };
    }

    commit(repo, sha, { files = false } = {}) {
        const it = repo.bare.commit(sha);
        const changed = files ? this.#filesOf(repo, it) : null;
        const person = ({ name }) => this.show.user(this.world.users.get(name.toLowerCase()));
        const sum = (key) => changed.reduce((total, file) => total + file[key], 0);
        return {
            sha, node_id: nodeId('C', sha), url: this.commitUrl(repo, sha),
            html_url: `${this.show.web(repo)}/commit/${sha}`,
            comments_url: `${this.commitUrl(repo, sha)}/comments`,
            commit: { url: `${this.show.repoUrl(repo)}/git/commits/${sha}`, author: it.author,
                committer: it.committer, message: it.message, comment_count: 0,
                tree: { sha: it.tree, url: `${this.show.repoUrl(repo)}/git/trees/${it.tree}` },
                verification: this.#unsigned() },
            author: person(it.author), committer: person(it.committer),
            parents: this.#parents(repo, it.parents),
            ...(changed && { files: changed, stats: { additions: sum('additions'),
                deletions: sum('deletions'), total: sum('changes') } }),
        };
    }

    #filesOf(repo, { sha, parents }) {
        return parents.length === 0 ? []
            : repo.bare.files(parents[0], sha).map((file) => this.file(repo, sha, file));
    }

    file(repo, sha, file) {
        const path = file.path.split('/').map(encodeURIComponent).join('/');
        return {
            sha: file.sha, filename: file.path, status: file.status, additions: file.additions,
            deletions: file.deletions, changes: file.additions + file.deletions,
            blob_url: `${this.show.web(repo)}/blob/${sha}/${path}`,
            raw_url: `${this.show.web(repo)}/raw/${sha}/${path}`,
            contents_url: `${this.show.repoUrl(repo)}/contents/${path}?ref=${sha}`,
            ...(file.patch && { patch: file.patch }),
            ...(file.previous && { previous_filename: file.previous }),
        };
    }

    gitCommit(repo, sha) {
        const it = repo.bare.commit(sha);
        return { sha, node_id: nodeId('C', sha),
            url: `${this.show.repoUrl(repo)}/git/commits/${sha}`,
            html_url: `${this.show.web(repo)}/commit/${sha}`, author: it.author,
            committer: it.committer, message: it.message,
            tree: { sha: it.tree, url: `${this.show.repoUrl(repo)}/git/trees/${it.tree}` },
            parents: this.#parents(repo, it.parents, 'git/commits'),
            verification: this.#unsigned() };
    }

    simpleCommit(repo, sha) {
        const it = repo.bare.commit(sha);
        const who = ({ name, email }) => ({ name, email });
        return { id: sha, tree_id: it.tree, message: it.message, timestamp: it.committer.date,
            author: who(it.author), committer: who(it.committer) };
    }

    ref(repo, ref, sha) {
        return { ref, node_id: nodeId('REF', `${repo.id}:${ref}`),
            url: `${this.show.repoUrl(repo)}/git/${ref}`,
            object: { type: 'commit', sha, url: `${this.show.repoUrl(repo)}/git/commits/${sha}` } };
    }

    shortBranch(repo, { name, sha }) {
        return { name, commit: { sha, url: this.commitUrl(repo, sha) },
            protected: repo.protection.has(name) };
    }

    branch(repo, name, sha) {
        const own = `${this.show.repoUrl(repo)}/branches/${encodeURIComponent(name)}`;
        const rules = repo.protection.get(name);
        return {
            name, commit: this.commit(repo, sha), protected: Boolean(rules),
            _links: { self: own, html: `${this.show.web(repo)}/tree/${name}` },
            protection: { enabled: Boolean(rules), required_status_checks: {
                enforcement_level: rules?.checks.length ? 'everyone' : 'off',
                contexts: rules?.checks ?? [],
                checks: (rules?.checks ?? []).map((context) => ({ context, app_id: null })) } },
            protection_url: `${own}/protection`,
        };
    }

    // ---- checks ----

    checkRun(repo, run) {
        const own = `${this.show.repoUrl(repo)}/check-runs/${run.id}`;
        const page = run.job ? this.jobPage(repo, run.job)
            : `${this.show.web(repo)}/runs/${run.id}`;
        return {
            id: run.id, name: run.name, node_id: nodeId('CR', run.id), head_sha: run.sha,
            external_id: run.externalId, url: own, html_url: page,
            details_url: run.detailsUrl ?? page, status: run.status, conclusion: run.conclusion,
            started_at: iso(run.started), completed_at: iso(run.completed),
            output: { title: run.output.title, summary: run.output.summary, text: run.output.text,
                annotations_count: run.output.annotations.length,
                annotations_url: `${own}/annotations` },
            check_suite: { id: run.suite.id }, app: this.show.app(run.app),
            pull_requests: this.#pullsAt(repo, run.sha),
        };
    }

    #pullsAt(repo, sha) {
        return repo.pulls.filter((pull) => pull.headSha === sha && pull.state === 'open')
            .map((pull) => this.show.minimalPull(pull));
    }

    checkSuite(repo, suite) {
        const own = `${this.show.repoUrl(repo)}/check-suites/${suite.id}`;
        const runs = repo.checks.latest(suite.sha).filter((run) => run.suite === suite);
        return { id: suite.id, node_id: nodeId('CS', suite.id), head_branch: suite.branch,
            head_sha: suite.sha, ...repo.checks.verdict(suite), url: own, before: null,
            after: suite.sha, pull_requests: this.#pullsAt(repo, suite.sha),
            app: this.show.app(suite.app), repository: this.show.minimal(repo),
            created_at: iso(suite.created), updated_at: iso(suite.updated),
            head_commit: this.simpleCommit(repo, suite.sha),
            latest_check_runs_count: runs.length, check_runs_url: `${own}/check-runs` };
    }

    status(repo, status) {
        return { url: `${this.show.repoUrl(repo)}/statuses/${status.sha}`,
            avatar_url: `${this.show.url}/avatars/${status.creator.id}`, id: status.id,
            node_id: nodeId('SC', status.id), state: status.state,
            description: status.description, target_url: status.targetUrl,
            context: status.context, created_at: iso(status.created),
            updated_at: iso(status.updated) };
    }

    // ---- Actions ----

    jobPage(repo, job) {
        return `${this.show.web(repo)}/actions/runs/${job.run.id}/job/${job.id}`;
    }

    workflowRun(repo, run) {
        const own = `${this.show.repoUrl(repo)}/actions/runs/${run.id}`;
        return {
            id: run.id, name: run.name, node_id: nodeId('WFR', run.id), head_branch: run.branch,
            head_sha: run.sha, path: run.path, display_title: run.name, run_number: run.number,
            run_attempt: run.attempt, event: run.event, status: run.status,
            conclusion: run.conclusion, workflow_id: run.workflowId, check_suite_id: run.suite.id,
            check_suite_node_id: nodeId('CS', run.suite.id), url: own,
            html_url: `${this.show.web(repo)}/actions/runs/${run.id}`,
            pull_requests: this.#pullsAt(repo, run.sha), created_at: iso(run.created),
            updated_at: iso(run.updated), actor: this.show.user(run.by),
            triggering_actor: this.show.user(run.by), run_started_at: iso(run.started),
            jobs_url: `${own}/jobs`, logs_url: `${own}/logs`,
            check_suite_url: `${this.show.repoUrl(repo)}/check-suites/${run.suite.id}`,
            artifacts_url: `${own}/artifacts`, cancel_url: `${own}/cancel`,
            rerun_url: `${own}/rerun`, previous_attempt_url: null,
            workflow_url: `${this.show.repoUrl(repo)}/actions/workflows/${run.workflowId}`,
            head_commit: this.simpleCommit(repo, run.sha), repository: this.show.minimal(repo),
            head_repository: this.show.minimal(repo),
        };
    }

    job(repo, job) {
        const run = `${this.show.repoUrl(repo)}/actions/runs/${job.run.id}`;
        const { check } = job;
        const done = check.status === 'completed';
        return {
            id: job.id, run_id: job.run.id, run_url: run, run_attempt: job.attempt,
            workflow_name: job.run.name, head_branch: job.run.branch,
            node_id: nodeId('CR', job.id), head_sha: job.run.sha,
            url: `${this.show.repoUrl(repo)}/actions/jobs/${job.id}`,
            html_url: this.jobPage(repo, job), status: check.status,
            conclusion: check.conclusion, created_at: iso(job.created),
            started_at: iso(check.started), completed_at: iso(check.completed), name: job.name,
            steps: [{ name: `Run ${job.name}`, number: 1, status: done ? 'completed' : 'queued',
                conclusion: check.conclusion, started_at: iso(check.started),
                completed_at: iso(check.completed) }],
            check_run_url: `${this.show.repoUrl(repo)}/check-runs/${job.id}`,
            labels: ['ubuntu-latest'], runner_id: 1, runner_name: 'Hub runner 1',
            runner_group_id: 1, runner_group_name: 'Hub runners',
        };
    }

    // ---- webhooks ----

    hook(hook) {
        const own = hook.repo ? `${this.show.repoUrl(hook.repo)}/hooks/${hook.id}`
            : `${this.show.api}/app/hook`;
        const last = hook.deliveries.at(-1);
        return {
            type: hook.repo ? 'Repository' : 'App', id: hook.id, name: 'web',
            active: hook.active, events: hook.events,
            config: this.hookConfig(hook), updated_at: iso(hook.updated),
            created_at: iso(hook.created), url: own, test_url: `${own}/test`,
            ping_url: `${own}/pings`, deliveries_url: `${own}/deliveries`,
            last_response: { code: last?.statusCode ?? null, message: last?.status ?? null,
                status: last ? 'active' : 'unused' },
        };
    }

    hookConfig(hook) {
        return { url: hook.url, content_type: hook.contentType, insecure_ssl: '0',
            ...(hook.secret && { secret: '********' }) };
    }

    delivery(each) {
        return { id: each.id, guid: each.guid, delivered_at: new Date(each.at).toISOString(),
            redelivery: each.redelivery, duration: each.duration, status: each.status,
            status_code: each.statusCode, event: each.event, action: each.action,
            installation_id: each.installationId, repository_id: each.repositoryId,
            throttled_at: null };
    }

    fullDelivery(each) {
        return { ...this.delivery(each), url: each.hook.url,
            request: { headers: each.headers, payload: each.payload },
            response: { headers: each.answerHeaders, payload: each.answer } };
    }
}
