/*
 * sandbox_files.h - the allow-list of system files that every sandbox shows, read-only.
 *
 *     /usr /bin /sbin /lib*    programs and libraries, links as links
 *     /opt /nix /gnu           programs that the machine's administrator has put there
 *     /etc                     named entries: what programs need to run, no services' settings
 *     /sys/devices/system      cpu and node, which runtimes count
 *
 * Only what every user of the machine may read is shown.  Everything else (home directories, /srv,
 * /mnt, the rest of /etc and /var) is not there, and a repository declares what it needs
 * (agent.mounts).
 */
#ifndef WORK_SANDBOX_SANDBOX_FILES_H
#define WORK_SANDBOX_SANDBOX_FILES_H
#include "work/sandbox/bwrap.h"

void sandbox_files_show(struct bwrap *bwrap);
#endif
