import Foundation
import GRDB
import Glibc
internal import MediaCore
import MediaSystem

/// Damaged stores that a repair has set aside. They still have tokens, which must go when they are deleted.
struct DamagedCopies {
    private static let mark = ".damaged-"

    let directory: DataDirectory

    static func name(of schema: StoreSchema, _ now: Date) -> String {
        schema.fileName + mark + FileTime.text(now)
    }

    /// Whether an entry of the data directory is a damaged store, by its name.
    static func isName(_ name: String) -> Bool { name.hasPrefix(StoreSchema.tokens.fileName + mark) }

    private func paths() throws(StoreError) -> [String] {
        try directory.entries(withPrefix: StoreSchema.tokens.fileName + Self.mark).map(directory.file)
    }

    /// Overwrites tokens with zeros wherever they are: what is damaged has no rows to delete.
    ///
    /// - Throws: `StoreError`.
    func erase(_ secrets: [String]) throws(StoreError) {
        for path in try paths() {
            guard let status = try FileStatus(at: path), status.isRegularFile else { continue }
            for secret in secrets { try erase(Array(secret.utf8), in: path) }
        }
    }

    private func erase(_ secret: [UInt8], in path: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError(errno: errno, path: path, action: "cannot open") }
        defer { close(descriptor) }
        let size = 1 << 20
        var offset: Int64 = 0
        var hasChanged = false
        while true {
            guard let chunk = try? FileBytes.read(descriptor, at: offset, count: size) else {
                throw StoreError(errno: errno, path: path, action: "cannot read")
            }
            for range in chunk.ranges(of: secret) {
                let zeros = [UInt8](repeating: 0, count: range.count)
                let failure = zeros.withUnsafeBytes {
                    FileBytes.write($0, to: descriptor, at: offset + Int64(range.lowerBound)).failure
                }
                if let failure { throw StoreError(errno: failure.code, path: path, action: "cannot write") }
                hasChanged = true
            }
            guard chunk.count == size else { break }
            // One may begin in a piece and end in the next.
            offset += Int64(size - secret.count + 1)
        }
        guard !hasChanged || fsync(descriptor) == 0 else {
            throw StoreError(errno: errno, path: path, action: "cannot synchronize")
        }
    }

    /// Removes all of them.
    ///
    /// - Throws: `StoreError`.
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

    /// - Returns: nil for another form.
    static func date(_ text: some StringProtocol) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        let time = CivilTime(
            year: bytes.decimal(at: 0, count: 4),
            month: bytes.decimal(at: 4, count: 2),
            day: bytes.decimal(at: 6, count: 2),
            hour: bytes.decimal(at: 9, count: 2),
            minute: bytes.decimal(at: 11, count: 2),
            second: bytes.decimal(at: 13, count: 2)
        )
        return time.map { Date(timeIntervalSince1970: Double($0.secondsSince1970)) }
    }
}
