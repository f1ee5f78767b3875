import Foundation
import Glibc
import MediaTransport
import Synchronization
import TestSupport

/// A client without delays between attempts that, by default, keeps its connections even on a slow machine.
func client(
    retries: Int = 0,
    trust: ServerTrust = ServerTrust(),
    http2: Bool = false,
    rate: Int64? = nil,
    idleLimit: Duration = .seconds(3600)
) throws -> HTTPClient {
    var configuration = HTTPClientConfiguration(
        trust: trust,
        http2: http2,
        retry: RetryPolicy(retries: retries, base: .zero),
        maximumSendRate: rate
    )
    configuration.idleLimit = idleLimit
    return try HTTPClient(configuration: configuration)
}

extension ScriptedServer {
    func url(_ path: String = "/") throws -> RequestURL {
        try ServerURL(address).resource(path)
    }
}

/// A body of this many bytes that records how far it was read and how often it was restarted.
final class CountingBody: RequestBody {
    let byteCount: Int64
    private let state = Mutex((read: Int64(0), rewinds: 0))

    init(_ byteCount: Int64) {
        self.byteCount = byteCount
    }

    var bytesRead: Int64 { state.withLock { $0.read } }

    func makeReader() -> any RequestBodyReader { Reader(self) }

    private final class Reader: RequestBodyReader {
        let body: CountingBody
        var offset: Int64 = 0

        init(_ body: CountingBody) { self.body = body }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = Int(min(Int64(buffer.count), body.byteCount - offset))
            guard count > 0 else { return 0 }
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0x78)
            offset += Int64(count)
            body.state.withLock { $0.read += Int64(count) }
            return count
        }

        func rewind() {
            offset = 0
            body.state.withLock { $0.rewinds += 1 }
        }
    }
}

/// Stores the reports of a progress callback.
final class ProgressLog: Sendable {
    private let values = Mutex<[TransferProgress]>([])

    var all: [TransferProgress] { values.withLock { $0 } }

    func add(_ value: TransferProgress) {
        values.withLock { $0.append(value) }
    }
}

/// The error thrown by a call, or nil.
func transportError(_ call: () async throws(TransportError) -> HTTPResponse) async -> TransportError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}

/// The error of a request, or nil; by default, the client does not repeat it.
func transportError(
    of request: HTTPRequest,
    by http: HTTPClient? = nil,
    control: TransferControl = TransferControl()
) async throws -> TransportError? {
    let http = try http ?? client()
    return await transportError { () async throws(TransportError) in try await http.execute(request, control: control) }
}

/// A file with these bytes, open for reading.
func openFile(_ bytes: [UInt8], in directory: TemporaryDirectory) throws -> (path: String, content: FileContent) {
    let path = try directory.write(UUID().uuidString, bytes)
    return (path, FileContent(owning: open(path, O_RDONLY), byteCount: Int64(bytes.count)))
}
