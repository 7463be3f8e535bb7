#include "CChecksum.h"

#include <string.h>

/* STEP8 and STEP1 add eight bytes and one byte to a checksum.
   WITH_INSTRUCTION compiles a function for their instruction. */
#if defined(__x86_64__)
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))
#define STEP8(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define STEP1(crc, byte) __builtin_ia32_crc32qi((crc), (byte))

bool crc32c_has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }

#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define WITH_INSTRUCTION __attribute__((target("crc")))
#define STEP8(crc, word) __crc32cd((crc), (word))
#define STEP1(crc, byte) __crc32cb((crc), (byte))

bool crc32c_has_instruction(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

#else
#define WITH_INSTRUCTION
#define STEP8(crc, word) ((void)(word), (crc))
#define STEP1(crc, byte) ((void)(byte), (crc))

bool crc32c_has_instruction(void) { return false; }
#endif

WITH_INSTRUCTION
uint32_t crc32c_by_instruction(uint32_t crc, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        crc = STEP8(crc, word);
    }
    for (; count > 0; count--, next++) {
        crc = STEP1(crc, *next);
    }
    return crc;
}
