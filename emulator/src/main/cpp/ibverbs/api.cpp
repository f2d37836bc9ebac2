/* The exported functions: checks that need no object, faults, and the way to the objects. */
#include "common/library.h"
#include "ibverbs/memory.h"
#include "ibverbs/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <endian.h>
#include <unistd.h>

using namespace metrale::emulator;
using namespace metrale::emulator::ibv;

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port
#undef ibv_get_device_list

#define API METRALE_EMULATOR_EXPORT

METRALE_EMULATOR_EXPORT const char metrale_emulator_marker[];
const char metrale_emulator_marker[] = "metrale emulator: libibverbs";

/* As for every emulator library, and the devices follow at once. */
API void metrale_emulator_ibverbs_configure(const char *lines)
{
    if (lines != nullptr)
        Configuration::instance().add(lines);
    else
        Configuration::instance().remove("fault");
    Faults::instance().reload();
    Machine::instance().reconfigure();
}

/* How many objects of a kind (metrale::emulator::ibv::Kind) exist; -1 for no such kind. */
API int metrale_emulator_ibverbs_live(int kind)
{
    if (kind < 0 || kind >= static_cast<int>(Kind::Count))
        return -1;
    return live(static_cast<Kind>(kind));
}

namespace
{

__attribute__((constructor)) void hide_absent()
{
    hide_configured_symbols();
}

Device *device_of(const ibv_device *handle)
{
    for (const auto &device : Machine::instance().devices()) {
        if (&device->handle == handle)
            return device.get();
    }
    return nullptr;
}

/* 0, or what the configuration says this call shall return. */
int fault(const char *function, const Device *device = nullptr)
{
    return host_fault("ibverbs", function, -1, device != nullptr ? device->index : -1)
        .code.value_or(0);
}

int fault(const char *function, ibv_context *context)
{
    return fault(function, &Context::of(context)->device);
}

template <typename T> T *null_with(int error)
{
    errno = error;
    return nullptr;
}

int failed_with(int error)
{
    errno = error;
    return -1;
}

int post_send(ibv_qp *handle, ibv_send_wr *wr, ibv_send_wr **bad)
{
    int error = fault("ibv_post_send", handle->context);
    if (error != 0) {
        *bad = wr;
        return error;
    }
    return QueuePair::of(handle)->post(wr, bad);
}

int post_recv(ibv_qp *handle, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    int error = fault("ibv_post_recv", handle->context);
    if (error != 0) {
        *bad = wr;
        return error;
    }
    return QueuePair::of(handle)->post(wr, bad);
}

int post_srq_recv(ibv_srq *handle, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    int error = fault("ibv_post_srq_recv", handle->context);
    if (error != 0) {
        *bad = wr;
        return error;
    }
    return SharedReceiveQueue::of(handle)->post(wr, bad);
}

int poll_cq(ibv_cq *handle, int capacity, ibv_wc *out)
{
    int error = fault("ibv_poll_cq", handle->context);
    return error != 0 ? failed_with(error) : ibv::of(handle)->poll(capacity, out);
}

int req_notify_cq(ibv_cq *handle, int solicited_only)
{
    int error = fault("ibv_req_notify_cq", handle->context);
    return error != 0 ? error : ibv::of(handle)->arm(solicited_only != 0);
}

int fill_port(ibv_context *context, uint8_t number, ibv_port_attr *out)
{
    Device &device = Context::of(context)->device;
    int error = fault("ibv_query_port", &device);
    if (error != 0)
        return error;
    if (device.fatal)
        return ENODEV;
    if (number == 0 || number > device.port_count())
        return EINVAL;

    Port port = device.port(number);
    *out = {};
    out->state = port.up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    out->max_mtu = static_cast<ibv_mtu>(port.max_mtu);
    out->active_mtu = static_cast<ibv_mtu>(port.active_mtu);
    out->gid_tbl_len = static_cast<int>(port.gids.size());
    out->pkey_tbl_len = static_cast<uint16_t>(port.pkeys.size());
    out->max_msg_sz = device.limits.max_message_bytes;
    out->lid = port.lid;
    out->sm_lid = device.infiniband ? 1 : 0;
    out->active_width = 2;
    out->active_speed = 64;
    out->phys_state = port.up ? 5 : 3;
    out->link_layer = device.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    out->flags = device.infiniband ? 0 : IBV_QPF_GRH_REQUIRED;
    out->port_cap_flags = device.infiniband ? 0 : IBV_PORT_IP_BASED_GIDS;
    return 0;
}

int query_port(ibv_context *context, uint8_t number, ibv_port_attr *out, size_t size)
{
    ibv_port_attr attr;
    int error = fill_port(context, number, &attr);
    if (error == 0)
        std::memcpy(out, &attr, std::min(size, sizeof(attr)));
    return error;
}

int fill_device(ibv_context *context, ibv_device_attr *out)
{
    Device &device = Context::of(context)->device;
    int error = fault("ibv_query_device", &device);
    if (error != 0)
        return error;
    if (device.fatal)
        return ENODEV;

    const Limits &limits = device.limits;
    *out = {};
    std::strcpy(out->fw_ver, "0.0.emulated");
    out->node_guid = ibv_get_device_guid(&device.handle);
    out->sys_image_guid = out->node_guid;
    out->max_mr_size = limits.max_mr_bytes;
    out->page_size_cap = static_cast<uint64_t>(-sysconf(_SC_PAGESIZE));
    out->vendor_id = static_cast<uint32_t>(limits.vendor_id);
    out->vendor_part_id = 4129;
    out->max_qp = limits.max_qp;
    out->max_qp_wr = limits.max_qp_wr;
    out->device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT;
    out->max_sge = limits.max_sge;
    out->max_sge_rd = limits.max_sge;
    out->max_cq = limits.max_cq;
    out->max_cqe = limits.max_cqe;
    out->max_mr = limits.max_mr;
    out->max_pd = limits.max_pd;
    out->max_qp_rd_atom = limits.max_rd_atomic;
    out->max_qp_init_rd_atom = limits.max_rd_atomic;
    out->max_res_rd_atom = limits.max_rd_atomic * 1024;
    out->atomic_cap = IBV_ATOMIC_HCA;
    out->max_srq = limits.max_srq;
    out->max_srq_wr = limits.max_srq_wr;
    out->max_srq_sge = limits.max_srq_sge;
    out->max_pkeys = 128;
    out->local_ca_ack_delay = 16;
    out->phys_port_cnt = static_cast<uint8_t>(device.port_count());
    return 0;
}

int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *,
                    ibv_device_attr_ex *out, size_t size)
{
    ibv_device_attr_ex attr{};
    int error = fill_device(context, &attr.orig_attr);
    if (error == 0) {
        attr.phys_port_cnt_ex = attr.orig_attr.phys_port_cnt;
        attr.device_cap_flags_ex = attr.orig_attr.device_cap_flags;
        std::memcpy(static_cast<void *>(out), &attr, std::min(size, sizeof(attr)));
    }
    return error;
}

