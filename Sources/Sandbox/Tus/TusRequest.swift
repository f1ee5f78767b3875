import Foundation
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

/// `Upload-Checksum`: an algorithm and the digest in base64 (tus 1.0.0, Checksum).
struct TusChecksum {
    var algorithm: Digest.Algorithm
    var digest: [UInt8]

    init(_ header: String) throws(TusError) {
        let pieces = header.split(separator: " ")
        guard pieces.count == 2, let algorithm = Digest.Algorithm(rawValue: String(pieces[0])),
            let digest = Data(base64Encoded: String(pieces[1]))
        else { throw .invalidChecksum }
        self.algorithm = algorithm
        self.digest = Array(digest)
    }
}
