internal import GigHive
internal import MediaCore
internal import MediaTransport

/// The progress of one upload, with everything a display needs.
struct UploadProgress: Sendable, Equatable {
    enum Phase: String, Sendable, CaseIterable {
        case connecting
        /// Comparing the bytes sent by an earlier run with the file.
        case verifying = "proving"
        case sending
        case processing
        case receiving
        case retrying
        case resolving
        /// Sending the details of an upload whose bytes are on the server.
        case finalizing
        /// Waiting because an earlier request may still be running.
        case waitingForServer = "quiet"
        case waiting

        init(_ phase: TransferProgress.Phase) {
            self =
                switch phase {
                case .connecting: .connecting
                case .sending: .sending
                case .processing: .processing
                case .receiving: .receiving
                case .waitingToRetry: .retrying
                }
        }

        /// Whether all bytes are sent and a response is due, for which a stop waits.
        var isPastLastByte: Bool {
            switch self {
            case .processing, .receiving, .finalizing, .waiting: true
            case .connecting, .verifying, .sending, .retrying, .resolving, .waitingForServer: false
            }
        }
    }

    var path: [UInt8]
    var phase = Phase.connecting
    /// Whether the server's response will have no delete token.
    var isWithoutToken = false
    /// Bytes of the body that the peer's kernel has acknowledged.
    var bytesAcknowledged: Int64 = 0
    /// Length of the body; until that is known, the length of the file.
    var byteCount: Int64
    var attempt = 1
    /// The next attempt, while `.retrying`.
    var nextAttempt = 2
    /// The reason for the wait.
    var reason: String?
    /// Time since the upload started.
    var elapsed = Duration.zero
    /// Time since the phase started.
    var phaseElapsed = Duration.zero
    /// Maximum duration of the phase; nil if unknown.
    var phaseLimit: Duration?
    /// Averaged over the last few seconds; nil until it is known.
    var bytesPerSecond: Double?
    /// Position in the batch, from 1.
    var position = 1
    var total = 1

    /// Never 100 before the last byte is acknowledged.
    var percent: Int64 { Progress.percent(bytesAcknowledged, of: byteCount) ?? 0 }

    /// Time to the last byte at the current rate.
    var remaining: Duration? {
        guard let bytesPerSecond, bytesPerSecond >= 1 else { return nil }
        return .seconds(Double(byteCount - bytesAcknowledged) / bytesPerSecond)
    }
}

extension JSONRenderer {
    static func progress(_ progress: UploadProgress) -> JSONObject {
        [
            "path": .path(progress.path), "phase": .string(progress.phase.rawValue),
            "bytes_acknowledged": .integer(progress.bytesAcknowledged), "size_bytes": .integer(progress.byteCount),
            "attempt": JSONValue(progress.attempt), "elapsed_ms": .integer(Formats.milliseconds(progress.elapsed)),
        ]
    }
}

/// A running upload, as tracked by the display.
struct RunningUpload: Sendable {
    private(set) var progress: UploadProgress
    /// Size of the file, which is less than that of a multipart body.
    private let fileByteCount: Int64
    private var began: Duration
    private var phaseBegan: Duration
    private var rate = TransferRate()
    /// Time of its last record; nil if one is due.
    var lastRecord: Duration?

    init(_ progress: UploadProgress, at time: Duration) {
        self.progress = progress
        fileByteCount = progress.byteCount
        began = time
        phaseBegan = time
    }

    /// Acknowledged bytes of the file, without the other parts of a multipart body.
    var fileBytesAcknowledged: Int64 { min(progress.bytesAcknowledged, fileByteCount) }

    mutating func expect(token: Bool) { progress.isWithoutToken = !token }

    mutating func enter(_ phase: UploadProgress.Phase, at time: Duration, limit: Duration? = nil) {
        guard phase != progress.phase else { return }
        progress.phase = phase
        progress.phaseLimit = limit
        phaseBegan = time
        lastRecord = nil
    }

    /// Each wait has its own countdown.
    mutating func waitFor(_ attempt: Int, because reason: String, at time: Duration, limit: Duration) {
        enter(.retrying, at: time)
        progress.nextAttempt = attempt
        progress.reason = reason
        progress.phaseLimit = limit
        phaseBegan = time
    }

