// A PhotoSync server with a canned listing, faster than a client can read (photosync contract sections 2, 4, 5 and 6).
//
//   photos [--port N] --photos COUNT [--legacy TENTHS] [--file PATH --sha256 HEX [--pace RATE]] [--digests PATH]
//
// Prints "listening on http://127.0.0.1:PORT" when ready (0 = any port). All rows of the listing are written to memory
// first, so that a page is one writev(2) of contiguous bytes. With --file, every photo is that file: its download is
// sent by the kernel (sendfile), with --pace at no more than RATE bytes per second. `POST /grow/N` adds N photos to the
// end of the listing, at most SPARE in total. One tenth of the photos have no device; --legacy sets the number of
// tenths. With --digests, the photos have the digests of that file, one line of 64 characters each, and every
// queried digest exists; otherwise none exists. Any key is accepted, and every registration returns the same device.
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "wire.h"

enum { REQUEST_LIMIT = 1 << 20, ROW_LIMIT = 512, SPARE = 10000, PAGE_DEFAULT = 100, PAGE_LIMIT = 500, PACED_AT_ONCE = 256 * 1024 };

// Time of the first upload and the interval between uploads, in microseconds, chosen so that all numbers of fraction
// digits occur.
static const int64_t first_upload = 1700000000000000, upload_step = 3000001;

static struct {
    char *rows;        // each followed by a comma
    uint64_t *offsets; // of each row, and of the end
    uint64_t capacity;
    atomic_ullong count;
} listing;

static struct {
    int fd;
    off_t size;
    char sha256[65];
} original = {.fd = -1};

static double pace = 0; // bytes per second of a download; 0 = no limit

static unsigned legacy_tenths = 1; // tenths of the photos that have no device

// Lines of 64 characters, or NULL.
static char *digests;

// A bijection (the finalizer of SplitMix64): IDs are unordered, but their row can be computed.
static uint64_t scatter(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static uint64_t gather(uint64_t x) {
    x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3;
    x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089;
    return x ^ (x >> 30) ^ (x >> 60);
}

// Rows are counted from 1 here, since `scatter` maps zero to zero.
static void write_id(char id[37], uint64_t row) {
    uint64_t high = scatter(row + 1), low = scatter(~row);
    snprintf(id, 37, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
        high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffff);
}

// The row of an ID, or `capacity` if the ID is invalid.
static uint64_t row_of(const char *id) {
    unsigned a, b, c;
    if (sscanf(id, "%8x-%4x-%4x", &a, &b, &c) != 3) return listing.capacity;
    uint64_t row = gather((uint64_t)a << 32 | (uint64_t)b << 16 | c) - 1;
    return row < listing.capacity ? row : listing.capacity;
}

// RFC 3339 in UTC, without trailing zeros in the fraction (contract section 0).
static void write_time(char text[40], int64_t microseconds) {
    time_t seconds = microseconds / 1000000;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t length = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &parts);
    length += (size_t)sprintf(text + length, ".%06d", (int)(microseconds % 1000000));
    while (text[length - 1] == '0') length--;
    if (text[length - 1] == '.') length--;
    strcpy(text + length, "Z");
}

static int64_t read_time(const char *text) {
    struct tm parts = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (!rest) return 0;
    double fraction = *rest == '.' ? strtod(rest, NULL) : 0;
    return (int64_t)timegm(&parts) * 1000000 + (int64_t)(fraction * 1e6);
}

