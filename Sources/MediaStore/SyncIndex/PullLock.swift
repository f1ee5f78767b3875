import Foundation
import Glibc
internal import MediaCore

/// Held by the process that lists a server's photos into the index: a second listing would number the first one anew, and
/// so end it. The lock ends with the process, however it ends.
public final class PullLock: Sendable {
    private let file: LockedFile?

    fileprivate init(_ file: LockedFile?) {
        self.file = file
    }

    /// Lets another process list. Also done when the last reference goes; a caller that must not lose the lock earlier
    /// keeps the object by calling this at the end.
    public func release() { file?.unlock() }
}

extension SyncIndex {
    /// Tries to become the only process that lists this server; nil when another one does.
    public func lockPull(of server: String) throws(StoreError) -> PullLock? {
        guard let path = pullLockPath(of: server) else { return PullLock(nil) }
        guard let file = try LockedFile.openOrCreate(path) else { return nil }
        // For messages of others only.
        let text = Array("\(getpid())\n".utf8)
        _ = ftruncate(file.descriptor, 0)
        try? file.write(text, at: 0)
        return PullLock(file)
    }

    /// The id of the process that lists this server, or did last; nil when unknown.
    public func pullOwner(of server: String) -> Int32? {
        pullLockPath(of: server).flatMap { FileManager.default.contents(atPath: $0) }
            .flatMap { Int32(String(decoding: $0, as: UTF8.self).prefix { $0 != "\n" }) }
    }

    private func pullLockPath(of server: String) -> String? {
        directory?.lockFile("sync-" + String(server.utf8.fnv1a, radix: 16))
    }
}
