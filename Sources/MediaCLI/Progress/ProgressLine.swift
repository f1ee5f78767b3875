internal import MediaCore
internal import MediaFiles

/// The words of a progress line.
enum ProgressLine {
    /// One line of at most `columns` columns; the name gives way first.
    static func text(_ progress: UploadProgress, columns: Int, ellipsis: Character = "…") -> String {
        let place = progress.total > 1 ? "[\(progress.position)/\(progress.total)] " : ""
        let facts = facts(progress)
        let name = TerminalText.escaped(progress.path)
        let room = max(8, columns - TerminalText.width(place) - TerminalText.width(facts) - 2)
        return TerminalText.truncated(
            place + TerminalText.truncated(name, to: room, ellipsis: ellipsis) + "  " + facts,
            to: max(1, columns),
            ellipsis: ellipsis
        )
    }

    private static func facts(_ progress: UploadProgress) -> String {
        let size = Formats.bytes(progress.byteCount)
        switch progress.phase {
        case .connecting: return "connecting"
        case .proving: return "verifying bytes on the server  \(progress.percent) %"
        case .sending:
            var parts = ["\(Formats.bytes(progress.bytesAcknowledged)) of \(size)", "\(progress.percent) %"]
            if let rate = progress.bytesPerSecond {
                parts.append("\(Formats.bytes(Int64(rate)))/s")
            }
            if let remaining = progress.remaining {
                parts.append("ETA \(Formats.clock(remaining))")
            }
            return parts.joined(separator: "  ")
        case .processing, .finalizing:
            return "\(size) sent  server is processing (\(Formats.clock(progress.phaseElapsed)))"
        case .receiving: return "\(size) sent  receiving the response"
        case .retrying:
            let reason = progress.reason.map { " (\($0))" } ?? ""
            return "waiting for attempt \(progress.nextAttempt)\(reason)\(countdown(progress))"
        case .resolving: return "checking whether the server has the file\(countdown(progress))"
        case .quiet: return "the server may still be working\(countdown(progress))"
        case .waiting:
            return
                "waiting for \(awaited(isWithoutToken: progress.isWithoutToken)) (\(Formats.clock(progress.phaseElapsed)))"
        }
    }

    /// What a stop after the last byte waits for.
    static func awaited(isWithoutToken: Bool) -> String {
        isWithoutToken ? "the server's response" : "the delete token"
    }

    /// The remaining time of a wait, if known.
    private static func countdown(_ progress: UploadProgress) -> String {
        guard let limit = progress.phaseLimit, limit > .zero else {
            return " (\(Formats.clock(progress.phaseElapsed)))"
        }
        return ", \(Formats.clock(max(.zero, limit - progress.phaseElapsed))) left"
    }

    /// The line below those of the files.
    static func total(_ total: TotalProgress, columns: Int, ellipsis: Character = "…") -> String {
        var parts: [String]
        if let count = total.fileCount {
            parts = [
                "\(total.ended) of \(Formats.count(count, "file"))",
                "\(Formats.bytes(total.bytesPassed)) of \(Formats.bytes(total.byteCount))", "\(total.percent) %",
            ]
        } else {
            parts = [Formats.count(total.ended, "file"), Formats.bytes(total.bytesPassed)]
        }
        if let rate = total.bytesPerSecond {
            parts.append("\(Formats.bytes(Int64(rate)))/s")
        }
        if let remaining = total.remaining {
            parts.append("ETA \(Formats.clock(remaining))")
        }
        if total.failed > 0 {
            parts.append("\(total.failed) failed")
        }
        return TerminalText.truncated(parts.joined(separator: "  "), to: max(1, columns), ellipsis: ellipsis)
    }
}
