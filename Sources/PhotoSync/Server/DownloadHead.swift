internal import MediaCore
package import MediaTransport
internal import Synchronization

/// Metadata of the stored file in the head of a download (contract section 6).
public struct DownloadHead: Sendable, Equatable {
    /// 200, 206 or 416.
    public var status: Int
    /// Offset of this response's first byte in the file; 0 for a 200.
    public var firstByte: Int64 = 0
    /// Content length of this response; nil if unspecified.
    public var byteCount: Int64?
    /// Length of the stored file, which often differs from the uploaded length (trap 12); nil if unknown.
    public var totalBytes: Int64?
    /// `Last-Modified`, for `If-Range`.
    public var lastModified: String?
    /// SHA-256 of the bytes as uploaded, 64 lowercase hexadecimal digits; the stored bytes may differ.
    public var sha256: String?
}

extension DownloadHead {
    /// Parses a head.
    ///
    /// - Returns: nil for a 206 without a valid `Content-Range`.
    package init?(_ head: HTTPResponseHead) {
        let announced = head.value(of: "Content-Length").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
        let range = head.value(of: "Content-Range").flatMap(ContentRange.init)
        self.init(
            status: head.status,
            lastModified: head.value(of: "Last-Modified"),
            sha256: head.value(of: "X-PhotoSync-Hash").flatMap(SHA256Text.lowerCased)
        )
        switch status {
        case 206:
            guard let range, let first = range.first, let length = range.byteCount,
                announced == nil || announced == length
            else { return nil }
            (firstByte, byteCount, totalBytes) = (first, length, range.total)
        case 416: totalBytes = range?.total
        default: (byteCount, totalBytes) = (announced, announced)
        }
    }
}

extension PhotoSyncError {
    /// A response that does not come from the server's download route.
    static func withoutHash(_ status: Int?) -> PhotoSyncError {
        PhotoSyncError(.unexpectedResponse, detail: "a response without X-PhotoSync-Hash", httpStatus: status)
    }
}

/// `Content-Range` (RFC 9110 section 14.4): `bytes a-b/total`, where `*` may replace either side of the slash.
private struct ContentRange {
    var first: Int64?
    var byteCount: Int64?
    var total: Int64?

    /// - Returns: nil if the value is not a byte range, or if the range ends before it begins or after the total.
    init?(_ value: String) {
        guard let match = value.wholeMatch(of: /(?i:bytes)\s+(?:(\d+)-(\d+)|\*)\/(?:(\d+)|\*)/) else { return nil }
        if let text = match.3 {
            guard let total = Int64(text) else { return nil }
            self.total = total
        }
        guard let firstText = match.1, let lastText = match.2 else { return }
        guard let first = Int64(firstText), let last = Int64(lastText), last >= first, last < total ?? .max else {
            return nil
        }
        self.first = first
        byteCount = last - first + 1
    }
}

/// Passes only bytes of the photo to the receiver of a download: neither error pages nor a range other than the
/// requested one.
final class DownloadGate: ResponseReceiver {
    private struct State {
        var head: DownloadHead?
        var isOpen = false
    }

    /// The error body that is withheld from the receiver.
    let refusal = BodyPrefix()
    private let offset: Int64
    private let receiver: any ResponseReceiver
    private let state = Mutex(State())

    init(offset: Int64, receiver: any ResponseReceiver) {
        self.offset = offset
        self.receiver = receiver
    }

    /// The header fields that request the bytes from the offset onward (RFC 9110 sections 13.1.5 and 14.2).
    func rangeHeaders(ifRange: String?) -> [HTTPHeader] {
        guard offset > 0 else { return [] }
        return [HTTPHeader("Range", "bytes=\(offset)-")] + (ifRange.map { [HTTPHeader("If-Range", $0)] } ?? [])
    }

    /// nil if the download was refused.
    var head: DownloadHead? { state.withLock { $0.head } }

    func begin(_ head: HTTPResponseHead) throws {
        let isWanted = head.status == 200 || (offset > 0 && (head.status == 206 || head.status == 416))
        guard isWanted else { return }
        guard let found = DownloadHead(head), head.status != 206 || found.firstByte == offset else {
            throw PhotoSyncError(.unexpectedResponse, detail: "not the requested range", httpStatus: head.status)
        }
        let isOpen = head.status != 416
        state.withLock { state in
            state.head = found
            state.isOpen = isOpen
        }
        if isOpen { try receiver.begin(head) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        if state.withLock({ $0.isOpen }) { try receiver.receive(bytes) } else { refusal.receive(bytes) }
    }
}