    /// Adds a sample and returns the number of newly acknowledged bytes.
    mutating func take(_ transfer: TransferProgress, at time: Duration) -> Int64 {
        let phase = UploadProgress.Phase(transfer.phase)
        if let wait = transfer.wait, progress.phase != .waiting {
            // After a 429 or 503, all requests to the server wait. Each attempt of an upload has only one request.
            let attempt = max(transfer.attempt, progress.reason == nil ? 1 : progress.nextAttempt)
            waitFor(attempt, because: progress.reason ?? "server busy or unavailable", at: time, limit: wait)
        } else {
            enter(progress.phase == .waiting && phase != .sending ? .waiting : phase, at: time)
        }
        let gain = max(0, transfer.bytesAcknowledged - progress.bytesAcknowledged)
        progress.bytesAcknowledged = transfer.bytesAcknowledged
        progress.attempt = transfer.attempt
        if transfer.bodyByteCount > 0 {
            progress.byteCount = transfer.bodyByteCount
        }
        rate.add(bytes: transfer.bytesAcknowledged, at: time)
        return gain
    }

    /// Skips the bytes sent by an earlier run.
    mutating func begin(from offset: Int64) {
        progress.bytesAcknowledged = offset
    }

    mutating func verify(_ bytes: Int64, of count: Int64, at time: Duration) {
        enter(.verifying, at: time)
        progress.bytesAcknowledged = bytes
        progress.byteCount = count
    }

    mutating func reading(at time: Duration) -> UploadProgress {
        progress.elapsed = time - began
        progress.phaseElapsed = time - phaseBegan
        progress.bytesPerSecond = rate.bytesPerSecond
        return progress
    }
}

/// The progress of a batch.
struct TotalProgress: Sendable, Equatable {
    /// nil if more files may follow.
    var fileCount: Int?
    var ended = 0
    var failed = 0
    /// Total size in bytes of all files known so far.
    var byteCount: Int64
    /// Total size of the finished files, plus the bytes sent by running uploads.
    var bytesPassed: Int64 = 0
    /// Bytes sent per second, averaged over the last few seconds; nil until it is known.
    var bytesPerSecond: Double?
    /// Like `bytesPerSecond`, but including skipped files.
    var passedPerSecond: Double?

    var percent: Int64 { Progress.percent(bytesPassed, of: byteCount) ?? 0 }
}

enum ProgressLine {
    /// One line of at most `columns` columns; the name is truncated first.
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
        case .verifying: return "verifying bytes on the server  \(progress.percent)%"
        case .sending:
            var parts = ["\(Formats.bytes(progress.bytesAcknowledged)) of \(size)", "\(progress.percent)%"]
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
        case .waitingForServer: return "the server may still be working\(countdown(progress))"
        case .waiting:
            return
                "waiting for \(awaited(isWithoutToken: progress.isWithoutToken)) (\(Formats.clock(progress.phaseElapsed)))"
        }
    }

    /// The response that a stop after the last byte waits for.
    static func awaited(isWithoutToken: Bool) -> String {
        isWithoutToken ? "the server's response" : "the delete token"
    }

    /// The remaining time of a wait; the elapsed time if there is no limit.
    private static func countdown(_ progress: UploadProgress) -> String {
        guard let limit = progress.phaseLimit, limit > .zero else {
            return " (\(Formats.clock(progress.phaseElapsed)))"
        }
        return ", \(Formats.clock(max(.zero, limit - progress.phaseElapsed))) left"
    }

    /// The line below the lines for the files.
    static func total(_ total: TotalProgress, columns: Int, ellipsis: Character = "…") -> String {
        var parts: [String]
        if let count = total.fileCount {
            parts = [
                "\(total.ended) of \(Formats.count(count, "file"))",
                "\(Formats.bytes(total.bytesPassed)) of \(Formats.bytes(total.byteCount))", "\(total.percent)%",
            ]
        } else {
            parts = [Formats.count(total.ended, "file"), Formats.bytes(total.bytesPassed)]
        }
        if let rate = total.bytesPerSecond {
            parts.append("\(Formats.bytes(Int64(rate)))/s")
        }
        if total.fileCount != nil {
            parts += Progress.timeLeft(total.bytesPassed, of: total.byteCount, rate: total.passedPerSecond)
        }
        if total.failed > 0 {
            parts.append("\(total.failed) failed")
        }
        return TerminalText.truncated(parts.joined(separator: "  "), to: max(1, columns), ellipsis: ellipsis)
    }
}
