/*
 * boot.h - identifies the current boot of the machine.
 *
 * What was written without a sync is whole for as long as the machine runs, and may be lost, torn
 * or emptied after it has lost power.  A mark that vouches for such files names the boot; a mark of
 * another boot vouches for nothing.
 */
#ifndef BASE_BOOT_H
#define BASE_BOOT_H
#include <stdbool.h>

/* The kernel's random id of this boot; "" when it cannot be read. */
const char *boot_id(void);
/* Never true where the id cannot be read. */
bool boot_is_this(const char *id);
#endif
