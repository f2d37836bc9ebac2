/*
 * Flat C interface to RDMA verbs for callers that cannot use inline functions, unions, bit fields
 * or errno. C and C++, self-contained: infiniband/verbs.h is not needed to use it.
 *
 * Rules that hold for every function unless it says otherwise:
 *  - The result is 0 or a count when it worked, else a negated errno value. A NULL or zero handle,
 *    buffer or result address and a value that the verbs field cannot hold are -EINVAL, and the
 *    library is not called. -EIO stands for a failure for which the library gave no errno.
 *  - Results are written through the last parameters, and only on success.
 *  - Handles are [borrowed]: the caller keeps them valid during the call and releases each one
 *    with the function named at its creation. Nothing else is kept after a call.
 *  - Calls on different objects may run at the same time. Post, poll, notify and modify may be
 *    called on one object from several threads; releasing an object while another call uses it
 *    may not.
 *  - Nothing blocks but what says so.
 *  - A libibverbs function that the opened library lacks ends the call by the exception of the
 *    run-time table. Nothing leaks then.
 */
#ifndef METRALE_IBV_H
#define METRALE_IBV_H

#include <stddef.h>
#include <stdint.h>

#ifndef METRALE_API
#define METRALE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_device;
struct ibv_context;
struct ibv_pd;
struct ibv_mr;
struct ibv_comp_channel;
struct ibv_cq;
struct ibv_srq;
struct ibv_qp;

/* ------------------------------------------------------------------------------------ limits */

enum metrale_ibv_limit {
    /* Longest device name, its final zero included. */
    METRALE_IBV_NAME_BYTES = 64,
    /* Work requests handed to the adapter with one doorbell; a longer batch rings once for each
     * part of this length. */
    METRALE_IBV_BATCH = 64
};

/* ----------------------------------------------------------------------- values of the fields */

enum metrale_ibv_node_type {
    METRALE_IBV_NODE_UNKNOWN = -1,
    METRALE_IBV_NODE_CA = 1,
    METRALE_IBV_NODE_SWITCH = 2,
    METRALE_IBV_NODE_ROUTER = 3,
    METRALE_IBV_NODE_RNIC = 4,
    METRALE_IBV_NODE_USNIC = 5,
    METRALE_IBV_NODE_USNIC_UDP = 6,
    METRALE_IBV_NODE_UNSPECIFIED = 7
};

enum metrale_ibv_transport {
    METRALE_IBV_TRANSPORT_UNKNOWN = -1,
    METRALE_IBV_TRANSPORT_IB = 0,
    METRALE_IBV_TRANSPORT_IWARP = 1,
    METRALE_IBV_TRANSPORT_USNIC = 2,
    METRALE_IBV_TRANSPORT_USNIC_UDP = 3,
    METRALE_IBV_TRANSPORT_UNSPECIFIED = 4
};

enum metrale_ibv_port_state {
    METRALE_IBV_PORT_NOP = 0,
    METRALE_IBV_PORT_DOWN = 1,
    METRALE_IBV_PORT_INIT = 2,
    METRALE_IBV_PORT_ARMED = 3,
    METRALE_IBV_PORT_ACTIVE = 4,
    METRALE_IBV_PORT_ACTIVE_DEFER = 5
};

enum metrale_ibv_link_layer {
    METRALE_IBV_LINK_LAYER_UNSPECIFIED = 0,
    METRALE_IBV_LINK_LAYER_INFINIBAND = 1,
    METRALE_IBV_LINK_LAYER_ETHERNET = 2
};

enum metrale_ibv_port_flag { METRALE_IBV_PORT_GRH_REQUIRED = 1 };

enum metrale_ibv_mtu {
    METRALE_IBV_MTU_256 = 1,
    METRALE_IBV_MTU_512 = 2,
    METRALE_IBV_MTU_1024 = 3,
    METRALE_IBV_MTU_2048 = 4,
    METRALE_IBV_MTU_4096 = 5
};

enum metrale_ibv_gid_type {
    METRALE_IBV_GID_TYPE_IB = 0,
    METRALE_IBV_GID_TYPE_ROCE_V1 = 1,
    METRALE_IBV_GID_TYPE_ROCE_V2 = 2,
    /* The kernel does not say. */
    METRALE_IBV_GID_TYPE_UNKNOWN = 255
};

enum metrale_ibv_atomic {
    METRALE_IBV_ATOMIC_NONE = 0,
    METRALE_IBV_ATOMIC_HCA = 1,
    METRALE_IBV_ATOMIC_GLOB = 2
};

enum metrale_ibv_access {
    METRALE_IBV_ACCESS_LOCAL_WRITE = 1,
    METRALE_IBV_ACCESS_REMOTE_WRITE = 2,
    METRALE_IBV_ACCESS_REMOTE_READ = 4,
    METRALE_IBV_ACCESS_REMOTE_ATOMIC = 8,
    METRALE_IBV_ACCESS_MW_BIND = 16,
    METRALE_IBV_ACCESS_ZERO_BASED = 32,
    METRALE_IBV_ACCESS_ON_DEMAND = 64,
    METRALE_IBV_ACCESS_HUGETLB = 128,
    METRALE_IBV_ACCESS_RELAXED_ORDERING = 1048576
};

