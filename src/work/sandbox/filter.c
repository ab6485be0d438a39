/*
 * filter.c - a classic BPF program for seccomp.
 *
 *     other machine's calls (32 bit on 64 bit)   ENOSYS
 *     denied[] by number                         its errno
 *     clone, unshare with a new namespace        EPERM
 *     socket of a family that is not listed      EAFNOSUPPORT
 *     ioctl that types into a terminal           EPERM
 *     all else                                   allowed
 *
 * clone3 hides its flags behind a pointer, which the filter cannot read: it returns ENOSYS, and the
 * C libraries then use clone.
 */
#include "work/sandbox/filter.h"
#include "base/fd.h"
#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#define MACHINE 0 /* Not known: no filter. */
#endif

enum { PROGRAM_MAX = 256, X32_BIT = 0x40000000 };

/* Flags of clone and unshare that make a namespace. */
static const unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80 /* time */;

static const struct {
    unsigned number;
    int error;
} denied[] = {
    /* Mounts and roots. */
    {SYS_mount, EPERM},
    {SYS_umount2, EPERM},
    {SYS_pivot_root, EPERM},
    {SYS_chroot, EPERM},
    {SYS_open_tree, EPERM},
    {SYS_move_mount, EPERM},
    {SYS_fsopen, EPERM},
    {SYS_fsconfig, EPERM},
    {SYS_fsmount, EPERM},
    {SYS_fspick, EPERM},
    {442 /* mount_setattr, on every machine */, EPERM},
    {SYS_open_by_handle_at, EPERM},
    {SYS_name_to_handle_at, EPERM},
    {SYS_quotactl, EPERM},
    {SYS_swapon, EPERM},
    {SYS_swapoff, EPERM},
    {SYS_setns, EPERM},
    /* State of the whole kernel: modules, clocks, tracing. */
    {SYS_init_module, EPERM},
    {SYS_finit_module, EPERM},
    {SYS_delete_module, EPERM},
    {SYS_kexec_load, EPERM},
    {SYS_kexec_file_load, EPERM},
    {SYS_reboot, EPERM},
    {SYS_acct, EPERM},
    {SYS_syslog, EPERM},
    {SYS_settimeofday, EPERM},
    {SYS_clock_settime, EPERM},
    {SYS_sethostname, EPERM},
    {SYS_setdomainname, EPERM},
    {SYS_vhangup, EPERM},
    {SYS_bpf, EPERM},
    {SYS_perf_event_open, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_fanotify_init, EPERM},
    {SYS_lookup_dcookie, EPERM},
    /* Keys are not part of any namespace. */
    {SYS_add_key, EPERM},
    {SYS_request_key, EPERM},
    {SYS_keyctl, EPERM},
    /* A second way to make most calls; programs do without. */
    {SYS_io_uring_setup, ENOSYS},
    {SYS_io_uring_enter, ENOSYS},
    {SYS_io_uring_register, ENOSYS},
    {SYS_clone3, ENOSYS},
#if defined(__x86_64__)
    {SYS_iopl, EPERM},
    {SYS_ioperm, EPERM},
    {SYS_modify_ldt, EPERM},
    {SYS_uselib, ENOSYS},
    {SYS__sysctl, ENOSYS},
#endif
};

struct program {
    struct sock_filter steps[PROGRAM_MAX];
    unsigned short count;
};

static void add(struct program *program, struct sock_filter step)
{
    assert(program->count < PROGRAM_MAX);
    program->steps[program->count++] = step;
}

static void load(struct program *program, size_t offset)
{
    add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

/* The lower half of an argument: all that the kernel reads of those that are checked. */
static void load_argument(struct program *program, size_t index)
{
    load(program, offsetof(struct seccomp_data, args) + index * sizeof(__u64));
}

/* Jumps over so many steps unless the comparison holds. */
static void unless(struct program *program, unsigned short comparison, unsigned value,
                   unsigned char skip)
{
    add(program, (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | comparison | BPF_K), value,
                                              0, skip));
}

static void allow(struct program *program)
{
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void refuse(struct program *program, int error)
{
    unsigned value = SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA);
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

/* Calls of another machine have other numbers, which the list does not know. */
static void add_machine(struct program *program)
{
    load(program, offsetof(struct seccomp_data, arch));
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0));
    refuse(program, ENOSYS);
    load(program, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    unless(program, BPF_JGE, X32_BIT, 1);
    refuse(program, ENOSYS);
#endif
}

static void add_namespaces(struct program *program, unsigned call)
{
    unless(program, BPF_JEQ, call, 4);
    load_argument(program, 0);
    unless(program, BPF_JSET, namespaces, 1);
    refuse(program, EPERM);
    allow(program);
}

static void add_sockets(struct program *program)
{
    static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6};
    unless(program, BPF_JEQ, SYS_socket, 1 + 2 * (unsigned char)COUNT_OF(families) + 5);
    load_argument(program, 0);
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        unless(program, BPF_JEQ, families[i], 1);
        allow(program);
    }
    /* Interfaces are listed through the one kind of netlink that is for routes. */
    unless(program, BPF_JEQ, AF_NETLINK, 3);
    load_argument(program, 2);
    unless(program, BPF_JEQ, NETLINK_ROUTE, 1);
    allow(program);
    refuse(program, EAFNOSUPPORT);
}

static void add_terminals(struct program *program)
{
    enum { TYPE_LINUX = 0x541C /* TIOCLINUX: pastes */ };
    unless(program, BPF_JEQ, SYS_ioctl, 6);
    load_argument(program, 1);
    unless(program, BPF_JEQ, TIOCSTI, 1);
    refuse(program, EPERM);
    unless(program, BPF_JEQ, TYPE_LINUX, 1);
    refuse(program, EPERM);
    allow(program);
}

static void add_all(struct program *program)
{
    add_machine(program);
    for (size_t i = 0; i < COUNT_OF(denied); i++) {
        unless(program, BPF_JEQ, denied[i].number, 1);
        refuse(program, denied[i].error);
    }
    add_namespaces(program, SYS_clone);
    add_namespaces(program, SYS_unshare);
    add_sockets(program);
    add_terminals(program);
    allow(program);
}

static enum rc make_program(struct program *program, struct err *err)
{
    if (MACHINE == 0)
        return err_set(err, RC_IO, "NO_FILTER", "no filter is known for this kind of machine");
    *program = (struct program){.count = 0};
    add_all(program);
    return RC_OK;
}

enum rc filter_install(struct err *err)
{
    struct program program;
    enum rc rc = make_program(&program, err);
    if (rc != RC_OK)
        return rc;
    const struct sock_fprog whole = {.len = program.count, .filter = program.steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) != 0)
        return err_set(err, RC_IO, "NO_FILTER", "seccomp: %s", strerror(errno));
    return RC_OK;
}

enum rc filter_open(int *ret_fd, struct err *err)
{
    struct program program;
    enum rc rc = make_program(&program, err);
    if (rc != RC_OK)
        return rc;
    return fd_of_bytes(program.steps, program.count * sizeof *program.steps, ret_fd, err);
}
