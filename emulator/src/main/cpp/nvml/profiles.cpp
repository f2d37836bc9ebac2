#include "profiles.hpp"

#include "settings.hpp"

namespace metrale::telemetry
{
namespace
{

/* What all four parts have in common. */
constexpr std::string_view kCommon = R"(
board_id = 0x4100
compute_mode = 0
decoder = 5
decoder.period_us = 166000
display_active = 0
display_mode = 0
encoder = 3
encoder.period_us = 167000
encoder.capacity = 100
encoder.sessions = 0
gsp_enabled = 1
jpg = 2
jpg.period_us = 168000
ofa = 1
ofa.period_us = 169000
minor = index
multi_gpu_board = 0
persistence = 1
pstate = 0
processes = self:1073741824
graphics_processes =
mps_processes =
retired.sbe = 0
retired.dbe = 0
retired.pending = 0
reasons.supported = 0x1ef
repair.channel = 0
repair.tpc = 0
violation.power_ns = 81000000
violation.thermal_ns = 82000000
events.supported = 0x7fbf
driver_model = N/A
recovery_action = 0
)";

constexpr std::string_view kH200 = R"(
name = NVIDIA H200
architecture = 9
attributes.copy_engines = 5
attributes.decoders = 7
attributes.encoders = 0
attributes.jpegs = 7
attributes.ofas = 1
attributes.multiprocessors = 132
brand = 14
bus_width = 6144
cores = 16896
compute_capability = 9.0
pci.device_id = 0x233510DE
pci.subsystem_id = 0x18BE10DE
serial = 16521230{index}5012
part_number = 692-2G520-0280-000
vbios = 96.00.99.00.0{index}
inforom.image = G520.0280.00.05
memory.total = 150754820096
memory.reserved = 658505728
memory.used = 3221225472
bar1.total = 274877906944
bar1.used = 2097152
utilization.gpu = 37
utilization.memory = 21
ecc.current = 1
ecc.pending = 1
ecc.default = 1
ecc.volatile.corrected = 4
ecc.volatile.uncorrected = 0
ecc.aggregate.corrected = 17
ecc.aggregate.uncorrected = 2
remapped.corrected = 1
remapped.uncorrected = 2
remapped.pending = 0
remapped.failure = 0
row_remapper = 190;1;0;0;1
power = 118734
power.average = 119201
power.limit = 700000
power.limit.default = 700000
power.limit.enforced = 700000
power.limit.min = 200000
power.limit.max = 700000
power.mode = 1
power.source = 0
energy.base = 8123456789
clock.graphics = 1785
clock.sm = 1785
clock.memory = 3201
clock.video = 1425
clock.graphics.max = 1980
clock.sm.max = 1980
clock.memory.max = 3201
clock.video.max = 1545
clock.graphics.application = 1830
clock.memory.application = 3201
clock.graphics.application.default = 1830
clock.memory.application.default = 3201
clock.graphics.boost = 1980
clock.memory.boost = 3201
clock.supported.memory = 3201;1593
clock.supported.graphics = 1980;1965;1950;345
temperature = 41
temperature.memory = 47
temperature.margin = 46
threshold.shutdown = 95
threshold.slowdown = 92
threshold.memory_max = 95
threshold.gpu_max = 87
reasons = 0x4
pcie.generation = 5
pcie.generation.max = 5
pcie.generation.device_max = 5
pcie.width = 16
pcie.width.max = 16
pcie.tx = 51200
pcie.rx = 61440
pcie.replays = 3
pcie.speed = 32000
pcie.speed.max = 32000
pcie.tx_bytes = 918273645
pcie.rx_bytes = 546372819
nvlink.count = 18
nvlink.version = 6
nvlink.state = 1
nvlink.speed = 26562
nvlink.replay = 6
nvlink.recovery = 1
nvlink.crc_flit = 9
nvlink.crc_data = 0
nvlink.ecc = N/A
nvlink.tx_kib = 7340032
nvlink.rx_kib = 6291456
nvlink.remote_type = 2
mig.current = 0
mig.pending = 0
mig.max = 7
mig.instances =
gpm = 1
gpm.1 = 36.5
gpm.2 = 33.25
gpm.3 = 18.75
gpm.4 = 4.5
gpm.5 = 22.125
gpm.7 = 21.5
gpm.10 = 19.5
gpm.11 = 0.5
gpm.12 = 6.25
gpm.13 = 2.75
gpm.20 = 52.5
gpm.21 = 63.5
gpm.60 = 310.5
gpm.61 = 420.5
fabric.state = 3
fabric.status = 0
fabric.clique = 0
fabric.cluster = 00000000-0000-0000-0000-000000000000
fabric.health_mask = 0x2AA
fabric.health_summary = 1
addressing_mode = 0
module_id = index
)";

