#include "answers.hpp"

#include <algorithm>

/*
 * MIG as an administrator has set it up: modes, devices, instances and profiles to look at. Nothing
 * can be created or destroyed.
 */

using metrale::telemetry::Device;
using metrale::telemetry::kNoInstance;
using metrale::telemetry::read_number;
using metrale::telemetry::session;

namespace
{

/* What an instance of so many slices is, of seven that a GPU has. */
struct Shape {
    unsigned int profile;
    unsigned int slices;
    unsigned int memory_slices; /* of eight */
    unsigned int placements;
};

constexpr Shape kShapes[] = {{NVML_GPU_INSTANCE_PROFILE_1_SLICE, 1, 1, 7},
                             {NVML_GPU_INSTANCE_PROFILE_2_SLICE, 2, 2, 3},
                             {NVML_GPU_INSTANCE_PROFILE_3_SLICE, 3, 4, 2},
                             {NVML_GPU_INSTANCE_PROFILE_4_SLICE, 4, 4, 1},
                             {NVML_GPU_INSTANCE_PROFILE_7_SLICE, 7, 8, 1}};

/* The numbers that go with the profiles above, as `nvidia-smi mig -lgip` shows them. */
constexpr unsigned int kProfileIds[] = {19, 14, 9, 5, 0};

const Shape *shape_of_slices(unsigned int slices)
{
    for (const Shape &shape : kShapes)
        if (shape.slices == slices)
            return &shape;
    return nullptr;
}

unsigned int profile_id(const Shape &shape)
{
    return kProfileIds[&shape - kShapes];
}

std::vector<const Device *> instances_of(const Device &gpu)
{
    std::vector<const Device *> found;
    const auto current = session();
    unsigned int mode = 0;
    if (current == nullptr || read_number(gpu, "mig.current", &mode) != NVML_SUCCESS || mode == 0)
        return found;
    for (const Device *mig : current->migs)
        if (mig->parent == &gpu)
            found.push_back(mig);
    return found;
}

const Device *instance_of(const void *handle)
{
    return metrale::telemetry::find_device(static_cast<nvmlDevice_t>(const_cast<void *>(handle)));
}

/* Instances of one profile, under the handle of their device. */
template <typename T>
nvmlReturn_t list_instances(const std::vector<const Device *> &instances, T *handles,
                            unsigned int *count)
{
    METRALE_ARGUMENT(count != nullptr);
    METRALE_ARGUMENT(handles != nullptr || instances.empty());
    for (std::size_t i = 0; i < instances.size(); ++i)
        handles[i] = reinterpret_cast<T>(instances[i]->handle());
    *count = static_cast<unsigned int>(instances.size());
    return NVML_SUCCESS;
}

nvmlReturn_t profile_info(const Device &gpu, unsigned int profile,
                          nvmlGpuInstanceProfileInfo_t *info)
{
    unsigned int total_processors = 0;
    unsigned long long total = 0;
    METRALE_ARGUMENT(profile < NVML_GPU_INSTANCE_PROFILE_COUNT);
    METRALE_ARGUMENT(!gpu.is_mig());
    METRALE_TRY(read_number(gpu, "mig.max", &total_processors));
    METRALE_TRY(read_number(gpu, "attributes.multiprocessors", &total_processors));
    METRALE_TRY(read_number(gpu, "memory.total", &total));
    for (const Shape &shape : kShapes) {
        if (shape.profile != profile)
            continue;
        nvmlGpuInstanceProfileInfo_t answer = {};
        answer.id = profile_id(shape);
        answer.sliceCount = shape.slices;
        answer.instanceCount = shape.placements;
        answer.multiprocessorCount = total_processors / 7 / 2 * 2 * shape.slices;
        answer.copyEngineCount = shape.slices;
        answer.decoderCount = shape.slices > 1 ? shape.slices / 2 : 0;
        answer.memorySizeMB = (total >> 20U) * shape.memory_slices / 8;
        *info = answer;
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

std::string profile_name(const nvmlGpuInstanceProfileInfo_t &info)
{
    return "MIG " + std::to_string(info.sliceCount) + "g." +
           std::to_string((info.memorySizeMB + 1023) / 1024) + "gb";
}

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current,
                                           unsigned int *pending)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(current != nullptr && pending != nullptr);
    METRALE_TRY(read_number(*gpu, "mig.current", current));
    return read_number(*gpu, "mig.pending", pending);
}

NVML_API nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(is_mig != nullptr);
    *is_mig = gpu->is_mig() ? 1 : 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(count != nullptr);
    if (read_number(*gpu, "mig.max", count) != NVML_SUCCESS)
        *count = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                          nvmlDevice_t *mig)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(mig != nullptr && !gpu->is_mig());
    unsigned int most = 0;
    METRALE_TRY(read_number(*gpu, "mig.max", &most));
    METRALE_ARGUMENT(index < most);
    const std::vector<const Device *> instances = instances_of(*gpu);
    if (index >= instances.size())
        return NVML_ERROR_NOT_FOUND;
    *mig = instances[index]->handle();
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig,
                                                                   nvmlDevice_t *device)
{
    METRALE_DEVICE(instance, mig);
    METRALE_ARGUMENT(device != nullptr && instance->is_mig());
    *device = instance->parent->handle();
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(id != nullptr && gpu->is_mig());
    *id = gpu->gpu_instance;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(id != nullptr && gpu->is_mig());
    *id = gpu->compute_instance;
    return NVML_SUCCESS;
}

