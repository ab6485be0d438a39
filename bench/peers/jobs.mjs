// jobs.mjs - what all clients share: the job of 400 bytes and the clock.
export const JOB_BYTES = 400;

export function range(count) {
    return Array.from({ length: count }, (_, i) => i);
}

// Seconds of CLOCK_MONOTONIC.
export function now() {
    return Number(process.hrtime.bigint()) / 1e9;
}

// data and text are the same JSON: clients take the form that suits them.
export function makeJob(at = 0) {
    const bare = JSON.stringify({ at, note: '' });
    const data = { at, note: 'x'.repeat(JOB_BYTES - bare.length) };
    return { data, text: JSON.stringify(data) };
}
