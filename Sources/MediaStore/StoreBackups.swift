internal import CFileSystem
package import Foundation
import GRDB
import Glibc
internal import MediaCore
import MediaSystem

/// Copies of the token store in the data directory: the last three, at most one a day automatically, and those with
/// tokens that the store has lost.
///
/// A copy contains every token that the store had on its day. Therefore deleting a token also changes the copies, and a
/// lock prevents deleting and copying at the same time: a copy started before a token was deleted would still contain
/// it.
package struct StoreBackups {
    package struct Backup: Sendable, Equatable {
        package var path: String
        package var createdAt: Date
        package var byteCount: Int64
    }

    /// A copy with tokens that are missing from the store but were not removed from it.
    package struct Missing: Sendable, Equatable {
        package var backup: Backup
        package var tokens: Int
    }

    /// Larger stores are copied only if the user requests it: three copies need three times the space.
    package static let largestAutomatic: Int64 = 64 << 20
    private static let keptCount = 3
    private static let prefix = "tokens-"
    private static let suffix = ".sqlite"

    private let directory: DataDirectory
    private let schema = StoreSchema.tokens

    package init(in directory: DataDirectory) {
        self.directory = directory
    }

    /// Newest first. Copies dated in the future, created while the clock was wrong, come last.
    package func all(now: Date = Date()) throws(StoreError) -> [Backup] {
        let folder = directory.path(of: .backups)
        guard let status = try FileStatus(at: folder), status.isDirectory else { return [] }
        var backups: [Backup] = []
        for name in try DataDirectory.entries(of: folder) where name.hasPrefix(Self.prefix) {
            guard name.hasSuffix(Self.suffix),
                let date = FileTime.date(name.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)),
                let status = try FileStatus(at: folder + "/" + name), status.isRegularFile
            else { continue }
            backups.append(Backup(path: folder + "/" + name, createdAt: date, byteCount: status.size))
        }
        let rank = { (backup: Backup) in (Self.isOfFuture(backup, now) ? 0 : 1, backup.createdAt) }
        return backups.sorted { rank($0) > rank($1) }
    }

    /// A day is tolerated: a clock that was set back a little must not cause two copies for one day.
    private static func isOfFuture(_ backup: Backup, _ now: Date) -> Bool { backup.createdAt > now + 86_400 }

    /// The newest copy that has a token or an upload, and the errors from newer copies that cannot be read.
    package func newestWithRows() -> (backup: Backup?, errors: [StoreError]) {
        var errors: [StoreError] = []
        do throws(StoreError) {
            for backup in try all() {
                do throws(StoreError) {
                    if try Self.hasRows(backup.path) { return (backup, errors) }
                } catch {
                    errors.append(error)
                }
            }
        } catch {
            errors.append(error)
        }
        return (nil, errors)
    }

    private static func hasRows(_ path: String) throws(StoreError) -> Bool {
        try DatabaseBytes(path).hasRow(in: path) { row in
            switch row {
            case .token, .upload: true
            default: false
            }
        }
    }

    /// The newest copy with tokens that are missing from the store but were not removed from it, for example because
    /// the store was lost and a new one was created; nil if there is no such copy. Copies that cannot be read are
    /// skipped.
    package func withMissingTokens(in store: TokenStore) throws(StoreError) -> Missing? {
        for backup in try all() {
            guard let count = try? missingTokens(of: backup, in: store), count > 0 else { continue }
            return Missing(backup: backup, tokens: count)
        }
        return nil
    }

    /// Reads the copy without a lock or a log: a copy has none, and is changed only when a token is removed.
    private func missingTokens(of backup: Backup, in store: TokenStore) throws(StoreError) -> Int {
        let name = "file:\(PercentEncoding.encode(path: backup.path))?immutable=1"
        let queue = try StoreConnection.open(name, schema, busyLimit: .zero, isReadOnly: true)
        return try store.connection.read { db in try queue.unsafeRead { try TokenRow.missing(from: db, of: $0) } }
    }

    // MARK: Creating

    /// Copies the store and removes the oldest copies, except those with tokens that the store has lost.
    package func create(from store: TokenStore, now: Date = Date()) throws(StoreError) -> Backup {
        let lock = try lock()
        defer { lock.remove() }
        let start = try directory.make(.backups) + "/" + Self.prefix
        // A copy created in the same second may have tokens that the store has lost.
        var time = now
        while try FileStatus(at: start + FileTime.text(time) + Self.suffix) != nil { time += 1 }
        let path = start + FileTime.text(time) + Self.suffix
        try Self.copy(store, to: path)
        for old in try all(now: now).filter({ $0.path != path }).dropFirst(Self.keptCount - 1)
        where (try? missingTokens(of: old, in: store)) ?? 0 == 0 { unlink(old.path) }
        let size = try FileStatus(at: path)?.size ?? 0
        return Backup(path: path, createdAt: time, byteCount: size)
    }

    /// Copies the store if its last copy (the store itself if there is no copy) is from an earlier day (local time);
    /// nil if none is due.
    package func createIfDue(from store: TokenStore, now: Date = Date()) throws(StoreError) -> Backup? {
        // A copy of an empty store would replace the copies of a store that is missing.
        guard !store.isReadOnly, try isDue(now), try !store.isEmpty() else { return nil }
        return try create(from: store, now: now)
    }

    private func isDue(_ now: Date) throws(StoreError) -> Bool {
        let path = directory.file(schema.fileName)
        let log = try FileStatus(at: path + "-wal")?.size ?? 0
        guard let status = try FileStatus(at: path), status.size + log <= Self.largestAutomatic else { return false }
        if let last = try all(now: now).first, !Self.isOfFuture(last, now) {
            return Self.day(last.createdAt) < Self.day(now)
        }
        // If the store's creation time is unknown, a copy does no harm.
        let born = birth_time(path)
        return born < 0 || Self.day(Date(timeIntervalSince1970: Double(born))) < Self.day(now)
    }

    /// A number that grows from one local day to the next.
    private static func day(_ date: Date) -> Int64 {
        let time = CivilTime(localSecondsSince1970: Int64(date.timeIntervalSince1970))
        return (time.year * 12 + time.month) * 31 + time.day
    }

    /// Copies the store to a new file (0600). It is written under a different name, so a partial copy is never visible.
    package static func copy(_ store: TokenStore, to path: String) throws(StoreError) {
        let draft = path + ".part-" + RandomName.make()
        defer { unlink(draft) }
        // SQLite writes into an empty file, which keeps its permissions.
        try StoreConnection.createEmptyFile(draft)
        try store.connection.copy(to: draft, named: path)
        try DataDirectory.synchronizeFile(draft)
        // Not every file system supports hard links.
        let isLinked = link(draft, path) == 0
        let code = errno
        let isUnlinkable = !isLinked && code != EEXIST && access(path, F_OK) != 0
        guard isLinked || (isUnlinkable && rename(draft, path) == 0) else {
            throw StoreError(errno: code, path: path, action: "cannot create")
        }
        let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        try DataDirectory.synchronize(parent.isEmpty ? "/" : parent)
    }

    // MARK: Deleting

    /// Held while copies are created or changed, and until the same tokens are removed from the store.
    func lock() throws(StoreError) -> LockedFile {
        let path = directory.lockFile("backups")
        return try LockedFile.waiting(for: path, limit: .seconds(30), "another process is backing up the store")
    }

    /// Changes all copies; removed bytes are overwritten. A copy that cannot be changed is removed, since it may
    /// contain data that must be deleted.
    func change(_ body: (Database) throws -> Void) throws(StoreError) {
        for backup in try all() {
            do {
                let queue = try StoreConnection.open(backup.path, schema, busyLimit: .seconds(5))
                try queue.writeWithoutTransaction { db in
                    // A copy made by an older version lacks tables that the statements need.
                    try schema.migrate(db)
                    try db.inTransaction(.immediate) {
                        try body(db)
                        return .commit
                    }
                }
                try queue.close()
            } catch {
                try remove(backup)
            }
        }
    }

    func removeAll() throws(StoreError) {
        for backup in try all() { try remove(backup) }
        let folder = directory.path(of: .backups)
        guard let status = try FileStatus(at: folder), status.isDirectory else { return }
        // Left by a process that exited while copying.
        for name in try DataDirectory.entries(of: folder) where name.contains(".part-") { unlink(folder + "/" + name) }
    }

    private func remove(_ backup: Backup) throws(StoreError) {
        unlink(backup.path + "-journal")
        guard unlink(backup.path) == 0 || errno == ENOENT else {
            throw StoreError(errno: errno, path: backup.path, action: "cannot remove")
        }
    }
}

