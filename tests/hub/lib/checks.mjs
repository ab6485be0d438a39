// checks.mjs - what is known of a commit: statuses, check suites, check runs, and the workflow runs
// and jobs of Actions, whose check runs have the same ids as the jobs.
const DONE_WELL = new Set(['success', 'neutral', 'skipped']);

export class Checks {
    constructor(repo) {
        this.repo = repo;
        this.world = repo.world;
        this.statuses = []; // Newest first.
        this.suites = [];
        this.runs = []; // Check runs.
        this.workflows = []; // Workflow runs.
        this.jobs = [];
    }

    // ---- statuses ----

    status(sha, { state, context = 'default', description = null, targetUrl = null, by }) {
        const now = this.repo.touch();
        const status = { id: this.world.id(), sha, state, context, description, targetUrl,
            creator: this.world.user(by ?? this.repo.owner.login), created: now, updated: now };
        this.statuses.unshift(status);
        this.repo.emit('status', null, { status }, status.creator);
        this.#moved(sha);
        return status;
    }

    // The newest of each context.
    statusesOf(sha) {
        const seen = new Set();
        return this.statuses.filter((each) => each.sha === sha && !seen.has(each.context)
            && seen.add(each.context));
    }

    combined(sha) {
        const states = this.statusesOf(sha).map(({ state }) => state);
        if (states.some((state) => state === 'failure' || state === 'error')) return 'failure';
        return states.length === 0 || states.includes('pending') ? 'pending' : 'success';
    }

    // ---- check runs ----

    suite(sha, app, branch = null) {
        let suite = this.suites.find((each) => each.sha === sha && each.app === app);
        if (!suite) {
            const now = this.world.now();
            suite = { id: this.world.id(), sha, app, branch, created: now, updated: now };
            this.suites.push(suite);
        }
        return suite;
    }

    // What a check suite says as a whole.
    verdict(suite) {
        const all = this.latest(suite.sha).filter((run) => run.suite === suite);
        if (all.length === 0) return { status: 'queued', conclusion: null };
        if (all.some((run) => run.status !== 'completed'))
            return { status: 'in_progress', conclusion: null };
        const bad = all.find((run) => !run.passed);
        return { status: 'completed', conclusion: bad ? bad.conclusion : 'success' };
    }

    create(fields, app, by) {
        const now = this.repo.touch();
        const run = {
            id: this.world.id(), suite: this.suite(fields.head_sha, app, fields.branch), app,
            sha: fields.head_sha, name: fields.name, externalId: fields.external_id ?? '',
            detailsUrl: fields.details_url ?? null, status: fields.status ?? 'queued',
            conclusion: null, started: now, completed: null, created: now, job: null,
            output: { title: null, summary: null, text: null, annotations: [] },
            get passed() {
                return this.status === 'completed' && DONE_WELL.has(this.conclusion);
            },
        };
        this.runs.push(run);
        this.repo.emit('check_run', 'created', { check: run }, by ?? app.user);
        this.#apply(run, fields, by ?? app.user);
        return run;
    }

    update(run, fields, by) {
        if (fields.name !== undefined) run.name = fields.name;
        if (fields.external_id !== undefined) run.externalId = fields.external_id;
        if (fields.details_url !== undefined) run.detailsUrl = fields.details_url;
        this.#apply(run, fields, by ?? run.app.user);
        return run;
    }

    #apply(run, fields, by) {
        const was = run.status;
        if (fields.output) Object.assign(run.output, {
            title: fields.output.title ?? run.output.title,
            summary: fields.output.summary ?? run.output.summary,
            text: fields.output.text ?? run.output.text,
            annotations: [...run.output.annotations, ...(fields.output.annotations ?? [])] });
        if (fields.started_at) run.started = Date.parse(fields.started_at);
        if (fields.status) run.status = fields.status;
        if (fields.status && fields.status !== 'completed') run.conclusion = run.completed = null;
        if (fields.conclusion) {
            run.status = 'completed';
            run.conclusion = fields.conclusion;
            run.completed = fields.completed_at ? Date.parse(fields.completed_at)
                : this.world.now();
        }
        run.suite.updated = this.repo.touch();
        if (run.status !== 'completed' || was === 'completed') return;
        this.repo.emit('check_run', 'completed', { check: run }, by);
        const { status } = this.verdict(run.suite);
        if (status === 'completed')
            this.repo.emit('check_suite', 'completed', { suite: run.suite }, by);
        this.#moved(run.sha);
    }

    // The newest of each name in each suite.
    latest(sha) {
        const seen = new Set();
        return this.runs.filter((run) => run.sha === sha).reverse().filter((run) => {
            const key = `${run.suite.id} ${run.name}`;
            return !seen.has(key) && seen.add(key);
        });
    }

    #moved(sha) {
        for (const pull of this.repo.pulls)
            if (pull.headSha === sha) pull.perhapsAutoMerge();
    }

    // ---- Actions ----

    workflow({ sha, branch, event, name = 'ci', app, by }) {
        const now = this.repo.touch();
        const run = { id: this.world.id(), sha, branch, event, name, app, by, attempt: 1,
            number: this.workflows.length + 1, suite: this.suite(sha, app, branch),
            status: 'queued', conclusion: null, created: now, updated: now, started: now,
            path: `.github/workflows/${name}.yml`, workflowId: 4100 };
        this.workflows.push(run);
        this.repo.emit('workflow_run', 'requested', { run }, by);
        return run;
    }

    job(run, name) {
        const check = this.create({ head_sha: run.sha, name, branch: run.branch }, run.app, run.by);
        const job = { id: check.id, check, run, name, attempt: run.attempt, log: '',
            created: this.world.now() };
        check.job = job;
        check.detailsUrl = null; // show.mjs: the page of the job.
        this.jobs.push(job);
        this.repo.emit('workflow_job', 'queued', { job }, run.by);
        return job;
    }

    jobStarted(job) {
        job.run.status = 'in_progress';
        this.update(job.check, { status: 'in_progress' }, job.run.by);
        this.repo.emit('workflow_job', 'in_progress', { job }, job.run.by);
    }

    jobDone(job, { conclusion, log = '', output }) {
        job.log = log;
        this.update(job.check, { conclusion, output }, job.run.by);
        this.repo.emit('workflow_job', 'completed', { job }, job.run.by);
        const all = this.jobsOf(job.run);
        if (all.some(({ check }) => check.status !== 'completed')) return;
        const bad = all.find(({ check }) => !check.passed);
        Object.assign(job.run, { status: 'completed', updated: this.world.now(),
            conclusion: bad ? bad.check.conclusion : 'success' });
        this.repo.emit('workflow_run', 'completed', { run: job.run }, job.run.by);
    }

    // The newest of each name.
    jobsOf(run, attempt = null) {
        const seen = new Set();
        return this.jobs.filter((job) => job.run === run
            && (attempt === null || job.attempt === attempt)).reverse()
            .filter(({ name }) => !seen.has(name) && seen.add(name)).reverse();
    }
}
