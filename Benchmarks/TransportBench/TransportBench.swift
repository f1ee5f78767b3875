import Foundation
import MediaTransport

/// `transport-bench URL FILE`: uploads a file as multipart with nothing but the transport: no hash, no journal, no
/// terminal. What `curl -F` does, for comparison with it.
@main
enum TransportBench {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else {
            throw Failure("usage: transport-bench URL FILE")
        }
        let descriptor = open(arguments[2], O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw Failure("cannot open \(arguments[2])")
        }
        let form = MultipartForm(
            fields: [(name: "label", value: "bench")],
            file: MultipartForm.FilePart(
                name: "file",
                fileName: "bench.mp4",
                contentType: "video/mp4",
                content: FileContent(owning: descriptor, byteCount: Int64(status.st_size))
            )
        )
        let client = try HTTPClient()
        let answer = try await client.execute(
            HTTPRequest(
                .post,
                try ServerURL(arguments[1]).resource("/api/uploads.php"),
                headers: [
                    HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", form.contentType),
                ],
                body: form,
                repeatability: .atMostOnce
            )
        )
        client.shutdown()
        guard answer.status == 201 else {
            throw Failure("status \(answer.status)")
        }
    }
}

/// Ends the program with a message.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
