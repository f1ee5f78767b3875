#include <sqlite3.h>
#include <string.h>

#include "CSQLiteShims.h"

/// Frames that are written together, below 64 KiB; each is a page of 4 KiB with its header.
#define CAPACITY (15 * (24 + 4096))
/// The lock of the one connection that may append to the log (sqlite.org/walformat.html#wal_locks).
#define WRITE_LOCK 0

struct buffer;

/// Replaces the methods of an open file. The first member is what SQLite calls.
struct methods {
    sqlite3_io_methods own;
    const sqlite3_io_methods *real;
    struct buffer *buffer;
};

/// Bytes that SQLite has written to the log but that are not in the file yet. SQLite uses a connection's files on one
/// thread at a time.
struct buffer {
    struct methods database;
    struct methods log;
    /// NULL once SQLite has closed it.
    sqlite3_file *log_file;
    sqlite3_int64 offset;
    int count;
    unsigned char bytes[CAPACITY];
};

static struct methods *methods_of(sqlite3_file *file) {
    return (struct methods *)file->pMethods;
}

/// The bytes are dropped even if this fails: SQLite then discards the transaction and writes at the same offset again.
static int flush(struct buffer *buffer) {
    if (buffer->count == 0) return SQLITE_OK;
    int count = buffer->count;
    buffer->count = 0;
    return buffer->log.real->xWrite(buffer->log_file, buffer->bytes, count, buffer->offset);
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct buffer *buffer = methods_of(file)->buffer;
    if (buffer->count > 0 && (offset != buffer->offset + buffer->count || count > CAPACITY - buffer->count)) {
        int code = flush(buffer);
        if (code != SQLITE_OK) return code;
    }
    if (count > CAPACITY) return buffer->log.real->xWrite(file, bytes, count, offset);
    if (buffer->count == 0) buffer->offset = offset;
    memcpy(buffer->bytes + buffer->count, bytes, (size_t)count);
    buffer->count += count;
    return SQLITE_OK;
}

static int read_log(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    struct buffer *buffer = methods_of(file)->buffer;
    int code = flush(buffer);
    return code != SQLITE_OK ? code : buffer->log.real->xRead(file, bytes, count, offset);
}

static int synchronize_log(sqlite3_file *file, int flags) {
    struct buffer *buffer = methods_of(file)->buffer;
    int code = flush(buffer);
    return code != SQLITE_OK ? code : buffer->log.real->xSync(file, flags);
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    struct buffer *buffer = methods_of(file)->buffer;
    int code = flush(buffer);
    return code != SQLITE_OK ? code : buffer->log.real->xTruncate(file, size);
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    struct buffer *buffer = methods_of(file)->buffer;
    int code = flush(buffer);
    return code != SQLITE_OK ? code : buffer->log.real->xFileSize(file, size);
}

static int close_log(sqlite3_file *file) {
    struct buffer *buffer = methods_of(file)->buffer;
    int flushed = flush(buffer);
    buffer->log_file = NULL;
    file->pMethods = buffer->log.real;
    int code = file->pMethods->xClose(file);
    return flushed != SQLITE_OK ? flushed : code;
}

/// After the write lock is released, another connection may append at the same offset. A commit has synchronized the log
/// before that; only a transaction that was rolled back can leave bytes, which are unused in the file.
static int lock_shared_memory(sqlite3_file *file, int offset, int count, int flags) {
    struct buffer *buffer = methods_of(file)->buffer;
    if ((flags & SQLITE_SHM_UNLOCK) != 0 && offset <= WRITE_LOCK && buffer->log_file != NULL) (void)flush(buffer);
    return buffer->database.real->xShmLock(file, offset, count, flags);
}

static int close_database(sqlite3_file *file) {
    struct buffer *buffer = methods_of(file)->buffer;
    file->pMethods = buffer->database.real;
    // SQLite closes the log first.
    if (buffer->log_file != NULL) buffer->log_file->pMethods = buffer->log.real;
    sqlite3_free(buffer);
    return file->pMethods->xClose(file);
}

static sqlite3_file *file_of(sqlite3 *connection, int operation) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(connection, "main", operation, &file) != SQLITE_OK) return NULL;
    return file != NULL && file->pMethods != NULL ? file : NULL;
}

bool sqlite_shim_buffer_log(void *connection) {
    sqlite3_file *database = file_of(connection, SQLITE_FCNTL_FILE_POINTER);
    sqlite3_file *log = file_of(connection, SQLITE_FCNTL_JOURNAL_POINTER);
    if (database == NULL || log == NULL || database->pMethods->iVersion < 2) return false;
    if (log->pMethods->xWrite == write_log) return true;
    // The log was closed and opened again; the database keeps the methods of the first log.
    if (database->pMethods->xClose == close_database) return false;
    struct buffer *buffer = sqlite3_malloc(sizeof *buffer);
    if (buffer == NULL) return false;
    buffer->database = (struct methods){*database->pMethods, database->pMethods, buffer};
    buffer->database.own.xShmLock = lock_shared_memory;
    buffer->database.own.xClose = close_database;
    buffer->log = (struct methods){*log->pMethods, log->pMethods, buffer};
    buffer->log.own.xWrite = write_log;
    buffer->log.own.xRead = read_log;
    buffer->log.own.xSync = synchronize_log;
    buffer->log.own.xTruncate = truncate_log;
    buffer->log.own.xFileSize = log_size;
    buffer->log.own.xClose = close_log;
    buffer->log_file = log;
    buffer->count = 0;
    database->pMethods = &buffer->database.own;
    log->pMethods = &buffer->log.own;
    return true;
}
