internal import MediaCore
internal import Synchronization

/// The credentials that a server accepts, as shown by a 401 (gighive-d4 contract sections 2 and 12).
package enum LoginChallenge: Sendable, Equatable {
    /// A user name and password: the response names Basic, or is not from an application.
    case password
    /// A login: the response names other schemes only, or is a JSON object without naming any.
    case login

    /// nil for every status except 401. `body` may be only the beginning of the content.
    package static func of(_ head: HTTPResponseHead, body: [UInt8]) -> LoginChallenge? {
        guard head.status == 401 else { return nil }
        let offered = head.headers.filter { $0.name.lowercased() == "www-authenticate" }
            .flatMap { schemes(in: $0.value) }
        if offered.contains("basic") { return .password }
        if !offered.isEmpty || isJSON(head, body) { return .login }
        return .password
    }

    /// The type alone shows nothing if the content contradicts it. A response to HEAD has the type but no content, and
    /// only the beginning of long content is available.
    private static func isJSON(_ head: HTTPResponseHead, _ body: [UInt8]) -> Bool {
        if JSONValue.object(in: body[...]) != nil { return true }
        guard let type = head.mediaType, type == "application/json" || type.hasSuffix("+json") else { return false }
        if body.isEmpty { return head.value(of: "Content-Length") != "0" }
        return body.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
    }

    /// The scheme names of a `WWW-Authenticate` field (RFC 9110 section 11.6.1), lower case.
    static func schemes(in value: String) -> [String] {
        elements(of: value).compactMap { element in
            let word = element.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
            let rest = element.dropFirst(word.count).drop { $0 == " " || $0 == "\t" }
            // `name=value` is a parameter of the scheme before it.
            guard !word.isEmpty, rest.first != "=" else { return nil }
            return word.lowercased()
        }
    }

    /// The parts between the commas outside quoted strings, without blanks around them.
    private static func elements(of value: String) -> [String] {
        var elements = [""]
        var isQuoted = false
        var isEscaped = false
        for scalar in value.unicodeScalars {
            if scalar == ",", !isQuoted {
                elements.append("")
                continue
            }
            if scalar == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && !isEscaped && scalar == "\\"
            elements[elements.count - 1].unicodeScalars.append(scalar)
        }
        return elements.map { $0.trimmingBlanks() }
    }
}

/// Why a server refused the credentials of a request, if its 401 shows more than a wrong password.
package enum CredentialRefusal: Sendable, Equatable {
    /// The origin requires a login, or no longer accepts this one.
    case login(Origin)
    /// The upload token is invalid or expired.
    case uploadToken
}

extension Transfer {
    /// Number of bytes of a 401 response's content that are examined; errors in JSON are shorter.
    static let refusalBytes = 4096

    /// The head with its `refusal`. An origin that requires a login is recorded here, on the loop's thread, so later
    /// transfers do not start with a password.
    func judgedHead() -> HTTPResponseHead? {
        guard var head, head.status == 401 else { return head }
        let content = body.isEmpty ? refusalBody : body
        guard LoginChallenge.of(head, body: content) == .login else { return head }
        let origin = request.url.origin
        switch request.authorization?.scheme {
        case .uploadToken?: head.refusal = .uploadToken
        case .basic?, .bearer?:
            head.refusal = .login(origin)
            loginRequirements.insert(origin)
        case .apiKey?, nil: head.refusal = .login(origin)
        }
        return head
    }
}

/// The origins that require a login instead of a user name and password: Basic is never sent to them again.
///
/// An origin is added as soon as a response shows it, before any other request to it starts. Clients
/// may share one object.
public final class LoginRequirements: Sendable {
    private let origins: Mutex<Set<Origin>>
    private let onNew: (@Sendable (Origin) -> Void)?

    /// Creates a set. `onNew` is called once for each origin that a response adds, and must return quickly.
    public init(_ known: Set<Origin> = [], onNew: (@Sendable (Origin) -> Void)? = nil) {
        origins = Mutex(known)
        self.onNew = onNew
    }

    /// Whether an origin requires a login.
    public func contains(_ origin: Origin) -> Bool { origins.withLock { $0.contains(origin) } }

    /// Records that an origin requires a login; calls `onNew` if that was not yet known.
    public func insert(_ origin: Origin) {
        guard origins.withLock({ $0.insert(origin).inserted }) else { return }
        onNew?(origin)
    }
}
