/// Where reading the media stands.
struct CaptureReading: RunReading {
    /// Path as it was named.
    var path: [UInt8]
    var done: Int64
    var whole: Int64

    /// Whether bytes of the media are still to be read: as long as that is so, no request has gone out.
    var isReading: Bool { done < whole }
    var amount: Int64 { done }
    var percent: Int64? { Progress.percent(done, of: whole) }

    func line(rate: Double?) -> String {
        let name = ErrorCatalogue.quoted(path)
        guard isReading, let percent else { return "\(name)  waiting for the server" }
        var parts = [name, "\(Formats.bytes(done)) of \(Formats.bytes(whole)) read", "\(percent) %"]
        parts += Progress.rest(done, of: whole, rate: rate) { Formats.bytes($0) }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "path": JSONRenderer.path(path), "bytes_read": .integer(done), "media_bytes": .integer(whole),
            "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}
