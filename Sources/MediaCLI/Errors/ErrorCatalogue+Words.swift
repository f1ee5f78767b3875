internal import CaptureSubmission
internal import GigHive
internal import PhotoSync
internal import Tapes

/// An error of one of the systems, with what its words are made of.
protocol CataloguedError: Error {
    associatedtype Code: RawRepresentable<String>

    var code: Code { get }
    /// What server or system said; empty when neither said anything.
    var explanation: String { get }
    /// The file it is about.
    var path: [UInt8]? { get }
    /// Status of the server's answer, when there was one.
    var httpStatus: Int? { get }
    /// Whether the same may succeed later.
    var isRetryable: Bool { get }
}

extension GigHiveError: CataloguedError {
    var explanation: String { detail }
}

extension PhotoSyncError: CataloguedError {
    var explanation: String { detail }
}

extension CaptureError: CataloguedError {
    var explanation: String { detail }
}

extension TapesError: CataloguedError {
    private var album: AlbumError? { underlying as? AlbumError }

    /// That of the library, where there is none of its own.
    var explanation: String { detail.isEmpty ? album?.detail ?? "" : detail }
    var httpStatus: Int? { nil }
    var isRetryable: Bool {
        if case .unreachable? = album?.kind { return true }
        return false
    }
}

extension CataloguedError {
    /// `: ` and what the server or the system said, when it said something.
    var said: String { said(else: "") }

    /// The same, with other words for when nothing was said.
    func said(else fallback: String) -> String {
        let text = explanation.isEmpty ? fallback : ErrorCatalogue.clean(explanation)
        return text.isEmpty ? "" : ": \(text)"
    }

    /// ` (404)`, when a server has answered.
    var status: String { httpStatus.map { " (\($0))" } ?? "" }

    /// The file in quotes.
    var file: String { path.map { ErrorCatalogue.quoted($0) } ?? "the file" }
}

extension ErrorCatalogue {
    /// What an error says.
    struct Words {
        var message: String
        var hint: String?

        init(_ message: String, hint: String? = nil) {
            self.message = message
            self.hint = hint
        }
    }
}

extension Diagnosis {
    /// An error of a system in words.
    init(_ error: some CataloguedError, _ words: ErrorCatalogue.Words, _ exitCode: ExitCode) {
        self.init(
            error.code.rawValue,
            words.message,
            hint: words.hint,
            exitCode: exitCode,
            httpStatus: error.httpStatus,
            isRetryable: error.isRetryable
        )
    }
}

extension ErrorCatalogue {
    /// What to do when a file that was named is not there.
    static let missingHint = "check the spelling of the path"
}

/// What several systems say alike.
extension ErrorCatalogue.Words {
    static let cancelled = Self("cancelled")

    static func internalError(_ error: some CataloguedError) -> Self { Self("internal error" + error.said) }

    static func storeUnusable(_ error: some CataloguedError) -> Self {
        Self("the local store cannot be used" + error.said, hint: "use another with --data-dir DIR")
    }

    // MARK: Files

    static func noSuchFile(
        _ error: some CataloguedError,
        hint: String = ErrorCatalogue.missingHint
    ) -> Self { Self("cannot read \(error.file): no such file", hint: hint) }

    static func unreadable(_ error: some CataloguedError, hint: String? = nil) -> Self {
        Self("cannot read \(error.file)\(error.said(else: "permission denied"))", hint: hint)
    }

    // MARK: Answers

    static func refused(_ error: some CataloguedError) -> Self {
        Self("the server refused the request\(error.status)\(error.said)")
    }

    static func forbidden(_ error: some CataloguedError, hint: String? = nil) -> Self {
        Self("the server does not allow this\(error.status)\(error.said)", hint: hint)
    }

    /// `place` is `: ` and where it sends it, when that is told apart from what the server said.
    static func redirected(_ error: some CataloguedError, place: String? = nil) -> Self {
        Self(
            "the server sends this request elsewhere\(error.status)\(place ?? error.said)",
            hint: "name the address it leads to with --server; nothing is sent to another address unasked"
        )
    }

    /// `service` is what else may be wrong, for example `, or it takes no captures`.
    static func unexpectedAnswer(_ error: some CataloguedError, orElse service: String = "") -> Self {
        Self(
            "the server's answer makes no sense\(error.status)\(error.said)",
            hint: "check --server; a proxy may have answered\(service)"
        )
    }

    static func serverFailed(
        _ error: some CataloguedError,
        hint: String = "try again later, or ask its operator"
    ) -> Self { Self("the server failed\(error.status)\(error.said)", hint: hint) }
}
