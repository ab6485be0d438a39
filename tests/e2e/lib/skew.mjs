// skew.mjs - servers whose machine has another time of day.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from './server.mjs';

let library;

// A library that shifts the time of day by $SHIFT_S seconds.
function shiftClock() {
    if (library) return library;
    const dir = makeDirectory();
    const source = join(dir, 'shift.c');
    writeFileSync(source, `#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *to)
{
    long rc = syscall(SYS_clock_gettime, id, to);
    const char *shift = getenv("SHIFT_S");
    if (rc == 0 && id == CLOCK_REALTIME && shift)
        to->tv_sec += atoi(shift);
    return (int)rc;
}
`);
    library = join(dir, 'shift.so');
    execFileSync(process.env.CC ?? 'cc', ['-shared', '-fPIC', '-o', library, source]);
    return library;
}

// The environment of a server or worker whose clock is so many seconds ahead.
export function skewedBy(seconds) {
    return { LD_PRELOAD: shiftClock(), SHIFT_S: String(seconds),
        ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:verify_asan_link_order=0` };
}
