import Foundation
import Glibc
import MediaTransport
import Tus

/// `transport-bench [tus] URL FILE`: uploads a file as multipart with only the transport: no hash, no journal, no
/// terminal. Does the same work as `curl -F`, for comparison. With `tus`: in chunks, with the hash that a resume
/// requires.
@main
enum TransportBench {
    static func main() async throws {
        switch CommandLine.arguments.count {
        case 3: try await sendForm(to: ServerURL(CommandLine.arguments[1]), path: CommandLine.arguments[2])
        case 4 where CommandLine.arguments[1] == "tus":
            try await sendChunks(to: ServerURL(CommandLine.arguments[2]), path: CommandLine.arguments[3])
        default: throw Failure("usage: transport-bench [tus] URL FILE")
        }
    }

    private static func open(_ path: String) throws -> (descriptor: Int32, byteCount: Int64) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw Failure("cannot open \(path)")
        }
        return (descriptor, Int64(status.st_size))
    }

    private static func sendChunks(to server: ServerURL, path: String) async throws {
        let http = try HTTPClient()
        let tus = TusClient(http: http, server: server, path: "/files/", authorization: nil)
        let byteCount = try open(path).byteCount
        let content = TusContent(
            byteCount: byteCount,
            open: {
                let file = try open(path)
                return FileContent(owning: file.descriptor, byteCount: file.byteCount)
            },
            keep: { _ in }
        )
        let upload = try await tus.create(byteCount: byteCount, metadata: [TusMetadata("filename", "bench.mp4")])
        _ = try await tus.send(content, to: upload.id, options: TusSendOptions(isNew: true))
    }

    private static func sendForm(to server: ServerURL, path: String) async throws {
        let (descriptor, byteCount) = try open(path)
        let form = MultipartForm(
            fields: [(name: "label", value: "bench")],
            file: FileContent(owning: descriptor, byteCount: byteCount),
            name: "file",
            fileName: "bench.mp4",
            fileType: "video/mp4"
        )
        let client = try HTTPClient()
        let response = try await client.execute(
            HTTPRequest(
                .post,
                server.resource("/api/uploads.php"),
                headers: [
                    HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", form.contentType),
                ],
                body: form,
                repeatability: .atMostOnce
            )
        )
        guard response.status == 201 else {
            throw Failure("status \(response.status)")
        }
    }
}

/// An error that ends the program with a message.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
