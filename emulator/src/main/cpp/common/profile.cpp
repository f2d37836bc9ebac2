#include "common/profile.h"

#include "common/config.h"

#include <cstdio>

namespace metrale::emulator
{

namespace
{

constexpr uint64_t kMiB = 1024ULL * 1024;

Gpu h200()
{
    Gpu gpu;
    gpu.name = "NVIDIA H200";
    gpu.compute_major = 9;
    gpu.memory_bytes = 143771 * kMiB;
    gpu.multiprocessors = 132;
    gpu.clock_khz = 1980000;
    gpu.memory_clock_khz = 3201000;
    gpu.memory_bus_bits = 6144;
    gpu.l2_bytes = 60 * kMiB;
    gpu.gpudirect_rdma = true;
    gpu.dma_buf = true;
    return gpu;
}

Gpu gb10()
{
    Gpu gpu;
    gpu.name = "NVIDIA GB10";
    gpu.compute_major = 12;
    gpu.compute_minor = 1;
    gpu.memory_bytes = 122506 * kMiB;
    gpu.multiprocessors = 48;
    gpu.clock_khz = 2418000;
    gpu.memory_bus_bits = 256;
    gpu.l2_bytes = 24 * kMiB;
    // One memory for CPU and GPU: no peer-to-peer window for a network card to write through.
    gpu.integrated = true;
    gpu.pageable_access = true;
    return gpu;
}

Gpu gb200()
{
    Gpu gpu;
    gpu.name = "NVIDIA GB200";
    gpu.compute_major = 10;
    gpu.memory_bytes = 189471 * kMiB;
    gpu.multiprocessors = 152;
    gpu.clock_khz = 2062000;
    gpu.memory_clock_khz = 3996000;
    gpu.memory_bus_bits = 8192;
    gpu.l2_bytes = 126 * kMiB;
    gpu.gpudirect_rdma = true;
    gpu.dma_buf = true;
    gpu.pageable_access = true;
    gpu.fabric = true;
    return gpu;
}

Gpu a100_mig()
{
    Gpu gpu;
    gpu.name = "NVIDIA A100-SXM4-80GB MIG 3g.40gb";
    gpu.compute_major = 8;
    gpu.memory_bytes = 40192 * kMiB;
    gpu.multiprocessors = 42;
    gpu.clock_khz = 1410000;
    gpu.memory_clock_khz = 1593000;
    gpu.memory_bus_bits = 2560;
    gpu.l2_bytes = 20 * kMiB;
    gpu.gpudirect_rdma = true;
    gpu.dma_buf = true;
    gpu.mig = true;
    return gpu;
}

Gpu by_kind(const std::string &kind)
{
    Gpu gpu;
    if (kind == "gb10")
        gpu = gb10();
    else if (kind == "gb200")
        gpu = gb200();
    else if (kind == "a100-mig")
        gpu = a100_mig();
    else
        gpu = h200();
    gpu.kind = kind;
    return gpu;
}

int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Takes the text with or without its prefix; anything but 32 hex digits changes nothing. */
void parse_uuid(const std::string &text, std::array<uint8_t, 16> &uuid)
{
    std::vector<int> digits;
    size_t start = text.rfind("GPU-", 0) == 0 || text.rfind("MIG-", 0) == 0 ? 4 : 0;
    for (size_t i = start; i < text.size(); ++i) {
        int digit = hex_value(text[i]);
        if (digit >= 0)
            digits.push_back(digit);
        else if (text[i] != '-')
            return;
    }
    if (digits.size() != 32)
        return;
    for (size_t i = 0; i < 16; ++i)
        uuid[i] = static_cast<uint8_t>(digits[2 * i] * 16 + digits[2 * i + 1]);
}

/* Fixed per kind and ordinal, so that two processes name one GPU alike. */
std::array<uint8_t, 16> default_uuid(const std::string &kind, int ordinal)
{
    uint64_t state = 0x9e3779b97f4a7c15ULL;
    for (char c : kind)
        state = (state ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
    state += static_cast<uint64_t>(ordinal);

    std::array<uint8_t, 16> uuid{};
    for (uint8_t &byte : uuid) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        byte = static_cast<uint8_t>(state >> 24);
    }
    return uuid;
}

void place(Gpu &gpu)
{
    auto ordinal = static_cast<unsigned>(gpu.ordinal);
    if (gpu.kind == "gb200") {
        // One PCI domain per GPU, as behind Grace.
        gpu.pci_domain = 8 + ordinal;
        gpu.pci_bus = 1;
    } else if (gpu.kind == "gb10") {
        gpu.pci_domain = 0xf;
        gpu.pci_bus = 1 + ordinal;
    } else {
        gpu.pci_bus = 0x0a + 0x10 * (ordinal % 12);
        gpu.pci_domain = ordinal / 12;
    }
}

std::vector<Gpu> read_gpus()
{
    const Configuration &config = Configuration::instance();
    std::string common_kind = config.text("gpu.kind", "h200");
    long long count = config.number("gpus", 2);
    std::vector<Gpu> result;

    for (int i = 0; i < count && i < 1024; ++i) {
        std::string prefix = "gpu." + std::to_string(i) + ".";
        auto key = [&](const char *name) { return prefix + name; };
        auto flag = [&](const char *name, bool fallback) {
            return config.flag(key(name), config.flag(std::string("gpu.") + name, fallback));
        };
        Gpu gpu = by_kind(config.text(key("kind"), common_kind));
        gpu.ordinal = i;
        gpu.name = config.text(key("name"), config.text("gpu.name", gpu.name));
        long long memory = static_cast<long long>(gpu.memory_bytes);
        memory = config.number(key("memory"), config.number("gpu.memory", memory));
        gpu.memory_bytes = static_cast<uint64_t>(memory);
        gpu.integrated = flag("integrated", gpu.integrated);
        gpu.gpudirect_rdma = flag("gpudirect_rdma", gpu.gpudirect_rdma);
        gpu.dma_buf = flag("dma_buf", gpu.dma_buf);
        gpu.uuid = default_uuid(gpu.kind, i);
        parse_uuid(config.text(key("uuid"), ""), gpu.uuid);
        place(gpu);
        unsigned domain = 0;
        unsigned bus = 0;
        unsigned device = 0;
        if (std::sscanf(config.text(key("pci"), "").c_str(), "%x:%x:%x", &domain, &bus, &device) ==
            3) {
            gpu.pci_domain = domain;
            gpu.pci_bus = bus;
            gpu.pci_device = device;
        }
        result.push_back(std::move(gpu));
    }
    return result;
}

} // namespace

std::string Gpu::uuid_text() const
{
    static const char kDigits[] = "0123456789abcdef";
    std::string text = mig ? "MIG-" : "GPU-";
    for (size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += kDigits[uuid[i] >> 4];
        text += kDigits[uuid[i] & 15];
    }
    return text;
}

std::string Gpu::pci_text() const
{
    char text[32];
    std::snprintf(text, sizeof(text), "%04x:%02x:%02x.0", pci_domain, pci_bus, pci_device);
    return text;
}

const std::vector<Gpu> &gpus()
{
    static const auto *all = new std::vector<Gpu>(read_gpus());
    return *all;
}

std::string driver_version()
{
    return Configuration::instance().text("driver.version", "610.43.02");
}

int cuda_version()
{
    return static_cast<int>(Configuration::instance().number("cuda.version", 13050));
}

} // namespace metrale::emulator
