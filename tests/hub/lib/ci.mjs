// ci.mjs - the CI of a repository: a function of the tree that was pushed.
//
// It is given {sha, branch, attempt, read(path), paths(), changed, event} and returns jobs
// [{name, conclusion, log, output}], or nothing for no CI.  A job without a conclusion never ends.
// hold() keeps jobs queued until release(); a rerun is another attempt of the same tree.
const CI_RUNS_MAX = 10_000;

export class Ci {
    constructor(repo, decide = null) {
        this.repo = repo;
        this.decide = decide;
        this.on = 'push'; // or pull_request: only branches with an open pull request, and the base.
        this.held = false;
        this.waiting = [];
        this.attempts = new Map(); // sha + name -> attempts
        this.started = 0;
    }

    // decide: the function, or null for none.
    set(decide, { on = this.on } = {}) {
        this.decide = decide;
        this.on = on;
    }

    get app() {
        return this.repo.world.actions;
    }

    hold() {
        this.held = true;
    }

    // Lets what waits go on; from now on nothing waits.
    release() {
        this.held = false;
        for (const go of this.waiting.splice(0)) go();
    }

    // One step of what waits.
    releaseOne() {
        this.waiting.shift()?.();
    }

    start(branch, sha, user) {
        const { repo } = this;
        if (!this.decide) return;
        const pull = repo.pulls.some((each) => each.state === 'open' && each.headRef === branch);
        if (this.on === 'pull_request' && !pull && branch !== repo.defaultBranch) return;
        this.#run(branch, sha, user, pull && this.on === 'pull_request' ? 'pull_request' : 'push');
    }

    pullOpened(pull, user) {
        if (this.decide && this.on === 'pull_request')
            this.#run(pull.headRef, pull.headSha, user, 'pull_request');
    }

    #run(branch, sha, user, event) {
        if (++this.started > CI_RUNS_MAX) throw new Error('the CI of the hub ran too often');
        const { checks } = this.repo;
        const jobs = this.#decided(branch, sha, event);
        if (!jobs?.length) return;
        const run = checks.workflow({ sha, branch, event, app: this.app, by: user });
        for (const { name } of jobs) this.#play(run, checks.job(run, name));
    }

    // jobs: those to be run again; null: all.
    rerun(run, jobs = null) {
        const { checks } = this.repo;
        const again = jobs ?? checks.jobsOf(run);
        run.attempt++;
        Object.assign(run, { status: 'queued', conclusion: null });
        for (const { name } of again) this.#play(run, checks.job(run, name));
    }

    #play(run, job) {
        const go = () => {
            const { checks } = this.repo;
            checks.jobStarted(job);
            const end = this.#decided(run.branch, run.sha, run.event, job)
                ?.find(({ name }) => name === job.name);
            if (end?.conclusion) checks.jobDone(job, end);
        };
        if (this.held) this.waiting.push(go);
        else setImmediate(go);
    }

    #decided(branch, sha, event, job) {
        const { bare } = this.repo;
        const key = `${sha} ${job?.name}`;
        if (job) this.attempts.set(key, (this.attempts.get(key) ?? 0) + 1);
        return this.decide?.({
            sha, branch, event, attempt: job ? this.attempts.get(key) : 1,
            read: (path) => bare.file(sha, path),
            paths: () => bare.paths(sha),
            base: this.repo.head(this.repo.defaultBranch),
        });
    }
}

const JOB = (name, conclusion, log) => ({ name, conclusion, log, output: {
    title: conclusion, summary: log.split('\n').slice(-5).join('\n') } });
const stamp = (lines) => lines.map((line) => `2026-01-01T00:00:00.0000000Z ${line}`).join('\n');

// CIs for tests.  test({read, ...}): null when green, else the words of the failure.
export const CIS = {
    green: (name = 'build') => () => [JOB(name, 'success', stamp(['ok']))],
    of: (test, name = 'build') => (tree) => {
        const why = test(tree);
        return [why === null ? JOB(name, 'success', stamp(['ok']))
            : JOB(name, 'failure', stamp([`##[group]Run ${name}`, why, '##[endgroup]',
                '##[error]Process completed with exit code 1.']))];
    },
    // Red at the first attempt of every commit, then as test says.
    flaky: (test = () => null, name = 'build') => (tree) => (tree.attempt === 1
        ? [JOB(name, 'failure', stamp(['ETIMEDOUT: connection to db timed out',
            '##[error]Process completed with exit code 1.']))] : CIS.of(test, name)(tree)),
    // Never the patch: the machine breaks; as often as `times`, then as test says.
    infra: (times = 1, test = () => null, name = 'build') => (tree) => (tree.attempt <= times
        ? [JOB(name, 'failure', stamp(['##[error]The runner has received a shutdown signal. This '
            + 'can happen when the runner service is stopped.']))] : CIS.of(test, name)(tree)),
};
