public import Foundation
internal import Testing

/// A response recorded from a real server: a file in `fixtures/transcripts/gighive`.
public struct GigHiveTranscript {
    public let status: Int
    /// Names in lowercase.
    public let headers: [String: String]
    public let text: String

    public var body: [UInt8] { Array(text.utf8) }

    /// Reads a file: a curl command, the head of the response, an empty line, the body.
    public init(_ name: String) throws {
        let contents = try Repository.text("fixtures/transcripts/gighive/\(name).txt")
            .replacingOccurrences(of: "\r\n", with: "\n")
        let blankLine = try #require(contents.range(of: "\n\n"))
        let head = contents[..<blankLine.lowerBound].split(separator: "\n").drop { !$0.hasPrefix("HTTP/") }
        status = try #require(responseStatus(head.first))
        headers = responseHeaders(head.dropFirst())
        text = String(contents[blankLine.upperBound...])
    }

    /// The body, which must be a JSON object.
    public func object() throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
    }
}

/// The responses recorded from a real server: a file in `fixtures/transcripts/photosync`.
public struct PhotoSyncTranscript {
    public struct Response {
        public var title: String
        /// Nil if only the body was recorded.
        public var status: Int?
        /// Names in lowercase.
        public var headers: [String: String] = [:]
        public var text: String

        public var body: [UInt8] { Array(text.utf8) }
    }

    public let responses: [Response]

    /// Reads a file: `### title`, heads of interim and final responses, an empty line, a body of one line.
    public init(_ name: String) throws {
        let text = try Repository.text("fixtures/transcripts/photosync/\(name).txt")
            .replacingOccurrences(of: "\r\n", with: "\n")
        responses = ("\n" + text).components(separatedBy: "\n### ").dropFirst().map { section in
            let lines = section.split(separator: "\n", omittingEmptySubsequences: false)
            var response = Response(title: String(lines[0]), text: "")
            var rest = lines.dropFirst()
            while let line = rest.first, line.hasPrefix("HTTP/") {
                let head = rest.prefix { !$0.isEmpty }
                response.status = responseStatus(line)
                response.headers.merge(responseHeaders(head.dropFirst())) { $1 }
                rest = rest.dropFirst(head.count + 1)
            }
            response.text = String(rest.first ?? "")
            return response
        }
    }

    /// The response with this title, or else the first whose title starts with it.
    public func callAsFunction(_ title: String) throws -> Response {
        let response = responses.first { $0.title == title } ?? responses.first { $0.title.hasPrefix(title) }
        return try #require(response, "no \(title)")
    }
}

private func responseStatus(_ line: Substring?) -> Int? {
    line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
}

private func responseHeaders(_ lines: some Sequence<Substring>) -> [String: String] {
    var headers: [String: String] = [:]
    for line in lines {
        guard let colon = line.firstIndex(of: ":") else { continue }
        headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return headers
}