static size_t write_row(char *text, uint64_t row) {
    static const char *const names[] = {"Ann\\u2019s phone", "Tablet", "Old camera"};
    char id[37], taken[40], uploaded[40], sha256[65], device[200] = "";
    write_id(id, row);
    write_time(taken, (first_upload / 1000000 - (int64_t)(scatter(row + 7) % 300000000)) * 1000000);
    write_time(uploaded, first_upload + (int64_t)row * upload_step);
    for (int word = 0; word < 4; word++)
        snprintf(sha256 + 16 * word, 17, "%016" PRIx64, scatter(4 * row + (uint64_t)word + 1));
    if (digests && row < atomic_load(&listing.count)) memcpy(sha256, digests + 65 * row, 64);
    unsigned origin = row % 10;
    if (origin < 10 - legacy_tenths)
        snprintf(device, sizeof device,
            "\"originDevice\":{\"id\":\"0000000%u-1111-4222-8333-444444444444\",\"name\":\"%s\",\"platform\":\"%s\","
            "\"isCurrentDevice\":false},", origin % 3, names[origin % 3], origin % 3 ? "android" : "ios");
    int64_t size = original.fd >= 0 ? (int64_t)original.size : 1000000 + (int64_t)(scatter(row + 5) % 9000000);
    int length = snprintf(text, ROW_LIMIT,
        "{\"id\":\"%s\",\"fileHash\":\"%s\",\"originalFilename\":\"IMG_%07" PRIu64 ".jpg\",\"fileSize\":%" PRId64
        ",\"dateTaken\":\"%s\",\"uploadedAt\":\"%s\",%s\"width\":4032,\"height\":3024},",
        id, original.fd >= 0 ? original.sha256 : sha256, row, size, taken, uploaded, device);
    return (size_t)length;
}

static void write_listing(uint64_t count) {
    listing.capacity = count + SPARE;
    atomic_store(&listing.count, count);
    listing.offsets = malloc((listing.capacity + 1) * sizeof *listing.offsets);
    // Only written pages use memory.
    listing.rows = mmap(NULL, listing.capacity * ROW_LIMIT, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!listing.offsets || listing.rows == MAP_FAILED) die("memory");
    uint64_t offset = 0;
    for (uint64_t row = 0; row < listing.capacity; row++) {
        listing.offsets[row] = offset;
        offset += write_row(listing.rows + offset, row);
    }
    listing.offsets[listing.capacity] = offset;
}

// MARK: Responses

static int send_pieces(int fd, struct iovec *pieces, int count) {
    while (count > 0) {
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return -1;
        for (; count > 0 && (size_t)sent >= pieces->iov_len; pieces++, count--) sent -= (ssize_t)pieces->iov_len;
        if (count > 0) {
            pieces->iov_base = (char *)pieces->iov_base + sent;
            pieces->iov_len -= (size_t)sent;
        }
    }
    return 0;
}

// Sends headers, then `count` pieces of a body; pieces[0] is reserved for the headers.
static int answer_pieces(int fd, const char *status, const char *headers, struct iovec *pieces, int count) {
    char head[1024];
    size_t length = 0;
    for (int i = 1; i <= count; i++) length += pieces[i].iov_len;
    int head_length = snprintf(head, sizeof head, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status, headers, length);
    pieces[0] = (struct iovec){head, (size_t)head_length};
    return send_pieces(fd, pieces, count + 1);
}

static const char json_type[] = "Content-Type: application/json\r\n";

static int answer_json(int fd, const char *text) {
    struct iovec pieces[2] = {[1] = {(void *)text, strlen(text)}};
    return answer_pieces(fd, "200 OK", json_type, pieces, 1);
}

static int answer_missing(int fd) {
    struct iovec pieces[2] = {[1] = {"404 page not found\n", 19}};
    return answer_pieces(fd, "404 Not Found", "Content-Type: text/plain; charset=utf-8\r\n", pieces, 1);
}

// The value of `"name":` in a request, or NULL if it is missing, null or empty.
static const char *member(const char *body, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *value = strstr(body, key);
    if (!value) return NULL;
    value += strlen(key);
    value += strspn(value, " ");
    if (*value != '"') return strncmp(value, "null", 4) == 0 ? NULL : value;
    return value[1] == '"' ? NULL : value + 1;
}