/* Connected types only: a request here has no place for an address handle. */
enum metrale_ibv_qp_type { METRALE_IBV_QPT_RC = 2, METRALE_IBV_QPT_UC = 3 };

enum metrale_ibv_qp_state {
    METRALE_IBV_QPS_RESET = 0,
    METRALE_IBV_QPS_INIT = 1,
    METRALE_IBV_QPS_RTR = 2,
    METRALE_IBV_QPS_RTS = 3,
    METRALE_IBV_QPS_SQD = 4,
    METRALE_IBV_QPS_SQE = 5,
    METRALE_IBV_QPS_ERR = 6,
    METRALE_IBV_QPS_UNKNOWN = 7
};

/* Which fields of struct metrale_ibv_qp_attr a modify call sets. */
enum metrale_ibv_qp_mask {
    METRALE_IBV_QP_STATE = 1,
    METRALE_IBV_QP_CUR_STATE = 2,
    METRALE_IBV_QP_ACCESS_FLAGS = 8,
    METRALE_IBV_QP_PKEY_INDEX = 16,
    METRALE_IBV_QP_PORT = 32,
    METRALE_IBV_QP_AV = 128,
    METRALE_IBV_QP_PATH_MTU = 256,
    METRALE_IBV_QP_TIMEOUT = 512,
    METRALE_IBV_QP_RETRY_CNT = 1024,
    METRALE_IBV_QP_RNR_RETRY = 2048,
    METRALE_IBV_QP_RQ_PSN = 4096,
    METRALE_IBV_QP_MAX_QP_RD_ATOMIC = 8192,
    METRALE_IBV_QP_MIN_RNR_TIMER = 32768,
    METRALE_IBV_QP_SQ_PSN = 65536,
    METRALE_IBV_QP_MAX_DEST_RD_ATOMIC = 131072,
    METRALE_IBV_QP_DEST_QPN = 1048576,
    /* What a reliable connection needs for each step: STATE with PKEY_INDEX, PORT and
     * ACCESS_FLAGS; with AV, PATH_MTU, DEST_QPN, RQ_PSN, MAX_DEST_RD_ATOMIC and MIN_RNR_TIMER;
     * with TIMEOUT, RETRY_CNT, RNR_RETRY, SQ_PSN and MAX_QP_RD_ATOMIC. */
    METRALE_IBV_QP_TO_INIT = 57,
    METRALE_IBV_QP_TO_RTR = 1216897,
    METRALE_IBV_QP_TO_RTS = 77313
};

/* Which fields of struct metrale_ibv_srq_attr a modify call sets. */
enum metrale_ibv_srq_mask { METRALE_IBV_SRQ_MAX_WR = 1, METRALE_IBV_SRQ_LIMIT = 2 };

enum metrale_ibv_wr_opcode {
    METRALE_IBV_WR_RDMA_WRITE = 0,
    METRALE_IBV_WR_RDMA_WRITE_WITH_IMM = 1,
    METRALE_IBV_WR_SEND = 2,
    METRALE_IBV_WR_SEND_WITH_IMM = 3,
    METRALE_IBV_WR_RDMA_READ = 4,
    METRALE_IBV_WR_ATOMIC_CMP_AND_SWP = 5,
    METRALE_IBV_WR_ATOMIC_FETCH_AND_ADD = 6
};

enum metrale_ibv_send_flag {
    METRALE_IBV_SEND_FENCE = 1,
    METRALE_IBV_SEND_SIGNALED = 2,
    METRALE_IBV_SEND_SOLICITED = 4,
    METRALE_IBV_SEND_INLINE = 8
};

enum metrale_ibv_wc_status {
    METRALE_IBV_WC_SUCCESS = 0,
    METRALE_IBV_WC_LOC_LEN_ERR = 1,
    METRALE_IBV_WC_LOC_QP_OP_ERR = 2,
    METRALE_IBV_WC_LOC_EEC_OP_ERR = 3,
    METRALE_IBV_WC_LOC_PROT_ERR = 4,
    METRALE_IBV_WC_WR_FLUSH_ERR = 5,
    METRALE_IBV_WC_MW_BIND_ERR = 6,
    METRALE_IBV_WC_BAD_RESP_ERR = 7,
    METRALE_IBV_WC_LOC_ACCESS_ERR = 8,
    METRALE_IBV_WC_REM_INV_REQ_ERR = 9,
    METRALE_IBV_WC_REM_ACCESS_ERR = 10,
    METRALE_IBV_WC_REM_OP_ERR = 11,
    METRALE_IBV_WC_RETRY_EXC_ERR = 12,
    METRALE_IBV_WC_RNR_RETRY_EXC_ERR = 13,
    METRALE_IBV_WC_LOC_RDD_VIOL_ERR = 14,
    METRALE_IBV_WC_REM_INV_RD_REQ_ERR = 15,
    METRALE_IBV_WC_REM_ABORT_ERR = 16,
    METRALE_IBV_WC_INV_EECN_ERR = 17,
    METRALE_IBV_WC_INV_EEC_STATE_ERR = 18,
    METRALE_IBV_WC_FATAL_ERR = 19,
    METRALE_IBV_WC_RESP_TIMEOUT_ERR = 20,
    METRALE_IBV_WC_GENERAL_ERR = 21,
    METRALE_IBV_WC_TM_ERR = 22,
    METRALE_IBV_WC_TM_RNDV_INCOMPLETE = 23
};

