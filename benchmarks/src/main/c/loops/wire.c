/*
 * A read-only server frame of 8 rails with 64 regions each, written from and read into structures,
 * counts checked; bytes on the wire as in Java. Nanoseconds a frame.
 */
#include <endian.h>
#include <string.h>

#include "bench.h"

enum { RAILS = 8, REGIONS = 64, MAX_REGIONS = 4096 };

struct region {
    uint64_t base;
    uint32_t rkey;
};

struct rail {
    uint32_t qpn, psn;
    uint8_t gid[16];
    uint32_t regions;
    struct region region[REGIONS];
};

static struct rail rails[RAILS];
static struct rail decoded[RAILS];
static uint8_t wire[1 + RAILS * (24 + 4 + 12 * REGIONS)];
static volatile uint32_t seen;

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, 4);
    return at + 4;
}

static const uint8_t *get32(const uint8_t *at, uint32_t *value)
{
    memcpy(value, at, 4);
    *value = le32toh(*value);
    return at + 4;
}

static void encode(long times)
{
    while (times-- > 0) {
        uint8_t *at = wire;

        *at++ = RAILS;
        for (int i = 0; i < RAILS; i++) {
            const struct rail *rail = &rails[i];
            at = put32(at, rail->qpn);
            at = put32(at, rail->psn);
            memcpy(at, rail->gid, 16);
            at = put32(at + 16, rail->regions);
            for (uint32_t j = 0; j < rail->regions; j++) {
                uint64_t base = htole64(rail->region[j].base);
                memcpy(at, &base, 8);
                at = put32(at + 8, rail->region[j].rkey);
            }
        }
        seen += wire[40];
    }
}

static void decode(long times)
{
    while (times-- > 0) {
        const uint8_t *at = wire;

        if (*at++ != RAILS)
            exit(1);
        for (int i = 0; i < RAILS; i++) {
            struct rail *rail = &decoded[i];
            at = get32(at, &rail->qpn);
            at = get32(at, &rail->psn);
            memcpy(rail->gid, at, 16);
            at = get32(at + 16, &rail->regions);
            if (rail->regions > REGIONS || (size_t)(wire + sizeof(wire) - at) < 12 * rail->regions)
                exit(1);
            for (uint32_t j = 0; j < rail->regions; j++) {
                memcpy(&rail->region[j].base, at, 8);
                rail->region[j].base = le64toh(rail->region[j].base);
                at = get32(at + 8, &rail->region[j].rkey);
            }
        }
        seen += decoded[3].region[5].rkey;
    }
}

int main(int count, char **arguments)
{
    bench_arguments(count, arguments);
    for (int i = 0; i < RAILS; i++) {
        rails[i].qpn = 0x500u + (unsigned)i;
        rails[i].psn = 0x600u + (unsigned)i;
        rails[i].regions = REGIONS;
        for (int j = 0; j < REGIONS; j++)
            rails[i].region[j] = (struct region){0x7f0000000000u + (unsigned)j, 0x800u};
    }
    bench("encode", encode);
    bench("decode", decode);
    return 0;
}
