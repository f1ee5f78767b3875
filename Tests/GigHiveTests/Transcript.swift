import Foundation

/// One recorded response of a real server (`fixtures/transcripts/gighive`).
struct Transcript {
    let status: Int
    let body: [UInt8]

    init(_ name: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appendingPathComponent("fixtures/transcripts/gighive/\(name).txt"),
            encoding: .utf8
        )
        let lines = text.replacingOccurrences(of: "\r\n", with: "\n").components(separatedBy: "\n")
        let statusLine = lines.first { $0.hasPrefix("HTTP/1.1 ") } ?? ""
        status = Int(statusLine.split(separator: " ")[1]) ?? 0
        let headEnd = lines.firstIndex(of: "") ?? lines.endIndex
        body = Array(lines[headEnd...].joined(separator: "\n").utf8)
    }
}
