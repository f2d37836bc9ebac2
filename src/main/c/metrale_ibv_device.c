/* Devices, ports, GID and partition key tables. */
#include <endian.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <unistd.h>

#include "metrale_ibv_internal.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(METRALE_IBV_NAME_BYTES, IBV_SYSFS_NAME_MAX);
SAME(METRALE_IBV_NODE_UNKNOWN, IBV_NODE_UNKNOWN);
SAME(METRALE_IBV_NODE_CA, IBV_NODE_CA);
SAME(METRALE_IBV_NODE_RNIC, IBV_NODE_RNIC);
SAME(METRALE_IBV_NODE_UNSPECIFIED, IBV_NODE_UNSPECIFIED);
SAME(METRALE_IBV_TRANSPORT_UNKNOWN, IBV_TRANSPORT_UNKNOWN);
SAME(METRALE_IBV_TRANSPORT_IB, IBV_TRANSPORT_IB);
SAME(METRALE_IBV_TRANSPORT_UNSPECIFIED, IBV_TRANSPORT_UNSPECIFIED);
SAME(METRALE_IBV_PORT_DOWN, IBV_PORT_DOWN);
SAME(METRALE_IBV_PORT_ACTIVE, IBV_PORT_ACTIVE);
SAME(METRALE_IBV_PORT_ACTIVE_DEFER, IBV_PORT_ACTIVE_DEFER);
SAME(METRALE_IBV_LINK_LAYER_INFINIBAND, IBV_LINK_LAYER_INFINIBAND);
SAME(METRALE_IBV_LINK_LAYER_ETHERNET, IBV_LINK_LAYER_ETHERNET);
SAME(METRALE_IBV_PORT_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED);
SAME(METRALE_IBV_MTU_256, IBV_MTU_256);
SAME(METRALE_IBV_MTU_4096, IBV_MTU_4096);
SAME(METRALE_IBV_GID_TYPE_IB, IBV_GID_TYPE_IB);
SAME(METRALE_IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V1);
SAME(METRALE_IBV_GID_TYPE_ROCE_V2, IBV_GID_TYPE_ROCE_V2);
SAME(METRALE_IBV_ATOMIC_NONE, IBV_ATOMIC_NONE);
SAME(METRALE_IBV_ATOMIC_HCA, IBV_ATOMIC_HCA);
SAME(METRALE_IBV_ATOMIC_GLOB, IBV_ATOMIC_GLOB);

_Static_assert(sizeof(struct metrale_ibv_device) == 80, "layout is part of the ABI");
_Static_assert(sizeof(struct metrale_ibv_device_attr) == 192, "layout is part of the ABI");
_Static_assert(offsetof(struct metrale_ibv_device_attr, fw_ver) == 128, "layout");
_Static_assert(sizeof(struct metrale_ibv_port) == 64, "layout is part of the ABI");

/* The library fills our entries in place. */
_Static_assert(sizeof(struct metrale_ibv_gid_entry) == sizeof(struct ibv_gid_entry), "layout");
_Static_assert(offsetof(struct metrale_ibv_gid_entry, gid_index) ==
                   offsetof(struct ibv_gid_entry, gid_index),
               "layout");
_Static_assert(offsetof(struct metrale_ibv_gid_entry, port_num) ==
                   offsetof(struct ibv_gid_entry, port_num),
               "layout");
_Static_assert(offsetof(struct metrale_ibv_gid_entry, gid_type) ==
                   offsetof(struct ibv_gid_entry, gid_type),
               "layout");
_Static_assert(offsetof(struct metrale_ibv_gid_entry, ndev_ifindex) ==
                   offsetof(struct ibv_gid_entry, ndev_ifindex),
               "layout");