ibv_gid_entry entry_of(const Gid &gid, uint32_t port, uint32_t index)
{
    ibv_gid_entry entry{};
    std::copy(gid.raw.begin(), gid.raw.end(), entry.gid.raw);
    entry.gid_index = index;
    entry.port_num = port;
    entry.gid_type = gid.type;
    entry.ndev_ifindex = gid.ifindex;
    return entry;
}

/* 0 or an errno. */
int find_gid(Device &device, uint32_t port_num, uint32_t index, Gid *out)
{
    if (device.fatal)
        return ENODEV;
    if (port_num == 0 || port_num > static_cast<uint32_t>(device.port_count()))
        return EINVAL;
    Port port = device.port(port_num);
    if (index >= port.gids.size())
        return EINVAL;
    *out = port.gids[index];
    return 0;
}

} // namespace

/* ------------------------------------------------------------------------------------ devices */

API int ibv_fork_init()
{
    return fault("ibv_fork_init");
}

API ibv_fork_status ibv_is_fork_initialized()
{
    return IBV_FORK_UNNEEDED;
}

API ibv_device **ibv_get_device_list(int *count)
{
    int error = fault("ibv_get_device_list");
    if (error != 0)
        return null_with<ibv_device *>(error);
    const auto &devices = Machine::instance().devices();
    auto **list = new ibv_device *[devices.size() + 1]();
    for (size_t i = 0; i < devices.size(); ++i)
        list[i] = &devices[i]->handle;
    if (count != nullptr)
        *count = static_cast<int>(devices.size());
    return list;
}

