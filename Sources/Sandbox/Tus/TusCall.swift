import HTTPTypes

/// What a request below `/files/` asks for.
enum TusCall: Sendable {
    case options
    case create
    case head(id: String)
    case patch(id: String)
    case terminate(id: String)
    /// tusd has no such method.
    case other

    /// The path is what follows `/files/`.
    init(method: HTTPRequest.Method, path: String) {
        switch (method, path.isEmpty) {
        case (.options, _): self = .options
        case (.post, true): self = .create
        case (.head, false): self = .head(id: path)
        case (.patch, false): self = .patch(id: path)
        case (.delete, false): self = .terminate(id: path)
        default: self = .other
        }
    }

    var place: Fault.Place? {
        switch self {
        case .options: .tusOptions
        case .create: .tusCreate
        case .head: .tusHead
        case .patch: .tusPatch
        case .terminate: .tusDelete
        case .other: nil
        }
    }

    var id: String? {
        switch self {
        case .head(let id), .patch(let id), .terminate(let id): id
        case .options, .create, .other: nil
        }
    }
}