/* Unified memory: neither memory call works; the bridge to the CPU is shown as PCIe generation 1,
 * one lane. */
constexpr std::string_view kGb10 = R"(
name = NVIDIA GB10
architecture = 10
brand = 14
cores = 6144
compute_capability = 12.1
pci.device_id = 0x2E1210DE
pci.subsystem_id = 0x000010DE
serial = N/A
part_number = N/A
vbios = 9A.0B.1E.00.00
gsp_enabled = 1
board_id = 0xf01
utilization.gpu = 12
utilization.memory = 0
power = 11340
power.average = 11402
power.mode = 1
power.source = 0
energy.base = 512345678
clock.graphics = 2405
clock.sm = 2405
clock.video = 1986
clock.graphics.max = 3003
clock.sm.max = 3003
clock.video.max = 3003
temperature = 52
temperature.margin = 33
threshold.shutdown = 96
threshold.slowdown = 93
reasons = 0x1
pcie.generation = 1
pcie.generation.max = 1
pcie.generation.device_max = 1
pcie.width = 1
pcie.width.max = 1
pcie.replays = 0
c2c = 1
c2c.count = 1
c2c.bandwidth = 600000
addressing_mode = 2
display_mode = 1
module_id = N/A
processes = self:805306368
numa_node = 0
)";

constexpr std::string_view kGb200 = R"(
name = NVIDIA GB200
architecture = 10
attributes.copy_engines = 10
attributes.decoders = 4
attributes.encoders = 0
attributes.jpegs = 4
attributes.ofas = 1
attributes.multiprocessors = 152
brand = 14
bus_width = 8192
cores = 19456
compute_capability = 10.0
pci.device_id = 0x294110DE
pci.subsystem_id = 0x204610DE
serial = 16532240{index}7034
part_number = 699-2G548-1201-800
vbios = 97.00.79.00.0{index}
inforom.image = G548.0201.00.06
memory.total = 198674743296
memory.reserved = 731906048
memory.used = 5368709120
bar1.total = 274877906944
bar1.used = 4194304
utilization.gpu = 64
utilization.memory = 43
ecc.current = 1
ecc.pending = 1
ecc.default = 1
ecc.volatile.corrected = 8
ecc.volatile.uncorrected = 1
ecc.aggregate.corrected = 23
ecc.aggregate.uncorrected = 5
remapped.corrected = 3
remapped.uncorrected = 4
remapped.pending = 1
remapped.failure = 0
row_remapper = 380;2;1;0;1
power = 702345
power.average = 705678
power.limit = 1200000
power.limit.default = 1200000
power.limit.enforced = 1150000
power.limit.min = 200000
power.limit.max = 1200000
power.mode = 1
power.source = 0
energy.base = 9234567890
clock.graphics = 1965
clock.sm = 1965
clock.memory = 3996
clock.video = 1695
clock.graphics.max = 2062
clock.sm.max = 2062
clock.memory.max = 3996
clock.video.max = 1890
clock.graphics.application = 2055
clock.memory.application = 3996
clock.graphics.application.default = 2055
clock.memory.application.default = 3996
clock.graphics.boost = 2062
clock.memory.boost = 3996
clock.supported.memory = 3996
clock.supported.graphics = 2062;2055;120
temperature = 56
temperature.memory = 61
temperature.margin = 29
threshold.shutdown = 100
threshold.slowdown = 97
threshold.memory_max = 105
threshold.gpu_max = 85
reasons = 0x20
nvlink.count = 18
nvlink.version = 7
nvlink.state = 1
nvlink.speed = 53125
nvlink.replay = 11
nvlink.recovery = 2
nvlink.crc_flit = 14
nvlink.crc_data = 3
nvlink.ecc = N/A
nvlink.tx_kib = 99614720
nvlink.rx_kib = 88080384
nvlink.remote_type = 2
mig.current = 0
mig.pending = 0
mig.max = 7
mig.instances =
gpm = 1
gpm.1 = 63.5
gpm.2 = 58.25
gpm.3 = 41.75
gpm.5 = 49.125
gpm.10 = 44.5
gpm.12 = 9.25
gpm.20 = 0.0
gpm.21 = 0.0
gpm.60 = 910.5
gpm.61 = 820.5
fabric.state = 3
fabric.status = 0
fabric.clique = 32766
fabric.cluster = 5a0e1c7d-93b4-4f26-8d11-27c6e0f3a945
fabric.health_mask = 0x51AA
fabric.health_summary = 1
c2c = 1
c2c.count = 5
c2c.bandwidth = 450000
addressing_mode = 2
module_id = index
numa_node = 8
)";