enum metrale_ibv_wc_opcode {
    METRALE_IBV_WC_SEND = 0,
    METRALE_IBV_WC_RDMA_WRITE = 1,
    METRALE_IBV_WC_RDMA_READ = 2,
    METRALE_IBV_WC_COMP_SWAP = 3,
    METRALE_IBV_WC_FETCH_ADD = 4,
    METRALE_IBV_WC_RECV = 128,
    METRALE_IBV_WC_RECV_RDMA_WITH_IMM = 129
};

enum metrale_ibv_wc_flag { METRALE_IBV_WC_GRH = 1, METRALE_IBV_WC_WITH_IMM = 2 };

enum metrale_ibv_event_type {
    METRALE_IBV_EVENT_CQ_ERR = 0,
    METRALE_IBV_EVENT_QP_FATAL = 1,
    METRALE_IBV_EVENT_QP_REQ_ERR = 2,
    METRALE_IBV_EVENT_QP_ACCESS_ERR = 3,
    METRALE_IBV_EVENT_COMM_EST = 4,
    METRALE_IBV_EVENT_SQ_DRAINED = 5,
    METRALE_IBV_EVENT_PATH_MIG = 6,
    METRALE_IBV_EVENT_PATH_MIG_ERR = 7,
    METRALE_IBV_EVENT_DEVICE_FATAL = 8,
    METRALE_IBV_EVENT_PORT_ACTIVE = 9,
    METRALE_IBV_EVENT_PORT_ERR = 10,
    METRALE_IBV_EVENT_LID_CHANGE = 11,
    METRALE_IBV_EVENT_PKEY_CHANGE = 12,
    METRALE_IBV_EVENT_SM_CHANGE = 13,
    METRALE_IBV_EVENT_SRQ_ERR = 14,
    METRALE_IBV_EVENT_SRQ_LIMIT_REACHED = 15,
    METRALE_IBV_EVENT_QP_LAST_WQE_REACHED = 16,
    METRALE_IBV_EVENT_CLIENT_REREGISTER = 17,
    METRALE_IBV_EVENT_GID_CHANGE = 18,
    METRALE_IBV_EVENT_WQ_FATAL = 19
};

/* What the element field of an event is. */
enum metrale_ibv_event_element {
    METRALE_IBV_ELEMENT_DEVICE = 0,
    METRALE_IBV_ELEMENT_PORT = 1,
    METRALE_IBV_ELEMENT_CQ = 2,
    METRALE_IBV_ELEMENT_QP = 3,
    METRALE_IBV_ELEMENT_SRQ = 4,
    METRALE_IBV_ELEMENT_WQ = 5
};

/* Names for the errno values that callers compare with; metrale_ibv_errno has the numbers. */
enum metrale_ibv_errno_name {
    METRALE_IBV_EPERM = 0,
    METRALE_IBV_ENOENT = 1,
    METRALE_IBV_EINTR = 2,
    METRALE_IBV_EIO = 3,
    METRALE_IBV_EBADF = 4,
    METRALE_IBV_EAGAIN = 5,
    METRALE_IBV_ENOMEM = 6,
    METRALE_IBV_EACCES = 7,
    METRALE_IBV_EFAULT = 8,
    METRALE_IBV_EBUSY = 9,
    METRALE_IBV_ENODEV = 10,
    METRALE_IBV_EINVAL = 11,
    METRALE_IBV_ENOSPC = 12,
    METRALE_IBV_ERANGE = 13,
    METRALE_IBV_ENOSYS = 14,
    METRALE_IBV_ENODATA = 15,
    METRALE_IBV_EPROTONOSUPPORT = 16,
    METRALE_IBV_EOPNOTSUPP = 17,
    METRALE_IBV_ENETDOWN = 18,
    METRALE_IBV_ENETUNREACH = 19,
    METRALE_IBV_ETIMEDOUT = 20,
    METRALE_IBV_EHOSTUNREACH = 21
};

/* ----------------------------------------------------------------------------------- records */

/* A device of the list. The GUID is in host byte order. */
struct metrale_ibv_device {
    uint64_t guid;
    int32_t node_type;
    int32_t transport_type;
    char name[64];
};

