internal import MediaFiles

/// The words of a progress line.
enum ProgressLine {
    /// One line of at most `columns` columns; the name gives way first.
    static func text(_ progress: UploadProgress, columns: Int) -> String {
        let place = progress.total > 1 ? "[\(progress.position)/\(progress.total)] " : ""
        let facts = facts(progress)
        let name = TerminalText.escaped(progress.path)
        let room = max(8, columns - TerminalText.width(place) - TerminalText.width(facts) - 2)
        return TerminalText.truncated(
            place + TerminalText.truncated(name, to: room) + "  " + facts,
            to: max(1, columns)
        )
    }

    private static func facts(_ progress: UploadProgress) -> String {
        let size = Formats.bytes(progress.byteCount)
        switch progress.phase {
        case .connecting: return "connecting"
        case .sending:
            var parts = ["\(Formats.bytes(progress.bytesAcknowledged)) of \(size)", "\(progress.percent) %"]
            if let rate = progress.bytesPerSecond {
                parts.append("\(Formats.bytes(Int64(rate)))/s")
            }
            if let remaining = progress.remaining {
                parts.append("ETA \(Formats.clock(remaining))")
            }
            return parts.joined(separator: "  ")
        case .processing: return "\(size) sent  server is processing (\(Formats.clock(progress.phaseElapsed)))"
        case .receiving: return "\(size) sent  receiving the answer"
        case .retrying: return "waiting for try \(progress.attempt + 1)"
        case .resolving: return "asking the server whether it has the file (\(Formats.clock(progress.phaseElapsed)))"
        case .waiting: return "waiting for the delete token (\(Formats.clock(progress.phaseElapsed)))"
        }
    }
}
