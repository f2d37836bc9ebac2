#include "stats.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "common/profile.h"

/* Statistics. They are kept at the deepest level and handed out down to the one that is set. */

namespace metrale::gds
{
namespace
{

struct Collected {
    std::mutex mutex;
    int level = 0;
    bool started = false;
    std::chrono::steady_clock::time_point since;
    CUfileStatsLevel3_t values = {};
};

Collected &collected()
{
    static Collected *instance = new Collected;
    return *instance;
}

CUfileOpCounter_t *counter_of(CUfileStatsLevel1_t &basic, Operation operation)
{
    switch (operation) {
    case Operation::handle_register:
        return &basic.hdl_register_ops;
    case Operation::handle_deregister:
        return &basic.hdl_deregister_ops;
    case Operation::buffer_register:
        return &basic.buf_register_ops;
    case Operation::buffer_deregister:
        return &basic.buf_deregister_ops;
    case Operation::batch_setup:
        return &basic.batch_setup_ops;
    case Operation::batch_submit:
        return &basic.batch_submit_ops;
    case Operation::batch_complete:
        return &basic.batch_complete_ops;
    case Operation::batch_cancel:
        return &basic.batch_cancel_ops;
    case Operation::batch_destroy:
        return &basic.batch_destroy_ops;
    }
    return nullptr;
}

void add(CUfileOpCounter_t &counter, bool ok)
{
    ++(ok ? counter.ok : counter.err);
}

/* Runs with the lock held, if anything is counted now. */
template <typename Change> void change(Change apply)
{
    Collected &all = collected();
    const std::lock_guard lock(all.mutex);
    if (all.started && all.level > 0)
        apply(all.values);
}

CUfilePerGpuStats_t *gpu_of(CUfileStatsLevel3_t &values, int device)
{
    constexpr int kMost = 16;
    return device >= 0 && device < kMost ? &values.per_gpu_stats[device] : nullptr;
}

/* Bucket 0 is below 1 KiB, bucket n from 2^(n-1) KiB on. */
std::size_t bucket_of(std::uint64_t bytes)
{
    return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes >> 10U)), 31);
}

void add_gpu_read(CUfilePerGpuStats_t &gpu, Path path, std::uint64_t bytes, bool ok, bool aligned,
                  std::uint64_t microseconds)
{
    ++gpu.n_total_reads;
    gpu.read_bytes += bytes;
    gpu.read_duration_us += microseconds;
    gpu.n_reads_err += ok ? 0 : 1;
    gpu.n_unaligned_reads += aligned ? 0 : 1;
    ++(path == Path::nvfs     ? gpu.n_nvfs_reads
       : path == Path::p2pdma ? gpu.n_p2p_reads
                              : gpu.n_posix_reads);
}

void add_gpu_write(CUfilePerGpuStats_t &gpu, Path path, std::uint64_t bytes, bool ok, bool aligned,
                   std::uint64_t microseconds)
{
    ++gpu.n_total_writes;
    gpu.writes_bytes += bytes;
    gpu.write_duration_us += microseconds;
    gpu.n_writes_err += ok ? 0 : 1;
    gpu.n_unaligned_writes += aligned ? 0 : 1;
    ++(path == Path::nvfs     ? gpu.n_nvfs_writes
       : path == Path::p2pdma ? gpu.n_p2p_writes
                              : gpu.n_posix_writes);
}

std::uint64_t per(std::uint64_t amount, std::uint64_t divisor)
{
    return divisor == 0 ? 0 : amount / divisor;
}

/* Rates and averages follow from the sums when they are asked for. */
void derive(CUfileStatsLevel1_t &basic, double seconds)
{
    const auto rate = [seconds](std::uint64_t amount) {
        return seconds <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(amount) / seconds);
    };
    basic.read_lat_avg_us = per(basic.read_lat_sum_us, basic.read_ops.ok + basic.read_ops.err);
    basic.write_lat_avg_us = per(basic.write_lat_sum_us, basic.write_ops.ok + basic.write_ops.err);
    basic.readv_lat_avg_us = per(basic.readv_lat_sum_us, basic.readv_ops.ok + basic.readv_ops.err);
    basic.writev_lat_avg_us =
        per(basic.writev_lat_sum_us, basic.writev_ops.ok + basic.writev_ops.err);
    basic.read_ops_per_sec = rate(basic.read_ops.ok);
    basic.write_ops_per_sec = rate(basic.write_ops.ok);
    basic.readv_ops_per_sec = rate(basic.readv_ops.ok);
    basic.writev_ops_per_sec = rate(basic.writev_ops.ok);
    basic.read_bw_bytes_per_sec = rate(basic.read_bytes);
    basic.write_bw_bytes_per_sec = rate(basic.write_bytes);
    basic.readv_bw_bytes_per_sec = rate(basic.readv_bytes);
    basic.writev_bw_bytes_per_sec = rate(basic.writev_bytes);
}

