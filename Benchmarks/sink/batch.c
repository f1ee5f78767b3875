// Measures the minimum cost of a batch of small uploads that is as durable as one of mediactl.
//
//   batch URL DIRECTORY STORE
//
// Uploads every file of DIRECTORY with 8 transfers in parallel, one thread for libcurl and no safety but the order of
// writes: a row for each upload before it is sent (64 to a transaction), the SHA-256 of the bytes that are sent, the
// response on disk before it is parsed (one fdatasync for all that arrived in the meantime), and a token row (64 to a
// transaction) before the response is overwritten. STORE is a directory with an empty `tokens.sqlite` of mediactl. A
// file is not locked, not compared with earlier uploads in detail, and not reported; an error ends the program.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRANSFERS = 8, GROUP = 64, PAGE = 4096, PAGES = 256, RESPONSE = 2048 };

struct upload {
    char path[512], id[33], digest[65], response[RESPONSE];
    struct stat status;
    int file, page;
    size_t received;
    long long offset, file_id;
    EVP_MD_CTX *hash;
    curl_mime *form;
    char token[65];
};

struct list {
    struct upload **items;
    int count;
};

static struct upload *uploads;
static int upload_count;
static const char *server;
static CURLM *multi;
static int responses; // the file with the responses
static sqlite3 *store;

// Protected by `lock`.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t to_synchronize = PTHREAD_COND_INITIALIZER, to_commit = PTHREAD_COND_INITIALIZER;
static struct list written, synchronized, finished;
static int wanted_rows, committed_rows, committed_tokens, free_pages[PAGES], free_page_count;

static void fail(const char *what) {
    fprintf(stderr, "batch: %s\n", what);
    exit(1);
}

static void check(bool succeeded, const char *what) {
    if (!succeeded) fail(what);
}

static void append(struct list *list, struct upload *upload) { list->items[list->count++] = upload; }

static int take(struct list *list, struct upload **items) {
    int count = list->count;
    memcpy(items, list->items, (size_t)count * sizeof *items);
    list->count = 0;
    return count;
}

static struct upload **allocate(void) {
    struct upload **items = calloc((size_t)upload_count, sizeof *items);
    check(items != NULL, "out of memory");
    return items;
}

// MARK: The threads that wait for the disk

static void *synchronize(void *unused) {
    (void)unused;
    struct upload **items = allocate();
    for (;;) {
        pthread_mutex_lock(&lock);
        while (written.count == 0) pthread_cond_wait(&to_synchronize, &lock);
        int count = take(&written, items);
        pthread_mutex_unlock(&lock);
        check(fdatasync(responses) == 0, "fdatasync");
        pthread_mutex_lock(&lock);
        for (int index = 0; index < count; index++) append(&synchronized, items[index]);
        pthread_mutex_unlock(&lock);
        curl_multi_wakeup(multi);
    }
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK, sql);
    return statement;
}

// Binds values by a format, from the first parameter on: t text, i integer, n NULL.
static void run(sqlite3_stmt *statement, const char *format, ...) {
    va_list values;
    va_start(values, format);
    for (int index = 1; *format; format++, index++) {
        if (*format == 't') sqlite3_bind_text(statement, index, va_arg(values, const char *), -1, SQLITE_STATIC);
        if (*format == 'i') sqlite3_bind_int64(statement, index, va_arg(values, long long));
        if (*format == 'n') sqlite3_bind_null(statement, index);
    }
    va_end(values);
    int result = sqlite3_step(statement);
    check(result == SQLITE_DONE || result == SQLITE_ROW, sqlite3_errmsg(store));
    sqlite3_reset(statement);
}

static long long nanoseconds(struct timespec time) { return time.tv_sec * 1000000000LL + time.tv_nsec; }