namespace
{

nvmlReturn_t attributes_of(const Device &device, nvmlDeviceAttributes_t *attributes)
{
    METRALE_ARGUMENT(attributes != nullptr);
    const Device &gpu = device.whole();
    nvmlDeviceAttributes_t answer = {};
    METRALE_TRY(read_number(gpu, "attributes.multiprocessors", &answer.multiprocessorCount));
    METRALE_TRY(read_number(gpu, "attributes.copy_engines", &answer.sharedCopyEngineCount));
    METRALE_TRY(read_number(gpu, "attributes.decoders", &answer.sharedDecoderCount));
    METRALE_TRY(read_number(gpu, "attributes.encoders", &answer.sharedEncoderCount));
    METRALE_TRY(read_number(gpu, "attributes.jpegs", &answer.sharedJpegCount));
    METRALE_TRY(read_number(gpu, "attributes.ofas", &answer.sharedOfaCount));
    if (!device.is_mig())
        return NVML_ERROR_NOT_SUPPORTED;
    answer.multiprocessorCount = answer.multiprocessorCount / 7 / 2 * 2 * device.slices;
    answer.sharedCopyEngineCount = device.slices;
    answer.sharedDecoderCount = device.slices / 2;
    answer.sharedJpegCount = 0;
    answer.sharedOfaCount = 0;
    answer.gpuInstanceSliceCount = device.slices;
    answer.computeInstanceSliceCount = device.slices;
    answer.memorySizeMB = device.slice_memory_mib;
    *attributes = answer;
    return NVML_SUCCESS;
}

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device,
                                                 nvmlDeviceAttributes_t *attributes)
{
    METRALE_DEVICE(gpu, device);
    return attributes_of(*gpu, attributes);
}

