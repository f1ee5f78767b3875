import Foundation

/// Replaces values that differ between runs with names of the same width, so that tables stay aligned.
struct TranscriptNames {
    /// The home directory, 16 characters: see `TranscriptWorld`.
    let home: String

    private static let homeName = "/home/ann.walker"
    private static let hostName = "media.test:8080"

    /// The text with names in place of values that differ in each run.
    func normalized(_ text: String) -> String {
        var text = text.replacing(home, with: Self.homeName)
        for count in 3..<home.count {
            // A narrow terminal shows only the end of the path.
            for ellipsis in ["…", "~"] {
                text = text.replacing(
                    "\(ellipsis)\(home.suffix(count))/",
                    with: "\(ellipsis)\(Self.homeName.suffix(count))/"
                )
            }
        }
        text = text.replacing(/127\.0\.0\.1:[0-9]{0,5}/) { Self.hostName.prefix($0.0.count) }
        text = text.replacing(/127\.0\.0\.1_[0-9]{5}/, with: "media.test_8080")
        text = text.replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/) { Self.masked($0.0) }
        text = text.replacing(/\b[0-9a-f]{8}-[0-9a-f-]+(?=[…~])/.wordBoundaryKind(.simple)) { Self.masked($0.0) }
        // Hashes, and the first characters of hashes and IDs. Unicode's word boundaries would also separate digits from
        // letters.
        text = text.replacing(/\b([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{8})\b/.wordBoundaryKind(.simple)) {
            Self.masked($0.0)
        }
        text = text.replacing(/\bu-[a-z0-9]{16}\b/.wordBoundaryKind(.simple), with: "u-xxxxxxxxxxxxxxxx")
        text = text.replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z/) {
            $0.1 == nil ? "2026-06-15T12:00:00Z" : "2026-06-15T12:00:00.000Z"
        }
        text = text.replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}/, with: "2026-06-15 12:00:00")
        for day in Self.days { text = text.replacing(day, with: "2026-06-15") }
        text = text.replacing(/[0-9]+ minutes? ago/, with: "just now")
        // libcurl reports how long a connection took to fail.
        text = text.replacing(/after [0-9]+ ms/, with: "after 0 ms")
        // The server's clock has whole seconds.
        text = text.replacing(/"ahead_seconds","value":"-?1"/, with: #""ahead_seconds","value":"0""#)
        text = text.replacing(/"(duration_ms|analysis_ms|elapsed_ms)":[0-9]+/) { "\"\($0.1)\":0" }
        return text
    }

    /// A line that only a slow run prints: the status after a while, where no progress can be drawn.
    static func isProgress(_ line: String) -> Bool {
        !line.hasPrefix("mediactl: ")
            && (line.contains(#/(^|  )[0-9.]+( [kMG]?B)? of [0-9]/#)
                || line.contains(#/  (connecting|waiting |checking |asking |receiving|.* sent  )/#))
    }

    /// Whether a run was so slow that ages have unusual widths.
    static func isSlow(_ text: String) -> Bool { text.contains(/[0-9] minutes? ago/) }

    /// Days that may be today in some time zone while the test runs.
    private static let days: [String] = (-1...1).map { offset in
        let date = Date(timeIntervalSinceNow: Double(offset) * 86_400)
        return String(date.formatted(.iso8601).prefix(10))
    }

    private static func masked(_ id: Substring) -> String { String(id.map { $0 == "-" ? "-" : "x" }) }
}