/* Limits of a device. GUIDs are in host byte order. */
struct metrale_ibv_device_attr {
    uint64_t node_guid;
    uint64_t sys_image_guid;
    uint64_t max_mr_bytes;
    uint64_t page_size_cap;
    uint32_t vendor_id;
    uint32_t vendor_part_id;
    uint32_t hw_ver;
    uint32_t device_cap_flags;
    uint32_t max_qp;
    uint32_t max_qp_wr;
    uint32_t max_sge;
    uint32_t max_sge_rd;
    uint32_t max_cq;
    uint32_t max_cqe;
    uint32_t max_mr;
    uint32_t max_pd;
    uint32_t max_qp_rd_atomic;
    uint32_t max_res_rd_atomic;
    uint32_t max_qp_init_rd_atomic;
    uint32_t atomic_cap;
    uint32_t max_srq;
    uint32_t max_srq_wr;
    uint32_t max_srq_sge;
    uint32_t max_pkeys;
    uint32_t local_ca_ack_delay;
    uint32_t port_count;
    uint32_t comp_vectors;
    uint32_t reserved;
    char fw_ver[64];
};

/* A port. MTUs are the codes of metrale_ibv_mtu; width and speed are the codes of the
 * InfiniBand specification. */
struct metrale_ibv_port {
    uint32_t state;
    uint32_t max_mtu;
    uint32_t active_mtu;
    uint32_t max_msg_bytes;
    uint32_t gid_table_length;
    uint32_t pkey_table_length;
    uint32_t port_cap_flags;
    uint32_t lid;
    uint32_t sm_lid;
    uint32_t lmc;
    uint32_t sm_sl;
    uint32_t active_width;
    uint32_t active_speed;
    uint32_t phys_state;
    uint32_t link_layer;
    uint32_t flags;
};

/* An entry of the GID table, the GID in network byte order. ndev_ifindex is 0 when there is no
 * network device or the kernel does not say. */
struct metrale_ibv_gid_entry {
    uint8_t gid[16];
    uint32_t gid_index;
    uint32_t port_num;
    uint32_t gid_type;
    uint32_t ndev_ifindex;
};

/* A memory region as registered. */
struct metrale_ibv_mr {
    uint64_t addr;
    uint64_t length;
    uint32_t lkey;
    uint32_t rkey;
};

/* A shared receive queue: how many requests and how many buffers in each it holds, and below how
 * many requests it raises METRALE_IBV_EVENT_SRQ_LIMIT_REACHED, once; 0 for never. */
struct metrale_ibv_srq_attr {
    uint32_t max_wr;
    uint32_t max_sge;
    uint32_t srq_limit;
    uint32_t reserved;
};

/* What a queue pair is made with; on success the capacities are those granted, which are at
 * least what was asked for. Those of receives do not count with a shared receive queue. */
struct metrale_ibv_qp_init {
    uint32_t max_send_wr;
    uint32_t max_recv_wr;
    uint32_t max_send_sge;
    uint32_t max_recv_sge;
    uint32_t max_inline_bytes;
    uint32_t qp_type;
    uint32_t sq_sig_all;
    uint32_t reserved;
};

/* The attributes of a queue pair, each as wide as a register so that nothing is cut off unseen:
 * a value that the verbs field cannot hold is refused with -EINVAL. dgid, sgid_index, flow_label,
 * hop_limit and traffic_class count when is_global is 1 (always with RoCE), dlid when it is 0 or
 * the port is InfiniBand. */
struct metrale_ibv_qp_attr {
    uint32_t qp_state;
    uint32_t cur_qp_state;
    uint32_t path_mtu;
    uint32_t rq_psn;
    uint32_t sq_psn;
    uint32_t dest_qp_num;
    uint32_t access_flags;
    uint32_t pkey_index;
    uint32_t port_num;
    uint32_t max_rd_atomic;
    uint32_t max_dest_rd_atomic;
    uint32_t min_rnr_timer;
    uint32_t timeout;
    uint32_t retry_cnt;
    uint32_t rnr_retry;
    uint32_t is_global;
    uint8_t dgid[16];
    uint32_t sgid_index;
    uint32_t flow_label;
    uint32_t hop_limit;
    uint32_t traffic_class;
    uint32_t dlid;
    uint32_t service_level;
    uint32_t src_path_bits;
    uint32_t static_rate;
};

/* A request of the send queue with at most one local buffer (none when length is 0).
 * compare_add and swap are for the two atomic operations; imm is in host byte order. */
struct metrale_ibv_send_wr {
    uint64_t wr_id;
    uint64_t local_addr;
    uint64_t remote_addr;
    uint64_t compare_add;
    uint64_t swap;
    uint32_t length;
    uint32_t lkey;
    uint32_t rkey;
    uint32_t opcode;
    uint32_t flags;
    uint32_t imm;
};

/* A request of the receive queue with at most one local buffer (none when length is 0). */
struct metrale_ibv_recv_wr {
    uint64_t wr_id;
    uint64_t local_addr;
    uint32_t length;
    uint32_t lkey;
};

/* A completion. When status is not success only wr_id, status, vendor_err and qp_num count.
 * imm counts when flags has WITH_IMM, and is then in host byte order. */
struct metrale_ibv_wc {
    uint64_t wr_id;
    uint32_t status;
    uint32_t opcode;
    uint32_t vendor_err;
    uint32_t byte_len;
    uint32_t imm;
    uint32_t qp_num;
    uint32_t src_qp;
    uint32_t flags;
    uint16_t pkey_index;
    uint16_t slid;
    uint8_t service_level;
    uint8_t dlid_path_bits;
    uint16_t reserved;
};

