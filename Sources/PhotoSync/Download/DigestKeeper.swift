internal import Foundation
internal import MediaStore
internal import MediaSystem
internal import Synchronization

/// Gives the digests of new files to the cache once their times tell a later change: the cache takes none for a file that
/// has changed a moment ago.
final class DigestKeeper: Sendable {
    private struct Entry {
        var path: [UInt8]
        var identity: FileIdentity
        var digest: String
        var writtenAt: Date
    }

    /// A little more than the cache asks for.
    private static let rest = TimeInterval(HashCache.restAfterChange) / 1e9 + 0.001

    private let hashes: HashCache
    private let waiting = Mutex<[Entry]>([])

    init(_ hashes: HashCache) { self.hashes = hashes }

    func add(_ digest: String, of identity: FileIdentity, at path: [UInt8]) {
        let entry = Entry(path: path, identity: identity, digest: digest, writtenAt: Date())
        let due = waiting.withLock { entries -> [Entry] in
            let limit = entry.writtenAt - Self.rest
            let count = entries.firstIndex { $0.writtenAt > limit } ?? entries.count
            defer {
                entries.removeFirst(count)
                entries.append(entry)
            }
            return Array(entries[..<count])
        }
        keep(due)
    }

    /// Waits for the last ones.
    func finish() async {
        let entries = waiting.withLock { entries in
            defer { entries = [] }
            return entries
        }
        guard let last = entries.last else { return }
        let wait = max(0, last.writtenAt.timeIntervalSinceNow + Self.rest)
        try? await Task.sleep(for: .seconds(wait))
        keep(entries)
    }

    private func keep(_ entries: [Entry]) {
        for entry in entries where FileIdentity(ofRegularFile: entry.path) == entry.identity {
            hashes.keep(entry.digest, for: entry.identity)
        }
    }
}