CUfileError_t snapshot(int level, CUfileStatsLevel3_t *values)
{
    if (!is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    Collected &all = collected();
    const std::lock_guard lock(all.mutex);
    if (all.level < level)
        return error(CU_FILE_INVALID_VALUE);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - all.since;
    *values = all.values;
    derive(values->detailed.basic, all.started ? elapsed.count() : 0);
    const auto &gpus = emulator::gpus();
    values->num_gpus = static_cast<std::uint32_t>(std::min<std::size_t>(gpus.size(), 16));
    for (std::uint32_t i = 0; i < values->num_gpus; ++i)
        std::copy(gpus[i].uuid.begin(), gpus[i].uuid.end(), values->per_gpu_stats[i].uuid);
    return kSuccess;
}

CUfileError_t switch_to(bool started)
{
    if (!is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    Collected &all = collected();
    const std::lock_guard lock(all.mutex);
    if (started && all.level == 0)
        return error(CU_FILE_INVALID_VALUE);
    if (started && !all.started)
        all.since = std::chrono::steady_clock::now();
    all.started = started;
    return kSuccess;
}

} // namespace

void count(Operation operation, bool ok)
{
    change([&](CUfileStatsLevel3_t &values) {
        add(*counter_of(values.detailed.basic, operation), ok);
    });
}

void count_registered(int device, std::size_t bytes, bool ok)
{
    change([&](CUfileStatsLevel3_t &values) {
        CUfilePerGpuStats_t *gpu = gpu_of(values, device);
        if (gpu == nullptr)
            return;
        ++gpu->n_mmap;
        ++(ok ? gpu->n_mmap_ok : gpu->n_mmap_err);
        gpu->reg_bytes += ok ? bytes : 0;
    });
}

void count_deregistered(int device)
{
    change([&](CUfileStatsLevel3_t &values) {
        CUfilePerGpuStats_t *gpu = gpu_of(values, device);
        if (gpu != nullptr)
            ++gpu->n_mmap_free;
    });
}

void count_transfer(Direction direction, const File &file, int device, ssize_t result, bool aligned,
                    std::uint64_t microseconds)
{
    change([&](CUfileStatsLevel3_t &values) {
        CUfileStatsLevel1_t &basic = values.detailed.basic;
        CUfilePerGpuStats_t *gpu = gpu_of(values, device);
        const bool ok = result >= 0;
        const std::uint64_t bytes = ok ? static_cast<std::uint64_t>(result) : 0;
        if (direction == Direction::read) {
            add(basic.read_ops, ok);
            basic.read_bytes += bytes;
            basic.read_lat_sum_us += microseconds;
            ++values.detailed.read_size_kb_hist[bucket_of(bytes)];
            if (gpu != nullptr)
                add_gpu_read(*gpu, file.path, bytes, ok, aligned, microseconds);
        } else {
            add(basic.write_ops, ok);
            basic.write_bytes += bytes;
            basic.write_lat_sum_us += microseconds;
            ++values.detailed.write_size_kb_hist[bucket_of(bytes)];
            if (gpu != nullptr)
                add_gpu_write(*gpu, file.path, bytes, ok, aligned, microseconds);
        }
    });
}

void count_vector(Direction direction, ssize_t result, std::uint64_t microseconds)
{
    change([&](CUfileStatsLevel3_t &values) {
        CUfileStatsLevel1_t &basic = values.detailed.basic;
        const bool reading = direction == Direction::read;
        add(reading ? basic.readv_ops : basic.writev_ops, result >= 0);
        (reading ? basic.readv_bytes : basic.writev_bytes) +=
            result > 0 ? static_cast<std::uint64_t>(result) : 0;
        (reading ? basic.readv_lat_sum_us : basic.writev_lat_sum_us) += microseconds;
    });
}

} // namespace metrale::gds

using metrale::gds::collected;
using metrale::gds::error;
using metrale::gds::kSuccess;

CUfileError_t cuFileSetStatsLevel(int level)
{
    METRALE_GDS_FAULT();
    if (level < 0 || level > 3)
        return error(CU_FILE_INVALID_VALUE);
    auto &all = collected();
    const std::lock_guard lock(all.mutex);
    all.level = level;
    return kSuccess;
}

CUfileError_t cuFileGetStatsLevel(int *level)
{
    METRALE_GDS_FAULT();
    if (level == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    auto &all = collected();
    const std::lock_guard lock(all.mutex);
    *level = all.level;
    return kSuccess;
}

CUfileError_t cuFileStatsStart(void)
{
    METRALE_GDS_FAULT();
    return metrale::gds::switch_to(true);
}

CUfileError_t cuFileStatsStop(void)
{
    METRALE_GDS_FAULT();
    return metrale::gds::switch_to(false);
}

CUfileError_t cuFileStatsReset(void)
{
    METRALE_GDS_FAULT();
    if (!metrale::gds::is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    auto &all = collected();
    const std::lock_guard lock(all.mutex);
    all.values = {};
    all.since = std::chrono::steady_clock::now();
    return kSuccess;
}

CUfileError_t cuFileGetStatsL1(CUfileStatsLevel1_t *stats)
{
    METRALE_GDS_FAULT();
    if (stats == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    CUfileStatsLevel3_t all;
    const CUfileError_t answer = metrale::gds::snapshot(1, &all);
    if (answer.err == CU_FILE_SUCCESS)
        *stats = all.detailed.basic;
    return answer;
}

CUfileError_t cuFileGetStatsL2(CUfileStatsLevel2_t *stats)
{
    METRALE_GDS_FAULT();
    if (stats == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    CUfileStatsLevel3_t all;
    const CUfileError_t answer = metrale::gds::snapshot(2, &all);
    if (answer.err == CU_FILE_SUCCESS)
        *stats = all.detailed;
    return answer;
}

CUfileError_t cuFileGetStatsL3(CUfileStatsLevel3_t *stats)
{
    METRALE_GDS_FAULT();
    if (stats == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    CUfileStatsLevel3_t all;
    const CUfileError_t answer = metrale::gds::snapshot(3, &all);
    if (answer.err == CU_FILE_SUCCESS)
        *stats = all;
    return answer;
}
