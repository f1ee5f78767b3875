import Foundation
import TestSupport

/// Files in `fixtures/`.
enum Fixtures {
    /// The bytes of one file.
    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Repository.data("fixtures/\(path)"))
    }
}

/// One entry of `hash-only-canonical`: a body, and the bytes in it that the reference server's own code signs.
struct SigningVector: Decodable, Sendable, CustomStringConvertible {
    let name: String
    let request_body: String
    let accepted: Bool
    let signed_bytes: String?
    let client_data_hash: String?

    var description: String { name }

    /// All vectors; none if they cannot be read, which a separate test detects.
    static let all: [SigningVector] = {
        struct File: Decodable { let vectors: [SigningVector] }
        let bytes = try? Fixtures.bytes("hash-only-canonical/vectors.json")
        return bytes.flatMap { try? JSONDecoder().decode(File.self, from: Data($0)) }?.vectors ?? []
    }()
}
