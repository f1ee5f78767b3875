import Foundation
import Testing

/// The responses of one file of `fixtures/transcripts/photosync`, by their titles.
struct PhotoTranscript {
    struct Answer {
        /// Nil if only the body was recorded.
        var status: Int?
        /// Names in lower case.
        var headers: [String: String] = [:]
        var body = ""
    }

    private var answers: [String: Answer] = [:]

    init(named name: String) throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("fixtures/transcripts/photosync")
        let text = try String(contentsOf: folder.appendingPathComponent(name + ".txt"), encoding: .utf8)
            .replacingOccurrences(of: "\r\n", with: "\n")
        for section in ("\n" + text).components(separatedBy: "\n### ").dropFirst() {
            let lines = section.components(separatedBy: "\n")
            answers[lines[0]] = Self.answer(Array(lines.dropFirst()))
        }
    }

    /// The response whose title starts like this.
    func callAsFunction(_ title: String) throws -> Answer {
        try #require(answers[title] ?? answers.first { $0.key.hasPrefix(title) }?.value, "no \(title)")
    }

    private static func answer(_ lines: [String]) -> Answer {
        var answer = Answer()
        var rest = lines[...]
        while let line = rest.first, line.hasPrefix("HTTP/") {
            answer.status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            let head = rest.dropFirst().prefix { !$0.isEmpty }
            for header in head {
                guard let colon = header.firstIndex(of: ":") else { continue }
                let value = header[header.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                answer.headers[header[..<colon].lowercased()] = value
            }
            rest = rest.dropFirst(head.count + 2)
        }
        answer.body = rest.first ?? ""
        return answer
    }
}
