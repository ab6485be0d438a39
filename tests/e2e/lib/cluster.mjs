// cluster.mjs - PostgreSQL for tests that need it whatever the others run on, and for those that
// stop it: a private cluster through tools/postgres, gone with this process.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const TOOL = fileURLToPath(new URL('../../../tools/postgres', import.meta.url));
const run = promisify(execFile);

const clusters = new Set();
process.on('exit', () => {
    for (const cluster of clusters) cluster.remove();
});

class Cluster {
    constructor() {
        this.dir = mkdtempSync(join(tmpdir(), 'pg-'));
        clusters.add(this);
        // Its log goes to a file: whoever holds a pipe to it would never see its end.
        this.url = execFileSync(TOOL, ['start', this.dir, '--fast'],
            { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
    }

    stop(mode = 'fast') {
        return run(TOOL, ['stop', this.dir, mode]);
    }

    start() {
        return run(TOOL, ['start', this.dir]);
    }

    restart(mode = 'fast') {
        return run(TOOL, ['restart', this.dir, mode]);
    }

    remove() {
        clusters.delete(this);
        try {
            execFileSync(TOOL, ['stop', this.dir, 'immediate'], { stdio: 'ignore' });
        } catch {
            // It was stopped.
        }
        rmSync(this.dir, { recursive: true, force: true });
    }
}

// One that the test may stop and start as it likes.
export function makeCluster() {
    return new Cluster();
}

// The URL of one that stays: DROVER_TEST_POSTGRES, or a private one.
export function clusterUrl() {
    return process.env.DROVER_TEST_POSTGRES ?? new Cluster().url;
}