NVML_API nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device,
                                              nvmlDeviceAttributes_t *attributes)
{
    METRALE_DEVICE(gpu, device);
    return attributes_of(*gpu, attributes);
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
                                                          nvmlGpuInstanceProfileInfo_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    return profile_info(*gpu, profile, info);
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device,
                                                           unsigned int profile,
                                                           nvmlGpuInstanceProfileInfo_v2_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    nvmlGpuInstanceProfileInfo_t plain = {};
    const bool second = metrale::telemetry::has_version(info, 2);
    const unsigned int third_word =
        metrale::telemetry::version_word<nvmlGpuInstanceProfileInfo_v3_t>(3);
    if (!second && info->version != third_word)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    METRALE_TRY(profile_info(*gpu, profile, &plain));
    const std::string name = profile_name(plain);
    if (second) {
        *info = {info->version,
                 plain.id,
                 plain.isP2pSupported,
                 plain.sliceCount,
                 plain.instanceCount,
                 plain.multiprocessorCount,
                 plain.copyEngineCount,
                 plain.decoderCount,
                 plain.encoderCount,
                 plain.jpegCount,
                 plain.ofaCount,
                 plain.memorySizeMB,
                 {}};
        return metrale::telemetry::copy_text(name, info->name, sizeof(info->name));
    }
    nvmlGpuInstanceProfileInfo_v3_t answer = {third_word,
                                              plain.id,
                                              plain.sliceCount,
                                              plain.instanceCount,
                                              plain.multiprocessorCount,
                                              plain.copyEngineCount,
                                              plain.decoderCount,
                                              plain.encoderCount,
                                              plain.jpegCount,
                                              plain.ofaCount,
                                              plain.memorySizeMB,
                                              {},
                                              0};
    METRALE_TRY(metrale::telemetry::copy_text(name, answer.name, sizeof(answer.name)));
    std::memcpy(static_cast<void *>(info), &answer, sizeof(answer));
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device,
                                                                unsigned int id,
                                                                unsigned int *count)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(count != nullptr);
    unsigned int used = 0;
    for (const Device *mig : instances_of(*gpu))
        used += mig->slices;
    for (const Shape &shape : kShapes) {
        if (profile_id(shape) != id)
            continue;
        const unsigned int left = used < 7 ? (7 - used) / shape.slices : 0;
        *count = std::min(left, shape.placements);
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int id,
                                                nvmlGpuInstance_t *instances, unsigned int *count)
{
    METRALE_DEVICE(gpu, device);
    std::vector<const Device *> found = instances_of(*gpu);
    std::erase_if(found, [id](const Device *mig) {
        const Shape *shape = shape_of_slices(mig->slices);
        return shape == nullptr || profile_id(*shape) != id;
    });
    return list_instances(found, instances, count);
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id,
                                                   nvmlGpuInstance_t *instance)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(instance != nullptr);
    for (const Device *mig : instances_of(*gpu)) {
        if (mig->gpu_instance != id)
            continue;
        *instance = reinterpret_cast<nvmlGpuInstance_t>(mig->handle());
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance,
                                             nvmlGpuInstanceInfo_t *info)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    const Device *mig = instance_of(instance);
    METRALE_ARGUMENT(mig != nullptr && mig->is_mig() && info != nullptr);
    const Shape *shape = shape_of_slices(mig->slices);
    info->device = mig->parent->handle();
    info->id = mig->gpu_instance;
    info->profileId = shape == nullptr ? kNoInstance : profile_id(*shape);
    info->placement = {mig->index, mig->slices};
    return NVML_SUCCESS;
}

/* One compute instance fills each GPU instance. */
NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned int,
                                                         nvmlComputeInstance_t *instances,
                                                         unsigned int *count)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    const Device *mig = instance_of(instance);
    METRALE_ARGUMENT(mig != nullptr && mig->is_mig());
    return list_instances({mig}, instances, count);
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance,
                                                            unsigned int id,
                                                            nvmlComputeInstance_t *compute)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    const Device *mig = instance_of(instance);
    METRALE_ARGUMENT(mig != nullptr && mig->is_mig() && compute != nullptr);
    if (mig->compute_instance != id)
        return NVML_ERROR_NOT_FOUND;
    *compute = reinterpret_cast<nvmlComputeInstance_t>(mig->handle());
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t compute,
                                                    nvmlComputeInstanceInfo_t *info)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    const Device *mig = instance_of(compute);
    METRALE_ARGUMENT(mig != nullptr && mig->is_mig() && info != nullptr);
    info->device = mig->parent->handle();
    info->gpuInstance = reinterpret_cast<nvmlGpuInstance_t>(mig->handle());
    info->id = mig->compute_instance;
    info->profileId = 0;
    info->placement = {0, mig->slices};
    return NVML_SUCCESS;
}