API void ibv_free_device_list(ibv_device **list)
{
    delete[] list;
}

API const char *ibv_get_device_name(ibv_device *device)
{
    return device->name;
}

API int ibv_get_device_index(ibv_device *handle)
{
    Device *device = device_of(handle);
    return device != nullptr ? device->index : -1;
}

API __be64 ibv_get_device_guid(ibv_device *handle)
{
    Device *device = device_of(handle);
    auto number = static_cast<uint64_t>(device != nullptr ? device->index : 0);
    return htobe64(0x0a0027fffe000000ULL + (number << 8));
}

API ibv_context *ibv_open_device(ibv_device *handle)
{
    Device *device = device_of(handle);
    if (device == nullptr)
        return null_with<ibv_context>(ENODEV);
    int error = fault("ibv_open_device", device);
    if (error != 0)
        return null_with<ibv_context>(error);
    if (device->fatal)
        return null_with<ibv_context>(EIO);

    Machine::instance().start_clock();
    auto *context = new Context(*device);
    verbs_context &extended = context->extended;
    extended.query_port = query_port;
    extended.query_device_ex = query_device_ex;
    extended.context.ops.post_send = post_send;
    extended.context.ops.post_recv = post_recv;
    extended.context.ops.post_srq_recv = post_srq_recv;
    extended.context.ops.poll_cq = poll_cq;
    extended.context.ops.req_notify_cq = req_notify_cq;
    return context->handle();
}

API int ibv_close_device(ibv_context *handle)
{
    Context *context = Context::of(handle);
    int error = fault("ibv_close_device", handle);
    if (error != 0)
        return failed_with(error);
    if (context->children != 0)
        return failed_with(EBUSY);
    delete context;
    return 0;
}

API int ibv_query_device(ibv_context *context, ibv_device_attr *out)
{
    return fill_device(context, out);
}

API int ibv_query_port(ibv_context *context, uint8_t number, _compat_ibv_port_attr *out)
{
    // Programs from before the last field give no room for it.
    return query_port(context, number, reinterpret_cast<ibv_port_attr *>(out),
                      offsetof(ibv_port_attr, port_cap_flags2));
}

API int ibv_query_gid(ibv_context *context, uint8_t port_num, int index, ibv_gid *out)
{
    Gid gid;
    int error = fault("ibv_query_gid", context);
    if (error == 0)
        error =
            find_gid(Context::of(context)->device, port_num, static_cast<uint32_t>(index), &gid);
    if (error != 0)
        return failed_with(error);
    std::copy(gid.raw.begin(), gid.raw.end(), out->raw);
    return 0;
}

/* Private to rdma-core, but ibv_devinfo asks. 0 is IB or RoCE v1, 1 is RoCE v2. */
API int ibv_query_gid_type(ibv_context *context, uint8_t port_num, unsigned index, int *type)
{
    Gid gid;
    int error = find_gid(Context::of(context)->device, port_num, index, &gid);
    if (error != 0)
        return failed_with(error);
    *type = gid.type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
    return 0;
}

API int _ibv_query_gid_ex(ibv_context *context, uint32_t port_num, uint32_t index,
                          ibv_gid_entry *out, uint32_t flags, size_t size)
{
    Gid gid;
    int error = fault("ibv_query_gid_ex", context);
    if (error == 0)
        error =
            flags != 0 ? EOPNOTSUPP : find_gid(Context::of(context)->device, port_num, index, &gid);
    if (error == 0 && !gid.used())
        error = ENODATA;
    if (error != 0)
        return error;
    ibv_gid_entry entry = entry_of(gid, port_num, index);
    std::memcpy(out, &entry, std::min(size, sizeof(entry)));
    return 0;
}

