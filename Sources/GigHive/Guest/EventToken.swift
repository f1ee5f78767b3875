internal import MediaTransport

/// The token of an event link: 43 characters `[A-Za-z0-9_-]` (gighive contract section 6). Prints as redacted.
public struct EventToken: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    let secret: String

    /// Reads a token, or takes it out of a link `https://HOST/upload/TOKEN`; surrounding white space does not matter.
    ///
    /// - Returns: nil for anything else.
    public init?(_ text: String) {
        let text = text.trimmingWhiteSpace()
        let secret = EventLink(text)?.token ?? text[...]
        guard Self.isToken(secret) else { return nil }
        self.secret = String(secret)
    }

    /// Address of the server that a link names; nil for a bare token.
    public static func server(ofLink text: String) -> String? {
        EventLink(text.trimmingWhiteSpace()).map { String($0.server) }
    }

    /// Never the secret.
    public var description: String { "***" }

    /// Never the secret.
    public var debugDescription: String { description }

    private static func isToken(_ text: Substring) -> Bool {
        text.utf8.count == 43
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f: true
                default: false
                }
            }
    }
}

/// The two parts of `https://HOST/upload/TOKEN`; a slash, query or fragment after the token is left out.
private struct EventLink {
    let server: Substring
    let token: Substring

    init?(_ text: String) {
        let path = "/upload/"
        guard let scheme = text.firstRange(of: "://"),
            ["http", "https"].contains(text[..<scheme.lowerBound].lowercased()),
            let slash = text[scheme.upperBound...].firstIndex(of: "/"), text[slash...].hasPrefix(path)
        else { return nil }
        server = text[..<slash]
        let rest = text[slash...].dropFirst(path.count)
        let token = rest.prefix { !"/?#".contains($0) }
        let tail = rest.dropFirst(token.count)
        guard tail.isEmpty || tail == "/" || tail.hasPrefix("?") || tail.hasPrefix("#") else { return nil }
        self.token = token
    }
}

extension String {
    fileprivate func trimmingWhiteSpace() -> String {
        let rest = drop { $0.isWhitespace }
        return String(rest.reversed().drop { $0.isWhitespace }.reversed())
    }
}