/* Where the fields of requests are that libibverbs takes as they are, one after the other in memory
 * of the caller's, aligned to 8. Offsets in bytes from a request's begin; each request has the one
 * part that it names behind it. Of a request of the send queue only those fields are there that the
 * opcodes above use: where the library's own structure goes on with others, the next request
 * begins. The caller writes them all but ID, which it writes for a shared receive queue alone, NEXT
 * and PARTS as addresses: of the next request, and of the own part. A post cuts the last one's
 * NEXT; all else stays as it is. */
enum metrale_ibv_linked {
    METRALE_IBV_LINKED_ID = 0,
    METRALE_IBV_LINKED_NEXT = 8,
    METRALE_IBV_LINKED_PARTS = 16,
    /* 32 bits: 1, or 0 for a request without bytes. */
    METRALE_IBV_LINKED_PART_COUNT = 24,
    /* Of the send queue alone: three of 32 bits, the last in network byte order, */
    METRALE_IBV_LINKED_OPCODE = 28,
    METRALE_IBV_LINKED_FLAGS = 32,
    METRALE_IBV_LINKED_IMM = 36,
    METRALE_IBV_LINKED_REMOTE_ADDR = 40,
    /* 32 bits, for all but the atomic operations, */
    METRALE_IBV_LINKED_RKEY = 48,
    /* and for those alone, the last of 32 bits. */
    METRALE_IBV_LINKED_COMPARE_ADD = 48,
    METRALE_IBV_LINKED_SWAP = 56,
    METRALE_IBV_LINKED_ATOMIC_RKEY = 64,
    METRALE_IBV_LINKED_SEND_PART = 72,
    METRALE_IBV_LINKED_RECV_PART = 32,
    /* A part: its address, its length in 32 bits and its lkey in 32 bits. */
    METRALE_IBV_LINKED_PART_BYTES = 16,
    /* From one request to the next. Behind the last one there has to be as much again, which is
     * not looked at. */
    METRALE_IBV_LINKED_SEND_BYTES = 88,
    METRALE_IBV_LINKED_RECV_BYTES = 48
};

/* An asynchronous event. element is the address of the object of that kind; qp_num is set for
 * queue pairs, port_num for ports and srq_context, which is the number that it was made with, for
 * shared receive queues, else they are 0. */
struct metrale_ibv_async_event {
    uint64_t element;
    uint64_t srq_context;
    uint32_t event_type;
    uint32_t element_kind;
    uint32_t port_num;
    uint32_t qp_num;
};

/* ----------------------------------------------------------------------------------- devices */

/* Makes later fork() calls safe for registered memory, at a price for each registration; to be
 * called before anything is registered. -EINVAL when it is too late, -ENOSYS. */
METRALE_API int metrale_ibv_fork_init(void);

/* 1 when fork is safe because metrale_ibv_fork_init was called, 2 when the kernel makes it safe
 * by itself, else 0. Since rdma-core 36. */
METRALE_API int metrale_ibv_is_fork_initialized(void);

/* Opens the list of devices present now. Returns their number.
 * list [out]: to be released with metrale_ibv_free_device_list. -ENOSYS without RDMA support in
 * the kernel, -EPERM, -ENOMEM. */
METRALE_API int metrale_ibv_get_device_list(uint64_t *list);

/* Releases a list. Devices of it that are not open are gone then. */
METRALE_API int metrale_ibv_free_device_list(uint64_t list);

/* The device at a place of the list.
 * position [in]: from 0 to below the number that metrale_ibv_get_device_list returned, else
 * -EINVAL as far as that can be told.
 * device [out]: belongs to the list. */
METRALE_API int metrale_ibv_device_at(uint64_t list, int position, struct ibv_device **device);

/* Describes a device of a list or of an open context. */
METRALE_API int metrale_ibv_describe_device(struct ibv_device *device,
                                            struct metrale_ibv_device *out);

/* The number that the kernel gave the device, which stays when the device is renamed; -ENODATA
 * when the kernel does not say. Since rdma-core 28. */
METRALE_API int metrale_ibv_get_device_index(struct ibv_device *device);

/* Opens a device. The list may be released afterwards.
 * context [out]: to be released with metrale_ibv_close_device. -EPERM, -ENODEV, -ENOMEM. */
METRALE_API int metrale_ibv_open_device(struct ibv_device *device, struct ibv_context **context);

/* Closes a context after everything made from it was released. */
METRALE_API int metrale_ibv_close_device(struct ibv_context *context);

/* The device of a context; valid while the context is open. */
METRALE_API int metrale_ibv_context_device(struct ibv_context *context, struct ibv_device **device);

/* The limits of a device. -ENODEV when it was removed. */
METRALE_API int metrale_ibv_query_device(struct ibv_context *context,
                                         struct metrale_ibv_device_attr *out);

/* The state of a port.
 * port_num [in]: from 1. -EINVAL for no such port, -ENODEV when the device was removed. */
