// Measures the minimum cost of a full resync: downloading the same pages, and appending the same rows.
//
//   floor download URL PHOTOS        every page once, over one persistent connection, discarded
//   floor append DATABASE PHOTOS     the rows of the index into SQLite: WAL, synchronous=NORMAL, transactions of 500
//                                    rows, no index, no reads
//
// The cursor of the next page is read from the end of each page.
#include <curl/curl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 500, TAIL = 256 };

static void fail(const char *what) {
    fprintf(stderr, "floor: %s\n", what);
    exit(1);
}

// The last bytes of a page, which contain its cursor.
static struct {
    char bytes[TAIL + 1];
    size_t count;
} tail;

static size_t keep_tail(char *bytes, size_t size, size_t count, void *unused) {
    (void)unused;
    count *= size;
    if (count >= TAIL) {
        memcpy(tail.bytes, bytes + count - TAIL, TAIL);
        tail.count = TAIL;
    } else {
        size_t kept = tail.count < TAIL - count ? tail.count : TAIL - count;
        memmove(tail.bytes, tail.bytes + tail.count - kept, kept);
        memcpy(tail.bytes + kept, bytes, count);
        tail.count = kept + count;
    }
    return count;
}

static int download(const char *url, long photos) {
    char address[256], body[256], cursor[64] = "";
    snprintf(address, sizeof address, "%s/api/sync/photos", url);
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_tail);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L << 10);
    for (long row = 0; row < photos; row += PAGE) {
        snprintf(body, sizeof body, "{\"limit\":%d,\"cursor\":\"%s\"}", PAGE, cursor);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        if (curl_easy_perform(curl) != CURLE_OK) fail("download");
        tail.bytes[tail.count] = 0;
        const char *next = strstr(tail.bytes, "\"cursor\":\"");
        if (!next != (row + PAGE >= photos)) fail("unexpected number of pages");
        if (next) snprintf(cursor, sizeof cursor, "%.36s", next + 10);
    }
    return 0;
}

static void execute(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sqlite3_errmsg(database));
}

static int append(const char *path, long photos) {
    sqlite3 *database;
    sqlite3_stmt *insert;
    if (sqlite3_open(path, &database) != SQLITE_OK) fail("cannot open");
    execute(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
    execute(database,
        "CREATE TABLE photos (number INTEGER PRIMARY KEY, server INTEGER, id ANY, digest ANY, name TEXT, size INTEGER,"
        " taken_us INTEGER, taken_text TEXT, uploaded_us INTEGER, uploaded_text TEXT, origin INTEGER, width INTEGER,"
        " height INTEGER, is_gone INTEGER) STRICT");
    sqlite3_prepare_v2(database, "INSERT INTO photos VALUES (NULL,1,?,?,?,?,?,NULL,?,NULL,?,4032,3024,0)", -1, &insert, NULL);
    uint64_t id[2], digest[4];
    char name[32];
    for (long row = 0; row < photos; row++) {
        if (row % PAGE == 0) execute(database, "BEGIN");
        for (int word = 0; word < 4; word++) digest[word] = id[word % 2] = (uint64_t)(row + word + 1) * 0x9e3779b97f4a7c15;
        int length = snprintf(name, sizeof name, "IMG_%07ld.jpg", row);
        sqlite3_bind_blob(insert, 1, id, sizeof id, SQLITE_STATIC);
        sqlite3_bind_blob(insert, 2, digest, sizeof digest, SQLITE_STATIC);
        sqlite3_bind_text(insert, 3, name, length, SQLITE_STATIC);
        sqlite3_bind_int64(insert, 4, 1000000 + row);
        sqlite3_bind_int64(insert, 5, 1522492396000000 + row * 1000000);
        sqlite3_bind_int64(insert, 6, 1700000000000000 + row * 3000001);
        sqlite3_bind_int64(insert, 7, row % 4 + 1);
        if (sqlite3_step(insert) != SQLITE_DONE) fail(sqlite3_errmsg(database));
        sqlite3_reset(insert);
        if (row % PAGE == PAGE - 1 || row + 1 == photos) execute(database, "COMMIT");
    }
    sqlite3_finalize(insert);
    return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}

int main(int count, char **arguments) {
    if (count == 4 && strcmp(arguments[1], "download") == 0) return download(arguments[2], atol(arguments[3]));
    if (count == 4 && strcmp(arguments[1], "append") == 0) return append(arguments[2], atol(arguments[3]));
    fprintf(stderr, "usage: floor download URL PHOTOS | floor append DATABASE PHOTOS\n");
    return 2;
}