constexpr std::string_view kA100 = R"(
name = NVIDIA A100-SXM4-80GB
architecture = 7
attributes.copy_engines = 7
attributes.decoders = 5
attributes.encoders = 0
attributes.jpegs = 1
attributes.ofas = 1
attributes.multiprocessors = 108
brand = 14
bus_width = 5120
cores = 6912
compute_capability = 8.0
pci.device_id = 0x20B210DE
pci.subsystem_id = 0x147F10DE
serial = 15642200{index}3371
part_number = 692-2G506-0212-002
vbios = 92.00.45.00.0{index}
inforom.image = G506.0212.00.02
memory.total = 85899345920
memory.reserved = 667942912
memory.used = 2147483648
bar1.total = 137438953472
bar1.used = 1048576
utilization.gpu = 28
utilization.memory = 14
ecc.current = 1
ecc.pending = 1
ecc.default = 1
ecc.volatile.corrected = 6
ecc.volatile.uncorrected = 0
ecc.aggregate.corrected = 31
ecc.aggregate.uncorrected = 7
remapped.corrected = 5
remapped.uncorrected = 6
remapped.pending = 0
remapped.failure = 1
row_remapper = 638;1;1;0;0
power = 73456
power.limit = 400000
power.limit.default = 400000
power.limit.enforced = 400000
power.limit.min = 100000
power.limit.max = 400000
power.mode = 1
power.source = 0
energy.base = 7012345678
clock.graphics = 1275
clock.sm = 1275
clock.memory = 1593
clock.video = 1170
clock.graphics.max = 1410
clock.sm.max = 1410
clock.memory.max = 1593
clock.video.max = 1290
clock.graphics.application = 1275
clock.memory.application = 1593
clock.graphics.application.default = 1275
clock.memory.application.default = 1593
clock.graphics.boost = 1410
clock.memory.boost = 1593
clock.supported.memory = 1593
clock.supported.graphics = 1410;1395;210
temperature = 33
temperature.memory = 39
threshold.shutdown = 92
threshold.slowdown = 89
threshold.memory_max = 95
threshold.gpu_max = 85
reasons = 0x2
pcie.generation = 4
pcie.generation.max = 4
pcie.generation.device_max = 4
pcie.width = 16
pcie.width.max = 16
pcie.tx = 20480
pcie.rx = 30720
pcie.replays = 7
pcie.speed = 16000
pcie.speed.max = 16000
pcie.tx_bytes = 718273645
pcie.rx_bytes = 346372819
nvlink.count = 12
nvlink.version = 4
nvlink.state = 1
nvlink.speed = 25000
nvlink.replay = 2
nvlink.recovery = 0
nvlink.crc_flit = 5
nvlink.crc_data = 1
nvlink.ecc = 0
nvlink.tx_kib = 3145728
nvlink.rx_kib = 2097152
nvlink.remote_type = 2
mig.current = 0
mig.pending = 0
mig.max = 7
mig.instances =
addressing_mode = 0
)";

