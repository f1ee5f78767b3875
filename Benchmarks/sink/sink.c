// An HTTP/1.1 sink: accepts uploads and discards the bytes faster than a client can send them.
//
//   sink [OPTIONS]           serve; prints "listening on http://127.0.0.1:PORT" when ready
//     --port N               0 = any port
//     --stall BYTES          stop reading after BYTES of a body
//     --pace RATE            read at most RATE bytes per second from each connection
//     --line RATE            read at most RATE bytes per second from all connections together
//     --delay MILLISECONDS   the round trip time: wait that long before each response
//   sink --send PORT BYTES   only send, and print the seconds: the maximum rate of the sink
//
// Responds to `Expect: 100-continue`, discards the body inside the kernel (recv with MSG_TRUNC copies nothing, tcp(7)),
// responds with 201 and a body in the format of a GigHive D3 upload response, and keeps the connection alive. The
// response has no checksum, since computing one would make the sink the bottleneck. Below /files/ it implements the
// part of tus 1.0.0 that an upload needs, and stores only offsets; the response to PUT is 201, and the listing is
// empty. With --stall, it prints "stalled" when it stops reading, and keeps the connection open.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum { HEAD_LIMIT = 64 * 1024, DISCARD_AT_ONCE = 4 << 20, SEND_AT_ONCE = 256 * 1024, MOST_TUS_UPLOADS = 1 << 16 };

static long long stall_after = -1;
static double pace = 0; // bytes per second; 0 = no limit
static double line = 0;
static double line_free_at = 0; // when the bytes that were read so far have passed the simulated link
static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static double delay = 0; // seconds
static atomic_llong next_id = 1;
// Indexed by the number at the end of an upload's URL; entries are reused after MOST_TUS_UPLOADS.
static struct {
    atomic_llong offset, length;
} tus_uploads[MOST_TUS_UPLOADS];
static atomic_uint next_tus_upload;

static void pass_line(long long bytes) {
    if (line <= 0) return;
    pthread_mutex_lock(&line_lock);
    double begin = now();
    if (line_free_at < begin) line_free_at = begin;
    double end = line_free_at += (double)bytes / line;
    pthread_mutex_unlock(&line_lock);
    sleep_until(end);
}

static void wait_round_trip(void) {
    if (delay > 0) sleep_until(now() + delay);
}

static int discard(int fd, long long remaining) {
    static char unused[1]; // MSG_TRUNC never writes to it
    long long taken = 0;
    double started = now();
    while (remaining > 0) {
        if (stall_after >= 0 && taken >= stall_after) {
            printf("stalled\n");
            fflush(stdout);
            pause();
        }
        if (pace > 0) sleep_until(started + (double)taken / pace);
        size_t wanted = remaining < DISCARD_AT_ONCE ? (size_t)remaining : DISCARD_AT_ONCE;
        ssize_t got = recv(fd, unused, wanted, MSG_TRUNC);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        pass_line(got);
        remaining -= got;
        taken += got;
    }
    return 0;
}