METRALE_API int metrale_ibv_query_port(struct ibv_context *context, uint32_t port_num,
                                       struct metrale_ibv_port *out);

/* All valid entries of the GID tables of all ports. Returns their number.
 * out [out]: aligned to 8 bytes. capacity [in]: entries that fit; the sum of the ports'
 * gid_table_length is always enough, -EINVAL when it is too small. Since rdma-core 32; before that
 * metrale_ibv_query_gid. */
METRALE_API int metrale_ibv_query_gid_table(struct ibv_context *context,
                                            struct metrale_ibv_gid_entry *out, size_t capacity);

/* One entry of a GID table. -ENODATA when that place is empty, -EINVAL for no such place. Since
 * rdma-core 32; before that metrale_ibv_query_gid. */
METRALE_API int metrale_ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
                                         uint32_t gid_index, struct metrale_ibv_gid_entry *out);

/* One entry of a GID table with any rdma-core: the type and the network device are read from the
 * kernel's files, and unknown when they cannot be. -ENODATA when that place is empty. */
METRALE_API int metrale_ibv_query_gid(struct ibv_context *context, uint32_t port_num,
                                      uint32_t gid_index, struct metrale_ibv_gid_entry *out);

/* One entry of a partition key table, in host byte order, from 0 to 65535. */
METRALE_API int metrale_ibv_query_pkey(struct ibv_context *context, uint32_t port_num,
                                       uint32_t pkey_index);

/* ------------------------------------------------------------------------------------ memory */

/* Makes a protection domain.
 * pd [out]: to be released with metrale_ibv_dealloc_pd. -ENOMEM, -ENODEV. */
METRALE_API int metrale_ibv_alloc_pd(struct ibv_context *context, struct ibv_pd **pd);

/* -EBUSY while a region, a queue pair or a shared receive queue of it exists. */
METRALE_API int metrale_ibv_dealloc_pd(struct ibv_pd *pd);

/* Registers memory of this process, which stays the caller's and must outlive the region.
 * access [in]: metrale_ibv_access. Relaxed ordering needs rdma-core 28, all else any.
 * mr [out]: to be released with metrale_ibv_dereg_mr. -ENOMEM above the locked memory limit,
 * -EFAULT for pages that are not there or read-only, -EINVAL. Blocks while pages are pinned. */
METRALE_API int metrale_ibv_reg_mr(struct ibv_pd *pd, uint64_t addr, uint64_t length,
                                   uint32_t access, struct ibv_mr **mr);

/* Registers part of a dma-buf, for memory of a GPU.
 * fd [in, borrowed]: may be closed afterwards.
 * offset [in]: where in the dma-buf the region begins; iova [in]: the address that work requests
 * use for that place. Since rdma-core 34.
 * mr [out]: to be released with metrale_ibv_dereg_mr. -EOPNOTSUPP where the adapter or the kernel
 * cannot, -EBADF, -EINVAL. */
METRALE_API int metrale_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, uint64_t length,
                                          uint64_t iova, int fd, uint32_t access,
                                          struct ibv_mr **mr);

/* Ends a registration. -EBUSY while a memory window is bound to it. */
METRALE_API int metrale_ibv_dereg_mr(struct ibv_mr *mr);

/* The range and the keys of a region. */
METRALE_API int metrale_ibv_describe_mr(struct ibv_mr *mr, struct metrale_ibv_mr *out);

/* ------------------------------------------------------------------------ completion channels */

/* Makes a channel whose file descriptor becomes readable with each completion event.
 * channel [out]: to be released with metrale_ibv_destroy_comp_channel. */
METRALE_API int metrale_ibv_create_comp_channel(struct ibv_context *context,
                                                struct ibv_comp_channel **channel);

/* -EBUSY while a completion queue uses it. */
METRALE_API int metrale_ibv_destroy_comp_channel(struct ibv_comp_channel *channel);

/* The file descriptor of a channel, which stays the channel's. */
METRALE_API int metrale_ibv_comp_channel_fd(struct ibv_comp_channel *channel);

/* Takes the next completion event of a channel. Blocks unless the descriptor was made
 * non-blocking; then -EAGAIN when there is none. -EINTR is not retried, so that the caller can
 * look at its own reasons to stop.
 * cq [out]: the address of the queue, to be acknowledged with metrale_ibv_ack_cq_events. */
METRALE_API int metrale_ibv_get_cq_event(struct ibv_comp_channel *channel, uint64_t *cq);

/* ------------------------------------------------------------------------- completion queues */

/* Makes a completion queue.
 * channel [in, borrowed]: may be NULL for a queue that is only polled.
 * comp_vector [in]: below the device's comp_vectors, else -EINVAL.
 * cq [out]: to be released with metrale_ibv_destroy_cq. -ENOMEM, -EINVAL above max_cqe. */
METRALE_API int metrale_ibv_create_cq(struct ibv_context *context, uint32_t entries,
                                      struct ibv_comp_channel *channel, uint32_t comp_vector,
                                      struct ibv_cq **cq);

