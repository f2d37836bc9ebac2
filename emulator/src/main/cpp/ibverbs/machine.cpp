#include "ibverbs/machine.h"

#include "common/config.h"
#include "common/fault.h"
#include "ibverbs/objects.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace metrale::emulator::ibv
{

namespace
{

std::string key(int device, const char *name)
{
    return "ibv." + std::to_string(device) + "." + name;
}

/* The device's own value, else the one for all devices. */
std::string text_of(int device, const char *name, const std::string &fallback)
{
    const Configuration &config = Configuration::instance();
    return config.text(key(device, name), config.text(std::string("ibv.") + name, fallback));
}

long long number_of(int device, const char *name, long long fallback)
{
    const Configuration &config = Configuration::instance();
    return config.number(key(device, name), config.number(std::string("ibv.") + name, fallback));
}

bool flag_of(int device, const char *name, bool fallback)
{
    const Configuration &config = Configuration::instance();
    return config.flag(key(device, name), config.flag(std::string("ibv.") + name, fallback));
}

/* "v2 10.20.0.1 3": type, address, interface index. "-" leaves the place unused. */
Gid parse_gid(const std::string &text)
{
    Gid gid;
    std::vector<std::string> words = split(text, ' ');
    if (words.size() < 2)
        return gid;
    if (words[0] == "v1")
        gid.type = IBV_GID_TYPE_ROCE_V1;
    else if (words[0] == "v2")
        gid.type = IBV_GID_TYPE_ROCE_V2;

    in_addr four{};
    if (inet_pton(AF_INET, words[1].c_str(), &four) == 1) {
        gid.raw[10] = gid.raw[11] = 0xff;
        std::memcpy(gid.raw.data() + 12, &four, 4);
    } else if (inet_pton(AF_INET6, words[1].c_str(), gid.raw.data()) != 1) {
        gid.raw = {};
        Configuration::instance().refuse("gids", text, "v2, an IPv4 or IPv6 address, an index");
    }
    if (words.size() > 2)
        gid.ifindex = static_cast<uint32_t>(std::strtoul(words[2].c_str(), nullptr, 10));
    return gid;
}

std::string default_gids(int device, uint32_t port, bool infiniband)
{
    char text[256];
    unsigned d = static_cast<unsigned>(device);

    if (infiniband) {
        std::snprintf(text, sizeof(text), "ib fe80::a00:27ff:fe%02x:%04x", d & 0xff, port);
        return text;
    }
    unsigned interface = 2 + d * 4 + port;
    std::snprintf(
        text, sizeof(text),
        "v1 fe80::a00:27ff:fe%02x:%04x %u, v2 fe80::a00:27ff:fe%02x:%04x %u, "
        "v1 10.20.%u.%u %u, v2 10.20.%u.%u %u, v1 fd00:20:%x::%x %u, v2 fd00:20:%x::%x %u",
        d & 0xff, port, interface, d & 0xff, port, interface, d & 0xff, port, interface, d & 0xff,
        port, interface, d, port, interface, d, port, interface);
    return text;
}

int mtu_code(long long bytes)
{
    int code = IBV_MTU_256;
    while (code < IBV_MTU_4096 && (128LL << code) < bytes)
        ++code;
    return code;
}

} // namespace

Device::Device(int device_index) : index(device_index)
{
    infiniband = text_of(index, "kind", "roce") == "infiniband";
    std::string name =
        Configuration::instance().text(key(index, "name"), "mlx5_" + std::to_string(index));
    std::snprintf(handle.name, sizeof(handle.name), "%s", name.c_str());
    std::snprintf(handle.dev_name, sizeof(handle.dev_name), "uverbs%d", index);
    std::snprintf(handle.dev_path, sizeof(handle.dev_path), "/sys/class/infiniband_verbs/%s",
                  handle.dev_name);
    std::snprintf(handle.ibdev_path, sizeof(handle.ibdev_path), "/sys/class/infiniband/%s",
                  handle.name);
    handle.node_type = IBV_NODE_CA;
    handle.transport_type = IBV_TRANSPORT_IB;

    auto limit = [&](const char *what, int &value) {
        value = static_cast<int>(std::clamp(number_of(index, what, value), 0LL, 0x7fffffffLL));
    };
    limit("max_qp", limits.max_qp);
    limit("max_qp_wr", limits.max_qp_wr);
    limit("max_sge", limits.max_sge);
    limit("max_cq", limits.max_cq);
    limit("max_cqe", limits.max_cqe);
    limit("max_mr", limits.max_mr);
    limit("max_pd", limits.max_pd);
    limit("max_srq", limits.max_srq);
    limit("max_srq_wr", limits.max_srq_wr);
    limit("max_srq_sge", limits.max_srq_sge);
    limit("max_rd_atomic", limits.max_rd_atomic);
    limit("max_inline_bytes", limits.max_inline_bytes);
    limit("comp_vectors", limits.comp_vectors);
    limit("vendor_id", limits.vendor_id);
    limits.max_rd_atomic = std::min(limits.max_rd_atomic, 255);
    limits.max_mr_bytes = static_cast<uint64_t>(
        number_of(index, "max_mr_bytes", static_cast<long long>(limits.max_mr_bytes)));
    limits.max_message_bytes =
        static_cast<uint32_t>(number_of(index, "max_message_bytes", limits.max_message_bytes));
    limits.dma_buf = flag_of(index, "dma_buf", limits.dma_buf);

    port_count_ = static_cast<int>(std::clamp(number_of(index, "ports", 1), 1LL, 16LL));
    for (int number = 1; number <= port_count_; ++number)
        ports_.push_back(read_port(static_cast<uint32_t>(number)));
    bytes_per_second_ = static_cast<uint64_t>(number_of(index, "bytes_per_second", 0));
}

Port Device::read_port(uint32_t number) const
{
    const Configuration &config = Configuration::instance();
    auto of_port = [&](const char *what, const std::string &fallback) {
        return config.text("ibv." + std::to_string(index) + ".port." + std::to_string(number) +
                               "." + what,
                           text_of(index, what, fallback));
    };

    Port port;
    port.up = of_port("state", "active") != "down";
    auto number_of_port = [&](const char *what, long long fallback) {
        return config.number_of(std::string("ibv port ") + what, of_port(what, ""), fallback);
    };
    port.active_mtu = mtu_code(number_of_port("mtu", 4096));
    long long lid = 0x10 + index * 4 + static_cast<int>(number);
    port.lid = static_cast<uint16_t>(number_of_port("lid", infiniband ? lid : 0));
    for (const std::string &entry :
         split(of_port("gids", default_gids(index, number, infiniband)), ','))
        port.gids.push_back(parse_gid(entry));
    for (const std::string &entry : split(of_port("pkeys", "0xffff"), ',')) {
        port.pkeys.push_back(static_cast<uint16_t>(config.number_of("ibv port pkeys", entry, 0)));
    }
    return port;
}

Port Device::port(uint32_t number) const
{
    std::lock_guard<std::mutex> lock(mutex_);
    return ports_[number - 1];
}

bool Device::link_up(uint32_t number) const
{
    std::lock_guard<std::mutex> lock(mutex_);
    return number == 0 || number > ports_.size() || ports_[number - 1].up;
}

void Device::opened(Context *context)
{
    std::lock_guard<std::mutex> lock(mutex_);
    contexts_.push_back(context);
}

void Device::closed(Context *context)
{
    std::lock_guard<std::mutex> lock(mutex_);
    contexts_.erase(std::remove(contexts_.begin(), contexts_.end(), context), contexts_.end());
}

void Device::tell(ibv_event_type type, int port_number)
{
    for (Context *context : contexts_) {
        ibv_async_event event{};
        event.event_type = type;
        event.element.port_num = port_number;
        context->raise(event, nullptr);
    }
}

void Device::reconfigure()
{
    bool lost = text_of(index, "state", "active") == "fatal";
    bytes_per_second_ = static_cast<uint64_t>(number_of(index, "bytes_per_second", 0));
    {
        std::lock_guard<std::mutex> lock(mutex_);
        for (int number = 1; number <= port_count_; ++number) {
            Port now = read_port(static_cast<uint32_t>(number));
            Port &before = ports_[static_cast<size_t>(number - 1)];
            bool moved = now.gids != before.gids;
            bool went_up = now.up && !before.up;
            bool went_down = !now.up && before.up;
            bool renumbered = now.lid != before.lid;
            before = std::move(now);
            if (went_down)
                tell(IBV_EVENT_PORT_ERR, number);
            if (went_up)
                tell(IBV_EVENT_PORT_ACTIVE, number);
            if (moved)
                tell(IBV_EVENT_GID_CHANGE, number);
            if (renumbered)
                tell(IBV_EVENT_LID_CHANGE, number);
        }
    }
    if (lost)
        fail();
}

void Device::fail()
{
    if (fatal.exchange(true))
        return;
    std::lock_guard<std::mutex> lock(mutex_);
    tell(IBV_EVENT_DEVICE_FATAL, 0);
    for (Context *context : contexts_)
        context->fail_queue_pairs();
}

std::chrono::steady_clock::time_point Device::pace(uint64_t bytes)
{
    auto now = std::chrono::steady_clock::now();
    uint64_t rate = bytes_per_second_;
    if (rate == 0)
        return now;

    std::lock_guard<std::mutex> lock(mutex_);
    auto took = std::chrono::nanoseconds(
        static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(rate)));
    busy_until_ = std::max(busy_until_, now) + took;
    return busy_until_;
}

