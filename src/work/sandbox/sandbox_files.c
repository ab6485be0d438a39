#include "work/sandbox/sandbox_files.h"
#include "base/rc.h"
#include "base/str.h"
#include <dirent.h>

/* Links must follow their targets. */
static const char *const system_dirs[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu/store",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
};

/* Patterns of names in /etc.  Not here: gitconfig, npmrc, pip.conf and the like, which may hold
   credentials of a registry or a forge. */
static const char *const etc_names[] = {
    "*-release",
    "R",
    "alternatives",
    "bash.bashrc",
    "ca-certificates*",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java*",
    "ld.so.*",
    "locale.alias",
    "locale.conf",
    "localtime",
    "magic",
    "magic.mime",
    "maven",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "passwd",
    "perl",
    "php",
    "pki",
    "profile",
    "profile.d",
    "protocols",
    "python*",
    "resolv.conf",
    "ruby*",
    "services",
    "shells",
    "ssl",
    "terminfo",
    "timezone",
};

/* Shown with the directory above: keys that a group of drover's user may be able to read. */
static const char *const private_dirs[] = {"/etc/ssl/private", "/etc/pki/tls/private",
                                           "/etc/pki/CA/private"};

static bool is_listed(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(etc_names); i++) {
        if (glob_match(etc_names[i], name))
            return true;
    }
    return false;
}

static void show_etc(struct bwrap *bwrap)
{
    DIR *dir = opendir("/etc");
    const struct dirent *entry;
    // cppcheck-suppress readdirCalled
    while (dir != NULL && (entry = readdir(dir)) != NULL) { /* The stream is not shared. */
        if (is_listed(entry->d_name))
            bwrap_show_public(bwrap, arena_printf(bwrap->arena, "/etc/%s", entry->d_name));
    }
    if (dir != NULL)
        (void)closedir(dir);
    for (size_t i = 0; i < COUNT_OF(private_dirs); i++)
        bwrap_hide(bwrap, private_dirs[i]);
}

void sandbox_files_show(struct bwrap *bwrap)
{
    for (size_t i = 0; i < COUNT_OF(system_dirs); i++)
        bwrap_show_public(bwrap, system_dirs[i]);
    show_etc(bwrap);
}
