import Foundation
import Glibc
internal import MediaCore
import Synchronization

/// Reads the rescue files left by exited processes: logs, and the files written by release 0.1.0, each of which has one
/// response.
enum RescueFiles {
    /// The content of a file.
    enum Content {
        /// The responses in a log, in the order in which they began; or the response in a file written by release
        /// 0.1.0.
        case responses([Response])
        /// Unknown content that may contain a delete token. Only the user can identify it.
        case unknown
        /// No possible delete token: the creation of the file was interrupted.
        case nothing
    }

    struct Response {
        var uploadID: String
        var status: Int?
        var body: [UInt8]
        /// nil if the file does not contain this time.
        var receivedAt: Date?
        /// The response's pages in the log, in order; empty for a file written by release 0.1.0.
        var pages: [Int] = []
    }

    /// Reads the content of a file.
    static func content(of bytes: [UInt8]) -> Content {
        if bytes.starts(with: RescueLog.title.utf8) { return .responses(logged(bytes)) }
        if let old = OldRescueFile(bytes) { return .responses(old.response.map { [$0] } ?? []) }
        return holdsToken(bytes) ? .unknown : .nothing
    }

    /// The responses in a log. A page whose check is wrong is ignored, as are the later pages of its response.
    private static func logged(_ bytes: [UInt8]) -> [Response] {
        var records: [Int: [Int: (place: Int, page: RescuePage)]] = [:]
        for (place, start) in stride(from: 0, to: bytes.count, by: RescuePage.size).enumerated().dropFirst() {
            guard let page = RescuePage(bytes[start..<min(start + RescuePage.size, bytes.count)]) else { continue }
            records[page.record, default: [:]][page.index] = (place, page)
        }
        return records.sorted { $0.key < $1.key }.compactMap { _, pages in
            guard let first = pages[0]?.page else { return nil }
            var response = Response(uploadID: first.uploadID, status: first.status, body: [], receivedAt: nil)
            for index in 0..<pages.count {
                guard let (place, page) = pages[index], page.uploadID == first.uploadID, page.status == first.status,
                    response.body.count == index * RescuePage.capacity
                else { break }
                response.body += page.bytes
                response.pages.append(place)
                response.receivedAt = page.receivedAt
            }
            return response
        }
    }

    /// Whether there are 64 hexadecimal characters in a row: a token (gighive contract section 0), or a digest.
    private static func holdsToken(_ bytes: [UInt8]) -> Bool {
        var count = 0
        for byte in bytes {
            count = HexText.isDigit(byte) ? count + 1 : 0
            if count == 64 { return true }
        }
        return false
    }
}

/// A rescue file written by release 0.1.0: a header of 128 bytes, the bytes of one response, then zeros.
///
///     offset 0    "mediactl rescue 1\n"
///            18   "upload " and the ID, padded with spaces to 40 characters, "\n"
///            66   "status " and three digits, 000 before any response, "\n"
///            77   spaces, then "\n" at 127
private struct OldRescueFile {
    /// nil without a response.
    var response: RescueFiles.Response?

    /// - Returns: nil if the header is incomplete.
    init?(_ bytes: [UInt8]) {
        let headerCount = 128
        guard bytes.count >= headerCount, bytes.starts(with: "mediactl rescue 1\n".utf8) else { return nil }
        let text = { (range: Range<Int>) in String(decoding: bytes[range], as: UTF8.self) }
        guard let status = Int(text(73..<76)), status != 0 else { return }
        let end = max((bytes.lastIndex { $0 != 0 } ?? 0) + 1, headerCount)
        response = RescueFiles.Response(
            uploadID: text(25..<65).filter { $0 != " " },
            status: status,
            body: Array(bytes[headerCount..<end])
        )
    }
}

/// A rescue file whose process has exited. It stays locked while one of its responses is in use, and is removed with
/// the last one.
final class AbandonedRescueFile: Sendable {
    let file: LockedFile
    /// Number of responses that are still in the file.
    private let count: Mutex<Int>

    init(_ file: LockedFile, count: Int) {
        self.file = file
        self.count = Mutex(count)
    }

    /// Removes a response, which has these pages, from the disk.
    func remove(_ pages: [Int]) {
        count.withLock { count in
            count -= 1
            if count == 0 {
                file.remove()
            } else {
                // A response that could not be overwritten is adopted again, which has no effect.
                try? RescueRecord.clear(pages[...], in: file)
            }
        }
    }
}
