// drover_postgres.mjs - drover on PostgreSQL, beside the peers that are built on it.
import * as drover from './drover.mjs';

export const about = {
    ...drover.about,
    name: 'drover-postgres',
    title: 'drover/PG',
    durability: 'PostgreSQL, fsync and synchronous_commit on, group commit',
};
export const { producer, consumer, runner, worker } = drover;

export async function serve(kit) {
    const { plainUrl, version } = kit.postgres();
    const served = await drover.serve(kit, ['--db', plainUrl]);
    return { ...served, versions: [...served.versions, `PostgreSQL ${version}`] };
}
