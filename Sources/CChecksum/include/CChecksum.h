#ifndef CCHECKSUM_H
#define CCHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this processor has an instruction for CRC-32C (SSE4.2, or the CRC extension of ARMv8). */
bool crc32c_has_instruction(void);

/* Returns the checksum `crc` continued over bytes, without inversion; requires the instruction. */
uint32_t crc32c_by_instruction(uint32_t crc, const void *bytes, size_t count);

#endif