static void *commit(void *unused) {
    (void)unused;
    const long long now = 1764500000000;
    sqlite3_stmt *begin = prepare(store, "BEGIN IMMEDIATE"), *end = prepare(store, "COMMIT");
    sqlite3_stmt *row = prepare(store,
        "INSERT INTO uploads (upload_id, path, state, host, base_url, fields, device, inode, file_size, modified_ns,"
        " changed_ns, size_bytes, attempts, created_at, updated_at) VALUES (?, CAST(? AS BLOB), 'sending', ?, ?,"
        " '[{\"name\":\"event_date\",\"value\":\"2026-11-29\"},{\"name\":\"org_name\",\"value\":\"default\"},"
        "{\"name\":\"event_type\",\"value\":\"band\"},{\"name\":\"label\",\"value\":\"00001\"}]',"
        " ?, ?, ?, ?, ?, ?, 1, ?, ?)");
    sqlite3_stmt *removed = prepare(store,
        "SELECT created_at FROM tombstones WHERE host = ? AND file_id = ? AND checksum_sha256 = ?");
    sqlite3_stmt *known = prepare(store,
        "SELECT token FROM tokens WHERE host = ? AND file_id = ? AND checksum_sha256 = ?");
    sqlite3_stmt *token = prepare(store,
        "INSERT INTO tokens (host, file_id, token, created_at, event_date, org_name, event_type, label, file_name,"
        " file_type, checksum_sha256, size_bytes, base_url) VALUES (?, ?, ?, ?, '2026-11-29', 'default', 'band',"
        " '00001', '00001.mp4', 'video', ?, ?, ?)");
    sqlite3_stmt *done = prepare(store,
        "UPDATE uploads SET state = 'done', checksum_sha256 = ?, file_id = ?, http_status = 201, updated_at = ?"
        " WHERE upload_id = ?");
    struct upload **items = allocate();
    static const char zeros[RESPONSE];
    for (;;) {
        pthread_mutex_lock(&lock);
        while (wanted_rows == committed_rows && finished.count < GROUP
               && (finished.count == 0 || committed_tokens + finished.count < upload_count))
            pthread_cond_wait(&to_commit, &lock);
        int first = committed_rows, last = wanted_rows, count = take(&finished, items);
        pthread_mutex_unlock(&lock);
        run(begin, "");
        for (struct upload *item = uploads + first; item < uploads + last; item++)
            run(row, "ttttiiiiiiii", item->id, item->path, server, server, (long long)item->status.st_dev,
                (long long)item->status.st_ino, (long long)item->status.st_size, nanoseconds(item->status.st_mtim),
                nanoseconds(item->status.st_ctim), (long long)item->status.st_size, now, now);
        for (int index = 0; index < count; index++) {
            struct upload *item = items[index];
            run(removed, "tit", server, item->file_id, item->digest);
            run(known, "tit", server, item->file_id, item->digest);
            run(token, "tititit", server, item->file_id, item->token, now, item->digest,
                (long long)item->status.st_size, server);
            run(done, "tiit", item->digest, item->file_id, now, item->id);
        }
        run(end, "");
        for (int index = 0; index < count; index++)
            check(pwrite(responses, zeros, items[index]->received, (off_t)items[index]->page * PAGE) > 0, "pwrite");
        pthread_mutex_lock(&lock);
        committed_rows = last;
        committed_tokens += count;
        for (int index = 0; index < count; index++) free_pages[free_page_count++] = items[index]->page;
        bool ends = committed_tokens == upload_count;
        pthread_mutex_unlock(&lock);
        curl_multi_wakeup(multi);
        if (ends) return NULL;
    }
}

// MARK: The thread of libcurl

static size_t read_body(char *buffer, size_t size, size_t count, void *context) {
    struct upload *item = context;
    ssize_t bytes = pread(item->file, buffer, size * count, item->offset);
    if (bytes < 0) return CURL_READFUNC_ABORT;
    EVP_DigestUpdate(item->hash, buffer, (size_t)bytes);
    item->offset += bytes;
    return (size_t)bytes;
}

static size_t keep_response(char *bytes, size_t size, size_t count, void *context) {
    struct upload *item = context;
    count *= size;
    if (item->received + count >= RESPONSE) return 0;
    memcpy(item->response + item->received, bytes, count);
    item->received += count;
    return count;
}

static void start(struct upload *item, CURL *curl, const char *url, struct curl_slist *headers, sqlite3_stmt *earlier) {
    item->file = open(item->path, O_RDONLY | O_CLOEXEC);
    check(item->file >= 0 && fstat(item->file, &item->status) == 0, item->path);
    run(earlier, "iit", (long long)item->status.st_ino, (long long)item->status.st_dev, server);
    item->hash = EVP_MD_CTX_new();
    EVP_DigestInit_ex(item->hash, EVP_sha256(), NULL);
    curl_easy_reset(curl);
    item->form = curl_mime_init(curl);
    curl_mimepart *part = curl_mime_addpart(item->form);
    curl_mime_name(part, "label");
    curl_mime_data(part, "bench", CURL_ZERO_TERMINATED);
    part = curl_mime_addpart(item->form);
    curl_mime_name(part, "file");
    curl_mime_filename(part, "file.mp4");
    curl_mime_type(part, "video/mp4");
    curl_mime_data_cb(part, item->status.st_size, read_body, NULL, NULL, item);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_MIMEPOST, item->form);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_response);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, item);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, item);
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 128L << 10);
    curl_easy_setopt(curl, CURLOPT_USERPWD, "bench:bench");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_multi_add_handle(multi, curl);
}

static struct upload *end(CURLMsg *message) {
    struct upload *item;
    long status;
    CURL *curl = message->easy_handle;
    curl_easy_getinfo(curl, CURLINFO_PRIVATE, &item);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    check(message->data.result == CURLE_OK && status == 201, "an upload failed");
    curl_multi_remove_handle(multi, curl);
    curl_mime_free(item->form);
    unsigned char digest[32];
    EVP_DigestFinal_ex(item->hash, digest, NULL);
    EVP_MD_CTX_free(item->hash);
    for (int index = 0; index < 32; index++) sprintf(item->digest + 2 * index, "%02x", digest[index]);
    struct stat after;
    check(fstat(item->file, &after) == 0 && after.st_size == item->offset, item->path);
    close(item->file);
    check(pwrite(responses, item->response, item->received, (off_t)item->page * PAGE) > 0, "pwrite");
    return item;
}

