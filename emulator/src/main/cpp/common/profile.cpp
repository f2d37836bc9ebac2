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

/* Takes the text with or without its prefix; false and no change for all but 32 hex digits. */
bool parse_uuid(const std::string &text, std::array<uint8_t, 16> &uuid)
{
    std::vector<int> digits;
    size_t start = text.rfind("GPU-", 0) == 0 || text.rfind("MIG-", 0) == 0 ? 4 : 0;
    for (size_t i = start; i < text.size(); ++i) {
        int digit = hex_value(text[i]);
        if (digit >= 0)
            digits.push_back(digit);
        else if (text[i] != '-')
            return false;
    }
    if (digits.size() != 32)
        return false;
    for (size_t i = 0; i < 16; ++i)
        uuid[i] = static_cast<uint8_t>(digits[2 * i] * 16 + digits[2 * i + 1]);
    return true;
}

/* "0000:0a:00.0", the function may be left out. */
bool parse_pci(const std::string &text, Gpu &gpu)
{
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    if (std::sscanf(text.c_str(), "%x:%x:%x", &domain, &bus, &device) != 3)
        return false;
    gpu.pci_domain = domain;
    gpu.pci_bus = bus;
    gpu.pci_device = device;
    return true;
}

/* What is given for one GPU, else for all. */
class Given
{
  public:
    Given(const Configuration &config, int ordinal)
        : config_(config), prefix_("gpu." + std::to_string(ordinal) + ".")
    {
    }

    std::string kind() const
    {
        const std::vector<std::string_view> kinds = {"h200", "gb10", "gb200", "a100-mig"};
        std::string own = prefix_ + "kind";
        return std::string(config_.choice(own_text("kind").empty() ? "gpu.kind" : own, kinds));
    }

    std::string name(const std::string &fallback) const
    {
        return config_.text(prefix_ + "name", config_.text("gpu.name", fallback));
    }

    bool flag(const std::string &what, bool fallback) const
    {
        return config_.flag(prefix_ + what, config_.flag("gpu." + what, fallback));
    }

    uint64_t memory(uint64_t fallback) const
    {
        for (const std::string &key : {prefix_ + "memory", std::string("gpu.memory")}) {
            long long bytes = config_.number(key, 0);
            if (bytes > 0)
                return static_cast<uint64_t>(bytes);
            if (bytes < 0)
                config_.refuse(key, std::to_string(bytes), "bytes");
        }
        return fallback;
    }

    std::string own_text(const std::string &what) const
    {
        return config_.text(prefix_ + what, "");
    }

    void refuse(const std::string &what, std::string_view expected) const
    {
        config_.refuse(prefix_ + what, own_text(what), expected);
    }

  private:
    const Configuration &config_;
    const std::string prefix_;
};

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

int read_count(const Configuration &config)
{
    constexpr int kUsual = 2;
    constexpr int kMost = 1024;
    long long count = config.number("gpus", kUsual);
    if (count >= 0 && count <= kMost)
        return static_cast<int>(count);
    config.refuse("gpus", std::to_string(count), "0 to " + std::to_string(kMost));
    return kUsual;
}

std::vector<Gpu> read_gpus()
{
    const Configuration &config = Configuration::instance();
    int count = read_count(config);
    std::vector<Gpu> result;

    for (int i = 0; i < count; ++i) {
        Given given(config, i);
        Gpu gpu = by_kind(given.kind());
        gpu.ordinal = i;
        gpu.name = given.name(gpu.name);
        gpu.memory_bytes = given.memory(gpu.memory_bytes);
        gpu.integrated = given.flag("integrated", gpu.integrated);
        gpu.gpudirect_rdma = given.flag("gpudirect_rdma", gpu.gpudirect_rdma);
        gpu.dma_buf = given.flag("dma_buf", gpu.dma_buf);
        gpu.uuid = default_uuid(gpu.kind, i);
        std::string uuid = given.own_text("uuid");
        if (!uuid.empty() && !parse_uuid(uuid, gpu.uuid))
            given.refuse("uuid", "GPU- and 32 hexadecimal digits");
        place(gpu);
        std::string pci = given.own_text("pci");
        if (!pci.empty() && !parse_pci(pci, gpu))
            given.refuse("pci", "an address like 0000:0a:00.0");
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
