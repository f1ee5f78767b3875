internal import Outcomes

/// A user-facing error: a stable code, one line, a hint, and the exit code.
struct UserFacingError: Error, Sendable, Equatable {
    /// Stable, snake_case; part of the JSON output.
    var code: String
    /// One line: lowercase, no final period. Text from other sources is already escaped.
    var message: String
    /// Additional lines, if there is more than one cause.
    var details: [String] = []
    /// One line.
    var hint: String?
    /// The exit code if no other error occurs.
    var exitCode: ExitCode
    var httpStatus: Int?
    var isRetryable = false

    /// If `exitCode` is nil, the exit code in the table is used.
    init(
        _ code: OutcomeCode,
        _ message: String,
        hint: String? = nil,
        exitCode: ExitCode? = nil,
        httpStatus: Int? = nil,
        isRetryable: Bool = false
    ) {
        self.code = code.rawValue
        self.message = message
        self.hint = hint
        self.exitCode = exitCode ?? ExitCode(code)
        self.httpStatus = httpStatus
        self.isRetryable = isRetryable
    }

    /// A usage error that the parser cannot detect.
    static func usage(_ message: String, hint: String? = nil) -> UserFacingError {
        UserFacingError(.usage, message, hint: hint)
    }

    /// Adds the options to the command at the end of the hint.
    func completed(by options: HintOptions?) -> UserFacingError {
        var completed = self
        completed.hint = hint.map { options?.added(to: $0) ?? $0 }
        return completed
    }

    /// Adds the options to every command in the hint.
    func reaching(_ options: HintOptions) -> UserFacingError {
        var completed = self
        completed.hint = hint.map { options.addingPlaces(to: $0) }
        return completed
    }

    /// Prefixes the message with the file, unless the message already contains it.
    func naming(_ path: [UInt8]) -> UserFacingError {
        let name = ErrorCatalog.quoted(path)
        guard !message.contains(name) else { return self }
        var named = self
        named.message = "\(name): \(message)"
        return named
    }
}

/// The exit codes of all commands, as published in `docs/exit-codes.md`.
enum ExitCode: Int32, Sendable, CaseIterable {
    case success = 0
    case failure = 1
    case usage = 2
    case partly = 3
    case unauthorized = 4
    case notFound = 5
    case network = 6
    case server = 7
    case integrity = 8
    case conflict = 10
    case deleteToken = 11
    case store = 12
    case sourceChanged = 13
    case hangup = 129
    case interrupt = 130
    case quit = 131
    case user2 = 140
    case alarm = 142
    case terminate = 143
    case cpuLimit = 152

    var meaning: String {
        switch self {
        case .success: "done, or already on the server"
        case .failure: "another failure, or declined at a prompt"
        case .usage: "usage error, or a local input that cannot be used"
        case .partly: "partly done: mixed results"
        case .unauthorized: "not authenticated, or not allowed"
        case .notFound: "not found on the server"
        case .network: "the network failed or timed out after the retries, or the outcome is unknown"
        case .server: "the server failed"
        case .integrity: "the stored copy differs from the source (hash or length)"
        case .conflict: "conflict, or locked by another user or process"
        case .deleteToken: "the delete token is missing, lost or rejected"
        case .store: "the local store cannot be used"
        case .sourceChanged: "the source changed during the transfer"
        case .hangup: "terminated by SIGHUP"
        case .interrupt: "terminated by SIGINT"
        case .quit: "terminated by SIGQUIT"
        case .user2: "terminated by SIGUSR2"
        case .alarm: "terminated by SIGALRM"
        case .terminate: "terminated by SIGTERM"
        case .cpuLimit: "terminated by SIGXCPU"
        }
    }

    init(_ code: OutcomeCode) { self = ExitCode(rawValue: code.exitCode) ?? .failure }

    /// nil if there is no error.
    init?(of error: (any Error)?) {
        guard let error else { return nil }
        self = ErrorCatalog.userFacingError(of: error).exitCode
    }

    /// The exit code of a batch: the code of its items if all are equal, otherwise `.partly`. An empty batch succeeds.
    /// If some items were not run (`isWhole` is false), success becomes `.partly`.
    static func batch(_ codes: some Sequence<ExitCode>, isWhole: Bool = true) -> ExitCode {
        let distinct = Set(codes)
        guard distinct.count < 2 else { return .partly }
        let code = distinct.first ?? .success
        return code == .success && !isWhole ? .partly : code
    }
}