Machine &Machine::instance()
{
    // Never destroyed: workers may outlive the static destructors.
    static Machine *only = new Machine();
    return *only;
}

Machine::Machine()
{
    long long count = Configuration::instance().number("ibv.devices", 2);
    for (int i = 0; i < count && i < 64; ++i)
        devices_.push_back(std::make_unique<Device>(i));
}

std::string Machine::domain() const
{
    return Configuration::instance().text("ibv.domain", std::to_string(getuid()));
}

bool Machine::lock_memory(uint64_t bytes)
{
    long long limit = Configuration::instance().number("ibv.memlock", -1);
    std::lock_guard<std::mutex> lock(mutex_);
    if (limit >= 0 && (bytes > static_cast<uint64_t>(limit) ||
                       locked_bytes_ > static_cast<uint64_t>(limit) - bytes))
        return false;
    locked_bytes_ += bytes;
    return true;
}

void Machine::unlock_memory(uint64_t bytes)
{
    std::lock_guard<std::mutex> lock(mutex_);
    locked_bytes_ -= bytes;
}

void Machine::reconfigure()
{
    for (const auto &device : devices_)
        device->reconfigure();
}

void Machine::start_clock()
{
    std::call_once(clock_, [this] {
        std::vector<std::pair<long, std::string>> lines;
        for (const std::string &line : Configuration::instance().list("ibv.at")) {
            size_t blank = line.find(' ');
            if (blank != std::string::npos)
                lines.emplace_back(std::strtol(line.c_str(), nullptr, 10), line.substr(blank + 1));
        }
        if (lines.empty())
            return;
        std::stable_sort(lines.begin(), lines.end(),
                         [](const auto &a, const auto &b) { return a.first < b.first; });
        std::thread([this, lines] {
            auto begin = std::chrono::steady_clock::now();
            for (const auto &[millis, line] : lines) {
                std::this_thread::sleep_until(begin + std::chrono::milliseconds(millis));
                Configuration::instance().add(line);
                Faults::instance().reload();
                reconfigure();
            }
        }).detach();
    });
}

} // namespace metrale::emulator::ibv