API ssize_t _ibv_query_gid_table(ibv_context *context, ibv_gid_entry *out, size_t capacity,
                                 uint32_t flags, size_t size)
{
    Device &device = Context::of(context)->device;
    int error = fault("ibv_query_gid_table", &device);
    if (error == 0)
        error = device.fatal ? ENODEV : flags != 0 ? EOPNOTSUPP : 0;
    if (error != 0)
        return -error;

    std::vector<ibv_gid_entry> entries;
    for (int number = 1; number <= device.port_count(); ++number) {
        Port port = device.port(static_cast<uint32_t>(number));
        for (size_t i = 0; i < port.gids.size(); ++i) {
            if (port.gids[i].used())
                entries.push_back(entry_of(port.gids[i], static_cast<uint32_t>(number),
                                           static_cast<uint32_t>(i)));
        }
    }
    if (entries.size() > capacity)
        return -EINVAL;
    char *to = reinterpret_cast<char *>(out);
    for (const ibv_gid_entry &entry : entries) {
        std::memcpy(to, &entry, std::min(size, sizeof(entry)));
        to += size;
    }
    return static_cast<ssize_t>(entries.size());
}

API int ibv_query_pkey(ibv_context *context, uint8_t port_num, int index, __be16 *out)
{
    Device &device = Context::of(context)->device;
    int error = fault("ibv_query_pkey", &device);
    if (error != 0)
        return failed_with(error);
    if (port_num == 0 || port_num > device.port_count())
        return failed_with(EINVAL);
    Port port = device.port(port_num);
    if (index < 0 || static_cast<size_t>(index) >= port.pkeys.size())
        return failed_with(EINVAL);
    *out = htobe16(port.pkeys[static_cast<size_t>(index)]);
    return 0;
}

API int ibv_get_pkey_index(ibv_context *context, uint8_t port_num, __be16 pkey)
{
    Device &device = Context::of(context)->device;
    if (port_num == 0 || port_num > device.port_count())
        return failed_with(EINVAL);
    Port port = device.port(port_num);
    for (size_t i = 0; i < port.pkeys.size(); ++i) {
        if (port.pkeys[i] == be16toh(pkey))
            return static_cast<int>(i);
    }
    return failed_with(EINVAL);
}

/* ------------------------------------------------------------------------------------- memory */

API ibv_pd *ibv_alloc_pd(ibv_context *handle)
{
    Context *context = Context::of(handle);
    Device &device = context->device;
    int error = fault("ibv_alloc_pd", &device);
    if (error == 0 && device.fatal)
        error = ENODEV;
    if (error == 0 && ++device.domains > device.limits.max_pd) {
        --device.domains;
        error = ENOMEM;
    }
    if (error != 0)
        return null_with<ibv_pd>(error);
    auto *domain = new Domain;
    domain->context = context;
    domain->handle.context = handle;
    ++context->children;
    ++live(Kind::Domain);
    return &domain->handle;
}

API int ibv_dealloc_pd(ibv_pd *handle)
{
    Domain *domain = ibv::of(handle);
    int error = fault("ibv_dealloc_pd", handle->context);
    if (error != 0)
        return error;
    if (domain->children != 0)
        return EBUSY;
    --domain->context->device.domains;
    --domain->context->children;
    --live(Kind::Domain);
    delete domain;
    return 0;
}

API ibv_mr *ibv_reg_mr(ibv_pd *pd, void *address, size_t length, int access)
{
    int error = fault("ibv_reg_mr", pd->context);
    if (error != 0)
        return null_with<ibv_mr>(error);
    return register_memory(*ibv::of(pd), address, length, reinterpret_cast<uint64_t>(address),
                           static_cast<unsigned>(access));
}

API ibv_mr *ibv_reg_mr_iova(ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
    int error = fault("ibv_reg_mr_iova", pd->context);
    if (error != 0)
        return null_with<ibv_mr>(error);
    return register_memory(*ibv::of(pd), address, length, iova, static_cast<unsigned>(access));
}

API ibv_mr *ibv_reg_mr_iova2(ibv_pd *pd, void *address, size_t length, uint64_t iova,
                             unsigned access)
{
    int error = fault("ibv_reg_mr_iova2", pd->context);
    if (error != 0)
        return null_with<ibv_mr>(error);
    return register_memory(*ibv::of(pd), address, length, iova, access);
}

