/// Where work on the files of a tape stands.
struct TapeReading: RunReading {
    enum Phase: String, Sendable {
        /// A library gets an original that it has not.
        case sending
        /// Checksums are made.
        case hashing
        /// A video is made of the tape.
        case rendering
    }

    var phase: Phase
    /// The file.
    var path: [UInt8]
    /// Bytes while sending, files while hashing, milliseconds while rendering.
    var done: Int64
    var whole: Int64

    init(_ phase: Phase, path: [UInt8], done: Int64, whole: Int64) {
        self.phase = phase
        self.path = path
        self.done = done
        self.whole = whole
    }

    var amount: Int64 { done }
    var percent: Int64? { whole > 0 ? min(100, max(0, Int64(Double(done) / Double(whole) * 100))) : nil }

    func line(rate: Double?) -> String {
        let name = ErrorCatalogue.quoted(path)
        let percent = percent.map { "\($0) %" }
        var parts: [String?]
        switch phase {
        case .sending: parts = [name, "\(Formats.bytes(done)) of \(Formats.bytes(whole)) sent", percent]
        case .hashing: parts = ["\(done) of \(Formats.count(whole, "file")) read", name]
        case .rendering:
            parts = [
                name, "\(Formats.clock(.milliseconds(done))) of \(Formats.clock(.milliseconds(whole))) rendered",
                percent,
            ]
        }
        if phase == .sending, let rate, rate >= 1 {
            parts.append("\(Formats.bytes(Int64(rate)))/s")
        }
        if phase != .hashing, let rate, rate >= 1, done < whole {
            parts.append("ETA \(Formats.clock(.seconds(Double(whole - done) / rate)))")
        }
        return parts.compactMap { $0 }.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "phase": .string(phase.rawValue), "path": JSONRenderer.path(path), "done": .integer(done),
            "whole": .integer(whole), "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}
