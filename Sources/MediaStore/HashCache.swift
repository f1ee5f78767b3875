public import Foundation
public import MediaSystem
import Synchronization

/// Remembers the SHA-256 of files, so that unchanged files are not read again (`hashes.sqlite` in the cache directory).
/// Losing it costs only time: a cache that cannot be opened, read or written behaves like an empty one, and a corrupt one
/// is replaced. One that a newer version wrote is left alone.
///
/// A file counts as unchanged when device, inode, size, mtime and ctime are the same to the nanosecond. A digest is not
/// kept for a file that changed a moment ago, because a later change could leave the same times: the kernel's clock for
/// them has ticks of up to 10 ms, so twice that is left, or 2 seconds where both times are whole seconds (FAT counts in
/// twos).
///
/// Many tasks and processes may use one directory at once. Entries that nobody asked for in 180 days go.
public final class HashCache: Sendable {
    /// For how long after a change its digest is not kept, on a file system that counts in less than seconds. In
    /// nanoseconds.
    package static let restAfterChange: Int64 = 20_000_000

    private struct State {
        var database: HashDatabase?
        /// What `database` does not have yet.
        var waiting: [HashDatabase.Key: HashDatabase.Entry] = [:]
        var isScheduled = false
    }

    /// So many entries are written at once.
    private static let many = 200

    private let state: Mutex<State>
    private let writer = DispatchQueue(label: "mediactl.hashes.write")
    private let now: @Sendable () -> Date

    /// Opens or creates the cache in a directory (0700, made if missing). One that others may write to is not used.
    public convenience init(directory: String) {
        self.init(directory: directory, now: { Date() })
    }

    init(directory: String, busySeconds: Double = 5, now: @escaping @Sendable () -> Date) {
        self.now = now
        state = Mutex(State(database: try? HashDatabase(directory: directory, busySeconds: busySeconds)))
    }

    // Nobody else has it any more; it may be the writer's own queue that lets it go.
    deinit { write() }

    /// The digest of a file, 64 lower-case hexadecimal characters; nil when it is not known. Takes some microseconds.
    public func digest(of identity: FileIdentity) -> String? {
        let key = HashDatabase.Key(identity)
        let (waiting, database) = state.withLock { ($0.waiting[key], $0.database) }
        if let waiting { return waiting.identity == identity ? waiting.digest : nil }
        guard let database, let found = attempt(database, { try $0.entry(of: identity) }) ?? nil else { return nil }
        noteUse(of: found)
        return found.digest
    }

    /// The digests of many files, in their order, as `digest(of:)` gives them one by one but several times as fast.
    public func digests(of identities: [FileIdentity]) -> [String?] {
        let (waiting, database) = state.withLock { ($0.waiting, $0.database) }
        let found = database.flatMap { attempt($0) { try $0.entries(of: identities) } }
        return identities.indices.map { index in
            if let entry = waiting[HashDatabase.Key(identities[index])] {
                return entry.identity == identities[index] ? entry.digest : nil
            }
            guard let entry = found?[index] else { return nil }
            noteUse(of: entry)
            return entry.digest
        }
    }

    /// Once a day, or every lookup would be a change.
    private func noteUse(of entry: HashDatabase.Entry) {
        guard entry.usedOn != today else { return }
        enqueue(HashDatabase.Entry(identity: entry.identity, digest: entry.digest, usedOn: today))
    }

    /// Keeps a digest. Returns at once; it is written together with others within about a second, at the latest by
    /// `flush`.
    ///
    /// - Parameters:
    ///   - digest: 64 lower-case hexadecimal characters; anything else is not kept.
    ///   - identity: The file, the same before and after it was read.
    ///   - readingBegan: When its first byte was read; nil for now. A file that changed just before that is not kept.
    public func keep(_ digest: String, for identity: FileIdentity, readingBegan: Date? = nil) {
        guard HashDatabase.isDigest(digest), !identity.mayChangeUnseen(after: readingBegan ?? now()) else { return }
        enqueue(HashDatabase.Entry(identity: identity, digest: digest, usedOn: today))
    }

    /// Writes what is waiting. Blocks for 5 seconds at most, while another process holds the cache.
    public func flush() { writer.sync { write() } }

    private var today: Int64 { Int64(now().timeIntervalSince1970 / 86_400) }

    private func enqueue(_ entry: HashDatabase.Entry) {
        let (isFirst, isMany) = state.withLock { state in
            guard state.database != nil else { return (false, false) }
            state.waiting[HashDatabase.Key(entry.identity)] = entry
            defer { state.isScheduled = true }
            return (!state.isScheduled, state.waiting.count % Self.many == 0)
        }
        // Not all at the end of a batch, when somebody waits for it.
        if isMany { writer.async { [weak self] in self?.write() } }
        if isFirst { writer.asyncAfter(deadline: .now() + 1) { [weak self] in self?.write() } }
    }

    /// Runs on `writer`, so that an older entry never overtakes a newer one.
    private func write() {
        let (database, entries) = state.withLock { state in
            state.isScheduled = false
            return (state.database, state.waiting)
        }
        guard let database, !entries.isEmpty else { return }
        attempt(database) { try $0.write(Array(entries.values), prunedBefore: today - 180) }
        state.withLock { state in
            // Found in `waiting` until they can be found in the database.
            for (key, entry) in entries where state.waiting[key] == entry { state.waiting[key] = nil }
        }
    }

    /// - Returns: nil when the cache failed, and is not used from now on: it was replaced when corrupt, else given up.
    @discardableResult
    private func attempt<Value>(_ database: HashDatabase, _ body: (HashDatabase) throws -> Value) -> Value? {
        do {
            return try body(database)
        } catch {
            let replacement = try? database.replaced(because: error)
            state.withLock { state in
                guard state.database === database else { return }
                state.database = replacement
                if replacement == nil { state.waiting = [:] }
            }
            return nil
        }
    }
}

extension FileIdentity {
    /// Whether a change after this moment could leave mtime and ctime as they are. A ctime in the future comes from
    /// another machine's clock, and tells nothing; an mtime in the future is anybody's to set.
    fileprivate func mayChangeUnseen(after date: Date) -> Bool {
        // From the year 2262 on, nanoseconds do not fit: nothing can be said about a change then.
        guard let moment = Int64(exactly: (date.timeIntervalSince1970 * 1e9).rounded()), moment.magnitude < 1 << 62
        else {
            return true
        }
        let isCoarse = modificationNanoseconds % 1_000_000_000 == 0 && changeNanoseconds % 1_000_000_000 == 0
        let margin: Int64 = isCoarse ? 2_000_000_000 : HashCache.restAfterChange
        let recent = (moment - margin)...(moment + margin)
        return changeNanoseconds >= recent.lowerBound || recent.contains(modificationNanoseconds)
    }
}
