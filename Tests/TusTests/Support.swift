import Foundation
import Glibc
import MediaCrypto
import MediaTransport
import Synchronization
import TestSupport
import Tus

/// A tus server with one upload whose faults are set by a test.
final class TusServer: Sendable {
    /// The handling of a request.
    enum Act: Sendable {
        /// As required by the protocol.
        case obey
        /// The request is read completely and gets this response; nothing is stored.
        case response(Int, [String] = [], body: String = "", type: String = "text/plain")
        /// The bytes are stored, and this is the response.
        case storeAndRespond(Int, [String] = [], body: String = "", type: String = "text/plain")
        /// The connection is reset after this many body bytes; they are stored, or lost (in a firewall that buffers).
        case reset(afterBytes: Int, storing: Bool)
        /// Everything is stored, then the connection closes without a response.
        case closeUnanswered
    }

    struct Request: Sendable {
        var method: String
        var target: String
        var head: String
        var connection: Int
        var bodyLength: Int

        func header(_ name: String) -> String? {
            let prefix = name.lowercased() + ":"
            return head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(prefix) }
                .map { $0.dropFirst(prefix.count).trimmingCharacters(in: .whitespaces) }
        }
    }

    struct State: Sendable {
        var stored: [UInt8] = []
        var length: Int
        var requests: [Request] = []
    }

    /// State shared by the threads of the listener and the test.
    private final class Shared: Sendable {
        let state: Mutex<State>
        let closed = Gate()
        init(_ state: State) { self.state = Mutex(state) }
    }

    private let shared: Shared
    private let listener: ScriptedServer

    /// Starts listening.
    /// - Parameters:
    ///   - length: Length of the upload.
    ///   - stored: Bytes already stored.
    ///   - script: The handling of a request, given its number among the requests with its method, from 1.
    ///   - beforeLastByte: Called when all bytes of a PATCH but the last have been read.
    /// - Throws: An error if no port is available.
    init(
        length: Int,
        stored: [UInt8] = [],
        script: @escaping @Sendable (Request, Int) -> Act = { _, _ in .obey },
        beforeLastByte: @escaping @Sendable () -> Void = {}
    ) throws {
        let shared = Shared(State(stored: stored, length: length))
        self.shared = shared
        listener = try ScriptedServer { connection, number in
            defer { shared.closed.open() }
            while true {
                let head = try connection.readHead()
                let words = head.split(separator: " ", maxSplits: 2)
                let request = Request(
                    method: String(words[0]),
                    target: String(words[1]),
                    head: head,
                    connection: number,
                    bodyLength: ScriptedServer.Connection.contentLength(of: head)
                )
                let count = shared.state.withLock { state in
                    state.requests.append(request)
                    return state.requests.count { $0.method == request.method }
                }
                switch script(request, count) {
                case .obey:
                    let body = try Self.body(of: request, connection, beforeLastByte)
                    try Self.obey(request, body, connection, shared)
                case .response(let status, let headers, let text, let type):
                    try connection.readBody(request.bodyLength)
                    try Self.response(status, headers, text, type, to: request, connection)
                case .storeAndRespond(let status, let headers, let text, let type):
                    let body = try connection.readBody(request.bodyLength)
                    shared.state.withLock { $0.stored += body }
                    try Self.response(status, headers, text, type, to: request, connection)
                case .reset(let count, let storing):
                    let body = try connection.readBody(min(count, request.bodyLength))
                    if storing { shared.state.withLock { $0.stored += body } }
                    return connection.reset()
                case .closeUnanswered:
                    let body = try connection.readBody(request.bodyLength)
                    shared.state.withLock { $0.stored += body }
                    return
                }
            }
        }
    }

    var address: String { listener.address }
    var stored: [UInt8] { shared.state.withLock { $0.stored } }
    var requests: [Request] { shared.state.withLock { $0.requests } }
    /// Opens once for each connection that was closed.
    var closed: Gate { shared.closed }
    var connectionCount: Int { listener.connectionCount }

    /// Methods in order of arrival.
    var methods: [String] { requests.map(\.method) }

    /// Lengths of the PATCH bodies in order.
    var chunks: [Int] { requests.filter { $0.method == "PATCH" }.map(\.bodyLength) }

    func client(path: String = "/files/", retries: Int = 3, headers: [HTTPHeader] = []) throws -> TusClient {
        let server = try ServerURL(address)
        return TusClient(
            http: try HTTPClient(
                configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: retries, base: .zero))
            ),
            server: server,
            path: path,
            authorization: .basic(user: "uploader", password: "secret", for: server.origin),
            headers: headers
        )
    }

    private static func body(
        of request: Request,
        _ connection: ScriptedServer.Connection,
        _ beforeLastByte: () -> Void
    ) throws -> [UInt8] {
        guard request.bodyLength > 0 else { return [] }
        let most = try connection.readBody(request.bodyLength - 1)
        beforeLastByte()
        return most + (try connection.readBody(1))
    }

    /// tus 1.0.0.
    private static func obey(
        _ request: Request,
        _ body: [UInt8],
        _ connection: ScriptedServer.Connection,
        _ shared: Shared
    ) throws {
        let (offset, length) = shared.state.withLock { state in
            if request.method == "PATCH", request.header("Upload-Offset") == String(state.stored.count) {
                state.stored += body
                return (state.stored.count, state.length)
            }
            return (request.method == "PATCH" ? -1 : state.stored.count, state.length)
        }
        switch request.method {
        case "OPTIONS":
            try response(
                204,
                ["Tus-Version: 1.0.0", "Tus-Extension: creation,termination"],
                "",
                "",
                to: request,
                connection
            )
        case "POST": try response(201, ["Location: /files/abc"], "", "", to: request, connection)
        case "HEAD":
            try response(
                200,
                ["Upload-Offset: \(offset)", "Upload-Length: \(length)"],
                "",
                "",
                to: request,
                connection
            )
        case "PATCH" where offset < 0:
            try response(409, [], "ERR_MISMATCHED_OFFSET", "text/plain", to: request, connection)
        case "PATCH": try response(204, ["Upload-Offset: \(offset)"], "", "", to: request, connection)
        default: try response(204, [], "", "", to: request, connection)
        }
    }

    private static func response(
        _ status: Int,
        _ headers: [String],
        _ body: String,
        _ type: String,
        to request: Request,
        _ connection: ScriptedServer.Connection
    ) throws {
        var lines = ["HTTP/1.1 \(status) Scripted"] + headers
        if !type.isEmpty { lines.append("Content-Type: \(type)") }
        if type != "text/html" { lines.append("Tus-Resumable: 1.0.0") }
        if status != 204 { lines.append("Content-Length: \(body.utf8.count)") }
        try connection.write(lines.joined(separator: "\r\n") + "\r\n\r\n" + (request.method == "HEAD" ? "" : body))
    }
}

