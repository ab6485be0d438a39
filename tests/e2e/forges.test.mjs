// forges.test.mjs - the same cases over every hosted forge: GitHub, GitLab, Gitea and Forgejo, each a
// server on loopback that keeps state, and git over HTTP.
//
// DROVER_FORGE=gitlab runs one of them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FORGES, startWorld } from './lib/forge_kinds.mjs';
import { fixes, git } from './lib/git.mjs';
import { Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const NAME = 'acme/billing';
const CHOSEN = process.env.DROVER_FORGE ? [process.env.DROVER_FORGE] : FORGES;

// A forge, a server, and the repository of the one at the other.
class Stage {
    async open(name, more = {}, options = {}) {
        this.world = await startWorld(name);
        this.server = new Server({ ...options, env: { FORGE_TOKEN: this.world.token } });
        await this.server.start();
        await this.configure(more);
        return this;
    }

    configure(more = {}) {
        return this.server.configure(NAME, {
            url: this.world.url, forge: this.world.name, api: this.world.api,
            credentials: { forge: 'FORGE_TOKEN' },
            agent: { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson' },
            verify: [{ name: 'unit', command: 'sh test.sh', timeoutSeconds: 60 }],
            ...more,
        });
    }

    // Whatever the forge was asked, it has one branch of the run and one pull request.
    assertOnce() {
        const { world } = this;
        assert.equal(world.pulls().length, 1, JSON.stringify(world.pulls()));
        assert.equal(world.repo.branches().filter((each) => each.startsWith('drover/')).length, 1);
        return world.pulls()[0];
    }

    async close() {
        await this.server.discard();
        await this.world.stop();
    }
}

async function staged(name, more, body, options) {
    const stage = await new Stage().open(name, more, options);
    let failed = true;
    try {
        await body(stage, stage.world, stage.server);
        failed = false;
    } finally {
        if (failed) stage.server.killNow();
        else await stage.close();
    }
}

for (const name of CHOSEN) describe(`forge ${name}`, { concurrency: 1 }, () => {
    it('turns a task into a draft with labels, reviewers and a body', () => staged(name,
        { pullRequest: { draft: true, labels: ['bot', 'needs review'], reviewers: ['ann'] } },
        async (stage, world, server) => {
            const { run } = await server.finish(NAME, 'completed');
            const pull = stage.assertOnce();
            assert.equal(pull.draft, true);
            assert.deepEqual(pull.labels, ['bot', 'needs review']);
            assert.deepEqual(pull.reviewers, ['ann']);
            assert.match(pull.body, new RegExp(`Drover-Run: ${run.id}`));
            assert.equal(pull.sha, world.repo.head(pull.head));
            assert.equal(world.repo.bare.file(pull.sha, 'answer.txt'), '42');
            assert.equal(run.pullRequest.number, pull.number);
            assert.match(run.pullRequest.url, new RegExp(`/${pull.number}$`));
            assert.deepEqual(world.checks(pull.sha), [{ name: 'drover', state: 'passed' }]);
        }));
});
