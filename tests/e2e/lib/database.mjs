// database.mjs - the store that servers under test use: SQLite, or with DROVER_TEST_POSTGRES (the
// URL of a running PostgreSQL server) a database of its own on that one.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';

const SHARED = process.env.DROVER_TEST_POSTGRES;
export const ENGINE = SHARED ? 'postgres' : 'sqlite';

// on('sqlite', it)(name, test), on('postgres', describe)(...): what makes sense on one engine only.
// It is not skipped on the other: a skipped test is one that the machine cannot run.
export const on = (engine, declare) => (ENGINE === engine ? declare : () => {});

// Debian's /usr/bin/psql is a script that takes longer to start than the program itself.
const VERSIONS = '/usr/lib/postgresql';
const programs = (existsSync(VERSIONS) ? readdirSync(VERSIONS) : [])
    .map((version) => `${VERSIONS}/${version}/bin/psql`).filter(existsSync);
export const PSQL = programs.at(-1) ?? 'psql';

const made = new Set();

// Runs statements on a PostgreSQL.
export function sql(text, admin) {
    execFileSync(PSQL, ['-qX', '-v', 'ON_ERROR_STOP=1', '-c', text, admin], { stdio: 'ignore' });
}

// The URL of a new, empty database; undefined: SQLite in the server's data directory.
// admin: the URL of a cluster that goes with the test, and its databases with it.
export function makeDatabase(admin = SHARED) {
    if (!admin) return undefined;
    const name = `e2e_${randomBytes(6).toString('hex')}`;
    sql(`CREATE DATABASE ${name}`, admin);
    if (admin === SHARED) made.add(name);
    const url = new URL(admin.replace('@/', '@localhost/')); // A socket's URL has no host.
    url.pathname = `/${name}`;
    return url.href.replace('@localhost/', '@/');
}

export function dropDatabases() {
    for (const name of made) {
        try {
            sql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, SHARED);
        } catch {
            // The whole cluster goes with the tests.
        }
    }
    made.clear();
}
