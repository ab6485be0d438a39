// proxy.mjs - a real HAProxy or nginx in front of a server, listening on a unix socket in a
// directory of the test's own.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from './server.mjs';
import { until } from './wait.mjs';

// Connections to the server are shared by all clients, also for their first requests.
const haproxy = (dir, server) => `
global
    maxconn 200
defaults
    mode http
    timeout connect 60s
    timeout client 240s
    timeout server 240s
    timeout http-request 240s
    timeout http-keep-alive 240s
frontend clients
    bind ${dir}/s
    default_backend drover
backend drover
    http-reuse always
    server one ${server} pool-max-conn 4
`;

const nginx = (dir, server) => `
daemon off;
master_process off;
pid ${dir}/pid;
error_log ${dir}/log;
events { worker_connections 200; }
http {
    access_log off;
    client_body_temp_path ${dir}/body;
    proxy_temp_path ${dir}/proxy;
    fastcgi_temp_path ${dir}/fastcgi;
    uwsgi_temp_path ${dir}/uwsgi;
    scgi_temp_path ${dir}/scgi;
    client_max_body_size 0;
    keepalive_requests 100000;
    upstream drover { server ${server}; keepalive 4; }
    server {
        listen unix:${dir}/s;
        location / {
            proxy_pass http://drover;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_request_buffering off;
            proxy_read_timeout 240s;
        }
    }
}
`;

const kinds = {
    haproxy: { config: haproxy, args: (file) => ['-db', '-f', file] },
    nginx: { config: nginx, args: (file, dir) => ['-p', dir, '-e', join(dir, 'log'), '-c', file] },
};

const running = new Set();
process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL');
});

// kind: haproxy or nginx.  {path, stop}: path is the socket that it listens on.
export async function openProxy(kind, server) {
    const dir = makeDirectory();
    const file = join(dir, 'conf');
    const path = join(dir, 's');
    writeFileSync(file, kinds[kind].config(dir, new URL(server.url).host));
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
    const stdio = ['ignore', 'ignore', 'pipe'];
    const child = spawn(kind, kinds[kind].args(file, dir), { env, stdio });
    let said = '';
    child.stderr.on('data', (part) => { said += part; });
    running.add(child);
    const ended = new Promise((resolve) => { child.on('error', resolve).on('exit', resolve); });
    ended.then((why) => {
        running.delete(child);
        said += ` ended: ${why}`;
    });
    const log = () => said + (existsSync(join(dir, 'log')) ? readFileSync(join(dir, 'log')) : '');
    await until(`${kind} to listen`, () => {
        if (!running.has(child)) throw new Error(`${kind}: ${log()}`);
        return existsSync(path);
    });
    const stop = async () => {
        child.kill('SIGKILL');
        await ended;
    };
    return { path, log, stop };
}
