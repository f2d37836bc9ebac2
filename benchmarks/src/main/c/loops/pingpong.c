/*
 * Two round trips over loopback with the bytes of a handshake of two rails and one region: 1 out
 * and 73 back, 48 out and 1 back. Nanoseconds for both.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

static int client;
static int server;

static void take(int fd, ssize_t length)
{
    char buffer[256];

    while (length > 0) {
        ssize_t got = read(fd, buffer, (size_t)length);
        if (got <= 0)
            exit(0);
        length -= got;
    }
}

static void give(int fd, ssize_t length)
{
    static const char buffer[256];

    if (write(fd, buffer, (size_t)length) != length)
        exit(1);
}

static void *serve(void *unused)
{
    for (;;) {
        take(server, 1);
        give(server, 73);
        take(server, 48);
        give(server, 1);
    }
    return unused;
}

static void exchange(long times)
{
    while (times-- > 0) {
        give(client, 1);
        take(client, 73);
        give(client, 48);
        take(client, 1);
    }
}

int main(int count, char **arguments)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    pthread_t thread;
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    bench_arguments(count, arguments);
    bench_require(bind(listener, (struct sockaddr *)&address, length) == 0 &&
                      listen(listener, 1) == 0 &&
                      getsockname(listener, (struct sockaddr *)&address, &length) == 0,
                  "listener");
    client = socket(AF_INET, SOCK_STREAM, 0);
    bench_require(connect(client, (struct sockaddr *)&address, length) == 0, "connect");
    server = accept(listener, NULL, NULL);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    pthread_create(&thread, NULL, serve, NULL);
    bench("two-round-trips", exchange);
    return 0;
}
