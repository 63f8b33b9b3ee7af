/* clones.h - loops that are compiled for several instruction sets. Multiplications and additions are not contracted
 * anywhere, so all clones give the same bits. Sanitizers do not know the mechanism. */
#ifndef BPG_CLONES_H
#define BPG_CLONES_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#endif