API ibv_mr *ibv_reg_dmabuf_mr(ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                              int access)
{
    int error = fault("ibv_reg_dmabuf_mr", pd->context);
    if (error != 0)
        return null_with<ibv_mr>(error);
    return register_dma_buf(*ibv::of(pd), offset, length, iova, fd, access);
}

API int ibv_dereg_mr(ibv_mr *mr)
{
    int error = fault("ibv_dereg_mr", mr->context);
    return error != 0 ? error : deregister(ibv::of(mr));
}

API int ibv_rereg_mr(ibv_mr *, int, ibv_pd *, void *, size_t, int)
{
    errno = EOPNOTSUPP;
    return IBV_REREG_MR_ERR_INPUT;
}

/* -------------------------------------------------------------------------------- completions */

API ibv_comp_channel *ibv_create_comp_channel(ibv_context *handle)
{
    int error = fault("ibv_create_comp_channel", handle);
    if (error != 0)
        return null_with<ibv_comp_channel>(error);
    auto *channel = new Channel;
    channel->handle.context = handle;
    channel->handle.fd = channel->ready.fd();
    ++Context::of(handle)->children;
    ++live(Kind::Channel);
    return &channel->handle;
}

API int ibv_destroy_comp_channel(ibv_comp_channel *handle)
{
    Channel *channel = ibv::of(handle);
    int error = fault("ibv_destroy_comp_channel", handle->context);
    if (error != 0)
        return error;
    if (channel->queues != 0)
        return EBUSY;
    --Context::of(handle->context)->children;
    --live(Kind::Channel);
    delete channel;
    return 0;
}

API int ibv_get_cq_event(ibv_comp_channel *handle, ibv_cq **cq, void **cq_context)
{
    Channel *channel = ibv::of(handle);
    int error = fault("ibv_get_cq_event", handle->context);
    if (error != 0)
        return failed_with(error);
    for (;;) {
        uint64_t value;
        if (read(channel->ready.fd(), &value, sizeof(value)) < 0)
            return -1;
        std::lock_guard<std::mutex> lock(channel->mutex);
        // Its queue may have been destroyed in between.
        if (channel->events.empty())
            continue;
        CompletionQueue *queue = channel->events.front();
        channel->events.pop_front();
        pthread_mutex_lock(&queue->handle.mutex);
        ++queue->events_taken;
        pthread_mutex_unlock(&queue->handle.mutex);
        *cq = &queue->handle;
        *cq_context = queue->handle.cq_context;
        return 0;
    }
}

