import Foundation

/// The recorded responses of a real PhotoSync server (`fixtures/transcripts/photosync`).
struct Transcript {
    /// One response with its title.
    struct Response {
        var title: String
        /// nil where only a body was recorded.
        var status: Int?
        var body: [UInt8]
    }

    var responses: [Response]

    /// Reads a file: `### title`, heads of interim and final responses, an empty line, the body.
    init(_ name: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let url = root.appendingPathComponent("fixtures/transcripts/photosync/\(name).txt")
        let text = try String(contentsOf: url, encoding: .utf8).replacingOccurrences(of: "\r\n", with: "\n")
        responses = text.components(separatedBy: "### ").dropFirst().map { entry in
            let title = entry.prefix { $0 != "\n" }
            var rest = entry.dropFirst(title.count + 1)
            var status: Int?
            while rest.hasPrefix("HTTP/1.1 ") {
                status = Int(rest.dropFirst(9).prefix(3))
                rest = rest.range(of: "\n\n").map { rest[$0.upperBound...] } ?? ""
            }
            // Bodies are one line; two entries have no heads.
            let body = rest.split(separator: "\n").first ?? ""
            return Response(title: String(title), status: status, body: Array(body.utf8))
        }
    }

    /// The response with this title.
    func body(_ title: String) -> [UInt8]? {
        responses.first { $0.title == title }?.body
    }
}
