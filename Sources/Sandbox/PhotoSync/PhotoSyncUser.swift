import ArgumentParser

/// A user of PhotoSync as the command line names one.
struct PhotoSyncUser: Sendable, Equatable, ExpressibleByArgument {
    var email: String
    /// Nil when the administrator never set one.
    var password: String?
    /// Nil makes a random one, which nobody knows: such a user must sign in.
    var apiKey: String?

    /// Reads `EMAIL:PASSWORD[:KEY]`; a key is 64 hex digits, and an empty password is none.
    init?(argument: String) {
        let match = argument.wholeMatch(of: /([^:]+@[^:]+):(.*?)(?::([0-9a-f]{64}))?/)
        guard let match else { return nil }
        self.init(
            email: match.1.lowercased(),
            password: match.2.isEmpty ? nil : String(match.2),
            apiKey: match.3.map(String.init)
        )
    }

    init(email: String, password: String?, apiKey: String?) {
        self.email = email
        self.password = password
        self.apiKey = apiKey
    }

    /// Alice and Bob, whose keys are their names and zeros.
    static let defaults = [("alice", "a11ce"), ("bob", "b0b")].map { name, start in
        PhotoSyncUser(
            email: name + "@example.test",
            password: name,
            apiKey: start + String(repeating: "0", count: 64 - start.count)
        )
    }
}
