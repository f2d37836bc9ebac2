/* Asynchronous events, and waiting for the descriptors that announce events. */
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "metrale_ibv_internal.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(METRALE_IBV_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR);
SAME(METRALE_IBV_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL);
SAME(METRALE_IBV_EVENT_DEVICE_FATAL, IBV_EVENT_DEVICE_FATAL);
SAME(METRALE_IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE);
SAME(METRALE_IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ERR);
SAME(METRALE_IBV_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR);
SAME(METRALE_IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED);
SAME(METRALE_IBV_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED);
SAME(METRALE_IBV_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE);
SAME(METRALE_IBV_EVENT_WQ_FATAL, IBV_EVENT_WQ_FATAL);

_Static_assert(sizeof(struct metrale_ibv_async_event) == 32, "layout is part of the ABI");

int metrale_ibv_async_fd(struct ibv_context *context)
{
    return context != NULL ? context->async_fd : -EINVAL;
}

static uint32_t element_kind(uint32_t event_type)
{
    switch (event_type) {
    case IBV_EVENT_CQ_ERR:
        return METRALE_IBV_ELEMENT_CQ;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return METRALE_IBV_ELEMENT_QP;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return METRALE_IBV_ELEMENT_SRQ;
    case IBV_EVENT_WQ_FATAL:
        return METRALE_IBV_ELEMENT_WQ;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        return METRALE_IBV_ELEMENT_PORT;
    default:
        return METRALE_IBV_ELEMENT_DEVICE;
    }
}

int metrale_ibv_get_async_event(struct ibv_context *context, struct metrale_ibv_async_event *out)
{
    struct ibv_async_event event;
    int rc;

    if (context == NULL || out == NULL)
        return -EINVAL;

    memset(&event, 0, sizeof(event));
    errno = 0;
    rc = ibv_get_async_event(context, &event);
    if (rc != 0)
        return metrale_failure(rc, errno);

    memset(out, 0, sizeof(*out));
    out->event_type = (uint32_t)event.event_type;
    out->element_kind = element_kind(out->event_type);
    switch (out->element_kind) {
    case METRALE_IBV_ELEMENT_PORT:
        out->port_num = (uint32_t)event.element.port_num;
        break;
    case METRALE_IBV_ELEMENT_QP:
        /* The queue pair stays until this event is acknowledged. */
        out->element = (uint64_t)(uintptr_t)event.element.qp;
        out->qp_num = event.element.qp->qp_num;
        break;
    case METRALE_IBV_ELEMENT_CQ:
        out->element = (uint64_t)(uintptr_t)event.element.cq;
        break;
    case METRALE_IBV_ELEMENT_SRQ:
        out->element = (uint64_t)(uintptr_t)event.element.srq;
        out->srq_context = (uint64_t)(uintptr_t)event.element.srq->srq_context;
        break;
    case METRALE_IBV_ELEMENT_WQ:
        out->element = (uint64_t)(uintptr_t)event.element.wq;
        break;
    default:
        break;
    }
    return 0;
}

int metrale_ibv_ack_async_event(const struct metrale_ibv_async_event *event)
{
    struct ibv_async_event to;
    uint32_t kind;

    if (event == NULL)
        return -EINVAL;
    kind = element_kind(event->event_type);
    if (kind != METRALE_IBV_ELEMENT_PORT && kind != METRALE_IBV_ELEMENT_DEVICE &&
        event->element == 0)
        return -EINVAL;

    memset(&to, 0, sizeof(to));
    to.event_type = (enum ibv_event_type)event->event_type;
    switch (kind) {
    case METRALE_IBV_ELEMENT_PORT:
        to.element.port_num = (int)event->port_num;
        break;
    case METRALE_IBV_ELEMENT_CQ:
        to.element.cq = metrale_pointer(event->element);
        break;
    case METRALE_IBV_ELEMENT_QP:
        to.element.qp = metrale_pointer(event->element);
        break;
    case METRALE_IBV_ELEMENT_SRQ:
        to.element.srq = metrale_pointer(event->element);
        break;
    case METRALE_IBV_ELEMENT_WQ:
        to.element.wq = metrale_pointer(event->element);
        break;
    default:
        break;
    }
    ibv_ack_async_event(&to);
    return 0;
}

int metrale_ibv_set_nonblocking(int fd)
{
    int flags;

    errno = 0;
    flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return metrale_errno_failure(errno);
    errno = 0;
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return metrale_errno_failure(errno);
    return 0;
}

int metrale_ibv_wait_readable(int fd, int wake_fd, int timeout_millis)
{
    struct pollfd fds[2];
    int result = 0;
    int rc;

    if (fd < 0)
        return -EBADF;

    fds[0].fd = fd;
    fds[0].events = POLLIN;
    fds[0].revents = 0;
    /* A negative descriptor is passed over. */
    fds[1].fd = wake_fd;
    fds[1].events = POLLIN;
    fds[1].revents = 0;
    errno = 0;
    rc = poll(fds, 2, timeout_millis);
    if (rc < 0)
        return metrale_errno_failure(errno);
    if (((fds[0].revents | fds[1].revents) & POLLNVAL) != 0)
        return -EBADF;

    if (fds[0].revents != 0)
        result |= 1;
    if (fds[1].revents != 0)
        result |= 2;
    return result;
}

int metrale_ibv_create_wake(void)
{
    int fd;

    errno = 0;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd >= 0 ? fd : metrale_errno_failure(errno);
}

int metrale_ibv_wake(int wake_fd)
{
    const uint64_t one = 1;
    ssize_t count;

    errno = 0;
    count = write(wake_fd, &one, sizeof(one));
    /* Full means that it is readable already. */
    if (count < 0 && errno != EAGAIN)
        return metrale_errno_failure(errno);
    return 0;
}

int metrale_ibv_close_wake(int wake_fd)
{
    /* Not retried on EINTR: the descriptor is gone on Linux all the same. */
    errno = 0;
    return close(wake_fd) == 0 ? 0 : metrale_errno_failure(errno);
}
