// packages.mjs - where the official programs are: NPM_DIR, filled by tests/mcp/run.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = resolve(new URL('../../..', import.meta.url).pathname);
const DIR = resolve(process.env.NPM_DIR ?? join(ROOT, 'build/mcp'));

// A file of a package of @modelcontextprotocol.
export function fileOf(name, path) {
    const file = join(DIR, 'node_modules/@modelcontextprotocol', name, path);
    if (!existsSync(file)) throw new Error(`${file} is missing: run tests/mcp/run`);
    return file;
}

export const load = (name, path) => import(pathToFileURL(fileOf(name, path)).href);

// What the package starts as a program.
export function programOf(name) {
    const { bin } = JSON.parse(readFileSync(fileOf(name, 'package.json'), 'utf8'));
    return fileOf(name, typeof bin === 'string' ? bin : Object.values(bin)[0]);
}
