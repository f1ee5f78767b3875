import Foundation
import TestSupport
import Testing

/// One file of `fixtures/transcripts/gighive-d4`: a request in parts, and its response.
struct D4Recording {
    enum Body: Equatable {
        case none
        case text(String)
        /// Only the length of larger bodies was recorded.
        case bytes(Int)
    }

    var method = ""
    var path = ""
    /// Nil for a request without Basic credentials.
    var user: String?
    /// Without `Authorization`.
    var headers: [(name: String, value: String)] = []
    var body = Body.none
    var status: Int
    /// All values of each header; the names are in lowercase.
    var responseHeaders: [String: [String]] = [:]
    var responseText: String

    private static let folder = "fixtures/transcripts/gighive-d4"

    static func names() throws -> Set<String> {
        Set(
            try FileManager.default.contentsOfDirectory(atPath: Repository.path(folder)).filter { $0.hasSuffix(".txt") }
                .map { String($0.dropLast(4)) }
        )
    }

    init(_ name: String) throws {
        let contents = try Repository.text("\(Self.folder)/\(name).txt")
        let request = try #require(contents.range(of: "\nHTTP/1.1 "))
        let blankLine = try #require(contents.range(of: "\n\n", range: request.upperBound..<contents.endIndex))
        responseText = String(contents[blankLine.upperBound...])
        let lines = contents[request.upperBound..<blankLine.lowerBound].split(separator: "\n")
        status = try #require(lines.first.flatMap { Int($0.prefix(3)) })
        for line in lines.dropFirst() {
            let header = try #require(Self.header(line))
            responseHeaders[header.name.lowercased(), default: []].append(header.value)
        }
        try readRequest(contents[..<request.lowerBound])
    }

    private mutating func readRequest(_ text: Substring) throws {
        let lines = text.split(separator: "\n")
        let words = try #require(lines.first).split(separator: " ")
        (method, path) = (String(words[1]), String(words[2]))
        let name = try #require(words.last?.split(separator: "=").last)
        user = name == "None" ? nil : String(name)
        for line in lines.dropFirst().map({ $0.dropFirst(2) }) {
            if let header = Self.header(line) {
                if header.name != "Authorization" { headers.append(header) }
            } else if let match = line.wholeMatch(of: /<([0-9]+) bytes, sha256 [0-9a-f]{64}>/) {
                body = .bytes(try #require(Int(match.1)))
            } else {
                body = .text(String(line))
            }
        }
    }

    private static func header(_ line: Substring) -> (name: String, value: String)? {
        guard let match = line.wholeMatch(of: /([A-Za-z\-]+): ?(.*)/) else { return nil }
        return (String(match.1), String(match.2))
    }
}
