internal import Foundation
internal import Glibc

/// Small files that are written atomically: either complete under their name, or not present.
package struct WholeFile: Sendable {
    /// Who may read the file.
    package enum Audience: Sendable {
        /// Only this user (0600).
        case owner
        /// Everyone permitted by the user's umask.
        case everyone
    }

    package var directory: TargetDirectory
    /// The name while the file is being written. Leftovers from a crashed process are overwritten.
    package var temporaryName: String
    package var audience: Audience

    /// If `temporaryName` is nil, a unique name is used.
    package init(in directory: TargetDirectory, temporaryName: String? = nil, audience: Audience) {
        self.directory = directory
        self.temporaryName = temporaryName ?? ".\(UUID().uuidString.lowercased()).part"
        self.audience = audience
    }

    /// The file to write at a path, whose directory must exist, and its name.
    package static func at(_ path: [UInt8], audience: Audience) throws(FileWriteError) -> (WholeFile, name: [UInt8]) {
        let name = path.nameOfPath
        guard !name.isEmpty else { throw FileWriteError(.io(errno: EISDIR), path: path) }
        let place = path.directoryOfPath
        let directory =
            audience == .owner
            ? try TargetDirectory.open(place, creating: false) : try TargetDirectory.openForAdding(place)
        guard let directory else { throw FileWriteError(.io(errno: ENOENT), path: path) }
        return (WholeFile(in: directory, audience: audience), name)
    }

    /// Tests whether the file can be created, and leaves nothing behind.
    package func probe() throws(FileWriteError) { try PartialFile.open(temporaryName, in: directory).discard() }

    /// Writes the file, renames it, and syncs it to disk. Blocks. `name` need not be UTF-8. If `isReplacing` is true,
    /// readers find either the old file or the new one, even after a crash.
    ///
    /// - Throws: `.exists` if the name is taken and nothing is replaced; `.unsynced` if the file is complete, and only
    ///   the sync of its name failed. After any other error, nothing has changed.
    package func write(_ bytes: [UInt8], as name: [UInt8], replacing isReplacing: Bool) throws(FileWriteError) {
        let file = try PartialFile.open(temporaryName, in: directory)
        do throws(FileWriteError) {
            try file.write(all: bytes)
            try publish(file, as: name, replacing: isReplacing)
        } catch {
            try? file.discard()
            throw error
        }
    }

    /// Writes a file in the same way from chunks, only one of which is in memory at a time. `nextBytes` returns nil
    /// after the last chunk.
    ///
    /// - Throws: `FileWriteError` as for `write(_:as:replacing:)`, and errors thrown by `nextBytes`.
    package func write(as name: [UInt8], replacing isReplacing: Bool, _ nextBytes: () throws -> [UInt8]?) throws {
        let file = try PartialFile.open(temporaryName, in: directory)
        do {
            try file.truncate(to: 0)
            var offset: Int64 = 0
            while let bytes = try nextBytes() {
                try bytes.withUnsafeBytes { try file.write($0, at: offset) }
                offset += Int64(bytes.count)
            }
            try publish(file, as: name, replacing: isReplacing)
        } catch {
            try? file.discard()
            throw error
        }
    }

    private func publish(_ file: PartialFile, as name: [UInt8], replacing isReplacing: Bool) throws(FileWriteError) {
        switch audience {
        case .owner: try file.makePrivate()
        case .everyone: try file.seal()
        }
        if isReplacing { try file.publish(replacing: name) } else { try file.publish(as: name) }
    }
}

extension PartialFile {
    /// Replaces the whole content. If this throws, some bytes may have been written.
    package func write(all bytes: [UInt8]) throws(FileWriteError) {
        try truncate(to: 0)
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileWriteError) in try write(buffer, at: 0) }
        }
        try result.get()
    }
}
