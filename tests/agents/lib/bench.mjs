// bench.mjs - a real agent at work under a real drover: a model with a script, a home that points
// at it, and a repository of the agent's own.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AGENTS } from './agents.mjs';
import { openModel } from './model_server.mjs';

let count = 0;

// Makes all of it on that server; more is merged into the repository's configuration, and
// more.agent into its agent.  Resolves with {agent, model, repo}.  The model ends with the test.
export async function prepare(t, server, name, turns, more = {}) {
    const agent = AGENTS[name];
    const model = await openModel(turns);
    t.after(() => model.close());
    const home = join(server.dir, `home-${++count}`);
    for (const [path, text] of Object.entries({ ...agent.home(model), ...more.home })) {
        mkdirSync(dirname(join(home, path)), { recursive: true });
        writeFileSync(join(home, path), text);
    }
    const { home: _, agent: other, ...config } = more;
    const repo = await server.repository(`acme/${name}-${count}`, '', { ...config,
        agent: { ...agent.agent(model), network: true, home, ...other } });
    return { agent, model, repo };
}
