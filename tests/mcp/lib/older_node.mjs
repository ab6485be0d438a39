// older_node.mjs - for --import: lets the conformance suite load on a node without fs.globSync (22
// has it).  Only its command `traceability` calls that, which is not used here.
import fs from 'node:fs';
import { register } from 'node:module';

const asModule = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const patched = asModule(`export * from 'node:fs';
export const globSync = () => { throw new Error('this node has no fs.globSync'); };`);

if (fs.globSync === undefined) {
    register(asModule(`export async function resolve(specifier, context, next) {
        if (specifier === 'fs' && context.parentURL?.includes('/conformance/'))
            return { url: ${JSON.stringify(patched)}, shortCircuit: true };
        return next(specifier, context);
    }`));
}
