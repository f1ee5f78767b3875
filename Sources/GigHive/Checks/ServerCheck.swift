/// One thing that was looked at, and what was found.
public struct ServerCheck: Sendable, Equatable {
    /// How it ended.
    public enum Status: String, Sendable, CaseIterable {
        /// As it should be.
        case passed
        /// Works, with something the user should know.
        case warned
        /// Not as it should be.
        case failed
        /// Not looked at, because something it needs has failed or is not there.
        case skipped
    }

    /// Stable name, snake_case.
    public var name: String
    /// How it ended.
    public var status: Status
    /// What was found, in words. May hold a server's words; escape before printing.
    public var detail: String
    /// Facts for scripts.
    public var facts: [String: String]
    /// Why it failed.
    public var error: GigHiveError?
    /// How long it took.
    public var duration: Duration

    /// Makes a check.
    package init(
        _ name: String,
        _ status: Status,
        _ detail: String,
        facts: [String: String] = [:],
        error: GigHiveError? = nil,
        duration: Duration = .zero
    ) {
        self.name = name
        self.status = status
        self.detail = detail
        self.facts = facts
        self.error = error
        self.duration = duration
    }

    /// Two checks are the same when they say the same; how long they took does not matter.
    public static func == (one: ServerCheck, other: ServerCheck) -> Bool {
        one.name == other.name && one.status == other.status && one.detail == other.detail && one.facts == other.facts
    }
}

/// Runs checks in order and keeps what they found. A check that fails may make later ones pointless.
struct CheckList: Sendable {
    private(set) var checks: [ServerCheck] = []
    private let onCheck: @Sendable (ServerCheck) -> Void

    init(onCheck: @escaping @Sendable (ServerCheck) -> Void) {
        self.onCheck = onCheck
    }

    /// Whether nothing has failed so far.
    var isGood: Bool { !checks.contains { $0.status == .failed } }

    /// Whether the last check got a response, even an error: the server is reachable.
    var isAnswered: Bool { checks.last?.error == nil || checks.last?.error?.httpStatus != nil }

    /// Runs one check; an error that it throws is its failure.
    ///
    /// - Returns: Whether it did not fail.
    @discardableResult
    mutating func run(
        _ name: String,
        _ look: () async throws(GigHiveError) -> ServerCheck
    ) async -> Bool {
        let began = ContinuousClock.now
        var check: ServerCheck
        do {
            check = try await look()
        } catch {
            check = ServerCheck(name, .failed, "\(error)", error: error)
        }
        check.duration = .now - began
        checks.append(check)
        onCheck(check)
        return check.status != .failed
    }

    /// Notes a check that is not made.
    mutating func skip(_ name: String, _ reason: String, facts: [String: String] = [:]) {
        let check = ServerCheck(name, .skipped, reason, facts: facts)
        checks.append(check)
        onCheck(check)
    }
}
