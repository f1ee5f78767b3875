internal import Foundation
internal import MediaCore
public import MediaCrypto
internal import MediaTransport

extension TusClient {
    /// Address of an upload on the configured server, as a path.
    ///
    /// - Throws: `TusError` `.refused` for what cannot be the id of an upload.
    func resource(_ id: String) throws(TusError) -> String {
        guard TusLocation.isID(id) else { throw TusError(.refused, detail: "\"\(id)\" is not the id of an upload") }
        return path + PercentEncoding.encode(id)
    }

    /// A request with the fields that every one has. Only `OPTIONS` goes without a version (tus 1.0.0 "Tus-Resumable").
    func request(
        _ method: HTTPMethod,
        _ resource: String? = nil,
        headers: [HTTPHeader] = [],
        body: (any RequestBody)? = nil,
        repeatability: Repeatability = .safe,
        repeatsUnavailable: Bool = true
    ) -> HTTPRequest {
        let version = method == .options ? [] : [HTTPHeader("Tus-Resumable", "1.0.0")]
        return HTTPRequest(
            method,
            server.resource(resource ?? path),
            headers: version + self.headers + headers,
            body: body,
            authorization: authorization,
            repeatability: repeatability,
            verdict: { head in
                // A limit on unfinished uploads concerns no other request.
                if method == .post, case .atMostOnce = repeatability, head.status == 429 { return .final }
                return repeatsUnavailable || head.status != 503 ? .byStatus : .final
            },
            // Creation has checked the credentials, and a server that does not know the field costs a second a chunk.
            asksBeforeLargeBody: false,
            timeouts: timeouts,
            destination: .memory(limit: 64 << 10)
        )
    }

    /// - Throws: `TusError` for everything but a 2xx.
    func exchange(
        _ request: HTTPRequest,
        as verb: TusVerb,
        _ control: TransferControl
    ) async throws(TusError) -> HTTPResponse {
        let answer: HTTPResponse
        do throws(TransportError) {
            answer = try await http.execute(request, control: control)
        } catch {
            throw TusError(error)
        }
        guard (200..<300).contains(answer.status) else { throw TusError(answer: answer, to: verb) }
        return answer
    }

    func create(
        _ fields: [HTTPHeader],
        _ metadata: [TusMetadata],
        repeatsUnavailable: Bool = true,
        isRepeatable: Bool = true,
        _ control: TransferControl
    ) async throws(TusError) -> TusCreation {
        var fields = fields
        if let value = try TusMetadata.fieldValue(of: metadata) { fields.append(HTTPHeader("Upload-Metadata", value)) }
        // libcurl would call an empty body a form.
        fields.append(HTTPHeader("Content-Type", ""))
        let request = request(
            .post,
            headers: fields,
            repeatability: isRepeatable ? .safe : .atMostOnce,
            repeatsUnavailable: repeatsUnavailable
        )
        return try creation(of: await exchange(request, as: .create, control))
    }

    func creation(of answer: HTTPResponse) throws(TusError) -> TusCreation {
        guard let location = answer.head.value(of: "Location") else {
            throw TusError(.unexpectedAnswer, detail: "the answer names no upload", status: answer.status)
        }
        guard let id = TusLocation.id(in: location, createdAt: path) else {
            throw TusError(.unexpectedAnswer, detail: "no upload can be named \"\(location)\"", status: answer.status)
        }
        return TusCreation(id: id, expiresAt: answer.head.expiry)
    }

    func head(
        _ id: String,
        repeatability: Repeatability,
        _ control: TransferControl
    ) async throws(TusError) -> TusStatus {
        let request = request(.head, try resource(id), repeatability: repeatability)
        let answer = try await exchange(request, as: .head, control)
        guard let offset = answer.head.byteCount("Upload-Offset") else {
            throw TusError(.unexpectedAnswer, detail: "the answer has no Upload-Offset", status: answer.status)
        }
        return TusStatus(
            offset: offset,
            byteCount: answer.head.byteCount("Upload-Length"),
            expiresAt: answer.head.expiry
        )
    }

    /// Repeats something as long as the upload is locked and the policy lasts.
    func waitingForLocks<Value: Sendable>(
        _ control: TransferControl,
        _ policy: RetryPolicy = .tusLock,
        _ onLock: () -> Void = {},
        _ body: () async throws(TusError) -> Value
    ) async throws(TusError) -> Value {
        var locks = Backoff(policy)
        return try await locks.run(
            pausing: control.waitForStop(upTo:),
            canceled: TusError(.cancelled),
            retryAfter: { $0.kind == .locked ? .zero : nil },
            onRetry: { (_, _, _) throws(TusError) in onLock() },
            body
        )
    }
}

extension HTTPResponseHead {
    /// A field that holds a number of bytes; nil when it is missing or no such number.
    func byteCount(_ name: String) -> Int64? {
        guard let value = value(of: name), value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(value)
    }

    /// `Upload-Expires` (extension "expiration": a date as in RFC 9110 section 5.6.7).
    var expiry: Date? {
        value(of: "Upload-Expires").flatMap { HTTPDate.parse($0) }.map { Date(timeIntervalSince1970: Double($0)) }
    }
}

extension TusFeatures {
    /// Reads the answer to `OPTIONS`.
    init(_ head: HTTPResponseHead) throws(TusError) {
        func list(_ name: String) -> [String] {
            (head.value(of: name) ?? "").split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
                .filter { !$0.isEmpty }
        }
        let versions = list("Tus-Version")
        guard versions.contains("1.0.0") else {
            let detail = versions.isEmpty ? "no tus server answers there" : "the server speaks tus \(versions)"
            throw TusError(.unsupported, detail: detail, status: head.status)
        }
        self.init(
            versions: versions,
            extensions: Set(list("Tus-Extension").compactMap { Extension(rawValue: $0.lowercased()) }),
            maximumBytes: head.byteCount("Tus-Max-Size"),
            checksumAlgorithms: list("Tus-Checksum-Algorithm")
        )
    }

    /// The better of the two checksums that both sides know; nil where the extension is not offered.
    public var preferredChecksum: DigestAlgorithm? {
        guard extensions.contains(.checksum) else { return nil }
        return [.sha256, .sha1].first { checksumAlgorithms.contains($0.tusName) }
    }
}

extension DigestAlgorithm {
    /// The name in `Upload-Checksum` (extension "checksum").
    var tusName: String {
        switch self {
        case .sha256: "sha256"
        case .sha1: "sha1"
        }
    }
}
