internal import MediaCore
internal import MediaTransport
internal import Outcomes

/// What an answer without success says (tapes contract 6.4). Read leniently: version 3 sends a text, version 2 a text or an
/// array of texts, and what stands before the server sends HTML.
struct ImmichRefusal {
    /// Bytes of an answer that are looked at for its sentence.
    static let longestBody = 65_536

    /// The status code.
    let status: Int
    /// The server's sentence; empty when there is none.
    let sentence: String
    private let retryAfter: Duration?
    private let correlation: String?
    private let mediaType: String?
    private let place: String?

    /// Reads a response of any status but success.
    init(_ response: HTTPResponse) {
        status = response.status
        retryAfter = response.head.retryAfter
        mediaType = response.head.mediaType.map(ServerText.sentence)
        place = response.head.value(of: "Location").map(ServerText.sentence)
        let members = JSONValue.object(in: response.body.prefix(Self.longestBody)) ?? [:]
        sentence = ServerText.cut(Self.sentence(of: members))
        correlation = (response.head.value(of: "X-Correlation-ID") ?? members["correlationId"]?.text).map {
            String(ServerText.sentence($0).prefix(64))
        }
    }

    /// `message`, with what a failed validation adds to it.
    private static func sentence(of members: [String: JSONValue]) -> String {
        guard let message = members["message"] else { return "" }
        let texts = message.text.map { [$0] } ?? message.elements.compactMap(\.text)
        let details = members["errors"]?.elements.compactMap { $0.text ?? $0.members?["message"]?.text } ?? []
        return (texts + details).joined(separator: "; ")
    }

    /// The refusal as an error.
    ///
    /// - Parameter level: What was needed.
    /// - Returns: The error; `.albumMissing` only for the sentences that say so (trap 2).
    func error(needing level: AccessLevel) -> AlbumError {
        AlbumError(kind(level), detail: detail, httpStatus: status)
    }

    private func kind(_ level: AccessLevel) -> AlbumError.Kind {
        switch OutcomeTable.outcome(of: status, from: .immich, mark: sentence).code {
        case "album_not_found": .albumMissing
        case "quota_exceeded": .quota
        case "unauthorized": .unauthorized(level)
        case "forbidden": missingPermission.map { .insufficient([$0]) } ?? .unauthorized(level)
        // The server has no 404 for what is missing: this is another server, or one that is too old.
        case "redirected", "not_found", "request_timeout", "rate_limited", "server_error":
            .unreachable(retryAfter: retryAfter)
        default: .rejected(status: status)
        }
    }

    private var missingPermission: String? {
        let prefix = "Missing required permission: "
        return sentence.hasPrefix(prefix) ? String(sentence.dropFirst(prefix.count)) : nil
    }

    /// For people and logs.
    var detail: String {
        var text =
            sentence.isEmpty ? "status \(status), \(mediaType ?? "without content")" : KnownSecrets.masked(sentence)
        if (300..<400).contains(status), let place { text += ": redirected to \(place)" }
        if status == 404 { text += ": wrong address, or too old" }
        return correlation.map { "\(text) (correlation id \($0))" } ?? text
    }
}
