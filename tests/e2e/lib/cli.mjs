// cli.mjs - the program as people call it: its words, its output, its exit status.
import { spawn } from 'node:child_process';
import { BIN, plainEnv } from './server.mjs';
import { PATIENCE_MS } from './wait.mjs';

// Starts the program; `ended` resolves with {code, out, err}.
export function launch(args, env, stdin = 'ignore') {
    return watchChild(spawn(BIN, args,
        { env: plainEnv({ NO_COLOR: '1', ...env }), stdio: [stdin, 'pipe', 'pipe'] }));
}

// The same on a terminal of that size.  What is written to child.stdin is typed there.
export function launchOnTerminal(args, env, { rows = 24, columns = 80 } = {}) {
    const words = [BIN, ...args].map((word) => `'${word}'`).join(' ');
    const script = `stty rows ${rows} cols ${columns}; exec ${words}`;
    return watchChild(spawn('script', ['-qec', script, '/dev/null'],
        { env: plainEnv({ NO_COLOR: '1', ...env }), stdio: ['pipe', 'pipe', 'pipe'] }));
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