/* In MIG mode the whole GPU reports no utilisation. An instance is profile:giId:ciId. */
constexpr std::string_view kA100Mig = R"(
mig.current = 1
mig.pending = 1
mig.instances = 3g.40gb:2:0;2g.20gb:3:0;1g.10gb:9:0
utilization.gpu = N/A
utilization.memory = N/A
encoder = N/A
decoder = N/A
jpg = N/A
ofa = N/A
processes = self:1610612736:2:0
)";

void add(Profile &profile, std::string_view lines)
{
    for (const std::string &line : split(lines, '\n')) {
        const std::size_t equals = line.find('=');
        if (equals != std::string::npos)
            profile[std::string(trim(std::string_view(line).substr(0, equals)))] =
                std::string(trim(std::string_view(line).substr(equals + 1)));
    }
}

std::map<std::string, Profile, std::less<>> make_profiles()
{
    std::map<std::string, Profile, std::less<>> profiles;
    for (const auto &[kind, lines] : {std::pair("h200", kH200), std::pair("gb10", kGb10),
                                      std::pair("gb200", kGb200), std::pair("a100", kA100)}) {
        add(profiles[kind], kCommon);
        add(profiles[kind], lines);
    }
    profiles["a100-mig"] = profiles["a100"];
    add(profiles["a100-mig"], kA100Mig);
    return profiles;
}

} // namespace

const Profile &profile_of(std::string_view kind)
{
    static const auto *profiles = new std::map(make_profiles());
    const auto found = profiles->find(kind);
    return found != profiles->end() ? found->second : profiles->find("h200")->second;
}

Driver driver_of(std::string_view version)
{
    struct Branch {
        int major;
        std::string_view version;
        int cuda;
        unsigned int field_count;
    };
    static constexpr Branch kBranches[] = {{470, "470.256.02", 11040, 169},
                                           {535, "535.288.01", 12020, 197},
                                           {550, "550.163.01", 12040, 200},
                                           {580, "580.95.05", 13000, 274},
                                           {610, "610.43.02", 13050, 310}};

    const std::vector<std::string> numbers = split(version, '.');
    const int major =
        numbers.empty() ? 580 : static_cast<int>(parse_signed(numbers[0]).value_or(580));
    const Branch *branch = &kBranches[0];
    for (const Branch &candidate : kBranches)
        if (candidate.major <= major)
            branch = &candidate;

    Driver driver = {};
    driver.major = major;
    driver.version = numbers.size() > 1 ? std::string(version) : std::string(branch->version);
    if (numbers.size() <= 1 && major != branch->major)
        driver.version = std::to_string(major) + ".10";
    driver.cuda = branch->cuda;
    driver.field_count = branch->field_count;
    driver.nvml = std::to_string(driver.cuda / 1000) + "." + driver.version;
    const std::int64_t minor = numbers.size() > 1 ? parse_signed(numbers[1]).value_or(0) : 99;
    driver.old_field_numbers = major < 580 || (major == 580 && minor < 82);
    if (major >= 565 && major < 580)
        driver.field_count = 274;
    return driver;
}

} // namespace metrale::telemetry
