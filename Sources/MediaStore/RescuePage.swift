import Foundation
internal import MediaCore
import MediaSystem

/// A part of a response as stored in one page of a rescue log: a text header, then the bytes as they arrived.
///
///     offset 0    "mediactl response\n"
///            18   "upload " and the ID, padded with spaces to 40 characters, "\n"
///            66   "status " and three digits, "\n"
///            77   "record " and eight digits: pages of one response have the same number, "\n"
///            93   "page " and five digits: the position of this page in the response, "\n"
///            104  "bytes " and four digits: number of bytes of the response in this page, "\n"
///            115  "time " and fifteen digits: milliseconds since 1970, "\n"
///            136  "check " and eight hexadecimal digits: CRC-32C of the bytes, then of offsets 0 to 135, "\n"
///            151  spaces, then "\n" at 159
///            160  the bytes
///
/// If the process is killed, a write within a page is complete or absent. After a power loss, the check detects a torn
/// page.
struct RescuePage: Equatable {
    var uploadID: String
    /// 100…999.
    var status: Int
    var record: Int
    /// The position of this page in the response, from 0.
    var index: Int
    var receivedAt: Date
    var bytes: [UInt8]

    /// No page of Linux is smaller.
    static let size = 4096
    static let headerCount = 160
    /// Bytes of a response that fit in one page.
    static let capacity = size - headerCount
    private static let checkedCount = 136

    /// The header, then the bytes.
    var encoded: [UInt8] {
        var text = "mediactl response\nupload \(uploadID)" + String(repeating: " ", count: 40 - uploadID.utf8.count)
        text += "\nstatus " + Self.digits(status, 3) + "\nrecord " + Self.digits(record, 8)
        text += "\npage " + Self.digits(index, 5) + "\nbytes " + Self.digits(bytes.count, 4)
        text += "\ntime " + Self.digits(Int(receivedAt.milliseconds), 15) + "\n"
        let check = CyclicCheck.castagnoli.of(text.utf8, after: CyclicCheck.castagnoli.of(bytes))
        text += "check " + Self.padded(String(check, radix: 16), 8) + "\n"
        text += String(repeating: " ", count: Self.headerCount - 1 - text.utf8.count) + "\n"
        return Array(text.utf8) + bytes
    }

    init(uploadID: String, status: Int, record: Int, index: Int, receivedAt: Date, bytes: [UInt8] = []) {
        self.uploadID = uploadID
        self.status = status
        self.record = record
        self.index = index
        self.receivedAt = receivedAt
        self.bytes = bytes
    }

    /// Reads a page.
    ///
    /// - Returns: nil for a page without a response, and for one whose check is wrong.
    init?(_ page: ArraySlice<UInt8>) {
        guard page.count >= Self.headerCount else { return nil }
        let header = page.prefix(Self.headerCount)
        let lines = String(decoding: header, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let names = ["", "upload ", "status ", "record ", "page ", "bytes ", "time ", "check "]
        guard lines.count >= names.count, lines[0] == "mediactl response",
            zip(lines, names).allSatisfy({ $0.hasPrefix($1) })
        else { return nil }
        let values = zip(lines, names).map { String($0.dropFirst($1.count)) }
        guard let count = Int(values[5]), (0...Self.capacity).contains(count), page.count >= Self.headerCount + count,
            let check = UInt32(values[7], radix: 16), let status = Int(values[2]), let record = Int(values[3]),
            let index = Int(values[4]), let milliseconds = Int64(values[6])
        else { return nil }
        let bytes = page.dropFirst(Self.headerCount).prefix(count)
        let content = CyclicCheck.castagnoli.of(bytes)
        guard CyclicCheck.castagnoli.of(header.prefix(Self.checkedCount), after: content) == check else { return nil }
        uploadID = values[1].trimmingCharacters(in: .whitespaces)
        self.status = status
        self.record = record
        self.index = index
        receivedAt = Date(milliseconds: milliseconds)
        self.bytes = Array(bytes)
    }

    /// A number with leading zeros; if it has too many digits, the largest one that fits.
    private static func digits(_ value: Int, _ count: Int) -> String {
        let text = String(max(value, 0))
        return text.utf8.count > count ? String(repeating: "9", count: count) : padded(text, count)
    }

    private static func padded(_ text: String, _ count: Int) -> String {
        String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
