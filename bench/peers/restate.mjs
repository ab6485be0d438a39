// restate.mjs - Restate: a handler of eight ctx.run steps, called over its HTTP ingress.
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Http } from './http.mjs';
import { range } from './jobs.mjs';
import { freePort } from './servers.mjs';

const STEPS = 8;
const PARTITIONS_PER_CORE = 2; // The default, 24, is for larger machines and slower on small ones.

export const about = {
    name: 'restate',
    title: 'Restate',
    lines: ['runs'],
    packages: ['@restatedev/restate-server', '@restatedev/restate-sdk'],
    durability: 'its defaults: replicated log on one node, RocksDB with WAL fsync',
    tuning: 'two partitions a core, handlers in one process over HTTP/2',
};

function findServer(npm) {
    const require = createRequire(join(npm, 'node_modules/@restatedev/restate-server/'));
    const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
    return require.resolve(`${name}/bin/restate-server`);
}

export async function serve(kit) {
    const [ingress, admin, fabric] = [await freePort(), await freePort(), await freePort()];
    const server = kit.spawn('restate', findServer(kit.npm), ['--no-logo', '--listen-mode', 'tcp',
        '--bind-ip', '127.0.0.1', '--bind-port', String(fabric), '--advertised-host', '127.0.0.1',
        '--base-dir', join(kit.dir, 'data'), '--node-name', 'bench'], {
        RESTATE_DISABLE_TELEMETRY: 'true',
        DO_NOT_TRACK: '1',
        RESTATE_LOG_FILTER: 'warn',
        RESTATE_DEFAULT_NUM_PARTITIONS: String(PARTITIONS_PER_CORE * availableParallelism()),
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    });
    await kit.ready(server, admin);
    await kit.ready(server, ingress);
    return { where: { ingress, admin, endpoint: await freePort() }, versions: [] };
}

export function runner({ ingress }) {
    const http = new Http({ port: ingress });
    return { run: () => http.post('/bench/run', {}), close: () => http.close() };
}

// The SDK is written for Node 22 and needs no more of it than this.
function completeNode() {
    Promise.withResolvers ??= () => {
        const made = {};
        made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
        return made;
    };
}

// The process that has the steps; the server calls it.
export async function worker({ admin, endpoint }) {
    completeNode();
    process.env.RESTATE_LOGGING = 'ERROR'; // Else it says two lines for every run.
    const restate = await import('@restatedev/restate-sdk');
    const service = restate.service({ name: 'bench', handlers: {
        run: async (ctx) => {
            for (const step of range(STEPS)) await ctx.run(`step ${step}`, () => step);
            return {};
        } } });
    await restate.serve({ services: [service], port: endpoint });
    const http = new Http({ port: admin });
    await http.post('/deployments', { uri: `http://127.0.0.1:${endpoint}` });
    http.close();
    return { close() {} };
}
