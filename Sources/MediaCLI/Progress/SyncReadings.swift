internal import MediaCore
internal import PhotoSync

/// Where reading a listing stands.
struct ListingReading: RunReading {
    var progress: PullProgress

    var amount: Int64 { progress.photos }
    var percent: Int64? { Progress.percent(progress.photos, of: progress.expected) }

    func line(rate: Double?) -> String {
        var parts: [String]
        if let expected = progress.expected, let percent {
            parts = ["\(min(progress.photos, expected)) of \(Formats.count(expected, "photo"))", "\(percent) %"]
        } else {
            parts = [Formats.count(progress.photos, "photo")]
        }
        parts += Progress.rest(progress.photos, of: progress.expected, rate: rate) { "\($0)" }
        if progress.attempt > 1 {
            parts.append("begun anew, try \(progress.attempt)")
        }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "photos": .integer(progress.photos), "pages": .integer(progress.pages),
            "expected": JSONValue(progress.expected), "attempt": JSONValue(progress.attempt),
            "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}

/// Where a push stands.
struct PushReading: RunReading {
    var progress: PushProgress

    /// Reading comes first, and then sending; the rate is that of what goes on.
    private var isSending: Bool { progress.bytesToSend > 0 && progress.filesHashed >= progress.filesFound }
    var amount: Int64 { isSending ? progress.bytesSent : progress.bytesHashed }
    var percent: Int64? { isSending ? Progress.percent(progress.bytesSent, of: progress.bytesToSend) : nil }

    /// All is sent; what is left is to see it in the listing.
    private var isConfirming: Bool { isSending && progress.filesSent >= progress.filesToSend }

    func line(rate: Double?) -> String {
        var parts: [String]
        if isSending, let percent {
            let sent = min(progress.bytesSent, progress.bytesToSend)
            parts = [
                "\(progress.filesSent) of \(Formats.count(progress.filesToSend, "photo")) sent",
                "\(Formats.bytes(sent)) of \(Formats.bytes(progress.bytesToSend))", "\(percent) %",
            ]
        } else {
            parts = [
                "\(progress.filesHashed) of \(Formats.count(progress.filesFound, "file")) checked",
                "\(Formats.bytes(progress.bytesHashed)) read",
            ]
        }
        guard !isConfirming else { return (parts + ["making sure that they arrived"]).joined(separator: "  ") }
        parts += Progress.rest(amount, of: isSending ? progress.bytesToSend : nil, rate: rate) { Formats.bytes($0) }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "files_found": JSONValue(progress.filesFound), "files_hashed": JSONValue(progress.filesHashed),
            "files_to_send": JSONValue(progress.filesToSend), "files_sent": JSONValue(progress.filesSent),
            "bytes_hashed": .integer(progress.bytesHashed), "bytes_to_send": .integer(progress.bytesToSend),
            "bytes_sent": .integer(progress.bytesSent), "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}

/// Where a download stands.
struct DownloadReading: RunReading {
    var progress: DownloadProgress

    var amount: Int64 { progress.bytesReceived }
    /// By bytes; a server's files may differ a little from what was uploaded.
    var percent: Int64? { Progress.percent(progress.bytesReceived, of: progress.bytes) }

    func line(rate: Double?) -> String {
        var parts = [
            "\(progress.photosDone) of \(Formats.count(progress.photos, "photo"))",
            "\(Formats.bytes(min(progress.bytesReceived, progress.bytes))) of \(Formats.bytes(progress.bytes))",
        ]
        if let percent {
            parts.append("\(percent) %")
        }
        parts += Progress.rest(progress.bytesReceived, of: progress.bytes, rate: rate) { Formats.bytes($0) }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "photos": .integer(progress.photos), "photos_done": .integer(progress.photosDone),
            "bytes": .integer(progress.bytes), "bytes_received": .integer(progress.bytesReceived),
            "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}
