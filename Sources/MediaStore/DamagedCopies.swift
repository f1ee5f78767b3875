import Foundation
import GRDB
import Glibc
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
        var seconds = time_t(date.timeIntervalSince1970)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let number = { (value: Int32, digits: Int) in
            let text = String(value)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        return number(parts.tm_year + 1900, 4) + number(parts.tm_mon + 1, 2) + number(parts.tm_mday, 2) + "T"
            + number(parts.tm_hour, 2) + number(parts.tm_min, 2) + number(parts.tm_sec, 2) + "Z"
    }

    /// - Returns: nil for another form.
    static func date(_ text: some StringProtocol) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        let number = { (range: Range<Int>) in Int32(String(decoding: bytes[range], as: UTF8.self)) ?? -1 }
        var parts = tm()
        parts.tm_year = number(0..<4) - 1900
        parts.tm_mon = number(4..<6) - 1
        parts.tm_mday = number(6..<8)
        parts.tm_hour = number(9..<11)
        parts.tm_min = number(11..<13)
        parts.tm_sec = number(13..<15)
        guard (0...11).contains(parts.tm_mon), (1...31).contains(parts.tm_mday) else { return nil }
        return Date(timeIntervalSince1970: Double(timegm(&parts)))
    }
}
