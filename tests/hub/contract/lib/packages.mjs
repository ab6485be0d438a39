// packages.mjs - what contract/install has put into HUB_CONTRACT_DIR.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export const DIR = resolve(process.env.HUB_CONTRACT_DIR ?? 'build/hub-contract');
const require = createRequire(join(DIR, 'package.json'));

export const path = (file) => join(DIR, 'node_modules', file);
export const json = (file) => JSON.parse(readFileSync(path(file), 'utf8'));
export const commonjs = (name) => require(name);

// A package that is a module.
export function module(name) {
    const { exports, module: entry, main } = json(join(name, 'package.json'));
    let own = exports?.['.'] ?? exports ?? entry ?? main;
    while (typeof own === 'object') own = own.node ?? own.import ?? own.default;
    return import(pathToFileURL(path(join(name, own))));
}
