import Foundation
import Testing

/// One file of `fixtures/transcripts/gighive`: a curl command, a status line, headers, a body.
struct Transcript {
    var status: Int
    /// Names in lower case.
    var headers: [String: String] = [:]
    var text: String

    init(named name: String) throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("fixtures/transcripts/gighive")
        let contents = try String(contentsOf: folder.appendingPathComponent(name + ".txt"), encoding: .utf8)
            .replacingOccurrences(of: "\r\n", with: "\n")
        let blankLine = try #require(contents.range(of: "\n\n"))
        text = String(contents[blankLine.upperBound...])
        let lines = contents[..<blankLine.lowerBound].split(separator: "\n").drop { !$0.hasPrefix("HTTP/") }
        status = try #require(lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] =
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
    }

    /// The body, which must be a JSON object.
    func object() throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
    }
}
