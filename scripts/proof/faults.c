/* Makes calls fail, and redirects connections. Both are configured in the environment:
 *
 *   PROOF_COUNTS=FILE          stores one 64-bit counter per class of calls in this file
 *   PROOF_FAIL=CLASS:K:ERRNO   the K-th call of the class (from 1) fails with this errno; with K+, so do all later ones
 *   PROOF_CONNECT=FROM:TO      connections to port FROM on loopback go to port TO
 */
#include "recorder.h"
#include <netinet/in.h>
#include <sys/socket.h>

static const char *const names[CALL_CLASSES] = {"open", "write", "sync", "rename", "connect", "send"};
static uint64_t own[CALL_CLASSES], *counts = own;
static int failing = -1, code, is_lasting;
static uint64_t first;
static int from_port, to_port;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("PROOF_COUNTS"), *what = getenv("PROOF_FAIL"), *ports = getenv("PROOF_CONNECT");
    if (path) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && !syscall(SYS_ftruncate, fd, sizeof own)) {
            void *shared = (void *)syscall(SYS_mmap, 0, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (shared != MAP_FAILED) counts = shared;
        }
        syscall(SYS_close, fd);
    }
    if (ports) sscanf(ports, "%d:%d", &from_port, &to_port);
    char name[16], plus[2] = "";
    if (!what) return;
    if (sscanf(what, "%15[a-z]:%lu%1[+]:%d", name, &first, plus, &code) != 4 &&
        sscanf(what, "%15[a-z]:%lu:%d", name, &first, &code) != 3)
        abort();
    is_lasting = plus[0] == '+';
    for (int i = 0; i < CALL_CLASSES; i++)
        if (!strcmp(name, names[i])) failing = i;
}

int proof_fault(enum call_class which) {
    uint64_t number = __atomic_add_fetch(&counts[which], 1, __ATOMIC_RELAXED);
    return (int)which == failing && (number == first || (is_lasting && number > first)) ? code : 0;
}

int proof_fails(enum call_class which) {
    int found = proof_fault(which);
    if (found) errno = found;
    return found;
}

int connect(int fd, const struct sockaddr *address, socklen_t count) {
    if (proof_fails(CALL_CONNECT)) return -1;
    struct sockaddr_in changed;
    if (from_port && address->sa_family == AF_INET && count >= sizeof changed) {
        memcpy(&changed, address, sizeof changed);
        if (ntohs(changed.sin_port) == from_port) {
            changed.sin_port = htons((uint16_t)to_port);
            address = (const struct sockaddr *)&changed;
        }
    }
    return (int)syscall(SYS_connect, fd, address, count);
}

ssize_t sendto(int fd, const void *bytes, size_t count, int flags, const struct sockaddr *to, socklen_t size) {
    return proof_fails(CALL_SEND) ? -1 : syscall(SYS_sendto, fd, bytes, count, flags, to, size);
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) { return sendto(fd, bytes, count, flags, 0, 0); }

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return proof_fails(CALL_SEND) ? -1 : syscall(SYS_sendmsg, fd, message, flags);
}