/* -EBUSY while a queue pair uses it. Blocks until all events taken for it are acknowledged. */
METRALE_API int metrale_ibv_destroy_cq(struct ibv_cq *cq);

/* How many completions fit. */
METRALE_API int metrale_ibv_cq_entries(struct ibv_cq *cq);

/* Changes how many completions fit. -ENOSYS or -EOPNOTSUPP where the adapter cannot. */
METRALE_API int metrale_ibv_resize_cq(struct ibv_cq *cq, uint32_t entries);

/* Asks for one event with the next completion, or with the next solicited or failed one.
 * Completions that came before do not count: poll once more afterwards. */
METRALE_API int metrale_ibv_req_notify_cq(struct ibv_cq *cq, uint32_t solicited_only);

/* Acknowledges events taken with metrale_ibv_get_cq_event. */
METRALE_API int metrale_ibv_ack_cq_events(struct ibv_cq *cq, uint32_t count);

/* Takes finished work requests. Returns their number, 0 when there is none.
 * out [out]: aligned to 8 bytes, room for capacity completions. -EIO when the queue has overrun
 * or its device is gone. */
METRALE_API int metrale_ibv_poll_cq(struct ibv_cq *cq, struct metrale_ibv_wc *out,
                                    uint32_t capacity);

/* ---------------------------------------------------------------------- shared receive queues */

/* Makes a queue of receive requests that any number of queue pairs use.
 * srq_context [in]: a number of the caller's, which comes with this queue's events.
 * attr [in, out]: max_wr and max_sge, which are on success those granted and at least what was
 * asked for; no limit is set.
 * srq [out]: to be released with metrale_ibv_destroy_srq. -EINVAL above a limit of the device,
 * -ENOMEM, -ENOSYS or -EOPNOTSUPP where it has none. */
METRALE_API int metrale_ibv_create_srq(struct ibv_pd *pd, uint64_t srq_context,
                                       struct metrale_ibv_srq_attr *attr, struct ibv_srq **srq);

/* Changes a shared receive queue.
 * mask [in]: metrale_ibv_srq_mask, which fields of attr to use. -EINVAL for a limit above max_wr;
 * -ENOSYS, -EOPNOTSUPP or -EINVAL where the adapter cannot change max_wr. */
METRALE_API int metrale_ibv_modify_srq(struct ibv_srq *srq, const struct metrale_ibv_srq_attr *attr,
                                       uint32_t mask);

/* Reads the capacities, and the limit: 0 when none is set or its event was raised. */
METRALE_API int metrale_ibv_query_srq(struct ibv_srq *srq, struct metrale_ibv_srq_attr *attr);

/* -EBUSY while a queue pair uses it. Requests that it still has never complete. Blocks until all
 * asynchronous events taken for it are acknowledged. */
METRALE_API int metrale_ibv_destroy_srq(struct ibv_srq *srq);

/* ------------------------------------------------------------------------------- queue pairs */

/* Makes a queue pair in state RESET.
 * srq [in, borrowed]: where it takes its receive requests from, or NULL for a receive queue of its
 * own.
 * init [in, out]: see the structure.
 * qp [out]: to be released with metrale_ibv_destroy_qp. -EINVAL above a limit of the device,
 * -ENOMEM, -EOPNOTSUPP for any other type or one that the device lacks. */
METRALE_API int metrale_ibv_create_qp(struct ibv_pd *pd, struct ibv_cq *send_cq,
                                      struct ibv_cq *recv_cq, struct ibv_srq *srq,
                                      struct metrale_ibv_qp_init *init, struct ibv_qp **qp);

/* Blocks until all asynchronous events taken for it are acknowledged. */
METRALE_API int metrale_ibv_destroy_qp(struct ibv_qp *qp);

/* The number of a queue pair, 24 bits. */
METRALE_API int metrale_ibv_qp_num(struct ibv_qp *qp);

/* Changes a queue pair.
 * mask [in]: metrale_ibv_qp_mask, which fields of attr to use. -EINVAL for a step or a field that
 * the state does not allow, -ETIMEDOUT or -EHOSTUNREACH when the peer's address cannot be
 * resolved, which may block for seconds. */
METRALE_API int metrale_ibv_modify_qp(struct ibv_qp *qp, const struct metrale_ibv_qp_attr *attr,
                                      uint32_t mask);

/* Reads the attributes, and the capacities as granted. */
METRALE_API int metrale_ibv_query_qp(struct ibv_qp *qp, struct metrale_ibv_qp_attr *attr,
                                     struct metrale_ibv_qp_init *init);

/* Posts requests in order. Returns count when all were taken.
 * accepted [out]: how many were taken, also when the result is an error; the request at that
 * place is the one refused, and those after it were not looked at. When the library does not say
 * which one it refused, all that it was given with that doorbell count as taken, for the device may
 * have them; never with -ENOMEM. -ENOMEM when the queue is full, -EINVAL in a wrong state or for a
 * request that the device cannot do. */
METRALE_API int metrale_ibv_post_send(struct ibv_qp *qp, const struct metrale_ibv_send_wr *requests,
                                      uint32_t count, uint32_t *accepted);