static void parse(struct upload *item) {
    const char *id = strstr(item->response, "\"id\":"), *token = strstr(item->response, "\"delete_token\":\"");
    check(id != NULL && token != NULL, "no token");
    item->file_id = atoll(id + 5);
    snprintf(item->token, sizeof item->token, "%s", token + 16);
}

static void upload_all(sqlite3_stmt *earlier) {
    char url[256];
    snprintf(url, sizeof url, "%s/api/uploads.php", server);
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    CURL *idle[TRANSFERS];
    int idle_count = 0, next = 0, running;
    while (idle_count < TRANSFERS) idle[idle_count++] = curl_easy_init();
    while (free_page_count < PAGES) free_pages[free_page_count] = free_page_count, free_page_count++;
    struct upload **items = allocate();
    int active = 0; // a transfer counts until its response is on disk
    for (int parsed = 0; parsed < upload_count;) {
        pthread_mutex_lock(&lock);
        int count = take(&synchronized, items);
        pthread_mutex_unlock(&lock);
        for (int index = 0; index < count; index++) parse(items[index]);
        active -= count;
        parsed += count;
        pthread_mutex_lock(&lock);
        for (int index = 0; index < count; index++) append(&finished, items[index]);
        if (wanted_rows < upload_count && next + GROUP / 2 > wanted_rows)
            wanted_rows = wanted_rows + GROUP < upload_count ? wanted_rows + GROUP : upload_count;
        int started = next;
        for (int slot = active; slot < TRANSFERS && next < committed_rows && free_page_count > 0; slot++)
            uploads[next++].page = free_pages[--free_page_count];
        if (count > 0 || wanted_rows > committed_rows) pthread_cond_signal(&to_commit);
        pthread_mutex_unlock(&lock);
        for (active += next - started; started < next; started++)
            start(&uploads[started], idle[--idle_count], url, headers, earlier);
        curl_multi_perform(multi, &running);
        int remaining, ended = 0;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &remaining)) != NULL; ended++) {
            CURL *curl = message->easy_handle;
            struct upload *item = end(message);
            idle[idle_count++] = curl;
            pthread_mutex_lock(&lock);
            append(&written, item);
            pthread_cond_signal(&to_synchronize);
            pthread_mutex_unlock(&lock);
        }
        if (ended == 0 && parsed < upload_count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
}

static int by_path(const void *left, const void *right) {
    return strcmp(((const struct upload *)left)->path, ((const struct upload *)right)->path);
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: batch URL DIRECTORY STORE");
    server = arguments[1];
    struct dirent **names;
    int found = scandir(arguments[2], &names, NULL, NULL);
    check(found > 0, arguments[2]);
    uploads = calloc((size_t)found, sizeof *uploads);
    check(uploads != NULL, "out of memory");
    for (int index = 0; index < found; index++) {
        if (names[index]->d_name[0] == '.') continue;
        struct upload *item = &uploads[upload_count++];
        snprintf(item->path, sizeof item->path, "%s/%s", arguments[2], names[index]->d_name);
        check(stat(item->path, &item->status) == 0, item->path);
        unsigned char random[16];
        check(getrandom(random, sizeof random, 0) == sizeof random, "getrandom");
        for (int byte = 0; byte < 16; byte++) sprintf(item->id + 2 * byte, "%02x", random[byte]);
    }
    qsort(uploads, (size_t)upload_count, sizeof *uploads, by_path);
    written.items = allocate();
    synchronized.items = allocate();
    finished.items = allocate();

    char path[512];
    snprintf(path, sizeof path, "%s/tokens.sqlite", arguments[3]);
    sqlite3 *reader;
    check(sqlite3_open(path, &store) == SQLITE_OK, path);
    check(sqlite3_open(path, &reader) == SQLITE_OK, path);
    sqlite3_exec(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL, NULL, NULL);
    sqlite3_stmt *earlier = prepare(reader, "SELECT rowid FROM uploads WHERE inode = ? AND device = ? AND host = ?");
    snprintf(path, sizeof path, "%s/responses", arguments[3]);
    responses = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check(responses >= 0 && posix_fallocate(responses, 0, (off_t)PAGE * PAGES) == 0, path);
    check(fdatasync(responses) == 0, path);

    curl_global_init(CURL_GLOBAL_ALL);
    multi = curl_multi_init();
    pthread_t synchronizer, committer;
    check(pthread_create(&synchronizer, NULL, synchronize, NULL) == 0, "pthread_create");
    check(pthread_create(&committer, NULL, commit, NULL) == 0, "pthread_create");
    upload_all(earlier);
    pthread_join(committer, NULL);
    for (int index = 0; index < upload_count; index++)
        printf("uploaded %s as %lld\n", uploads[index].path, uploads[index].file_id);
    sqlite3_finalize(earlier);
    return 0;
}