int metrale_ibv_fork_init(void)
{
    int rc;

    errno = 0;
    rc = ibv_fork_init();
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_is_fork_initialized(void)
{
    return (int)ibv_is_fork_initialized();
}

int metrale_ibv_get_device_list(uint64_t *list)
{
    struct ibv_device **devices;
    int count = 0;

    if (list == NULL)
        return -EINVAL;

    errno = 0;
    devices = ibv_get_device_list(&count);
    if (devices == NULL)
        return metrale_errno_failure(errno);

    *list = (uint64_t)(uintptr_t)devices;
    return count;
}

int metrale_ibv_free_device_list(uint64_t list)
{
    if (list == 0)
        return -EINVAL;

    ibv_free_device_list(metrale_pointer(list));
    return 0;
}

int metrale_ibv_device_at(uint64_t list, int position, struct ibv_device **device)
{
    struct ibv_device **devices = metrale_pointer(list);
    int i;

    if (devices == NULL || device == NULL || position < 0)
        return -EINVAL;

    /* The list ends with a null pointer. */
    for (i = 0; i < position; i++) {
        if (devices[i] == NULL)
            return -EINVAL;
    }
    if (devices[position] == NULL)
        return -EINVAL;

    *device = devices[position];
    return 0;
}

int metrale_ibv_describe_device(struct ibv_device *device, struct metrale_ibv_device *out)
{
    uint64_t guid;

    if (device == NULL || out == NULL)
        return -EINVAL;

    guid = be64toh(ibv_get_device_guid(device));

    memset(out, 0, sizeof(*out));
    out->guid = guid;
    out->node_type = (int32_t)device->node_type;
    out->transport_type = (int32_t)device->transport_type;
    memcpy(out->name, device->name, strnlen(device->name, sizeof(out->name) - 1));
    return 0;
}

int metrale_ibv_get_device_index(struct ibv_device *device)
{
    int index;

    if (device == NULL)
        return -EINVAL;

    index = ibv_get_device_index(device);
    return index >= 0 ? index : -ENODATA;
}

int metrale_ibv_open_device(struct ibv_device *device, struct ibv_context **context)
{
    struct ibv_context *opened;

    if (device == NULL || context == NULL)
        return -EINVAL;

    errno = 0;
    opened = ibv_open_device(device);
    if (opened == NULL)
        return metrale_errno_failure(errno);

    *context = opened;
    return 0;
}

int metrale_ibv_close_device(struct ibv_context *context)
{
    int rc;

    if (context == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_close_device(context);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_context_device(struct ibv_context *context, struct ibv_device **device)
{
    if (context == NULL || device == NULL)
        return -EINVAL;

    *device = context->device;
    return 0;
}

/* The library keeps limits as int; a negative one would be a broken driver's. */
static uint32_t limit(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

int metrale_ibv_query_device(struct ibv_context *context, struct metrale_ibv_device_attr *out)
{
    struct ibv_device_attr attr;
    int rc;

    if (context == NULL || out == NULL)
        return -EINVAL;

    memset(&attr, 0, sizeof(attr));
    errno = 0;
    rc = ibv_query_device(context, &attr);
    if (rc != 0)
        return metrale_failure(rc, errno);

    memset(out, 0, sizeof(*out));
    out->node_guid = be64toh(attr.node_guid);
    out->sys_image_guid = be64toh(attr.sys_image_guid);
    out->max_mr_bytes = attr.max_mr_size;
    out->page_size_cap = attr.page_size_cap;
    out->vendor_id = attr.vendor_id;
    out->vendor_part_id = attr.vendor_part_id;
    out->hw_ver = attr.hw_ver;
    out->device_cap_flags = attr.device_cap_flags;
    out->max_qp = limit(attr.max_qp);
    out->max_qp_wr = limit(attr.max_qp_wr);
    out->max_sge = limit(attr.max_sge);
    out->max_sge_rd = limit(attr.max_sge_rd);
    out->max_cq = limit(attr.max_cq);
    out->max_cqe = limit(attr.max_cqe);
    out->max_mr = limit(attr.max_mr);
    out->max_pd = limit(attr.max_pd);
    out->max_qp_rd_atomic = limit(attr.max_qp_rd_atom);
    out->max_res_rd_atomic = limit(attr.max_res_rd_atom);
    out->max_qp_init_rd_atomic = limit(attr.max_qp_init_rd_atom);
    out->atomic_cap = (uint32_t)attr.atomic_cap;
    out->max_srq = limit(attr.max_srq);
    out->max_srq_wr = limit(attr.max_srq_wr);
    out->max_srq_sge = limit(attr.max_srq_sge);
    out->max_pkeys = attr.max_pkeys;
    out->local_ca_ack_delay = attr.local_ca_ack_delay;
    out->port_count = attr.phys_port_cnt;
    out->comp_vectors = limit(context->num_comp_vectors);
    memcpy(out->fw_ver, attr.fw_ver, strnlen(attr.fw_ver, sizeof(out->fw_ver) - 1));
    return 0;
}

int metrale_ibv_query_port(struct ibv_context *context, uint32_t port_num,
                           struct metrale_ibv_port *out)
{
    struct ibv_port_attr attr;
    int rc;

    if (context == NULL || out == NULL || port_num == 0 || port_num > UINT8_MAX)
        return -EINVAL;

    memset(&attr, 0, sizeof(attr));
    errno = 0;
    rc = ibv_query_port(context, (uint8_t)port_num, &attr);
    if (rc != 0)
        return metrale_failure(rc, errno);

    memset(out, 0, sizeof(*out));
    out->state = (uint32_t)attr.state;
    out->max_mtu = (uint32_t)attr.max_mtu;
    out->active_mtu = (uint32_t)attr.active_mtu;
    out->max_msg_bytes = attr.max_msg_sz;
    out->gid_table_length = limit(attr.gid_tbl_len);
    out->pkey_table_length = attr.pkey_tbl_len;
    out->port_cap_flags = attr.port_cap_flags;
    out->lid = attr.lid;
    out->sm_lid = attr.sm_lid;
    out->lmc = attr.lmc;
    out->sm_sl = attr.sm_sl;
    out->active_width = attr.active_width;
    out->active_speed = attr.active_speed;
    out->phys_state = attr.phys_state;
    out->link_layer = attr.link_layer;
    out->flags = attr.flags;
    return 0;
}

int metrale_ibv_query_gid_table(struct ibv_context *context, struct metrale_ibv_gid_entry *out,
                                size_t capacity)
{
    ssize_t count;

    /* The library's entry begins with 64-bit words. */
    if (context == NULL || out == NULL || ((uintptr_t)out & 7) != 0 || capacity > INT32_MAX)
        return -EINVAL;

    errno = 0;
    count = ibv_query_gid_table(context, (void *)out, capacity, 0);
    return count >= 0 ? (int)count : metrale_failure((int)count, errno);
}

int metrale_ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
                             struct metrale_ibv_gid_entry *out)
{
    struct ibv_gid_entry entry;
    int rc;

    if (context == NULL || out == NULL || port_num == 0 || port_num > UINT8_MAX)
        return -EINVAL;

    memset(&entry, 0, sizeof(entry));
    errno = 0;
    rc = ibv_query_gid_ex(context, port_num, gid_index, &entry, 0);
    if (rc != 0)
        return metrale_failure(rc, errno);

    memcpy(out, &entry, sizeof(*out));
    return 0;
}

/* Reads a one-line file of the kernel. Returns its length without the line end, 0 when it cannot
 * be read. */
static size_t read_line(const char *path, char *line, size_t capacity)
{
    ssize_t count;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    count = read(fd, line, capacity - 1);
    close(fd);
    if (count <= 0)
        return 0;

    line[count] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return strlen(line);
}

static void read_gid_attributes(const struct ibv_device *device, uint32_t link_layer,
                                struct metrale_ibv_gid_entry *entry)
{
    char path[IBV_SYSFS_PATH_MAX + 64];
    char line[64];

    entry->gid_type = METRALE_IBV_GID_TYPE_UNKNOWN;
    entry->ndev_ifindex = 0;

    snprintf(path, sizeof(path), "%.*s/ports/%u/gid_attrs/types/%u", IBV_SYSFS_PATH_MAX,
             device->ibdev_path, entry->port_num, entry->gid_index);
    if (link_layer == METRALE_IBV_LINK_LAYER_INFINIBAND) {
        entry->gid_type = METRALE_IBV_GID_TYPE_IB;
    } else if (read_line(path, line, sizeof(line)) > 0) {
        if (strcmp(line, "RoCE v2") == 0)
            entry->gid_type = METRALE_IBV_GID_TYPE_ROCE_V2;
        else if (strcmp(line, "IB/RoCE v1") == 0)
            entry->gid_type = METRALE_IBV_GID_TYPE_ROCE_V1;
    }

    snprintf(path, sizeof(path), "%.*s/ports/%u/gid_attrs/ndevs/%u", IBV_SYSFS_PATH_MAX,
             device->ibdev_path, entry->port_num, entry->gid_index);
    if (read_line(path, line, sizeof(line)) > 0)
        entry->ndev_ifindex = if_nametoindex(line);
}

int metrale_ibv_query_gid(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
                          struct metrale_ibv_gid_entry *out)
{
    static const uint8_t empty[16];
    struct metrale_ibv_gid_entry entry;
    struct metrale_ibv_port port;
    union ibv_gid gid;
    int rc;

    if (out == NULL || gid_index > INT32_MAX)
        return -EINVAL;

    rc = metrale_ibv_query_port(context, port_num, &port);
    if (rc < 0)
        return rc;
    if (gid_index >= port.gid_table_length)
        return -EINVAL;

    memset(&gid, 0, sizeof(gid));
    errno = 0;
    rc = ibv_query_gid(context, (uint8_t)port_num, (int)gid_index, &gid);
    if (rc != 0)
        return metrale_failure(rc, errno);
    if (memcmp(gid.raw, empty, sizeof(empty)) == 0)
        return -ENODATA;

    memcpy(entry.gid, gid.raw, sizeof(entry.gid));
    entry.gid_index = gid_index;
    entry.port_num = port_num;
    read_gid_attributes(context->device, port.link_layer, &entry);
    *out = entry;
    return 0;
}

int metrale_ibv_query_pkey(struct ibv_context *context, uint32_t port_num, uint32_t pkey_index)
{
    __be16 pkey = 0;
    int rc;

    if (context == NULL || port_num == 0 || port_num > UINT8_MAX || pkey_index > UINT16_MAX)
        return -EINVAL;

    errno = 0;
    rc = ibv_query_pkey(context, (uint8_t)port_num, (int)pkey_index, &pkey);
    if (rc != 0)
        return metrale_failure(rc, errno);
    return be16toh(pkey);
}