/// Damaged stores that a repair has set aside. They still contain tokens; a token that is deleted is also erased there.
struct DamagedCopies {
    private static let mark = ".damaged-"

    let directory: DataDirectory

    /// A name for the files of a damaged store. An earlier repair may have taken the name for this second.
    func freeName(of schema: StoreSchema, _ now: Date) throws(StoreError) -> String {
        let first = schema.fileName + Self.mark + FileTime.text(now)
        let taken = try directory.entries(withPrefix: first)
        var (name, number) = (first, 1)
        while (StoreConnection.companions + [""]).contains(where: { taken.contains(name + $0) }) {
            number += 1
            name = "\(first).\(number)"
        }
        return name
    }

    /// Whether an entry of the data directory is a damaged store, by its name.
    static func isName(_ name: String) -> Bool { name.hasPrefix(StoreSchema.tokens.fileName + mark) }

    private func paths() throws(StoreError) -> [String] {
        try directory.entries(withPrefix: StoreSchema.tokens.fileName + Self.mark).map(directory.file)
    }

    /// Overwrites tokens with zeros wherever they are: a damaged store has no rows to delete.
    func erase(_ secrets: [String]) throws(StoreError) {
        for path in try paths() {
            guard let status = try FileStatus(at: path), status.isRegularFile else { continue }
            for secret in secrets { try erase(Array(secret.utf8), in: path) }
        }
    }

