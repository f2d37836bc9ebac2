#include "cuda/copy.h"

#include <algorithm>
#include <system_error>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace
{

enum class Wait { No, Yes };

template <typename T>
CUresult fill(const char *function, CUdeviceptr address, T value, size_t count, CUstream handle,
              Wait wait)
{
    return call(function, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Stream> stream;
        Side target;
        CUresult result = find_own_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        if (count == 0)
            return CUDA_SUCCESS;
        if (address % sizeof(T) != 0 || count > SIZE_MAX / sizeof(T))
            return CUDA_ERROR_INVALID_VALUE;
        result = resolve(address, count * sizeof(T), Role::Device, &target);
        if (result != CUDA_SUCCESS)
            return result;
        stream->submit([target, value, count] {
            std::fill_n(reinterpret_cast<T *>(target.address), count, value);
            return CUDA_SUCCESS;
        });
        if (wait == Wait::Yes)
            stream->drain();
        return context.error();
    });
}

} // namespace

CUresult cuMemsetD8(CUdeviceptr address, unsigned char value, size_t count)
{
    return fill<uint8_t>(__func__, address, value, count, nullptr, Wait::Yes);
}

CUresult cuMemsetD16(CUdeviceptr address, unsigned short value, size_t count)
{
    return fill<uint16_t>(__func__, address, value, count, nullptr, Wait::Yes);
}

CUresult cuMemsetD32(CUdeviceptr address, unsigned value, size_t count)
{
    return fill<uint32_t>(__func__, address, value, count, nullptr, Wait::Yes);
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream)
{
    return fill<uint8_t>(__func__, address, value, count, stream, Wait::No);
}

CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream)
{
    return fill<uint16_t>(__func__, address, value, count, stream, Wait::No);
}

CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream)
{
    return fill<uint32_t>(__func__, address, value, count, stream, Wait::No);
}
