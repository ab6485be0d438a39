// github.mjs - a drover and a GitHub (tests/hub) that know each other.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startHub } from '../../hub/hub.mjs';
import { FILES } from './git.mjs';
import { start } from './server.mjs';

export const SECRET = 'a secret of the webhook';
export const BOT = 'drover-bot';

// {server, hub, stop()}; options as start() has them, and as startHub() in hub.  env may be a
// function of the hub.
export async function startWithHub({ hub: hubOptions, env = {}, ...options } = {}) {
    const hub = await startHub(hubOptions);
    hub.org('acme', { members: ['ann', 'rob'], teams: { core: ['ann'] } });
    hub.user('mallory');
    const token = hub.token(BOT);
    const server = await start({ ...options,
        env: { HUB_TOKEN: token, HUB_SECRET: SECRET,
            ...(typeof env === 'function' ? env(hub) : env) } });
    const stop = async () => {
        try {
            await server.discard();
        } finally {
            await hub.stop();
        }
    };
    return { server, hub, token, stop, app: (options) => makeApp(server, hub, options) };
}

// An App that is installed at acme: {app, installation, credentials (of a configuration)}.
function makeApp(server, hub, { slug = 'drover', permissions } = {}) {
    const app = hub.app({ slug, permissions });
    const installation = app.install('acme');
    const keyFile = join(server.dir, `${slug}.pem`);
    writeFileSync(keyFile, app.privateKey, { mode: 0o600 });
    return { app, installation, credentials: { app: { id: String(app.id), keyFile } } };
}

// A repository of the hub that drover knows: {name, repo, document}.  config is merged into its
// configuration; ci: see tests/hub/README.md; hook: false for none.
export async function onboard({ server, hub }, name, agent, { ci, files = FILES, hook = true,
    collaborators = { [BOT]: 'write' }, ...config } = {}) {
    const repo = hub.repo(name, { files, ci, collaborators });
    const document = {
        url: hub.gitUrl(repo),
        forge: 'github',
        api: hub.apiUrl,
        credentials: { forge: 'HUB_TOKEN' },
        agent: { command: ['/bin/sh', '-c', agent], adapter: 'ndjson' },
        verify: [{ name: 'unit', command: 'sh test.sh', timeoutSeconds: 60 }],
        ...(hook && { webhook: { secret: 'HUB_SECRET' } }),
        ...config,
    };
    await server.configure(name, document);
    if (hook) repo.hook({ url: `${server.url}/v1/webhooks/github`, secret: SECRET });
    return { name, repo, document };
}
