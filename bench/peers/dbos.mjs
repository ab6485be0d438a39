// dbos.mjs - DBOS on PostgreSQL: a workflow of eight steps.  DBOS is a library, and starting a
// workflow in the process that works on it is its shortest way: nothing waits to be polled for.
import { range } from './jobs.mjs';

const STEPS = 8;

export const about = {
    name: 'dbos',
    title: 'DBOS',
    lines: ['runs'],
    packages: ['@dbos-inc/dbos-sdk'],
    durability: 'PostgreSQL, fsync and synchronous_commit on',
    tuning: 'workflows started in the process that runs them, a pool of 32 connections',
};

export function serve(kit) {
    const { url, version } = kit.postgres();
    return { where: { url }, versions: [`PostgreSQL ${version}`] };
}

export async function runner({ url }) {
    const { DBOS } = await import('@dbos-inc/dbos-sdk');
    const run = DBOS.registerWorkflow(async () => {
        for (const step of range(STEPS))
            await DBOS.runStep(async () => step, { name: `step ${step}` });
    }, { name: 'run' });
    DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: 32,
        logLevel: 'error' });
    await DBOS.launch();
    return { run: () => run(), close: () => DBOS.shutdown() };
}
