import ArgumentParser

/// The program that serves `/files/`: tusd up to D3, PHP in D4.
protocol TusService: Sendable {
    func answer(_ call: TusCall, to exchange: Exchange) async throws -> Answer

    /// All uploads, oldest first.
    func summaries() throws -> [TusSummary]
}

/// One upload, as the control route lists it.
struct TusSummary: Sendable {
    var id: String
    /// In bytes, as HEAD reports it; nil when the bytes are gone.
    var offset: Int?
    /// In bytes; nil until it is declared.
    var length: Int?
    var isFinished: Bool
}

/// The script behind `POST /api/uploads/finalize`.
protocol FinalizeService: Sendable {
    func reply(to exchange: Exchange) async throws -> Reply
}

/// How the tus endpoint behaves.
struct TusSettings: Sendable {
    /// Extensions that a server may lack, as `Tus-Extension` names them.
    enum Extension: String, Sendable {
        case creationWithUpload = "creation-with-upload"
        case termination
        case concatenation
        case creationDeferLength = "creation-defer-length"
        case checksum
    }

    /// What `Location` looks like (trap T13).
    enum Location: Sendable, Equatable, ExpressibleByArgument {
        /// From the request's host or the forwarded headers, as tusd does.
        case absolute
        /// Path only.
        case relative
        /// Under another scheme, host or port.
        case foreign(origin: String)

        init?(argument: String) {
            switch argument {
            case "absolute": self = .absolute
            case "relative": self = .relative
            default:
                guard argument.wholeMatch(of: /https?:\/\/[^\/]+/) != nil else { return nil }
                self = .foreign(origin: argument)
            }
        }
    }

    /// The extensions of tusd, in its order.
    static let tusdExtensions = "creation,creation-with-upload,termination,concatenation,creation-defer-length"

    var isOffered = true
    /// The value of `Tus-Extension`, as it is sent.
    var extensions = tusdExtensions
    /// In bytes; nil sends no `Tus-Max-Size`.
    var maxSize: Int?
    /// Seconds without a byte after which an unfinished upload expires; nil is never.
    var lifetime: Double?
    var location = Location.absolute
    /// The web firewall keeps a body back until it is whole (trap T14).
    var buffersBodies = true

    func offers(_ name: Extension) -> Bool {
        extensions.split(separator: ",").contains { $0 == name.rawValue }
    }
}
