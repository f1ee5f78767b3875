import GigHive
import MediaStore
import MediaTransport
import PhotoSync

/// What the fuzzers call, and what the gate replays their corpora through.
///
/// Nothing here may crash, whatever the bytes, and each check also holds the parser to what it promises.
public enum FuzzEntry: String, CaseIterable, Sendable {
    /// The answer to an upload: JSON, an HTML page with JSON in it, or what is left of either.
    case reply = "FuzzReply"
    /// The value of a header field, as `Retry-After`, `Content-Type` and `Location`.
    case headerField = "FuzzHeaders"
    /// A page of PhotoSync's listing.
    case photoPage = "FuzzPages"

    /// Feeds one input.
    ///
    /// - Parameter input: Any bytes.
    /// - Returns: The promise that was broken; nil when all is well.
    public func check(_ input: [UInt8]) -> String? {
        switch self {
        case .reply: Self.checkReply(input)
        case .headerField: Self.checkHeaderField(String(decoding: input, as: UTF8.self))
        case .photoPage: Self.checkPhotoPage(input)
        }
    }

    private static func checkReply(_ body: [UInt8]) -> String? {
        let reply = UploadReply.parse(status: 201, body: body)
        if reply.status != 201 {
            return "the status changed"
        }
        if let checksum = reply.checksumSHA256, !isLowerCaseSHA256(checksum) {
            return "a checksum of another shape: \(checksum)"
        }
        if let id = reply.fileID, id < 0 {
            return "a negative id: \(id)"
        }
        return nil
    }

    private static func checkHeaderField(_ value: String) -> String? {
        if let delay = RetryAfter.parse(value, now: 1_700_000_000), delay < .zero {
            return "a negative wait: \(delay)"
        }
        let head = HTTPResponseHead(status: 200, headers: [HTTPHeader("content-type", value)])
        if let type = head.mediaType, type.contains(";") || type != type.lowercased() {
            return "a media type with parameters or capitals: \(type)"
        }
        if let server = try? ServerURL(value) {
            return checkServer(server)
        }
        return nil
    }

    /// What is read of a page can be kept: it has ids, digests, sizes, and times that mean themselves.
    private static func checkPhotoPage(_ body: [UInt8]) -> String? {
        guard let page = try? PhotoPageParser.page(in: body) else { return nil }
        if page.cursor?.isEmpty == true || page.totalCount < 0 {
            return "an odd position: \(String(describing: page.cursor)) of \(page.totalCount)"
        }
        for photo in page.photos {
            guard !photo.id.isEmpty, isLowerCaseSHA256(photo.sha256), photo.fileSize >= 0,
                photo.originDevice?.id.isEmpty != true, (photo.width ?? 0) >= 0, (photo.height ?? 0) >= 0
            else { return "an odd photo: \(photo)" }
            for time in [photo.takenAt, photo.uploadedAt] where !meansItself(time) {
                return "an odd time: \(time)"
            }
        }
        return nil
    }

    /// A time that is read, written and read again is the same; only an offset can lead out of the years that can be
    /// written.
    private static func meansItself(_ time: PhotoTime) -> Bool {
        guard let text = RFC3339.text(microseconds: time.microseconds) else { return !time.text.hasSuffix("Z") }
        return RFC3339.time(text)?.microseconds == time.microseconds
    }

    /// An accepted address is `http` or `https`, names a host, and means the same when it is read again.
    private static func checkServer(_ server: ServerURL) -> String? {
        guard ["http", "https"].contains(server.origin.scheme), !server.origin.host.isEmpty else {
            return "an odd server: \(server)"
        }
        guard let again = try? ServerURL(server.description), again.origin == server.origin else {
            return "\(server) does not mean itself"
        }
        return nil
    }

    private static func isLowerCaseSHA256(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