API void ibv_ack_cq_events(ibv_cq *cq, unsigned count)
{
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += count;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

API ibv_cq *ibv_create_cq(ibv_context *handle, int entries, void *cq_context,
                          ibv_comp_channel *channel, int comp_vector)
{
    Context *context = Context::of(handle);
    Device &device = context->device;
    int error = fault("ibv_create_cq", &device);
    if (error == 0 && device.fatal)
        error = ENODEV;
    if (error == 0 && (entries < 1 || entries > device.limits.max_cqe || comp_vector < 0 ||
                       comp_vector >= device.limits.comp_vectors))
        error = EINVAL;
    if (error == 0 && ++device.completion_queues > device.limits.max_cq) {
        --device.completion_queues;
        error = ENOMEM;
    }
    if (error != 0)
        return null_with<ibv_cq>(error);

    auto *queue = new CompletionQueue;
    queue->context = context;
    queue->handle.context = handle;
    queue->handle.channel = channel;
    queue->handle.cq_context = cq_context;
    queue->handle.cqe = entries;
    pthread_mutex_init(&queue->handle.mutex, nullptr);
    pthread_cond_init(&queue->handle.cond, nullptr);
    if (channel != nullptr) {
        queue->channel = ibv::of(channel);
        ++queue->channel->queues;
    }
    ++context->children;
    ++live(Kind::CompletionQueue);
    return &queue->handle;
}

API int ibv_resize_cq(ibv_cq *cq, int entries)
{
    CompletionQueue *queue = ibv::of(cq);
    int error = fault("ibv_resize_cq", cq->context);
    if (error != 0)
        return error;
    if (entries < 1 || entries > queue->context->device.limits.max_cqe)
        return EINVAL;
    return queue->resize(entries);
}

API int ibv_destroy_cq(ibv_cq *cq)
{
    CompletionQueue *queue = ibv::of(cq);
    int error = fault("ibv_destroy_cq", cq->context);
    if (error != 0)
        return error;
    if (queue->users != 0)
        return EBUSY;

    queue->context->forget_events(queue);
    if (queue->channel != nullptr) {
        Channel &channel = *queue->channel;
        std::lock_guard<std::mutex> lock(channel.mutex);
        for (auto i = channel.events.begin(); i != channel.events.end();) {
            if (*i == queue) {
                i = channel.events.erase(i);
                channel.ready.take();
            } else {
                ++i;
            }
        }
        --channel.queues;
    }
    // The caller promised to acknowledge what was taken.
    pthread_mutex_lock(&cq->mutex);
    while (cq->comp_events_completed != queue->events_taken ||
           cq->async_events_completed != queue->async_taken)
        pthread_cond_wait(&cq->cond, &cq->mutex);
    pthread_mutex_unlock(&cq->mutex);
    pthread_cond_destroy(&cq->cond);
    pthread_mutex_destroy(&cq->mutex);
    --queue->context->device.completion_queues;
    --queue->context->children;
    --live(Kind::CompletionQueue);
    delete queue;
    return 0;
}

/* ---------------------------------------------------------------------- shared receive queues */

API ibv_srq *ibv_create_srq(ibv_pd *pd, ibv_srq_init_attr *init)
{
    int error = fault("ibv_create_srq", pd->context);
    if (error != 0)
        return null_with<ibv_srq>(error);
    return SharedReceiveQueue::create(*ibv::of(pd), init);
}

API int ibv_modify_srq(ibv_srq *handle, ibv_srq_attr *attr, int mask)
{
    int error = fault("ibv_modify_srq", handle->context);
    return error != 0 ? error : SharedReceiveQueue::of(handle)->modify(*attr, mask);
}

API int ibv_query_srq(ibv_srq *handle, ibv_srq_attr *attr)
{
    int error = fault("ibv_query_srq", handle->context);
    return error != 0 ? error : SharedReceiveQueue::of(handle)->query(attr);
}

API int ibv_destroy_srq(ibv_srq *handle)
{
    int error = fault("ibv_destroy_srq", handle->context);
    if (error != 0)
        return error;
    std::shared_ptr<SharedReceiveQueue> queue = SharedReceiveQueue::of(handle);
    return queue->destroy();
}

/* -------------------------------------------------------------------------------- queue pairs */

API ibv_qp *ibv_create_qp(ibv_pd *pd, ibv_qp_init_attr *init)
{
    int error = fault("ibv_create_qp", pd->context);
    if (error != 0)
        return null_with<ibv_qp>(error);
    return QueuePair::create(*ibv::of(pd), init);
}

API int ibv_destroy_qp(ibv_qp *handle)
{
    int error = fault("ibv_destroy_qp", handle->context);
    if (error != 0)
        return error;
    std::shared_ptr<QueuePair> pair = QueuePair::of(handle);
    return pair->destroy();
}

API int ibv_modify_qp(ibv_qp *handle, ibv_qp_attr *attr, int mask)
{
    int error = fault("ibv_modify_qp", handle->context);
    return error != 0 ? error : QueuePair::of(handle)->modify(*attr, mask);
}

API int ibv_query_qp(ibv_qp *handle, ibv_qp_attr *attr, int, ibv_qp_init_attr *init)
{
    int error = fault("ibv_query_qp", handle->context);
    return error != 0 ? error : QueuePair::of(handle)->query(attr, init);
}

API ibv_qp_ex *ibv_qp_to_qp_ex(ibv_qp *)
{
    return nullptr;
}

/* ------------------------------------------------------------------------------------- events */

API int ibv_get_async_event(ibv_context *handle, ibv_async_event *out)
{
    int error = fault("ibv_get_async_event", handle);
    return error != 0 ? failed_with(error) : Context::of(handle)->next_event(out);
}

API void ibv_ack_async_event(ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
        ibv_cq *cq = event->element.cq;
        pthread_mutex_lock(&cq->mutex);
        ++cq->async_events_completed;
        pthread_cond_signal(&cq->cond);
        pthread_mutex_unlock(&cq->mutex);
        return;
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
        ibv_qp *qp = event->element.qp;
        pthread_mutex_lock(&qp->mutex);
        ++qp->events_completed;
        pthread_cond_signal(&qp->cond);
        pthread_mutex_unlock(&qp->mutex);
        return;
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
        ibv_srq *srq = event->element.srq;
        pthread_mutex_lock(&srq->mutex);
        ++srq->events_completed;
        pthread_cond_signal(&srq->cond);
        pthread_mutex_unlock(&srq->mutex);
        return;
    }
    default:
        return;
    }
}