static int answer_page(int fd, const char *body) {
    const uint64_t count = atomic_load(&listing.count);
    const char *cursor = member(body, "cursor"), *limit = member(body, "limit"), *since = member(body, "sinceTimestamp");
    long most = limit ? atol(limit) : 0;
    most = most <= 0 ? PAGE_DEFAULT : most > PAGE_LIMIT ? PAGE_LIMIT : most;
    uint64_t first = 0;
    if (since) {
        int64_t wait = read_time(since) - first_upload;
        first = wait <= 0 ? 0 : (uint64_t)((wait + upload_step - 1) / upload_step);
    }
    if (cursor && row_of(cursor) + 1 > first) first = row_of(cursor) + 1;
    if (first > count) first = count;
    uint64_t end = first + (uint64_t)most < count ? first + (uint64_t)most : count;

    char tail[256], next[64] = "", id[37];
    if (end < count) {
        write_id(id, end - 1);
        snprintf(next, sizeof next, "\"cursor\":\"%s\",", id);
    }
    int tail_length = snprintf(tail, sizeof tail,
        "],\"pagination\":{%s\"hasMore\":%s},\"sync\":{\"totalCount\":%" PRIu64 ",\"returnedCount\":%" PRIu64
        ",\"serverVersion\":%" PRIu64 "}}\n", next, end < count ? "true" : "false", count, end - first, count);
    // Without the comma after the last row.
    size_t rows_length = end > first ? listing.offsets[end] - listing.offsets[first] - 1 : 0;
    struct iovec pieces[4] = {
        [1] = {"{\"photos\":[", 11},
        [2] = {listing.rows + listing.offsets[first], rows_length},
        [3] = {tail, (size_t)tail_length},
    };
    return answer_pieces(fd, "200 OK", json_type, pieces, 3);
}

// Returns the requested digests, either all as existing or all as missing.
static int answer_check(int fd, const char *body) {
    const char *hashes = strchr(body, '['), *end = strrchr(body, ']');
    if (!hashes || !end) return answer_missing(fd);
    struct iovec pieces[4] = {
        [1] = {digests ? "{\"missing\":[],\"existing\":" : "{\"existing\":[],\"missing\":", 25},
        [2] = {(void *)hashes, (size_t)(end + 1 - hashes)},
        [3] = {"}\n", 2},
    };
    return answer_pieces(fd, "200 OK", json_type, pieces, 3);
}

static int answer_download(int fd) {
    if (original.fd < 0) return answer_missing(fd);
    char head[1024];
    snprintf(head, sizeof head,
        "HTTP/1.1 200 OK\r\nAccept-Ranges: bytes\r\nContent-Disposition: attachment; filename=\"IMG_0000000.jpg\"\r\n"
        "Content-Length: %lld\r\nContent-Type: image/jpeg\r\nLast-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
        "X-Photosync-Datetaken: 2023-11-14T22:13:20Z\r\nX-Photosync-Hash: %s\r\n\r\n",
        (long long)original.size, original.sha256);
    if (send_all(fd, head, strlen(head)) != 0) return -1;
    double started = now();
    for (off_t offset = 0; offset < original.size;) {
        size_t wanted = (size_t)(original.size - offset);
        if (pace > 0) {
            sleep_until(started + (double)offset / pace);
            if (wanted > PACED_AT_ONCE) wanted = PACED_AT_ONCE;
        }
        if (sendfile(fd, original.fd, &offset, wanted) <= 0) return -1;
    }
    return 0;
}

static int answer_status(int fd) {
    char text[300];
    unsigned long long count = atomic_load(&listing.count), legacy = 0;
    for (unsigned origin = 10 - legacy_tenths; origin < 10; origin++) legacy += count / 10 + (count % 10 > origin);
    snprintf(text, sizeof text,
        "{\"totalPhotos\":%llu,\"devicePhotos\":0,\"legacyPhotos\":%llu,\"otherDevicePhotos\":%llu,\"serverVersion\":%llu,"
        "\"needsLegacyClaim\":%s}\n", count, legacy, count - legacy, count, legacy ? "true" : "false");
    return answer_json(fd, text);
}

#define DEVICE \
    "{\"id\":\"99999999-1111-4222-8333-444444444444\",\"deviceName\":\"bench\",\"platform\":\"android\"," \
    "\"registeredAt\":\"2023-11-14T22:13:20Z\",\"lastSeenAt\":\"2023-11-14T22:13:20Z\",\"isActive\":true}"

