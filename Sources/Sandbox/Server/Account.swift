import ArgumentParser
import Foundation

/// A user of the sandbox; the name is the role (gighive contract 1).
struct Account: Sendable, Equatable, ExpressibleByArgument {
    var name: String
    var password: String

    init(name: String, password: String) {
        self.name = name
        self.password = password
    }

    /// Reads `NAME:PASSWORD`.
    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), colon != argument.startIndex else { return nil }
        self.init(name: String(argument[..<colon]), password: String(argument[argument.index(after: colon)...]))
    }

    static let defaults = ["admin", "uploader", "viewer"].map { Account(name: $0, password: $0) }

    /// The user and password of a Basic `Authorization` header (RFC 7617).
    init?(authorization header: String?) {
        guard let header, header.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: header.dropFirst(6).trimmingCharacters(in: .whitespaces)),
            let text = String(data: data, encoding: .utf8)
        else { return nil }
        self.init(argument: text)
    }
}
