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
    var percent: Int64? { Progress.percent(done, of: whole) }

    func line(rate: Double?) -> String {
        let name = ErrorCatalogue.quoted(path)
        let percent = percent.map { ["\($0) %"] } ?? []
        let parts: [String]
        switch phase {
        case .sending:
            parts =
                [name, "\(Formats.bytes(done)) of \(Formats.bytes(whole)) sent"] + percent
                + Progress.rest(done, of: whole, rate: rate) { Formats.bytes($0) }
        case .hashing: parts = ["\(done) of \(Formats.count(whole, "file")) read", name]
        case .rendering:
            let lengths = [done, whole].map { Formats.clock(.milliseconds($0)) }
            parts =
                [name, "\(lengths[0]) of \(lengths[1]) rendered"] + percent
                + Progress.timeLeft(done, of: whole, rate: rate)
        }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "phase": .string(phase.rawValue), "path": JSONRenderer.path(path), "done": .integer(done),
            "whole": .integer(whole), "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}