/// A file to upload, and the stored digests.
final class Source: Sendable {
    let bytes: [UInt8]
    let path: String
    private let directory: TemporaryDirectory
    private let kept = Mutex<[TusProof]>([])

    /// Bytes with a period of 2 MiB, so that a copy shifted by less differs from the original.
    init(_ byteCount: Int) throws {
        bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
        directory = try TemporaryDirectory()
        path = directory.file("source")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    var proofs: [TusProof] { kept.withLock { $0 } }

    var digest: SHA256Digest { get throws { try Self.digest(of: bytes) } }

    /// Computed in one pass, unlike the digest under test.
    static func digest(of bytes: [UInt8]) throws -> SHA256Digest {
        var hasher = try SHA256Hasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return try hasher.snapshot()
    }

    func proof(at offset: Int) throws -> TusProof {
        TusProof(offset: Int64(offset), digest: try Self.digest(of: Array(bytes[..<offset])))
    }

    func content(
        _ range: Range<Int>? = nil,
        proofs: [TusProof] = [],
        keep: (@Sendable (TusProof) async throws -> Void)? = nil
    ) -> TusContent {
        let range = range ?? 0..<bytes.count
        return TusContent(start: Int64(range.lowerBound), byteCount: Int64(range.count), proofs: proofs) { [path] in
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw FileContentError.unreadable(errno: errno) }
            var status = stat()
            fstat(descriptor, &status)
            return FileContent(owning: descriptor, byteCount: Int64(status.st_size))
        } keep: { proof in
            if let keep { try await keep(proof) }
            self.kept.withLock { $0.append(proof) }
        }
    }
}

extension Source {
    /// Sends the file to the upload of a server.
    func send(
        to server: TusServer,
        proofs: [TusProof] = [],
        options: TusSendOptions = plainOptions(),
        onEvent: @escaping @Sendable (TusEvent) -> Void = { _ in }
    ) async throws -> Result<TusDelivery, TusError> {
        let client = try server.client()
        do throws(TusError) {
            let content = self.content(proofs: proofs)
            return .success(try await client.send(content, to: "abc", options: options, onEvent: onEvent))
        } catch {
            return .failure(error)
        }
    }
}

/// Chunks of 1,000 bytes that never grow, and no delays.
func plainOptions(
    chunk: Int64 = 1000,
    minimum: Int64 = 1,
    maximum: Int64? = nil,
    retries: Int = 3,
    lockLimit: Duration = .seconds(20)
) -> TusSendOptions {
    TusSendOptions(
        chunkBytes: chunk,
        minimumChunkBytes: minimum,
        maximumChunkBytes: maximum ?? chunk,
        retry: RetryPolicy(retries: retries, base: .zero),
        lock: RetryPolicy(delays: [.milliseconds(1)], cap: .seconds(30), totalDelay: lockLimit)
    )
}

/// The error thrown by a call, or nil.
func tusError<Value>(_ call: () async throws(TusError) -> Value) async -> TusError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}