static int answer_upload(int fd, long long body_length) {
    long long id = atomic_fetch_add(&next_id, 1);
    char body[1024], reply[2048];
    // 64 hexadecimal characters, different for each upload: the format of a delete token, but not secret.
    snprintf(body, sizeof body,
        "{\"id\":%lld,\"asset_id\":%lld,\"event_id\":1,\"event_item_id\":%lld,\"position\":%lld,"
        "\"file_name\":\"%064llx.mp4\",\"file_type\":\"video\",\"mime_type\":\"video\\/mp4\",\"size_bytes\":%lld,"
        "\"event_date\":\"2026-01-01\",\"org_name\":\"Band\",\"event_type\":\"band\",\"label\":\"bench\","
        "\"participants\":\"\",\"keywords\":\"\",\"duration_seconds\":null,\"delete_token\":\"%064llx\"}",
        id, id, id, id, id, body_length, id);
    int length = snprintf(reply, sizeof reply,
        "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    return send_all(fd, reply, (size_t)length);
}

static int answer_text(int fd, const char *text) { return send_all(fd, text, strlen(text)); }

static long long number_field(const char *head, const char *name) {
    const char *value = field(head, name);
    return value ? atoll(value) : 0;
}

static int answer_tus(int fd, const char *head, long long body_length) {
    char reply[512];
    if (strncmp(head, "OPTIONS ", 8) == 0)
        return answer_text(fd, "HTTP/1.1 204 No Content\r\nTus-Resumable: 1.0.0\r\nTus-Version: 1.0.0\r\n"
                               "Tus-Extension: creation,termination\r\n\r\n");
    if (strncmp(head, "POST ", 5) == 0) {
        unsigned number = atomic_fetch_add(&next_tus_upload, 1) % MOST_TUS_UPLOADS;
        atomic_store(&tus_uploads[number].offset, 0);
        atomic_store(&tus_uploads[number].length, number_field(head, "Upload-Length"));
        snprintf(reply, sizeof reply,
            "HTTP/1.1 201 Created\r\nTus-Resumable: 1.0.0\r\nLocation: /files/%032x\r\nContent-Length: 0\r\n\r\n", number);
        return answer_text(fd, reply);
    }
    const char *end = strchr(strchr(head, '/'), ' ');
    unsigned number = (unsigned)strtoul(end - 8, NULL, 16) % MOST_TUS_UPLOADS;
    if (strncmp(head, "PATCH ", 6) == 0) {
        long long offset = number_field(head, "Upload-Offset") + body_length;
        atomic_store(&tus_uploads[number].offset, offset);
        snprintf(reply, sizeof reply,
            "HTTP/1.1 204 No Content\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: %lld\r\n\r\n", offset);
    } else if (strncmp(head, "HEAD ", 5) == 0) {
        snprintf(reply, sizeof reply,
            "HTTP/1.1 200 OK\r\nTus-Resumable: 1.0.0\r\nCache-Control: no-store\r\nUpload-Offset: %lld\r\n"
            "Upload-Length: %lld\r\n\r\n",
            (long long)atomic_load(&tus_uploads[number].offset), (long long)atomic_load(&tus_uploads[number].length));
    } else {
        snprintf(reply, sizeof reply, "HTTP/1.1 204 No Content\r\nTus-Resumable: 1.0.0\r\n\r\n");
    }
    return answer_text(fd, reply);
}

static int answer(int fd, const char *head, long long body_length) {
    const char *path = strchr(head, ' ') + 1;
    if (strncmp(path, "/files/", 7) == 0) return answer_tus(fd, head, body_length);
    if (strncmp(head, "POST ", 5) == 0) return answer_upload(fd, body_length);
    if (strncmp(head, "PUT ", 4) == 0) return answer_text(fd, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    if (strncmp(path, "/db/database.php", 16) == 0)
        return answer_text(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
                               "{\"pagination\":{\"enabled\":false,\"total\":0,\"page\":1,\"pageSize\":750,"
                               "\"pageCount\":1},\"entries\":[]}       ");
    return answer_text(fd, "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n"
                           "{\"error\":\"Not Found\"}");
}

// Serves any number of requests on one connection, sequentially.
static void *serve(void *argument) {
    int fd = (int)(long)argument;
    char head[HEAD_LIMIT + 1];
    size_t filled = 0;
    for (;;) {
        char *end = NULL;
        head[filled] = 0;
        while (!(end = strstr(head, "\r\n\r\n"))) {
            if (filled == HEAD_LIMIT) goto done;
            ssize_t got = recv(fd, head + filled, HEAD_LIMIT - filled, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) goto done;
            filled += (size_t)got;
            head[filled] = 0;
        }
        size_t head_length = (size_t)(end + 4 - head);
        char after = end[4];
        end[4] = 0;
        const char *value = field(head, "Content-Length");
        long long body_length = value ? atoll(value) : 0;
        const char *expect = field(head, "Expect");
        end[4] = after;

        long long present = (long long)(filled - head_length);
        if (expect && present == 0) {
            wait_round_trip();
            if (send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25) != 0) goto done;
        }
        if (present > body_length) present = body_length;
        pass_line(present);
        if (discard(fd, body_length - present) != 0) goto done;
        wait_round_trip();
        // `answer` parses the head again, so the data after it is moved to the front only afterwards.
        char next = head[head_length];
        head[head_length] = 0;
        if (answer(fd, head, body_length) != 0) goto done;
        head[head_length] = next;
        filled -= head_length + (size_t)present;
        memmove(head, head + head_length + present, filled);
    }
done:
    close(fd);
    return NULL;
}

static int be_server(int port) {
    int listener = listen_on_loopback(port);
    for (;;) serve_next(listener, serve);
}

static int be_sender(int port, long long count) {
    static char buffer[SEND_AT_ONCE];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die("connect");
    double started = now();
    int length = snprintf(buffer, sizeof buffer, "POST / HTTP/1.1\r\nHost: sink\r\nContent-Length: %lld\r\n\r\n", count);
    if (send_all(fd, buffer, (size_t)length) != 0) die("send");
    while (count > 0) {
        size_t piece = count < SEND_AT_ONCE ? (size_t)count : SEND_AT_ONCE;
        if (send_all(fd, buffer, piece) != 0) die("send");
        count -= (long long)piece;
    }
    if (recv(fd, buffer, sizeof buffer, 0) <= 0) die("recv");
    printf("%.6f\n", now() - started);
    return 0;
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    int port = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--send") == 0 && i + 2 < count)
            return be_sender(atoi(arguments[i + 1]), atoll(arguments[i + 2]));
        if (strcmp(arguments[i], "--port") == 0 && i + 1 < count) {
            port = atoi(arguments[++i]);
        } else if (strcmp(arguments[i], "--stall") == 0 && i + 1 < count) {
            stall_after = atoll(arguments[++i]);
        } else if (strcmp(arguments[i], "--pace") == 0 && i + 1 < count) {
            pace = atof(arguments[++i]);
        } else if (strcmp(arguments[i], "--line") == 0 && i + 1 < count) {
            line = atof(arguments[++i]);
        } else if (strcmp(arguments[i], "--delay") == 0 && i + 1 < count) {
            delay = atof(arguments[++i]) / 1000;
        } else {
            fprintf(stderr, "usage: sink [--port N] [--stall BYTES] [--pace RATE] [--line RATE] [--delay MILLISECONDS]\n"
                            "     | sink --send PORT BYTES\n");
            return 2;
        }
    }
    return be_server(port);
}
