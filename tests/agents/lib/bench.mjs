// bench.mjs - a real agent at work under a real drover, as people configure it: the program on
// PATH, a key in the server's environment, `agent: {use: NAME}`, and the way to a scripted model.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { start } from '../../e2e/lib/server.mjs';
import { AGENTS, KEYS, VERSIONS, modulesOf } from './agents.mjs';
import { openModel } from './model_server.mjs';

let count = 0;

// Of a user who has installed the agents; keys: of their accounts.
export function benchEnv(keys = KEYS) {
    const programs = Object.keys(VERSIONS).map((name) => join(modulesOf(name), '.bin'));
    return { ...keys, PATH: [...programs, process.env.PATH].join(':') };
}

export function startBench({ keys, workers = 4, ...more } = {}) {
    return start({ args: ['--workers', String(workers)], env: benchEnv(keys), ...more });
}

export function writeHome(home, files) {
    for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(home, path)), { recursive: true });
        writeFileSync(join(home, path), text);
    }
}

// An agent with a model and a repository of its own: {agent, model, repo}.  The model ends with the
// test.  more is merged into the repository's configuration, and more.agent into its agent;
// more.env are further variables of the agent.
export async function prepare(t, server, name, turns, more = {}) {
    const agent = AGENTS[name];
    const model = await openModel(turns);
    t.after(() => model.close());
    const { agent: other, env, ...config } = more;
    const variables = { ...agent.env?.(model), ...env };
    const section = {
        use: name,
        model: agent.model,
        egress: [model.host],
        env: [...(agent.keys ?? []),
            ...Object.entries(variables).map(([key, value]) => `${key}=${value}`)],
        ...agent.agent,
        ...other,
    };
    count++;
    if (agent.home) {
        section.home = join(server.dir, `home-${count}`);
        writeHome(section.home, agent.home(model));
    }
    const repo = await server.repository(`acme/${name}-${count}`, '',
        { ...config, agent: section });
    return { agent, model, repo };
}