/* As metrale_ibv_post_send, for the receive queue. */
METRALE_API int metrale_ibv_post_recv(struct ibv_qp *qp, const struct metrale_ibv_recv_wr *requests,
                                      uint32_t count, uint32_t *accepted);

/* The four functions of the data path with addresses as numbers, for callers to whom a typed
 * pointer costs more. A zero address of accepted is allowed here. */
METRALE_API int metrale_ibv_post_send_flat(uint64_t qp, uint64_t requests, uint32_t count,
                                           uint64_t accepted);
METRALE_API int metrale_ibv_post_recv_flat(uint64_t qp, uint64_t requests, uint32_t count,
                                           uint64_t accepted);
METRALE_API int metrale_ibv_poll_cq_flat(uint64_t cq, uint64_t out, uint32_t capacity);
METRALE_API int metrale_ibv_req_notify_cq_flat(uint64_t cq, uint32_t solicited_only);

/* As metrale_ibv_poll_cq_flat, and says how many of the completions, from the first one on, are of
 * requests that were done and have ids of which each is the one before it plus step. That number is
 * in the upper 32 bits, the number of completions in the lower ones; negative is an errno. */
METRALE_API int64_t metrale_ibv_poll_cq_run(uint64_t cq, uint64_t out, uint32_t capacity,
                                            uint64_t step);

/* Posts requests that are written as metrale_ibv_linked says, all with one doorbell. Their ids are
 * written here, first_id and from there on each step more, and that there is none behind the last
 * one: whatever the memory holds, no more than count are posted. Else as metrale_ibv_post_send, but
 * opcodes are not looked at.
 * accepted [out]: the address of a uint32_t, as there. */
METRALE_API int metrale_ibv_post_send_linked(uint64_t qp, uint64_t requests, uint32_t count,
                                             uint64_t first_id, uint64_t step, uint64_t accepted);
METRALE_API int metrale_ibv_post_recv_linked(uint64_t qp, uint64_t requests, uint32_t count,
                                             uint64_t first_id, uint64_t step, uint64_t accepted);

/* As metrale_ibv_post_recv_linked, for a shared receive queue, and with the ids that the caller has
 * written: its requests complete in any order, so that those at hand are in none. */
METRALE_API int metrale_ibv_post_srq_recv_linked(uint64_t srq, uint64_t requests, uint32_t count,
                                                 uint64_t accepted);

/* ------------------------------------------------------------------------ asynchronous events */

/* The file descriptor that becomes readable with each event; it stays the context's. */
METRALE_API int metrale_ibv_async_fd(struct ibv_context *context);

/* Takes the next event. Blocks unless the descriptor was made non-blocking; then -EAGAIN when
 * there is none. -EINTR is not retried. Each event is to be acknowledged before the object it
 * names is released, which waits for that. */
METRALE_API int metrale_ibv_get_async_event(struct ibv_context *context,
                                            struct metrale_ibv_async_event *out);

/* Acknowledges an event; the structure must be as it was received. */
METRALE_API int metrale_ibv_ack_async_event(const struct metrale_ibv_async_event *event);

/* -------------------------------------------------------------------------- file descriptors */

/* Makes a descriptor non-blocking, for the two functions that take events. */
METRALE_API int metrale_ibv_set_nonblocking(int fd);

/* Blocks until a descriptor is readable or has failed. Returns 1 then, 0 after timeout_millis
 * (negative: never), with 2 added when wake_fd is readable. -EINTR is not retried.
 * wake_fd [in]: from metrale_ibv_create_wake, or negative for none. */
METRALE_API int metrale_ibv_wait_readable(int fd, int wake_fd, int timeout_millis);

/* Makes a descriptor with which another thread ends metrale_ibv_wait_readable. Returns it; to be
 * released with metrale_ibv_close_wake. -EMFILE, -ENFILE, -ENOMEM. */
METRALE_API int metrale_ibv_create_wake(void);

/* Makes the descriptor readable for good. */
METRALE_API int metrale_ibv_wake(int wake_fd);

METRALE_API int metrale_ibv_close_wake(int wake_fd);

/* ------------------------------------------------------------------------------------- texts */

/* Each copies a text with its final zero, cut to capacity, and returns the length of the whole
 * text without the zero. */
METRALE_API int metrale_ibv_wc_status_str(int status, char *out, size_t capacity);
METRALE_API int metrale_ibv_event_type_str(int event_type, char *out, size_t capacity);
METRALE_API int metrale_ibv_port_state_str(int state, char *out, size_t capacity);
METRALE_API int metrale_ibv_node_type_str(int node_type, char *out, size_t capacity);

/* The text and the name ("ENOMEM", or "errno(4000)") of an errno value; a result of this
 * interface may be given as it is, negated. */
METRALE_API int metrale_ibv_errno_str(int code, char *out, size_t capacity);
METRALE_API int metrale_ibv_errno_symbol(int code, char *out, size_t capacity);

/* The errno value of this platform for one of metrale_ibv_errno_name, positive. */
METRALE_API int metrale_ibv_errno(int name);

#ifdef __cplusplus
}
#endif

#endif
