// packages.mjs - what a peer is made of, fetched into a directory when the bench runs.
//
//   DIR/npm/PEER   npm packages of a peer, beside a copy of these files: Node looks for packages
//                  from where the importing file lies
//   DIR/deb/NAME   a Debian package and what it needs beyond what is installed, unpacked
//
// Nothing is installed on the machine.  A program that is installed is used as it is.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync,
    } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const FETCH_MS_MAX = 180000;

function run(command, args, options = {}) {
    try {
        return execFileSync(command, args, { encoding: 'utf8', timeout: FETCH_MS_MAX,
            stdio: ['ignore', 'pipe', 'pipe'], ...options });
    } catch (error) {
        const said = `${error.stderr ?? ''}`.trim().split('\n').slice(-3).join(' | ');
        throw new Error(`${command} ${args[0]}: ${said || error.message}`);
    }
}

// ---- npm ----

function versionsIn(dir, packages) {
    return packages.map((name) => {
        const file = join(dir, 'node_modules', name, 'package.json');
        return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
    });
}

// Install scripts are not run: none of these packages needs its own, and one reports home.
export function fetchNpm(dir, { name, packages = [] }) {
    const to = join(dir, 'npm', name);
    mkdirSync(to, { recursive: true });
    if (!packages.every((each) => existsSync(join(to, 'node_modules', each, 'package.json'))))
        run('npm', ['install', '--prefix', to, '--ignore-scripts', '--no-audit', '--no-fund',
            '--no-save', '--no-package-lock', '--loglevel', 'error', ...packages]);
    for (const file of readdirSync(HERE))
        if (file.endsWith('.mjs')) copyFileSync(join(HERE, file), join(to, file));
    return { dir: to, versions: versionsIn(to, packages) };
}

// ---- Debian ----

function isInstalled(program) {
    try {
        return execFileSync('sh', ['-c', 'command -v "$0"', program], { encoding: 'utf8' }) !== '';
    } catch {
        return false;
    }
}

// Package lists of our own: those of the machine may be missing, and are root's.
function ownLists(dir) {
    const apt = join(dir, 'apt');
    mkdirSync(join(apt, 'lists/partial'), { recursive: true });
    mkdirSync(join(apt, 'cache/archives/partial'), { recursive: true });
    const options = ['-o', `Dir::State::Lists=${apt}/lists`, '-o', `Dir::Cache=${apt}/cache`,
        '-o', 'APT::Sandbox::User='];
    run('apt-get', ['-q', 'update', ...options]);
    return options;
}

function closure(name, options) {
    const text = run('apt-get', ['-s', 'install', '--no-install-recommends', ...options, name]);
    return [...text.matchAll(/^Inst (\S+)/gm)].map((match) => match[1]);
}

function aptOptions(dir, name) {
    try {
        closure(name, []);
        return [];
    } catch {
        return ownLists(dir);
    }
}

function unpack(dir, name, to) {
    if (!isInstalled('apt-get') || !isInstalled('dpkg'))
        throw new Error(`${name} is not installed, and there is no apt-get to fetch it`);
    const options = aptOptions(dir, name);
    const debs = `${to}.debs`, half = `${to}.half`;
    for (const each of [debs, half]) {
        rmSync(each, { recursive: true, force: true });
        mkdirSync(each, { recursive: true });
    }
    run('apt-get', ['-q', 'download', ...options, ...closure(name, options)], { cwd: debs });
    for (const file of readdirSync(debs)) run('dpkg', ['-x', join(debs, file), half]);
    rmSync(debs, { recursive: true, force: true });
    renameSync(half, to);
}

// Where it was unpacked, or null when the program is installed.
export function fetchDeb(dir, { deb, program }) {
    if (!deb || isInstalled(program)) return null;
    const to = join(dir, 'deb', deb);
    if (!existsSync(to)) unpack(dir, deb, to);
    return to;
}
