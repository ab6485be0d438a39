// cli.mjs - the program as people call it: its words, its output, its exit status.
import { execFile, spawn } from 'node:child_process';
import { BIN, plainEnv } from './server.mjs';
import { PATIENCE_MS } from './wait.mjs';

// Starts the program, in the directory; `ended` resolves with {code, out, err}.
export function launch(args, env, stdin = 'ignore', cwd = undefined) {
    return watchChild(spawn(BIN, args,
        { env: plainEnv({ NO_COLOR: '1', ...env }), stdio: [stdin, 'pipe', 'pipe'], cwd }));
}

// The same on a terminal of that size.  What is written to child.stdin is typed there.
export function launchOnTerminal(args, env, { rows = 24, columns = 80, cwd } = {}) {
    const words = [BIN, ...args].map((word) => `'${word}'`).join(' ');
    const script = `stty rows ${rows} cols ${columns}; exec ${words}`;
    return watchChild(spawn('script', ['-qec', script, '/dev/null'],
        { env: plainEnv({ NO_COLOR: '1', ...env }), stdio: ['pipe', 'pipe', 'pipe'], cwd }));
}

function watchChild(child) {
    const result = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => (result.out += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (result.err += text));
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    const ended = new Promise((resolve) => child.on('close', (code, signal) => {
        clearTimeout(timer);
        resolve({ ...result, code: code ?? signal });
    }));
    return { child, result, ended };
}

// One call of the program beside that server, to its end: {status, stdout, stderr}.
export function callDrover(server, args, input = '') {
    return new Promise((resolve) => {
        const child = execFile(BIN, [...args, '--data', server.data], { env: plainEnv() },
            (error, stdout, stderr) => resolve({ status: error?.code ?? 0, stdout, stderr }));
        child.stdin.on('error', () => {}); // It may end before it has read.
        child.stdin.end(input);
    });
}
