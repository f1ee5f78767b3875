import Foundation
import Glibc
import MediaTransport
import Synchronization
import TestSupport
import Testing
import Tus

/// tuspyserver with its own directory, and contents to send to it.
final class TusBench: Sendable {
    /// The maximum upload size set on the server.
    static let largestUpload = 64 << 20

    let server: ForeignServer
    private let directory: TemporaryDirectory

    init() async throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        server = try await ForeignServer(
            announcing: ForeignProgram.python,
            ["\(ForeignProgram.scripts)/tus_server.py", directory.file("files"), String(Self.largestUpload)]
        )
    }

    /// The file that the server has stored for an ID.
    func stored(_ id: String) throws -> Data {
        try Data(contentsOf: URL(filePath: directory.file("files/\(id)")))
    }

    /// A file of random bytes.
    func source(_ byteCount: Int) throws -> TusSource {
        try TusSource(path: directory.file("source-\(UUID().uuidString)"), byteCount: byteCount)
    }

    /// Uses a separate client for the server, or for a proxy in front of it.
    func withClient<Result>(
        at address: String? = nil,
        configuration: HTTPClientConfiguration = HTTPClientConfiguration(),
        _ body: (TusClient) async throws -> Result
    ) async throws -> Result {
        let http = try HTTPClient(configuration: configuration)
        return try await body(
            TusClient(
                http: http,
                server: ServerURL(address ?? server.address),
                path: "/files/",
                authorization: nil
            )
        )
    }
}

/// A file to be uploaded, and the digests that are stored during the upload.
final class TusSource: Sendable {
    /// tuspyserver responds with 400 to HEAD unless both are known.
    static let metadata = [TusMetadata("filename", "clip.mp4"), TusMetadata("filetype", "video/mp4")]

    let path: String
    let bytes: Data
    private let kept = Mutex<[TusProof]>([])

    init(path: String, byteCount: Int) throws {
        self.path = path
        let random = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
        bytes = try #require(try random.read(upToCount: byteCount))
        try bytes.write(to: URL(filePath: path))
    }

    var proofs: [TusProof] { kept.withLock { $0 } }

    /// The file, or a part of it.
    func content(_ range: Range<Int>? = nil) -> TusContent {
        let range = range ?? 0..<bytes.count
        return TusContent(
            start: Int64(range.lowerBound),
            byteCount: Int64(range.count),
            proofs: proofs,
            open: { [path] in
                let descriptor = open(path, O_RDONLY | O_CLOEXEC)
                guard descriptor >= 0 else { throw ForeignProgram.Failure("cannot open \(path)") }
                var status = stat()
                guard fstat(descriptor, &status) == 0 else { throw ForeignProgram.Failure("cannot stat \(path)") }
                return FileContent(owning: descriptor, byteCount: Int64(status.st_size))
            },
            keep: { [self] proof in kept.withLock { $0.append(proof) } }
        )
    }

    /// Changes only one byte.
    func flipByte(at offset: Int) throws {
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: [bytes[offset] ^ 1])
        try file.close()
    }

    /// The output of `sha256sum`.
    func sha256() async throws -> String {
        let result = try await ForeignProgram.run(try ForeignProgram.path(of: "sha256sum"), [path])
        return String(result.output.prefix(64))
    }
}

/// Short delays, and chunks of one size.
func quickOptions(chunk: Int, minimum: Int = 64 << 10, isNew: Bool = false) -> TusSendOptions {
    TusSendOptions(
        chunkBytes: Int64(chunk),
        minimumChunkBytes: Int64(minimum),
        maximumChunkBytes: Int64(chunk),
        retry: RetryPolicy(retries: 5, base: .milliseconds(5)),
        isNew: isNew
    )
}