static int answer(int fd, const char *head, const char *body) {
    static const struct {
        const char *line, *reply;
    } fixed[] = {
        {"GET /api/health ", "{\"status\":\"healthy\",\"timestamp\":\"2026-01-01T00:00:00.123456789Z\"}\n"},
        {"GET /api/setup/status ",
            "{\"isComplete\":true,\"databaseConfigured\":true,\"firebaseConfigured\":false,\"adminCreated\":true}\n"},
        {"GET /api/version ", "{\"version\":\"dev\",\"gitCommit\":\"unknown\",\"buildTime\":\"unknown\"}\n"},
        {"POST /api/devices/register ", DEVICE "\n"},
        {"GET /api/devices ", "[" DEVICE "]\n"},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strncmp(head, fixed[i].line, strlen(fixed[i].line)) == 0) return answer_json(fd, fixed[i].reply);
    if (strncmp(head, "POST /api/sync/photos ", 22) == 0) return answer_page(fd, body);
    if (strncmp(head, "POST /api/photos/check ", 23) == 0) return answer_check(fd, body);
    if (strncmp(head, "GET /api/sync/status ", 21) == 0) return answer_status(fd);
    if (strncmp(head, "GET /api/photos/", 16) == 0 && strstr(head, "/download ")) return answer_download(fd);
    if (strncmp(head, "POST /grow/", 11) == 0) {
        uint64_t count = atomic_fetch_add(&listing.count, strtoull(head + 11, NULL, 10));
        if (count + strtoull(head + 11, NULL, 10) > listing.capacity) die("no room to grow");
        return answer_json(fd, "{}\n");
    }
    return answer_missing(fd);
}

// Serves any number of requests on one connection, sequentially.
static void *serve(void *argument) {
    int fd = (int)(long)argument;
    char *request = malloc(REQUEST_LIMIT + 1), *head_end;
    size_t filled = 0;
    for (;;) {
        size_t needed = 0;
        for (;;) {
            request[filled] = 0;
            if (needed == 0 && (head_end = strstr(request, "\r\n\r\n"))) {
                *head_end = 0;
                const char *length = field(request, "Content-Length"), *expect = field(request, "Expect");
                needed = (size_t)(head_end + 4 - request) + (length ? strtoul(length, NULL, 10) : 0);
                if (expect && send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25) != 0) goto done;
            }
            if (needed > 0 && filled >= needed) break;
            if (filled == REQUEST_LIMIT) goto done;
            ssize_t got = recv(fd, request + filled, REQUEST_LIMIT - filled, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) goto done;
            filled += (size_t)got;
        }
        // No client uses pipelining, so no data of the next request follows.
        if (filled > needed || answer(fd, request, head_end + 4) != 0) goto done;
        filled = 0;
    }
done:
    free(request);
    close(fd);
    return NULL;
}

static void open_original(const char *path, const char *sha256) {
    struct stat status;
    original.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (original.fd < 0 || fstat(original.fd, &status) != 0) die(path);
    original.size = status.st_size;
    snprintf(original.sha256, sizeof original.sha256, "%s", sha256);
}

static void open_digests(const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) die(path);
    digests = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (digests == MAP_FAILED) die(path);
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    int port = 0;
    uint64_t photos = 0;
    const char *path = NULL, *sha256 = NULL;
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--port") == 0) port = atoi(arguments[i + 1]);
        if (strcmp(arguments[i], "--photos") == 0) photos = strtoull(arguments[i + 1], NULL, 10);
        if (strcmp(arguments[i], "--legacy") == 0) legacy_tenths = (unsigned)atoi(arguments[i + 1]);
        if (strcmp(arguments[i], "--file") == 0) path = arguments[i + 1];
        if (strcmp(arguments[i], "--sha256") == 0) sha256 = arguments[i + 1];
        if (strcmp(arguments[i], "--pace") == 0) pace = atof(arguments[i + 1]);
        if (strcmp(arguments[i], "--digests") == 0) open_digests(arguments[i + 1]);
    }
    if (photos == 0 || legacy_tenths > 10 || !path != !sha256) {
        fprintf(stderr, "usage: photos [--port N] --photos COUNT [--legacy TENTHS] [--file PATH --sha256 HEX [--pace RATE]] [--digests PATH]\n");
        return 2;
    }
    if (path) open_original(path, sha256);
    write_listing(photos);
    int listener = listen_on_loopback(port);
    for (;;) serve_next(listener, serve);
}