/* -------------------------------------------------------------------------------------- texts */

API const char *ibv_wc_status_str(ibv_wc_status status)
{
    static const char *const texts[] = {"success",
                                        "local length error",
                                        "local QP operation error",
                                        "local EE context operation error",
                                        "local protection error",
                                        "Work Request Flushed Error",
                                        "memory management operation error",
                                        "bad response error",
                                        "local access error",
                                        "remote invalid request error",
                                        "remote access error",
                                        "remote operation error",
                                        "transport retry counter exceeded",
                                        "RNR retry counter exceeded",
                                        "local RDD violation error",
                                        "remote invalid RD request",
                                        "aborted error",
                                        "invalid EE context number",
                                        "invalid EE context state",
                                        "fatal error",
                                        "response timeout error",
                                        "general error",
                                        "TM error",
                                        "TM software rendezvous"};
    auto index = static_cast<size_t>(status);
    return index < std::size(texts) ? texts[index] : "unknown";
}

API const char *ibv_event_type_str(ibv_event_type type)
{
    static const char *const texts[] = {"CQ error",
                                        "local work queue catastrophic error",
                                        "invalid request local work queue error",
                                        "local access violation work queue error",
                                        "communication established",
                                        "send queue drained",
                                        "path migrated",
                                        "path migration request error",
                                        "local catastrophic error",
                                        "port active",
                                        "port error",
                                        "LID change",
                                        "P_Key change",
                                        "SM change",
                                        "SRQ catastrophic error",
                                        "SRQ limit reached",
                                        "last WQE reached",
                                        "client reregistration",
                                        "GID table change",
                                        "WQ fatal"};
    auto index = static_cast<size_t>(type);
    return index < std::size(texts) ? texts[index] : "unknown";
}

API const char *ibv_port_state_str(ibv_port_state state)
{
    static const char *const texts[] = {"no state change (NOP)", "down", "init", "armed", "active",
                                        "active defer"};
    auto index = static_cast<size_t>(state);
    return index < std::size(texts) ? texts[index] : "unknown";
}

API const char *ibv_node_type_str(ibv_node_type type)
{
    static const char *const texts[] = {"unknown", "InfiniBand channel adapter",
                                        "InfiniBand switch", "InfiniBand router", "iWARP NIC"};
    auto index = static_cast<size_t>(type);
    return index < std::size(texts) ? texts[index] : "unknown";
}

/* ------------------------------------------ there for programs that link them, and not modelled */

API int ibv_read_sysfs_file(const char *, const char *, char *, size_t)
{
    return -1;
}

API const char *ibv_get_sysfs_path()
{
    return "/sys";
}

API ibv_ah *ibv_create_ah(ibv_pd *, ibv_ah_attr *)
{
    return null_with<ibv_ah>(EOPNOTSUPP);
}

API int ibv_init_ah_from_wc(ibv_context *, uint8_t, ibv_wc *, ibv_grh *, ibv_ah_attr *)
{
    return EOPNOTSUPP;
}

API ibv_ah *ibv_create_ah_from_wc(ibv_pd *, ibv_wc *, ibv_grh *, uint8_t)
{
    return null_with<ibv_ah>(EOPNOTSUPP);
}

API int ibv_destroy_ah(ibv_ah *)
{
    return EOPNOTSUPP;
}

API int ibv_attach_mcast(ibv_qp *, const ibv_gid *, uint16_t)
{
    return EOPNOTSUPP;
}

API int ibv_detach_mcast(ibv_qp *, const ibv_gid *, uint16_t)
{
    return EOPNOTSUPP;
}
