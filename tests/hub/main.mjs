// main.mjs - the hub as a process of its own: makes acme/billing, prints what is needed to use it
// as one line of JSON, and ends with SIGTERM.
//
//   node tests/hub/main.mjs [--port N] [--webhook URL --secret TEXT]
import { parseArgs } from 'node:util';
import { CIS, startHub } from './hub.mjs';

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' },
    webhook: { type: 'string' }, secret: { type: 'string' } } });
const hub = await startHub({ port: Number(values.port) });
hub.org('acme', { members: ['ann'] });
const repo = hub.repo('acme/billing', { collaborators: { bot: 'write' }, ci: CIS.green() });
const app = hub.app();
const { id } = app.install('acme');
if (values.webhook) repo.hook({ url: values.webhook, secret: values.secret });
console.log(JSON.stringify({ url: hub.url, api: hub.apiUrl, git: hub.gitUrl(repo),
    token: hub.token('bot'), person: hub.token('ann'), app: app.id, installation: id,
    privateKey: app.privateKey }));
for (const signal of ['SIGTERM', 'SIGINT'])
    process.on(signal, () => hub.stop().then(() => process.exit(0)));
