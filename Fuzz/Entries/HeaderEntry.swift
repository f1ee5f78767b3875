#if DEBUG || TESTABLE
    import GigHive
    import MediaTransport
    import PhotoSync
    @testable import Tus

    /// Values of header fields, and links.
    enum HeaderEntry {
        static func check(_ value: String) -> String? {
            if let delay = RetryAfter.parse(value, now: 1_700_000_000), delay < .zero {
                return "a negative wait: \(delay)"
            }
            let head = HTTPResponseHead(status: 200, headers: [HTTPHeader("content-type", value)])
            if let type = head.mediaType, type.contains(";") || type != type.lowercased() {
                return "a media type with parameters or capitals: \(type)"
            }
            return checkServer(value) ?? checkTus(value) ?? checkDownload(value) ?? checkLink(value)
        }

        /// An accepted URL is `http` or `https`, has a host, and is unchanged after it is parsed again.
        private static func checkServer(_ value: String) -> String? {
            guard let server = try? ServerURL(value) else { return nil }
            guard ["http", "https"].contains(server.origin.scheme), !server.origin.host.isEmpty else {
                return "an invalid server: \(server)"
            }
            guard let again = try? ServerURL(server.description), again.origin == server.origin else {
                return "\(server) does not round-trip"
            }
            return nil
        }

        private static func checkTus(_ value: String) -> String? {
            if let id = TusLocation.id(in: value, createdAt: "/files/"), !TusLocation.isID(id) || id.contains("/") {
                return "an invalid id of an upload: \(id)"
            }
            let names = ["Tus-Version", "Tus-Extension", "Tus-Max-Size", "Tus-Checksum-Algorithm", "Upload-Expires"]
            let head = HTTPResponseHead(status: 204, headers: names.map { HTTPHeader($0, value) })
            _ = head.expiry
            if let features = try? TusFeatures(head), (features.maximumBytes ?? 0) < 0 {
                return "a negative size: \(features)"
            }
            return nil
        }

        private static func checkDownload(_ value: String) -> String? {
            let names = ["Content-Range", "Content-Length", "X-PhotoSync-Hash", "Last-Modified"]
            for status in [200, 206, 416] {
                let headers = names.map { HTTPHeader($0, value) } + [HTTPHeader("Content-Range", "bytes " + value)]
                // Test each field alone, and all of them together.
                for fields in headers.map({ [$0] }) + [headers] {
                    guard let head = DownloadHead(HTTPResponseHead(status: status, headers: fields)) else { continue }
                    guard head.firstByte >= 0, (head.byteCount ?? 0) >= 0, (head.totalBytes ?? 0) >= 0,
                        head.sha256.map(Shape.isSHA256) ?? true
                    else { return "an invalid head of a download: \(head)" }
                }
            }
            return nil
        }

        private static func checkLink(_ value: String) -> String? {
            _ = EventToken.server(ofLink: value)
            guard let token = EventToken(value) else { return nil }
            return "\(token)" == "***" ? nil : "an unredacted token"
        }
    }
#endif
