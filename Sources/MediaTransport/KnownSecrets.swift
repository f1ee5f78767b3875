internal import Foundation
internal import MediaCore
internal import Synchronization

/// The secrets that this process sends, and the only place that masks them in free text from servers: an error page may
/// repeat the request.
///
/// Only free text is masked (messages, details, bodies that are shown). IDs, states, names and keys are not: a short
/// password may occur in them.
package enum KnownSecrets {
    package static let mask = "***"

    /// Shorter secrets occur in too many words to be searched for.
    static let shortest = 4
    /// Texts of at least this many bytes may have been truncated inside a secret.
    static let cutLength = 150
    /// Tokens are used once, and a run may use a million; a server can repeat only the last ones.
    static let keptTokens = 64

    private struct State {
        var credentials: Set<[UInt8]> = []
        /// The login whose secrets were added last: a run sends the same login with every request.
        var lastScheme: Authorization.Scheme?
        var tokens: [[UInt8]] = []
    }

    private static let state = Mutex(State())

    /// Adds a password or key, which is masked until the process exits.
    package static func add(_ secret: String) {
        if secret.utf8.count >= shortest { state.withLock { _ = $0.credentials.insert(Array(secret.utf8)) } }
    }

    /// Adds a token that is used once, such as a delete token.
    package static func addToken(_ token: String) {
        let bytes = Array(token.utf8)
        guard bytes.count >= shortest else { return }
        state.withLock { state in
            guard !state.tokens.contains(bytes) else { return }
            if state.tokens.count == keptTokens { state.tokens.removeFirst() }
            state.tokens.append(bytes)
        }
    }

    static func add(_ request: HTTPRequest) {
        if let authorization = request.authorization { add(authorization) }
        request.tokens.forEach(addToken)
    }

    /// Adds the secret of a login, including the form in which HTTP Basic sends it (RFC 7617).
    package static func add(_ authorization: Authorization) {
        guard state.withLock({ $0.lastScheme != authorization.scheme }) else { return }
        defer { state.withLock { $0.lastScheme = authorization.scheme } }
        switch authorization.scheme {
        case .basic(let user, let password):
            add(password)
            add(base64("\(user):\(password)"))
        case .bearer(let secret, _), .uploadToken(let secret), .apiKey(_, let secret): add(secret)
        }
    }

    /// Base64 of a text, without padding, so it is found in a response with or without padding.
    package static func base64(_ text: String) -> String {
        String(Data(text.utf8).base64EncodedString().prefix { $0 != "=" })
    }

    /// Replaces each known secret in a text with `***`, even where it is URL-encoded, JSON-escaped or HTML-escaped, and
    /// part of a secret at the end, where the text may have been truncated.
    package static func masked(_ text: String) -> String {
        let secrets = state.withLock { Array($0.credentials) + $0.tokens }
        guard !secrets.isEmpty, !text.isEmpty else { return text }
        let bytes = Array(text.utf8)
        var found: [Range<Int>] = []
        for view in DecodedText.views(of: bytes) {
            for secret in secrets { found += view.ranges(of: secret) }
        }
        guard !found.isEmpty else { return text }
        var result: [UInt8] = []
        var end = 0
        for range in found.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.upperBound > end {
            if range.lowerBound >= end {
                result += bytes[end..<range.lowerBound]
                result += Array(mask.utf8)
            }
            end = range.upperBound
        }
        return String(decoding: result + bytes[end...], as: UTF8.self)
    }
}

/// A text with one kind of escapes decoded, and the origin of each byte.
private struct DecodedText {
    private var bytes: [UInt8] = []
    /// Offset of each byte in the original, followed by the original's length.
    private var offsets: [Int] = []

    /// The text as it is, and decoded for each kind of escape that occurs in it.
    static func views(of text: [UInt8]) -> [DecodedText] {
        var views = [DecodedText(text) { _ in nil }]
        for escape in [TextEscape.percent, .html] where text.contains(escape.mark) {
            views.append(DecodedText(text, escape.first(in:)))
        }
        if text.contains(UInt8(ascii: "+")) {
            // In forms, a plus sign is a space.
            views.append(
                DecodedText(text) { $0.first == UInt8(ascii: "+") ? ([0x20], 1) : TextEscape.percent.first(in: $0) }
            )
        }
        if text.contains(TextEscape.json.mark) {
            views.append(DecodedText(text) { TextEscape.json.first(in: $0) ?? escapedByBackslash($0) })
        }
        return views
    }

    /// `\'` and the like, which JSON does not define but PHP's `addslashes` and shells write.
    private static func escapedByBackslash(_ text: ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)? {
        guard text.first == UInt8(ascii: "\\"), let byte = text.dropFirst().first, byte != UInt8(ascii: "u") else {
            return nil
        }
        return ([byte], 2)
    }

    private init(_ text: [UInt8], _ unescape: (ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)?) {
        bytes.reserveCapacity(text.count)
        offsets.reserveCapacity(text.count + 1)
        var position = 0
        while position < text.count {
            let escape = unescape(text[position...])
            for byte in escape?.bytes ?? [text[position]] {
                bytes.append(byte)
                offsets.append(position)
            }
            position += escape?.length ?? 1
        }
        offsets.append(text.count)
    }

    /// Ranges in the original text.
    func ranges(of secret: [UInt8]) -> [Range<Int>] {
        let matches = bytes.ranges(of: secret)
        var found = matches.map(original)
        // An ellipsis marks where `ServerText` truncated the text.
        let ellipsis = Array("…".utf8)
        let isMarked = bytes.suffix(ellipsis.count).elementsEqual(ellipsis)
        guard isMarked || bytes.count >= KnownSecrets.cutLength else { return found }
        let start = matches.last?.upperBound ?? 0
        let end = isMarked ? bytes.count - ellipsis.count : bytes.count
        for length in stride(from: min(secret.count - 1, end - start), through: KnownSecrets.shortest, by: -1)
        where bytes[end - length..<end].elementsEqual(secret[..<length]) {
            found.append(original(end - length..<end))
            break
        }
        return found
    }

    private func original(_ range: Range<Int>) -> Range<Int> {
        offsets[range.lowerBound]..<max(offsets[range.lowerBound] + 1, offsets[range.upperBound])
    }
}