    private func erase(_ secret: [UInt8], in path: String) throws(StoreError) {
        let descriptor = try openFile(path, O_RDWR)
        defer { close(descriptor) }
        let size = 1 << 20
        var offset: Int64 = 0
        var hasChanged = false
        while true {
            let chunk = try readBytes(descriptor, of: path, at: offset, count: size)
            for range in chunk.ranges(of: secret) {
                let zeros = [UInt8](repeating: 0, count: range.count)
                let failure = zeros.withUnsafeBytes {
                    FileBytes.write($0, to: descriptor, at: offset + Int64(range.lowerBound)).failure
                }
                if let failure { throw StoreError(errno: failure.code, path: path, action: "cannot write") }
                hasChanged = true
            }
            guard chunk.count == size else { break }
            // A token may begin in one piece and end in the next.
            offset += Int64(size - secret.count + 1)
        }
        guard !hasChanged || fsync(descriptor) == 0 else {
            throw StoreError(errno: errno, path: path, action: "cannot synchronize")
        }
    }

    func removeAll() throws(StoreError) {
        for path in try paths() {
            guard let status = try FileStatus(at: path), status.isRegularFile else { continue }
            guard unlink(path) == 0 || errno == ENOENT else {
                throw StoreError(errno: errno, path: path, action: "cannot remove")
            }
        }
    }
}

/// A time in a file's name, in UTC: `20261123T061500Z`.
enum FileTime {
    static func text(_ date: Date) -> String {
        CivilTime(secondsSince1970: Int64(date.timeIntervalSince1970)).text.filter { $0 != "-" && $0 != ":" } + "Z"
    }

    /// - Returns: nil for any other form.
    static func date(_ text: some StringProtocol) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        return CivilTime(bytes, at: [0, 4, 6, 9, 11, 13])
            .map { Date(timeIntervalSince1970: Double($0.secondsSince1970)) }
    }
}
