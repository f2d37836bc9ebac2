/* Texts, and the errno values of this platform. */
#include <limits.h>
#include <stdio.h>

#include "metrale_ibv_internal.h"

static int copy_text(const char *text, char *out, size_t capacity)
{
    size_t length;
    size_t copied;

    if (text == NULL)
        text = "unknown";
    length = strlen(text);
    if (length > INT_MAX)
        return -ERANGE;
    if (capacity > 0) {
        copied = length < capacity ? length : capacity - 1;
        memcpy(out, text, copied);
        out[copied] = '\0';
    }
    return (int)length;
}

static int usable(const char *out, size_t capacity)
{
    return out != NULL || capacity == 0;
}

int metrale_ibv_wc_status_str(int status, char *out, size_t capacity)
{
    if (!usable(out, capacity))
        return -EINVAL;
    return copy_text(ibv_wc_status_str((enum ibv_wc_status)status), out, capacity);
}

int metrale_ibv_event_type_str(int event_type, char *out, size_t capacity)
{
    if (!usable(out, capacity))
        return -EINVAL;
    return copy_text(ibv_event_type_str((enum ibv_event_type)event_type), out, capacity);
}

int metrale_ibv_port_state_str(int state, char *out, size_t capacity)
{
    if (!usable(out, capacity))
        return -EINVAL;
    return copy_text(ibv_port_state_str((enum ibv_port_state)state), out, capacity);
}

int metrale_ibv_node_type_str(int node_type, char *out, size_t capacity)
{
    if (!usable(out, capacity))
        return -EINVAL;
    return copy_text(ibv_node_type_str((enum ibv_node_type)node_type), out, capacity);
}

/* Results come negated; INT_MIN has no counterpart and stays unknown. */
static int positive(int code)
{
    return code < 0 && code != INT_MIN ? -code : code;
}

int metrale_ibv_errno_str(int code, char *out, size_t capacity)
{
    char text[128];

    if (!usable(out, capacity))
        return -EINVAL;

    /* An unknown number gives an error here, and a text that says so all the same. */
    text[0] = '\0';
    (void)!strerror_r(positive(code), text, sizeof(text));
    return copy_text(text, out, capacity);
}

/* glibc has names only since 2.32. These are the ones that verbs and the kernel's RDMA code
 * return. */
static const struct {
    int value;
    const char *name;
} names[] = {
    {EPERM, "EPERM"},
    {ENOENT, "ENOENT"},
    {ESRCH, "ESRCH"},
    {EINTR, "EINTR"},
    {EIO, "EIO"},
    {ENXIO, "ENXIO"},
    {E2BIG, "E2BIG"},
    {EBADF, "EBADF"},
    {EAGAIN, "EAGAIN"},
    {ENOMEM, "ENOMEM"},
    {EACCES, "EACCES"},
    {EFAULT, "EFAULT"},
    {EBUSY, "EBUSY"},
    {EEXIST, "EEXIST"},
    {ENODEV, "ENODEV"},
    {EINVAL, "EINVAL"},
    {ENFILE, "ENFILE"},
    {EMFILE, "EMFILE"},
    {ENOTTY, "ENOTTY"},
    {EFBIG, "EFBIG"},
    {ENOSPC, "ENOSPC"},
    {EROFS, "EROFS"},
    {EPIPE, "EPIPE"},
    {EDOM, "EDOM"},
    {ERANGE, "ERANGE"},
    {ENOSYS, "ENOSYS"},
    {ENODATA, "ENODATA"},
    {ETIME, "ETIME"},
    {EPROTO, "EPROTO"},
    {EBADMSG, "EBADMSG"},
    {EOVERFLOW, "EOVERFLOW"},
    {EMSGSIZE, "EMSGSIZE"},
    {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
    {EOPNOTSUPP, "EOPNOTSUPP"},
    {EAFNOSUPPORT, "EAFNOSUPPORT"},
    {EADDRINUSE, "EADDRINUSE"},
    {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
    {ENETDOWN, "ENETDOWN"},
    {ENETUNREACH, "ENETUNREACH"},
    {ECONNABORTED, "ECONNABORTED"},
    {ECONNRESET, "ECONNRESET"},
    {ENOBUFS, "ENOBUFS"},
    {ENOTCONN, "ENOTCONN"},
    {ETIMEDOUT, "ETIMEDOUT"},
    {ECONNREFUSED, "ECONNREFUSED"},
    {EHOSTDOWN, "EHOSTDOWN"},
    {EHOSTUNREACH, "EHOSTUNREACH"},
    {EALREADY, "EALREADY"},
    {EINPROGRESS, "EINPROGRESS"},
    {EREMOTEIO, "EREMOTEIO"},
    {ECANCELED, "ECANCELED"},
};

int metrale_ibv_errno_symbol(int code, char *out, size_t capacity)
{
    char unknown[32];
    size_t i;

    if (!usable(out, capacity))
        return -EINVAL;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].value == positive(code))
            return copy_text(names[i].name, out, capacity);
    }
    snprintf(unknown, sizeof(unknown), "errno(%d)", positive(code));
    return copy_text(unknown, out, capacity);
}

int metrale_ibv_errno(int name)
{
    static const int values[] = {
        [METRALE_IBV_EPERM] = EPERM,
        [METRALE_IBV_ENOENT] = ENOENT,
        [METRALE_IBV_EINTR] = EINTR,
        [METRALE_IBV_EIO] = EIO,
        [METRALE_IBV_EBADF] = EBADF,
        [METRALE_IBV_EAGAIN] = EAGAIN,
        [METRALE_IBV_ENOMEM] = ENOMEM,
        [METRALE_IBV_EACCES] = EACCES,
        [METRALE_IBV_EFAULT] = EFAULT,
        [METRALE_IBV_EBUSY] = EBUSY,
        [METRALE_IBV_ENODEV] = ENODEV,
        [METRALE_IBV_EINVAL] = EINVAL,
        [METRALE_IBV_ENOSPC] = ENOSPC,
        [METRALE_IBV_ERANGE] = ERANGE,
        [METRALE_IBV_ENOSYS] = ENOSYS,
        [METRALE_IBV_ENODATA] = ENODATA,
        [METRALE_IBV_EPROTONOSUPPORT] = EPROTONOSUPPORT,
        [METRALE_IBV_EOPNOTSUPP] = EOPNOTSUPP,
        [METRALE_IBV_ENETDOWN] = ENETDOWN,
        [METRALE_IBV_ENETUNREACH] = ENETUNREACH,
        [METRALE_IBV_ETIMEDOUT] = ETIMEDOUT,
        [METRALE_IBV_EHOSTUNREACH] = EHOSTUNREACH,
    };

    if (name < 0 || (size_t)name >= sizeof(values) / sizeof(values[0]))
        return -EINVAL;
    return values[name];
}
